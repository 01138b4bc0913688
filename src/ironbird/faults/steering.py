"""Faults of a car's steering and of the link to it."""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Replace, Scale, switch

_SERVO = "steering/servo"
_LINK = "steering/command_fault"
_WITNESS = f"{_SERVO}.deflection"

FAULTS = (
    Fault(
        id="steering.loss@1",
        summary="The wheels turn by part of what is asked for: a slipping actuator.",
        changes=(Change(f"{_SERVO}.health", Scale(1.0, 0.0)),),
        severity="share of the angle lost; 1 leaves the wheels straight",
        reference="[Dai] Sec. I: actuator faults",
        witness=_WITNESS,
    ),
    Fault(
        id="steering.stuck@1",
        summary="The steering stays where it was when the fault began.",
        changes=(Change(f"{_SERVO}.stuck", switch()),),
        severity="none: it is stuck or not",
        reference="[Dai] Sec. I: actuator faults",
        witness=_WITNESS,
    ),
    Fault(
        id="steering.hard_over@1",
        summary="The steering runs away to the right.",
        changes=(Change(f"{_SERVO}.override", switch()), Change(f"{_SERVO}.override_command", Replace(0.0, 1.0))),
        severity="share of the full angle; 0 is straight on",
        reference="[Dai] Sec. I: actuator faults",
        witness=_WITNESS,
    ),
    Fault(
        id="steering.slow@1",
        summary="The steering turns slowly: weak motor, friction.",
        changes=(
            Change(f"{_SERVO}.time_constant", Scale(1.0, 10.0)),
            Change(f"{_SERVO}.max_rate", Scale(1.0, 0.1)),
        ),
        severity="0 is healthy, 1 is ten times the time constant and a tenth of the rate",
        reference="[Dai] Eq. 7",
        witness=_WITNESS,
    ),
    Fault(
        id="steering.command_delay@1",
        summary="Commands reach the steering late.",
        changes=(Change(f"{_LINK}.delay", Replace(0.0, 8.0)),),
        severity="1 is 8 control periods",
        reference="[Dai] Sec. II-D: communication",
        witness=f"{_LINK}.value",
    ),
    Fault(
        id="steering.command_loss@1",
        summary="Commands do not reach the steering: it keeps the last one; intermittent for packet loss.",
        changes=(Change(f"{_LINK}.lost", switch()),),
        severity="none: the link is lost or not",
        reference="[Dai] Sec. II-D: communication",
        witness=f"{_LINK}.value",
    ),
)
