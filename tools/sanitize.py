"""Native code built with AddressSanitizer and UndefinedBehaviorSanitizer, run and compared with the usual build.

    python tools/sanitize.py            every vehicle of the catalogue, reference autopilots with faults, and all native
                                        code of links, chips, emulated firmware and virtual time (an hour or more)
    python tools/sanitize.py --quick    a few of each kind (half a minute), as `make test` does
    python tools/sanitize.py --resume   go on where a run of the same sources was ended (`make sanitize RESUME=1`)

Each unit is computed by a process of the usual build and by one of the sanitized build. Their hashes must be equal;
a report of a sanitizer ends its process. `tests:PATH` runs tests in the sanitized build: they must pass. Libraries that
are loaded into programs of others (virtual time, chips behind device files) are built to stop at undefined behaviour;
AddressSanitizer cannot be loaded there beside what they replace. The exit code is 0 if all is well, else 1.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import itertools
import json
import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ironbird.rig.system import ControlSystem

QUICK = [
    "kernel:rover_differential:1,9",
    "kernel:boat_otter:2",
    "kernel:quad_f450:1",
    "codec",
    "world",
    "px4",
    "ardupilot",
]
ROOT = Path(__file__).resolve().parent.parent
DONE = ROOT / "out" / "sanitize.jsonl"  # units of a run that is under way
KERNEL_S = 0.3  # of each flight
LINK_S = 1.0
REFERENCE_S = 2.0
REFERENCE = {  # one of each kind, with faults of sensors, actuators and power
    "quad_f450": ["imu.gyro_bias@1:severity=0.3,start=0.5", "rotor.speed_loss@1:instance=1,severity=0.2,start=1"],
    "zagi": ["airspeed.stuck@1:start=0.5", "servo.stuck@1:instance=elevon_left,start=1"],
    "rover_differential": ["imu.bias@1:severity=0.3,start=0.5"],
    "boat_otter": ["mag.bias@1:severity=0.5,start=0.5"],
}
JUDGING = [  # native code that reads logs: hashes, columns, score, margins
    "tests:unit/runtime/test_lane_hash.py",
    "tests:unit/runtime/test_lane_columns.py",
    "tests:unit/flight/test_lane_judging.py",
]
# Native code that others load, or that only tests drive from end to end
TESTS = [
    *JUDGING,
    "tests:unit/host/virtual_time/test_virtual_time.py",
    "tests:unit/boards/test_served.py",
    "tests:unit/rig/hardware",
    "tests:unit/boards/firmware/test_machine.py",
]
STREAM = 200_000  # bytes of noise with frames among them
SKIPPED = ("IRONBIRD_SANITIZE", "LD_PRELOAD")  # variables that the usual build does without


# ---------------------------------------------------------------------------------------------- units


def kernel(vehicle: str, lanes: list[int]) -> str:
    """A vehicle in several lane counts: noise, events of every shape, triggers, branches, snapshots, steps."""
    import ironbird as ib
    from ironbird.conditions.names import Names
    from ironbird.conditions.trigger import compile_trigger
    from ironbird.model.signal import Param
    from ironbird.runtime.stepper import Stepper

    model = ib.compile_model(ib.load_vehicle(vehicle, control="truth").diagram)
    digest = hashlib.sha256()
    tunable = [path for path, signal in model.params().items() if isinstance(signal, Param) and signal.tunable]
    deep = "1 s + (" * 29 + "time" + ")" * 29 + " > 0.05 s"  # 30 numbers on the stack of 32
    when = compile_trigger(deep, Names.of(model))
    for count in lanes:
        state = ib.start(model, lanes=count, seed=7)
        for number, path in enumerate(tunable):
            lane, half = number % count, 0.25 * KERNEL_S
            value = float(model.flat.values[model.param_rows(path)][0])
            shapes = [
                ib.ParamEvent(path, value, start_s=half),
                ib.ParamEvent(path, 1.01, effect="scale", shape="ramp", start_s=half, rise_s=0.1),
                ib.ParamEvent(path, 0.01, effect="offset", shape="intermittent", period_s=0.02, end_s=0.9 * KERNEL_S),
                ib.ParamEvent(path, 1.001, effect="scale", when=when),
            ]
            state.add_event(shapes[number % 4], lane)
        digest.update(ib.run(state, 0.5 * KERNEL_S, log_s=0.005, threads=2).sha256(count - 1).encode())
        with tempfile.TemporaryDirectory() as folder:
            state.save(Path(folder) / "s.npz")
            again = ib.restore(model, Path(folder) / "s.npz")
        picked, branch = state.pick([count - 1, 0]), state.branch()
        for one in (state, again, picked, branch):
            digest.update(ib.run(one, KERNEL_S, log_s=0.003).sha256().encode())
        ib.advance(branch, 37)
        digest.update(branch.x.tobytes() + branch.xd.tobytes() + repr(branch.fired).encode())
        if count == 1:
            stepper = Stepper(ib.start(model, seed=2), until_s=0.1)
            while stepper.step(7):
                stepper.inputs[:] = 1e300  # an autopilot may say anything
            digest.update(stepper.finish().sha256().encode())
    return digest.hexdigest()


def codec() -> str:
    """Frames packed, and found in a stream of noise, broken frames and whole ones that is cut anywhere."""
    from ironbird.protocols.mavlink import codec, dialect

    source = random.Random(12)
    messages = list(dialect.MESSAGES.values())
    packer, parser, digest = codec.Packer(), codec.Parser(), hashlib.sha256()
    stream = bytearray()
    while len(stream) < STREAM:
        message = source.choice(messages)
        packer.add(message, *message.payload.unpack(source.randbytes(message.payload.size)))
        packer.add(dialect.HEARTBEAT, *[source.randrange(200) for _ in range(6)])
        frame = bytearray(packer.take())
        if source.random() < 0.3:
            frame[source.randrange(len(frame))] ^= 1 << source.randrange(8)
        if source.random() < 0.2:
            del frame[source.randrange(len(frame)) :]
        noise = (source.choice((0xFD, 0xFE, 0, 255, source.randrange(256))) for _ in range(source.randrange(30)))
        stream += frame + bytes(noise)
    at = 0
    while at < len(stream):
        size = source.choice((1, 2, 11, 300, 5000))
        for number, payload, *_ in parser.feed(bytes(stream[at : at + size])):
            digest.update(number.to_bytes(4, "little") + payload)
        at += size
    digest.update(f"{parser.skipped} {parser.broken} {codec.checksum(bytes(stream))}".encode())
    return digest.hexdigest()


@contextlib.contextmanager
def standin(*options: str) -> Iterator[None]:
    """The reference autopilot in a process of the usual build."""
    command = [sys.executable, "-c", "from ironbird.cli.main import main; main()", "connect", "autopilot", *options]
    variables = {name: value for name, value in os.environ.items() if name not in SKIPPED}
    with subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def free_instance(kind: int, first: int, step: int) -> int:
    """A number of an autopilot whose port is free."""
    for number in range(20, 60):
        with socket.socket(socket.AF_INET, kind) as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", first + step * number))
            return number
    raise SystemExit("no free port for the stand-in")


def px4() -> str:
    """PX4's link against the stand-in: HIL_SENSOR staged, frames sealed, answers taken."""
    from ironbird.systems.px4.link import Px4

    number = free_instance(socket.SOCK_STREAM, 4560, 1)
    options = ("--px4-protocol", "--vehicle", "quad_f450", "--port", str(4560 + number))
    return _flown(Px4(instance=number, patience_s=120.0, connect_s=300.0), options)


def ardupilot() -> str:
    """ArduPilot's link against the stand-in: the state as text."""
    from ironbird.systems.ardupilot.link import ArduPilot

    number = free_instance(socket.SOCK_DGRAM, 9002, 10)
    options = ("--ardupilot-protocol", "--port", str(9002 + 10 * number), "--arm-after", "0.2")
    return _flown(ArduPilot(instance=number, patience_s=120.0), options)


def _flown(link: ControlSystem, options: tuple[str, ...]) -> str:
    from ironbird.rig.rig import make_rig

    rig = make_rig("quad_f450", until_s=LINK_S, seed=1)  # compiled before it is waited for
    with standin(*options):
        try:
            link.start(rig)
            while rig.step(link.step_ticks):
                link.exchange(rig)
        finally:
            link.stop()
    if link.traffic.received < 20:
        raise SystemExit(f"the stand-in reported little: {link.traffic}")
    return rig.finish()[0].sha256()


def world() -> str:
    """Rays, distances and pictures in worlds with every kind of thing, a mesh of one triangle and the smallest grid."""
    import numpy as np

    from ironbird.world.files import load_world
    from ironbird.world.model import Heightfield, Mesh, World
    from ironbird.world.rays import Scene
    from ironbird.world.runner import WorldSensors, sensor_of
    from ironbird.world.track import Track

    corners = np.random.default_rng(3).normal(size=(300, 3))
    sheet = Mesh("m", (3.0, 0.0, -4.0), vertices_m=corners, triangles=np.arange(300).reshape(100, 3))
    lone = Mesh("one", (9.0, 0.0, -4.0), vertices_m=corners[:3], triangles=np.array([[0, 1, 2]]))
    small = World("s", terrain=Heightfield(np.array([[0.0, 1.0], [2.0, 0.5]]), 5.0, 5.0), obstacles=(sheet, lone))
    digest = hashlib.sha256()
    random_rays = np.random.default_rng(4).normal(size=(400, 3))
    for scene in (Scene(small, [sheet]), Scene(load_world("harbour")), Scene(load_world("sea_floor"))):
        if scene.bodies:
            scene.place(0, (-3.0, 1.0, -2.0), (0.9, 0.1, 0.2, 0.3))
        hits = scene.at(3.0).cast(random_rays * [3, 3, 1] - [0, 0, 6], random_rays, 500.0)
        distance, number = scene.distance(random_rays * 20)
        for array in (hits.range_m, hits.object, hits.normal, distance, number):
            digest.update(array.tobytes())
        camera = {"kind": "camera", "name": "c", "width": 24, "height": 18, "noise": 0.01}
        data = WorldSensors(scene, [sensor_of(camera)]).due(Track.still((-20.0, 0.0, -8.0)))[0].data
        digest.update(data["rgb"].tobytes())
    return digest.hexdigest()


def reference(vehicle: str) -> str:
    """A vehicle under its reference autopilot, in wind, with faults: taps in signals, twins beside the flight."""
    import ironbird as ib

    flight = ib.fly(
        vehicle, weather=ib.Weather(4.0, 250.0, 3.0), faults=REFERENCE[vehicle], seed=3, until_s=REFERENCE_S
    )
    told = [flight.log.sha256(), *(repr(witness) for witness in flight.witnesses)]
    return hashlib.sha256("".join(told).encode()).hexdigest()


def chips() -> str:
    """Chips and buses of every board in C: requests of any bytes, on whole wires and on broken ones, beside twins."""
    from ironbird.boards.board import board_ids, load_board
    from ironbird.boards.chips.catalog import chip_class
    from ironbird.boards.native_board import NativeBoard

    digest, source = hashlib.sha256(), random.Random(5)
    for name in board_ids():
        board = load_board(name)
        made = NativeBoard(board, seed=3)
        for place in made.places():
            made.watch(place)
        for t in range(1_000_000, 400_000_000, 250_000):
            device = source.choice(board.device)
            sent = source.randbytes(source.randrange(1, 20))
            if t % 40_000_000 == 0:  # another wire breaks, in another way
                place = source.choice(list(made.places()))
                if lines := made.places()[place]:
                    made.set_wire(place, source.choice(lines), {source.choice(("flips", "random", "hold")): 0.3})
            if t % 2_000_000 == 0:
                made.tick(t)
            if device.kind == "spi":
                answer = made.spi(t, device.number, device.select, sent).data
            elif device.kind == "i2c":
                address = device.address or chip_class(device.chip).address
                answer = made.i2c(t, device.number, address, sent, source.randrange(20)).data
            else:
                made.uart_send(t, board.device.index(device), sent)
                answer = made.uart_receive(t, board.device.index(device))
            digest.update(answer)
        digest.update(made.digest.encode() + repr([made.first_difference(place) for place in made.places()]).encode())
        made.close()
    return digest.hexdigest()


UNITS: dict[str, Callable[[], str]] = {
    "codec": codec, "world": world, "px4": px4, "ardupilot": ardupilot, "chips": chips,
}  # fmt: skip


def compute(unit: str) -> str:
    """The hash of a unit in this process."""
    name, _, rest = unit.partition(":")
    if name == "reference":
        return reference(rest)
    if name != "kernel":
        return UNITS[name]()
    vehicle, _, lanes = rest.partition(":")
    return kernel(vehicle, [int(count) for count in lanes.split(",")])


# ---------------------------------------------------------------------------------------------- both builds


def computed(units: list[str], sanitized: bool) -> dict[str, tuple[str, float]]:
    """Hashes and seconds of units in a process of one build; a report of a sanitizer is printed and raises."""
    from ironbird.compiler.native import sanitizer_environment

    variables = {name: value for name, value in os.environ.items() if name not in SKIPPED}
    if sanitized:
        variables |= sanitizer_environment()
    command = [sys.executable, __file__, "--compute", *units]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        build = "sanitized" if sanitized else "usual"
        raise SystemExit(f"{build} build, {', '.join(units)}: code {done.returncode}\n{done.stderr[-8000:]}")
    return {name: (found, seconds) for name, found, seconds in json.loads(done.stdout.splitlines()[-1])}


def passes(unit: str) -> bool:
    """Whether tests pass in the sanitized build; what they say is printed if not."""
    from ironbird.compiler.native import sanitizer_environment

    begin = time.perf_counter()
    path = ROOT / "tests" / unit.removeprefix("tests:")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", str(path)]
    variables = {**os.environ, **sanitizer_environment(), "IRONBIRD_TEST_LIMIT": "3600"}  # s for each test
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, errors="replace")
    good = done.returncode == 0
    print(f"{'passed' if good else 'FAILED':10} {time.perf_counter() - begin:7.1f} s sanitized  {unit}", flush=True)
    if not good:
        print(done.stdout[-4000:] + done.stderr[-4000:])
    return good


class Kept:
    """Units that are done; of a whole run in a file too, with which a run of the same sources goes on."""

    def __init__(self, *, whole: bool, resume: bool) -> None:
        self.good: dict[str, bool] = {}
        self._whole = whole
        if whole:
            DONE.parent.mkdir(parents=True, exist_ok=True)
            rows = [json.loads(line) for line in DONE.read_text().splitlines()] if resume and DONE.exists() else []
            self.good = {unit: True for sources, unit, good in rows if good and sources == _sources(unit)}
            DONE.write_text("".join(json.dumps([_sources(unit), unit, True]) + "\n" for unit in self.good))

    def note(self, unit: str, good: bool) -> None:
        """One more is done."""
        self.good[unit] = good
        if self._whole:
            with DONE.open("a") as file:
                file.write(json.dumps([_sources(unit), unit, good]) + "\n")


def _sources(unit: str) -> str:
    """Hash of all that the outcome of a unit depends on."""
    return _hash_of(("src", "tests") if unit.startswith("tests:") else ("src",))


@functools.cache
def _hash_of(folders: tuple[str, ...]) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(path for name in folders for path in (ROOT / name).rglob("*")):
        if path.suffix in (".py", ".c", ".h", ".toml"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few units only")
    parser.add_argument("--compute", nargs="+", metavar="UNIT", help="print the hashes of units in this process")
    parser.add_argument("--resume", action="store_true", help="go on with a run of the same sources that was ended")
    parser.add_argument("--record", type=Path, help="keep the outcome in this file (JSON)")
    parser.add_argument("units", nargs="*", help="these only, for example kernel:zagi:1,9 or codec")
    options = parser.parse_args()
    if options.compute:
        # Frames of unoptimised code for several lanes are large, and larger with their red zones
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 28, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        threading.stack_size(1 << 27)
        found = []
        for unit in options.compute:
            begin = time.perf_counter()
            found.append((unit, compute(unit), round(time.perf_counter() - begin, 1)))
        print(json.dumps(found))
        return
    if options.units:
        groups = [[unit] for unit in options.units if not unit.startswith("tests:")]
        tests = [unit for unit in options.units if unit.startswith("tests:")]
    elif options.quick:
        groups, tests = [QUICK], JUDGING
    else:
        from ironbird.vehicles.names import CATALOG

        vehicles = sorted(path.stem for path in Path(CATALOG).glob("*.toml"))
        groups = [[f"kernel:{vehicle}:1,9"] for vehicle in vehicles]
        groups += [[f"reference:{vehicle}"] for vehicle in REFERENCE] + [[name] for name in UNITS]
        tests = TESTS
    whole = not (options.units or options.quick)
    begin, kept = time.perf_counter(), Kept(whole=whole, resume=options.resume)
    for group in groups:
        if all(unit in kept.good for unit in group):
            continue
        usual = computed(group, sanitized=False)
        watched = computed(group, sanitized=True)
        for unit in group:
            same = usual[unit][0] == watched[unit][0]
            kept.note(unit, same)
            times = f"{usual[unit][1]:7.1f} s usual {watched[unit][1]:7.1f} s sanitized"
            print(f"{'same' if same else 'DIFFERENT':10} {usual[unit][0][:16]} {times}  {unit}", flush=True)
    for unit in tests:
        if unit not in kept.good:
            kept.note(unit, passes(unit))
    units = sum(map(len, groups)) + len(tests)
    wrong = list(kept.good.values()).count(False)
    print(f"{units} units, {wrong} different, no report of a sanitizer, {time.perf_counter() - begin:.0f} s")
    if options.record:
        kinds = Counter(unit.partition(":")[0] for unit in [*itertools.chain(*groups), *tests])
        date = time.strftime("%Y-%m-%d", time.gmtime())
        # A report of a sanitizer ends the run
        figures = {"date": date, "units": units, "kinds": dict(kinds), "different": wrong, "reports": 0}
        options.record.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
