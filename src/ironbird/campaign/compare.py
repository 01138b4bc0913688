"""One case with several control systems: the reference autopilot, PX4, ArduPilot, any other.

Autopilots are ready after different times, so times are compared from the moment at which each one took off (or left);
faults of such a case should wait for a condition that all reach (`when = "altitude > 8 m"`), not for a time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ironbird.campaign.case import FlightCase
from ironbird.campaign.suite import load_suite
from ironbird.errors import CaseError, IronbirdError, LinkError, UnknownNameError
from ironbird.files.trust import Trust
from ironbird.flight.autopilot_estimate import AutopilotEstimate, beside
from ironbird.flight.cause import cause_of, with_cause
from ironbird.flight.flight import Flight, fly
from ironbird.flight.healthy import fly_healthy
from ironbird.flight.order import Option
from ironbird.flight.systems import is_outside, kind_of
from ironbird.flight.words import PASS
from ironbird.vehicles import places as at

HEALTHY = "healthy"
MOST_CAUSED = 3  # in a sentence
SET_OFF_M = 1.0  # from where it stood


@dataclass(frozen=True)
class Compared:
    """The result of one control system: its flight, or the error."""

    name: str
    flight: Flight | None
    error: str = ""
    autopilot: AutopilotEstimate | LinkError | None = None  # its own log beside the truth
    caused: Sequence[str] = ()  # what none of its healthy flights shows, if they were flown

    @property
    def off_s(self) -> float:
        """Time in s at which it took off or left its place; zero if it never did."""
        if self.flight is None:
            return 0.0
        place = self.flight.log[at.BODY.position]
        gone = np.flatnonzero(np.linalg.norm(place - place[0], axis=1) > SET_OFF_M)
        return float(self.flight.log.time()[gone[0]]) if gone.size else 0.0

    def sentence(self) -> str:
        """The result as one line of text."""
        if self.flight is None:
            return f"error: {self.error}"
        flight = self.flight
        acted = "".join(f"; {witness.sentence()}" for witness in flight.witnesses)
        off = f"set off at {self.off_s:.1f} s" if self.off_s else "never set off"
        return f"{flight.judged.verdict_text}: {self.result()}, {off}{acted}; {self.time()}{self._afterwards(flight)}"

    def result(self) -> str:
        """How it ended, after the reason of a verdict that is no pass."""
        if self.flight is None:
            return self.error
        judged = self.flight.judged
        return judged.outcome if judged.verdict == PASS else f"{judged.in_short} ({judged.outcome})"

    def time(self) -> str:
        """The kind of time in which it flew, as text."""
        kind = self.flight.order.options.get("time") if self.flight is not None else None
        return f"{kind or 'simulation'} time"

    def _afterwards(self, flight: Flight) -> str:
        if flight.judged.healthy:
            found = "; ".join(self.caused[:MOST_CAUSED]) or "nothing"
            return f"; caused, as none of {flight.judged.healthy} healthy flights shows it: {found}"
        first = next(iter(flight.reactions()), None)
        return f"; afterwards {first.event.text}, {first.after_s:.2f} s later" if first else ""


def shared_options(case: FlightCase, name: str) -> dict[str, Option]:
    """Options that all control systems of a comparison share: virtual time, and healthy flights beside faults.

    They are those of the case, whosever they are there; a control system that lacks one does without.
    """
    if not is_outside(name):
        return {}
    time = case.options.get("time", "virtual")
    twin = case.options.get("twin", bool(case.faults) and time != "real")
    choices = kind_of(name).choices()
    return {key: value for key, value in {"time": time, "twin": twin}.items() if key in choices}


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
    """Fly a case with each control system and its options; one that is not installed is reported.

    The options are trusted, as the user named them; programs that the options of the case itself name are not.
    """
    flown = []
    for name, options in systems.items():
        if progress is not None:
            progress(name)
        try:
            own = case.options if name == case.control else {}
            order = replace(case, control=name, options={**shared_options(case, name), **own, **options})
            if is_outside(name):  # settings of the reference navigator mean nothing to it
                ours = f"{at.NAVIGATOR.path}."
                settings = {path: value for path, value in case.settings.items() if not path.startswith(ours)}
                order = replace(order, settings=settings)
            trust = Trust.by_hand(options)
            flight = fly(order, folder=out / name, trust=trust)
            if flight.log.interrupted:
                raise KeyboardInterrupt
            caused: list[str] = []
            if order.options.get("twin"):
                with contextlib.suppress(LinkError):  # no log to compare: nothing is known of causes
                    cause = cause_of(flight, fly_healthy(order, out / name / HEALTHY, trust)[1])
                    flight.judged, caused = with_cause(flight.judged, cause), cause.sentences()
            flown.append(Compared(name, flight, autopilot=beside(flight), caused=caused))
        except IronbirdError as error:
            if not is_outside(name):  # the case itself is wrong
                raise
            flown.append(Compared(name, None, str(error)))
    return flown
