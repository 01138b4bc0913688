"""Recorded commands as a case: the flight that was commanded by hand is flown again, faulted, judged and packed."""

from __future__ import annotations

from pathlib import Path

import pytest

import ironbird as ib
from ironbird.campaign.suite import load_suite
from ironbird.errors import CaseError
from ironbird.flight.flight import Flight
from ironbird.flight.order import make_order
from ironbird.flight.systems import repeats

CASE = """
schema = 1
[[case]]
id = "by-hand"
vehicle = "quad_f450"
control = "{control}"
commands = "{file}"
until_s = 6.0
seeds = 3
"""


@pytest.fixture(scope="module")
def recorded() -> Flight:
    return ib.fly(make_order("quad_f450", control="commanded", mission="hover", seed=3, until_s=6.0))


def case_file(folder: Path, recorded: Flight, control: str = "commanded", file: str = "order.toml") -> Path:
    (folder / "order.toml").write_text(recorded.order.text())
    (folder / "case.toml").write_text(CASE.format(control=control, file=file))
    return folder / "case.toml"


def test_a_case_gives_the_commands_of_a_recorded_flight_again(tmp_path: Path, recorded: Flight) -> None:
    suite = load_suite(case_file(tmp_path, recorded))
    (flight,) = suite.flights()
    assert flight.script == recorded.order.script
    assert set(suite.sources()) == {"case.toml", "order.toml"}  # what an evidence pack holds
    assert repeats(flight.control, flight.options, flight.script)
    again = ib.fly(flight)
    assert again.log.sha256() == recorded.log.sha256()
    assert float(-again.log["body.p_NB_N"][:, 2].min()) > 1.0  # it took off: the commands were heard


def test_a_flight_under_recorded_commands_is_a_case_file_of_its_own(tmp_path: Path, recorded: Flight) -> None:
    (flight,) = load_suite(case_file(tmp_path, recorded)).flights()
    alone = tmp_path / "alone" / "case.toml"
    alone.parent.mkdir()
    alone.write_text(flight.to_toml())
    (same,) = load_suite(alone).flights()
    assert same.digest() == flight.digest()


@pytest.mark.parametrize(
    ("control", "file", "words"),
    [
        ("reference", "order.toml", "only control 'commanded' accepts them"),
        ("commanded", "nowhere.toml", "cannot read"),
        ("commanded", "case.toml", "commands"),
    ],
)
def test_commands_that_cannot_be_given_are_refused(
    tmp_path: Path, recorded: Flight, control: str, file: str, words: str
) -> None:
    with pytest.raises(CaseError, match=words):
        load_suite(case_file(tmp_path, recorded, control, file))
