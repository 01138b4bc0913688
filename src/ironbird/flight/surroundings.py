"""A world around flights: objects near each vehicle are looked up outside the kernel and passed in as inputs.

The look-up has no memory, so a flight is still a function of its order: the same bytes with any number of lanes,
threads and processes. Inside, it is made every `LOOK_TICKS`; with an external control system, at every exchange.
"""

from __future__ import annotations

import functools
import re

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import OrderError
from ironbird.flight.worlds import ordered_world
from ironbird.model.diagram import Diagram
from ironbird.runtime.lanes import lanes_of, write_lanes
from ironbird.runtime.state import RunState
from ironbird.runtime.step import advance
from ironbird.vehicles import places as at
from ironbird.vehicles.in_world import GROUND_INPUTS, SLOTS
from ironbird.world.lee import Lee
from ironbird.world.model import DEFAULT
from ironbird.world.near import Near, Shapes

LOOK_TICKS = 20  # a vehicle at 30 m/s comes 0.6 m further
TYRE = re.compile(r"(?:.+/)?tyre\.friction")  # of a wheel: 1 on a dry road
DRY_ROAD = 0.8  # friction of dry asphalt, on which tyres are as their file says; assumed


@functools.lru_cache(maxsize=16)
def near_of(name: str, digest: str) -> Near:
    """The look-up of a world that an order names; cached."""
    return Near(ordered_world(name))


class Surroundings:
    """A world as the vehicles of one model sense it."""

    look_ticks = LOOK_TICKS

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
        """Positions of the vehicles one step ago in N, m: (lanes, 3)."""
        return lanes_of(state, state.held, self._position)

    def look(self, state: RunState, more: Shapes | None = None) -> None:
        """Set the inputs of nearby objects for all lanes, and let sensors measure; not at the start: see `begin`."""
        if state.tick:
            self._tell(state, self.positions(state), more)
            if state.beside is not None:
                state.beside.look(state)

    def _tell(self, state: RunState, places: np.ndarray, more: Shapes | None) -> None:
        if self.near.anything or more is not None:
            slots = self.near.slots(places, state.time_s, SLOTS, more).reshape(len(places), -1)
            now = np.full((len(places), 1), state.time_s)
            for part in (at.CLEARANCE, at.OBSTACLES):
                if part("slots") in self._rows:
                    write_lanes(state, self._rows[part("slots")], slots)
                    write_lanes(state, self._rows[part("stamp")], now)
        if self._lee is not None:
            wind = lanes_of(state, state.params, self._wind)
            write_lanes(state, self._rows[at.LEE("told_N")], self._lee.change(places, wind))
        if at.TERRAIN("surveyed_z") in self._rows and (self.near.uneven or not state.tick):
            z, slope = self.near.ground(places)
            for name, values in zip(GROUND_INPUTS, (places[:, :2], z[:, None], slope), strict=True):
                write_lanes(state, self._rows[at.TERRAIN(name)], values)

    def begin(self, state: RunState, who: str, more: Shapes | None = None) -> None:
        """Before the first step: put the vehicles on the ground, refuse starts inside objects, and update."""
        if state.tick:
            raise OrderError(f"a run in a world begins at tick 0, this one is at tick {state.tick}: prepare a new one")
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
        """Set the friction of the ground that the world's file names, for gear and tyres; settings of an order stay.

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
        if at.STARTS[0] not in known:
            return
        rows = state.model.param_rows(at.STARTS[0])
        places = lanes_of(state, state.params, rows)
        lift = self.near.world.height_at(places[:, 0], places[:, 1])
        heights = [path for path in known if at.BARO_START.fullmatch(path)]
        for lane in np.flatnonzero(lift):
            block, place = divmod(int(lane), state.width)
            for path in at.STARTS:
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
