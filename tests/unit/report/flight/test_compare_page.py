"""The page of a comparison: complete, and harmless whatever names and words it shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flight_pages import Page

from ironbird.campaign.compare import Compared
from ironbird.errors import LinkError
from ironbird.flight.flight import Flight
from ironbird.report.compare_page import write_compare_page
from ironbird.rig.system import AutopilotEvent

HOSTILE = "\"><script>alert('1')</script><img src=x onerror=alert(2)>"


def page_of(flown: list[Compared], folder: Path) -> Page:
    write_compare_page(flown, folder / "compare.html")
    return Page((folder / "compare.html").read_text())


def test_hostile_names_and_words_stay_text(flight: Flight, tmp_path: Path) -> None:
    spec = flight.vehicle.spec.model_copy(update={"title": HOSTILE})
    first = flight.witnesses[0].first_s
    said = [AutopilotEvent(first + 0.5, "failsafe", HOSTILE), AutopilotEvent(first + 0.6, HOSTILE, HOSTILE)]
    hostile = replace(
        flight,
        vehicle=replace(flight.vehicle, spec=spec),
        order=replace(flight.order, mission=flight.order.mission.model_copy(update={"title": HOSTILE})),  # type: ignore[union-attr]
        autopilot_events=said,
    )
    page = page_of(
        [Compared(HOSTILE, hostile, autopilot=LinkError(HOSTILE)), Compared(HOSTILE, None, error=HOSTILE)], tmp_path
    )

    assert page.scripts == [] and not {"img", "iframe", "object", "link", "base"} & set(page.tags)
    assert "<script" not in page.text and "<img" not in page.text
    assert page.words.count(HOSTILE) >= 8  # title, two names, error, log, what was said
    assert "default-src 'none'" in page.text and "base-uri 'none'" in page.text


def test_links_lead_below_the_folder_only(flight: Flight, tmp_path: Path) -> None:
    for name in ("javascript:alert(1)", "px4"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "flight.html").write_text("")
    page = page_of([Compared("javascript:alert(1)", flight), Compared("px4", flight)], tmp_path)

    assert page.links == ["javascript%3Aalert%281%29/flight.html", "px4/flight.html"]
