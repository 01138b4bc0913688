"""A vehicle without its control system, and the control system without its vehicle.

The `role` of a block decides on which side it is, so that an external control system (PX4, ArduPilot, a program) can
replace the reference autopilot, with the same sensors, taps and faults. Inputs are named by the actuator: `rotor/1`,
`surface/aileron`, `steering`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ironbird.blocks.bodies.external_body import ExternalBody
from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.sensors.route import PacketLink
from ironbird.errors import ModelError
from ironbird.model.diagram import Diagram, block_of

LATCH = "/command.command"  # input at which an actuator takes its command


def cut_control(diagram: Diagram) -> Diagram:
    """The same vehicle with actuator commands as inputs, without the stop conditions of the control system."""
    kept = plant_blocks(diagram)
    bare = diagram.subset(kept)
    for path in kept:
        for name, port in diagram.blocks[path].inputs.items():
            target = f"{path}.{name}"
            if bare.links.get(target):
                continue
            if target.endswith(LATCH):
                bare.export(bare.port(target), target.removesuffix(LATCH))
            elif diagram.links.get(target) and port.default is None and not port.gather:
                raise ModelError(
                    f"{target} of '{diagram.name}' needs {diagram.links[target][0]} of the control system, which is to "
                    "be cut out: take it through a command latch, give the input a default, or correct a block's role"
                )
    return bare


def cut_vehicle(diagram: Diagram) -> tuple[Diagram, dict[str, list[str]], dict[str, str]]:
    """The control system without its vehicle: the sensor signals that it reads are inputs of the model.

    Also returns which inputs each output of a sensor feeds (`imu/1/gyro_fault.value`: [`vote/imu.gyro_1_B`]), and the
    output that drives each actuator (`rotor/1`: `control.throttle_1`). The model has no stop conditions.
    """
    plant = set(plant_blocks(diagram))
    control = diagram.subset([path for path in diagram.blocks if path not in plant])
    control.stops.clear()
    feeds: dict[str, list[str]] = {}
    driven: dict[str, str] = {}
    for target, sources in diagram.links.items():
        strange = [source for source in sources if block_of(source) in plant]
        if block_of(target) in plant:
            if target.endswith(LATCH) and sources and not strange:
                driven[target.removesuffix(LATCH)] = sources[0]
            continue
        for source in strange:
            feeds.setdefault(source, []).append(target)
        if strange and len(strange) < len(sources):
            raise ModelError(f"{target} of '{diagram.name}' is fed by the control system and by the vehicle: {sources}")
    for targets in feeds.values():
        for target in targets:
            control.export(control.port(target), target)
    return control, feeds, driven


PRESCRIBED = {  # signal of the body -> port that prescribes it
    "body.p_NB_N": "told_p", "body.v_NB_N": "told_v", "body.q_NB": "told_q", "body.w_NB_B": "told_w",
    "body.specific_force_B": "told_specific_force", "body.angular_acceleration_B": "told_angular_acceleration",
}  # fmt: skip


def with_external_body(diagram: Diagram) -> Diagram:
    """The same vehicle with a body of prescribed motion; the inputs are named `plant/` plus the body's signal."""
    if type(diagram.blocks.get("body")) is not RigidBody:
        raise ModelError(
            f"the body of '{diagram.name}' is a {type(diagram.blocks.get('body')).__name__}: a plant of others takes "
            "the place of a RigidBody on a flat earth only"
        )
    prescribed = diagram.copied()
    prescribed.blocks = {path: ExternalBody() if path == "body" else block for path, block in prescribed.blocks.items()}
    for signal, port in PRESCRIBED.items():
        prescribed.export(prescribed.port(f"body.{port}"), f"plant/{signal}")
    return prescribed


def plant_blocks(diagram: Diagram) -> list[str]:
    """Paths of all blocks outside the control system; transforms that read only such blocks come last."""
    kept = [path for path, block in diagram.blocks.items() if block.role == "plant"]
    undecided = [path for path, block in diagram.blocks.items() if block.role == "transform"]
    while True:
        readers = [path for path in undecided if _read_blocks(diagram, path) <= set(kept)]
        if not readers:
            return kept
        kept += readers
        undecided = [path for path in undecided if path not in readers]


def _read_blocks(diagram: Diagram, path: str) -> set[str]:
    targets = [f"{path}.{name}" for name in diagram.blocks[path].inputs]
    return {block_of(source) for target in targets for source in diagram.links.get(target, ())}


def with_links(diagram: Diagram, names: Sequence[str]) -> Diagram:
    """The same vehicle with links of these names, to whose packets link faults can be applied."""
    linked = diagram.copied()
    for name in names:
        linked.add(f"route/{name}", PacketLink())
    return linked
