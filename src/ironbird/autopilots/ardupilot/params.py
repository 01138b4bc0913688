"""ArduPilot's parameters for a vehicle of the catalogue, each with its source."""

from __future__ import annotations

from ironbird.autopilots.ardupilot.channels import Wiring, fit_of, wire
from ironbird.autopilots.ardupilot.rotors import RANGEFINDER, copter_params
from ironbird.protocols.parm_file import Param, Params, merge
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.templates.multicopter import MulticopterSpec


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
    accel = {
        f"INS_ACC{n}{what}_{axis}": Param(value, why)
        for n, what, value, why in (
            ("", "OFFS", 1e-4, "not zero: it counts as calibrated"),
            ("", "SCAL", 1, "Ironbird's has its own errors"),
            ("2", "OFFS", 0, "there is no second one"),
            ("2", "SCAL", 1, "the same"),
        )
        for axis in "XYZ"
    }
    return {
        "SIM_IMU_COUNT": Param(1, "the interface carries one inertial unit: imu/1"),
        "EK3_IMU_MASK": Param(1, "the same"),
        "SIM_GPS2_ENABLE": Param(1, "two receivers, as the vehicles of the catalogue have"),
        "GPS2_TYPE": Param(1, "the same"),
        "SIM_BARO_COUNT": Param(1, "one barometer"),
        "SIM_BARO_RND": Param(0.2, "m; the value to which a fault goes back"),
        "COMPASS_USE3": Param(0, "two compasses"),
        "SIM_DRIFT_SPEED": Param(0, "Ironbird's gyro has its own errors"),
        "INS_GYR_CAL": Param(0, "no calibration at the start"),
        "LOG_DISARMED": Param(0, "log from arming on"),
        **accel,
        **compass,
    }


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
