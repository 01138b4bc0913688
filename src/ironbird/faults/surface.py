"""Faults of control surfaces: their servos and the link to them. `instance` is the surface's name (aileron, rudder)."""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Replace, Scale, switch

_SERVO = "surface/{instance}/servo"
_LINK = "surface/{instance}/command_fault"
_WITNESS = f"{_SERVO}.deflection"

FAULTS = (
    Fault(
        id="servo.loss@1",
        summary="A surface answers with part of its travel: a loose linkage, a broken horn.",
        changes=(Change(f"{_SERVO}.health", Scale(1.0, 0.0)),),
        severity="share of the deflection lost; 1 leaves the surface at neutral",
        reference="[Dai] Sec. I: actuator faults",
        witness=_WITNESS,
    ),
    Fault(
        id="servo.stuck@1",
        summary="A surface stays where it was when the fault began, whatever is commanded.",
        changes=(Change(f"{_SERVO}.stuck", switch()),),
        severity="none: it is stuck or not",
        reference="[Dai] Sec. I: actuator faults",
        witness=_WITNESS,
    ),
    Fault(
        id="servo.hard_over@1",
        summary="A servo drives its surface towards the positive end of its travel.",
        changes=(Change(f"{_SERVO}.override", switch()), Change(f"{_SERVO}.override_command", Replace(0.0, 1.0))),
        severity="share of the travel; 0 is neutral",
        reference="[Dai] Sec. I: actuator faults",
        witness=_WITNESS,
    ),
    Fault(
        id="servo.hard_under@1",
        summary="A servo drives its surface towards the negative end of its travel.",
        changes=(Change(f"{_SERVO}.override", switch()), Change(f"{_SERVO}.override_command", Replace(0.0, -1.0))),
        severity="share of the travel; 0 is neutral",
        reference="[Dai] Sec. I: actuator faults",
        witness=_WITNESS,
    ),
    Fault(
        id="servo.slow@1",
        summary="A servo turns slowly: low voltage, friction, ice.",
        changes=(
            Change(f"{_SERVO}.time_constant", Scale(1.0, 10.0)),
            Change(f"{_SERVO}.max_rate", Scale(1.0, 0.1)),
        ),
        severity="0 is healthy, 1 is ten times the time constant and a tenth of the rate",
        reference="[Dai] Eq. 7",
        witness=_WITNESS,
    ),
    Fault(
        id="servo.command_delay@1",
        summary="Commands reach a servo late.",
        changes=(Change(f"{_LINK}.delay", Replace(0.0, 8.0)),),
        severity="1 is 8 control periods",
        reference="[Dai] Sec. II-D: communication",
        witness=f"{_LINK}.value",
    ),
    Fault(
        id="servo.command_loss@1",
        summary="Commands do not reach a servo: it keeps the last one; intermittent for packet loss.",
        changes=(Change(f"{_LINK}.lost", switch()),),
        severity="none: the link is lost or not",
        reference="[Dai] Sec. II-D: communication",
        witness=f"{_LINK}.value",
    ),
    Fault(
        id="servo.command_noise@1",
        summary="Commands to a servo are disturbed on their way.",
        changes=(Change(f"{_LINK}.noise", Replace(0.0, 0.3)),),
        severity="1 is a deviation of 0.3 of the travel",
        reference="[ChipLevel] Eq. 23",
        witness=f"{_LINK}.value",
    ),
)
