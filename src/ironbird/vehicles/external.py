"""A vehicle without its control system: sensors stay, and every actuator link is an input of the model.

The diagram is that of the reference autopilot with all controllers and estimators taken out, so whatever is outside
(PX4, ArduPilot, a program) stands in the same place, with the same sensors, taps and faults. Inputs are named by the
actuator's place: `rotor/1`, `surface/aileron`, `steering`.
"""

from __future__ import annotations

from ironbird.errors import ModelError
from ironbird.model.diagram import Diagram

INSIDE = ("ironbird.blocks.controllers", "ironbird.blocks.estimators")  # the control system's blocks
LATCH = "/command.command"


def cut_control(diagram: Diagram) -> Diagram:
    """The same vehicle with open actuator links; stop conditions of the control system go with it."""
    kept = {path: block for path, block in diagram.blocks.items() if not type(block).__module__.startswith(INSIDE)}
    needed = list(kept)
    while needed:  # what the vehicle itself cannot do without, such as a turned frame, is no control system
        path = needed.pop()
        for name, port in kept[path].inputs.items():
            if not f"{path}.{name}".endswith(LATCH):
                for source in diagram.links.get(f"{path}.{name}", ()):
                    owner = source.rpartition(".")[0]
                    if owner not in kept and (port.default is None or owner.startswith("surface/")):
                        kept[owner] = diagram.blocks[owner]
                        needed.append(owner)

    def stays(path: str) -> bool:
        return path.rpartition(".")[0] in kept

    links = {target: [s for s in sources if stays(s)] for target, sources in diagram.links.items() if stays(target)}
    bare = Diagram(
        diagram.name,
        blocks=kept,
        values={path: value for path, value in diagram.values.items() if stays(path)},
        links={target: sources for target, sources in links.items() if sources},
        exports={name: port for name, port in diagram.exports.items() if port.block in kept},
        stops={reason: source for reason, source in diagram.stops.items() if stays(source)},
    )
    for path in kept:
        if f"{path}.command".endswith(LATCH) and not bare.links.get(f"{path}.command"):
            bare.export(bare.port(f"{path}.command"), path.removesuffix("/command"))
    return bare


def cut_vehicle(diagram: Diagram) -> tuple[Diagram, dict[str, list[str]], dict[str, str]]:
    """The control system without its vehicle: what it reads of sensors is an input of the model.

    Also returns which inputs each output of a sensor feeds (`imu/1/gyro_fault.value`: [`vote/imu.gyro_1_B`]), and the
    output that drives each actuator (`rotor/1`: `control.throttle_1`). It never stops by itself.
    """
    kept = {path: block for path, block in diagram.blocks.items() if type(block).__module__.startswith(INSIDE)}

    def stays(path: str) -> bool:
        return path.rpartition(".")[0] in kept

    links: dict[str, list[str]] = {}
    feeds: dict[str, list[str]] = {}
    for target, sources in diagram.links.items():
        if not stays(target):
            continue
        links[target] = [source for source in sources if stays(source)]
        for source in sources:
            if not stays(source):
                feeds.setdefault(source, []).append(target)
        if links[target] and len(links[target]) < len(sources):
            raise ModelError(f"{target} of '{diagram.name}' is fed by the control system and by the vehicle: {sources}")
    control = Diagram(
        diagram.name,
        blocks=kept,
        values={path: value for path, value in diagram.values.items() if stays(path)},
        links={target: sources for target, sources in links.items() if sources},
        exports={name: port for name, port in diagram.exports.items() if port.block in kept},
    )
    for targets in feeds.values():
        for target in targets:
            control.export(control.port(target), target)
    driven = {
        target.removesuffix(LATCH): sources[0]
        for target, sources in diagram.links.items()
        if target.endswith(LATCH) and sources and stays(sources[0])
    }
    return control, feeds, driven
