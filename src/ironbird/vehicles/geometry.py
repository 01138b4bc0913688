"""Multirotor geometries that PX4 identifies by a key, their mixing matrices, and the vehicles that have them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ironbird.vehicles.load import load_spec
from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.templates.multicopter import MulticopterSpec

TURN = {"ccw": "↺", "cw": "↻"}
ROWS, COLUMNS = 11, 25  # size of the drawing in characters
LIKE = 0.08  # share of the arm length by which a vehicle's rotor may differ from the geometry's
UP = (0.0, 0.0, -1.0)


@dataclass(frozen=True)
class Place:
    """A rotor of a geometry: x forward and y right in arm lengths; the axis of its thrust."""

    name: str
    x: float
    y: float
    spin: str
    axis: tuple[float, float, float] = UP
    z: float = 0.0


@dataclass(frozen=True)
class Geometry:
    """A multirotor geometry by its key in mixer files."""

    key: str
    title: str
    lever: float  # reaction torque over thrust; zero if the rotors do not control yaw
    rotors: tuple[Place, ...]

    @cached_property
    def effect(self) -> np.ndarray:
        """Roll, pitch and yaw moment and the three forces per unit of each rotor, 6 x n."""
        columns = []
        for r in self.rotors:
            axis = np.array(r.axis) / np.linalg.norm(r.axis)
            spin = 1.0 if r.spin == "ccw" else -1.0
            moment = np.cross([r.x, r.y, r.z], axis) - spin * self.lever * axis
            columns.append([*moment, *axis])
        return np.array(columns).T

    @cached_property
    def normalized(self) -> np.ndarray:
        """Matrix from roll, pitch, yaw and thrust to motors as PX4 prints it, n x 4 [PX4Mixer].

        Pseudo-inverse, then roll and pitch by the larger of their lengths over sqrt(n/2), yaw by its greatest entry,
        thrust by its mean.
        """
        inverse = np.linalg.pinv(self.effect)
        tilt = np.linalg.norm(inverse[:, :2], axis=0).max() / np.sqrt(len(self.rotors) / 2)
        scales = np.array([tilt, tilt, np.abs(inverse[:, 2]).max(), inverse[:, 5].mean()])
        return np.asarray(inverse[:, [0, 1, 2, 5]] / np.where(np.abs(scales) < 1e-3, 1.0, scales)) + 0.0

    def drawing(self) -> str:
        """Drawing of the frame from above as text, nose up; arrows show the direction of rotation."""
        places = np.array([[r.x, r.y] for r in self.rotors])
        size = np.abs(places).max()
        cells: dict[tuple[int, int], str] = {}
        for number, (rotor, place) in enumerate(zip(self.rotors, places / size, strict=True), start=1):
            cell = (round((1 - place[0]) * (ROWS - 1) / 2), round((1 + place[1]) * (COLUMNS - 1) / 2))
            text = f"{number}{TURN[rotor.spin] if self.lever else ''}"
            cells[cell] = f"{cells[cell]} {text}" if cell in cells else text
        rows = [""] * ROWS
        for (row, column), text in sorted(cells.items()):
            rows[row] = rows[row].ljust(column) + text
        middle = rows[ROWS // 2].ljust(COLUMNS // 2)
        rows[ROWS // 2] = middle[: COLUMNS // 2] + "+" + middle[COLUMNS // 2 + 1 :]
        used = [i for i, row in enumerate(rows) if row]
        return "\n".join(["^ nose".rjust(COLUMNS // 2 + 6), *rows[used[0] : used[-1] + 1]])

    def fits(self, spec: MulticopterSpec) -> bool:
        """Whether a vehicle has these rotors in this order, up to scale and a small displacement."""
        if len(spec.rotor) != len(self.rotors):
            return False
        ours = np.array([[r.x, r.y, 0.0] for r in self.rotors])
        theirs = np.array([r.position_B_m for r in spec.rotor]) * [1.0, 1.0, 0.0]
        ours, theirs = (p - p.mean(axis=0) for p in (ours, theirs))
        ours, theirs = (p / np.linalg.norm(p, axis=1).mean() for p in (ours, theirs))
        near = bool((np.linalg.norm(ours - theirs, axis=1) < LIKE).all())
        turns = not self.lever or all(a.spin == b.spin for a, b in zip(self.rotors, spec.rotor, strict=True))
        axes = all(np.allclose(a.axis, b.axis_B, atol=LIKE) for a, b in zip(self.rotors, spec.rotor, strict=True))
        return near and turns and axes

    def vehicles(self) -> list[str]:
        """Catalogue names of the vehicles with this geometry."""
        specs = [load_spec(name) for name in vehicle_ids()]
        return [spec.id for spec in specs if isinstance(spec, MulticopterSpec) and self.fits(spec)]


def _frame(key: str, title: str, rotors: str, *, lever: float = 0.05) -> Geometry:
    """A geometry from lines of `name x y spin`, in the order of the motors."""
    places = []
    for row in rotors.strip().splitlines():
        name, x, y, spin = row.split()
        places.append(Place(name, float(x), float(y), spin))
    return Geometry(key, title, lever, tuple(places))


# Positions, spin and lever of the geometry files in [PX4Mixer]
_ALL = (
    _frame("2-", "twin engine", """
        right 0 1 cw
        left 0 -1 cw
    """, lever=0.0),
    _frame("3y", "tricopter Y", """
        front_right 0.5 0.866025 cw
        front_left 0.5 -0.866025 cw
        rear -1 0 cw
    """, lever=0.0),
    _frame("4x", "quadcopter X", """
        front_right 0.707107 0.707107 ccw
        rear_left -0.707107 -0.707107 ccw
        front_left 0.707107 -0.707107 cw
        rear_right -0.707107 0.707107 cw
    """),
    _frame("4xcw", "quadcopter X, motors numbered clockwise", """
        front_right 0.707107 0.707107 ccw
        rear_right -0.707107 0.707107 cw
        rear_left -0.707107 -0.707107 ccw
        front_left 0.707107 -0.707107 cw
    """),
    _frame("4+", "quadcopter +", """
        right 0 1 ccw
        left 0 -1 ccw
        front 1 0 cw
        rear -1 0 cw
    """),
    _frame("4h", "quadcopter H, X with the spins turned round", """
        front_right 0.707107 0.707107 cw
        rear_left -0.707107 -0.707107 cw
        front_left 0.707107 -0.707107 ccw
        rear_right -0.707107 0.707107 ccw
    """),
    _frame("4w", "quadcopter, wide front", """
        front_right 0.1515 0.245 ccw
        rear_left -0.1515 -0.1875 ccw
        front_left 0.1515 -0.245 cw
        rear_right -0.1515 0.1875 cw
    """),
    _frame("4dc", "quadcopter SK450 dead cat", """
        front_right 0.1155 0.245 ccw
        rear_left -0.1875 -0.1875 ccw
        front_left 0.1155 -0.245 cw
        rear_right -0.1875 0.1875 cw
    """, lever=0.01),
    _frame("4s", "quadcopter Spedix S250AQ", """
        front_right 0.105 0.130 ccw
        rear_left -0.105 -0.0552 ccw
        front_left 0.105 -0.130 cw
        rear_right -0.105 0.0552 cw
    """, lever=0.01),
    _frame("4y", "quadcopter Y, two coaxial rotors at the rear", """
        front_right 0.2 0.2 ccw
        rear_top -0.2 0 ccw
        front_left 0.2 -0.2 cw
        rear_bottom -0.2 0 cw
    """),
    Geometry("4vt", "quadcopter with a V tail, rear rotors tilted by 45 degrees", 0.05, (
        Place("front_right", 0.2, 0.2, "cw"),
        Place("rear_left", -0.3, -0.1, "cw", (0.0, 0.707106, -0.707106), -0.1),
        Place("front_left", 0.2, -0.2, "ccw"),
        Place("rear_right", -0.3, 0.1, "ccw", (0.0, -0.707106, -0.707106), -0.1),
    )),
    _frame("6x", "hexacopter X", """
        mid_right 0 1 cw
        mid_left 0 -1 ccw
        front_left 0.866025 -0.5 cw
        rear_right -0.866025 0.5 ccw
        front_right 0.866025 0.5 ccw
        rear_left -0.866025 -0.5 cw
    """),
    _frame("6+", "hexacopter +", """
        front 1 0 cw
        rear -1 0 ccw
        rear_left -0.5 -0.866025 cw
        front_right 0.5 0.866025 ccw
        front_left 0.5 -0.866025 ccw
        rear_right -0.5 0.866025 cw
    """),
    _frame("6c", "coaxial hexacopter Y6", """
        front_right_top 0.5 0.866 cw
        front_right_bottom 0.5 0.866 ccw
        rear_top -1 0 cw
        rear_bottom -1 0 ccw
        front_left_top 0.5 -0.866 cw
        front_left_bottom 0.5 -0.866 ccw
    """),
    _frame("6m", "coaxial dodecacopter, upper half", """
        mid_right_top 0 1 cw
        mid_left_top 0 -1 ccw
        front_left_top 0.866025 -0.5 cw
        rear_right_top -0.866025 0.5 ccw
        front_right_top 0.866025 0.5 ccw
        rear_left_top -0.866025 -0.5 cw
    """),
    _frame("6a", "coaxial dodecacopter, lower half", """
        mid_right_bottom 0 1 ccw
        mid_left_bottom 0 -1 cw
        front_left_bottom 0.866025 -0.5 ccw
        rear_right_bottom -0.866025 0.5 cw
        front_right_bottom 0.866025 0.5 cw
        rear_left_bottom -0.866025 -0.5 ccw
    """),
    _frame("8x", "octocopter X", """
        front_right 0.9238795 0.3826834 cw
        rear_left -0.9238795 -0.3826834 cw
        mid_front_right 0.3826834 0.9238795 ccw
        rear_right -0.9238795 0.3826834 ccw
        front_left 0.9238795 -0.3826834 ccw
        mid_rear_left -0.3826834 -0.9238795 ccw
        mid_front_left 0.3826834 -0.9238795 cw
        mid_rear_right -0.3826834 0.9238795 cw
    """),
    _frame("8+", "octocopter +", """
        front 1 0 cw
        rear -1 0 cw
        front_right 0.707107 0.707107 ccw
        rear_right -0.707107 0.707107 ccw
        front_left 0.707107 -0.707107 ccw
        rear_left -0.707107 -0.707107 ccw
        left 0 -1 cw
        right 0 1 cw
    """),
    _frame("8c", "coaxial octocopter X8", """
        front_right_top 0.707107 0.707107 ccw
        front_left_top 0.707107 -0.707107 cw
        rear_left_top -0.707107 -0.707107 ccw
        rear_right_top -0.707107 0.707107 cw
        front_left_bottom 0.707107 -0.707107 ccw
        front_right_bottom 0.707107 0.707107 cw
        rear_right_bottom -0.707107 0.707107 ccw
        rear_left_bottom -0.707107 -0.707107 cw
    """),
    _frame("8cw", "coaxial octocopter, wide", """
        front_right_top 0.3746066 0.927184 ccw
        front_left_top 0.3746066 -0.927184 cw
        rear_left_top -0.62932 -0.777146 ccw
        rear_right_top -0.62932 0.777146 cw
        front_left_bottom 0.3746066 -0.927184 ccw
        front_right_bottom 0.3746066 0.927184 cw
        rear_right_bottom -0.62932 0.777146 ccw
        rear_left_bottom -0.62932 -0.777146 cw
    """),
)  # fmt: skip
GEOMETRIES = {geometry.key: geometry for geometry in _ALL}
