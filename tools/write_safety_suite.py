"""Writes the shipped suites safety (campaign/suites/safety.toml, case files in campaign/suites/safety) and regression.

    python tools/write_safety_suite.py                     all families
    python tools/write_safety_suite.py multicopter vtol    these alone; the others stay as they are

One case per vehicle, fault and phase of flight. A case is expected to pass, unless the vehicle itself cannot do better:
then its note says why a real one would be lost too (`WHY`). A case that fails without such a reason is a defect of the
autopilot: it is written as expected to pass, named on standard output, and the tool ends with 1. Faults that do not act
in a case (a sensor that nothing listens to in that phase) are left out and named on standard output.
"""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ironbird.campaign.batch import fly_all
from ironbird.campaign.case import TABLES
from ironbird.campaign.result import FlightResult
from ironbird.campaign.suite import load_suite
from ironbird.campaign.suite_path import BUILT_IN
from ironbird.errors import FaultError
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Injection
from ironbird.files.toml_text import write_toml
from ironbird.flight.ends import MISSION as ENDING
from ironbird.flight.order import make_order
from ironbird.flight.prepare import model_of, targets_in
from ironbird.flight.words import FAIL, PASS, VOID

FOLDER = BUILT_IN / "safety"
SUITE = BUILT_IN / "safety.toml"
REGRESSION = BUILT_IN / "regression.toml"

# Family of the file, vehicles, when faults begin: a trigger, and seconds behind it
MISSION = 'mode == "mission"'
CRUISE = 'mode == "cruise"'
FAMILIES: dict[str, dict[str, tuple[str, float]]] = {
    "multicopter": {
        "quad_f450": (MISSION, 3.0), "hexa_x": (MISSION, 3.0), "octo_coax": (MISSION, 3.0), "tri_y": (MISSION, 3.0),
    },
    "helicopter": {"heli_xcell60": (MISSION, 3.0)},
    "fixed_wing": {"aerosonde": (MISSION, 5.0), "zagi": (MISSION, 5.0)},
    "vtol": {"vtol_standard": (CRUISE, 3.0), "vtol_tailsitter": (CRUISE, 3.0), "tiltrotor_provant": (MISSION, 3.0)},
    "rover": {"car_escort": ("", 12.0), "rover_differential": ("", 12.0)},
    "boat": {"boat_otter": ("", 15.0), "boat_cybership2": ("", 20.0)},
    "underwater": {"rov_bluerov2_heavy": ("", 15.0), "auv_remus100": ("", 30.0)},
}  # fmt: skip
EVERY_FAULT = "quad_f450"  # flies every fault that it has a part for
SEVERITY = 0.5
# What every vehicle flies, with its severity, as far as it has the part
CORE: dict[str, float] = {
    "imu.bias": 0.5, "imu.accel_open": 1.0, "imu.gyro_stuck": 1.0, "imu.gyro_noise": 0.5, "mag.bias": 0.5,
    "mag.dropout": 1.0, "baro.drift": 0.5, "baro.stuck": 1.0, "gnss.jamming": 1.0, "gnss.spoofing": 0.3,
    "gnss.position_drift": 0.3, "airspeed.stuck": 1.0, "airspeed.scale": 0.5, "environment.gnss_denied": 1.0,
    "environment.magnetic_anomaly": 0.5, "rotor.speed_loss": 0.2, "rotor.stuck": 1.0, "rotor.floating": 1.0,
    "rotor.slow_response": 0.5, "servo.loss": 0.5, "servo.stuck": 1.0, "servo.hard_over": 0.5, "servo.slow": 0.5,
    "steering.loss": 0.5, "steering.stuck": 1.0, "steering.slow": 0.5, "wheel.drive_loss": 0.5, "wheel.seized": 1.0,
    "wheel.friction_loss": 0.5, "road.slippery": 0.5, "thruster.loss": 0.5, "thruster.fouled": 0.5,
    "battery.cell_loss": 1.0, "battery.low_capacity": 0.5, "load.shift": 0.3, "load.drop": 0.3, "link.delay": 0.3,
    "wind.gust": 0.5, "wind.steady": 0.4, "wind.turbulence": 0.5, "current.rise": 0.5, "current.turn": 0.5,
    "waves.rise": 0.5,
}  # fmt: skip
# Failsafes and phases of the quadcopter: fault, severity, trigger, and the mode that must follow within so many seconds
FAILSAFES: tuple[tuple[str, str, float, str, str, float], ...] = (
    ("gnss-denied-descends", "environment.gnss_denied", 1.0, MISSION, "descend", 15.0),
    ("gnss-denied-in-hold", "environment.gnss_denied", 1.0, 'mode == "take-off"', "descend", 20.0),
    ("battery-low-returns", "battery.low_capacity", 0.96, MISSION, "return", 55.0),
    ("battery-empty-lands", "battery.low_capacity", 0.96, MISSION, "land", 55.0),
)
PHASES = {"take-off": 'mode == "take-off"', "mission": MISSION, "landing": "item >= 5 and altitude < 8 m"}
PHASE_FAULTS = {
    "rotor.speed_loss": 0.3, "rotor.floating": 1.0, "imu.accel_open": 1.0, "imu.gyro_bias": 0.3, "gnss.jamming": 1.0,
    "baro.drift": 0.5, "mag.dropout": 1.0, "wind.gust": 0.6, "battery.cell_loss": 1.0,
}  # fmt: skip
# Why a real vehicle would be lost too: patterns of case ids (`*` is any text), and the reason
WHY: tuple[tuple[str, str], ...] = (
    ("quad_*-rotor.floating", "Three rotors cannot hold the heading and this control does not fly the spin."),
    ("quad_*-rotor.hard_over", "A rotor at full thrust takes more than its neighbours can balance."),
    ("tri_y-rotor.*", "A tricopter without one of its rotors has no moment left about one axis."),
    ("tri_y-servo.*", "The tail servo is the only source of yaw."),
    ("vtol_*-rotor.*", "Four rotors, one of them lost in hover or transition: as a quadcopter."),
    ("tiltrotor_provant-rotor.*", "Two rotors carry it: the loss of one turns it over."),
    ("heli_xcell60-rotor.floating", "Without its engine it would have to autorotate, which this control does not fly."),
    ("*-servo.stuck-*", "A stuck surface or swash-plate servo is a constant moment that the others cannot balance."),
    ("*-servo.hard_over-*", "A surface at its stop outweighs the others."),
    ("*-servo.loss-elevon*", "A flying wing has two surfaces: with half of one, roll and pitch cannot both be held."),
    ("*-battery.power_off", "Without power nothing turns."),
    ("*-battery.low_voltage", "At that voltage the rotors do not lift the weight."),
    ("*-battery.cell_loss", "With a cell less the rotors do not lift the weight for long: it comes down hard."),
    ("*-link.loss", "No command reaches the motors."),
    ("*-wind.*", "The wind is stronger than the vehicle is fast, or throws it over at touch-down."),
    ("boat_otter-rotor.*", "Two thrusters steer it: with one it turns in circles."),
    ("boat_otter-thruster.*", "Two thrusters steer it: a weak one turns it off its track."),
    ("boat_cybership2-current.rise", "The current is faster than the model ship."),
    ("auv_remus100-rotor.*", "It has one propeller."),
    ("car_*-steering.stuck", "Steering that is stuck takes no turn."),
    (
        "car_*-steering.slow",
        "Its path control is tuned for a quick servo: with a slow one it weaves at walking pace and comes too late.",
    ),
    ("car_*-wheel.seized", "A seized wheel holds the car."),
    ("car_*-gnss.*", "One receiver, no second source of position: it goes where the receiver says, or stops."),
    ("rover_*-gnss.*", "One receiver, no second source of position: it goes where the receiver says, or stops."),
    ("boat_*-waves.rise", "Waves of that height exceed the thrust of the model ship."),
    (
        "*-environment.gnss_denied",
        "All receivers are lost: it drifts with wind or current and touches down as it moves.",
    ),
    ("boat_*-gnss.*", "One receiver, no second source of position: it goes where the receiver says."),
    ("rov_*-gnss.*", "One source of position under water: it goes where that says."),
    ("auv_*-gnss.*", "One source of position under water: it goes where that says."),
    ("*-environment.magnetic_anomaly", "Both compasses see the anomaly; the heading drifts with the gyro alone."),
)
SURFACES = re.compile(r"surface/([^/]+)/servo\.health")


def main() -> None:
    """Fly the families that are named, or all, and write their files."""
    chosen_families = sys.argv[1:] or list(FAMILIES)
    if unknown := set(chosen_families) - set(FAMILIES):
        raise SystemExit(f"unknown family {', '.join(sorted(unknown))}; known: {', '.join(FAMILIES)}")
    FOLDER.mkdir(exist_ok=True)
    for family, vehicles in FAMILIES.items():
        if family not in chosen_families:
            continue
        cases = [case for vehicle, when in vehicles.items() for case in _cases(vehicle, family, when)]
        path = FOLDER / f"{family}.toml"
        path.write_text(_text(family, cases))
    SUITE.write_text(SUITE_TEXT)
    suite = load_suite(SUITE)
    flown = {case.id for case in suite.cases if case.source.path.stem in chosen_families}
    results = {result.case_id: result for result in fly_all([f for f in suite.flights() if f.case_id in flown])}
    idle = [case for case, result in results.items() if result.verdict == VOID]
    for case in idle:
        print(f"left out: {case}: {results[case].sentence}")
    kept: dict[Path, list[dict[str, Any]]] = {}
    defects = 0
    for planned in suite.cases:
        own = dict(planned.source.data["case"][planned.number])
        result = results.get(planned.id)
        if result is not None and result.verdict != VOID:
            reason = _why(planned.id)
            own = {key: value for key, value in own.items() if key != "note"}
            fails = result.verdict == FAIL and bool(reason)
            own["expect"] = {FAIL: _broken(result)} if fails else PASS
            if fails:
                own["note"] = reason
            elif result.verdict != PASS:
                defects += 1
                print(f"DEFECT {planned.id}: {result.sentence}")
        if result is None or result.verdict != VOID:
            kept.setdefault(planned.source.path, []).append(own)
    for path, cases in kept.items():
        if path.stem in chosen_families:
            path.write_text(_text(path.stem, cases))
    chosen = [case for cases in kept.values() for case in cases if _for_regression(case)]
    REGRESSION.write_text(SUITE_TEXT.replace(*HEAD) + write_toml({"case": chosen}, TABLES))
    counts: dict[str, int] = {}
    for case, result in results.items():
        if case not in idle:
            counts[result.verdict] = counts.get(result.verdict, 0) + 1
    print(f"{sum(counts.values())} cases flown: {counts}; {defects} without a reason")
    raise SystemExit(1 if defects else 0)


def _broken(result: FlightResult) -> list[str]:
    """Names of the requirements that a flight broke; that a crashed vehicle did not end as ordered is no other one."""
    names = [judgement.name for judgement in result.judgements if not judgement.holds]
    return [name for name in names if name != ENDING or not result.crashed]


def _why(case: str) -> str:
    return next((reason for pattern, reason in WHY if fnmatch.fnmatchcase(case, pattern)), "")


def _for_regression(case: dict[str, Any]) -> bool:
    """A few dozen flights of three vehicles: for every change, while the whole suite is for every night."""
    if {"failsafe", "phase"} & set(case["tags"]):
        return True
    return case["vehicle"] in ("boat_otter", "rover_differential") and case["fault"][0]["id"] in REGRESSION_FAULTS


REGRESSION_FAULTS = ("imu.bias@1", "gnss.jamming@1", "thruster.loss@1", "wheel.drive_loss@1", "mag.bias@1")
HEAD = (
    """id = "safety"
title = "What the reference autopilots survive: faults of every part, in wind or current, on every kind of vehicle"
include = ["safety/*.toml"]
""",
    """id = "regression"
title = "A few dozen flights of the safety suite, for every change"
""",
)
SUITE_TEXT = """# Written by tools/write_safety_suite.py
schema = 1

[suite]
id = "safety"
title = "What the reference autopilots survive: faults of every part, in wind or current, on every kind of vehicle"
include = ["safety/*.toml"]

[suite.defaults]
seeds = 1
ends = "completed or landed"
[suite.defaults.wind]
speed_mps = 4.0
from_deg = 270.0
turbulence_mps = 7.7
[[suite.defaults.require]]
use = "no_crash"
[[suite.defaults.require]]
use = "geofence"
params = { radius = 2500.0, height = 150.0 }
"""


def _text(family: str, cases: list[dict[str, Any]]) -> str:
    head = f"# Written by tools/write_safety_suite.py: {family}\n"
    return head + write_toml({"schema": 1, "case": cases}, TABLES)


def _cases(vehicle: str, family: str, when: tuple[str, float]) -> Iterator[dict[str, Any]]:
    known = list(dict.fromkeys(id.partition("@")[0] for id in FAULTS))
    for name in known if vehicle == EVERY_FAULT else CORE:
        if name not in known:
            raise ValueError(f"{name} is no fault of the catalogue")
        for instance in _instances(vehicle, name):
            yield _case(vehicle, family, name, CORE.get(name, SEVERITY), instance, *when)
    if vehicle == EVERY_FAULT:
        for phase, trigger in PHASES.items():
            for name, severity in PHASE_FAULTS.items():
                instance = next(iter(_instances(vehicle, name)))
                case = _case(vehicle, family, name, severity, instance, trigger, 0.5)
                yield case | {"id": f"{vehicle}-{phase}-{name}", "tags": [*case["tags"], "phase"]}
        for title, name, severity, trigger, mode, within in FAILSAFES:
            case = _case(vehicle, family, name, severity, None, trigger, 1.0)
            case["fault"][0].pop("instance", None)
            yield case | {
                "id": f"{vehicle}-failsafe-{title}",
                "tags": [*case["tags"], "failsafe"],
                "wind": {"speed_mps": 0.0, "turbulence_mps": 0.0},  # so that a blind descent lands softly
                "require": [{"use": "failsafe_reaction_time", "params": {"mode": mode, "within": within}}],
            }


def _instances(vehicle: str, name: str) -> list[int | str | None]:
    """Parts on which a fault is tried: the first of equal ones, every control surface; none if it lacks the part."""
    fault = FAULTS[f"{name}@1"]
    model = model_of(make_order(vehicle))
    if not fault.counts_instances:
        candidates: list[int | str] = [1]
    elif "surface/" in fault.changes[0].target:
        candidates = [match[1] for path in model.params() if (match := SURFACES.fullmatch(path))]
    else:
        candidates = [1, "left", "right"]
    found: list[int | str | None] = []
    for instance in candidates:
        order = Injection(fault, instance=instance, severity=1.0)
        try:
            targets_in(model, order)
        except FaultError:
            continue
        if order.witness in model.signals():
            found.append(instance if fault.counts_instances else None)
            if "surface/" not in fault.changes[0].target:
                break
    return found


def _case(
    vehicle: str, family: str, name: str, severity: float, instance: int | str | None, trigger: str, start_s: float
) -> dict[str, Any]:
    fault: dict[str, Any] = {"id": f"{name}@1"}
    if instance is not None:
        fault["instance"] = instance
    fault |= {"severity": severity, "start_s": start_s} if FAULTS[f"{name}@1"].has_severity else {"start_s": start_s}
    if trigger:
        fault["when"] = trigger
    part = f"-{instance}" if isinstance(instance, str) else ""
    return {
        "id": f"{vehicle}-{name}{part}",
        "title": FAULTS[f"{name}@1"].summary,
        "vehicle": vehicle,
        "tags": [family, vehicle, name.partition(".")[0]],
        "fault": [fault],
    }


if __name__ == "__main__":
    main()
