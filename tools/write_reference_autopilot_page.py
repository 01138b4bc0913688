"""Writes docs/reference_autopilot.md: the estimator and modes of the reference autopilot, and which faults it survives.

    python tools/write_reference_autopilot_page.py [faults] [sensors] [consistency] [transitions] [wing_transitions]
        [rotors]

Without a word the page is written from docs/measured/reference_autopilot.json; the parts that are named are flown
again (some minutes). The state chart is made from the navigator itself: its rule for the next mode is evaluated for
every mode, command and failsafe. The same faults on PX4 and ArduPilot
are the matter of tools/write_comparison_page.py.
"""

from __future__ import annotations

import itertools
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from ironbird.blocks.controllers.mission_table import FAILSAFES, MODES
from ironbird.blocks.controllers.navigator import REGAINED_S, Navigator
from ironbird.blocks.controllers.runway_navigator import RunwayNavigator
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Injection
from ironbird.flight.order import make_order
from ironbird.flight.prepare import fit
from ironbird.model.block import View
from ironbird.model.equations import symbol

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference_autopilot.md"
FIGURES = ROOT / "docs" / "measured" / "reference_autopilot.json"
BENCH = runpy.run_path(str(ROOT / "bench" / "single_faults.py"))
TRANSITIONS = runpy.run_path(str(ROOT / "bench" / "mode_transitions.py"))
CONSISTENCY = runpy.run_path(str(ROOT / "bench" / "filter_consistency.py"))
CONSISTENT = ("quad_f450", "hexa_x", "quad_iris", "vtol_standard", "aerosonde_wheels", "aerosonde")
UNSEEN = 1000  # first seed: none of these was looked at when noises were set
ROTORS = runpy.run_path(str(ROOT / "bench" / "rotor_loss.py"))
COMMANDS = ("take-off", "hold", "mission", "return", "land", "offboard")
SHOWN = MODES[:9]  # of the navigator itself
WING_MODES = MODES[:6]
WING_FAILSAFES: dict[str, dict[str, Any]] = {
    "failsafe: battery": {"battery_remaining": 0.15},
    "battery empty": {"battery_remaining": 0.05},
    "failsafe: geofence": {"fence_height": 50.0},
    "failsafe: link": {"link_stamp": 0.0},
}
WING_ENDS = {"take_off": "run rejected, stands", "mission": "stands", "land": "stands"}
SEVERITIES = (0.1, 0.3, 0.5, 1.0)
SEEDS = 2


# ---------------------------------------------------------------------- measuring


def faults() -> list[dict[str, Any]]:
    """The faults of the table on the F450, one seed, severity 0.5."""
    orders = []
    for id in BENCH["sixty_faults"]():
        fault = FAULTS[id]
        severity = 0.5 if fault.has_severity else 1.0
        injection = Injection(fault, severity=severity, start_s=3.0, when='mode == "mission"')
        orders.append(BENCH["order_of"]("quad_f450", injection, 0))
    return [vars(flight) for flight in BENCH["fly"](orders, 1)]


def sensors() -> dict[str, Any]:
    """All faults of one sensor at some severities, on the first and second instance, some seeds: how many end how."""
    model = fit(make_order("quad_f450", control="reference")).model
    orders = []
    for name in BENCH["sensor_faults"](True):
        fault = FAULTS[f"{name}@1"]
        for severity in SEVERITIES if fault.has_severity else (1.0,):
            for instance in (1, 2):
                tap = fault.changes[0].target.format(instance=instance)
                if tap not in model.params():
                    continue
                injection = Injection(
                    fault, instance=instance, severity=severity, start_s=3.0, when='mode == "mission"'
                )
                orders += [BENCH["order_of"]("quad_f450", injection, seed) for seed in range(SEEDS)]
    found = BENCH["fly"](orders, 1)
    counts: dict[str, int] = {}
    for flight in found:
        counts[flight.result] = counts.get(flight.result, 0) + 1
    return {"flights": len(found), "counts": counts}


def consistency() -> list[dict[str, Any]]:
    """The filter on the sensors as flown: NEES and NIS with their bounds, without a fault."""
    rows = []
    for vehicle in CONSISTENT:
        found = CONSISTENCY["measure"](vehicle, first_seed=UNSEEN)
        for what, values, components in found.rows():
            low, high = found.band(components)
            rows.append(
                {"vehicle": vehicle, "what": what, "mean": round(float(values.mean()), 3)}
                | {"least": round(float(values.min()), 2), "most": round(float(values.max()), 2)}
                | {"band": [round(low, 2), round(high, 2)], "times": values.size}
                | {"inside": round(found.inside(values, components), 3)}
            )
    return rows


def flown_transitions() -> dict[str, int]:
    """Transitions between modes in the flights that are made for them, `FROM to AFTER`: in how many flights."""
    return {f"{now} to {after}": flights for (now, after), flights in sorted(TRANSITIONS["flown"]().items())}


def rotors() -> list[dict[str, Any]]:
    """Quadcopters that lose a rotor in hover, with and without the spin."""
    found = []
    for vehicle, spins, rotor in itertools.product(ROTORS["VEHICLES"], (False, True), (1, 3)):
        flights = ROTORS["fly"](vehicle, spins=spins, rotor=rotor, seeds=range(20))
        row: dict[str, Any] = {"vehicle": vehicle, "spins": spins, "rotor": rotor, "flights": len(flights)}
        row["landed"] = sum("landed" in flight.ended for flight in flights)
        for name in ("sink_mps", "impact_mps", "away_m", "spin_radps"):
            values = np.abs([getattr(flight, name) for flight in flights])
            row[name] = [round(float(value), 2) for value in (np.median(values), values.max())]
        found.append(row)
    return found


# ---------------------------------------------------------------------- the state chart


def transitions() -> dict[tuple[str, str], list[str]]:
    """Mode and next mode -> what leads there, from the navigator's own rule."""
    block = Navigator(2, sample_s=0.02)
    x = {name: symbol(name, signal) for name, signal in block.states.items()}
    u = {name: symbol(name, signal) for name, signal in (*block.inputs.items(), *block.clocks.items())}
    p = {name: symbol(name, signal) for name, signal in block.params.items()}
    tripped, climbed, at_home = ca.SX.sym("tripped", len(FAILSAFES)), ca.SX.sym("climbed"), ca.SX.sym("at_home")
    views = View(x, "states"), View(u, "inputs"), View(p, "parameters")
    mode, _ = block._next_mode(*views, tripped, climbed, at_home)
    free = [*x.values(), *u.values(), *p.values(), tripped, climbed, at_home]
    rule = ca.Function("rule", free, [mode])
    usual: dict[str, Any] = {
        name: np.zeros((s.rows, s.columns)) for name, s in {**block.states, **block.inputs}.items()
    }
    for name, signal in {**block.inputs, **block.params}.items():
        default = getattr(signal, "default", None)
        if default is not None and name != "table":
            usual[name] = np.array(default, np.float64) * np.ones((signal.rows, signal.columns))
    usual |= {"time": 100.0, "script": np.array([[1e9] * 4, [0.0] * 4]), "table": np.zeros((6, 2)), "count": 2.0}

    def following(now: str, command: str, trips: tuple[int, ...] = (), **told: float) -> str:
        values = usual | {"now": MODES.index(now), "command": MODES.index(command), "asked": MODES.index(command)}
        values |= {name: value for name, value in told.items() if name in values}
        flags = np.array([float(i in trips) for i in range(len(FAILSAFES))])
        fixed = [values.get(name, 0.0) for name in (*x, *u, *p)]
        return MODES[round(float(rule(*fixed, flags, told.get("climbed", 0.0), told.get("at_home", 0.0))))]

    found: dict[tuple[str, str], list[str]] = {}

    def note(now: str, after: str, why: str) -> None:
        if after != now:
            found.setdefault((now, after), []).append(why)

    flying = [name for name in SHOWN if name not in ("disarmed", "terminated")]
    for command in COMMANDS:
        for now in ("disarmed", *flying):
            note(now, following(now, command, asked=-1.0), f"order: {command}")
    for now in flying:
        for number, name in enumerate(FAILSAFES):
            note(now, following(now, now, (number,)), f"failsafe: {name}")
        note(now, following(now, now, (0,), battery_remaining=0.05), "battery empty")
        note(now, following(now, now, rotor_lost=1.0), "rotor of a quadcopter lost")
    for goal in ("hold", "mission"):
        note("take-off", following("take-off", goal, climbed=1.0, goal=float(MODES.index(goal))), "height reached")
    note("return", following("return", "return", at_home=1.0), "at home")
    note("descend", following("descend", "descend", regained=REGAINED_S + 1.0), "position valid again")
    return found


def wing_transitions() -> dict[tuple[str, str], list[str]]:
    """The same of wings on wheels, from the next state of their navigator: 100 m above the runway, or on it."""
    block = RunwayNavigator(2, sample_s=0.02)
    groups = (block.states, {**block.inputs, **block.clocks}, block.params)
    symbols = [{name: symbol(name, signal) for name, signal in group.items()} for group in groups]
    views = [View(group, "values") for group in symbols]
    rule = ca.Function("rule", [s for group in symbols for s in group.values()], [block.update(*views)["now"]])
    usual: dict[str, Any] = {}
    for name, signal in {**block.states, **block.inputs, **block.params}.items():
        default = getattr(signal, "default", None)
        usual[name] = np.array(0.0 if default is None else default, np.float64) * np.ones((signal.rows, signal.columns))
    items = np.array([[900.0, 0.0, -50.0, 0.0, 0.0, 0.0]] * 2).T
    usual |= {"time": 100.0, "table": items, "count": 2.0, "p_NB_N": [0.0, 0.0, -100.0], "v_NB_N": [25.0, 0.0, 0.0]}
    usual |= {"rotate_speed": 18.0, "cruise_speed": 25.0, "acceptance_radius": 60.0, "loiter_radius": 120.0}

    def following(now: str, command: str, **told: Any) -> str:
        number = float(MODES.index(command))
        aloft = float(now not in ("disarmed", "take-off"))
        values = usual | {"now": float(MODES.index(now)), "command": number, "asked": number, "aloft": aloft} | told
        return MODES[round(float(rule(*[values[name] for group in symbols for name in group])))]

    found: dict[tuple[str, str], list[str]] = {}

    def note(now: str, after: str, why: str) -> None:
        if after != now:
            found.setdefault((now, after), []).append(why)

    ground: dict[str, Any] = {"p_NB_N": [0.0, 0.0, 0.0], "v_NB_N": [0.0, 0.0, 0.0]}
    for command in COMMANDS[:-1]:
        note("disarmed", following("disarmed", command, asked=-1.0, **ground), f"order: {command}")
        note("take-off", following("take-off", command, asked=-1.0, **ground), f"order: {command}")
    for now in WING_MODES[2:]:
        for command in COMMANDS[:-1]:
            note(now, following(now, command, asked=-1.0), f"order: {command}")
        for why, told in WING_FAILSAFES.items():
            note(now, following(now, now, **told), why)
    for goal in ("take-off", "mission"):
        note("take-off", following("take-off", goal), f"height reached, order: {goal}")
    return found


def wing_chart() -> str:
    """As a Mermaid diagram, with what goes on inside the modes."""
    lines = ["```mermaid", "stateDiagram-v2", "    direction LR"]
    known = {name: name.replace("-", "_") for name in SHOWN}
    for (now, after), why in sorted(wing_transitions().items()):
        lines.append(f"    {known[now]} --> {known[after]}: {', '.join(dict.fromkeys(why))}")
    lines += ["    mission --> land: landing item", *(f"    {now} --> [*]: {why}" for now, why in WING_ENDS.items())]
    return "\n".join([*lines, "```"])


def wing_coverage(figures: dict[str, Any]) -> str:
    """Which of the wings' transitions are flown."""
    chart = {f"{now} to {after}" for now, after in wing_transitions()}
    flown = chart & set(figures.get("wing_transitions", {}))
    left = ", ".join(sorted(chart - flown)) or "none"
    return (
        f"Flown by the tests with `aerosonde_wheels` (`bench/mode_transitions.py`): {len(flown)} of {len(chart)} "
        f"transitions, not flown: {left}."
    )


def flown_wing_transitions() -> dict[str, int]:
    """As `flown_transitions`, of the Aerosonde on wheels."""
    return {f"{now} to {after}": flights for (now, after), flights in sorted(TRANSITIONS["wing_flown"]().items())}


def chart() -> str:
    """As a Mermaid diagram; landings end in `disarmed`, whatever the mode."""
    lines = ["```mermaid", "stateDiagram-v2", "    direction LR"]
    known = {name: name.replace("-", "_") for name in SHOWN}
    for (now, after), why in sorted(transitions().items()):
        lines.append(f"    {known[now]} --> {known[after]}: {', '.join(dict.fromkeys(why))}")
    for name in ("mission", "land", "descend"):
        lines.append(f"    {known[name]} --> disarmed: stands on the ground")
    return "\n".join([*lines, "```"])


def possible() -> set[tuple[str, str]]:
    """All transitions of the chart."""
    return set(transitions()) | {(name, "disarmed") for name in ("mission", "land", "descend")}


def coverage(figures: dict[str, Any]) -> str:
    """Which transitions the tests fly, and which the flights of the table made."""
    seen = set()
    for flight in figures.get("faults", []):
        modes = [MODES[int(part.partition("@")[0])] for part in flight["modes"].split()]
        seen |= set(itertools.pairwise(modes))
    chart = {f"{now} to {after}" for now, after in possible()}
    flown = chart & set(figures.get("transitions", {}))
    made = sorted(f"{now} to {after}" for now, after in seen & possible())
    left = ", ".join(sorted(chart - flown)) or "none"
    return (
        f"One flight of the whole vehicle per transition, with orders by script, GNSS denied for a while and a rotor "
        f"taken away (`bench/mode_transitions.py`, flown by the tests): {len(flown)} of {len(chart)} transitions, not "
        f"flown: {left}. The causes beside an arrow are not all flown: a pair of modes counts once. The flights of the "
        f"table of faults below alone made {len(made)}: {', '.join(made)}."
    )


# ---------------------------------------------------------------------- the page


def page(figures: dict[str, Any]) -> str:
    """The whole text."""
    parts = [HEAD.strip(), "## Modes and failsafes", MODES_TEXT.strip(), chart(), coverage(figures)]
    parts += ["## Modes of wings", WING_TEXT.strip(), wing_chart(), wing_coverage(figures)]
    parts += [
        "## One bad sensor among good ones",
        _sensor_text(figures),
        f"## {len(figures.get('faults', []))} faults of all parts",
        _table(figures),
    ]
    parts += ["## A quadcopter without a rotor", _rotor_text(figures)]
    parts += ["## Consistency of the Kalman filter (NEES, NIS)", _statistics(figures)]
    return "\n\n".join(parts) + "\n"


def _sensor_text(figures: dict[str, Any]) -> str:
    if "sensors" not in figures:
        return "Not measured."
    counts, flights = figures["sensors"]["counts"], figures["sensors"]["flights"]
    kept = counts.get("completed", 0) + counts.get("landed", 0)
    return (
        f"Every fault of one inertial unit, compass, barometer or receiver, on the first and the second of its kind, "
        f"at severities {', '.join(map(str, SEVERITIES))}, {SEEDS} seeds each, on the F450 (three inertial units, two "
        f"compasses, two receivers, one barometer) in 5 m/s wind with turbulence, with a fence of 60 m and 30 m: "
        f"{flights} flights, {counts.get('completed', 0)} completed their mission, {counts.get('landed', 0)} landed "
        f"before its end, {counts.get('out', 0)} left the fence by more than a braking distance, "
        f"{counts.get('crashed', 0)} crashed: {kept / flights:.1%} survived (`bench/single_faults.py`)."
    )


def _table(figures: dict[str, Any]) -> str:
    rows = ["| fault | severity | reference autopilot | highest, farthest, m |", "|" + " --- |" * 4]
    for flight in figures.get("faults", []):
        rows.append(
            f"| {flight['fault']} | {flight['severity']:g} | {flight['result']}: {flight['ended']} | "
            f"{flight['highest_m']:.0f}, {flight['farthest_m']:.0f} |"
        )
    return TABLE_TEXT.strip() + "\n\n" + "\n".join(rows)


def _rotor_text(figures: dict[str, Any]) -> str:
    rows = [ROTOR_TEXT.strip(), ""]
    rows += ["| vehicle | rotor lost | `lands_spinning` | landed | sink, m/s | impact, m/s | away, m | spin, rad/s |"]
    rows += ["|" + " --- |" * 8]
    for row in figures.get("rotors", []):
        cells = [f"{row[name][0]:.1f} ({row[name][1]:.1f})" for name in ("sink_mps", "impact_mps", "away_m")]
        cells.append(f"{row['spin_radps'][0]:.1f}" if row["spins"] else "-")
        key = "true" if row["spins"] else "false"
        rows.append(
            f"| {row['vehicle']} | {row['rotor']} | {key} | {row['landed']} of {row['flights']} | {' | '.join(cells)} |"
        )
    return "\n".join(rows)


def _statistics(figures: dict[str, Any]) -> str:
    rows = [STATISTICS_TEXT.strip(), ""]
    rows += [
        "| vehicle | quantity | mean | least and most over the runs | 95 % band | times inside |",
        "|" + " --- |" * 6,
    ]
    for row in figures.get("consistency", []):
        rows.append(
            f"| {row['vehicle']} | {row['what']} | {row['mean']:.2f} | {row['least']:.2f}, {row['most']:.2f} | "
            f"{row['band'][0]:.2f} to {row['band'][1]:.2f} | {row['inside']:.0%} of {row['times']} |"
        )
    return "\n".join(rows)


HEAD = """
# The reference autopilot

The reference autopilot is the control system that Ironbird ships (`--control reference`, the default): sensors with
fault taps, voters, a Kalman filter, navigator and control, all blocks of the vehicle's own model
([record 8](adr/0008-sensors-taps-and-the-reference-autopilot.md), [record 29](adr/0029-one-bad-sensor.md)). This page
says how it reacts to bad sensors, its modes, and which faults it survives. Figures are in
[measured](measured/reference_autopilot.json); `python tools/write_reference_autopilot_page.py` writes the page from
them, and flies a part again if its name is given: `faults`, `sensors`, `consistency`, `transitions`,
`wing_transitions`, `rotors`.

What one bad sensor can do to it:

- **One of three inertial units**: it is compared with the median of all and left out for at least 5 s. If no
  accelerometer is left, the filter assumes unaccelerated flight and relies on GNSS velocity; without that the vehicle
  descends level, with bounded thrust.
- **A compass**: it is compared with strength, inclination and heading of the field model at the estimated attitude;
  the other compass is used. With none left the gyro holds the heading, corrected by GNSS velocity while the vehicle
  accelerates.
- **A GNSS receiver of two**, position or velocity: it is compared with itself (positions must move as the velocity
  says), with the other receiver, the estimate and the barometer. The other receiver is used, and the estimate may jump
  to it at once.
- **The only GNSS receiver**: a jump of the position is attributed to the receiver's slow error; a wrong velocity is
  rejected.
- **The barometer**: it is compared with position and velocity of a consistent receiver, not used while they disagree,
  and zeroed again afterwards.

The filter is never reset to a sensor that two others contradict.
"""

MODES_TEXT = f"""
The reaction depends on what is still valid. With a position the vehicle holds, returns (never above the height limit)
or lands. With a velocity alone (GNSS just lost, or from optical flow and a downward rangefinder) it brakes, then
descends on the spot. With neither it descends level at a steady sink rate, measured by the barometer alone where that
contradicts the estimate, with lift bounded to 0.75 to 1.15 of the weight. A descent in which
the position is valid again for {REGAINED_S:g} s becomes a landing. Of several failsafes the strongest acts: terminate,
descend, land, return. The chart is made from the navigator's own rule.
"""

WING_TEXT = """
A take-off on wheels is a run with the brakes off and the nose down, rotation at a stated speed through the air, wings
level up to a height, and the climb; a run that is too long is rejected ([record 49](adr/0049-wheels.md)). A landing
goes from the approach circle down the glide to the flare, and around where it is off the glide or too long; on wheels
it rolls out with brakes. Without GNSS or estimator a wing circles with a steady bank in any mode but the glide, shown
as hold. The airspeed tube is left out while lift and wind contradict it
([record 50](adr/0050-an-airspeed-that-is-checked.md)).
"""

TABLE_TEXT = """
F450 on its usual mission in 5 m/s wind with turbulence, one seed, fault 3 s into the mission, fence of 60 m and 30 m.
`completed`: the mission's end was reached; `landed`: whole on the ground before it, or in the air within the fence at
150 s; `out`: beyond the fence by more than a braking distance; `crashed`. PX4 and ArduPilot with sixty common faults:
[their page](autopilot_comparison.md). The table is flown again by
`python tools/write_reference_autopilot_page.py faults`, which writes this page;
`python bench/single_faults.py --sixty` prints the same flights.
"""

ROTOR_TEXT = """
With `lands_spinning = true` in the table `control` of a quadcopter's file a rotor that telemetry shows to be lost is
given up together with the heading ([record 36](adr/0036-a-quadcopter-without-a-rotor.md)): the vehicle spins about an
axis that it holds upright, and lands where it is. Hover at 20 m in 3 m/s of wind with turbulence, 20 seeds
(`bench/rotor_loss.py`): medians, in brackets the largest; sink from 3 s after the loss. A touch-down faster than 3 m/s
counts as a crash. Two rotors of the F450 lift nine tenths of its weight at full throttle: it cannot hold its height,
and comes down upright at 5 m/s where it fell at 16 m/s.
"""

STATISTICS_TEXT = """
The noises of the filter follow from the products that a vehicle carries
([record 63](adr/0063-noises-of-the-filter-from-the-products.md)). On these products as flown, wandering GNSS and
vibration included, 200 missions in 5 m/s wind with turbulence: squared errors over the covariance (NEES) every 5 s and
innovations over their variance (NIS) at every fix, means over the runs, 1 expected. The band is the two-sided 95 % of
chi-square (`bench/filter_consistency.py`). Above 1 is optimistic, below is cautious. What is assumed was set on other
seeds than these (1000 to 1199) and those that a test flies (3000 to 3199, F450).
"""

MEASURED: dict[str, Callable[[], Any]] = {
    "faults": faults,
    "sensors": sensors,
    "consistency": consistency,
    "transitions": flown_transitions,
    "wing_transitions": flown_wing_transitions,
    "rotors": rotors,
}


def main() -> None:
    """Measure what is named, write the page."""
    figures: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in sys.argv[1:]:
        if name not in MEASURED:
            raise SystemExit(f"unknown part {name}; known: {', '.join(MEASURED)}")
        figures[name] = MEASURED[name]()
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))


if __name__ == "__main__":
    main()
