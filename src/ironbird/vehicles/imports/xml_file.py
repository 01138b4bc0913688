"""Reading of XML files of other programs, and of the numbers in them."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree.ElementTree import Element

from ironbird.errors import VehicleError
from ironbird.files import xml_tree
from ironbird.files.problems import read_bytes

MOST_BYTES = 8 * 2**20


def read_xml(path: Path) -> Element:
    """The root element of an XML file."""
    try:
        data = read_bytes(path, MOST_BYTES)
    except OSError as error:
        raise VehicleError(
            f"cannot read {path}: {error.strerror or error}; give a model of Gazebo, ArduPilot, PX4 or JSBSim"
        ) from None
    if b"{%" in data or b"{{" in data:
        data = _plain(data)
    return xml_tree.read_xml(data, lambda why: VehicleError(f"{path}: {why}"))


def _plain(data: bytes) -> bytes:
    """A Jinja template without its statements; expressions become 0."""
    import re

    return re.sub(rb"\{\{.*?\}\}", b"0", re.sub(rb"\{[%#].*?[%#]\}", b"", data, flags=re.DOTALL), flags=re.DOTALL)


def number(parent: Element, tag: str, usual: float | None = None, where: str = "") -> float:
    """A finite number in a child element; raises if it is missing and there is no default `usual`."""
    text = parent.findtext(tag)
    if text is None or not text.strip():
        if usual is None:
            raise VehicleError(f"{where or parent.tag}: <{tag}> is missing")
        return usual
    return as_number(text, f"{where or parent.tag}: <{tag}>")


def numbers(text: str | None, count: int, where: str) -> list[float]:
    """A list of finite numbers; zeros if there is no text."""
    if text is None or not text.strip():
        return [0.0] * count
    values = [as_number(word, where) for word in text.split()]
    if len(values) != count:
        raise VehicleError(f"{where}: {len(values)} numbers, not {count}")
    return values


def as_number(text: str, where: str) -> float:
    """A text as a finite number; raises an error that names `where`."""
    try:
        value = float(text)
    except ValueError:
        raise VehicleError(f"{where}: '{text.strip()[:40]}' is no number") from None
    if not math.isfinite(value):
        raise VehicleError(f"{where}: {value} is not finite")
    return value
