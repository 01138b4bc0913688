"""PX4 as control system: its simulator link [PX4Sim] over TCP, in lockstep, one answer per step.

Ironbird is the server; PX4 connects, and other clients are refused (`transport/peers.py`). Each HIL_SENSOR of id 0 sets
its clock and makes one step, which it answers with one HIL_ACTUATOR_CONTROLS of the same time. An answer acts one step
after its sensors were read, as on a board: PX4 works on a step while the vehicle takes the next. Steps are as often as
PX4 answers (rovers: 100 Hz).

How long a step waits:

- until PX4's start-up script has ended (its logger starts last): a tenth of the wall's pace, so that it is not starved;
- before the first answer, and while none is owed (rovers are mute until armed): paced by the wall clock;
- all gyroscopes gave samples: up to `hold_s`, so that a stopped PX4 does not let the vehicle fall;
- a gyroscope is silent: up to `answer_s`, as PX4 may be waiting for the time after which it takes another;
- no answer in that time: the step counts as late and the vehicle goes on;
- in virtual time (`ironbird.host.virtual_time`): not at all; PX4 runs until all its threads block, and an answer
  that is missing then is missing for this step;
- silent for `patience_s` although an answer is owed: `LinkError`, unless no gyroscope gives samples (PX4 then gives
  no outputs, and a fault must not stop the clock).

The battery goes another way (`battery.py`). Not sent: speed, current and temperature of the rotors. PX4 takes no
ESC_STATUS on this link and makes its topic `esc_status` from its own outputs, so a failed motor looks healthy there.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence

from ironbird.autopilots.px4.airframe import Airframe
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.battery import SmartBattery, has_battery
from ironbird.autopilots.px4.messages import Messages, Outputs, Wire
from ironbird.autopilots.px4.process import SIMULATOR_PORT, Px4Process, find_px4, open_port
from ironbird.autopilots.px4.version import Release, release_of
from ironbird.errors import LinkError
from ironbird.host.realtime import real_time, real_time_of
from ironbird.host.virtual_time.record import STREAM
from ironbird.host.virtual_time.run import VirtualRun
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.numbers import MAV_MODE_FLAG_SAFETY_ARMED
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem
from ironbird.systems.px4.faulty_link import SimulatorWays
from ironbird.transport.peers import Doorkeeper

LINK = "PX4 simulator link"
STICKS_S = 0.02
GOODBYE_S = 3.0  # of virtual time, for its end
SLICE_S = 0.05  # s between two checks of the process and the deadline
VIRTUAL_STEP_S = 0.001  # virtual time granted to PX4 at a time before it connects
START_PACE = 0.1  # factor of real time while PX4's start-up script runs: a fast lockstep starves it
START_WALL_S, START_LOOK_S = 60.0, 0.2  # s for the script, and between two checks
GIVE_UP = 20  # late steps after which the wall clock sets the pace until an answer comes


class Px4(ControlSystem):
    """PX4 as control system of a vehicle of the catalogue.

    With `process` it is started and ended here; without, it has to be started by hand (`PX4_SIM_HOST_ADDR=127.0.0.1`)
    and connects to TCP port 4560 + `instance`. `params` override those of the airframe. Differences between its
    releases:
    `version.py`.
    """

    name = "PX4"
    process: Px4Process | None
    step_ticks = 4  # until the airframe says how often PX4 answers

    def __init__(
        self,
        process: Px4Process | None = None,
        *,
        airframe: Airframe | None = None,
        params: Mapping[str, float] | None = None,
        instance: int | None = None,
        patience_s: float = 10.0,
        connect_s: float = 60.0,
        answer_s: float = 0.05,
        hold_s: float = 1.0,
    ) -> None:
        super().__init__()
        self.process = process
        self.airframe = airframe
        self.params = dict(params or {})
        self.instance = instance
        self.patience_s, self.connect_s = patience_s, connect_s
        self.answer_s, self.hold_s = answer_s, min(hold_s, patience_s)
        self.armed = False
        self.sticks: Sequence[int] = ()  # microseconds of up to 18 channels, sent as RC_CHANNELS if there are any
        self.controls: tuple[float, ...] = (0.0,) * 16
        self._run: VirtualRun | None = None
        self._server: socket.socket | None = None
        self._socket: socket.socket | None = None
        self._battery: SmartBattery | None = None
        self._priority: contextlib.ExitStack | None = None
        self._ways: SimulatorWays | None = None

    # ------------------------------------------------------------------ start and stop

    def start(self, rig: Rig) -> None:
        """Open the port, start PX4 if it is to be started, and wait until it is connected."""
        release = release_of(find_px4(self.process.where)) if self.process is not None else Release()
        self.airframe, missing = release.fit(self.airframe or airframe_of(rig.vehicle), self.params)
        self.step_ticks = round(1 / (self.airframe.rate_hz * rig.state.model.step_s))
        run = self._run = self.process.run if self.process is not None else None
        if run is not None:
            self.instance, self._server = 0, run.server(SIMULATOR_PORT)
        else:
            self.instance, self._server = open_port(self.instance)
        if self.process is not None:
            self.process.start(self.airframe, rig.vehicle.spec.title, self.instance)
        self._socket = self._accept(rig) if run is None else self._accept_virtual(run, self._server)
        if run is None and self.process and self.process.pid and (theirs := real_time_of(self.process.pid)):
            # PX4 takes real-time priority where permitted, and would delay each step
            self._priority = real_time(theirs)
        if run is None:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        limit = struct.pack("ll", int(self.patience_s), int(self.patience_s % 1 * 1e6))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._packer = Packer()
        self._wire = Wire(self._socket)
        if self.tap is not None:
            self._wire.keep_received()
        self._outputs = Outputs(rig, self.airframe)
        self._battery = SmartBattery(rig, self.instance, run) if self.process and has_battery(rig.vehicle) else None
        self._messages = Messages(rig, self.airframe, self._packer, barometers=release.barometers)
        self._ways = SimulatorWays(rig.links) if rig.links is not None else None
        self._answered = False  # at least once
        self._waiting = False  # steps are answered, so each waits for its answer
        self._late_steps = 0
        self._started, self._look_at = False, 0.0  # PX4's start-up script, and time of the next check
        self._start_until = time.perf_counter() + START_WALL_S
        self._asked_us = -1
        self._heard_at = self._paced_at = self._clock_s(rig)
        self._sticks_at = 0.0
        self._armed_at = 0.0
        self.note(rig, "link", f"PX4 instance {self.instance} on TCP port {SIMULATOR_PORT + self.instance}")
        if remark := release.note(missing):
            self.note(rig, "link", remark)

    def _accept_virtual(self, run: VirtualRun, server: socket.socket) -> socket.socket:
        """Advance virtual time until PX4's start-up connects."""
        assert self.process is not None
        server.setblocking(False)
        for _ in range(round(self.connect_s / VIRTUAL_STEP_S)):
            self.process.settle()
            with contextlib.suppress(BlockingIOError):
                accepted, _ = server.accept()
                accepted.setblocking(True)
                run.zero_is_now()
                return accepted
            run.allow_more(VIRTUAL_STEP_S)
        raise LinkError(
            f"PX4 did not connect to TCP port {SIMULATOR_PORT} within {self.connect_s:g} s of virtual time; output: "
            f"{self.process.said()}"
        )

    def _accept(self, rig: Rig) -> socket.socket:
        assert self._server is not None
        self._server.settimeout(SLICE_S)
        port = int(self._server.getsockname()[1])
        door = Doorkeeper("tcp", port, self.process.pid if self.process is not None else None)
        begin = time.perf_counter()
        while True:
            with contextlib.suppress(TimeoutError):
                accepted, source = self._server.accept()
                if door.lets_in(source):
                    accepted.setblocking(True)
                    return accepted
                accepted.close()
                if door.refused == 1:
                    self.note(rig, "link", f"a program that is not PX4 connected to TCP port {port} and was sent away")
            if self.process is not None:
                self.process.check()
            waited = time.perf_counter() - begin
            if waited > self.connect_s:
                output = f"; its output: {self.process.said()}" if self.process is not None else ""
                others = f"; {door.refused} connections of others were refused" if door.refused else ""
                raise LinkError(f"PX4 did not connect to TCP port {port} within {waited:.1f} s{others}{output}")

    def stop(self) -> None:
        """End PX4 and close all sockets."""
        try:
            if self.process is not None:
                self._say_goodbye(self.process)
                self.process.stop()
        finally:
            for open_ in (self._priority, self._socket, self._server, self._battery):
                if open_ is not None:
                    open_.close()
            self._priority = self._socket = self._server = self._battery = None

    def _say_goodbye(self, process: Px4Process) -> None:
        """Grant virtual time in which PX4 ends and writes its log."""
        run = process.run
        if run is None or not process.running():
            return
        with contextlib.suppress(LinkError):  # it has ended as ordered
            process.ask_to_end()
            for _ in range(round(GOODBYE_S / VIRTUAL_STEP_S)):
                run.allow_more(VIRTUAL_STEP_S)
                process.settle()

    def figures(self) -> dict[str, str]:
        """Rows of the flight's summary: statistics of virtual time, if it was used."""
        return self.process.figures if self.process is not None else {}

    # ------------------------------------------------------------------ exchange

    def exchange(self, rig: Rig) -> None:
        """One step of PX4: receive the answer to the last sensors, send new sensors.

        The new ones are packed before the answer arrives, so that PX4 does not wait.
        """
        now_us, silent = rig.time_us, self._messages.silent_gyros
        self._messages.add(now_us)
        if self.sticks and rig.time_s >= self._sticks_at:
            self._sticks_at = rig.time_s + STICKS_S
            values = [*self.sticks, *[0] * (18 - len(self.sticks))]
            self._packer.add(dialect.RC_CHANNELS, now_us // 1000, *values, len(self.sticks), 255)
        frames, asked_us, sent_us = self._packer.seal(), self._asked_us, now_us
        if self._ways is not None:
            frames, sent_us = self._ways.out(frames)
            if asked_us < 0:  # no packet reached it: no answer is due
                self._heard_at = self._clock_s(rig)
        if self._run is not None:
            self._exchange_virtual(rig, self._run, frames, silent)
        elif asked_us < 0 or not self._collect(rig, frames, asked_us, silent):
            self._turn(rig, frames, -1, 0.0)
        self._asked_us = sent_us
        if self._ways is not None:
            for controls, mode in self._ways.arrived():
                self._obey(rig, controls, mode)
        self._outputs.place(self.controls, self.armed, rig.time_s - self._armed_at)
        if self._battery is not None and self._run is None:
            self._battery.poll(rig.time_s)

    def _exchange_virtual(self, rig: Rig, run: VirtualRun, frames: tuple[int, int], silent: int) -> None:
        """One step in virtual time: PX4 runs until all its threads block; an answer missing then is missing."""
        assert self.process is not None
        if not run.at_simulator:
            self.process.settle(lambda: self.where(rig))
        if self._asked_us < 0 or not self._turn(rig, frames, self._asked_us, 0.0):
            if self._asked_us >= 0 and self._answered and self._speaks:
                self.traffic.late += 1
            self._look_for_silence(rig, silent)
            self._turn(rig, frames, -1, 0.0)
        if self._battery is not None:
            self._battery.poll(rig.time_s)  # before time advances, so that it always arrives before PX4's next read
        run.allow(rig.time_us)

    def _clock_s(self, rig: Rig) -> float:
        """Clock for time limits: the wall clock; in virtual time the simulation's, so that flights repeat."""
        return rig.time_s if self._run is not None else time.perf_counter()

    def _collect(self, rig: Rig, frames: tuple[int, int], asked_us: int, silent: int) -> bool:
        """Wait for the answer, or for the time of the next step if none is due; returns False if nothing was sent.

        If all gyroscopes gave samples, PX4 has what it needs and the step waits for up to `hold_s`. With one `silent`,
        PX4 may be waiting for the time after which it switches to another.
        """
        if self._waiting:
            answered = self._turn(rig, frames, asked_us, self.answer_s if silent else self.hold_s)
            if answered:
                self._late_steps = 0
            else:
                self._late(rig, silent)
            self._paced_at = time.perf_counter()
        else:
            started = self._is_started(rig)
            step_s = self.step_ticks * rig.state.model.step_s / (1.0 if started else START_PACE)
            self._paced_at = max(self._paced_at + step_s, time.perf_counter() - step_s)
            answered = self._turn(rig, frames, asked_us, self._paced_at - time.perf_counter())
            self._waiting = answered and self._speaks and started
            if not started:
                time.sleep(max(self._paced_at - time.perf_counter(), 0.0))
            if not answered:
                self._look_for_silence(rig, silent)
        return answered

    def _is_started(self, rig: Rig) -> bool:
        """Whether PX4's start-up is over, or has had its time; checked at intervals."""
        now = time.perf_counter()
        if self.process is None or self._started or now < self._look_at:
            return self._started or self.process is None
        self._look_at = now + START_LOOK_S
        self._started = self.process.started()
        if not self._started and now > self._start_until:
            self._started = True
            self.note(
                rig, "link", f"PX4's start-up script has not ended after {START_WALL_S:g} s (wall): on without it"
            )
        return self._started

    def _late(self, rig: Rig, silent: int) -> None:
        self.traffic.late += 1
        self._late_steps += 1
        if not self._speaks:
            self._waiting = False
        elif self._late_steps >= GIVE_UP:
            self._waiting = False
            self._late_steps = 0
            self.note(rig, "link", f"PX4 has not answered {GIVE_UP} steps: on by the wall clock")
        self._look_for_silence(rig, silent)

    @property
    def _speaks(self) -> bool:
        """Whether PX4 must answer each step."""
        assert self.airframe is not None
        return self.armed or not self.airframe.mute

    def _look_for_silence(self, rig: Rig, silent: int) -> None:
        """Raise an error if PX4 should have answered and has been silent for too long."""
        if self.process is not None:
            self.process.check(self.where(rig))
        now = self._clock_s(rig)
        if silent == self._messages.gyros:  # PX4 gives no outputs without a gyroscope
            self._heard_at = now
        waited = now - self._heard_at
        patience = self.patience_s if self._answered else self.connect_s
        if self._speaks and waited > patience:
            raise self.silent(rig, waited, "HIL_ACTUATOR_CONTROLS")

    def _turn(self, rig: Rig, frames: tuple[int, int], asked_us: int, wait_s: float) -> bool:
        """Receive the answer, if one is due, and send; returns False if it did not come in time and none was sent."""
        state, traffic = self._wire.state, self.traffic
        answers, last = state.answers, state.last
        try:
            done = self._wire.turn(frames, asked_us, wait_s)
            if self.tap is not None:
                self._show(self.tap, ctypes.string_at(*frames) if done else b"")
        except BlockingIOError:
            raise self.silent(rig, self.patience_s, "room for messages") from None
        except OSError as error:
            raise self._cut(rig, error.strerror or str(error)) from None
        finally:
            traffic.received, traffic.bad = state.received, state.tally[0]
            if state.last != last:
                known = dialect.MESSAGES.get(state.last)
                traffic.last_received = known.name if known else f"message {state.last}"
        if done:
            traffic.sent += 1
            traffic.last_sent = "HIL_SENSOR"
            if self._run is not None and self._run.record is not None:
                self._run.record.add(STREAM, SIMULATOR_PORT, ctypes.string_at(*frames))
        if state.answers != answers:
            self._take(rig)
        return done

    def _show(self, tap: Callable[[str, bool, bytes], None], sent: bytes) -> None:
        """Pass PX4's answer and the bytes sent now to the observer, in this order."""
        came = self._wire.received()
        if came:
            tap(LINK, True, came)
        if sent:
            tap(LINK, False, sent)

    def _take(self, rig: Rig) -> None:
        state = self._wire.state
        if not self._answered:
            self._answered = True
            if not state.flags & 1:
                raise LinkError("this PX4 was built without lockstep: build it with the default board config")
        self._heard_at = self._clock_s(rig)
        if self._ways is not None and self._ways.takes_controls:
            self._ways.put_controls(state.answer_us, state.flags, tuple(state.controls), state.mode)
        else:
            self._obey(rig, tuple(state.controls), state.mode)

    def _obey(self, rig: Rig, controls: tuple[float, ...], mode: int) -> None:
        self.controls = controls
        armed = bool(mode & MAV_MODE_FLAG_SAFETY_ARMED)
        if armed != self.armed:
            self.armed = armed
            self._armed_at = rig.time_s
            self.note(rig, "armed", "armed" if armed else "disarmed")

    def _cut(self, rig: Rig, why: str) -> LinkError:
        output = ""
        if self.process is not None:
            deadline = time.perf_counter() + 1.0
            while self.process.running() and time.perf_counter() < deadline:
                time.sleep(0.02)
            self.process.check(self.where(rig))
            output = f"; its output: {self.process.said()}"
        return LinkError(
            f"the connection to PX4 broke at {rig.time_s:.3f} s of simulation time ({why}); received "
            f"{self.traffic.received} messages, last {self.traffic.last_received or 'nothing'}, and "
            f"{self.traffic.bad} bytes that could not be read{output}"
        )
