"""Modules of a model whose credibility is recorded: each depends on some tables of a vehicle file."""

from __future__ import annotations

MODULES = {  # tables of a vehicle file that a module rests on
    "body": ("body",),
    "propulsion": ("motor", "propeller", "rotor", "thruster", "engine"),
    "aerodynamics": ("airframe", "wing", "surface", "hull"),
    "battery": ("battery",),
    "sensors": ("sensors",),
    "ground": ("contact", "wheel", "tyre"),
    "vehicle": (),  # all of it: whole flights were compared
}
