"""A flight: an order flown. `fly` passes an order to the control system that flies it and returns the result."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import OrderError
from ironbird.files.trust import Trust
from ironbird.files.work import working
from ironbird.flight.derived import derived
from ironbird.flight.duration import OBJECT
from ironbird.flight.flown import Flown
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import PASS, Judged, judge, outcome, survived
from ironbird.flight.live import LiveControl
from ironbird.flight.order import Order, make_order, read_faults, read_requirements
from ironbird.flight.prepare import Fitted, fit, fit_vehicle, has_link_faults
from ironbird.flight.reactions import Reaction, reactions_of
from ironbird.flight.start_line import StartLine
from ironbird.flight.systems import is_outside, kind_of, read_options, repeats, title_of
from ironbird.flight.taps import taps_of
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle, load_spec

if TYPE_CHECKING:
    from ironbird.rig.rig import Rig
    from ironbird.rig.system import AutopilotEvent, ControlSystem, Pilot

LOG_ENDINGS = (".ulg", ".bin")  # of autopilots' own logs
STATISTICS_AFTER_S = 5.0  # tracking errors are counted from here on: the vehicle is in the air


@dataclass(kw_only=True)
class Flight(Flown):
    """A flight that was flown and judged, with its vehicle."""

    vehicle: Vehicle
    model: CompiledModel
    judged: Judged
    wall_s: float
    of_object: bool = False  # the vehicle was an object of a Python program: its diagram may differ from its file's

    def __repr__(self) -> str:
        flown = f"'{self.order.vehicle}' under {self.order.control}, {self.ended_s:g} s"
        return f"<Flight of {flown}: {self.verdict}, {self.outcome}>"

    @property
    def verdict(self) -> str:
        """pass, fail, void or error."""
        return self.judged.verdict

    @property
    def outcome(self) -> str:
        """How it ended, in words."""
        return outcome(self.stop, self.ended_s, self.log.interrupted)

    @property
    def survived(self) -> bool:
        """Whether the vehicle was whole at the end."""
        return survived(self.stop)

    @property
    def repeats(self) -> bool:
        """Whether the same order gives the same bytes again."""
        if self.of_object:
            return False
        if self.records and self.order.has_plan:  # a recorded stream says when it ended
            return True
        if self.log.interrupted:
            return False
        return repeats(self.order.control, self.order.options, self.order.script)

    @property
    def sha256(self) -> str:
        """Hash of the flight, the same wherever its order is flown: alone, repeated, or in a campaign."""
        return self.judged.sha256

    @property
    def sha256_of_all(self) -> str:
        """Hash of the flight, of all messages of an external control system, and of every byte of its own logs."""
        said = json.dumps([[h.time_s, h.kind, h.text] for h in self.autopilot_events]) + json.dumps(self.link)
        whole = hashlib.sha256((self.sha256 + said).encode())
        for path in self.logs:
            if path.suffix.lower() in LOG_ENDINGS and path.is_file():
                whole.update(path.read_bytes())
        return whole.hexdigest()

    @property
    def mission_title(self) -> str:
        """What it was to fly."""
        if self.order.has_plan:
            from ironbird.flight.given_plan import title_of_plan

            return title_of_plan(self.order)
        return self.order.mission.title if self.order.mission is not None else "as the control system has it"

    def reactions(self) -> list[Reaction]:
        """What a control system outside did first after each fault."""
        return reactions_of(self.order.faults, self.witnesses, self.autopilot_events)

    def summary(self) -> dict[str, str]:
        """The figures that people look for first."""
        order = self.order
        rows = {
            "vehicle": self.vehicle.id,
            "control": title_of(order.control),
            "mission": self.mission_title,
            "outcome": self.outcome,
            "verdict": "pass" if self.verdict == PASS else f"{self.verdict}: {self.judged.sentence}",
            "wind": order.weather.describe(),
        }
        for number, injection in enumerate(order.faults, start=1):
            rows[f"fault {number}"] = injection.text()
        for number, witness in enumerate(self.witnesses, start=1):
            rows[f"witness {number}"] = witness.effect()
        rows.update(self._words_of_figures())
        rows.update(self.link)
        for number, reaction in enumerate(self.reactions(), start=1):
            rows[f"reaction {number}"] = reaction.sentence()
        rows["seed"] = str(order.seed)
        rows["speed"] = f"{self.ended_s / max(self.wall_s, 1e-9):.0f} times real time ({self.wall_s:.2f} s)"
        rows["sha256"] = self.sha256
        if self.order.sight:
            from ironbird.flight.sights import sha256_of

            rows["sha256 of sight"] = f"{sha256_of(self.samples)} ({len(self.samples)} samples)"
        if self.logs:
            rows["sha256 of all"] = f"{self.sha256_of_all} (flight, its words, its log)"
        return rows

    def figures(self) -> dict[str, Any]:
        """The same as plain data in SI, for programs: `summary.json` has it under "figures"."""
        log = self.log
        found: dict[str, Any] = {
            "verdict": self.verdict, "survived": self.survived, "ended_s": self.ended_s,
            "margin": _finite(self.judged.margin), "wall_s": self.wall_s,
            "seed": self.order.seed, "sha256": self.sha256,
        }  # fmt: skip
        if not log.rows():
            return found
        found["greatest_height_m"] = _finite(derived(log, "height").max())
        found["greatest_tilt_rad"] = _finite(derived(log, "tilt").max())
        if at.NAVIGATOR.position_set in log:
            error = self.tracking_error()
            found["tracking_rms_m"] = _finite(np.sqrt(np.mean(error**2)))
            found["tracking_most_m"] = _finite(error.max())
        if at.BATTERY.remaining in log:
            found["battery_left"] = _finite(log[at.BATTERY.remaining][-1])
            found["battery_V"] = _finite(log["battery.voltage"][-1])
        return found

    def _words_of_figures(self) -> dict[str, str]:
        found = {name: math.nan if value is None else value for name, value in self.figures().items()}
        rows = {}
        if "greatest_height_m" in found:
            rows["greatest height"] = f"{found['greatest_height_m']:.2f} m"
            rows["greatest tilt"] = f"{math.degrees(found['greatest_tilt_rad']):.1f}°"
        if "tracking_rms_m" in found:
            rows["tracking error"] = f"{found['tracking_rms_m']:.3f} m rms, {found['tracking_most_m']:.3f} m at most"
        if "battery_left" in found:
            rows["battery"] = f"{100 * found['battery_left']:.1f} % left, {found['battery_V']:.2f} V"
        return rows

    def tracking_error(self) -> np.ndarray:
        """Distance between the vehicle and its navigator's set-point in m, without the start."""
        return flying(self.log.time(), derived(self.log, "position_error"))


def _finite(value: float) -> float | None:
    """A number that JSON has."""
    return float(value) if math.isfinite(value) else None


def flying(time_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values of a flight without its start."""
    return np.asarray(values[time_s >= min(STATISTICS_AFTER_S, time_s[-1] / 2)])


def fly(
    what: Order | Vehicle | str | Path,
    *,
    control: str | ControlSystem | None = None,
    pilot: Pilot | None = None,
    speed: float | None = None,
    live: LiveControl | None = None,
    progress: Callable[[float], None] | None = None,
    folder: Path | None = None,
    announce: Callable[[str], None] | None = None,
    show: Callable[[str], None] | None = None,
    line: StartLine | None = None,
    between: Callable[[Rig], bool] | None = None,
    on_event: Callable[[AutopilotEvent], None] | None = None,
    trust: Trust | None = None,
    **ordered: Any,
) -> Flight:
    """Fly an order, or a vehicle with what `make_order` takes (mission, weather, faults, requirements, seed, ...).

    `control` names a control system (`ironbird.flight.systems`) or is one: a `ControlSystem`, with its `pilot`. With
    faults, twins without them fly beside: each fault's witness is the difference to a twin that lacks this fault alone.
    With `speed` the flight keeps to the wall clock, and `live` takes new parameter values. A control system outside may
    leave its logs in `folder`, is asked to `announce` its ports, and to `show` figures about once a second; `between`
    is called after every exchange with it, may wait, and ends the flight by False; `on_event` gets its events when they
    come: clients, arming, modes, refusals. At a `line` a flight waits for others with which it flies together.

    Programs and front ends that only the options of an order name are refused, as it may come from others; `options`
    that are given here are trusted, and what `trust` names: `trust=Trust.by_hand(order.options)` for an order of your
    own.
    """
    system: ControlSystem | None = None
    if control is not None and not isinstance(control, str):
        system = _checked(control)
        control = system.fills or f"{OBJECT}{system.name}"
    order = _ordered(what, control, ordered)
    fitted = _fitted(what, order)
    begin = time.perf_counter()
    pace = None if speed == math.inf else speed
    if is_outside(order.control):
        from ironbird.flight.outside import fly_outside  # and with it the links
        from ironbird.flight.seat import take_seat
        from ironbird.rig.system import Seat

        if system is not None:
            seat = Seat(system, pilot)
        else:
            kind = kind_of(order.control)
            pace = pace if speed is not None else kind.pace(read_options(kind, order.options))
            trust = trust or Trust.by_hand(ordered.get("options"))
            seat = take_seat(order, fitted, folder=folder, announce=announce, show=show, trust=trust)
        flown = fly_outside(
            order,
            fitted,
            seat,
            speed=pace,
            progress=progress,
            line=line,
            between=between,
            on_event=on_event,
        )
    elif between is not None:
        raise OrderError(f"control '{order.control}' has no exchanges between which something could be done")
    else:
        [flown] = fly_lanes(
            [order],
            fitted.model,
            everything=True,
            speed=pace,
            live=live,
            progress=progress,
            line=line,
        )
    with working("judging the flight"):
        [judged] = judge([flown], fitted.model)
    flight = Flight(
        **vars(flown),
        vehicle=fitted.vehicle,
        model=fitted.model,
        judged=judged,
        wall_s=time.perf_counter() - begin,
        of_object=isinstance(what, Vehicle),
    )
    flight.log.meta = {
        "ironbird.vehicle": flight.vehicle.id,
        "ironbird.seed": str(flight.order.seed),
        "ironbird.model": flight.model.model_hash,
        "ironbird.control": flight.order.control,
        "ironbird.faults": "; ".join(injection.text() for injection in flight.order.faults),
        "ironbird.witnesses": json.dumps([witness.record() for witness in flight.witnesses]),
        "ironbird.order": flight.order.text(),
    }
    return flight


def _checked(control: object) -> ControlSystem:
    """A control system that was handed over as an object."""
    from ironbird.rig.system import ControlSystem

    if not isinstance(control, ControlSystem):
        kind = type(control).__name__
        raise OrderError(f"control is a {kind}: give a name of 'ironbird systems', or a ControlSystem")
    return control


def _ordered(what: Order | Vehicle | str | Path, control: str | None, ordered: dict[str, Any]) -> Order:
    """The order of a flight: the one given, with some of it changed, or one for a vehicle."""
    if isinstance(what, Order):
        order = what if control is None else replace(what, control=control)
        readers: dict[str, Callable[[Any], Any]] = {"faults": read_faults, "requirements": read_requirements}
        return replace(order, **{key: readers.get(key, lambda given: given)(value) for key, value in ordered.items()})
    if not isinstance(what, Vehicle):
        return make_order(what, control=control, **ordered)
    home = what.spec.home
    if ordered.get("place", home) != home:
        raise OrderError(f"vehicle '{what.id}' was loaded with another home: load it with home=…")
    place = {"place": home} if home != load_spec(what.path).home else {}
    return make_order(what.path, control=control or what.control, **{**ordered, **place})


def _fitted(what: Order | Vehicle | str | Path, order: Order) -> Fitted:
    """The vehicle of an order with its model: that of its file, or the object that was given."""
    if not isinstance(what, Vehicle):
        return fit(order)
    return fit_vehicle(
        what,
        order.control,
        order.options,
        linked=has_link_faults(order),
        world=order.world,
        sights=[str(table["name"]) for table in order.sight],
        integration=order.integration,
        taps=taps_of(order.faults),
    )
