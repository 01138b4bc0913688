"""Faults of cameras, lidars and rangefinders that see the world.

An example: `sight.frozen@1:instance=front,start=5,end=8`. They act on cameras, lidars and rangefinders of a world
(`ironbird.world.runner`); the instance is the name of the sensor. In a flight they are parameters of the sensor's part
(`sight/NAME`), so they have windows, shapes and triggers as all others. The witness counts samples that differ from
those of the same sensor without the fault, at the same pose.
"""

from __future__ import annotations

import math

from ironbird.faults.spec import Change, Fault, Replace, switch

WITNESS = "sight/{instance}.differing"
NONE = "none: it is there or not"
REFERENCE = "[Dai] Sec. II-D: failure modes among the features of a product"


def _fault(name: str, summary: str, severity: str, effect: Replace) -> Fault:
    return Fault(
        id=f"sight.{name}@1",
        summary=summary,
        changes=(Change(f"sight/{{instance}}.{name}", effect),),
        severity=severity,
        reference=REFERENCE,
        witness=WITNESS,
        needs="world",
    )


FAULTS = (
    _fault("occluded", "Something right before the sensor hides part of its view.", "share of the view",
           Replace(0.0, 1.0)),
    _fault("frozen", "The sensor repeats the last sample before the fault; its samples look fresh.", NONE, switch()),
    _fault("black", "The sensor sees nothing: a black picture, no echo.", NONE, switch()),
    _fault("shifted", "The mount has turned to the right: the view is another one.", "1 is 20 degrees",
           Replace(0.0, math.radians(20.0))),
    _fault("delayed", "Samples come late, and nothing shows it: old ones in the place of new ones.", "1 is {:g} s",
           Replace(0.0, 1.0)),
    _fault("latency", "Samples come late, with their true times.", "1 is {:g} s", Replace(0.0, 1.0)),
    _fault("dropout", "Samples do not arrive.", "share of samples", Replace(0.0, 1.0)),
)  # fmt: skip
SIGHT_FAULTS: dict[str, Fault] = {fault.id: fault for fault in FAULTS}
# Search words by the beginning of the fault's id
KEYWORDS = {"sight.": "camera lidar vision picture video perception rangefinder sensor"}
