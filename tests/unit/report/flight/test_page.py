"""The page of a flight: complete, harmless, readable by a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import BROKEN_WORDS, CUT_CELLS, Tab, chromium
from flight_pages import ESTIMATES, FAULT, PLOTS, SPECTRA, Page, judged_as, numbers, page_of
from markupsafe import escape

from ironbird.flight.flight import Flight, fly
from ironbird.flight.judge import Judgement, not_flown
from ironbird.flight.words import ERROR, FAIL, PASS, VERDICTS
from ironbird.report.flight.page import Origin, write_flight_page
from ironbird.runtime.state import Stop, start
from ironbird.runtime.step import run


def test_the_page_says_what_happened_and_how_to_repeat_it(flight: Flight, page: Page) -> None:
    assert not flight.survived
    assert '<span class="badge fail">fail</span>' in page.text
    assert '<span class="badge acted">effective</span>' in page.text
    for text in (
        flight.outcome,
        flight.sha256,
        flight.model.model_hash,
        flight.witnesses[0].sentence()[len(FAULT) + 3 :],
    ):
        assert text in page.words, text
    for text in ("F450 quadcopter (Dai et al., Fig. 14)", "body.mass", "assumed", "rubber on concrete"):
        assert text in page.words, text


def test_nothing_is_loaded_from_elsewhere(page: Page) -> None:
    assert all(link.startswith("#") for link in page.links), page.links
    assert not {"link", "iframe", "img", "object", "embed", "base"} & set(page.tags)
    assert "url(" not in page.styles and "@import" not in page.styles
    assert "default-src 'none'" in page.text  # the browser refuses what we overlook
    assert len(page.scripts) == 3 and "plotly" not in page.text
    assert len(page.text) < 1.2e6  # ten seconds; a long flight on sensors is below 3 MB (test_plots)


def test_hostile_names_are_shown_as_text(healthy: Flight, tmp_path: Path) -> None:
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    spec = healthy.vehicle.spec.model_copy(
        update={"title": hostile, "summary": hostile, "provenance": {"body.*": f"assumed: {hostile}"}}
    )
    assert healthy.order.mission is not None
    mission = healthy.order.mission.model_copy(update={"title": f"{hostile}'''"})
    vehicle = replace(healthy.vehicle, spec=spec, path=Path(f"{hostile}.toml"))
    order = replace(healthy.order, mission=mission, vehicle=f"{hostile}.toml", options={"port": hostile})

    page = page_of(replace(healthy, vehicle=vehicle, order=order), tmp_path)

    assert len(page.scripts) == 3 and "img" not in page.tags
    assert not any("alert(1)" in script for script in page.scripts)
    assert page.words.count(hostile) >= 5  # title, heading, summary, provenance, mission


def test_the_browser_is_told_the_hashes_of_our_scripts_and_runs_no_other(page: Page) -> None:
    policy = re.search(r"script-src ([^;]*);", page.text)
    assert policy is not None
    runs = [script for script in page.scripts if not script.lstrip().startswith("{")]  # the rest is data
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in runs]
    assert len(hashes) == 2 and policy[1].split() == [f"'sha256-{digest}'" for digest in hashes]


def test_a_log_without_any_shown_signal_has_a_page(healthy: Flight, tmp_path: Path) -> None:
    log = run(start(healthy.model, seed=1), 0.5, log=["gravity"])

    page = page_of(replace(healthy, log=log), tmp_path)

    assert page.figures == {}
    assert "none of the signals" in page.words


@pytest.mark.parametrize("rows", [0, 1])
def test_tiny_logs_have_a_page(flight: Flight, tmp_path: Path, rows: int) -> None:
    log = replace(flight.log, time_s=flight.log.time_s[:rows], data=flight.log.data[:, :rows])

    page = page_of(replace(flight, log=log), tmp_path)

    assert set(page.figures) == (PLOTS if rows else set())  # no spectrum of so few rows
    assert ("no rows" in page.words) == (rows == 0)


def test_a_diverged_log_has_a_page(flight: Flight, tmp_path: Path) -> None:
    data = flight.log.data.copy()
    data[:, 100:] = [[[np.inf], [-np.inf], [np.nan], [1e300]][i % 4] for i in range(data.shape[2])]

    page = page_of(replace(flight, log=replace(flight.log, data=data)), tmp_path)

    shown = numbers(page.figures["height"]["data"][0]["y"])
    assert np.isfinite(shown[:100]).all() and np.isnan(shown[100:]).all()


def test_a_fault_that_did_nothing_is_marked(tmp_path: Path) -> None:
    idle = fly("quad_f450", control="truth", until_s=1.0, faults=["rotor.speed_loss@1:instance=1,severity=0,start=0.5"])

    page = page_of(idle, tmp_path)

    assert '<span class="badge idle">ineffective</span>' in page.text
    assert "proves nothing" in page.words


def test_the_page_of_an_interrupted_flight_says_error_and_that_the_command_flies_on(
    healthy: Flight, tmp_path: Path
) -> None:
    judged = replace(healthy.judged, verdict=ERROR, outcome="interrupted at 3.00 s")
    cut = replace(healthy, judged=judged, log=replace(healthy.log, interrupted=True))

    page = page_of(cut, tmp_path)

    assert '<span class="badge error">error</span> <span>interrupted at 3.00 s</span>' in page.text
    assert "The flight was interrupted by hand: the command flies it to its end." in page.words


JUDGED = [
    Judgement("upright", "critical", -5.0, 8.73, "tilt reached 35 deg", "always (tilt < 30 deg)", "deg"),
    Judgement("no_crash", "major", 1.0, math.nan, "", "always (crashed == 0)"),
    Judgement("<b>own</b>", "minor", math.inf, math.nan, "", "a < b"),
]


def test_requirements_are_shown_with_formula_margin_and_moment(healthy: Flight, tmp_path: Path) -> None:
    page = page_of(judged_as(healthy, FAIL, JUDGED), tmp_path)

    assert '<span class="badge fail">fail</span>' in page.text and "survived</span>" not in page.text
    assert "#requirements" in page.links and "requirements" in page.ids
    rows = re.findall(r"<tr>(<td>(?:upright|no_crash|&lt;b&gt;own).*?)</tr>", page.text)
    upright, crash, own = (re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows)
    assert upright == [
        "upright<br><code>always (tilt &lt; 30 deg)</code>",
        "critical",
        '<span class="badge fail">broken</span>',
        "-5 deg",
        "8.73 s",
        "Tilt reached 35 deg",
    ]
    assert crash[2:] == ['<span class="badge pass">holds</span>', "1", "", ""]
    assert own[0] == "&lt;b&gt;own&lt;/b&gt;<br><code>a &lt; b</code>" and own[3] == ""  # no number decides it


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_badge_shows_the_verdict(healthy: Flight, tmp_path: Path, verdict: str) -> None:
    page = page_of(judged_as(healthy, verdict), tmp_path)

    assert f'<span class="badge {verdict}">{verdict}</span>' in page.text
    assert f".badge.{verdict} " in page.styles or f".badge.{verdict}," in page.styles
    why = f'<p class="why">{escape(healthy.judged.sentence)}</p>'
    assert (why in page.text) is (verdict != PASS)  # of a pass, the faults below say what they did


def test_a_flight_that_could_not_be_judged_has_no_table_of_requirements(healthy: Flight, tmp_path: Path) -> None:
    page = page_of(replace(healthy, judged=not_flown(healthy.order, "the link was lost")), tmp_path)

    assert "requirements" not in page.ids and "#requirements" not in page.links
    assert '<p class="why">the link was lost</p>' in page.text


def rows_of_requirements(page: Page) -> list[list[str]]:
    """The cells of the table of requirements as text."""
    table = page.text.partition('<table class="requirements stack">')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(<td[ >].*?)</tr>", table)
    return [[re.sub("<[^>]*>", " ", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows]


def test_the_page_of_a_failed_flight_names_the_requirement_with_its_margin_and_moment(tmp_path: Path) -> None:
    flight = fly(
        "quad_f450",
        control="truth",
        mission="hover",
        until_s=8.0,
        seed=2,
        requirements=["always (altitude < 9 m)", "no_crash"],
    )
    assert flight.verdict == "fail"

    page = page_of(flight, tmp_path)

    altitude = flight.log["terrain.height_above_ground"]
    top, moment = altitude.max(), flight.log.time()[altitude.argmax()]
    low, crash, mission = rows_of_requirements(page)
    assert low[:3] == ["always (altitude &lt; 9 m)  always (altitude &lt; 9 m)", "major", "broken"]
    assert low[3:5] == [f"{9.0 - top:.4g} m", f"{moment:.2f} s"]
    assert crash[0].startswith("no_crash") and crash[2] == "holds"
    assert mission[0].startswith("mission") and mission[2] == "holds"
    assert '<span class="badge fail">fail</span>' in page.text
    (why,) = re.findall('<p class="why">(.*)</p>', page.text)
    assert why.startswith("always (altitude &lt; 9 m): altitude was ") and f" m at {moment:.2f} s; " in why


def test_a_flight_without_requirements_must_not_crash_and_its_page_says_so(flight: Flight, page: Page) -> None:
    assert flight.stop is not None
    crash, mission = rows_of_requirements(page)
    assert mission[0].startswith("mission") and mission[2] == "broken"
    assert crash[0].startswith("no_crash") and crash[1:3] == ["critical", "broken"]
    assert crash[4] == f"{flight.log.time()[-1]:.2f} s"  # the last row


@pytest.fixture(scope="module")
def opened(sensed: Flight, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """The page of a flight in a browser."""
    folder = tmp_path_factory.mktemp("opened")
    write_flight_page(sensed, folder / "flight.html")
    with chromium(folder) as browser:
        tab = browser.tab(1280, 900)
        tab.open((folder / "flight.html").as_uri())
        tab.until("document.readyState == 'complete' && document.querySelector('#replay canvas[data-labels]')")
        tab.js("window.dispatchEvent(new Event('beforeprint'))")  # which draws also what is not in view
        tab.js("document.documentElement.style.scrollBehavior = 'auto'")
        tab.js("document.getElementById('error').scrollIntoView({block: 'center'})")
        tab.until("document.querySelector('#error[data-drawn]') && document.querySelector('#height[data-drawn]')")
        yield tab


def test_a_browser_draws_the_plots(opened: Tab) -> None:
    drawn = opened.js(
        "[...document.querySelectorAll('.plot canvas')].map(c => { const all = c.getContext('2d').getImageData(0, 0, "
        "c.width, c.height).data; let n = 0; for (let i = 3; i < all.length; i += 4) n += all[i] > 200; return n; })"
    )

    assert len(drawn) == len(PLOTS | ESTIMATES | SPECTRA)  # the replay aside, two faults with two witnesses
    assert min(drawn) > 500  # points that are not paper
    assert opened.js("document.body.innerText.includes('cannot be drawn')") is False
    assert opened.errors() == [] and opened.requested() == set()


POINTER = """(([id, kind, share]) => {
  const area = document.querySelector('#' + id + ' .area'), r = area.getBoundingClientRect();
  const x = r.left + 62 + share * (r.width - 120), y = r.top + r.height / 2;
  const where = {clientX: x, clientY: y, bubbles: true, pointerId: 1};
  area.setPointerCapture = () => {};
  area.dispatchEvent(new (kind == 'dblclick' ? MouseEvent : PointerEvent)(kind, where));
})"""


def pointer(tab: Tab, plot: str, kind: str, share: float) -> None:
    """The pointer at a share of a plot's width."""
    tab.js(f"{POINTER}({json.dumps([plot, kind, share])})")


def test_a_browser_reads_values_and_zooms_all_plots_together(opened: Tab, sensed: Flight) -> None:
    pointer(opened, "height", "pointermove", 0.5)
    said = opened.js("document.querySelector('#height .tip').innerText")
    moment = float(re.match(r"([\d.]+) s", said)[1])  # type: ignore[index]
    row = int(np.argmin(np.abs(sensed.log.time() - moment)))
    height = float(re.search(r"height  ([\d.]+) m", said)[1])  # type: ignore[index]
    assert height == pytest.approx(-sensed.log["body.p_NB_N"][row, 2], abs=0.05) and 6.5 < moment < 7.5
    assert opened.js("!document.querySelector('#error .cursor').hidden")  # the same moment in the others

    before = opened.js("document.querySelector('#error').dataset.drawn")
    for kind, share in (("pointerdown", 0.2), ("pointermove", 0.4), ("pointerup", 0.4)):
        pointer(opened, "height", kind, share)
    assert opened.js("document.querySelector('#error').dataset.drawn") != before  # drawn anew
    pointer(opened, "error", "pointermove", 0.0)
    assert opened.js("document.querySelector('#error .tip').innerText").startswith("2.8")  # 0.2 of 14.14 s
    pointer(opened, "height", "dblclick", 0.5)
    pointer(opened, "error", "pointermove", 0.0)
    assert opened.js("document.querySelector('#error .tip').innerText").startswith("0.0")

    opened.js("document.querySelector('#height .legend button').click()")
    pointer(opened, "height", "pointermove", 0.5)
    assert "height  " not in opened.js("document.querySelector('#height .tip').innerText")  # hidden
    opened.js("document.querySelector('#height .legend button').click()")


def press(tab: Tab, key: str) -> None:
    """A key in the replay."""
    where = "document.querySelector('[data-part=stage]')"
    tab.js(f"{where}.dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}, bubbles: true}}))")


PICTURE = "document.querySelector('#replay canvas').toDataURL()"


def test_a_browser_plays_the_flight_again(opened: Tab, sensed: Flight) -> None:
    def clock() -> float:
        return float(opened.js("document.querySelector('[data-part=clock]').innerText").split()[0])

    press(opened, "Home")
    assert clock() == 0.0
    opened.js("document.querySelector('[data-part=play]').click()")
    opened.until("parseFloat(document.querySelector('[data-part=clock]').innerText) > 0.1")
    opened.js("document.querySelector('[data-part=play]').click()")
    stopped = clock()
    pointer(opened, "height", "pointerdown", 0.5)
    pointer(opened, "height", "pointerup", 0.5)
    assert clock() == pytest.approx(7.07, abs=0.1) != stopped  # a click in a plot goes to that moment
    words = opened.js("document.querySelector('[data-part=words]').innerText")
    row = int(np.argmin(np.abs(sensed.log.time() - clock())))
    height = float(words.split()[1])  # "height 9.3 m, speed …"; the clock is rounded to hundredths
    assert height == pytest.approx(-sensed.log["body.p_NB_N"][row, 2], abs=0.1) and "take-off" in words
    seen = opened.js(PICTURE)
    opened.js("document.querySelector('[data-part=slider]').value = 2")
    opened.js("document.querySelector('[data-part=slider]').dispatchEvent(new Event('input'))")
    assert clock() == 2.0
    opened.until(f"{PICTURE} != {json.dumps(seen)}")
    press(opened, "ArrowRight")
    assert clock() == pytest.approx(2.1)
    press(opened, "]")
    assert clock() == 6.0  # the first fault begins
    press(opened, "[")
    assert clock() == 6.0  # nothing happened before
    press(opened, "End")
    assert clock() == pytest.approx(sensed.log.time()[-1], abs=0.01)
    assert opened.errors() == []


def apart(boxes: list[list[float]]) -> bool:
    """Whether no two boxes (left, top, right, bottom) overlap."""
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    return not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for a, b in pairs)


def test_in_a_narrow_window_no_table_is_cut_and_no_word_is_broken(opened: Tab) -> None:
    opened.resize(400, 900)
    opened.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    try:
        opened.until("document.documentElement.scrollWidth <= 400")
        assert opened.js("document.querySelectorAll('#limits td').length") > 10
        assert opened.js(CUT_CELLS) == [] and opened.js(BROKEN_WORDS) == []
    finally:
        opened.resize(1280, 900)


@pytest.mark.parametrize("width", [1280, 400])
def test_labels_of_the_maps_lie_beside_each_other_and_within_the_map(opened: Tab, width: int) -> None:
    opened.resize(width, 900)
    opened.js("document.querySelector('[data-camera=whole]').click()")
    fits = "(c => c.width == Math.round(c.clientWidth * devicePixelRatio))"
    opened.until(f"{fits}(document.querySelector('#replay canvas[data-labels]'))")
    begins = "JSON.parse(c.dataset.labels).some(label => label[0].startsWith('fault 1'))"  # the camera is there
    opened.until(f"(c => {begins})(document.querySelector('#replay canvas[data-labels]'))")
    try:
        for canvas in ("#path-plan canvas", "#replay canvas[data-labels]"):
            found = f"document.querySelector({json.dumps(canvas)})"
            labels = json.loads(opened.js(f"{found}.dataset.labels"))
            assert len(labels) > 1 and apart([box for _, *box in labels]), labels
            assert max(box[2] for _, *box in labels) <= opened.js(f"{found}.clientWidth"), labels
        assert any(text.startswith("fault 1") for text, *_ in labels)
    finally:
        opened.resize(1280, 900)


def test_the_page_says_of_which_campaign_it_is_part(healthy: Flight, tmp_path: Path) -> None:
    origin = Origin("hover/0001/s1", "night<b>", "Hover", "../../report.html")
    write_flight_page(healthy, tmp_path / "flight.html", origin=origin)
    page = Page((tmp_path / "flight.html").read_text())

    assert "Flight hover/0001/s1, Hover, of the campaign night<b>" in " ".join(page.words.split())
    assert "../../report.html" in page.links


def test_the_parameters_are_folded_and_the_page_has_a_date(page: Page) -> None:
    folded = page.text.partition('<details class="card">')[2].partition("</details>")[0]
    assert "body.mass_kg" in folded and " open" not in folded.partition(">")[0]
    assert re.search(r"written 20\d\d-\d\d-\d\d \d\d:\d\d UTC", page.words)


def test_a_flight_that_outlasts_its_twin_has_a_page(flight: Flight, tmp_path: Path) -> None:
    middle = float(flight.log.time_s[len(flight.log.time_s) // 2])
    assert flight.twin is not None
    short = replace(flight.twin, stops=[Stop(middle, "mission completed")])
    write_flight_page(replace(flight, twin=short), tmp_path / "page.html")
    assert f"mission completed at {middle:.2f} s" in (tmp_path / "page.html").read_text()


COMPARED = {
    "first divergence": "estimated velocity at 5.008 s, 0.01 s after imu.gyro_stuck@1",
    "caused 1": "estimator: estimator 2 takes over from 0, 0.47 s after imu.gyro_stuck@1",
    "caused 2": "text: Landing, now: <b>, 1.46 s after imu.gyro_stuck@1",
    "carried by": "GNSS position (100 % of the rest)",
    "ending": "landed",
}


def test_the_page_says_what_the_fault_caused_and_not_what_merely_came_next(
    flight: Flight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {**flight.summary(), "afterwards 1": "armed: disarmed, 34.2 s after imu.gyro_stuck@1"}
    monkeypatch.setattr(Flight, "summary", lambda _: dict(rows))
    write_flight_page(flight, tmp_path / "page.html", more={"ending": "landed"})
    alone = Page((tmp_path / "page.html").read_text())
    assert "caused" not in alone.ids and "Afterwards 1" in alone.words and "Ending" in alone.words

    (tmp_path / "healthy").mkdir()
    (tmp_path / "healthy" / "flight.html").write_text("the twin")
    write_flight_page(flight, tmp_path / "page.html", more=COMPARED)
    page = Page((tmp_path / "page.html").read_text())

    section = page.text.partition('<h2 id="caused">What the fault caused</h2>')[2].partition("<h2")[0]
    assert "Afterwards" not in page.words and "#caused" in page.links and "healthy/flight.html" in page.links
    assert re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", section) == [
        ("First divergence", COMPARED["first divergence"]),
        ("Carried by", COMPARED["carried by"]),
        ("Ending", "landed"),
    ]
    assert [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(<td>.*?)</tr>", section)] == [
        ["0.47 s after imu.gyro_stuck@1", "estimator", "estimator 2 takes over from 0"],
        ["1.46 s after imu.gyro_stuck@1", "text", "Landing, now: &lt;b&gt;"],
    ]
    summary = page.text.partition('<h2 id="summary">')[2].partition("<h2")[0]
    assert "Ending" not in summary


def test_a_fault_that_caused_nothing_is_said_so(flight: Flight, tmp_path: Path) -> None:
    write_flight_page(flight, tmp_path / "page.html", more={"caused": "nothing: its log is that of the healthy flight"})
    assert "<dt>Caused</dt><dd>nothing: its log" in (tmp_path / "page.html").read_text()
