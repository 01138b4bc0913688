"""MPU-6000 (and MPU-6050 on I2C): inertial unit of the Pixhawk 1 and of many boards before it."""

from __future__ import annotations

from ironbird.boards.chips.parts.invensense import COMMON, InvenSense, smoothing
from ironbird.boards.chips.table import Register, run_of


class Mpu6000(InvenSense):
    """The inertial unit MPU-6000: as the ICM-20689, with one filter for both, the accelerometer always at 1 kHz, FIFO 1
    KB, [ChipNotes] 3.
    """

    part = "MPU-6000"
    summary = "inertial unit, FIFO 1 KB; MPU-6050 on I2C"
    source = "[ChipNotes] 3"
    clock_hz = 5_000_000
    CAPACITY = 1024
    SAME_FILTER = 1
    TEMP_LSB = 340.0
    TEMP_ZERO = 36.53
    GYRO_SMOOTH = smoothing((256, 188, 98, 42, 20, 10, 5, 3600), (8e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 8e3))
    ACCEL_SMOOTH = smoothing((260, 184, 94, 44, 21, 10, 5, 260), (1e3,) * 8)
    registers = (
        *COMMON,
        *run_of(0x06, "XA_OFFS_H XA_OFFS_L YA_OFFS_H YA_OFFS_L ZA_OFFS_H ZA_OFFS_L", 0, 0xFF, "factory trim"),
        Register(0x0C, "PRODUCT_ID", 0x58, 0, "revision D"),
        *run_of(0x0D, "SELF_TEST_X SELF_TEST_Y SELF_TEST_Z SELF_TEST_A", 1, 0xFF, "factory code of the self test"),
        Register(0x1A, "CONFIG", 0, 0x7F, ".2:0 filter; .6 is kept, as ArduPilot expects"),
        Register(0x1B, "GYRO_CONFIG", 0, 0xF8, ".7:5 self test, .4:3 range: 250, 500, 1000, 2000 deg/s"),
        Register(0x23, "FIFO_EN", 0, 0xF8, ".7 temperature, .6:4 gyro x y z, .3 accelerometer go to the FIFO"),
        *[Register(a, f"I2C_MASTER_{a:02X}", 0, 0xFF, "auxiliary bus; stored") for a in range(0x24, 0x36)],
        Register(0x37, "INT_PIN_CFG", 0, 0xFE, ".7 active low, .5 latched, .4 any read clears"),
        Register(0x38, "INT_ENABLE", 0, 0x59, ".4 FIFO overflow, .0 data ready"),
        *[Register(a, f"EXT_SENS_DATA_{a:02X}", 0, 0, "auxiliary bus; zero") for a in range(0x49, 0x61)],
        *[Register(a, f"I2C_SLV_{a:02X}", 0, 0xFF, "auxiliary bus; stored") for a in range(0x63, 0x68)],
        Register(0x68, "SIGNAL_PATH_RESET", 0, 0, ".2 gyro, .1 accel, .0 temperature", acts=True, self_clearing=0x07),
        Register(0x6A, "USER_CTRL", 0, 0x70, ".6 FIFO on, .4 I2C off, .2 empty FIFO, .0 clear sample", acts=True,
                 self_clearing=0x07),
        Register(0x6B, "PWR_MGMT_1", 0x40, 0x7F, ".7 reset, .6 sleep, .2:0 clock", acts=True, self_clearing=0x80),
        Register(0x75, "WHO_AM_I", 0x68, 0, "identity", acts=True),
    )  # fmt: skip
