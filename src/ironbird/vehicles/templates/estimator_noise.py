"""Noise parameters of the estimator, computed from the sensor products that the vehicle carries.

Every number follows from `blocks/sensors/products.py`, the vibration of the airframe and the number of units, so that
errors and innovations are as large as the filter expects (NEES and NIS within the bounds of [BarShalom2001] 5.4; the
tests fly it). Of several products the largest noise counts, of inertial units, which are voted, the mean square. Values
that the products do not give are assumed here: the variation of the airspeed at the barometer, the drift of a voted
inertial unit's bias, and the variation of the rotors' speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ironbird.blocks.sensors import products as catalogue
from ironbird.blocks.sensors.chain import second_order_lag
from ironbird.blocks.sensors.imu import ZERO_CELSIUS_K, Imu
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3, SEA_LEVEL_TEMPERATURE_K, STANDARD_GRAVITY_MPS2
from ironbird.model.signal import Number
from ironbird.vehicles.templates.sensors import IMU_SAMPLE_S, Suite, shaken

# Variance of what the voter of inertial units gives, over that of one: the unit, the mean of two, the median of three
# normal numbers (1 - sqrt(3) / pi).
VOTED = {1: 1.0, 2: 0.5, 3: 1 - math.sqrt(3) / math.pi}
ROUNDING = 1 / math.sqrt(12)  # standard deviation of rounding over the smallest step
# Random walk of a bias after one second, at least: warming up, units that the voter leaves out.
WALK = {"accel": 1e-3, "gyro": 5e-5}
# Deviation of the airspeed that a barometer feels, and the way over which it lasts: light turbulence, 15 knots at
# 20 ft, 10 m above the ground, [MIL8785C] 3.7.3.4.
GUST_MPS, GUST_M = 1.5, 68.0
ROTOR_MEAN = 1.02  # assumed: mean of the rotors' speed in wind over that in hover
VIBRATION_SECOND = float(np.array(Imu.vibration_second.default))  # amplitude of the second harmonic over the first
# s; hard iron of a vehicle that keeps its heading, and of a wing that turns in the field
IRON_S, CIRCLE_S = 300.0, 30.0
TILT_RAD = 0.005  # rad, tilt error of the filter in flight
START_M = 0.02  # m, uncertainty of the start position, which is the origin
# least noise of a fix for any product: times are known to a sample of the inertial unit
LEAST_M, LEAST_MPS = 0.01, 0.01
# Of the mean accelerometer at the alignment, beside its bias: a vehicle that stands, one that current and waves move.
STILL_MPS2, RESTLESS_MPS2 = 0.05, 0.5
WATER_KGPM3 = 1026.0  # density of sea water, as in `DepthGauge`
AXES = ("horizontal", "vertical")


def filter_noise(suite: Suite, field_N: Sequence[float], *, shakes: bool) -> dict[str, Number]:
    """Parameters of `ErrorStateEkf` for a sensor suite in the earth's field; `shakes`: rotors turn and vibrate."""
    products = suite.products
    return {
        **_inertial(suite, shakes),
        **_compass(_each(catalogue.magnetometer_params, products.magnetometer, suite.magnetometers), field_N),
        "heading_time": CIRCLE_S if suite.finds_wind else IRON_S,
        **_height(products.barometer, suite.barometers, suite.airspeed_mps),
        **_receiver(products.gnss, suite.gnss),
        "std_position_0": START_M,
        "align_noise": RESTLESS_MPS2 if suite.speed_logs else STILL_MPS2,
    }


def _inertial(suite: Suite, shakes: bool) -> dict[str, Number]:
    own = shaken(suite)
    chips = [params | own for params in _each(catalogue.imu_params, suite.products.imu, suite.imus)]
    turning = 1.0 if suite.rotor_radps is None else suite.rotor_radps / _of(own, "vibration_speed")
    strength = turning**2 if shakes else 0.0  # as in `Imu`
    share = math.sqrt(VOTED[min(len(chips), 3)])
    noise: dict[str, Number] = {}
    for kind, least in WALK.items():
        white = share * _mean_square(_sample(chip, kind, strength) for chip in chips)
        noise[f"{kind}_noise"] = math.hypot(white, _folded(suite, strength * _of(own, f"{kind}_vibration")))
        noise[f"std_{kind}_bias_0"] = share * _mean_square(_at_start(chip, kind) for chip in chips)
        noise[f"{kind}_bias_walk"] = max(least, *(_walk(chip, kind) for chip in chips))
    lags = [
        second_order_lag(_of(chip, f"{kind}_natural_frequency"), _of(chip, "damping_ratio"), IMU_SAMPLE_S)
        for chip in chips
        for kind in WALK
    ]
    return {**noise, "imu_delay": float(np.mean(lags))}


def _sample(chip: Mapping[str, Number], kind: str, strength: float) -> float:
    """Standard deviation of one sample: density and random vibration, which `Imu` draws as one, and resolution."""
    white = _of(chip, f"{kind}_noise") * math.sqrt(0.5 / IMU_SAMPLE_S)
    shaking = strength * _of(chip, f"{kind}_vibration_noise")
    return math.hypot(white + shaking, ROUNDING * _of(chip, f"{kind}_resolution"))


def _folded(suite: Suite, amplitude: float) -> float:
    """White noise with the density, near zero frequency, of harmonics that the sampling folds down.

    A sine has the power A^2 / 2; its frequency is spread as the speed of the rotors is in flight. All units have the
    same vibration, so that voting does not reduce it. `amplitude` is that of the first harmonic.
    """
    if suite.rotor_radps is None:
        return 0.0
    rate, power = 1 / IMU_SAMPLE_S, 0.0
    for order, size in ((1, 1.0), (2, VIBRATION_SECOND)):
        turns = order * suite.rotor_radps / (2 * math.pi)
        centre, spread = ROTOR_MEAN * turns, suite.rotor_spread * turns
        near = centre - rate * round(centre / rate)
        density = math.exp(-0.5 * (near / spread) ** 2) / (math.sqrt(2 * math.pi) * spread)
        power += (size * amplitude) ** 2 / 2 * rate * density
    return math.sqrt(power)


def _at_start(chip: Mapping[str, Number], kind: str) -> float:
    """Standard deviation of a bias at the start: random, and from a chip at the standard atmosphere's temperature."""
    terms = np.reshape(chip.get(f"{kind}_temperature_drift", np.zeros((3, 4))), (3, 4))
    cold = terms @ (SEA_LEVEL_TEMPERATURE_K - ZERO_CELSIUS_K) ** np.arange(4)
    return math.hypot(_of(chip, f"{kind}_turn_on"), _mean_square(cold))


def _walk(chip: Mapping[str, Number], kind: str) -> float:
    """Random walk of a bias, with the change of a Gauss-Markov bias in its first second."""
    moves = _of(chip, f"{kind}_instability") * math.sqrt(2 / _of(chip, f"{kind}_correlation_time"))
    return math.hypot(_of(chip, f"{kind}_walk"), moves)


def _compass(chips: list[dict[str, Number]], field_N: Sequence[float]) -> dict[str, Number]:
    """Noise of the compass: residual hard iron turns the heading slowly, as does a tilt error where the field dips."""
    level = math.hypot(*field_N[:2])
    dips = TILT_RAD * abs(field_N[2]) / level
    iron = max(math.hypot(_of(chip, "hard_iron_spread"), _of(chip, "drift")) for chip in chips)
    white = max(math.hypot(_of(chip, "noise"), ROUNDING * _of(chip, "resolution")) for chip in chips)
    return {"mag_noise": white, "heading_spread": math.hypot(iron / level, dips)}


def _height(names: Sequence[str], count: int, airspeed_mps: float) -> dict[str, Number]:
    """Noise of the pressure height, which is zeroed at the start, so that the slow error is the difference of two.

    A varying share of the dynamic pressure is added; one process models both, with their long-term variance and their
    initial rate of change.
    """
    wet = names[0] in catalogue.DEPTH_GAUGES
    chips = _each(catalogue.depth_gauge_params if wet else catalogue.barometer_params, names, count)
    per_m = STANDARD_GRAVITY_MPS2 * (WATER_KGPM3 if wet else SEA_LEVEL_DENSITY_KGPM3)
    white = max(math.hypot(_of(chip, "noise"), ROUNDING * _of(chip, "resolution")) for chip in chips)
    drift, time_s = _largest(chips, "drift") / per_m, max(_of(chip, "correlation_time") for chip in chips)
    share = _largest(chips, "wind_share") * airspeed_mps / STANDARD_GRAVITY_MPS2
    wide, gusts = share * airspeed_mps / 2, share * GUST_MPS
    variance = 2 * drift**2 + wide**2
    pace = 2 * drift**2 / time_s + 2 * gusts**2 * airspeed_mps / GUST_M
    return {"baro_noise": white / per_m, "baro_spread": math.sqrt(variance), "baro_time": 2 * variance / pace}


def _receiver(names: Sequence[str], count: int) -> dict[str, Number]:
    """Shares of the accuracy that a receiver states; see `Gnss`."""
    chips = _each(catalogue.gnss_params, names, count)
    white, slow = ([_largest(chips, f"{kind}_{axis}") for axis in AXES] for kind in ("noise", "wander"))
    speeds = [_largest(chips, f"noise_speed_{axis}") for axis in AXES]
    stated = [math.hypot(*parts) for parts in zip(white, slow, strict=True)]
    stated_speed = math.sqrt(2 * speeds[0] ** 2 + speeds[1] ** 2)
    timing = [catalogue.GNSS_TIMING[name] for name in names]
    shares: dict[str, Number] = {
        "gnss_white": [part / whole for part, whole in zip(white, stated, strict=True)],
        "gnss_slow": [part / whole for part, whole in zip(slow, stated, strict=True)],
        "gnss_delay": max(each["delay_samples"] * each["sample_s"] for each in timing),
        "min_eph": LEAST_M, "min_epv": LEAST_M, "min_speed_accuracy": LEAST_MPS,
    }  # fmt: skip
    times = [_of(chip, "correlation_time") for chip in chips if "correlation_time" in chip]
    if times:
        shares["gnss_time"] = min(times)
    shared = _largest(chips, "speed_correlated")
    shares["speed_white"] = [math.sqrt(1 - shared) * speed / stated_speed for speed in speeds]
    if shared:
        shares["speed_slow"] = [math.sqrt(shared) * speed / stated_speed for speed in speeds]
    return shares


def shares_speed_errors(suite: Suite) -> bool:
    """Whether velocity errors of a receiver are correlated from fix to fix."""
    return _largest(_each(catalogue.gnss_params, suite.products.gnss, suite.gnss), "speed_correlated") > 0


def _each(params: Callable[[str], dict[str, Number]], names: Sequence[str], count: int) -> list[dict[str, Number]]:
    """Parameters of the products at each place."""
    return [params(names[i % len(names)]) for i in range(count)]


def _mean_square(values: Iterable[float]) -> float:
    """Root mean square of the values."""
    return float(np.sqrt(np.mean(np.square(list(values)))))


def _of(params: Mapping[str, Number], name: str) -> float:
    """Value of a parameter; for three axes the root mean square."""
    return _mean_square(np.ravel(params.get(name, 0.0)))


def _largest(chips: Sequence[Mapping[str, Number]], name: str) -> float:
    return max(_of(chip, name) for chip in chips)
