"""Faults of the commands inside a vehicle: from the control system to all actuators at once.

They are parts of the vehicle's model and act under every control system. Packets between programs, such as MAVLink to a
ground station, are those of `ironbird.faults.route`.
"""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Replace, switch

_TAPS = "rotor/*/command_fault"
_WITNESS = "rotor/1/command_fault.value"

FAULTS = (
    Fault(
        id="link.delay@1",
        summary="Commands reach the actuators late.",
        changes=(Change(f"{_TAPS}.delay", Replace(0.0, 8.0)),),
        severity="1 is {:g} control periods",
        reference="[Dai] Sec. II-D: communication",
        witness=_WITNESS,
    ),
    Fault(
        id="link.loss@1",
        summary="Commands do not arrive: the actuators keep the last one; intermittent for packet loss.",
        changes=(Change(f"{_TAPS}.lost", switch()),),
        severity="none: the link is lost or not",
        reference="[Dai] Sec. II-D: communication",
        witness=_WITNESS,
    ),
    Fault(
        id="link.noise@1",
        summary="Commands are disturbed on their way.",
        changes=(Change(f"{_TAPS}.noise", Replace(0.0, 0.3)),),
        severity="1 is a deviation of {:g} of full throttle",
        reference="[ChipLevel] Eq. 23",
        witness=_WITNESS,
    ),
)
# Search words by the beginning of the fault's id
KEYWORDS = {"link.": "communication command packet loss latency actuator motor"}
