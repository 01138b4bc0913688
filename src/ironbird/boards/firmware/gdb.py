"""Debug server of a machine: the remote serial protocol of gdb, on a loopback port.

Answered: halt reason, registers (with the floating-point ones), memory, breakpoints, single steps, continue until a
breakpoint or Ctrl-C, detach and kill. `gdb-multiarch IMAGE -ex 'target remote :PORT'`. Not answered: watchpoints,
threads of an operating system in the image, writing flash.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable

from ironbird.boards.firmware.machine import BREAK, Machine
from ironbird.errors import LinkError

SLICE_S = 0.001  # s of virtual time between two polls of the socket
MOST = 4096  # bytes of memory in one answer
TARGET = """<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target><architecture>arm</architecture>
<feature name="org.gnu.gdb.arm.m-profile">{core}<reg name="xpsr" bitsize="32" regnum="25"/></feature>
<feature name="org.gnu.gdb.arm.vfp">{fpu}<reg name="fpscr" bitsize="32" type="int"/></feature></target>"""


def target_text() -> str:
    """Description of the registers for gdb, as XML."""
    names = [*(f"r{i}" for i in range(13)), "sp", "lr", "pc"]
    kinds = {"sp": ' type="data_ptr"', "pc": ' type="code_ptr"'}
    core = "".join(f'<reg name="{name}" bitsize="32"{kinds.get(name, "")}/>' for name in names)
    return TARGET.format(
        core=core, fpu="".join(f'<reg name="d{i}" bitsize="64" type="ieee_double"/>' for i in range(16))
    )


class GdbServer:
    """Protocol state and answers for one debugger."""

    def __init__(self, machine: Machine, until_s: float) -> None:
        self.machine, self.until_s = machine, until_s
        self.breaks: set[int] = set()
        self.open = True

    def answer(self, command: str, interrupted: Callable[[], bool] = lambda: False) -> str:
        """Answer to one packet; unknown packets get an empty answer, as the protocol requires."""
        kind, rest = command[:1], command[1:]
        try:
            if command.startswith("qSupported"):
                return f"PacketSize={2 * MOST:x};qXfer:features:read+"
            if command.startswith("qXfer:features:read:target.xml:"):
                start, size = (int(part, 16) for part in command.rpartition(":")[2].split(","))
                text = target_text()[start : start + size]
                return ("m" if start + size < len(target_text()) else "l") + text
            if command == "qAttached":
                return "1"
            if kind == "?":
                return "S05"
            if kind == "g":
                return self._registers().hex()
            if kind == "m":
                return self._memory(rest)
            if kind == "M":
                return self._write(rest)
            if kind == "p":
                return self._one(int(rest, 16))
            if command[:2] in ("Z0", "z0", "Z1", "z1"):
                address = int(command.split(",")[1], 16)
                self.breaks.add(address) if kind == "Z" else self.breaks.discard(address)
                return "OK"
            if kind == "s":
                return self._step()
            if kind == "c":
                return self._go(interrupted)
            if kind in ("D", "k"):
                self.open = False
                return "OK"
            if kind == "H":
                return "OK"
        except (ValueError, IndexError, struct.error):
            return "E01"
        except LinkError:
            return "E02"
        return ""

    def _words(self) -> list[int]:
        now = self.machine.registers()
        stack = now.psp if now.control & 2 and not now.xpsr & 0x1FF else now.msp
        return [*now.r, stack, now.lr, now.pc]

    def _registers(self) -> bytes:
        now = self.machine.registers()
        return struct.pack("<17I16QI", *self._words(), now.xpsr, *now.d, now.fpscr)

    def _one(self, number: int) -> str:
        now = self.machine.registers()
        if number < 16:
            return struct.pack("<I", self._words()[number]).hex()
        if number == 25:
            return struct.pack("<I", now.xpsr).hex()
        if 26 <= number < 42:
            return struct.pack("<Q", now.d[number - 26]).hex()
        return struct.pack("<I", now.fpscr).hex() if number == 42 else "E01"

    def _memory(self, rest: str) -> str:
        address, size = (int(part, 16) for part in rest.split(","))
        if not 0 < size <= MOST:
            return "E01"
        return bytes(self.machine.store(address, size)).hex()

    def _write(self, rest: str) -> str:
        place, _, content = rest.partition(":")
        address, size = (int(part, 16) for part in place.split(","))
        data = bytes.fromhex(content)
        if len(data) != size:
            return "E01"
        self.machine.store(address, size)[:] = list(data)
        self.machine.changed()
        return "OK"

    def _step(self) -> str:
        """Run to the next executed instruction, or for one tick if the core sleeps."""
        machine = self.machine
        machine.break_at([])
        before, begin_s = machine.figures().instructions, machine.time_s
        while machine.figures().instructions == before and machine.time_s < begin_s + 2 * SLICE_S:
            machine.run(machine.time_s + machine.clocks_per_instruction / machine.figures().clock_Hz)
        return "S05"

    def _go(self, interrupted: Callable[[], bool]) -> str:
        machine = self.machine
        self.machine.break_at(sorted(self.breaks), step_over=True)
        while machine.time_s < self.until_s and not interrupted():
            if machine.run(machine.time_s + SLICE_S) == BREAK:
                return "S05"
        return "S02"


def serve_gdb(
    machine: Machine, port: int, until_s: float, announce: Callable[[str], object] = lambda text: None
) -> None:
    """Wait for a debugger and serve it until it leaves."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        announce(f"debugger: target remote 127.0.0.1:{listener.getsockname()[1]}")
        connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        talk(connection, GdbServer(machine, until_s))


def talk(connection: socket.socket, server: GdbServer) -> None:
    """Exchange packets with the debugger until it disconnects."""
    buffer = b""

    def interrupted() -> bool:
        connection.setblocking(False)
        try:
            return connection.recv(1, socket.MSG_PEEK) in (b"\x03", b"")
        except BlockingIOError:
            return False
        finally:
            connection.setblocking(True)

    while server.open:
        with contextlib.suppress(ConnectionError):
            data = connection.recv(MOST)
            if not data:
                return
            buffer = (buffer + data)[-8 * MOST :]
            while b"#" in buffer and len(buffer) >= buffer.index(b"#") + 3:
                end = buffer.index(b"#")
                packet, buffer = buffer[:end], buffer[end + 3 :]
                start = packet.rfind(b"$")
                if start < 0:
                    continue
                answer = server.answer(packet[start + 1 :].decode("latin-1"), interrupted)
                body = answer.encode("latin-1")
                connection.sendall(b"+$" + body + b"#%02x" % (sum(body) & 255))
            continue
        return
