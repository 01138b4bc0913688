"""Parts of a vehicle for export: the whole, the vehicle without its control, the controller, the sensors, any blocks.

A part is a separate diagram, cut out of the reference (or truth) diagram. A signal that its blocks read from blocks
outside becomes an input; inputs that are fed by one signal are one field of the exported structure.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.compiler.emit import identifier
from ironbird.errors import ExportError, UnknownNameError
from ironbird.model.diagram import Diagram
from ironbird.model.signal import Signal
from ironbird.vehicles.external import LATCH, cut_control, plant_blocks
from ironbird.vehicles.load import Vehicle, load_vehicle

SENSORS = ("imu/*", "mag/*", "baro/*/chip", "baro/*/fault", "baro/*/altitude", "gnss/*", "range/*", "flow/*",
           "airspeed/*/chip", "airspeed/*/fault", "log/*", "monitor/*")  # fmt: skip
PARTS = {
    "vehicle": "body, surroundings, actuators and sensors; its inputs are the commands to the actuators",
    "whole": "the vehicle with its built-in control: the closed loop",
    "controller": "navigator and control",
    "estimator": "voters and estimator",
    "autopilot": "controller and estimator together",
    "sensors": "sensors with their fault taps",
}


@dataclass(frozen=True)
class Field:
    """One named field of an exported structure."""

    name: str  # in C
    path: str  # in the model: of an input the signal that feeds it in the closed loop, else its own name
    signal: Signal
    rows: tuple[int, ...]  # first rows in the model's column; an input may feed several

    @property
    def comment(self) -> str:
        """Comment in C for the field: unit, frame, path and meaning."""
        frame = f" in {self.signal.frame}" if self.signal.frame else ""
        return f"[{self.signal.unit}]{frame} {self.path}" + (f": {self.signal.doc}" if self.signal.doc else "")


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a vehicle, compiled, with the names of its input and output fields."""

    name: str  # prefix of all that it exports
    kind: str
    vehicle: Vehicle  # with the control that the part was cut from
    model: CompiledModel
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    sources: dict[str, tuple[str, ...]]  # input of the model -> signals of the closed loop that feed it


def make_part(vehicle: str, kind: str = "vehicle", control: str | None = None, *, rate_hz: float = 1000.0) -> Part:
    """Cut a part out of a vehicle; `kind` is one of PARTS, the path of a block, or the prefix of several paths."""
    loaded = load_vehicle(vehicle, control=control)
    if loaded.control == "external":
        raise ExportError(
            "control 'external' has no control system to take parts of: export the part 'vehicle' instead"
        )
    whole = loaded.diagram
    if kind == "whole":
        diagram, sources = whole, {}
    elif kind == "vehicle":
        diagram = cut_control(whole)
        sources = {
            name: tuple(whole.links[name + LATCH]) for name in diagram.external_inputs() if name + LATCH in whole.links
        }
    else:
        diagram, sources = cut(whole, _blocks(whole, kind))
    model = compile_model(diagram, step_s=1.0 / rate_hz)
    name = identifier(f"{loaded.id}_{kind}")
    flat = model.flat
    groups: dict[str, list[str]] = {}
    for path in flat.u.signals:
        fed = sources.get(path, ())
        groups.setdefault(fed[0] if len(fed) == 1 and kind != "vehicle" else path, []).append(path)
    inputs = [
        Field(identifier(path), path, flat.u.signals[names[0]], tuple(flat.u.start[one] for one in names))
        for path, names in groups.items()
    ]
    outputs = [
        Field(identifier(path), path, signal, (flat.log.start[path],)) for path, signal in flat.log.signals.items()
    ]
    return Part(name, kind, loaded, model, _distinct(inputs), _distinct(outputs), sources)


def _distinct(fields: list[Field]) -> tuple[Field, ...]:
    names: set[str] = set()
    result = []
    for field in fields:
        name = field.name
        while name in names:
            name += "_"
        names.add(name)
        result.append(Field(name, field.path, field.signal, field.rows))
    return tuple(result)


def _blocks(diagram: Diagram, kind: str) -> list[str]:
    plant = set(plant_blocks(diagram))
    chosen: dict[str, Callable[[str], bool]] = {
        "controller": lambda path: path not in plant and diagram.blocks[path].role != "estimator",
        "estimator": lambda path: diagram.blocks[path].role == "estimator",
        "autopilot": lambda path: path not in plant,
        "sensors": lambda path: any(fnmatch.fnmatchcase(path, pattern) for pattern in SENSORS),
    }

    def named(path: str) -> bool:
        return path == kind or path.startswith(kind + "/")

    test = chosen.get(kind, named)
    blocks = [path for path in diagram.blocks if test(path)]
    if not blocks:
        raise UnknownNameError("part", kind, [*PARTS, *diagram.blocks], f"vehicle '{diagram.name}'")
    return blocks


def cut(diagram: Diagram, paths: list[str]) -> tuple[Diagram, dict[str, tuple[str, ...]]]:
    """A diagram of some blocks only, and the signals that fed each of its new inputs in the whole diagram."""
    part = diagram.subset(paths)
    inside = set(paths)
    sources: dict[str, tuple[str, ...]] = {}
    part.stops.clear()
    for path in paths:
        for name in diagram.blocks[path].inputs:
            target = f"{path}.{name}"
            fed = diagram.links.get(target, [])
            outside = [source for source in fed if source.rpartition(".")[0] not in inside]
            if not outside:
                continue
            if len(outside) < len(fed):
                raise ExportError(
                    f"{target} adds signals from inside and outside of the part ({', '.join(fed)}): take all"
                )
            part.export(part.port(target), target)
            sources[target] = tuple(outside)
    return part, sources
