"""Logs as MATLAB files (version 5): one structure per block, with units."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import RunError
from ironbird.files.whole import replacing
from ironbird.runtime.log import Log

LONGEST = 63  # of MATLAB's names
HEADER = b"MATLAB 5.0 MAT-file, written by Ironbird".ljust(116)  # SciPy's own has the time: files would not repeat


def write_mat(log: Log, path: Path, lane: int = 0) -> None:
    """Write one lane: `time_s`, a structure for each block (`rotor_1_motor.speed`), `units` likewise, and `meta`."""
    try:
        from scipy.io import savemat
    except ImportError:
        raise RunError("writing MATLAB files needs the extra 'logs': pip install 'ironbird[logs]'") from None
    blocks: dict[str, dict[str, np.ndarray]] = {}
    units: dict[str, dict[str, str]] = {}
    for signal, declared in log.signals.items():
        block, _, name = signal.rpartition(".")
        block, name = _name(block), _name(name)
        blocks.setdefault(block, {})[name] = log.lane(signal, lane).reshape(log.rows(lane), declared.size)
        units.setdefault(block, {})[name] = declared.unit
    for word in ("time_s", "units", "meta"):
        if word in blocks:
            blocks[f"{word}_block"] = blocks.pop(word)
    meta = {_name(key): value for key, value in log.meta.items() if value}
    content: dict[str, Any] = {"time_s": log.time(lane)[:, None], **blocks, "units": units}
    if meta:
        content["meta"] = meta
    with replacing(Path(path)) as part:
        with part.open("wb") as file:
            savemat(file, content, long_field_names=True, do_compression=True)
        with part.open("r+b") as file:
            file.write(HEADER)


def _name(text: str) -> str:
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "block"
    return (name if name[0].isalpha() else f"x_{name}")[:LONGEST]
