"""`[replace]` and `[add]` of vehicle files: parts of a template exchanged for others."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import ironbird as ib
from ironbird.campaign.case import FlightCase
from ironbird.campaign.identity import definition_changed, files_of
from ironbird.compiler.compiled import compile_model
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import VehicleError
from ironbird.flight.order import Order, make_order
from ironbird.model.block import Block
from ironbird.report.flight.parameters import parameter_groups
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.blocks import blocks
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.tables import unit_of

WHEEL = '''
"""A driven wheel on the place of a propeller."""
import casadi as ca
import ironbird as ib


class PushingTyre(ib.Block):
    """A tyre that pushes along the nose with what the motor gives, as far as the load holds it."""

    source = "closed form"
    throttle = ib.In(unit="1", doc="command")
    load = ib.In(unit="N", doc="normal force")
    v_NB_N = ib.In(unit="m/s", shape=3, frame="N", doc="velocity")
    force_B = ib.Out(unit="N", shape=3, frame="B", doc="push")
    moment_B = ib.Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    speed = ib.Out(unit="rad/s", doc="of the wheel")
    shaft_power = ib.Out(unit="W", doc="that it takes")
    push = ib.Param(unit="N", low=0.0, doc="at full throttle")
    radius = ib.Param(unit="m", default=0.06, low=0.01, doc="of the wheel")
    position = ib.Param(unit="m", shape=3, frame="B", default=0.0, doc="where it touches")

    def output(self, x, u, p):
        along = ca.fmin(p.push * u.throttle, u.load)
        speed = ca.norm_2(u.v_NB_N + 1e-9)
        force = ca.vertcat(along, 0, 0)
        moment = ca.cross(p.position, force)
        return {"force_B": force, "moment_B": moment, "speed": speed / p.radius, "shaft_power": along * speed}
'''


def written(folder: Path, text: str, base: str = "quad_f450") -> Path:
    path = folder / "changed.toml"
    path.write_text(f'schema = 1\nid = "changed"\nbase = "{base}"\n{text}', encoding="utf-8")
    return path


def test_ironbirds_own_blocks_are_named_by_their_class() -> None:
    for name, home in blocks().items():
        kind = blocks().load(name)
        assert inspect.isclass(kind) and issubclass(kind, Block)
        assert home == f"{kind.__module__}:{name}"
    assert {"Motor", "Tyre", "ErrorStateEkf", "WheelContact", "RunwayNavigator"} <= set(blocks())


def test_a_part_replaced_by_its_own_kind_flies_the_same_model(tmp_path: Path) -> None:
    own = load_vehicle("quad_f450").diagram
    path = written(tmp_path, '[replace."rotor/1/motor"]\nblock = "Motor"\n[replace.estimator]\nblock = "ErrorStateEkf"')

    other = load_vehicle(path).diagram

    assert compile_model(other).model_hash == compile_model(own).model_hash


def test_a_propeller_is_exchanged_for_another_one_and_the_wing_still_flies(tmp_path: Path) -> None:
    text = """
    [replace."rotor/1/propeller"]
    block = "SimplePropeller"
    params = { area = 0.2027, outflow = 40.0, coefficient = 1.0 }
    """
    path = written(tmp_path, text, base="aerosonde")
    with pytest.raises(VehicleError) as error:  # the speed of the shaft is used by two monitors
        load_vehicle(path)
    assert "rotor/1/propeller.speed [rad/s] feeds changed/monitor/rotor/1.speed" in str(error.value)

    text = """
    [replace."rotor/1/propeller"]
    block = "RatedPropeller"
    params = { diameter = 0.508, thrust_number = 0.09, top_speed = 700.0 }
    """
    flight = ib.fly(written(tmp_path, text, base="zagi"), until_s=20.0)
    assert flight.survived
    assert type(flight.vehicle.diagram.blocks["rotor/1/propeller"]).__name__ == "RatedPropeller"


def test_estimator_controller_and_motor_are_exchanged_and_the_quad_still_hovers(tmp_path: Path) -> None:
    text = """
    [replace.estimator]
    block = "ComplementaryFilter"
    ports = { sink_rate = "" }
    [replace.control]
    block = "MulticopterControl"
    params = { velocity_gain = 2.5 }
    [replace."rotor/1/motor"]
    block = "MotorSecondOrder"
    params = { natural_frequency = 60.0, damping_ratio = 0.8 }
    [replace."rotor/2/motor"]
    block = "MotorSecondOrder"
    params = { natural_frequency = 60.0, damping_ratio = 0.8 }
    """
    flight = ib.fly(written(tmp_path, text), mission="hover", until_s=12.0)
    assert flight.survived
    kinds = {path: type(block).__name__ for path, block in flight.vehicle.diagram.blocks.items()}
    assert (kinds["estimator"], kinds["rotor/2/motor"]) == ("ComplementaryFilter", "MotorSecondOrder")
    assert kinds["rotor/3/motor"] == "Motor"
    estimator = flight.vehicle.diagram.blocks["estimator"]
    assert estimator.sample_s == load_vehicle("quad_f450").diagram.blocks["estimator"].sample_s  # of the old part


def test_a_part_of_the_control_system_alone_is_passed_over_where_it_is_not(tmp_path: Path) -> None:
    path = written(tmp_path, '[replace.estimator]\nblock = "ComplementaryFilter"\nports = { sink_rate = "" }')
    assert "estimator" not in load_vehicle(path, control="truth").diagram.blocks
    assert "estimator" not in load_vehicle(path, control="external").diagram.blocks


def test_a_propeller_becomes_a_tyre_of_the_users_own_and_the_aircraft_drives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full throttle from rest: m v' = push - resistance of rolling, before the air counts."""
    (tmp_path / "wheel.py").write_text(WHEEL, encoding="utf-8")
    monkeypatch.setenv("IRONBIRD_BLOCKS", f"tyre={tmp_path / 'wheel.py'}:PushingTyre")
    text = """
    [replace."rotor/1/propeller"]
    block = "tyre"
    params = { push = 20.0, position = [0.0, 0.0, 0.3] }
    connect = { load = "contact.load", v_NB_N = "body.v_NB_N" }
    [provenance]
    "replace.rotor/1/propeller.params.push" = "measured: spring balance"
    """
    path = written(tmp_path, text, base="aerosonde_wheels")
    state = start(compile_model(load_vehicle(path).diagram), lanes=1, seed=1)
    log = run(state, 6.0, log=["body.v_NB_B", "navigator.mode"], log_s=0.01)

    speed = log.lane("body.v_NB_B", 0)[:, 0]
    rows = np.flatnonzero((speed > 0.5) & (speed < 3.0))  # below it the drag is less than a hundredth of the push
    times = log.time_s[rows]
    accelerated = (speed[rows[-1]] - speed[rows[0]]) / (times[-1] - times[0])
    spec = load_spec(path)
    expected = 20.0 / spec.total_mass_kg() - 0.04 * STANDARD_GRAVITY_MPS2
    assert accelerated == pytest.approx(expected, rel=0.02)

    assert unit_of(spec, "replace.rotor/1/propeller.params.push") == "N"
    rows_of = dict(parameter_groups(spec))["replace"]
    pushed = next(row for row in rows_of if row["key"] == "replace.rotor/1/propeller.params.push")
    assert (pushed["value"], pushed["kind"], pushed["detail"]) == ("20", "measured", "spring balance")


def test_a_campaign_notes_the_code_of_a_users_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks under one name in one campaign would prove nothing."""
    home = tmp_path / "wheel.py"
    home.write_text(WHEEL, encoding="utf-8")
    monkeypatch.setenv("IRONBIRD_BLOCKS", f"tyre={home}:PushingTyre")
    text = """
    [replace."rotor/1/propeller"]
    block = "tyre"
    params = { push = 20.0 }
    connect = { load = "contact.load", v_NB_N = "body.v_NB_N" }
    """
    path = str(written(tmp_path, text, base="aerosonde_wheels"))
    order = make_order(path)
    case = FlightCase(**{entry.name: getattr(order, entry.name) for entry in fields(Order)}, id="a/1/s0", case_id="a")
    noted = files_of([case])
    assert str(home) in noted[path] and definition_changed(case, case.digest(), noted) == ""

    home.write_text(WHEEL.replace("0.06", "0.07"), encoding="utf-8")
    assert definition_changed(case, case.digest(), noted) == f"blocks of {path} changed: {home}"


def test_a_part_is_added_and_feeds_the_body(tmp_path: Path) -> None:
    text = """
    [add.boom]
    block = "AirframeDrag"
    params = { drag = [0.1, 0.1, 0.1], damping = [0.0, 0.0, 0.0] }
    connect = { v_air_B = "air.v_air_B", w_NB_B = "body.w_NB_B", density = "atmosphere.density" }
    feed = { force_B = "body.force_B", moment_B = "body.moment_B" }
    """
    diagram = load_vehicle(written(tmp_path, text)).diagram
    assert "boom.force_B" in diagram.links["body.force_B"]
    diagram.validate()


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ('[replace."rotor/1/moto"]\nblock = "Motor"', "4:1: replace.rotor/1/moto", "did you mean 'rotor/1/motor'"),
        ('[replace.estimator]\nblock = "Ekf"', "5:1: replace.estimator.block", "unknown block 'Ekf'"),
        ("[replace.estimator]\nparams = {}", "replace.estimator.block", "block is missing"),
        (
            '[replace."rotor/1/motor"]\nblock = "Motor"\nparams = { slop = 1.0 }',
            "6:12: replace.rotor/1/motor.params.slop",
            "did you mean 'slope'",
        ),
        (
            '[replace."rotor/1/motor"]\nblock = "Motor"\nparams = { time_constant = -1.0 }',
            "6:12: replace.rotor/1/motor.params.time_constant",
            "time_constant = -1 s is outside its range",
        ),
        (
            '[replace."rotor/1/motor"]\nblock = "Motor"\noptions = { sample = 1.0 }',
            "6:13: replace.rotor/1/motor.options.sample",
            "did you mean 'sample_s'",
        ),
        (
            '[replace.estimator]\nblock = "ErrorStateEkf"\noptions = { sample_s = "soon" }',
            "6:13: replace.estimator.options.sample_s",
            "'soon' is no time",
        ),
        (
            '[replace.contact]\nblock = "WheelContact"\noptions = { wheels = 3 }',
            "6:1: replace.contact.options",
            "WheelContact cannot be made with",
        ),
        ('[replace."rotor/1/motor"]\nblock = "Tyre"', "4:1: replace.rotor/1/motor", "unknown output 'speed' in Tyre"),
        ('[add.gear]\nblock = "GroundContact"', "4:1: add.gear.options", "GroundContact needs the option points"),
        (
            '[replace.airframe]\nblock = "AirframeDrag"\nconnect = { density = "air.densty" }',
            "4:1: replace.airframe",
            "unknown port 'air.densty'",
        ),
        ('[add.battery]\nblock = "Battery"', "4:1: add.battery", "already has a part named 'battery'"),
        ('[add.wing]\nblock = "Wing"', "4:1: add.wing", "input wing.v_air_B [m/s x3 in B] is not connected"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_key(tmp_path: Path, text: str, place: str, said: str) -> None:
    with pytest.raises(VehicleError) as error:
        load_vehicle(written(tmp_path, text))
    assert place in str(error.value)
    assert said in str(error.value)
