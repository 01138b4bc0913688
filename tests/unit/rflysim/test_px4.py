"""PX4 behind RflySim's ports, over real sockets: our MAVLink server, which speaks as PX4 does, stands in its place."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from mavlink_bench import ANY_PORT, Bench
from rflysim_client import Client, MavlinkClient, free_shift

from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer
from ironbird.rflysim.px4 import Px4Commander, Px4Front, Tapped
from ironbird.rig.commander.target import Target

NAN3 = (float("nan"),) * 3
HEIGHT_M = 4.0


class Behind:
    """A vehicle under "PX4", its front end and a client, stepped by the test."""

    def __init__(self, client: Client, shift: int, mode: str) -> None:
        self.client = client
        self.px4 = Bench("quad_f450", ANY_PORT, connect=False)
        port = self.px4.front.endpoints[0].port  # type: ignore[attr-defined]
        self.wire = Tapped(0, peer=("127.0.0.1", port))
        self.commander = Px4Commander(self.px4.rig.vehicle, self.px4.rig, self.wire)
        self.front = Px4Front({"shift": shift, "mode": mode})
        self.front.open(self.commander)
        self._looks = 0

    def step(self) -> None:
        assert self.px4.rig.step(4)
        self.px4.system.exchange(self.px4.rig)
        self.commander.poll()
        self.client.hear()
        self._looks += 1
        if self._looks % 5 == 0 and self.client.setpoint:
            self.client.send(self.client.setpoint)
        self.front.poll(self.commander)

    def until(self, holds: Callable[[], object], seconds: float = 40.0) -> None:
        end_s = self.commander.time_s + seconds
        while not holds():
            assert self.commander.time_s < end_s, (
                self.front.notes,
                self.commander.station.last_text,
                self.client.estimate,
            )
            self.step()

    def close(self) -> None:
        self.front.close()
        self.commander.close()
        self.px4.system.stop()
        self.client.close()


@pytest.fixture
def behind() -> Iterator[Callable[..., Behind]]:
    made: list[Behind] = []

    def make(kind: Callable[..., Client], mode: str, **more: Any) -> Behind:
        shift = free_shift()
        made.append(Behind(kind(shift, **more), shift, mode))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_structs_become_mavlink_for_px4_and_its_telemetry_becomes_structs(behind: Callable[..., Behind]) -> None:
    rig = behind(Client, "udp_full")
    client = rig.client
    client.position(0, 0, -HEIGHT_M)  # as CopterSim does, the first of a stream arms and changes to offboard
    rig.until(lambda: client.ready)
    rig.until(lambda: client.near(0, 0, -HEIGHT_M))
    assert rig.px4.commander.mode == rig.commander.mode == "offboard" and client.out_copter[1] == 1.0
    assert client.truth["pos"] == pytest.approx(client.estimate["pos"], abs=1.5)
    client.velocity(0, 1.0, 0)
    rig.until(lambda: client.estimate["vel"][1] > 0.7)
    # rfly_ctrl and ExtToPX4 go to PX4 as arrays, and what PX4 says under the name rfly_px4 goes to 40101
    sent: list[bytes] = []
    rig.wire.send = lambda packet: sent.append(bytes(packet))  # type: ignore[method-assign]
    client.send(struct.pack("<4i16f", 1234567896, 1, 0, 0, *[7.5] * 16), "model")
    rig.until(lambda: any(b"rfly_ctrl" in packet and struct.pack("<f", 7.5) in packet for packet in sent))
    packer = Packer(1, 1)
    packer.add(dialect.DEBUG_FLOAT_ARRAY, 0, 0, b"rfly_px4", *[0.25] * 58)
    frame = bytes(packer.take())
    source = rig.commander.station._heard_from
    assert source is not None
    rig.wire.read = lambda: iter([(source, frame)])  # type: ignore[method-assign]
    rig.until(lambda: client.actuators == (0.25,) * 8)
    assert rig.front.ext_to_px4(rig.commander)[0] > 100.0  # rad/s of a rotor that flies


def test_mavlink_is_passed_on_byte_by_byte_with_the_truth_in_between(behind: Callable[..., Behind]) -> None:
    rig = behind(MavlinkClient, "mavlink_full")
    client = rig.client
    assert isinstance(client, MavlinkClient)
    rig.until(lambda: rig.commander.status().healthy and client.ready)
    client.position(0, 0, -HEIGHT_M)
    rig.until(lambda: rig.px4.commander._target_s > 0)
    client.arm(True)
    client.offboard()
    rig.until(lambda: client.near(0, 0, -HEIGHT_M))
    assert client.armed and client.custom_mode == 6 << 16
    assert client.between[3:6] == pytest.approx(client.truth["pos"], abs=0.5)
    assert {"HIL_ACTUATOR_CONTROLS", "HEARTBEAT", "LOCAL_POSITION_NED"} <= client.named


def test_what_is_asked_of_px4_is_asked_again_until_it_is_so(behind: Callable[..., Behind]) -> None:
    rig = behind(Client, "udp_simple", simple=True)
    v = rig.commander
    assert v.take_off(5.0) == "PX4 has no home position yet" and v.arm() == "PX4 has not been received yet"
    rig.until(lambda: v.arm() is None)
    rig.until(lambda: v.take_off(HEIGHT_M) is None)
    rig.until(lambda: v.estimate().p_N[2] < -HEIGHT_M + 0.5)
    assert "has no mode 'dance'" in str(v.set_mode("dance"))
    assert v.reposition((3.0, 0.0, -HEIGHT_M)) is None
    rig.until(lambda: abs(v.estimate().p_N[0] - 3.0) < 0.5)
    assert "course, height and speed" in str(v.offboard(Target(course=1.0, height=9.0)))
    assert "asks for nothing" in str(v.offboard(Target()))
    assert v.offboard(Target(position_N=(NAN3[0], NAN3[0], -3.0), velocity_N=(0.5, 0.0, NAN3[0]))) is None
    rig.step()
    given = rig.px4.rig.stepper.inputs[rig.px4.rig.state.model.flat.u.rows("offboard_given")]
    assert list(given[:6]) == [0, 0, 1, 1, 1, 0]  # axis by axis
    assert v.set_speed(2.0) is None and v.set_loiter_radius(30.0) is None
    rig.until(lambda: v.land() is None)
    rig.until(lambda: not v.armed, 60.0)
    np.testing.assert_allclose(v.truth().p_N[:2], v.estimate().p_N[:2], atol=1.5)
