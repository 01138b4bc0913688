"""Faults of the payload: changes of mass and centre of gravity."""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Offset, Scale

FAULTS = (
    Fault(
        id="load.drop@1",
        summary="Part of the mass falls off at once: a lost payload.",
        changes=(Change("body.mass", Scale(1.0, 0.5)),),
        severity="1 is half the mass lost",
        reference="[CopterSim] section 9: isLoadFall",
        witness="body.specific_force_B",
    ),
    Fault(
        id="load.leak@1",
        summary="Mass leaves slowly; order it with shape=ramp and rise as the time it takes.",
        changes=(Change("body.mass", Scale(1.0, 0.5)),),
        severity="1 is half the mass lost at the end",
        reference="[CopterSim] section 9: isLoadLeak",
        witness="body.specific_force_B",
    ),
    Fault(
        id="load.drop@2",
        summary="Part of the mass falls off at once, up to nearly all of it.",
        changes=(Change("body.mass", Scale(1.0, 0.01)),),
        severity="1 is 0.99 of the mass lost",
        reference="[RFlySimSafe] load fall, where it may be 0.95",
        witness="body.specific_force_B",
    ),
    Fault(
        id="load.leak@2",
        summary="Mass leaves slowly, up to nearly all of it; order it with shape=ramp and rise as the time it takes.",
        changes=(Change("body.mass", Scale(1.0, 0.01)),),
        severity="1 is 0.99 of the mass lost at the end",
        reference="[RFlySimSafe] load leak",
        witness="body.specific_force_B",
    ),
    Fault(
        id="load.gain@1",
        summary="Mass is added: ice, a snagged line.",
        changes=(Change("body.mass", Scale(1.0, 1.5)),),
        severity="1 is half the mass more",
        reference="[CopterSim] section 9",
        witness="body.specific_force_B",
    ),
    Fault(
        id="load.shift@1",
        summary="The centre of gravity moves: a payload slides (axis=0 forward, 1 right, 2 down).",
        changes=(Change("load.offset", Offset(0.0, 0.05)),),
        severity="1 is {:g} m",
        reference="[CopterSim] section 9: isLoadShift",
        witness="load.moment_B",
    ),
)
# Search words by the beginning of the fault's id
KEYWORDS = {"load.": "mass weight payload cargo balance centre of gravity"}
