"""Modules below `ironbird` that guides may import beside the names of `ib.`, with what they are for."""

from __future__ import annotations

EXTENSION_POINTS = {
    "ironbird.blocks": "blocks by their names in the [block reference](blocks.md), for diagrams of your own",
    "ironbird.model": "what blocks and diagrams are made of",
    "ironbird.testing": "`check_block`, `check_vehicle`, `check_chip`: checks for parts of your own",
    "ironbird.vehicles.tables": "tables of vehicle files for kinds of your own",
    "ironbird.vehicles.places": "paths of the parts of a vehicle",
    "ironbird.vehicles.mixer": "PX4's mixer files",
    "ironbird.errors": "every exception",
    "ironbird.report.log": "logs of flights: read, summarise, write a page",
    "ironbird.rig.system": "control systems of your own",
    "ironbird.rig.commander": "targets and commands of the reference autopilot",
    "ironbird.rig.rig": "a vehicle on a bench without a flight",
    "ironbird.systems.commanded": "programs and sticks that command the reference autopilot",
    "ironbird.systems.hardware": "links to boards",
    "ironbird.scenario.pilots": "pilots of scenarios of your own",
    "ironbird.world": "worlds, rays and sensors that see them",
    "ironbird.boards": "chips, buses, boards and emulated microcontrollers",
    "ironbird.transport": "cables and the MAVLink router",
    "ironbird.identification": "excitations, benches and virtual records",
    "ironbird.credibility": "indices, metrics and records",
    "ironbird.campaign.imports": "test cases of other tools",
    "ironbird.app.rig": "the live rig of the app without its page",
    "ironbird.gym": "environments for learning",
    "ironbird.dataset": "data sets for fault diagnosis",
    "ironbird.design": "parts, sizing and design of multicopters",
    "ironbird.reliability": "lives of parts and fault trees",
    "ironbird.mixer": "a board that mixes as PX4's mixer files say",
    "ironbird.provant": "the tilt-rotor bench",
    "ironbird.rflysim": "messages of RflySim",
}
