"""Parts shared by vehicles on ground and water: the state for the controller, and limits of a run."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationInfo, field_validator

from ironbird.blocks.estimators.body_velocity import BodyVelocity
from ironbird.blocks.monitors.crash_detector import CrashDetector
from ironbird.blocks.sensors.products import BAROMETERS, DEPTH_GAUGES, GNSS_TIMING
from ironbird.errors import UnknownNameError
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.vehicles import places as at
from ironbird.vehicles.spec import Table, VehicleSpec
from ironbird.vehicles.templates.reference_autopilot import SAMPLE_S, add_senses
from ironbird.vehicles.templates.sensors import Products, Suite
from ironbird.vehicles.templates.wiring import connect_ports

NO_LIMIT = 1e3  # m/s: these vehicles have no limit for impacts


class SensorTable(Table):
    """Products that measure position and height; names of `blocks/sensors/products.py`."""

    position: str = "ublox_m8n"
    height: str = "ms5611"

    @field_validator("position", "height")
    @classmethod
    def _is_known(cls, name: str, info: ValidationInfo) -> str:
        known = GNSS_TIMING if info.field_name == "position" else {**BAROMETERS, **DEPTH_GAUGES}
        if name not in known:
            raise ValueError(str(UnknownNameError("product", name, known)))
        return name


def add_state(
    diagram: Diagram,
    spec: VehicleSpec,
    sensors: SensorTable,
    body: Handle,
    parts: Mapping[str, Handle],
    control_kind: str,
    *,
    start_height_m: float,
) -> dict[str, Port]:
    """Signals for navigator and controller by port name: the true state, or the estimate from sensors.

    With `reference` there is `ready` as well, and velocity through the water comes from a log.
    """
    wet = "v_water_B" in body
    names = ("p_NB_N", "v_NB_N", "v_NB_B", "R_NB", "w_NB_B", "euler", *(["v_water_B"] if wet else []))
    if control_kind == "truth":
        return {name: body[name] for name in names}
    products = Products(gnss=(sensors.position,), barometer=(sensors.height,))
    suite = Suite(
        magnetometers=1,
        gnss=1,
        rangefinders=0,
        optical_flows=0,
        airspeeds=0,
        speed_logs=int(wet),
        products=products,
    )
    senses = add_senses(diagram, body, parts, spec.home, suite, rotors=(), battery=None, start_height_m=start_height_m)
    estimator = senses.estimator
    velocity = diagram.add("body_velocity", BodyVelocity(sample_s=SAMPLE_S))
    seen = {name: estimator[name] for name in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B", "euler")}
    connect_ports(diagram, estimator, velocity, "v_NB_N", "R_NB")
    seen |= {"v_NB_B": velocity.v_NB_B, "ready": estimator.aligned}
    if senses.log is not None:
        seen["v_water_B"] = senses.log.value
    return seen


def add_monitor(
    diagram: Diagram, body: Handle, load: Port, *, max_distance_m: float, max_tilt_rad: float, sample_s: float
) -> Handle:
    """Stop when the vehicle is too far away or the mission is done; the template connects the tilt."""
    limits = {"max_impact": NO_LIMIT, "max_ground_tilt": max_tilt_rad, "max_distance": max_distance_m}
    crash = diagram.add(at.CRASH.path, CrashDetector(sample_s=sample_s), **limits)
    connect_ports(diagram, body, crash, "p_NB_N", "v_NB_N", "R_NB")
    diagram.connect(load, crash.load)
    diagram.stop("out of bounds", crash.out_of_bounds)
    diagram.stop("mission completed", diagram.port(at.NAVIGATOR.done))
    return crash
