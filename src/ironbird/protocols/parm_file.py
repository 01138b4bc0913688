"""ArduPilot's .parm files: parameters by name, each with where its value comes from."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ironbird.errors import LinkError

NAME = re.compile(r"[A-Z][A-Z0-9_]{0,15}")
_APART = re.compile(r"[\s,=]+")


@dataclass(frozen=True)
class Param:
    """A parameter's value, and the reason for it."""

    value: float
    why: str = ""


Params = dict[str, Param]


def parse_parm(text: str, name: str = "parameters") -> Params:
    """Read a .parm file: a name and a number per line, apart by blanks, a tab, a comma or =; # begins a comment."""
    params: Params = {}
    for number, line in enumerate(text.splitlines(), start=1):
        body, _, why = line.partition("#")
        words = [word for word in _APART.split(body.strip()) if word]
        if not words:
            continue
        if len(words) < 2 or not NAME.fullmatch(words[0]):
            raise LinkError(f"{name}, line {number}: '{line.strip()[:60]}' is not a name and a number")
        try:
            value = float(words[1])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise LinkError(f"{name}, line {number}: {words[0]} needs a finite number, not '{words[1][:20]}'")
        params[words[0]] = Param(value, " ".join(why.split()))
    return params


def write_parm(params: Mapping[str, Param], title: str = "") -> str:
    """A .parm file that `parse_parm` reads back; each value with its reason."""
    lines = [f"# {' '.join(title.split())}"] if title else []
    for name, param in params.items():
        if not NAME.fullmatch(name) or not math.isfinite(param.value):
            raise LinkError(f"'{name}' = {param.value} is no parameter of ArduPilot")
        why = " ".join(param.why.replace("#", " ").split())
        lines.append(f"{name:<16} {param.value:.9g}" + (f"  # {why}" if why else ""))
    return "\n".join(lines) + "\n"


def merge(*layers: Mapping[str, Param]) -> Params:
    """Parameters of several layers merged; later layers override earlier ones."""
    merged: Params = {}
    for layer in layers:
        merged |= layer
    return merged
