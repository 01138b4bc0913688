"""The suite of meanings: small orders, each with the verdict that an engineer would give and why.

Files of `tests/system/meanings` have one topic each: `[usual]`, which all their orders share, and `[[meaning]]` tables.
`order` has the arguments of `ib.fly` (`require` for requirements, `wind` for the weather, `controller` for one of the
Python functions below, and `claims` for what it reports). What is expected:

    verdict     pass, fail, void or error; `broken` names what is broken then (an unfinished mission beside it is free)
    untested    a requirement held without having been put to the test; no pass has one without this key
    early       the failure came before any fault
    says        a pattern in the sentence, the refusal, or what a command printed
    rows        the order is flown with each of these steps of the log, in s, and comes out the same
    seeds       the order is flown with each of these seeds, and comes out the same
    acts        at the first row in which `signal` differs from the flight without faults, exactly `entries` differ
    differs     `signal` differs (`is = true`) from the flight without faults at `at_s`, or does not
    expect      as in a case; `as_expected` says whether the flight came out so
    refused     the order is refused, with this pattern in the text
    command     arguments of `ironbird`; `exit` is its exit code
    suite       text of a file of cases that `campaign run` flies; `exit`, and `junit` has counts of junit.xml
    known       why the product says something else today; the test fails when that is over
"""

from __future__ import annotations

import functools
import re
import shlex
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import ironbird as ib
from ironbird.campaign.expected import expected_text, is_as_expected
from ironbird.cli.main import app
from ironbird.flight.ends import MISSION
from ironbird.rig.system import AutopilotEvent

FOLDER = Path(__file__).parents[1] / "system" / "meanings"
MISSIONS = "missions.toml"
WAYS = ("verdict", "refused", "command", "suite")
HOVER = 0.664  # throttle of the F450 in hover
STEP_TICKS = 20  # of 1 ms between two calls of a controller

Meaning = Mapping[str, Any]


def meanings() -> list[Any]:
    """The entries as parameters of a test."""
    return [
        pytest.param(
            meaning,
            id=f"{topic}-{meaning['id']}",
            marks=pytest.mark.xfail(strict=True, raises=AssertionError, reason=meaning["known"])
            if "known" in meaning
            else (),
        )
        for topic, meaning in entries()
    ]


def entries() -> Iterator[tuple[str, Meaning]]:
    """Topic and entry of all that the suite has."""
    for path in sorted(FOLDER.glob("*.toml")):
        if path.name != MISSIONS:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            for meaning in table["meaning"]:
                yield path.stem, {**meaning, "order": {**table.get("usual", {}), **meaning.get("order", {})}}


@functools.cache
def _missions() -> dict[str, ib.Mission]:
    tables = tomllib.loads((FOLDER / MISSIONS).read_text(encoding="utf-8"))
    keys = ("kind", "north_m", "east_m", "height_m", "hold_s")
    return {
        name: ib.Mission.model_validate(
            {
                "schema": 1,
                "title": name.replace("_", " "),
                "item": [dict(zip(keys, item, strict=True)) for item in table.pop("items")],
                **table,
            }
        )
        for name, table in tables.items()
    }


# ---------------------------------------------------------------------- flying


def arguments(order: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `ib.fly` of an entry's order."""
    given = dict(order)
    if "mission" in given:
        given["mission"] = _missions().get(given["mission"], given["mission"])
    if "wind" in given:
        given["weather"] = ib.Weather(**given.pop("wind"))
    if "place" in given:
        given["place"] = ib.Home(**given["place"])
    if "require" in given:
        given["requirements"] = [_requirement(entry) for entry in given.pop("require")]
    if "controller" in given:
        given["control"] = ib.FunctionSystem(CONTROLLERS[given.pop("controller")](), "under test", STEP_TICKS)
    if "claims" in given:
        given["control"].autopilot_events += [AutopilotEvent(5.0, kind, text) for kind, text in given.pop("claims")]
    return given


def _requirement(entry: str | Mapping[str, Any]) -> ib.Requirement | str:
    if isinstance(entry, str):
        return entry
    if "use" in entry:
        return ib.Requirement.of(entry["use"], **entry.get("params", {}))
    return ib.Requirement(**entry)


def _fly(order: Mapping[str, Any]) -> ib.Flight:
    given = arguments(order)
    return ib.fly(given.pop("vehicle"), **given)


def differences(meaning: Meaning, folder: Path) -> list[str]:
    """What came out otherwise than an entry says; nothing if all is as it says."""
    if "command" in meaning:
        return _of_command(meaning, shlex.split(meaning["command"]), folder)
    if "suite" in meaning:
        (folder / "cases.toml").write_text(meaning["suite"], encoding="utf-8")
        named = [*meaning.get("with", []), "--name", "meant", "--store", f"sqlite:///{folder / 'store.db'}"]
        command = ["campaign", "run", str(folder / "cases.toml"), "--workers", "1", *named]
        return _of_command(meaning, command, folder) + _of_junit(meaning, folder)
    if "refused" in meaning:
        return _of_refusal(meaning)
    found = []
    for rows in meaning.get("rows", [None]):
        for seed in meaning.get("seeds", [None]):
            given = {"log_s": rows, "seed": seed}
            order = {**meaning["order"], **{key: value for key, value in given.items() if value is not None}}
            found += [f"{given}: {text}" for text in _of_flight(meaning, order)]
    return found


def _of_flight(meaning: Meaning, order: Mapping[str, Any]) -> Iterator[str]:
    try:
        flight = _fly(order)
    except ib.IronbirdError as error:
        yield f"refused: {error}"
        return
    judged = flight.judged
    broken = {j.name for j in judged.judgements if not j.holds}
    named = set(meaning.get("broken", ()))
    if judged.verdict != meaning["verdict"]:
        yield f"{judged.verdict}, not {meaning['verdict']}: {judged.sentence}"
    elif judged.verdict == "fail" and not named <= broken <= named | {MISSION}:
        yield f"broken are {sorted(broken)}, not {sorted(named)}: {judged.sentence}"
    elif judged.verdict == "pass" and bool(judged.untested) != meaning.get("untested", False):
        yield f"not put to the test are {[(j.name, j.untested) for j in judged.untested]}"
    if judged.early != meaning.get("early", judged.early):
        yield f"early is {judged.early}: {judged.sentence}"
    if not re.search(meaning.get("says", ""), judged.sentence):
        yield f"the sentence has no '{meaning['says']}': {judged.sentence}"
    if "expect" in meaning:
        came = is_as_expected(judged, expected_text(meaning["expect"]))
        if came != meaning["as_expected"]:
            yield f"as expected is {came}: {judged.sentence}"
    for key in ("acts", "differs"):
        if key in meaning:
            yield from _of_signal(meaning[key], flight, order)


def _of_signal(asked: Mapping[str, Any], flight: ib.Flight, order: Mapping[str, Any]) -> Iterator[str]:
    """Compare a signal with the flight without faults."""
    healthy = _fly({**order, "faults": []})
    ours, theirs = (np.atleast_2d(np.asarray(f.log[asked["signal"]]).T).T for f in (flight, healthy))
    rows = min(len(ours), len(theirs))
    apart = ours[:rows].reshape(rows, -1) != theirs[:rows].reshape(rows, -1)
    if "entries" in asked:
        if not apart.any():
            yield f"{asked['signal']} never differs"
            return
        first = apart[int(apart.any(axis=1).argmax())]
        if np.flatnonzero(first).tolist() != asked["entries"]:
            yield f"{asked['signal']} differs first in {np.flatnonzero(first).tolist()}, not in {asked['entries']}"
    else:
        row = round(asked["at_s"] / order.get("log_s", 0.02))
        if bool(apart[row].any()) != asked["is"]:
            yield f"at {asked['at_s']} s {asked['signal']} is {ours[row]}, without faults {theirs[row]}"


def _of_refusal(meaning: Meaning) -> list[str]:
    try:
        flight = _fly(meaning["order"])
    except ib.IronbirdError as error:
        right = re.search(meaning["refused"], str(error))
        return [] if right else [f"refused, but without '{meaning['refused']}': {error}"]
    return [f"flown, not refused: {flight.verdict}: {flight.judged.sentence}"]


def _of_command(meaning: Meaning, command: list[str], folder: Path) -> list[str]:
    out = [] if "--out" in command or command[0] not in ("fly", "campaign") else ["--out", str(folder / "out")]
    done = CliRunner().invoke(app, [*command, *out], env={"COLUMNS": "200"})
    words = " ".join(done.output.split())
    found = [] if done.exit_code == meaning["exit"] else [f"exit code {done.exit_code}, not {meaning['exit']}: {words}"]
    return found if re.search(meaning.get("says", ""), words) else [*found, f"no '{meaning['says']}' in: {words}"]


def _of_junit(meaning: Meaning, folder: Path) -> list[str]:
    if "junit" not in meaning:
        return []
    (path,) = (folder / "out").rglob("junit.xml")
    root = ET.parse(path).getroot()
    suites = [root] if root.tag == "testsuite" else root.findall("testsuite")
    counts = {name: sum(int(suite.get(name, "0")) for suite in suites) for name in meaning["junit"]}
    return [] if counts == meaning["junit"] else [f"junit.xml counts {counts}, not {meaning['junit']}"]


# ---------------------------------------------------------------------- controllers

Controller = Callable[[ib.Rig], None]


def _all_rotors(rig: ib.Rig, throttle: float) -> None:
    for number in range(1, 5):
        rig.command(f"rotor/{number}", min(1.0, max(0.0, throttle)))


def _to_height(rig: ib.Rig, height_m: float) -> None:
    """Hold a height by the true state; in calm air the vehicle stays level and in place by itself."""
    _all_rotors(rig, HOVER + 0.05 * (height_m + rig.truth("p")[2]) + 0.08 * rig.truth("v")[2])


def _hold() -> Controller:
    return lambda rig: _to_height(rig, 5.0)


def _hold_by_barometer() -> Controller:
    """Hold a height by the pressure, which is 12 Pa less for every metre."""
    ground_Pa: list[float] = []

    def exchange(rig: ib.Rig) -> None:
        pressure_Pa = float(rig.barometers[0].values[0])
        if not ground_Pa and rig.barometers[0].fresh():
            ground_Pa.append(pressure_Pa)
        high_m = (ground_Pa[0] - pressure_Pa) / 12.0 if ground_Pa else 0.0
        _all_rotors(rig, HOVER + 0.05 * (5.0 - high_m) + 0.08 * rig.truth("v")[2])

    return exchange


def _idle() -> Controller:
    return lambda rig: _all_rotors(rig, 0.0)


def _full() -> Controller:
    return lambda rig: _all_rotors(rig, 1.0)


def _one_motor() -> Controller:
    return lambda rig: rig.command("rotor/1", 1.0)


def _cut_at_3_s() -> Controller:
    return lambda rig: _to_height(rig, 10.0) if rig.time_s < 3.0 else _all_rotors(rig, 0.0)


def _no_number() -> Controller:
    return lambda rig: rig.command("rotor/1", float("nan"))


def _too_much() -> Controller:
    def exchange(rig: ib.Rig) -> None:
        for number in range(1, 5):
            rig.command(f"rotor/{number}", 50.0)

    return exchange


def _hop() -> Controller:
    """The mission `hop` by hand: up to 3 m, and down at 0.6 m/s."""

    def exchange(rig: ib.Rig) -> None:
        high = -rig.truth("p")[2]
        if rig.time_s < 6.0:
            _to_height(rig, 3.0)
        elif high > 0.14:
            _all_rotors(rig, HOVER + 0.2 * (rig.truth("v")[2] - 0.6))
        else:
            _all_rotors(rig, 0.0)

    return exchange


def _bounce() -> Controller:
    """The mission `hop`, and up again after the landing."""
    first = _hop()
    return lambda rig: first(rig) if rig.time_s < 16.0 else _to_height(rig, 3.0)


def _beyond() -> Controller:
    """Faults that nobody ordered: it changes a parameter of the vehicle in flight."""

    def exchange(rig: ib.Rig) -> None:
        if rig.time_s == 0.0:
            rig.tune("body.mass", 0.7)
        _all_rotors(rig, 0.5)

    return exchange


def _silent() -> Controller:
    return lambda rig: None


CONTROLLERS: dict[str, Callable[[], Controller]] = {
    "holds 5 m": _hold,
    "holds 5 m by the barometer": _hold_by_barometer,
    "idle": _idle,
    "full throttle": _full,
    "one motor": _one_motor,
    "cuts at 3 s": _cut_at_3_s,
    "not a number": _no_number,
    "too much": _too_much,
    "hops": _hop,
    "hops and goes up again": _bounce,
    "changes the vehicle": _beyond,
    "silent": _silent,
}
