"""A new kind of control system is one file and one line of registry: all verbs fly it, judge it and end it.

The file is written by this test; the line is the environment variable IRONBIRD_SYSTEMS. Its autopilot is a program in
another process that answers one line of JSON for each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from ironbird.campaign.case import FlightCase
from ironbird.campaign.identity import definition_changed, files_of
from ironbird.cli.main import app
from ironbird.errors import IronbirdError, OrderError
from ironbird.flight.flight import fly
from ironbird.flight.order import Order, load_order, make_order
from ironbird.rig.system import FunctionSystem
from ironbird.runtime.tuning import Tuning
from ironbird.vehicles.load import load_vehicle

TOY = '''
"""A toy autopilot: level and at a height, by one gyro, one accelerometer and one barometer."""

import json
import os
import select
import subprocess
import sys

from pydantic import Field

from ironbird.rig.system import ControlSystem, Kind, Options, Seat

PATIENCE_S = 60.0
PROGRAM = """
import json, math, sys
LAYOUT = (1, 1, 1), (-1, -1, 1), (1, -1, -1), (-1, 1, -1)  # of the F450's rotors: x, y, sense of yaw
HOVER = 0.64
wanted = json.loads(sys.stdin.readline())
print(json.dumps({"said": "ready"}), flush=True)
roll = pitch = height = climb = roll_sum = pitch_sum = 0.0
ground = None
for line in sys.stdin:
    heard = json.loads(line)
    if heard["time"] > wanted["dies_s"]:
        print("out of fuel", file=sys.stderr)
        sys.exit(7)
    dt, (p, q, r), (ax, ay, az) = heard["step"], heard["gyro"], heard["accel"]
    ground = ground or heard["pressure"]
    roll += dt * (p + 0.3 * (math.atan2(-ay, -az) - roll))
    pitch += dt * (q + 0.3 * (math.atan2(ax, -az) - pitch))
    gap = 8434.0 * math.log(ground / heard["pressure"]) - height
    height += dt * (climb + 2.0 * gap)
    climb += dt * (-az - 9.81 + gap)
    roll_sum, pitch_sum = roll_sum - 0.05 * dt * roll, pitch_sum - 0.05 * dt * pitch
    lift = HOVER + 0.1 * (max(-1.0, min(1.0, 0.8 * (wanted["height_m"] - height))) - climb)
    a, b, c = roll_sum - 0.35 * roll - 0.07 * p, pitch_sum - 0.35 * pitch - 0.07 * q, -0.1 * r
    throttle = [max(0.0, min(1.0, lift - y * a + x * b + s * c)) for x, y, s in LAYOUT]
    print(json.dumps({"throttle": throttle}), flush=True)
"""


class ToyOptions(Options):
    height_m: float = Field(default=3.0, gt=0, description="Where it hovers.")
    dies_s: float = Field(default=1e9, description="When its program ends by itself.")


class Toy(ControlSystem):
    name = "toy"

    def __init__(self, options):
        super().__init__()
        self.wanted, self.program = options, None

    def start(self, rig):
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, __file__]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.note(rig, "text", self.ask(rig, self.wanted.model_dump())["said"])

    def exchange(self, rig):
        samples = {"gyro": rig.gyros[0], "accel": rig.accels[0]}
        told = {name: sensor.values.tolist() for name, sensor in samples.items()}
        told |= {"time": rig.time_s, "step": 0.001 * self.step_ticks, "pressure": float(rig.barometers[0].values[0])}
        try:
            answer = self.ask(rig, told)
        except (OSError, EOFError):
            said = self.program.stderr.read().decode().strip()
            self.failure = f"the toy ended with code {self.program.wait()} {self.where(rig)}; its output: {said}"
            return
        for number, value in enumerate(answer["throttle"], start=1):
            rig.command(f"rotor/{number}", value)

    def ask(self, rig, question):
        self.program.stdin.write(json.dumps(question).encode() + b"\\n")
        self.program.stdin.flush()
        self.traffic.sent += 1
        line = b""
        while not line.endswith(b"\\n"):
            if not select.select([self.program.stdout], [], [], PATIENCE_S)[0]:
                raise self.silent(rig, PATIENCE_S, "answer")
            part = os.read(self.program.stdout.fileno(), 65536)
            if not part:
                raise EOFError
            line += part
        self.traffic.received += 1
        return json.loads(line)

    def stop(self):
        if self.program is not None:
            self.program.kill()
            self.program.communicate()
            self.program = None


class ToyKind(Kind):
    name = "toy"
    title = "Toy autopilot"
    summary = "Hover by a program of twenty lines."
    options = ToyOptions
    longest_s = 7.0

    def flies_mission(self, options):
        return False  # it hovers

    def seat(self, task):
        return Seat(Toy(task.options))


TOY = ToyKind()
'''
CASE = """schema = 1
[[case]]
id = "weak"
vehicle = "quad_f450"
control = "toy"
mission = "hover"
until_s = 6.0
seeds = [1, 2]
options = { height_m = 2.0 }
[[case.fault]]
id = "rotor.speed_loss@1"
instance = 1
severity = 0.05
when = "altitude > 1 m"
[[case.require]]
use = "no_crash"
"""
MORE = """
[[case]]
id = "dies"
vehicle = "quad_f450"
control = "toy"
mission = "hover"
seeds = 1
options = { dies_s = 2.0 }
[[case]]
id = "idle"
vehicle = "quad_f450"
control = "toy"
mission = "hover"
until_s = 2.0
seeds = 1
[[case.fault]]
id = "rotor.speed_loss@1"
instance = 1
when = "altitude > 900 m"
"""
FAULT = "rotor.speed_loss@1:instance=1,severity=0.05,start=4"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one file."""
    path = tmp_path_factory.mktemp("toy") / "toy.py"
    path.write_text(TOY)
    return path


@pytest.fixture(autouse=True)
def registered(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The one line; and whatever a test does with the toy, none of its programs is left."""
    monkeypatch.setenv("IRONBIRD_SYSTEMS", f"toy={toy}:TOY")
    monkeypatch.chdir(tmp_path)
    yield
    assert programs(toy) == []


def programs(toy: Path) -> list[str]:
    """Processes that have the toy's file in their command line."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and process.name != str(os.getpid()):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:  # it ended meanwhile
                continue
            if str(toy).encode() in words:
                found.append(process.name)
    return found


def ironbird(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "220", "NO_COLOR": "1", "TERM": "dumb"})
    assert done.exit_code == code, done.output + repr(done.exception)
    return done


def summary(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / "summary.json").read_text())
    return found


# ---------------------------------------------------------------------- one flight


def test_fly_takes_off_hovers_and_leaves_the_folder_of_any_flight(tmp_path: Path) -> None:
    """As a user starts it: in a process of its own, with an option of the toy, and a fault on a rotor."""
    words = ["fly", "quad_f450", "--control", "toy", "--option", "height_m=2.5", "--fault", FAULT, "--out", "o"]
    done = subprocess.run([sys.executable, "-m", "ironbird.cli", *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr

    folder = tmp_path / "o"
    names = {"flight.parquet", "flight.html", "order.toml", "summary.json", "autopilot_events.json"}
    assert {path.name for path in folder.iterdir()} == names
    found = summary(folder)
    assert found["control"] == "Toy autopilot" and found["verdict"].startswith("pass")
    assert found["outcome"] == "flown to the end at 7.00 s"  # as long as its kind says
    assert found["fault 1"].startswith("rotor.speed_loss@1") and found["witness 1"].startswith(
        "acted on rotor/1/motor.speed from 4.0"
    )
    table = pq.read_table(folder / "flight.parquet")
    height, time_s = -np.array(table["body.p_NB_N[2]"]), np.array(table["time_s"])
    assert np.abs(height[time_s > 5.0] - 2.5).max() < 0.5  # the barometer wanders
    assert "Toy autopilot" in (folder / "flight.html").read_text()
    assert json.loads((folder / "autopilot_events.json").read_text()) == [
        {"time_s": 0.0, "kind": "text", "text": "ready"}
    ]
    order = load_order(folder)
    assert (order.control, order.options) == ("toy", {"height_m": 2.5})


def test_a_campaign_notes_the_control_systems_own_code(tmp_path: Path) -> None:
    """Two programs under one name in one campaign would prove nothing."""
    case = FlightCase(
        **{entry.name: getattr(make_order("quad_f450", control="toy"), entry.name) for entry in fields(Order)},
        id="a/0001/s0",
        case_id="a",
    )
    noted = files_of([case])
    home = next(Path(name) for key in noted if key.startswith("control toy") for name in noted[key])
    assert home.is_file() and definition_changed(case, case.digest(), noted) == ""
    text = home.read_text()
    home.write_text(text.replace("HOVER = 0.64", "HOVER = 0.95"))
    try:
        assert definition_changed(case, case.digest(), noted) == f"the control system toy changed: {home}"
    finally:
        home.write_text(text)


def test_repeat_flies_the_order_again(tmp_path: Path) -> None:
    ironbird("fly", "quad_f450", "--control", "toy", "--option", "height_m=1", "--until", "3", "--out", "o")

    done = ironbird("repeat", "o")

    assert "compare the verdicts" in done.output  # another process may not repeat to the bit; this one does
    assert summary(tmp_path / "o" / "again")["sha256"] == summary(tmp_path / "o")["sha256"]
    assert load_order(tmp_path / "o" / "again").digest() == load_order(tmp_path / "o").digest()


def test_a_fault_that_it_cannot_stand_is_a_fail(tmp_path: Path) -> None:
    fault = "imu.gyro_stuck@1:instance=1,start=3"  # its only gyro: what a tap puts out is what it hears

    ironbird("fly", "quad_f450", "--control", "toy", "--fault", fault, "--wind", "8,270", "--turbulence", "12", code=1)

    found = summary(tmp_path / "out" / "latest")
    assert found["verdict"].startswith("fail: no_crash") and "acted on imu/1/gyro" in found["witness 1"]


def test_a_fault_that_does_not_act_is_void(tmp_path: Path) -> None:
    fault = "rotor.speed_loss@1:instance=1,severity=1,when=altitude > 900 m"

    ironbird("fly", "quad_f450", "--control", "toy", "--fault", fault, "--until", "2", "--out", "o", code=3)

    found = summary(tmp_path / "o")
    assert found["verdict"].startswith("void: the fault did not act") and found["witness 1"].startswith("ineffective")


def test_a_program_that_dies_in_flight_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    ironbird("fly", "quad_f450", "--control", "toy", "--option", "dies_s=2", "--out", "o", code=2)

    found = summary(tmp_path / "o")
    assert found["verdict"].startswith("error: the toy ended with code 7 at 2.00")
    assert "its output: out of fuel" in found["verdict"]
    assert pq.read_table(tmp_path / "o" / "flight.parquet").num_rows == 101  # what was flown is kept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--control", "toy", "--option", "hight_m=2"], "unknown option 'hight_m'"),
        (["--control", "toy", "--option", "hight_m=2"], "did you mean 'height_m'"),
        (["--control", "toy", "--option", "height_m=-1"], "option height_m of control 'toy': "),
        (["--control", "toy", "--option", "height_m"], "give KEY=VALUE"),
        (["--control", "tyo"], "did you mean 'toy'"),
        (["--control", "reference", "--option", "height_m=2"], "control 'reference' takes no options"),
    ],
)
def test_what_it_does_not_know_is_refused_with_the_nearest_name(words: list[str], message: str) -> None:
    assert message in " ".join(ironbird("fly", "quad_f450", *words, code=2).output.split())


def test_systems_lists_it_with_its_options() -> None:
    rows = {row["name"]: row for row in json.loads(ironbird("system", "list", "--json").output)["systems"]}

    assert rows["toy"]["title"] == "Toy autopilot" and rows["toy"]["outside"]
    assert rows["toy"]["options"] == {"height_m": "Where it hovers.", "dies_s": "When its program ends by itself."}
    assert "--height-m" in ironbird("system", "show", "toy").output


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ({"settings": {"body.mas": 1.0}}, "did you mean 'body.mass'"),
        ({"faults": ["servo.stuck@1:instance=rudder"]}, "has no surface that could break"),
        ({"tunings": [Tuning(1000, "body.mass", 2.0)]}, "no parameter can be changed in flight"),
    ],
)
def test_an_order_that_is_wrong_ends_what_was_made_for_it(what: dict[str, Any], error: str) -> None:
    """A kind may take ports when its seat is taken, before the vehicle is prepared."""

    class Counted(FunctionSystem):
        stopped = 0

        def stop(self) -> None:
            self.stopped += 1

    system = Counted(lambda rig: None)
    with pytest.raises(IronbirdError, match=error):
        fly("quad_f450", control=system, until_s=1.0, **what)
    assert system.stopped == 1


def test_a_plan_of_another_program_is_not_flown_as_something_else(tmp_path: Path) -> None:
    rows = ["QGC WPL 110", "0\t1\t0\t16\t0\t0\t0\t0\t47.4\t8.5\t500\t1", "1\t0\t3\t22\t0\t0\t0\t0\t47.4\t8.5\t10\t1"]
    (tmp_path / "some.plan").write_text("\n".join(rows))

    done = ironbird("fly", "quad_f450", "--control", "reference", "--mission", "some.plan", code=2)

    assert "control 'reference' flies no plan of another program" in done.output


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("TOY = 1", "TOY", "is no Kind but a int"),
        ("TOY = 1", "TOI", "has no attribute 'TOI'"),
        ("TOY = nothing", "TOY", "NameError: name 'nothing' is not defined"),
        ("TOY = (", "TOY", "SyntaxError: "),
        (None, "TOY", "FileNotFoundError: "),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, name: str, message: str
) -> None:
    if text is not None:
        (tmp_path / "broken.py").write_text(text)
    monkeypatch.setenv("IRONBIRD_SYSTEMS", f"broken={tmp_path / 'broken.py'}:{name}")

    assert message in ironbird("fly", "quad_f450", "--control", "broken", code=2).output
    ironbird("fly", "quad_f450", "--control", "truth", "--until", "0.1", code=3)  # nobody else suffers


@pytest.mark.parametrize(("loaded", "control"), [("truth", "reference"), ("reference", "toy"), ("external", "truth")])
def test_a_vehicle_that_was_loaded_for_one_is_not_flown_under_another(loaded: str, control: str) -> None:
    vehicle = load_vehicle("quad_f450", control=loaded)

    with pytest.raises(OrderError, match=f"was loaded with control '{loaded}', not for '{control}'"):
        fly(vehicle, control=control, until_s=0.1)


def test_a_loaded_vehicle_flies_under_the_control_that_it_has() -> None:
    assert fly(load_vehicle("quad_f450", control="truth"), until_s=0.1).order.control == "truth"
    assert fly(load_vehicle("quad_f450", control="external"), control="toy", until_s=0.1).order.control == "toy"


# ---------------------------------------------------------------------- cases and campaigns


def test_case_check_accepts_it_and_names_it_for_a_misspelling(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(CASE + MORE)
    (tmp_path / "misspelt.toml").write_text(CASE.replace('"toy"', '"toi"'))

    assert "toy.toml: 3 cases, 4 flights, no problems" in ironbird("case", "check", "toy.toml").output
    done = ironbird("case", "check", "misspelt.toml", code=2)
    assert "misspelt.toml:5:1: case.weak.control: unknown control system 'toi'" in done.output
    assert "did you mean 'toy'?" in done.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("height_m =", "hight_m =", "unknown option 'hight_m' in control 'toy'; did you mean 'height_m'?"),
        ("2.0", "-2.0", "option height_m of control 'toy': Input should be greater than 0"),
        ('control = "toy"', 'control = "reference"', "control 'reference' takes no options"),
        ('control = "toy"', "", "the vehicle's own control takes no options"),
    ],
)
def test_case_check_knows_its_options(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "wrong.toml").write_text(CASE.replace(old, new))

    done = ironbird("case", "check", "wrong.toml", code=2)

    assert message in done.output and "wrong.toml:9:" in done.output


def test_a_campaign_flies_it_in_worker_processes(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(CASE + MORE)

    ironbird("campaign", "run", "toy.toml", "--name", "c", "--workers", "2", "--out", "c", code=1)

    flights = {flight["id"]: flight for flight in json.loads((tmp_path / "c" / "results.json").read_text())["flights"]}
    verdicts = {name.partition("/")[0]: flight["verdict"] for name, flight in flights.items()}
    assert len(flights) == 4 and verdicts == {"weak": "pass", "dies": "error", "idle": "void"}
    weak = [flight for name, flight in flights.items() if name.startswith("weak")]
    assert all(flight["witnesses"][0]["effective"] and flight["ended_s"] == 6.0 for flight in weak)
    dead = next(flight for name, flight in flights.items() if name.startswith("dies"))
    assert "its output: out of fuel" in dead["sentence"]


def test_compare_autopilots_puts_it_beside_the_reference(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(CASE.replace("until_s = 6.0", 'until_s = 6.0\nends = "time"'))

    done = ironbird("bench", "autopilots", "toy.toml", "--system", "reference", "--system", "toy", "--out", "both")

    assert done.output.count("acted on rotor/1/motor.speed") == 2
    page = (tmp_path / "both" / "comparison.html").read_text()
    assert page.count("<title>toy</title>") == 4 and page.count("<title>reference</title>") == 4
    assert (tmp_path / "both" / "toy" / "flight.html").is_file()
    assert load_order(tmp_path / "both" / "toy").options == {"height_m": 2.0}  # the case's own, for its own system
    assert load_order(tmp_path / "both" / "reference").options == {}
