"""Faults of batteries, their measurement and the energy supply."""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Scale, switch

FAULTS = (
    Fault(
        id="battery.low_voltage@1",
        summary="The battery gives less voltage: cold, ageing, a bad contact.",
        changes=(Change("battery.voltage_factor", Scale(1.0, 0.0)),),
        severity="share of voltage lost; 1 is a cut-off supply",
        reference="[CopterSim] section 8: isLowVoltage",
        witness="battery.voltage",
    ),
    Fault(
        id="battery.power_off@1",
        summary="The supply is cut off: connector pulled, fuse blown.",
        changes=(Change("battery.voltage_factor", switch(0.0)),),
        severity="none: it is cut or not",
        reference="[CopterSim] section 8: isPowOff",
        witness="battery.voltage",
    ),
    Fault(
        id="battery.cell_loss@1",
        summary="One cell of a three-cell battery fails.",
        changes=(Change("battery.voltage_factor", Scale(1.0, 2.0 / 3.0)),),
        severity="share of the cell's voltage lost",
        reference="[CopterSim] section 8",
        witness="battery.voltage",
    ),
    Fault(
        id="battery.low_capacity@1",
        summary="The battery holds less charge than it should.",
        changes=(Change("battery.capacity", Scale(1.0, 0.01)),),
        severity="share of capacity lost; 1 leaves a hundredth",
        reference="[CopterSim] section 8: islowCapacity, CustomHovTime",
        witness="battery.remaining",
    ),
)
# Search words by the beginning of the fault's id
KEYWORDS = {"battery.": "power supply voltage energy cell"}
