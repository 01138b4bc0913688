"""Images from C by zig, for a Cortex-M4F without an operating system; equal sources give equal bytes."""

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
    """The ELF file of some C files by their relative paths (the rest are headers), with `start.h` beside them."""
    shared = [(SHARED / name).read_text() for name in ("start.h", "link.ld")]
    try:
        version = metadata.version("ziglang")
    except metadata.PackageNotFoundError:
        raise CompileError(f"building firmware needs zig: {native.NO_COMPILER}") from None
    sources = [text for pair in files.items() for text in pair]
    parts = [version, *FLAGS, *CORTEX_M4F, *EXACT, *options, *shared, *sources]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    path = cache.checked_folder() / key[:2] / f"{key}.elf"
    found = cache.read_entry(path)
    if found is None:
        found = compile_image(name, files, options)
        cache.make_folder(path.parent.name)
        cache.write_entry(path, found)
    return found


def compile_image(name: str, files: Mapping[str, str], options: Sequence[str] = ()) -> bytes:
    """The same without the cache."""
    with tempfile.TemporaryDirectory(prefix="ironbird-firmware-") as temporary:
        folder = Path(temporary)
        for relative, text in files.items():
            place = folder / relative
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        # One translation unit: where it was compiled leaves no trace in the symbols
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
