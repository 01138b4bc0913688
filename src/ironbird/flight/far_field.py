"""The magnetic field far from home: linear around the middle of the cell that a vehicle is in, not around home.

The kernel's field is linear in the place (`MagneticWmm`): beyond 20 km it is off by more than 1 nT. So, every two
seconds of simulation time, a vehicle that has left the cell around its home (10 km to each side, 5 km of height) gets
the values of its present cell, from WMM2025. Nothing is remembered: the values follow from the place alone, and within
the first cell they are those of the vehicle's file, to the bit. Gravity needs none of this: it is computed from
latitude and height. Not done: bodies on the round earth (`earth = "wgs84"`), and loops that are native alone (boards).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np

from ironbird.blocks.environment.magnetic_wmm import wmm_field
from ironbird.compiler.compiled import CompiledModel
from ironbird.protocols.geodesy import to_geodetic
from ironbird.runtime.lanes import lanes_of
from ironbird.runtime.state import RunState
from ironbird.runtime.step import CHUNK_TICKS
from ironbird.vehicles import places as at
from ironbird.vehicles.spec import Home

CELL_M = np.array([20_000.0, 20_000.0, 10_000.0])
REACH_M = 10_000.0  # of the differences from which derivatives are taken
EVERY_TICKS = CHUNK_TICKS
Cell = tuple[int, int, int]


class FarField:
    """Updates the magnetic field for the vehicles of one model; call `look` between two pieces of a run."""

    def __init__(self, model: CompiledModel, home: Home, settings: Iterable[str] = ()) -> None:
        self._home = home
        self._place = _place_of(model)
        paths = at.MAGNETIC_FIELD("field_home"), at.MAGNETIC_FIELD("gradient")
        known = model.params()
        ours = all(path in known for path in paths)
        ordered = any(path.startswith(at.MAGNETIC_FIELD("")) for path in settings)  # a field of the user stays
        self._rows = [model.param_rows(path) for path in paths] if ours and not ordered else []
        self._base = [np.array(model.flat.values[rows]) for rows in self._rows]
        self._ours = {base.tobytes() for base in self._base}  # all values that were set here

    @property
    def row(self) -> int | None:
        """First row of the state with the place that decides; None if nothing is ever updated."""
        return self._place.start if self._place is not None and self._rows else None

    def look(self, state: RunState, ticks: int = 1) -> None:
        """Set the values of the cells that the lanes are in, if an update was due within the last `ticks` ticks."""
        if self._place is None or not self._rows or state.tick % EVERY_TICKS >= ticks:
            return
        if not np.round(state.x[:, self._place] / CELL_M[:, None]).any() and all(
            (state.params[:, rows] == base[:, None]).all() for rows, base in zip(self._rows, self._base, strict=True)
        ):
            return  # all are at home, with the values of home
        for lane, place in enumerate(lanes_of(state, state.x, self._place)):
            if np.isfinite(place).all():  # it has not diverged
                north, east, down = np.round(place / CELL_M).astype(int).tolist()
                self._set(state, lane, (north, east, down))

    def _set(self, state: RunState, lane: int, cell: Cell) -> None:
        block, place = divmod(lane, state.width)
        values = _cell_values(self._home, cell) if any(cell) else None
        for number, (rows, base) in enumerate(zip(self._rows, self._base, strict=True)):
            if state.params[block, rows, place].tobytes() not in self._ours:
                return  # it was tuned on the way
            new = base if values is None else base + values[number]
            self._ours.add(new.tobytes())
            state.params[block, rows, place] = new


def _place_of(model: CompiledModel) -> slice | None:
    """Slice of the state with metres north, east and down of home; None on the round earth, which has none."""
    return model.flat.x.rows(at.BODY("p")) if at.BODY("p") in model.flat.x.start else None


def field_around(field: Callable[[np.ndarray], np.ndarray], place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Constant and derivatives (columns: north, east, down) of B(p) = F + G p around a place, by differences."""
    steps = np.eye(3) * REACH_M
    gradient = np.column_stack([(field(place + step) - field(place - step)) / (2 * REACH_M) for step in steps])
    return field(place) - gradient @ place, gradient


@functools.lru_cache(maxsize=4096)
def _cell_values(home: Home, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    """Difference of the values of a cell from those at home, in the kernel's order (column by column)."""

    def field(place: np.ndarray) -> np.ndarray:
        latitude, longitude, height = to_geodetic(home, place)
        return wmm_field(np.radians(latitude), np.radians(longitude), height, home.year)

    there, here = (field_around(field, np.array(one) * CELL_M) for one in (cell, (0, 0, 0)))
    return there[0] - here[0], (there[1] - here[1]).flatten(order="F")
