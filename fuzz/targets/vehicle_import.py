"""Vehicles of other programs: SDF, URDF, JSBSim, PX4's parameters, ArduPilot's frames; the first byte says which."""

from __future__ import annotations

import functools
import random

from fuzz.files import refilled
from fuzz.markup import Markup
from fuzz.target import Refused, attempt, file_of, in_haste, kept
from ironbird.vehicles.imports.registry import FORMATS, Given, import_vehicle
from ironbird.vehicles.load import load_spec

WORDS = (
    "<sdf version='1.6'>", "<model name='a'>", "<link name='b'>", "<inertial>", "<mass>1.0</mass>", "<inertia><ixx>0.01</ixx></inertia>", "<pose>0 0 0 0 0 0</pose>",
    "<joint name='j' type='fixed'>", "<parent link='a'/>", "<child link='b'/>", "<origin xyz='0 0 0' rpy='0 0 0'/>", "<robot name='r'>", "<plugin name='p' filename='libgazebo_motor_model.so'>",
    "<motorConstant>6e-06</motorConstant>", "<turningDirection>ccw</turningDirection>", "<include><uri>model://a</uri></include>", "<fdm_config>", "<metrics><wingarea unit='M2'>16</wingarea></metrics>",
    "<mass_balance>", "<table><tableData>", "param set-default CA_ROTOR0_PX 0.2\n", "1\t1\tCA_ROTOR_COUNT\t4\t6\n", "R: 4x 10000 10000 10000 0\n", '"mass": 4.0', '"num_motors": 4', '"diagonal_size": 0.8',
    "nan", "1e999", "-1", "0", "<!DOCTYPE a>", "&a;",
)  # fmt: skip
MOST = 6000
NAMES = tuple(FORMATS)
GIVEN = Given(mass_kg=2.0, arm_m=0.3)
_write, _look = in_haste(32), in_haste(2)


@functools.cache
def _markup() -> Markup:
    words = [word.encode() for word in WORDS]
    return Markup([path.read_bytes() for path in kept("vehicle_import")], words, MOST, skip=1)


def make(source: random.Random) -> bytes:
    """Some of them whole documents."""
    return _markup().make(source)


def check(data: bytes) -> bool | None:
    """Taken or refused; what is taken is a vehicle file that can be written and read, or refused in words."""
    name = NAMES[data[0] % len(NAMES)] if data else NAMES[0]
    draft = attempt(import_vehicle, refilled(data[1:], "other.txt"), name, GIVEN)
    if isinstance(draft, Refused):
        return "no whole XML" not in str(draft.error)
    if _write():
        text = draft.text()
        if _look():
            attempt(load_spec, file_of(text.encode(), "draft.toml"))
    return None
