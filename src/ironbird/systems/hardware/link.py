"""Hardware in the loop: a flight controller on a cable, in real time, over the same messages as PX4's simulator link.

The board does not wait for the simulation, so the link's statistics are part of the result: before the start all
messages at their rates are summed up and compared with what the cable carries; during the run late steps and lost
frames are counted. If limits are exceeded, `mistrust` gives the reason, and the run is void. Rates, and what they were
on a comparable bench: [NguyenHa] tables 3 to 5. Time. Simulation time is wall time from the first exchange on; over UDP
that is the board's first packet, as its address is unknown before. A step that comes late, after a stall of this
machine, is counted, and the following steps run at once until they have caught up. Nothing is dropped but what finds no
room on the cable, and that is counted too. On a serial port or UDP, vehicle and exchange run in native code in a thread
of their own (`runtime/paced.py`, `board.py`); Python adds heartbeats and messages of ground stations, and counts what
arrived. The causes of late steps are reported: the host of a virtual machine, other programs, or neither. Batches.
MAVLink has no message for several inertial samples. Above 1,000 a second, samples are taken between exchanges, each
with its own time, and sent as several HIL_SENSOR in one write: the line is served 1,000 times a second at most. A PX4
board [PX4Hitl]: it starts MAVLink on USB when it receives a heartbeat, so one is sent; it sends controls at 200 a
second until more are requested, so this is done; it takes HIL_STATE_QUATERNION for its own estimate, so it is not sent.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.messages import Messages, Outputs
from ironbird.blocks.sensors.gnss import Gnss
from ironbird.errors import LinkError
from ironbird.host.realtime import Toll, WallClock, on_time, stolen_s, undisturbed
from ironbird.protocols.mavlink import codec, dialect, numbers
from ironbird.rig.link_faults import FlownLinks, Way
from ironbird.rig.rig import Rig
from ironbird.rig.system import AutopilotEvent, ControlSystem
from ironbird.runtime.paced import BROKEN, PacedLoop, Taken
from ironbird.runtime.step import CHUNK_TICKS
from ironbird.systems.hardware.board import Board, Heard
from ironbird.systems.hardware.bridge import ALLOWED_PER_S, Bridge
from ironbird.transport.cable import Cable, DatagramCable, Load, load_of
from ironbird.vehicles.load import Vehicle

SENSOR_HZ, CONTROL_HZ = 500.0, 400.0  # [NguyenHa] table 3
MOST_SENSOR_HZ, MOST_WRITES_HZ = 8000.0, 1000.0  # of HIL_SENSOR; of writes, each with a batch of them
MOST_LOST, MOST_LATE, LEAST_RATE = 0.005, 0.005, 0.995  # limits (shares) beyond which a run is void
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
ASKED = 2  # times that the rate of controls is requested
TOUCHED = 2**26  # numbers of the log whose memory is allocated before the start
MEET_S = 0.05  # s between two checks for the first packet of a board
OWN_CLOCK_US = 5_000_000  # timestamps of controls further from simulation time come from the board's own clock


def ticks_of(sensor_hz: float, model_hz: float = 1000.0) -> int:
    """Steps of the model between two samples."""
    ticks = round(model_hz / sensor_hz)
    if ticks < 1 or abs(ticks * sensor_hz - model_hz) > 1e-6:
        fitting = ", ".join(f"{model_hz / part:g}" for part in (1, 2, 4, 5) if model_hz / part <= MOST_SENSOR_HZ)
        raise LinkError(
            f"sensors at {sensor_hz:g} Hz do not fit steps of {1e3 / model_hz:g} ms: give {fitting} or 100"
            + (", or a faster model (model_hz)" if sensor_hz > model_hz else "")
        )
    return ticks


def batch_of(sensor_hz: float) -> int:
    """Number of inertial samples that are sent in one write."""
    return max(1, math.ceil(sensor_hz / MOST_WRITES_HZ - 1e-9))


def with_sensor_rate(vehicle: Vehicle, rate_hz: float, model_hz: float = 1000.0) -> Vehicle:
    """The vehicle with inertial units (chips and fault taps) that sample at `rate_hz`."""
    ticks_of(rate_hz, model_hz)
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
    """Statistics of the exchange, from a second after the first answer on."""

    sensor_hz: float = 0.0
    gnss_hz: float = 0.0
    control_hz: float = 0.0
    lost: float = 0.0  # share of frames from the board that are missing
    unsent: float = 0.0  # share of the steps for which the cable had no room
    late: float = 0.0  # share of the steps that began more than a step late
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
    waited_s: float = 0.0  # time that the loop was ready to run while other programs had the processor
    preempted: int = 0  # number of times that another program took the processor
    began_s: float = 0.0  # moment of simulation time zero on the monotonic clock, of a loop in native code
    late_by: dict[str, int] = field(default_factory=dict)  # late steps by cause
    histogram: dict[str, int] = field(default_factory=dict)  # steps by lateness
    delays: dict[int, int] = field(default_factory=dict)  # answers by milliseconds from their sample

    def rows(self) -> dict[str, str]:
        """The statistics as rows of a summary: rates, losses, lateness, delay."""
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
                + (f"; other programs delayed it for {self.waited_s:.2f} s" if self.waited_s >= 0.01 else "")
            ),
            **({"late steps": ", ".join(f"{n} {why}" for why, n in self.late_by.items())} if self.late_by else {}),
            "steps by lateness": ", ".join(f"{name}: {count}" for name, count in self.histogram.items()),
            "link delay": delay,
        }


def _mean_ms(delays: Counter[int]) -> float:
    return 1e-3 * sum(delay_us * count for delay_us, count in delays.items()) / delays.total()


def _by_millisecond(delays: Counter[int]) -> dict[int, int]:
    counts: Counter[int] = Counter()
    for delay_us, count in delays.items():
        counts[delay_us // 1000] += count
    return dict(sorted(counts.items()))


class DisturbedCable(Cable):
    """An open cable on whose packets link faults act, in simulation time."""

    def __init__(self, cable: Cable, out: Way | None, back: Way | None) -> None:
        self.cable, self.name, self.baud = cable, cable.name, cable.baud
        self._out, self._back = out, back
        self._unsent = b""

    def open(self) -> None:
        """Do nothing: the cable is open already."""

    def read(self) -> bytes:
        data = self.cable.read()
        return data if self._back is None else b"".join(self._back.through(data))

    def write(self, data: memoryview) -> int:
        if self._out is None:
            return self.cable.write(data)
        self._unsent += b"".join(self._out.through(data))
        self._unsent = self._unsent[self.cable.write(memoryview(self._unsent)) :]
        return len(data)

    def wait(self, seconds: float) -> None:
        self.cable.wait(seconds)

    def close(self) -> None:
        self.cable.close()


class HardwareLink(ControlSystem):
    """A flight controller on a cable, in real time.

    `sensor_hz` and `control_hz` are the rates required in both directions. `patience_s` is how long the board may be
    silent, `connect_s` how long at first. The first inertial unit, magnetometer, barometer, airspeed sensor and
    receiver are sent over the cable. With a `bridge`, ground stations share it.
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
        core: int | None = None,
        bridge: Bridge | None = None,
        clock: WallClock | None = None,
    ) -> None:
        super().__init__()
        self.cable, self.bridge, self.core = cable, bridge, core
        self.clock = clock or WallClock()
        self.sensor_hz, self.control_hz, self.batch = sensor_hz, control_hz, batch_of(sensor_hz)
        self.patience_s, self.connect_s, self.priority = patience_s, connect_s, priority
        self.step_ticks = 1  # until the vehicle's model is known
        self.armed = False
        self.answered = False
        self.unsent = 0
        self.standing = ""  # what priority this process has
        self._running = contextlib.ExitStack()
        self._loop: PacedLoop | None = None
        self._board_link: Board | None = None
        self._counted_from: tuple[Heard, int, int] | None = None  # frames that were lost and received until then
        self._toll: Toll | None = None
        self._stood_s = self._stood_before_s = 0.0  # of the loop, in pauses

    # ------------------------------------------------------------------ start and stop

    def loads(self, vehicle: Vehicle, *, shared: bool | None = None) -> list[Load]:
        """Load of the cable in both directions; `shared`: with ground stations, by default if there is a bridge."""
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
        """Raise `LinkError`, with what to change, if the cable cannot carry the required rates."""
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
        """Check that the cable can carry the rates, and open it. The clock starts with the first exchange."""
        self.check(rig.vehicle)
        self.step_ticks = self.batch * ticks_of(self.sensor_hz, 1.0 / rig.state.model.step_s)
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
        self._packer = codec.Packer()  # only collects: sequence numbers are added where the frames are made
        self._parser = codec.Parser(count_lost=True)
        self._messages = Messages(shown, self._airframe, self._packer, truth=False)
        self._outputs = Outputs(rig, self._airframe)
        self._late_s = np.zeros(rig.stepper.until_tick // self.step_ticks + 2)
        self._wall_0: float | None = None
        self._heard_at = self.clock.now()
        self._first_answer_s = 0.0
        self._beat_at = -HEARTBEAT_S
        self._board = (1, 1)  # system and component
        self._asked = 0
        self._answers = 0
        self._delays: Counter[int] = Counter()  # answers by microseconds from their sample
        self._tick_s = rig.state.model.step_s
        self._stolen_s = stolen_s()
        rig.stepper.log.data.reshape(-1)[:TOUCHED] = 0.0  # the first use of memory takes time
        self.cable.open()
        self._running.callback(self.cable.close)
        if isinstance(self.cable, DatagramCable) and type(self.clock) is WallClock:
            self._meet(rig, self.cable)
        line = self.cable if rig.links is None else self._disturbed(rig.links)
        self._board_link = Board(rig, line, self._messages, self._outputs, self._parser)
        if self.tap is not None:
            self._board_link.watch()
        self._board_link.native.system, self._board_link.native.component = SENDER
        if not self._by_itself:
            if self.batch > 1:
                raise LinkError(
                    f"{self.sensor_hz:g} inertial samples a second go out in batches of {self.batch}, which the loop "
                    f"in native code alone makes: this flight is stepped in Python; give at most {MOST_WRITES_HZ:g}"
                )
            self.standing = self._running.enter_context(undisturbed(priority=self.priority))
            self.note(rig, "link", f"{self.cable.name}, {self.sensor_hz:g} Hz, {self.standing}")

    def _meet(self, rig: Rig, cable: DatagramCable) -> None:
        """Wait for the board's first packet: its address is unknown until then, and samples would be lost."""
        began = self.clock.now()
        while not cable.meet(MEET_S):
            if self.abandoned is not None and self.abandoned():
                raise LinkError(f"{cable.name}: the flight was ended before the board sent anything")
            waited = self.clock.now() - began
            if waited > self.connect_s:
                raise self._silence(rig, waited)
        self._heard_at = self.clock.now()

    def _disturbed(self, links: FlownLinks) -> Cable:
        """The cable with link faults acting on it, and on ground stations behind it."""
        if self.bridge is not None and links.take("telemetry"):
            self.bridge.disturb(links.way("ground"), links.way("vehicle"))
        out, back = links.way("sensors"), links.way("actuators")
        return self.cable if out is None and back is None else DisturbedCable(self.cable, out, back)

    @property
    def _by_itself(self) -> bool:
        """Whether vehicle and exchange can run without Python: a native cable and the wall clock."""
        assert self._board_link is not None
        own = type(self.clock) is WallClock and self._messages.odometry is None
        return self._board_link.is_native and own

    def take_over(self, rig: Rig, begin_ns: int) -> PacedLoop | None:
        """Start the real-time loop in its own thread; None if vehicle and exchange need Python."""
        if not self._by_itself:
            self._wall_0 = 1e-9 * begin_ns if begin_ns >= 0 else None
            return None
        assert self._board_link is not None
        loop = self._loop = rig.stepper.on_time(
            self.step_ticks,
            exchange=self._board_link.for_loop,
            samples=(self.batch, self._board_link.for_samples),
            copy_ticks=CHUNK_TICKS,
            begin_ns=begin_ns,
        )
        self._heard_at, self._late_s = self.clock.now(), loop.room_late_s
        loop.start(lambda: on_time(priority=self.priority, core=self.core))
        self.standing, self._toll = loop.standing, Toll(loop)
        self.note(rig, "link", f"{self.cable.name}, {self.sensor_hz:g} Hz, {self.standing}")
        return loop

    def stop(self) -> None:
        """Close the cable and the bridge."""
        if self._loop is not None:
            self._loop.end()
        if self._board_link is not None and self._board_link.is_native and isinstance(self.cable, DatagramCable):
            self.cable.strangers = self._board_link.strangers
        self._running.close()
        if self.bridge is not None:
            self.bridge.close()

    # ------------------------------------------------------------------ exchange

    @property
    def taking_part(self) -> bool:
        """Whether the board has answered."""
        return self.answered

    def exchange(self, rig: Rig) -> None:
        """Wait for the time of this step, send the sensors, apply the newest controls."""
        assert self._board_link is not None
        clock, time_s = self.clock, rig.time_s
        if self._wall_0 is None:
            self._wall_0 = clock.now() - time_s
            self._heard_at = self._wall_0 + time_s
        clock.wait_until(self._wall_0 + time_s)
        now = clock.now()
        late_s = now - self._wall_0 - time_s
        self._late_s[self.traffic.sent] = late_s
        if self._messages.odometry is not None:
            self._messages.odometry.add(rig.time_us)
        self._say(time_s)
        with self._cut():
            self._board_link.exchange(rig.state.tick, now)
        self._hear(rig, now)

    def watch(self, rig: Rig) -> None:
        """Service the real-time loop: queue messages that are due, process what the board sent."""
        assert self._loop is not None and self._board_link is not None
        now = self.clock.now()
        self._say(rig.time_s)
        self._hear(rig, now)
        if self._toll is not None:
            self._toll.look()
        if self._loop.result == BROKEN:
            with self._cut():
                self._board_link.check(self._loop.trouble)

    @contextlib.contextmanager
    def _cut(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LinkError(f"{self.cable.name}: the cable is gone ({error}); plug it in and fly again") from None

    def _say(self, time_s: float) -> None:
        """Queue for the next step: the heartbeat and, once the board sends controls, a request for their rate."""
        assert self._board_link is not None
        if time_s - self._beat_at >= HEARTBEAT_S:
            self._beat_at = time_s
            self._packer.add(dialect.HEARTBEAT, *HEARTBEAT)
            if self.answered and self._asked < ASKED:
                self._asked += 1
                parameters = (float(dialect.HIL_ACTUATOR_CONTROLS.id), 1e6 / self.control_hz, 0.0, 0.0, 0.0, 0.0, 0.0)
                self._packer.add(dialect.COMMAND_LONG, *parameters, numbers.SET_MESSAGE_INTERVAL, *self._board, 0)
        self._board_link.order(self._packer)
        if self.bridge is not None:
            self._board_link.pass_on(self.bridge.from_ground())

    def _hear(self, rig: Rig, now: float) -> None:
        """Process what the board sent; raises an error if it was silent for too long."""
        assert self._board_link is not None
        stood_s = self._loop.stood_s if self._loop is not None else 0.0
        self._heard_at, self._stood_s = self._heard_at + stood_s - self._stood_s, stood_s  # no messages meanwhile
        packets = list(self._board_link.heard())
        if self.tap is not None:  # in a step the simulation sends first
            pieces = [
                (one.tick, came, one) for came, all_ in ((0, self._board_link.gave()), (1, packets)) for one in all_
            ]
            for _, came, one in sorted(pieces, key=lambda piece: piece[:2]):
                self.tap(self.cable.name, bool(came), one.data, one.wall_s)
        for packet in packets:
            if self.bridge is not None:
                self.bridge.to_ground(packet.data, now)
            for number, payload, system, component in self._parser.feed(packet.data):
                self.traffic.received += 1
                if number in (dialect.HIL_ACTUATOR_CONTROLS.id, dialect.HIL_CONTROLS.id):
                    self._board = (system, component)
                    self._take(packet, dialect.MESSAGES[number], payload)
                elif not self.answered or self._mute:
                    known = dialect.MESSAGES.get(number)
                    self.traffic.last_received = known.name if known else f"message {number}"
                    self._heard_at = packet.wall_s if self._mute else self._heard_at
        if self.bridge is not None:
            self.bridge.to_ground(b"", now)
        self.traffic.bad = self._parser.skipped
        self.traffic.sent, self.traffic.last_sent = int(self._board_link.native.sent), "HIL_SENSOR"
        self.unsent = int(self._board_link.native.unsent)
        waited = now - self._heard_at
        if waited > (self.patience_s if self.answered else self.connect_s):
            raise self._silence(rig, waited)

    @property
    def _mute(self) -> bool:
        """Whether the board need not send controls now: some kinds of vehicles send none before they are armed."""
        return self._airframe.mute and not self.armed

    def _silence(self, rig: Rig, waited: float) -> LinkError:
        """The error for a silent board: what was missing, and possible causes."""
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

    def _take(self, packet: Heard, message: dialect.Message, payload: bytes) -> None:
        values, time_s = message.unpack(payload), packet.tick * self._tick_s
        # the old message has one more field after the mode
        time_us, mode = values[0], values[-2 if message is dialect.HIL_CONTROLS else -1]
        self.traffic.last_received, self._heard_at = message.name, packet.wall_s
        if not self.answered:
            self.answered, self._first_answer_s = True, time_s
            self._beat_at = -HEARTBEAT_S  # ask for the rate at once
        if self._counted_from is None:
            if time_s >= self._first_answer_s + SETTLED_S:
                self._counted_from = (packet, self._parser.lost, self.traffic.received)
                self._stood_before_s = self._stood_s
        else:
            self._answers += 1
            delay_us = round(1e6 * time_s) - time_us
            if 0 <= delay_us < OWN_CLOCK_US:
                self._delays[delay_us] += 1
        armed = bool(mode & numbers.MAV_MODE_FLAG_SAFETY_ARMED)
        if armed != self.armed:
            self.armed = armed
            self.autopilot_events.append(AutopilotEvent(time_s, "armed", "armed" if armed else "disarmed"))

    # ------------------------------------------------------------------ figures

    def statistics(self) -> Figures:
        """Rates, losses and lateness so far."""
        began_s = 1e-9 * self._loop.began_ns if self._loop is not None else 0.0
        if self._counted_from is None or self._board_link is None:
            return Figures(began_s=began_s)
        since, lost, received = self._counted_from
        native, first = self._board_link.native, since.tick // self.step_ticks - 1
        steps = self.traffic.sent - first
        if steps < 2:
            return Figures(began_s=began_s)
        passed = max(1e-9 * native.last_ns - since.wall_s - (self._stood_s - self._stood_before_s), 1e-9)
        missing, came = self._parser.lost - lost, self.traffic.received - received
        unsent = self.unsent - since.unsent
        late_s = self._late_s[first : first + steps]
        late = late_s > self.batch / self.sensor_hz
        counts, _ = np.histogram(1e3 * late_s, [-np.inf, *EDGES_MS, np.inf])
        names = [f"below {edge:g} ms" for edge in EDGES_MS] + [f"above {EDGES_MS[-1]:g} ms"]
        median, most = np.percentile(1e3 * late_s, [50, 99])
        taken = self._loop.taken if self._loop is not None else Taken()
        return Figures(
            sensor_hz=self.batch * (steps - 1) / passed,
            gnss_hz=(int(native.fixes) - since.fixes) / passed,
            control_hz=self._answers / passed,
            lost=missing / max(missing + came, 1),
            unsent=unsent / steps,
            late=float(late.mean()),
            delay_ms=_mean_ms(self._delays) if 2 * self._delays.total() > self._answers else None,
            steps=steps,
            lost_frames=missing,
            unsent_steps=unsent,
            late_steps=int(late.sum()),
            garbage=self._parser.skipped,
            median_ms=float(median),
            most_99_ms=float(most),
            worst_ms=float(1e3 * late_s.max()),
            stolen_s=stolen_s() - self._stolen_s,
            waited_s=taken.waited_s,
            preempted=taken.preempted,
            began_s=began_s,
            late_by=self._toll.causes(late, first) if self._toll is not None else {},
            histogram={name: int(count) for name, count in zip(names, counts, strict=True)},
            delays=_by_millisecond(self._delays),
        )

    def live(self, time_s: float) -> str:
        """One line of statistics for a screen during the flight; cheap to compute."""
        late_s = self._late_s[: self.traffic.sent]
        return (
            f"{time_s:7.1f} s  sent {self.traffic.sent}  received {self.traffic.received}  lost {self._parser.lost}  "
            f"not sent {self.unsent}  late {int((late_s > self.batch / self.sensor_hz).sum())}  "
            f"worst {1e3 * late_s.max(initial=0.0):.1f} ms  "
            f"{'armed' if self.armed else 'disarmed' if self.answered else 'waiting for the board'}"
        )

    def figures(self) -> dict[str, str]:
        """Rows of the flight's summary: the cable, and the statistics of the exchange if there are any."""
        figures = self.statistics()
        baud = f"{self.cable.baud} baud" if self.cable.baud else "network"
        return {"link": f"{self.cable.name}, {baud}, {self.standing}", **(figures.rows() if figures.steps else {})}

    def measured(self) -> dict[str, Any]:
        """The statistics of the exchange as data for JSON."""
        return dataclasses.asdict(self.statistics())

    def mistrust(self) -> str:
        """Reason why the run is void; empty if the statistics are within limits."""
        figures = self.statistics()
        if not figures.sensor_hz:
            return "the board gave no controls" if not self.answered else "the run was too short to measure the link"
        for name, value, required in (
            ("sensors", figures.sensor_hz, self.sensor_hz),
            ("controls", figures.control_hz, self.control_hz),
        ):
            if value < LEAST_RATE * required:
                return f"{name} came at {value:.1f} Hz instead of {required:g} Hz"
        for name, value, most in (
            ("frames from the board were lost", figures.lost, MOST_LOST),
            ("steps found no room on the cable", figures.unsent, MOST_LOST),
            ("steps were late", figures.late, MOST_LATE),
        ):
            if value > most:
                return f"{100 * value:.2f} % of the {name}; at most {100 * most:g} % may"
        return ""
