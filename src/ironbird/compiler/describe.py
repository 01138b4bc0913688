"""Hash of a diagram's content: equal for equal diagrams, in any process and on any machine."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass

import numpy as np

from ironbird.model.block import Block

DEEPEST = 40  # limit for nested containers
PLAIN = (str, int, float, bool, complex, bytes, type(None))


class NotPlainError(Exception):
    """A value cannot be described, because its content is not accessible (a function, for instance)."""


def description_of(value: object) -> str | None:
    """SHA-256 of a diagram (or any plain value); None if it holds what cannot be described, a function for instance."""
    parts: list[str] = []
    try:
        _describe(value, parts, 0)
    except NotPlainError:
        return None
    return hashlib.sha256("".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _describe(value: object, parts: list[str], depth: int) -> None:
    kind = type(value)
    if kind in PLAIN:  # the repr of a float is exact, and differs for 1, 1.0 and True
        parts.append(f"{value!r},")
        return
    if depth > DEEPEST:
        raise NotPlainError
    parts.append(f"{kind.__module__}.{kind.__qualname__}(")
    if kind is dict:
        for key, entry in value.items():  # type: ignore[attr-defined]
            _describe(key, parts, depth + 1)
            parts.append(":")
            _describe(entry, parts, depth + 1)
    elif kind in (list, tuple):
        for entry in value:  # type: ignore[attr-defined]
            _describe(entry, parts, depth + 1)
    elif isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise NotPlainError
        parts.append(f"{value.dtype.str}{value.shape}{value.tobytes().hex()}")
    elif isinstance(value, Block):
        for name, entry in vars(value).items():
            if name != "equations":  # derived from the other attributes
                parts.append(f"{name}=")
                _describe(entry, parts, depth + 1)
    elif is_dataclass(value):
        for field in fields(value):
            parts.append(f"{field.name}=")
            _describe(getattr(value, field.name), parts, depth + 1)
    else:
        raise NotPlainError
    parts.append("),")
