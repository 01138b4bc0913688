"""The judge: error before fail before void before pass, and sentences that say why."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ironbird.campaign.batch import TracePolicy, fly_batch
from ironbird.campaign.case import FlightCase
from ironbird.faults.catalog import parse_fault
from ironbird.flight import judge as judging
from ironbird.flight.flight import Flight, fly
from ironbird.flight.flown import Flown
from ironbird.flight.judge import Judged, Judgement, judge, not_flown
from ironbird.flight.order import Order, Requirement
from ironbird.flight.witness import Witness
from ironbird.flight.words import collision_words
from ironbird.rig.rig import Rig
from ironbird.rig.system import FunctionSystem
from ironbird.runtime.state import Stop
from ironbird.runtime.tuning import Tuning
from ironbird.vehicles import places as at

LOW = Requirement("low", "always (altitude < 60 m)", "minor")  # holds
GROUNDED = Requirement("grounded", "always (altitude < 1 m)", "major")  # the hover breaks it
LOSS = "rotor.speed_loss@1:instance=1,severity=0.1,start=2"
LANDED = "landed before the end of the mission"
SAG = "battery.low_voltage@1:severity=0.05,start=2"


@pytest.fixture(scope="module")
def hover() -> Flight:
    return fly("quad_f450", control="truth", mission="hover", until_s=4.0, seed=1)


def witness(fault: str, first_s: float) -> Witness:
    """Of a fault that acted from then on, or never (NaN)."""
    size = 0.0 if math.isnan(first_s) else 1.5
    injection = parse_fault(fault)
    return Witness(injection, injection.witness, "rad/s", first_s, size, size / 2, 4.0)


def judged(
    flight: Flight, requirement: Requirement | None = None, *witnesses: Witness, stop: Stop | None = None,
    interrupted: bool = False, rig: str = "", **ordered: Any,
) -> Judged:  # fmt: skip
    """The judge's word on the flight as if all this had been so."""
    order = replace(
        flight.order,
        requirements=() if requirement is None else (requirement,),
        faults=tuple(w.injection for w in witnesses),
        **ordered,
    )
    log = replace(flight.log, stops=[stop], interrupted=interrupted)
    fired_s = [0.0] * len(witnesses)
    flown = Flown(
        order=order, log=log, witnesses=list(witnesses), triggered_s=fired_s, run_ended_s=4.0, rig_failure=rig
    )
    return judge([flown], flight.model)[0]


TROUBLES: dict[str, dict[str, Any]] = {
    "none": {},
    "rig": {"rig": "the cable is gone"},
    "diverged": {"stop": Stop(4.0, "diverged: state body.p is not a number or beyond 1e12")},
    "interrupted": {"interrupted": True},
}
ACTED, IDLE = witness(LOSS, 2.02), witness(SAG, math.nan)
WITNESSES = {"no fault": (), "acted": (ACTED,), "idle": (IDLE,), "one of two idle": (ACTED, IDLE)}


@pytest.mark.parametrize(
    ("trouble", "requirement", "witnesses"), list(itertools.product(TROUBLES, (LOW, GROUNDED), WITNESSES))
)
def test_error_comes_before_fail_before_void_before_pass(
    hover: Flight, trouble: str, requirement: Requirement, witnesses: str
) -> None:
    found = judged(hover, requirement, *WITNESSES[witnesses], **TROUBLES[trouble])

    if trouble != "none":
        assert found.verdict == "error"
    elif requirement is GROUNDED:
        assert found.verdict == "fail"
    else:
        assert found.verdict == ("void" if "idle" in witnesses else "pass")


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [
        ("rig", "the cable is gone (flown to the end at 4.00 s)"),
        ("diverged", "diverged: state body.p is not a number or beyond 1e12 at 4.00 s"),
        ("interrupted", "interrupted at 4.00 s"),
    ],
)
def test_an_error_says_what_ended_the_flight(hover: Flight, trouble: str, sentence: str) -> None:
    assert judged(hover, GROUNDED, IDLE, **TROUBLES[trouble]).sentence == sentence


def test_a_violated_requirement_is_a_fail_although_the_fault_did_not_act(hover: Flight) -> None:
    found = judged(hover, GROUNDED, IDLE)

    assert found.verdict == "fail"
    top = hover.log["terrain.height_above_ground"].max()
    assert found.sentence == (
        f"grounded: altitude was {top:.3f} m at 3.98 s; required: less than 1 m "
        f"({top - 1:.3f} m beyond) (before any fault acted) (flown to the end at 4.00 s); "
        "battery.low_voltage@1:severity=0.05,start=2: "
        "ineffective; battery.voltage did not differ from the healthy twin"
    )


def test_whether_the_violation_came_before_the_fault_acted_is_told_by_its_first_sample(hover: Flight) -> None:
    """Not by its worst one: it was broken already when the fault made it worse."""
    altitude = hover.log["terrain.height_above_ground"]
    broken_s = float(hover.log.time()[np.flatnonzero(altitude > 1.0)[0]])
    assert broken_s < hover.log.time()[altitude.argmax()] - 1.0

    def beginning(fault: str, begin_s: float) -> Witness:
        return witness(fault.replace("start=2", f"start={begin_s:g}"), begin_s + 0.02)

    for begin_s, early in ((broken_s - 0.02, False), (broken_s, False), (broken_s + 0.02, True)):
        found = judged(hover, GROUNDED, beginning(LOSS, begin_s))
        assert found.judgements[0].broken_s == broken_s
        assert ("(before any fault acted)" in found.sentence) is found.early is early, begin_s
    two = judged(hover, GROUNDED, beginning(LOSS, broken_s + 1), beginning(SAG, broken_s - 1))
    assert "before any fault acted" not in two.sentence and not two.early  # the earlier of the two counts
    none = judged(hover, GROUNDED)
    assert "before any fault acted" not in none.sentence and not none.early


@pytest.mark.parametrize(
    ("formula", "broken_s"),
    [
        ("always (rise(fault_active == 1) implies eventually[0, 1 s] (altitude > 60 m))", 3.0),  # the window's end
        ("always (rise(fault_active == 1) implies altitude > 60 m)", 2.0),
        ("always (fault_active == 0 implies altitude < 0.1 m)", None),
    ],
)
def test_a_requirement_about_the_fault_is_not_broken_before_it(
    hover: Flight, formula: str, broken_s: float | None
) -> None:
    """Faults begin at 2 s and act a little later: the requirement is about what follows their beginning."""
    found = judged(hover, Requirement("reacts", formula, "major"), witness(LOSS, 2.02))

    if broken_s is None:
        assert found.judgements[0].broken_s < 2.0 and "(before any fault acted)" in found.sentence
    else:
        assert found.judgements[0].broken_s == pytest.approx(broken_s)
        assert "before any fault acted" not in found.sentence


def test_one_fault_that_acts_does_not_excuse_one_that_does_not(hover: Flight) -> None:
    found = judged(hover, LOW, ACTED, IDLE)

    assert (found.verdict, found.sentence) == (
        "void",
        "the fault did not act: battery.low_voltage@1:severity=0.05,start=2: ineffective; battery.voltage did not "
        "differ from the healthy twin (flown to the end at 4.00 s)",
    )
    assert [record["effective"] for record in found.witnesses] == [True, False]


def test_a_pass_shows_that_its_fault_acted(hover: Flight) -> None:
    found = judged(hover, LOW, ACTED)

    assert (found.verdict, found.sentence) == (
        "pass",
        "flown to the end at 4.00 s; rotor.speed_loss@1:instance=1,severity=0.1,start=2: acted on rotor/1/motor.speed "
        "from 2.020 s; largest difference 1.5 rad/s, mean 0.75 rad/s, compared until 4.000 s",
    )


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [("hard landing", "fail"), ("rollover", "fail"), ("mission completed", "pass"), (LANDED, "pass")],
)
def test_without_requirements_a_crash_is_a_fail_and_a_landing_is_not(hover: Flight, reason: str, verdict: str) -> None:
    found = judged(hover, None, ACTED, stop=Stop(4.0, reason))

    assert (found.verdict, found.crashed) == (verdict, verdict == "fail")
    assert [judgement.name for judgement in found.judgements] == ["no_crash", "mission"]
    if verdict == "fail":
        assert found.sentence.startswith(f"no_crash: crashed at 4.00 s ({reason}")
        assert [judgement.holds for judgement in found.judgements] == [False, False]
        assert "mission" not in found.sentence  # that a wreck does not go on is no other news


def test_a_crash_fails_unless_the_order_says_that_it_may(hover: Flight) -> None:
    """A requirement that speaks of crashes does not switch `no_crash` off."""
    down = Stop(4.0, "hard landing")
    found = judged(hover, LOW, stop=down)
    assert (found.verdict, broken(found)) == ("fail", ["no_crash", "mission"])

    wanted = Requirement("comes down", "eventually (crashed == 1)", "major")
    assert judged(hover, wanted, stop=down).verdict == "fail"
    found = judged(hover, wanted, stop=down, may_crash=True)
    assert (found.verdict, found.crashed, broken(found)) == ("fail", True, ["mission"])  # it has a mission
    found = judged(hover, wanted, stop=down, may_crash=True, ends="time")
    assert (found.verdict, found.crashed) == ("pass", True)
    assert judged(hover, wanted, may_crash=True, ends="time").verdict == "fail"  # it did not come down


def broken(found: Judged) -> list[str]:
    return [judgement.name for judgement in found.judgements if not judgement.holds]


# ---------------------------------------------------------------------- how a flight ends


def moved(flight: Flight, *points: tuple[float, float, float]) -> Flight:
    """The flight as if it had moved so: s, m north, m high above where it stood; at rest in each row."""
    time_s, knots = flight.log.time_s, np.array(points)
    stands = float(flight.log["body.p_NB_N"][0, 2])
    place = np.zeros((len(time_s), 3))
    place[:, 0] = np.interp(time_s, knots[:, 0], knots[:, 1])
    place[:, 2] = stands - np.interp(time_s, knots[:, 0], knots[:, 2])
    above = float(flight.log["terrain.height_above_ground"][0]) + stands - place[:, 2]
    flight = rewritten(flight, "body.p_NB_N", place)
    flight = rewritten(flight, "terrain.height_above_ground", above)
    return rewritten(flight, "body.v_NB_N", np.zeros_like(place))


STOOD = ((0.0, 0.0, 0.0), (4.0, 0.0, 0.0))
HALF_WAY = ((0.0, 0.0, 0.0), (4.0, 0.0, 3.0))
CAME_DOWN = ((0.0, 0.0, 0.0), (2.0, 5.0, 3.0), (3.5, 5.0, 0.0), (4.0, 5.0, 0.0))


def test_a_vehicle_that_never_left_the_ground_shows_nothing(hover: Flight) -> None:
    stood = moved(hover, *STOOD)
    for ends in ("", "time", "completed or landed"):
        found = judged(stood, LOW, ends=ends)
        assert (found.verdict, found.sentence) == (
            "void", "nothing was flown: the vehicle never left the ground (flown to the end at 4.00 s)",
        )  # fmt: skip
    high = Requirement("high", "eventually (altitude > 1 m)", "major")
    assert judged(stood, high).verdict == "fail"  # what is broken is broken
    assert judged(stood, LOW, until_s=None).verdict == "void"  # also where the mission's own time ended it


def test_a_flight_that_was_cut_off_is_void_and_one_whose_time_was_over_failed(hover: Flight) -> None:
    half = moved(hover, *HALF_WAY)

    cut = judged(half, LOW, ACTED)
    assert cut.verdict == "void" and cut.sentence.startswith(
        "cut off at 4 s, before the mission was completed: 0 of 1 items were reached, next is the waypoint, 0 m north, "
        '0 m east, 10 m high; ends = "time" judges only what was flown; rotor.speed_loss@1'
    )
    assert broken(cut) == ["mission"]
    slow = judged(half, LOW, until_s=None)
    assert (slow.verdict, slow.sentence) == (
        "fail",
        "mission: the mission was not completed: item 1 of 1 (waypoint, 0 m north, 0 m east, 10 m high) was missed by "
        "6.9 m in height; 3.5 m are allowed (flown to the end at 4.00 s)",
    )
    assert judged(half, LOW, ends="time").verdict == judged(half, LOW, until_s=None, ends="time").verdict == "pass"
    low = judged(half, Requirement("low", "always (altitude < 2 m)", "major"))
    assert low.verdict == "fail" and low.margin == low.judgements[0].margin > -2.0  # cut, but broken: by so much
    assert (cut.margin, slow.margin) == (cut.judgements[0].margin, -math.inf)


def test_a_mission_that_is_completed_for_the_vehicle_alone_is_not(hover: Flight) -> None:
    found = judged(moved(hover, *HALF_WAY), LOW, stop=Stop(4.0, "mission completed"))

    assert (found.verdict, found.outcome) == (
        "fail", "not completed in truth; the vehicle reported: mission completed at 4.00 s",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ("", "fail"),
        ("completed", "fail"),
        ("completed or landed", "pass"),
        ("completed or landed within 2 m of 5, 0", "pass"),
        ("completed or landed within 2 m of 0, 0", "fail"),
        ("time", "pass"),
    ],
)
def test_a_landing_on_the_way_counts_where_the_order_says_so(hover: Flight, ends: str, verdict: str) -> None:
    found = judged(moved(hover, *CAME_DOWN), LOW, stop=Stop(4.0, LANDED), ends=ends)

    assert (found.verdict, broken(found)) == (verdict, ["mission"] if verdict == "fail" else [])


def test_a_flight_that_ends_in_a_fall_has_crashed(hover: Flight) -> None:
    fell = moved(hover, (0.0, 0.0, 0.0), (3.0, 0.0, 30.0), (4.0, 0.0, 8.0))
    speed = np.zeros((len(hover.log.time_s), 3))
    speed[-1, 2] = 9.0
    fell = rewritten(fell, "body.v_NB_N", speed)

    for ends in ("", "time"):
        found = judged(fell, LOW, ends=ends)
        assert (found.verdict, found.crashed, found.judgements[1].name) == ("fail", False, "no_crash")
        assert found.sentence.startswith("no_crash: the flight ended while the vehicle fell: 8.")
    assert judged(fell, LOW, ends="time", may_crash=True).verdict == "pass"


def test_a_requirement_of_ones_own_may_be_called_mission(hover: Flight) -> None:
    """It is no other than the rest: a violation is a fail, also if the flight was cut off."""
    found = judged(hover, Requirement("mission", "always (altitude < 1 m)", "major"))

    assert found.verdict == "fail" and found.sentence.startswith("mission: altitude was ")


def test_the_margin_is_the_smallest_and_the_most_severe_is_named_first(hover: Flight) -> None:
    slow = Requirement("slow", "always[0 s, 2 s] (climb < 0.1 m/s)", "critical")
    order = replace(hover.order, requirements=(GROUNDED, LOW, slow))

    found = judge([Flown(order=order, log=hover.log, run_ended_s=4.0)], hover.model)[0]

    altitude = hover.log["terrain.height_above_ground"].max()
    assert found.margin == min(j.margin for j in found.judgements) == pytest.approx(1.0 - altitude, rel=1e-12)
    grounded, low, climb, _, _ = found.judgements
    assert climb.time_s <= 2.0 < grounded.time_s and low.holds
    assert found.sentence.startswith(f"slow: {climb.sentence}; grounded: {grounded.sentence} (flown to the end")


def test_a_margin_of_zero_holds_and_one_that_is_no_number_does_not() -> None:
    assert Judgement("a", "major", 0.0, math.nan, "").holds
    assert not Judgement("a", "major", -1e-12, 1.0, "").holds
    assert not Judgement("a", "major", math.nan, 1.0, "").holds


def rewritten(flight: Flight, path: str, values: np.ndarray) -> Flight:
    """The flight as if a signal had been so."""
    log, data = flight.log, flight.log.data.copy()
    start = log.plan.start[path]
    data[0, :, start : start + log.signals[path].size, 0] = np.asarray(values, float).reshape(len(log.time_s), -1)
    return replace(flight, log=replace(log, data=data))


def test_the_impact_is_the_greatest_speed_downwards_in_the_last_second_of_a_crash(hover: Flight) -> None:
    velocity = np.zeros((len(hover.log.time_s), 3))
    time_s = hover.log.time_s
    velocity[(time_s > 1.0) & (time_s < 2.9), 2] = 9.0  # falls, and is caught
    velocity[(time_s > 3.2) & (time_s < 3.4), 2] = 4.0
    velocity[time_s > 3.4, 2] = -6.0  # bounces
    flight = rewritten(hover, "body.v_NB_N", velocity)

    assert judged(flight, stop=Stop(4.0, "hard landing")).impact_mps == 4.0
    assert judged(flight, stop=Stop(4.0, "mission completed")).impact_mps == 0.0


def test_the_mode_of_a_fault_is_that_of_the_row_in_which_it_begins(hover: Flight) -> None:
    flight = rewritten(hover, "navigator.mode", np.where(hover.log.time_s < 2.0, 1.0, 2.0))
    faults = [witness(f"rotor.speed_loss@1:instance=1,start={s:g}", s) for s in (1.96, 1.99, 2.0, 9.0)]

    found = judged(flight, None, *faults)

    assert found.modes == [[0.0, 1.0], [2.0, 2.0]]
    assert found.fault_modes == [1, 2, 2, -1]  # rows come every 20 ms; the last begins after the end


def test_a_flight_that_ended_before_its_first_row_is_an_error(hover: Flight) -> None:
    empty = replace(hover.log, time_s=hover.log.time_s[:0], data=hover.log.data[:, :0])

    for rig, sentence in (("", "it ended before its first row was logged"), ("the link was lost", "the link was lost")):
        found = judge([Flown(order=hover.order, log=empty, rig_failure=rig)], hover.model)[0]
        assert (found.verdict, found.sentence, found.outcome) == ("error", sentence, "not flown")
    assert not_flown(hover.order, "why").digest == hover.order.digest()


# ---------------------------------------------------------------------- whole flights


def test_numbers_that_diverge_are_an_error(hover: Flight) -> None:
    flight = fly(hover.order, tunings=(Tuning(500, "body.mass", 1e-6),))  # a setting would be refused before the flight

    assert flight.stop is not None and flight.stop.reason.startswith("diverged: state ")
    assert flight.verdict == "error" and flight.judged.sentence == flight.outcome


def test_a_fault_that_comes_too_late_makes_the_flight_void(hover: Flight) -> None:
    flight = fly(hover.order, faults=(parse_fault(LOSS), parse_fault("rotor.speed_loss@1:instance=2,start=50")))

    assert flight.verdict == "void"
    assert "the fault did not act: rotor.speed_loss@1:instance=2,severity=1,start=50" in flight.judged.sentence


class Broken(FunctionSystem):
    """A control system whose rig fails: at a time, or by its figures."""

    doubt = ""

    def mistrust(self) -> str:
        return self.doubt


def throttled(rig: Rig) -> None:
    for place in rig.actuators:
        rig.command(place, 0.25)


def test_a_rig_that_fails_ends_the_flight_with_an_error_and_its_log_is_kept() -> None:
    system = Broken(lambda rig: None)

    def function(rig: Rig) -> None:
        throttled(rig)
        if rig.time_s >= 0.5:
            system.failure = "the board fell off the table"

    system.function = function
    flight = fly("quad_f450", control=system, until_s=2.0, requirements=[GROUNDED])

    assert flight.verdict == "error"
    assert flight.judged.sentence == "the board fell off the table (flown to the end at 0.50 s)"
    assert flight.log.time()[-1] == pytest.approx(0.5, abs=0.021)  # rows are 20 ms apart


def test_figures_that_are_not_trusted_are_an_error_whatever_the_flight_was_like() -> None:
    system = Broken(throttled)
    system.doubt = "3 % of the steps were late"
    flight = fly("quad_f450", control=system, until_s=1.0)

    assert flight.verdict == "error" and flight.survived
    assert flight.judged.sentence == "3 % of the steps were late (flown to the end at 1.00 s)"


@pytest.mark.parametrize(("severity", "verdict"), [(0.0, "void"), (0.02, "pass")])
def test_a_fault_that_does_not_act_is_void_under_a_control_system_outside_too(severity: float, verdict: str) -> None:
    def lifting(rig: Rig) -> None:
        for place in rig.actuators:
            rig.command(place, 0.8)

    fault = f"rotor.speed_loss@1:instance=1,severity={severity:g},start=0.5"
    flight = fly("quad_f450", control=FunctionSystem(lifting), until_s=1.5, ends="time", faults=[fault])

    assert flight.verdict == verdict and flight.witnesses[0].effective is (verdict == "pass")


def test_a_pass_without_a_test_says_so(hover: Flight) -> None:
    never = Requirement("soft", "always (truth(altitude < -5 m) implies climb > -1 m/s)")
    result = judged(hover, never)
    soft = result.judgements[0]
    assert (result.verdict, soft.status) == ("pass", "vacuous")
    assert "soft was not put to the test: its condition never held: altitude < -5 m" in result.sentence
    assert [j.status for j in result.judgements[1:]] == ["holds", "holds"]
    assert [j.name for j in result.untested] == ["soft"]
    assert result.verdict_text == "pass, but 1 of 3 requirements were not put to the test"
    assert judged(hover, LOW).verdict_text == "pass" and judged(hover, GROUNDED).verdict_text == "fail"
    assert judged(hover, GROUNDED).judgements[0].status == "broken"


def test_one_flight_has_one_hash(hover: Flight) -> None:
    """The order alone decides what the hash covers: not whether a campaign or a single flight logged more."""
    case = FlightCase(**{entry.name: getattr(hover.order, entry.name) for entry in fields(Order)}, id="a", case_id="a")
    assert fly_batch([case], TracePolicy(None)).flights[0].sha256 == hover.sha256 == fly(hover.order).sha256


def changed(flight: Flight, path: str, values: np.ndarray) -> Flight:
    """The flight with the last second of one signal changed."""
    data, column = flight.log.data.copy(), flight.log.plan.start[path]
    data[:, -50:, column : column + values.size] = values[None, None, :, None]
    return replace(flight, log=replace(flight.log, data=data))


def test_a_flag_that_decides_is_said_in_words_with_moment_and_size(hover: Flight) -> None:
    falling = changed(hover, "body.v_NB_N", np.array([3.0, 0.0, 8.2]))

    found = judged(falling, None, stop=Stop(3.99, "hard landing"))

    assert found.sentence == "no_crash: crashed at 3.99 s (hard landing, 8.2 m/s down and 3.0 m/s sideways)"
    assert (found.margin, found.impact_mps) == (judged(hover, None, stop=Stop(3.99, "hard landing")).margin, 8.2)
    assert found.impact_sideways_mps == 3.0
    assert found.outcome == "hard landing at 3.99 s, 8.2 m/s down and 3.0 m/s sideways"
    drifting = judged(changed(hover, "body.v_NB_N", np.array([4.0, 3.5, 0.5])), None, stop=Stop(3.99, "hard landing"))
    assert drifting.outcome == "sideways touch-down at 3.99 s, 0.5 m/s down and 5.3 m/s sideways"
    tilted = changed(falling, "body.euler", np.array([0.0, math.radians(133), 0.0]))
    tumbled = judged(tilted, None, stop=Stop(3.99, "hard landing"))
    assert tumbled.sentence == (
        "no_crash: crashed at 3.99 s (hard landing, 8.2 m/s down and 3.0 m/s sideways, tilted by 133°)"
    )
    done = Requirement.of("mission_completed")
    half = moved(hover, *HALF_WAY)
    assert judged(half, done).sentence == (
        "mission_completed: the mission was not completed: item 1 of 1 (waypoint, 0 m north, 0 m east, 10 m high) was "
        "missed by 6.9 m in height; 3.5 m are allowed (flown to the end at 4.00 s)"
    )
    both = judged(half, done, stop=Stop(3.99, "rollover")).sentence
    crash = "no_crash: crashed at 3.99 s (rollover); "  # critical, the other one is major
    assert both.startswith(f"{crash}mission_completed: the mission was not completed: item 1 of 1 (waypoint, ")
    own = Requirement("own", "not (eventually (crashed == 1))", "major")  # however the requirement is written
    assert "; own: crashed at 3.99 s (hard " in judged(falling, own, stop=Stop(3.99, "hard landing")).sentence


@pytest.mark.parametrize(
    ("formula", "unit", "words"),
    [
        ("always (tilt < 30 deg)", "rad", "holds, margin 8.027 deg"),
        ("always (tilt < 0.5 rad)", "rad", "holds, margin 0.1401 rad"),
        ("always (altitude < 60 m)", "m", "holds, margin 0.1401 m"),
        ("always (crashed == 0)", "", "holds, margin 0.1401"),
    ],
)
def test_a_margin_has_the_unit_in_which_the_requirement_was_written(formula: str, unit: str, words: str) -> None:
    assert Judgement("a", "major", 0.1401, 1.0, "", formula, unit).words() == words


class _Touched:
    """A log of one lane that has nothing but a flag of collisions and a velocity."""

    stops = (None,)

    def __init__(self, touches: list[float]) -> None:
        self.touches = np.array(touches)

    def __contains__(self, path: str) -> bool:
        return path == at.CLEARANCE.collision

    def lane(self, path: str, lane: int) -> np.ndarray:
        return self.touches if path in self else np.full((len(self.touches), 3), [3.0, 4.0, 0.0])

    def time(self, lane: int) -> np.ndarray:
        return 0.5 * np.arange(len(self.touches))


def test_words_of_a_collision_are_there_only_if_there_was_one() -> None:
    done = SimpleNamespace(completed=True, why="")
    words = {
        rows: judging._events(cast(Any, None), cast(Any, _Touched(list(rows))), 0, cast(Any, done), cast(Any, None))
        for rows in ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    }
    assert words[(0.0, 0.0, 0.0)] == {}
    assert words[(0.0, 0.0, 1.0)] == {at.CLEARANCE.collision: collision_words(1.0, 5.0)}
