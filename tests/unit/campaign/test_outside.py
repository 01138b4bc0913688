"""Cases under an autopilot: checked, one flight per batch, an error (never a guess) if the autopilot cannot be had."""

from pathlib import Path

import pytest

from ironbird.campaign.batch import fly_all, lanes_that_fit
from ironbird.campaign.statistics import flakiness
from ironbird.campaign.suite import check, load_suite

TEXT = """schema = 1
[[case]]
id = "outside"
vehicle = "quad_f450"
control = { choice = ["px4", "ardupilot"] }
mission = "square"
seeds = 1
[[case.require]]
use = "no_crash"
"""


def test_without_the_binaries_the_verdict_is_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IRONBIRD_PX4", "IRONBIRD_ARDUPILOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "case.toml"
    path.write_text(TEXT)
    flights = load_suite(path).flights()
    assert [flight.control for flight in flights] == ["px4", "ardupilot"]
    assert lanes_that_fit(flights[:1]) == 1
    results = fly_all(flights)
    assert [result.verdict for result in results] == ["error", "error"]
    assert "IRONBIRD_PX4" in results[0].sentence and "IRONBIRD_ARDUPILOT" in results[1].sentence
    assert not flakiness([result.verdict for result in results]).flaky


def test_a_requirement_on_our_navigator_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    path.write_text(TEXT.replace('use = "no_crash"', 'use = "position_error"'))
    problems = check(path)
    assert problems and "position_error" in problems[0].message
