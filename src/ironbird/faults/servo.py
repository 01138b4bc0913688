"""Faults of a servo and its command link, shared by control surfaces and a car's steering."""

from __future__ import annotations

from collections.abc import Mapping

from ironbird.faults.spec import Change, Fault, Offset, Replace, Scale, switch

_ACTUATOR, _LINK = "[Dai] Sec. I: actuator faults", "[Dai] Sec. II-D: communication"
_RUNAWAY = "share of the travel; 0 is neutral"
# By kind: meaning of severity, source, and the change of each parameter of the servo or of the tap in its link
_KINDS: dict[str, tuple[str, str, dict[str, Scale | Offset | Replace]]] = {
    "loss": ("share of the deflection lost; 1 leaves it at neutral", _ACTUATOR, {"servo.health": Scale(1.0, 0.0)}),
    "stuck": ("none: it is stuck or not", _ACTUATOR, {"servo.stuck": switch()}),
    "hard_over": (
        _RUNAWAY, _ACTUATOR, {"servo.override": switch(), "servo.override_command": Replace(0.0, 1.0)},
    ),
    "hard_under": (
        _RUNAWAY, _ACTUATOR, {"servo.override": switch(), "servo.override_command": Replace(0.0, -1.0)},
    ),
    "slow": (
        "0 is healthy, 1 is ten times the time constant and a tenth of the rate", "[Dai] Eq. 7",
        {"servo.time_constant": Scale(1.0, 10.0), "servo.max_rate": Scale(1.0, 0.1)},
    ),
    "command_delay": ("1 is {:g} control periods", _LINK, {"command_fault.delay": Replace(0.0, 8.0)}),
    "command_loss": ("none: the link is lost or not", _LINK, {"command_fault.lost": switch()}),
    "command_noise": (
        "1 is a deviation of {:g} of the travel", "[ChipLevel] Eq. 23", {"command_fault.noise": Replace(0.0, 0.3)},
    ),
}  # fmt: skip


def servo_faults(family: str, place: str, summaries: Mapping[str, str]) -> tuple[Fault, ...]:
    """Faults of one servo, one for each entry of `summaries` (kind of fault to the sentence that describes it).

    `family` is the first part of their ids, `place` the path of the servo, such as `surface/{instance}`.
    """
    faults = []
    for kind, summary in summaries.items():
        severity, reference, effects = _KINDS[kind]
        witness = f"{place}/command_fault.value" if kind.startswith("command_") else f"{place}/servo.deflection"
        changes = tuple(Change(f"{place}/{param}", effect) for param, effect in effects.items())
        faults.append(Fault(f"{family}.{kind}@1", summary, changes, severity, reference, witness))
    return tuple(faults)
