"""Structs of RflySim's interface: against the formats that the public clients use, with native alignment."""

from __future__ import annotations

import struct

import pytest

from ironbird.errors import LinkError, UnknownNameError
from ironbird.rflysim.structs import BY_NAME, LAYOUTS, decode, encode

# As the clients write them (`struct` with native alignment); heads and padding apart
CLIENTS = {
    "inHILCMDData": ("2i4I16f", 32), "inOffboardShortData": ("2i4f", 0), "reboot": ("2i", 0),
    "outHILStateData": ("2i2I14i12f", 0), "outHILStateShort": ("4i9f", 0), "SOut2SimulatorOld": ("2i2i1d27f3d", 40),
    "SOut2Simulator": ("4i24f7d", 0), "SOut2SimulatorSimpleTime": ("6i14f4d", 0),
    "SOut2SimulatorSimple1": ("3i14f4d", 0), "SOut2SimulatorSimple": ("3i17f1d", 0),
    "outCopterStruct": ("ii32d", 0), "Ue4CMDGPS": ("ii3d", 0), "crash": ("3i", 0),
    "PX4ExtMsg": ("iid8f", 0), "PX4SILIntFloat": ("10i20f", 0), "DllInDoubCtrls": ("2i28d", 0),
    "inCtrlExt": ("10i20f", 0), "inCtrlExtDouble": ("2i28d", 0), "PX4ModelInParams": ("iI32d", 0),
    "InitInParams": ("iI32d", 0), "DynModiParams": ("iiQ64d", 0), "UEToCopterDataD": ("ii32d", 0),
    "Ue4RayTraceDrone": ("ii13f", 0), "Coll20d": ("ii20f", 0), "TerrainIn15d": ("ii20f", 0),
    "PX4UorbRflyCtrl": ("2i2I16f", 0), "heartbeatRequest": ("2i", 0), "SensorReqCopterSim": ("4H4B6f", 0),
    "imuReply": ("2i1d6f", 0), "RflyTimeStmp": ("2i3q", 0), "reCopterSimMsg": ("2i4b4B4f2d", 0),
    "CptSimCMD": ("4i48s", 0), "Ue4ExtMsg": ("2i1d16d", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_NAME)
def test_the_table_has_the_bytes_of_the_clients(name: str) -> None:
    layout, (form, padding) = BY_NAME[name], CLIENTS[name]
    first = next(iter(layout.fixed))
    chosen = layout.fixed[first]
    fixed = {first: chosen if isinstance(chosen, int) else chosen[0]}
    values: dict[str, object] = dict(fixed)
    for number, one in enumerate(layout.fields):
        if one.name not in layout.fixed:
            values[one.name] = b"text" if one.code == "s" else number if one.plain else [number] * one.count

    data = encode(name, **values)

    assert len(data) == layout.length == struct.calcsize("@" + form) + padding
    packet = decode(layout.families[0], data)
    assert packet is not None and packet.layout is layout
    theirs = struct.unpack("@" + form, data[: struct.calcsize("@" + form)])
    flat = [
        value
        for one in layout.fields
        for value in ([packet[one.name]] if one.plain else packet[one.name])
    ]  # fmt: skip
    assert list(theirs) == flat


def test_packets_of_one_family_and_length_never_mean_two_things() -> None:
    for layout in LAYOUTS:
        for family in layout.families:
            for other in LAYOUTS:
                if other is not layout and family in other.families and other.length == layout.length:
                    ours, theirs = layout.fixed["checksum"], other.fixed["checksum"]
                    mine = {ours} if isinstance(ours, int) else set(ours)
                    yours = {theirs} if isinstance(theirs, int) else set(theirs)
                    assert not mine & yours, f"{layout.name} and {other.name}"


def test_a_packet_with_another_checksum_or_length_is_none_of_ours() -> None:
    good = encode("inOffboardShortData", ctrlMode=2, controls=[1, 2, 3, 4])
    assert decode("20100", good) is not None
    assert decode("20100", good + b"\0") is None
    assert decode("20100", b"\0" + good[1:]) is None
    assert decode("30100", good) is None


def test_values_that_do_not_fit_are_refused_with_the_place() -> None:
    with pytest.raises(LinkError, match="does not fit"):
        encode("inOffboardShortData", ctrlMode=2**40)
    with pytest.raises(LinkError, match="controls has 4 values, got 5"):
        encode("inOffboardShortData", controls=[0] * 5)
    with pytest.raises(UnknownNameError, match="mode"):
        encode("inOffboardShortData", mode=1)
    with pytest.raises(LinkError, match="say which"):
        encode("inCtrlExt")
