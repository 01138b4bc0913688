"""Faults of motors, speed controllers and propellers."""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Scale, switch

_MOTOR = "rotor/{instance}/motor"
_SPEED = "rotor/{instance}/motor.speed"

FAULTS = (
    Fault(
        id="rotor.speed_loss@1",
        summary="A rotor turns slower than commanded: worn bearing, overheated controller.",
        changes=(Change(f"{_MOTOR}.health", Scale(1.0, 0.0)),),
        severity="share of speed lost; 1 is a stopped motor",
        reference="[Dai] Sec. I: actuator faults",
        witness=_SPEED,
    ),
    Fault(
        id="rotor.blade_damage@1",
        summary="A propeller has lost part of its blades: thrust and torque fall at the same speed.",
        changes=(Change("rotor/{instance}/propeller.blade_health", Scale(1.0, 0.0)),),
        severity="share of thrust lost; 1 is no blades",
        reference="[CopterSim] section 3, item 4: PropEffRatio",
        witness="rotor/{instance}/propeller.thrust",
    ),
    Fault(
        id="rotor.propeller_damage@1",
        summary="A broken propeller: it gives less thrust, and being out of balance it shakes the airframe.",
        changes=(
            Change("rotor/{instance}/propeller.blade_health", Scale(1.0, 0.5)),
            Change("imu/*/chip.accel_vibration", Scale(1.0, 20.0)),
            Change("imu/*/chip.gyro_vibration", Scale(1.0, 20.0)),
        ),
        severity="0 is healthy, 1 is half of the blades and twenty times the vibration",
        reference="[CopterSim] section 3, item 4: PropEffRatio; [Dai] Fig. 13 a and b",
        witness="rotor/{instance}/propeller.thrust",
    ),
    Fault(
        id="rotor.slow_response@1",
        summary="A motor follows its command slowly: weak controller, low current limit.",
        changes=(Change(f"{_MOTOR}.time_constant", Scale(1.0, 10.0)),),
        severity="0 is healthy, 1 is ten times the time constant",
        reference="[Dai] Eq. 7",
        witness=_SPEED,
    ),
    Fault(
        id="rotor.stuck@1",
        summary="A motor keeps the speed that it had when the fault began, whatever is commanded.",
        changes=(Change(f"{_MOTOR}.stuck", switch()),),
        severity="none: it is stuck or not",
        reference="[Dai] Sec. I: actuator faults",
        witness=_SPEED,
    ),
    Fault(
        id="rotor.hard_over@1",
        summary="A speed controller drives its motor at full throttle.",
        changes=(Change(f"{_MOTOR}.override", switch()), Change(f"{_MOTOR}.override_throttle", switch(1.0))),
        severity="none: it is driven or not",
        reference="[Dai] Sec. I: actuator faults",
        witness=_SPEED,
    ),
    Fault(
        id="rotor.floating@1",
        summary="A motor has lost its phases: it runs down and turns freely.",
        changes=(Change(f"{_MOTOR}.override", switch()), Change(f"{_MOTOR}.override_throttle", switch(-1.0))),
        severity="none: it floats or not",
        reference="[Dai] Sec. I: actuator faults",
        witness=_SPEED,
    ),
    Fault(
        id="rotor.imbalance@1",
        summary="Rotors out of balance shake the airframe: vibration in all inertial sensors grows.",
        changes=(
            Change("imu/*/chip.accel_vibration", Scale(1.0, 20.0)),
            Change("imu/*/chip.gyro_vibration", Scale(1.0, 20.0)),
        ),
        severity="0 is healthy, 1 is twenty times the vibration",
        reference="[Dai] Fig. 13 a and b",
        witness="imu/1/chip.accel_B",
    ),
)
# Search words by the beginning of the fault's id
KEYWORDS = {"rotor.": "motor propeller prop engine ESC speed controller actuator thrust blade"}
