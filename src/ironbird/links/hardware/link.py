"""Hardware in the loop: a flight controller on a cable, in real time, over the same messages as PX4's simulator link.

The board does not wait for us, so the figures of the link are part of the result: before the start all messages at
their rates are summed up against what the cable carries; during the run late steps and lost frames are counted. If the
figures do not hold, `mistrust` says why, and nothing is concluded from that run. Rates, and what they were on a
comparable bench: [NguyenHa] tables 3 to 5.
Time. Simulation time is wall time from the first exchange on: a step that comes late, after a stall of this machine, is
counted, and those behind it follow at once until they have caught up. Nothing is left out but what finds no room on the
cable, and that is counted too.
A PX4 board [PX4Hitl]: it starts MAVLink on USB when it hears a heartbeat, so we say ours; it gives controls 200 times a
second until it is asked for more, so we ask; it takes HIL_STATE_QUATERNION for its own estimate, so we do not send it.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ironbird.blocks.sensors.gnss import Gnss
from ironbird.errors import LinkError
from ironbird.links.hardware.bridge import ALLOWED_PER_S, Bridge
from ironbird.links.hardware.cable import Cable, Load, load_of
from ironbird.links.mavlink import codec, dialect, numbers
from ironbird.links.px4.airframes import airframe_of
from ironbird.links.px4.messages import Messages, Outputs
from ironbird.links.realtime import WallClock, stolen_s, undisturbed
from ironbird.links.rig import Rig
from ironbird.links.system import ControlSystem
from ironbird.vehicles.load import Vehicle

SENSOR_HZ, CONTROL_HZ = 500.0, 400.0  # [NguyenHa] table 3
MOST_LOST, MOST_LATE, LEAST_RATE = 0.005, 0.005, 0.995  # shares at which the figures no longer hold
SETTLED_S = 1.0  # from the first answer, before rates are measured
EDGES_MS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)  # of the histogram of lateness
SENDER = (1, numbers.MAV_COMP_ID_IMU)  # system and component of PX4's simulators
HEARTBEAT_S = 1.0
HEARTBEAT = dialect.HEARTBEAT.record(
    type=numbers.MAV_TYPE_GENERIC,
    autopilot=numbers.MAV_AUTOPILOT_INVALID,
    system_status=numbers.MAV_STATE_ACTIVE,
    mavlink_version=numbers.MAVLINK_VERSION,
)
MOST_WAITING = 65536  # bytes for the board, beyond which ground stations are not heard
ASKED = 2  # times that we ask for the rate of controls
TOUCHED = 2**26  # numbers of the log for which memory is taken before the start
OWN_CLOCK_S = 5.0  # stamps of controls that are further from ours are of a clock of the board's own


def ticks_of(sensor_hz: float) -> int:
    """Steps of 1 ms between two samples."""
    ticks = round(1000.0 / sensor_hz)
    if abs(ticks * sensor_hz - 1000.0) > 1e-6:
        raise LinkError(f"sensors at {sensor_hz:g} Hz do not fit steps of 1 ms: give 1000, 500, 250, 200 or 100")
    return ticks


def with_sensor_rate(vehicle: Vehicle, rate_hz: float) -> Vehicle:
    """The same vehicle with inertial units that sample at this rate, chips and taps alike."""
    ticks_of(rate_hz)
    diagram = copy.copy(vehicle.diagram)
    diagram.blocks = dict(diagram.blocks)
    for path, block in diagram.blocks.items():
        if path.startswith("imu/"):
            faster = copy.copy(block)
            faster.sample_s = 1.0 / rate_hz
            diagram.blocks[path] = faster
    return dataclasses.replace(vehicle, diagram=diagram)


@dataclass
class Figures:
    """How the exchange went, measured from a second after the first answer on."""

    sensor_hz: float = 0.0
    gnss_hz: float = 0.0
    control_hz: float = 0.0
    lost: float = 0.0  # share of frames from the board that are missing
    unsent: float = 0.0  # share of our steps for which the cable had no room
    late: float = 0.0  # share of our steps that began more than a step late
    delay_ms: float | None = None  # mean, from a sample to the command that answers it; None if the board stamps itself
    steps: int = 0
    lost_frames: int = 0
    unsent_steps: int = 0
    late_steps: int = 0
    garbage: int = 0  # bytes that belong to no frame
    median_ms: float = 0.0  # of the lateness of steps
    most_99_ms: float = 0.0  # 99 % are below
    worst_ms: float = 0.0
    stolen_s: float = 0.0  # taken from this machine by its host, if it is a virtual one
    histogram: dict[str, int] = field(default_factory=dict)  # steps by lateness

    def rows(self) -> dict[str, str]:
        """Rows for a summary."""
        delay = "unknown: the board stamps by its own clock" if self.delay_ms is None else f"{self.delay_ms:.1f} ms"
        return {
            "link rates": (
                f"sensors {self.sensor_hz:.1f} Hz, GNSS {self.gnss_hz:.2f} Hz, controls {self.control_hz:.1f} Hz"
            ),
            "link losses": (
                f"{self.lost_frames} frames of the board lost ({100 * self.lost:.2f} %), {self.unsent_steps} steps not "
                f"sent ({100 * self.unsent:.2f} %), {self.garbage} bytes of garbage"
            ),
            "link lateness": (
                f"{self.late_steps} of {self.steps} steps late ({100 * self.late:.2f} %); median {self.median_ms:.3f} "
                f"ms, 99 % below {self.most_99_ms:.2f} ms, worst {self.worst_ms:.1f} ms"
                + (f"; the host of this virtual machine took {self.stolen_s:.2f} s" if self.stolen_s else "")
            ),
            "steps by lateness": ", ".join(f"{name}: {count}" for name, count in self.histogram.items()),
            "link delay": delay,
        }


class HardwareLink(ControlSystem):
    """A flight controller on a cable, in real time.

    `sensor_hz` and `control_hz` are what is asked of both sides. `patience_s` is how long the board may be silent,
    `connect_s` how long at first. The first inertial unit, magnetometer, barometer, airspeed sensor and receiver go
    over the cable. With a `bridge`, ground stations share it.
    """

    name = "flight controller"

    def __init__(
        self,
        cable: Cable,
        *,
        sensor_hz: float = SENSOR_HZ,
        control_hz: float = CONTROL_HZ,
        patience_s: float = 5.0,
        connect_s: float = 30.0,
        priority: bool = True,
        bridge: Bridge | None = None,
        clock: WallClock | None = None,
    ) -> None:
        super().__init__()
        self.cable, self.bridge = cable, bridge
        self.clock = clock or WallClock()
        self.sensor_hz, self.control_hz = sensor_hz, control_hz
        self.patience_s, self.connect_s, self.priority = patience_s, connect_s, priority
        self.step_ticks = ticks_of(sensor_hz)
        self.armed = False
        self.answered = False
        self.unsent = 0
        self.standing = ""  # what priority this process has
        self._running = contextlib.ExitStack()
        self._controls: tuple[float, ...] = (0.0,) * 16
        self._counted_from: tuple[float, int, int, int, int] | None = None
        self._first_counted = self._steps = 0

    # ------------------------------------------------------------------ start and stop

    def loads(self, vehicle: Vehicle, *, shared: bool | None = None) -> list[Load]:
        """What will go over the cable, each way; `shared`: with ground stations, by default if there is a bridge."""
        out = {dialect.HIL_SENSOR: self.sensor_hz}
        chip = vehicle.diagram.blocks.get("gnss/1/chip")
        if isinstance(chip, Gnss):
            out[dialect.HIL_GPS] = 1.0 / chip.period_s
        out[dialect.HEARTBEAT] = 1.0 / HEARTBEAT_S
        back = {dialect.HIL_ACTUATOR_CONTROLS: self.control_hz, dialect.HEARTBEAT: 1.0}
        to_board = load_of("to the board", out, self.cable.baud)
        if shared if shared is not None else self.bridge is not None:
            parts = {**to_board.parts, "ground stations": (ALLOWED_PER_S, 1)}
            to_board = dataclasses.replace(to_board, parts=parts)
        return [to_board, load_of("from the board", back, self.cable.baud)]

    def check(self, vehicle: Vehicle) -> None:
        """`LinkError` if the cable cannot carry what is asked, with what to change."""
        loads = self.loads(vehicle)
        if all(load.fits for load in loads):
            return
        figures = "; ".join(load.sentence() for load in loads)
        baud = max(load.least_baud for load in loads)
        raise LinkError(
            f"{self.cable.name} at {self.cable.baud} baud cannot carry the messages: {figures}. Use {baud} baud, here "
            "and on the board, or lower the rates of sensors and controls"
        )

    def start(self, rig: Rig) -> None:
        """Check that the cable can carry it, and open it. The clock starts with the first exchange."""
        self.check(rig.vehicle)
        self._airframe = airframe_of(rig.vehicle)
        shown = dataclasses.replace(
            rig,
            accels=rig.accels[:1],
            gyros=rig.gyros[:1],
            magnetometers=rig.magnetometers[:1],
            receivers=rig.receivers[:1],
            rangefinders=[],
            flows=[],
        )
        self._packer = codec.Packer(*SENDER)
        self._parser = codec.Parser(count_lost=True, extras=dialect.BOARD_EXTRAS)
        self._messages = Messages(shown, self._airframe, self._packer, truth=False)
        self._outputs = Outputs(rig, self._airframe)
        self._fix = rig.receivers[0].position_N.stamp if rig.receivers else np.zeros(1)
        self._fix_seen = float(self._fix[0])
        self._lateness = np.zeros(rig.stepper.until_tick // self.step_ticks + 2, np.float32)
        self._wall_0: float | None = None
        self._heard_at = self.clock.now()
        self._first_answer_s = self._armed_at = 0.0
        self._beat_at = -HEARTBEAT_S
        self._board = (1, 1)  # system and component
        self._asked = 0
        self._fixes = self._answers = 0
        self._delay_s, self._stamped = 0.0, 0
        self._last_at = 0.0
        self._stolen_s = stolen_s()
        self._rest = b""
        self._lateness.fill(0.0)
        rig.stepper.log.data.reshape(-1)[:TOUCHED] = 0.0  # memory that is used for the first time costs time
        self.cable.open()
        self._running.callback(self.cable.close)
        self.standing = self._running.enter_context(undisturbed(priority=self.priority))
        self.note(rig, "link", f"{self.cable.name}, {self.sensor_hz:g} Hz, {self.standing}")

    def stop(self) -> None:
        """Close the cable and the bridge."""
        self._running.close()
        if self.bridge is not None:
            self.bridge.close()

    # ------------------------------------------------------------------ exchange

    @property
    def taking_part(self) -> bool:
        """Whether the board has answered."""
        return self.answered

    def exchange(self, rig: Rig) -> None:
        """Wait for the moment of this step, send the sensors, take the newest controls."""
        clock, time_s = self.clock, rig.time_s
        if self._wall_0 is None:
            self._wall_0 = clock.now() - time_s
            self._heard_at = self._wall_0 + time_s
        clock.wait_until(self._wall_0 + time_s)
        now = clock.now()
        late_s = now - self._wall_0 - time_s
        self._lateness[self.traffic.sent] = late_s
        if late_s > 1.0 / self.sensor_hz:
            self.traffic.late += 1
        self._messages.add(rig.time_us)
        if time_s - self._beat_at >= HEARTBEAT_S:
            self._beat(time_s)
        self.traffic.sent += 1
        self.traffic.last_sent = "HIL_SENSOR"
        self._put(self._packer.take())
        self._receive(rig, now)
        fix = float(self._fix[0])
        if self._counted_from is not None:
            self._steps += 1
            self._fixes += fix != self._fix_seen
            self._last_at = now
        self._fix_seen = fix
        self._outputs.place(rig, self._controls, self.armed, time_s - self._armed_at)

    def _beat(self, time_s: float) -> None:
        """Our heartbeat and, once the board gives controls, what rate of them we want."""
        self._beat_at = time_s
        self._packer.add(dialect.HEARTBEAT, *HEARTBEAT)
        if self.answered and self._asked < ASKED:
            self._asked += 1
            wanted = (float(dialect.HIL_ACTUATOR_CONTROLS.id), 1e6 / self.control_hz, 0.0, 0.0, 0.0, 0.0, 0.0)
            self._packer.add(dialect.COMMAND_LONG, *wanted, numbers.SET_MESSAGE_INTERVAL, *self._board, 0)

    def _put(self, frames: memoryview) -> None:
        """Send; what finds no room goes before the next step, and if that found none either, a step is left out."""
        if len(self._rest) > len(frames):
            self.unsent += 1
        else:
            self._rest += frames
        if self.bridge is not None:
            said = self.bridge.from_ground()
            if len(self._rest) < MOST_WAITING:  # ground stations that say more than the cable carries are not heard
                self._rest += said
        try:
            sent = self.cable.write(memoryview(self._rest))
        except OSError as error:
            raise LinkError(f"{self.cable.name}: the cable is gone ({error})") from None
        self._rest = self._rest[sent:]

    def _receive(self, rig: Rig, now: float) -> None:
        try:
            data = self.cable.read()
        except OSError as error:
            raise LinkError(f"{self.cable.name}: the cable is gone ({error})") from None
        if self.bridge is not None:
            self.bridge.to_ground(data, now)
        for number, payload, system, component in self._parser.feed(data) if data else ():
            self.traffic.received += 1
            if number in (dialect.HIL_ACTUATOR_CONTROLS.id, dialect.HIL_CONTROLS.id):
                self._board = (system, component)
                self._take(rig, now, dialect.MESSAGES[number], payload)
            elif not self.answered or self._mute:
                known = dialect.MESSAGES.get(number)
                self.traffic.last_received = known.name if known else f"message {number}"
                self._heard_at = now if self._mute else self._heard_at
        self.traffic.bad = self._parser.skipped
        waited = now - self._heard_at
        if waited > (self.patience_s if self.answered else self.connect_s):
            raise self._silence(rig, waited)

    @property
    def _mute(self) -> bool:
        """Whether the board owes no controls now: some kinds of vehicles give none before they are armed."""
        return self._airframe.mute and not self.armed

    def _silence(self, rig: Rig, waited: float) -> LinkError:
        """Who was silent, and what may be wrong."""
        error = self.silent(rig, waited, "HIL_ACTUATOR_CONTROLS")
        if self.answered:
            return error
        if self.traffic.received:
            advice = "it speaks MAVLink but gives no controls: is it in HITL mode (PX4: SYS_HITL 1, then restarted)?"
        elif self.traffic.bad:
            advice = f"{self.traffic.bad} bytes came that are no MAVLink: is the baud rate that of the board?"
        else:
            advice = "nothing came at all: is it switched on, and does MAVLink run on this port of it?"
        return LinkError(f"{error}; {advice}")

    def _take(self, rig: Rig, now: float, message: dialect.Message, payload: bytes) -> None:
        if message is dialect.HIL_CONTROLS:  # of old firmware: eight outputs under the names of sticks
            time_us, *controls, mode, _ = message.unpack(payload)
            controls += [0.0] * 8
        else:
            time_us, _, *controls, mode = message.unpack(payload)
        self.traffic.last_received = message.name
        self._controls, self._heard_at = tuple(controls), now
        if not self.answered:
            self.answered, self._first_answer_s = True, rig.time_s
            self._beat_at = -HEARTBEAT_S  # ask for the rate at once
        if self._counted_from is None:
            if rig.time_s >= self._first_answer_s + SETTLED_S:
                counts = (self._parser.lost, self.traffic.late, self.unsent, self.traffic.received)
                self._counted_from = (now, *counts)
                self._first_counted = self.traffic.sent - 1  # this step
        else:
            self._answers += 1
            delay_s = rig.time_s - time_us * 1e-6
            if 0.0 <= delay_s < OWN_CLOCK_S:
                self._delay_s += delay_s
                self._stamped += 1
        armed = bool(mode & numbers.MAV_MODE_FLAG_SAFETY_ARMED)
        if armed != self.armed:
            self.armed, self._armed_at = armed, rig.time_s
            self.note(rig, "armed", "armed" if armed else "disarmed")

    # ------------------------------------------------------------------ figures

    def statistics(self) -> Figures:
        """Rates, losses and lateness so far."""
        if self._counted_from is None or self._steps < 2:
            return Figures()
        since, lost, late, unsent, received = self._counted_from
        passed = max(self._last_at - since, 1e-9)
        missing, came = self._parser.lost - lost, self.traffic.received - received
        late, unsent = self.traffic.late - late, self.unsent - unsent
        late_ms = 1e3 * self._lateness[self._first_counted : self._first_counted + self._steps]
        counts, _ = np.histogram(late_ms, [-np.inf, *EDGES_MS, np.inf])
        names = [f"below {edge:g} ms" for edge in EDGES_MS] + [f"above {EDGES_MS[-1]:g} ms"]
        median, most = np.percentile(late_ms, [50, 99])
        return Figures(
            sensor_hz=(self._steps - 1) / passed,
            gnss_hz=self._fixes / passed,
            control_hz=self._answers / passed,
            lost=missing / max(missing + came, 1),
            unsent=unsent / self._steps,
            late=late / self._steps,
            delay_ms=1e3 * self._delay_s / self._stamped if 2 * self._stamped > self._answers else None,
            steps=self._steps,
            lost_frames=missing,
            unsent_steps=unsent,
            late_steps=late,
            garbage=self._parser.skipped,
            median_ms=float(median),
            most_99_ms=float(most),
            worst_ms=float(late_ms.max()),
            stolen_s=stolen_s() - self._stolen_s,
            histogram={name: int(count) for name, count in zip(names, counts, strict=True)},
        )

    def live(self, time_s: float) -> str:
        """One line for a screen while it flies; cheap."""
        worst = 1e3 * float(self._lateness[: self.traffic.sent].max(initial=0.0))
        return (
            f"{time_s:7.1f} s  sent {self.traffic.sent}  received {self.traffic.received}  lost {self._parser.lost}  "
            f"not sent {self.unsent}  late {self.traffic.late}  worst {worst:.1f} ms  "
            f"{'armed' if self.armed else 'disarmed' if self.answered else 'waiting for the board'}"
        )

    def figures(self) -> dict[str, str]:
        """In words: the cable, and how the exchange went as far as it was measured."""
        found = self.statistics()
        baud = f"{self.cable.baud} baud" if self.cable.baud else "network"
        return {"link": f"{self.cable.name}, {baud}, {self.standing}", **(found.rows() if found.steps else {})}

    def measured(self) -> dict[str, Any]:
        """The same as plain numbers."""
        return dataclasses.asdict(self.statistics())

    def mistrust(self) -> str:
        """Why nothing can be concluded from this run; empty if the figures hold."""
        figures = self.statistics()
        if not figures.sensor_hz:
            return "the board gave no controls" if not self.answered else "the run was too short to measure the link"
        for name, value, wanted in (
            ("sensors", figures.sensor_hz, self.sensor_hz),
            ("controls", figures.control_hz, self.control_hz),
        ):
            if value < LEAST_RATE * wanted:
                return f"{name} came at {value:.1f} Hz instead of {wanted:g} Hz"
        for name, value, most in (
            ("frames from the board were lost", figures.lost, MOST_LOST),
            ("steps found no room on the cable", figures.unsent, MOST_LOST),
            ("steps were late", figures.late, MOST_LATE),
        ):
            if value > most:
                return f"{100 * value:.2f} % of the {name}; at most {100 * most:g} % may"
        return ""
