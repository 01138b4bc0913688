"""Speed of the links to autopilots: codec against pymavlink, and a flight of PX4 against PX4's own simulator.

    python bench/links.py [--flight]

Prints JSON. `exchange_us` is Ironbird's share of one exchange with PX4: four ticks of the F450, all its sensors packed,
sent over TCP, and an answer received and read; the answer comes from a thread-free socket pair, so PX4's own time is
not in it. With `--flight` (needs IRONBIRD_PX4) PX4 takes off and hovers for 40 s under an F450 with the sensors of
PX4's own simulator (one IMU, magnetometer, barometer and receiver), under Ironbird's usual F450 (three IMUs, so three
estimators run; rangefinder, optical flow), and under its own physics (SIH, asked for 100 times real time), in turn,
five times: medians, and the median of the ratios within a round.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pymavlink.dialects.v20 import common

from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.messages import Messages, Outputs, Wire
from ironbird.autopilots.px4.process import Px4Process, find_px4, free_instance
from ironbird.host.virtual_time.run import become, owner_of_programs
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.protocols.mavlink.dialect import HIL_ACTUATOR_CONTROLS, HIL_SENSOR, LOCAL_POSITION_NED
from ironbird.rig.rig import make_rig
from ironbird.systems.px4.link import Px4

EXCHANGES = 2000
SENSOR = (123456, *[0.5] * 13, 0x1FFF, 1)
LONGEST_S, FLIGHT_S, FLYING_M = 120.0, 40.0, 1.0
ROUNDS = 5
ONE_OF_EACH, USUAL = "quad_f450_rflysimsafe", "quad_f450"  # the first has one IMU, as PX4's own simulator


def best_us(work: Callable[[], Any], count: int, repeats: int = 5) -> float:
    """Shortest mean of some runs, in time of this thread on a processor: others use this machine as well."""
    times = []
    for _ in range(repeats):
        begin = time.thread_time()
        for _ in range(count):
            work()
        times.append((time.thread_time() - begin) / count * 1e6)
    return min(times)


def codec() -> dict[str, float]:
    """Three HIL_SENSOR packed and one HIL_ACTUATOR_CONTROLS read, by Ironbird and by pymavlink."""
    packer, parser, theirs = Packer(), Parser(), common.MAVLink(None, 1, 1)
    theirs.robust_parsing = True
    packer.add(HIL_ACTUATOR_CONTROLS, 1, 1, *[0.5] * 16, 129)
    answer = bytes(packer.take())

    def ours() -> None:
        for _ in range(3):
            packer.add(HIL_SENSOR, *SENSOR)
        packer.take()
        HIL_ACTUATOR_CONTROLS.unpack(parser.feed(answer)[0][1])

    def pymavlink() -> None:
        for _ in range(3):
            common.MAVLink_hil_sensor_message(*SENSOR).pack(theirs)
        theirs.parse_buffer(answer)

    mine, other = best_us(ours, 2000), best_us(pymavlink, 500)
    return {"codec_us": mine, "codec_pymavlink_us": other, "codec_times_faster": other / mine}


def exchange() -> dict[str, float]:
    """Ironbird's share of an exchange, and the parts of it."""
    rig = make_rig("quad_f450", until_s=1e4, log=[], log_s=1.0)
    airframe = airframe_of(rig.vehicle)
    packer, outputs = Packer(), Outputs(rig, airframe)
    messages = Messages(rig, airframe, packer)
    ours, theirs = socket.socketpair()
    wire = Wire(ours)
    reply = Packer()
    reply.add(HIL_ACTUATOR_CONTROLS, 2**62, 1, *[0.0] * 16, 129)
    answer = bytes(reply.take())

    def whole() -> None:
        rig.step(4)
        messages.add(rig.time_us)
        theirs.send(answer)
        wire.turn(packer.seal(), rig.time_us, 1.0)
        outputs.place(wire.state.controls, True, 0.0)
        theirs.recv(65536)

    def stepping() -> None:
        rig.step(4)

    result = {"exchange_us": best_us(whole, EXCHANGES), "step_us": best_us(stepping, EXCHANGES)}
    ours.close()
    theirs.close()
    return result


class Hover:
    """A few lines of a ground station: has PX4 take off, and reads its clock."""

    def __init__(self, instance: int) -> None:
        self.seen: list[tuple[float, float]] = []  # simulated, wall, of a flying PX4
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 14540 + instance))
        self._socket.setblocking(False)
        self._peer = ("127.0.0.1", 14580 + instance)
        self._reader, self._sender = Parser(), common.MAVLink(None, 255, 190)
        self._target = 1 + instance
        self._asked_at = 0.0

    def poll(self) -> None:
        """Read what came; ask for take-off twice a second until it flies."""
        while True:
            try:
                data = self._socket.recv(65536)
            except BlockingIOError:
                break
            for number, payload, _, _ in self._reader.feed(data):
                if number == LOCAL_POSITION_NED.id:
                    said = LOCAL_POSITION_NED.read(payload)
                    if self.seen or said.z < -FLYING_M:
                        self.seen.append((said.time_boot_ms * 1e-3, time.perf_counter()))
        if not self.seen and time.perf_counter() > self._asked_at + 0.5:
            self._asked_at = time.perf_counter()
            for command, params in ((22, [0, 0, 0, math.nan, math.nan, math.nan, math.nan]), (400, [1, *[0] * 6])):
                ask = common.MAVLink_command_long_message(self._target, 1, command, 0, *params)
                self._socket.sendto(ask.pack(self._sender), self._peer)

    @property
    def done(self) -> bool:
        """Whether it has flown long enough."""
        return bool(self.seen) and self.seen[-1][0] - self.seen[0][0] > FLIGHT_S

    @property
    def factor(self) -> float:
        """Simulated over wall time, in flight."""
        return (self.seen[-1][0] - self.seen[0][0]) / (self.seen[-1][1] - self.seen[0][1])

    def close(self) -> None:
        """Let go of the port."""
        self._socket.close()


def flight(rounds: int = ROUNDS) -> dict[str, float]:
    """PX4 hovers under Ironbird's vehicles and under its own physics, in turn: simulated over wall time, medians."""
    found = [(hovering(ONE_OF_EACH, like_sih=True), hovering(USUAL), sih()) for _ in range(rounds)]
    ours, usual, theirs = (statistics.median(column) for column in zip(*found, strict=True))
    return {
        "real_time_factor": ours,
        "real_time_factor_three_imus": usual,
        "real_time_factor_sih": theirs,
        "share_of_sih": statistics.median(one / own for one, _, own in found),
    }


def hovering(vehicle: str, *, like_sih: bool = False) -> float:
    """Times real time of PX4 in hover under a vehicle of Ironbird; `like_sih` with the sensors of SIH alone."""
    rig = make_rig(vehicle, until_s=LONGEST_S, log=[], log_s=1.0)
    if like_sih:
        rig.rangefinders, rig.flows, rig.airspeeds = [], [], []
    instance = free_instance()
    system, pilot = Px4(Px4Process(), instance=instance), Hover(instance)
    try:
        system.start(rig)
        while not pilot.done and rig.step(system.step_ticks):
            system.exchange(rig)
            if rig.state.tick % 100 == 0:
                pilot.poll()
    finally:
        system.stop()
        pilot.close()
    return pilot.factor


def used_s(pid: int) -> float:
    """Processor time of a process so far, of all its threads."""
    cells = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")


def sih() -> float:
    """The same with PX4's own quadcopter, as fast as it goes."""
    return sih_measured()[0]


def sih_measured() -> tuple[float, float]:
    """The same, and the processor time for a second of flight in ms. As `nobody` if root asks, as in virtual time."""
    program, instance = find_px4(), free_instance()
    folder = Path(tempfile.mkdtemp(prefix="ironbird-sih-"))
    settings = {"PX4_SIM_MODEL": "sihsim_quadx", "PX4_SIM_SPEED_FACTOR": "100"}
    command = [str(program.binary), "-d", str(program.etc), "-w", str(folder), "-i", str(instance)]
    owner = owner_of_programs("this bench")
    if owner is not None:
        os.chown(folder, *owner)
    with (folder / "px4.txt").open("wb") as console:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | settings,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: become(owner),
        )
    pilot, begin_s = Hover(instance), 0.0
    try:
        until = time.perf_counter() + LONGEST_S
        while not pilot.done and time.perf_counter() < until:
            pilot.poll()
            begin_s = begin_s or (used_s(process.pid) if pilot.seen else 0.0)
            time.sleep(0.01)
        assert pilot.done, f"PX4 under its own physics did not fly for {FLIGHT_S:g} s within {LONGEST_S:g} s"
        flown_s = pilot.seen[-1][0] - pilot.seen[0][0]
        return pilot.factor, 1e3 * (used_s(process.pid) - begin_s) / flown_s
    finally:
        pilot.close()
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flight", action="store_true", help="fly PX4 as well")
    result = codec() | exchange()
    if parser.parse_args().flight:
        result |= flight()
    print(json.dumps({name: round(value, 2) for name, value in result.items()}, indent=2))


if __name__ == "__main__":
    main()
