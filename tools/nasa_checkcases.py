"""NASA/NESC check cases of six-degree-of-freedom simulation, flown with Ironbird's own blocks [NESC2015].

NASA had seven cases with an atmosphere flown by up to six of its simulation tools and published the time histories.
This module builds the same cases from blocks, flies them and says how far Ironbird is from each tool, beside how far
the tools are from each other. The time histories are not part of the package: the caller names their folder.

What counts as agreement. For each quantity, over the whole run:
  residual to a tool   the largest distance of Ironbird from that tool
  spread               the largest distance between two tools
  floor                what the files cannot show: 1e-12 of the largest value (twelve digits are printed), or 1e-12
Ironbird is *within* when its residual to the nearest tool is not larger than the spread, or than the floor where the
tools agree better than they print. The first row is left out for airspeed and aerodynamic force: some tools print zeros
there, before their first evaluation of the wind.
"""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ironbird.blocks.bodies.rigid_body_wgs84 import RigidBodyWgs84
from ironbird.blocks.environment.air_data import AirData
from ironbird.blocks.environment.atmosphere_isa import AtmosphereIsa
from ironbird.blocks.environment.gravity import GravityWgs84
from ironbird.blocks.environment.wind_steady import WindSteady
from ironbird.blocks.forces.airframe_drag import AirframeDrag
from ironbird.compiler.compiled import compile_model
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import RunError, UnknownNameError
from ironbird.model.block import Block, Values, View
from ironbird.model.diagram import Diagram
from ironbird.model.signal import In, Out, Param
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.units import FOOT_M, KNOT_MPS
from ironbird.vehicles import places as at

POUND_N = 0.45359237 * STANDARD_GRAVITY_MPS2
SLUG_KG = POUND_N / FOOT_M
SLUG_FT2 = SLUG_KG * FOOT_M**2  # kg m^2
SQUARE_FOOT = FOOT_M**2
RANKINE_K = 5 / 9

STEP_S = 1e-3
ROW_S = 0.1  # distance of the rows in the files
END_S = 30.0
PRINTED = 1e-12  # the finest tools print twelve digits and more

# models/cannonball_*.dml and models/brick_*.dml
SPHERE_MASS_KG, SPHERE_INERTIA = 1.0 * SLUG_KG, (3.6 * SLUG_FT2,) * 3
SPHERE_AREA_M2, SPHERE_DRAG = 0.1963495 * SQUARE_FOOT, 0.1
BRICK_MASS_KG = 0.155404754 * SLUG_KG
BRICK_INERTIA = (0.00189422 * SLUG_FT2, 0.006211019 * SLUG_FT2, 0.007194665 * SLUG_FT2)
BRICK_AREA_M2, BRICK_SPAN_M, BRICK_CHORD_M = 0.22222 * SQUARE_FOOT, 0.33333 * FOOT_M, 0.66667 * FOOT_M
REFERENCE_DENSITY = 1.225


class RateDamping(Block):
    """Damping in proportion to the rates: C_l = C_lp p b / (2 V) and so on, as moments.

    brick_aero.dml of the check cases. With a dynamic pressure of rho V^2 / 2 the speed is left once, so that the
    moment is zero at rest. The rates are those in inertial space: tool 04's moments are these to ten digits. Rates
    against the air, which turns with the earth, differ by 0.004 deg/s.
    """

    source = "[NESC2015] brick_aero.dml"

    w_IB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity in inertial space")
    airspeed = In(unit="m/s", doc="speed through the air")
    density = In(unit="kg/m^3", doc="air density")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    area = Param(unit="m^2", low=0.0, doc="S")
    length = Param(unit="m", shape=3, low=0.0, doc="b, c, b")
    coefficient = Param(unit="1", shape=3, doc="C_lp, C_mq, C_nr")

    def output(self, x: View, u: View, p: View) -> Values:
        scale = 0.25 * u.density * u.airspeed * p.area
        return {"moment_B": scale * p.coefficient * p.length**2 * u.w_IB_B}


class WindLinear(Block):
    """Wind that changes in proportion to height, as case 8 asks."""

    source = "[NESC2015] case 8"

    height = In(unit="m", doc="above the ellipsoid")
    wind_N = Out(unit="m/s", shape=3, frame="N", doc="velocity of the air")
    ground_N = Param(unit="m/s", shape=3, frame="N", doc="at height zero")
    gradient_N = Param(unit="m/s/m", shape=3, frame="N", doc="change per metre of height")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"wind_N": p.ground_N + p.gradient_N * u.height}


@dataclass(frozen=True)
class Case:
    """One check case: the vehicle, the start and the wind; angles in degrees as NASA gives them."""

    number: int
    title: str
    verifies: str
    vehicle: str  # sphere, brick
    drag: float = 0.0
    damping: float = 0.0
    height_ft: float = 30000.0
    v_N_ftps: tuple[float, float, float] = (0.0, 0.0, 0.0)
    w_IB_B_degps: tuple[float, float, float] | None = (0.0, 0.0, 0.0)  # None: turns with the earth
    wind_east_ftps: tuple[float, float] = (0.0, 0.0)  # at height zero and at 30,000 ft


CASES: dict[int, Case] = {
    case.number: case
    for case in (
        Case(1, "dropped sphere without drag", "gravitation, motion over the rotating ellipsoid", "sphere"),
        Case(
            2,
            "tumbling brick without damping",
            "rotation of a body with three inertias",
            "brick",
            w_IB_B_degps=(10.0, 20.0, 30.0),
        ),
        Case(
            3,
            "tumbling brick with damping",
            "rotation with rate damping",
            "brick",
            damping=-1.0,
            w_IB_B_degps=(10.0, 20.0, 30.0),
        ),
        Case(6, "dropped sphere with drag", "atmosphere and drag", "sphere", drag=SPHERE_DRAG),
        Case(
            7,
            "dropped sphere in steady wind",
            "steady wind from the west",
            "sphere",
            drag=SPHERE_DRAG,
            wind_east_ftps=(20.0, 20.0),
        ),
        Case(
            8,
            "dropped sphere in sheared wind",
            "wind that changes with height",
            "sphere",
            drag=SPHERE_DRAG,
            wind_east_ftps=(-20.0, 70.0),
        ),
        Case(
            10,
            "sphere thrown northwards",
            "Coriolis acceleration, drag at Mach 1.3",
            "sphere",
            drag=SPHERE_DRAG,
            height_ft=0.0,
            v_N_ftps=(1000.0, 0.0, -1000.0),
            w_IB_B_degps=None,
        ),
    )
}


@dataclass(frozen=True)
class Quantity:
    """What is compared: its name, the column in the files, and both in the unit shown."""

    name: str
    unit: str
    column: str
    signal: str
    index: int | None = None
    column_scale: float = 1.0  # file to shown unit
    signal_scale: float = 1.0  # Ironbird to shown unit
    is_angle: bool = False
    first_row: int = 0


_DEG = 180 / math.pi
LENGTH = -1  # index that stands for the size of a vector


def _vector(
    name: str,
    unit: str,
    columns: tuple[str, str, str],
    signal: str,
    column_scale: float = 1.0,
    signal_scale: float = 1.0,
    is_angle: bool = False,
    first_row: int = 0,
    axes: tuple[str, str, str] = ("x", "y", "z"),
) -> list[Quantity]:
    return [
        Quantity(f"{name} {axis}", unit, column, signal, i, column_scale, signal_scale, is_angle, first_row)
        for i, (axis, column) in enumerate(zip(axes, columns, strict=True))
    ]


QUANTITIES: tuple[Quantity, ...] = (
    Quantity("altitude", "m", "altitudeMsl_ft", "body.height", column_scale=FOOT_M),
    Quantity("latitude", "deg", "latitude_deg", "body.latitude", signal_scale=_DEG),
    Quantity("longitude", "deg", "longitude_deg", "body.longitude", signal_scale=_DEG),
    *_vector(
        "velocity", "m/s", ("feVelocity_ft_s_X", "feVelocity_ft_s_Y", "feVelocity_ft_s_Z"), at.BODY.velocity, FOOT_M,
        axes=("north", "east", "down"),
    ),
    *_vector(
        "Euler angle", "deg", ("eulerAngle_deg_Roll", "eulerAngle_deg_Pitch", "eulerAngle_deg_Yaw"), at.BODY.euler,
        signal_scale=_DEG, is_angle=True, axes=("roll", "pitch", "yaw"),
    ),
    *_vector(
        "body rate", "deg/s",
        ("bodyAngularRateWrtEi_deg_s_Roll", "bodyAngularRateWrtEi_deg_s_Pitch", "bodyAngularRateWrtEi_deg_s_Yaw"),
        "body.w_IB_B", signal_scale=_DEG, axes=("roll", "pitch", "yaw"),
    ),
    Quantity("gravitation", "m/s^2", "localGravity_ft_s2", "gravity.gravitation_N", LENGTH, FOOT_M),
    Quantity("density", "kg/m^3", "airDensity_slug_ft3", "atmosphere.density", column_scale=SLUG_KG / FOOT_M**3),
    Quantity("pressure", "Pa", "ambientPressure_lbf_ft2", "atmosphere.pressure", column_scale=POUND_N / SQUARE_FOOT),
    Quantity("temperature", "K", "ambientTemperature_dgR", "atmosphere.temperature", column_scale=RANKINE_K),
    Quantity("speed of sound", "m/s", "speedOfSound_ft_s", "atmosphere.speed_of_sound", column_scale=FOOT_M),
    Quantity("airspeed", "m/s", "trueAirspeed_nmi_h", at.AIR.airspeed, column_scale=KNOT_MPS, first_row=1),
    *_vector(
        "aerodynamic force", "N", ("aero_bodyForce_lbf_X", "aero_bodyForce_lbf_Y", "aero_bodyForce_lbf_Z"),
        "drag.force_B", POUND_N, first_row=1,
    ),
    *_vector(
        "aerodynamic moment", "N m",
        ("aero_bodyMoment_ftlbf_L", "aero_bodyMoment_ftlbf_M", "aero_bodyMoment_ftlbf_N"), "damping.moment_B",
        POUND_N * FOOT_M,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Residual:
    """How far Ironbird and the tools are apart in one quantity of one case."""

    case: int
    quantity: Quantity
    to_tool: dict[int, float]  # largest distance of Ironbird from each tool
    spread: float  # largest distance between two tools
    floor: float  # what the files cannot show

    @property
    def nearest(self) -> float:
        """Largest distance from the nearest tool."""
        return min(self.to_tool.values())

    @property
    def within(self) -> bool:
        """Whether Ironbird is not farther from a tool than the tools are from each other."""
        return self.nearest <= max(self.spread, self.floor)


def build(case: Case) -> Diagram:
    """The case as a diagram."""
    sphere = case.vehicle == "sphere"
    diagram = Diagram(f"nasa_case_{case.number:02d}")
    rates = None if case.w_IB_B_degps is None else [math.radians(w) for w in case.w_IB_B_degps]
    height_m, v_N = case.height_ft * FOOT_M, [v * FOOT_M for v in case.v_N_ftps]
    begin = RigidBodyWgs84.initial(latitude=0.0, longitude=0.0, height=height_m, v_N=v_N, w_IB_B=rates)
    mass_kg, inertia = (SPHERE_MASS_KG, SPHERE_INERTIA) if sphere else (BRICK_MASS_KG, BRICK_INERTIA)
    body = diagram.add("body", RigidBodyWgs84(), mass=mass_kg, inertia=np.diag(inertia).tolist(), **begin)
    gravity = diagram.add("gravity", GravityWgs84())
    atmosphere = diagram.add("atmosphere", AtmosphereIsa())
    air = diagram.add("air", AirData())
    ground, top = (speed * FOOT_M for speed in case.wind_east_ftps)
    if ground == top:
        wind = diagram.add("wind", WindSteady(), velocity_N=[0.0, ground, 0.0])
    else:
        gradient = (top - ground) / (30000.0 * FOOT_M)
        wind = diagram.add("wind", WindLinear(), ground_N=[0.0, ground, 0.0], gradient_N=[0.0, gradient, 0.0])
        diagram.connect(body.height, wind.height)
    area = SPHERE_AREA_M2 if sphere else BRICK_AREA_M2
    factor = 0.5 * REFERENCE_DENSITY * area * case.drag
    drag = diagram.add("drag", AirframeDrag(), drag=factor, damping=0.0, reference_density=REFERENCE_DENSITY)
    lengths = [BRICK_SPAN_M, BRICK_CHORD_M, BRICK_SPAN_M]
    damping = diagram.add("damping", RateDamping(), area=area, length=lengths, coefficient=case.damping)
    diagram.connect(body.latitude, gravity.latitude)
    diagram.connect(body.height, gravity.height, atmosphere.height)
    diagram.connect(gravity.gravity_N, body.gravity_N)
    diagram.connect(wind.wind_N, air.wind_N)
    diagram.connect(body.v_NB_B, air.v_NB_B)
    diagram.connect(body.R_NB, air.R_NB)
    diagram.connect(air.v_air_B, drag.v_air_B)
    diagram.connect(body.w_NB_B, drag.w_NB_B)
    diagram.connect(body.w_IB_B, damping.w_IB_B)
    diagram.connect(air.airspeed, damping.airspeed)
    diagram.connect(atmosphere.density, drag.density, damping.density)
    diagram.connect(drag.force_B, body.force_B)
    diagram.connect(drag.moment_B, body.moment_B)
    diagram.connect(damping.moment_B, body.moment_B)
    return diagram


@functools.cache
def fly(number: int) -> dict[str, np.ndarray]:
    """All quantities of a case over time, at the rows of the files, in the units shown."""
    if number not in CASES:
        raise UnknownNameError("check case", str(number), [str(n) for n in CASES])
    model = compile_model(build(CASES[number]), step_s=STEP_S)
    log = run(start(model), END_S + STEP_S, log_s=ROW_S)
    values: dict[str, np.ndarray] = {}
    for quantity in QUANTITIES:
        signal = log[quantity.signal]
        if quantity.index == LENGTH:
            signal = np.linalg.norm(signal, axis=1)
        elif quantity.index is not None:
            signal = signal[:, quantity.index]
        values[quantity.name] = signal * quantity.signal_scale
    return values


def read(folder: Path, number: int) -> dict[int, dict[str, np.ndarray]]:
    """The published time histories of a case, by tool and column, in NASA's units."""
    tools: dict[int, dict[str, np.ndarray]] = {}
    for path in sorted(folder.glob(f"Atmos_{number:02d}_*/Atmos_{number:02d}_sim_*.csv")):
        with path.open(encoding="utf-8-sig") as handle:
            rows = list(csv.reader(handle))
        table = np.array(rows[1:], dtype=float)
        tools[int(path.stem[-2:])] = {name: table[:, i] for i, name in enumerate(rows[0])}
    if len(tools) < 2:
        raise RunError(f"no time histories of check case {number} in {folder}")
    return tools


def residuals(folder: Path, number: int) -> list[Residual]:
    """Ironbird against every tool, and the tools against each other, for each quantity that two tools give."""
    own, tools = fly(number), read(folder, number)
    found: list[Residual] = []
    for quantity in QUANTITIES:
        theirs = {
            tool: columns[quantity.column] * quantity.column_scale
            for tool, columns in tools.items()
            if quantity.column in columns
        }
        if len(theirs) >= 2:
            found.append(_compare(number, quantity, own[quantity.name], theirs))
    return found


def _compare(number: int, quantity: Quantity, own: np.ndarray, theirs: Mapping[int, np.ndarray]) -> Residual:
    def distance(a: np.ndarray, b: np.ndarray) -> float:
        gap = (a - b)[quantity.first_row :]
        if quantity.is_angle:
            gap = (gap + 180.0) % 360.0 - 180.0
        return float(np.abs(gap).max())

    tools = list(theirs)
    spread = max(distance(theirs[a], theirs[b]) for i, a in enumerate(tools) for b in tools[i + 1 :])
    largest = max(float(np.abs(values).max()) for values in theirs.values())
    to_tool = {tool: distance(own, values) for tool, values in theirs.items()}
    return Residual(number, quantity, to_tool, spread, floor=PRINTED * max(1.0, largest))
