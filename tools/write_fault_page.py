"""Writes docs/reference/faults.md, every fault and how one is ordered, and rflysimsafe-faults.md, RFlySimSafe's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ironbird.faults.catalog import FAMILIES, FAULTS, parse_fault
from ironbird.faults.rflysimsafe import CASES, ELSEWHERE, MAP_A, MAP_B, MAP_C, Entry
from ironbird.faults.spec import NEEDS, Fault
from ironbird.flight.derived import DERIVED
from ironbird.flight.words import ALIASES

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "faults.md"
OTHERS = "rflysimsafe-faults.md"  # beside it
EXAMPLES = (
    ("rotor.speed_loss@1:instance=1,severity=0.2,start=5", "Rotor 1 loses a fifth of its speed at 5 s, for good."),
    ("battery.power_off@1:start=30", "The supply is cut off at 30 s. A fault without instances needs no `instance`."),
    (
        "imu.gyro_bias@1:instance=2,axis=0,severity=0.1,start=10,end=15",
        "Gyroscope 2 is off by 0.1 rad/s about its first axis, from 10 s to 15 s. Without `axis`, on all three.",
    ),
    ("load.leak@1:severity=0.6,start=20,shape=ramp,rise=30", "Mass leaves during 30 s; 0.3 of it is gone at the end."),
    (
        "link.loss@1:start=10,duration=8,shape=intermittent,period=0.5,duty=0.2",
        "For 8 s commands are lost during the first fifth of every half second.",
    ),
    (
        "gnss.jamming@1:instance=1,severity=0.8,when=altitude > 8 m and mode == 'mission'",
        "A receiver is jammed from the moment at which the vehicle flies its mission higher than 8 m.",
    ),
    (
        "wind.gust@2:axis=1,severity=0.5,start=2,when=altitude > 8 m",
        "A gust to the east with 10 m/s at its top begins 2 s after the vehicle is higher than 8 m.",
    ),
    (
        "rotor.stuck@1:instance=3,start=1,duration=2,when=abs(body.w_NB_B[2]) > 30 deg/s or not (battery >= 0.5)",
        "A motor is stuck for 2 s, beginning 1 s after the yaw rate is large or the battery half empty.",
    ),
)
KEYS = (
    ("instance", "1", "number of the part, from 1; only for faults whose targets have `{instance}`"),
    (
        "axis",
        "all",
        "one entry of a vector: 0, 1 or 2; a few faults have an axis of their own, see their summary. Faults "
        "of signals that have no axes, and `delay` and `dropout`, refuse it",
    ),
    ("severity", "1", "0 to 1; what it means is written at each fault, linear between"),
    ("start", "0", "seconds; with `when`, after the condition first holds"),
    ("end, duration", "never", "seconds: when it ends, or how long it lasts"),
    ("shape", "step", "`step`, `ramp` (grows during `rise`, then stays), `intermittent` (on for `duty` of a `period`)"),
    ("rise", "-", "seconds, for `ramp`"),
    ("period, duty", "-, 0.5", "seconds and share, for `intermittent`"),
    ("when", "-", "a condition on signals; must be the last key"),
)  # fmt: skip


def cell(text: str) -> str:
    """Text that does not break a table."""
    return text.replace("|", "\\|") or "-"


def code(text: str) -> str:
    return f"`{text}`" if text else "-"


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A table and an empty line."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return [*lines, *(f"| {' | '.join(map(cell, row))} |" for row in rows), ""]


def effects(fault: Fault) -> str:
    """What happens to each target at severity 0 and 1."""
    found = []
    for change in fault.changes:
        kind, low, high = change.effect.effect, change.effect.at_0, change.effect.at_1
        if kind == "replace":
            what = f"= {high:g}" if low == high else f"= {low:g} … {high:g}"
        else:
            what = f"{'times' if kind == 'scale' else 'plus'} {low:g} … {high:g}"
        found.append(f"`{change.target}` {what}")
    return "; ".join(found)


TITLES = {
    "sensor": "Sensors", "rotor": "Rotors", "surface": "Control surfaces", "steering": "Steering", "wheel": "Wheels",
    "battery": "Battery", "load": "Load", "link": "Actuator commands", "environment": "Surroundings",
    "water": "Water", "firmware": "Firmware", "wire": "Wires and chips", "route": "Packets",
    "sight": "Cameras and lidars",
}  # fmt: skip


def titled(family: str) -> str:
    """The heading of a family."""
    return TITLES.get(family, family.capitalize())


def families() -> list[str]:
    """The families with how many faults they have and what a vehicle needs for them."""
    rows = []
    for family in FAMILIES:
        title = titled(family.__name__.rpartition(".")[2])
        about = (family.__doc__ or "").partition("\n")[0].rstrip(".")
        starts = dict.fromkeys(fault.id.partition(".")[0] for fault in family.FAULTS)
        rows.append(
            (
                f"[{title}](#{title.lower().replace(' ', '-')})", str(len(family.FAULTS)),
                ", ".join(code(f"{start}.") for start in starts), about, NEEDS[family.FAULTS[0].needs],
            )
        )  # fmt: skip
    return table(("family", "faults", "ids begin with", "what", "needs"), rows)


def catalogue() -> list[str]:
    """All faults, by family."""
    lines: list[str] = []
    for family in FAMILIES:
        title = family.__name__.rpartition(".")[2]
        needs = NEEDS[family.FAULTS[0].needs]
        lines += [f"### {titled(title)}", "", f"{(family.__doc__ or '').partition(chr(10))[0]} Needs {needs}.", ""]
        rows = [(code(f.id), f.summary, f.severity, effects(f), code(f.witness), f.reference) for f in family.FAULTS]
        lines += table(("id", "what breaks", "severity", "targets, from severity 0 to 1", "witness", "source"), rows)
    return lines


def grammar() -> list[str]:
    """How a fault is ordered."""
    for order, _ in EXAMPLES:
        parse_fault(order)  # an example that cannot be read is a mistake of this page
    lines = ["## How to write a fault", "", "```", "ID:key=value,…[,when=CONDITION]", "```", ""]
    example = "rotor.speed_loss@1:instance=1,severity=0.2,start=5"
    lines += ["```sh", f"ironbird fly quad_f450 --fault '{example}'", "```", ""]
    lines += table(("key", "default", "meaning"), [(f"`{key.replace(', ', '`, `')}`", d, m) for key, d, m in KEYS])
    lines += [
        "A condition compares signals, numbers with units and words, in the language of requirements: `+ - * /`,",
        "`abs()`, `sqrt()`, `cos()`, `sin()`, `acos()`, `min()`, `max()`, `hypot()`, `norm()`, `< <= > >= == !=`,",
        "`not`, `and`, `or`, `implies`, brackets. A signal is written as in the log (`body.w_NB_B[2]`), or is one of",
        f"{', '.join(code(name) for name in (*DERIVED, 'time'))}.",
        "The names of modes are words. The condition is looked at every 10 ms; once it held, the fault stays",
        "triggered. Operators of time (`always`, `rise()`, ...) are for requirements only. Short names:",
        "",
    ]
    lines += table(("short", "signal"), [(code(short), code(path)) for short, path in ALIASES.items()])
    lines += table(("example", "meaning"), [(code(order), meaning) for order, meaning in EXAMPLES])
    return lines


def others_page() -> str:
    """The faults and cases of RFlySimSafe, on a page of their own."""

    def row(key: str, entry: Entry, *others: str) -> tuple[str, ...]:
        return (key, entry.name, code(entry.fault), entry.translation, *others, entry.remark)

    lines = [
        "# RFlySimSafe's faults in Ironbird",
        "",
        "Which [fault of Ironbird](faults.md) a fault of RFlySimSafe is, and its published test cases as Ironbird's",
        "faults. `ironbird case import` reads RFlySimSafe's own case files by these tables. Written by `make docs`.",
        "",
        "## Numbers of faults",
        "",
        "RFlySimSafe's faults have numbers, and three programs of one family give the same numbers different meanings.",
        "Map A is RFlySimSafe's own model (commit 22cef0d), map B that of the RflySim PHM documents, map C that of the",
        "RflyMAD data set. The table translates map A; columns B and C say what the number means there.",
        "",
    ]
    head = ("id", "map A", "Ironbird", "translation", "map B", "map C", "remark")
    rows = [row(str(key), entry, MAP_B.get(key, ""), MAP_C.get(key, "")) for key, entry in MAP_A.items()]
    lines += table(head, rows)
    lines += ["Faults of maps B and C that map A does not have:", ""]
    lines += table(
        ("map and id", "RFlySimSafe", "Ironbird", "translation", "remark"), [row(k, e) for k, e in ELSEWHERE.items()]
    )
    lines += [
        "## Published cases",
        "",
        "Each begins with a climb to 15 m and 15 s of hover. Add `start` to a fault. A fault of several sensors or",
        "axes is given for each. [RFlySimSafe's 29 published cases](../rflysimsafe.md) compares the outcomes.",
        "",
    ]
    cases = [
        (key, case.name, code(case.injected), "<br>".join(map(code, case.orders)), case.remark)
        for key, case in CASES.items()
    ]
    lines += table(("case", "fault", "injected", "as faults of Ironbird", "remark"), cases)
    return "\n".join(lines).rstrip("\n") + "\n"


def page() -> str:
    """The whole page."""
    lines = [
        "# Faults",
        "",
        f"All {len(FAULTS)} faults that can be injected into a flight, by family, and how one is written. Each changes",
        "tunable parameters of the model; the parts themselves do not know of faults. Written by `make docs`.",
        "",
        "```sh",
        "ironbird fault find motor                # faults by a usual word",
        "ironbird fault show rotor.speed_loss@1   # what one does, drawn on a bench",
        "```",
        "",
        "[Faults of your own](../guide/own-faults.md) are files. Those of RFlySimSafe by their numbers are on",
        f"[a page of their own]({OTHERS}).",
        "",
        "## Families",
        "",
        *families(),
        *grammar(),
        "## Catalogue",
        "",
        "How to read the columns:",
        "",
        "- **id**: family, name and version. A change of meaning makes a new version (`@2`): old reports stay true.",
        "- **severity**: what severity 1 is (0 has no effect, linear between). A sensor with one value (barometer,",
        "  airspeed, rangefinder) has no axes.",
        "- **targets**: the parameters that change: times a factor, plus an amount, or replaced (`=`). `{instance}` is",
        "  the number of the part, `*` stands for all parts. A fault on a part that the vehicle lacks is an error.",
        "- **witness**: the signal that must differ from a flight without the fault in the same wind (its twin); if it",
        "  does not, the fault had no effect and the verdict is void.",
        "- **source**: a key of [references.bib](../references.bib).",
        "",
        *catalogue(),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PAGE)
    out: Path = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(), encoding="utf-8")
    out.with_name(OTHERS).write_text(others_page(), encoding="utf-8")
    print(f"wrote {out.name} and {OTHERS}")


if __name__ == "__main__":
    main()
