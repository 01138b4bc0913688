"""ICM-20602: inertial unit by SPI of many flight controllers."""

from __future__ import annotations

from ironbird.boards.chips.parts.invensense import COMMON, TRIMS, InvenSense
from ironbird.boards.chips.table import Register, run_of


class Icm20602(InvenSense):
    """The inertial unit ICM-20602: as the ICM-20689, with temperature always in the FIFO, a watermark and its own reset
    values, [ChipNotes] 2.
    """

    part = "ICM-20602"
    summary = "inertial unit, FIFO 1008 bytes with watermark"
    source = "[ChipNotes] 2"
    clock_hz = 10_000_000
    CAPACITY = 1008
    FIFO_ALL = 1
    WATERMARK = 1
    registers = (
        *COMMON,
        *run_of(0x04, "XG_OFFS_TC_H XG_OFFS_TC_L", 0, 0xFF, "factory trim"),
        *run_of(0x07, "YG_OFFS_TC_H YG_OFFS_TC_L", 0, 0xFF, "factory trim"),
        *run_of(0x0A, "ZG_OFFS_TC_H ZG_OFFS_TC_L", 0, 0xFF, "factory trim"),
        *run_of(0x0D, "SELF_TEST_X_ACCEL SELF_TEST_Y_ACCEL SELF_TEST_Z_ACCEL", 1, 0xFF, "code of the self test"),
        Register(0x11, "UNDOCUMENTED_11", 0, 0xFF, "ArduPilot writes 0xC9 and reads it back"),
        Register(0x1A, "CONFIG", 0x80, 0xFF, ".6 a full FIFO drops new data, else the oldest; .2:0 filter of the gyro"),
        Register(0x1B, "GYRO_CONFIG", 0, 0xFB, ".7:5 self test, .4:3 range: 250, 500, 1000, 2000 deg/s, .1:0 32 kHz"),
        Register(0x1D, "ACCEL_CONFIG2", 0, 0x3F, ".3 accel 4 kHz, .2:0 its filter"),
        Register(0x1E, "LP_MODE_CFG", 0, 0xFF, "low power; stored"),
        Register(0x23, "FIFO_EN", 0, 0x18, ".4 gyro, .3 accelerometer go to the FIFO, with the temperature"),
        Register(0x37, "INT_PIN_CFG", 0, 0xFC, ".7 active low, .5 latched, .4 any read clears"),
        Register(0x38, "INT_ENABLE", 0, 0xFD, ".4 FIFO overflow, .0 data ready"),
        Register(0x39, "FIFO_WM_INT_STATUS", 0, 0, ".6 the watermark was reached", clears=True, measured=True),
        Register(0x60, "FIFO_WM_TH1", 0, 0x03, "watermark in bytes, high; zero is off"),
        Register(0x61, "FIFO_WM_TH2", 0, 0xFF, "watermark, low"),
        Register(0x68, "SIGNAL_PATH_RESET", 0, 0, ".1 accel, .0 temperature", acts=True, self_clearing=0x03),
        Register(0x69, "ACCEL_INTEL_CTRL", 0, 0xFF, "wake on motion; stored"),
        Register(0x6A, "USER_CTRL", 0, 0x40, ".6 FIFO on, .2 empty it, .0 clear sample", acts=True, self_clearing=0x05),
        Register(0x6B, "PWR_MGMT_1", 0x41, 0x7F, ".7 reset, .6 sleep, .2:0 clock", acts=True, self_clearing=0x80),
        Register(0x70, "I2C_IF", 0, 0x40, ".6 I2C off"),
        Register(0x75, "WHO_AM_I", 0x12, 0, "identity", acts=True),
        *TRIMS,
    )  # fmt: skip
