"""Recorded set-points drive the vehicle with the reference autopilot, to compare the closed loop with the real one.

Where a log has no commands of the motors, or slow ones, its velocity and heading set-points still contain what was
commanded. The simulated vehicle takes off, goes to the first set-point and then follows all of them. The comparison
judges the model together with the control system. Not modelled: the wind of that day; position and attitude set-points
(velocities are taken).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ironbird.credibility.plan import Plan, Test
from ironbird.credibility.readers import ATTITUDE, POSITION, VELOCITY, WANTED, record_of
from ironbird.credibility.record import Record, check_whole
from ironbird.errors import RecordError
from ironbird.flight.flight import fly
from ironbird.model.signal import Number
from ironbird.rig.commander.commander import Commander
from ironbird.rig.commander.target import Target
from ironbird.systems.commanded.front import ProgramFront, lasting, until
from ironbird.systems.commanded.kind import CommandedSystem

HEIGHT_M = 20.0  # of the lowest place
SETTLE_S = 8.0  # at the first set-point, before the window
MOST_S = 600.0
COMPARED = (*VELOCITY, "yaw")


def fly_setpoints(
    real: Record,
    vehicle: str | Path,
    *,
    window_s: tuple[float, float] | None = None,
    params: Mapping[str, Number] | None = None,
) -> tuple[Record, tuple[float, float]]:
    """The simulated record on the real record's clock, and the time window that both cover."""
    missing = [name for name in WANTED if name not in real.tracks]
    if missing:
        raise RecordError(
            f"{real.path.name} holds no {missing[0]}: set-points that drive a model are wanted velocities and headings "
            "(PX4's vehicle_local_position_setpoint, or columns named in a tests file)"
        )
    set_points = {name: real.tracks[name] for name in WANTED}
    low = max(float(track.time_s[0]) for track in set_points.values())
    high = min(float(track.time_s[-1]) for track in set_points.values())
    if window_s is not None:
        low, high = max(low, window_s[0]), min(high, window_s[1])
    if not 1.0 < high - low < MOST_S:
        raise RecordError(
            f"{real.path.name} holds {max(high - low, 0):.1f} s of set-points here; 1 to {MOST_S:g} s can be flown"
        )
    check_whole(real, [name for name in COMPARED if name in real.tracks], (low, high))
    begun: list[float] = []
    down = set_points[WANTED[2]]
    inside = (down.time_s >= low) & (down.time_s <= high)
    sunk = np.concatenate([[0.0], np.cumsum(down.values[inside][:-1] * np.diff(down.time_s[inside]))])
    height_m = HEIGHT_M + max(0.0, float(np.max(sunk)))

    def target(at_s: float) -> Target:
        values = [float(set_points[name].held(np.array([at_s]))[0]) for name in WANTED]
        return Target(velocity_N=values[:3], yaw=math.remainder(values[3], 2 * math.pi))

    def plan(pilot: Commander) -> Iterator[None]:
        yield from until(lambda: pilot.arm() is None)
        pilot.take_off(height_m)
        yield from until(lambda: pilot.mode == "hold")
        still = replace(target(low), velocity_N=(0.0, 0.0, 0.0))  # the heading first
        pilot.offboard(still)
        pilot.set_mode("offboard")
        yield from lasting(pilot, SETTLE_S / 2, lambda: pilot.offboard(still))
        level = target(low)
        level = replace(level, velocity_N=(*level.velocity_N[:2], 0.0))
        yield from lasting(pilot, SETTLE_S / 2, lambda: pilot.offboard(level))
        begun.append(pilot.time_s)
        yield from lasting(pilot, high - low, lambda: pilot.offboard(target(low + pilot.time_s - begun[0])))

    flight = fly(
        vehicle, control=CommandedSystem(ProgramFront(plan)), until_s=180.0 + high - low, settings=dict(params or {})
    )
    if not begun:
        raise RecordError(f"vehicle '{vehicle}' never came to its first set-point: {flight.verdict}")
    zero = float(flight.log.time()[0])  # records count from their first sample
    simulated = record_of(flight.log, Path(str(vehicle)))
    simulated = simulated.moved(low - begun[0] + zero)
    tracks = dict(simulated.tracks)
    for name in (*POSITION, *ATTITUDE):  # the same begin, the same turns
        if name in tracks and name in real.tracks:
            at = np.array([low])
            off = float(real.tracks[name].at(at)[0] - tracks[name].at(at)[0])
            if name in ATTITUDE:
                off = 2 * math.pi * round(off / (2 * math.pi))
            tracks[name] = replace(tracks[name], values=tracks[name].values + off)
    note = "flown by the real record's set-points under the reference autopilot, in calm air"
    end = min(high, *(float(tracks[name].time_s[-1]) for name in VELOCITY))
    return Record(Path(str(vehicle)), "set-points", tracks, [note]), (low, end)


def fitted(plan: Plan, real: Record) -> Plan:
    """The plan, or if it has no tests: velocities and heading over time."""
    if plan.test:
        return plan
    names = [name for name in COMPARED if name in real.tracks]
    tests = [Test(name=f"{name} over time", kind="time", signal=name) for name in names]
    return plan.model_copy(update={"test": tests})
