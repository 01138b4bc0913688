"""The tests of a comparison: a TOML file, or the default ones for the signals that both records hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ironbird.credibility.index import MEANS, PASS_MARK, TOLERANCE, WEIGHTS
from ironbird.credibility.qualification import BOUNDS
from ironbird.credibility.readers import TO_SI
from ironbird.errors import RequirementError
from ironbird.files.problems import Problem, grammar_words, read_source

FIGURES = ("mean", "std", "rms", "max", "min", "range", "final", "rise_time", "overshoot", "settling_time")
SHAPE = ("rise_time", "overshoot", "settling_time", "final")  # figures of a step: no block bootstrap
PAIRS = {"roll_command": "roll_rate", "pitch_command": "pitch_rate", "yaw_command": "yaw_rate"}
BAND_RADPS = (0.5, 30.0)
Positive = Annotated[float, Field(gt=0)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False, strict=True)


class SignalTable(_Table):
    """Names of a signal in the two files; in a ULog `topic.field`, in a DataFlash log `RECORD.Column`."""

    name: str
    real: str = ""
    sim: str = ""
    unit: Annotated[str, Field(description="unit of the columns: " + ", ".join(TO_SI))] = "1"

    @model_validator(mode="after")
    def _known(self) -> SignalTable:
        if self.unit not in TO_SI:
            raise ValueError(f"unit '{self.unit}' is not known; one of {', '.join(TO_SI)}")
        if not (self.real or self.sim):
            raise ValueError("give real, sim or both: the column of the file")
        return self


class Test(_Table):
    """One test: a figure, a curve over time, or a frequency response."""

    name: str
    kind: Literal["performance", "time", "frequency"]
    signal: str
    figure: Literal[FIGURES] = "mean"  # type: ignore[valid-type]
    window_s: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None  # of the real record
    tolerance: Annotated[float, Field(gt=0, le=10)] | None = None  # Kp: share of the figure or of the span
    limit: Positive | None = None  # tolerable error in the signal's unit, from repeatability; before tolerance
    qualification: str = ""  # a tolerance of simulator qualification, as the limit
    smooth_s: Annotated[float, Field(ge=0)] = 0.0  # moving mean over both curves first
    input: str = ""  # of a frequency response
    band_radps: Annotated[list[float], Field(min_length=2, max_length=2)] = list(BAND_RADPS)
    points: Annotated[int, Field(ge=5, le=200)] = 20

    @model_validator(mode="after")
    def _fits(self) -> Test:
        if self.kind == "frequency" and not self.input:
            raise ValueError("a frequency test needs its input, for example input = 'pitch_command'")
        if self.qualification and self.qualification not in BOUNDS:
            raise ValueError(f"tolerance '{self.qualification}' is not known; one of {', '.join(BOUNDS)}")
        if self.window_s and not self.window_s[0] < self.window_s[1]:
            raise ValueError("window_s begins before it ends")
        if not 0 < self.band_radps[0] < self.band_radps[1]:
            raise ValueError("band_radps are two positive frequencies, the lower first")
        return self


class DriveTable(_Table):
    """Recorded signals that drive the model: input = signal; `scale` and `offset` convert it to a command."""

    inputs: dict[str, str] = {}  # rotor/1 = "motor_1"
    scale: float = 1.0
    offset: float = 0.0
    restart_s: Positive | None = None
    set: dict[str, float | list[float]] = {}  # parameters of the model, for example a dead rotor's health


class Plan(_Table):
    """The tests and how their indices are combined."""

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    mean: Literal[MEANS] = "rms"  # type: ignore[valid-type]
    weights: dict[str, Annotated[float, Field(ge=0)]] = dict(WEIGHTS)
    tolerance: Annotated[float, Field(gt=0, le=10)] = TOLERANCE
    pass_mark: Annotated[float, Field(gt=0, lt=1)] = PASS_MARK
    froude_scale: Positive = 1.0  # of the MUAD envelopes: how much quicker than a manned vehicle
    signal: list[SignalTable] = []
    test: list[Test] = []
    drive: DriveTable = DriveTable()

    @model_validator(mode="after")
    def _weighed(self) -> Plan:
        strange = [name for name in self.weights if name not in WEIGHTS]
        if strange:
            raise ValueError(f"'{strange[0]}' is no class of tests; one of {', '.join(WEIGHTS)}")
        return self

    def columns(self, side: Literal["real", "sim"]) -> dict[str, tuple[str, str]]:
        """Signal names for the columns of one file, with their units."""
        return {s.name: (getattr(s, side), s.unit) for s in self.signal if getattr(s, side)}


def load_plan(path: Path) -> Plan:
    """Read a tests file; raises an error with all its mistakes."""
    source = read_source(path, "give the path of a TOML file of tests")
    if isinstance(source, Problem):
        raise RequirementError(str(source))
    try:
        plan = Plan.model_validate(source.data)
    except ValidationError as error:
        raise RequirementError(
            "\n".join(str(source.problem(*words)) for words in grammar_words(Plan, source.data, error))
        ) from None
    names = [test.name for test in plan.test]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RequirementError(f"{path}: two tests are called '{twice}'; give each a name of its own")
    return plan


def usual_tests(names: Sequence[str]) -> list[Test]:
    """Default tests: mean, spread and curve of every common signal; responses where an input is known."""
    tests: list[Test] = []
    for name in names:
        if name.startswith("motor_") or name.endswith("_command"):
            continue
        tests.append(Test(name=f"{name} over time", kind="time", signal=name))
        if name not in ("yaw", "north", "east", "down"):  # their level depends on where the flight was
            tests.append(Test(name=f"{name} spread", kind="performance", signal=name, figure="std"))
    for command, answer in PAIRS.items():
        if command in names and answer in names:
            tests.append(Test(name=f"{command} to {answer}", kind="frequency", signal=answer, input=command))
    return tests


def figure(kind: str, time_s: np.ndarray, values: np.ndarray) -> float:
    """A figure of a curve by kind; those of a step count from the first value to the mean of the last tenth."""
    t, y = time_s, values
    plain: dict[str, Callable[[np.ndarray], Any]] = {
        "mean": np.mean, "std": np.std, "max": np.max, "min": np.min, "range": np.ptp,
        "rms": lambda v: np.sqrt(np.mean(v**2)),
    }  # fmt: skip
    if kind in plain:
        return float(plain[kind](y))
    final = float(np.mean(y[-max(1, len(y) // 10) :]))
    if kind == "final":
        return final
    jump = final - float(y[0])
    if jump == 0:
        return math.nan
    share = (y - y[0]) / jump
    if kind == "overshoot":
        return float(max(0.0, np.max(share) - 1))
    if kind == "rise_time":  # from 10 to 90 %
        return float(t[int(np.argmax(share >= 0.9))] - t[int(np.argmax(share >= 0.1))])
    outside = np.flatnonzero(np.abs(share - 1) > 0.05)  # settled within 5 %
    return float(t[min(int(outside[-1]) + 1, len(t) - 1)] - t[0]) if len(outside) else 0.0
