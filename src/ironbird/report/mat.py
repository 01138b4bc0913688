"""Logs as MATLAB files (version 5): one structure per block, units beside the values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import RunError
from ironbird.files.whole import replacing
from ironbird.runtime.log import Log

LONGEST = 63  # of MATLAB's names
HEADER = b"MATLAB 5.0 MAT-file, written by Ironbird".ljust(116)  # SciPy's own has the time: files would not repeat


def write_mat(log: Log, path: Path, lane: int = 0) -> None:
    """Write one lane: `time_s`, a structure for each block (`rotor_1_motor.speed`), `units` alike, and `meta`."""
    blocks: dict[str, dict[str, np.ndarray]] = {}
    units: dict[str, dict[str, str]] = {}
    for signal, declared in log.signals.items():
        block, _, name = signal.rpartition(".")
        block, name = matlab_name(block), matlab_name(name)
        blocks.setdefault(block, {})[name] = log.lane(signal, lane).reshape(log.rows(lane), declared.size)
        units.setdefault(block, {})[name] = declared.unit
    for word in ("time_s", "units", "meta"):
        if word in blocks:
            blocks[f"{word}_block"] = blocks.pop(word)
    meta = {matlab_name(key): value for key, value in log.meta.items() if value}
    content: dict[str, Any] = {"time_s": log.time(lane)[:, None], **blocks, "units": units}
    if meta:
        content["meta"] = meta
    save_mat(path, content)


def save_mat(path: Path, content: Mapping[str, Any]) -> None:
    """Write variables and structures as a MATLAB file that repeats to the byte."""
    try:
        from scipy.io import savemat
    except ImportError:
        raise RunError("writing MATLAB files needs the extra 'logs': pip install 'ironbird[logs]'") from None
    with replacing(Path(path)) as part:
        with part.open("wb") as file:
            savemat(file, dict(content), long_field_names=True, do_compression=True)
        with part.open("r+b") as file:
            file.write(HEADER)


def matlab_name(text: str) -> str:
    """A text as a name of MATLAB."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "block"
    return (name if name[0].isalpha() else f"x_{name}")[:LONGEST]
