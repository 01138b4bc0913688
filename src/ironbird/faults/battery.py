"""Faults of the energy supply."""

from __future__ import annotations

from ironbird.faults.spec import Fault, Scale

BATTERY_LOW_VOLTAGE = Fault(
    id="battery.low_voltage@1",
    summary="The battery gives less voltage: a cell lost, cold, ageing.",
    target="battery.voltage_factor",
    effect=Scale(at_0=1.0, at_1=0.0),
    severity="share of voltage lost; 1 is a cut-off supply",
    reference="[CopterSim] section 8: isLowVoltage, isPowOff",
    witness="battery.voltage",
)

BATTERY_LOW_CAPACITY = Fault(
    id="battery.low_capacity@1",
    summary="The battery holds less charge than it should.",
    target="battery.capacity",
    effect=Scale(at_0=1.0, at_1=0.01),
    severity="share of capacity lost; 1 leaves a hundredth",
    reference="[CopterSim] section 8: islowCapacity",
    witness="battery.remaining",
)

FAULTS = (BATTERY_LOW_VOLTAGE, BATTERY_LOW_CAPACITY)
