"""Hardware in the loop: a flight controller on a cable, in real time, over the same messages as PX4's simulator link.

The board does not wait for us, so the figures of the link are part of the result: before the start all messages at
their rates are summed up against what the cable carries; during the run late steps and lost frames are counted. If the
figures do not hold, `broken` says why, and a verdict from that run is void. Rates and what they were on a comparable
bench: [NguyenHa] tables 3 to 5. Not done: a ground station over the same cable; that is what its telemetry port is for.
"""

from __future__ import annotations

import copy
import dataclasses
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from ironbird.errors import LinkError
from ironbird.links import mavlink
from ironbird.links.px4 import ARMED, TRUTH_S, Messages, Outputs
from ironbird.links.px4_airframes import airframe_of
from ironbird.links.rig import Rig
from ironbird.links.system import ControlSystem
from ironbird.runtime.clock import Pace
from ironbird.vehicles.load import Vehicle

FRAMING = 12  # bytes of a MAVLink 2 frame around its payload
BITS_PER_BYTE = 10  # start bit, eight, stop bit
SENSOR_HZ, CONTROL_HZ = 500.0, 400.0  # [NguyenHa] table 3
MOST_LOST, MOST_LATE, LEAST_RATE = 0.005, 0.005, 0.995  # shares at which the figures no longer hold
SETTLED_S = 1.0  # from the first answer, before rates are measured


def with_sensor_rate(vehicle: Vehicle, rate_hz: float) -> Vehicle:
    """The same vehicle with inertial units that sample at this rate, chips and taps alike."""
    diagram = copy.copy(vehicle.diagram)
    diagram.blocks = dict(diagram.blocks)
    for path, block in diagram.blocks.items():
        if path.startswith("imu/"):
            faster = copy.copy(block)
            faster.sample_s = 1.0 / rate_hz
            diagram.blocks[path] = faster
    return dataclasses.replace(vehicle, diagram=diagram)


@dataclass(frozen=True)
class Load:
    """What goes over a cable in one direction."""

    direction: str
    bytes_per_s: float
    room_per_s: float
    parts: Mapping[str, float]  # bytes per second by message

    @property
    def fits(self) -> bool:
        """Whether there is room."""
        return self.bytes_per_s <= self.room_per_s

    def sentence(self) -> str:
        """With all figures."""
        parts = ", ".join(f"{name} {value:.0f}" for name, value in self.parts.items())
        share = 100 * self.bytes_per_s / self.room_per_s
        return f"{self.direction}: {self.bytes_per_s:.0f} of {self.room_per_s:.0f} bytes/s ({share:.0f} %: {parts})"


def load_of(direction: str, rates_hz: Mapping[mavlink.Message, float], baud: int) -> Load:
    """Bytes per second of messages at their rates, all at full length, against what a serial line carries."""
    parts = {message.name: rate * (message.payload.size + FRAMING) for message, rate in rates_hz.items()}
    return Load(direction, sum(parts.values()), baud / BITS_PER_BYTE, parts)


class Cable(ABC):
    """Bytes to and from a board; never blocks."""

    name: str

    @abstractmethod
    def read(self) -> bytes:
        """What has come."""

    @abstractmethod
    def write(self, data: memoryview) -> int:
        """How many bytes there was room for."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""


class SerialCable(Cable):
    """A serial port, or what looks like one."""

    def __init__(self, device: str, baud: int) -> None:
        import serial  # its drivers are of no use to the other links

        self.name = device
        try:
            self._port = serial.Serial(device, baud, timeout=0, write_timeout=0, exclusive=True)
        except (serial.SerialException, OSError, ValueError) as error:
            raise LinkError(f"serial port {device} cannot be opened: {error}; is the board plugged in?") from None

    def read(self) -> bytes:
        return bytes(self._port.read(65536))

    def write(self, data: memoryview) -> int:
        return int(self._port.write(data) or 0)

    def close(self) -> None:
        self._port.close()


class DatagramCable(Cable):
    """UDP, for boards with a network port: heard on one port, answered where the last packet came from."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.name = f"udp {host}:{port}"
        self._peer: tuple[str, int] | None = None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise LinkError(f"UDP port {port} cannot be opened: {error.strerror}; see `ironbird doctor`") from None
        self._socket.setblocking(False)

    def read(self) -> bytes:
        parts: list[bytes] = []
        while True:
            try:
                data, self._peer = self._socket.recvfrom(65536)
            except OSError:
                return b"".join(parts)
            parts.append(data)

    def write(self, data: memoryview) -> int:
        if self._peer is None:
            return len(data)  # nobody yet
        try:
            return self._socket.sendto(data, self._peer)
        except OSError:
            return 0

    def close(self) -> None:
        self._socket.close()


@dataclass
class Figures:
    """How the exchange went, measured from the first answer on."""

    sensor_hz: float = 0.0
    gnss_hz: float = 0.0
    control_hz: float = 0.0
    lost: float = 0.0  # share of frames from the board that are missing
    unsent: float = 0.0  # share of our steps for which the cable had no room
    late: float = 0.0  # share of our steps that began more than a step late
    delay_ms: float = 0.0  # mean, from a sample to the command that answers it

    def sentence(self) -> str:
        """In words."""
        return (
            f"sensors {self.sensor_hz:.1f} Hz, GNSS {self.gnss_hz:.2f} Hz, controls {self.control_hz:.1f} Hz, "
            f"lost {100 * self.lost:.2f} %, not sent {100 * self.unsent:.2f} %, late {100 * self.late:.2f} %, "
            f"delay {self.delay_ms:.1f} ms"
        )


class HardwareLink(ControlSystem):
    """A flight controller on a serial cable or UDP, in real time.

    `sensor_hz` and `control_hz` are what is asked of both sides. `patience_s` is how long the board may be silent.
    The first inertial unit, magnetometer, barometer, airspeed sensor and receiver go over the cable.
    """

    name = "flight controller"

    def __init__(
        self, device: str = "", *, udp_port: int | None = None, baud: int = 921_600, sensor_hz: float = SENSOR_HZ,
        control_hz: float = CONTROL_HZ, patience_s: float = 5.0, connect_s: float = 30.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if bool(device) == (udp_port is not None):
            raise LinkError("give a serial device, such as /dev/ttyACM0, or a UDP port")
        self.device, self.udp_port, self.baud = device, udp_port, baud
        self.sensor_hz, self.control_hz = sensor_hz, control_hz
        self.patience_s, self.connect_s = patience_s, connect_s
        self.step_ticks = round(1000.0 / sensor_hz)
        self.armed = False
        self.unsent = 0
        self._cable: Cable | None = None
        self._controls: tuple[float, ...] = (0.0,) * 16
        self._rest = b""

    # ------------------------------------------------------------------ start and stop

    def loads(self, rig: Rig) -> list[Load]:
        """What will go over the cable, each way."""
        out = {mavlink.HIL_SENSOR: self.sensor_hz, mavlink.HIL_STATE_QUATERNION: 1.0 / TRUTH_S}
        chip = rig.vehicle.diagram.blocks.get("gnss/1/chip")
        if chip is not None and chip.sample_s:
            out[mavlink.HIL_GPS] = 1.0 / chip.sample_s
        back = {mavlink.HIL_ACTUATOR_CONTROLS: self.control_hz, mavlink.HEARTBEAT: 1.0}
        return [load_of("to the board", out, self.baud), load_of("from the board", back, self.baud)]

    def start(self, rig: Rig) -> None:
        """Check that the cable can carry it, and open it. The clock starts with the first exchange."""
        step_s = rig.state.model.step_s
        if abs(self.step_ticks * step_s * self.sensor_hz - 1.0) > 1e-6:
            raise LinkError(f"{self.sensor_hz:g} Hz does not fit a model that steps {step_s:g} s")
        if self.device:
            loads = self.loads(rig)
            if not all(load.fits for load in loads):
                figures = "; ".join(load.sentence() for load in loads)
                raise LinkError(
                    f"{self.device} at {self.baud} baud cannot carry the messages: {figures}. Lower sensor_hz or "
                    "control_hz, or use a faster port"
                )
        airframe = airframe_of(rig.vehicle)
        shown = dataclasses.replace(
            rig, accels=rig.accels[:1], gyros=rig.gyros[:1], magnetometers=rig.magnetometers[:1],
            receivers=rig.receivers[:1], rangefinders=[], flows=[],
        )  # fmt: skip
        if self.device:
            self._cable = SerialCable(self.device, self.baud)
        else:
            assert self.udp_port is not None
            self._cable = DatagramCable(self.udp_port)
        self._packer, self._parser = mavlink.Packer(), mavlink.Parser(count_lost=True)
        self._messages, self._outputs = Messages(shown, airframe, self._packer), Outputs(rig, airframe)
        self._fix = rig.receivers[0].position_N.stamp if rig.receivers else None
        self._fix_seen = float(self._fix[0]) if self._fix is not None else 0.0
        self._pace = Pace(1.0)
        self._wall_0: float | None = None
        self._heard_at = time.monotonic()
        self._armed_at = 0.0
        self._counted_from: tuple[float, int, int] | None = None  # wall time, frames lost, late steps
        self._steps = self._fixes = self._answers = 0
        self._delay_s = 0.0
        self._last_at = 0.0
        self.note(rig, "link", f"{self._cable.name}, {self.sensor_hz:g} Hz")

    def stop(self) -> None:
        """Close the cable."""
        if self._cable is not None:
            self._cable.close()
            self._cable = None

    # ------------------------------------------------------------------ exchange

    def exchange(self, rig: Rig) -> None:
        """Wait for the moment of this step, send the sensors, take the newest controls."""
        assert self._cable is not None
        self._pace.wait(rig.time_s)
        now = time.monotonic()
        if self._wall_0 is None:
            self._wall_0 = now - rig.time_s
            self._heard_at = now
        if now - self._wall_0 - rig.time_s > 1.0 / self.sensor_hz:
            self.traffic.late += 1
        self._messages.add(rig.time_us)
        frames = self._packer.take()
        self.traffic.sent += 1
        self.traffic.last_sent = "HIL_SENSOR"
        self._put(frames)
        self._receive(rig, now)
        if self._counted_from is not None:
            self._steps += 1
            if self._fix is not None and float(self._fix[0]) != self._fix_seen:
                self._fix_seen = float(self._fix[0])
                self._fixes += 1
            self._last_at = now
        self._outputs.place(rig, self._controls, self.armed, rig.time_s - self._armed_at)

    def _put(self, frames: memoryview) -> None:
        """Send; what finds no room goes before the next step, and if that found none either, a step is left out."""
        assert self._cable is not None
        if len(self._rest) > len(frames):
            self.unsent += 1
        else:
            self._rest += frames
        try:
            sent = self._cable.write(memoryview(self._rest))
        except OSError as error:
            raise LinkError(f"{self._cable.name}: the cable is gone ({error})") from None
        self._rest = self._rest[sent:]

    def _receive(self, rig: Rig, now: float) -> None:
        assert self._cable is not None
        try:
            data = self._cable.read()
        except OSError as error:
            raise LinkError(f"{self._cable.name}: the cable is gone ({error})") from None
        for number, payload, _, _ in self._parser.feed(data) if data else ():
            self.traffic.received += 1
            if number == mavlink.HIL_ACTUATOR_CONTROLS.id:
                self._take(rig, now, payload)
        self.traffic.bad = self._parser.skipped
        waited = now - self._heard_at
        if waited > (self.patience_s if self._answers else self.connect_s):
            raise self.silent(rig, waited, "HIL_ACTUATOR_CONTROLS")

    def _take(self, rig: Rig, now: float, payload: bytes) -> None:
        time_us, _, *controls, mode = mavlink.HIL_ACTUATOR_CONTROLS.unpack(payload)
        self.traffic.last_received = mavlink.HIL_ACTUATOR_CONTROLS.name
        self._controls, self._heard_at = tuple(controls), now
        self._answers += 1
        if self._counted_from is None:
            if rig.time_s >= SETTLED_S:
                self._counted_from = (now, self._parser.lost, self.traffic.late)
                self._answers = 1
                self._delay_s = 0.0
        else:
            self._delay_s += max(rig.time_s - time_us * 1e-6, 0.0)
        armed = bool(mode & ARMED)
        if armed != self.armed:
            self.armed, self._armed_at = armed, rig.time_s
            self.note(rig, "armed", "armed" if armed else "disarmed")

    # ------------------------------------------------------------------ figures

    def figures(self) -> Figures:
        """Rates and losses so far."""
        if self._counted_from is None or self._steps < 2:
            return Figures()
        since, lost, late = self._counted_from
        passed = max(self._last_at - since, 1e-9)
        missing = self._parser.lost - lost
        return Figures(
            sensor_hz=self._steps / passed, gnss_hz=self._fixes / passed, control_hz=(self._answers - 1) / passed,
            lost=missing / max(missing + self._answers, 1), unsent=self.unsent / max(self.traffic.sent, 1),
            late=(self.traffic.late - late) / self._steps, delay_ms=1e3 * self._delay_s / max(self._answers - 1, 1),
        )  # fmt: skip

    @property
    def broken(self) -> str:
        """Why a verdict from this run is void; empty if the figures hold."""
        figures = self.figures()
        if not figures.sensor_hz:
            return "the board gave no controls"
        for name, value, wanted in (
            ("sensors", figures.sensor_hz, self.sensor_hz), ("controls", figures.control_hz, self.control_hz),
        ):  # fmt: skip
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
