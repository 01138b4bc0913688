"""A vehicle without its control system: sensors stay, and every actuator link is an input of the model.

The diagram is that of the reference autopilot with all controllers and estimators taken out, so whatever is outside
(PX4, ArduPilot, a program) stands in the same place, with the same sensors, taps and faults. Inputs are named by the
actuator's place: `rotor/1`, `surface/aileron`, `steering`.
"""

from __future__ import annotations

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
            if port.default is None and not f"{path}.{name}".endswith(LATCH):
                for source in diagram.links.get(f"{path}.{name}", ()):
                    owner = source.rpartition(".")[0]
                    if owner not in kept:
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
