"""Faults of motors and propellers."""

from __future__ import annotations

from ironbird.faults.spec import Fault, Scale

ROTOR_SPEED_LOSS = Fault(
    id="rotor.speed_loss@1",
    summary="A rotor turns slower than commanded: worn bearing, overheated controller.",
    target="rotor/{instance}/motor.health",
    effect=Scale(at_0=1.0, at_1=0.0),
    severity="share of speed lost; 1 is a stopped motor",
    reference="[Dai] Sec. I: actuator faults",
    witness="rotor/{instance}/motor.speed",
)

ROTOR_BLADE_DAMAGE = Fault(
    id="rotor.blade_damage@1",
    summary="A propeller has lost part of its blades: thrust and torque fall at the same speed.",
    target="rotor/{instance}/propeller.blade_health",
    effect=Scale(at_0=1.0, at_1=0.0),
    severity="share of thrust lost; 1 is no blades",
    reference="[CopterSim] section 3, item 4: PropEffRatio",
    witness="rotor/{instance}/propeller.thrust",
)

ROTOR_SLOW_RESPONSE = Fault(
    id="rotor.slow_response@1",
    summary="A motor follows its command slowly: weak controller, low current limit.",
    target="rotor/{instance}/motor.time_constant",
    effect=Scale(at_0=1.0, at_1=10.0),
    severity="0 is healthy, 1 is ten times the time constant",
    reference="[Dai] Eq. 7",
    witness="rotor/{instance}/motor.speed",
)

FAULTS = (ROTOR_SPEED_LOSS, ROTOR_BLADE_DAMAGE, ROTOR_SLOW_RESPONSE)
