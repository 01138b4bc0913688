"""PX4 mixer files: weights from controls to outputs; reading, evaluation as in PX4, explanation.

A file is a list of mixers, each beginning with its tag and followed by lines of its own [PX4Mixer]:

    R: 4x                                       multirotor of a known geometry
    M: 2                                        sum of two controls
    O: 10000 10000 0 -10000 10000               its output (may be left out)
    S: 0 0 -6000 -6000 0 -10000 10000           group, index, scale below and above zero, offset, limits
    H: 3  T: 0 3000 6000 8000 10000  P: ...     helicopter: throttle and pitch curve, then its servos
    S: 0 10000 10000 0 -8000 8000               angle, arm, scale, offset, limits
    Z:                                          an output that stays at zero

Numbers are whole and count ten-thousandths. A line that does not begin with a capital letter and a colon is a comment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from ironbird.errors import MixerError, UnknownNameError
from ironbird.files.problems import read_bytes
from ironbird.vehicles.geometry import GEOMETRIES, Geometry

Controls = Mapping[tuple[int, int], float]  # (group, index) -> value; missing ones are zero

UNIT = 10_000.0
GROUPS, CONTROLS = 6, 8
CONTROL_NAMES: dict[int, tuple[str, ...]] = {
    0: ("roll", "pitch", "yaw", "throttle", "flaps", "spoilers", "airbrakes", "landing gear"),
    1: ("roll alt", "pitch alt", "yaw alt", "throttle alt", "aux 0", "aux 1", "aux 2", "aux 3"),
    2: ("gimbal roll", "gimbal pitch", "gimbal yaw", "gimbal shutter", "", "", "", "parachute"),
    3: ("RC roll", "RC pitch", "RC yaw", "RC throttle", "RC mode switch", "RC aux 1", "RC aux 2", "RC aux 3"),
}
FIELDS = {
    "M": ("control count",),
    "O": ("scale below zero", "scale above zero", "offset", "lower limit", "upper limit"),
    "S": ("group", "index", "scale below zero", "scale above zero", "offset", "lower limit", "upper limit"),
    "H": ("number of servos",),
    "T": ("throttle at 0 %", "at 25 %", "at 50 %", "at 75 %", "at 100 %"),
    "P": ("collective pitch at 0 %", "at 25 %", "at 50 %", "at 75 %", "at 100 %"),
    "servo": ("angle", "arm length", "scale", "offset", "lower limit", "upper limit"),
    "R": ("roll scale", "pitch scale", "yaw scale", "idle speed"),
}  # fmt: skip
CURVE_STEP = 0.25
MOST_PITCH = 0.5  # collective pitch of a helicopter
YAW_OVERSHOOT = 1.15  # share of yaw kept at full thrust, at the cost of thrust
SLACK = 1.001  # PX4's own tolerance for limits and offsets
_TAG = re.compile(r"([A-Z]):")
_WORD = re.compile(r"\S+")
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}$")
_INDENTED = re.compile(r"\s+[A-Z]:\s*[-+0-9]")


def control_name(group: int, index: int) -> str:
    """PX4's name of a control, with its group and index."""
    name = CONTROL_NAMES.get(group, ("",) * CONTROLS)[index]
    return f"{name or 'control'} ({group}/{index})"


@dataclass(frozen=True)
class Scaler:
    """Scaling of a value: a gain for each sign, an offset, then limits."""

    below: float = 1.0
    above: float = 1.0
    offset: float = 0.0
    low: float = -1.0
    high: float = 1.0

    def apply(self, value: float) -> float:
        """A control value after gain, offset and limits."""
        return min(max(value * (self.below if value < 0 else self.above) + self.offset, self.low), self.high)

    def text(self) -> str:
        """Gain, offset and limits as text."""
        gain = f"{self.above:g}" if self.below == self.above else f"{self.below:g} below zero, {self.above:g} above"
        offset = f", offset {self.offset:g}" if self.offset else ""
        return f"x {gain}{offset}, limits {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Input:
    """A control input of a mixer and its scaling."""

    group: int
    index: int
    scaler: Scaler


@dataclass(frozen=True)
class SumMixer:
    """Mixer with one output: the scaled sum of scaled controls. Not modelled: the slew rate of the output."""

    line: int
    inputs: tuple[Input, ...]
    output: Scaler = Scaler()
    travel_s: float = 0.0

    count = 1

    def apply(self, controls: Controls) -> list[float]:
        """The output as a list of one value."""
        return [self.output.apply(sum(i.scaler.apply(controls.get((i.group, i.index), 0.0)) for i in self.inputs))]

    def texts(self) -> list[str]:
        """Description of the output as a list of one text."""
        parts = [f"{control_name(i.group, i.index)} {i.scaler.text()}" for i in self.inputs] or ["nothing"]
        if self.output != Scaler():
            parts.append(f"then {self.output.text()}")
        if self.travel_s:
            parts.append(f"takes {self.travel_s:g} s from limit to limit")
        return ["\n".join(parts)]


@dataclass(frozen=True)
class NullMixer:
    """Mixer whose output stays at zero."""

    line: int

    count = 1

    def apply(self, controls: Controls) -> list[float]:
        """The outputs: a list of one zero."""
        return [0.0]

    def texts(self) -> list[str]:
        """Description of the output as a list of one text."""
        return ["nothing: stays at zero"]


@dataclass(frozen=True)
class Servo:
    """A servo of the swash plate of a helicopter."""

    angle_deg: float
    arm: float
    scale: float
    offset: float
    low: float
    high: float


@dataclass(frozen=True)
class HelicopterMixer:
    """Mixer of a helicopter: main motor throttle, then the swash-plate servos; the tail rotor has its own mixer."""

    line: int
    throttle: tuple[float, ...]
    pitch: tuple[float, ...]
    servos: tuple[Servo, ...]

    @property
    def count(self) -> int:
        """Number of outputs: throttle and servos."""
        return 1 + len(self.servos)

    def apply(self, controls: Controls) -> list[float]:
        """Outputs: throttle, then servos."""
        roll, pitch, thrust = (controls.get((0, i), 0.0) for i in (0, 1, 3))
        collective = min(max(_curve(self.pitch, thrust), -MOST_PITCH), MOST_PITCH)
        outputs = [min(max(2 * _curve(self.throttle, thrust) - 1, -1.0), 1.0)]
        for s in self.servos:
            angle = math.radians(s.angle_deg)
            value = collective + s.arm * (math.cos(angle) * pitch - math.sin(angle) * roll)
            outputs.append(min(max(s.scale * value + s.offset, s.low), s.high))
        return outputs

    def texts(self) -> list[str]:
        """Description of each output, as texts."""
        curve = " ".join(f"{value:g}" for value in self.throttle)
        collective = " ".join(f"{value:g}" for value in self.pitch)
        lines = [f"main motor: throttle {curve} at thrust 0 to 100 %"]
        for s in self.servos:
            angle, offset = math.radians(s.angle_deg), f", offset {s.offset:g}" if s.offset else ""
            pitch, roll = s.scale * s.arm * math.cos(angle), -s.scale * s.arm * math.sin(angle)
            lines.append(
                f"swash plate at {s.angle_deg:g} degrees: {s.scale:g} x collective ({collective}) "
                f"{pitch:+.4g} pitch {roll:+.4g} roll{offset}, limits {s.low:g} to {s.high:g}"
            )
        return lines


def _curve(points: Sequence[float], at: float) -> float:
    i = min(max(int(at / CURVE_STEP), 0), len(points) - 2) if math.isfinite(at) else 0
    return points[i] + (points[i + 1] - points[i]) * (at / CURVE_STEP - i)


@dataclass(frozen=True)
class MultirotorMixer:
    """Mixer from roll, pitch, yaw and thrust to the motors of a known geometry."""

    line: int
    geometry: Geometry
    roll: float = 1.0
    pitch: float = 1.0
    yaw: float = 1.0
    idle: float = 0.0

    @property
    def count(self) -> int:
        """Number of outputs, one per motor."""
        return len(self.geometry.rotors)

    @cached_property
    def matrix(self) -> np.ndarray:
        """Matrix from roll, pitch, yaw and thrust to motors, n x 4, with the file's scales."""
        return self.geometry.normalized * [self.roll, self.pitch, self.yaw, 1.0]

    def apply(self, controls: Controls) -> list[float]:
        """Motor commands from -1 to 1, as PX4 without air mode: thrust is never raised to make room."""
        scales = (self.roll, self.pitch, self.yaw)
        roll, pitch, yaw = (min(max(k * controls.get((0, i), 0.0), -1.0), 1.0) for i, k in enumerate(scales))
        thrust = min(max(controls.get((0, 3), 0.0), 0.0), 1.0)
        by_roll, by_pitch, by_yaw, by_thrust = self.geometry.normalized.T
        motors = roll * by_roll + pitch * by_pitch + thrust * by_thrust
        motors = _make_room(motors, by_thrust, less_only=True)
        motors = _make_room(_make_room(motors, by_roll), by_pitch)
        motors = _make_room(motors + yaw * by_yaw, by_yaw, high=YAW_OVERSHOOT)
        motors = _make_room(motors, by_thrust, less_only=True)
        idle = 2 * self.idle - 1
        return [float(v) for v in np.clip(idle + motors * (1 - idle), idle, 1.0)]

    def texts(self) -> list[str]:
        """Description of each output, as texts."""
        lines = []
        for rotor, row in zip(self.geometry.rotors, self.matrix, strict=True):
            parts = " ".join(f"{v:+.4f} {name}" for v, name in zip(row, CONTROL_NAMES[0][:4], strict=True))
            lines.append(f"{parts}   {rotor.name.replace('_', ' ')}, {rotor.spin}")
        return lines


def _make_room(motors: np.ndarray, along: np.ndarray, *, high: float = 1.0, less_only: bool = False) -> np.ndarray:
    """Motor commands shifted along a control's direction into 0 to `high`, or to equal excess at both limits."""
    first = _way(motors, along, high)
    if less_only and first > 0:
        return motors
    motors = motors + first * along
    return motors + 0.5 * _way(motors, along, high) * along


def _way(motors: np.ndarray, along: np.ndarray, high: float) -> float:
    miss = np.where(motors < 0, -motors, np.where(motors > high, high - motors, 0.0))
    usable = np.abs(along) > np.finfo(np.float32).eps
    steps = miss[usable] / along[usable]
    return float(min(0.0, steps.min(initial=0.0)) + max(0.0, steps.max(initial=0.0)))


Mixer = SumMixer | NullMixer | HelicopterMixer | MultirotorMixer


@dataclass(frozen=True)
class MixerFile:
    """All mixers of a file; outputs are numbered consecutively."""

    mixers: tuple[Mixer, ...]
    warnings: tuple[str, ...] = field(default=())

    @property
    def count(self) -> int:
        """Number of outputs of all mixers."""
        return sum(mixer.count for mixer in self.mixers)

    def apply(self, controls: Controls) -> list[float]:
        """Outputs from -1 to 1, in the order of the file."""
        return [value for mixer in self.mixers for value in mixer.apply(controls)]


@dataclass(frozen=True)
class _Line:
    """A line with a tag: its words and their columns."""

    number: int
    tag: str
    words: tuple[tuple[str, int], ...]
    end: int

    def error(self, reason: str, column: int = 1) -> MixerError:
        return MixerError(reason, self.number, column)

    def numbers(self, names: Sequence[str], *, skip: int = 0) -> list[int]:
        """The integers that the tag requires."""
        values = []
        for i, name in enumerate(names, start=skip):
            if i >= len(self.words):
                raise self.error(f"{self.tag}: ends before its {name}; it needs {', '.join(names)}", self.end)
            values.append(self.number_at(i, name))
        return values

    def number_at(self, i: int, name: str) -> int:
        word, column = self.words[i]
        if not _WHOLE.match(word):
            raise self.error(f"{name} '{_short(word)}' is not a whole number{_cure(word)}", column)
        return int(word)

    def between(self, i: int, name: str, low: float, high: float, cure: str) -> None:
        if not low <= int(self.words[i][0]) <= high:
            raise self.error(f"{name} {self.words[i][0]} is not in {low:g} to {high:g}; {cure}", self.words[i][1])


def _short(word: str) -> str:
    return word if len(word) <= 24 else word[:21] + "..."


def _cure(word: str) -> str:
    try:
        value = float(word) * UNIT
    except ValueError:
        return ""
    fits = math.isfinite(value) and abs(value) <= 2 * UNIT
    return f"; numbers count ten-thousandths, so write {round(value)}" if fits else ""


def parse_mixer(text: str) -> MixerFile:
    """Parse the text of a mixer file; `MixerError` names line, column and fix."""
    lines, warnings = _lines(text)
    mixers: list[Mixer] = []
    at = 0
    while at < len(lines):
        mixer, at = _mixer(lines, at, warnings)
        mixers.append(mixer)
    if not mixers:
        raise MixerError("no mixer in it; a mixer begins with R:, M:, H: or Z: in the first column of a line")
    return MixerFile(tuple(mixers), tuple(warnings))


def load_mixer(path: str | Path) -> MixerFile:
    """Read and parse a mixer file."""
    try:
        return parse_mixer(read_bytes(Path(path)).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise MixerError(f"cannot read it: {error}", where=str(path)) from None
    except MixerError as error:
        raise MixerError(error.reason, error.line, error.column, where=str(path)) from None


def _lines(text: str) -> tuple[list[_Line], list[str]]:
    lines, warnings = [], []
    rows = re.split(r"\r\n|\r|\n", text)
    for number, row in enumerate(rows, start=1):
        match = _TAG.match(row)
        if match:
            words = tuple((m.group(), m.start() + 1) for m in _WORD.finditer(row, match.end()))
            lines.append(_Line(number, match.group(1), words, len(row.rstrip()) + 1))
        elif _INDENTED.match(row):
            warnings.append(f"line {number} is indented: PX4 takes '{_short(row.strip())}' for a comment")
    if lines and lines[-1].number == len(rows):
        warnings.append(f"line {len(rows)} has no line end: PX4 refuses the last mixer")
    return lines, warnings


def _mixer(lines: list[_Line], at: int, warnings: list[str]) -> tuple[Mixer, int]:
    line = lines[at]
    if line.tag == "R":
        return _multirotor(line, warnings), at + 1
    if line.tag == "M":
        return _sum(lines, at, warnings)
    if line.tag == "H":
        return _helicopter(lines, at, warnings)
    if line.tag == "Z":
        _no_more(line, 0, warnings)
        return NullMixer(line.number), at + 1
    if line.tag in "OSTP":
        owner = {"O": "M:", "S": "M: or H:", "T": "H:", "P": "H:"}[line.tag]
        raise line.error(f"{line.tag}: without its mixer; it belongs after {owner}, which counts the S: lines it has")
    raise line.error(f"unknown tag '{line.tag}:'; known are R: M: O: S: H: T: P: Z:; begin a comment with '#'")


def _no_more(line: _Line, used: int, warnings: list[str]) -> None:
    if len(line.words) > used and not line.words[used][0].startswith(("#", "/")):
        word, column = line.words[used]
        warnings.append(f"line {line.number}, column {column}: '{_short(word)}' and what follows is ignored")


def _multirotor(line: _Line, warnings: list[str]) -> MultirotorMixer:
    if not line.words:
        raise line.error(f"R: without a geometry; known are {', '.join(GEOMETRIES)}", line.end)
    key, column = line.words[0]
    if key not in GEOMETRIES:
        raise line.error(str(UnknownNameError("geometry", _short(key), GEOMETRIES)), column)
    if len(line.words) == 1 or line.words[1][0].startswith(("#", "/")):
        return MultirotorMixer(line.number, GEOMETRIES[key])
    roll, pitch, yaw, idle = (value / UNIT for value in line.numbers(FIELDS["R"], skip=1))
    line.between(4, "idle speed", 0, UNIT, "it is a share of full speed")
    _no_more(line, 5, warnings)
    return MultirotorMixer(line.number, GEOMETRIES[key], roll, pitch, yaw, idle)


def _next(lines: list[_Line], at: int, tag: str, owner: _Line, need: str) -> _Line:
    if at >= len(lines):
        raise owner.error(f"{owner.tag}: {need}; the file ends before that")
    if lines[at].tag != tag:
        raise lines[at].error(f"{lines[at].tag}: where {tag}: is expected: {owner.tag}: in line {owner.number} {need}")
    return lines[at]


def _scaler(line: _Line, names: Sequence[str], skip: int) -> Scaler:
    values = line.numbers(names, skip=skip)
    line.between(skip + 2, "offset", -SLACK * UNIT, SLACK * UNIT, "outputs reach from -10000 to 10000")
    line.between(skip + 3, "lower limit", -SLACK * UNIT, SLACK * UNIT, "outputs reach from -10000 to 10000")
    line.between(skip + 4, "upper limit", values[3], SLACK * UNIT, "it must not be below the lower limit")
    return Scaler(*(value / UNIT for value in values))


def _sum(lines: list[_Line], at: int, warnings: list[str]) -> tuple[SumMixer, int]:
    head = lines[at]
    (inputs,) = head.numbers(FIELDS["M"])
    head.between(0, "control count", 0, 32, "PX4 takes up to 32 controls")
    _no_more(head, 1, warnings)
    at += 1
    output, travel = Scaler(), 0.0
    if at < len(lines) and lines[at].tag == "O":
        line = lines[at]
        output = _scaler(line, FIELDS["O"], 0)
        timed = len(line.words) > 5 and not line.words[5][0].startswith(("#", "/"))
        if timed:
            travel = line.number_at(5, "travel time") / UNIT
            line.between(5, "travel time", 0, 10**9, "it counts tenths of a millisecond")
        _no_more(line, 6 if timed else 5, warnings)
        at += 1
    controls = []
    for i in range(inputs):
        line = _next(lines, at + i, "S", head, f"needs {inputs} lines S:, found {i}")
        group, index = line.numbers(FIELDS["S"][:2])
        line.between(0, "group", 0, GROUPS - 1, "0 is flight control, 3 the pilot's sticks")
        line.between(1, "index", 0, CONTROLS - 1, "a group has eight controls")
        controls.append(Input(group, index, _scaler(line, FIELDS["S"][2:], 2)))
        _no_more(line, 7, warnings)
    return SumMixer(head.number, tuple(controls), output, travel), at + inputs


def _helicopter(lines: list[_Line], at: int, warnings: list[str]) -> tuple[HelicopterMixer, int]:
    head = lines[at]
    (servos,) = head.numbers(FIELDS["H"])
    head.between(0, "number of servos", 3, 4, "a swash plate has three or four")
    _no_more(head, 1, warnings)
    curves = []
    for offset, tag, low, need in ((1, "T", 0, "needs a throttle curve T:"), (2, "P", -UNIT, "needs a pitch curve P:")):
        line = _next(lines, at + offset, tag, head, need)
        curves.append(tuple(value / UNIT for value in line.numbers(FIELDS[tag])))
        for i, name in enumerate(FIELDS[tag]):
            line.between(i, name, low, UNIT, "a curve is a share of the full range")
        _no_more(line, 5, warnings)
    swash_servos = []
    for i in range(servos):
        line = _next(lines, at + 3 + i, "S", head, f"needs {servos} lines S:, found {i}")
        angle, arm, scale, offset, low, high = line.numbers(FIELDS["servo"])
        line.between(0, "angle", 0, 360, "in degrees clockwise from the nose")
        line.between(1, "arm length", 0, 10 * UNIT, "10000 is one")
        line.between(5, "upper limit", low, SLACK * UNIT, "it must not be below the lower limit")
        swash_servos.append(Servo(angle, arm / UNIT, scale / UNIT, offset / UNIT, low / UNIT, high / UNIT))
        _no_more(line, 6, warnings)
    return HelicopterMixer(head.number, curves[0], curves[1], tuple(swash_servos)), at + 3 + servos
