"""Writes docs/reference/api.md: the names that `import ironbird` offers, by task, with examples and arguments."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ironbird
from ironbird.flight.order import Ordered, make_order

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"


@dataclass(frozen=True)
class Group:
    """Names that belong to one task."""

    words: str  # what it is for
    example: str
    names: str  # in reading order; | parts the functions to begin with from the rest


GROUPS = {
    "Fly": Group(
        "One flight of one vehicle, several vehicles on one clock, or a scenario in which vehicles meet.",
        """
flight = ib.fly("quad_f450", mission="square", weather=ib.Weather(5.0, 270.0), seed=1)
print(flight.verdict, flight.judged.sentence)
again = ib.fly(flight.order)  # the same bytes: again.sha256 == flight.sha256
""",
        "fly fly_together fly_scenario make_order load_order parse_order load_mission load_world | "
        "Flight ScenarioFlight Order Weather Home Mission Tuning Trust",
    ),
    "Judge": Group(
        "What must hold during a flight, and what the judge says of it.",
        """
flight = ib.fly("quad_f450", mission="hover", until_s=10.0, requirements=["no_crash", "always (tilt < 20 deg)"])
for judgement in flight.judged.judgements:
    print(judgement.name, judgement.status, judgement.margin, judgement.unit)
""",
        "Requirement | Judged Judgement Witness",
    ),
    "Campaigns": Group(
        "Many test cases: flown, judged, stored, compared; and the search for what makes them fail.",
        """
campaign = ib.campaign("regression", sample=4, name="nightly")
print(campaign.verdicts, campaign.report())
print(campaign.frame()[["flight", "verdict", "margin"]])
""",
        "campaign open_campaign case_check search load_suite fly_all run_campaign falsify shrink | "
        "Campaign Difference SearchResult Suite FlightCase FlightResult Problem Store",
    ),
    "Vehicles": Group(
        "Vehicles of the catalogue and of your own: load, import, analyse, tune, compare with records, export.",
        """
trimmed = ib.level_trim("quad_f450")
print([mode.name for mode in ib.modes_at(trimmed)])
print(ib.margins("quad_f450", ["roll"])["roll"].phase_deg)
""",
        "vehicle_ids load_vehicle vehicle_path import_vehicle export level_trim modes_at trim linearize margins "
        "step_response autotune identify compare_records | Vehicle ImportedVehicle Exported Identified Credibility",
    ),
    "Faults": Group(
        "What breaks: [all faults](faults.md) by id, and how one is ordered for a flight.",
        """
fault = ib.parse_fault("rotor.speed_loss@1:instance=1,severity=0.2,start=5")
flight = ib.fly("quad_f450", mission="hover", until_s=10.0, faults=[fault])
print(flight.witnesses[0].sentence())
""",
        "parse_fault | FAULTS Fault Injection",
    ),
    "Logs": Group(
        "Signals over time, in memory and in files.",
        """
flight = ib.fly("quad_f450", mission="hover", until_s=5.0)
ib.write_flight_folder(flight, "out/hover")
print(ib.read_log("out/hover/flight.parquet").to_pandas().describe())
""",
        "read_log read_record write_flight_folder write_flight_page | Log",
    ),
    "Connect": Group(
        "A program that flies a vehicle over MAVLink: a simulated one, PX4, ArduPilot, or a real one.",
        """
with ib.rehearsal("quad_f450") as address, ib.connect(address) as vehicle:
    vehicle.arm()
    vehicle.take_off(5.0)
""",
        "connect aconnect rehearsal | RemoteVehicle AsyncRemoteVehicle Telemetry",
    ),
    "Extend": Group(
        "Control systems, blocks and models of your own, and runs step by step.",
        """
model = ib.compile_model(ib.load_vehicle("quad_f450", control="truth").diagram)
state = ib.start(model, lanes=8, seed=1)  # eight vehicles side by side
print(ib.run(state, until_s=2.0, log=["body.p_NB_N"]).lane("body.p_NB_N", 7)[-1])
""",
        "compile_model start run advance restore system_names | FunctionSystem ControlSystem Rig Kind Options Task "
        "Seat Block View Values Rates In Out State Param Noise Clock Diagram CompiledModel RunState ParamEvent "
        "Episodes IronbirdError",
    ),
}
ALIASES = {
    "FAULTS": "Dictionary of all faults of Ironbird: `Fault` by id, as `ironbird fault list` lists them.",
    "Values": "Mapping of names to expressions: what `output`, `update` and `project` of a block return.",
    "Rates": "Mapping of states to expressions: what `derivative` of a block returns.",
}


def page() -> str:
    """The whole page."""
    told = [name for group in GROUPS.values() for name in group.names.replace("|", "").split()]
    missing, unknown = set(ironbird.__all__) - set(told), set(told) - set(ironbird.__all__)
    if missing or unknown or len(told) != len(set(told)):
        raise SystemExit(f"GROUPS lacks {sorted(missing)} and has {sorted(unknown)}, which are not public")
    anchors = {  # of two names that differ in capitals alone, the second has a number
        name: f"ib{name.lower()}" + ("_1" if name.lower() in {other.lower() for other in told[:place]} else "")
        for place, name in enumerate(told)
    }
    lines = [
        "# Python reference",
        "",
        "Written by `make docs` with `tools/write_api_reference.py`. Each name is there after `import ironbird as ib`.",
        "Public names keep their meaning; what is reached by a module below `ironbird` may change, but for the",
        "[extension points](#extension-points) that the guides use. Units are SI, angles in rad, unless a name says",
        "another (`from_deg`). All errors are `ib.IronbirdError`.",
        "",
    ]
    for title, group in GROUPS.items():
        lines += [f"## {title}", "", group.words, "", "```python", *group.example.strip().splitlines(), "```", ""]
        functions, _, rest = group.names.partition("|")
        lines += ["| name | what it does |", "| --- | --- |"]
        names = [*functions.split(), *rest.split()]
        lines += [f"| [`ib.{name}`](#{anchors[name]}) | {_first(name)} |" for name in names]
        lines.append("")
        for name in names:
            lines += [*_entry(name), ""]
    return "\n".join([*lines, *_extension_points()]).rstrip() + "\n"


def _extension_points() -> list[str]:
    from extension_points import EXTENSION_POINTS

    lines = ["## Extension points", "", "Modules below `ironbird` that guides and programs of others may import:", ""]
    lines += ["| module | for |", "| --- | --- |"]
    return lines + [f"| `{module}` | {words} |" for module, words in EXTENSION_POINTS.items()]


def thing_of(name: str) -> Any:
    """A public name from its home: `ib.campaign` and `ib.export` are also packages."""
    return getattr(importlib.import_module(f"ironbird.{ironbird._HOME_OF[name]}"), name)


def _doc(name: str) -> str:
    return ALIASES.get(name) or inspect.cleandoc(thing_of(name).__doc__ or "")


def _first(name: str) -> str:
    return _cell(re.split(r"\n\n", _doc(name))[0].replace("\n", " "))


def _entry(name: str) -> list[str]:
    thing = thing_of(name)
    lines = [f"### `ib.{name}`", ""]
    if inspect.isfunction(thing):
        lines += ["```python", f"{name}{_signature(thing)}", "```", ""]
    sections = _sections(_doc(name))
    lines += [sections.pop(""), ""]
    for title, text in sections.items():
        if title in ("Parameters", "Attributes"):
            lines += [f"| {title[:-1].lower()} | type | default | meaning |", "| --- | --- | --- | --- |"]
            lines += [f"| `{key}` | {kind} | {default} | {words} |" for key, kind, default, words in _rows(text)]
            lines.append("")
        elif title == "Examples":
            lines += ["```pycon", text.replace("  # doctest: +SKIP", ""), "```", ""]
        else:
            entries = [f"- `{key}`: {words}" for key, _, _, words in _rows(text)] if title != "Notes" else [text]
            lines += [f"**{title}**", "", *entries, ""]
    if inspect.isclass(thing):
        lines += _members(thing)
    return lines[:-1] if lines[-1] == "" else lines


def _sections(text: str) -> dict[str, str]:
    """A numpydoc text by titles; what stands first has none."""
    parts = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.M)
    found = {"": parts[0].strip()}
    return found | {title: body.strip("\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def _rows(text: str) -> list[tuple[str, str, str, str]]:
    """Name, type, default and meaning of each entry of a section."""
    rows = []
    for entry in re.split(r"\n(?=\S)", text):
        head, _, below = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        kind, default = kind.removesuffix(", optional"), "optional" if kind.endswith(", optional") else ""
        kind, _, value = kind.partition(", default ")
        words = " ".join(line.strip() for line in below.splitlines())
        rows.append((names.replace(", ", "`, `"), _cell(kind), f"`{value}`" if value else default, _cell(words)))
    return rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    if function is thing_of("fly"):  # with its keywords in place of **ordered
        more = [p for n, p in inspect.signature(make_order).parameters.items() if n in Ordered.__annotations__]
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        signature = signature.replace(parameters=[*own, *more])
    text = str(signature).replace("''", '""')
    text = re.sub(r"(?<!\w)'([^']*)'", r"\1", text)  # annotations that are texts
    text = re.sub(r"ironbird\.[\w.]+\.(\w+)", r"\1", text)
    text = re.sub(r"<[\w.]+\.(\w+) object at 0x[0-9a-f]+>", r"\1()", text)
    if len(text) < 100:
        return text
    inside = re.split(r", (?![^\[\(]*[\]\)])", text[1 : text.rindex(")")])
    return "(\n" + "".join(f"    {part},\n" for part in inside) + text[text.rindex(")") :]


def _members(thing: type) -> list[str]:
    """Properties and methods that a class has beside its fields."""
    rows = []
    known = {entry.name for entry in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    for name, value in vars(thing).items():
        if name.startswith("_") or name in known:
            continue
        target = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not inspect.isfunction(target) or not target.__doc__:
            continue
        text = inspect.cleandoc(target.__doc__)
        first = _cell(re.split(r"\n\n", text)[0].replace("\n", " "))
        if returns := _sections(text).get("Returns"):
            first += " Returns " + "; ".join(f"{key}: {words}" if words else key for key, _, _, words in _rows(returns))
        if isinstance(value, property):
            rows.append(f"| `{name}` | {first} |")
            continue
        arguments = list(inspect.signature(target).parameters.values())
        own = arguments if isinstance(value, staticmethod) else arguments[1:]
        call = ", ".join(str(a.replace(annotation=a.empty)).replace("'", '"') for a in own)
        rows.append(f"| `{name}({_cell(call)})` | {first} |")
    return ["| member | meaning |", "| --- | --- |", *rows, ""] if rows else []


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
