"""Latency of control from outside in real time: from a MAVLink command to the actuators, and back to the client.

    python bench/outside_latency.py [--count 200]

Prints JSON. A quadrotor in the air is served at real time in a process of its own; a client on UDP loopback asks for
another attitude with SET_ATTITUDE_TARGET (a thrust that jumps) at times that fall anywhere between two exchanges, and
listens to SERVO_OUTPUT_RAW at 250 Hz. `wall_ms` is from the client's send to the first message with other actuators,
both directions over loopback included; `simulation_ms` is the same in the time stamps of the vehicle.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import time
from multiprocessing.connection import Connection

from pymavlink import mavutil

from ironbird.rig.rig import make_rig
from ironbird.runtime.clock import Pace
from ironbird.systems.commanded.kind import CommandedSystem
from ironbird.systems.commanded.mavlink.connections import UdpEndpoint
from ironbird.systems.commanded.mavlink.front import MavlinkFront
from ironbird.vehicles.load import load_vehicle

TICKS = 4
LOW, HIGH, JUMP_PWM = 0.42, 0.5, 20
LEVEL = [1.0, 0.0, 0.0, 0.0]
PATIENCE_S = 2.0


def serve(pipe: Connection) -> None:
    """The vehicle, until it is ended."""
    rig = make_rig(load_vehicle("quad_f450", control="commanded"), until_s=3600.0, log=[])
    front = MavlinkFront({"links": "udpin:127.0.0.1:0"})
    system = CommandedSystem(front)
    system.start(rig)
    endpoint = front.endpoints[0]
    assert isinstance(endpoint, UdpEndpoint) and system.commander is not None
    commander, pace = system.commander, Pace(1.0)
    for _ in range(2000):  # the estimator settles, as fast as it goes
        rig.step(TICKS)
        system.exchange(rig)
    pipe.send(endpoint.port)
    begin_s = rig.time_s
    while not pipe.poll() and rig.step(TICKS):
        system.exchange(rig)
        pace.wait(rig.time_s - begin_s)
    assert commander.time_s > begin_s
    system.stop()


def measure(count: int) -> dict[str, object]:
    """All figures."""
    ours, theirs = multiprocessing.Pipe()
    vehicle = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    vehicle.start()
    client = mavutil.mavlink_connection(f"udpout:127.0.0.1:{ours.recv()}", source_system=255)
    draw = random.Random(1)
    wall, simulation, lost = [], [], 0
    try:
        mav = client.mav

        def ask(thrust: float) -> None:
            mav.set_attitude_target_send(0, 1, 1, 0b111, LEVEL, 0, 0, 0, thrust)

        mav.command_long_send(1, 1, 511, 0, 36, 4000, 0, 0, 0, 0, 0)  # SERVO_OUTPUT_RAW
        for _ in range(50):
            ask(LOW)
            time.sleep(0.02)
        mav.command_long_send(1, 1, 176, 0, 1, 6, 0, 0, 0, 0, 0)  # offboard
        mav.command_long_send(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)  # arm
        for _ in range(50):
            ask(LOW)
            time.sleep(0.02)
        thrust = LOW
        for _ in range(count):
            until = time.monotonic() + 0.05 + draw.uniform(0.0, 0.01)
            before = None
            while time.monotonic() < until:
                message = client.recv_msg()
                if message is None:
                    time.sleep(2e-4)
                elif message.get_type() == "SERVO_OUTPUT_RAW":
                    before = message
            if before is None:
                lost += 1
                continue
            thrust = HIGH if thrust == LOW else LOW
            sent = time.monotonic()
            ask(thrust)
            while time.monotonic() - sent < PATIENCE_S:
                message = client.recv_msg()
                if message is None or message.get_type() != "SERVO_OUTPUT_RAW":
                    continue
                if abs(_mean(message) - _mean(before)) > JUMP_PWM:
                    wall.append(1e3 * (time.monotonic() - sent))
                    simulation.append((message.time_usec - before.time_usec) * 1e-3)
                    break
                before = message if time.monotonic() - sent < 1e-4 else before
            else:
                lost += 1
    finally:
        ours.send("end")
        vehicle.join(10.0)
        client.close()
    return {"count": len(wall), "lost": lost, "wall_ms": _spread(wall), "simulation_ms": _spread(simulation)}


def _mean(message: object) -> float:
    return statistics.fmean(getattr(message, f"servo{number}_raw") for number in range(1, 5))


def _spread(values: list[float]) -> dict[str, float]:
    if len(values) < 2:
        return {}
    cuts = statistics.quantiles(values, n=20)
    return {"median": statistics.median(values), "p5": cuts[0], "p95": cuts[-1], "most": max(values)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=200)
    print(json.dumps(measure(parser.parse_args().count), indent=1))
