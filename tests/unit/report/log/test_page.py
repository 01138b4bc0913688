"""The page of a log: complete, harmless, and drawn by a browser at both widths."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import BROKEN_WORDS, CUT_CELLS, Tab, chromium
from flight_pages import Page, curves_of, rows_of
from log_files import VIBRATION_HZ, roll_deg, write_ardupilot_flight, write_old_ardupilot_flight, write_px4_flight

from ironbird.errors import RecordError
from ironbird.flight.flight import Flight
from ironbird.report.log.page import write_log_page
from ironbird.report.log.read import read_flight_log
from ironbird.report.ulog import write_ulog

PX4_PLOTS = {
    "replay", "path-plan", "timeline", "height", "attitude", "velocity", "position", "rates", "outputs", "battery",
    "spectrum-acceleration", "spectrum-rates", "gnss", "ratios",
}  # fmt: skip
DATA = Path(__file__).parents[3] / "data" / "autopilot_logs"


def page_of(log: Path, folder: Path) -> Page:
    write_log_page(read_flight_log(log), folder / "log.html")
    return Page((folder / "log.html").read_text(encoding="utf-8"))


@pytest.fixture
def px4(tmp_path: Path) -> Page:
    return page_of(write_px4_flight(tmp_path / "flight.ulg"), tmp_path)


def test_every_plot_of_the_log_has_its_place(px4: Page) -> None:
    assert set(px4.figures) == PX4_PLOTS and set(px4.figures) <= set(px4.ids)
    for text in ("flight.ulg", "PX4 1.16.0", "Flew 15.0 s", "[commander] Failure", "MC_ROLL_P", "odd_topic"):
        assert text in px4.words, text


def test_curves_are_the_values_of_the_log(px4: Page) -> None:
    time_s, roll = curves_of(px4, "attitude")["as logged"]
    np.testing.assert_allclose(roll, roll_deg(time_s), atol=1e-4)
    asked_s, asked = curves_of(px4, "attitude")["set-point"]
    np.testing.assert_allclose(asked, roll_deg(asked_s + 0.1), atol=1e-4)
    (x,) = [trace for trace in px4.figures["spectrum-acceleration"]["data"] if trace["label"] == "x"]
    hertz, density = (np.frombuffer(base64.b64decode(x[key]["bdata"]), "<f4") for key in "xy")
    assert hertz[density.argmax()] == pytest.approx(VIBRATION_HZ, abs=1.0)


def test_the_time_line_has_modes_messages_and_flight(px4: Page) -> None:
    rows = rows_of(px4)

    assert [(start, text) for start, _, text, _ in rows["Mode"]] == [(0, "LOITER"), (2, "TAKEOFF"), (12, "MISSION")]
    assert [(start, end) for start, end, _, _ in rows["In the air"]] == [(3, 18)]
    assert [(start, text) for start, _, text, _ in rows["Errors"]] == [(16, "[commander] Failure")]
    assert rows["Warnings"] and rows["No GNSS fix"] and "Failsafe" not in rows
    shapes = px4.figures["height"]["layout"]["shapes"]
    assert [s["name"] for s in shapes if s["type"] == "rect"] == ["LOITER", "TAKEOFF", "MISSION"]
    assert [s["x0"] for s in shapes if s["type"] == "line"] == [16, 8.5]


def test_nothing_is_loaded_from_another_place_and_texts_of_the_log_stay_text(px4: Page) -> None:
    assert all(link.startswith("#") for link in px4.links)
    assert not {"link", "iframe", "img", "object", "embed", "base", "b"} & set(px4.tags)
    assert "[ekf2] velocity <b>rejected</b>" in px4.words
    policy = re.search(r"script-src ([^;]*);", px4.text)
    runs = [script for script in px4.scripts if not script.lstrip().startswith("{")]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in runs]
    assert policy is not None and policy[1].split() == [f"'sha256-{digest}'" for digest in hashes]


@pytest.mark.parametrize("write", [write_ardupilot_flight, write_old_ardupilot_flight], ids=["2026", "2014"])
def test_logs_of_ardupilot_have_a_page(write: object, tmp_path: Path) -> None:
    page = page_of(write(tmp_path / "flight.BIN"), tmp_path)  # type: ignore[operator]

    assert {"attitude", "outputs", "battery", "gnss", "timeline"} <= set(page.figures) <= set(page.ids)
    assert "ArduPilot logs no severity" in page.words and "spectrum-acceleration" not in page.figures
    assert "spectrum of vibration needs 100 Hz" in page.words or write is write_old_ardupilot_flight


@pytest.mark.parametrize("path", sorted([*DATA.glob("*.ulg"), *DATA.glob("*.BIN")]), ids=lambda path: path.name)
def test_pieces_of_real_autopilots_logs_have_a_page(path: Path, tmp_path: Path) -> None:
    page = page_of(path, tmp_path)

    assert "timeline" in page.figures and set(page.figures) <= set(page.ids)


def test_a_flight_of_ironbird_has_a_page_in_each_of_its_formats(healthy: Flight, tmp_path: Path) -> None:
    healthy.log.to_parquet(tmp_path / "flight.parquet")
    write_ulog(healthy.log, tmp_path / "flight.ulg")
    healthy.log.to_csv(tmp_path / "flight.csv")
    heights = []
    for ending in ("parquet", "ulg", "csv"):
        page = page_of(tmp_path / f"flight.{ending}", tmp_path)
        assert {"replay", "height", "attitude", "velocity", "rates", "outputs"} <= set(page.figures), ending
        (height,) = [trace for trace in page.figures["height"]["data"] if trace["name"] == "height"]
        heights.append(np.frombuffer(base64.b64decode(height["y"]["bdata"]), "<f4"))
    np.testing.assert_allclose(heights[1], heights[0], atol=1e-4)  # ULog has single precision
    np.testing.assert_allclose(heights[2], heights[0], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.ulg", b"", "is empty"),
        ("a.ulg", b"hello\n", "is a text, not a log; a log is ULog"),
        ("a.ulg", b"ULog\x01\x12\x35\x01" + bytes(8), "without a single sample"),
        ("a.ulg", b"ULog\x01\x12\x35\x01" + bytes(8) + b"\xff\xffF" + b"A" * 70_000, "without a single sample"),
        ("a.parquet", b"PAR1" + b"x" * 100, "the Parquet file is damaged or cut off"),
        ("a.csv", b"time_s,roll\n", "has no rows"),
        ("a.zip", b"PK\x03\x04", "a ZIP archive: unpack it first"),
    ],
)
def test_what_is_no_log_is_refused_with_what_it_is(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RecordError, match=re.escape(words)):
        read_flight_log(tmp_path / name)


# ---------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module", params=[1280, 400])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("opened")
    write_log_page(read_flight_log(write_px4_flight(folder / "flight.ulg")), folder / "log.html")
    with chromium(folder) as browser:
        tab = browser.tab(request.param, 900)
        tab.open((folder / "log.html").as_uri())
        tab.until("document.readyState == 'complete' && document.querySelector('.plot[data-drawn]')")
        tab.js("window.dispatchEvent(new Event('beforeprint'))")
        yield tab


def test_a_browser_draws_every_plot_within_its_width(opened: Tab) -> None:
    drawn = opened.js(
        "[...document.querySelectorAll('.plot canvas')].map(c => { const all = c.getContext('2d').getImageData(0, 0, "
        "c.width, c.height).data; let n = 0; for (let i = 3; i < all.length; i += 4) n += all[i] > 200; return n; })"
    )

    assert len(drawn) == len(PX4_PLOTS) - 1 and min(drawn) > 300  # the replay is no plot
    assert opened.js("document.documentElement.scrollWidth <= window.innerWidth")
    assert opened.js("document.body.innerText.includes('cannot be drawn')") is False
    assert opened.errors() == [] and opened.requested() == set()


def test_a_time_in_a_list_leads_to_that_moment(opened: Tab) -> None:
    opened.js("document.querySelector('#messages ~ .card .go[data-time=\"16.00\"]').click()")
    assert opened.js("Number(document.querySelector('[data-part=slider]').value)") == pytest.approx(16.0, abs=0.01)
    assert opened.js("document.querySelector('[data-part=words]').innerText").endswith("MISSION")


def test_no_table_is_cut_and_no_word_is_broken(opened: Tab) -> None:
    assert opened.js("document.querySelectorAll('#followed td').length") > 8
    assert opened.js(CUT_CELLS) == [] and opened.js(BROKEN_WORDS) == []


TINY = """window.made = (() => {
  const bytes = (values) => String.fromCharCode(...new Uint8Array(new Float32Array(values).buffer));
  const pack = (values) => ({bdata: btoa(bytes(values))}), place = document.createElement('div');
  const layout = {height: 200, margin: {l: 62, r: 58, t: 20, b: 30}, xaxis: {type: 'log'}, yaxis: {type: 'log'}};
  const line = {color: 'red', width: 1}, x = pack([1, 10]), y = pack([0.00001, 0.01]);
  const group = new Plots.Group([0, 1]);
  document.querySelector('main').append(place);
  group.add(place, {kind: 'spectrum', data: [{type: 'scatter', mode: 'lines', x, y, name: 'a', line}], layout});
  group.figures[0].draw();
  return group.figures[0];
})(); made.canvas.getContext('2d').measureText('0.00001').width"""  # in the font of the axis


def test_the_numbers_of_an_axis_have_room_however_long(opened: Tab) -> None:
    opened.js("document.querySelector('main').style.paddingLeft = '0'")
    width = opened.js(TINY)
    assert width > 35 and opened.js("made.box.l") - 6 >= width
    opened.js("made.place.remove()")


def test_no_two_curves_of_the_height_look_alike(px4: Page) -> None:
    colours = [trace["line"]["color"] for trace in px4.figures["height"]["data"]]
    assert len(colours) == len(set(colours)) and not {"var(--c0)", "var(--c6)"} <= set(colours)  # both are blue
