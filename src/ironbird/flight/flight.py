"""A flight: an order that was flown. `fly` passes an order to its control system and returns the result."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import OrderError, UnknownNameError
from ironbird.files.pictures import picture_of
from ironbird.files.trust import Trust
from ironbird.files.work import working
from ironbird.flight.derived import derived, short_names
from ironbird.flight.duration import OBJECT
from ironbird.flight.flown import Flown
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import Judged, judge, survived
from ironbird.flight.live import LiveControl
from ironbird.flight.order import Order, Ordered, make_order, read_faults, read_requirements
from ironbird.flight.prepare import Fitted, fit, fit_vehicle, has_link_faults
from ironbird.flight.reactions import Reaction, possible_reactions, reactions_of
from ironbird.flight.start_line import StartLine
from ironbird.flight.systems import is_outside, kind_of, read_options, repeats, title_of
from ironbird.flight.taps import taps_of
from ironbird.flight.words import PASS
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle, load_spec

if TYPE_CHECKING:
    from ironbird.rig.rig import Rig
    from ironbird.rig.system import AutopilotEvent, ControlSystem, Pilot

LOG_ENDINGS = (".ulg", ".bin")  # of autopilots' own logs
STATISTICS_AFTER_S = 5.0  # tracking errors are counted from here on: the vehicle is in the air


@dataclass(kw_only=True)
class Flight(Flown):
    """A flight that was flown and judged, with its vehicle.

    Attributes
    ----------
    order : Order
        Everything that defines it.
    log : Log
        All signals over time; `log["tilt"]` and the other short names of requirements too.
    judged : Judged
        What the judge says: verdict, sentence, margins.
    witnesses : list of Witness
        What each fault did.
    vehicle : Vehicle
        The vehicle.
    model : CompiledModel
        Its model.
    wall_s : float
        Time that the flight took to compute, in s.
    triggered_s : list of float
        Time in s at which the condition of each fault first held; infinite if it never did.
    twin : Log or None
        The same flight without faults.
    autopilot_events : list of AutopilotEvent
        What an external control system did and reported: `time_s`, `kind`, `text`.
    link : dict of str
        Figures of the link to it, in words.
    measured : dict
        The same as numbers.
    logs : list of Path
        Log files that it left.
    samples : list of Sample
        What sensors of the world saw.
    rig_failure : str
        Why the test rig failed; empty if it did not.
    lane : int
        Its lane in the log.
    run_ended_s : float
        Time of the last step in s.
    kernel_s : float
        Processor time in native code, in s.
    records : bool
        Whether it was flown by commands that are recorded in its order.
    reads : frozenset of str or None
        Signals that the external control system read; None if that is not known.
    of_object : bool
        Whether the vehicle was an object of a Python program: its diagram may differ from its file's.

    Examples
    --------
    >>> flight = ib.fly("quad_f450", control="truth", mission="hover", until_s=2.0, ends="time")
    >>> flight.verdict, flight.survived
    ('pass', True)
    """

    vehicle: Vehicle
    model: CompiledModel
    judged: Judged
    wall_s: float
    of_object: bool = False  # the vehicle was an object of a Python program: its diagram may differ from its file's

    def __post_init__(self) -> None:
        self.log.short = short_names(self.log)

    def __repr__(self) -> str:
        flown = f"'{self.order.vehicle}' under {self.order.control}, {self.ended_s:g} s"
        return f"<Flight of {flown}: {self.verdict}, {self.outcome}>"

    def plot(self, *signals: str) -> Any:
        """Plot signals over time with the faults shaded; a notebook shows the result in place.

        Parameters
        ----------
        *signals : str
            Paths or short names, for example `body.euler`, `height`; none: the replay and the first plots of the page.

        Returns
        -------
        Picture
            Its `save("file.html")` writes it as a page.

        Raises
        ------
        UnknownNameError
            If the log has no such signal.

        Examples
        --------
        >>> flight.plot("body.euler", "height").save("out/attitude.html")  # doctest: +SKIP
        """
        return picture_of("flight", self, *signals)

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()

    @property
    def verdict(self) -> str:
        """The verdict: pass, fail, void or error."""
        return self.judged.verdict

    @property
    def outcome(self) -> str:
        """How the flight ended, as text."""
        return self.judged.outcome

    @property
    def survived(self) -> bool:
        """Whether the vehicle was undamaged at the end."""
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
        messages = json.dumps([[h.time_s, h.kind, h.text] for h in self.autopilot_events]) + json.dumps(self.link)
        whole = hashlib.sha256((self.sha256 + messages).encode())
        for path in self.logs:
            if path.suffix.lower() in LOG_ENDINGS and path.is_file():
                whole.update(path.read_bytes())
        return whole.hexdigest()

    @property
    def mission_title(self) -> str:
        """Title of the mission or plan that was flown."""
        if self.order.has_plan:
            from ironbird.flight.given_plan import title_of_plan

            return title_of_plan(self.order)
        return self.order.mission.title if self.order.mission is not None else "as the control system has it"

    def reactions(self) -> list[Reaction]:
        """First events of each kind of an external control system after each fault."""
        possible = possible_reactions(self.autopilot_events, self.log, self.lane)
        return reactions_of(self.order.faults, self.witnesses, possible)

    def summary(self) -> dict[str, str]:
        """The most important figures as rows of text."""
        order = self.order
        rows = {
            "vehicle": self.vehicle.id,
            "control": title_of(order.control),
            "mission": self.mission_title,
            "outcome": self.outcome,
            "verdict": self.judged.verdict_text if self.verdict == PASS else f"{self.verdict}: {self.judged.sentence}",
            "wind": order.weather.describe(),
        }
        for number, judgement in enumerate(self.judged.judgements[: len(order.requirements)], start=1):
            rows[f"requirement {number}"] = f"{judgement.name}: {judgement.words()}"
        for number, judgement in enumerate(self.judged.untested, start=1):
            rows[f"not tested {number}"] = f"{judgement.name}: {judgement.untested}"
        for number, injection in enumerate(order.faults, start=1):
            rows[f"fault {number}"] = injection.text()
        for number, witness in enumerate(self.witnesses, start=1):
            rows[f"witness {number}"] = witness.effect()
        rows.update(self._words_of_figures())
        rows.update(self.link)
        for number, reaction in enumerate(self.reactions(), start=1):
            rows[f"afterwards {number}"] = reaction.sentence()
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
        """The figures as plain data in SI, for programs: `summary.json` has them under "figures"."""
        log = self.log
        figures: dict[str, Any] = {
            "verdict": self.verdict, "survived": self.survived, "ended_s": self.ended_s,
            "margin": _finite(self.judged.margin), "untested": len(self.judged.untested), "wall_s": self.wall_s,
            "seed": self.order.seed, "sha256": self.sha256,
        }  # fmt: skip
        if not log.rows():
            return figures
        figures["greatest_height_m"] = _finite(derived(log, "height").max())
        figures["greatest_tilt_rad"] = _finite(derived(log, "tilt").max())
        if at.NAVIGATOR.position_set in log:
            error = self.tracking_error()
            figures["tracking_rms_m"] = _finite(np.sqrt(np.mean(error**2)))
            figures["tracking_most_m"] = _finite(error.max())
        if at.BATTERY.remaining in log:
            figures["battery_left"] = _finite(log[at.BATTERY.remaining][-1])
            figures["battery_V"] = _finite(log["battery.voltage"][-1])
        return figures

    def _words_of_figures(self) -> dict[str, str]:
        figures = {name: math.nan if value is None else value for name, value in self.figures().items()}
        rows = {}
        if "greatest_height_m" in figures:
            rows["greatest height"] = f"{figures['greatest_height_m']:.2f} m"
            rows["greatest tilt"] = f"{math.degrees(figures['greatest_tilt_rad']):.1f}°"
        if "tracking_rms_m" in figures:
            rows["tracking error"] = (
                f"{figures['tracking_rms_m']:.3f} m rms, {figures['tracking_most_m']:.3f} m at most"
            )
        if "battery_left" in figures:
            rows["battery"] = f"{100 * figures['battery_left']:.1f} % left, {figures['battery_V']:.2f} V"
        return rows

    def attitude_set(self) -> np.ndarray | None:
        """Roll, pitch and yaw that the controller asked for in rad, [row, 3]; NaN or None where it is not known."""
        from ironbird.flight.set_points import attitude_set

        return attitude_set(self)

    def velocity_set(self) -> np.ndarray | None:
        """Velocity that the controller asked for in m/s, [row, 3] north, east, down; NaN or None if it is not known."""
        from ironbird.flight.set_points import velocity_set

        return velocity_set(self)

    def tracking_error(self) -> np.ndarray:
        """Distance between the vehicle and its navigator's set-point in m, without the start."""
        return flying(self.log.time(), derived(self.log, "position_error"))


def _finite(value: float) -> float | None:
    """A number for JSON: None in place of NaN and infinity."""
    return float(value) if math.isfinite(value) else None


def flying(time_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values of a flight without its first seconds, before the vehicle is in the air."""
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
    **ordered: Unpack[Ordered],
) -> Flight:
    """Fly a vehicle, or an order, and judge the flight: `ironbird fly`.

    With faults, twins without them fly beside: the witness of a fault is the difference to a twin that lacks this fault
    alone. Equal arguments give the same flight, bit for bit, as far as the control system repeats at all.

    Parameters
    ----------
    what : str, Path, Vehicle or Order
        Catalogue name (`ib.vehicle_ids()`), TOML file of a vehicle, a vehicle that was loaded, or an order. The
        arguments below that are given replace those of an order.
    control : str or ControlSystem, optional
        Name of a control system (`ib.system_names()`), or an object of your own; the vehicle's usual one by default.
    pilot : Pilot, optional
        Gives orders to a `control` that is an object.
    speed : float, optional
        Times real time, for example 1.0; as fast as possible by default.
    live : LiveControl, optional
        Takes new values of parameters during the flight.
    progress : callable, optional
        Called with the share of the flight that is flown, 0 to 1.
    folder : Path, optional
        Where an external control system leaves its logs.
    announce : callable, optional
        Called with sentences about ports that an external control system opens.
    show : callable, optional
        Called with figures of an external control system, about once a second.
    line : StartLine, optional
        Where the flight waits for others with which it flies together: see `ib.fly_together`.
    between : callable, optional
        Called with the `Rig` after every exchange with an external control system; it may wait, and ends the flight by
        returning False.
    on_event : callable, optional
        Called with each `AutopilotEvent` of an external control system when it comes: clients, arming, modes, refusals.
    trust : Trust, optional
        Programs and front ends that the options of an order may start; none by default, as an order may come from
        others. `ib.Trust.by_hand(order.options)` trusts all of an order of your own.
    mission : Mission, str or Path, optional
        Mission by name (`ironbird mission list`), TOML file or object; by default the vehicle's own.
    faults : sequence of Injection or str, or one, default ()
        What breaks, for example `"rotor.speed_loss@1:instance=1,severity=0.2,start=5"`; times in s, severity from 0 to
        1.
    faults_files : sequence of str or Path, default ()
        TOML files that define faults of your own.
    requirements : sequence of Requirement or str, or one, default ()
        What must hold: names of the library (`geofence`) or formulas (`always (altitude < 60 m)`), besides `no_crash`
        and how the flight ends.
    ends : str, default ""
        How the flight may end, judged on the true state: `"completed"` (the mission is flown to its end), `"completed
        or landed"`, `"completed or landed within 20 m of 0, 0"` (m north and east of the take-off point), or `"time"`
        (only what was flown is judged). Empty: completed if there is a mission or a plan, else time.
    may_crash : bool, default False
        Whether a crash breaks no requirement: `no_crash` is not judged.
    weather : Weather, optional
        Wind, turbulence and gust; calm by default.
    settings : mapping of str to number or list, optional
        Parameters by path in SI units, for example `{"body.mass": 1.6}`.
    tunings : sequence of Tuning, default ()
        Parameters that change during the flight.
    options : mapping, optional
        Options of an external control system, as `ironbird system list` lists them.
    script : str, default ""
        Text of a QGroundControl plan or a waypoint file that is flown instead of the mission. The flight then begins
        at the home of the plan, unless a `place` is given.
    script_name : str, default ""
        Name of that plan, for reports.
    seed : int, default 0
        Seed of all noise.
    until_s : float, optional
        Length of the flight in s; by default until the mission is done.
    log_s : float, default 0.02
        Time between rows of the log in s, at least 0.001.
    place : Home, optional
        Take-off point: latitude and longitude in degrees, height in m, year; by default the vehicle's own.
    world : str or Path, default ""
        World by name (`ironbird world list`) or file; flat ground without obstacles by default.
    sight : sequence of mapping, default ()
        Sensors that see the world: tables with `kind`, `name` and keys of the kind.
    integration : str, default ""
        Method and step in s, for example `"rk4@0.001"`; by default the vehicle's own.

    Returns
    -------
    Flight
        Verdict, log, witnesses of the faults and all that defines the flight.

    Raises
    ------
    OrderError
        If arguments do not fit together.
    UnknownNameError
        If a vehicle, mission, fault, requirement, world or argument has no such name; the nearest one is named.
    LinkError
        If an external control system does not answer.

    Examples
    --------
    >>> flight = ib.fly("quad_f450", control="truth", mission="hover", until_s=2.0, ends="time")
    >>> flight
    <Flight of 'quad_f450' under truth, 2 s: pass, flown to the end at 2.00 s>
    >>> flight.log["body.p_NB_N"].shape
    (100, 3)
    """
    system: ControlSystem | None = None
    if control is not None and not isinstance(control, str):
        system = _checked(control)
        control = system.fills or f"{OBJECT}{system.name}"
    order = _ordered(what, control, dict(ordered))
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
            pace = pace if speed is not None else kind.pace(read_options(kind, order.options), order.script)
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
    """A control system that was given as an object; raises if it is none."""
    from ironbird.rig.system import ControlSystem

    if not isinstance(control, ControlSystem):
        kind = type(control).__name__
        raise OrderError(f"control is a {kind}: give a name of 'ironbird system list', or a ControlSystem")
    return control


def _ordered(what: Order | Vehicle | str | Path, control: str | None, ordered: dict[str, Any]) -> Order:
    """The order of a flight: the one given, with some of it changed, or one for a vehicle."""
    known = {entry.name for entry in fields(what)} if isinstance(what, Order) else set(Ordered.__annotations__)
    for name in ordered:
        if name not in known:
            raise UnknownNameError("argument", name, known, "ib.fly")
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
    """The vehicle of an order with its model: that of its file, or the given object."""
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
