"""Faults of users in a TOML file: which parameter or signal changes, in which part, by how much.

    schema = 1

    [[fault]]
    id = "mine.buzz@1"
    summary = "A loose motor mount: the accelerometer buzzes with the rotor."
    severity = "1 is an amplitude of 6 m/s^2"

    [[fault.change]]
    signal = "imu/{instance}/accel_fault.value"
    expression = "value + severity * 6 m/s^2 * sin(90 rad/s * time)"

A change is of a tunable `parameter` (its value times `scale`, plus `offset`, or `replace`d) or of a `signal`: any
output of a block of the vehicle; its readers then get the faulty value. A signal can be given by an `expression`, or
disturbed as those of sensors are (`EFFECTS`). Numbers are in SI; two of them are for severity 0 and 1, a single one
holds whatever the severity.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ironbird.errors import FaultError
from ironbird.faults.spec import SHAPES, Change, Fault, Offset, Replace, Scale, Tap, switch
from ironbird.files.problems import Problem, Source, grammar_words, other_kind, read_source, read_toml, schema_problems
from ironbird.files.toml_text import write_toml
from ironbird.units import UNITS

SCHEMA = 1
ID = r"^[a-z]\w*(\.[a-z]\w*)+@[1-9]\d{0,3}$"
PATH = r"^[\w{}/*]+\.\w+$"
PATTERNS = {
    ID: ("an id with a version", "write it as mine.buzz@1"),
    PATH: (
        "the path of a parameter or signal",
        "write it as rotor/{instance}/motor.health; see 'ironbird vehicle show VEHICLE'",
    ),
}
OWN = ("scale", "offset", "replace")  # effects on a parameter
# Effects on a signal as the parameters that they set of the disturbed copy; `blocks/sensors/signal_fault.py`
EFFECTS: dict[str, tuple[tuple[str, float | None], ...]] = {  # None: the number in the file
    "scale": (("scale", None),),
    "offset": (("offset", None),),
    "replace": (("replace", 1.0), ("replacement", None)),
    "drift": (("drift_rate", None),),
    "noise": (("noise", None),),
    "spike": (("spike_rate", 5.0), ("spike_size", None)),
    "delay": (("delay", None),),
    "freeze": (("stuck", 1.0),),
}
Text = Annotated[str, Field(strict=True, min_length=1, max_length=2000)]
Amount = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Amounts = Amount | list[Amount]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


def _wrong(text: str, cure: str, key: str = "") -> PydanticCustomError:
    return PydanticCustomError("ironbird", "{text}", {"text": text, "cure": cure, "key": key})


class ChangeTable(_Table):
    """Table of a change of one parameter or signal."""

    parameter: Annotated[str, Field(strict=True, pattern=PATH, description="a tunable parameter")] | None = None
    signal: Annotated[str, Field(strict=True, pattern=PATH, description="an output of a part")] | None = None
    scale: Annotated[Amounts, Field(description="times this")] | None = None
    offset: Annotated[Amounts, Field(description="plus this")] | None = None
    replace: Annotated[Amounts, Field(description="this instead")] | None = None
    drift: Annotated[Amounts, Field(description="signal: grows by this in each second")] | None = None
    noise: Annotated[Amounts, Field(description="signal: deviation of white noise")] | None = None
    spike: Annotated[Amounts, Field(description="signal: size of spikes of one sample, five a second")] | None = None
    delay: Annotated[Amounts, Field(description="signal: samples, up to 8")] | None = None
    freeze: Annotated[Literal[True], Field(description="signal: it stays as it is")] | None = None
    expression: (
        Annotated[Text, Field(description="signal: of value, severity, time and other signals, with units")] | None
    ) = None
    unit: Annotated[str, Field(strict=True, description="of the parameter or signal, in SI; checked")] | None = None

    @model_validator(mode="after")
    def _fits(self) -> ChangeTable:
        if (self.parameter is None) == (self.signal is None):
            raise _wrong("a change is of a parameter or of a signal", "give one of parameter and signal")
        effects = [key for key in (*EFFECTS, "expression") if getattr(self, key) is not None]
        if len(effects) != 1:
            offered = OWN if self.parameter else (*EFFECTS, "expression")
            raise _wrong(f"a change has one effect, not {len(effects)}", f"give one of {', '.join(offered)}")
        if self.parameter and effects[0] not in OWN:
            raise _wrong(f"{effects[0]} is no effect on a parameter", f"give one of {', '.join(OWN)}", effects[0])
        value = getattr(self, effects[0])
        if isinstance(value, list) and len(value) != 2:
            cure = "write one number, or two, for severity 0 and 1"
            raise _wrong(f"{len(value)} numbers do not fit here", cure, effects[0])
        if self.signal and "*" in self.signal:
            raise _wrong("a change is of one signal", "write {instance} for the part, or a change for each", "signal")
        if self.unit is not None and self.unit not in UNITS:
            raise _wrong(f"'{self.unit}' is no SI unit of a part", "write it as 'ironbird vehicle show' does", "unit")
        return self

    @property
    def effect(self) -> str:
        """The key of the effect, such as `scale`."""
        return next(key for key in (*EFFECTS, "expression") if getattr(self, key) is not None)


class FaultTable(_Table):
    """Table of one fault: its id, texts and changes."""

    id: Annotated[str, Field(strict=True, pattern=ID, description="family.name@version, such as mine.buzz@1")]
    summary: Annotated[Text, Field(description="what breaks, in a sentence")]
    severity: Annotated[Text, Field(description="what severity 0 to 1 means")] = "none: it is there or not"
    reference: Annotated[str, Field(strict=True, description="where it is described")] = ""
    witness: Annotated[str, Field(strict=True, pattern=PATH, description="signal that shows it")] | None = None
    keywords: Annotated[list[Text], Field(description="what people call it, for the search")] = []
    axis: (
        Annotated[int, Field(strict=True, ge=0, le=8, description="entry of a vector, if an order says none")] | None
    ) = None
    shape: Annotated[Literal["step", "ramp", "intermittent"], Field(description="if an order says none")] = "step"
    rise_s: Annotated[Amount, Field(gt=0, description="of a ramp")] | None = None
    period_s: Annotated[Amount, Field(gt=0, description="of an intermittent fault")] | None = None
    duty: Annotated[Amount, Field(gt=0, lt=1, description="of an intermittent fault")] | None = None
    change: Annotated[list[ChangeTable], Field(min_length=1, max_length=32)]

    @model_validator(mode="after")
    def _fits(self) -> FaultTable:
        times = {"step": (), "ramp": ("rise_s",), "intermittent": ("period_s",)}[self.shape]
        for key in times:
            if getattr(self, key) is None:
                raise _wrong(f"shape '{self.shape}' needs {key}", f"add {key} = 2.0", "shape")
        for key, shape in zip(("rise_s", "period_s", "duty"), (SHAPES[1], SHAPES[2], SHAPES[2]), strict=True):
            if getattr(self, key) is not None and self.shape != shape:
                raise _wrong(f"{key} has no meaning with shape '{self.shape}'", f'write shape = "{shape}"', key)
        if self.witness is None and not any(change.signal for change in self.change):
            raise _wrong(
                "no signal shows that the fault acts", 'add witness = "rotor/{instance}/motor.speed"', "witness"
            )
        return self

    def fault(self) -> Fault:
        """The fault that the table defines, as an object."""
        changes: list[Change] = []
        taps: list[Tap] = []
        counts = any("{instance}" in (c.parameter or c.signal or "") for c in self.change)
        for number, change in enumerate(self.change, 1):
            if change.parameter is not None:
                changes.append(Change(change.parameter, _amount(change.effect, change), change.unit or ""))
                continue
            assert change.signal is not None
            path = f"fault/{re.sub(r'[^a-z0-9]+', '_', self.id.lower())}/{number}" + ("/{instance}" if counts else "")
            taps.append(Tap(path, change.signal, change.expression or "", change.unit or ""))
            varies = change.expression is not None and re.search(r"\bseverity\b", change.expression) is not None
            changes.append(Change(f"{path}.severity", Replace(0.0, 1.0) if varies else switch()))
            for param, value in EFFECTS.get(change.effect, ()):
                effect = _amount(change.effect, change) if value is None else switch(value)
                changes.append(Change(f"{path}_copy.{param}", effect))
        usual = {key: getattr(self, key) for key in ("shape", "rise_s", "period_s", "duty")}
        return Fault(
            id=self.id,
            summary=self.summary,
            changes=tuple(changes),
            severity=self.severity.replace("{", "{{").replace("}", "}}"),
            reference=self.reference,
            witness=self.witness or f"{taps[0].path}.value",
            axis=self.axis,
            keywords=tuple(self.keywords),
            taps=tuple(taps),
            usual={key: value for key, value in usual.items() if value is not None} if self.shape != "step" else {},
            definition=_text(self),
        )


class FaultFile(_Table):
    """Content of a file of faults."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    fault: Annotated[list[FaultTable], Field(min_length=1, max_length=1000)]


def _amount(effect: str, change: ChangeTable) -> Scale | Offset | Replace:
    """The effect on a parameter: the vehicle's own, or that of the disturbed copy (neutral without the fault)."""
    value = getattr(change, effect)
    low, high = value if isinstance(value, list) else (value, value)
    kinds: dict[str, type[Scale | Offset | Replace]] = {"scale": Scale, "offset": Offset}
    return kinds.get(effect, Replace)(float(low), float(high))


def _text(table: FaultTable) -> str:
    data = table.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return write_toml({"schema": SCHEMA, "fault": [data]}, ("fault",))


def files_of(path: Path) -> list[Path]:
    """The TOML files of a folder, or the file itself."""
    return sorted(path.glob("*.toml")) if os.path.isdir(path) else [path]  # os.path.isdir accepts any text


def read_faults_file(path: Path) -> dict[str, Fault]:
    """All faults of a file, or of the TOML files of a folder, by id; an error lists every problem with its place."""
    files = files_of(path)
    if not files:
        raise FaultError(f"{path}: there is no TOML file in this folder; give a file of faults, or a folder of such")
    faults: dict[str, Fault] = {}
    for file in files:
        source = read_source(file, "give a file of faults, or a folder of such; see docs/guide/own-faults.md")
        if isinstance(source, Problem):
            raise FaultError(str(source))
        merge(faults, _faults_of(source), str(file))
    return faults


def faults_in(text: str) -> dict[str, Fault]:
    """Faults defined in the text of a file; an injection stores such a text for a user's fault."""
    try:
        return _faults_of(Source(Path("definition"), read_toml(text), text))
    except tomllib.TOMLDecodeError as error:
        raise FaultError(f"the definition of a fault is not valid TOML: {error}") from None


def definitions_text(faults: Sequence[Fault]) -> str:
    """Text of a file that defines some faults of users."""
    tables = [table for fault in faults for table in read_toml(fault.definition)["fault"]]
    return write_toml({"schema": SCHEMA, "fault": tables}, ("fault",))


def _faults_of(source: Source) -> dict[str, Fault]:
    problems = other_kind(source, "fault") or schema_problems(source, SCHEMA)
    if not problems:
        try:
            tables = FaultFile.model_validate(source.data).fault
        except ValidationError as error:
            problems = [
                source.problem(*words) for words in grammar_words(FaultFile, source.data, error, patterns=PATTERNS)
            ]
    if problems:
        raise FaultError("\n".join(map(str, problems)))
    faults: dict[str, Fault] = {}
    for number, table in enumerate(tables):
        if table.id in faults:
            raise FaultError(str(source.problem(("fault", number, "id"), f"'{table.id}' is there twice", "rename one")))
        faults[table.id] = table.fault()
    return faults


def merge(known: dict[str, Fault], more: Mapping[str, Fault], where: str) -> None:
    """Add more faults of users to the known ones; raises if one id has two definitions."""
    for name, fault in more.items():
        if name in known and known[name] != fault:
            raise FaultError(f"{where}: '{name}' has another definition already; give it another name or version")
        known[name] = fault


def definition_of(fault: Fault) -> Fault:
    """A fault that was made in Python, as if it came from a file; its targets are parameters."""
    if fault.definition:
        return fault

    def words(change: Change) -> dict[str, Any]:
        ends = [change.effect.at_0, change.effect.at_1]
        unit = {"unit": change.unit} if change.unit else {}
        return {"parameter": change.target, change.effect.effect: ends, **unit}

    data = {key: getattr(fault, key) for key in ("id", "summary", "severity", "reference", "witness", "axis")}
    data |= {"keywords": list(fault.keywords), "change": [words(change) for change in fault.changes], **fault.usual}
    try:
        return FaultTable.model_validate({key: value for key, value in data.items() if value is not None}).fault()
    except ValidationError as error:
        path, message, cure = grammar_words(FaultTable, data, error, patterns=PATTERNS)[0]
        raise FaultError(f"fault {fault.id}: {'.'.join(map(str, path))}: {message}; {cure}") from None
