"""From orders to a run that is ready: model, parameters, faults. All runs are prepared here."""

from __future__ import annotations

import fnmatch
import functools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ironbird import rotations
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.conditions.names import Names
from ironbird.conditions.trigger import compile_trigger
from ironbird.errors import (
    FaultError,
    ModelError,
    OrderError,
    PlausibilityWarning,
    RunError,
    UnknownNameError,
    shortened,
)
from ironbird.faults.spec import Change, Injection, Tap, is_link, is_sight
from ironbird.flight.derived import names_of
from ironbird.flight.duration import OBJECT, mission_of
from ironbird.flight.far_field import FarField
from ironbird.flight.order import Option, Order
from ironbird.flight.systems import is_outside, kind_of, read_options
from ironbird.flight.taps import taps_of, with_taps
from ironbird.flight.worlds import home_in, ordered_world
from ironbird.model.diagram import as_column
from ironbird.model.signal import Signal
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.state import RunState, start
from ironbird.vehicles import places as at
from ironbird.vehicles.external import with_links
from ironbird.vehicles.in_world import put_in_world
from ironbird.vehicles.load import Stamp, Vehicle, file_stamp, load_spec, load_vehicle, vehicle_path
from ironbird.vehicles.spec import CLOSE, Home, Integration

if TYPE_CHECKING:
    from ironbird.flight.sights import Sights
    from ironbird.flight.surroundings import Surroundings

STANDING_M = 0.01  # a vehicle whose gear is this near to the ground stands on it
FAR = 100.0  # times the usual value of a parameter, or its part: it should be checked
NO_LINKS = "this control system has no link whose packets faults reach; see docs/guide/route.md"
NO_SIGHT = "no sensor of the world is ordered: name one, for example --world forest --sight ring:name=around"
NO_TAP = "it acts on a signal, and the model of this flight has no place for it: order it before the flight begins"


@dataclass(frozen=True)
class Fitted:
    """A vehicle prepared for a control system (inside, or with open actuators), and its compiled model."""

    vehicle: Vehicle
    model: CompiledModel


def surroundings_of(orders: Sequence[Order], model: CompiledModel) -> Surroundings | None:
    """The world around flights of one model; None if they have none."""
    names = {order.world for order in orders}
    if len(names) > 1:
        worlds = ", ".join(repr(shortened(name, 40)) for name in sorted(names))
        raise OrderError(f"flights of one batch need the same world, these have {worlds}; fly them in separate batches")
    name = names.pop()
    if not name:
        return None
    from ironbird.flight.surroundings import Surroundings, near_of  # and with it all of `ironbird.world`

    return Surroundings(near_of(name, ordered_world(name).digest), model)


def far_field_of(orders: Sequence[Order], model: CompiledModel) -> FarField:
    """The updater of the magnetic field for flights far from home."""
    first = orders[0]
    home = first.place or load_spec(first.vehicle).home
    if first.place is None and first.world:
        home = home_in(ordered_world(first.world), home)
    return FarField(model, home, [path for order in orders for path in order.settings])


def give_sight(state: RunState, orders: Sequence[Order], *, keep: bool = False) -> Sights | None:
    """Attach the world sensors that orders name to the lanes of a run; None if they name none."""
    if not any(order.sight for order in orders):
        return None
    from ironbird.flight.sights import Sights  # and with it all of `ironbird.world`
    from ironbird.world.rays import Scene

    tables, faults = [order.sight for order in orders], [order.faults for order in orders]
    scene, seeds = Scene(ordered_world(orders[0].world)), [order.seed for order in orders]
    state.beside = sights = Sights(scene, state.model, tables, seeds, faults, keep=keep)
    sights.begin(state)
    return sights


def fit(order: Order, *, wake: bool = False) -> Fitted:
    """The vehicle and model of an order, cached in the process until the vehicle's file changes.

    With `wake` it feels the wakes of other vehicles' rotors, for scenarios with wakes.
    """
    return fit_of(fit_key(order), wake=wake)


def fit_of(key: tuple[Any, ...], *, wake: bool = False) -> Fitted:
    """The vehicle and model for the key of an order (`fit_key`)."""
    return _fit(*key, wake)


def fit_key(order: Order, stamps: dict[str, Stamp] | None = None) -> tuple[Any, ...]:
    """Key of an order's model: orders with equal keys share it. `stamps` caches file stamps for many orders."""
    options = tuple(sorted(order.options.items()))
    world = (order.world, ordered_world(order.world).digest) if order.world else ("", "")
    stamp, linked = None if stamps is None else stamps.get(order.vehicle), has_link_faults(order)
    if stamp is None:
        stamp = file_stamp(vehicle_path(order.vehicle))
        if stamps is not None:
            stamps[order.vehicle] = stamp
    sights = tuple(str(table["name"]) for table in order.sight)
    taps = taps_of(order.faults)
    return order.vehicle, order.control, order.place, options, stamp, linked, world, sights, order.integration, taps


def has_link_faults(order: Order) -> bool:
    """Whether an order has link faults: its vehicle then has links as parts."""
    return any(is_link(injection) for injection in order.faults)


@functools.lru_cache(maxsize=32)
def _fit(
    name: str,
    control: str,
    place: Home | None,
    options: tuple[tuple[str, Option], ...],
    stamp: Stamp,
    linked: bool,
    world: tuple[str, str],
    sights: tuple[str, ...],
    integration: str,
    taps: tuple[Tap, ...],
    wake: bool,
) -> Fitted:
    if world[0] and place is None:
        place = home_in(ordered_world(world[0]), load_spec(name).home)
    vehicle = load_vehicle(name, control=vehicle_control(control), home=place)
    return fit_vehicle(
        vehicle,
        control,
        dict(options),
        linked=linked,
        world=world[0],
        sights=sights,
        integration=integration,
        wake=wake,
        taps=taps,
    )


def vehicle_control(control: str) -> str:
    """How a vehicle is loaded for a control system: reference, truth, external or commanded."""
    if not is_outside(control):
        return control
    return "external" if control.startswith(OBJECT) else kind_of(control).vehicle_control


def fit_vehicle(
    vehicle: Vehicle,
    control: str,
    options: Mapping[str, Option],
    *,
    linked: bool = False,
    world: str = "",
    sights: Sequence[str] = (),
    integration: str = "",
    wake: bool = False,
    taps: Sequence[Tap] = (),
) -> Fitted:
    """A vehicle that was loaded for this control, adapted by its kind, with links and world, and compiled.

    `sights` are the names of its world sensors; `integration` replaces the vehicle's own; `wake` is as in `fit`; `taps`
    are the blocks that faults on signals need.
    """
    if vehicle.control != vehicle_control(control):
        raise OrderError(f"vehicle '{vehicle.id}' was loaded with control '{vehicle.control}', not for '{control}'")
    if is_outside(control) and not control.startswith(OBJECT):
        kind = kind_of(control)
        chosen = read_options(kind, options)
        if integration:
            raise OrderError(f"control '{control}' has steps of its own; leave out the integration '{integration}'")
        vehicle = kind.fitted(vehicle, chosen)
        if linked:
            vehicle = replace(vehicle, diagram=with_links(vehicle.diagram, kind.links(chosen)))
        if world:
            vehicle = put_in_world(vehicle, sights, wake=wake, lee=ordered_world(world).lee)
        vehicle = with_taps(vehicle, taps)
        return Fitted(vehicle, compile_model(vehicle.diagram, step_s=kind.step_s(chosen)))
    if options:
        raise OrderError(f"control '{control}' takes no options; it was given {', '.join(options)}")
    if world:
        vehicle = put_in_world(vehicle, sights, wake=wake, lee=ordered_world(world).lee)
    vehicle = with_taps(vehicle, taps)
    own = CLOSE if is_outside(control) else vehicle.integration
    steps = Integration.parse(integration) if integration else own
    return Fitted(vehicle, compile_model(vehicle.diagram, step_s=steps.step_s, method=steps.method))


def forget() -> None:
    """Clear the cache of vehicles and models, because blocks have changed."""
    _fit.cache_clear()


def model_of(order: Order) -> CompiledModel:
    """The compiled model of an order."""
    return fit(order).model


@functools.lru_cache(maxsize=32)
def names_in(model: CompiledModel) -> Names:
    """All names that conditions may use on a model, cached with it."""
    return names_of(model)


# ---------------------------------------------------------------------- runs


def prepare(model: CompiledModel, orders: Sequence[Order]) -> RunState:
    """A run state at time zero with an order in each lane: parameters set, faults scheduled."""
    state = start(model, lanes=len(orders), seed=[order.seed for order in orders])
    params = [_params_of(order, model) for order in orders]
    for order in orders:
        model.check_step({path: value for path, value in order.settings.items() if path not in at.STARTS})
    for path, values in _by_path(params):
        shared = (
            len(values) == len(orders) and len({np.asarray(value, float).tobytes() for value in values.values()}) == 1
        )
        try:
            if shared:
                state.set_param(path, values[0])
            else:
                state.set_param_of(path, values)
        except UnknownNameError as error:
            raise ModelError(f"vehicle '{model.name}': {error}") from None
    for lane, order in enumerate(orders):
        for injection in order.faults:
            inject(state, injection, lane)
    return state


def _params_of(order: Order, model: CompiledModel) -> dict[str, Any]:
    """Values that differ from the vehicle file's: of the mission, the weather and the order's settings."""
    _look_at(order, model)
    table = model.flat.p.signals.get(at.NAVIGATOR.table)
    if is_outside(order.control):
        tunes = not order.control.startswith(OBJECT) and kind_of(order.control).tunes
        if order.tunings and not tunes:
            raise OrderError(f"under control '{order.control}' no parameter can be changed in flight")
        mission: dict[str, Any] = {}
        if order.mission is not None and table is not None:  # else it has a navigator of its own
            mission = order.mission.params(table.columns)
        return {**mission, **order.weather.params(), **order.settings, **_on_the_ground(order, model)}
    if table is None:
        raise RunError(f"vehicle '{model.name}' has no navigator: it cannot fly a mission")
    params = {**mission_of(order).params(table.columns), **order.weather.params(), **order.settings}
    return {**params, **_on_the_ground(order, model)}


def _on_the_ground(order: Order, model: CompiledModel) -> dict[str, Any]:
    """Start position and attitude of a vehicle on landing gear where the terrain is not level at height zero.

    Its own start, turned the shortest way from the level onto the slope; a start in the air does not change. Its
    filter, barometers and navigator begin at this position.
    """
    position, attitude, points = at.BODY("p_0"), at.BODY.attitude_0, at.CONTACT("points")
    base, slope = at.TERRAIN("base_z"), at.TERRAIN("plane_slope")
    known = model.params()
    if not {base, slope} & set(order.settings) or not {position, attitude, points} <= set(known):
        return {}

    def of(path: str) -> np.ndarray:
        if path in order.settings:
            return as_column(order.settings[path], known[path], path)
        return np.array(model.flat.values[model.param_rows(path)])

    begin, turned, fall = of(position), of(attitude), of(slope)
    gear = rotations.matrix(turned) @ of(points).reshape(-1, 3).T
    if abs(begin[2] + gear[2].max()) > STANDING_M:
        return {}
    down = np.array([-fall[0], -fall[1], 1.0]) / math.sqrt(1.0 + float(fall @ fall))  # into the ground
    half = math.sqrt((1.0 + down[2]) / 2)
    align = np.array([half, -down[1] / (2 * half), down[0] / (2 * half), 0.0])
    foot = np.array([begin[0], begin[1], float(of(base)[0]) + float(fall @ begin[:2])])
    moved = foot + rotations.rotate(align, [0.0, 0.0, begin[2]]) - begin
    starts = {path: (of(path) + moved).tolist() for path in at.STARTS if path in known}
    heights = {path: float(of(path)[0] - moved[2]) for path in known if at.BARO_START.fullmatch(path)}
    return {**starts, **heights, attitude: rotations.multiply(align, turned).tolist()}


def _look_at(order: Order, model: CompiledModel) -> None:
    """Refuse one number for several values, and a start without its launcher; warn of settings far from the file's."""
    known, launcher = model.params(), at.CATAPULT("start")
    if at.STARTS[0] in order.settings and launcher in known and launcher not in order.settings:
        raise OrderError(
            f"{at.STARTS[0]} moves '{model.name}', but not its launcher, which would tear at it: give the place by "
            f"--start NORTH,EAST, or set {launcher} to the same place"
        )
    for path, value in order.settings.items():
        if path not in known:
            continue
        one_for_many(model, path, value)
        usual = model.flat.values[model.param_rows(path)]
        if usual.size == 1 and usual[0] and not 1 / FAR < abs(float(np.ravel(value)[0]) / usual[0]) < FAR and value:
            message = f"{path} = {float(np.ravel(value)[0]):g} is far from {usual[0]:g}, the value of '{model.name}'"
            warnings.warn(message, PlausibilityWarning, stacklevel=2)


def one_for_many(model: CompiledModel, path: str, value: Any) -> None:
    """Raise if one number is given for a parameter with several: for roll and pitch it would set yaw too."""
    usual = model.flat.values[model.param_rows(path)]
    if np.ndim(value) == 0 and usual.size > 1:
        values = ", ".join(f"{v:g}" for v in usual[:4]) + (", …" if usual.size > 4 else "")
        raise OrderError(f"{path} has {usual.size} values, [{values}]: give all of them, or one as {path}[0]")


def _by_path(params: Sequence[dict[str, Any]]) -> list[tuple[str, dict[int, Any]]]:
    """Values of each parameter by lane; single entries come after whole parameters."""
    by_path: dict[str, dict[int, Any]] = {}
    for lane, values in enumerate(params):
        for path, value in values.items():
            by_path.setdefault(path, {})[lane] = value
    return sorted(by_path.items(), key=lambda row: "[" in row[0])


# ---------------------------------------------------------------------- faults


class HasParams(Protocol):
    """A compiled model, or another object that lists its parameters."""

    @property
    def name(self) -> str:
        """The name of the vehicle, for messages."""

    def params(self) -> Mapping[str, Signal]:
        """All parameters by path."""


def targets_in(model: HasParams, injection: Injection) -> list[tuple[str, Change]]:
    """The parameters of a model that a fault changes; raises if the vehicle lacks one."""
    known = model.params()
    targets: list[tuple[str, Change]] = []
    whole = ""  # a parameter that has no axes
    for pattern, change in zip(injection.targets, injection.fault.changes, strict=True):
        hits = fnmatch.filter(known, pattern) if "*" in pattern else [pattern] * (pattern in known)
        if not hits and (parts := injection.parts_among(known)):
            raise FaultError(f"{injection.text()}: vehicle '{model.name}' has {parts}, not {injection.instance}")
        if not hits and is_link(injection):
            raise FaultError(f"{injection.text()}: {NO_LINKS}")
        if not hits and is_sight(injection):
            raise FaultError(f"{injection.text()}: {NO_SIGHT}")
        if not hits and injection.taps:
            raise FaultError(f"{injection.text()}: {NO_TAP}")
        if not hits and "{instance}" in change.target:
            part = change.target.partition("/{instance}")[0]
            listed = f"'ironbird fault list --vehicle {model.name}' lists the faults that it can have"
            raise FaultError(f"{injection.text()}: vehicle '{model.name}' has no {part} that could break; {listed}")
        if not hits:
            unknown = UnknownNameError("parameter", pattern, known, f"vehicle '{model.name}'")
            raise FaultError(f"{injection.text()}: {unknown}")
        wrong = [path for path in hits if change.unit and known[path].unit != change.unit]
        if wrong:
            reason = f"parameter {wrong[0]} is in {known[wrong[0]].unit}, the fault says {change.unit}"
            raise FaultError(f"{injection.text()}: {reason}; give the fault's numbers in {known[wrong[0]].unit}")
        suffix = f"[{injection.axis}]" if injection.axis is not None and known[hits[0]].size > 1 else ""
        whole = whole if suffix else hits[0]
        targets += [(path + suffix, change) for path in hits]
    if injection.axis is not None and injection.fault.axis is None and not any("[" in path for path, _ in targets):
        raise FaultError(f"{injection.text()}: {whole} has no axes, it acts on all of the signal; leave axis out")
    return targets


def events_of(model: CompiledModel, injection: Injection) -> list[ParamEvent]:
    """Parameter changes of a fault in a run of a model; raises if the vehicle lacks one."""
    when = _trigger(injection.when, model) if injection.when else None
    return [
        ParamEvent(
            param=path,
            value=change.value(injection.severity),
            start_s=injection.start_s,
            end_s=injection.end_s,
            effect=change.effect.effect,
            shape=injection.shape,
            rise_s=injection.rise_s,
            period_s=injection.period_s,
            duty=injection.duty,
            when=when,
        )
        for path, change in targets_in(model, injection)
    ]


def inject(state: RunState, injection: Injection, lane: int | None = None) -> None:
    """Schedule a fault in a run; its targets must exist in the vehicle and be tunable."""
    for event in events_of(state.model, injection):
        state.add_event(event, lane)


@functools.lru_cache(maxsize=4096)
def _trigger(text: str, model: CompiledModel) -> Predicate:
    return compile_trigger(text, names_in(model))
