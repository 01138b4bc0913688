"""Faults of packets between programs: telemetry, commands, simulator links.

In the grammar of all faults: `route.drop@1:instance=gcs,severity=0.1,start=5,end=15`. They act on the packets that go
to one connection of the router (`ironbird.transport.router`); its name is the instance. The opposite direction is a
connection of its own: a fault at one of the two disturbs one direction only. Commands from a control system to
actuators inside the model are those of `ironbird.faults.link`. The witness counts packets that were lost, came late,
changed, or came twice.
"""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Replace, switch

WITNESS = "route/{instance}.disturbed"
NONE = "none: it is there or not"
REFERENCE = "[Dai] Sec. I: interference in transmission"


def _fault(name: str, summary: str, severity: str, effect: Replace) -> Fault:
    return Fault(
        id=f"route.{name}@1",
        summary=summary,
        changes=(Change(f"route/{{instance}}.{name}", effect),),
        severity=severity,
        reference=REFERENCE,
        witness=WITNESS,
        needs="link",
    )


FAULTS = (
    _fault("drop", "Packets are lost.", "share of packets", Replace(0.0, 1.0)),
    _fault("delay", "Packets come late, all by the same time.", "1 is {:g} s", Replace(0.0, 2.0)),
    _fault("jitter", "Packets come late by a random time, in their order.", "1 is up to {:g} s", Replace(0.0, 1.0)),
    _fault("duplicate", "Packets come twice.", "share of packets", Replace(0.0, 1.0)),
    _fault("reorder", "Packets are overtaken by the next one.", "share of packets", Replace(0.0, 1.0)),
    _fault("corrupt", "One byte of a packet is wrong.", "share of packets", Replace(0.0, 1.0)),
    _fault("throttle", "The link carries less: what does not fit waits, then is lost.",
           "0 is 100,000 bytes/s, 1 is 100 bytes/s", Replace(100_000.0, 100.0)),
    _fault("cut", "Nothing comes through.", NONE, switch()),
    _fault("heartbeats_only", "Only heartbeats come through.", NONE, switch()),
    _fault("acks_only", "Only acknowledgements of commands, missions and parameters come through.", NONE, switch()),
)  # fmt: skip
ROUTE_FAULTS: dict[str, Fault] = {fault.id: fault for fault in FAULTS}
# Search words by the beginning of the fault's id
KEYWORDS = {"route.": "communication telemetry MAVLink radio packet network latency ground station"}
