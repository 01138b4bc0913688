"""A board on real serial ports: the server side of the bench in wall time, and an emulated board on pseudo-terminals.

The server answers in its own thread as soon as a request has arrived, as the published plugin does; the vehicle moves
in ticks of 1 ms in another thread. The sender of references opens the reference port exclusively: a second base station
or joystick reader is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import sys
import termios
import threading
import time
import tty
from dataclasses import replace
from typing import Any

import numpy as np

from ironbird.boards.firmware.machine import Machine
from ironbird.errors import LinkError
from ironbird.host.realtime import FIFO_PRIORITY, real_time, undisturbed
from ironbird.provant.frames import BAUD, REFERENCE_PORT, SENSOR_PORT, SERVICES
from ironbird.provant.references import BaseStation, References
from ironbird.provant.server import Server
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem

PIECE = 4096
LOOK_S = 0.2  # period at which a waiting thread checks whether it must end
SWITCH_S = 5e-5
STEP_S = 2e-4  # of an emulated board in wall time
BOARD_BAUD = termios.B921600


class SerialPort:
    """A serial port, opened exclusively; bytes are read and written without blocking."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.handle = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise LinkError(f"serial port {path} cannot be opened: {error.strerror}") from None
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            tty.setraw(self.handle)
            modes: list[Any] = termios.tcgetattr(self.handle)
            modes[4] = modes[5] = BOARD_BAUD
            termios.tcsetattr(self.handle, termios.TCSANOW, modes)
        except BlockingIOError:
            os.close(self.handle)
            raise LinkError(f"serial port {path} is held by another program: end that one first") from None
        except (OSError, termios.error) as error:
            os.close(self.handle)
            raise LinkError(f"{path} is no serial port: {error}") from None

    def read(self) -> bytes:
        """The bytes that have arrived; empty if there are none."""
        try:
            return os.read(self.handle, PIECE)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise LinkError(f"serial port {self.path} is gone: {error.strerror}") from None

    def write(self, data: bytes) -> None:
        """Send bytes; those that find no room in the buffer are lost, as on a line without a reader."""
        with contextlib.suppress(BlockingIOError):
            os.write(self.handle, data)

    def close(self) -> None:
        """Close the port; further calls do nothing."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


class CableSystem(ControlSystem):
    """A board on two serial ports as control system; the flight runs at wall-clock speed."""

    name = "board"
    fills = "firmware"

    def __init__(
        self, sensor_port: str, reference_port: str, *, numbers: str = "paper", references: References | None = None,
        wait_s: float = 10.0, orders: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.step_ticks = 1
        self.numbers, self.references, self.wait_s = numbers, references, wait_s
        self._orders = orders  # commands for the base station in flight; None: it accepts none
        self.sensors = SerialPort(sensor_port)
        try:
            self.line = SerialPort(reference_port)
        except LinkError:
            self.sensors.close()
            raise
        self.server: Server | None = None
        self._thread: threading.Thread | None = None
        self._end = threading.Event()
        self._broken = ""

    def start(self, rig: Rig) -> None:
        """Start the server thread; returns after the first request of the board."""
        self.server = Server(rig, SERVICES[self.numbers])
        self.references = self.references or BaseStation(rig)
        if self._orders is not None:
            self.obey(rig, replace(rig, tunings=[]), self._orders, sees_truth=True)
        self._interval_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)  # the server must not wait for the thread that moves the vehicle
        self._thread = threading.Thread(target=self._serve, name="provant-server", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + self.wait_s
        while not self.server.counters.requests:
            if time.monotonic() > deadline:
                raise self.silent(rig, self.wait_s, "request for sensors")
            time.sleep(0.002)
        self.server.periods_s.clear()

    def _serve(self) -> None:
        assert self.server is not None
        own = real_time(FIFO_PRIORITY + 1)  # above the thread that moves the vehicle; None if the system forbids it
        try:
            while not self._end.is_set():
                if select.select([self.sensors.handle], [], [], LOOK_S)[0]:
                    self.server.bytes_came(self.sensors.read(), time.monotonic(), self.sensors.write)
        except (LinkError, OSError, ValueError) as error:  # a port that is closed under select
            self._broken = str(error)
        finally:
            if own is not None:
                own.close()

    def exchange(self, rig: Rig) -> None:
        """Apply the last command of the board, and send a reference when one is due."""
        server = self.server
        assert server is not None and self.references is not None
        if self._broken and not self._end.is_set():
            raise LinkError(self._broken)
        if self.obeyed is not None:
            self.obeyed.commander.watch()
        server.command()
        server.view.take()
        frame = self.references.due(rig.time_s)
        if frame:
            self.line.write(frame)
        if self.obeyed is not None:
            self.obeyed.play(rig.time_us)

    def stop(self) -> None:
        """End the server thread and close the ports."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(10 * LOOK_S)
            self._thread = None
            sys.setswitchinterval(self._interval_s)
        self.sensors.close()
        self.line.close()
        if self.references is not None:
            self.references.close()

    def measured(self) -> dict[str, Any]:
        """Statistics of the link: requests, commands, duplicates, unknown frames, periods."""
        if self.server is None:
            return {}
        counters, periods = self.server.counters, np.array(self.server.periods_s)
        return {
            "requests": counters.requests,
            "commands": counters.commands,
            "duplicates": counters.duplicates,
            "unknown": counters.unknown,
            "bad_frames": self.server.reader.bad,
            "period_ms_mean": float(1e3 * periods.mean()) if len(periods) else None,
            "period_ms_most": float(1e3 * periods.max()) if len(periods) else None,
        }

    def figures(self) -> dict[str, str]:
        """Rows of the flight's summary: statistics of the link."""
        return {f"link, {name}": str(value) for name, value in self.measured().items()}


def board_on_terminals(machine: Machine, ends: tuple[int, int], end: threading.Event) -> None:
    """Run an emulated board on two pseudo-terminals (sensors, references) in wall time until `end` is set."""
    ports = dict(zip((SENSOR_PORT, REFERENCE_PORT), ends, strict=True))
    begin = time.monotonic()
    with undisturbed():
        while not end.is_set():
            ready, _, _ = select.select(ends, [], [], STEP_S)
            now_s = time.monotonic() - begin
            for number, handle in ports.items():
                if handle in ready:
                    with contextlib.suppress(OSError):  # the other end is not open yet
                        machine.send(number, os.read(handle, PIECE), BAUD, now_s)
            machine.run(now_s)
            for number, handle in ports.items():
                data, _ = machine.take(number)
                if data:
                    with contextlib.suppress(BlockingIOError):
                        os.write(handle, data)
