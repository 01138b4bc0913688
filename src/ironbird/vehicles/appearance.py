"""The visible parts of a vehicle, derived from its file: arms, rotors, wings, surfaces, hulls, wheels, joints.

Body axes: metres forward, right, down. A part is a solid (`rod`, `box`, `ball`, `hull`, `wing`) or a `propeller`; its
`joint` is the number of a joint, which turns by a signal (rad) or spins with one (rad/s). Sizes that a file does
not give (a fuselage's width, a tail's area) follow from those that it gives by usual proportions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle

Point = Sequence[float]

THRUST_COEFFICIENT = 0.1  # of a usual propeller, C_T: gives the diameter of one whose file has none
TAIL_VOLUME, FIN_VOLUME = 0.5, 0.035  # of a usual tail: area times arm, by wing area and chord or span
HINGE = 0.72  # share of the chord in front of a moving surface
PACK_WHPL = 300.0  # energy of a battery pack per litre


class Appearance:
    """Parts and joints of one vehicle while they are collected."""

    def __init__(self, vehicle: Vehicle) -> None:
        self.vehicle = vehicle
        self.spec: Any = vehicle.spec
        self.parts: list[dict[str, Any]] = []
        self.joints: list[dict[str, Any]] = []
        self.signals: list[str] = []

    def data(self) -> dict[str, Any]:
        """Parts, joints, and the signals of the joints."""
        return {"parts": self.parts, "joints": self.joints, "signals": self.signals}

    # -------------------------------------------------------------- joints

    def _signal(self, path: str) -> int:
        """Number of a signal, or of one element of it (`body.tilt[1]`); -1 if the vehicle has none of this name."""
        block, _, port = path.partition("[")[0].rpartition(".")
        there = self.vehicle.diagram.blocks.get(block)
        if there is None or port not in there.outputs:
            return -1
        if path not in self.signals:
            self.signals.append(path)
        return self.signals.index(path)

    def joint(
        self, path: str, kind: str, place: Point, axis: Point, *, gain: float = 1.0, bias: float = 0.0, parent: int = -1
    ) -> int:
        """Number of a new joint that turns by a signal (`turn`) or spins with it (`spin`)."""
        joint = {"signal": self._signal(path), "kind": kind, "at": _round(place), "axis": _round(axis), "gain": gain}
        self.joints.append(joint | {"bias": bias, "parent": parent})
        return len(self.joints) - 1

    # -------------------------------------------------------------- solids

    def _part(self, kind: str, look: str, joint: int, place: str, **more: Any) -> None:
        self.parts.append({"kind": kind, "look": look, "joint": joint, "place": place, **more})

    def rod(
        self,
        begin: Point,
        end: Point,
        radius: float,
        look: str,
        *,
        end_radius: float | None = None,
        joint: int = -1,
        place: str = "",
    ) -> None:
        """A round bar or cone between two points."""
        radii = [round(radius, 4), round(radius if end_radius is None else end_radius, 4)]
        self._part("rod", look, joint, place, begin=_round(begin), end=_round(end), radii=radii)

    def box(self, centre: Point, size: Point, look: str, *, joint: int = -1, place: str = "") -> None:
        """A box along the body's axes."""
        self._part("box", look, joint, place, at=_round(centre), size=_round(size))

    def ball(self, centre: Point, radii: Point, look: str, *, joint: int = -1, place: str = "") -> None:
        """An ellipsoid along the body's axes."""
        self._part("ball", look, joint, place, at=_round(centre), size=_round(radii))

    def hull(self, stations: Sequence[Point], look: str, *, square: float = 2.0, joint: int = -1) -> None:
        """A body of cross-sections: place x, half width, half height, y and z of the middle; `square` 2: ellipse."""
        self._part("hull", look, joint, "", stations=[_round(row) for row in stations], square=square)

    def wing(
        self,
        root: Point,
        root_chord: float,
        tip: Point,
        tip_chord: float,
        look: str,
        *,
        thick: float = 0.11,
        joint: int = -1,
        place: str = "",
    ) -> None:
        """A panel from the leading edge of its root to that of its tip."""
        chords = [round(root_chord, 4), round(tip_chord, 4)]
        ends = {"root": _round(root), "tip": _round(tip)}
        self._part("wing", look, joint, place, chords=chords, thick=thick, **ends)

    def surface(
        self,
        place: str,
        root: Point,
        root_chord: float,
        tip: Point,
        tip_chord: float,
        *,
        gain: float = 1.0,
        hinge: float = HINGE,
        look: str = "trim",
    ) -> None:
        """A panel whose rear part turns about its hinge; a positive deflection turns the trailing edge down or left."""
        self.wing(root, root_chord * hinge, tip, tip_chord * hinge, "wing", place=place)
        begin = [root[0] - root_chord * hinge, root[1], root[2]]
        end = [tip[0] - tip_chord * hinge, tip[1], tip[2]]
        span = [b - a for a, b in zip(begin, end, strict=True)]
        length = math.hypot(*span) or 1.0
        sign = -1.0 if span[1] < 0 or (abs(span[1]) < 1e-6 and span[2] > 0) else 1.0
        axis = [sign * x / length for x in span]
        joint = self.joint(at.surface(place).servo("deflection"), "turn", begin, axis, gain=-gain)
        at_root, at_tip = root_chord * (1 - hinge), tip_chord * (1 - hinge)
        self.wing(begin, at_root, end, at_tip, look, thick=0.14, joint=joint, place=f"surface/{place}")

    def propeller(
        self,
        number: int,
        centre: Point,
        axis: Point,
        radius: float,
        *,
        spin: str = "ccw",
        blades: int = 2,
        parent: int = -1,
        speed: str = "",
        gain: float = 1.0,
        chord: float = 0.0,
    ) -> None:
        """A propeller with its disc; seen along its thrust, `cw` turns to the right."""
        path = speed or at.rotor(number).motor("speed")
        if self._signal(path) < 0:
            path = at.rotor(number).propeller("speed")
        turn = gain * (1.0 if spin == "ccw" else -1.0)
        joint = self.joint(path, "spin", centre, axis, gain=turn, parent=parent)
        more = {"at": _round(centre), "axis": _round(axis), "radius": round(radius, 4), "blades": blades}
        self._part("propeller", "blade", joint, f"rotor/{number}", **more, chord=round(chord or 0.2 * radius, 4))

    # -------------------------------------------------------------- groups

    def motor(self, number: int, centre: Point, axis: Point, radius: float, *, parent: int = -1) -> None:
        """A motor below its propeller."""
        begin = [c - 0.17 * radius * a for c, a in zip(centre, axis, strict=True)]
        end = [c + 0.03 * radius * a for c, a in zip(centre, axis, strict=True)]
        self.rod(begin, end, 0.13 * radius, "dark", joint=parent, place=f"rotor/{number}")
        cap = [c + 0.09 * radius * a for c, a in zip(centre, axis, strict=True)]
        self.rod(end, cap, 0.07 * radius, "metal", end_radius=0.03 * radius, joint=parent)

    def gear(self, top: float, inner: float, thick: float) -> None:
        """Legs to the points that touch the ground; two or more on one side stand on a skid."""
        points = [list(p) for p in self.spec.contact.points_B_m if p[2] > 0.02]
        for p in points:
            self.rod([inner * p[0], inner * p[1], top], p, thick, "dark")
        for side in (-1, 1):
            row = sorted((p for p in points if side * p[1] > 0.02), key=lambda p: p[0])
            if len(row) >= 2 and len(points) >= 4:
                long = 0.25 * (row[-1][0] - row[0][0])
                begin, end = row[0], row[-1]
                self.rod([begin[0] - long, begin[1], begin[2]], [end[0] + long, end[1], end[2]], 1.3 * thick, "dark")
        if len(points) == 3:
            for p in points:
                self.ball(p, [1.8 * thick] * 3, "dark")

    def pack(self, centre: Point) -> None:
        """The battery, by its energy."""
        battery = getattr(self.spec, "battery", None)
        if battery is None:
            return
        side = (battery.cells * 3.7 * battery.capacity_Ah / PACK_WHPL / 1000 / 3.4) ** (1 / 3)
        size = [2.6 * side, 1.3 * side, side]
        self.box([centre[0], centre[1], centre[2] - size[2] / 2], size, "battery")
        self.box([centre[0], centre[1], centre[2] - size[2] / 2], [0.3 * side, 1.34 * side, 1.04 * side], "accent")


def _round(values: Point) -> list[float]:
    return [round(float(x), 4) for x in values]


def diameter_m(propeller: Any) -> float:
    """Diameter of a propeller; where a file has none, that of a usual one with its thrust coefficient."""
    if given := getattr(propeller, "diameter_m", None):
        return float(given)
    if area := getattr(propeller, "area_m2", None):
        return math.sqrt(4 * area / math.pi)
    slope: float = getattr(propeller, "thrust_coefficient_Ns2", 0.0) or getattr(propeller, "motor_constant_Ns2", 1e-5)
    return float((slope * 4 * math.pi**2 / (THRUST_COEFFICIENT * 1.225)) ** 0.25)


# ---------------------------------------------------------------------- kinds


def _multicopter(made: Appearance) -> None:
    spec = made.spec
    rotors = [
        (list(r.position_B_m), list(r.axis_B), r.spin, diameter_m(spec.propeller[r.propeller]) / 2, r.name)
        for r in spec.rotor
    ]
    reach = max(math.hypot(p[0], p[1]) for p, *_ in rotors)
    levels: dict[tuple[float, float], list[float]] = {}
    for p, *_ in rotors:
        levels.setdefault((round(p[0], 2), round(p[1], 2)), []).append(p[2])
    foremost = max(p[0] for p, *_ in rotors)
    size = 0.3 * reach
    for (x, y), heights in levels.items():
        middle = sum(heights) / len(heights) + (0.04 * reach if len(heights) == 1 else 0.0)
        front = x > 0.3 * foremost
        turn, long = math.atan2(y, x), math.hypot(x, y)
        begin = [0.55 * size * math.cos(turn), 0.55 * size * math.sin(turn), 0.02 * reach]
        neck = [0.75 * long * math.cos(turn), 0.75 * long * math.sin(turn), middle]
        look = "accent" if front else "body"
        made.rod(begin, neck, 0.062 * reach, look, end_radius=0.04 * reach)
        made.rod(neck, [x, y, middle], 0.04 * reach, look)
        made.rod([x, y, max(heights) + 0.055 * reach], [x, y, min(heights) + 0.02 * reach], 0.055 * reach, "dark")
    for number, (p, axis, spin, radius, name) in enumerate(rotors, start=1):
        coaxial = len(levels[round(p[0], 2), round(p[1], 2)]) > 1
        low = coaxial and p[2] == max(levels[round(p[0], 2), round(p[1], 2)])
        along = [-a for a in axis] if low else axis  # the motor is on the other side of its propeller
        tilt = -1
        if getattr(spec, "tail", None) is not None and spec.tail.rotor == name:
            tilt = made.joint(at.surface("tail").servo("deflection"), "turn", p, [1.0, 0.0, 0.0])
        shaft = [c + 0.13 * radius * a for c, a in zip(p, along, strict=True)]
        made.motor(number, [c + 0.04 * radius * a for c, a in zip(p, along, strict=True)], along, radius, parent=tilt)
        made.propeller(number, shaft, axis, radius, spin=spin, parent=tilt)
    for z, wide in ((0.055 * reach, 1.05), (-0.075 * reach, 0.95)):  # two plates with the electronics between them
        made.hull(
            [
                [-1.05 * size * wide, 0.5 * size, 0.012 * reach, 0, z],
                [-0.8 * size * wide, 0.85 * size, 0.014 * reach, 0, z],
                [0.8 * size * wide, 0.85 * size, 0.014 * reach, 0, z],
                [1.05 * size * wide, 0.5 * size, 0.012 * reach, 0, z],
            ],
            "dark",
            square=6.0,
        )
    made.box([0, 0, -0.01 * reach], [1.1 * size, 0.9 * size, 0.1 * reach], "body")
    made.pack([-0.1 * size, 0, -0.09 * reach])
    made.rod([-0.75 * size, 0, -0.08 * reach], [-0.75 * size, 0, -0.36 * reach], 0.018 * reach, "dark")
    made.rod([-0.75 * size, 0, -0.36 * reach], [-0.75 * size, 0, -0.41 * reach], 0.11 * reach, "body")
    made.ball([1.12 * size, 0, 0.02 * reach], [0.09 * reach, 0.09 * reach, 0.08 * reach], "glass")
    made.gear(0.05 * reach, 0.35, 0.022 * reach)


def _fuselage(made: Appearance, nose: float, tail: float, radius: float, glass: bool = True) -> None:
    """A pod from nose to tail with a boom of small radius behind."""
    long = nose - tail
    made.hull(
        [
            [nose, 0.12 * radius, 0.12 * radius, 0, 0.1 * radius],
            [nose - 0.04 * long, 0.55 * radius, 0.55 * radius, 0, 0.08 * radius],
            [nose - 0.14 * long, 0.92 * radius, 0.95 * radius, 0, 0.02 * radius],
            [nose - 0.32 * long, radius, 1.06 * radius, 0, 0],
            [nose - 0.52 * long, 0.8 * radius, 0.85 * radius, 0, -0.06 * radius],
            [nose - 0.7 * long, 0.4 * radius, 0.42 * radius, 0, -0.2 * radius],
            [tail, 0.16 * radius, 0.2 * radius, 0, -0.25 * radius],
        ],
        "body",
    )
    if glass:
        made.ball([nose - 0.24 * long, 0, -0.72 * radius], [0.1 * long, 0.55 * radius, 0.6 * radius], "glass")


def _tail(
    made: Appearance, x: float, area: float, chord: float, span: float, arm: float, names: dict[str, str]
) -> None:
    """Tail plane and fin of usual volumes, with elevator and rudder."""
    plane, fin = TAIL_VOLUME * area * chord / arm, FIN_VOLUME * area * span / arm
    half, tall = math.sqrt(plane * 4.2) / 2, math.sqrt(fin * 1.6)
    deep, up = plane / (2 * half), fin / tall
    for side in (-1, 1):
        made.surface(
            names["elevator"],
            [x, 0.01 * side, -0.02],
            1.15 * deep,
            [x - 0.2 * deep, side * half, -0.02],
            0.8 * deep,
            hinge=0.6,
        )
    made.surface(
        names["rudder"],
        [x + 0.1 * up, 0, -0.01],
        1.3 * up,
        [x - 0.35 * up, 0, -tall],
        0.75 * up,
        hinge=0.62,
        look="accent",
    )


def _fixed_wing(made: Appearance) -> None:
    spec = made.spec
    if spec.wing is not None:
        area, span, chord, place = spec.wing.area_m2, spec.wing.span_m, spec.wing.chord_m, [0.0, 0.0, 0.0]
    else:
        wings = [p for p in spec.panel.values() if abs(p.upward_B[2]) > 0.7 and p.position_B_m[0] > -0.3]
        far = max(abs(p.position_B_m[1]) for p in wings)
        span, place = 8 / 3 * far, list(wings[0].position_B_m)
        chord = min(sum(p.area_m2 for p in wings) / span, 0.2 * span)
        area = chord * span
    names = list(spec.surfaces)
    tailed = "elevator" in names
    points = spec.contact.points_B_m
    nose = max(p[0] for p in points)
    push = next(p for p in (spec.propeller, spec.simple_propeller, spec.rated_propeller, spec.puller) if p is not None)
    radius = diameter_m(push) / 2
    half, front = span / 2, place[0] + 0.25 * chord + 0.05 * span * (not tailed)
    left = next((n for n in names if "left" in n), "aileron")
    right = next((n for n in names if "right" in n), "aileron")
    if not tailed:
        _flying_wing(made, half, area / span, left, right, nose, radius)
        return
    high = -0.05 * chord - 0.5 * _girth(chord, span) if spec.wing is not None else place[2]
    rise = 0.04 * half
    tip_chord, root_chord = 0.62 * chord, 1.2 * chord
    for side, name in ((1, right), (-1, left)):
        mid = 0.5
        at_mid = root_chord + (tip_chord - root_chord) * mid
        knee, tip = (
            [front - 0.02 * half, side * mid * half, high - mid * rise],
            [front - 0.07 * chord, side * half, high - rise],
        )
        made.wing([front, 0, high], root_chord, knee, at_mid, "wing")
        one_sided = left != right
        made.surface(name, knee, at_mid, tip, tip_chord, gain=1.0 if one_sided else -float(side))
        made.wing(
            [tip[0], tip[1], tip[2]],
            tip_chord,
            [tip[0] - 0.5 * tip_chord, tip[1] + side * 0.03 * half, tip[2] - 0.06 * half],
            0.45 * tip_chord,
            "accent",
        )
    tail = min(min(p[0] for p in points), -0.33 * span)
    fat = _girth(chord, span)
    _fuselage(made, max(nose, front + 0.08 * span), tail, fat)
    _tail(made, tail + 0.3 * chord, area, chord, span, abs(tail), {"elevator": "elevator", "rudder": "rudder"})
    tip_x = max(nose, front + 0.08 * span)
    made.rod(
        [tip_x - 0.02, 0, 0.1 * fat],
        [tip_x + 0.14 * radius, 0, 0.1 * fat],
        0.13 * radius,
        "dark",
        end_radius=0.03 * radius,
        place="rotor/1",
    )
    made.propeller(
        1, [tip_x + 0.06 * radius, 0, 0.1 * fat], [1, 0, 0], radius, spin="cw", speed=at.rotor(1).propeller("speed")
    )
    wheels = getattr(spec.contact, "wheels", None)
    rolling = wheels.points if wheels is not None else []
    for number in rolling:
        p = points[number - 1]
        r = 0.28 * p[2]
        axle = [p[0], p[1], p[2] - r]
        made.rod([0.75 * p[0], 0.25 * p[1], 0.4 * fat], axle, 0.1 * r + 0.006, "dark")
        made.rod([axle[0], axle[1] - 0.3 * r, axle[2]], [axle[0], axle[1] + 0.3 * r, axle[2]], r, "tyre")


def _girth(chord: float, span: float) -> float:
    """Half width of a fuselage."""
    return min(0.5 * chord, 0.05 * span) + 0.008 * span


def _flying_wing(made: Appearance, half: float, mean: float, left: str, right: str, nose: float, radius: float) -> None:
    root, tip, sweep = 1.38 * mean, 0.62 * mean, 0.5 * half
    front = max(nose, 0.6 * root)
    for side, name in ((1, right), (-1, left)):
        inner = [front - 0.3 * sweep, side * 0.3 * half, 0.0]
        made.wing([front, 0, 0], root, inner, root + 0.3 * (tip - root), "wing")
        made.surface(
            name, inner, root + 0.3 * (tip - root), [front - sweep, side * half, -0.02 * half], tip, hinge=0.75
        )
        x = front - sweep
        made.wing(
            [x + 0.02, side * half, 0.04 * half],
            tip,
            [x - 0.35 * tip, side * 1.02 * half, -0.2 * half],
            0.6 * tip,
            "accent",
        )
    made.hull(
        [
            [front + 0.02, 0.02 * half, 0.02 * half, 0, 0],
            [front - 0.12 * root, 0.085 * half, 0.06 * half, 0, -0.01],
            [front - 0.5 * root, 0.1 * half, 0.075 * half, 0, -0.015],
            [front - 0.95 * root, 0.05 * half, 0.045 * half, 0, -0.01],
        ],
        "body",
    )
    made.ball([front - 0.3 * root, 0, -0.06 * half], [0.22 * root, 0.06 * half, 0.06 * half], "glass")
    back = front - root - 0.12 * radius
    made.rod([back + 0.3 * radius, 0, -0.01], [back, 0, -0.01], 0.13 * radius, "dark", place="rotor/1")
    made.propeller(
        1, [back - 0.03 * radius, 0, -0.01], [1, 0, 0], min(radius, 0.5 * half), speed=at.rotor(1).propeller("speed")
    )


def _vtol_tail(made: Appearance, others: Sequence[Any], wide: float, half: float, chord: float) -> None:
    """Surfaces of the tail: level ones to both sides up to `wide`, upright ones as fins."""
    for s in others:
        p = list(s.position_B_m)
        deep = 0.42 * chord
        if abs(s.upward_B[2]) > 0.7:
            for side in (-1, 1):
                made.surface(
                    s.name,
                    [p[0] + 0.5 * deep, 0, p[2]],
                    deep,
                    [p[0] + 0.45 * deep, side * wide, p[2]],
                    0.8 * deep,
                    hinge=0.6,
                )
        else:
            tall = max(math.sqrt(1.7 * s.area_m2), 0.3 * half)
            made.surface(
                s.name,
                [p[0] + 0.55 * deep, 0, 0.02],
                1.15 * deep,
                [p[0] + 0.15 * deep, 0, -tall],
                0.7 * deep,
                hinge=0.6,
                look="accent",
            )


def _vtol(made: Appearance) -> None:
    spec = made.spec
    wings = [s for s in spec.surface if abs(s.upward_B[2]) > 0.7 and abs(s.position_B_m[1]) > 1e-3]
    half = 2 * max(abs(s.position_B_m[1]) for s in wings)
    chord = min(sum(s.area_m2 for s in wings) / (2 * half), 0.4 * half)
    x0, z0 = wings[0].position_B_m[0] + 0.4 * chord, wings[0].position_B_m[2]
    stands = spec.wing.hover_pitch_deg > 45
    for s in wings:
        side = math.copysign(1.0, s.position_B_m[1])
        knee, tip = (
            [x0 - 0.02 * half, side * 0.5 * half, z0 - 0.02 * half],
            [x0 - 0.1 * chord, side * half, z0 - 0.03 * half],
        )
        made.wing([x0, 0, z0], 1.15 * chord, knee, 0.95 * chord, "wing")
        made.surface(s.name, knee, 0.95 * chord, tip, 0.7 * chord)
        made.wing(
            tip,
            0.7 * chord,
            [tip[0] - 0.35 * chord, tip[1] + side * 0.04 * half, tip[2] - 0.1 * half],
            0.32 * chord,
            "accent",
        )
    others = [s for s in spec.surface if s not in wings]
    tail = min((s.position_B_m[0] for s in others), default=x0 - 1.6 * chord)
    reach = [list(r.position_B_m) for r in spec.rotor]
    fat = 0.13 * half
    pusher = spec.pusher
    nose = x0 + 0.55 * half
    twin = pusher is not None and pusher.position_B_m[0] > tail
    if twin:
        end = pusher.position_B_m[0] + 0.03
        made.hull(
            [
                [nose, 0.1 * fat, 0.1 * fat, 0, 0],
                [nose - 0.08 * half, 0.6 * fat, 0.6 * fat, 0, 0],
                [nose - 0.25 * half, fat, fat, 0, 0],
                [x0 - 0.5 * chord, fat, 1.05 * fat, 0, 0],
                [end, 0.4 * fat, 0.4 * fat, 0, 0],
            ],
            "body",
        )
        made.ball([nose - 0.24 * half, 0, -0.6 * fat], [0.15 * half, 0.6 * fat, 0.6 * fat], "glass")
    else:
        _fuselage(made, nose if not stands else x0 + 0.3 * half, tail, fat, glass=not stands)
        made.ball(
            [(nose if not stands else x0 + 0.3 * half) - 0.02, 0, 0], [0.06 * half, 0.5 * fat, 0.5 * fat], "accent"
        )
    beams = sorted({round(p[1], 3) for p in reach})
    if not stands:
        fore, aft = max(p[0] for p in reach), min(p[0] for p in reach)
        level = max(p[2] for p in reach) + 0.035
        for y in beams:
            made.rod(
                [fore + 0.03, y, level],
                [min(aft, tail) - 0.03 if twin else aft - 0.03, y, level],
                0.022 * half + 0.005,
                "dark",
            )
            made.ball([fore + 0.03, y, level], [0.06 * half, 0.03 * half, 0.03 * half], "accent")
    for number, r in enumerate(spec.rotor, start=1):
        radius, p, axis = diameter_m(spec.propeller[r.propeller]) / 2, list(r.position_B_m), list(r.axis_B)
        if stands:
            made.rod([p[0] - 0.04, p[1], 0.0], [p[0] - 0.02, p[1], p[2]], 0.02 * half, "body", end_radius=0.016 * half)
        made.motor(number, p, axis, radius)
        made.propeller(number, [c + 0.1 * radius * a for c, a in zip(p, axis, strict=True)], axis, radius, spin=r.spin)
    if pusher is not None:
        number, p, axis = len(spec.rotor) + 1, list(pusher.position_B_m), list(pusher.axis_B)
        radius = diameter_m(spec.propeller[pusher.propeller]) / 2
        made.motor(number, p, axis, radius)
        made.propeller(number, [p[0] - 0.1 * radius, p[1], p[2]], axis, radius, spin=pusher.spin)
    _vtol_tail(made, others, max(abs(beams[-1]) if twin else 0.4 * half, 0.2 * half), half, chord)
    if stands:
        for p in spec.contact.points_B_m:
            made.rod([x0 - 0.9 * chord, p[1], 0], p, 0.014 * half, "dark")
    else:
        made.gear(0.05, 0.5, 0.012 * half + 0.003)


def _tilt_rotor(made: Appearance) -> None:
    spec = made.spec
    radius = diameter_m(spec.propeller) / 2
    arm = abs(spec.right.joint_B_m[1])
    made.hull(
        [
            [0.75 * arm, 0.05 * arm, 0.05 * arm, 0, 0],
            [0.6 * arm, 0.2 * arm, 0.18 * arm, 0, 0],
            [0.15 * arm, 0.28 * arm, 0.26 * arm, 0, 0],
            [-0.4 * arm, 0.2 * arm, 0.2 * arm, 0, 0],
            [-1.1 * arm, 0.06 * arm, 0.07 * arm, 0, -0.06 * arm],
        ],
        "body",
    )
    made.ball([0.35 * arm, 0, -0.16 * arm], [0.26 * arm, 0.16 * arm, 0.14 * arm], "glass")
    made.ball([0.72 * arm, 0, 0], [0.08 * arm, 0.09 * arm, 0.09 * arm], "accent")
    for side in (-1, 1):
        made.wing(
            [-0.95 * arm, 0, -0.08 * arm], 0.22 * arm, [-1.12 * arm, side * 0.4 * arm, -0.3 * arm], 0.14 * arm, "wing"
        )
    for number, piece in enumerate((spec.right, spec.left), start=1):
        joint, centre = list(piece.joint_B_m), list(piece.centre_m)
        made.wing(
            [0.16 * arm, 0, joint[2] + 0.06 * arm],
            0.34 * arm,
            [0.1 * arm, joint[1], joint[2]],
            0.24 * arm,
            "wing",
            thick=0.16,
        )
        turn = made.joint(f"body.tilt[{number - 1}]", "turn", joint, [0, 1, 0])
        top = [joint[k] + 2.0 * centre[k] for k in range(3)]
        axis = [c / math.hypot(*centre) for c in centre]
        low = [joint[k] - 0.6 * centre[k] for k in range(3)]
        made.rod(low, top, 0.07 * arm, "accent", end_radius=0.055 * arm, joint=turn, place=f"rotor/{number}")
        made.motor(number, top, axis, radius, parent=turn)
        made.propeller(
            number, [top[k] + 0.1 * radius * axis[k] for k in range(3)], axis, radius, spin=piece.spin, parent=turn
        )
    made.gear(0.1 * arm, 0.5, 0.02 * arm)


def _helicopter(made: Appearance) -> None:
    spec = made.spec
    main, tail = spec.main_rotor, spec.tail_rotor
    hub, end, r = list(main.position_B_m), list(tail.position_B_m), main.radius_m
    made.hull(
        [
            [0.5 * r, 0.02 * r, 0.02 * r, 0, 0.05 * r],
            [0.44 * r, 0.09 * r, 0.09 * r, 0, 0.04 * r],
            [0.25 * r, 0.14 * r, 0.17 * r, 0, 0],
            [0.0, 0.13 * r, 0.18 * r, 0, -0.02 * r],
            [-0.2 * r, 0.07 * r, 0.1 * r, 0, -0.04 * r],
            [-0.3 * r, 0.03 * r, 0.035 * r, 0, -0.06 * r],
            [end[0], 0.02 * r, 0.022 * r, 0, end[2] + 0.01],
        ],
        "body",
    )
    made.ball([0.26 * r, 0, -0.03 * r], [0.19 * r, 0.125 * r, 0.12 * r], "glass")
    made.rod([hub[0], 0, 0.0], [hub[0], 0, hub[2] - 0.03 * r], 0.022 * r, "metal")
    made.rod([hub[0], 0, hub[2] - 0.02 * r], [hub[0], 0, hub[2] + 0.02 * r], 0.05 * r, "dark", place="rotor/1")
    made.propeller(1, hub, [0, 0, -1], r, spin=main.spin, blades=main.blades, chord=main.chord_m)
    made.propeller(
        2,
        [end[0], end[1] - 0.05 * r, end[2]],
        [0, 1, 0],
        tail.radius_m,
        spin=tail.spin,
        blades=tail.blades,
        speed=at.rotor(1).motor("speed"),
        gain=tail.gear_ratio,
        chord=1.3 * tail.chord_m,
    )
    made.wing([end[0] + 0.1 * r, 0, end[2]], 0.15 * r, [end[0] - 0.09 * r, 0, end[2] - 0.24 * r], 0.09 * r, "accent")
    made.wing([end[0] + 0.1 * r, 0, end[2]], 0.15 * r, [end[0] - 0.02 * r, 0, end[2] + 0.17 * r], 0.08 * r, "accent")
    at_tail = -spec.fuselage.tail_arm_m
    for side in (-1, 1):
        made.wing(
            [at_tail + 0.05 * r, 0, end[2]], 0.12 * r, [at_tail + 0.01 * r, side * 0.2 * r, end[2]], 0.09 * r, "wing"
        )
    made.gear(0.1 * r, 0.45, 0.015 * r)


def _wheel(made: Appearance, centre: Point, radius: float, wide: float, joint: int, place: str) -> None:
    x, y, z = centre
    made.rod([x, y - wide / 2, z], [x, y + wide / 2, z], radius, "tyre", joint=joint, place=place)
    out = math.copysign(1, y) * wide
    made.rod([x, y, z], [x, y + 0.53 * out, z], 0.6 * radius, "metal", joint=joint)
    for k in range(2):  # spokes show that it turns
        turn = k * math.pi / 2
        dx, dz = 0.55 * radius * math.cos(turn), 0.55 * radius * math.sin(turn)
        begin, end = [x - dx, y + 0.53 * out, z - dz], [x + dx, y + 0.53 * out, z + dz]
        made.rod(begin, end, 0.08 * radius, "dark", joint=joint)


def _car(made: Appearance) -> None:
    spec = made.spec
    if hasattr(spec.wheels, "separation_m"):
        _rover(made)
        return
    body, r = spec.body, spec.wheels.radius_m
    front, rear, wide, ground = body.front_m, -body.rear_m, max(body.track_m) / 2 + 0.1, body.cg_height_m
    nose, end, low = front + 0.8, rear - 0.75, ground - 0.28
    made.hull(
        [
            [nose, 0.84 * wide, 0.17, 0, low - 0.26],
            [nose - 0.12, 0.95 * wide, 0.24, 0, low - 0.26],
            [front + 0.3, wide, 0.29, 0, low - 0.28],
            [front - 0.55, wide, 0.34, 0, low - 0.32],
            [rear + 0.3, wide, 0.36, 0, low - 0.34],
            [end + 0.15, 0.96 * wide, 0.33, 0, low - 0.34],
            [end, 0.88 * wide, 0.24, 0, low - 0.32],
        ],
        "body",
        square=7.0,
    )
    top = low - 0.66
    made.hull(
        [
            [front - 0.42, 0.8 * wide, 0.02, 0, top + 0.05],
            [front - 1.0, 0.76 * wide, 0.24, 0, top - 0.19],
            [rear + 0.75, 0.74 * wide, 0.25, 0, top - 0.2],
            [rear + 0.1, 0.77 * wide, 0.13, 0, top - 0.08],
            [rear - 0.15, 0.8 * wide, 0.02, 0, top + 0.04],
        ],
        "glass",
        square=5.0,
    )
    made.box([(front - 1.0 + rear + 0.75) / 2, 0, top - 0.44], [front - rear - 1.7, 1.4 * wide, 0.05], "body")
    for side in (-1, 1):
        made.box([nose - 0.04, side * 0.66 * wide, low - 0.34], [0.1, 0.3, 0.12], "lamp")
        made.box([end + 0.03, side * 0.68 * wide, low - 0.42], [0.08, 0.24, 0.14], "rear")
    made.box([nose - 0.02, 0, low - 0.18], [0.1, 1.1 * wide, 0.1], "dark")
    for number in range(1, 5):
        x, side, track = front if number < 3 else rear, -1 if number % 2 else 1, body.track_m[0 if number < 3 else 1]
        centre = [x, side * track / 2, ground - r]
        steer = made.joint(at.STEERING.servo("deflection"), "turn", centre, [0, 0, 1]) if number < 3 else -1
        spin = made.joint(at.wheel(number).drive("speed"), "spin", centre, [0, 1, 0], gain=-1.0, parent=steer)
        _wheel(made, centre, r, 0.21, spin, f"wheel/{number}")
    if spec.trailer is not None:
        _trailer(made, rear, ground)


def _trailer(made: Appearance, rear: float, ground: float) -> None:
    trailer = made.spec.trailer
    hitch = [rear - trailer.overhang_m, 0.0, ground - 0.45]
    turn = made.joint(at.HITCH("articulation"), "turn", hitch, [0, 0, 1], gain=-1.0)
    axle, half, r = hitch[0] - trailer.drawbar_m, trailer.track_m / 2, trailer.wheel_radius_m
    made.rod(hitch, [axle + 0.9, 0, hitch[2]], 0.05, "dark", joint=turn)
    made.box([axle, 0, ground - 0.75], [2.0, 1.8 * half, 0.5], "wing", joint=turn)
    made.box([axle, 0, ground - 1.02], [2.04, 1.86 * half, 0.05], "accent", joint=turn)
    for number, side in ((5, -1), (6, 1)):
        centre = [axle, side * half, ground - r]
        spin = made.joint(at.wheel(number).drive("speed"), "spin", centre, [0, 1, 0], gain=-1.0, parent=turn)
        _wheel(made, centre, r, 0.17, spin, f"wheel/{number}")


def _rover(made: Appearance) -> None:
    wheels, ground = made.spec.wheels, made.spec.body.cg_height_m
    half, r = wheels.separation_m / 2, wheels.radius_m
    for number, name in enumerate(("left", "right")):
        centre = [0.0, half * (2 * number - 1), ground - r]
        spin = made.joint(at.wheel(name).drive("speed"), "spin", centre, [0, 1, 0], gain=-1.0)
        _wheel(made, centre, r, 0.5 * r, spin, f"wheel/{name}")
    for level in range(3):
        z = ground - 0.75 * r - level * 1.3 * r
        made.rod([-0.3 * half, 0, z], [-0.3 * half, 0, z - 0.12 * r], 0.82 * half, "dark")
        for x, y in ((0.3, 0.5), (0.3, -0.5), (-0.8, 0.4), (-0.8, -0.4)):
            made.rod([x * half, y * half, z], [x * half, y * half, z - 1.3 * r], 0.07 * half, "metal")
    top = ground - 0.75 * r - 3 * 1.3 * r
    made.rod([-0.3 * half, 0, top], [-0.3 * half, 0, top - 0.12 * r], 0.82 * half, "body")
    made.rod([-0.3 * half, 0, top - 0.1 * r], [-0.3 * half, 0, top - 0.9 * r], 0.4 * half, "dark")
    made.rod([-0.3 * half, 0, top - 0.45 * r], [-0.3 * half, 0, top - 0.7 * r], 0.42 * half, "glass")
    made.box([0.48 * half, 0, ground - 1.2 * r], [0.06 * half, 0.6 * half, 0.8 * r], "accent")
    made.ball([-0.85 * half, 0, ground - 0.3 * r], [0.3 * r] * 3, "metal")


def _boat(made: Appearance) -> None:
    spec = made.spec
    waves, wind = spec.waves, spec.wind
    long = float((waves or wind).length_m)
    beam = waves.beam_m if waves else 0.25 * long
    deep = waves.draught_m if waves else 0.08 * long
    sides = sorted({round(t.position_B_m[1], 3) for t in spec.thruster})
    if len(sides) > 1 and sides[-1] > 0.2 * beam:
        wide = min(beam / 2 - sides[-1], 0.3 * beam) or 0.1 * long
        for y in (sides[0], sides[-1]):
            _ship(made, long, wide, deep, 0.5 * deep + 0.05 * long, y)
        level = -0.5 * deep - 0.05 * long
        for x in (-0.24 * long, 0.16 * long):
            made.rod([x, sides[0], level], [x, sides[-1], level], 0.018 * long, "metal")
        made.box(
            [-0.04 * long, 0, level - 0.05 * long], [0.46 * long, 0.8 * (sides[-1] - sides[0]), 0.08 * long], "wing"
        )
        made.rod([-0.2 * long, 0, level], [-0.2 * long, 0, level - 0.38 * long], 0.012 * long, "dark")
        made.ball([-0.2 * long, 0, level - 0.4 * long], [0.035 * long] * 3, "body")
        made.box([0.1 * long, 0, level - 0.1 * long], [0.1 * long, 0.1 * long, 0.04 * long], "glass")
    else:
        _ship(made, long, beam / 2, deep, 0.9 * deep, 0.0)
        top = -0.9 * deep
        made.box([-0.2 * long, 0, top - 0.04 * long], [0.3 * long, 0.6 * beam, 0.09 * long], "wing")
        made.box([-0.11 * long, 0, top - 0.12 * long], [0.12 * long, 0.66 * beam, 0.075 * long], "wing")
        made.box([-0.048 * long, 0, top - 0.125 * long], [0.012 * long, 0.6 * beam, 0.03 * long], "glass")
        made.rod([-0.15 * long, 0, top - 0.15 * long], [-0.15 * long, 0, top - 0.27 * long], 0.006 * long, "dark")
        made.rod([-0.27 * long, 0, top - 0.08 * long], [-0.29 * long, 0, top - 0.17 * long], 0.028 * long, "accent")
        made.box([0.1 * long, 0, top - 0.015 * long], [0.22 * long, 0.5 * beam, 0.03 * long], "metal")
    for number, thruster in enumerate(spec.thruster, start=1):
        p = [-0.46 * long, thruster.position_B_m[1], 0.7 * deep]
        made.rod(
            [p[0] + 0.08 * long, p[1], p[2]],
            [p[0] + 0.005 * long, p[1], p[2]],
            0.015 * long,
            "dark",
            place=f"rotor/{number}",
        )
        made.propeller(number, p, [1, 0, 0], 0.055 * long, blades=3, chord=0.03 * long)


def _ship(made: Appearance, long: float, wide: float, deep: float, board: float, y: float) -> None:
    """One hull: draught below the water line, freeboard above it."""
    high, mid = (deep + board) / 2, (deep - board) / 2
    rows = [
        (-0.5, 0.72, 0.86),
        (-0.42, 0.88, 1.0),
        (0.05, 1.0, 1.0),
        (0.25, 0.86, 0.98),
        (0.4, 0.5, 0.92),
        (0.5, 0.05, 0.75),
    ]
    made.hull([[x * long, w * wide, h * high, y, mid - (1 - h) * high] for x, w, h in rows], "body", square=3.6)
    made.hull(
        [
            [x * long, 1.03 * w * wide, 0.07 * high, y, mid - h * high + 0.05 * high - (1 - h) * high * 0.5]
            for x, w, h in rows[:-1]
        ],
        "accent",
        square=5.0,
    )


def _submarine(made: Appearance) -> None:
    spec = made.spec
    tall = spec.buoyancy.height_m
    if spec.lift is None and len(spec.thruster) > 2:
        _rov(made, tall)
        return
    long, r = spec.cross_flow.length_m if spec.cross_flow else 8 * tall, tall / 2
    rows = [
        (0.5, 0.1),
        (0.485, 0.5),
        (0.45, 0.8),
        (0.4, 0.97),
        (0.34, 1.0),
        (-0.2, 1.0),
        (-0.32, 0.86),
        (-0.43, 0.5),
        (-0.5, 0.16),
    ]
    made.hull([[x * long, w * r, w * r, 0, 0] for x, w in rows], "body")
    made.hull(
        [
            [0.502 * long, 0.08 * r, 0.08 * r, 0, 0],
            [0.485 * long, 0.52 * r, 0.52 * r, 0, 0],
            [0.44 * long, 0.86 * r, 0.86 * r, 0, 0],
        ],
        "accent",
    )
    made.wing([0.02 * long, 0, -0.95 * r], 0.1 * long, [-0.03 * long, 0, -1.9 * r], 0.05 * long, "dark")
    for fin in spec.fin:
        x, reach = fin.position_B_m[0] + 0.03 * long, 0.6 * r + math.sqrt(fin.area_m2)
        upright = "rudder" in fin.name
        for side in (-1, 1):
            root, tip = (
                ([x, 0, 0.3 * r * side], [x - 0.03 * long, 0, reach * side])
                if upright
                else ([x, 0.3 * r * side, 0], [x - 0.03 * long, reach * side, 0])
            )
            made.surface(fin.name, root, 0.1 * long, tip, 0.065 * long, hinge=0.35)
    for number, _ in enumerate(spec.thruster, start=1):
        made.rod(
            [-0.49 * long, 0, 0], [-0.53 * long, 0, 0], 0.18 * r, "dark", end_radius=0.08 * r, place=f"rotor/{number}"
        )
        made.propeller(number, [-0.515 * long, 0, 0], [1, 0, 0], 0.75 * r, blades=3, chord=0.4 * r)


def _rov(made: Appearance, tall: float) -> None:
    places = [t.position_B_m for t in made.spec.thruster]
    wide, long = max(abs(p[1]) for p in places), 1.45 * max(abs(p[0]) for p in places)
    for side in (-1, 1):
        y = side * 0.68 * wide
        made.box([0, y, 0.12 * tall], [2 * long, 0.06 * wide, 0.75 * tall], "dark")
        made.hull(
            [
                [-0.9 * long, 0.16 * wide, 0.15 * tall, y, -0.38 * tall],
                [-0.8 * long, 0.26 * wide, 0.2 * tall, y, -0.38 * tall],
                [0.8 * long, 0.26 * wide, 0.2 * tall, y, -0.38 * tall],
                [0.9 * long, 0.16 * wide, 0.15 * tall, y, -0.38 * tall],
            ],
            "body",
            square=4.0,
        )
        made.rod([0.75 * long, y, 0.2 * tall], [0.95 * long, y, 0.2 * tall], 0.09 * wide, "lamp")
    made.rod([-0.8 * long, 0, -0.05 * tall], [0.75 * long, 0, -0.05 * tall], 0.26 * wide, "metal")
    made.ball([0.75 * long, 0, -0.05 * tall], [0.22 * wide] * 3, "glass")
    made.rod([-0.7 * long, 0, 0.3 * tall], [0.6 * long, 0, 0.3 * tall], 0.17 * wide, "battery")
    made.box([0, 0, 0.48 * tall], [1.5 * long, 1.3 * wide, 0.03 * tall], "dark")
    made.box([0.97 * long, 0, -0.42 * tall], [0.05 * long, 0.5 * wide, 0.1 * tall], "accent")
    for number, thruster in enumerate(made.spec.thruster, start=1):
        p, axis, r = list(thruster.position_B_m), list(thruster.axis_B), 0.18 * wide
        ends = [[c + k * r * a for c, a in zip(p, axis, strict=True)] for k in (-0.75, 0.45)]
        made.rod(ends[0], ends[1], 0.42 * r, "dark", place=f"rotor/{number}")
        made.rod(
            [c - 0.25 * r * a for c, a in zip(p, axis, strict=True)],
            [c + 0.3 * r * a for c, a in zip(p, axis, strict=True)],
            1.12 * r,
            "ring",
        )
        made.propeller(number, p, axis, r, blades=3, chord=0.5 * r)


BUILDERS: dict[str, Callable[[Appearance], None]] = {  # by the drawing that a kind of vehicle declares
    "rotors": _multicopter,
    "wing": _fixed_wing,
    "vtol": _vtol,
    "tilt_rotor": _tilt_rotor,
    "helicopter": _helicopter,
    "car": _car,
    "boat": _boat,
    "submarine": _submarine,
}


def appearance(vehicle: Vehicle) -> dict[str, Any]:
    """Parts, joints and the joints' signals of a vehicle, for drawing it."""
    made = Appearance(vehicle)
    BUILDERS[vehicle.kind.drawing](made)
    return made.data()
