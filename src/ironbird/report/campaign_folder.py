"""The folder of a campaign: its page, its results as JSON and as JUnit XML."""

from __future__ import annotations

from pathlib import Path

from ironbird.campaign.store import Campaign, Store
from ironbird.files.whole import write_text
from ironbird.report.campaign_page import write_campaign_page
from ironbird.report.junit import write_junit
from ironbird.report.table import results_text


def write_campaign_folder(store: Store, campaign: Campaign, folder: Path) -> Path:
    """Write `report.html`, `junit.xml` and `results.json` of a campaign; returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    results = store.results(campaign)
    write_campaign_page(store, campaign, folder / "report.html")
    write_junit(folder / "junit.xml", campaign.name, results, list(store.cases(campaign)), store.wall_times(campaign))
    write_text(folder / "results.json", results_text(results, campaign.name))
    return folder / "report.html"
