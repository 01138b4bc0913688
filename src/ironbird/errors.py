"""Every exception that Ironbird raises on purpose.

IronbirdError
├── ModelError            a block or diagram is wrong
│   ├── ConnectError      two ports that do not fit
│   ├── LoopError         an algebraic loop
│   └── ValidationError   all problems of a diagram, collected
├── CompileError          the native compiler refused or is missing
├── RunError              a run cannot start or continue
├── VehicleError          a vehicle file is missing or wrong; holds all problems
├── MissionError          a mission file is missing or wrong; holds all problems
├── OrderError            a flight's order is missing or wrong
├── CaseError             test cases or suites are missing or wrong; holds all problems
├── WorldError            a world, or a file that it takes, is missing or wrong; holds all problems
├── MixerError            a mixer file is missing or wrong; says line and column
├── FaultError            a fault is unknown or does not fit the vehicle
├── LinkError             a control system outside does not answer, or what it says cannot be read
├── RecordError           a record of a flight cannot be compared, or nothing follows from it
├── ExportError           a part of a vehicle cannot leave as code, or not in this way
├── StoreError            the store of campaigns is missing or refuses
├── ConditionError        a condition (of a requirement or a trigger) cannot be read
├── RequirementError      a requirement or a score is wrong, or a trace does not fit it
└── UnknownNameError      a name that is not known; says the nearest one

A message says what is wrong, where (the full path), both values, and the likely cure.

Beside them the warnings of IronbirdWarning. UnitsWarning: a trigger is written without units, which is read as SI; it
shows the new text. PlausibilityWarning: a number is possible, but so unlikely that it should be checked.
SecurityWarning: a connection to another computer can be read or forged.
CacheWarning: something in the cache of native code is not used, and built again.
StoreWarning: others can change a store of campaigns.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

SHOWN = 80  # signs of a wrong value that a message shows
LONGEST_NAME = 200  # of what near names are looked for
MOST_NEAR = 3  # near names in a message
MOST_LISTED = 12  # known names in a message


def shortened(value: object, most: int = SHOWN) -> str:
    """A wrong value for a message: its beginning, if it is long."""
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


class IronbirdError(Exception):
    """Base of all errors that a user can cause and cure; the others are in `ironbird.errors`.

    Examples
    --------
    >>> try:
    ...     ib.fly("quad_f405")
    ... except ib.IronbirdError as error:
    ...     print(error)
    unknown vehicle 'quad_f405'; did you mean 'quad_f450' or ...
    """


class ModelError(IronbirdError):
    """A block or diagram is wrong."""


class ConnectError(ModelError):
    """Two ports that do not fit together."""

    def __init__(self, source: str, target: str, reason: str) -> None:
        super().__init__(f"cannot connect {source} to {target}: {reason}")
        self.source = source
        self.target = target
        self.reason = reason


class ReplaceError(ModelError):
    """A part that does not fit where another one was; `problems` holds one sentence each."""

    def __init__(self, path: str, part: str, problems: list[str]) -> None:
        super().__init__(f"cannot replace {path} by {part}:\n" + "\n".join(f"  - {p}" for p in problems))
        self.problems = problems


class LoopError(ModelError):
    """An algebraic loop; `loop` lists the ports in order, the first one again at the end."""

    def __init__(self, loop: list[str]) -> None:
        super().__init__(
            "algebraic loop: "
            + " -> ".join(loop)
            + "; break it with a state (a lag or a sampled block) at one of these ports"
        )
        self.loop = loop


class ValidationError(ModelError):
    """All problems of a diagram at once; `problems` holds one sentence each."""

    def __init__(self, name: str, problems: list[str]) -> None:
        count = f"{len(problems)} problem" + ("s" if len(problems) != 1 else "")
        super().__init__(f"diagram '{name}' has {count}:\n" + "\n".join(f"  - {p}" for p in problems))
        self.problems = problems


class CompileError(IronbirdError):
    """The native compiler refused or is missing."""


class RunError(IronbirdError):
    """A run cannot start or continue."""


class VehicleError(IronbirdError):
    """A vehicle file is missing or wrong; `problems` holds one entry each, those of a file with place and cure."""

    def __init__(self, *problems: object) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = list(problems)


class MissionError(IronbirdError):
    """A mission file is missing or wrong; `problems` holds one entry each, those of a file with place and cure."""

    def __init__(self, *problems: object) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = list(problems)


class WorldError(IronbirdError):
    """A world, or a file that it takes, is missing or wrong; `problems` holds one entry each, with place and cure."""

    def __init__(self, *problems: object) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = list(problems)


class ScenarioError(IronbirdError):
    """A scenario file is wrong, or cannot be flown; `problems` holds one entry each, with place and cure."""

    def __init__(self, *problems: object) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = list(problems)


class OrderError(IronbirdError):
    """A flight's order is missing or wrong."""


class CaseError(IronbirdError):
    """Test cases or suites are missing or wrong; `problems` holds one entry each, with its place and cure."""

    def __init__(self, where: str, problems: Sequence[object]) -> None:
        count = f"{len(problems)} problem" + ("s" if len(problems) != 1 else "")
        super().__init__(f"{where} has {count}:\n" + "\n".join(f"  - {p}" for p in problems))
        self.problems = list(problems)


class MixerError(IronbirdError):
    """A mixer file is missing or wrong; `line` and `column` count from 1 and are 0 when the whole file is meant."""

    def __init__(self, reason: str, line: int = 0, column: int = 0, where: str = "") -> None:
        place = f"line {line}, column {column}" if line else ""
        super().__init__(": ".join(part for part in (where, place, reason) if part))
        self.reason = reason
        self.line = line
        self.column = column


class FaultError(IronbirdError):
    """A fault is unknown or does not fit the vehicle."""


class ConditionError(IronbirdError):
    """The condition of a requirement or of a trigger cannot be read; the message shows the place."""


class RequirementError(IronbirdError):
    """A requirement or a score is wrong, or a trace does not fit it."""


class LinkError(IronbirdError):
    """A control system outside does not answer, or what it says cannot be read."""


class RecordError(IronbirdError):
    """A record of a flight is broken, or nothing follows from it; it is refused, never judged."""


class ExportError(IronbirdError):
    """A part of a vehicle cannot leave as code, or not in this way."""


class StoreError(IronbirdError):
    """The store of campaigns is missing or refuses."""


class UnknownNameError(IronbirdError):
    """A name that is not known, with the nearest known ones as a hint, or else some of them, or what lists them.

    `meant` holds names that fit by their meaning; they take the place of those that are spelled alike.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        where: str = "",
        listed_by: str = "",
        meant: Sequence[str] = (),
    ) -> None:
        names = sorted(set(known))
        near = list(meant[:MOST_NEAR])
        if not near and len(name) <= LONGEST_NAME:
            near = difflib.get_close_matches(name, names, n=MOST_NEAR, cutoff=0.5)
        if not near:
            lowered = name.lower()
            among = name and lowered in "\n".join(names).lower()  # one look at all takes less than one at each
            near = [n for n in names if lowered in n.lower()][:3] if among else []
        hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        if not near and len(names) <= MOST_LISTED:
            hint = f"; known: {', '.join(names)}" if names else "; there is none yet"
        elif not near and listed_by:
            hint = f"; '{listed_by}' lists them"
        elif not near:
            hint = f"; known: {', '.join(names[:MOST_LISTED])}, … ({len(names)} in all)"
        place = f" in {where}" if where else ""
        super().__init__(f"unknown {kind} '{shortened(name)}'{place}{hint}")
        self.kind = kind
        self.name = name
        self.near = near


class IronbirdWarning(UserWarning):
    """Base of what people should know although the work goes on."""


class SecurityWarning(IronbirdWarning):
    """A connection to another computer that others can read or forge."""


class UnitsWarning(IronbirdWarning):
    """A trigger's text without units, read as SI; the message shows the text with units."""


class PlausibilityWarning(IronbirdWarning):
    """A number of a vehicle or an order is possible, but so unlikely that it should be checked."""


class CacheWarning(IronbirdWarning):
    """Something in the cache of native code is damaged or another user's; it is built again."""


class StoreWarning(IronbirdWarning):
    """Others can change a store of campaigns."""
