"""The page of a campaign: harmless whatever names it shows, complete, without anything from elsewhere."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browser import BROKEN_WORDS, CUT_CELLS, chromium
from campaign_data import flight_case, flight_cases, result_of

from ironbird.campaign.coverage import TraceRow
from ironbird.campaign.search import Map
from ironbird.campaign.store import Store
from ironbird.flight.judge import Judgement
from ironbird.flight.order import Requirement
from ironbird.report import campaign_page
from ironbird.report.campaign_page import MOST_FAILING, write_campaign_page

HOSTILE = "<script>alert('1')</script>\"><img src=x onerror=alert(2)>"


class Page(HTMLParser):
    """Tags, their attributes, and what links point at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as opened:
        yield opened


def trace_file(path: Path) -> None:
    time = np.arange(0, 5, 0.02)
    columns = {"time_s": time}
    for name in ("body.p_NB_N", "body.v_NB_N", "body.euler", "navigator.position_set"):
        columns |= {f"{name}[{i}]": np.sin(time + i) for i in range(3)}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_hostile_names_stay_text(store: Store, tmp_path: Path) -> None:
    requirement = Requirement(HOSTILE, "always (tilt < 30 deg)", HOSTILE)
    case = flight_case(
        id=HOSTILE, case_id=HOSTILE, title=HOSTILE, requirements=(requirement,), values={HOSTILE: HOSTILE}
    )
    campaign = store.create("night", HOSTILE, {HOSTILE: HOSTILE}, [case])
    result = result_of(case, "fail", sentence=HOSTILE, outcome=HOSTILE, level=HOSTILE, sha256=HOSTILE)
    store.write(campaign, [(0, result)])
    found = Map(HOSTILE, HOSTILE, [0.0, 1.0], [0.0, 1.0], np.full((2, 2), "pass"), np.ones((2, 2)))
    row = TraceRow(HOSTILE, HOSTILE, [HOSTILE], {"fail": 1})
    write_campaign_page(store, campaign, tmp_path / "page.html", maps=[(HOSTILE, found)], trace=[row])
    text = (tmp_path / "page.html").read_text()
    page = Page(text)
    assert not {"img", "iframe", "object", "link"} & set(page.tags) and page.tags.count("script") == 1
    (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in text and "alert" not in script  # no other is run
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.text.count(HOSTILE) > 8  # it is shown, as text


def test_nothing_comes_from_elsewhere(store: Store, tmp_path: Path) -> None:
    cases = flight_cases(4)
    campaign = store.create("night", "Night flights", {}, cases)
    store.write(
        campaign, [(i, result_of(c, v)) for i, (c, v) in enumerate(zip(cases, ("pass", "fail", "void"), strict=False))]
    )
    write_campaign_page(store, campaign, tmp_path / "deep" / "page.html")
    text = (tmp_path / "deep" / "page.html").read_text()
    page = Page(text)
    assert "default-src 'none'" in text
    for name, value in page.attributes:
        if name in ("href", "src", "action", "data", "srcset"):
            assert value.startswith("#"), value
    targets = {value for name, value in page.attributes if name == "id"}
    links = {value[1:] for name, value in page.attributes if name == "href"}
    assert links <= targets  # no dead links
    assert not re.search(r"url\(|@import|https?://", text)
    assert "1 pass, 1 fail, 1 void, 1 open" in page.text and "not as expected" in page.text
    assert "1 of 2 failed" in page.text and "confidence" not in page.text  # one parameter, one value: no draw
    assert f"ironbird campaign rerun night {cases[0].id}" in page.text


def test_plots_of_failing_flights(store: Store, tmp_path: Path) -> None:
    cases = flight_cases(2)
    campaign = store.create("night", "", {}, cases)
    trace_file(store.trace_folder("night") / "one.parquet")
    failed = [
        result_of(case, "fail", trace=name) for case, name in zip(cases, ("one.parquet", "gone.parquet"), strict=True)
    ]
    store.write(campaign, list(enumerate(failed)))
    write_campaign_page(store, campaign, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.partition('id="failing"')[2].count("<svg") == 4  # height, distance, speed, tilt: one trace is there
    assert text.count('class="event"') == 4


def test_many_failures_and_odd_numbers(store: Store, tmp_path: Path) -> None:
    cases = flight_cases(MOST_FAILING + 5)
    campaign = store.create("night", "", {}, cases)
    results = [result_of(case, "fail", margin=case.seed) for case in cases]
    results[0] = replace(results[0], margin=math.nan, score=math.nan)
    results[1] = result_of(cases[1], "fail", margin=math.inf)
    store.write(campaign, list(enumerate(results)))
    write_campaign_page(store, campaign, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.count('<summary class="fault-head">') == MOST_FAILING
    assert f"{MOST_FAILING} shown, 5 more in the store" in text
    assert "-∞" in text and not re.search(r"\bnan\b", Page(text).text.partition('"use strict"')[0])


def test_expected_failures_are_as_expected(store: Store, tmp_path: Path) -> None:
    case = flight_case(expect="fail")
    campaign = store.create("night", "", {}, [case])
    write_campaign_page(store, campaign, tmp_path / "before.html")
    assert "not as expected" in (tmp_path / "before.html").read_text()
    store.write(campaign, [(0, result_of(case, "fail"))])
    write_campaign_page(store, campaign, tmp_path / "page.html")
    assert "not as expected" not in (tmp_path / "page.html").read_text()


def test_a_campaign_that_is_not_flown_to_its_end_is_not_as_expected(store: Store, tmp_path: Path) -> None:
    cases = flight_cases(2)
    campaign = store.create("night", "", {}, cases)

    def badge() -> str:
        write_campaign_page(store, campaign, tmp_path / "page.html")
        return (tmp_path / "page.html").read_text().partition('<p class="outcome">')[2].partition("</span>")[0]

    store.write(campaign, [(0, result_of(cases[0]))])
    assert badge() == '<span class="badge fail">not as expected'  # all that was flown passed, one is open
    store.write(campaign, [(1, result_of(cases[1]))])
    assert badge() == '<span class="badge pass">as expected'


def test_the_digest_of_results_covers_verdicts_hashes_and_ids() -> None:
    results = [result_of(case) for case in flight_cases(2)]
    digest = campaign_page._digest(results)

    for changed in (
        replace(results[1], verdict="void"), replace(results[1], sha256="ef" * 32), replace(results[1], id="other"),
    ):  # fmt: skip
        assert campaign_page._digest([results[0], changed]) != digest
    assert campaign_page._digest([results[0], replace(results[1], sentence="in other words")]) == digest


def test_each_requirement_names_its_worst_flight() -> None:
    results = [result_of(case, "fail", margin) for case, margin in zip(flight_cases(3), (0.5, 2.0, 1.0), strict=True)]

    (row,) = campaign_page._requirements([*results, result_of(flight_case(4), margin=3.0)])

    assert (row["name"], row["holds"], row["broken"]) == ("upright", 1, 3)
    assert (row["flight"], row["margin"]) == (results[1].id, "-2")


NAMES = ("no_crash", "stays near", "upright")
GRID = """schema = 1
[[case]]
id = "grid"
[[case]]
id = "drawn"
plan = { kind = "monte_carlo", samples = 4 }
"""


def judgement(name: str, margin: float, when_s: float, sentence: str = "", untested: str = "") -> Judgement:
    return Judgement(name, "major", margin, when_s, sentence, "", "m", when_s, untested)


@pytest.fixture
def listed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many flights the table has without scripts."""
    monkeypatch.setattr(campaign_page, "MOST_ROWS", getattr(request, "param", campaign_page.MOST_ROWS))


@pytest.fixture
def grid(store: Store, tmp_path: Path, listed: None) -> Path:
    """The page of two cases: a grid of six winds of which the strongest two fail, and four random draws that pass."""
    cases, results = [], []
    for number in range(10):
        case_id = "grid" if number < 6 else "drawn"
        wind = 2.0 * number
        case = flight_case(
            number + 1, id=f"{case_id}/{number:04d}/s{number}", case_id=case_id, title=f"Hover, {case_id}",
            values={"wind.speed_mps": wind, "gust": "yes" if number % 2 else "no"},
        )  # fmt: skip
        margin = 9.0 - wind if number < 6 else 1.0 + 0.1 * number
        fails = margin < 0
        found = [judgement("no_crash", math.inf, math.nan)]
        near = judgement("stays near", margin, 3.0, "position_error was 3 m at 3.00 s" if fails else "")
        found += [near] if number < 6 else [judgement("upright", margin, math.nan, untested="it never tilted")]
        result = result_of(case, "fail" if fails else "pass", margin, judgements=found)
        cases.append(case)
        said = f"stays near: {near.sentence}" if fails else "well"
        results.append(replace(result, margin=margin, sentence=said, sha256=f"{number:064}"))
    campaign = store.create("night", "Night", {"suite.toml": GRID}, cases)
    store.write(campaign, list(enumerate(results)))
    folder = campaign_page.flight_folder(tmp_path, "grid/0005/s5")
    folder.mkdir(parents=True)
    (folder / "flight.html").write_text("the flight")
    write_campaign_page(store, campaign, tmp_path / "report.html")
    return tmp_path / "report.html"


def cells(row: str) -> list[str]:
    return [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)]


def test_verdicts_stand_at_a_glance_by_case_and_requirement(grid: Path) -> None:
    table = grid.read_text().partition('<table class="glance">')[2].partition("</table>")[0]
    head, *rows = re.findall("<tr>(.*?)</tr>", table)

    assert cells(head) == ["case", "no_crash", "stays near", "upright"]
    assert [cells(row) for row in rows] == [
        ["gridHover, grid", "✓", "✗ 1/6", ""],  # what fails first
        ["drawnHover, drawn", "✓", "", "○"],
    ]
    assert 'class="is-broken" title="stays near in grid: 5 hold, 1 broken, 0 not put to the test; ' in rows[0]
    assert "smallest margin -1 m in grid/0005/s5" in rows[0]
    assert "holds, but was not put to the test" in grid.read_text()  # the legend


def test_failures_come_first_with_title_reason_and_a_link_to_the_flight(grid: Path) -> None:
    text = grid.read_text()
    first = text.partition('<h2 id="wrong">')[2].partition("</ul>")[0]

    assert first.startswith("1 flight not as expected")
    words = re.sub("<[^>]*>", " ", first)
    assert "Hover, grid" in words and "stays near: position_error was 3 m at 3.00 s" in words
    assert 'href="flights/grid_0005_s5/flight.html"' in first and (grid.parent / "flights/grid_0005_s5").is_dir()
    assert text.index('id="wrong"') < text.index('id="glance"') < text.index('id="cases"')
    order = re.findall(r"<strong>(Hover, \w+)</strong> <code>", text.partition('<h2 id="cases">')[2])
    assert order[:2] == ["Hover, grid", "Hover, drawn"]


def test_intervals_are_given_for_random_draws_alone(grid: Path) -> None:
    table = grid.read_text().partition('<h2 id="cases">')[2].partition("</table>")[0]
    by_case = {
        row[0].partition(",")[2].split()[0]: row
        for row in map(cells, re.findall("<tr>(.*?)</tr>", table, re.DOTALL)[1:])
    }

    assert by_case["grid"][6] == "1 of 6 failed"
    assert by_case["drawn"][6] == "0 of 4 failed: 0 %, with 95 % confidence between 0 and 60.2 %"


def test_margins_are_drawn_over_the_varied_parameters_and_as_a_histogram(grid: Path) -> None:
    plots = grid.read_text().partition('<h2 id="margins">')[2].partition('<h2 id="requirements">')[0]
    histogram, over_wind, over_gust = re.findall("<svg.*?</svg>", plots.partition("</details>")[0])

    assert "1 fail, margin" in histogram and histogram.count("<rect") == 6 and "margin (m)" in histogram
    assert over_wind.count("<circle") == 5 and over_wind.count("<path") == 1  # a cross for what fails
    assert "wind.speed_mps (m/s)" in over_wind and "stays near: margin (m)" in over_wind
    assert "grid/0005/s5: fail, wind.speed_mps = 10, gust = yes, margin -1" in over_wind
    assert ">no</text>" in over_gust and ">yes</text>" in over_gust  # words along the axis


@pytest.mark.parametrize("listed", [2000, 4], indirect=True)
def test_a_browser_filters_and_sorts_the_flights(grid: Path) -> None:
    with chromium(grid.parent) as browser:
        tab = browser.tab(400, 800)
        tab.open(grid.as_uri())
        tab.until("document.readyState == 'complete' && document.getElementById('count').innerText")
        assert tab.js("document.documentElement.scrollWidth") <= 400  # nothing sticks out of a narrow window
        assert tab.js(CUT_CELLS) == [] and tab.js(BROKEN_WORDS) == []
        shown = "[...document.querySelectorAll('#all tbody tr')].filter(r => !r.hidden).map(r => r.cells[1].innerText)"

        assert len(tab.js(shown)) == 10 and tab.js("document.getElementById('count').innerText") == "10 of 10 flights"
        tab.js("document.querySelector('[data-verdict-box=pass]').click()")
        assert tab.js(shown) == ["grid/0005/s5"]
        tab.js("document.querySelector('[data-verdict-box=pass]').click()")
        find = (
            "const e = document.getElementById('find'); e.value = 'gust drawn no'; e.dispatchEvent(new Event('input'))"
        )
        tab.js(f"(() => {{ {find} }})()")
        assert tab.js(shown) == ["drawn/0006/s6", "drawn/0008/s8"]
        tab.js(f"(() => {{ {find.replace('gust drawn no', '')} }})()")
        sort = "document.querySelectorAll('#all th button')[2].click()"
        tab.js(sort)
        margins = "[...document.querySelectorAll('#all tbody tr')].map(r => Number(r.cells[2].dataset.value))"
        assert tab.js(margins) == sorted(tab.js(margins)) and tab.js(margins)[0] == -1
        tab.js(sort)
        assert tab.js(margins) == sorted(tab.js(margins), reverse=True)
        folded = "document.getElementById('flight-0').open"
        tab.js("document.getElementById('flight-0').open = false; location.hash = 'flight-0'")
        tab.until(folded)  # a link to it opens it
        assert tab.errors() == [] and tab.requested() == set()


def test_an_expected_failure_says_so_and_names_what_broke_by_severity(
    store: Store, tmp_path: Path, listed: None
) -> None:
    case = flight_case(1, id="gps-lost/0001/s1", case_id="gps-lost", title="gps-lost", expect="fail")
    found = [
        Judgement("low", "minor", -0.2, 1.0, "height was 2 m at 1.00 s", "always (altitude > 3 m)", "m", 1.0),
        Judgement("upright", "critical", -math.pi / 4, 4.0, "tilt was 75 deg", "always (tilt < 30 deg)", "rad", 4.0),
        Judgement("near", "major", -0.1, 2.0, "distance was 3 m at 2.00 s", "always (distance < 2.9 m)", "m", 2.0),
    ]
    result = replace(result_of(case, "fail", judgements=found), margin=-math.pi / 4, sentence="all of it")
    campaign = store.create("night", "", {}, [case])
    store.write(campaign, [(0, result)])

    for most in (10, 0):  # as a row, and as data of the script
        campaign_page.MOST_ROWS = most  # restored by the fixture
        write_campaign_page(store, campaign, tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text()
        table = text.partition('<table class="stack" id="all">')[2].partition('<h2 id="failing">')[0]
        assert "upright: tilt was 75 deg; also broken: near, low" in table and "-45 deg" in table
        badge = '<span class="badge fail">fail</span> <span class="badge plain">expected</span>'
        assert (badge in table) == bool(most) and ('low",true]' in table) == (not most)
    heading = text.partition('<summary class="fault-head">')[2].partition("</summary>")[0]
    assert heading.count("gps-lost/0001/s1") == 1 and 'class="badge plain">expected<' in heading
    cases = text.partition('<h2 id="cases">')[2].partition("</table>")[0]
    assert ">expected<" in cases and ">unexpected<" not in cases
    rows = text.partition('<h2 id="requirements">')[2].partition("</table>")[0]
    assert [cells(row)[5] for row in re.findall("<tr>(.*?)</tr>", rows)[1:]] == ["-0.2 m", "-45 deg", "-0.1 m"]
