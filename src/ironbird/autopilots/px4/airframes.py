"""PX4 airframes of the catalogue: parameters and output channels from a vehicle's own numbers.

The vehicle's own battery reaches PX4 another way (`battery.py`); PX4 simulates one where a vehicle has none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ironbird.autopilots.px4.airframe import Airframe, Params
from ironbird.autopilots.px4.battery import has_battery
from ironbird.autopilots.px4.ground_water import boat_airframe, car_airframe, rover_airframe, underwater_airframe
from ironbird.autopilots.px4.helicopters import helicopter_airframe
from ironbird.autopilots.px4.rotors import multicopter_airframe
from ironbird.autopilots.px4.tilt_rotors import tilt_rotor_airframe
from ironbird.autopilots.px4.wings import fixed_wing_airframe, vtol_airframe
from ironbird.blocks.sensors.gnss import Gnss
from ironbird.errors import LinkError
from ironbird.vehicles.load import Vehicle
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.templates.car import CarSpec
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.helicopter import HelicopterSpec
from ironbird.vehicles.templates.multicopter import MulticopterSpec
from ironbird.vehicles.templates.rover import RoverSpec
from ironbird.vehicles.templates.surface_vessel import SurfaceVesselSpec
from ironbird.vehicles.templates.tilt_rotor import TiltRotorSpec
from ironbird.vehicles.templates.underwater import UnderwaterSpec
from ironbird.vehicles.templates.vtol import VtolSpec

MAKERS: dict[type[VehicleSpec], Callable[..., Airframe]] = {
    MulticopterSpec: multicopter_airframe,
    HelicopterSpec: helicopter_airframe,
    FixedWingSpec: fixed_wing_airframe,
    VtolSpec: vtol_airframe,
    TiltRotorSpec: tilt_rotor_airframe,
    CarSpec: car_airframe,
    RoverSpec: rover_airframe,
    SurfaceVesselSpec: boat_airframe,
    UnderwaterSpec: underwater_airframe,
}


def airframe_of(vehicle: Vehicle, *, rate_hz: int | None = None) -> Airframe:
    """PX4's view of a vehicle; `LinkError` where PX4 has none. `rate_hz` is of steps, if not the airframe's own."""
    spec = vehicle.spec
    maker = MAKERS.get(type(spec))
    if maker is None:
        raise LinkError(f"PX4 has no airframe for vehicle '{spec.id}' (template {spec.template})")
    airframe = maker(spec)
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
