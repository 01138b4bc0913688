"""ICM-20689: inertial unit by SPI, main unit of the Pixhawk 4."""

from __future__ import annotations

from ironbird.boards.chips.parts.invensense import COMMON, TRIMS, InvenSense
from ironbird.boards.chips.table import Register, run_of


class Icm20689(InvenSense):
    """The inertial unit ICM-20689: gyroscope at 8 kHz (32 kHz unfiltered), accelerometer at 4 kHz, FIFO of 512 to 4096
    bytes, [ChipNotes] 1.
    """

    part = "ICM-20689"
    summary = "inertial unit, FIFO 4 KB"
    clock_hz = 8_000_000
    SIZED = 1
    registers = (
        *COMMON,
        *run_of(0x00, "SELF_TEST_X_GYRO SELF_TEST_Y_GYRO SELF_TEST_Z_GYRO", 1, 0xFF, "code of the self test"),
        Register(0x0C, "PRODUCT_ID", 0, 0, "revision"),
        *run_of(0x0D, "SELF_TEST_X_ACCEL SELF_TEST_Y_ACCEL SELF_TEST_Z_ACCEL", 1, 0xFF, "code of the self test"),
        Register(0x1A, "CONFIG", 0, 0x7F, ".6 a full FIFO drops new data, else the oldest; .2:0 filter of the gyro"),
        Register(0x1B, "GYRO_CONFIG", 0, 0xFB, ".7:5 self test, .4:3 range: 250, 500, 1000, 2000 deg/s, .1:0 32 kHz"),
        Register(0x1D, "ACCEL_CONFIG2", 0, 0xFF, ".7:6 FIFO size 512 << n, .3 accel 4 kHz, .2:0 its filter"),
        Register(0x1E, "LP_MODE_CFG", 0, 0xFF, "low power; stored"),
        *run_of(0x20, "ACCEL_WOM_X_THR ACCEL_WOM_Y_THR ACCEL_WOM_Z_THR", 0, 0xFF, "wake on motion; stored"),
        Register(0x23, "FIFO_EN", 0, 0xF8, ".7 temperature, .6:4 gyro x y z, .3 accelerometer go to the FIFO"),
        Register(0x37, "INT_PIN_CFG", 0, 0xFC, ".7 active low, .5 latched, .4 any read clears"),
        Register(0x38, "INT_ENABLE", 0, 0xF7, ".4 FIFO overflow, .0 data ready"),
        Register(0x68, "SIGNAL_PATH_RESET", 0, 0, ".1 accel, .0 temperature", acts=True, self_clearing=0x03),
        Register(0x69, "ACCEL_INTEL_CTRL", 0, 0xFF, "wake on motion; stored"),
        Register(0x6A, "USER_CTRL", 0, 0xD0, ".6 FIFO on, .4 I2C off, .2 empty FIFO, .0 clear sample", acts=True,
                 self_clearing=0x0D),
        Register(0x6B, "PWR_MGMT_1", 0x40, 0x7F, ".7 reset, .6 sleep, .2:0 clock", acts=True, self_clearing=0x80),
        Register(0x75, "WHO_AM_I", 0x98, 0, "identity", acts=True),
        *TRIMS,
    )  # fmt: skip
