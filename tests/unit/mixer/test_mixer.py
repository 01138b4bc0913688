"""PX4 mixer files drive a vehicle: one that fits flies as without it, one that does not topples it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironbird import fly
from ironbird.errors import LinkError, MixerError
from ironbird.flight.flight import Flight
from ironbird.mixer.kind import geometry_of
from ironbird.vehicles.geometry import GEOMETRIES
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.multicopter import MulticopterSpec

QUAD = "R: 4x 10000 10000 10000 0\n"
# Elevons of the Zagi: both go down to pitch down, left up and right down to roll left; then the motor
ELEVONS = """M: 2
S: 0 0 10000 10000 0 -10000 10000
S: 0 1 -10000 -10000 0 -10000 10000
M: 2
S: 0 0 -10000 -10000 0 -10000 10000
S: 0 1 -10000 -10000 0 -10000 10000
"""
MOTOR = "M: 1\nO: 10000 10000 0 -10000 10000 {travel}\nS: 0 3 0 20000 -10000 -10000 10000\n"


def flown(
    folder: Path,
    main: str,
    /,
    *,
    vehicle: str = "quad_f450",
    until_s: float = 6.0,
    aux: str = "",
    **options: str | int | float | bool,
) -> Flight:
    (folder / "main.mix").write_text(main)
    options = {"main": str(folder / "main.mix"), **options}
    if aux:
        (folder / "aux.mix").write_text(aux)
        options["aux"] = str(folder / "aux.mix")
    return fly(vehicle, control="mixer", until_s=until_s, ends="time", options=options)


def test_a_file_that_fits_the_frame_flies_as_the_autopilot_does_without_it(tmp_path: Path) -> None:
    mixed, alone = flown(tmp_path, QUAD), fly("quad_f450", until_s=6.0, ends="time")
    places = [flight.log["body.p_NB_N"] for flight in (mixed, alone)]
    assert mixed.verdict == "pass" and -places[1][-1, 2] > 4.0  # it climbs
    assert np.abs(places[0] - places[1]).max() < 0.05  # commands come one exchange later


def test_the_motors_stand_before_arming_and_half_the_scale_is_half_the_answer(tmp_path: Path) -> None:
    flight = flown(tmp_path, QUAD, until_s=2.0, disarmed="MAIN1=-0.8,MAIN2=-1,MAIN3=-1,MAIN4=-1")
    throttle = flight.log["rotor/1/command_fault.value"]
    assert throttle[10] == pytest.approx(0.1) and flight.log["rotor/2/command_fault.value"][10] == 0.0
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)
    found, px4 = geometry_of(spec).normalized, GEOMETRIES["4x"].normalized
    np.testing.assert_allclose(found, px4, atol=0.01)  # the F450 is PX4's quadcopter X


def test_a_file_of_another_frame_topples_the_vehicle(tmp_path: Path) -> None:
    flight = flown(tmp_path, QUAD.replace("4x", "4+"), until_s=12.0)
    assert flight.verdict == "fail" and "crash" in flight.judged.sentence


def test_where_the_flight_processor_is_silent_outputs_take_their_failsafe_values(tmp_path: Path) -> None:
    flight = flown(tmp_path, QUAD, silent_s=5.0, failsafe="MAIN1=-0.5,MAIN2=-0.5,MAIN3=-0.5,MAIN4=-0.5")
    time_s, throttle = flight.log.time_s, flight.log["rotor/3/command_fault.value"]
    assert throttle[(time_s > 4.5) & (time_s < 4.99)].min() > 0.5
    assert throttle[time_s > 5.02] == pytest.approx(0.25)
    assert any(event.kind == "failsafe" for event in flight.autopilot_events)


def test_elevons_of_a_main_file_and_a_motor_of_an_aux_file_with_its_travel_time_fly_a_wing(tmp_path: Path) -> None:
    wires = "MAIN1=surface/elevon_left,MAIN2=surface/elevon_right,AUX1=rotor/1"
    mixed = flown(tmp_path, ELEVONS, vehicle="zagi", until_s=12.0, aux=MOTOR.format(travel=5000), wires=wires)
    alone = fly("zagi", until_s=12.0, ends="time")
    assert mixed.verdict == alone.verdict == "pass"
    steps = np.diff(mixed.log["rotor/1/command_fault.value"])
    assert (
        0.03
        < np.abs(steps).max()
        <= 0.02 / 0.5 + 1e-9
        < np.abs(np.diff(alone.log["rotor/1/command_fault.value"])).max()
    )
    assert np.abs(mixed.log["body.euler"][-1, :2] - alone.log["body.euler"][-1, :2]).max() < 0.1


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"wires": "MAIN1=rotor/1"}, LinkError, "no output drives rotor/2, rotor/3, rotor/4"),
        ({"wires": "MAIN9=rotor/1"}, MixerError, "MAIN9 is no output"),
        ({"wires": "MAIN1=rotor/9"}, LinkError, "'rotor/9' is no actuator"),
        ({"disarmed": "MAIN1"}, MixerError, "not OUTPUT=VALUE"),
        ({"failsafe": "MAIN1=low"}, MixerError, "no number"),
        ({"main": ""}, LinkError, "option main"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        flown(tmp_path, QUAD, until_s=0.1, **options)
