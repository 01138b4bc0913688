"""Mirrors of the native structures are compared field by field when the library is loaded."""

from __future__ import annotations

import ctypes

import pytest

from ironbird.autopilots.px4 import messages as px4
from ironbird.compiler.native import cache_folder
from ironbird.compiler.native_text import load_texts
from ironbird.errors import CompileError
from ironbird.systems.ardupilot import link as ardupilot

TEXTS = {
    "px4": (px4.TEXTS, px4.STRUCTURES),
    "ardupilot": ((ardupilot.TEXT,), ardupilot.STRUCTURES),
}


def changed(structure: type[ctypes.Structure], names: dict[str, str], extra: str = "") -> type[ctypes.Structure]:
    """The same with some names exchanged, or with one field more."""
    fields = [(names.get(field[0], field[0]), field[1]) for field in structure._fields_]
    if extra:
        fields.append((extra, ctypes.c_int64))
    return type("Changed", (ctypes.Structure,), {"_fields_": fields})


@pytest.mark.parametrize(
    ("system", "name", "one", "other"),
    [
        ("px4", "ib_inertial", "accel_limit", "gyro_limit"),
        ("px4", "ib_wire", "answer_us", "flags"),
        ("px4", "ib_imu", "accel", "gyro"),
        ("ardupilot", "ib_text", "density", "ahead"),
    ],
)
def test_two_swapped_fields_are_refused(system: str, name: str, one: str, other: str) -> None:
    texts, structures = TEXTS[system]
    load_texts(*texts, structures=structures)  # the true mirror agrees
    there, here = (getattr(structures[name], field).offset for field in (one, other))
    wrong = {**structures, name: changed(structures[name], {one: other, other: one})}
    with pytest.raises(CompileError) as error:
        load_texts(*texts, structures=wrong)
    assert str(error.value) == (
        f"native code and its mirror in Python disagree about {name}.{one}: {there} there, {here} here; "
        f"empty the cache folder {cache_folder()}"
    )


def test_a_field_too_many_and_a_structure_that_is_missing_are_refused() -> None:
    texts, structures = TEXTS["px4"]
    size = ctypes.sizeof(structures["ib_wire"])
    more = {**structures, "ib_wire": changed(structures["ib_wire"], {}, extra="more")}
    with pytest.raises(CompileError, match=rf"about sizeof\(ib_wire\): {size} there, {size + 8} here"):
        load_texts(*texts, structures=more)
    fewer = {name: structure for name, structure in structures.items() if name != "ib_imu"}
    with pytest.raises(CompileError, match=r"about ib_imu\.accel: 0 there, unknown here"):
        load_texts(*texts, structures=fewer)
