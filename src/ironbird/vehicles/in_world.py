"""A vehicle in a world: its hull, contact with obstacles, and the ground of the world.

A vehicle that flies without a world has none of these parts. Nearby shapes are inputs of the model, updated a few
hundred times a second; the contact itself is computed at the kernel's step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ironbird.blocks.environment.external_wind import ExternalWind
from ironbird.blocks.environment.surveyed_ground import SurveyedGround
from ironbird.blocks.forces.main_rotor import MainRotor
from ironbird.blocks.forces.obstacle_contact import ObstacleContact
from ironbird.blocks.monitors.clearance import Clearance
from ironbird.blocks.monitors.pose_sample import PoseSample
from ironbird.blocks.monitors.thrust_sample import ThrustSample
from ironbird.blocks.power.crash_damage import CrashDamage
from ironbird.blocks.sensors.sight import WorldSensor
from ironbird.model.diagram import Diagram
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle

SLOTS = 3  # number of nearest shapes that a vehicle may touch at once
STEP_S = 1e-3  # s, the kernel's step
WATCH_S = 0.005  # s between two computations of the distance
DAMAGE_S = 0.01  # s, as for the battery
MOST_BALLS = 6  # limit of balls: more cost compile time
BLADE_SHARE = 0.63  # propeller radius over arm length if unknown: neighbours of a square just do not touch
# rad/s, contact frequency of the vehicle's mass on one ball: an impact of 5 m/s compresses it by 5 cm
CONTACT_RADPS = 100.0
GRIP_DAMPING_RATIO = 0.3
# Parameters that give the size of a vehicle: path, axis, and the vehicle's length over this parameter
SIZES = (
    (at.WING("span"), 1, 1.0), ("cross_flow.length", 0, 1.0), ("wind_loads.length", 0, 1.0),
    ("wave_loads.length", 0, 1.0), ("wave_loads.beam", 1, 1.0), (at.CONTROL("wheelbase"), 0, 1.6),
    (at.BODY("track"), 1, 1.2), (at.BODY("track"), 2, 0.8), (at.BODY("track"), 0, 1.2),
    (at.BODY("wheel_separation"), 0, 1.2), (at.BODY("wheel_separation"), 1, 1.2), (at.BODY("wheel_separation"), 2, 0.8),
)  # fmt: skip
SMALLEST_M = 0.02
GROUND_INPUTS = {"surveyed_place": "place", "surveyed_z": "z", "surveyed_slope": "slope"}
SIGHT_INPUTS = ("told_range", "told_valid", "told_stamp", "told_samples")


@dataclass(frozen=True)
class Hull:
    """Cuboid around a vehicle in body axes, and the balls that fill it."""

    centre_m: tuple[float, float, float]
    half_m: tuple[float, float, float]

    @property
    def radius_m(self) -> float:
        """Radius in m of the balls: the smallest with which `MOST_BALLS` fill the hull and its thinnest side."""
        least = min(self.half_m)
        sizes = sorted({h / n for h in self.half_m for n in range(1, MOST_BALLS + 1) if h / n >= least} | {least})
        return next(r for r in sizes if math.prod(self._counts(r)) <= MOST_BALLS)

    def _counts(self, radius_m: float) -> list[int]:
        return [max(1, math.ceil(h / radius_m - 1e-9)) for h in self.half_m]

    def balls_m(self) -> np.ndarray:
        """Centres of the balls in m, (3, n); balls thicker than the hull are aligned with its lower side."""
        r = self.radius_m
        sides = []
        for axis, (half, count) in enumerate(zip(self.half_m, self._counts(r), strict=True)):
            reach = half - r if count > 1 else 0.0
            low = half - r if axis == 2 and count == 1 else 0.0
            sides.append(self.centre_m[axis] + low + np.linspace(-reach, reach, count))
        return np.array(list(itertools.product(*sides))).T

    @property
    def level_reach_m(self) -> float:
        """Half of the diagonal of the hull's plan in m."""
        return float(max(self.half_m[0], self.half_m[1]) * np.sqrt(2.0))

    @property
    def reach_m(self) -> float:
        """Largest distance in m of the hull from the centre of mass."""
        return float(np.linalg.norm(np.abs(self.centre_m) + self.half_m))


def hull_of(diagram: Diagram) -> Hull:
    """Hull around landing gear, rotors with their blades, wings, and a solid box of the same mass and inertia."""
    known = set(diagram.param_paths())
    high = np.full(3, SMALLEST_M)
    if at.BODY("inertia") in known:
        inertia = diagram.value(at.BODY("inertia")).reshape(3, 3).diagonal()
        if inertia.min() > 0:  # half sizes of a solid box with this inertia
            mass = float(diagram.value(at.BODY.mass)[0])
            high = np.sqrt(np.maximum(1.5 * (inertia.sum() - 2 * inertia) / mass, SMALLEST_M**2))
    low = -high

    def around(points: np.ndarray, more_m: float = 0.0) -> None:
        reach = np.array([more_m, more_m, 0.0])
        low[:] = np.minimum(low, (points - reach).min(axis=0))
        high[:] = np.maximum(high, (points + reach).max(axis=0))

    if at.CONTACT("points") in known:
        around(diagram.value(at.CONTACT("points")).reshape(-1, 3))
        high[2] = diagram.value(at.CONTACT("points")).reshape(-1, 3)[:, 2].max()  # it stands on its gear
    places = [rotor.propeller("position") for rotor in at.each(at.rotor, diagram.blocks)]
    rotors = np.array([diagram.value(path) for path in places if path in known]).reshape(-1, 3)
    if len(rotors) > 1:
        around(rotors, BLADE_SHARE * float(np.median(np.linalg.norm(rotors[:, :2], axis=1))))
    for path, axis, share in SIZES:
        if path in known:
            half = share * float(diagram.value(path)[0]) / 2
            low[axis], high[axis] = min(low[axis], -half), max(high[axis], half)
    centre, size = (low + high) / 2, (high - low) / 2
    return Hull(tuple(map(float, centre)), tuple(map(float, size)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Rotor:
    """A rotor of known size, in body axes."""

    propeller: at.Part
    hub_m: np.ndarray
    axis: np.ndarray  # direction of thrust
    diameter_m: float


def rotors_of(diagram: Diagram) -> list[Rotor]:
    """Rotors whose wake can be computed: those of multicopters with given diameters, the main one of helicopters.

    Propellers of fixed wings and tail rotors, which blow along the horizon, are left out.
    """
    propellers, known = [rotor.propeller for rotor in at.each(at.rotor, diagram.blocks)], set(diagram.param_paths())
    if at.WAKES("diameters") in known:
        sizes = diagram.value(at.WAKES("diameters"))
        hubs, axes = (diagram.value(at.WAKES(name)).reshape(-1, 3) for name in ("positions", "axes"))
        return [Rotor(*rotor) for rotor in zip(propellers, hubs, axes, map(float, sizes), strict=False)]
    return [
        Rotor(
            part,
            diagram.value(part("position")),
            np.array([0.0, 0.0, -1.0]),
            2 * float(diagram.value(part("radius"))[0]),
        )
        for part in propellers
        if isinstance(diagram.block(part.path), MainRotor)
    ]


def put_in_world(vehicle: Vehicle, sights: Sequence[str] = (), *, wake: bool = False, lee: bool = False) -> Vehicle:
    """The same vehicle with a hull, in a world that reports by inputs what is near (`world/…`).

    It also has the sensors of the world with these names (`sight/…`). With `wake` it gets the air that other
    vehicles' rotors move, and holds the thrust of its own for them. With `lee` it gets how buildings change the
    steady wind.
    """
    diagram = vehicle.diagram.subset(vehicle.diagram.blocks)
    hull = hull_of(diagram)
    balls = hull.balls_m()
    count = balls.shape[1]
    body = {name: diagram.port(at.BODY(name)) for name in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B")}

    pose = diagram.add(at.POSE.path, PoseSample(sample_s=STEP_S))
    shape = {"radius": hull.radius_m, "centres": balls.tolist()}
    watch = diagram.add(at.CLEARANCE.path, Clearance(count, SLOTS, sample_s=WATCH_S), **shape)
    for name in ("others_distance", "others_hit"):
        diagram.export(watch[name], at.CLEARANCE(name))
    users = [watch]
    if "force_B" in diagram.block(at.BODY.path).inputs:
        stiffness = float(diagram.value(at.BODY.mass)[0]) * CONTACT_RADPS**2
        contact = diagram.add(
            at.OBSTACLES.path,
            ObstacleContact(count, SLOTS),
            stiffness=stiffness,
            grip_stiffness=stiffness,
            grip_damping=2 * GRIP_DAMPING_RATIO * stiffness / CONTACT_RADPS,
            **shape,
        )
        diagram.connect(watch.near, contact.near)
        for name in ("force_B", "moment_B"):
            diagram.connect(contact[name], diagram.port(at.BODY(name)))
        users.append(contact)
    for part in users:
        for name in ("slots", "stamp"):
            diagram.export(part[name], part[name].path)
    for part in (pose, *users):
        for name, port in body.items():
            if name in part:
                diagram.connect(port, part[name])
    diagram.stop("collision", watch.collision)
    _break_rotors(diagram)
    _survey_ground(diagram)
    for name in sights:
        sensor = diagram.add(at.sight(name).path, WorldSensor())
        for input_name in SIGHT_INPUTS:
            diagram.export(sensor[input_name], sensor[input_name].path)
    if lee:
        _add_external_wind(diagram, at.LEE)
    if wake:
        _add_wakes(diagram)
    return replace(vehicle, diagram=diagram)


def with_wakes(vehicle: Vehicle) -> Vehicle:
    """A vehicle on flat ground that feels the wakes of others (input `WASH`) and reports the thrust of its rotors."""
    diagram = vehicle.diagram.copied()
    _add_wakes(diagram)
    return replace(vehicle, diagram=diagram)


def _add_external_wind(diagram: Diagram, part: at.Part) -> bool:
    """Add an external part of the wind to the vehicle's air; False under water or if no part is affected by the air."""
    if at.AIR.path not in diagram.blocks:
        return False
    wind = diagram.add(part.path, ExternalWind())
    diagram.export(wind.told_N, part("told_N"))
    diagram.connect(wind.wind_N, diagram.port(at.AIR("wind_N")))
    return True


def _add_wakes(diagram: Diagram) -> None:
    """Add the wind of other vehicles' wakes, and hold the thrust of the own rotors for the other vehicles."""
    if not _add_external_wind(diagram, at.WASH):
        return
    rotors = rotors_of(diagram)
    if rotors:
        held = diagram.add(at.THRUSTS.path, ThrustSample(len(rotors), sample_s=STEP_S))
        diagram.connect(diagram.port(at.ATMOSPHERE("density")), held.density)
        diagram.connect(diagram.port(at.AIR.velocity), held.v_air_B)
        for number, rotor in enumerate(rotors, start=1):
            diagram.connect(diagram.port(rotor.propeller("thrust")), held[f"thrust_{number}"])


def _break_rotors(diagram: Diagram) -> None:
    """Make rotors that the battery feeds lose their voltage in a collision, if `damage_speed` allows it."""
    feeds = [(rotor.motor("voltage_ratio"), rotor.propeller("position")) for rotor in at.each(at.rotor, diagram.blocks)]
    known = set(diagram.param_paths())
    fed = [(target, place) for target, place in feeds if diagram.links.get(target) and place in known]
    if not fed:
        return
    sources = {tuple(diagram.links[target]) for target, _ in fed}
    if len(sources) != 1:  # several batteries
        return
    positions = np.array([diagram.value(place) for _, place in fed]).T
    damage = diagram.add(at.DAMAGE.path, CrashDamage(len(fed), sample_s=DAMAGE_S), positions=positions.tolist())
    diagram.connect(diagram.port(sources.pop()[0]), damage.voltage_ratio)
    watch = diagram.port(at.CLEARANCE("broken")), diagram.port(at.CLEARANCE("away_B"))
    diagram.connect(watch[0], damage.broken)
    diagram.connect(watch[1], damage.away_B)
    for number, (target, _) in enumerate(fed, start=1):
        del diagram.links[target]
        diagram.connect(damage[f"voltage_{number}"], diagram.port(target))


def _survey_ground(diagram: Diagram) -> None:
    """Take the height of the ground from the world instead of the analytic terrain."""
    if at.TERRAIN.path not in diagram.blocks:
        return
    old = diagram.block(at.TERRAIN.path)
    diagram.blocks[at.TERRAIN.path] = SurveyedGround(sample_s=old.sample_s, offset_s=old.offset_s)
    diagram.values = {path: v for path, v in diagram.values.items() if not path.startswith(at.TERRAIN(""))}
    for name in GROUND_INPUTS:
        diagram.export(diagram.port(at.TERRAIN(name)), at.TERRAIN(name))
