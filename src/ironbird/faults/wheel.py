"""Faults of wheels, their drives and brakes, and of the road under them.

`instance` is the wheel: 1 front left, 2 front right, 3 rear left, 4 rear right of a car; left or right of a rover.
"""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Replace, Scale, switch

_DRIVE = "wheel/{instance}/drive"

FAULTS = (
    Fault(
        id="wheel.drive_loss@1",
        summary="A wheel's drive gives part of its torque, or of its speed if that is controlled.",
        changes=(Change(f"{_DRIVE}.health", Scale(1.0, 0.0)),),
        severity="share of the drive lost; 1 is none left",
        reference="[Dai] Sec. I: actuator faults",
        witness=f"{_DRIVE}.speed",
    ),
    Fault(
        id="wheel.slow_response@1",
        summary="A wheel's drive follows its command slowly.",
        changes=(Change(f"{_DRIVE}.time_constant", Scale(1.0, 10.0)),),
        severity="0 is healthy, 1 is ten times the time constant",
        reference="[Dai] Eq. 7",
        witness=f"{_DRIVE}.speed",
    ),
    Fault(
        id="wheel.brake_loss@1",
        summary="A wheel brakes with part of its torque: air in the line, fade.",
        changes=(Change(f"{_DRIVE}.brake_health", Scale(1.0, 0.0)),),
        severity="share of the brake torque lost",
        reference="[Dai] Sec. I: actuator faults",
        witness=f"{_DRIVE}.brake_torque",
    ),
    Fault(
        id="wheel.seized@1",
        summary="A wheel is held by its brake, whatever is commanded.",
        changes=(Change(f"{_DRIVE}.seized", Replace(0.0, 1.0)),),
        severity="share of the full brake torque",
        reference="[Dai] Sec. I: actuator faults",
        witness=f"{_DRIVE}.brake_torque",
    ),
    Fault(
        id="wheel.stuck@1",
        summary="A wheel whose speed is controlled keeps its speed.",
        changes=(Change(f"{_DRIVE}.stuck", switch()),),
        severity="none: it is stuck or not",
        reference="[Dai] Sec. I: actuator faults",
        witness=f"{_DRIVE}.speed",
    ),
    Fault(
        id="wheel.hard_over@1",
        summary="A wheel whose speed is controlled runs ahead at full speed.",
        changes=(Change(f"{_DRIVE}.override", switch()), Change(f"{_DRIVE}.override_command", Replace(0.0, 1.0))),
        severity="share of the full speed",
        reference="[Dai] Sec. I: actuator faults",
        witness=f"{_DRIVE}.speed",
    ),
    Fault(
        id="wheel.friction_loss@1",
        summary="One tyre grips less: oil, a worn tyre, ice at one side.",
        changes=(Change("wheel/{instance}/tyre.friction", Scale(1.0, 0.1)),),
        severity="1 is a tenth of the friction",
        reference="[RflyModel] 7.3.1.1",
        witness="wheel/{instance}/tyre.force_B",
    ),
    Fault(
        id="road.slippery@1",
        summary="All tyres grip less: rain, snow, ice.",
        changes=(Change("wheel/*/tyre.friction", Scale(1.0, 0.1)),),
        severity="1 is a tenth of the friction, wet ice",
        reference="[RflyModel] 7.3.1.1",
        witness="wheel/1/tyre.force_B",
    ),
)
# What people call them, by how ids begin
KEYWORDS = {"wheel.": "tyre tire brake motor engine drive car rover actuator", "road.": "ice rain grip friction tyre"}
