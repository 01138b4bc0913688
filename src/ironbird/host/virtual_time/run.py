"""A run in virtual time: unmodified programs whose clock, threads and sockets Ironbird controls.

A library (`c/`, LD_PRELOAD) is loaded before the program's own. It lets one thread of all processes of the run execute
at a time, in a deterministic order, and when all of them wait the clock jumps to the next deadline. A simulator lets
time run up to a moment (`allow`) and gets the turn back when every thread waits for a later event (`settle`): its
messages are in the run's sockets before the program can look for them. So a run is a function of the program, its files
and the messages sent.

Internet sockets of the program are local ones in the run's folder (`net/u14550` for UDP, `net/t4560` for TCP): nothing
leaves the run, its ports are separate from the computer's, and a message has arrived when the call returns.

Not covered: programs that are linked statically or are not for glibc on x86-64 Linux; `rdtsc` and other instructions
that read clocks or noise; processors that differ in their arithmetic; the order of names in a folder. Computation takes
no virtual time: code that is too slow for real time is not detected.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import mmap
import os
import pwd
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironbird.compiler import native
from ironbird.compiler.native_text import load_texts
from ironbird.errors import LinkError
from ironbird.host.virtual_time.record import DATAGRAM, EMPTIED, SIGNAL, ZERO, Record

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

TEXTS = (
    "vt_layout.h", "vt_kernel.h", "vt_switch.c", "vt_core.c", "vt_time.c", "vt_threads.c", "vt_signals.c",
    "vt_processes.c", "vt_files.c", "vt_sockets.c", "host_guard.c", "vt_guard.c",
)  # fmt: skip
FOLDER = Path(__file__).parent / "c"
VARIABLE = "IRONBIRD_VIRTUAL_TIME"
MAGIC, NEVER = 0x656D695469567249, (1 << 64) - 1
FILE_SIZE = 1 << 20  # bytes of the mapped file; more than the library's structures need
EPOCH_S = 1_767_225_600  # 2026-01-01 UTC: start of the calendar of a run
THREAD_SEED_STEP = 0xBF58476D1CE4E5B9  # odd: seeds from 1 to 2^64 - 1 have different states other than 0
SLICE_NS = 50_000_000  # ns between two checks of the processes
# s of processor time without a call of the library, or of wall time asleep in a call that is not the library's
STUCK_S = 10.0
PORTS = 1 << 16  # number of UDP ports
MASK_WORDS = 16
ADDR_NO_RANDOMIZE = 0x0040000  # personality(2)
MOST_BYTES = 65536  # bytes, longest message
NOBODY = "nobody"
# Environment of a program in virtual time: the same for every user
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C", "LC_ALL": "C", "TZ": "UTC", "USER": NOBODY}


class _Head(ctypes.Structure):
    """Structure `vt_head` of c/vt_layout.h."""

    _fields_ = [
        *(
            (name, ctypes.c_uint64)
            for name in (
                "magic", "size", "now_ns", "grant_ns", "epoch_ns", "seed", "slack_ns", "switches", "calls", "jumps",
                "trace", "sent", "turn", "full", "holder", "ended", "failure", "order_signal", "threads", "processes",
                "timers", "want_room", *(f"waiting_{kind}" for kind in range(16)), "file_changes", "files_looked_at",
                "order", "next_port", "rescuer", "started", "slots_at", "slot_size", "thread_state",
            )
        ),
        ("text", ctypes.c_char * 1024),
    ]  # fmt: skip


class _Turn(ctypes.Structure):
    """Structure `ib_turn` of c/simulator_turn.c."""

    _fields_ = [
        ("turn", ctypes.c_void_p),
        ("grant", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("slice_ns", "carrier", "place", "waits")),
        ("anywhere", ctypes.c_uint64 * MASK_WORDS),
    ]


@functools.cache
def _turns() -> ctypes.CDLL:
    library = load_texts(FOLDER / "simulator_turn.c", structures={"ib_turn": _Turn})
    library.ib_turn_allow.restype, library.ib_turn_allow.argtypes = None, [ctypes.c_void_p, ctypes.c_uint64]
    library.ib_turn_wait.restype, library.ib_turn_wait.argtypes = ctypes.c_int64, [ctypes.c_void_p]
    return library


class _Slot(ctypes.Structure):
    """Structure with the first fields of `vt_slot` of c/vt_layout.h."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("go", "state", "kind", "why")),
        ("pid", ctypes.c_int32),
        ("tid", ctypes.c_int32),
        ("runner", ctypes.c_int32),
        ("name", ctypes.c_char * 16),
    ]


def library() -> bytes:
    """Bytes of the preloaded library, compiled for this computer or from the cache."""
    if os.uname().sysname != "Linux" or os.uname().machine != "x86_64":
        raise LinkError("virtual time needs Linux on x86-64; use --time real")
    return native.build_preload("".join((FOLDER / name).read_text() for name in TEXTS))


def libraries_of(program: Path) -> list[Path]:
    """Paths of the shared libraries that a program is linked with."""
    try:
        done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return []
    paths = (word for line in done.stdout.splitlines() for word in line.split() if word.startswith("/"))
    return [Path(path) for path in sorted(set(paths))]


@dataclass(frozen=True)
class Outcome:
    """Result of a program that was run to its end; equal runs agree in all of it except the wall time."""

    code: int
    output: bytes
    trace: str  # hash of every switch from thread to thread
    switches: int
    virtual_s: float
    wall_s: float
    failure: str = ""

    def digest(self) -> str:
        """Hash of everything that must repeat between equal runs."""
        text = f"{self.code} {self.trace} {self.switches} {self.virtual_s:.9f} {self.failure}\n"
        return hashlib.sha256(text.encode() + self.output).hexdigest()


class Datagrams(socket.socket):
    """A non-blocking UDP port of a run that loses no message.

    The kernel's queue, which holds only 10 messages on many computers, is emptied before the sender goes on.
    """

    def __init__(self, path: str, port: int, recorded: Callable[[bytes, int, bytes, str], None]) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.bind(path)
        self.setblocking(False)
        self._taken: deque[tuple[bytes, Any]] = deque()
        self.port, self._recorded = port, recorded

    def empty(self) -> None:
        """Move received messages from the kernel's queue to this object's own."""
        with contextlib.suppress(OSError):
            while True:
                self._taken.append(super().recvfrom(MOST_BYTES))

    def recvfrom(self, bufsize: int, flags: int = 0, /) -> tuple[bytes, Any]:
        """The next message and its sender; `BlockingIOError` if there is none."""
        if self._taken:
            return self._taken.popleft()
        try:
            return super().recvfrom(bufsize, flags)
        except BlockingIOError:
            self._recorded(EMPTIED, self.port, b"", "")
            raise

    def recvfrom_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0) -> tuple[int, Any]:
        """Receive the next message into a buffer; returns its size and its sender."""
        if not self._taken:
            try:
                return super().recvfrom_into(buffer, nbytes, flags)
            except BlockingIOError:
                self._recorded(EMPTIED, self.port, b"", "")
                raise
        data, source = self._taken.popleft()
        memoryview(buffer).cast("B")[: len(data)] = data
        return len(data), source

    def sendto(self, data: ReadableBuffer, address: Any, /) -> int:  # type: ignore[override]
        """Send a message to the path of a port of the run."""
        self._recorded(DATAGRAM, self.port, bytes(data), os.path.basename(address))
        return super().sendto(data, address)


class VirtualRun:
    """Virtual time of one folder's programs. With `simulated`, the clock stops until `allow` lets it run.

    Sleeps of the program end at multiples of `slack_s`, as sleeps on a real computer end late: this saves time with
    programs that poll the clock every few microseconds although it only moves with the simulator's steps.

    Threads that can run do so first come, first served. With a `thread_seed` other than 0 chance decides, and threads
    are interrupted more often, which shows races; the same seed gives the same order again.
    """

    def __init__(
        self, folder: Path, *, simulated: bool, seed: int = 1, slack_s: float = 0.0, thread_seed: int = 0
    ) -> None:
        self.folder = folder
        self.net = folder / "net"
        self.net.mkdir()
        (folder / "virtual_time.so").write_bytes(library())
        self._path = folder / "run"
        self._path.write_bytes(bytes(FILE_SIZE))
        with self._path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), FILE_SIZE)
        self.head = _Head.from_buffer(self._map)
        start = ctypes.addressof(self.head)
        self._turn = _Turn(start + _Head.turn.offset, start + _Head.grant_ns.offset, SLICE_NS, 0, -1)
        self._turn_at = ctypes.addressof(self._turn)
        self._ports = (ctypes.c_uint8 * (PORTS // 8)).from_buffer(self._map, ctypes.sizeof(_Head))
        self._sockets: list[Datagrams] = []
        self._servers: list[int] = []
        self.thread_seed = thread_seed
        self._zero_ns = 0  # virtual time at which the simulator's time is zero
        self.record: Record | None = None  # of all that is done to the run, if one is kept
        self._held = -1, 0.0, 0.0  # number of calls so far, and when it was read: wall time, processor time
        head = self.head
        head.magic, head.size = MAGIC, ctypes.sizeof(_Head)
        head.grant_ns = 0 if simulated else NEVER
        head.epoch_ns, head.seed, head.trace = EPOCH_S * 10**9, seed, 0xCBF29CE484222325
        head.slack_ns = round(slack_s * 1e9)
        head.thread_state = thread_seed * THREAD_SEED_STEP % (1 << 64)
        self.owner = owner_of_programs("virtual time")
        if self.owner is not None:  # this process is root's: the program runs as another user
            for path in (folder, self.net, self._path, folder / "virtual_time.so"):
                os.chown(path, *self.owner)

    def close(self) -> None:
        """Release the shared memory. May be called twice."""
        if self.record is not None:
            self.record.close()
        if not self._map.closed:
            del self.head, self._ports
            self._map.close()

    def about(self) -> dict[str, Any]:
        """What of it has to be the same for a record to repeat it: seeds, and the ports that are open."""
        return {
            "streams": self._servers,
            "ports": [made.port for made in self._sockets],
            "slack_ns": int(self.head.slack_ns),
            "thread_seed": self.thread_seed,
        }

    # ------------------------------------------------------------------ starting programs

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Environment variables of a program in this run."""
        own = {"LD_PRELOAD": str(self.folder / "virtual_time.so"), VARIABLE: str(self._path), "HOME": str(self.folder)}
        return ENVIRONMENT | dict(more or {}) | own

    def prepare_child(self) -> None:
        """In the child process before the program starts: disable address randomisation, and give up root."""
        libc = ctypes.CDLL(None)
        libc.personality(ctypes.c_ulong(ADDR_NO_RANDOMIZE))
        become(self.owner)

    def run(
        self, command: Sequence[str], *, timeout_s: float = 120.0, more: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run a program without a simulator to its end and return its outcome; `LinkError` if it does not end."""
        begin = time.monotonic()
        output = self.folder / "output"
        with output.open("wb") as file:
            process = subprocess.Popen(
                list(command),
                cwd=self.folder,
                env=self.variables(more),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self.prepare_child,
            )
        try:
            while process.poll() is None:
                self._wait_for_turn()
                stuck = self._stuck()
                if stuck:
                    raise LinkError(stuck)
                if time.monotonic() - begin > timeout_s:
                    raise LinkError(
                        f"{command[0]} has not ended after {timeout_s:g} s; virtual time is {self.now_s:.6f} s"
                    )
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return Outcome(
            process.returncode,
            output.read_bytes(),
            self.trace,
            int(self.head.switches),
            self.now_s,
            time.monotonic() - begin,
            self.failure,
        )

    # ------------------------------------------------------------------ time

    @property
    def now_s(self) -> float:
        """Virtual time in s since the start of the run."""
        return int(self.head.now_ns) * 1e-9

    @property
    def trace(self) -> str:
        """Hash of every switch from thread to thread so far."""
        return f"{self.head.trace:016x}"

    @property
    def failure(self) -> str:
        """Message with which the library ended the run; empty if it did not."""
        return bytes(self.head.text).partition(b"\0")[0].decode(errors="replace") if self.head.failure else ""

    @property
    def at_simulator(self) -> bool:
        """Whether all threads of the program block, so that it is the simulator's turn."""
        return bool(self.head.turn) and not self.head.full

    def zero_is_now(self) -> None:
        """Make the current moment of the run the zero of the simulator's time."""
        self._recorded(ZERO, 0, b"", "")
        self._zero_ns = int(self.head.grant_ns)

    def allow(self, time_us: int) -> None:
        """Let the program run up to a simulator time in µs, and return at once. It must be the simulator's turn."""
        self.allow_ns(self._zero_ns + 1000 * time_us)

    def allow_more(self, step_s: float) -> None:
        """Let the program run for `step_s` more seconds, before the simulator's time has begun."""
        self.allow_ns(int(self.head.grant_ns) + round(step_s * 1e9))

    def allow_ns(self, grant_ns: int) -> None:
        """Let the program run up to a moment in ns of the run's own time; one that is past changes nothing."""
        if self.record is not None:
            self.record.allow(grant_ns)
        self._go_on(grant_ns)

    def _go_on(self, grant_ns: int) -> None:
        _turns().ib_turn_allow(self._turn_at, grant_ns)

    def share_processor_with(self, pid: int) -> None:
        """Pin the first thread of a program to the processor of the calling thread, which waits for it."""
        self._turn.carrier = pid

    def settle(self, patience_s: float, check: Callable[[], None]) -> None:
        """Wait for the simulator's turn; `LinkError` at once if the program has ended, failed or is stuck."""
        if self.at_simulator:
            return
        begin = time.monotonic()
        while True:
            self._wait_for_turn()
            if self.at_simulator:
                break
            if self.head.turn and self.head.full:
                self._empty_sockets()
                continue
            check()
            stuck = self._stuck()
            waited = time.monotonic() - begin
            if stuck or waited > patience_s:
                raise LinkError(stuck or f"it has not come to a rest for {waited:.1f} s (wall)")
        if self.failure:
            raise LinkError(self.failure)

    def _empty_sockets(self) -> None:
        """Empty the sockets after a sender found no room, so that it can go on at the same moment."""
        for made in self._sockets:
            made.empty()
        self.head.full = 0
        self._go_on(0)

    def order_signal(self, number: signal.Signals) -> None:
        """Send a signal to the program at this moment, with the next `allow`. It must be the simulator's turn."""
        self._recorded(SIGNAL, int(number), b"", "")
        self.head.order_signal = int(number)

    def _wait_for_turn(self) -> None:
        _turns().ib_turn_wait(self._turn_at)

    def _stuck(self) -> str:
        """Why no thread can go on (one computes, or sleeps, without a call of the library); empty if none is stuck."""
        head = self.head
        if head.turn or head.ended or not head.processes:
            return ""
        slot = _Slot.from_buffer_copy(self._map, int(head.slots_at + head.slot_size * head.holder))
        calls = int(head.calls) + int(head.switches)
        wall, used_s = time.monotonic(), _used_s(slot.pid, slot.runner)
        if calls != self._held[0]:
            self._held = calls, wall, used_s
            return ""
        name = slot.name.decode(errors="replace") or _line(Path(f"/proc/{slot.pid}/task/{slot.tid}/comm"))
        who = f"thread '{name}' (number {int(head.holder)}) at {self.now_s:.6f} s of virtual time"
        if used_s - self._held[2] > STUCK_S:
            return (
                f"{who} runs on without asking for the time or waiting, for {used_s - self._held[2]:.0f} s of "
                "processor time: in virtual time no other program can run meanwhile; use --time real for this program"
            )
        if wall - self._held[1] > 3 * STUCK_S and used_s - self._held[2] < 0.1 * STUCK_S:
            call = _line(Path(f"/proc/{slot.pid}/task/{slot.runner}/syscall")).split(" ")[0]
            return f"{who} sleeps in system call {call}, which virtual time does not know as a wait"
        return ""

    # ------------------------------------------------------------------ sockets

    def datagrams(self, port: int) -> socket.socket:
        """The simulator's socket for a UDP port of the run."""
        made = Datagrams(self.address(port), port, self._recorded)
        self._ports[port // 8] |= 1 << port % 8
        self._open_to_program(f"u{port}")
        self._sockets.append(made)
        return made

    def _recorded(self, kind: bytes, port: int, data: bytes, name: str) -> None:
        if self.record is not None:
            self.record.add(kind, port, data, name)

    def server(self, port: int) -> socket.socket:
        """The simulator's listening socket for a TCP port that the program connects to."""
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.bind(str(self.net / f"t{port}"))
        made.listen(8)
        self._servers.append(port)
        self._open_to_program(f"t{port}")
        return made

    def address(self, port: int) -> str:
        """Path of the local socket that stands for a UDP port in the run."""
        return str(self.net / f"u{port}")

    def _open_to_program(self, name: str) -> None:
        if self.owner is not None:
            os.chown(self.net / name, *self.owner)


def become(owner: tuple[int, int] | None) -> None:
    """In a child process: change to this user and group."""
    if owner is not None:
        os.setgroups([])
        os.setgid(owner[1])
        os.setuid(owner[0])


def owner_of_programs(who: str) -> tuple[int, int] | None:
    """User and group id under which programs run if this process is root's; None if it is not."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(NOBODY)
    except KeyError:
        raise LinkError(f"{who} never runs programs as root, and there is no user 'nobody' here") from None
    return entry.pw_uid, entry.pw_gid


def _line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return "?"


def _used_s(pid: int, tid: int) -> float:
    """Processor time of a thread so far, in s."""
    cells = _line(Path(f"/proc/{pid}/task/{tid}/stat")).rpartition(")")[2].split()
    return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK") if len(cells) > 12 else 0.0
