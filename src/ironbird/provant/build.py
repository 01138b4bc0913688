"""Firmware images compiled from C by zig for a Cortex-M4F without an operating system; equal sources, equal bytes."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from ironbird.compiler import cache, native
from ironbird.errors import CompileError
from ironbird.export.cortex_m.exporter import FLAGS as CORTEX_M4F
from ironbird.export.targets import EXACT

FLAGS = (
    "-std=gnu11", "-O2", "-g0", "-fno-sanitize=all", "-ffunction-sections", "-fdata-sections", "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-nostdlib", "-static", "-Wl,--gc-sections",
    "-Wl,--build-id=none", "-w",
)  # fmt: skip


SHARED = Path(__file__).parent / "shared_source"  # start.h and link.ld, for every image of Ironbird


def build_image(name: str, files: Mapping[str, str], options: Sequence[str] = ()) -> bytes:
    """ELF file of C files, given by relative path (the rest are headers), with `start.h` in the same folder; cached."""
    shared = [(SHARED / name).read_text() for name in ("start.h", "link.ld")]
    try:
        version = metadata.version("ziglang")
    except metadata.PackageNotFoundError:
        raise CompileError(f"building firmware needs zig: {native.NO_COMPILER}") from None
    sources = [text for pair in files.items() for text in pair]
    parts = [version, *FLAGS, *CORTEX_M4F, *EXACT, *options, *shared, *sources]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    path = cache.checked_folder() / key[:2] / f"{key}.elf"
    image = cache.read_entry(path)
    if image is None:
        image = compile_image(name, files, options)
        cache.make_folder(path.parent.name)
        cache.write_entry(path, image)
    return image


def compile_image(name: str, files: Mapping[str, str], options: Sequence[str] = ()) -> bytes:
    """Compile the ELF file of `build_image` without looking into the cache."""
    with tempfile.TemporaryDirectory(prefix="ironbird-firmware-") as temporary:
        folder = Path(temporary)
        for relative, text in files.items():
            place = folder / relative
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        # One translation unit, so that the symbols do not contain the folder in which it was compiled
        sources = [relative for relative in files if relative.endswith(".c")]
        (folder / "all.c").write_text("".join(f'#include "{relative}"\n' for relative in sources))
        made = folder / "image.elf"
        includes = sorted({str(SHARED), *(str(folder / Path(relative).parent) for relative in files)})
        native.run_compiler(
            [
                sys.executable, "-m", "ziglang", "cc", *FLAGS, *CORTEX_M4F, *EXACT, *options,
                *(f"-I{include}" for include in includes), str(folder / "all.c"), "-T", str(SHARED / "link.ld"),
                "-o", str(made),
            ],
            folder,
        )  # fmt: skip
        return made.read_bytes()
