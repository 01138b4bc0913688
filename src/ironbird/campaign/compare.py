"""One case under several control systems: the reference autopilot, PX4, ArduPilot, any other.

Autopilots are ready after different times, so times are compared from the moment on at which each set off; faults of
such a case should wait for something that all reach (`when = "altitude > 8 m"`), not for a second of the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ironbird.campaign.case import FlightCase
from ironbird.campaign.suite import load_suite
from ironbird.errors import CaseError, IronbirdError, LinkError, UnknownNameError
from ironbird.files.trust import Trust
from ironbird.flight.autopilot_estimate import AutopilotEstimate, beside
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import Option
from ironbird.flight.systems import is_outside
from ironbird.vehicles import places as at

SET_OFF_M = 1.0  # from where it stood


@dataclass(frozen=True)
class Compared:
    """What one control system made of the case."""

    name: str
    flight: Flight | None
    error: str = ""
    autopilot: AutopilotEstimate | LinkError | None = None  # its own log beside the truth

    @property
    def off_s(self) -> float:
        """When it set off, into the air or over the ground; zero if it never did."""
        if self.flight is None:
            return 0.0
        place = self.flight.log[at.BODY.position]
        gone = np.flatnonzero(np.linalg.norm(place - place[0], axis=1) > SET_OFF_M)
        return float(self.flight.log.time()[gone[0]]) if gone.size else 0.0

    def sentence(self) -> str:
        """For people."""
        if self.flight is None:
            return f"error: {self.error}"
        acted = "".join(f"; {witness.sentence()}" for witness in self.flight.witnesses)
        first = next(iter(self.flight.reactions()), None)
        said = f"; first reaction {first.event.text} after {first.after_s:.2f} s" if first else ""
        off = f"set off at {self.off_s:.1f} s" if self.off_s else "never set off"
        return f"{self.flight.verdict}: {self.flight.outcome}, {off}{acted}{said}"


def first_flight(text: str) -> FlightCase:
    """The first flight of FILE or FILE:CASE."""
    name, _, case = text.partition(":")
    cases = {planned.id: planned for planned in load_suite(name).cases}
    if not case and len(cases) > 1:
        raise CaseError(name, [f"it has {len(cases)} cases: say which, as {name}:{next(iter(cases))}"])
    if case and case not in cases:
        raise UnknownNameError("case", case, cases, name)
    return next(cases[case or next(iter(cases))].flights())


def compare(
    case: FlightCase,
    systems: Mapping[str, Mapping[str, Option]],
    out: Path,
    progress: Callable[[str], None] | None = None,
) -> list[Compared]:
    """Fly it under each control system with its options, which are named by hand; one that cannot be had is reported.

    What the options of the case itself name is not trusted.
    """
    flown = []
    for name, options in systems.items():
        if progress is not None:
            progress(name)
        try:
            own = case.options if name == case.control else {}
            order = replace(case, control=name, options={**own, **options})
            if is_outside(name):  # settings of the reference navigator mean nothing to it
                ours = f"{at.NAVIGATOR.path}."
                kept = {path: value for path, value in case.settings.items() if not path.startswith(ours)}
                order = replace(order, settings=kept)
            flight = fly(order, folder=out / name, trust=Trust.by_hand(options))
            if flight.log.interrupted:
                raise KeyboardInterrupt
            flown.append(Compared(name, flight, autopilot=beside(flight)))
        except IronbirdError as error:
            if not is_outside(name):  # the case itself is wrong
                raise
            flown.append(Compared(name, None, str(error)))
    return flown
