"""PX4 airframes of the catalogue: parameters and output channels from a vehicle's own numbers.

The vehicle's own battery is sent to PX4 by another link (`battery.py`); PX4 simulates one where a vehicle has none.
"""

from __future__ import annotations

from dataclasses import replace

from ironbird.autopilots.px4.airframe import Airframe, Params
from ironbird.autopilots.px4.battery import has_battery
from ironbird.blocks.sensors.gnss import Gnss
from ironbird.errors import LinkError
from ironbird.files.named_code import load_home
from ironbird.vehicles.load import Vehicle


def airframe_of(vehicle: Vehicle, *, rate_hz: int | None = None) -> Airframe:
    """PX4's airframe of a vehicle; `LinkError` where PX4 has none. `rate_hz` overrides its rate of steps."""
    spec = vehicle.spec
    if not vehicle.kind.px4:
        raise LinkError(f"PX4 has no airframe for vehicle '{spec.id}' (template {spec.template})")
    airframe: Airframe = load_home(vehicle.kind.px4)(spec)
    airframe = replace(airframe, rate_hz=rate_hz or airframe.rate_hz)
    chip = vehicle.diagram.blocks.get("gnss/1/chip")
    late: Params = {}
    if isinstance(chip, Gnss) and not airframe.water_Papm:
        late["EKF2_GPS_DELAY"] = 1000 * chip.latency_s
    if airframe.rate_hz != 250:
        late |= {"IMU_INTEG_RATE": airframe.rate_hz, "IMU_GYRO_RATEMAX": max(airframe.rate_hz, 400)}
    if "imu/2/gyro_fault" not in vehicle.diagram.blocks:  # one unit, one estimator
        late |= {"EKF2_MULTI_IMU": 0, "SENS_IMU_MODE": 1}
    if any(place := vehicle.spec.imu_place_B_m()):  # of all units, as the estimator wants it
        late |= {f"EKF2_IMU_POS_{axis}": value for axis, value in zip("XYZ", place, strict=True)}
    if has_battery(vehicle):
        late["SIM_BAT_ENABLE"] = 0
    return airframe.with_params(late)
