"""Faults of marine vehicles and what the water does to them: thrusters, current, waves."""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Offset, Scale

_THRUSTER = "rotor/{instance}/motor"

FAULTS = (
    Fault(
        id="thruster.loss@1",
        summary="A thruster gives less than it is asked for; the faults of motors (rotor.*) act on it as well.",
        changes=(Change(f"{_THRUSTER}.health", Scale(1.0, 0.0)),),
        severity="share of the speed (or of the force, where only that is modelled) lost",
        reference="[Dai] Sec. I: actuator faults",
        witness=f"{_THRUSTER}.force_B",
    ),
    Fault(
        id="thruster.fouled@1",
        summary="Weed or a damaged blade: less thrust at the same speed, ahead and astern.",
        changes=(
            Change(f"{_THRUSTER}.thrust_coefficient", Scale(1.0, 0.0)),
            Change(f"{_THRUSTER}.reverse_coefficient", Scale(1.0, 0.0)),
        ),
        severity="share of the thrust at rest that is lost",
        reference="[Fossen2021] Ch. 9",
        witness=f"{_THRUSTER}.thrust",
    ),
    Fault(
        id="current.rise@1",
        summary="A current sets in, or grows.",
        changes=(Change("current.speed", Offset(0.0, 1.0)),),
        severity="1 is {:g} m/s more",
        reference="[Fossen2021] Ch. 10",
        witness="current.current_N",
    ),
    Fault(
        id="current.turn@1",
        summary="The current turns.",
        changes=(Change("current.direction", Offset(0.0, 3.141592653589793)),),
        severity="1 is half a turn",
        reference="[Fossen2021] Ch. 10",
        witness="current.current_N",
    ),
    Fault(
        id="waves.rise@1",
        summary="The sea gets up.",
        changes=(Change("waves.significant_height", Offset(0.0, 1.0)),),
        severity="1 is {:g} m more of significant height",
        reference="[Fossen2021] Ch. 10",
        witness="waves.elevation",
    ),
)
# What people call them, by how ids begin
KEYWORDS = {
    "thruster.": "motor propeller engine actuator",
    "current.": "sea stream drift",
    "waves.": "sea swell weather",
}
