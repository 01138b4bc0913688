"""Control systems by name.

`reference` and `truth` are parts of the vehicle's own diagram and run in the kernel. All others are external, each a
`Kind` in a separate folder and one line here. More of them come from installed packages (entry points of the group
`ironbird.systems`) or from the variable IRONBIRD_SYSTEMS (`toy=toy_system.py:TOY,other=package.module:KIND`).
A case file only names a control system; it never says where its code is.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ironbird.errors import OrderError, UnknownNameError
from ironbird.files.registry import Registry

if TYPE_CHECKING:
    from ironbird.rig.system import Kind, Options

INSIDE = {"reference": "reference autopilot", "truth": "on the true state"}  # name -> title
OUTSIDE: Registry[Kind] = Registry(
    "systems",
    {
        "px4": "ironbird.systems.px4.kind:PX4",
        "ardupilot": "ironbird.systems.ardupilot.kind:ARDUPILOT",
        "hardware": "ironbird.systems.hardware.kind:HARDWARE",
        "commanded": "ironbird.systems.commanded.kind:COMMANDED",
        "fmu": "ironbird.systems.fmu.kind:FMU",
        "fmu-plant": "ironbird.systems.fmu.kind:FMU_PLANT",
        "autopilot_image": "ironbird.systems.autopilot_image.kind:AUTOPILOT_IMAGE",
        "chips": "ironbird.systems.chips.kind:CHIPS",
        "policy": "ironbird.systems.policy.kind:POLICY",
    },
    "ironbird.rig.system:Kind",
    what="control system",
    listed_by="ironbird system list",
    error=OrderError,
)


def system_names() -> list[str]:
    """Names of all control systems that may fly an order.

    Returns
    -------
    list of str
        For `control` of `ib.fly`; `ironbird system list` says what each is.

    Examples
    --------
    >>> {"reference", "truth", "px4"} <= set(ib.system_names())
    True
    """
    return [*INSIDE, *OUTSIDE]


def is_outside(control: str) -> bool:
    """Whether a control system is external: not part of the vehicle's own diagram."""
    return control not in INSIDE


def repeats(control: str, options: Mapping[str, Any], script: str) -> bool:
    """Whether an order with this control system gives the same bytes again."""
    if not is_outside(control):
        return True
    if control not in OUTSIDE:
        return False
    kind = kind_of(control)
    return kind.repeats(read_options(kind, options), script)


def kind_of(control: str) -> Kind:
    """The kind of an external control system, by name."""
    if control not in OUTSIDE:
        raise UnknownNameError("control system", control, system_names(), listed_by="ironbird system list")
    kind = OUTSIDE.load(control)
    if missing := [key for key in ("name", "title", "summary") if not isinstance(getattr(kind, key, None), str)]:
        raise OrderError(f"control system '{control}' at {OUTSIDE[control]} has no {missing[0]}: give its Kind a text")
    return kind


def loadable_kinds() -> Iterator[Kind]:
    """Kinds of external control systems; one of another package that cannot be loaded is left out."""
    return (kind for _, kind in OUTSIDE.loadable())


def code_of(control: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Files outside Ironbird that a control system consists of, each with its hash.

    They are its programs, the file of its kind, and the modules that this imports from outside installed packages.
    """
    if not is_outside(control):
        return {}
    kind = kind_of(control)
    files = [Path(file) for file in kind.programs(read_options(kind, options))]
    files += OUTSIDE.files_of(control)
    return {str(file): _hash(file, file.stat().st_mtime_ns) for file in files if file.is_file()}


@functools.lru_cache(maxsize=64)
def _hash(file: Path, changed_ns: int) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def title_of(control: str) -> str:
    """Name of a control system on pages."""
    if control in INSIDE:
        return INSIDE[control]
    return kind_of(control).title if control in OUTSIDE else control


def read_options(kind: Kind, given: Mapping[str, Any]) -> Options:
    """The options of a control system as its kind declares them."""
    options = kind.options_for(given)
    try:
        return options.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            unknown = UnknownNameError("option", key, options.model_fields, f"control '{kind.name}'")
            raise OrderError(str(unknown)) from None
        raise OrderError(f"option {key} of control '{kind.name}': {first['msg']} (got {first['input']!r})") from None
