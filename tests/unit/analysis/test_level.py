"""Trim and modes: every vehicle of the catalogue has them, and they are the published ones where there are any."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest

from ironbird.analysis.level import Trim, level_trim, modes_at
from ironbird.errors import ModelError
from ironbird.vehicles.kinds import vehicle_kind
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.names import vehicle_ids

# [BeardMcLain] by an independent script, see tests/system/test_aerosonde.py: CD_p 0.043, 25 m/s
AEROSONDE = {"alpha": 0.049700, "elevator": -0.123918, "throttle": 0.773508}
AEROSONDE_MODES = (
    0.089249255605556, -0.14262553220937627 + 0.47801898655324554j, -1.1397189683891331 + 4.655280704886066j,
    -4.894768413040113 + 9.869687483051413j, -22.44308924826429,
)  # fmt: skip


def value(found: Trim, path: str) -> float:
    return float(found.point[path][0])


@functools.cache
def trimmed(vehicle: str) -> Trim:
    return level_trim(vehicle)


@pytest.mark.parametrize("vehicle", vehicle_ids())
def test_every_vehicle_has_a_steady_level_motion_and_modes(vehicle: str) -> None:
    found = trimmed(vehicle)

    hovers = vehicle_kind(load_spec(vehicle)).hovers
    assert (found.speed_mps == 0) == hovers
    np.testing.assert_allclose(found.point["body.v_NB_N"], [found.speed_mps, 0.0, 0.0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.point["body.w_NB_B"], 0.0, rtol=0, atol=1e-7)
    places = np.array([label.partition("[")[0].endswith("body.p") for label in found.model.flat.x.labels()])
    assert np.abs(found.point.rates()[~places]).max() < 1e-5  # slow sampled parts are renewed after the last step
    assert all(-1.0 <= value(found, link) <= 1.0 for link in found.links)
    tilt = found.R_NU.T @ found.point["body.R_NB"].reshape(3, 3, order="F")
    assert math.degrees(math.acos(tilt[2, 2])) < 12.0
    modes = modes_at(found)
    assert modes and all(np.isfinite(mode.value) and mode.states and mode.sentence() for mode in modes)
    assert "roll, pitch" in " ".join(found.rows())


def test_hover_of_the_f450_is_the_published_one() -> None:
    """sqrt(m g / (4 c_T)) = 607.76 rad/s with g = 9.8 m/s^2; at home the air is thinner than 1.225 kg/m^3."""
    found = trimmed("quad_f450")
    assert math.sqrt(1.4 * 9.8 / (4 * 9.286e-6)) == pytest.approx(607.76, abs=5e-3)

    gravity, density = float(found.point["gravity.gravity_N"][2]), value(found, "atmosphere.density")
    expected = 607.76 * math.sqrt(gravity / 9.8 * 1.225 / density)
    for number in range(1, 5):
        assert value(found, f"rotor/{number}/motor.speed") == pytest.approx(expected, rel=2e-5)
    assert expected == pytest.approx(611.96, abs=0.01)


@pytest.fixture(scope="module")
def aerosonde(tmp_path_factory: pytest.TempPathFactory) -> Trim:
    """In the constant air and gravity of the published figures."""
    path: Path = tmp_path_factory.mktemp("vehicles") / "aerosonde_981.toml"
    path.write_text('id = "aerosonde_981"\nbase = "aerosonde"\n[environment]\ngravity = 9.81\n')
    density = value(level_trim(path), "atmosphere.density")
    return level_trim(path, 25.0, settings={"atmosphere.pressure_factor": 1.2682 / density})


def test_trim_of_the_aerosonde_is_the_published_one(aerosonde: Trim) -> None:
    assert value(aerosonde, "atmosphere.density") == pytest.approx(1.2682, rel=1e-9)
    assert value(aerosonde, "wing.alpha") == pytest.approx(AEROSONDE["alpha"], abs=1e-6)
    assert value(aerosonde, "surface/elevator/servo.deflection") == pytest.approx(AEROSONDE["elevator"], abs=1e-6)
    assert value(aerosonde, "rotor/1/command_fault.value") == pytest.approx(AEROSONDE["throttle"], abs=1e-6)


def test_modes_of_the_aerosonde_are_the_independently_computed_ones(aerosonde: Trim) -> None:
    modes = modes_at(aerosonde)

    for expected in AEROSONDE_MODES:
        nearest = min(modes, key=lambda mode: abs(mode.value - expected))
        assert abs(nearest.value - expected) < 2e-5, f"{expected}: {nearest.value}"
    assert [mode.damping < 0 for mode in modes][:2] == [True, False]  # the spiral grows, the phugoid decays


def test_thrust_of_the_bluerov_for_its_published_speed() -> None:
    """[VonBenzon2022]: 40 N of surge give 0.486 m/s."""
    found = level_trim("rov_bluerov2_heavy", 0.486)

    surge = sum(float(found.point[f"rotor/{number}/motor.force_B"][0]) for number in range(1, 9))
    assert surge == pytest.approx(40.0, rel=0.01)


def test_propeller_speed_of_the_otter_for_its_published_speed() -> None:
    """[FossenPVS]: both propellers at 100 rad/s give 2.982 m/s."""
    found = level_trim("boat_otter", 2.982, settings={"hydrostatics.along_body": 1.0})  # as its program has it

    for side in (1, 2):
        assert value(found, f"rotor/{side}/motor.speed") == pytest.approx(100.0, rel=0.01)


def test_wings_or_rotors_carry_a_quadplane() -> None:
    """Hovering, the pusher rests; in cruise, the rotors that lift."""
    hover, cruise = trimmed("vtol_standard"), level_trim("vtol_standard", 17.0)

    assert value(hover, "rotor/5/command_fault.value") == 0.0 < value(cruise, "rotor/5/command_fault.value")
    for number in range(1, 5):
        assert value(cruise, f"rotor/{number}/command_fault.value") == 0.0
        assert value(hover, f"rotor/{number}/command_fault.value") > 0.3
    heavy = float(hover.model.flat.values[hover.model.param_rows("body.mass")][0]) * 9.8
    assert sum(value(hover, f"rotor/{n}/propeller.thrust") for n in range(1, 5)) == pytest.approx(heavy, rel=0.01)


def test_a_speed_that_cannot_be_flown_is_an_error() -> None:
    with pytest.raises(ModelError, match=r"aerosonde has no steady level motion at 60 m/s: no trim found"):
        level_trim("aerosonde", 60.0)
