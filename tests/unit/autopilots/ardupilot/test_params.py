"""Parameters of ArduPilot for the catalogue, and .parm files."""

from __future__ import annotations

import contextlib
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironbird.autopilots.ardupilot.channels import wire
from ironbird.autopilots.ardupilot.params import vehicle_params
from ironbird.autopilots.ardupilot.rotors import SPIN_MAX, SPIN_MIN, thrust_expo
from ironbird.errors import LinkError
from ironbird.protocols.parm_file import NAME, Param, merge, parse_parm, write_parm
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec

NAMES = st.from_regex(NAME, fullmatch=True)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.dictionaries(NAMES, st.tuples(NUMBERS, st.text(max_size=40))))
def test_what_is_written_is_read_back(values: dict[str, tuple[float, str]]) -> None:
    params = {name: Param(value, why) for name, (value, why) in values.items()}
    back = parse_parm(write_parm(params, "a title"))
    assert list(back) == list(params)
    for name, param in params.items():
        assert back[name].value == pytest.approx(param.value, rel=1e-8)  # nine digits are written
    assert parse_parm(write_parm(back)) == back


@given(st.text())
def test_any_text_is_read_or_refused_with_its_line(text: str) -> None:
    try:
        params = parse_parm(text, "file.parm")
    except LinkError as error:
        assert "file.parm, line " in str(error)
    else:
        assert all(math.isfinite(param.value) and NAME.fullmatch(name) for name, param in params.items())


def test_broken_lines_are_refused_or_read_but_never_crash() -> None:
    good = write_parm(vehicle_params(load_spec("quad_f450")))
    generator = random.Random(1)
    for _ in range(300):
        letters = list(good)
        for _ in range(generator.randrange(1, 8)):
            letters[generator.randrange(len(letters))] = chr(
                generator.choice([0, 9, 10, 35, 44, 46, 65, 48, 233, 0x2028])
            )
        with contextlib.suppress(LinkError):
            parse_parm("".join(letters))


def test_forms_of_ardupilots_own_files_are_read() -> None:
    text = "# title\nFRAME_CLASS 1\nRC7_OPTION\t7\nFLTMODE1,7 # first\nSIM_X = -1e-3\n\n  Q_ENABLE   1.000000\n"
    values = {name: param.value for name, param in parse_parm(text).items()}
    assert values == {"FRAME_CLASS": 1, "RC7_OPTION": 7, "FLTMODE1": 7, "SIM_X": -0.001, "Q_ENABLE": 1}
    assert parse_parm(text)["FLTMODE1"].why == "first"


@pytest.mark.parametrize(
    "line", ["FRAME_CLASS", "frame_class 1", "A B", "A nan", "A inf", "1A 2", "A_NAME_OF_17_CHARS 1"]
)
def test_bad_lines_are_named(line: str) -> None:
    with pytest.raises(LinkError, match="parameters, line 2"):
        parse_parm(f"FRAME_CLASS 1\n{line}\n")


def test_later_layers_win() -> None:
    merged = merge({"A": Param(1), "B": Param(2)}, {"B": Param(3, "other")})
    assert merged == {"A": Param(1), "B": Param(3, "other")}


def test_names_that_ardupilot_cannot_have_are_not_written() -> None:
    with pytest.raises(LinkError, match="no parameter"):
        write_parm({"too_small": Param(1)})
    with pytest.raises(LinkError, match="no parameter"):
        write_parm({"A": Param(math.nan)})


@pytest.mark.parametrize(("idle", "slope"), [(162.59, 691.33), (0.0, 900.0), (-141.4, 1148.0)])
def test_the_thrust_curve_is_ours(idle: float, slope: float) -> None:
    """(1 - e) x + e x^2 is the share of thrust between the ends, at any command between them."""
    e = thrust_expo(idle, slope)

    def thrust(x: float) -> float:
        return max(idle + slope * (SPIN_MIN + x * (SPIN_MAX - SPIN_MIN)), 0.0) ** 2

    for x in (0.0, 0.2, 0.5, 0.9, 1.0):
        ours = (thrust(x) - thrust(0)) / (thrust(1) - thrust(0))
        assert (1 - e) * x + e * x * x == pytest.approx(ours, abs=1e-12 if idle + slope * SPIN_MIN > 0 else 0.01)


def test_the_f450_hovers_where_its_weight_says() -> None:
    params = vehicle_params(load_spec("quad_f450"))
    # 1.4 kg; 4 * 9.286e-6 N s^2 * w^2: 266.3 rad/s at 0.15, 819.4 at 0.95 [Dai] Fig. 14
    low, high = (4 * 9.286e-6 * (162.59 + 691.33 * share) ** 2 for share in (0.15, 0.95))
    assert params["MOT_THST_HOVER"].value == pytest.approx((1.4 * 9.80665 - low) / (high - low), abs=1e-4)
    assert params["MOT_THST_EXPO"].value == pytest.approx(0.5094, abs=1e-4)
    # Near ArduPilot's default of 0.135, which is meant for a frame of this size
    assert 0.1 < params["ATC_RAT_RLL_P"].value < 0.2


def test_ardupilot_is_told_where_the_inertial_unit_is() -> None:
    params = vehicle_params(load_spec("quad_h250"))
    assert [params[f"INS_POS1_{axis}"].value for axis in "XYZ"] == [0.071, 0.0, -0.1365]
    assert "INS_POS1_X" not in vehicle_params(load_spec("quad_f450"))


def test_a_helicopter_hovers_where_it_did_in_flight() -> None:
    params = vehicle_params(load_spec("heli_xcell60"))
    assert params["H_COL_HOVER"].value == pytest.approx(0.579, abs=0.015)  # what ArduPilot 4.7 needed in calm air
    assert params["FRAME_CLASS"].value == 6 and params["H_RSC_MODE"].value == 2
    # On from the ground station alone: the default switch is on from the start, which forbids arming
    assert (params["RC7_OPTION"].value, params["RC8_OPTION"].value) == (32, 0)


def test_elevator_of_a_steady_pull_up_is_what_the_rate_loop_feeds_forward() -> None:
    spec = load_spec("zagi")
    assert isinstance(spec, FixedWingSpec) and spec.wing is not None
    wing, speed, rate = spec.wing, spec.control.cruise_speed_mps, 0.2
    pressure = 0.5 * 1.225 * speed**2
    alpha = spec.body.mass_kg * speed * rate / (pressure * wing.area_m2 * wing.CL_alpha)  # m V q = lift
    elevator = -(wing.Cm_alpha * alpha + wing.Cm_q * rate * wing.chord_m / (2 * speed)) / wing.Cm_elevator
    params = vehicle_params(spec)
    degrees = params["PTCH_RATE_FF"].value * math.degrees(rate)  # 45 are a full deflection [ArduPilotCode]
    assert degrees / 45 == pytest.approx(-elevator / spec.servo.travel_rad, rel=1e-3)
    assert params["MIXING_GAIN"].value == 0.5 and "MIXING_GAIN" not in vehicle_params(load_spec("aerosonde"))


def test_a_wing_of_panels_is_steered_with_the_gains_of_its_file() -> None:
    spec = load_spec("px4_plane")
    assert isinstance(spec, FixedWingSpec)
    params = vehicle_params(spec)
    angle, rate = 0.1, 0.3  # rad, rad/s: ArduPilot asks for angle / 0.5 s
    wanted = math.degrees(angle) / 0.5
    degrees = params["PTCH_RATE_FF"].value * wanted + params["PTCH_RATE_P"].value * (wanted - math.degrees(rate))
    elevator = spec.control.pitch_gain * angle - spec.control.pitch_damping_s * rate
    assert degrees / 45 == pytest.approx(elevator / spec.servo.travel_rad, rel=1e-3)


def test_every_vehicle_that_is_wired_has_parameters_with_reasons() -> None:
    wired = 0
    for vehicle in vehicle_ids():
        spec = load_spec(vehicle)
        try:
            wiring = wire(spec)
        except LinkError:
            continue
        params = parse_parm(write_parm(vehicle_params(spec)))
        assert all(param.why for param in params.values()), vehicle
        for channel in wiring.channels:
            assert params[f"SERVO{channel.number}_FUNCTION"].value == channel.function
        wired += 1
    assert wired == 28
