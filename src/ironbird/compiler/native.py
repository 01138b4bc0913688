"""From C text to a loaded library: compiler, flags, cache.

The compiler is `ziglang` from PyPI unless IRONBIRD_CC names another one (a gcc or clang command). No fast
math, no contraction to FMA: the same bytes come out for any lane count, processor and machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import hashlib
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from ironbird.errors import CompileError

HEADERS = Path(__file__).parent / "c"
FLAGS = [
    "-std=gnu11", "-O2", "-ffp-contract=off", "-fno-fast-math", "-fno-math-errno", "-fno-strict-aliasing",
    "-ffreestanding", "-nostdlib", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-stack-protector", "-w",
]  # fmt: skip
_ZIG_FLAGS = ["-fno-sanitize=all", "-g0", "-s"]


def compiler_command() -> list[str]:
    """The C compiler in use."""
    chosen = os.environ.get("IRONBIRD_CC")
    return shlex.split(chosen) if chosen else [sys.executable, "-m", "ziglang", "cc"]


@functools.cache
def compiler_version() -> str:
    """A text that changes when the compiler does."""
    if not os.environ.get("IRONBIRD_CC"):
        return "ziglang " + metadata.version("ziglang")
    command = [*compiler_command(), "--version"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise CompileError(f"IRONBIRD_CC: '{shlex.join(command)}' does not run: {error}") from error


@functools.cache
def host_target() -> str:
    """The widest instruction set of this machine that we build for."""
    machine = platform.machine()
    if machine != "x86_64":
        return machine
    with contextlib.suppress(OSError):
        flags = set()
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                flags = set(line.split(":", 1)[1].split())
                break
        if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
            return "x86_64_v4"
        if {"avx2", "bmi2", "fma", "movbe"} <= flags:
            return "x86_64_v3"
    return "x86_64_v2"


def width_flags(lanes: int) -> list[str]:
    """Flags for one lane: gathering scalars into vectors takes four times as long to compile and gains nothing."""
    return ["-fno-slp-vectorize"] if lanes == 1 and not os.environ.get("IRONBIRD_CC") else []


def target_flags(target: str) -> list[str]:
    """Compiler flags for a target: x86_64_v2/v3/v4 or aarch64."""
    if os.environ.get("IRONBIRD_CC"):
        return [f"-march={target.replace('_v', '-v').replace('x86_64', 'x86-64')}"] if "x86" in target else []
    if target == "aarch64":
        return [*_ZIG_FLAGS, "-target", "aarch64-linux-musl"]
    if target.startswith("x86_64"):
        wide = ["-mprefer-vector-width=512"] if target == "x86_64_v4" else []
        return [*_ZIG_FLAGS, "-target", "x86_64-linux-musl", f"-mcpu={target}", *wide]
    return _ZIG_FLAGS


def cache_folder() -> Path:
    """Where libraries are kept: IRONBIRD_CACHE, or the user's cache folder."""
    chosen = os.environ.get("IRONBIRD_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ironbird"


@functools.cache
def _headers_text() -> str:
    return "".join((HEADERS / n).read_text() for n in ("ib_math.h", "ib_noise.h", "ib_loop.h"))


def code_hash(text: str, lanes: int, target: str) -> str:
    """The key of a library: source, headers, compiler, flags, lane count, target."""
    parts = [
        text,
        _headers_text(),
        compiler_version(),
        *FLAGS,
        *target_flags(target),
        *width_flags(lanes),
        str(lanes),
        target,
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def build(text: str, lanes: int, target: str | None = None) -> Path:
    """Compile (or find in the cache) the library for a lane count; safe when several processes do it at once."""
    target = target or host_target()
    key = code_hash(text, lanes, target)
    folder = cache_folder() / key[:2]
    library = folder / f"{key}.so"
    if library.exists():
        return library
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CompileError(f"cannot make the cache folder {folder}: {error}; set IRONBIRD_CACHE") from error
    with _lock(folder / f"{key}.lock"):
        if not library.exists():
            _compile(text, lanes, target, library)
    return library


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def _compile(text: str, lanes: int, target: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="build-") as temporary:
        source = Path(temporary) / "model.c"
        result = Path(temporary) / "model.so"
        source.write_text(text)
        flags = [*FLAGS, *target_flags(target), *width_flags(lanes), f"-DIB_W={lanes}", "-I", str(HEADERS)]
        command = [*compiler_command(), *flags]
        run_compiler([*command, str(source), "-o", str(result)])
        os.replace(result, library)  # whole or not at all


def run_compiler(command: Sequence[str]) -> None:
    """Run the C compiler; on failure say what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except FileNotFoundError as error:
        raise CompileError(f"C compiler '{command[0]}' not found; install ziglang or set IRONBIRD_CC") from error
    except subprocess.TimeoutExpired as error:
        raise CompileError(f"the C compiler took longer than {error.timeout} s: {shlex.join(command)}") from error
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise CompileError(f"the C compiler failed with code {done.returncode}:\n  {shlex.join(command)}\n{tail}")


def load(library: Path, lanes: int) -> ctypes.CDLL:
    """Load a library and check that it is what it claims to be."""
    try:
        loaded = ctypes.CDLL(str(library))
        loaded.ib_lanes.restype = ctypes.c_int64
        found = int(loaded.ib_lanes())
    except (OSError, AttributeError) as error:
        raise CompileError(f"{library} cannot be loaded ({error}); delete it and try again") from error
    if found != lanes:
        raise CompileError(f"{library} was built for {found} lanes, not {lanes}; delete it and try again")
    return loaded
