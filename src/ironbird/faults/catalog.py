"""Catalogue of all faults by id, and the text form in which they are injected."""

from __future__ import annotations

import difflib
import functools
import math
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ironbird.errors import LONGEST_NAME, FaultError, IronbirdError, IronbirdWarning, UnknownNameError, shortened
from ironbird.faults import (
    battery,
    environment,
    firmware,
    link,
    load,
    rotor,
    route,
    sensor,
    sight,
    steering,
    surface,
    water,
    wheel,
    wire,
)
from ironbird.faults.file import definition_of, faults_in, files_of, merge, read_faults_file
from ironbird.faults.spec import Fault, Injection
from ironbird.files.registry import Registry
from ironbird.files.same_keys import meant_keys

FAMILIES = (
    sensor, rotor, surface, steering, wheel, battery, load, link, environment, water, firmware, wire, route, sight,
)  # fmt: skip
FAULTS: dict[str, Fault] = {fault.id: fault for family in FAMILIES for fault in family.FAULTS}  # Ironbird's own
USERS = Registry[Any]("faults", {}, object, what="file of faults", listed_by="ironbird fault list", error=FaultError)


class Catalogue(Mapping[str, Fault]):
    """Ironbird's own faults, then those of files, of the variable IRONBIRD_FAULTS and of installed packages.

    A home in the variable or of a package is a file of faults, a folder of such, a `Fault`, or a list of them.
    """

    def __init__(self, files: Iterable[str | Path] = ()) -> None:
        self._files = tuple(Path(file) for file in files)

    def __repr__(self) -> str:
        return f"Catalogue({', '.join(map(str, self._files))})"

    def users(self) -> dict[str, Fault]:
        """Faults that are not Ironbird's own, by id."""
        faults: dict[str, Fault] = {}
        for file in self._files:
            merge(faults, _of_file(file, _stamp(file)), str(file))
        for name in USERS:
            try:
                merge(faults, _of_home(name), f"{USERS.variable}, {name}")
            except IronbirdError as error:  # a fault of a package: the others can still be used
                if name in USERS.named():
                    raise
                warnings.warn(str(error), IronbirdWarning, stacklevel=2)
        _check_names(faults)
        return faults

    def __getitem__(self, name: str) -> Fault:
        users = (
            self.users() if self._files or name not in FAULTS else {}
        )  # a file that redefines one of Ironbird's names raises
        return FAULTS[name] if name in FAULTS else users[name]

    def __contains__(self, name: object) -> bool:
        return name in FAULTS or name in self.users()

    def __iter__(self) -> Iterator[str]:
        return iter([*FAULTS, *self.users()])

    def __len__(self) -> int:
        return len(FAULTS) + len(self.users())


def _check_names(faults: Iterable[str]) -> None:
    """Raise if a user's fault has the name of one of Ironbird's own."""
    taken = [name for name in faults if name in FAULTS]
    if taken:
        raise FaultError(f"'{taken[0]}' is a fault of Ironbird; give your own another name or version")


def _of_home(name: str) -> Mapping[str, Fault]:
    part = USERS.load(name)
    if isinstance(part, str | Path):
        return _of_file(Path(part), _stamp(Path(part)))
    faults = list(part) if isinstance(part, list | tuple) else [part]
    if not all(isinstance(fault, Fault) for fault in faults):
        raise FaultError(
            f"{USERS.variable}, {name}: a {type(part).__name__} is no Fault, list of such, or path of a file"
        )
    return {fault.id: definition_of(fault) for fault in faults}


def _stamp(path: Path) -> tuple[tuple[str, int], ...]:
    """Value that changes when a file, or one in a folder, is modified."""
    return tuple((str(file), file.stat().st_mtime_ns) for file in files_of(path) if os.path.isfile(file))


@functools.lru_cache(maxsize=64)
def _of_file(path: Path, stamp: tuple[tuple[str, int], ...]) -> Mapping[str, Fault]:
    return read_faults_file(path)


KNOWN = Catalogue()


def words_of(fault: Fault) -> str:
    """All words by which a fault can be searched."""
    extra = [words for family in FAMILIES for begin, words in family.KEYWORDS.items() if fault.id.startswith(begin)]
    return " ".join([fault.id, fault.summary, *extra, *fault.keywords, fault.needs])


def search(text: str, among: Iterable[Fault]) -> list[Fault]:
    """Faults that match all words of a text, by their beginnings: `motor`, `GPS`, `compass noise`."""
    terms = text.lower().split()
    matches = []
    for fault in among:
        words = " " + " ".join(re.split(r"[\W_]+", words_of(fault).lower()))
        if all(f" {word}" in words or word in fault.id for word in terms):
            matches.append(fault)
    return matches


def unknown_fault(name: str, known: Mapping[str, Fault] = KNOWN) -> UnknownNameError:
    """The error for a name that no fault has: near names by spelling, else faults by what people call them."""
    meant: list[str] = []
    if len(name) <= LONGEST_NAME and not difflib.get_close_matches(name, list(known), n=1, cutoff=0.6):
        words = [word for word in re.split(r"[\W_]+", name.lower()) if len(word) > 1]
        found = search(" ".join(words), known.values()) if words else []
        for word in () if found else words:  # the first word that fits alone
            found = found or search(word, known.values())
        meant = [fault.id for fault in sorted(found, key=lambda fault: fault.id.split(".")[0] not in COMMON)]
    return UnknownNameError("fault", name, known, listed_by="ironbird fault list", meant=meant)


COMMON = ("rotor", "gnss", "imu", "mag", "baro", "battery")  # families that come first among equals
KEYS = ("instance", "axis", "severity", "start", "end", "shape", "rise", "period", "duty", "duration")
WORDS = ("instance", "shape", "when", "definition")  # keys whose values may be words instead of numbers
GRAMMAR = (
    "ID:key=value,…[,when=PREDICATE]  keys: " + ", ".join(KEYS) + " (times in seconds, severity 0 to 1, axis 0 to 2, "
    "instance the number or name of a part); "
    "with when, times count from the moment at which the predicate on signals first holds"
)


def parse_fault(text: str, known: Mapping[str, Fault] = KNOWN) -> Injection:
    """Read a fault from a text: the inverse of `Injection.text`.

    Parameters
    ----------
    text : str
        Id, then what differs from the default: `rotor.speed_loss@1:instance=1,severity=0.2,start=5`, times in s.
    known : mapping of str to Fault, default the catalogue
        Faults by id; those of Ironbird, of packages and of the user by default.

    Returns
    -------
    Injection
        The fault with part, severity and times.

    Raises
    ------
    UnknownNameError
        If there is no such fault; the nearest one is named.
    FaultError
        If a value is not possible.

    Examples
    --------
    >>> fault = ib.parse_fault("rotor.speed_loss@1:instance=2,severity=0.2,start=5")
    >>> fault.instance, fault.severity, fault.start_s
    (2, 0.2, 5.0)
    """
    name, _, rest = text.partition(":")
    name = name.strip()
    if name not in known:
        raise unknown_fault(name, known)
    table: dict[str, Any] = {"id": name}
    rest, when, predicate = rest.partition("when=")
    for part in filter(None, (p.strip() for p in rest.split(","))):
        key, equals, value = (s.strip() for s in part.partition("="))
        if not equals:
            raise FaultError(
                f"fault '{shortened(text)}': '{shortened(part)}' is not key=value; the grammar is {GRAMMAR}"
            )
        if key not in KEYS:
            unknown = UnknownNameError("key", key, KEYS, meant=meant_keys(key, (*KEYS, "when")))
            raise FaultError(f"fault '{shortened(text)}': {unknown}")
        name_in_table = f"{key}_s" if key in ("start", "end", "rise", "period", "duration") else key
        if name_in_table in table:
            raise FaultError(f"fault '{shortened(text)}': {key} is given twice; leave one out")
        table[name_in_table] = _value(text, key, value)
    if when:
        table["when"] = predicate
    if "instance" in table and not known[name].counts_instances:
        raise FaultError(f"fault '{shortened(text)}': {name} has no instances; leave the key out")
    return read_fault(table, known=known)


def _value(text: str, key: str, value: str) -> float | str:
    if key == "instance":
        return int(value) if value.isascii() and value.isdecimal() and len(value) <= 9 else value
    if key in WORDS:
        return value
    try:
        number = int(value) if key == "axis" and len(value) <= 9 else float(value)
    except ValueError:
        raise FaultError(
            f"fault '{shortened(text)}': {key} needs a number, got '{shortened(value)}'{_cure(key, value)}"
        ) from None
    if not math.isfinite(number) or (key == "axis" and not isinstance(number, int)):
        raise FaultError(f"fault '{shortened(text)}': {key} must be finite, got '{shortened(value)}'")
    return number


def _cure(key: str, value: str) -> str:
    """What to write in place of a number with a unit or per cent; empty if it begins with none."""
    found = re.match(r"[+-]?[0-9]*\.?[0-9]+", value)
    if key == "axis":
        return "; write 0, 1 or 2"
    if key in ("severity", "duty"):
        number = float(found[0]) / (100 if value.endswith("%") else 1) if found else math.nan
        return f"; write a share from 0 to 1, for example {number if 0 <= number <= 1 else 0.2:g}"
    return f"; write seconds without a unit, for example {key}={found[0] if found else 5}"


def read_fault(table: Mapping[str, Any], *, old: bool = False, known: Mapping[str, Fault] = KNOWN) -> Injection:
    """An injection from a table of a case file without ranges; the inverse of `Injection.table`.

    A table with a definition uses it, even if the file of the fault has moved.

    With `old`, a severity is ignored for faults that have none: earlier versions accepted and recorded it.
    """
    values: dict[str, Any] = {key: v if key in WORDS else float(v) for key, v in table.items() if key != "id"}
    if isinstance(values.get("instance"), float):
        values["instance"] = int(values["instance"])
    if "axis" in values:
        values["axis"] = int(values["axis"])
    if "duration_s" in values and "end_s" in values:
        raise FaultError(f"{table['id']}: both end and duration are given; keep one")
    if "duration_s" in values:
        values["end_s"] = values.get("start_s", 0.0) + values.pop("duration_s")
    fault = find_fault(table["id"], values.pop("definition", ""), known)
    if fault.usual and "shape" not in values:
        values = {**fault.usual, **values}
    if old and not fault.has_severity:
        values.pop("severity", None)
    return Injection(fault, **values)


def find_fault(name: str, definition: str = "", known: Mapping[str, Fault] = KNOWN) -> Fault:
    """A fault by its definition if it has one, else by its name."""
    if not definition:
        if name not in known:
            raise unknown_fault(name, known)
        return known[name]
    defined = _of_definition(definition)
    if name in FAULTS and name not in defined:  # a case that varies the fault contains its definition as well
        return FAULTS[name]
    _check_names(defined)
    if name not in defined:
        raise FaultError(f"the definition of '{name}' is of {', '.join(defined)}; give one of {name}")
    return defined[name]


@functools.lru_cache(maxsize=256)
def _of_definition(text: str) -> Mapping[str, Fault]:
    return faults_in(text)
