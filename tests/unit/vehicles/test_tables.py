"""Tables of vehicle files from the declarations of blocks: keys, units, ranges, and the way back to the block."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.environment.air_data import AirData
from ironbird.blocks.forces.airframe_drag import AirframeDrag
from ironbird.blocks.forces.ground_contact import GroundContact
from ironbird.blocks.power.battery import Battery
from ironbird.errors import ModelError
from ironbird.model.signal import Param
from ironbird.units import UNITS
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.spec import Positive
from ironbird.vehicles.tables import BlockTable, keys_of, params_of, suffix, unit_of, unit_of_key


class Gear(BlockTable):
    """A table with keys of two blocks, keys of its own, and a key with a range of its own."""

    name: str
    friction: Positive = 0.5
    contact = params_of(GroundContact, "stiffness_Npm damping_Nspm>0 friction")
    servo = params_of(Servo, "swing_deg=travel max_rate_degps time_constant_s")


GIVEN = {"name": "a", "stiffness_Npm": 900, "damping_Nspm": 3, "swing_deg": 30, "max_rate_degps": 90}


def gear(**values: object) -> Gear:
    return Gear.model_validate({**GIVEN, "time_constant_s": 0.1, **values})


def test_a_table_hands_its_values_to_each_block_in_the_blocks_units() -> None:
    table = gear(friction=0.7)

    assert table.contact == {"stiffness": 900.0, "damping": 3.0, "friction": 0.7}
    assert table.servo == {"travel": math.radians(30), "max_rate": math.radians(90), "time_constant": 0.1}


def test_own_keys_come_first_and_an_own_range_counts() -> None:
    assert list(Gear.model_fields)[:4] == ["name", "stiffness_Npm", "damping_Nspm", "friction"]
    assert gear().friction == 0.5 and gear(friction=9.0).friction == 9.0  # the block takes 3 at most


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("stiffness_Npm", 0.5, "greater than or equal to 1"),  # as declared
        ("damping_Nspm", 0.0, "greater than 0"),  # the block would take 0
        ("swing_deg", 92.0, "less than or equal to 91.67"),  # 1.6 rad
        ("stiffness_Npm", None, "valid number"),
        ("stiffness", 900.0, "Extra inputs"),
    ],
)
def test_ranges_are_the_declared_ones_in_the_unit_of_the_key(key: str, value: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        gear(**{key: value})


def test_a_key_may_be_left_out_where_the_block_has_a_default() -> None:
    class Drag(BlockTable):
        params = params_of(AirframeDrag, "drag_Ns2pm2 damping_Nms2prad2 centre_B_m?")

    table = Drag.model_validate({"drag_Ns2pm2": [1, 2, 3], "damping_Nms2prad2": [0, 0, 0]})
    assert table.params["centre"] == [0.0, 0.0, 0.0]
    with pytest.raises(ValidationError, match=r"drag_Ns2pm2\.1\n.*greater than or equal to 0"):
        Drag.model_validate({"drag_Ns2pm2": [1, -2, 3], "damping_Nms2prad2": [0, 0, 0]})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("stiffness_N", "key 'stiffness_N' says N, but GroundContact.stiffness is in N/m"),
        ("stifness_Npm", "unknown parameter 'stifness' in GroundContact .*; did you mean 'stiffness'"),
        ("grip_N=stiffness", "key 'grip_N' says N, but GroundContact.stiffness is in N/m"),
    ],
)
def test_a_key_that_does_not_fit_its_block_is_an_error_of_the_template(keys: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        params_of(GroundContact, keys)


def test_a_default_that_the_block_does_not_declare_cannot_be_left_out() -> None:
    with pytest.raises(ModelError, match="'capacity_Ah' may be left out, but parameter 'capacity' has no default"):
        type("Power", (BlockTable,), {"params": params_of(Battery, "capacity_Ah?"), "__module__": __name__})


def test_every_unit_has_a_suffix_of_its_own() -> None:
    assert len({suffix(unit) for unit in UNITS}) == len(UNITS)
    examples = {"N*s^2/m": "Ns2pm", "1/rad": "prad", "kg*m^2": "kgm2", "m/s^2": "mps2", "1/s": "1ps", "1": ""}
    assert {unit: suffix(unit) for unit in examples} == examples
    keys = ("a.position_B_m", "b.stiffness_Npm", "CL_0", "gain", "axis_B", "max_rate_degps")
    assert [unit_of_key(key) for key in keys] == ["m", "N/m", "1", "1", "1", "deg/s"]


def test_units_of_a_file_are_those_of_the_blocks_that_take_its_values() -> None:
    spec = load_spec("quad_f450")
    keys = ("motor.standard.slope_radps", "rotor.1.position_B_m", "control.position_gain", "control.max_tilt_deg")
    assert [unit_of(spec, key) for key in keys] == ["rad/s", "m", "1/s", "deg"]
    assert unit_of(spec, "home.latitude_deg") == "deg" and unit_of(spec, "sensors.imus") == "1"


def test_no_key_of_the_catalogue_hides_a_unit_that_its_block_does_not_have() -> None:
    for name in ("quad_f450", "auv_remus100", "heli_xcell60", "car_escort", "aerosonde", "vtol_standard"):
        spec = load_spec(name)
        for group in type(spec).model_fields:
            table = getattr(spec, group)
            for key in keys_of(type(table)).values() if isinstance(table, BlockTable) else ():
                assert isinstance(key.signal, Param)
                assert unit_of_key(key.name) in ("1", key.unit), f"{name}: {group}.{key.name}"


def test_what_a_file_says_arrives_at_the_block() -> None:
    spec, diagram = load_spec("car_escort"), load_vehicle("car_escort").diagram
    assert diagram.value("steering/servo.travel")[0] == spec.steering.max_angle_rad  # type: ignore[attr-defined]
    assert diagram.value("wheel/3/tyre.relaxation_y")[0] == spec.tyre.relaxation_y_m  # type: ignore[attr-defined]


def test_a_block_without_parameters_gives_no_keys() -> None:
    with pytest.raises(ModelError, match="unknown parameter 'speed' in AirData"):
        params_of(AirData, "speed_mps")


def test_a_battery_of_so_many_ampere_hours_has_so_much_charge() -> None:
    class Pack(BlockTable):
        params = params_of(Battery, "capacity_Ah")

    assert Pack.model_validate({"capacity_Ah": 5.0}).params == {"capacity": 18_000.0}  # ampere seconds
