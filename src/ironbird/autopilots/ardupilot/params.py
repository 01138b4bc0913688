"""ArduPilot's parameters for a vehicle of the catalogue, each with its source."""

from __future__ import annotations

import math

import numpy as np

from ironbird.autopilots.ardupilot.channels import Wiring, fit_of, wire
from ironbird.autopilots.ardupilot.rotors import RANGEFINDER, copter_params
from ironbird.protocols.parm_file import Param, Params, merge
from ironbird.rig.rig import Rig
from ironbird.vehicles import places as at
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.templates.multicopter import MulticopterSpec

MOST_UNITS, MOST_RECEIVERS, MOST_COMPASSES, MOST_BAROMETERS = 3, 2, 3, 3  # that ArduPilot has room for
PASCAL_PER_METRE = 12.0  # density times gravity at sea level
UNIFORM = math.sqrt(3.0)  # ArduPilot's noise is uniform between plus and minus the number: deviation = number / sqrt(3)
MILLIGAUSS_PER_T = 1e7


def vehicle_params(spec: VehicleSpec) -> Params:
    """Parameters of a vehicle by name; all others keep ArduPilot's default."""
    wiring = wire(spec)
    params = merge(merge(_common(), _outputs(wiring)), _place(spec))
    return merge(params, fit_of(spec).params(spec, wiring))


def board_params(spec: MulticopterSpec) -> Params:
    """Parameters of a multicopter with ArduPilot on a flight controller with chips, not on its simulator.

    The ids of its sensors are stored by the ground station as the board detected them.
    """
    wiring = wire(spec)
    params = merge(_outputs(wiring), _place(spec), copter_params(spec, wiring))
    calibrated = {
        **{f"INS_ACCOFFS_{axis}": Param(1e-4, "not zero: it counts as calibrated") for axis in "XYZ"},
        **{f"COMPASS_OFS_{axis}": Param(0.1, "the same") for axis in "XYZ"},
    }
    return {name: param for name, param in merge(params, calibrated).items() if name not in RANGEFINDER}  # no such


def _common() -> Params:
    compass = {
        f"COMPASS_OFS{n}_{axis}": Param(value, "its simulated compass has this offset")
        for n in ("", "2", "3")
        for axis, value in (("X", 5.0), ("Y", 13.0), ("Z", -18.0))
    }
    return {
        "SIM_DRIFT_SPEED": Param(0, "Ironbird's gyro has its own errors"),
        "INS_GYR_CAL": Param(0, "no calibration at the start"),
        "LOG_DISARMED": Param(0, "log from arming on"),
        **compass,
    }


def sensor_params(rig: Rig, *, all_units: bool) -> Params:
    """Parameters of the number and the quality of the vehicle's sensors, on ArduPilot's simulator.

    Inertial units come from files if `all_units`, else the one of the JSON interface; receivers are on serial ports;
    barometers and compasses are ArduPilot's, with the white noise of the vehicle's.
    """
    units = min(len(rig.accels), MOST_UNITS) if all_units else 1
    receivers, compasses = min(len(rig.receivers), MOST_RECEIVERS), min(len(rig.magnetometers), MOST_COMPASSES)
    barometers = max(min(len(rig.barometers), MOST_BAROMETERS), 1)
    accel = {
        f"INS_ACC{'' if n == 1 else n}{what}_{axis}": Param(value, why)
        for n in range(1, MOST_UNITS + 1)
        for what, value, why in (
            ("OFFS", 1e-4, "not zero: it counts as calibrated") if n <= units else ("OFFS", 0, "there is no such unit"),
            ("SCAL", 1, "Ironbird's has its own errors"),
        )
        for axis in "XYZ"
    }
    params: Params = {
        **accel,
        "SIM_IMU_COUNT": Param(units, "the vehicle's" if all_units else "JSON carries one inertial unit: imu/1"),
        "EK3_IMU_MASK": Param(min(2**units - 1, 3), "two estimators, as by default" if units > 1 else "one unit"),
        "SIM_BARO_COUNT": Param(barometers, "the vehicle's"),
        "SIM_MAG_RND": Param(
            round(_noise(rig, at.magnetometer(1).chip.path) * MILLIGAUSS_PER_T * UNIFORM, 3), "mG; of mag/1"
        ),
        **{f"GPS{n}_TYPE": Param(2 if n <= receivers else 0, "u-blox, if the vehicle has it") for n in (1, 2)},
        **{f"SIM_MAG{n}_DEVID": Param(0, "the vehicle has no more") for n in range(compasses + 1, 7)},
    }
    for n in range(1, barometers + 1):
        rms_m = _noise(rig, at.barometer(n).chip.path) / PASCAL_PER_METRE
        name = f"SIM_{'BARO' if n == 1 else f'BAR{n}'}_RND"
        params[name] = Param(round(rms_m * UNIFORM, 3), f"m; of baro/{n}")
    if all_units:
        params |= {f"SIM_{kind}_FILE_RW": Param(1, "samples from files") for kind in ("ACC", "GYR")}
        params["INS_FAST_SAMPLE"] = Param(0, "one sample at a time")
    return params


def _noise(rig: Rig, chip: str) -> float:
    """Deviation of the white noise of a chip; 0 if it is not there."""
    path, model = f"{chip}.noise", rig.state.model
    if path not in model.flat.p.start:
        return 0.0
    return float(np.max(rig.state.params[0, model.param_rows(path), 0]))


def _place(spec: VehicleSpec) -> Params:
    """Parameters of the position of the inertial unit, if it is not at the centre of mass."""
    place = spec.imu_place_B_m()
    why = "sensors.imu_position_B_m"
    return (
        {f"INS_POS1_{axis}": Param(value, why) for axis, value in zip("XYZ", place, strict=True)} if any(place) else {}
    )


def _outputs(wiring: Wiring) -> Params:
    """Functions and end points of all servo outputs."""
    params: Params = {}
    for channel in wiring.channels:
        output = f"SERVO{channel.number}"
        params[f"{output}_FUNCTION"] = Param(channel.function, f"drives {channel.place}")
        params[f"{output}_MIN"] = Param(1000, "command -1, or 0 of a throttle")
        params[f"{output}_MAX"] = Param(2000, "command 1")
        params[f"{output}_TRIM"] = Param(1000 if channel.kind in ("throttle", "launch") else 1500, "command 0")
    return params
