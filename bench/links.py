"""Speed of the links to autopilots: codec against pymavlink, and a flight of PX4 against PX4's own simulator.

    python bench/links.py [--flight]

Prints JSON. `exchange_us` is our share of one exchange with PX4: four ticks of the F450, all its sensors packed, sent
over TCP, and an answer received and read; the answer comes from a thread-free socket pair, so PX4's own time is not in
it. With `--flight` (needs IRONBIRD_PX4) PX4 stands on the ground for a minute under an F450 with the sensors of PX4's
own simulator (one IMU, magnetometer, barometer and receiver), under our usual F450 (three IMUs, so three estimators
run; rangefinder, optical flow), and under its own physics (SIH, asked for 100 times real time), in turn, five times:
medians, and the median of the ratios within a round.
"""

from __future__ import annotations

import argparse
import json
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

from ironbird.links.mavlink import HIL_ACTUATOR_CONTROLS, HIL_SENSOR, Packer, Parser
from ironbird.links.px4.airframes import airframe_of
from ironbird.links.px4.link import Px4
from ironbird.links.px4.messages import Messages, Outputs, Wire
from ironbird.links.px4.process import Px4Process, find_px4, free_instance
from ironbird.links.rig import make_rig

EXCHANGES = 2000
SENSOR = (123456, *[0.5] * 13, 0x1FFF, 1)
STANDING_S, SETTLED_S = 60.0, 10.0
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
    """Three HIL_SENSOR packed and one HIL_ACTUATOR_CONTROLS read, by us and by pymavlink."""
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
    """Our share of an exchange, and the parts of it."""
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
        ours.sendall(packer.take())
        theirs.send(answer)
        wire.receive(rig.time_us, 1.0)
        outputs.place(rig, wire.state.controls, True, 0.0)
        theirs.recv(65536)

    def stepping() -> None:
        rig.step(4)

    result = {"exchange_us": best_us(whole, EXCHANGES), "step_us": best_us(stepping, EXCHANGES)}
    ours.close()
    theirs.close()
    return result


def flight(rounds: int = ROUNDS) -> dict[str, float]:
    """PX4 on the ground under our vehicles and under its own physics, in turn: simulated over wall time, medians."""
    found = [(standing(ONE_OF_EACH, like_sih=True), standing(USUAL), sih()) for _ in range(rounds)]
    ours, usual, theirs = (statistics.median(column) for column in zip(*found, strict=True))
    return {
        "real_time_factor": ours, "real_time_factor_three_imus": usual, "real_time_factor_sih": theirs,
        "share_of_sih": statistics.median(one / own for one, _, own in found),
    }  # fmt: skip


def standing(vehicle: str, *, like_sih: bool = False) -> float:
    """Times real time of PX4 under a vehicle of ours, lockstep, disarmed; `like_sih` with the sensors of SIH alone."""
    rig = make_rig(vehicle, until_s=STANDING_S, log=[], log_s=1.0)
    if like_sih:
        rig.rangefinders, rig.flows, rig.airspeeds = [], [], []
    system = Px4(Px4Process())
    begin = 0.0
    try:
        system.start(rig)
        while rig.step(system.step_ticks):
            system.exchange(rig)
            if rig.time_s <= SETTLED_S:
                begin = time.perf_counter()
        return (STANDING_S - SETTLED_S) / (time.perf_counter() - begin)
    finally:
        system.stop()


def sih() -> float:
    """PX4's own quadcopter, as fast as it goes: time stamps of its uORB clock against the wall."""
    program, instance = find_px4(), free_instance()
    folder = Path(tempfile.mkdtemp(prefix="ironbird-sih-"))
    settings = {"PX4_SIM_MODEL": "sihsim_quadx", "PX4_SIM_SPEED_FACTOR": "100"}
    command = [str(program.binary), "-d", str(program.etc), "-w", str(folder), "-i", str(instance)]
    with (folder / "px4.txt").open("wb") as console:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | settings, stdin=subprocess.DEVNULL, stdout=console,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ground:
            ground.bind(("127.0.0.1", 14540 + instance))
            ground.settimeout(20)
            reader = common.MAVLink(None)
            reader.robust_parsing = True
            seen: list[tuple[float, float]] = []  # simulated, wall
            until = time.perf_counter() + 30
            while time.perf_counter() < until and (not seen or seen[-1][0] < STANDING_S):
                for message in reader.parse_buffer(ground.recv(65536)) or []:
                    if message.get_type() == "ATTITUDE":
                        seen.append((message.time_boot_ms * 1e-3, time.perf_counter()))
        later = [pair for pair in seen if pair[0] > SETTLED_S]
        return (later[-1][0] - later[0][0]) / (later[-1][1] - later[0][1])
    finally:
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
