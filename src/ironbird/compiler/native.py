"""From C text to a loaded library: compiler, flags, cache.

The compiler is `ziglang` from PyPI unless IRONBIRD_CC names another one (a gcc or clang command). No fast
math, no contraction to FMA: the same bytes come out for any lane count, processor and machine.

A large kernel that is in no cache is built twice: without optimisation, which takes a quarter of the time, to be used
at once, and with optimisation by a process in the background (docs/adr/0056). Both give the same bytes.
IRONBIRD_QUICK=0 waits for the second one instead, IRONBIRD_QUICK=only leaves it out, for small kernels of one lane too.

With IRONBIRD_SANITIZE=1 gcc builds code that checks its own memory accesses and arithmetic (AddressSanitizer and
UndefinedBehaviorSanitizer). Python has to be started with their libraries: see `sanitizer_environment`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from ironbird.compiler import background, cache
from ironbird.compiler.cache import cache_folder
from ironbird.errors import CacheWarning, CompileError
from ironbird.files.work import working

__all__ = ["build", "build_preload", "cache_folder", "load", "load_quickly"]

HEADERS = Path(__file__).parent / "c"
FLAGS = [
    "-std=gnu11", "-O2", "-ffp-contract=off", "-fno-fast-math", "-fno-math-errno", "-fno-strict-aliasing",
    "-ffreestanding", "-nostdlib", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-stack-protector", "-w",
]  # fmt: skip
NO_COMPILER = "install the package ziglang ('pip install ziglang'), or set IRONBIRD_CC to a gcc or clang"
NO_MEMORY = "there may be too little memory (compiling takes up to 1 GB): free some or raise the limit, and try again"
CURES = {  # advice by texts in the output of compilers, zig's and the C library's
    (
        "nospaceleft",
        "no space left",
        "diskquota",
        "filetoobig",
        "file too large",
    ): "the disk is full: make room, or set IRONBIRD_CACHE to a folder on another disk",
    (
        "outofmemory",
        "out of memory",
        "bad_alloc",
        "cannot allocate",
        "systemresources",
        "terminated",
        "killed",
    ): NO_MEMORY,
    ("readonlyfilesystem", "read-only file", "accessdenied", "permission denied"): "it cannot write where it must: set "
    "IRONBIRD_CACHE to a folder of your own",
    ("no module named ziglang",): NO_COMPILER,
}
COMPILER_TIMEOUT_S = 600
NATIVE = "native code"  # what is compiled, if the caller does not name it
KERNEL_HEADERS = ("ib_math.h", "ib_quick.h", "ib_noise.h", "ib_integrate.h", "ib_loop.h")
QUICK, ONLY = "IRONBIRD_QUICK", "only"
QUICK_FROM = 200_000  # characters of a text from which on a quick build saves time
_ZIG_FLAGS = ["-fno-sanitize=all", "-g0", "-s"]
WASM_FLAGS = [  # no relaxed operations: their results may differ between machines
    "-target", "wasm32-freestanding", "-mbulk-memory", "-mno-relaxed-simd", "-fno-slp-vectorize", "-fno-vectorize",
    "-Wl,--no-entry", "-Wl,--export-dynamic", "-Wl,--export=__heap_base",
]  # fmt: skip
PRELOAD_FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-stack-protector", "-w"]
PRELOAD_ZIG_FLAGS = [*_ZIG_FLAGS, "-target", f"{platform.machine()}-linux-gnu.2.28"]  # the oldest supported glibc


SANITIZER_FLAGS = [
    "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g1",
]  # fmt: skip
# For libraries inside other programs: undefined behaviour traps, without the sanitizer's own library
TRAP_FLAGS = ["-fsanitize=undefined,float-cast-overflow", "-fsanitize-undefined-trap-on-error", "-g1"]
SANITIZER_OPTIONS = {  # leaks are Python's own; CasADi and NumPy mix allocators and are not tested here
    "ASAN_OPTIONS": "detect_leaks=0:alloc_dealloc_mismatch=0:detect_odr_violation=0:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


def sanitized() -> bool:
    """Whether native code is built with sanitizers (IRONBIRD_SANITIZE)."""
    return os.environ.get("IRONBIRD_SANITIZE", "0") not in ("", "0")


def sanitizer_environment(compiler: str = "gcc") -> dict[str, str]:
    """Environment variables for a Python process that runs sanitized code; raises if the compiler has no sanitizers."""
    libraries = []
    for name in ("libasan.so", "libubsan.so"):
        try:
            answer = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, timeout=60)
        except OSError as error:
            raise CompileError(f"sanitizers need {compiler}: {error}") from error
        if not os.path.isabs(answer.stdout.strip()):  # the compiler repeats a name that it does not find
            raise CompileError(f"{compiler} has no {name}: 'apt-get install libgcc-12-dev' (of its version) brings it")
        libraries.append(os.path.realpath(answer.stdout.strip()))
    return {"IRONBIRD_SANITIZE": "1", "LD_PRELOAD": ":".join(libraries), **SANITIZER_OPTIONS}


def _other_compiler() -> str:
    """Command of a compiler other than ziglang's; empty if ziglang is in use."""
    return os.environ.get("IRONBIRD_CC") or ("gcc" if sanitized() else "")


def compiler_command() -> list[str]:
    """Command and arguments of the C compiler in use."""
    other = _other_compiler()
    return shlex.split(other) if other else [sys.executable, "-m", "ziglang", "cc"]


def common_flags(*, quick: bool = False) -> list[str]:
    """Compiler flags for every lane count and target; `quick` compiles in a quarter of the time."""
    if not sanitized():
        return [flag for flag in FLAGS if flag != "-O2"] + ["-O0", "-DIB_QUICK"] if quick else FLAGS
    # -O0 compiles in a third of the time, and removes no access that the sanitizers should check
    dropped = {"-O2", "-ffreestanding", "-nostdlib"}
    return [*(flag for flag in FLAGS if flag not in dropped), "-O0", *SANITIZER_FLAGS]


@functools.cache
def compiler_version() -> str:
    """Version text of the compiler; part of the keys of the cache."""
    if not _other_compiler():
        try:
            return "ziglang " + metadata.version("ziglang")
        except metadata.PackageNotFoundError as error:
            raise CompileError(f"there is no C compiler: {NO_COMPILER}") from error
    command = [*compiler_command(), "--version"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise CompileError(f"the C compiler '{shlex.join(command)}' does not run: {error}; {NO_COMPILER}") from error


@functools.cache
def host_target() -> str:
    """The widest instruction set of this machine for which kernels are built."""
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
    """Flags by lane count; one lane is not vectorised, which takes four times as long to compile and gains nothing."""
    return ["-fno-slp-vectorize"] if lanes == 1 and not _other_compiler() else []


def target_flags(target: str) -> list[str]:
    """Compiler flags for a target: x86_64_v2/v3/v4 or aarch64."""
    if _other_compiler():
        return [f"-march={target.replace('_v', '-v').replace('x86_64', 'x86-64')}"] if "x86" in target else []
    if target == "aarch64":
        return [*_ZIG_FLAGS, "-target", "aarch64-linux-musl"]
    if target.startswith("x86_64"):
        wide = ["-mprefer-vector-width=512"] if target == "x86_64_v4" else []
        return [*_ZIG_FLAGS, "-target", "x86_64-linux-musl", f"-mcpu={target}", *wide]
    return _ZIG_FLAGS


@functools.cache
def _headers_text() -> str:
    return "".join((HEADERS / n).read_text() for n in KERNEL_HEADERS)


def code_hash(text: str, lanes: int, target: str, *, quick: bool = False) -> str:
    """Cache key of a library: hash of source, headers, compiler, flags, lane count and target."""
    parts = [
        text,
        _headers_text(),
        compiler_version(),
        *common_flags(quick=quick),
        *target_flags(target),
        *width_flags(lanes),
        str(lanes),
        target,
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def library_path(text: str, lanes: int, target: str | None = None, *, quick: bool = False) -> Path:
    """Path in the cache of the library of a text."""
    key = code_hash(text, lanes, target or host_target(), quick=quick)
    return cache.checked_folder() / key[:2] / f"{key}.so"


def build(text: str, lanes: int, target: str | None = None, *, what: str = NATIVE) -> Path:
    """Compile (or find in the cache) the library for a lane count; safe when several processes do it at once.

    `what` it is, in words, is reported if it has to be compiled.
    """
    path = library_path(text, lanes, target)
    _content(path, lambda: _compile(text, lanes, target or host_target(), path), what)
    return path


def build_preload(text: str) -> bytes:
    """Bytes of a library to preload into other programs (LD_PRELOAD), compiled or from the cache."""
    flags = [*PRELOAD_FLAGS, *([] if _other_compiler() else PRELOAD_ZIG_FLAGS), *(TRAP_FLAGS if sanitized() else [])]
    key = hashlib.sha256("\0".join([text, compiler_version(), *flags, platform.machine()]).encode()).hexdigest()
    path = cache.checked_folder() / key[:2] / f"{key}.so"
    return _content(path, lambda: _compile_with(flags, text, path, ["-ldl", "-lpthread"]))


def build_wasm(text: str, *, stack: int, memory: int, what: str = NATIVE) -> bytes:
    """Bytes of the WebAssembly module of a kernel for one lane, compiled or from the cache.

    It imports nothing; it may take `memory` bytes in all, of which `stack` are its own stack.
    """
    flags = [
        *(flag for flag in FLAGS if flag not in ("-fPIC", "-shared")), *_ZIG_FLAGS, *WASM_FLAGS, "-DIB_W=1",
        f"-Wl,-z,stack-size={stack}", f"-Wl,--max-memory={memory}", "-I", str(HEADERS),
    ]  # fmt: skip
    compiler = [sys.executable, "-m", "ziglang", "cc"]
    version = f"ziglang {metadata.version('ziglang')}"
    key = hashlib.sha256("\0".join([text, _headers_text(), version, *flags[:-1]]).encode()).hexdigest()
    path = cache.checked_folder() / key[:2] / f"{key}.wasm"
    return _content(path, lambda: _compile_with(flags, text, path, compiler=compiler), what)


def _content(path: Path, compile_it: Callable[[], bytes], what: str = NATIVE) -> bytes:
    """Bytes of a library, from the cache if there, else compiled with `compile_it` and stored; `what` it is."""
    content = cache.read_entry(path)
    if content is not None:
        return content
    folder = cache.make_folder(path.parent.name)
    with (
        working(f"compiling {what}, once"),
        cache.locked(folder / f"{path.stem}.lock"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", CacheWarning)  # already reported above
        content = cache.read_entry(path)  # another process may have built it meanwhile
        if content is None:
            for left in folder.glob(f"build-{path.stem}-*"):  # left behind by a process that was killed
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
            try:
                content = compile_it()
            except OSError as error:
                raise cache.cannot_write(path, error) from error
    return content


def _compile(text: str, lanes: int, target: str, library: Path, *, quick: bool = False) -> bytes:
    flags = [
        *common_flags(quick=quick),
        *target_flags(target),
        *width_flags(lanes),
        f"-DIB_W={lanes}",
        "-I",
        str(HEADERS),
    ]
    return _compile_with(flags, text, library)


def _compile_with(
    flags: Sequence[str],
    text: str,
    library: Path,
    libraries: Sequence[str] = (),
    compiler: Sequence[str] = (),
) -> bytes:
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=f"build-{library.stem}-") as temporary:
        source = Path(temporary) / "model.c"
        result = Path(temporary) / "model.so"
        source.write_text(text)
        run_compiler(
            [*(compiler or compiler_command()), *flags, str(source), "-o", str(result), *libraries], Path(temporary)
        )
        content = result.read_bytes()
    cache.write_entry(library, content)
    return content


def run_compiler(command: Sequence[str], folder: Path) -> None:
    """Run the C compiler, which may write to a folder; on failure raise its output, with advice if known."""
    try:
        done = subprocess.run(
            command,
            env=_compiler_environment(folder),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILER_TIMEOUT_S,
        )
    except FileNotFoundError as error:
        raise CompileError(f"C compiler '{command[0]}' not found; {NO_COMPILER}") from error
    except subprocess.TimeoutExpired as error:
        raise CompileError(f"the C compiler took longer than {error.timeout:g} s: {shlex.join(command)}") from error
    except OSError as error:
        raise CompileError(f"C compiler '{command[0]}' cannot be started: {error}; {NO_COMPILER}") from error
    if done.returncode != 0:
        output = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise CompileError(
            f"the C compiler failed with code {done.returncode}:\n  {shlex.join(command)}\n"
            f"{output}{_cure(done, output)}"
        )


def _compiler_environment(folder: Path) -> dict[str, str]:
    """Environment variables of the compiler: zig's cache is in the folder, sanitizers are off for the compiler."""
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" or not sanitized()}
    for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
        variables.setdefault(name, str(folder / "zig"))
    return variables


def _cure(done: subprocess.CompletedProcess[str], output: str) -> str:
    """Advice for a known failure of the compiler, else empty."""
    low = output.lower()
    for words, cure in CURES.items():
        if any(word in low for word in words):
            return f"\n{cure}"
    if done.returncode < 0 or done.returncode > 128 or not output:
        return f"\nit was killed: {NO_MEMORY}"
    return ""


# ---------------------------------------------------------------------------------------------- loading


def load(text: str, lanes: int, target: str | None = None, *, what: str = NATIVE) -> ctypes.CDLL:
    """Library of a text, compiled or from the cache; the loaded bytes are those that were checked."""
    path = library_path(text, lanes, target)
    return _loaded_once(path, _content(path, lambda: _compile(text, lanes, target or host_target(), path), what))


def load_quickly(text: str, lanes: int, target: str | None = None, *, what: str = NATIVE) -> tuple[ctypes.CDLL, bool]:
    """Library of a text, and whether it is optimised.

    If it is in no cache, a quick build gives the same results at once, and a process in the background makes the
    optimised library. Small texts and blocks of lanes (which take a while to fly) are optimised at once.
    """
    path = library_path(text, lanes, target)
    if not _quick_suits(text, lanes):
        return load(text, lanes, target, what=what), True
    content = cache.read_entry(path)
    if content is not None:
        return _loaded_once(path, content), True
    library = load_unoptimised(text, lanes, target, what=what)
    if os.environ.get(QUICK) != ONLY:
        background.optimise(path, text, lanes, target or host_target())
    return library, False


def load_unoptimised(text: str, lanes: int, target: str | None = None, *, what: str = NATIVE) -> ctypes.CDLL:
    """Native code of a text from a quick build."""
    path = library_path(text, lanes, target, quick=True)
    compiled = _content(path, lambda: _compile(text, lanes, target or host_target(), path, quick=True), what)
    return _loaded_once(path, compiled)


def optimised(text: str, lanes: int, target: str | None = None) -> ctypes.CDLL | None:
    """The optimised library of a text, if it is in the cache by now; else None."""
    path = library_path(text, lanes, target)
    content = cache.read_entry(path)
    return _loaded_once(path, content) if content is not None else None


def _quick_suits(text: str, lanes: int) -> bool:
    chosen = os.environ.get(QUICK, "1")
    worth = len(text) >= QUICK_FROM or chosen == ONLY
    return chosen not in ("", "0") and lanes == 1 and worth and not sanitized()


def _loaded_once(path: Path, content: bytes) -> ctypes.CDLL:
    digest = hashlib.sha256(content).digest()
    with _loading:
        if digest not in _loaded:
            _loaded[digest] = _load(path, content)
        return _loaded[digest]


_loaded: dict[bytes, ctypes.CDLL] = {}  # loaded libraries by content
_loading = threading.Lock()


def _load(path: Path, content: bytes) -> ctypes.CDLL:
    """Load a library from memory, so that later changes of the file, or a disk mounted noexec, do not matter."""
    if not sanitized():  # sanitizer reports name functions only if the file has a name
        with contextlib.suppress(OSError, AttributeError):
            handle = os.memfd_create(path.name, os.MFD_CLOEXEC)
            # The descriptor stays open: the loader identifies libraries by name, and the name contains its number.
            with os.fdopen(handle, "wb", closefd=False) as file:
                file.write(content)
            try:
                return ctypes.CDLL(f"/proc/self/fd/{handle}", use_errno=True)
            except OSError:
                os.close(handle)
    try:
        return ctypes.CDLL(str(path), use_errno=True)
    except OSError as error:
        raise CompileError(
            f"{path} cannot be loaded ({error}); if its disk does not allow programs (noexec), {cache.ELSEWHERE} "
            "on another disk"
        ) from error


def check_kernel(library: ctypes.CDLL, lanes: int, sizes: Mapping[str, int]) -> None:
    """Raise unless a kernel is built for this number of lanes and these rows: the caller provides its arrays."""
    cure = f"empty the cache folder {cache.cache_folder()}"
    try:
        library.ib_lanes.restype = library.ib_rows.restype = ctypes.c_int64
        library.ib_rows.argtypes = [ctypes.c_int64]
        built = int(library.ib_lanes())
        rows = [int(library.ib_rows(place)) for place in range(len(sizes))]
    except AttributeError as error:
        raise CompileError(f"this is no kernel ({error}); {cure}") from error
    if built != lanes:
        raise CompileError(f"the kernel was built for {built} lanes, not {lanes}; {cure}")
    if rows != list(sizes.values()):
        ours = list(sizes.values())
        raise CompileError(f"the kernel has {rows} rows of {', '.join(sizes)}, the model {ours}; {cure}")
