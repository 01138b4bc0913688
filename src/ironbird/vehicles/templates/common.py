"""What vehicles on ground and water share: links to actuators, what the controller sees, what ends a run."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ironbird.blocks.actuators.command_latch import CommandLatch
from ironbird.blocks.controllers.navigator import FLY, ROWS
from ironbird.blocks.estimators.body_velocity import BodyVelocity
from ironbird.blocks.monitors.crash_detector import CrashDetector
from ironbird.blocks.sensors import products
from ironbird.blocks.sensors.signal_fault import SignalFault
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.vehicles.spec import Table, VehicleSpec
from ironbird.vehicles.templates.reference_autopilot import SAMPLE_S, Suite, add_senses
from ironbird.vehicles.templates.sensors import Products

MISSION_ITEMS = 16
NO_LIMIT = 1e3  # m/s: an impact that these vehicles do not have
# A fix counts as much as one of a white error of some times its size: wander is correlated over many of them.
POSITION_MARGIN = 3.0
SPEED_MARGIN = 3.0


class SensorTable(Table):
    """Which products tell position and height; those of `blocks/sensors/products.py`."""

    position: str = "ublox_m8n"
    height: str = "ms5611"


def mission_table(first: list[float]) -> list[list[float]]:
    """A mission of one item: north, east, down, yaw, hold time."""
    table = np.zeros((ROWS, MISSION_ITEMS))
    table[:, 0] = [*first, FLY]
    return [list(row) for row in table]


def add_link(diagram: Diagram, place: str, command: Port, sample_s: float) -> Handle:
    """The link between control system and actuator: one period, and a tap for its faults."""
    latch = diagram.add(f"{place}/command", CommandLatch(sample_s=sample_s))
    link = diagram.add(f"{place}/command_fault", SignalFault(1, "1", sample_s=sample_s))
    diagram.connect(command, latch.command)
    diagram.connect(latch.value, link.value_in)
    diagram.connect(latch.stamp, link.stamp_in)
    return link


def add_state(
    diagram: Diagram, spec: VehicleSpec, sensors: SensorTable, body: Handle, parts: Mapping[str, Handle],
    control_kind: str, *, start_height_m: float,
) -> dict[str, Port]:  # fmt: skip
    """What navigator and controller see, by the names of their ports: the true state, or what the senses make of it.

    With `reference` there is `ready` as well, and velocity through the water comes from a log.
    """
    wet = "v_water_B" in body
    names = ("p_NB_N", "v_NB_N", "v_NB_B", "R_NB", "w_NB_B", "euler", *(["v_water_B"] if wet else []))
    if control_kind == "truth":
        return {name: body[name] for name in names}
    suite = Suite(
        rangefinders=0, optical_flows=0, airspeeds=0, speed_logs=int(wet), gnss=1, magnetometers=1,
        products=Products(gnss=(sensors.position,), barometer=(sensors.height,)), noise=_trust(sensors.position),
    )  # fmt: skip
    senses = add_senses(diagram, body, parts, spec.home, suite, rotors=(), battery=None, start_height_m=start_height_m)
    estimator = senses.estimator
    velocity = diagram.add("body_velocity", BodyVelocity(sample_s=SAMPLE_S))
    seen = {name: estimator[name] for name in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B", "euler")}
    for port in ("v_NB_N", "R_NB"):
        diagram.connect(estimator[port], velocity[port])
    seen |= {"v_NB_B": velocity.v_NB_B, "ready": estimator.aligned}
    if senses.log is not None:
        seen["v_water_B"] = senses.log.value
    return seen


def _trust(position: str) -> dict[str, float]:
    """How far the estimator believes a source of position, and how old its fixes are."""
    params, timing = products.gnss_params(position), products.GNSS_TIMING[position]

    def of(name: str) -> float:
        return float(params.get(name, 0.0))  # type: ignore[arg-type]

    speed = math.sqrt(2 * of("noise_speed_horizontal") ** 2 + of("noise_speed_vertical") ** 2)
    return {
        "min_eph": POSITION_MARGIN * math.hypot(of("noise_horizontal"), of("wander_horizontal")),
        "min_epv": POSITION_MARGIN * math.hypot(of("noise_vertical"), of("wander_vertical")),
        "min_speed_accuracy": SPEED_MARGIN * speed,
        "gnss_delay": timing["delay_samples"] * timing["sample_s"],
    }


def connect_seen(diagram: Diagram, seen: Mapping[str, Port], *readers: Handle) -> None:
    """Connect what is seen to every input of that name."""
    for reader in readers:
        for name, port in seen.items():
            if name in reader:
                diagram.connect(port, reader[name])


def connect_ports(diagram: Diagram, source: Handle, target: Handle, *names: str) -> None:
    """Connect outputs to inputs of the same names."""
    for name in names:
        diagram.connect(source[name], target[name])


def add_monitor(
    diagram: Diagram, body: Handle, load: Port, *, max_distance_m: float, max_tilt_rad: float, sample_s: float
) -> Handle:
    """Stop when the vehicle is too far away or the mission is done; what tilt means is left to the template."""
    crash = diagram.add(
        "crash", CrashDetector(sample_s=sample_s), max_impact=NO_LIMIT, max_ground_tilt=max_tilt_rad,
        max_distance=max_distance_m,
    )  # fmt: skip
    connect_ports(diagram, body, crash, "p_NB_N", "v_NB_N", "R_NB")
    diagram.connect(load, crash.load)
    diagram.stop("out of bounds", crash.out_of_bounds)
    diagram.stop("mission completed", diagram.port("navigator.done"))
    return crash
