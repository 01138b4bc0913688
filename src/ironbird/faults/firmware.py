"""Faults of the microcontroller that runs a control system's firmware; they act where `control` is `firmware`."""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Replace, switch

FASTEST = 0.05  # relative frequency error of a crystal at severity 1
NONE = "none: it is there or not"
REFERENCE = "[ProVANT] Sec. 4: faults of the embedded system"


def _fault(name: str, summary: str, severity: str, place: str, amount: Replace | None = None) -> Fault:
    changes = [Change(f"{place}.active", switch())]
    if amount is not None:
        changes.append(Change(f"{place}.amount", amount))
    return Fault(
        id=f"firmware.{name}@1",
        summary=summary,
        changes=tuple(changes),
        severity=severity,
        reference=REFERENCE,
        witness=f"{place}.acts",
        needs="firmware",
    )


FAULTS = (
    _fault("ram_flip", "A bit of the RAM that the image uses flips once.",
           "place of the bit: 0 is the first, {1:g} the last that the image uses", "mcu/ram", Replace(0.0, 1.0)),
    _fault("register_flip", "A bit of a register of the core flips once while it executes.",
           "place of the bit: 0 is bit 0 of r0, {1:g} is bit 31 of pc", "mcu/register", Replace(0.0, 1.0)),
    _fault("task_hung", "A task does not come back from what it does; interrupts are served.", NONE,
           "mcu/task/{instance}"),
    _fault("peripheral_dead", "A peripheral reads zero, takes nothing and never acts.", NONE,
           "mcu/peripheral/{instance}"),
    _fault("brown_out", "The supply is too low: the chip is held in reset, and starts again at the end.", NONE,
           "mcu/supply"),
    _fault("clock_drift", "The crystal is fast.", "1 is {1:g} of its frequency", "mcu/clock", Replace(0.0, FASTEST)),
)  # fmt: skip
# Search words by the beginning of the fault's id
KEYWORDS = {"firmware.": "microcontroller processor computer software memory reset crash"}
