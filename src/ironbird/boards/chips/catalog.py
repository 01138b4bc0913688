"""All chips by name: Ironbird's own, those of packages (`ironbird.chips`) and of the user (IRONBIRD_CHIPS)."""

from __future__ import annotations

from ironbird.boards.chips.chip import Chip
from ironbird.errors import ModelError
from ironbird.files.registry import Registry

CHIPS: Registry[type[Chip]] = Registry(
    "chips",
    {
        "icm20689": "ironbird.boards.chips.parts.icm20689:Icm20689",
        "icm20602": "ironbird.boards.chips.parts.icm20602:Icm20602",
        "mpu6000": "ironbird.boards.chips.parts.mpu6000:Mpu6000",
        "icm42688p": "ironbird.boards.chips.parts.icm42688p:Icm42688p",
        "ist8310": "ironbird.boards.chips.parts.ist8310:Ist8310",
        "hmc5883l": "ironbird.boards.chips.parts.hmc5883l:Hmc5883l",
        "ms5611": "ironbird.boards.chips.parts.ms5611:Ms5611",
        "lsm303d": "ironbird.boards.chips.parts.lsm303d:Lsm303d",
        "l3gd20h": "ironbird.boards.chips.parts.l3gd20h:L3gd20h",
        "ms4525do": "ironbird.boards.chips.parts.ms4525do:Ms4525do",
        "qmc5883l": "ironbird.boards.chips.parts.qmc5883l:Qmc5883l",
        "bmp388": "ironbird.boards.chips.parts.bmp388:Bmp388",
        "pca9685": "ironbird.boards.chips.parts.pca9685:Pca9685",
        "ads1115": "ironbird.boards.chips.parts.ads1115:Ads1115",
        "neo_m8n": "ironbird.boards.chips.parts.neo_m8n:NeoM8n",
        "sbus": "ironbird.boards.chips.parts.sbus:Sbus",
        "bmi088_accel": "ironbird.boards.chips.parts.bmi088_accel:Bmi088Accel",
        "bmi088_gyro": "ironbird.boards.chips.parts.bmi088_gyro:Bmi088Gyro",
    },
    Chip,
    classes=True,
    what="chip",
    listed_by="ironbird board list",
    error=ModelError,
)


def chip_class(name: str) -> type[Chip]:
    """A chip's class by the chip's name, which is also that of its file: C code is made under it."""
    kind = CHIPS.load(name)
    if kind.id() != name:
        raise ModelError(f"chip '{name}' is in a file {kind.id()}.py; give both the same name")
    return kind


def make_chip(name: str, **inputs: float) -> Chip:
    """A chip, powered, with its inputs at these values."""
    return chip_class(name)(**inputs)
