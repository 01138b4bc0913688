"""Searches against closed forms: the wind in which a hovering F450 leans by 15 degrees, [Dai] Fig. 15."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from campaign_data import flight_case, result_of
from scipy.optimize import brentq

from ironbird.campaign import search
from ironbird.campaign.batch import fly_all
from ironbird.campaign.case import FlightCase
from ironbird.campaign.planned import Planned
from ironbird.campaign.result import FlightResult
from ironbird.campaign.search import Candidate, Falsification, boundary, boundary_map, falsify, shrink
from ironbird.campaign.suite import load_suite
from ironbird.errors import IronbirdError, UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.judge import Judgement
from ironbird.flight.order import Weather
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.multicopter import MulticopterSpec

G, SEA_LEVEL = 9.80665, 1.225
WIND_FAULT_MPS = 20.0  # of wind.steady@1 at severity 1
HEAD = """schema = 1
[[case]]
id = "lean"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 26.0
log_s = 0.1
seeds = 0
[[case.require]]
name = "upright"
formula = "always[20 s, end] (tilt < 15 deg)"
"""


def leaning_wind(tilt_deg: float = 15.0, mass_kg: float | None = None) -> float:
    """The wind in which a hover leans so much: both components of the forces along the body's axes balance.

    Across: m g sin = cos v (c_x v + 4 k_d w), drag of body and rotors. Along: the thrust 4 (k_T w^2 - k_z w v sin
    - k_c (v sin)^2 + k_h (v cos)^2) is m g cos + c_z v^2 sin. At sea-level density.
    """
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)
    weight, blades = (mass_kg or spec.body.mass_kg) * G, spec.propeller["standard"]
    k_T, k_z, k_c = blades.thrust_coefficient_Ns2, blades.inflow_Ns2pm, blades.climb_loss_Ns2pm2
    k_h, k_d = blades.translational_lift_Ns2pm2, blades.rotor_drag_Ns2pm
    c_x, _, c_z = spec.airframe.drag_Ns2pm2
    sin, cos = math.sin(math.radians(tilt_deg)), math.cos(math.radians(tilt_deg))

    def missing(v: float) -> float:
        rest = -k_c * (v * sin) ** 2 + k_h * (v * cos) ** 2 - (weight * cos + c_z * v * v * sin) / 4
        speed = (k_z * v * sin + math.sqrt((k_z * v * sin) ** 2 - 4 * k_T * rest)) / (2 * k_T)
        return weight * sin - cos * v * (c_x * v + 4 * k_d * speed)

    return float(brentq(missing, 0.1, 15.0))


def planned(tmp_path: Path, more: str) -> Planned:
    plan = '[case.plan]\nkind = "monte_carlo"\nsamples = 4\n' if "uniform" in more else ""
    (tmp_path / "lean.toml").write_text(HEAD + more + plan)
    return load_suite(tmp_path / "lean.toml").cases[0]


WIND = "[case.wind]\nspeed_mps = { uniform = [2, 12] }\n"


def test_closed_form_is_the_published_figure() -> None:
    assert leaning_wind() == pytest.approx(7.41, abs=0.05)  # the rotor drag is derived from it


def test_boundary_is_the_closed_form(tmp_path: Path) -> None:
    found = boundary(planned(tmp_path, WIND), "wind.speed_mps", tolerance=0.002)
    assert found is not None and found.monotone
    assert found.survived < found.lost <= found.survived + 0.002 * 10
    assert found.value == pytest.approx(leaning_wind(), rel=0.02)
    assert all((c.result.verdict == "fail") == (c.case.weather.speed_mps >= found.lost) for c in found.flown)


def test_no_boundary_where_all_pass(tmp_path: Path) -> None:
    assert boundary(planned(tmp_path, WIND.replace("12", "5")), "wind.speed_mps") is None


def test_falsify_finds_failing_flights_and_repeats(tmp_path: Path) -> None:
    # the failing part is a tenth of the range
    case = planned(tmp_path, WIND.replace("[2, 12]", "[2, 7.9]"))
    seen: list[float] = []
    found = falsify(case, trials=64, seed=3, progress=seen.append)
    assert len(found.flown) == 64 and seen == [0.5, 1.0]
    assert found.failing and found.worst.result.verdict == "fail"
    assert all(c.case.weather.speed_mps > 0.98 * leaning_wind() for c in found.failing)
    # the second round has learned from the first
    share = [sum(c.result.verdict == "fail" for c in part) for part in (found.flown[:32], found.flown[32:])]
    assert share[1] > share[0]
    again = falsify(case, trials=64, seed=3)
    assert [c.case.values for c in again.flown] == [c.case.values for c in found.flown]
    assert "of 64 flights failed; the worst has margin -" in found.sentence()
    assert "wind.speed_mps = 7.8" in found.sentence()


def test_shrink_reaches_the_smallest_severity(tmp_path: Path) -> None:
    fault = '[[case.fault]]\nid = "wind.steady@1"\naxis = 0\nseverity = 0.9\nstart_s = 1.0\n'
    extra = '[[case.fault]]\nid = "rotor.blade_damage@1"\nseverity = 0.02\nstart_s = 2.0\n'
    more = fault + extra + '[case.wind]\nturbulence_mps = 2.0\n[case.set]\n"body.mass" = 1.6\n'
    case = next(planned(tmp_path, more).flights())
    small = shrink(case)
    (left,) = small.case.faults  # the other fault, turbulence and the setting are not needed
    assert left.fault.id == "wind.steady@1"
    assert small.case.weather.turbulence_mps == 0.0 and small.case.settings == {}
    assert left.severity * WIND_FAULT_MPS == pytest.approx(leaning_wind(), rel=0.02)
    assert small.result.verdict == "fail"
    assert left.end_s == pytest.approx(
        20.0, abs=0.25
    )  # it need not last longer than to the moment that is judged first
    assert small.sentence().startswith(f"wind.steady@1 with severity {left.severity:.4g}")
    assert "in calm air" in small.sentence()


def test_shrink_needs_a_failing_flight(tmp_path: Path) -> None:
    case = next(planned(tmp_path, WIND).flights())
    with pytest.raises(IronbirdError, match=r"does not fail .pass.: there is nothing to shrink"):
        shrink(replace(case, weather=replace(case.weather, speed_mps=1.0)))


def test_shrink_ends_where_a_smaller_flight_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = '[[case.fault]]\nid = "wind.steady@1"\naxis = 0\nseverity = 0.9\nstart_s = 1.0\n'
    case = next(planned(tmp_path, fault).flights())

    def broken(cases: Sequence[FlightCase]) -> list[FlightResult]:
        return [
            result if flown == case else replace(result, verdict="error", sentence="the autopilot does not start")
            for flown, result in zip(cases, fly_all(cases), strict=True)
        ]

    monkeypatch.setattr(search, "fly_all", broken)
    with pytest.raises(
        IronbirdError, match=r"cannot be shrunk: a smaller one is an error: the autopilot does not start"
    ):
        shrink(case)


def test_map_draws_the_closed_form_line(tmp_path: Path) -> None:
    case = planned(tmp_path, WIND + '[case.set]\n"body.mass" = { uniform = [1.2, 1.8] }\n')
    found = boundary_map(case, "body.mass", "wind.speed_mps", points=4, tolerance=0.01)
    assert found.verdicts.shape == found.margins.shape == (4, 4)
    assert len(found.line) == 4
    for mass, wind in found.line:
        assert wind == pytest.approx(leaning_wind(mass_kg=mass), rel=0.02)
    fails = found.margins < 0
    assert np.array_equal(fails, found.verdicts == "fail")
    assert not fails[0].any() and fails[-1].all()


def test_a_map_without_tolerance_flies_its_grid_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flown: list[int] = []

    def counted(cases: Sequence[FlightCase]) -> list[FlightResult]:
        flown.append(len(cases))
        return fly_all(cases)

    monkeypatch.setattr(search, "fly_all", counted)
    case = planned(tmp_path, WIND + '[case.set]\n"body.mass" = { uniform = [1.2, 1.8] }\n')
    found = boundary_map(case, "body.mass", "wind.speed_mps", points=(2, 3), tolerance=None)
    assert found.verdicts.shape == (3, 2) and (len(found.x), len(found.y)) == (2, 3)
    assert found.line == [] and flown == [6]
    assert {"pass", "fail"} == set(found.verdicts[:, 0])  # there is a line to be found


def test_mistakes(tmp_path: Path) -> None:
    case = planned(tmp_path, WIND)
    with pytest.raises(UnknownNameError, match=r"unknown varied parameter 'wind.speed'.*did you mean 'wind.speed_mps'"):
        boundary(case, "wind.speed")
    with pytest.raises(UnknownNameError, match="unknown varied parameter 'mass'"):
        boundary_map(case, "mass", "wind.speed_mps")
    with pytest.raises(IronbirdError, match="has nothing that varies"):
        falsify(planned(tmp_path, ""), trials=1)


SEVERITY = """[[case.fault]]
id = "wind.steady@1"
severity = { uniform = [0, 1] }
start_s = { uniform = [0, 2] }
"""
Judge = Callable[[float], str]


def judged_by(monkeypatch: pytest.MonkeyPatch, verdict_at: Judge) -> list[int]:
    """Nothing flies: the verdict follows from the severity of the fault. The sizes of the rounds."""
    rounds: list[int] = []

    def verdicts(cases: Sequence[FlightCase]) -> list[FlightResult]:
        rounds.append(len(cases))
        assert len(rounds) < 100, "the search does not end"
        return [result_of(case, verdict_at(case.faults[0].severity)) for case in cases]

    monkeypatch.setattr(search, "fly_all", verdicts)
    return rounds


def void_below(void: float, fail: float) -> Judge:
    return lambda severity: "void" if severity <= void else "fail" if severity > fail else "pass"


@pytest.mark.parametrize("void", [0.0, 0.3])
def test_a_fault_that_does_not_act_says_nothing_of_the_boundary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, void: float
) -> None:
    judged_by(monkeypatch, void_below(void, 0.62))
    case = planned(tmp_path, SEVERITY)
    found = boundary(case, "fault.1.severity", tolerance=0.005)
    assert found is not None and found.monotone
    assert found.survived <= 0.62 < found.lost <= found.survived + 0.005

    judged_by(monkeypatch, void_below(void, 2.0))
    assert boundary(case, "fault.1.severity") is None  # void and pass: no line


def test_the_map_has_no_line_where_flights_are_void_or_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = judged_by(monkeypatch, void_below(0.0, 2.0))
    case = planned(tmp_path, SEVERITY)
    assert boundary_map(case, "fault.1.start_s", "fault.1.severity", points=3).line == []
    assert rounds == [9]  # nothing is refined

    judged_by(monkeypatch, void_below(0.0, 0.62))
    line = boundary_map(case, "fault.1.start_s", "fault.1.severity", points=3).line
    assert [x for x, _ in line] == [0.0, 1.0, 2.0]
    assert [y for _, y in line] == pytest.approx([0.62] * 3, abs=0.02)


def test_a_search_between_points_that_are_all_void_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged_by(monkeypatch, lambda severity: "pass" if severity < 0.2 else "fail" if severity > 0.8 else "void")
    found = boundary(planned(tmp_path, SEVERITY), "fault.1.severity", tolerance=0.005)
    assert found is not None
    assert 0.1 < found.survived < 0.2 and 0.8 < found.lost < 0.9  # as near as flights tell


def test_which_side_of_the_line_is_safe_is_told_by_the_flights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged_by(monkeypatch, lambda severity: "fail" if severity < 0.62 else "pass")  # less of it is worse
    found = boundary(planned(tmp_path, SEVERITY), "fault.1.severity", tolerance=0.005)

    assert found is not None and found.lost < 0.62 <= found.survived <= found.lost + 0.005


def test_the_worst_flight_has_the_smallest_margin_of_those_that_show_something() -> None:
    def candidate(verdict: str, margin: float) -> Candidate:
        case = flight_case()
        return Candidate(case, replace(result_of(case, verdict), margin=margin))

    near, far = candidate("pass", 0.2), candidate("fail", -0.3)
    hopeless, void, error = candidate("fail", -math.inf), candidate("void", -9.0), candidate("error", math.nan)

    assert Falsification([near, void, far, error]).worst is far
    assert Falsification([near, far, hopeless]).worst is hopeless
    assert Falsification([candidate("pass", math.inf), near]).worst is near
    harder = Candidate(hopeless.case, replace(hopeless.result, impact_mps=5.3, score=1.0))
    assert Falsification([hopeless, harder]).worst is harder
    assert Falsification([void, far, near, hopeless]).failing == [far, hopeless]
    with pytest.raises(IronbirdError, match="no flight of the search could be judged"):
        _ = Falsification([void, error]).worst


def test_a_flight_is_made_smaller_only_as_long_as_it_fails_by_the_same_requirement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both faults together turn it over; the first alone only flies too high, the wind plays no part."""
    first, second = parse_fault("rotor.speed_loss@1:instance=1"), parse_fault("rotor.speed_loss@1:instance=2")

    def verdicts(cases: Sequence[FlightCase]) -> list[FlightResult]:
        found = []
        for case in cases:
            strong = all(fault.severity >= 0.5 and fault.end_s >= 2.0 for fault in case.faults)
            together = len(case.faults) == 2 and strong
            broken = "upright" if together else "low" if case.faults[0].instance == 1 else ""
            judged = [Judgement(name, "major", -1.0 if name == broken else 1.0, 1.0, "") for name in ("upright", "low")]
            found.append(replace(result_of(case, "fail" if broken else "pass"), judgements=judged, ended_s=5.0))
        return found

    monkeypatch.setattr(search, "fly_all", verdicts)
    case = flight_case(faults=(first, second), weather=Weather(3.0), settings={"body.mass": 1.5})

    found = shrink(case).case

    assert [fault.instance for fault in found.faults] == [1, 2]  # neither can be left out
    assert all(0.5 <= fault.severity <= 0.51 and 2.0 <= fault.end_s <= 2.05 for fault in found.faults)
    assert found.weather == Weather() and found.settings == {}


def test_the_most_severe_broken_requirement_stays_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the severity crashes, a tenth tilts too far: the question was the smallest fault that crashes."""

    def verdicts(cases: Sequence[FlightCase]) -> list[FlightResult]:
        found = []
        for case in cases:
            severity = case.faults[0].severity if case.faults else 0.0
            judged = [
                Judgement("attitude_limit", "major", 0.1 - severity, 1.0, "", broken_s=1.0),
                Judgement("no_crash", "critical", -math.inf if severity >= 0.5 else math.inf, 2.0, "", broken_s=2.0),
            ]
            fails = any(not judgement.holds for judgement in judged)
            found.append(replace(result_of(case, "fail" if fails else "pass"), judgements=judged, ended_s=5.0))
        return found

    monkeypatch.setattr(search, "fly_all", verdicts)
    case = flight_case(faults=(parse_fault("rotor.speed_loss@1:severity=1,start=1"),))

    assert shrink(case).case.faults[0].severity == pytest.approx(0.5, abs=0.02)
    assert shrink(case, by="attitude_limit").case.faults[0].severity == pytest.approx(0.1, abs=0.02)
    with pytest.raises(UnknownNameError, match="unknown broken requirement 'no_crush'"):
        shrink(case, by="no_crush")


def test_a_mission_that_was_cut_off_is_not_what_stays_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdicts(cases: Sequence[FlightCase]) -> list[FlightResult]:
        fence = Judgement("fence", "minor", -1.0, 1.0, "", broken_s=1.0)
        mission = Judgement("mission", "major", -math.inf, math.nan, "", untested="cut off at 5 s")
        return [replace(result_of(case, "fail"), judgements=[fence, mission], ended_s=5.0) for case in cases]

    monkeypatch.setattr(search, "fly_all", verdicts)
    assert shrink(flight_case()).case.faults == ()
    with pytest.raises(UnknownNameError, match="unknown broken requirement 'mission'"):
        shrink(flight_case(), by="mission")


@pytest.mark.parametrize("faults", [1, 2])
def test_a_flight_that_fails_whatever_its_faults_do_needs_none_of_them(
    faults: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    injections = tuple(parse_fault(f"rotor.speed_loss@1:instance={n},start=2") for n in range(1, faults + 1))
    monkeypatch.setattr(search, "fly_all", lambda cases: [result_of(case, "fail") for case in cases])

    found = shrink(flight_case(faults=injections))

    assert found.case.faults == () and found.flown < 200
    assert found.sentence().startswith("no fault at all in calm air is enough: upright: ")


def test_shrink_ends_where_any_severity_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that is taken away is away at any severity: halves of what is left would never end."""
    denied = parse_fault("environment.gnss_denied@1:severity=0.8,start=1,when=altitude > 1 m")
    case = flight_case(faults=(denied,), weather=Weather(), settings={}, control="px4")

    def fails_always(cases: Sequence[FlightCase]) -> list[FlightResult]:
        return [result_of(flown, "fail" if flown.faults else "pass") for flown in cases]

    monkeypatch.setattr(search, "fly_all", fails_always)
    small = shrink(case, tolerance=0.1)
    assert 0 < small.case.faults[0].severity <= 0.08 and small.flown < 20
