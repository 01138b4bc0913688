"""Airframes that PX4 gets, against PX4's own files, closed forms and the vehicles' trim."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.analysis.level import level_trim
from ironbird.autopilots.px4 import tilt_rotors
from ironbird.autopilots.px4.airframe import Airframe, number
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.rotors import authority, hover_thrust, thrust_factor
from ironbird.blocks.actuators.swash_plate import mixing
from ironbird.errors import LinkError
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.helicopter import HelicopterSpec, hover, hover_pitch_rad, tail_command
from ironbird.vehicles.templates.multicopter import MotorTable, MulticopterSpec
from ironbird.vehicles.templates.tilt_rotor import TiltRotorSpec, body_params, linear_hover
from ironbird.vehicles.templates.vtol import VtolSpec, hover_spec

WITHOUT = {"aerosonde_wheels", "auv_remus100", "boat_cybership2", "roadable_aerosonde"}


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


def test_tilted_rotors_are_given_upright_with_their_moments() -> None:
    """In PX4's form a rotor's moment is CT (r x a - KM a): as large as that of the tilted one [PX4]."""
    spec = load_vehicle("vtol_tailsitter", control="external").spec
    assert isinstance(spec, VtolSpec)
    params = airframe("vtol_tailsitter").params
    for n, rotor in enumerate(hover_spec(spec).rotor):
        assert [params[f"CA_ROTOR{n}_A{axis}"] for axis in "XYZ"] == [0.0, 0.0, -1.0]
        blades = spec.propeller[rotor.propeller]
        force = blades.thrust_coefficient_Ns2 * spec.motor[rotor.motor].top_speed_radps() ** 2 * np.array(rotor.axis_B)
        arm = (1 if rotor.spin == "ccw" else -1) * blades.torque_coefficient_Nms2 / blades.thrust_coefficient_Ns2
        moment = np.cross(rotor.position_B_m, force) - arm * force
        place = np.array([params[f"CA_ROTOR{n}_P{axis}"] for axis in "XYZ"])
        up = np.array([0.0, 0.0, -1.0])
        given = params[f"CA_ROTOR{n}_CT"] * (np.cross(place, up) - params[f"CA_ROTOR{n}_KM"] * up)
        assert given == pytest.approx(moment, abs=1e-9)
        assert params[f"CA_ROTOR{n}_CT"] == pytest.approx(-force[2])


def test_strong_rotors_keep_their_ratios_inside_px4s_limit() -> None:
    params = airframe("vtol_standard").params
    assert params["CA_ROTOR4_CT"] == pytest.approx(100.0)
    assert params["CA_ROTOR0_CT"] / params["CA_ROTOR4_CT"] == pytest.approx(2e-5 * 1500**2 / (8.54858e-6 * 3500**2))


def test_a_yaw_gain_beyond_px4s_limit_goes_on_as_a_factor() -> None:
    params = airframe("octo_x").params
    spec = load_vehicle("octo_x", control="external").spec
    assert isinstance(spec, MulticopterSpec)
    assert params["MC_YAWRATE_P"] == 0.6
    gain = params["MC_YAWRATE_P"] * params["MC_YAWRATE_K"]
    assert gain * authority(spec)[2] == pytest.approx(spec.control.rate_gain[2])


@pytest.mark.parametrize("name", ["aerosonde", "px4_plane", "zagi"])
def test_a_flare_begins_above_the_ground_and_holds_the_nose_as_in_level_flight(name: str) -> None:
    """Level at the speed of the approach: the wing alone carries the weight, without the elevator's part."""
    spec = load_vehicle(name, control="external").spec
    assert isinstance(spec, FixedWingSpec)
    params, table, wing = airframe(name).params, spec.control, spec.wing
    pressure = 0.5 * 1.225 * table.approach_speed_mps**2
    if wing is None:  # PX4's plane: four panels
        level = 9.81 * spec.body.mass_kg / (pressure * 4 * 0.6 * 4.752798721) - 0.05984281113
    else:
        lift = 9.81 * spec.body.mass_kg / (pressure * wing.area_m2)
        level = (lift - wing.CL_0 - wing.CL_elevator * spec.start.elevator_rad) / wing.CL_alpha
    assert params["FW_LND_FL_PMIN"] == pytest.approx(math.degrees(level), abs=1.0)
    sink = table.approach_speed_mps * math.sin(math.radians(table.glide_slope_deg))
    assert params["FW_LND_FLALT"] > sink * (params["FW_LND_FL_TIME"] + params["FW_P_TC"])  # time to pull up
    assert spec.launcher is not None
    assert params["FW_LAUN_AC_THLD"] < spec.launcher.pull_N / spec.body.mass_kg  # a launch is noticed


@pytest.mark.parametrize(("name", "trim"), [("vtol_standard", 11.12 / 104.72), ("vtol_tailsitter", 4.37 / 86.65)])
def test_throttle_and_vertical_speeds_on_wings_fit_each_other(name: str, trim: float) -> None:
    """Drag over full thrust, by hand; climb and sink are as the thrust above and below that of level flight."""
    params = airframe(name).params
    assert params["FW_THR_TRIM"] == pytest.approx(trim, rel=1e-3)
    above = params["FW_THR_MAX"] - params["FW_THR_TRIM"]
    assert params["FW_T_CLMB_MAX"] / params["FW_T_SINK_MIN"] == pytest.approx(above / params["FW_THR_TRIM"])


def test_tricopter_is_px4s_own_but_for_its_size() -> None:
    """Airframe 14001 [PX4]: the rear rotor is tilted to the right by a positive command."""
    params = airframe("tri_y").params
    places = np.array([[params[f"CA_ROTOR{n}_P{axis}"] for axis in "XY"] for n in range(3)])
    assert places / 0.45 == pytest.approx(np.array([[0.25, 0.433], [0.25, -0.43], [-0.5, 0.0]]), abs=0.01)
    own = {"CA_AIRFRAME": 8, "CA_ROTOR2_TILT": 1, "CA_SV_TL_COUNT": 1, "CA_SV_TL0_TD": 90, "MAV_TYPE": 15}
    assert {name: params[name] for name in own} == own
    assert (params["CA_SV_TL0_MINA"], params["CA_SV_TL0_MAXA"]) == (-40.0, 40.0)
    assert params["PWM_MAIN_FUNC4"] == 201  # the servo


def test_a_tilted_rotor_yaws_by_the_side_force_of_its_share_of_the_weight() -> None:
    spec = load_vehicle("tri_y", control="external").spec
    assert isinstance(spec, MulticopterSpec)
    side_N = 1.05 * 9.80665 / 3 * math.sin(math.radians(40.0))
    assert authority(spec)[2] == pytest.approx(0.225 * side_N / 0.02382, rel=1e-3)
    params = airframe("tri_y").params
    gain = params["MC_YAWRATE_P"] * params["MC_YAWRATE_K"]
    assert gain * authority(spec)[2] == pytest.approx(spec.control.rate_gain[2])
    # roll by the front rotors at +-0.194856 m: each changes by 1 / (2 y) per Nm, over sqrt(2 / 2) of two rotors
    thrust = 9.80665 * 1.05 / 3 / hover_thrust(spec)
    pitch = 1 / math.sqrt(2 * ((1 / 0.3375) ** 2 + 2 * (0.5 / 0.3375) ** 2) / 3)  # m, of three rotors
    roll = 1 / math.sqrt(2 * 2 * (1 / (2 * 0.194856)) ** 2 / 2)
    assert authority(spec)[:2] == pytest.approx([thrust * min(roll, pitch) / 0.01278] * 2, rel=1e-3)


def tilt_rotor() -> TiltRotorSpec:
    """The ProVANT's file."""
    spec = load_vehicle("tiltrotor_provant", control="external").spec
    assert isinstance(spec, TiltRotorSpec)
    return spec


def test_thrusts_and_tilts_of_a_tilt_rotor_turn_it_as_the_three_bodies_do() -> None:
    """Roll and yaw against the linearised equations in hover; pitch by hand: there the arms swing along, here not."""
    spec = tilt_rotor()
    _, _, A, B = linear_hover(body_params(spec))
    roll, pitch, yaw = tilt_rotors.authority(spec)
    # of a unit: thrusts by 1 / sqrt(2) of the full one, tilts by 30 deg / sqrt(2) together, 30 deg against each other
    assert roll == pytest.approx((B[11, 1] - B[11, 0]) * spec.hover_lift_N() / 2 / math.sqrt(2), rel=0.05)
    assert yaw == pytest.approx((A[13, 7] - A[13, 6]) * math.radians(30), rel=0.1)
    height_m = 0.0562 + 0.0078  # of the joints above the centre of mass
    tilt = math.radians(30) / math.sqrt(2)
    assert pitch == pytest.approx(2.08699 * 9.80665 * height_m * tilt / 0.01082, rel=0.01)
    assert -(A[12, 6] + A[12, 7]) * tilt > pitch > 0


def test_a_tilt_rotor_is_a_multicopter_whose_rotors_servos_tilt() -> None:
    params = airframe("tiltrotor_provant").params
    own = {"CA_AIRFRAME": 8, "CA_ROTOR_COUNT": 2, "CA_SV_TL_COUNT": 2, "CA_ROTOR0_TILT": 1, "CA_ROTOR1_TILT": 2}
    assert {name: params[name] for name in own} == own
    assert [params[f"PWM_MAIN_FUNC{n}"] for n in range(1, 5)] == [101, 102, 201, 202]
    assert params["CA_ROTOR0_PY"] == -params["CA_ROTOR1_PY"] == pytest.approx(0.27761)  # the right one first
    full_N = 2 * 9.5e-6 * 1500**2 * math.cos(math.radians(5))
    assert params["MPC_THR_HOVER"] == pytest.approx(2.08699 * 9.80665 / full_N, rel=1e-3)


def helicopter_servos(params: dict[str, float], thrust: float, roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Tail and three servos of the swash plate as [PX4] ActuatorEffectivenessHelicopter::updateSetpoint has them."""
    curve = [params[f"CA_HELI_PITCH_C{n}"] for n in range(5)]
    collective = float(np.interp(thrust, np.linspace(0.0, 1.0, 5), curve))
    tail = yaw + abs(collective - params["CA_HELI_YAW_CP_O"]) * params["CA_HELI_YAW_CP_S"] + params["CA_HELI_YAW_TH_S"]
    servos = []
    for n in range(3):
        angle, arm = math.radians(params[f"CA_SP0_ANG{n}"]), params[f"CA_SP0_ARM_L{n}"]
        servos.append(collective + pitch * math.cos(angle) * arm - roll * math.sin(angle) * arm)
    return np.array([tail, *servos])


def test_a_helicopters_servos_put_the_plate_where_px4_wants_it() -> None:
    """Deflections of the file's own linkage: three servos at 180, 60 and -60 degrees, 0.7 rad of travel."""
    params = airframe("heli_xcell60").params
    spec = load_vehicle("heli_xcell60", control="external").spec
    assert isinstance(spec, HelicopterSpec)
    per_pitch = mixing(np.radians([180.0, 60.0, -60.0]), 0.25, 0.15)
    for thrust, roll, pitch in ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.5, 1.0, 0.0), (0.5, 0.0, -1.0)):
        collective = -0.05 + 0.26 * thrust  # collective_range_rad
        wanted = per_pitch @ [collective - 0.08, 0.06 * pitch, 0.06 * roll]  # longitudinal tilts back, lateral right
        assert 0.7 * helicopter_servos(params, thrust, roll, pitch, 0.0)[1:] == pytest.approx(wanted, abs=1e-9)
    hovering = params["MPC_THR_HOVER"]
    assert -0.05 + 0.26 * hovering == pytest.approx(hover_pitch_rad(spec))
    assumed = hover(spec)
    tail = helicopter_servos(params, hovering, 0.0, 0.0, 0.0)[0]
    assert tail == pytest.approx(tail_command(spec, assumed.tail_thrust_N * assumed.tail_arm_m))
    flat = helicopter_servos(params, 0.05 / 0.26, 0.0, 0.0, 0.0)[0]
    assert flat == pytest.approx(tail_command(spec, assumed.profile_torque_Nm))
    assert params["CA_AIRFRAME"] == 11 and params["MPC_THR_MIN"] == pytest.approx(0.05 / 0.26)


def test_hexacopter_is_px4s_typhoon_but_for_its_size() -> None:
    """Rotor order and spin of airframe 6011 [PX4]."""
    params = airframe("hexa_x").params
    places = np.array([[params[f"CA_ROTOR{n}_P{axis}"] for axis in "XY"] for n in range(6)])
    places /= np.linalg.norm(places, axis=1).mean()
    s = math.sqrt(0.75)
    assert places == pytest.approx(np.array([[0, 1], [0, -1], [s, -0.5], [-s, 0.5], [s, 0.5], [-s, -0.5]]), abs=0.03)
    assert [math.copysign(1, params[f"CA_ROTOR{n}_KM"]) for n in range(6)] == [-1, 1, -1, 1, 1, -1]


def test_px4_is_told_where_the_inertial_units_are() -> None:
    params = airframe("quad_h250").params
    assert [params[f"EKF2_IMU_POS_{axis}"] for axis in "XYZ"] == [0.071, 0.0, -0.1365]
    assert "EKF2_IMU_POS_X" not in airframe("quad_f450").params


def test_hover_thrust_is_that_of_the_trimmed_vehicle() -> None:
    spec = quad()
    steady = level_trim("quad_f450")
    speed = float(steady.point["rotor/1/motor.speed"][0])
    full = spec.motor["standard"].top_speed_radps()
    thin = (1 - 0.0065 * 141.5 / 288.15) ** 4.2559  # air at the 100 m above home at which the trim is found
    assert hover_thrust(spec) / thin == pytest.approx((speed / full) ** 2, rel=1e-3)  # gravity at home


def test_thrust_curve() -> None:
    straight = MotorTable.model_validate({"slope_radps": 1000.0, "idle_speed_radps": 0.0, "time_constant_s": 0.01})
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


def test_rovers_step_as_often_as_px4_controls_them() -> None:
    """PX4's rovers run at 100 Hz by the clock and are mute while disarmed [PX4]; others follow the gyroscope."""
    for name in ("rover_differential", "car_escort", "boat_otter"):
        made = airframe(name)
        assert (made.rate_hz, made.mute) == (100, True)
        assert made.late["IMU_INTEG_RATE"] == 100
    assert (airframe("rov_bluerov2_heavy").rate_hz, airframe("rov_bluerov2_heavy").mute) == (250, False)
    fast = airframe_of(load_vehicle("quad_f450", control="external"), rate_hz=1000)
    assert fast.rate_hz == fast.late["IMU_INTEG_RATE"] == 1000
    assert fast.params["IMU_GYRO_RATEMAX"] >= 1000


def test_a_cars_tightest_turn_is_inside_its_acceptance_radius() -> None:
    """So slow at 90 degrees off its course that it cannot circle round a waypoint."""
    params = airframe("car_escort").params
    slow = params["RO_MAX_THR_SPEED"] * (1 - 0.5 * params["RO_SPEED_RED"])
    assert slow / math.radians(params["RO_YAW_RATE_LIM"]) <= params["NAV_ACC_RAD"] * (1 + 1e-9)
    assert params["NAV_ACC_RAD"] == pytest.approx(2.39268 / math.tan(0.91))


def test_a_boats_throttle_is_that_of_its_resistance() -> None:
    """77.6 N s/m at 1.5 m/s of 2 x 119.7 N; yaw: 42.7 r + 426.5 r |r| of half the width times the thrust."""
    params = airframe("boat_otter").params
    thrust = 2 * 0.01108 * 103.93086427398005**2
    assert 1.5 / params["RO_MAX_THR_SPEED"] == pytest.approx(77.55443234836703 * 1.5 / thrust)
    rate = 0.125
    difference = rate * 0.395 * params["RO_YAW_RATE_CORR"] / params["RO_MAX_THR_SPEED"]  # as PX4 forms it
    drag = 42.65145019531249 * rate + 426.5145019531249 * rate**2
    assert difference * 0.395 * thrust == pytest.approx(drag)
    assert params["THR_MDL_FAC"] == 1.0  # thrust of a propeller is the square of its speed


def test_an_underwater_vehicle_has_the_gains_of_its_own_controller() -> None:
    """Accelerations per error in closed form: four thrusters at 45 degrees move it ahead, all four with one command."""
    params = airframe("rov_bluerov2_heavy").params
    full = 3.623e-4 * 377.0**2
    assert params["UUV_GAIN_Z_D"] * 4 * full / (13.5 + 18.6863) == pytest.approx(2.0)
    assert params["UUV_GAIN_Z_P"] / params["UUV_GAIN_Z_D"] == pytest.approx(0.6)
    lever = (0.156 + 0.111) * math.sqrt(0.5)
    assert params["UUV_YAW_D"] * 4 * full * lever / (0.37 + 0.2215) == pytest.approx(4.0, rel=1e-3)
    assert params["UUV_YAW_P"] / params["UUV_YAW_D"] == pytest.approx(1.5)


def test_under_water_the_declination_is_given() -> None:
    """Without satellites PX4 does not know where it is; near Beijing a needle points 7 degrees west."""
    assert airframe("rov_bluerov2_heavy").params["EKF2_MAG_DECL"] == pytest.approx(-7.6, abs=0.3)
