"""Platforms that exported code is built for, with the C compiler of the Python package ziglang."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ironbird.compiler import native
from ironbird.errors import UnknownNameError

MEMORY = Path(__file__).parent / "ib_memory.c"
EXACT = ["-ffp-contract=off", "-fno-math-errno"]


@dataclass(frozen=True)
class Target:
    """A platform: options of the compiler and file names of libraries."""

    name: str
    flags: tuple[str, ...]
    ending: str
    fmi2: str  # folder of binaries in an FMU 2.0
    fmi3: str  # and 3.0
    emulator: str = ""


TARGETS = {
    "linux64": Target(
        "linux64", ("-target", "x86_64-linux-gnu.2.17", "-mcpu=x86_64_v2"), ".so", "linux64", "x86_64-linux"
    ),
    "aarch64": Target(
        "aarch64", ("-target", "aarch64-linux-gnu.2.17"), ".so", "aarch64-linux", "aarch64-linux", "qemu-aarch64"
    ),
    "win64": Target(
        "win64", ("-target", "x86_64-windows-gnu", "-mcpu=x86_64_v2"), ".dll", "win64", "x86_64-windows", "wine"
    ),
}


def targets_of(names: Sequence[str]) -> list[Target]:
    """Platforms by name; all platforms if no name is given."""
    for name in names:
        if name not in TARGETS:
            raise UnknownNameError("platform", name, TARGETS)
    return [TARGETS[name] for name in names or TARGETS]


def build_library(
    sources: Sequence[Path], target: Target, result: Path, *, include: Sequence[Path] = (), defines: Sequence[str] = ()
) -> Path:
    """Build a shared library without dependencies; other files of the compiler (.pdb, .lib) are removed."""
    flags = ["-shared", "-ffreestanding", "-nostdlib", "-fno-stack-protector"]
    flags += ["-mno-stack-arg-probe"] if target.ending == ".dll" else ["-fPIC", "-fvisibility=hidden"]
    _compile([*sources, MEMORY], target, result, flags, include, defines)
    return result


def build_program(
    sources: Sequence[Path], target: Target, result: Path, *, include: Sequence[Path] = (), defines: Sequence[str] = ()
) -> Path:
    """Build a program; on aarch64 it is static, so that it runs on any Linux."""
    musl = ("-target", "aarch64-linux-musl", "-static")
    _compile(sources, target, result, list(musl) if target.name == "aarch64" else [], include, defines)
    return result


def _compile(
    sources: Sequence[Path],
    target: Target,
    result: Path,
    flags: Sequence[str],
    include: Sequence[Path],
    defines: Sequence[str],
) -> None:
    with tempfile.TemporaryDirectory(prefix="ironbird-") as temporary:
        made = Path(temporary) / result.name
        native.run_compiler(
            [
                sys.executable, "-m", "ziglang", "cc", "-std=c99", "-O2", "-g0", "-s", "-fno-sanitize=all", "-w",
                "-fno-slp-vectorize", *EXACT, *target.flags, *flags, *(f"-D{name}" for name in defines),
                *(f"-I{folder}" for folder in include), *map(str, sources), "-o", str(made),
            ],
            native.cache_folder(),
        )  # fmt: skip
        result.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, result)
