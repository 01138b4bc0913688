"""Airframes that PX4 gets, against PX4's own files, closed forms and the vehicles' trim."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.dynamics import level_trim
from ironbird.errors import LinkError
from ironbird.links.px4_airframes import Airframe, airframe_of, authority, hover_thrust, number, thrust_factor
from ironbird.vehicles.load import load_vehicle, vehicle_ids
from ironbird.vehicles.templates.multicopter import MotorTable, MulticopterSpec

WITHOUT = {"auv_remus100", "boat_cybership2", "heli_xcell60", "tiltrotor_provant", "tri_y"}


def airframe(name: str) -> Airframe:
    """Of a vehicle of the catalogue."""
    return airframe_of(load_vehicle(name, control="external"))


def quad() -> MulticopterSpec:
    """The F450's file."""
    spec = load_vehicle("quad_f450", control="external").spec
    assert isinstance(spec, MulticopterSpec)
    return spec


@pytest.mark.parametrize("name", vehicle_ids())
def test_every_actuator_is_driven_by_one_output(name: str) -> None:
    vehicle = load_vehicle(name, control="external")
    if name in WITHOUT:
        with pytest.raises(LinkError, match="airframe"):
            airframe_of(vehicle)
        return
    made = airframe_of(vehicle)
    assert sorted([*made.channels, *made.parked, *made.released]) == sorted(vehicle.diagram.exports)
    functions = [made.params[f"PWM_MAIN_FUNC{n}"] for n in range(1, len(made.channels) + 1)]
    assert len(set(functions)) == len(functions)
    motors = sum(1 for function in functions if function < 200)
    assert made.params.get("CA_ROTOR_COUNT", motors) == motors
    assert all(math.isfinite(value) for value in made.params.values())


def test_surfaces_turn_as_in_px4s_own_files() -> None:
    """Airframes 1030 and 1040 are for the same aircraft, in the same signs [PX4]."""
    plane, quadplane = airframe("px4_plane").params, airframe("vtol_standard").params
    for params in (plane, quadplane):
        assert params["CA_SV_CS0_TRQ_R"] == pytest.approx(-0.5)
        assert params["CA_SV_CS1_TRQ_R"] == pytest.approx(0.5)
        assert params["CA_SV_CS2_TRQ_P"] == 1.0
        assert [params[f"CA_SV_CS{n}_TYPE"] for n in range(3)] == [1, 2, 3]
    assert plane["CA_SV_CS3_TRQ_Y"] == 1.0
    assert plane["TRIM_PITCH"] == pytest.approx(-0.15, abs=0.06)  # PX4's file: by hand
    assert plane["FW_THR_TRIM"] == pytest.approx(0.25, abs=0.02)  # PX4's file


def test_elevons_of_a_tail_sitter_turn_about_pitch_and_yaw_of_hover() -> None:
    params = airframe("vtol_tailsitter").params
    assert [abs(params[f"CA_SV_CS{n}_TRQ_{axis}"]) for n in (0, 1) for axis in "RPY"] == [0.0, 0.5, 0.5] * 2
    assert params["CA_SV_CS0_TRQ_Y"] == -params["CA_SV_CS1_TRQ_Y"]
    assert all(params[f"CA_ROTOR{n}_AZ"] < -0.95 for n in range(4))  # up, as PX4 hovers


def test_hexacopter_is_px4s_typhoon_but_for_its_size() -> None:
    """Rotor order and spin of airframe 6011 [PX4]."""
    params = airframe("hexa_x").params
    places = np.array([[params[f"CA_ROTOR{n}_P{axis}"] for axis in "XY"] for n in range(6)])
    places /= np.linalg.norm(places, axis=1).mean()
    s = math.sqrt(0.75)
    assert places == pytest.approx(np.array([[0, 1], [0, -1], [s, -0.5], [-s, 0.5], [s, 0.5], [-s, -0.5]]), abs=0.03)
    assert [math.copysign(1, params[f"CA_ROTOR{n}_KM"]) for n in range(6)] == [-1, 1, -1, 1, 1, -1]


def test_hover_thrust_is_that_of_the_trimmed_vehicle() -> None:
    spec = quad()
    steady = level_trim("quad_f450")
    speed = float(steady.point["rotor/1/motor.speed"][0])
    full = spec.motor["standard"].top_speed_radps()
    thin = (1 - 0.0065 * 141.5 / 288.15) ** 4.2559  # air at the 100 m above home at which the trim is found
    assert hover_thrust(spec) / thin == pytest.approx((speed / full) ** 2, rel=1e-3)  # gravity at home


def test_thrust_curve() -> None:
    straight = MotorTable(slope_radps=1000.0, idle_speed_radps=0.0, time_constant_s=0.01)
    assert thrust_factor(straight) == pytest.approx(1.0)  # thrust is the square of the command
    idle = quad().motor["standard"]
    factor, u = thrust_factor(idle), np.linspace(0.2, 1, 9)
    thrust = ((idle.idle_speed_radps + idle.slope_radps * u) / idle.top_speed_radps()) ** 2
    assert factor * u * u + (1 - factor) * u == pytest.approx(thrust, abs=0.02)


def test_authority_of_an_x_quadcopter() -> None:
    """Unit roll moves each motor by sqrt(1/2), unit yaw by 1: torques in closed form."""
    spec = quad()
    full = 9.286e-6 * (691.33 + 162.59) ** 2
    roll = math.sqrt(0.5) * 4 * full * 0.159099 / 0.01704
    yaw = 4 * full * (1.189e-7 / 9.286e-6) / 0.03176
    assert authority(spec) == pytest.approx([roll, roll, yaw], rel=1e-6)


def test_whole_parameters_have_no_point() -> None:
    assert [number(v) for v in (4, 4.0, 0.5, 1e-7, 302.596312)] == ["4", "4.0", "0.5", "1e-07", "302.596312"]


def test_the_script_sets_defaults_and_what_px4_would_overrule() -> None:
    made = airframe("quad_f450").with_params({"MPC_XY_CRUISE": 3.0, "EKF2_MULTI_IMU": 1})
    lines = made.script("F450").splitlines()
    assert ". ${R}etc/init.d/rc.mc_defaults" in lines
    assert "param set-default MPC_XY_CRUISE 3.0" in lines
    assert "param set-default CA_ROTOR_COUNT 4" in lines
    assert "param set EKF2_MULTI_IMU 1" in lines
    assert "param set EKF2_GPS_DELAY 100.0" in lines  # the receiver's latency
