"""A world around flights: what is near each vehicle is looked up outside the kernel and handed in as inputs.

The look-up has no memory, so a flight is still a function of its order: the same bytes with any number of lanes,
threads and processes. Inside, it is made every `LOOK_TICKS`; under a control system outside, at every exchange.
"""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import OrderError, WorldError
from ironbird.files.problems import Source, read_toml
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import RunState
from ironbird.runtime.step import advance
from ironbird.vehicles import places as at
from ironbird.vehicles.in_world import GROUND_INPUTS, SLOTS
from ironbird.vehicles.spec import Home
from ironbird.world.lee import Lee
from ironbird.world.model import DEFAULT, World
from ironbird.world.near import Near, Shapes

LOOK_TICKS = 20  # a vehicle at 30 m/s comes 0.6 m further
BARO_START = re.compile(r"baro/\d+/height\.height_0")  # height at which a barometer begins
STARTS = (at.BODY("p_0"), at.ESTIMATOR("position_0"), at.NAVIGATOR("point_0"))  # north, east, down at the start
TYRE = re.compile(r"(?:.+/)?tyre\.friction")  # of a wheel: 1 on a dry road
DRY_ROAD = 0.8  # friction of dry asphalt, on which tyres are as their file says; assumed
IN_TEXT = "\n"  # a world that stands in the order itself


def ordered_world(name: str) -> World:
    """A world by name, by the path of its file, or from the text of one; kept until the file changes."""
    if IN_TEXT in name:
        return _parsed(name)
    path = Path(name)
    changed_ns = path.stat().st_mtime_ns if name.endswith(".toml") and path.is_file() else 0
    return _loaded(name, changed_ns)


@functools.lru_cache(maxsize=16)
def _parsed(text: str) -> World:
    from ironbird.world.files import world_of

    try:
        return world_of(Source(Path("world.toml"), read_toml(text), text))
    except tomllib.TOMLDecodeError as error:
        raise WorldError(f"the world in the order is not valid TOML: {error}; give the text of a world file") from None


@functools.lru_cache(maxsize=16)
def _loaded(name: str, changed_ns: int) -> World:
    from ironbird.world.files import load_world

    return load_world(name)


@functools.lru_cache(maxsize=16)
def near_of(name: str, digest: str) -> Near:
    """The look-up of a world that an order names."""
    return Near(ordered_world(name))


def home_in(world: World, own: Home) -> Home:
    """Where a vehicle's home is on the earth: the world's origin, if it has one."""
    if world.origin is None:
        return own
    place = world.origin
    return own.model_copy(
        update={"latitude_deg": place.latitude_deg, "longitude_deg": place.longitude_deg, "height_m": place.height_m}
    )


class Surroundings:
    """A world as the vehicles of one model see it."""

    def __init__(self, near: Near, model: CompiledModel) -> None:
        self.near, self.model = near, model
        flat = model.flat
        self._position = flat.held.rows(at.POSE("position"))
        self._rows = {name: flat.u.rows(name) for name in flat.u.start if at.is_world_input(name)}
        feels = at.LEE("told_N") in self._rows and at.WIND_STEADY.velocity in model.params()
        self._lee = Lee(near.world) if feels else None
        self._wind = model.param_rows(at.WIND_STEADY.velocity) if feels else slice(0)
        diagram = flat.diagram
        self._centres = diagram.value(at.CLEARANCE("centres")).reshape(-1, 3)
        self._radius_m = float(diagram.value(at.CLEARANCE("radius"))[0])

    def positions(self, state: RunState) -> np.ndarray:
        """Where the vehicles were one step ago, (lanes, 3)."""
        return lanes_of(state, state.held, self._position)

    def look(self, state: RunState, more: Shapes | None = None) -> None:
        """Set the inputs that say what is near, for all lanes, and let sensors look; not at the start: see `begin`."""
        if state.tick:
            self._tell(state, self.positions(state), more)
            if state.beside is not None:
                state.beside.look(state)

    def _tell(self, state: RunState, places: np.ndarray, more: Shapes | None) -> None:
        if self.near.anything or more is not None:
            found = self.near.slots(places, state.time_s, SLOTS, more).reshape(len(places), -1)
            now = np.full((len(places), 1), state.time_s)
            for part in (at.CLEARANCE, at.OBSTACLES):
                if part("slots") in self._rows:
                    write_lanes(state, self._rows[part("slots")], found)
                    write_lanes(state, self._rows[part("stamp")], now)
        if self._lee is not None:
            wind = lanes_of(state, state.params, self._wind)
            write_lanes(state, self._rows[at.LEE("told_N")], self._lee.change(places, wind))
        if at.TERRAIN("surveyed_z") in self._rows and (self.near.uneven or not state.tick):
            z, slope = self.near.ground(places)
            for name, values in zip(GROUND_INPUTS, (places[:, :2], z[:, None], slope), strict=True):
                write_lanes(state, self._rows[at.TERRAIN(name)], values)

    def begin(self, state: RunState, who: str, more: Shapes | None = None) -> None:
        """Before the first step: put the vehicles on the ground, refuse starts inside something, and look."""
        if state.tick:
            raise OrderError("a run in a world begins at its start")
        if stands(state.model.flat.diagram):
            self._put_on_ground(state)
        self._rub(state)
        ahead = state.branch()
        advance(ahead, 1)
        places = self.positions(ahead)
        attitudes = lanes_of(ahead, ahead.held, state.model.flat.held.rows(at.POSE("attitude")))
        for place, attitude in zip(places, attitudes.reshape(-1, 3, 3), strict=True):  # transposed: column by column
            self.near.check_start(who, place, place + self._centres @ attitude, self._radius_m)
        self._tell(state, places, more)

    def _rub(self, state: RunState) -> None:
        """Friction of the ground that the world's file names, for gear and tyres; what an order sets stays.

        Gear has the coefficient of the ground, tyres that share of a dry road's. How hard gear rebounds is its own.
        """
        ground = self.near.world.ground.material
        if ground == DEFAULT:
            return
        model = state.model
        for path, signal in model.params().items():
            share = ground.friction if path == at.CONTACT("friction") else ground.friction / DRY_ROAD
            if path != at.CONTACT("friction") and not TYRE.fullmatch(path):
                continue
            rows = model.param_rows(path)
            own = lanes_of(state, state.params, rows)
            for lane in np.flatnonzero((own == model.flat.values[rows]).all(axis=1)):
                low, high = (getattr(signal, name) for name in ("low", "high"))
                state.set_param(path, float(np.clip(share, low, high)), int(lane))

    def _put_on_ground(self, state: RunState) -> None:
        """Lift the starts of vehicles that stand by the height of the ground below them."""
        known = state.model.params()
        if STARTS[0] not in known:
            return
        rows = state.model.param_rows(STARTS[0])
        places = lanes_of(state, state.params, rows)
        lift = self.near.world.height_at(places[:, 0], places[:, 1])
        heights = [path for path in known if BARO_START.fullmatch(path)]
        for lane in np.flatnonzero(lift):
            block, place = divmod(int(lane), state.width)
            for path in STARTS:
                if path in known:
                    value = state.params[block, state.model.param_rows(path), place].copy()
                    value[2] -= lift[lane]
                    state.set_param(path, value, int(lane))
            for path in heights:
                value = state.params[block, state.model.param_rows(path), place] + lift[lane]
                state.set_param(path, value, int(lane))


def stands(diagram: Diagram) -> bool:
    """Whether a vehicle begins on the ground."""
    return at.CONTACT.path in diagram.blocks or "ground_z" in diagram.block(at.BODY.path).inputs


def lanes_of(state: RunState, array: np.ndarray, rows: slice) -> np.ndarray:
    """Rows of an array of a run state, (lanes, rows)."""
    if state.width == 1:
        return array[:, rows, 0].copy()
    part = array[:, rows, :]
    return np.ascontiguousarray(part.transpose(0, 2, 1).reshape(-1, part.shape[1])[: state.lanes])


def write_lanes(state: RunState, rows: slice, values: np.ndarray) -> None:
    """Write rows (lanes, rows) of the inputs of a run state."""
    blocks, width = state.inputs.shape[0], state.width
    if width == 1:
        state.inputs[:, rows, 0] = values
        return
    whole = np.zeros((blocks * width, values.shape[1]))
    whole[: state.lanes] = values
    state.inputs[:, rows, :] = whole.reshape(blocks, width, -1).transpose(0, 2, 1)
