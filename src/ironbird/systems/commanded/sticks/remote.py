"""Sticks over MAVLink: flies a vehicle of any autopilot by hand through the client."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ironbird.errors import IronbirdError
from ironbird.ground.client.faces import RemoteVehicle, connect
from ironbird.systems.commanded.sticks.source import Source

LOOK_S = 0.02
ACTION_S = 20.0  # deadline of a button's action


def fly_by_hand(
    source: Source, address: str, *, mode: str, until_s: float, say: Callable[[str], None], within_s: float = 30.0
) -> None:
    """Send sticks until the time is over or the source ends; actions of buttons run meanwhile, one by one."""
    with connect(address, within_s=within_s) as vehicle, ThreadPoolExecutor(1) as hands:
        say(f"{vehicle.telemetry.autopilot}, {vehicle.telemetry.kind}: mode {vehicle.telemetry.mode}")
        begin, pending = time.monotonic(), list[tuple[str, Future[None]]]()
        if mode:
            pending.append((mode, hands.submit(_do, vehicle, mode)))
        while (now_s := time.monotonic() - begin) < until_s and not source.finished:
            now = source.read(now_s)
            vehicle.sticks(now.roll, now.pitch, now.throttle, now.yaw, now.buttons)
            pending += [(action, hands.submit(_do, vehicle, action)) for action in source.actions()]
            pending = [one for one in pending if not _reported(*one, say)]
            time.sleep(LOOK_S)


def _do(vehicle: RemoteVehicle, action: str) -> None:
    calls: dict[str, Callable[..., Any]] = {
        "arm": vehicle.arm,
        "disarm": vehicle.disarm,
        "take-off": vehicle.take_off,
        "land": vehicle.land,
        "return": vehicle.return_home,
        "hold": vehicle.hold,
        "mission": vehicle.start_mission,
    }
    if action in calls:
        calls[action](within_s=ACTION_S)
    else:
        vehicle.set_mode(action, within_s=ACTION_S)


def _reported(action: str, future: Future[None], say: Callable[[str], None]) -> bool:
    """Report how an action ended through `say`; returns whether it has ended."""
    if not future.done():
        return False
    error = future.exception()
    if error is not None and not isinstance(error, IronbirdError):
        raise error
    say(f"{action}: {'done' if error is None else error}")
    return True
