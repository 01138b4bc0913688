"""What people call keys of files and command lines, for hints."""

from __future__ import annotations

from collections.abc import Iterable

SAME = {  # what people call a key -> the key, without its unit
    "at": "start", "begin": "start", "from": "start", "onset": "start", "finish": "end", "stop": "end", "to": "end",
    "until": "end", "lasts": "duration", "length": "duration", "amount": "severity", "level": "severity",
    "size": "severity", "strength": "severity", "motor": "instance", "number": "instance", "part": "instance",
    "rotor": "instance", "trigger": "when",
}  # fmt: skip


def meant_keys(name: str, known: Iterable[str]) -> list[str]:
    """Known keys that mean the same as a name, with or without a unit."""
    key = SAME.get(name.lower().removesuffix("_s"))
    return [one for one in known if key is not None and one in (key, f"{key}_s")]
