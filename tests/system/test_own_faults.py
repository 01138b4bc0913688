"""A user's fault is a file in a folder of the user's: ordinary commands list, find, show, fly and campaign with it."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ironbird as ib
from ironbird.cli.main import app
from ironbird.errors import FaultError

FAULTS = """
schema = 1

[[fault]]
id = "mine.buzz@1"
summary = "A loose mount: the accelerometer buzzes."
severity = "1 is an amplitude of 6 m/s^2"
keywords = ["rattle"]
change = [
    { signal = "imu/{instance}/accel_fault.value", expression = "value + severity * 6 m/s^2 * sin(90 rad/s * time)" },
]

[[fault]]
id = "mine.tired@1"
summary = "A motor that is tired."
severity = "share of speed lost"
witness = "rotor/{instance}/motor.speed"
change = [{ parameter = "rotor/{instance}/motor.health", scale = [1.0, 0.0] }]
"""
SUITE = """
schema = 1
[suite]
id = "own"
[suite.defaults]
faults_files = ["faults"]
vehicle = "quad_f450"
mission = "hover"
until_s = 5.0
ends = "time"
[[case]]
id = "buzz"
[[case.fault]]
id = "mine.buzz@1"
severity = { grid = [0.1, 0.2] }
start_s = 4.0
[[case]]
id = "either"
[[case.fault]]
id = { choice = ["mine.tired@1", "rotor.speed_loss@1"] }
severity = 0.1
start_s = 4.0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "faults").mkdir()
    (tmp_path / "faults" / "mine.toml").write_text(FAULTS)
    (tmp_path / "suite.toml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ironbird(*arguments: str, code: int = 0) -> Result:
    done = CliRunner(env={"COLUMNS": "400", "NO_COLOR": "1", "TERM": "dumb"}).invoke(app, arguments)
    assert done.exit_code == code, done.output
    return done


def test_it_is_listed_found_and_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = json.loads(ironbird("fault", "list", "--faults-file", "faults", "--json").stdout)["faults"]
    assert [row["id"] for row in listed if row["origin"] == "user"] == ["mine.buzz@1", "mine.tired@1"]
    assert "mine.buzz@1" in ironbird("fault", "find", "rattle", "--faults-file", "faults/mine.toml").stdout
    assert "no fault fits 'rattle'" in ironbird("fault", "find", "rattle", code=2).output
    monkeypatch.setenv("IRONBIRD_FAULTS", "ours=faults/mine.toml")
    assert len(json.loads(ironbird("fault", "list", "--json").stdout)["faults"]) == len(listed)
    shown = ironbird("fault", "show", "mine.buzz@1", "--out", "shown").stdout
    assert "acted on fault/mine_buzz_1/1/1.value from 8.000 s" in shown and "sin(90 rad/s * time)" in shown
    assert "mine.buzz@1" in (folder / "shown" / "flight.html").read_text()


def test_it_is_flown_and_repeats_when_the_file_is_gone(folder: Path) -> None:
    flown = ["fly", "quad_f450", "--mission", "hover", "--until", "5", "--ends", "time", "--faults-file", "faults"]
    flown += ["--fault"]
    said = ironbird(*flown, "mine.buzz@1:severity=0.2,start=4", "--out", "flight").stdout
    assert "acted on fault/mine_buzz_1/1/1.value" in said
    shutil.rmtree("faults")
    assert "equal to the earlier flight, bit for bit" in ironbird("repeat", "flight").stdout
    assert "faults:1:1" in ironbird(*flown, "mine.buzz@1", code=2).output


def test_one_that_does_not_act_is_void(folder: Path) -> None:
    command = ["fly", "quad_f450", "--mission", "hover", "--until", "4", "--ends", "time", "--faults-file", "faults"]
    said = ironbird(*command, "--fault", "mine.buzz@1:start=60", "--out", "flight", code=3).stdout
    assert "void" in said and "ineffective" in said


def test_a_campaign_flies_resumes_reruns_and_packs_it_without_the_file(folder: Path) -> None:
    store = ("--store", f"sqlite:///{folder / 'store.db'}")
    assert "4 flights, no problems" in ironbird("case", "check", "suite.toml").stdout
    ironbird("campaign", "run", "suite.toml", *store, "--name", "own", "--workers", "1")
    shutil.rmtree("faults")
    ironbird("campaign", "resume", "own", *store)
    again = ironbird("campaign", "rerun", "own", "buzz/0001/s0", *store, "--out", "again")
    assert "mine.buzz@1" in (folder / "again" / "order.toml").read_text(), again.stdout
    ironbird("evidence", "pack", "own", *store, "--out", "pack.zip")
    with zipfile.ZipFile("pack.zip") as pack:
        assert any(b"sin(90 rad/s * time)" in pack.read(name) for name in pack.namelist())
    assert "bit for bit" in ironbird("evidence", "repeat", "pack.zip").stdout


def test_a_shared_value_of_a_case_may_name_it(folder: Path) -> None:
    varied = SUITE.replace('id = "mine.buzz@1"', 'id = "$broken"').replace(
        'id = "buzz"', 'id = "buzz"\nvary = { broken = { choice = ["mine.buzz@1", "mine.tired@1"] } }'
    )
    (folder / "suite.toml").write_text(varied)
    assert "6 flights, no problems" in ironbird("case", "check", "suite.toml").stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wire.nack@1", "acted on wire/mag/sda, request"),
        ("chip.overflow@1", "acted on MISO of imu from 3.00"),
        ("route.drop@1", "104 lost of 104 packets"),
        ("sight.black@1", "acted on sight/around"),
        ("servo.stuck@1", "acted on surface/elevator/servo.deflection"),
    ],
)
def test_a_fault_is_shown_on_a_bench_where_it_acts(folder: Path, name: str, said: str) -> None:
    (table,) = json.loads(ironbird("fault", "show", name, "--out", "shown", "--json").stdout)["tables"]
    assert said in table["rows"]["witness"] and table["rows"]["needs"]
    page = table["rows"]["report"]
    assert name.startswith("chip.overflow") or name in (folder / page).read_text()


def test_faults_of_a_vehicle_are_those_of_its_parts() -> None:
    rows = json.loads(ironbird("fault", "list", "--vehicle", "boat_otter", "--json").stdout)["faults"]
    names = {row["id"] for row in rows}
    assert {"thruster.loss@1", "current.turn@1"} <= names
    assert not {"wheel.stuck@1", "servo.stuck@1", "wire.nack@1"} & names


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'faults_files = ["faults"]',
            'faults_files = ["nothing.toml"]',
            "suite.toml:6:17: suite.defaults.faults_files.1: ",
        ),
        ('id = "mine.buzz@1"', 'id = "mine.buz@1"', "unknown fault 'mine.buz@1'"),
        ('id = "mine.buzz@1"', 'id = "mine.buzz@1"\ninstance = 9', "case.buzz.fault.1.id: fault on signal imu/9/accel"),
        ('vehicle = "quad_f450"', 'vehicle = "car_escort"', "mine.tired@1 needs rotor/1/motor.health, which vehicle"),
    ],
)
def test_mistakes_of_a_case_are_named_with_their_place(folder: Path, old: str, new: str, message: str) -> None:
    (folder / "suite.toml").write_text(SUITE.replace(old, new))
    assert message in ironbird("case", "check", "suite.toml", code=2).output


@pytest.mark.parametrize(("effect", "acts"), [("scale = 1.0", False), ("offset = 0.0", False), ("scale = 0.9", True)])
def test_a_change_of_nothing_at_a_continuous_signal_is_void(tmp_path: Path, effect: str, acts: bool) -> None:
    """Between the samples of a copy the signal goes on: that must not count as the fault's effect."""
    head = 'schema = 1\n[[fault]]\nid = "mine.none@1"\nsummary = "A change."\nseverity = "none"\n'
    (tmp_path / "none.toml").write_text(f'{head}[[fault.change]]\nsignal = "rotor/1/motor.speed"\n{effect}\n')
    flight = ib.fly(
        "quad_f450",
        mission="hover",
        until_s=8.0,
        faults=["mine.none@1:start=5"],
        faults_files=[tmp_path / "none.toml"],
    )
    assert flight.witnesses[0].effective is acts and (flight.verdict == "void") is not acts


def test_a_fault_with_a_name_of_ironbirds_own_is_refused_before_it_flies(tmp_path: Path) -> None:
    head = 'schema = 1\n[[fault]]\nid = "imu.bias@1"\nsummary = "A change."\nseverity = "none"\n'
    (tmp_path / "taken.toml").write_text(f'{head}[[fault.change]]\nsignal = "rotor/1/motor.speed"\nscale = 0.5\n')
    with pytest.raises(FaultError, match=r"'imu\.bias@1' is a fault of Ironbird"):
        ib.make_order("quad_f450", faults=["imu.bias@1:start=5"], faults_files=[tmp_path / "taken.toml"])


def test_an_expression_without_a_finite_value_is_refused_in_words(tmp_path: Path) -> None:
    head = 'schema = 1\n[[fault]]\nid = "mine.huge@1"\nsummary = "A change."\nseverity = "none"\n'
    law = 'signal = "rotor/1/motor.speed"\nexpression = "value * 1e308 * 1e308 * severity"\n'
    (tmp_path / "huge.toml").write_text(f"{head}[[fault.change]]\n{law}")
    with pytest.raises(FaultError, match="no finite number"):
        ib.fly("quad_f450", mission="hover", faults=["mine.huge@1"], faults_files=[tmp_path / "huge.toml"], until_s=1.0)
