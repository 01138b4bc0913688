"""Products: names are found or corrected, and every parameter fits its block."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ironbird.blocks.sensors import products
from ironbird.blocks.sensors.airspeed import Airspeed
from ironbird.blocks.sensors.barometer import Barometer
from ironbird.blocks.sensors.depth_gauge import DepthGauge
from ironbird.blocks.sensors.gnss import Gnss
from ironbird.blocks.sensors.imu import Imu
from ironbird.blocks.sensors.magnetometer import Magnetometer
from ironbird.blocks.sensors.optical_flow import OpticalFlow
from ironbird.blocks.sensors.rangefinder import Rangefinder
from ironbird.blocks.sensors.speed_log import SpeedLog
from ironbird.errors import UnknownNameError
from ironbird.model.block import Block
from ironbird.model.diagram import Diagram

FAMILIES: list[tuple[type[Block], dict[str, products.Params], Callable[[str], products.Params]]] = [
    (Imu, products.IMUS, products.imu_params),
    (Magnetometer, products.MAGNETOMETERS, products.magnetometer_params),
    (Barometer, products.BAROMETERS, products.barometer_params),
    (Gnss, products.GNSS, products.gnss_params),
    (Airspeed, products.AIRSPEEDS, products.airspeed_params),
    (Rangefinder, products.RANGEFINDERS, products.rangefinder_params),
    (OpticalFlow, products.OPTICAL_FLOWS, products.optical_flow_params),
    (DepthGauge, products.DEPTH_GAUGES, products.depth_gauge_params),
    (SpeedLog, products.SPEED_LOGS, products.speed_log_params),
]


@pytest.mark.parametrize(("block", "table", "read"), FAMILIES, ids=lambda value: getattr(value, "__name__", ""))
def test_every_product_fits_its_block(
    block: type[Block], table: dict[str, products.Params], read: Callable[[str], products.Params]
) -> None:
    for name in table:
        diagram = Diagram("product")
        diagram.add("chip", block(), **read(name))  # names, shapes and ranges are checked here
        for key in table[name]:
            assert np.isfinite(diagram.value(f"chip.{key}")).all()


def test_the_promised_products_are_there() -> None:
    known = {name for _, table, _ in FAMILIES for name in table}
    assert known == {
        "icm20689", "mpu6000", "icm20602", "bmi055", "ist8310", "hmc5883l", "ms5611", "ublox_m8n", "ublox_f9p",
        "ms4525do", "tfmini", "px4flow", "lidar_map", "motion_capture", "usbl_dvl", "ms5837_30ba", "em_log",
    }  # fmt: skip
    assert set(products.GNSS_TIMING) == set(products.GNSS)


def test_unknown_names_raise_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown inertial sensor 'icm20698'; did you mean 'icm20689'"):
        products.imu_params("icm20698")
    with pytest.raises(UnknownNameError, match=r"unknown satellite receiver 'm9n'"):
        products.gnss_params("m9n")


def test_parameters_handed_out_are_a_copy() -> None:
    products.imu_params("icm20689")["gyro_noise"] = 1.0
    assert products.imu_params("icm20689")["gyro_noise"] == pytest.approx(0.007 * math.pi / 180)


def test_scales_of_the_chips_are_those_of_the_data_sheets() -> None:
    imu, mag = products.imu_params("icm20689"), products.magnetometer_params("ist8310")
    assert imu["accel_resolution"] == pytest.approx(1 / 208.8379, rel=1e-6)  # [MPSoC] 4: LSB per m/s^2
    assert imu["gyro_resolution"] == pytest.approx(1 / 938.734, rel=1e-6)  # [MPSoC] 4: exact value
    assert mag["resolution"] == pytest.approx(1e-6 / 13.2, rel=1e-12)


def test_noise_range_and_rate_are_those_of_the_data_sheets_in_si() -> None:
    deg, micro_g = math.pi / 180, 9.80665e-6
    densities = {"icm20602": (0.004, 100), "mpu6000": (0.005, 400), "bmi055": (0.014, 150)}  # deg/s and ug per sqrt(Hz)
    for name, (gyro, accel) in densities.items():
        imu = products.imu_params(name)
        assert imu["gyro_noise"] == pytest.approx(gyro * deg) and imu["accel_noise"] == pytest.approx(accel * micro_g)
    compass, baro = products.magnetometer_params("ist8310"), products.barometer_params("ms5611")
    assert compass["range"] == pytest.approx([1.6e-3, 1.6e-3, 2.5e-3])  # +-1600 uT in x and y, +-2500 uT in z
    assert baro["noise"] == pytest.approx(0.027 * 100)  # 0.027 mbar in Pa
    assert (baro["low"], baro["high"]) == (10 * 100, 1200 * 100)  # 10 to 1200 mbar
    assert products.depth_gauge_params("ms5837_30ba")["high"] == pytest.approx(30 * 1e5)  # 30 bar
    assert products.airspeed_params("ms4525do")["range"] == pytest.approx(4.4482216 / 0.0254**2, rel=1e-6)  # 1 psi


@pytest.mark.parametrize(
    ("name", "rate_hz"), [("ublox_m8n", 5), ("ublox_f9p", 10), ("motion_capture", 50), ("usbl_dvl", 1)]
)
def test_receivers_give_their_number_of_fixes_a_second(name: str, rate_hz: float) -> None:
    timing = products.GNSS_TIMING[name]
    assert 1.0 / (timing["sample_s"] * timing["period_samples"]) == pytest.approx(rate_hz)


def test_bandwidths_of_inertial_units_are_the_printed_ones_in_hertz() -> None:
    """Where the response has fallen by 3 dB, of the gyroscope and of the accelerometer."""
    printed = {"icm20689": (250, 218), "icm20602": (250, 218), "mpu6000": (256, 260)}
    for name, (gyro_hz, accel_hz) in printed.items():
        imu = products.imu_params(name)
        assert imu["gyro_natural_frequency"] == pytest.approx(gyro_hz * 2 * math.pi), name
        assert imu["accel_natural_frequency"] == pytest.approx(accel_hz * 2 * math.pi), name


def test_rangefinder_and_optical_flow_see_as_far_and_as_fast_as_printed() -> None:
    near, flow = products.rangefinder_params("tfmini"), products.optical_flow_params("px4flow")
    assert (near["nearest"], near["farthest"], near["resolution"]) == (0.3, 12.0, 0.01)  # m, indoors; steps of 1 cm
    assert near["noise_share"] == pytest.approx(0.5 * 0.01)  # two deviations are 1 %
    assert flow["largest_rate"] == 2.5  # rad/s, PX4's SENS_FLOW_MAXR
    density, rate_hz = math.radians(0.03), 50  # L3GD20: deg/s per root hertz; half of the samples' rate is white
    assert flow["rotation_noise"] == pytest.approx(density * math.sqrt(rate_hz / 2))
