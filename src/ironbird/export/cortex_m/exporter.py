"""`ironbird export cortex-m`: a part in single precision as a static library for a Cortex-M4F, and its size.

The library is compiled and measured, not run: the stack that a call needs is not determined.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from ironbird.compiler import native
from ironbird.errors import ExportError
from ironbird.export.c_code.exporter import write_source
from ironbird.export.job import Exporter, Job
from ironbird.export.targets import EXACT
from ironbird.files.json_text import json_text

FLAGS = ["-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m4+vfp4d16sp", "-mthumb", "-ffreestanding", "-fno-pic"]
_WRITE, _ALLOC, _EXEC, _NOBITS = 1, 2, 4, 8


def section_sizes(data: bytes) -> dict[str, int]:
    """Bytes of code, constants, initialised and zero-initialised variables in a 32-bit ELF object."""
    if data[:5] != b"\x7fELF\x01":
        raise ExportError("the compiler wrote no 32-bit ELF object")
    first, size, count = struct.unpack_from("<I10xHH", data, 32)
    sizes = {"text": 0, "rodata": 0, "data": 0, "bss": 0}
    for number in range(count):
        kind, flags, _, _, length = struct.unpack_from("<5I", data, first + number * size + 4)
        if not flags & _ALLOC:
            continue
        place = "text" if flags & _EXEC else "bss" if kind == _NOBITS else "data" if flags & _WRITE else "rodata"
        sizes[place] += length
    return sizes


def undefined_symbols(data: bytes) -> list[str]:
    """Names of symbols that an ELF object needs from other objects."""
    first, size, count = struct.unpack_from("<I10xHH", data, 32)
    headers = [struct.unpack_from("<10I", data, first + number * size) for number in range(count)]
    names: list[str] = []
    for header in headers:
        if header[1] == 2:  # symbol table
            strings = headers[header[6]]
            for at in range(header[4] + header[9], header[4] + header[5], header[9]):
                name, _, _, _, _, section = struct.unpack_from("<IIIBBH", data, at)
                start = strings[4] + name
                text = data[start : data.index(b"\0", start)].decode()
                if section == 0 and text:
                    names.append(text)
    return sorted(names)


class CortexM(Exporter):
    """Exporter of a part as a static library for firmware."""

    name = "cortex-m"
    summary = "Static library for a Cortex-M4F in single precision, with a report of its size."
    precisions = ("single",)
    default_part = "controller"

    def write(self, job: Job, folder: Path) -> dict[str, str]:
        """Write source, object file, archive and sizes into a folder; returns rows for the summary."""
        rows = write_source(job, folder)
        name = job.cut.name
        place = folder / "lib/cortex-m4f"
        place.mkdir(parents=True)
        made = place / f"{name}.o"
        zig = [sys.executable, "-m", "ziglang"]
        flags = [
            "-std=c99",
            "-Os",
            "-g0",
            "-fno-sanitize=all",
            "-ffunction-sections",
            "-fdata-sections",
            "-fno-unwind-tables",
            "-fno-asynchronous-unwind-tables",
            *EXACT,
            *FLAGS,
        ]
        include = [f"-I{folder / 'include'}", "-c", str(folder / f"src/{name}.c")]
        native.run_compiler([*zig, "cc", *flags, *include, "-o", str(made)], native.cache_folder())
        native.run_compiler([*zig, "ar", "rcsD", str(place / f"lib{name}.a"), str(made)], native.cache_folder())
        data = made.read_bytes()
        sizes = section_sizes(data) | {"model_bytes": _model_bytes(job)}
        needs = undefined_symbols(data)
        text = json_text({**sizes, "needs": needs}, "ironbird/code-size/1")
        (folder / "size.json").write_text(text, encoding="utf-8")
        made.unlink()
        flash = sizes["text"] + sizes["rodata"] + sizes["data"]
        rows["Cortex-M4F"] = f"{flash / 1000:.1f} kB flash, {sizes['model_bytes'] / 1000:.1f} kB a model"
        rows["needs"] = ", ".join(needs) or "nothing"
        return rows


def _model_bytes(job: Job) -> int:
    """Bytes of the model structure: all its arrays, and the seed, tick and flags."""
    from ironbird.export.c_code.code import values_of

    sizes = values_of(job)["sizes"]
    arrays = ("IB_NX", "IB_NXD", "IB_NHELD", "IB_NP", "IB_NPRE", "IB_NTICK", "IB_NNOISE")
    numbers = 4 * sum(sizes[name] for name in arrays)
    return -(-(-(-numbers // 8) * 8 + 8 + 8 + 12) // 8) * 8


CORTEX_M = CortexM()
