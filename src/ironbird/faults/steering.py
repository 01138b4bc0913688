"""Faults of a car's steering and of the link to it."""

from __future__ import annotations

from ironbird.faults.servo import servo_faults

FAULTS = servo_faults(
    "steering",
    "steering",
    {
        "loss": "The wheels turn by part of what is asked for: a slipping actuator.",
        "stuck": "The steering stays where it was when the fault began.",
        "hard_over": "The steering runs away to the right.",
        "slow": "The steering turns slowly: weak motor, friction.",
        "command_delay": "Commands reach the steering late.",
        "command_loss": "Commands do not reach the steering: it keeps the last one; intermittent for packet loss.",
    },
)
# What people call them, by how ids begin
KEYWORDS = {"steering.": "servo car wheel actuator"}
