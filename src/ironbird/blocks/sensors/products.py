"""Sensor products as parameters of the sensor blocks.

Marks on the numbers: [X] given in the project's chip notes (data sheet or the autopilots' drivers), [R] measured in a
real flight record, [P] from a paper, [M] data-sheet number from memory, to be checked, [A] assumed: what is usually
left after the autopilot's calibration. Densities are one-sided. All values are in SI units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import UnknownNameError
from ironbird.model.signal import Number

Params = dict[str, Number]

_G = STANDARD_GRAVITY_MPS2
_UG = 1e-6 * _G
_DEG = math.pi / 180
_GAUSS = 1e-4
_ACCEL_LSB_16G = _G / 2048  # [X] 2048 LSB/g at 16 g
_GYRO_LSB_2000 = 2000 * _DEG / 32768  # [X] range / 32768 at 2000 deg/s

# [P][MPSoC] 3: drift of a Pixhawk 4's ICM-20689 over its temperature, columns c0 c1 c2 c3 in degrees Celsius.
_DRIFT_ICM20689 = (
    (-3.0104356819423e-2, -5.778015129211e-3, 5.0093027511e-5, -4.49538784e-7),
    (1.21722371351393e-1, 2.231956222873e-3, -1.93070271193e-4, 1.962846074e-6),
    (-5.29514740245635e-1, 2.484421472842e-2, -6.54115347298e-4, 5.986700621e-6),
)
CALIBRATION_CELSIUS = 25.0


def _calibrated(drift: tuple[tuple[float, ...], ...]) -> list[list[float]]:
    """A drift minus its value at the temperature of calibration."""
    t = CALIBRATION_CELSIUS
    return [[-sum(c * t**n for n, c in enumerate(row) if n), *row[1:]] for row in drift]


# Values of every inertial chip unless its entry has others.
_IMU_COMMON: Params = {
    "accel_range": 16 * _G,  # [X] as PX4 and ArduPilot set it
    "gyro_range": 2000 * _DEG,  # [X] as PX4 and ArduPilot set it
    "accel_resolution": _ACCEL_LSB_16G,
    "gyro_resolution": _GYRO_LSB_2000,
    "accel_turn_on": 0.05,  # [A] m/s^2
    "gyro_turn_on": 0.1 * _DEG,  # [A]
    "accel_instability": 40 * _UG,  # [M] order of magnitude of this class of chips
    "gyro_instability": 8 * _DEG / 3600,  # [M] order of magnitude: 5 to 10 deg/h
    "accel_correlation_time": 200.0,  # [A]
    "gyro_correlation_time": 200.0,  # [A]
    "accel_walk": 2e-5,  # [A] m/s^2 per root second
    "gyro_walk": 2e-6,  # [A] rad/s per root second
    "damping_ratio": 0.707,  # [P] [CopterSim] 10
    "self_heating": 15.0,  # [A] on a warm board
    "warm_up_time": 240.0,  # [A]
}

IMUS: dict[str, Params] = {
    "icm20689": _IMU_COMMON | {
        # The record's rows (285 a second) taken as white up to half their rate: how a slow reader sees the chip.
        # Each row is a mean over 1.25 ms: the chip's own density may be as low as 0.0044 deg/s and 90 ug.
        "gyro_noise": 0.0070 * _DEG,  # [R] Pixhawk 4 at rest; [X] the data sheet says 0.006 deg/s
        "accel_noise": 151 * _UG,  # [R] Pixhawk 4 at rest; [X] the data sheet says 150 ug
        "gyro_natural_frequency": 2 * math.pi * 250,  # [X] -3 dB of the 8 kHz setting
        "accel_natural_frequency": 2 * math.pi * 218,  # [X] -3 dB of the 1 kHz setting
        "accel_temperature_drift": _calibrated(_DRIFT_ICM20689),  # [P]
    },
    "icm20602": _IMU_COMMON | {
        "gyro_noise": 0.004 * _DEG,  # [M]
        "accel_noise": 100 * _UG,  # [M]
        "gyro_natural_frequency": 2 * math.pi * 250,  # [M]
        "accel_natural_frequency": 2 * math.pi * 218,  # [M]
    },
    "mpu6000": _IMU_COMMON | {
        "gyro_noise": 0.005 * _DEG,  # [M]
        "accel_noise": 400 * _UG,  # [M]
        "gyro_natural_frequency": 2 * math.pi * 256,  # [X] DLPF 0
        "accel_natural_frequency": 2 * math.pi * 260,  # [X] DLPF 0
    },
    "bmi055": _IMU_COMMON | {
        "gyro_noise": 0.014 * _DEG,  # [M]
        "accel_noise": 150 * _UG,  # [M]
        "gyro_natural_frequency": 2 * math.pi * 230,  # [M]
        "accel_natural_frequency": 2 * math.pi * 250,  # [M]
        "accel_resolution": _G / 128,  # [M] 12 bit: 7.81 mg at 16 g
    },
}  # fmt: skip

MAGNETOMETERS: dict[str, Params] = {
    "ist8310": {
        "range": [1600e-6, 1600e-6, 2500e-6],  # [X]
        "resolution": _GAUSS / 1320,  # [X] 16 bit setting
        "noise": 0.3e-6,  # [M] 16 averages
        "hard_iron_spread": 0.5e-6,  # [A]
        "drift": 0.1e-6,  # [A] a fifth of that, over ten minutes
    },
    "hmc5883l": {
        "range": 1.9 * _GAUSS,  # [X] gain as PX4 sets it
        "resolution": _GAUSS / 820,  # [X]
        "noise": 0.2e-6,  # [M] 2 milligauss
        "hard_iron_spread": 0.5e-6,  # [A]
        "drift": 0.1e-6,  # [A] a fifth of that, over ten minutes
    },
}

BAROMETERS: dict[str, Params] = {
    "ms5611": {
        "low": 1000.0,  # [M] 10 mbar
        "high": 120000.0,  # [M] 1200 mbar
        "resolution": 1.0,  # [X] the chip's arithmetic gives whole pascals
        "noise": 2.7,  # [M] 0.027 mbar at oversampling 1024, which both autopilots use [X]
        "drift": 10.0,  # [A] most of a metre over minutes
        "correlation_time": 300.0,  # [A]
        "wind_share": 0.1,  # [A] a covered barometer; [ChipLevel] Eq. 15 takes 1
    },
}

DEPTH_GAUGES: dict[str, Params] = {
    "ms5837_30ba": {
        "low": 0.0,  # [M] 0 to 30 bar
        "high": 3e6,  # [M]
        "resolution": 20.0,  # [M] 0.2 mbar, 2 mm of water
        "noise": 30.0,  # [A]
        "drift": 200.0,  # [A] 2 cm of water
        "correlation_time": 300.0,  # [A]
    },
}

SPEED_LOGS: dict[str, Params] = {
    "em_log": {"noise": 0.02, "resolution": 0.01},  # [A] electromagnetic or Doppler log, through the water
}

_CEP = 1.1774  # radius that contains half of the fixes, over the standard deviation of an axis

GNSS: dict[str, Params] = {
    "ublox_m8n": {
        "noise_horizontal": 0.2,  # [A] from fix to fix
        "noise_vertical": 0.4,  # [A]
        "wander_horizontal": 2.5 / _CEP * 0.5,  # [M] 2.5 m (50 %) over a day; half of it within a flight [A]
        "wander_vertical": 2.5 / _CEP * 0.75,  # [A] 1.5 times the horizontal
        "correlation_time": 120.0,  # [A]
        "noise_speed_horizontal": 0.05,  # [M] 0.05 m/s
        "noise_speed_vertical": 0.1,  # [A]
        "speed_correlated": 0.5,  # [A] half of the variance, over two seconds
        "satellites": 14.0,  # [A]
    },
    "ublox_f9p": {
        "noise_horizontal": 0.005,  # [A]
        "noise_vertical": 0.01,  # [A]
        "wander_horizontal": 0.01 / _CEP,  # [M] 0.01 m (50 %) with corrections
        "wander_vertical": 0.01 * 1.5,  # [A]
        "correlation_time": 60.0,  # [A]
        "noise_speed_horizontal": 0.02,  # [A]
        "noise_speed_vertical": 0.04,  # [A]
        "satellites": 24.0,  # [A]
    },
    # Other sources of position with a receiver's outputs: a vehicle carries one of them instead.
    "lidar_map": {  # a laser scanner matched with a map of the room, speed from the wheels' encoders
        "noise_horizontal": 0.01,  # [A]
        "noise_vertical": 0.01,  # [A] the floor is known
        "wander_horizontal": 0.01,  # [A] errors of the map
        "correlation_time": 20.0,  # [A]
        "noise_speed_horizontal": 0.01,  # [A]
        "noise_speed_vertical": 0.01,  # [A]
    },
    "motion_capture": {  # cameras in a basin or hall that see markers, speed by differences
        "noise_horizontal": 0.001,  # [M] order of a millimetre
        "noise_vertical": 0.001,  # [M]
        "noise_speed_horizontal": 0.01,  # [A]
        "noise_speed_vertical": 0.01,  # [A]
    },
    "usbl_dvl": {  # acoustic fix from a ship (bearing 1 degree, range 0.1 m, [M]) and Doppler log on the ground
        "noise_horizontal": 0.5,  # [A] at some 30 m from the ship
        "noise_vertical": 0.5,  # [A]
        "wander_horizontal": 0.3,  # [A] sound speed, mounting
        "wander_vertical": 0.3,  # [A]
        "correlation_time": 60.0,  # [A]
        "noise_speed_horizontal": 0.01,  # [M] Doppler log: 1 % or some mm/s
        "noise_speed_vertical": 0.01,  # [M]
    },
}
GNSS_TIMING: dict[str, dict[str, float]] = {  # arguments of the Gnss block
    "ublox_m8n": {"sample_s": 0.1, "period_samples": 2, "delay_samples": 1},  # [X] 5 Hz as both autopilots set it
    "ublox_f9p": {"sample_s": 0.1, "period_samples": 1, "delay_samples": 1},  # [M] 10 Hz; latency [A]
    "lidar_map": {"sample_s": 0.1, "period_samples": 1, "delay_samples": 1},  # [A] 10 Hz
    "motion_capture": {"sample_s": 0.02, "period_samples": 1, "delay_samples": 1},  # [A] 50 Hz
    "usbl_dvl": {"sample_s": 0.1, "period_samples": 10, "delay_samples": 3},  # [A] 1 Hz; sound and telemetry
}

AIRSPEEDS: dict[str, Params] = {
    "ms4525do": {
        "range": 6894.757,  # [X] 1 psi
        "resolution": 2 * 6894.757 / 13106.4,  # [X] 14 bit over 80 % of the counts
        "noise": 1.5,  # [M]
        "offset_spread": 2.0,  # [A]
    },
}

RANGEFINDERS: dict[str, Params] = {
    "tfmini": {
        "nearest": 0.3,  # [M]
        "farthest": 12.0,  # [M] indoors
        "resolution": 0.01,  # [M]
        "noise": 0.01,  # [A]
        "noise_share": 0.005,  # [M] accuracy 1 % of the distance, as two deviations
    },
}

OPTICAL_FLOWS: dict[str, Params] = {
    "px4flow": {
        "nearest": 0.3,  # [M]
        "farthest": 10.0,  # [A]
        "largest_rate": 2.5,  # [M] PX4's SENS_FLOW_MAXR
        "noise": 0.05,  # [A]
        "rotation_noise": 0.03
        * _DEG
        * math.sqrt(25.0),  # [M] L3GD20: 0.03 deg/s per root hertz, at 50 samples a second
    },
}

FAMILIES: dict[str, Mapping[str, Params]] = {
    "inertial sensor": IMUS, "magnetometer": MAGNETOMETERS, "barometer": BAROMETERS, "satellite receiver": GNSS,
    "airspeed sensor": AIRSPEEDS, "rangefinder": RANGEFINDERS, "optical flow sensor": OPTICAL_FLOWS,
    "depth gauge": DEPTH_GAUGES, "speed log": SPEED_LOGS,
}  # fmt: skip


def _params(family: str, name: str) -> Params:
    known = FAMILIES[family]
    if name not in known:
        raise UnknownNameError(family, name, known)
    return dict(known[name])


def imu_params(name: str) -> Params:
    """Parameters of `Imu` for a product."""
    return _params("inertial sensor", name)


def magnetometer_params(name: str) -> Params:
    """Parameters of `Magnetometer` for a product."""
    return _params("magnetometer", name)


def barometer_params(name: str) -> Params:
    """Parameters of `Barometer` for a product."""
    return _params("barometer", name)


def depth_gauge_params(name: str) -> Params:
    """Parameters of `DepthGauge` for a product."""
    return _params("depth gauge", name)


def speed_log_params(name: str) -> Params:
    """Parameters of `SpeedLog` for a product."""
    return _params("speed log", name)


def gnss_params(name: str) -> Params:
    """Parameters of `Gnss` for a product."""
    return _params("satellite receiver", name)


def airspeed_params(name: str) -> Params:
    """Parameters of `Airspeed` for a product."""
    return _params("airspeed sensor", name)


def rangefinder_params(name: str) -> Params:
    """Parameters of `Rangefinder` for a product."""
    return _params("rangefinder", name)


def optical_flow_params(name: str) -> Params:
    """Parameters of `OpticalFlow` for a product."""
    return _params("optical flow sensor", name)
