"""Wrong models beside a driven one: whether a record could have distinguished that the model is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ironbird.credibility.compare import Comparison
from ironbird.credibility.drive import Driven, Factor, drive
from ironbird.credibility.plan import DriveTable
from ironbird.credibility.record import Record
from ironbird.credibility.skill import WrongModel, judged
from ironbird.errors import RecordError

# name: factors of the model's parameters, and delay of the commands in s
WRONG: dict[str, tuple[dict[str, Factor], float]] = {
    "mass +20 %": ({"body.mass": 1.2}, 0.0),
    "thrust -15 %": ({"propeller.thrust_coefficient": 0.85}, 0.0),
    "yaw damping 0": ({"propeller.rotor_drag": 0.0, "airframe.damping": (1.0, 1.0, 0.0)}, 0.0),
    "delay +20 ms": ({}, 0.02),
}


def with_wrong_models(
    comparison: Comparison, driven: Driven, real: Record, name: str | Path, how: DriveTable, given: dict[str, Any]
) -> Comparison:
    """The comparison, with what the record says of models that are wrong on purpose.

    `given` are the words with which `drive` made the driven model: window, pieces, parameters.
    """
    signals = driven.predicted()
    if not signals:
        return comparison
    units = [driven.real.track(signal).unit for signal in signals]
    ours = [driven.errors(signal) for signal in signals]
    found = []
    for title, (factors, delay_s) in WRONG.items():
        try:
            other = drive(real, name, how, **given, factors=factors, delay_s=delay_s)
        except RecordError as error:
            found.append(WrongModel(f"{title} ({error})", "no", signals[0], units[0], 0.0, 0.0, 0.0))
            continue
        found.append(judged(title, signals, units, ours, [other.errors(signal) for signal in signals]))
    return replace(comparison, wrong=found)
