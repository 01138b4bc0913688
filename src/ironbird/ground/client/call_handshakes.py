"""Handshakes of calls: several run at once, each with one deadline for all that it does."""

from __future__ import annotations

import math
from collections.abc import Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ironbird.errors import LinkError
from ironbird.ground.handshakes import Handshakes, Script, Step
from ironbird.protocols.geodesy import to_geodetic
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.plan_file import Home

SEE_MODE_S = 3.0  # heartbeats come once a second


@dataclass
class Running:
    """A call in progress: its generator, its future, and its deadline."""

    script: Generator[None, None, Any]
    future: Future[Any] = field(default_factory=Future)
    until: float = math.inf  # monotonic
    within_s: float = math.inf
    step: Step | None = None


class CallHandshakes(Handshakes):
    """Handshakes under the deadline of the present call; a state that already holds is not requested."""

    refusals = (numbers.MAV_RESULT_DENIED, numbers.MAV_RESULT_UNSUPPORTED)
    now: Running | None = None

    def allow(self, within_s: float) -> None:
        """Set the deadline of the present call."""
        if not 0.0 < within_s <= 1e7:
            raise LinkError(f"a deadline of {within_s!r} s: give more than 0")
        assert self.now is not None
        self.now.until, self.now.within_s = self.station.wall_s() + within_s, within_s

    def begin(self, name: str, wall_s: float = math.inf, sim_s: float = math.inf) -> Step:
        """Begin a step that waits until the deadline of the call."""
        wall = self.station.wall_s()
        left_s = self.now.until - wall if self.now is not None else wall_s
        self.step = Step(name, max(left_s, 0.0), math.inf, wall, self.station.now_s)
        return self.step

    def failed(self, step: Step, why: str) -> LinkError:
        """The error of a call: what did not happen, for how long, and the last message received."""
        station = self.station
        within_s = self.now.within_s if self.now is not None else math.nan
        who = f"{station.dialect.name} (system {station.system})" if station.system else "no vehicle"
        last = f"{station.wall_s() - station.last_message_wall:.1f} s ago {station.last_message}"
        others = f"; received, but not from the vehicle: {', '.join(sorted(station.others))}" if station.others else ""
        if why.startswith("not done"):
            why = f"not done within {within_s:g} s"
        return LinkError(
            f"{station.wire.name}, {who}: '{step.name}' {why}"
            + (f"; {step.note}" if step.note else "")
            + f"; last heartbeat: {station.last_heartbeat or 'none'}; last text: {station.last_text or 'none'}; "
            + f"last message: {last if station.last_message else 'none'}{others}"
        )

    def arm(self) -> Script:
        """Arm the vehicle unless it is armed already."""
        if not self.station.armed:
            yield from super().arm()

    def change_mode(self, word: str) -> Script:
        """Command a mode by word or by the autopilot's own name, until the heartbeat reports it."""
        name = self.station.modes.get(word.lower(), word).upper()
        while self.station.mode != name:  # commanded again if the mode fell back before it was reported
            yield from self.set_mode(name)

    def see_mode(self, name: str) -> Script:
        """Wait for a mode as long as a few heartbeats take."""
        until = self.station.wall_s() + SEE_MODE_S
        step = self.begin(f"mode {name} in the heartbeat")
        step.note = "it was accepted"
        while self.station.mode != name and self.station.wall_s() < until:
            yield

    def reposition(self, place: tuple[float, float, float]) -> Script:
        """Send the vehicle to a place, where it holds by itself."""
        station = self.station
        yield from self.wait("a home position", lambda: station.home is not None)
        assert station.home is not None
        if mode := station.dialect.reposition_mode:
            yield from self.change_mode(mode)
        latitude, longitude, _ = to_geodetic(Home(*station.home), place)
        height = station.home[2] - place[2]  # above the sea
        options = (-1.0, 1.0, 0.0, math.nan)  # default speed; change the mode
        yield from self.ask_int("a new place", numbers.DO_REPOSITION, options, (latitude, longitude, height))

    def ask_int(
        self, name: str, command: int, params: tuple[float, float, float, float], place: tuple[float, float, float]
    ) -> Script:
        """Give a command with a place on the earth (COMMAND_INT), exact in degrees."""
        first, second, third, fourth = params

        def send() -> None:
            degrees = {"x": round(place[0] * 1e7), "y": round(place[1] * 1e7)}
            self.station.say(
                dialect.COMMAND_INT, command=command, frame=numbers.FRAME_GLOBAL, param1=first, param2=second,
                param3=third, param4=fourth, z=place[2], **degrees, **self.station.target,
            )  # fmt: skip

        yield from self.insist(name, command, send, final=self.refusals)
