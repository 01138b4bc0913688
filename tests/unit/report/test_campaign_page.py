"""The page of a campaign: harmless whatever names it shows, complete, without anything from elsewhere."""

from __future__ import annotations

import contextlib
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
from campaign_data import flight_case, flight_cases, result_of

from ironbird.campaign.coverage import TraceRow
from ironbird.campaign.search import Map
from ironbird.campaign.store import Store
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
    assert "<script" not in text and "<img" not in text
    page = Page(text)
    assert not {"script", "img", "iframe", "object", "link"} & set(page.tags)
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
    assert "1 of 2 failed: 50 %" in page.text
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
    assert text.count("<svg") == 4  # height, distance, speed, tilt of the one whose trace is there
    assert text.count('class="event"') == 4


def test_many_failures_and_odd_numbers(store: Store, tmp_path: Path) -> None:
    cases = flight_cases(MOST_FAILING + 5)
    campaign = store.create("night", "", {}, cases)
    results = [result_of(case, "fail", margin=case.seed) for case in cases]
    results[0] = replace(results[0], margin=math.nan, score=math.nan)
    results[1] = replace(results[1], margin=-math.inf)
    store.write(campaign, list(enumerate(results)))
    write_campaign_page(store, campaign, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.count('<div class="fault-head">') == MOST_FAILING
    assert f"{MOST_FAILING} shown, 5 more in the store" in text
    assert "-infinite" in text and "nan" not in Page(text).text


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
