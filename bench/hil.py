"""Hardware in the loop against a published bench [NguyenHa]: rates held (its tables 3 and 4), hover error (table 5).

    python bench/hil.py [--seconds 45] [--baud 921600] [--no-priority] [--ways direct,single,router] [--rounds 1]
    python bench/hil.py --ways direct,router --rounds 3 [--control] [--seeds 8]
    python bench/hil.py --delays 2,4 [--seeds 8]

Three processes: `ironbird fly --control hardware` (the bench), `ironbird connect autopilot --serial` (the board: the
reference autopilot), and
between them a serial line of two pseudo-terminals that carries bytes at the baud rate and no faster. The F450 takes off
and hovers at 2.5 m in calm air, as in section 4 there; two flights, one with the sensors of Ironbird's catalogue and
one with those of its table 1. About two minutes; prints JSON, then a table in Markdown. Run it on an idle machine.

`--ways`: between the bench and the line there is nothing (`direct`), or UDP and one thread that serves both sides in
turn and waits for each (`single`, what the document calls TS), or `ironbird connect route` (`router`, its TCAS) with
real-time priority, as all others in the loop have it. With other ways than direct only sensors of the catalogue fly.
The document's third arrangement, software in the loop, is the flight over a link without any delay or loss. With
`--rounds` all ways are flown so often, each round with a seed of its own and the ways in the opposite order of the
round before; hover errors are compared within each round, as ratios to the direct way, and given as their geometric
mean with the interval in which it lies at 95 % (Student's t of the logarithms). `--control` flies the direct way once
more in each round: the spread of a thing against itself.

Two flights of one seed differ by a few per cent even over the same line, as no command arrives at the same moment
twice, and three rounds cannot resolve 2 %. So the delays from sample to command that were measured in wall
time are flown again in simulation time, over `--seeds` seeds: each answer's delay is drawn from the histogram of its
way (independently of the one before, which the line's own are not), twice for the direct way. Errors are pooled over
seeds; the interval at 95 % is that of the pooled ratio over seeds drawn again with replacement (bootstrap). The bar of
2 % is compared with the pooled ratio; it is met with confidence where the interval's upper end is below it as well.

`--delays`: what a delay alone does to the hover error, in simulation time and so on any machine: the same flights over
a link whose answers come so many steps of 2 ms after their samples, errors pooled over seeds, as ratios to the first. A
direct line has 4.8 ms from sample to command, the router 1 to 2 ms more. Actuators take commands every 4 ms, so 2 and 3
steps are the same flight, and 4 are one whole turn more than that: more than the router ever adds.

What is compared. Loss is one minus the rate at the receiver over the rate asked for: sensors and fixes as the board
counts them, controls as the bench does. Hover error is the RMS of the true position about the place asked for, from
15 s on; the document does not say how long it measured, nor the unit of yaw (taken as rad), and prints that of its GPS
noise as "mG" (taken as m). As other sensors and another controller give another error, the share that is the link's own
is measured separately: the same flight with the same seed over a link without any delay or loss. The document's like is
the ratio of its bench to its software in the loop.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from scipy import stats

from ironbird.autopilots.standin.px4 import Px4Side
from ironbird.flight.flight import fly
from ironbird.flight.mission import Mission
from ironbird.host.process import free_udp_port
from ironbird.host.realtime import WallClock
from ironbird.protocols.mavlink import codec, dialect
from ironbird.rig.reference_autopilot import ReferenceAutopilot
from ironbird.systems.hardware.link import HardwareLink, with_sensor_rate
from ironbird.transport.cable import Cable, SerialCable
from ironbird.vehicles.load import load_vehicle

HOVER_FROM_S = 15.0
TURN_S = 0.002  # that the single thread waits for a line
HEIGHT_M = 2.5
MISSION = f"""schema = 1
title = "hover at {HEIGHT_M} m"
[[item]]
kind = "waypoint"
height_m = {HEIGHT_M}
hold_s = 1e9
"""
AXES = ("x", "y", "z", "yaw")
# [NguyenHa] table 4, the bench that it proposes (TCAS): rate asked for, rate there
RATES = {"IMU": (500.0, 431.8999), "GPS": (5.0, 4.1525), "controls": (400.0, 342.6261)}
MOST_LOST = 0.005
BOOTSTRAPS = 10_000
MOST_WORSE = 0.02  # that hover errors through a router may exceed those of the direct way
# [NguyenHa] table 5: RMS error in m (yaw without a unit) of its software in the loop and of its bench
SITL = dict(zip(AXES, (0.0068, 0.0050, 0.0449, 0.0342), strict=True))
TCAS = dict(zip(AXES, (0.0196, 0.0179, 0.0996, 0.0429), strict=True))
# [NguyenHa] table 1: deviations of white noise, per sample
GYRO_DPS, ACCEL_MPS2, GPS_M = (0.67, 0.78, 0.12), (0.04, 0.06, 0.07), 0.3
DENSITY = np.sqrt(0.5 * 500.0)  # of the deviation of a sample at 500 Hz over the density
THEIR_SENSORS: dict[str, Any] = {
    "imu/1/chip.gyro_noise": [round(float(np.radians(v) / DENSITY), 9) for v in GYRO_DPS],
    "imu/1/chip.accel_noise": [round(v / float(DENSITY), 9) for v in ACCEL_MPS2],
    **{
        f"imu/1/chip.{kind}_{name}": [0.0] * (12 if name == "temperature_drift" else 3)
        for kind in ("gyro", "accel")
        for name in ("turn_on", "instability", "walk", "temperature_drift", "vibration", "vibration_noise")
    },
    "gnss/1/chip.noise_horizontal": GPS_M, "gnss/1/chip.noise_vertical": GPS_M,
    "gnss/1/chip.wander_horizontal": 0.0, "gnss/1/chip.wander_vertical": 0.0, "baro/1/chip.drift": 0.0,
}  # fmt: skip


class Immediate(Cable):
    """The board in this process: what is written is answered complete, so many steps later as `delays` says."""

    name = "no cable"

    def __init__(self, side: Px4Side, delays: Iterator[int]) -> None:
        self.side, self._delays = side, delays
        self._parser, self._packer = codec.Parser(), codec.Packer()
        self._answers: deque[tuple[int, bytes]] = deque()  # on their way, with the step at which they arrive
        self._step = 0

    def open(self) -> None:
        pass

    def write(self, data: memoryview) -> int:
        for number, payload, _, _ in self._parser.feed(bytes(data)):
            self.side.take(number, payload)
        self.side.run()
        self._packer.add(dialect.HIL_ACTUATOR_CONTROLS, *self.side.controls())
        arrives = self._step + next(self._delays)
        if self._answers:  # none overtakes another
            arrives = max(arrives, self._answers[-1][0])
        self._answers.append((arrives, bytes(self._packer.take())))
        self._step += 1
        return len(data)

    def read(self) -> bytes:
        came = b""
        while self._answers and self._answers[0][0] < self._step:
            came += self._answers.popleft()[1]
        return came

    def wait(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        pass


class NoWait(WallClock):
    """Time is where one waits for it."""

    moment = 0.0

    def now(self) -> float:
        return self.moment

    def wait_until(self, moment: float) -> None:
        self.moment = moment


def errors(time_s: np.ndarray, place: np.ndarray, yaw: np.ndarray) -> dict[str, dict[str, float]]:
    """RMS about the place asked for, and about the mean; not numbers if it did not come to hover."""
    hovering = time_s >= HOVER_FROM_S
    if not hovering.any():
        return {key: dict.fromkeys(AXES, float("nan")) for key in ("rms", "scatter")}
    values = np.column_stack([place - [0.0, 0.0, -HEIGHT_M], yaw])[hovering]
    rms = np.sqrt(np.mean(values**2, axis=0))
    return {
        "rms": dict(zip(AXES, rms.tolist(), strict=True)),
        "scatter": dict(zip(AXES, values.std(axis=0).tolist(), strict=True)),
    }


def single_thread(device: str, baud: int, port: int) -> None:
    """Serve a serial line and a UDP port in turn, waiting for each, until it is killed."""
    line, far = SerialCable(device, baud), ("127.0.0.1", port)
    line.open()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.bind(("127.0.0.1", 0))
        wire.settimeout(TURN_S)
        while True:
            with contextlib.suppress(OSError):
                line.write(memoryview(wire.recv(65536)))
            line.wait(TURN_S)
            data = line.read()
            if data:
                wire.sendto(data, far)


def over_the_line(
    settings: dict[str, Any], options: argparse.Namespace, folder: Path, way: str = "direct", seed: int = 0
) -> dict[str, Any]:
    """One flight by the verbs, each in a process of its own."""
    mission = folder / "hover.toml"
    mission.write_text(MISSION)
    ironbird = [sys.executable, "-c", "from ironbird.cli.main import main; main()"]
    sets = [word for path, value in settings.items() for word in ("--set", f"{path}={json.dumps(value)}")]
    started: list[subprocess.Popen[str]] = []

    def start(*command: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    try:
        line = start(sys.executable, "-m", "ironbird.transport.serial_wire", str(options.baud))
        assert line.stdin is not None and line.stdout is not None
        near, far = line.stdout.readline().split()
        board = start(*ironbird, "connect", "autopilot", "--serial", far, "--baud", str(options.baud), "--mission", str(mission))
        assert board.stderr is not None
        board.stderr.readline()  # it is ready
        cable = ["--port", near, "--baud", str(options.baud)]
        if way != "direct":
            port = free_udp_port()
            cable = ["--udp", str(port)]
            links = ["--link", f"board=serial:{near}:{options.baud}", "--link", f"bench=udpout:127.0.0.1:{port}"]
            ours = [sys.executable, __file__, "--single", near, str(options.baud), str(port)]
            between = start(*(ours if way == "single" else [*ironbird, "connect", "route", "--priority", *links]))
            assert between.stdin is not None
        rest = ["--until", str(options.seconds), "--seed", str(seed), "--headless", "--out", str(folder), *sets]
        command = [*ironbird, "hil", *cable, *rest, *(["--no-priority"] if options.no_priority else [])]
        flown = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds + 300, check=False)
        if not (folder / "link.json").is_file():
            raise SystemExit(f"the flight failed: {flown.stderr}")
        line.stdin.close()
        line.wait(10)
        heard = json.loads(board.communicate(timeout=60)[0])
    finally:
        for process in started:
            process.kill()
            process.wait()
    link = json.loads((folder / "link.json").read_text())
    table = parquet.read_table(folder / "flight.parquet").to_pydict()
    log = {name: np.array(column) for name, column in table.items() if name.startswith(("time_s", "body."))}
    place = np.column_stack([log[f"body.p_NB_N[{n}]"] for n in range(3)])
    found = errors(log["time_s"], place, log["body.euler[2]"])
    return {"exit_code": flown.returncode, "link": link, "board": heard, "hover": found}


def without_a_line(
    settings: dict[str, Any], seconds: float, seed: int = 0, delays: Iterator[int] | None = None
) -> dict[str, Any]:
    """The same flight over a link that has no loss, and no delay but so many steps of each answer."""
    reference = load_vehicle("quad_f450", control="reference")
    mission = Mission.model_validate({"schema": 1, "item": [{"kind": "waypoint", "height_m": 2.5, "hold_s": 1e9}]})
    pilot = ReferenceAutopilot(reference, params=mission.params(reference.diagram.param("navigator.table").columns))
    vehicle = with_sensor_rate(load_vehicle("quad_f450", control="external"), 500.0)
    cable = Immediate(Px4Side(pilot, alone=True), delays or itertools.repeat(0))
    link = HardwareLink(cable, priority=False, clock=NoWait())
    flight = fly(vehicle, control=link, until_s=seconds, settings=settings, mission=mission, seed=seed)
    return errors(flight.log.time(), flight.log["body.p_NB_N"], flight.log["body.euler"][:, 2])


def compare(flight: dict[str, Any], ideal: dict[str, Any]) -> list[list[str]]:
    """Rows: what, the document, Ironbird, bar."""
    link, board = flight["link"], flight["board"]
    ours = {"IMU": board["sensor_hz"], "GPS": board["gnss_hz"], "controls": link["control_hz"]}
    rows = []
    for name, (asked, theirs) in RATES.items():
        lost, their_loss = max(1 - ours[name] / asked, 0.0), 1 - theirs / asked
        held = "held" if lost <= MOST_LOST else "NOT HELD"
        rates = [f"{theirs:.1f} Hz, {100 * their_loss:.1f} % lost", f"{ours[name]:.2f} Hz, {100 * lost:.2f} % lost"]
        rows.append([f"{name}, {asked:g} Hz", *rates, f"at most {100 * MOST_LOST:g} %: {held}"])
    for axis in AXES:
        unit = "rad" if axis == "yaw" else "m"
        error = flight["hover"]["rms"][axis]
        rows.append([f"hover RMS {axis}", f"{TCAS[axis]:.4f} {unit}", f"{error:.4f} {unit}", "-"])
    for axis in AXES:
        theirs, ratio = TCAS[axis] / SITL[axis], flight["hover"]["rms"][axis] / ideal["rms"][axis]
        rows.append([f"hover RMS {axis} over that without a cable", f"{theirs:.2f}", f"{ratio:.2f}", "-"])
    late = f"{100 * link['late']:.2f} % of the steps, worst {link['worst_ms']:.1f} ms"
    if link["stolen_s"]:
        late += f" (the host of this virtual machine took {link['stolen_s']:.2f} s)"
    rows.append(["late by more than a step", "not given", late, "at most 0.5 %"])
    rows.append(["lateness that 99 % of the steps keep below", "not given", f"{link['most_99_ms']:.2f} ms", "-"])
    lost = f"{link['lost_frames']} from the board, {board['lost']} to the board, {link['unsent_steps']} not sent"
    rows.append(["frames lost", "not given", lost, "at most 0.5 %"])
    rows.append(["delay from sample to command", "not given", f"{link['delay_ms']:.1f} ms", "-"])
    sentence = f": {link['sentence']}" if link["sentence"] else ""
    rows.append(["verdict", "-", f"{link['verdict']}{sentence}", "not error"])
    return rows


def against_direct(flown: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Hover errors of each way over those of the direct one in the same round: geometric mean and its interval."""
    found: dict[str, Any] = {}
    for way in flown:
        for axis in AXES if way != "direct" else ():
            shares = [other[axis] / own[axis] for other, own in zip(flown[way], flown["direct"], strict=True)]
            logs = np.log(shares)
            half = float(stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs)))
            low, mean, high = np.exp(logs.mean() + np.array([-half, 0.0, half])).round(4).tolist()
            found.setdefault(way, {})[axis] = {
                "mean": mean, "from": low, "to": high, "least": round(min(shares), 4), "most": round(max(shares), 4)
            }  # fmt: skip
    return found


def pooled_ratio(way: list[dict[str, float]], direct: list[dict[str, float]]) -> dict[str, Any]:
    """RMS over all seeds, over that of the direct way with the same seeds, with its interval and the bar."""
    found: dict[str, Any] = {}
    drawn = np.random.default_rng(1).integers(len(way), size=(BOOTSTRAPS, len(way)))
    for axis in AXES:
        squares = [np.array([rms[axis] ** 2 for rms in errors]) for errors in (way, direct)]
        again = np.sqrt(squares[0][drawn].mean(axis=1) / squares[1][drawn].mean(axis=1))
        low, high = np.percentile(again, [2.5, 97.5]).round(4).tolist()
        ratio = float(np.sqrt(squares[0].mean() / squares[1].mean()))
        most = 1.0 + MOST_WORSE
        found[axis] = {
            "ratio": round(ratio, 4), "from": low, "to": high,
            "held": bool(ratio <= most), "confident": bool(high <= most),
        }  # fmt: skip
    return found


def drawn_delays(histogram: dict[str, int], seed: int) -> Iterator[int]:
    """Steps of 2 ms from sample to command, drawn from what was measured (milliseconds and how often)."""
    steps, counts = np.array([int(ms) // 2 for ms in histogram]), np.array(list(histogram.values()))
    rng = np.random.default_rng(seed)
    while True:
        yield from rng.choice(steps, size=1000, p=counts / counts.sum()).tolist()


def flown_again(delays: dict[str, dict[str, int]], seeds: int, seconds: float) -> dict[str, Any]:
    """Hover errors over seeds in simulation time, with the delays that were measured."""

    def errors_of(way: str, offset: int) -> list[dict[str, float]]:
        return [
            without_a_line({}, seconds, seed, drawn_delays(delays[way], 1000 * offset + seed))["rms"]
            for seed in range(seeds)
        ]

    direct = errors_of("direct", 0)
    others = {way: errors_of(way, 2 + number) for number, way in enumerate(w for w in delays if w != "direct")}
    others["direct again"] = errors_of("direct", 1)
    ratios = {way: pooled_ratio(found, direct) for way, found in others.items()}
    return {"seeds": seeds, "seconds": seconds, "ratios": ratios, "rms": {"direct": direct, **others}}


def of_delays(delays: list[int], seeds: int, seconds: float) -> dict[str, Any]:
    """Hover errors over seeds by the delay of the link, and their ratios to those of the first delay."""
    pooled = {}
    for steps in delays:
        found = [without_a_line({}, seconds, seed, itertools.repeat(steps))["rms"] for seed in range(seeds)]
        pooled[steps] = {axis: float(np.sqrt(np.mean([rms[axis] ** 2 for rms in found]))) for axis in AXES}
    first = pooled[delays[0]]
    ratios = {steps: {axis: rms[axis] / first[axis] for axis in AXES} for steps, rms in pooled.items()}
    return {"seeds": seeds, "seconds": seconds, "rms": pooled, "ratios": ratios}


def in_rounds(ways: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """All ways so often, in turns; then what was measured of their delays, in simulation time."""
    ways = [*ways, *(["direct again"] if options.control else [])]
    flown: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    delays: dict[str, Counter[str]] = {}
    links: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    ideal = []
    for number in range(options.rounds):
        ideal.append(without_a_line({}, options.seconds, number)["rms"])
        for way in ways if number % 2 == 0 else ways[::-1]:
            with tempfile.TemporaryDirectory(prefix="ironbird-hil-") as folder:
                flight = over_the_line({}, options, Path(folder), way.split()[0], number)
            delays.setdefault(way.split()[0], Counter()).update(flight["link"]["delays"])
            flown[way].append(flight["hover"]["rms"])
            link, board = flight["link"], flight["board"]
            keys = ("verdict", "sentence", "control_hz", "late", "worst_ms", "stolen_s", "lost_frames", "delay_ms")
            links[way].append({key: link[key] for key in keys} | {"sensor_hz": board["sensor_hz"]})
    again = flown_again({way: dict(found) for way, found in delays.items()}, options.seeds, options.seconds)
    return {
        "ratios": against_direct(flown), "rms": flown, "rms_without_cable": ideal, "links": links,
        "delays_ms": delays, "in_simulation_time": again,
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=45.0, help="of each flight")
    parser.add_argument("--baud", type=int, default=921_600)
    parser.add_argument("--ways", default="direct", help="direct, single, router; with commas")
    parser.add_argument("--rounds", type=int, default=1, help="of all ways; more than one: ratios to the direct way")
    parser.add_argument("--delays", default="", help="steps of 2 ms, with commas: what delay alone does")
    parser.add_argument("--control", action="store_true", help="with --rounds: the direct way against itself too")
    parser.add_argument("--seeds", type=int, default=8, help="of flights in simulation time")
    parser.add_argument("--single", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--no-priority", action="store_true", help="do not ask for real-time priority")
    options = parser.parse_args()
    if options.single is not None:
        single_thread(options.single[0], int(options.single[1]), int(options.single[2]))
    if options.delays:
        delays = [int(word) for word in options.delays.split(",")]
        print(json.dumps(of_delays(delays, options.seeds, options.seconds), indent=2))
        return
    ways = options.ways.split(",")
    result: dict[str, Any] = {"seconds": options.seconds, "baud": options.baud}
    if options.rounds > 1:
        if "direct" not in ways:
            raise SystemExit("--rounds compares with the direct way: name it in --ways")
        print(json.dumps({**result, **in_rounds(ways, options), "load": os.getloadavg()}, indent=2))
        return
    tables = []
    for name, title, settings in (
        ("our_sensors", "Sensors of the catalogue", {}),
        ("their_sensors", "Sensors of the document", THEIR_SENSORS),
    ):
        if settings and ways != ["direct"]:
            continue
        ideal = without_a_line(settings, options.seconds)
        for way in ways:
            with tempfile.TemporaryDirectory(prefix="ironbird-hil-") as folder:
                flight = over_the_line(settings, options, Path(folder), way)
            result[f"{name}, {way}"] = {**flight, "hover_without_cable": ideal, "load": os.getloadavg()[0]}
            tables.append((f"{title}, {way}", compare(flight, ideal)))
    print(json.dumps(result, indent=2))
    for title, rows in tables:
        print(f"\n{title}\n\n| | Document | Ironbird | Bar |\n|---|---|---|---|")
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))


if __name__ == "__main__":
    main()
