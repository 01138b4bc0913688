"""Faults of control surfaces: their servos and the link to them. `instance` is the surface's name (aileron, rudder)."""

from __future__ import annotations

from ironbird.faults.servo import servo_faults

FAULTS = servo_faults(
    "servo",
    "surface/{instance}",
    {
        "loss": "A surface answers with part of its travel: a loose linkage, a broken horn.",
        "stuck": "A surface stays where it was when the fault began, whatever is commanded.",
        "hard_over": "A servo drives its surface towards the positive end of its travel.",
        "hard_under": "A servo drives its surface towards the negative end of its travel.",
        "slow": "A servo turns slowly: low voltage, friction, ice.",
        "command_delay": "Commands reach a servo late.",
        "command_loss": "Commands do not reach a servo: it keeps the last one; intermittent for packet loss.",
        "command_noise": "Commands to a servo are disturbed on their way.",
    },
)
# What people call them, by how ids begin
KEYWORDS = {"servo.": "aileron elevator rudder flap control surface actuator"}
