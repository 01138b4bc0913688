"""Writes docs/reference/api.md: the names that `import ironbird` offers, by task, with signatures and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import ironbird

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
SECTIONS = {  # title -> names, in reading order
    "Fly": "fly make_order Order Weather Home Mission load_mission Requirement Tuning load_order parse_order Trust",
    "Results": "Flight Judged Judgement Witness Log write_flight_folder",
    "Faults": "FAULTS Fault Injection parse_fault",
    "Campaigns": "load_suite FlightCase fly_all FlightResult Store run_campaign falsify shrink",
    "Vehicles and their analysis": "vehicle_ids load_vehicle Vehicle level_trim modes_at trim linearize",
    "Control systems": "system_names ControlSystem FunctionSystem Rig Kind Options Task Seat",
    "Control from outside": "connect aconnect RemoteVehicle AsyncRemoteVehicle Telemetry rehearsal",
    "Blocks and diagrams": "Block View Values Rates In Out State Param Noise Clock Diagram",
    "Models and runs": "compile_model CompiledModel start RunState run advance ParamEvent restore Episodes",
    "Errors": "IronbirdError",
}


def page() -> str:
    """The whole page."""
    told = [name for names in SECTIONS.values() for name in names.split()]
    missing, unknown = set(ironbird.__all__) - set(told), set(told) - set(ironbird.__all__)
    if missing or unknown:
        raise SystemExit(f"SECTIONS lacks {sorted(missing)} and has {sorted(unknown)}, which are not public")
    lines = [
        "# Python reference",
        "",
        "Written by `make docs` with `tools/write_api_reference.py`. Each name is there after `import ironbird as ib`;",
        "everything else is reached by its module and may change.",
        "",
    ]
    for title, names in SECTIONS.items():
        lines += [f"## {title}", ""]
        for name in names.split():
            lines += [*_entry(name, getattr(ironbird, name)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _entry(name: str, thing: Any) -> list[str]:
    module = getattr(thing, "__module__", "") or ""
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        kind = "dictionary of" if isinstance(thing, dict) else type(thing).__name__
        first = next(iter(thing.values())) if isinstance(thing, dict) else thing
        return [f"### `ib.{name}`", "", f"A {kind} {type(first).__name__} by id; listed by `ironbird fault list`."]
    lines = [f"### `ib.{name}`", "", f"`{module}`", ""]
    text = inspect.cleandoc(thing.__doc__ or "")
    if inspect.isfunction(thing):
        lines += ["```python", f"{name}{_signature(thing)}", "```", ""]
    lines += [text]
    if inspect.isclass(thing):
        lines += _members(thing)
    return lines


def _signature(function: Any) -> str:
    text = str(inspect.signature(function)).replace("''", '""')
    text = re.sub(r"(?<!\w)'([^']*)'", r"\1", text)  # annotations that are texts
    text = re.sub(r"ironbird\.[\w.]+\.(\w+)", r"\1", text)
    if len(text) < 100:
        return text
    inside = re.split(r", (?![^\[\(]*[\]\)])", text[1 : text.rindex(")")])
    return "(\n" + "".join(f"    {part},\n" for part in inside) + text[text.rindex(")") :]


def _members(thing: type) -> list[str]:
    rows = []
    if dataclasses.is_dataclass(thing):
        source = inspect.getsource(thing)
        for entry in dataclasses.fields(thing):
            said = re.search(rf"^    {entry.name}: .*?  # (.*)$", source, re.M)
            if not entry.name.startswith("_"):
                rows.append(f"- `{entry.name}`: `{_plain(entry.type)}`" + (f", {said[1]}" if said else ""))
    for name, value in vars(thing).items():
        if name.startswith("_"):
            continue
        target = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not inspect.isfunction(target) or not target.__doc__:
            continue
        first = inspect.cleandoc(target.__doc__).partition("\n")[0]
        call = "" if isinstance(value, property) else "()"
        rows.append(f"- `{name}{call}`: {first}")
    return ["", *rows] if rows else []


def _plain(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
