"""Flies the reference autopilot through its modes: one short flight per transition of the state chart, by lanes.

    python bench/mode_transitions.py

F450, and the Aerosonde on wheels, on sensors and estimator in calm air. Orders come by the navigator's script; GNSS is
denied for a while where a descent is wanted, and a rotor is taken away where the attitude failsafe is to
terminate. Prints every transition that was flown, and in how many flights.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ironbird.blocks.controllers.mission_table import MODES, SCRIPT
from ironbird.errors import PlausibilityWarning
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import judge
from ironbird.flight.order import Order, make_order
from ironbird.flight.prepare import fit
from ironbird.model.signal import Number
from ironbird.vehicles import places as at

VEHICLE = "quad_f450"
UNTIL_S = 60.0  # the whole mission
HIGH: Mapping[str, Number] = {at.NAVIGATOR("take_off_height"): 30.0}  # a take-off that lasts
STEEP: Mapping[str, Number] = {at.NAVIGATOR("tilt_limit"): 0.6, at.NAVIGATOR("tilt_time"): 0.02}
AWAY: Mapping[str, Number] = {
    at.BODY("p_0"): [5.0, 0.0, -0.12],
    at.NAVIGATOR("point_0"): [5.0, 0.0, -0.12],
}  # it takes off there
DENIED = "environment.gnss_denied@1:severity=1,start={start:g},duration={last:g}"
LOST = "rotor.speed_loss@1:instance=1,severity=1,start={start:g}"
GNSS_TIMEOUT_S = 3.0


@dataclass(frozen=True)
class Way:
    """How a mode is reached, and when it is in force."""

    script: tuple[tuple[float, str], ...]
    ready_s: float
    faults: tuple[str, ...] = ()
    settings: Mapping[str, Number] = field(default_factory=dict)


HOVERS = (0.0, "take-off")
WAYS = {
    "take-off": Way((HOVERS,), 5.0, settings=HIGH),
    "hold": Way((HOVERS,), 14.0),
    "mission": Way((), 14.0),
    "return": Way(((17.0, "return"),), 17.4),
    "land": Way((HOVERS, (14.0, "land")), 15.5),
    "offboard": Way((HOVERS, (14.0, "offboard")), 14.5),
    "descend": Way((HOVERS,), 18.6, (DENIED.format(start=14.0, last=4.0),)),
}


WING, WING_UNTIL_S = "aerosonde_wheels", 45.0
CLIMBED_S = 20.0  # the wing has taken off and climbed
WING_SCRIPTS: Sequence[tuple[tuple[float, str], ...]] = (
    ((CLIMBED_S, "hold"),),
    ((CLIMBED_S, "return"),),
    ((CLIMBED_S, "land"),),
    (HOVERS, (CLIMBED_S, "mission")),
    (HOVERS, (CLIMBED_S, "land")),
    (HOVERS, (CLIMBED_S, "return"), (CLIMBED_S + 5.0, "land")),
)


def _order(
    way: Way, *more: tuple[float, str], faults: Sequence[str] = (), settings: Mapping[str, Number] | None = None,
    vehicle: str = VEHICLE, mission: str = "square", until_s: float = UNTIL_S,
) -> Order:  # fmt: skip
    entries = (*way.script, *more)
    padded = [*entries, *[(1e9, "disarmed")] * (SCRIPT - len(entries))]
    script = [[time_s for time_s, _ in padded], [float(MODES.index(mode)) for _, mode in padded]]
    return make_order(
        vehicle, control="reference", mission=mission, faults=[*way.faults, *faults], until_s=until_s, log_s=0.02,
        settings={**way.settings, at.NAVIGATOR("script"): script, **(settings or {})},
    )  # fmt: skip


def orders() -> list[Order]:
    """The flights."""
    found = []
    for way in WAYS.values():
        found += [_order(way, (way.ready_s, order)) for order in ("hold", "mission", "return", "land", "offboard")]
        found.append(_order(way, faults=[LOST.format(start=way.ready_s)], settings=STEEP))  # attitude
        if not way.faults:  # GNSS is denied so that the failsafe acts when the mode is in force
            start = way.ready_s - GNSS_TIMEOUT_S + 0.5
            found.append(_order(way, faults=[DENIED.format(start=start, last=UNTIL_S)]))
    found.append(_order(Way(((0.0, "offboard"),), 0.0)))  # to offboard when the height is reached
    found.append(_order(WAYS["land"]))
    # Away from home: a return at home is a landing at once
    found += [_order(Way(((17.0, mode),), 18.0), (18.0, "return")) for mode in ("hold", "land", "offboard")]
    found += [_order(WAYS[mode], (WAYS[mode].ready_s, "return"), settings=AWAY) for mode in ("take-off", "descend")]
    found.append(_order(WAYS["mission"]))
    return found


def wing_orders() -> list[Order]:
    """The flights of the wing."""
    return [
        _order(Way((), 0.0), *script, vehicle=WING, mission="airfield", until_s=WING_UNTIL_S) for script in WING_SCRIPTS
    ]


def flown() -> Counter[tuple[str, str]]:
    """Transitions of the multicopter, and in how many flights."""
    return _count(orders())


def wing_flown() -> Counter[tuple[str, str]]:
    """The same of the wing."""
    return _count(wing_orders())


def _count(given: list[Order]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausibilityWarning)  # by default the attitude failsafe never acts
        model = fit(given[0]).model
        flights = judge(fly_lanes(given, model, also=(), threads=1), model)
    for judged in flights:
        modes = [MODES[int(mode)] for _, mode in judged.modes]
        found.update(set(itertools.pairwise(modes)))
    return found


def main() -> None:
    """Command line."""
    for name, found in ((VEHICLE, flown()), (WING, wing_flown())):
        for (now, after), flights in sorted(found.items()):
            print(f"{name}: {now} to {after}: {flights}")


if __name__ == "__main__":
    main()
