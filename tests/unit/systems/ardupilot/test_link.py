"""The JSON interface against a stand-in that behaves as ArduPilot does: it sends first, blocks, and repeats."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import random
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ironbird.autopilots.ardupilot.channels import SCALES, wire
from ironbird.autopilots.ardupilot.process import PHYSICS_PORT, PORT_STEP
from ironbird.errors import LinkError
from ironbird.rig.rig import Rig, attach, make_rig
from ironbird.runtime.events import ParamEvent
from ironbird.systems.ardupilot import link as ardupilot
from ironbird.systems.ardupilot.link import ArduPilot, StateText
from ironbird.transport.peers import Doorkeeper

SMALL, LARGE = 18458, 29569
INSTANCES = itertools.count(200 + random.SystemRandom().randrange(2000))  # ports that nobody else uses here


class Sitl:
    """Sends servo packets and keeps the replies."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(60.0)
        self.to = ("127.0.0.1", port)
        self.frame = 0

    def servos(self, pwm: int = 1000, *, magic: int = SMALL, frame: int | None = None, rate: int = 1200) -> None:
        count = 16 if magic == SMALL else 32
        number = self.frame if frame is None else frame
        self.socket.sendto(struct.pack(f"<HHI{count}H", magic, rate, number, *[pwm] * count), self.to)

    def reply(self) -> dict[str, Any]:
        text = self.socket.recv(4096).decode()
        assert text.startswith("\n{") and text.endswith("}\n") and " " not in text
        self.frame += 1
        return dict(json.loads(text))

    def replies_waiting(self) -> int:
        count = 0
        self.socket.settimeout(0.05)
        try:
            while True:
                self.socket.recv(4096)
                count += 1
        except TimeoutError:
            return count
        finally:
            self.socket.settimeout(60.0)


@pytest.fixture
def rig() -> Rig:
    return make_rig("quad_f450", until_s=60.0, log=[])


@pytest.fixture
def link(rig: Rig) -> Iterator[tuple[ArduPilot, Sitl]]:
    """A started link and its other side, which has sent frame 0."""
    instance = next(INSTANCES)
    system = ArduPilot(instance=instance, step_ticks=1, patience_s=1.0, first_patience_s=60.0)
    sitl = Sitl(PHYSICS_PORT + PORT_STEP * instance)
    StateText(rig)  # compiled before the clock runs
    starter = threading.Timer(0.1, sitl.servos, [0])
    starter.start()
    system.start(rig)
    starter.join()
    yield system, sitl
    system.stop()
    sitl.socket.close()


def meanwhile(system: ArduPilot, rig: Rig, act: Callable[[], None]) -> None:
    """One exchange while the other side acts."""
    other = threading.Thread(target=act)
    other.start()
    try:
        system.exchange(rig)
    finally:
        other.join()


def answer(sitl: Sitl, pwm: int, got: list[dict[str, Any]], magic: int = SMALL) -> Callable[[], None]:
    def act() -> None:
        got.append(sitl.reply())
        sitl.servos(pwm, magic=magic)

    return act


@pytest.mark.parametrize("magic", [SMALL, LARGE])
def test_both_packet_sizes_drive_the_motors(link: tuple[ArduPilot, Sitl], rig: Rig, magic: int) -> None:
    system, sitl = link
    got: list[dict[str, Any]] = []
    rig.step(1)
    meanwhile(system, rig, answer(sitl, 1640, got, magic))
    assert [float(rig.stepper.inputs[rig.actuators[f"rotor/{n}"]]) for n in range(1, 5)] == pytest.approx([0.64] * 4)
    assert system.frame_rate_hz == 1200
    assert got[0]["timestamp"] == pytest.approx(0.001)


def test_a_channel_that_is_mounted_the_other_way_round_is_driven_the_other_way_round(rig: Rig) -> None:
    wired = wire(rig.vehicle.spec)
    turned = tuple(dataclasses.replace(channel, reverse=channel.number == 1) for channel in wired.channels)
    instance = next(INSTANCES)
    system = ArduPilot(instance=instance, step_ticks=1, patience_s=5.0, first_patience_s=60.0)
    system.wiring = dataclasses.replace(wired, channels=turned)
    sitl = Sitl(PHYSICS_PORT + PORT_STEP * instance)
    StateText(rig)  # compiled before the clock runs
    starter = threading.Timer(0.1, sitl.servos, [1640])
    starter.start()
    try:
        system.start(rig)
        driven = {c.number: float(rig.stepper.inputs[rig.actuators[c.place]]) for c in turned}
    finally:
        starter.join()
        system.stop()
        sitl.socket.close()
    assert driven == pytest.approx({1: -0.64, 2: 0.64, 3: 0.64, 4: 0.64})


def test_the_reply_has_all_keys_in_an_order_that_a_substring_search_reads(rig: Rig) -> None:
    rig.step(500)
    text = StateText(rig, rc=(1500, 1500, 1000, 1500)).text().decode()
    places = [
        text.index(f'"{key}":') for key in (
            "timestamp", "imu", "gyro", "accel_body", "velocity", "attitude", "quaternion", "position", "rng_1",
            "airspeed", "velocity_wind", "battery", "voltage", "current", "rc", "rc_1", "rc_4",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert text.index("velocity") == text.index('"velocity":') + 1  # not that of the wind
    content = json.loads(text)
    assert content["imu"]["accel_body"][2] == pytest.approx(-9.8, abs=0.5)
    assert content["position"] == pytest.approx([0.0, 0.0, -0.12], abs=5e-3)
    assert content["battery"]["voltage"] == pytest.approx(12.6, abs=0.4)
    assert content["rc"] == {"rc_1": 1500, "rc_2": 1500, "rc_3": 1000, "rc_4": 1500}
    assert "e-" not in text  # no exponents


def test_velocity_and_attitude_are_those_of_the_rotation_matrix(rig: Rig) -> None:
    roll, pitch, yaw = 0.3, -0.4, 2.0
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    # Rz Ry Rx, written out
    R = np.array([
        [cp * cy, sr * sp * cy - cr * sy, cr * sp * cy + sr * sy],
        [cp * sy, sr * sp * sy + cr * cy, cr * sp * sy - sr * cy],
        [-sp, sr * cp, cr * cp],
    ])  # fmt: skip
    half = [a / 2 for a in (roll, pitch, yaw)]
    c1, s1, c2, s2, c3, s3 = (f(a) for a in half for f in (math.cos, math.sin))
    q = [
        c1 * c2 * c3 + s1 * s2 * s3, s1 * c2 * c3 - c1 * s2 * s3, c1 * s2 * c3 + s1 * c2 * s3,
        c1 * c2 * s3 - s1 * s2 * c3,
    ]  # fmt: skip
    v = np.array([12.0, -3.0, 1.5])
    rig.state.set_state("body.q", q)
    rig.state.set_state("body.v", v)
    content = json.loads(StateText(rig).text())
    assert content["velocity"] == pytest.approx(R @ v, abs=2e-6)  # six decimals are sent
    assert content["attitude"] == pytest.approx([roll, pitch, yaw], abs=2e-7)
    assert content["quaternion"] == pytest.approx(q, abs=2e-8)


def test_wheels_send_the_velocity_of_their_position() -> None:
    rover = make_rig("rover_differential", until_s=3.0, log=[])
    text = StateText(rover)
    for side in ("wheel/left", "wheel/right"):
        rover.command(side, 0.5)
    for _ in range(2000):
        rover.step(1)
        content = json.loads(text.text())
    before = np.array(content["position"])
    rover.step(1)
    content = json.loads(text.text())
    assert content["velocity"] == pytest.approx((np.array(content["position"]) - before) / 1e-3, abs=2e-3)
    assert content["velocity"][0] > 0.1


def test_the_wind_that_the_vehicle_feels_is_told() -> None:
    windy = make_rig("quad_f450", until_s=1.0, log=[], params={"wind/steady.velocity_N": [3.0, -4.0, 0.0]})
    windy.step(30)
    assert json.loads(StateText(windy).text())["velocity_wind"] == pytest.approx([3.0, -4.0, 0.0], abs=1e-3)


def test_numbers_that_are_not_finite_are_never_sent(rig: Rig) -> None:
    text = StateText(rig)
    rig.step(4)
    good = json.loads(text.text())
    rig.gyros[0].values[1] = math.nan
    rig.accels[0].values[0] = math.inf
    bad = json.loads(text.text())
    assert bad["imu"] == good["imu"]


def test_a_sensor_fault_reaches_the_link(rig: Rig) -> None:
    rig.state.add_event(ParamEvent("imu/1/gyro_fault.offset", 0.5, start_s=0.0, effect="offset"))
    faulty = attach(rig.vehicle, rig.state, until_s=1.0, log=[])
    faulty.step(50)
    assert json.loads(StateText(faulty).text())["imu"]["gyro"] == pytest.approx([0.5] * 3, abs=0.05)


def test_a_lost_reply_is_sent_again_when_asked_and_the_vehicle_does_not_step(
    link: tuple[ArduPilot, Sitl], rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, sitl = link
    monkeypatch.setattr(ardupilot, "RESEND_S", 0.2)
    replies: list[bytes] = []

    def lose_one() -> None:
        replies.append(sitl.socket.recv(4096))  # lost on the way
        time.sleep(0.3)
        sitl.servos(1000)  # the same frame again
        replies.append(sitl.socket.recv(4096))
        sitl.frame += 1
        sitl.servos(1500)

    rig.step(1)
    meanwhile(system, rig, lose_one)
    assert replies[0] == replies[1]
    assert rig.state.tick == 1 and system.traffic.late == 1
    assert system.pwm[0] == 1500


def test_after_a_pause_all_repeats_get_one_reply(link: tuple[ArduPilot, Sitl], rig: Rig) -> None:
    system, sitl = link
    got: list[dict[str, Any]] = []
    rig.step(1)
    time.sleep(ardupilot.PAUSE_S + 0.1)
    for _ in range(4):
        sitl.servos(1000)  # repeats of frame 0 pile up
    meanwhile(system, rig, answer(sitl, 1400, got))
    assert sitl.replies_waiting() == 0
    rig.step(1)
    meanwhile(system, rig, answer(sitl, 1500, got))
    assert [reply["timestamp"] for reply in got] == pytest.approx([0.001, 0.002])
    assert sitl.replies_waiting() == 0 and system.pwm[0] == 1500


def test_a_restart_is_noticed_and_the_run_goes_on(link: tuple[ArduPilot, Sitl], rig: Rig) -> None:
    system, sitl = link
    got: list[dict[str, Any]] = []
    rig.step(1)
    meanwhile(system, rig, answer(sitl, 1400, got))
    fresh = Sitl(sitl.to[1])
    rig.step(1)
    meanwhile(system, rig, lambda: fresh.servos(0, frame=0))
    rig.step(1)
    meanwhile(system, rig, answer(fresh, 1600, got))
    assert [h.kind for h in system.autopilot_events] == ["restart"]
    assert str(fresh.socket.getsockname()[1]) in system.autopilot_events[0].text
    assert got[-1]["timestamp"] == pytest.approx(0.003) and system.pwm[0] == 1600
    fresh.socket.close()


def test_a_frame_count_that_begins_again_is_told_as_a_restart(link: tuple[ArduPilot, Sitl], rig: Rig) -> None:
    system, sitl = link
    got: list[dict[str, Any]] = []
    for _ in range(3):
        rig.step(1)
        meanwhile(system, rig, answer(sitl, 1400, got))
    assert system.autopilot_events == []

    sitl.frame = 1  # the same port, as after a reboot of its firmware: 3 was the last
    rig.step(1)
    meanwhile(system, rig, lambda: sitl.servos(1700))

    assert [(h.kind, h.text) for h in system.autopilot_events] == [("restart", "ArduPilot counts from 1 again after 3")]
    assert system.pwm[0] == 1700  # and its outputs count


def test_two_ardupilots_on_one_port_are_an_error(link: tuple[ArduPilot, Sitl], rig: Rig) -> None:
    system, sitl = link
    other = Sitl(sitl.to[1])
    rig.step(1)
    meanwhile(system, rig, lambda: other.servos(frame=7))
    rig.step(1)
    with pytest.raises(LinkError, match="two ArduPilots"):
        meanwhile(system, rig, lambda: sitl.servos(frame=1))
    other.socket.close()


def test_garbage_is_counted_and_left_alone(link: tuple[ArduPilot, Sitl], rig: Rig) -> None:
    system, sitl = link
    generator = random.Random(5)
    got: list[dict[str, Any]] = []

    def rubbish() -> None:
        got.append(sitl.reply())
        for _ in range(100):
            sitl.socket.sendto(generator.randbytes(generator.randrange(0, 100)), sitl.to)
        sitl.socket.sendto(struct.pack("<HHI16H", SMALL, 1, 1, *[9] * 16)[:-1], sitl.to)  # one byte short
        sitl.socket.sendto(struct.pack("<HHI16H", LARGE, 1, 1, *[9] * 16), sitl.to)  # the other size
        sitl.servos(1777)

    rig.step(1)
    meanwhile(system, rig, rubbish)
    assert system.pwm[0] == 1777 and system.traffic.bad == 102


@pytest.mark.clock
def test_silence_ends_with_an_error_in_time(link: tuple[ArduPilot, Sitl], rig: Rig) -> None:
    system, _sitl = link
    rig.step(1)
    begin = time.monotonic()
    with pytest.raises(LinkError, match=r"ArduPilot gave no servo packet for \d+\.\d s .* at 0\.001 s") as caught:
        system.exchange(rig)
    assert time.monotonic() - begin < 60.0
    assert "frame 0" in str(caught.value) and "state of 0.001 s" in str(caught.value)


def test_chatter_that_says_nothing_new_does_not_hold_the_run(link: tuple[ArduPilot, Sitl], rig: Rig) -> None:
    system, sitl = link
    quiet = threading.Event()

    def chatter() -> None:
        while not quiet.is_set():
            sitl.servos(1000, frame=0)
            time.sleep(0.01)

    other = threading.Thread(target=chatter)
    other.start()
    rig.step(1)
    with pytest.raises(LinkError, match="no servo packet"):
        system.exchange(rig)
    quiet.set()
    other.join()


def test_nobody_there_at_the_start_is_an_error_and_the_port_is_free_again(rig: Rig) -> None:
    instance = next(INSTANCES)
    for _ in range(2):
        system = ArduPilot(instance=instance, first_patience_s=0.2)
        with pytest.raises(LinkError, match="no servo packet"):
            system.start(rig)
        system.stop()
        system.stop()


def test_a_taken_port_is_named(rig: Rig) -> None:
    instance = next(INSTANCES)
    port = PHYSICS_PORT + PORT_STEP * instance
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", port))
        system = ArduPilot(instance=instance)
        with pytest.raises(LinkError, match=f"UDP port {port} is taken"):
            system.start(rig)
        system.stop()


def test_our_side_of_an_exchange_is_fast(rig: Rig) -> None:
    # 50 us: step, text and both system calls; of the processor, the best of several windows
    system = ArduPilot(instance=next(INSTANCES), first_patience_s=0.05)
    with pytest.raises(LinkError):
        system.start(rig)
    text = StateText(rig)
    best = math.inf
    for _ in range(8):
        begin = time.thread_time()
        for _ in range(200):
            rig.step(1)
            text.text()
        best = min(best, (time.thread_time() - begin) / 200)
    system.stop()
    assert best < 100e-6  # twice the goal: machines differ


def test_outputs_not_in_use_command_nothing(link: tuple[ArduPilot, Sitl], rig: Rig) -> None:
    system, sitl = link
    got: list[dict[str, Any]] = []
    rig.step(1)
    meanwhile(system, rig, answer(sitl, 1900, got))
    rig.step(1)
    meanwhile(system, rig, answer(sitl, 0, got))
    assert not np.any(rig.stepper.inputs[:4])


def test_an_output_of_both_ways_that_is_not_in_use_is_no_full_reverse(rig: Rig) -> None:
    system = ArduPilot()
    system._rows = [(row, row, *SCALES["both_ways"], sign) for row, sign in enumerate((1.0, 1.0, -1.0))]
    system.pwm = (0, 1750, 1750)

    system._apply(rig)

    np.testing.assert_allclose(rig.stepper.inputs[:3], [0.0, 0.5, -0.5])


def test_the_airspeed_is_that_of_the_pressure_in_the_tube(rig: Rig) -> None:
    text = StateText(rig)
    for pressure, speed in ((0.5 * 1.225 * 20.0**2, 20.0), (-30.0, 0.0)):
        rig.airspeeds[0].values[:] = pressure
        assert json.loads(text.text())["airspeed"] == pytest.approx(speed, abs=2e-5)


def test_replies_between_two_steps_repeat_the_samples_and_move_the_position(
    link: tuple[ArduPilot, Sitl], rig: Rig
) -> None:
    system, sitl = link
    system.step_ticks = 4
    rig.step(4)
    rig.state.set_state("body.v", [5.0, 0.0, 0.0])
    got: list[dict[str, Any]] = []

    def four_frames() -> None:
        for pwm in (1200, 1300, 1400, 1500):
            answer(sitl, pwm, got)()

    meanwhile(system, rig, four_frames)
    assert [reply["timestamp"] for reply in got] == pytest.approx([0.004, 0.005, 0.006, 0.007])
    north = [reply["position"][0] for reply in got]
    assert np.diff(north) == pytest.approx([0.005] * 3, abs=2e-6)
    assert all(reply["imu"] == got[0]["imu"] for reply in got)
    # The outputs that answer the state go to the actuators, as if every reply were a step
    assert float(rig.stepper.inputs[rig.actuators["rotor/1"]]) == pytest.approx(0.2)
    rig.step(4)
    meanwhile(system, rig, four_frames)
    assert [reply["timestamp"] for reply in got[4:]] == pytest.approx([0.008, 0.009, 0.010, 0.011])
    assert sitl.replies_waiting() == 0


def test_ardupilots_clock_keeps_our_pace(rig: Rig) -> None:
    """ArduPilot cuts the difference of two times to whole microseconds: none may be just below 1000."""
    text = StateText(rig)
    for first in (1, 64_000, 599_000):
        lines = [text.text(ahead) for ahead in range(first, first + 1000)]
        times = [json.loads(line)["timestamp"] for line in lines]
        clock_us = first * 1000
        for before, now in itertools.pairwise(times):
            clock_us = int(clock_us + (now - before) * 1.0e6)  # as `time_now_us += deltat * 1.0e6` does
        assert clock_us == (first + 999) * 1000
        assert times[-1] == pytest.approx((first + 999) * 1e-3, abs=1e-6)


def test_packets_of_a_stranger_are_left_alone_beside_an_ardupilot_that_we_started(
    link: tuple[ArduPilot, Sitl], rig: Rig
) -> None:
    system, sitl = link
    started = subprocess.Popen(["sleep", "60"], start_new_session=True)
    system._door = Doorkeeper("udp", 0, started.pid)  # what we started is another process: this one is a stranger
    stranger = Sitl(sitl.to[1])
    got: list[dict[str, Any]] = []

    def act() -> None:
        got.append(sitl.reply())
        for number in range(50):
            stranger.servos(2000, frame=number)
        sitl.servos(1400)

    rig.step(1)
    meanwhile(system, rig, act)
    rig.step(1)
    meanwhile(system, rig, answer(sitl, 1500, got))

    assert system.pwm[0] == 1500 and system.traffic.bad == 50
    assert [h.kind for h in system.autopilot_events] == ["link"] and "is not ArduPilot" in system.autopilot_events[
        0
    ].text
    assert stranger.replies_waiting() == 0
    stranger.socket.close()
    started.kill()
    started.wait()
