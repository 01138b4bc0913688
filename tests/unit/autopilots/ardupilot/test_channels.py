"""Every output of ArduPilot moves the vehicle the way ArduPilot means it: up is to the right, nose up, forward."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.autopilots.ardupilot.channels import (
    AILERON,
    ELEVATOR,
    ELEVON_LEFT,
    ELEVON_RIGHT,
    FRAMES,
    GROUND_STEERING,
    RUDDER,
    THROTTLE,
    THROTTLE_LEFT,
    THROTTLE_RIGHT,
    Channel,
    Wiring,
    find_frame,
    motor_function,
    wire,
)
from ironbird.autopilots.ardupilot.params import vehicle_params
from ironbird.blocks.actuators.swash_plate import mixing
from ironbird.errors import LinkError
from ironbird.protocols.parm_file import Params
from ironbird.rig.rig import Rig, make_rig
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.helicopter import HelicopterSpec
from ironbird.vehicles.templates.multicopter import RotorTable, effectiveness
from ironbird.vehicles.templates.vtol import VtolSpec, hover_spec


def rates_after(vehicle: str, pwm: dict[int, int], speed_mps: float = 0.0, time_s: float = 0.05) -> np.ndarray:
    """Change of angular velocity by outputs (by number) against all outputs in the middle or at zero."""
    return _state_after(vehicle, pwm, speed_mps, time_s)[1] - _state_after(vehicle, {}, speed_mps, time_s)[1]


def _state_after(vehicle: str, pwm: dict[int, int], speed_mps: float, time_s: float) -> tuple[np.ndarray, np.ndarray]:
    rig = make_rig(vehicle, until_s=time_s, log=[])
    wiring = wire(rig.vehicle.spec)
    _lift_off(rig, speed_mps)
    for channel in wiring.channels:
        rest = 1000 if channel.kind in ("throttle", "launch") else 1500
        rig.command(channel.place, channel.command(pwm.get(channel.number, rest)))
    while rig.step(10):
        pass
    return rig.truth("p").copy(), rig.truth("w").copy() if "body.w" in rig.state.model.flat.x.start else np.zeros(3)


def _lift_off(rig: Rig, speed_mps: float) -> None:
    """In the air, with the nose to the north and forward speed."""
    if speed_mps:
        p = rig.state.get("body.p")
        rig.state.set_state("body.p", [p[0], p[1], -100.0])
        rig.state.set_state("body.q", [1.0, 0.0, 0.0, 0.0])
        rig.state.set_state("body.v", [speed_mps, 0.0, 0.0])
        if "catapult.gone" in rig.state.model.states():
            rig.state.set_state("catapult.gone", 1.0)


WINGS = {"aerosonde": 30.0, "zagi": 15.0, "vtol_standard": 18.0, "vtol_tailsitter": 15.0}


@pytest.mark.parametrize("vehicle", WINGS)
def test_surfaces_roll_right_pitch_up_and_yaw_right(vehicle: str) -> None:
    functions: dict[int, list[Channel]] = {}
    for channel in wire(load_spec(vehicle)).channels:
        functions.setdefault(channel.function, []).append(channel)
    seen = 0
    for function, axis in ((AILERON, 0), (ELEVATOR, 1), (RUDDER, 2)):
        for channel in functions.get(function, []):
            # One output of several: a share of the axis, but its own sign
            assert rates_after(vehicle, {channel.number: 1800}, WINGS[vehicle])[axis] > 0.01
            seen += 1
    if ELEVON_LEFT in functions:  # up is trailing edge up [ArduPilotCode]: nose up, and roll to the own side
        for function, side in ((ELEVON_LEFT, -1.0), (ELEVON_RIGHT, 1.0)):
            (channel,) = functions[function]
            change = rates_after(vehicle, {channel.number: 1800}, WINGS[vehicle])
            assert change[1] > 0.01 and side * change[0] > 0.01
            seen += 1
    assert seen >= 2
    assert (THROTTLE in functions) == (vehicle != "vtol_tailsitter")  # whose rotors pull in forward flight, too


def test_rotors_of_a_tail_sitter_have_their_places_in_hover_axes() -> None:
    spec = load_spec("vtol_tailsitter")
    assert isinstance(spec, VtolSpec)
    wiring = wire(spec)
    assert (wiring.frame_class, wiring.frame_type) == (1, 1)
    motors = next(motors for *frame, motors in FRAMES if frame == [1, 1])
    effect = effectiveness(hover_spec(spec))
    for channel in wiring.channels:
        if channel.place.startswith("rotor/"):
            bearing, spin = motors[channel.function - motor_function(1)]
            thrust, roll, pitch, yaw = effect[:, int(channel.place.removeprefix("rotor/")) - 1]
            assert thrust > 0.9 and channel.number == 5 + channel.function - motor_function(1)
            assert np.sign([roll, pitch, yaw]).tolist() == [
                -np.sign(np.sin(np.radians(bearing))), np.sign(np.cos(np.radians(bearing))), 1 if spin == "ccw" else -1,
            ]  # fmt: skip


def ardupilots_swash(params: Params, roll: float, pitch: float, collective: float) -> dict[int, float]:
    """Pulse widths of outputs 1 to 3, as [ArduPilotCode] AP_MotorsHeli_Single and _Swash (H3) make them."""
    low, high = params["H_COL_MIN"].value, params["H_COL_MAX"].value
    scaled = collective * (high - low) * 1e-3 + (low - 1000) * 1e-3
    pulses = {}
    for number in (1, 2, 3):
        angle = np.radians(params[f"H_SW_H3_SV{number}_POS"].value - params["H_SW_H3_PHANG"].value)
        share = 0.45 * (np.cos(angle + np.pi / 2) * roll + np.cos(angle) * pitch) + scaled
        pulses[number] = 1500 + 500 * (2 * share - 1)
    return pulses


def test_the_swash_plate_has_the_pitch_that_ardupilot_means() -> None:
    spec = load_spec("heli_xcell60")
    assert isinstance(spec, HelicopterSpec)
    params, swash = vehicle_params(spec), spec.swash
    places = {channel.number: channel for channel in wire(spec).channels}
    plate = np.linalg.inv(mixing(np.radians(swash.azimuth_deg), swash.collective_ratio, swash.cyclic_ratio))
    lowest, highest = (np.radians(params[f"H_COL_ANG_{end}"].value) for end in ("MIN", "MAX"))
    assert (lowest, highest) == pytest.approx(swash.collective_range_rad, abs=2e-4)  # whole microseconds
    full = 4500 / params["H_CYC_MAX"].value * swash.max_cyclic_rad
    for roll, pitch, collective in ((0, 0, 0), (0, 0, 1), (0.3, 0, 0.5), (0, 0.3, 0.5), (-0.2, 0.1, 0.6)):
        pulses = ardupilots_swash(params, roll, pitch, collective)
        deflections = [swash.travel_rad * places[n].command(pulses[n]) for n in (1, 2, 3)]
        above, longitudinal, lateral = plate @ deflections
        wanted = lowest + collective * (highest - lowest)
        assert swash.collective_0_rad + above == pytest.approx(wanted, abs=1e-5)
        assert (longitudinal, lateral) == pytest.approx((full * pitch, full * roll), abs=1e-5)


def test_a_helicopter_rolls_right_pitches_up_and_yaws_right() -> None:
    params = vehicle_params(load_spec("heli_xcell60"))

    def turn(roll: float, pitch: float, tail: int) -> np.ndarray:
        pulses = {n: round(pulse) for n, pulse in ardupilots_swash(params, roll, pitch, 0.5).items()}
        return _state_after("heli_xcell60", {**pulses, 4: tail, 8: 2000}, 1.0, 0.2)[1]

    still = turn(0.0, 0.0, 1500)
    assert (turn(0.3, 0.0, 1500) - still)[0] > 0.1
    assert (turn(0.0, 0.3, 1500) - still)[1] > 0.1
    assert (turn(0.0, 0.0, 1700) - still)[2] > 0.1


def test_the_tail_servo_of_a_tricopter_yaws_right() -> None:
    spin = {1: 1700, 2: 1700, 4: 1700}
    up = rates_after("tri_y", spin | {7: 1800})
    down = rates_after("tri_y", spin | {7: 1200})
    assert up[2] - down[2] > 0.05


@pytest.mark.parametrize(
    ("vehicle", "left", "right"), [("boat_otter", THROTTLE_LEFT, THROTTLE_RIGHT), ("rover_differential", 73, 74)]
)
def test_more_on_the_left_turns_to_the_right(vehicle: str, left: int, right: int) -> None:
    numbers = {channel.function: channel.number for channel in wire(load_spec(vehicle)).channels}
    rig = make_rig(vehicle, until_s=2.0, log=[])
    for channel in wire(rig.vehicle.spec).channels:
        rig.command(channel.place, channel.command(1800 if channel.number == numbers[left] else 1300))
    while rig.step(10):
        pass
    if "body.yaw" in rig.state.model.flat.x.start:
        heading = float(rig.truth("yaw")[0])
    else:
        q = rig.truth("q")
        heading = 2 * float(q[0] * q[3] + q[1] * q[2])
    assert heading > 0.05
    assert numbers[right] != numbers[left]


def test_a_car_steers_right_drives_and_brakes_with_one_throttle() -> None:
    rig = make_rig("car_escort", until_s=6.0, log=[])
    wiring = wire(rig.vehicle.spec)
    steering = next(channel for channel in wiring.channels if channel.function == GROUND_STEERING)

    def drive(throttle: int, until_s: float) -> float:
        for channel in wiring.channels:
            rig.command(channel.place, channel.command(1700 if channel is steering else throttle))
        while rig.time_s < until_s and rig.step(10):
            pass
        return float(rig.truth("v")[0])

    assert drive(1900, 3.0) > 2.0
    assert float(rig.truth("yaw")[0]) > 0.02
    fast = float(rig.truth("v")[0])
    assert drive(1000, 5.9) < 0.5 * fast


def test_outputs_of_a_submarine_do_what_its_frame_says() -> None:
    # [ArduPilotCode] AP_Motors6DOF: yaw drives outputs 1 and 4 up and 2 and 3 down; 5 and 7 up rolls to the right
    def push(pwm: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
        return _state_after("rov_bluerov2_heavy", pwm, 0.0, 0.4)

    still = push({})
    assert (push({1: 1700, 4: 1700, 2: 1300, 3: 1300})[1] - still[1])[2] > 0.02
    assert (push({5: 1700, 7: 1700, 6: 1300, 8: 1300})[1] - still[1])[0] > 0.02
    assert (push({7: 1700, 8: 1700, 5: 1300, 6: 1300})[1] - still[1])[1] > 0.02
    assert (push({1: 1300, 2: 1300, 3: 1700, 4: 1700})[0] - still[0])[0] > 0.005
    assert (push({1: 1700, 3: 1700, 2: 1300, 4: 1300})[0] - still[0])[1] > 0.005
    assert (push({5: 1300, 6: 1300, 7: 1300, 8: 1300})[0] - still[0])[2] < -0.005  # throttle up


@pytest.mark.parametrize(
    ("vehicle", "frame"),
    [
        ("quad_f450", (1, 1)),
        ("quad_plus", (1, 0)),
        ("hexa_x", (2, 1)),
        ("hexa_plus", (2, 0)),
        ("octo_x", (3, 1)),
        ("octo_plus", (3, 0)),
        ("octo_coax", (4, 1)),
        ("hexa_coax", (5, 10)),
        ("tri_y", (7, 0)),
    ],
)
def test_multicopters_of_the_catalogue_are_frames_of_ardupilot(vehicle: str, frame: tuple[int, int]) -> None:
    wiring = wire(load_spec(vehicle))
    assert (wiring.frame_class, wiring.frame_type) == frame
    assert len({channel.number for channel in wiring.channels}) == len(wiring.channels)


def test_quad_x_has_the_motor_order_of_the_manual() -> None:
    # front right CCW, rear left CCW, front left CW, rear right CW
    channels = {channel.place: channel.number for channel in wire(load_spec("quad_f450")).channels}
    names = {rotor.name: n for n, rotor in enumerate(load_spec("quad_f450").rotor, start=1)}  # type: ignore[attr-defined]
    order = [channels[f"rotor/{names[name]}"] for name in ("front_right", "rear_left", "front_left", "rear_right")]
    assert order == [1, 2, 3, 4]


def rotor(number: int, spin: str, x_m: float, y_m: float) -> RotorTable:
    return RotorTable.model_validate({"name": f"r{number}", "spin": spin, "position_B_m": [x_m, y_m, 0.0]})


def test_rotors_in_any_order_are_found_at_their_places() -> None:
    generator = np.random.default_rng(3)
    for frame_class, frame_type, motors in FRAMES:
        order = generator.permutation(len(motors))
        rotors = [
            rotor(i, motors[i][1], 0.3 * np.cos(np.radians(motors[i][0])), 0.3 * np.sin(np.radians(motors[i][0])))
            for i in order
        ]
        assert find_frame(rotors) == (frame_class, frame_type, [int(i) + 1 for i in order])


def test_rotors_that_no_frame_has_are_refused_with_their_places() -> None:
    rotors = [rotor(i, "cw", 0.2, 0.1 * i) for i in range(4)]
    with pytest.raises(LinkError, match="no frame with rotors at 0 deg cw"):
        find_frame(rotors)


@pytest.mark.parametrize("vehicle", ["auv_remus100", "boat_cybership2", "tiltrotor_provant"])
def test_vehicles_without_a_frame_say_so(vehicle: str) -> None:
    with pytest.raises(LinkError, match=f"vehicle '{vehicle}'"):
        wire(load_spec(vehicle))


@pytest.mark.parametrize(
    ("kind", "pwm", "command"),
    [
        ("throttle", 1000, 0.0),
        ("throttle", 1750, 0.75),
        ("throttle", 2200, 1.0),
        ("throttle", 0, 0.0),
        ("both_ways", 1500, 0.0),
        ("both_ways", 1000, -1.0),
        ("both_ways", 1900, 0.8),
        ("both_ways", 0, 0.0),
        ("forward", 1250, 0.0),
        ("forward", 1750, 0.5),
        ("backward", 1250, 0.5),
        ("backward", 1750, 0.0),
        ("launch", 1000, 0.0),
        ("launch", 1400, 1.0),
    ],
)
def test_pulse_widths_become_commands(kind: str, pwm: int, command: float) -> None:
    assert Channel(1, "x", 1, kind).command(pwm) == pytest.approx(command)  # type: ignore[arg-type]
    assert Channel(1, "x", 1, kind, reverse=True).command(pwm) == pytest.approx(-command)  # type: ignore[arg-type]


def test_motor_functions_have_their_two_ranges() -> None:
    assert [motor_function(motor) for motor in (1, 8, 9, 12)] == [33, 40, 82, 85]
    assert Wiring("arducopter", ()).frame_class == 0
