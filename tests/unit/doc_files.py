"""What readers of the guides have: logs, cases, worlds, missions, vehicles of other programs, made small.

`PREPARED` has for a page the function that writes them into its folder before its first command runs
(tests/system/test_doc_runs.py). Files that a page shows are not here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from flown_records import table
from foreign_vehicles import AIRFRAME_SCRIPT, FRAME, SDF, urdf
from log_files import write_ardupilot_flight

ROOT = Path(__file__).parents[2]
CASE = """schema = 1
[[case]]
id = "loss"
vehicle = "quad_f450"
mission = "hover"
until_s = {until_s}
seeds = 1
[[case.fault]]
id = "rotor.speed_loss@1"
instance = 1
severity = {severity}
start_s = 4.0
{duration}
[[case.require]]
use = "no_crash"
"""
VARIED = {"severity": "{ uniform = [0.0, 1.0] }", "duration": "duration_s = { uniform = [0.5, 4.0] }"}
PLAN = "[case.plan]\nkind = 'latin_hypercube'\nsamples = 4\n"
WORLD = """schema = 1
title = "A yard with a wall"
[terrain]
kind = "plane"
[[box]]
name = "wall"
north_m = {north_m}
size_m = [1, 40, 30]
"""
MISSION = """schema = 1
[[item]]
kind = "takeoff"
height_m = 5.0
[[item]]
kind = "waypoint"
north_m = 4.0
height_m = 5.0
[[item]]
kind = "land"
"""
AERIALIST = """simulation:
  obstacles:
  - size: { l: 10, w: 4, h: 12 }
    position: { x: 20, y: -5, z: 0, r: 30 }
"""
SENSORS = 'schema = 1\n[[sensor]]\nkind = "rangefinder"\nname = "down"\neuler_deg = [0, -90, 0]\n'
GAZEBO_WORLD = """<sdf version='1.6'><world name='yard'><model name='shed'><static>true</static>
<pose>20 5 1 0 0 0</pose>
<link name='l'><collision name='c'><geometry><box><size>4 3 2</size></box></geometry></collision></link></model></world>
</sdf>"""
ELEVONS = """M: 2
S: 0 0 10000 10000 0 -10000 10000
S: 0 1 -10000 -10000 0 -10000 10000
M: 2
S: 0 0 -10000 -10000 0 -10000 10000
S: 0 1 -10000 -10000 0 -10000 10000
"""
LIVES = (
    '[rotor]\nshape = 1.8\nscale_h = 1200\nfault = "rotor.speed_loss"\nmode = "bearing"\nsource = "assumed: a test"\n'
)


def _write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def _ironbird(folder: Path, *words: str) -> None:
    told = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "ironbird.cli", *words]
    subprocess.run(command, cwd=folder, env=told, check=True, capture_output=True)


def own_vehicle(folder: Path) -> None:
    """my_quad.toml, by the first block of the page."""
    page = (ROOT / "docs" / "guide" / "add-a-vehicle.md").read_text(encoding="utf-8")
    block = next(iter(re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)))
    told = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", block], cwd=folder, env=told, check=True)


def autopilots(folder: Path) -> None:
    """A case, and a plan of QGroundControl."""
    from ironbird.protocols.plan_file import Home, LocalItem, from_local, plan_text

    case = CASE.format(until_s=6.0, severity=0.05, duration="")
    own = 'until_s = 6.0\nends = "time"\ncontrol = "px4"\noptions = { time = "real" }'  # the stand-ins are root's
    _write(folder, case__toml=case.replace("until_s = 6.0", own))
    home = Home(40.1540302, 116.2593683, 50.0)
    ways = [(0.0, 0.0, 10.0, "takeoff"), (20.0, 0.0, 10.0, "waypoint"), (20.0, 0.0, 0.0, "land")]
    items = [LocalItem(north_m, east_m, height_m, 0.0, kind) for north_m, east_m, height_m, kind in ways]
    (folder / "survey.plan").write_text(plan_text(from_local(items, home), home))


def campaigns(folder: Path) -> None:
    """A case with a fault that is varied, cases of RFlySimSafe, tables, a key."""
    row = {"CaseID": 7, "ControlSequence": "2,1;1,1,5;2,3,0,0,-15;1,1,15;2,6,123450,1,0.8;1,1,10"}
    (folder / "db.json").write_text(json.dumps({"FAULT_CASE": [row]}))
    _write(folder, my__toml=CASE.format(until_s=9.0, **VARIED) + PLAN)
    _write(folder, requirements__csv="id,text,tags\nREQ-1,One faulty sensor does not bring it down,imu\n")
    _write(folder, fmea__csv="id,text,tags\nF-1,A gyroscope is dead,imu.gyro_open@1\n")
    (folder / ".ssh").mkdir()
    key = str(folder / ".ssh" / "id_ed25519")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)


def chips(folder: Path) -> None:
    """A program that reads a chip."""
    _write(folder, my_driver_test="#!/bin/sh\nexec i2cget -y 1 0x0f 0\n")
    (folder / "my_driver_test").chmod(0o755)
    folder.chmod(0o755)


def sticks(folder: Path) -> None:
    """A stick file: arm, climb, stay."""
    from ironbird.systems.commanded.sticks.source import Sticks
    from ironbird.systems.commanded.sticks.stick_file import stick_text

    rows = [(0.0, Sticks()), (4.0, Sticks(buttons=1)), (5.0, Sticks(throttle=0.6)), (9.0, Sticks())]
    (folder / "climb.csv").write_text(stick_text(rows))


def _record(folder: Path, name: str) -> None:
    """An excited flight as CSV, with its motor commands."""
    from ironbird.identification.excite import excitation
    from ironbird.identification.virtual import CONTROL_S, excited_flight

    shake = excitation("multisine", amplitude=0.08, duration_s=2.0, band_radps=(3.5, 25.0), step_s=CONTROL_S).values
    axes = np.column_stack([shake, np.roll(shake, 30), np.roll(shake, 60), 2 * np.roll(shake, 90)])[250:430]
    record = excited_flight("quad_f450", axes, seed=1)
    time_s = next(iter(record.tracks.values())).time_s
    columns = {key: np.interp(time_s, track.time_s, track.values) for key, track in record.tracks.items()}
    table(folder / name, time_s=time_s, **columns)


def credibility(folder: Path) -> None:
    """A flight with its motor commands and set-points, and the same as if simulated."""
    from ironbird.credibility.readers import read_record

    _ironbird(folder, "fly", "quad_f450", "--mission", "hover", "--until", "14", "--log-step", "0.004")
    tracks = read_record(folder / "out" / "latest" / "flight.parquet").tracks
    time_s = tracks["roll"].time_s
    columns = {name: np.interp(time_s, track.time_s, track.values) for name, track in tracks.items()}
    wanted = {f"wanted_velocity_{axis}": columns[f"velocity_{axis}"] for axis in ("north", "east", "down")}
    table(folder / "flight.csv", time_s=time_s, **columns, **wanted, wanted_yaw=0.0 * time_s)
    table(folder / "sim.csv", time_s=time_s, **{name: columns[name] for name in ("roll", "pitch", "velocity_down")})
    _write(folder, tests__toml='schema = 1\n[[test]]\nname = "climb"\nkind = "time"\nsignal = "velocity_down"\n')


def logs(folder: Path) -> None:
    """A flight of Ironbird with its ULog, one of ArduPilot, and a table with motor commands."""
    _ironbird(folder, "fly", "quad_f450", "--mission", "hover", "--ulog", "--log-step", "0.004")
    shutil.copy(folder / "out" / "latest" / "flight.ulg", folder / "flight.ulg")
    write_ardupilot_flight(folder / "00000042.BIN")
    _record(folder, "flight.csv")


def identification(folder: Path) -> None:
    """What benches and flights give, by their models."""
    from ironbird.identification.virtual import bifilar_swing, propulsion_stand

    _record(folder, "flight.csv")
    time_s = np.arange(0.0, 60.0, 0.02)
    stick = np.sin(2 * np.pi * (0.1 + 0.04 * time_s) * time_s)
    rate, speed = np.zeros_like(stick), 0.0
    value = 0.0
    for i, push in enumerate(stick):  # natural frequency 6 rad/s, damping ratio 0.7
        speed += 0.02 * (36.0 * (push - value) - 8.4 * speed)
        value += 0.02 * speed
        rate[i] = value
    table(folder / "sweep.csv", time_s=time_s, stick=stick, pitch_rate=rate)
    time_s, angle = bifilar_swing(0.0318, 1.4)
    table(folder / "swing.csv", time_s=time_s, angle=angle)
    stand = propulsion_stand("quad_f450", np.repeat(np.linspace(0.2, 1.0, 9), 2).tolist(), seed=3)
    names = {"throttle": "throttle", "speed": "speed_radps", "thrust": "thrust_N", "torque": "torque_Nm"}
    table(folder / "stand.csv", **{column: stand[name] for name, column in names.items()})
    rest = (ROOT / "tests" / "data" / "icm20689_rest" / "rest.csv").read_text().splitlines()
    columns = ["time_s", "roll_rate", "pitch_rate", "yaw_rate", *(f"specific_force_{a}" for a in "xyz")]
    (folder / "still.csv").write_text("\n".join([",".join(columns), *rest[1:]]) + "\n")


def foreign_vehicles(folder: Path) -> None:
    """Vehicles of other programs, and mixer files."""
    import jsbsim

    _write(folder, iris__sdf=SDF, robot__urdf=urdf(), Callisto__json=FRAME)
    (folder / "4001_gz_x500").write_text(AIRFRAME_SCRIPT)
    shutil.copytree(Path(jsbsim.get_default_root_dir()) / "aircraft" / "c172p", folder, dirs_exist_ok=True)
    _write(folder, elevons__main__mix=ELEVONS)
    _write(folder, motor__aux__mix="M: 1\nO: 10000 10000 0 -10000 10000 5000\nS: 0 3 0 20000 -10000 -10000 10000\n")


def learning(folder: Path) -> None:
    """A case."""
    _write(folder, my_cases__toml=CASE.format(until_s=6.0, severity=0.1, duration=""))


def reliability(folder: Path) -> None:
    """Lives of parts, and a campaign on the vehicle."""
    _write(folder, my_fleet__toml=LIVES)
    _ironbird(folder, "campaign", "run", "safety", "--tag", "hexa_x", "--sample", "4", "--name", "flown")


def worlds(folder: Path) -> None:
    """Worlds of three programs, sensors, a mission."""
    _write(
        folder,
        my__toml=WORLD.format(north_m=30),
        yard__toml=WORLD.format(north_m=30),
        wall__toml=WORLD.format(north_m=9),
    )
    _write(folder, yard__sdf=GAZEBO_WORLD, tests__yaml=AERIALIST, sensors__toml=SENSORS, towards__toml=MISSION)


PREPARED: dict[str, Callable[[Path], None]] = {
    "add-a-vehicle": own_vehicle,
    "autopilots": autopilots,
    "campaigns": campaigns,
    "chips": chips,
    "control-from-python": sticks,
    "credibility": credibility,
    "identification": identification,
    "import-a-vehicle": foreign_vehicles,
    "learning": learning,
    "logs": logs,
    "reliability": reliability,
    "worlds": worlds,
}
