"""Cases under an autopilot: checked, one flight per batch, an error (never a guess) if the autopilot cannot be had."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ironbird.campaign import batch
from ironbird.campaign.batch import fly_all, lanes_that_fit
from ironbird.campaign.statistics import flakiness
from ironbird.campaign.suite import check, load_suite
from ironbird.campaign.summary import exit_code
from ironbird.flight import cause, healthy
from ironbird.flight.cause import Cause, Steps
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import Order
from ironbird.report.junit import write_junit

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


def test_faults_of_a_campaign_share_healthy_flights_and_one_that_changes_nothing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "case.toml"
    fault = '[[case.fault]]\nid = "airspeed.bias@1"\nseverity = SHARE\nstart_s = 1.0\n'
    one = TEXT.removeprefix("schema = 1\n").replace('{ choice = ["px4", "ardupilot"] }', '"px4"')
    one = one.replace("seeds", 'options = { time = "virtual", twin = true }\nseeds') + fault
    path.write_text(
        "schema = 1\n" + one.replace("SHARE", "0.2") + one.replace("outside", "more").replace("SHARE", "0.4")
    )
    cases = load_suite(path).flights()
    assert len(cases) == 2
    hover = fly("quad_f450", control="truth", mission="hover", until_s=2.0, ends="time")
    steps = Steps("airspeed.bias@1", None, 0.0, 0.3, False)
    shown = Cause(math.inf, "", "airspeed.bias@1", 1.0, [], "", 5, [steps])
    asked: list[Order] = []

    def flown(order: Order, folder: Path, trust: object) -> tuple[Flight, Any]:
        asked.append(order)
        return hover, None

    batch._healthy.cache_clear()
    monkeypatch.setattr(healthy, "fly_healthy", flown)
    monkeypatch.setattr(batch, "fly", lambda case, folder: replace(hover, order=case))
    monkeypatch.setattr(cause, "cause_of", lambda flight, beside: shown)
    results = fly_all(cases)
    batch._healthy.cache_clear()

    assert len(asked) == 1 and [result.healthy for result in results] == [5, 5]
    assert results[0].verdict_text == "pass, but the fault changed nothing of the flight"
    assert exit_code(results) == 0 and exit_code(results, strict=True) == 1
    write_junit(tmp_path / "junit.xml", "night", results)
    text = (tmp_path / "junit.xml").read_text()
    assert text.count('name="changed nothing"') == 2 and "to the last bit" in text
