"""Every struct of RflySim's interface that is supported, in one table; both directions.

A receiver distinguishes packets by their length first and then by fixed values: a checksum, or the tag and length of
the older head. Numbers are little-endian; where the C compiler left a gap, the table contains it (`4x`). Source: seed
document 5.3, 5.4, 9.1 [RflyModel] and the public clients, which win where the two differ.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ironbird.errors import LinkError, UnknownNameError

Number = int | float
Value = Number | tuple[Number, ...] | bytes

# Families: who receives it where. Within one family length and fixed values distinguish the structs.
COMMAND = "20100"  # client to vehicle: offboard commands
STATE = "20101"  # vehicle to client: the autopilot's estimate
MODEL_IN = "30100"  # client or 3D engine to vehicle: model inputs, faults, parameters
TRUTH = "30101"  # vehicle to client: what is true
EXTRA = "40101"  # vehicle to client: the autopilot's own message
IMU = "31000"  # vehicle to client: inertial sensor on request
TIME = "20005"  # vehicle to all: heartbeat
SETUP = "20002"  # client to all: re-placement
SCENE = "20010"  # vehicle to 3D engine


@dataclass(frozen=True)
class Field:
    """One field: a number, an array of numbers, or bytes (`s`)."""

    name: str
    count: int
    code: str

    @property
    def plain(self) -> bool:
        """Whether it is one number and not an array."""
        return self.count == 1 or self.code == "s"


@dataclass(frozen=True)
class Layout:
    """One struct of the interface."""

    name: str
    families: tuple[str, ...]
    text: str  # fields in order, `name:8i`; `:4x` is a gap
    length: int  # bytes
    fixed: Mapping[str, int | Sequence[int]]  # what distinguishes it from others of its length
    gist: str  # what is in it, for the page

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Fields in order, without gaps."""
        fields = []
        for word in self.text.split():
            name, _, code = word.partition(":")
            if name:
                fields.append(Field(name, int(code[:-1] or 1), code[-1]))
        return tuple(fields)

    @cached_property
    def form(self) -> struct.Struct:
        """Python's `struct.Struct` of the packet, gaps included."""
        return struct.Struct("<" + "".join(word.partition(":")[2] for word in self.text.split()))

    def encode(self, **values: Any) -> bytes:
        """A packet from values by field; missing ones are 0, fixed ones need not be given."""
        unknown = set(values) - {one.name for one in self.fields}
        if unknown:
            raise UnknownNameError(f"field of {self.name}", min(unknown), [one.name for one in self.fields])
        flat: list[Any] = []
        for one in self.fields:
            if one.name in values:
                value = values[one.name]
            else:
                value = self.fixed.get(one.name, b"" if one.code == "s" else 0)
                if isinstance(value, Sequence) and not isinstance(value, bytes):
                    raise LinkError(f"{self.name}: {one.name} is one of {list(value)}; say which")
            if one.plain:
                flat.append(value)
            else:
                row = [value] * one.count if isinstance(value, int | float) else list(value)
                if len(row) > one.count:
                    raise LinkError(f"{self.name}: {one.name} has {one.count} values, got {len(row)}")
                flat += row + [0] * (one.count - len(row))
        try:
            return self.form.pack(*flat)
        except (struct.error, OverflowError) as error:
            raise LinkError(f"{self.name}: a value does not fit its field: {error}") from None

    def decode(self, data: bytes) -> dict[str, Value] | None:
        """Values by field name; None if the bytes are not this struct."""
        if len(data) != self.form.size:
            return None
        flat = self.form.unpack(data)
        values: dict[str, Value] = {name: flat[place] for name, place in self._places}
        for name, expected in self.fixed.items():
            if values[name] not in (expected if isinstance(expected, Sequence) else (expected,)):
                return None
        return values

    @cached_property
    def _places(self) -> tuple[tuple[str, int | slice], ...]:
        """Index or slice of each field among the numbers of a packet."""
        places: list[tuple[str, int | slice]] = []
        place = 0
        for one in self.fields:
            width = 1 if one.plain else one.count
            places.append((one.name, place if one.plain else slice(place, place + width)))
            place += width
        return tuple(places)


@dataclass(frozen=True)
class Packet:
    """A received packet: its struct and its values."""

    layout: Layout
    values: dict[str, Value] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


_C = "checksum:i "
_HEAD = "tg:i len:i "
_SIL = _C + "copterID:i inSILInts:8i inSILFloats:20f"
_EXT = tuple(1234567800 + n for n in range(1, 6))
_EXT_STORED = tuple(1234567900 + n for n in range(1, 6))  # + 100: stored, not applied yet
_POSE = "velE:3f euler:3f quaternion:4f rpm:8f accB:3f rateB:3f "

LAYOUTS: tuple[Layout, ...] = (
    # ------------------------------------------------------------ commands, 20100
    Layout(
        "inHILCMDData", (COMMAND,),
        _HEAD + "time_boot_ms:I copterID:I type_mask:I frame:I pos:3f vel:3f acc:3f yaw:f yawrate:f spare:5f :32x",
        120, {"tg": 3, "len": 80}, "UDP_Full: one set-point with MAVLink's type mask and frame",
    ),
    Layout(
        "inOffboardShortData", (COMMAND,), _C + "ctrlMode:i controls:4f", 24, {"checksum": 1234567890},
        "UDP_Simple: a mode and four numbers; arming in both UDP modes",
    ),
    Layout("reboot", (COMMAND,), _C + "delay:i", 8, {"checksum": 987654321}, "start again"),
    # ------------------------------------------------------------ state, 20101
    Layout(
        "outHILStateData", (STATE,),
        _HEAD + "time_boot_ms:I copterID:I gpsPos:3i gpsVel:3i gpsHome:3i relative_alt:i hdg:i satellites:i "
        "fix_type:i resInt:i euler:3f pos:3f vel:3f hAcc:f vAcc:f ekfFixed:f",
        120, {"len": 112}, "UDP_Full: the autopilot's estimate; tg -1, or the id of a vehicle that was hit",
    ),
    Layout(
        "outHILStateShort", (STATE,), _C + "gpsHome:3i euler:3f pos:3f vel:3f", 52,
        {"checksum": (1234567890, 1234567891, 1234567892)},
        "UDP_Simple: home and motion; with ...891 the estimator is ready, with ...892 gpsHome[1] is who was hit",
    ),
    # ------------------------------------------------------------ truth, 30101
    Layout(
        "SOut2SimulatorOld", (TRUTH, SCENE),
        _HEAD + "copterID:i vehicleType:i time:d velE:3f posE:3f euler:3f quaternion:4f rpm:8f accB:3f rateB:3f "
        ":4x gps:3d :40x",
        200, {"len": 152}, "truth as every client reads it; tg -1, or the id of a vehicle that was hit",
    ),
    Layout(
        "SOut2Simulator", (TRUTH, SCENE), _C + "copterID:i vehicleType:i reserve:i " + _POSE + "time:d posE:3d gps:3d",
        168, {"checksum": 123456789}, "truth, positions in double precision",
    ),
    Layout(
        "SOut2SimulatorSimpleTime", (TRUTH, SCENE),
        _C + "copterID:i vehicleType:i gpsInt:3i rpm:8f velE:3f euler:3f posE:3d time:d",
        112, {"checksum": 1234567891}, "truth in the simple modes",
    ),
    Layout(
        "SOut2SimulatorSimple1", (TRUTH, SCENE),
        _C + "copterID:i vehicleType:i rpm:8f velE:3f euler:3f :4x posE:3d time:d",
        104, {"checksum": 1234567890}, "an older simple form",
    ),
    Layout(
        "SOut2SimulatorSimple", (TRUTH, SCENE), _C + "copterID:i vehicleType:i rpm:8f posE:3f velE:3f euler:3f time:d",
        88, {"checksum": 1234567890}, "the oldest simple form",
    ),
    Layout(
        "outCopterStruct", (TRUTH,), _C + "copterID:i data:32d", 264, {"checksum": 1234567890},
        "outCopterData: 32 numbers of the model",
    ),
    Layout(
        "Ue4CMDGPS", (TRUTH,), _C + "copterID:i gps:3d", 32, {"checksum": 1234567890}, "where the map's origin is",
    ),
    Layout(
        "crash", (TRUTH,), _C + "copterID:i targetID:i", 12, {"checksum": 1234567890}, "who hit whom; 0 is the scenery",
    ),
    # ------------------------------------------------------------ autopilot's own message, 40101
    Layout(
        "PX4ExtMsg", (EXTRA,), _C + "copterID:i time:d controls:8f", 48, {"checksum": 1234567898},
        "rfly_px4 of the autopilot: here its first eight actuator commands",
    ),
    # ------------------------------------------------------------ model inputs, 30100
    Layout("PX4SILIntFloat", (MODEL_IN,), _SIL, 120, {"checksum": 1234567897}, "inSILInts, inSILFloats: faults, bits"),
    Layout(
        "DllInDoubCtrls", (MODEL_IN,), _C + "copterID:i data:28d", 232, {"checksum": 1234567897},
        "the same 8 + 20 numbers as doubles",
    ),
    Layout("inCtrlExt", (MODEL_IN,), _SIL, 120, {"checksum": (*_EXT, *_EXT_STORED)}, "inCtrlExt1 to 5"),
    Layout(
        "inCtrlExtDouble", (MODEL_IN,), _C + "copterID:i data:28d", 232, {"checksum": (*_EXT, *_EXT_STORED)},
        "inCtrlExt1 to 5 as doubles",
    ),
    Layout(
        "PX4ModelInParams", (MODEL_IN,), _C + "mask:I data:32d", 264, {"checksum": 1234567891},
        "FaultInParams: entries whose bit is set",
    ),
    Layout("InitInParams", (MODEL_IN,), _C + "mask:I data:32d", 264, {"checksum": 1234567892}, "model parameters"),
    Layout(
        "DynModiParams", (MODEL_IN,), _C + "copterID:i mask:Q data:64d", 528, {"checksum": 1234567893},
        "parameters of the model, 64 of them",
    ),
    Layout("UEToCopterDataD", (MODEL_IN,), _C + "copterID:i data:32d", 264, {"checksum": 1234567899}, "inFromUE"),
    Layout(
        "Ue4RayTraceDrone", (MODEL_IN,), _C + "copterID:i size:f velE:3f ray:6f posE:3f", 60, {"checksum": 1234567890},
        "inFloatsCollision: who was hit (0 is the scenery), and how far the nearest things are",
    ),
    Layout(
        "Coll20d", (MODEL_IN,), _C + "copterID:i data:20f", 88, {"checksum": 1234567880}, "inFloatsCollision as it is",
    ),
    Layout(
        "TerrainIn15d", (MODEL_IN,), _C + "copterID:i data:20f", 88, {"checksum": 1234567881},
        "terrain; the first is TerrainZ",
    ),
    Layout(
        "PX4UorbRflyCtrl", (MODEL_IN,), _C + "copterID:i modes:I flags:I data:16f", 80, {"checksum": 1234567896},
        "rfly_ctrl for the autopilot",
    ),
    Layout("heartbeatRequest", (MODEL_IN,), _C + "index:i", 8, {"checksum": 123450}, "send the heartbeat to me too"),
    Layout(
        "SensorReqCopterSim", (MODEL_IN,), "checksum:H sensorType:H rate:H port:H ip:4B params:6f", 36,
        {"checksum": 12345}, "send a sensor to this port: type 0 is the inertial unit",
    ),
    # ------------------------------------------------------------ others
    Layout(
        "imuReply", (IMU,), _C + "copterID:i time:d acc:3f gyro:3f", 40, {"checksum": 1234567898}, "the inertial unit",
    ),
    Layout(
        "RflyTimeStmp", (TIME,), _C + "copterID:i start_ms:q now_ms:q count:q", 32, {"checksum": 123456789}, "I live",
    ),
    Layout(
        "reCopterSimMsg", (SETUP, MODEL_IN),
        _C + "copterID:i isReqIP:b isXyYaw:b isZRP:b udpMode:b other:4B zRollPitch:3f yaw:f xy:2d", 48,
        {"checksum": 1234567}, "place the vehicle again, or change the mode",
    ),
    Layout(
        "CptSimCMD", (SETUP, MODEL_IN), _C + "copterID:i what:i index:i text:48s", 64, {"checksum": 1234567895},
        "another model (1) or map (2)",
    ),
    Layout(
        "Ue4ExtMsg", (SCENE,), _C + "copterID:i time:d data:16d", 144, {"checksum": 1234567894},
        "ExtToUE4: actuators for the 3D engine",
    ),
)  # fmt: skip

BY_NAME: dict[str, Layout] = {one.name: one for one in LAYOUTS}
_BY_PLACE: dict[tuple[str, int], list[Layout]] = {}
for _layout in LAYOUTS:
    for _family in _layout.families:
        _BY_PLACE.setdefault((_family, _layout.length), []).append(_layout)


def decode(family: str, data: bytes) -> Packet | None:
    """Decode a packet of a family; None if it is not of this interface."""
    for layout in _BY_PLACE.get((family, len(data)), ()):
        values = layout.decode(data)
        if values is not None:
            return Packet(layout, values)
    return None


def encode(name: str, **values: Any) -> bytes:
    """Encode a packet by the name of its struct."""
    if name not in BY_NAME:
        raise UnknownNameError("struct", name, BY_NAME)
    return BY_NAME[name].encode(**values)
