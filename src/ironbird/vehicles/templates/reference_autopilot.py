"""Sensors of the reference autopilot with fault taps, voting, and estimation (S_sens, part of S_ctrl).

The estimator's noise parameters are not in a vehicle's file: they follow from the sensor products
(`estimator_noise.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ironbird.blocks.environment.magnetic_wmm import local_field
from ironbird.blocks.estimators.battery_gauge import BatteryGauge
from ironbird.blocks.estimators.ekf import ErrorStateEkf
from ironbird.blocks.estimators.field_voter import FieldVoter
from ironbird.blocks.estimators.gnss_voter import GNSS, GnssVoter
from ironbird.blocks.estimators.imu_voter import ImuVoter
from ironbird.blocks.estimators.pitot_airspeed import PitotAirspeed
from ironbird.blocks.estimators.selector import BAROMETER, Selector, numbered
from ironbird.blocks.estimators.start_height import StartHeight
from ironbird.model.block import Block
from ironbird.model.diagram import Diagram, Handle
from ironbird.model.signal import Number
from ironbird.vehicles import places as at
from ironbird.vehicles.estimators import estimator_class
from ironbird.vehicles.spec import Home
from ironbird.vehicles.templates.estimator_noise import filter_noise, shares_speed_errors
from ironbird.vehicles.templates.sensors import AIRSPEED_SAMPLE_S, BATTERY_SAMPLE_S, Suite, add_sensors
from ironbird.vehicles.templates.wiring import connect_ports

SAMPLE_S = 0.004
VOTE_SAMPLE_S = 0.02  # s, of all voters except that of the inertial units
GNSS_QUALITY = ("fix_type", "eph", "epv", "speed_accuracy")  # signals of a receiver; the voter's ports are `gnss_...`


@dataclass(frozen=True)
class Senses:
    """Sensors and estimator to which controller and navigator are connected."""

    estimator: Handle
    gauge: Handle | None
    log: Handle | None = None  # velocity through the water, after its tap
    rotors: tuple[Handle, ...] = ()  # telemetry of their speeds


def add_senses(
    diagram: Diagram,
    body: Handle,
    parts: Mapping[str, Handle],
    home: Home,
    suite: Suite,
    *,
    rotors: Sequence[Handle],
    battery: Handle | None,
    start_height_m: float,
) -> Senses:
    """Add sensors, voters and the estimator."""
    sensors = add_sensors(diagram, body, parts, suite, rotors=rotors, battery=battery)
    imu = diagram.add(at.IMU_VOTER.path, ImuVoter(suite.imus, sample_s=SAMPLE_S))
    for i, (accel, gyro) in enumerate(zip(sensors["accel"], sensors["gyro"], strict=True), start=1):
        diagram.connect(accel.value, imu[f"accel_{i}_B"])
        diagram.connect(gyro.value, imu[f"gyro_{i}_B"])
        diagram.connect(gyro.stamp, imu[f"stamp_{i}"])
    field = local_field(home.latitude_rad, home.longitude_rad, home.height_m, home.year)["field_home"]
    compasses = FieldVoter(suite.magnetometers, sample_s=VOTE_SAMPLE_S)
    mag = diagram.add(at.MAGNETOMETER_VOTER.path, compasses, threshold=3e-5, field_0=field)
    for i, tap in enumerate(sensors["mag"]):
        diagram.connect(tap.value, mag[numbered("mag_B", i)])
        diagram.connect(tap.stamp, mag[f"stamp_{i + 1}"])
    voter = Selector(suite.barometers, BAROMETER, sample_s=VOTE_SAMPLE_S)
    baro = diagram.add(at.BAROMETER_VOTER.path, voter, threshold=30.0)
    for i, altitude in enumerate(sensors["baro_altitude"]):
        place = at.barometer(i + 1).height.path
        height = diagram.add(place, StartHeight(sample_s=VOTE_SAMPLE_S), height_0=start_height_m)
        diagram.connect(altitude.value, height.altitude)
        diagram.connect(altitude.stamp, height.stamp_in)
        diagram.connect(height.baro_height, baro[numbered("baro_height", i)])
        diagram.connect(height.stamp, baro[f"stamp_{i + 1}"])
    gnss = diagram.add(at.GNSS_VOTER.path, GnssVoter(suite.gnss, sample_s=VOTE_SAMPLE_S))
    for i, chip in enumerate(sensors["gnss"]):
        diagram.connect(sensors["gnss_position"][i].value, gnss[numbered("gnss_position_N", i)])
        diagram.connect(sensors["gnss_velocity"][i].value, gnss[numbered("gnss_velocity_N", i)])
        diagram.connect(sensors["gnss_position"][i].stamp, gnss[f"stamp_{i + 1}"])
        diagram.connect(sensors["gnss_velocity"][i].stamp, gnss[f"velocity_stamp_{i + 1}"])
        for name in GNSS_QUALITY:
            diagram.connect(chip[name], gnss[numbered(f"gnss_{name.removesuffix('_type')}", i)])
    trust: dict[str, Number] = {}
    block: Block = estimator_class(suite.estimator)(sample_s=SAMPLE_S)
    sees = bool(sensors["flow"] and sensors["range"])
    if suite.estimator == "ekf":
        lever_arm = any(suite.imu_position_B_m)
        trust = filter_noise(suite, field, shakes=bool(rotors))
        block = ErrorStateEkf(
            sample_s=SAMPLE_S, lever_arm=lever_arm, optical_flow=sees, in_motion=suite.starts_in_motion,
            speed_wander=shares_speed_errors(suite), airspeed=suite.finds_wind,
        )  # fmt: skip
        if lever_arm:
            trust["imu_position"] = list(suite.imu_position_B_m)
    start = [0.0, 0.0, -start_height_m]
    estimator = diagram.add(at.ESTIMATOR.path, block, field_0=field, position_0=start, **trust)
    used = ((imu, ("accel_B", "gyro_B")), (mag, ("mag_B",)), (baro, ("baro_height",)), (gnss, tuple(GNSS)))
    for source, ports in used:
        connect_ports(diagram, source, estimator, *(port for port in ports if port in estimator))
    status = {
        "imu_stamp": imu.stamp, "imu_healthy": imu.healthy, "mag_stamp": mag.stamp, "baro_stamp": baro.stamp,
        "baro_sound": gnss.baro_sound, "gnss_stamp": gnss.stamp, "gnss_velocity_stamp": gnss.velocity_stamp,
        "gnss_used": gnss.used, "gnss_agreed": gnss.agreed,
    }  # fmt: skip
    for name, signal in status.items():
        if name in estimator:
            diagram.connect(signal, estimator[name])
    if "flow" in estimator:
        _connect_flow(diagram, sensors["flow"][0], sensors["range"][0], estimator)
    # The estimate selects the good source
    diagram.connect(estimator.R_NB, mag.R_NB)
    diagram.connect(estimator.v_NB_N, gnss.v_NB_N)
    diagram.connect(baro.baro_height, gnss.baro_height)
    gauge = None
    if battery is not None:
        own = {name: float(diagram.value(at.BATTERY(name))[0]) for name in ("capacity", "cells", "resistance")}
        gauge = diagram.add(at.BATTERY_GAUGE.path, BatteryGauge(sample_s=BATTERY_SAMPLE_S), **own)
        connect_ports(diagram, sensors["battery"][0], gauge, "voltage", "current", "charge")
    log = sensors["log"][0] if sensors["log"] else None
    return Senses(estimator, gauge, log, tuple(sensors["rotor"]))


def _connect_flow(diagram: Diagram, flow: Handle, ground: Handle, estimator: Handle) -> None:
    """Connect the first optical flow sensor and the distance to the ground, with their quality, to the estimator."""
    diagram.connect(flow.value, estimator.flow)
    diagram.connect(flow.stamp, estimator.flow_stamp)
    diagram.connect(diagram.port(at.optical_flow(1).chip("quality")), estimator.flow_quality)
    diagram.connect(ground.value, estimator.ground_distance)
    diagram.connect(ground.stamp, estimator.ground_stamp)
    diagram.connect(diagram.port(at.rangefinder(1).chip("valid")), estimator.ground_valid)


def add_pitot(diagram: Diagram, part: at.Part) -> Handle:
    """Add the airspeed from the pressures of the first pitot tube and barometer."""
    pitot = diagram.add(part.path, PitotAirspeed(sample_s=AIRSPEED_SAMPLE_S))
    tube, static = at.airspeed(1).tap, at.barometer(1).tap
    diagram.connect(diagram.port(tube.value), pitot.pressure)
    diagram.connect(diagram.port(tube.stamp), pitot.stamp_in)
    diagram.connect(diagram.port(static.value), pitot.static_pressure)
    return pitot
