"""Whatever happens to a real autopilot or to us: the run ends in time with a true message, and nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from belongings import Belongings, wait_for

from ironbird.autopilots.ardupilot.process import ArduPilotProcess
from ironbird.autopilots.px4 import process as px4_process
from ironbird.autopilots.px4.process import PILOT_PORT, Px4Process, free_instance
from ironbird.flight.flight import Flight, fly
from ironbird.ground.pilot import Pilot
from ironbird.host.process import REST_S
from ironbird.rig.rig import Rig, make_rig
from ironbird.systems.ardupilot.link import ArduPilot
from ironbird.systems.px4.link import Px4
from ironbird.transport import peers

pytestmark = pytest.mark.autopilot
PATIENCE_S = 4.0
GOODBYE_S = 12.0  # for ending the autopilot, on a loaded machine
START_S, FLIGHT_S = 120.0, 300.0  # until it is started, until it flies
CYCLES, EXCHANGES, WARM = 50, 100, 10
GROWTH_KB = 8192


# ------------------------------------------------------------------------------ `ironbird sitl` from outside


def end_of(run: subprocess.Popen[str], seconds: float) -> tuple[int, str, str]:
    """Exit code and what was said; the run has to end in time."""
    out, err = run.communicate(timeout=seconds)
    return run.returncode, out, " ".join(err.split())


def begin_flight(belongings: Belongings, folder: Path, *options: str) -> subprocess.Popen[str]:
    """A run in flight: slow enough that it does not land meanwhile."""
    run = belongings.run("--speed", "8", "--out", str(folder), *options)
    try:
        wait_for(lambda: belongings.flies() or run.poll() is not None, FLIGHT_S, "take-off")
        assert run.poll() is None, run.communicate()
    except BaseException:
        run.kill()
        run.communicate()
        raise
    return run


@pytest.mark.parametrize(
    ("number", "patience_s", "message"),
    [
        (signal.SIGKILL, 2.0, r"(PX4|arducopter) was ended by SIGKILL at [\d.]+ s of simulation time; sent \d+ "
         r"\(last .+?\), received \d+ \(last .+?\); its output: .+"),
        (signal.SIGSTOP, 20.0, r"(PX4|ArduPilot) gave no (HIL_ACTUATOR_CONTROLS|servo packet) for [\d.]+ s \(wall\) at "
         r"[\d.]+ s of simulation time; sent \d+ \(last .+?\), received \d+ \(last .+?\)"),
    ],
)  # fmt: skip
def test_an_autopilot_that_dies_or_stands_still_ends_the_run(
    belongings: Belongings, tmp_path: Path, number: signal.Signals, patience_s: float, message: str
) -> None:
    out = tmp_path / "out"
    run = begin_flight(belongings, out)
    (pid,) = belongings.autopilots()
    os.kill(pid, number)
    code, _, err = end_of(run, patience_s + GOODBYE_S)
    assert code == 2 and "Traceback" not in err, err
    said = json.loads((out / "summary.json").read_text())["verdict"]
    assert re.search(f"error: .*{message}", said), said
    assert (out / "flight.parquet").stat().st_size > 0 and (out / "flight.html").stat().st_size > 0
    time_s = float(re.search(r"at ([\d.]+) s of simulation time", said).group(1))  # type: ignore[union-attr]
    assert time_s > 4.0  # it flew
    belongings.check_nothing_left()


@pytest.mark.parametrize("mode", ["virtual", "paced"])
@pytest.mark.parametrize(
    ("number", "patience_s", "message"),
    [
        (signal.SIGKILL, 5.0, r"(PX4|arducopter) was ended by SIGKILL"),
        (signal.SIGSTOP, REST_S + 10.0, r"thread '.+' .+ sleeps in system call|it has not come to a rest for [\d.]+ s"),
    ],
)
def test_in_virtual_time_an_autopilot_that_dies_or_stands_still_ends_the_run_too(
    belongings: Belongings, tmp_path: Path, number: signal.Signals, patience_s: float, message: str, mode: str
) -> None:
    out = tmp_path / "out"
    run = begin_flight(belongings, out, "--time", mode)
    (pid,) = belongings.autopilots()
    os.kill(pid, number)
    code, _, err = end_of(run, patience_s + GOODBYE_S)
    assert code == 2 and "Traceback" not in err, err
    said = json.loads((out / "summary.json").read_text())["verdict"]
    assert re.search(f"error: .*({message})", said), said
    assert (out / "flight.parquet").stat().st_size > 0
    belongings.check_nothing_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("phase", ["start", "flight"])
def test_a_signal_to_us_ends_the_run_and_keeps_what_was_flown(
    belongings: Belongings, tmp_path: Path, number: signal.Signals, phase: str
) -> None:
    out = tmp_path / "out"
    if phase == "flight":
        run = begin_flight(belongings, out)
    else:
        run = belongings.run("--out", str(out))
        wait_for(belongings.autopilots, START_S, "start of the autopilot")
    run.send_signal(number)
    code, _, said = end_of(run, GOODBYE_S)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 130), said
    assert "Traceback" not in said
    belongings.check_nothing_left()
    if phase == "flight" and number != signal.SIGKILL:
        assert json.loads((out / "summary.json").read_text())["outcome"].startswith("interrupted at")
        assert (out / "flight.parquet").stat().st_size > 0 and (out / "flight.html").stat().st_size > 0
        assert list(out.glob("*.ulg")) or list(out.glob("*.BIN"))  # the autopilot's own


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("mode", ["virtual", "paced"])
def test_a_signal_to_us_ends_the_run_in_virtual_time_too(
    belongings: Belongings, tmp_path: Path, number: signal.Signals, mode: str
) -> None:
    out = tmp_path / "out"
    run = begin_flight(belongings, out, "--time", mode)
    run.send_signal(number)
    code, _, said = end_of(run, GOODBYE_S)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 130), said
    belongings.check_nothing_left()
    if number != signal.SIGKILL:
        assert list(out.glob("*.ulg")) or list(out.glob("*.BIN"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_us_ends_all_vehicles(belongings: Belongings, tmp_path: Path, number: signal.Signals) -> None:
    if belongings.autopilot == "px4":
        for instance in (0, 1):
            with contextlib.closing(px4_process.open_port(instance)[1]):
                pass  # or says who has it
    run = begin_flight(belongings, tmp_path / "out", "-n", "2")
    wait_for(lambda: len(belongings.autopilots()) == 2, START_S, "two autopilots")
    time.sleep(5.0)  # both are in their loops
    run.send_signal(number)
    code, _, said = end_of(run, GOODBYE_S)
    assert code == (130 if number == signal.SIGINT else -signal.SIGKILL), said
    belongings.check_nothing_left()
    if number == signal.SIGINT:
        assert all((tmp_path / "out" / name / "flight.parquet").exists() for name in "01")


# ------------------------------------------------------------------------------ links in this process


class Saboteur:
    """A pilot that does something to the link as soon as the vehicle is up, and says when."""

    def __init__(self, pilot: Pilot, act: Callable[[], None]) -> None:
        self.pilot, self.act = pilot, act
        self.autopilot_events = pilot.autopilot_events
        self.acted_at: float | None = None

    @property
    def finished(self) -> bool:
        return self.pilot.finished

    def poll(self, rig: Rig) -> None:
        self.pilot.poll(rig)
        if self.acted_at is None and -rig.truth("p")[2] > 3.0:
            self.acted_at = time.monotonic()
            self.act()

    def close(self) -> None:
        self.pilot.close()


class Relay:
    """Stands between PX4 and our TCP port: passes all on, puts noise between towards us, or cuts both ends."""

    def __init__(self, port: int, ours: int) -> None:
        self.noise = random.Random(5)
        self.noisy = self.cut = False
        self.inserted = 0
        self._ours = ours
        self._server = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            with self._server:
                theirs = self._server.accept()[0]
            ours = socket.create_connection(("127.0.0.1", self._ours))
            with theirs, ours:
                for end in (theirs, ours):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while not self.cut:
                    for end in select.select([theirs, ours], [], [], 0.1)[0]:
                        data = end.recv(65536)
                        if not data:
                            return
                        if end is theirs and self.noisy and self.noise.random() < 0.05:
                            data = self._spoil(data)
                        (ours if end is theirs else theirs).sendall(data)

    def _spoil(self, data: bytes) -> bytes:
        place = self.noise.choice([0, len(data), self.noise.randrange(len(data))])  # before, after, or in a message
        noise = self.noise.randbytes(self.noise.randint(1, 300))
        self.inserted += len(noise)
        return data[:place] + noise + data[place:]

    def close(self) -> None:
        """May be called twice."""
        self.cut = True
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join()


class Link:
    """One real autopilot in this process, with everything at hand."""

    def __init__(self, autopilot: str, monkeypatch: pytest.MonkeyPatch, *, relayed: bool = False) -> None:
        self.relay: Relay | None = None
        self.system: Px4 | ArduPilot
        if autopilot == "px4":
            instance = free_instance()
            if relayed:
                self.relay = Relay(px4_process.SIMULATOR_PORT + instance, 24560 + instance)
                monkeypatch.setattr(px4_process, "SIMULATOR_PORT", 24560)
                monkeypatch.setattr(peers, "is_of", lambda *_: True)  # the relay is not PX4, and would be sent away
            self.system = Px4(Px4Process(), instance=instance, patience_s=PATIENCE_S)
            self.port = PILOT_PORT + instance
            self.pilot = Pilot("px4", port=self.port, peer_port=14580 + instance)
        else:
            process = ArduPilotProcess()
            self.system = ArduPilot(process, patience_s=PATIENCE_S)
            self.port = process.ground_port
            self.pilot = Pilot("ardupilot", port=self.port)

    def fly(self, act: Callable[[], None]) -> tuple[Flight, Saboteur]:
        saboteur = Saboteur(self.pilot, act)
        try:
            return fly("quad_f450", control=self.system, pilot=saboteur, until_s=120.0), saboteur
        finally:
            self.pilot.close()
            if self.relay is not None:
                self.relay.close()


def test_a_link_that_is_cut_ends_the_run(belongings: Belongings, monkeypatch: pytest.MonkeyPatch) -> None:
    link = Link(belongings.autopilot, monkeypatch, relayed=True)
    begun: list[float] = []

    def cut() -> None:
        begun.append(time.monotonic())
        belongings.autopilots()
        if link.relay is not None:
            link.relay.cut = True  # both ends are closed
        else:
            assert isinstance(link.system, ArduPilot) and link.system._socket is not None
            link.system._socket.connect(("127.0.0.1", 9))  # the kernel refuses packets of all others

    flight, _ = link.fly(cut)
    assert time.monotonic() - begun[0] < PATIENCE_S + GOODBYE_S
    assert flight.verdict == "error" and flight.log.rows() > 0
    said = link.system.failure
    assert said in flight.judged.sentence
    if belongings.autopilot == "px4":
        assert re.match(
            r"the connection to PX4 broke at [\d.]+ s of simulation time .*last HIL_ACTUATOR_CONTROLS", said
        )
    else:
        assert re.match(
            r"ArduPilot gave no servo packet for [4-9]\.\d s \(wall\) at .* received \d+ \(last frame", said
        )
    monkeypatch.undo()
    belongings.check_nothing_left()


@contextlib.contextmanager
def noise_to(ports: list[int]) -> Iterator[list[int]]:
    """Somebody else sends random bytes to UDP ports of ours."""
    noise, over, sent = random.Random(6), threading.Event(), [0]

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            while not over.wait(0.002):
                data = noise.randbytes(noise.choice([1, 7, 8, 40, 72, noise.randint(1, 1400)]))
                if noise.random() < 0.5:
                    data = b"\xfd" + data  # as if a message began
                for port in ports:
                    with contextlib.suppress(OSError):
                        own.sendto(data, ("127.0.0.1", port))
                        sent[0] += 1

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()


def test_garbage_does_not_touch_the_flight(belongings: Belongings, monkeypatch: pytest.MonkeyPatch) -> None:
    """In PX4's own stream; and from somebody else, to the ports of physics and ground station."""
    link = Link(belongings.autopilot, monkeypatch, relayed=True)
    with contextlib.ExitStack() as stack:
        sent: list[int] = []

        def disturb() -> None:
            belongings.autopilots()
            ports = [link.port]
            if link.relay is not None:
                link.relay.noisy = True
                stranger = stack.enter_context(socket.create_connection(("127.0.0.1", link.relay._ours)))
                stranger.sendall(random.Random(7).randbytes(4000))
            else:
                assert isinstance(link.system, ArduPilot) and link.system._socket is not None
                ports.append(link.system._socket.getsockname()[1])
            sent.append(0)
            counted = stack.enter_context(noise_to(ports))
            sent[0:1] = counted
            link.pilot.order("land")

        flight, saboteur = link.fly(disturb)
    assert saboteur.acted_at is not None and saboteur.finished and flight.stop is None
    assert link.system.traffic.bad > 0
    assert link.relay is None or link.relay.inserted > 1000
    monkeypatch.undo()
    belongings.check_nothing_left()


# ------------------------------------------------------------------------------ again and again


def resident_kb() -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text()).group(1))  # type: ignore[union-attr]


def test_fifty_starts_and_stops_leak_nothing(
    belongings: Belongings, record_property: Callable[[str, object], None]
) -> None:
    resident = []
    for _ in range(CYCLES):
        rig = make_rig("quad_f450", until_s=5.0, log=[])
        if belongings.autopilot == "px4":
            system: Px4 | ArduPilot = Px4(Px4Process(), instance=free_instance())
        else:
            system = ArduPilot(ArduPilotProcess())
        try:
            system.start(rig)
            belongings.autopilots()
            for _ in range(EXCHANGES):
                assert rig.step(system.step_ticks)
                system.exchange(rig)
        finally:
            system.stop()
        belongings.check_nothing_left()
        resident.append(resident_kb())
    growth = resident[-1] - resident[WARM]
    record_property("growth_kb", growth)
    print(f"{belongings.autopilot}: resident {resident[WARM]} kB after {WARM}, {resident[-1]} kB after {CYCLES} cycles")
    assert growth < GROWTH_KB, resident
