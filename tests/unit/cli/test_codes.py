"""Exit codes: one table for all verbs, of one flight and of several."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_data import flight_case, result_of
from flight_pages import judged_as
from typer.testing import CliRunner, Result

from ironbird.campaign.case import FlightCase
from ironbird.campaign.compare import Compared
from ironbird.campaign.store import Store
from ironbird.cli import fly as fly_commands
from ironbird.cli.exit_codes import INTERRUPTED, code_of, code_of_all
from ironbird.cli.main import app
from ironbird.cli.output import WrittenFlight, write_flight
from ironbird.flight.flight import Flight, fly
from ironbird.flight.judge import Judgement
from ironbird.flight.order import Requirement
from ironbird.report.folder import write_flight_folder


@pytest.fixture(scope="module")
def hover() -> Flight:
    return fly("quad_f450", control="truth", mission="hover", until_s=1.0, ends="time")


def ironbird(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "220", "NO_COLOR": "1", "TERM": "dumb"})


def test_one_flight_ends_with_the_code_of_its_verdict(hover: Flight) -> None:
    codes = {verdict: code_of(judged_as(hover, verdict)) for verdict in ("pass", "fail", "error", "void")}
    assert codes == {"pass": 0, "fail": 1, "error": 2, "void": 3}
    assert code_of(replace(judged_as(hover, "error"), log=replace(hover.log, interrupted=True))) == 130


VACUOUS = Judgement("soft", "major", 1.0, float("nan"), "", untested="its condition never held: altitude < 1 m")


@pytest.mark.parametrize(
    ("verdict", "plain", "strict"), [("pass", 0, 1), ("fail", 1, 1), ("error", 2, 2), ("void", 3, 3)]
)
def test_a_requirement_that_was_not_put_to_the_test_counts_only_if_strict(
    hover: Flight, tmp_path: Path, verdict: str, plain: int, strict: int
) -> None:
    vague = judged_as(hover, verdict, [VACUOUS])
    assert (code_of(vague), code_of(vague, strict=True)) == (plain, strict)
    assert code_of(judged_as(hover, "pass"), strict=True) == 0
    if verdict == "pass":
        written = write_flight(vague, tmp_path, strict=True)
        assert (written.code, written.problem) == (
            1, "pass, but 1 of 1 requirements were not put to the test (--strict)",
        )  # fmt: skip
        assert written.rows["not tested 1"] == "soft: its condition never held: altitude < 1 m"
        assert (write_flight(vague, tmp_path).code, write_flight(vague, tmp_path).problem) == (0, "")


def test_the_command_takes_how_a_flight_may_end(tmp_path: Path) -> None:
    words = ("fly", "quad_f450", "--control", "truth", "--mission", "hover", "--until", "1", "--out", str(tmp_path))
    assert ironbird(*words).exit_code == 3  # cut off
    assert ironbird(*words, "--ends", "time").exit_code == 0
    soft = ("--require", "always (altitude > 60 m implies climb > -1 m/s)")
    assert ironbird(*words, "--ends", "time", *soft).exit_code == 0
    done = ironbird(*words, "--ends", "time", *soft, "--strict")
    assert done.exit_code == 1 and "1 of 2 requirements were not put to the test (--strict)" in done.output
    done = ironbird(*words, "--ends", "landed")
    assert done.exit_code == 2 and "ends = 'landed' is no way to end: give 'completed', 'completed or landed'" in (
        " ".join(done.stderr.split())
    )
    crashing = ("--set", "body.mass=0.6", "--require", "eventually (crashed == 1)")
    done = ironbird(*words, "--ends", "time", "--may-crash", *crashing)
    assert done.exit_code == 1 and "no_crash" not in done.output


@pytest.mark.parametrize(
    ("codes", "code"), [([0, 0], 0), ([0, 1], 1), ([3, 0], 1), ([0, 2], 1), ([3, INTERRUPTED, 0], 130), ([], 0)]
)
def test_several_flights_end_with_1_if_any_is_not_good(codes: Sequence[int], code: int) -> None:
    assert code_of_all(codes) == code


@pytest.mark.parametrize(("verdicts", "code"), [(["void"], 3), (["pass", "void"], 1), (["pass", "pass"], 0)])
def test_several_autopilots_at_once_end_with_the_verdict_of_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verdicts: list[str], code: int
) -> None:
    flown = [
        WrittenFlight("F450", {"verdict": verdict}, {}, tmp_path, "", {"pass": 0, "void": 3}[verdict])
        for verdict in verdicts
    ]
    monkeypatch.setattr(fly_commands, "_fly_one", lambda *given: flown[0])
    monkeypatch.setattr(fly_commands, "_fly_in_processes", lambda *given: flown)
    words = ("--control", "px4", "--count", str(len(verdicts)), "--mission", "hover", "--out", str(tmp_path))
    assert ironbird("fly", "quad_f450", *words).exit_code == code


@pytest.mark.parametrize(
    ("verdicts", "code"), [(["pass", "pass"], 0), (["pass", "fail"], 1), (["void", "pass"], 1), (["pass", None], 1)]
)
def test_a_comparison_ends_with_1_if_a_flight_did_not_pass(
    hover: Flight, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verdicts: list[str | None], code: int
) -> None:
    flown = [
        Compared(f"system {number}", judged_as(hover, verdict) if verdict else None, "" if verdict else "not there")
        for number, verdict in enumerate(verdicts)
    ]
    monkeypatch.setattr("ironbird.campaign.compare.first_flight", lambda text: hover.order)
    monkeypatch.setattr("ironbird.campaign.compare.compare", lambda *given, **more: flown)
    monkeypatch.setattr("ironbird.report.compare_page.write_compare_page", lambda *given: None)
    case = tmp_path / "case.toml"
    case.write_text(flight_case(1).to_toml())
    done = ironbird("bench", "autopilots", str(case), "--out", str(tmp_path))
    assert done.exit_code == code, done.output


# ---------------------------------------------------------------------- mistakes


def test_a_text_is_no_setting() -> None:
    done = ironbird("fly", "quad_f450", "--set", 'body.mass="x"', "--until", "1")
    assert done.exit_code == 2 and "setting body.mass = 'x' is not a number" in done.stderr


def test_a_change_between_ticks_cannot_be_replayed(tmp_path: Path) -> None:
    record = tmp_path / "tunings.json"
    record.write_text('[{"tick": 1000.5, "path": "body.mass", "value": 1.5}]')
    done = ironbird("fly", "quad_f450", "--replay", str(record), "--until", "2", "--out", str(tmp_path / "o"))
    assert done.exit_code == 2 and "tuning of body.mass: tick 1000.5 is not a whole number" in done.stderr


def test_figures_that_cannot_be_written_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ironbird.proofs.start_speed.measure", lambda **how: {})
    done = ironbird("bench", "start", "--out", "/nonexistent/x")
    assert done.exit_code == 2 and "cannot read or write: " in done.stderr and "/nonexistent/x" in done.stderr


# ---------------------------------------------------------------------- repeating


def test_an_interrupted_flight_is_repeated_without_a_word_of_equal_hashes(hover: Flight, tmp_path: Path) -> None:
    longer = replace(hover.order, until_s=1.3)
    write_flight_folder(replace(hover, order=longer, log=replace(hover.log, interrupted=True)), tmp_path)
    done = ironbird("repeat", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert not re.search("equal", done.output, re.I)

    write_flight_folder(hover, tmp_path)
    assert "equal to the earlier flight, bit for bit" in ironbird("repeat", str(tmp_path)).output
    write_flight_folder(replace(hover, order=longer), tmp_path)
    done = ironbird("repeat", str(tmp_path))
    assert done.exit_code == 1 and "NOT equal" in done.output


def test_a_rerun_ends_with_the_verdict_if_there_is_nothing_to_compare_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = flight_case(1, until_s=3.0, ends="time")
    bad = flight_case(2, until_s=3.0, requirements=(Requirement("grounded", "always (altitude < 0.5 m)"),))
    place = f"sqlite:///{tmp_path}/store.db"
    store = Store(place)
    store.create("c", "c", {}, [good, bad])

    def rerun(case: FlightCase) -> Result:
        return ironbird("campaign", "rerun", "c", case.id, "--store", place, "--out", str(tmp_path / "out"))

    assert [rerun(case).exit_code for case in (good, bad)] == [0, 1]
    done = rerun(bad)
    assert "the campaign has not flown it yet" in done.output and "verdict │ fail" in done.output

    def interrupted(case: FlightCase, **how: Any) -> Flight:
        flight = fly(case, **how)
        return replace(flight, log=replace(flight.log, interrupted=True))

    monkeypatch.setattr("ironbird.flight.flight.fly", interrupted)
    campaign = store.campaign("c")
    number = next(number for number, case in store.open_cases(campaign) if case == good)
    store.write(campaign, [(number, result_of(good))])  # of another hash
    done = rerun(good)
    assert done.exit_code == 130 and "equal" not in done.output


def test_a_control_system_that_cannot_be_loaded_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("this is no Python\n")
    monkeypatch.setenv("IRONBIRD_SYSTEMS", f"broken={tmp_path / 'broken.py'}:KIND")
    found = CliRunner().invoke(app, ["system", "list", "--json"])
    told = {entry["name"]: entry for entry in json.loads(found.stdout)["systems"]}
    assert found.exit_code == 0 and {"reference", "px4", "broken"} <= set(told)
    assert "cannot be loaded: SyntaxError" in told["broken"]["summary"]
