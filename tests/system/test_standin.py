"""The reference autopilot in a process of its own, behind the protocols of PX4 and ArduPilot, flies whole missions."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import casadi as ca
import numpy as np
import pytest
from hil_board import BoardCable, StillClock
from typer.testing import CliRunner

from ironbird.autopilots.standin import ardupilot as module
from ironbird.autopilots.standin.ardupilot import ArduPilotSide, run_ardupilot
from ironbird.autopilots.standin.board import run_px4_board
from ironbird.autopilots.standin.px4 import Px4Side, run_px4
from ironbird.blocks.sensors.barometer import altitude_of
from ironbird.cli.main import app
from ironbird.errors import LinkError
from ironbird.flight.flight import fly
from ironbird.flight.mission import load_mission
from ironbird.protocols.mavlink import codec, dialect
from ironbird.rig.reference_autopilot import ReferenceAutopilot
from ironbird.rig.rig import Rig, make_rig
from ironbird.rig.system import ControlSystem
from ironbird.systems.ardupilot.link import ArduPilot
from ironbird.systems.hardware.link import HardwareLink
from ironbird.systems.px4.link import Px4
from ironbird.vehicles.external import cut_control, cut_vehicle
from ironbird.vehicles.load import load_vehicle


@contextlib.contextmanager
def standin(*options: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own."""
    command = [sys.executable, "-c", "from ironbird.cli.main import main; main()", "connect", "autopilot", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_inertial_samples_between_two_steps_are_averaged_and_none_is_left_out() -> None:
    pilot = ReferenceAutopilot("quad_f450")
    side = Px4Side(pilot, alone=True)
    rows = pilot._rows["imu/1/gyro_fault.value"][0]
    read = []
    for number in range(1, 13):  # one in 1 ms; the control system steps every 4 ms of its own time
        rates = (0.001 * number**2, 0.0, 0.0)
        values = (1000 * number, 0.0, 0.0, -9.8, *rates, *[0.2] * 3, 1013.0, 0.0, 0.0, 20.0, 0x1FFF, 0)
        side.take(dialect.HIL_SENSOR.id, dialect.HIL_SENSOR.payload.pack(*values))
        read.append(float(pilot.stepper.inputs[rows].ravel()[0]))
        side.run()
    # the first is read at once; then those of 4 ms together: 2 to 5, 6 to 9
    assert read[0] == pytest.approx(0.001) and read[4] == pytest.approx(0.001 * (4 + 9 + 16 + 25) / 4)
    assert read[8] == pytest.approx(0.001 * (36 + 49 + 64 + 81) / 4) and read[9] == pytest.approx(0.1)


def fly_on(system: ControlSystem, rig: Rig) -> np.ndarray:
    """True places over time, each 0.1 s."""
    places = []
    try:
        system.start(rig)
        while rig.step(system.step_ticks):
            system.exchange(rig)
            if rig.state.tick % 100 == 0:
                places.append(rig.truth("p").copy())
    finally:
        system.stop()
    return np.array(places)


def nearest(places: np.ndarray, corner: tuple[float, float, float]) -> float:
    return float(np.linalg.norm(places - np.array(corner), axis=1).min())


CORNERS = [(0, 0, -10), (20, 0, -10), (20, 20, -10), (0, 20, -10)]


@pytest.mark.slow
def test_a_whole_mission_is_flown_over_px4s_link() -> None:
    rig = make_rig("quad_f450", until_s=60.0)
    with standin("--px4-protocol", "--vehicle", "quad_f450", "--simulator-port", "4568") as process:
        link = Px4(instance=8)
        places = fly_on(link, rig)
        assert process.wait(60) == 0  # it ends when the simulator hangs up

    assert rig.finish()[1] is None  # no crash
    assert max(nearest(places, corner) for corner in CORNERS) < 2.0  # GNSS wanders by a metre or two
    assert places[-1][2] > -0.2 and not link.armed  # landed and disarmed
    assert link.traffic.received == link.traffic.sent + 1  # the hello (2), and one answer for each step but the last
    assert link.traffic.late == 0
    assert [h.text for h in link.autopilot_events if h.kind == "armed"] == ["armed", "disarmed"]


@pytest.mark.slow
def test_a_take_off_is_flown_over_ardupilots_link() -> None:
    rig = make_rig("quad_f450", until_s=13.0)
    with standin("--ardupilot-protocol", "--simulator-port", "9082", "--arm-after", "2"):
        link = ArduPilot(instance=8)
        places = fly_on(link, rig)

    assert rig.finish()[1] is None
    assert places[25][2] > -0.5 and places[-1][2] == pytest.approx(-10.0, abs=0.5)
    assert link.traffic.received - link.traffic.sent in (0, 1) and link.traffic.late == 0  # each reply has its packet


def test_cut_apart_and_joined_again_it_flies_as_before() -> None:
    """The two halves of the diagram, joined by the rig's sensors, against the uncut vehicle: the same take-off."""
    whole = load_vehicle("quad_f450", control="reference")
    control, feeds, driven = cut_vehicle(whole.diagram)
    body = cut_control(whole.diagram)
    assert not set(control.blocks) & set(body.blocks)
    assert set(control.blocks) | set(body.blocks) == set(whole.diagram.blocks)
    assert set(driven) == {f"rotor/{n}" for n in (1, 2, 3, 4)}
    assert all(path.rpartition(".")[0] in body.blocks for path in feeds)

    until_s = 12.0
    mission = load_mission("square")
    pilot = ReferenceAutopilot(whole, params=mission.params(whole.diagram.param("navigator.table").columns))
    rig = make_rig("quad_f450", until_s=until_s, seed=3)
    places = []
    while rig.step(4):
        now = rig.time_s - 0.004  # when the samples were taken
        for n, (accel, gyro) in enumerate(zip(rig.accels, rig.gyros, strict=True), start=1):
            pilot.sample(f"imu/{n}/accel_fault", accel.values, now)
            pilot.sample(f"imu/{n}/gyro_fault", gyro.values, now)
        for n, magnetometer in enumerate(rig.magnetometers, start=1):
            pilot.sample(f"mag/{n}/fault", magnetometer.values, float(magnetometer.stamp[0]))
        pressure = rig.barometers[0]
        pilot.sample("baro/1/altitude", float(altitude_of(ca.SX(pressure.values[0]))), float(pressure.stamp[0]))
        for n, receiver in enumerate(rig.receivers, start=1):
            stamp = float(receiver.position_N.stamp[0])
            eph, epv = (float(receiver.details[name][0]) for name in ("eph", "epv"))
            pilot.fix(n, receiver.position_N.values, receiver.velocity_N.values, stamp, eph_m=eph, epv_m=epv)
        pilot.advance(now)
        for place, command in pilot.commands.items():
            rig.command(place, float(command[0]))
        if rig.state.tick % 1000 == 0:
            places.append(rig.truth("p").copy())
    flight = fly("quad_f450", mission="square", control="reference", seed=3, until_s=until_s)
    seconds = np.arange(1.0, until_s + 0.5)
    expected = np.stack([np.interp(seconds, flight.log.time(), axis) for axis in flight.log["body.p_NB_N"].T]).T
    # Noise is the same by seed and path. Commands are a sample (4 ms) later than inside, so an item may begin one
    # sample of the navigator (20 ms, 0.1 m at 5 m/s) later
    assert np.abs(np.array(places) - expected).max() < 0.2


def test_what_the_links_cannot_carry_is_refused() -> None:
    with pytest.raises(LinkError, match=r"'tiltrotor_provant': its control system reads body\.tilt"):
        ReferenceAutopilot("tiltrotor_provant")
    with pytest.raises(LinkError, match=r"'rov_bluerov2_heavy': the stand-in knows no depth"):
        Px4Side(ReferenceAutopilot("rov_bluerov2_heavy"))
    with pytest.raises(LinkError, match="knows no arming"):
        ReferenceAutopilot("car_escort", arm_after_s=3.0)


def test_a_simulator_that_is_not_there_is_named() -> None:
    pilot = ReferenceAutopilot("quad_f450")
    with pytest.raises(LinkError, match=r"no simulator listens on TCP 127\.0\.0\.1:1 for 0\.1 s"):
        run_px4(pilot, port=1, patience_s=0.1)
    with pytest.raises(LinkError, match=r"no simulator answers on UDP 127\.0\.0\.1:9 for 0\.1 s"):
        run_ardupilot(pilot, port=9, patience_s=0.1)
    asked = CliRunner().invoke(app, ["connect", "autopilot"])
    assert asked.exit_code == 2 and "one of --px4-protocol and --ardupilot-protocol" in asked.stderr
    asked = CliRunner().invoke(app, ["connect", "autopilot", "--serial", "/dev/nowhere"])
    assert asked.exit_code == 2 and "serial port /dev/nowhere cannot be opened" in asked.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vehicle", "until_s", "most_m"),
    [
        ("vtol_tailsitter", 25.0, 0.5),  # messages have other axes than the vehicle
        ("boat_otter", 70.0, 4.0),  # around a corner; speed over ground stands in for the log
        ("zagi", 30.0, 60.0),  # released three seconds after arming, at 12 m/s
    ],
)
def test_vehicles_with_parts_that_the_link_lacks_fly_as_without_a_link(
    vehicle: str, until_s: float, most_m: float
) -> None:
    reference = load_vehicle(vehicle, control="reference")
    mission = load_mission(reference.spec.mission)
    pilot = ReferenceAutopilot(reference, params=mission.params(reference.diagram.param("navigator.table").columns))
    link = HardwareLink(
        StandInCable(Px4Side(pilot, alone=True)), sensor_hz=250.0, control_hz=250.0, priority=False, clock=StillClock()
    )  # fmt: skip
    flight = fly(vehicle, control=link, until_s=until_s)
    inside = fly(vehicle, control="reference", until_s=until_s)
    assert flight.survived
    away = np.abs(flight.log["body.p_NB_N"] - inside.log["body.p_NB_N"][: len(flight.log.time())])
    assert away.max() < most_m


def test_ardupilots_battery_reaches_the_control_system() -> None:
    pilot = ReferenceAutopilot("quad_f450")
    row = pilot.stepper.state.model.flat.u.rows("vote/battery.voltage")
    assert pilot.stepper.inputs[row][0] == pytest.approx(3 * 4.1)
    state = {"imu": {"gyro": [0, 0, 0], "accel_body": [0, 0, -9.81]}, "velocity": [0, 0, 0], "position": [0, 0, 0]}
    ArduPilotSide(pilot).take(
        state | {"timestamp": 0.0, "quaternion": [1, 0, 0, 0], "battery": {"voltage": 10.4, "current": 1.0}}
    )
    assert pilot.stepper.inputs[row][0] == 10.4


def test_a_board_gives_controls_by_its_own_clock_until_it_is_asked_for_more() -> None:
    clock, packer, parser = StillClock(), codec.Packer(), codec.Parser(count_lost=True)
    cable = PlayedCable(clock, packer)
    heard = run_px4_board(ReferenceAutopilot("quad_f450"), cable, clock=clock, priority=False)
    frames = parser.feed(bytes(cable.bytes))
    controls = [number for number, *_ in frames].count(dialect.HIL_ACTUATOR_CONTROLS.id)
    assert heard.sensors == 1000 and heard.lost == 0 and heard.data()["sensor_hz"] == pytest.approx(500.0, rel=0.01)
    assert controls == pytest.approx(200 + 400, abs=4)  # the first second unasked, the second as asked
    assert parser.lost == 0 and [number for number, *_ in frames].count(dialect.HEARTBEAT.id) >= 2


class StandInCable(BoardCable):
    """The stand-in in this process: answers each write at once."""

    def __init__(self, side: Px4Side) -> None:
        super().__init__()
        self.side = side
        self._frames, self._controls = codec.Parser(), codec.Packer()

    def write(self, data: memoryview) -> int:
        for number, payload, _, _ in self._frames.feed(bytes(data)):
            self.side.take(number, payload)
        self.side.run()
        self._controls.add(dialect.HIL_ACTUATOR_CONTROLS, *self.side.controls())
        self._waiting = bytes(self._controls.take())
        return len(data)


class PlayedCable(BoardCable):
    """A bench with a standing vehicle: two seconds of sensors, a question in the middle, then it hangs up."""

    def __init__(self, clock: StillClock, packer: codec.Packer) -> None:
        super().__init__()
        self.clock, self.packer = clock, packer
        self.sent = 0
        self.bytes = bytearray()

    def read(self) -> bytes:
        if self.sent == 1000:
            raise OSError(5, "hung up")
        self.sent += 1
        self.clock.moment = 100.0 + 0.002 * self.sent
        self.packer.add(dialect.HIL_SENSOR, 2000 * self.sent, 0.0, 0.0, -9.81, *[0.0] * 10, 0x3F, 0)
        if self.sent == 500:
            self.packer.add(dialect.COMMAND_LONG, 93.0, 2500.0, *[0.0] * 5, 511, 1, 1, 0)
        return bytes(self.packer.take())

    def write(self, data: memoryview) -> int:
        self.bytes += data
        return len(data)


def test_px4s_clock_is_the_first_inertial_unit_alone() -> None:
    side = Px4Side(ReferenceAutopilot("quad_f450"))
    still = (0.0, 0.0, -9.81, *[0.0] * 10)

    def sensor(time_us: int, unit: int) -> bool:
        return side.take(dialect.HIL_SENSOR.id, dialect.HIL_SENSOR.payload.pack(time_us, *still, 0x3F, unit))

    assert not sensor(5_000_000_000, 1)  # before the clock is set
    assert sensor(5_000_000_000, 0)
    assert not sensor(5_000_004_000, 2)
    assert side.controls()[0] == 5_000_000_000 and side.controls()[-1] == 1  # disarmed
    side.run()
    assert sensor(5_000_004_000, 0) and side.controls()[0] == 5_000_004_000


def test_ardupilot_repeats_its_packet_until_it_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESEND_S", 0.05)
    pilot = ReferenceAutopilot("quad_f450")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as simulator:
        simulator.bind(("127.0.0.1", 0))
        simulator.settimeout(60.0)
        port = simulator.getsockname()[1]
        thread = threading.Thread(target=run_ardupilot, args=(pilot,), kwargs={"port": port, "patience_s": 0.5})
        thread.start()
        state = {
            "timestamp": 0.001, "imu": {"gyro": [0, 0, 0], "accel_body": [0, 0, -9.81]}, "velocity": [0, 0, 0],
            "quaternion": [1, 0, 0, 0], "position": [0, 0, 0],
        }  # fmt: skip
        frames = []
        for reply in (None, b"\n{}\n", b"\n" + json.dumps(state).encode() + b"\n", None):
            packet, source = simulator.recvfrom(1000)
            assert len(packet) == 40
            magic, _, frame, *pwm = module.SERVOS.unpack(packet)
            assert magic == 18458 and pwm[:4] == [1000] * 4
            frames.append(frame)
            if reply:
                simulator.sendto(reply, source)
        thread.join(60.0)
    assert not thread.is_alive()
    assert frames == [0, 0, 0, 1]  # silence and rubbish: the same again; an answer: the next


def test_what_ardupilot_makes_itself_comes_from_the_true_motion() -> None:
    pilot = ReferenceAutopilot("quad_f450")
    side = ArduPilotSide(pilot)
    north = {"imu": {"gyro": [0, 0, 0], "accel_body": [0, 0, -9.81]}, "velocity": [1, 2, 3], "position": [4, 5, -6]}
    side.take(north | {"timestamp": 0.0, "quaternion": [1, 0, 0, 0]})
    rows = pilot.stepper.state.model.flat.u.rows
    level = pilot.stepper.inputs[rows("vote/mag.mag_1_B")].copy()
    assert pilot.stepper.inputs[rows("vote/gnss.gnss_position_2_N")].tolist() == [4, 5, -6]
    height = float(pilot.stepper.inputs[rows("baro/1/height.altitude")][0])
    assert height == pytest.approx(pilot.vehicle.spec.home.height_m + 6)
    # Turned to the east, the field that was ahead comes from the left
    side.take(north | {"timestamp": 0.02, "quaternion": [0.5**0.5, 0, 0, 0.5**0.5]})
    turned = pilot.stepper.inputs[rows("vote/mag.mag_1_B")]
    assert turned.tolist() == pytest.approx([level[1], -level[0], level[2]], abs=1e-12)
