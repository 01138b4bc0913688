"""Import of JSBSim aircraft: metrics, mass, and aerodynamic functions and tables, evaluated at cruise as coefficients.

JSBSim's forces are arbitrary functions; Ironbird's wing has constant coefficients and a smooth stall [BeardMcLain]. So
the functions are evaluated around an angle of attack of 3 degrees and differentiated; drag is fitted by a parabola over
the lift. Structural axes of JSBSim: x aft, y right, z up, in inches. Not imported: propulsion, flight control, flaps,
ground effect, Mach number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import VehicleError
from ironbird.units import FOOT_M
from ironbird.vehicles.imports.draft import Draft, as_id
from ironbird.vehicles.imports.wings import WingParts, draft_fixed_wing
from ironbird.vehicles.imports.xml_file import as_number, read_xml

POUND_KG, SLUG_KG = 0.45359237, 14.59390294
UNITS = {
    "FT2": FOOT_M**2, "M2": 1.0, "FT": FOOT_M, "M": 1.0, "IN": FOOT_M / 12, "LBS": POUND_KG, "KG": 1.0,
    "SLUG*FT2": SLUG_KG * FOOT_M**2, "KG*M2": 1.0, "": 1.0,
}  # fmt: skip
RHO = 1.225  # kg/m^3, air density
ALPHA = math.radians(3.0)  # rad, angle of attack at which derivatives are taken
SMALL = 1e-3
DEEPEST = 40
AXES = ("LIFT", "DRAG", "SIDE", "ROLL", "PITCH", "YAW")
# What Ironbird's coefficients are derivatives of: its name -> JSBSim's property
STATES = {
    "alpha": "aero/alpha-rad", "beta": "aero/beta-rad", "p": "velocities/p-aero-rad_sec",
    "q": "velocities/q-aero-rad_sec", "r": "velocities/r-aero-rad_sec",
}  # fmt: skip
SURFACES = {
    "elevator": ("fcs/elevator-pos-rad",),
    "aileron": ("fcs/left-aileron-pos-rad", "fcs/aileron-pos-rad", "fcs/effective-aileron-pos"),
    "rudder": ("fcs/rudder-pos-rad",),
}


class Unknown(Exception):
    """Raised if a function of a JSBSim file uses a property or element that is not supported."""


def import_jsbsim(path: Path) -> Draft:
    """Import a plane from JSBSim's aircraft file."""
    root = read_xml(path)
    if root.tag != "fdm_config":
        raise VehicleError(f"{path}: its root is <{root.tag}>, not <fdm_config>; give the aircraft file of JSBSim")
    missing: list[str] = []
    area, span, chord = (_length(root, path, f"metrics/{tag}") for tag in ("wingarea", "wingspan", "chord"))
    if min(area, span, chord) <= 0:
        raise VehicleError(f"{path}: wing area, span and chord must be greater than zero")
    mass, inertia, centre = _mass(root, path, missing)
    aero = Aerodynamics(root, path, area, span, chord, centre, missing)
    for part in ("propulsion", "flight_control", "buoyant_forces", "external_reactions"):
        if root.find(part) is not None:
            missing.append(f"<{part}>")
    wing, speed = aero.wing(mass)
    # Assumed propeller: three times the drag of the cruise at full throttle
    drag_N = 0.5 * RHO * speed**2 * area * aero.force("DRAG", ALPHA)
    outflow = 2.0 * speed
    disc = 3 * max(drag_N, 0.02 * mass * STANDARD_GRAVITY_MPS2) / (0.5 * RHO * (outflow**2 - speed**2))
    parts = WingParts(
        as_id(path.stem), f"{path.stem} (imported)", path.name, round(mass, 6), inertia, {}, {}, {},
        wing=wing, speed_mps=round(speed, 2), missing=missing,
        start=_start(wing, speed, drag_N, disc, outflow),
        simple_propeller={"area_m2": round(disc, 6), "outflow_mps": round(outflow, 3), "coefficient": 1.0},
        more={
            "simple_propeller.*": "assumed: three times the drag of the cruise at full throttle",
            "start.*": "derived: balance of pitch, lift and drag of these coefficients at 3 degrees",
            "wing.stall_rate_prad": "assumed: sharpness of the stall as the Aerosonde's",
            "wing.*": f"derived: {path.name}, its functions at an angle of attack of 3 degrees",
        },
    )  # fmt: skip
    return draft_fixed_wing(parts)


def _start(wing: Mapping[str, float], speed: float, drag_N: float, disc: float, outflow: float) -> dict[str, float]:
    """Table `start`: level flight at the angle of attack at which the coefficients were taken."""
    moment = wing["Cm_0"] + wing["Cm_alpha"] * ALPHA
    elevator = -moment / wing["Cm_elevator"] if wing["Cm_elevator"] else 0.0
    throttle = math.sqrt(speed**2 + 2 * max(drag_N, 0.0) / (RHO * disc)) / outflow
    return {
        "angle_of_attack_rad": round(ALPHA, 6), "roll_rad": 0.0, "aileron_rad": 0.0,
        "elevator_rad": round(min(max(elevator, -0.5), 0.5), 6), "rudder_rad": 0.0,
        "throttle": round(min(throttle, 1.0), 6),
    }  # fmt: skip


def _length(root: Element, path: Path, tag: str) -> float:
    element = root.find(tag)
    if element is None or not element.text:
        raise VehicleError(f"{path}: <{tag}> is missing")
    return _si(element, path)


def _si(element: Element, path: Path, usual: str = "") -> float:
    unit = element.get("unit", usual).upper()
    if unit not in UNITS:
        raise VehicleError(f"{path}: <{element.tag}> is in '{unit}', which is not known")
    return as_number(element.text or "0", f"{path}: <{element.tag}>") * UNITS[unit]


def _place(element: Element | None, path: Path) -> np.ndarray:
    """A location in m, in structural axes."""
    if element is None:
        return np.zeros(3)
    factor = UNITS.get(element.get("unit", "IN").upper(), FOOT_M / 12)
    return factor * np.array([as_number(element.findtext(axis) or "0", f"{path}: location") for axis in "xyz"])


def _mass(root: Element, path: Path, missing: list[str]) -> tuple[float, np.ndarray, np.ndarray]:
    balance = root.find("mass_balance")
    if balance is None:
        raise VehicleError(f"{path}: <mass_balance> is missing")
    empty = balance.find("emptywt")
    if empty is None:
        raise VehicleError(f"{path}: <emptywt> is missing")
    mass = _si(empty, path, "LBS")
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    entries = [balance.find(tag) for tag in names]
    xx, yy, zz, xy, xz, yz = (0.0 if e is None else _si(e, path, "SLUG*FT2") for e in entries)
    # JSBSim gives products of inertia; the matrix has them with the other sign (negated_crossproduct_inertia)
    sign = -1.0 if balance.get("negated_crossproduct_inertia", "true") != "false" else 1.0
    inertia = np.array([[xx, sign * xy, sign * xz], [sign * xy, yy, sign * yz], [sign * xz, sign * yz, zz]]) + 0.0
    centre = _place(balance.find("location"), path)
    masses = [(mass, centre)]
    for point in balance.findall("pointmass"):
        weight = point.find("weight")
        if weight is not None:
            masses.append((_si(weight, path, "LBS"), _place(point.find("location"), path)))
    total = sum(m for m, _ in masses)
    if not total > 0 or min(np.linalg.eigvalsh(inertia)) <= 0:
        raise VehicleError(f"{path}: mass and moments of inertia must be greater than zero")
    joined = sum((m * at for m, at in masses), np.zeros(3)) / total
    turn = np.diag([-1.0, 1.0, -1.0])  # structural to forward-right-down
    for m, at in masses:
        away = turn @ (at - joined)
        inertia = inertia + m * (away @ away * np.eye(3) - np.outer(away, away))
    if root.find("propulsion/tank") is not None:
        missing.append("fuel in the tanks: the mass is that of the empty aircraft and its point masses")
    return float(total), inertia, joined


class Aerodynamics:
    """The aerodynamic forces of a file as coefficients, for any state."""

    def __init__(
        self, root: Element, path: Path, area: float, span: float, chord: float, centre: np.ndarray, missing: list[str]
    ) -> None:
        self.path, self.area, self.span, self.chord, self.missing = path, area, span, chord, missing
        node = root.find("aerodynamics")
        if node is None:
            raise VehicleError(f"{path}: <aerodynamics> is missing")
        reference = next((e for e in root.findall("metrics/location") if e.get("name") == "AERORP"), None)
        away = (centre - _place(reference, path)) if reference is not None else np.zeros(3)
        # m, centre of mass relative to the point where the forces act
        self.aft, self.above = float(away[0]), float(away[2])
        self.shared = {f.get("name", ""): f for f in node.findall("function")}
        self.axes = {axis.get("name", "").upper(): axis.findall("function") for axis in node.findall("axis")}
        strange = [name for name in self.axes if name not in AXES]
        if strange:
            missing.append(f"axes {', '.join(strange)} of the aerodynamics: only {', '.join(AXES)} are read")
        self._told: set[str] = set()
        self._bad: set[int] = set()
        self.speed = 30.0

    def _properties(self, **state: float) -> dict[str, float]:
        v, foot = self.speed, FOOT_M
        properties = {
            "aero/qbar-psf": 0.5 * RHO * v * v / (POUND_KG * STANDARD_GRAVITY_MPS2) * foot**2,
            "metrics/Sw-sqft": self.area / foot**2, "metrics/bw-ft": self.span / foot,
            "metrics/cbarw-ft": self.chord / foot,
            "aero/bi2vel": self.span / (2 * v), "aero/ci2vel": self.chord / (2 * v),
            "velocities/vt-fps": v / foot, "atmosphere/rho-slugs_ft3": RHO * foot**3 / SLUG_KG,
            "velocities/mach": v / 340.3, "aero/h_b-mac-ft": 10.0, "aero/h_b-cg-ft": 10.0,
        }  # fmt: skip
        properties |= dict.fromkeys([*STATES.values(), *(path for paths in SURFACES.values() for path in paths)], 0.0)
        for name, value in state.items():
            for path in (STATES[name],) if name in STATES else SURFACES[name]:
                properties[path] = value
        alpha, beta = properties.get(STATES["alpha"], 0.0), properties.get(STATES["beta"], 0.0)
        properties |= {"aero/alpha-deg": math.degrees(alpha), "aero/beta-deg": math.degrees(beta)}
        properties |= {
            "velocities/u-aero-fps": v * math.cos(alpha) / foot,
            "velocities/w-aero-fps": v * math.sin(alpha) / foot,
        }
        properties |= {"aero/mag-beta-rad": abs(beta), "aero/mag-beta-deg": abs(math.degrees(beta))}
        if "aileron" in state:
            properties["fcs/right-aileron-pos-rad"] = -state["aileron"]
        properties |= {f"velocities/{axis}-rad_sec": properties[STATES[axis]] for axis in "pqr"}  # the air is at rest
        properties["fcs/mag-elevator-pos-rad"] = abs(properties["fcs/elevator-pos-rad"])
        return properties

    def force(self, axis: str, alpha: float, **state: float) -> float:
        """Coefficient of a force, or of a moment about the centre of mass, at an angle of attack in rad."""
        values = self._properties(alpha=alpha, **state)
        values["aero/cl-squared"] = self._sum("LIFT", values) ** 2
        total = self._sum(axis, values)
        if axis in ("ROLL", "PITCH", "YAW"):  # forces act at another point than the centre of mass: r x F in body axes
            lift, drag, side = (self._sum(name, values) for name in ("LIFT", "DRAG", "SIDE"))
            beta = values[STATES["beta"]]
            along = lift * math.sin(alpha) - drag * math.cos(alpha)
            down = -lift * math.cos(alpha) - drag * math.sin(alpha)
            across = side * math.cos(beta) - drag * math.sin(beta)
            if axis == "PITCH":
                total += (self.above * along - self.aft * down) / self.chord
            else:
                total += (self.aft if axis == "YAW" else -self.above) * across / self.span
        return total

    def _sum(self, axis: str, values: dict[str, float]) -> float:
        size = {"ROLL": self.span, "YAW": self.span, "PITCH": self.chord}.get(axis, FOOT_M) / FOOT_M
        scale = values["aero/qbar-psf"] * values["metrics/Sw-sqft"] * size
        return sum(self._function(f, values) for f in self.axes.get(axis, [])) / scale

    def _function(self, function: Element, values: dict[str, float]) -> float:
        if id(function) in self._bad:
            return 0.0
        try:
            return self._value(function, values, 0)
        except Unknown as unknown:
            self._bad.add(id(function))
            self.missing.append(f"function '{function.get('name', '')}': {unknown}")
            return 0.0

    def _value(self, node: Element, values: Mapping[str, float], depth: int) -> float:
        if depth > DEEPEST:
            raise Unknown("it is nested too deeply")
        tag = node.tag
        if tag in ("value", "v"):
            return as_number(node.text or "0", f"{self.path}: <value>")
        if tag in ("property", "p"):
            return self._property((node.text or "").strip(), values, depth)
        if tag in ("table", "t"):
            return self._table(node, values, depth)
        inner = [
            self._value(child, values, depth + 1) for child in node if child.tag not in ("description", "documentation")
        ]
        if tag == "function":
            if len(inner) != 1:
                raise Unknown(f"it holds {len(inner)} expressions")
            return inner[0]
        if tag not in OPERATIONS or not inner:
            raise Unknown(f"<{tag}> is not understood")
        try:
            return float(OPERATIONS[tag](inner))
        except (ArithmeticError, ValueError) as error:
            raise Unknown(f"<{tag}>: {error}") from None

    def _property(self, name: str, values: Mapping[str, float], depth: int) -> float:
        sign = -1.0 if name.startswith("-") else 1.0
        name = name.lstrip("-")
        if name in values:
            return sign * values[name]
        if name in self.shared:
            return sign * self._value(self.shared[name], values, depth + 1)
        if name not in self._told and not name.startswith(("fcs/", "gear/")):
            self._told.add(name)
            self.missing.append(f"property '{name}': taken as 0")
        return 0.0

    def _table(self, node: Element, values: Mapping[str, float], depth: int) -> float:
        variables = [(v.get("lookup", "row"), (v.text or "").strip()) for v in node.findall("independentVar")]
        blocks = node.findall("tableData")
        if len(blocks) != 1 or not 1 <= len(variables) <= 2:
            raise Unknown("a table of three dimensions, or without its variables")
        at = {lookup: self._property(name, values, depth) for lookup, name in variables}
        rows = [
            [as_number(w, f"{self.path}: table") for w in line.split()] for line in (blocks[0].text or "").splitlines()
        ]
        rows = [row for row in rows if row]
        if len(variables) == 1:
            if not rows or any(len(row) != 2 for row in rows):
                raise Unknown("a table whose rows are not pairs")
            pairs = np.array(rows)
            return float(np.interp(at.get("row", next(iter(at.values()))), pairs[:, 0], pairs[:, 1]))
        if len(rows) < 2 or any(len(row) != len(rows[0]) + 1 for row in rows[1:]):
            raise Unknown("a table whose rows have different lengths")
        columns, lines = np.array(rows[0]), np.array(rows[1:])
        along = [np.interp(at.get("column", 0.0), columns, line[1:]) for line in lines]
        return float(np.interp(at.get("row", 0.0), lines[:, 0], along))

    # ------------------------------------------------------------------ coefficients

    def wing(self, mass: float) -> tuple[dict[str, float], float]:
        """The coefficients of Ironbird's wing, and a cruise speed in m/s."""
        lift = self.force("LIFT", ALPHA)
        if not lift > 0:
            raise VehicleError(f"{self.path}: its lift at an angle of attack of 3 degrees is {lift:g}: no plane")
        self.speed = math.sqrt(2 * mass * STANDARD_GRAVITY_MPS2 / (RHO * self.area * self.force("LIFT", ALPHA)))

        def slope(axis: str, name: str) -> float:
            def at(value: float) -> float:
                return self.force(axis, ALPHA + value) if name == "alpha" else self.force(axis, ALPHA, **{name: value})

            per = {"p": self.span, "r": self.span, "q": self.chord}.get(name)
            return (at(SMALL) - at(-SMALL)) / (2 * SMALL) / (per / (2 * self.speed) if per else 1.0)

        angles = np.radians(np.linspace(-2.0, 8.0, 11))
        lifts, drags = (np.array([self.force(axis, a) for a in angles]) for axis in ("LIFT", "DRAG"))
        parasitic, bend = np.linalg.lstsq(np.stack([np.ones(11), lifts**2], axis=1), drags, rcond=None)[0]
        aspect = self.span**2 / self.area
        # e = 1 / (pi AR k); a file whose drag does not grow with the lift gets the usual 0.9
        oswald = float(np.clip(1 / (math.pi * aspect * bend), 0.3, 1.2)) if bend > 1e-6 else 0.9
        wide = np.radians(np.linspace(0.0, 30.0, 121))
        curve = np.array([self.force("LIFT", a) for a in wide])
        stall = float(wide[int(curve.argmax())])
        if not 0.1 < stall < 0.5:
            self.missing.append("the angle of stall: none was found between 6 and 29 degrees")
            stall = 0.3
        coefficients = {
            "area_m2": self.area, "span_m": self.span, "chord_m": self.chord, "oswald": oswald,
            "stall_angle_rad": stall, "stall_rate_prad": 50.0,
            "CL_0": self.force("LIFT", ALPHA) - ALPHA * slope("LIFT", "alpha"), "CL_alpha": slope("LIFT", "alpha"),
            "CL_q": slope("LIFT", "q"), "CL_elevator": slope("LIFT", "elevator"),
            "CD_p": max(float(parasitic), 1e-3),
            "Cm_0": self.force("PITCH", ALPHA) - ALPHA * slope("PITCH", "alpha"), "Cm_alpha": slope("PITCH", "alpha"),
            "Cm_q": slope("PITCH", "q"), "Cm_elevator": slope("PITCH", "elevator"),
        }  # fmt: skip
        for ours, axis in (("CY", "SIDE"), ("Cl", "ROLL"), ("Cn", "YAW")):
            for name in ("beta", "p", "r", "aileron", "rudder"):
                coefficients[f"{ours}_{name}"] = slope(axis, name)
        return {key: float(f"{value:.6g}") for key, value in coefficients.items()}, self.speed


def _product(values: list[float]) -> float:
    return math.prod(values)


OPERATIONS: dict[str, Callable[[list[float]], float]] = {
    "product": _product, "sum": sum, "difference": lambda v: v[0] - sum(v[1:]), "quotient": lambda v: v[0] / v[1],
    "pow": lambda v: v[0] ** v[1], "abs": lambda v: abs(v[0]), "sin": lambda v: math.sin(v[0]),
    "cos": lambda v: math.cos(v[0]), "tan": lambda v: math.tan(v[0]), "min": min, "max": max,
    "sqrt": lambda v: math.sqrt(v[0]), "toradians": lambda v: math.radians(v[0]),
    "todegrees": lambda v: math.degrees(v[0]),
    "exp": lambda v: math.exp(v[0]), "avg": lambda v: sum(v) / len(v),
}  # fmt: skip
