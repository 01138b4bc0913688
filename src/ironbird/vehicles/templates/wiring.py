"""Connections used in every kind of vehicle: links to actuators, ports of equal names, forces on a body."""

from __future__ import annotations

from collections.abc import Mapping

from ironbird.blocks.actuators.command_latch import CommandLatch
from ironbird.blocks.sensors.signal_fault import SignalFault
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.vehicles.places import Actuator


def add_link(diagram: Diagram, actuator: Actuator, command: Port, sample_s: float) -> Port:
    """Add the link from control system to actuator: a delay of one period, and a fault tap; returns its output."""
    latch = diagram.add(actuator.latch.path, CommandLatch(sample_s=sample_s))
    link = diagram.add(actuator.command.path, SignalFault(1, "1", sample_s=sample_s))
    diagram.connect(command, latch.command)
    diagram.connect(latch.value, link.value_in)
    diagram.connect(latch.stamp, link.stamp_in)
    return link.value


def connect_ports(diagram: Diagram, source: Handle, target: Handle, *names: str) -> None:
    """Connect outputs to inputs of the same names."""
    for name in names:
        diagram.connect(source[name], target[name])


def connect_seen(diagram: Diagram, seen: Mapping[str, Port], *readers: Handle) -> None:
    """Connect signals to every input of the same name of the readers."""
    for reader in readers:
        for name, port in seen.items():
            if name in reader:
                diagram.connect(port, reader[name])


def add_air_force(diagram: Diagram, part: Handle, body: Handle, parts: Mapping[str, Handle]) -> None:
    """Connect the air to a part, and its force and moment to the body."""
    lead_air(diagram, part, body, parts)
    diagram.connect(parts["atmosphere"].density, part.density)
    connect_ports(diagram, part, body, "force_B", "moment_B")


def lead_air(diagram: Diagram, part: Handle, body: Handle, parts: Mapping[str, Handle]) -> None:
    """Connect the motion through the air to a part, with angular gusts if there are any."""
    air = parts["air"]
    diagram.connect(air.v_air_B, part.v_air_B)
    diagram.connect(air.w_air_B if "w_air_B" in air else body.w_NB_B, part.w_NB_B)
