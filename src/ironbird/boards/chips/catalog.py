"""All chips by name: one line each."""

from __future__ import annotations

import importlib

from ironbird.boards.chips.chip import Chip
from ironbird.errors import UnknownNameError

CHIPS: dict[str, str] = {  # name, which is its file's, and class
    "icm20689": "Icm20689",
    "icm20602": "Icm20602",
    "mpu6000": "Mpu6000",
    "icm42688p": "Icm42688p",
    "ist8310": "Ist8310",
    "hmc5883l": "Hmc5883l",
    "ms5611": "Ms5611",
    "lsm303d": "Lsm303d",
    "l3gd20h": "L3gd20h",
    "ms4525do": "Ms4525do",
    "qmc5883l": "Qmc5883l",
    "bmp388": "Bmp388",
    "pca9685": "Pca9685",
    "ads1115": "Ads1115",
    "neo_m8n": "NeoM8n",
    "sbus": "Sbus",
    "bmi088_accel": "Bmi088Accel",
    "bmi088_gyro": "Bmi088Gyro",
}


def chip_class(name: str) -> type[Chip]:
    """A chip's class by the chip's name."""
    if name not in CHIPS:
        raise UnknownNameError("chip", name, CHIPS, listed_by="ironbird chips")
    kind: type[Chip] = getattr(importlib.import_module(f"ironbird.boards.chips.parts.{name}"), CHIPS[name])
    return kind


def make_chip(name: str, **inputs: float) -> Chip:
    """A chip, powered, with its inputs at these values."""
    return chip_class(name)(**inputs)
