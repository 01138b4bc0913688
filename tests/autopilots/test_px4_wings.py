"""The real PX4 on wings and on vehicles that change to wings. Needs IRONBIRD_PX4; `make test-autopilots` runs it."""

from __future__ import annotations

import json
import lzma
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.process import VARIABLE
from ironbird.errors import LinkError
from ironbird.flight import flight as flights
from ironbird.flight.flight import Flight
from ironbird.flight.order import Weather, make_order
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.names import vehicle_ids

pytestmark = [
    pytest.mark.autopilot,
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no PX4"),
]
CALM, WIND = Weather(), Weather(5.0, 270.0, 5.0)
SQUARE = ((400.0, 0.0), (400.0, 400.0), (0.0, 400.0))  # of the mission `vtol_circuit`


def fly(vehicle: str, keep: Path, wind: Weather = CALM) -> Flight:
    """A vehicle's own mission."""
    return flights.fly(make_order(vehicle, control="px4", weather=wind, until_s=400.0, seed=1), folder=keep)


def check(flight: Flight, corners: tuple[tuple[float, float], ...], near_m: float) -> np.ndarray:
    """It ended landed and disarmed without a crash and passed all corners in the air; the path is given back."""
    finished = [event.text for event in flight.autopilot_events if event.kind == "finished"]
    assert flight.stop is None and finished == ["landed and disarmed"], flight.autopilot_events[-5:]
    path = flight.log["body.p_NB_N"]
    aloft = path[path[:, 2] < -8.0]
    for north, east in corners:
        assert np.hypot(aloft[:, 0] - north, aloft[:, 1] - east).min() < near_m, (north, east)
    return np.asarray(path)


@pytest.mark.parametrize("wind", [CALM, WIND], ids=["calm", "wind"])
@pytest.mark.parametrize(
    ("vehicle", "corners", "near_m", "touch"),
    [
        ("aerosonde", ((600.0, 0.0), (600.0, 400.0), (-200.0, 400.0)), 80.0, (0.0, 40.0)),
        ("px4_plane", ((600.0, 350.0),), 30.0, (0.0, 0.0)),
        ("zagi", ((250.0, 150.0), (-50.0, 150.0)), 40.0, (0.0, 20.0)),  # its acceptance radius is 30 m
    ],
)
def test_wings_are_launched_fly_round_and_land_on_their_bellies(
    vehicle: str, corners: tuple[tuple[float, float], ...], near_m: float, touch: tuple[float, float], wind: Weather,
    tmp_path: Path,
) -> None:  # fmt: skip
    flight = fly(vehicle, tmp_path, wind)
    path = check(flight, corners, near_m)
    assert abs(path[-1, 1] - touch[1]) < 10.0  # on the line of the approach
    # Beyond the place: the launcher's height and that of the estimate over the slope, the flare, and the slide
    assert -50.0 < path[-1, 0] - touch[0] < 170.0
    assert 0.0 < flight.log["crash.impact_speed"].max() < 2.8  # of all touches; a crash is from 3 m/s


@pytest.mark.parametrize(("vehicle", "wind"), [("vtol_standard", WIND), ("vtol_tailsitter", CALM)])
def test_vehicles_with_rotors_fly_the_square_on_wings_and_land_at_home(
    vehicle: str, wind: Weather, tmp_path: Path
) -> None:
    flight = fly(vehicle, tmp_path, wind)
    path = check(flight, SQUARE, 45.0)
    assert np.hypot(*path[-1, :2]) < 3.0
    assert np.linalg.norm(flight.log["body.v_NB_N"], axis=1).max() > 12.0  # on wings
    # Straight between the corners: no weaving about the second leg
    leg = path[(path[:, 1] > 120.0) & (path[:, 1] < 340.0) & (path[:, 0] > 300.0)]
    assert np.abs(leg[:, 0] - 400.0).max() < 12.0


def known_parameters() -> dict[str, dict[str, Any]]:
    """PX4's own description of its parameters, where the build has it."""
    folder = Path(os.environ[VARIABLE])
    for path in (folder / "parameters.json", folder / "etc" / "extras" / "parameters.json.xz"):
        if path.is_file():
            text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
            return {entry["name"]: entry for entry in json.loads(text)["parameters"]}
    pytest.skip(f"{folder} has no parameters.json, nor etc/extras/parameters.json.xz")


@pytest.mark.parametrize("name", vehicle_ids())
def test_px4_knows_every_parameter_and_takes_its_value(name: str) -> None:
    known = known_parameters()
    try:
        airframe = airframe_of(load_vehicle(name, control="external"))
    except LinkError as error:
        pytest.skip(str(error))
    wrong = []
    for param, value in (airframe.params | airframe.late).items():
        entry = known.get(param)
        if entry is None:
            wrong.append(f"{param}: unknown")
        elif not entry.get("min", -np.inf) - 1e-5 <= value <= entry.get("max", np.inf) + 1e-5:  # limits are rounded
            wrong.append(f"{param} = {value}: from {entry.get('min')} to {entry.get('max')}")
        elif entry["type"] != "Float" and value != int(value):
            wrong.append(f"{param} = {value}: whole numbers only")
        elif "values" in entry and value not in [choice["value"] for choice in entry["values"]]:
            wrong.append(f"{param} = {value}: no choice of it")
    assert not wrong
