"""`ironbird sitl` and `ironbird compare-autopilots` without the autopilots' programs.

PX4 is played by the reference autopilot behind PX4's protocol: a program `px4` in a folder that looks like PX4's.
"""

from __future__ import annotations

import fcntl
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from autopilot_files import write_px4_log
from typer.testing import CliRunner, Result

from ironbird.autopilots.px4.process import SIMULATOR_PORT
from ironbird.campaign.compare import compare, first_flight
from ironbird.cli.main import app
from ironbird.errors import CaseError, UnknownNameError
from ironbird.flight.flight import Flight, fly

UNTIL_S = 6.0
CASE = """
schema = 1
[[case]]
id = "hop"
vehicle = "quad_f450"
mission = "square"
until_s = 6.0
ends = "time"
seeds = 1
[[case.fault]]
id = "rotor.speed_loss@1"
instance = 1
severity = 0.05
when = "altitude > 2 m"
[[case.require]]
use = "no_crash"
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, [*words])


def said(result: Result) -> str:
    """All that was printed, without the line breaks of a narrow terminal."""
    return " ".join(result.output.replace("│", " ").split())


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever autopilots this machine has are not found; results go to a folder of the test."""
    monkeypatch.delenv("IRONBIRD_PX4", raising=False)
    monkeypatch.delenv("IRONBIRD_ARDUPILOT", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def alone() -> Iterator[None]:
    """No other test of this kind at the same time: each would take the first free instance of PX4."""
    with Path("/tmp/ironbird-test-fake-px4.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def fake_px4(tmp_path: Path, alone: None) -> Path:
    """A folder as PX4's build has it; its program leaves `left.ulg` as its log, if the test put it there."""
    folder = tmp_path / "px4_build"
    (folder / "bin").mkdir(parents=True)
    start = folder / "etc" / "init.d-posix"
    start.mkdir(parents=True)
    for name in ("rcS", "px4-rc.mavlink"):
        (start / name).write_text("#!/bin/sh\n")
    program = folder / "bin" / "px4"
    program_text = f"{shlex.quote(sys.executable)} -c 'from ironbird.cli.main import main; main()'"
    standin = f"exec {program_text} connect autopilot --px4-protocol"
    program.write_text(
        "#!/bin/sh\n"
        "# -d etc -w work -i instance\n"
        f"left={shlex.quote(str(tmp_path / 'left.ulg'))}\n"
        '[ -f "$left" ] && mkdir -p "$4/log/today" && cp "$left" "$4/log/today/flight.ulg"\n'
        "echo 'INFO  [px4] Startup script returned successfully'\n"
        f"{standin} --simulator-port $(({SIMULATOR_PORT} + $6))\n"
    )
    program.chmod(0o755)
    return folder


def fly_fake(folder: Path, out: Path, *more: str) -> Result:
    return run(
        "fly",
        "quad_f450",
        "--control",
        "px4",
        "--folder",
        str(folder),
        "--out",
        str(out),
        "--until",
        str(UNTIL_S),
        *more,
    )


# ---------------------------------------------------------------------- what is asked for wrongly


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("px4",), "PX4 was not found: set IRONBIRD_PX4 to its build folder"),
        (
            ("ardupilot",),
            "no program 'arducopter': set IRONBIRD_ARDUPILOT to the folder with ArduPilot's SITL programs",
        ),
        (("px4", "--folder", "/nowhere"), "PX4 was not found (argument: /nowhere is no program)"),
        (("px4", "--folder", "/etc"), "PX4 was not found (argument: /etc/bin/px4 is no program)"),
        (("ardupilot", "--folder", "/nowhere"), "no program 'arducopter' (tried: argument /nowhere, PATH)"),
    ],
)
def test_a_missing_program_is_an_error_that_says_what_to_do(words: tuple[str, ...], message: str) -> None:
    result = run("fly", "quad_f450", "--control", *words)

    assert result.exit_code == 2
    assert message in said(result)
    assert "what the control system left" not in said(result)  # it left nothing


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--speed", "fast"), "--speed 'fast': give 'max' or a factor from 0.01 to 100"),
        (("--speed", "0"), "--speed '0': give 'max' or a factor from 0.01 to 100"),
        (("--vehicle", "quad_f540"), "unknown vehicle 'quad_f540'; did you mean 'quad_f450'"),
        (("--mission", "sqare"), "unknown mission 'sqare'; did you mean 'square'"),
        (("--mission", "missing.plan"), "missing.plan"),
        (("--fault", "rotor.speed_los@1"), "unknown fault 'rotor.speed_los@1'; did you mean 'rotor.speed_loss@1'"),
        (("--fault", "rotor.speed_loss@1:severty=1"), "severty"),
        (("--wind", "strong"), "--wind"),
        (("--vehicle", "auv_remus100"), "does not hold its place: sticks do not steer it"),
    ],
)
def test_a_wrong_order_is_refused_before_anything_starts(words: tuple[str, ...], message: str, fake_px4: Path) -> None:
    vehicle = [] if "--vehicle" in words else ["quad_f450"]
    result = run(
        "fly", *vehicle, "--control", "px4", "--folder", str(fake_px4), *(w for w in words if w != "--vehicle")
    )

    assert result.exit_code in (1, 2), result.output
    assert message in said(result)
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit)


# ---------------------------------------------------------------------- a whole flight


@pytest.fixture
def flown() -> Flight:
    """What the reference autopilot does on its own: what it does behind the link, but for the time of take-off."""
    return fly("quad_f450", control="truth", until_s=UNTIL_S)


def test_a_flight_leaves_its_results_and_nothing_else(fake_px4: Path, tmp_path: Path) -> None:
    (tmp_path / "left.ulg").write_bytes(b"this is no log")

    result = fly_fake(fake_px4, tmp_path / "out", "--pilot", "none", "--speed", "max", "--seed", "3")

    assert result.exit_code == 0, result.output  # judged as far as it went
    assert "flown to the end at 6.00 s" in said(result)
    assert "sends to UDP 14550 (QGroundControl" in said(result)
    out = tmp_path / "out"
    assert pq.read_table(out / "flight.parquet")["body.p_NB_N[2]"].to_pylist()[-1] < -2.0  # it climbs
    summary = json.loads((out / "summary.json").read_text())
    assert summary["control"] == "PX4" and summary["seed"] == "3" and summary["ending"] == "still flying"
    assert "flight.ulg is no readable ULog file" in summary["autopilot's log"]
    page = (out / "flight.html").read_text()
    assert "There is no autopilot's log to compare with: flight.ulg is no readable ULog file" in page
    assert "ready" in (out / "px4.txt").read_text()
    assert (out / "autopilot_events.json").is_file() and not (out / "autopilot.parquet").exists()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_several_at_once_are_printed_as_one_json_text(fake_px4: Path, tmp_path: Path) -> None:
    words = ("--pilot", "none", "--speed", "max", "--mission", "hover", "--count", "2", "--json")
    result = fly_fake(fake_px4, tmp_path / "out", *words)

    tables = json.loads(result.stdout)["tables"]
    assert [Path(one["figures"]["folder"]).name for one in tables] == ["1", "2"]
    endings = {one["figures"]["ending"] for one in tables}
    assert endings <= {"still flying", "never airborne"}
    assert result.exit_code == (0 if endings == {"still flying"} else 1), result.output
    refused = run("fly", "quad_f450", "--control", "hardware", "--udp", "14997", "--count", "2")
    assert refused.exit_code == 2 and "control 'hardware' has no instances" in said(refused)


def test_the_log_that_it_leaves_is_set_beside_the_truth(fake_px4: Path, tmp_path: Path, flown: Flight) -> None:
    write_px4_log(flown, tmp_path / "left.ulg")

    result = fly_fake(fake_px4, tmp_path / "out", "--pilot", "none", "--speed", "max")

    assert result.exit_code == 0, result.output
    table = pq.read_table(tmp_path / "out" / "autopilot.parquet")
    assert {"time_s", "body.p_NB_N[0]", "autopilot.p_NB_N[0]", "autopilot.mode"} <= set(table.column_names)
    assert table.schema.metadata[b"ironbird.clock"].endswith(b"by the true velocity that it was sent and logged")
    gap = np.array(table["autopilot.p_NB_N[2]"]) - np.array(table["body.p_NB_N[2]"])
    assert np.nanmax(np.abs(gap)) < 1.0  # of the 10 m that it climbs: the clocks fit
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["autopilot's log"].startswith("clock offset ")
    assert "horizontal position off by" in summary["autopilot's log"]
    assert 'id="autopilot-height"' in (tmp_path / "out" / "flight.html").read_text()


def test_an_autopilot_that_ends_at_once_is_an_error_with_its_last_words(fake_px4: Path, tmp_path: Path) -> None:
    (fake_px4 / "bin" / "px4").write_text("#!/bin/sh\necho cannot read the airframe\nexit 3\n")

    result = fly_fake(fake_px4, tmp_path / "out")

    assert result.exit_code == 2
    assert "PX4 ended with code 3; its output: cannot read the airframe" in said(result)
    assert f"what the control system left: {tmp_path / 'out'}" in said(result)
    assert "cannot read the airframe" in (tmp_path / "out" / "px4.txt").read_text()


def test_without_a_heartbeat_our_ground_station_says_who_waited_for_whom(
    fake_px4: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in speaks to no ground station; its deadline is in simulation time."""
    from ironbird.ground.handshakes import Handshakes

    whole = Handshakes.wait

    def sooner(self: Handshakes, *words: object, **limits: float) -> object:
        return whole(self, *words, **(limits | {"sim_s": 2.0}))  # type: ignore[arg-type]

    monkeypatch.setattr(Handshakes, "wait", sooner)
    result = fly_fake(fake_px4, tmp_path / "out", "--speed", "max")

    assert result.exit_code == 2
    assert "step 'heartbeat'" in said(result) and "last heartbeat: none" in said(result)
    assert (tmp_path / "out" / "px4.txt").is_file()


# ---------------------------------------------------------------------- one case on several


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    return path


def test_systems_that_cannot_be_had_stand_on_the_page_with_the_reason(case: Path, tmp_path: Path) -> None:
    result = run("bench", "autopilots", str(case), "--out", str(tmp_path / "both"))

    assert result.exit_code == 1, result.output  # not all of them passed
    assert "flown to the end at 6.00 s, set off at" in said(result)
    assert "error: PX4 was not found" in said(result) and "error: no program 'arducopter'" in said(result)
    page = (tmp_path / "both" / "comparison.html").read_text()
    assert page.count('<span class="badge error">error</span> PX4 was not found') == 1
    assert "reference/flight.html" in page
    assert "acted on rotor/1/motor.speed" in page
    assert page.count("<svg") == 4  # from above, height, speed, tilt
    assert (tmp_path / "both" / "reference" / "flight.html").is_file()


def test_one_case_flown_by_two_is_on_the_same_axes(case: Path, fake_px4: Path, tmp_path: Path) -> None:
    options = 'control = "px4"\noptions = { time = "real" }\n'  # virtual time gives up root, whose program this is
    case.write_text(CASE.replace('mission = "square"\n', f'mission = "square"\n{options}'))
    words = ("--system", "reference", "--system", "px4", "--px4", str(fake_px4), "--out", str(tmp_path / "both"))
    result = run("bench", "autopilots", str(case), *words)

    # our ground station hears nothing of the stand-in, but the case ends before it loses patience
    assert result.exit_code == 0, result.output
    page = (tmp_path / "both" / "comparison.html").read_text()
    assert page.count("flown to the end at 6.00 s") == 2
    assert page.count("acted on rotor/1/motor.speed") == 2
    assert page.count("<title>px4</title>") == 4 and page.count("<title>reference</title>") == 4
    assert "no log: PX4 left no log (.ulg); it left px4.txt" in page
    assert (tmp_path / "both" / "px4" / "flight.parquet").is_file()


def test_the_case_has_to_be_one(case: Path) -> None:
    case.write_text(CASE + CASE.replace("schema = 1", "").replace('"hop"', '"jump"'))

    with pytest.raises(CaseError, match=r"it has 2 cases: say which, as .*case\.toml:hop"):
        first_flight(str(case))
    assert first_flight(f"{case}:jump").vehicle == "quad_f450"
    with pytest.raises(UnknownNameError, match=r"unknown case 'jmp'.*did you mean 'jump'"):
        first_flight(f"{case}:jmp")
    result = run("bench", "autopilots", str(case))
    assert result.exit_code == 2 and "it has 2 cases" in said(result)


def test_a_case_that_is_wrong_for_all_is_an_error(case: Path, tmp_path: Path) -> None:
    case.write_text(CASE.replace("rotor.speed_loss@1", "rudder.stuck@1").replace("instance = 1\n", ""))

    result = run("bench", "autopilots", str(case), "--out", str(tmp_path / "both"))

    assert result.exit_code == 2 and "error" in said(result)
    assert not (tmp_path / "both" / "comparison.html").exists()


def test_progress_names_each_system(case: Path, tmp_path: Path) -> None:
    told: list[str] = []

    flown = compare(first_flight(str(case)), {"reference": {}, "px4": {}}, tmp_path, told.append)

    assert told == ["reference", "px4"]
    assert flown[1].flight is None and flown[1].sentence().startswith("error: PX4 was not found")
    assert flown[0].off_s > 0 and flown[0].autopilot is None
