"""Sticks over MAVLink: flies a vehicle of any autopilot by hand through the client."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ironbird.errors import IronbirdError
from ironbird.ground.client.faces import RemoteVehicle, connect
from ironbird.ground.client.telemetry import Telemetry
from ironbird.systems.commanded.sticks.keyboard import HELP, Keyboard, key_lines
from ironbird.systems.commanded.sticks.source import Source

LOOK_S = 0.02
SHOW_S = 0.2  # s between two lines of figures
ACTION_S = 20.0  # deadline of a button's action


def fly_by_hand(
    source: Source,
    address: str,
    *,
    mode: str,
    until_s: float,
    say: Callable[[str], None],
    show: Callable[[str], None] | None = None,
    within_s: float = 30.0,
) -> None:
    """Send sticks until the time is over or the source ends; actions of buttons run meanwhile, one by one.

    `say` gets what happens, `show` a line of figures five times a second.
    """
    keys = key_lines() if isinstance(source, Keyboard) else []
    for line in keys:
        say(line)
    with connect(address, within_s=within_s) as vehicle, ThreadPoolExecutor(1) as hands:
        said = Changes(say)
        say(f"{vehicle.telemetry.autopilot}, {vehicle.telemetry.kind}: mode {vehicle.telemetry.mode}")
        show_s = 0.0
        begin, pending = time.monotonic(), list[tuple[str, Future[None]]]()
        if mode:
            pending.append((mode, hands.submit(_do, vehicle, mode)))
        while (now_s := time.monotonic() - begin) < until_s and not source.finished:
            now = source.read(now_s)
            vehicle.sticks(now.roll, now.pitch, now.throttle, now.yaw, now.buttons)
            for action in source.actions():
                if action != HELP:
                    pending.append((action, hands.submit(_do, vehicle, action)))
                    continue
                for line in keys:
                    say(line)
            pending = [one for one in pending if not _reported(*one, say)]
            said.look(now_s, vehicle.telemetry)
            if show is not None and now_s >= show_s:
                show_s = now_s + SHOW_S
                show(f"{now_s:7.1f} s  {live(vehicle.telemetry)}  {now.words()}")
            time.sleep(LOOK_S)


class Changes:
    """Says when the vehicle arms, disarms or changes its mode, whoever asked for it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._before: tuple[bool, str] | None = None

    def look(self, now_s: float, told: Telemetry) -> None:
        """Compare with what it reported before."""
        now = (told.armed, told.mode)
        if self._before is not None and now[0] != self._before[0]:
            self._say(f"{now_s:7.1f} s  {'armed' if now[0] else 'disarmed'}")
        if self._before is not None and now[1] != self._before[1]:
            self._say(f"{now_s:7.1f} s  mode {now[1]}")
        self._before = now


def live(told: Telemetry) -> str:
    """Armed, mode, height and speed as the vehicle reports them; what it has not reported yet is left out."""
    parts = [f"{'armed' if told.armed else 'disarmed'}, {told.mode or 'mode not known'}"]
    if math.isfinite(told.height_m):
        parts.append(f"height {told.height_m:.1f} m")
    if all(map(math.isfinite, told.velocity)):
        parts.append(f"speed {math.hypot(*told.velocity):.1f} m/s")
    return "  ".join(parts)


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
