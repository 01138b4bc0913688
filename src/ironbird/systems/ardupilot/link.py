"""ArduPilot as control system: its JSON interface [ArduPilotJson], in lockstep, one reply for each millisecond.

ArduPilot sends servo outputs as binary UDP packets and waits for the vehicle's state as text; the timestamp of that
text is its only clock. Airspeed, rangefinder, battery, satellite receivers (`receivers.py`) and inertial units are
Ironbird's, with their faults: in virtual time all units of the vehicle (`inertial.py`), in real time the first one.
ArduPilot itself simulates barometers and compasses, as many as the vehicle has, from the true motion; their faults are
set as its SIM_ parameters (`faults.py`). Packets from other senders are counted and ignored (`transport/peers.py`).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.autopilots.ardupilot.channels import SCALES, Wiring, wire
from ironbird.autopilots.ardupilot.params import sensor_params, vehicle_params
from ironbird.autopilots.ardupilot.process import PHYSICS_PORT, PORT_STEP, ArduPilotProcess, find_program
from ironbird.autopilots.ardupilot.version import release_of
from ironbird.compiler.native_text import load_texts
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.host.virtual_time.run import VirtualRun
from ironbird.protocols.parm_file import merge, parse_parm, write_parm
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem
from ironbird.systems.ardupilot.faults import FaultDriver, Routes
from ironbird.systems.ardupilot.inertial import InertialUnits
from ironbird.systems.ardupilot.parameters import ParameterLink, PresenceCheck
from ironbird.systems.ardupilot.receivers import Receivers
from ironbird.transport.peers import Doorkeeper
from ironbird.vehicles import places as at

TEXT = Path(__file__).parent / "c" / "ib_ardupilot.c"
LINK = "ArduPilot JSON link"
HEAD = struct.Struct("<HHI")  # magic, frame rate, frame count
PACKETS = {18458: struct.Struct("<16H"), 29569: struct.Struct("<32H")}
RATE_HZ = 1000  # of the exchange: one tick of 1 ms; above the 720 Hz that its 400 Hz loop asks for
RESEND_S = 0.9  # ArduPilot repeats its packet after 1.1 s
PAUSE_S = 0.5  # after so long a pause of the simulation, repeats may be waiting in the socket
SLICE_S = 0.05  # s between two checks of the process and the deadline
WIND_TICKS, PARAMETER_TICKS = 20, 10  # periods of the wind, and of reports of parameters
AHEAD = 1e-9  # of the time sent: ArduPilot cuts each difference of two times to whole microseconds, so just below 1 ms
# would be 0.999 ms, and its clock would fall behind (by 0.3 ms a second, measured after the first minute)
GOODBYE_S = 2.0  # for writing its log
MOST_REPEATS = 4096  # taken at once after a pause

VIRTUAL_STEP_S, VIRTUAL_PATIENCE_S = 0.001, 30.0  # of virtual time that it gets beyond the simulation's if it is silent

Source = Any  # an address: host and port, or a path in virtual time


class ArduPilot(ControlSystem):
    """ArduPilot as control system of a vehicle of the catalogue.

    With `process` it is started and ended here; without, it has to be started by hand with `--model JSON` and sends to
    UDP port 9002 + 10 `instance`. `patience_s` is how long it may be silent (wall time) before the run ends with an
    error. With `spin_s` the receiver polls that long without sleeping: for a machine with spare cores. The vehicle
    advances by `step_ticks` at a time, and ArduPilot gets a reply for each tick: the first with the state, whose
    outputs go to the actuators, the others with the same samples and the position moved on. 4 is the period of the
    inertial units and of most actuator links, so no sample is lost; with 1 every reply is a step.
    """

    name = "ArduPilot"
    process: ArduPilotProcess | None

    def __init__(
        self,
        process: ArduPilotProcess | None = None,
        *,
        wiring: Wiring | None = None,
        instance: int = 0,
        step_ticks: int = 4,
        patience_s: float = 20.0,
        first_patience_s: float = 60.0,
        spin_s: float = 0.0,
        rc: Sequence[int] = (),
        injections: Sequence[Injection] = (),
    ) -> None:
        super().__init__()
        self.process = process
        self.wiring = wiring
        self.instance = instance
        self.step_ticks = step_ticks
        self.patience_s, self.first_patience_s = patience_s, first_patience_s
        self.spin_s = spin_s
        self.rc = tuple(rc)
        self.injections = tuple(injections)
        self.parameters: ParameterLink | None = None
        self.faults: FaultDriver | None = None
        self._presence: PresenceCheck | None = None
        self.receivers: Receivers | None = None
        self.inertial: InertialUnits | None = None
        self._parameter_tick = 0
        self.frame_rate_hz = 0
        self.pwm: tuple[int, ...] = ()
        self._socket: socket.socket | None = None
        self._buffer = bytearray(2048)
        self._run: VirtualRun | None = None
        self._peer: Source | None = None
        self._door = Doorkeeper("udp", 0, None)
        self._known: list[Source] = []
        self._frame = -1
        self._refused = ""
        self._pending = False  # whether a redundant packet is still to come
        self._sent_at = 0.0
        self.reply = b""
        self._time_s = 0.0

    # ------------------------------------------------------------------ start and stop

    def start(self, rig: Rig) -> None:
        """Open the port, start ArduPilot if it is to be started, and wait for its first packet."""
        if abs(rig.state.model.step_s * RATE_HZ - 1.0) > 1e-9:
            raise LinkError(
                f"the exchange with ArduPilot runs at {RATE_HZ} Hz, the model steps {rig.state.model.step_s:g} s"
            )
        spec = rig.vehicle.spec
        wiring = self.wiring or wire(spec)
        self.state = StateText(rig, self.rc)
        self._rows = [
            (rig.actuators[c.place], c.number - 1, *SCALES[c.kind], -1.0 if c.reverse else 1.0) for c in wiring.channels
        ]
        own = self.process
        self._run = own.run if own is not None else None
        self._socket = self._run.datagrams(PHYSICS_PORT) if self._run is not None else self._open(own is not None)
        self._receive = self._socket.recvfrom_into
        if self.injections or own is not None:
            self.parameters = ParameterLink(rig, own)
            if self._run is not None and own is not None and own.folder is not None:
                self.inertial = InertialUnits(rig, self._run, own.folder)
                self.inertial.fill()
            units = self.inertial.count if self.inertial is not None else 1
            sensors = sensor_params(rig, all_units=self.inertial is not None) if own is not None else {}
            self.faults = FaultDriver(
                rig,
                self.injections,
                self.note,
                self.parameters,
                Routes(own is not None, units),
                {name: param.value for name, param in sensors.items()},
            )
        if own is not None and self.parameters is not None:
            # Its water begins at the height of the sea
            home = spec.home.model_copy(update={"height_m": 0.0}) if wiring.firmware == "ardusub" else spec.home
            release = release_of(find_program(wiring.firmware, own.where))
            self.receivers = Receivers(rig, own)
            params = release.named(merge(vehicle_params(spec), sensors))
            own.start(
                wiring.firmware,
                write_parm(params, f"{spec.title}: made from its vehicle file"),
                home=home,
                physics_port=PHYSICS_PORT if self._run is not None else self._socket.getsockname()[1],
                rate_hz=RATE_HZ,
                second_port=self.parameters.port,
                sensors=self.receivers.arguments(),
            )
            self.receivers.admit(own.pid)
            self._door.pid = self.parameters.door.pid = own.pid
            self._presence = PresenceCheck(self.parameters, [*params, *parse_parm(own.params)], release.title())
        self._wait(rig, self.first_patience_s)
        if self._run is not None:
            self._run.zero_is_now()
        self._sent_at = time.perf_counter()  # no pause yet
        self._apply(rig)

    def _open(self, own: bool) -> socket.socket:
        """Open the UDP port that ArduPilot sends to; any free port if Ironbird starts ArduPilot."""
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        port = 0 if own else PHYSICS_PORT + PORT_STEP * self.instance
        try:
            made.bind(("127.0.0.1", port))
        except OSError as error:
            made.close()
            raise LinkError(f"UDP port {port} is taken ({error.strerror}): is another simulator running?") from None
        seconds, fraction = divmod(SLICE_S, 1.0)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(seconds), int(fraction * 1e6)))
        return made

    def stop(self) -> None:
        """End ArduPilot; a process started by Ironbird first gets some more steps in which it writes its log."""
        try:
            if self.process is not None:
                self.process.ask_to_end()
                self._say_goodbye()
                self.process.stop()
        finally:
            for part in (self.parameters, self.receivers, self.inertial):
                if part is not None:
                    part.close()
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def _say_goodbye(self) -> None:
        """Reply with the last state at advancing times until the process has ended."""
        if self._socket is None or not self.reply or self.process is None or self._peer is None:
            return
        rest = self.reply.partition(b",")[2]
        source: Source = self._peer  # it waits for a reply to its last packet
        if self._run is not None:
            with contextlib.suppress(LinkError, OSError):  # it has ended as ordered
                for _ in range(round(GOODBYE_S * RATE_HZ)):
                    self._time_s += 1.0 / RATE_HZ
                    self._socket.sendto(b'\n{"timestamp":%.6f,' % self._time_s + rest, source)
                    self._run.allow(round(self._time_s * 1e6))
                    self.process.settle()
                    with contextlib.suppress(BlockingIOError):
                        while True:
                            self._receive(self._buffer)
            return
        deadline = time.perf_counter() + GOODBYE_S
        while self.process.running() and time.perf_counter() < deadline:
            try:
                self._time_s += 1.0 / RATE_HZ
                self._socket.sendto(b'\n{"timestamp":%.6f,' % self._time_s + rest, source)
                _, sender = self._receive(self._buffer)
                source = sender if sender in self._known else source
            except OSError:
                continue

    def figures(self) -> dict[str, str]:
        """Rows of the flight's summary: statistics of virtual time, if it was used."""
        return self.process.figures if self.process is not None else {}

    def acted(self, injection: Injection) -> OwnWitness | None:
        """Confirmation by ArduPilot of a fault in a sensor that it simulates itself; None for other faults."""
        return self.faults.acted(injection) if self.faults is not None else None

    # ------------------------------------------------------------------ exchange

    def exchange(self, rig: Rig) -> None:
        """Reply with the state, wait for the servo outputs that follow, and apply them to the actuators."""
        if self._run is not None:
            self._exchange_virtual(rig, self._run)
            return
        away = time.perf_counter() - self._sent_at > PAUSE_S
        if self.receivers is not None:
            self.receivers.poll()
        if self._pending:
            self._wait(rig, self.patience_s)
        if away:
            self._drain(rig)
        self._answer(0)
        self._wait(rig, self.patience_s)
        self._apply(rig)
        for ahead in range(1, self.step_ticks):
            if ahead > 1:
                self._wait(rig, self.patience_s)
            self._answer(ahead)
        self._pending = self.step_ticks > 1  # ArduPilot goes on while the vehicle steps
        self._poll_parameters(rig)

    def _exchange_virtual(self, rig: Rig, run: VirtualRun) -> None:
        """`exchange` in virtual time: replies do not depend on ArduPilot's packets, so all are sent at once."""
        assert self.process is not None and self.inertial is not None and self.receivers is not None
        self.inertial.fill()
        self.receivers.poll()
        for ahead in range(self.step_ticks):
            self._answer(ahead)
        run.allow(round(self._time_s * 1e6))
        self._wait_virtual(rig, run)
        self._apply(rig)  # what followed the state as it is now
        for _ in range(1, self.step_ticks):
            self._wait_virtual(rig, run)
        self._poll_parameters(rig)

    def _poll_parameters(self, rig: Rig) -> None:
        """Check the parameters and set those of faults; cheap if nothing is due."""
        if self.parameters is None or rig.state.tick < self._parameter_tick:
            return
        self._parameter_tick = rig.state.tick + PARAMETER_TICKS
        if self.process is not None:
            self.process.settle()
        self.parameters.poll()
        if self._presence is not None:
            self._presence.poll()
        if self.faults is not None:
            self.faults.poll()

    def _answer(self, ahead: int) -> None:
        """Send one reply, with the state now or `ahead` ticks later."""
        self.reply = self.state.text(ahead)
        self._time_s = self.state.time_s
        self._send()

    def _send(self) -> None:
        assert self._socket is not None and self._peer is not None
        if self.tap is not None:
            self.tap(LINK, False, self.reply)
        if self._run is not None:
            with contextlib.suppress(OSError):  # it is gone: the wait reports it
                self._socket.sendto(self.reply, self._peer)
                self.traffic.sent += 1
            return
        self._sent_at = time.perf_counter()
        try:
            self._socket.sendto(self.reply, self._peer)
        except OSError as error:  # it is gone: the wait reports it
            self._refused = f", refused: {error.strerror}"
            return
        self.traffic.sent += 1

    def _apply(self, rig: Rig) -> None:
        inputs, pwm = rig.stepper.inputs, self.pwm
        for row, index, offset, scale, low, high, sign in self._rows:
            value = pwm[index]
            inputs[row] = sign * min(max((value - offset) * scale, low), high) if value else 0.0

    def _wait(self, rig: Rig, patience_s: float) -> None:
        """Wait for the next packet; repeats of the last one are answered, invalid packets are counted."""
        if self._run is not None:
            self._wait_virtual(rig, self._run)
            return
        begin = time.perf_counter()
        spin_until = begin + self.spin_s
        while True:
            try:
                while True:
                    try:
                        size, source = self._receive(self._buffer, 0, socket.MSG_DONTWAIT)
                        break
                    except BlockingIOError:
                        if time.perf_counter() > spin_until:
                            size, source = self._receive(self._buffer)
                            break
            except OSError as error:
                if not isinstance(error, BlockingIOError):  # a refused reply comes back as an error here
                    self._refused = f", refused: {error.strerror}"
                waited = time.perf_counter() - begin
                if self.process is not None:
                    self.process.check(self.where(rig))
                if waited > patience_s:
                    raise self.silent(rig, waited, "servo packet") from None
                continue
            if self._take(rig, size, source):
                return
            waited = time.perf_counter() - begin
            if waited > patience_s:
                raise self.silent(rig, waited, "servo packet")

    def _wait_virtual(self, rig: Rig, run: VirtualRun) -> None:
        """Wait in virtual time: if no packet is there once all threads block, grant more virtual time."""
        assert self.process is not None
        for _ in range(round(VIRTUAL_PATIENCE_S / VIRTUAL_STEP_S)):
            if not run.at_simulator:
                self.process.settle(lambda: self.where(rig))
            with contextlib.suppress(BlockingIOError):
                while not self._take(rig, *self._receive(self._buffer)):
                    pass
                return
            run.allow_more(VIRTUAL_STEP_S)
        raise LinkError(
            f"{self.name} gave no servo packet in {VIRTUAL_PATIENCE_S:g} s of virtual time {self.where(rig)}"
        )

    def where(self, rig: Rig) -> str:
        """Text about the state of the link for error messages; too slow to be called in each step."""
        self.traffic.last_sent = f"state of {self._time_s:.3f} s{self._refused}" if self.reply else ""
        self.traffic.last_received = f"frame {self._frame}" if self._frame >= 0 else ""
        return super().where(rig)

    def _take(self, rig: Rig, size: int, source: Source) -> bool:
        """Process a packet; returns whether it holds the outputs to act on."""
        if size < HEAD.size:
            self.traffic.bad += 1
            return False
        magic, rate, frame = HEAD.unpack_from(self._buffer)
        outputs = PACKETS.get(magic)
        if outputs is None or size != HEAD.size + outputs.size:
            self.traffic.bad += 1
            return False
        if self.tap is not None:
            self.tap(LINK, True, bytes(self._buffer[:size]))
        if source == self._peer:
            if frame == self._frame:
                if self._run is None and time.perf_counter() - self._sent_at > RESEND_S:  # the reply did not arrive
                    self.traffic.late += 1
                    self._send()
                return False
            if frame < self._frame:
                self.note(rig, "restart", f"ArduPilot counts from {frame} again after {self._frame}")
        elif self._run is None and not self._door.lets_in(source):
            self.traffic.bad += 1
            if self._door.refused == 1:
                self.note(rig, "link", f"a program that is not ArduPilot sent from port {source[1]}: left alone")
            return False
        elif self._peer is None:
            self._join(source)
        else:
            if source in self._known:
                raise LinkError(f"two ArduPilots send to this port: {self._peer[1]} and {source[1]}; give one another")
            self.note(rig, "restart", f"ArduPilot was restarted: frame {frame} from port {source[1]}")
            self._join(source)
        self._frame, self.frame_rate_hz = frame, rate
        self.pwm = outputs.unpack_from(self._buffer, HEAD.size)
        self.traffic.received += 1
        return True

    def _join(self, source: Source) -> None:
        self._peer = source
        self._known.append(source)

    def _drain(self, rig: Rig) -> None:
        """After a pause, discard repeated packets, so that they are not answered one by one and add delay."""
        for _ in range(MOST_REPEATS):
            try:
                size, source = self._receive(self._buffer, 0, socket.MSG_DONTWAIT)
            except OSError:
                return
            self._sent_at = time.perf_counter()  # a repeat in the queue needs no separate answer
            self._take(rig, size, source)


class _TextArgs(ctypes.Structure):
    """`ib_text` of c/ib_ardupilot.c."""

    _fields_ = [
        ("template", ctypes.c_char_p), ("length", ctypes.c_int64), ("sources", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("last", "q", "v", "p", "motion", "pressure", "airspeed")),
        ("density", ctypes.c_double), ("ahead", ctypes.c_double), ("out", ctypes.c_void_p),
    ]  # fmt: skip


STRUCTURES: dict[str, type[ctypes.Structure]] = {"ib_text": _TextArgs}


@functools.cache
def _library() -> ctypes.CDLL:
    library = load_texts(TEXT, structures=STRUCTURES)
    library.ib_state_text.restype = ctypes.c_int64
    library.ib_state_text.argtypes = [ctypes.c_void_p]
    return library


class StateText:
    """The vehicle's state as the text that ArduPilot reads, written by native code directly from the model's arrays.

    ArduPilot searches for substrings: keys are in a fixed order (velocity before velocity_wind), without spaces, and
    only finite numbers are written; a value that is not finite is replaced by the previous one.
    """

    def __init__(self, rig: Rig, rc: Sequence[int] = ()) -> None:
        flat = rig.state.model.flat
        if "body.p" not in flat.x.start:
            raise LinkError("ArduPilot's JSON interface takes metres from home: set environment.earth to 'flat'")
        self.rig = rig
        self.time_s = 0.0
        self._own = np.zeros(18)  # time, wind, airspeed, then the motion
        self._clock, self._wind, airspeed, motion = self._own[:1], self._own[1:4], self._own[4:5], self._own[5:]
        motion[6] = 1.0
        self._args = args = _TextArgs(density=SEA_LEVEL_DENSITY_KGPM3, motion=_address(motion))
        self._planar: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._before = (rig.state.tick, rig.truth("p").copy())
        if "body.q" in flat.x.start:
            args.q, args.v, args.p = (_address(rig.truth(name)) for name in "qvp")
        else:
            self._planar = rig.truth("p"), rig.truth("yaw"), motion
        parts: list[tuple[str, np.ndarray, int]] = [  # key, numbers, decimals
            ('"timestamp":', self._clock, 12), (',"imu":{"gyro":', rig.gyros[0].values, 7),
            (',"accel_body":', rig.accels[0].values, 6), ('},"velocity":', motion[:3], 6),
            (',"attitude":', motion[3:6], 7), (',"quaternion":', motion[6:10], 8), (',"position":', motion[10:], 6),
        ]  # fmt: skip
        if rig.rangefinders:
            parts.append((',"rng_1":', rig.rangefinders[0].values[:1], 4))
        if rig.airspeeds:
            args.pressure, args.airspeed = _address(rig.airspeeds[0].values), _address(airspeed)
            parts.append((',"airspeed":', airspeed, 5))
        parts.append((',"velocity_wind":', self._wind, 4))
        self._winds = [
            rig.held(path) for path in flat.held.start if path.startswith("wind/") and path.endswith("wind_N")
        ]
        if at.WIND_STEADY.velocity in flat.p.start:
            self._winds.append(rig.state.params[0, rig.state.model.param_rows(at.WIND_STEADY.velocity), 0])
        self._wind_tick = 0
        end = "}\n"
        if "monitor/battery.voltage" in flat.held.start:
            parts.append((',"battery":{"voltage":', rig.held("monitor/battery.voltage"), 3))
            parts.append((',"current":', rig.held("monitor/battery.current"), 3))
            end = "}}\n"
        channels = ",".join(f'"rc_{n}":{int(value)}' for n, value in enumerate(rc, start=1))
        if rc:
            end = end.replace("}\n", ',"rc":{' + channels + "}}\n")
        text, addresses = "\n{", []
        for key, numbers, decimals in parts:
            body = ",".join([chr(decimals)] * len(numbers))
            text += key + (f"[{body}]" if len(numbers) > 1 else body)
            addresses += [_address(numbers[i:]) for i in range(len(numbers))]
        self._template = (text + end).encode()
        self._sources = (ctypes.c_void_p * len(addresses))(*addresses)
        self._last = np.zeros(len(addresses))
        # A number takes at most a sign, 19 digits and a point
        self._out = ctypes.create_string_buffer(len(self._template) + 21 * len(addresses))
        self._view = memoryview(self._out).cast("B")
        args.template, args.length = self._template, len(self._template)
        args.sources, args.last = ctypes.addressof(self._sources), _address(self._last)
        args.out = ctypes.addressof(self._out)
        self._write, self._pointer = _library().ib_state_text, ctypes.addressof(args)

    def text(self, ahead: int = 0) -> bytes:
        """The line for the present state, or `ahead` ticks later with the same samples and the position moved on."""
        state = self.rig.state
        tick = state.tick
        self.time_s = (tick + ahead) * state.model.step_s
        self._clock[0] = self.time_s * (1 + AHEAD)
        self._args.ahead = ahead * state.model.step_s
        if tick >= self._wind_tick:
            self._wind_tick = tick + WIND_TICKS
            self._wind[:] = np.sum(self._winds, axis=0) if self._winds else 0.0
        if self._planar is not None:
            self._move(*self._planar)
        return bytes(self._view[: self._write(self._pointer)])

    def _move(self, p: np.ndarray, heading: np.ndarray, motion: np.ndarray) -> None:
        """Motion of a vehicle on wheels: level, with the velocity of its position over the last step."""
        tick, place = self._before
        now = self.rig.state.tick
        if now > tick:
            motion[:3] = (p - place) / ((now - tick) * self.rig.state.model.step_s)
            self._before = now, p.copy()
        yaw = math.remainder(float(heading[0]), math.tau)
        motion[5], motion[6], motion[9] = yaw, math.cos(yaw / 2), math.sin(yaw / 2)
        motion[10:] = p + motion[:3] * self._args.ahead


def _address(array: np.ndarray) -> int:
    return int(array.ctypes.data)
