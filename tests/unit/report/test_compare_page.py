"""The page of one case under several control systems: what others wrote stays text, verdicts are told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from flight_pages import Page

from ironbird.campaign.compare import Compared
from ironbird.flight.flight import Flight, fly
from ironbird.report.compare_page import write_compare_page
from ironbird.rig.system import AutopilotEvent

HOSTILE = "<script>alert(1)</script><img src=x onerror='alert(2)'>"


@pytest.fixture(scope="module")
def hover() -> Flight:
    return fly("quad_f450", control="truth", mission="hover", until_s=1.2, ends="time")


def _page(flown: list[Compared], folder: Path) -> Page:
    write_compare_page(flown, folder / "compare.html")
    return Page((folder / "compare.html").read_text(encoding="utf-8"))


def test_hostile_names_errors_and_words_of_an_autopilot_stay_text(hover: Flight, tmp_path: Path) -> None:
    assert hover.order.mission is not None
    mission = hover.order.mission.model_copy(update={"title": HOSTILE})
    said = [AutopilotEvent(0.1, HOSTILE, HOSTILE)]
    flight = replace(hover, order=replace(hover.order, mission=mission), autopilot_events=said)

    page = _page([Compared(HOSTILE, flight), Compared("absent", None, HOSTILE)], tmp_path)

    assert "script" not in page.tags and "img" not in page.tags
    # name: table, what it said, four plots; error; title twice; kind and text of what it said
    assert page.text.count("&lt;script&gt;alert(1)") >= 10 and "<script" not in page.text
    assert not [link for link in page.links if link.startswith("x")]


def test_a_control_system_that_is_absent_is_an_error_beside_the_others(hover: Flight, tmp_path: Path) -> None:
    page = _page([Compared("truth", hover), Compared("px4", None, "it is not installed")], tmp_path)

    row = page.text[page.text.index("<th>verdict</th>") :].split("</tr>")[0]
    assert row.count('class="badge pass">pass<') == 1 and row.count('class="badge error">error<') == 1
    assert row.index("pass") < row.index("error") and "it is not installed" in row
