"""Vehicles of other programs: small files written from the formats' documentation, hand-computed results."""

from __future__ import annotations

import itertools
import math
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from foreign_vehicles import AIRFRAME, AIRFRAME_SCRIPT, FRAME, MOTOR, SDF, urdf

from ironbird import fly
from ironbird.analysis.level import level_trim
from ironbird.errors import UnknownNameError, VehicleError
from ironbird.vehicles.imports.differences import differences
from ironbird.vehicles.imports.draft import Draft
from ironbird.vehicles.imports.registry import Given, import_vehicle
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.multicopter import MulticopterSpec


def loaded(draft: Draft, folder: Path) -> MulticopterSpec | FixedWingSpec:
    path = folder / f"{draft.id}.toml"
    path.write_text(draft.text())
    spec = load_spec(path)
    assert isinstance(spec, MulticopterSpec | FixedWingSpec)
    return spec


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_links_of_an_sdf_file_become_one_body_and_its_motors_rotors(tmp_path: Path) -> None:
    draft = import_vehicle(written(tmp_path, "quad.sdf", SDF))
    spec = loaded(draft, tmp_path)
    assert isinstance(spec, MulticopterSpec)

    centre = (1.0 * 0.01 + 4 * 0.01 * 0.05) / 1.04  # up, of all links
    about_x = 0.01 + (0.01 - centre) ** 2 + 4 * 0.01 * (0.2**2 + (0.05 - centre) ** 2)
    assert spec.body.mass_kg == pytest.approx(1.04)
    assert spec.body.inertia()[0, 0] == pytest.approx(about_x, rel=1e-8)
    assert spec.body.inertia()[0, 2] == pytest.approx(0.001 * -1 * 1)  # x forward stays, z up becomes down
    assert [r.position_B_m[:2] for r in spec.rotor] == [[0.2, 0.2], [-0.2, -0.2], [0.2, -0.2], [-0.2, 0.2]]
    assert [r.spin for r in spec.rotor] == ["ccw", "ccw", "cw", "cw"]
    assert spec.rotor[0].position_B_m[2] == pytest.approx(-(0.05 - centre))
    motor = spec.motor["standard"]
    assert (motor.slope_radps, motor.idle_speed_radps, motor.time_constant_s) == (900.0, 100.0, 0.02)
    assert spec.propeller["standard"].torque_coefficient_Nms2 == pytest.approx(1.2e-7)
    hover = math.sqrt(1.04 * 9.80665 / 24e-6)
    assert spec.airframe.drag_Ns2pm2[0] == pytest.approx(4e-4 * hover / 5, rel=1e-6)
    assert spec.contact.points_B_m[0] == pytest.approx([0.15, 0.1, 0.05 + centre], abs=1e-6)
    assert any("libstrange_thing" in text for text in draft.missing) and any("imu" in text for text in draft.missing)
    assert any("slowing down" in text for text in draft.missing) and "# Not understood:" in draft.text()
    assert spec.source_of("body.mass_kg").startswith("published: quad.sdf")


def test_a_urdf_tree_of_joints_gives_the_same_vehicle_as_sdf(tmp_path: Path) -> None:
    spec = loaded(import_vehicle(written(tmp_path, "quad.urdf", urdf())), tmp_path)
    same = loaded(import_vehicle(written(tmp_path, "quad.sdf", SDF)), tmp_path)

    assert isinstance(spec, MulticopterSpec) and isinstance(same, MulticopterSpec)
    np.testing.assert_allclose(spec.body.inertia(), same.body.inertia(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(
        [r.position_B_m for r in spec.rotor],
        [r.position_B_m for r in same.rotor],
        atol=1e-8,  # rounded to 1e-9
    )


def test_lift_drag_surfaces_and_one_propeller_become_a_plane(tmp_path: Path) -> None:
    def surface(name: str, link: str, cp: str, joint: str, gain: float, upward: str = "0 0 1") -> str:
        return (
            f"<plugin name='{name}' filename='libLiftDragPlugin.so'><a0>0.06</a0><cla>4.75</cla><cda>0.64</cda>"
            f"<alpha_stall>0.34</alpha_stall><cla_stall>-3.85</cla_stall><cda_stall>-0.92</cda_stall><area>0.3</area>"
            f"<cp>{cp}</cp><upward>{upward}</upward><link_name>{link}</link_name>"
            f"<control_joint_name>{joint}</control_joint_name>"
            f"<control_joint_rad_to_cl>{gain}</control_joint_rad_to_cl></plugin>"
        )

    text = (
        "<sdf version='1.6'><model name='glider'><link name='base'><inertial><mass>2</mass><inertia><ixx>0.2</ixx>"
        "<iyy>0.15</iyy><izz>0.15</izz></inertia></inertial></link>"
        "<link name='rotor_0'><pose>0.3 0 0 0 1.5707963267948966 0</pose></link>"
        + MOTOR.format(n=0, name="puller", spin="cw")
        + surface("left_wing", "base", "-0.05 0.4 0.05", "left_elevon_joint", -0.3)
        + surface("right_wing", "base", "-0.05 -0.4 0.05", "right_elevon_joint", -0.3)
        + surface("elevator", "base", "-0.5 0 0", "elevator_joint", -4.0)
        + surface("rudder", "base", "-0.5 0 0.05", "rudder_joint", 0.8, "0 1 0")
        + "</model></sdf>"
    )
    spec = loaded(import_vehicle(written(tmp_path, "glider.sdf", text)), tmp_path)

    assert isinstance(spec, FixedWingSpec) and spec.puller is not None
    assert spec.panel["left_wing"].position_B_m == [-0.05, -0.4, -0.05]
    assert spec.panel["rudder"].upward_B == [0.0, -1.0, 0.0]
    assert spec.surfaces == {  # as the catalogue's px4_plane, whose signs are flown
        "left_elevon": [-1.0, 0.0, 0.0], "right_elevon": [1.0, 0.0, 0.0], "elevator": [0.0, -1.0, 0.0],
        "rudder": [0.0, 0.0, -1.0],
    }  # fmt: skip
    assert spec.puller.motor_constant_Ns2 == 6e-6


def test_a_frame_of_ardupilot_hovers_where_its_thrust_curve_says(tmp_path: Path) -> None:
    draft = import_vehicle(written(tmp_path, "Frame.json", FRAME))
    spec = loaded(draft, tmp_path)
    assert isinstance(spec, MulticopterSpec)

    assert spec.hover_lift_N() == pytest.approx(4.0 * 9.80665 / 0.25, rel=1e-6)  # a quarter of it hovers
    assert spec.airframe.drag_Ns2pm2[0] == pytest.approx(4.0 * 9.80665 * math.tan(math.radians(20)) / 100, rel=1e-6)
    assert spec.body.inertia()[2, 2] == pytest.approx(4.0 * 0.5 * 0.4**2)
    assert (spec.battery.cells, spec.battery.capacity_Ah, spec.battery.resistance_ohm) == (6, 10.0, 0.01)
    assert math.hypot(*spec.rotor[0].position_B_m[:2]) == pytest.approx(0.4, rel=1e-3)
    assert any("pwmMin" in text for text in draft.missing)


def test_control_allocation_parameters_of_px4_place_the_rotors(tmp_path: Path) -> None:
    path = written(tmp_path, "4001_test", AIRFRAME_SCRIPT)
    spec = loaded(import_vehicle(path, "px4", Given(mass_kg=2.0)), tmp_path)
    assert isinstance(spec, MulticopterSpec)

    hover = 150 + 0.6 * 850
    assert 4 * spec.propeller["standard"].thrust_coefficient_Ns2 * hover**2 == pytest.approx(2.0 * 9.80665, rel=1e-6)
    assert [r.spin for r in spec.rotor] == ["ccw", "ccw", "cw", "cw"]
    table = "# Onboard parameters\n1\t1\tCA_AIRFRAME\t0\t6\n1\t1\tCA_ROTOR_COUNT\t4\t6\n" + "".join(
        f"1\t1\t{line.split()[2]}\t{line.split()[3]}\t9\n" for line in AIRFRAME.splitlines()
    )
    again = loaded(import_vehicle(written(tmp_path, "q.params", table), None, Given(mass_kg=2.0)), tmp_path)
    assert isinstance(again, MulticopterSpec) and [r.position_B_m for r in again.rotor] == [
        r.position_B_m for r in spec.rotor
    ]
    with pytest.raises(VehicleError, match="--mass-kg"):
        import_vehicle(path, "px4")


def test_an_old_mixer_file_gives_the_frame_but_no_lengths(tmp_path: Path) -> None:
    path = written(tmp_path, "quad_x.main.mix", "R: 4x 10000 10000 10000 0\n")
    with pytest.raises(VehicleError, match="--arm-m"):
        import_vehicle(path, None, Given(mass_kg=1.5))
    spec = loaded(import_vehicle(path, None, Given(mass_kg=1.5, arm_m=0.3)), tmp_path)

    assert isinstance(spec, MulticopterSpec)
    assert [math.hypot(*r.position_B_m[:2]) for r in spec.rotor] == pytest.approx([0.3] * 4, rel=1e-3)


def test_the_lift_slope_of_a_jsbsim_aircraft_is_that_of_the_simulator_itself(tmp_path: Path) -> None:
    """The package of JSBSim carries the Cessna 172: lift against a run of it, two dampings against its file."""
    jsbsim = pytest.importorskip("jsbsim")
    root = Path(jsbsim.get_default_root_dir())
    spec = loaded(import_vehicle(root / "aircraft" / "c172p" / "c172p.xml"), tmp_path)
    assert isinstance(spec, FixedWingSpec) and spec.wing is not None

    wing = spec.wing
    assert wing.area_m2 == pytest.approx(174 * 0.3048**2, rel=1e-4)  # 174 square feet, 35.8 ft, 4.9 ft
    assert (wing.span_m, wing.chord_m) == pytest.approx((35.8 * 0.3048, 4.9 * 0.3048), rel=1e-4)
    fdm = jsbsim.FGFDMExec(str(root))
    fdm.set_debug_level(0)
    assert fdm.load_model("c172p")

    def lift(alpha_rad: float) -> float:
        fdm["ic/h-sl-ft"], fdm["ic/vt-kts"], fdm["ic/beta-deg"] = 1000.0, 75.0, 0.0
        fdm["ic/alpha-rad"] = alpha_rad
        fdm.run_ic()
        return float(fdm["forces/fwz-aero-lbs"] / (fdm["aero/qbar-psf"] * fdm["metrics/Sw-sqft"]))

    slope = (lift(math.radians(4)) - lift(math.radians(2))) / math.radians(2)
    assert abs(slope) == pytest.approx(wing.CL_alpha, rel=0.02)  # the table is linear in between
    assert (wing.Cl_p, wing.Cm_q) == pytest.approx((-0.484, -12.4), rel=0.03)  # in the file: about its own point


def test_the_coefficients_of_a_jsbsim_aircraft_are_those_of_the_simulator_itself(tmp_path: Path) -> None:
    """Drag, side force and all three moments about the centre of mass, from JSBSim's own forces at the same states.

    The aircraft is the Cessna 172 without its terms in the rate of the angle of attack, which our wing does not have
    (the import lists them) and which JSBSim's initial state mixes into every derivative.
    """
    jsbsim = pytest.importorskip("jsbsim")
    root = Path(jsbsim.get_default_root_dir())
    text = (root / "aircraft/c172p/c172p.xml").read_text()
    whole = import_vehicle(root / "aircraft/c172p/c172p.xml")
    assert any("alphadot" in entry for entry in whole.missing)
    (tmp_path / "c172p").mkdir()
    shutil.copytree(root / "aircraft/c172p", tmp_path / "c172p", dirs_exist_ok=True)
    steady = text.replace("<property>aero/alphadot-rad_sec</property>", "<value>0</value>")
    assert steady != text
    (tmp_path / "c172p/c172p.xml").write_text(steady)
    spec = loaded(import_vehicle(tmp_path / "c172p/c172p.xml"), tmp_path)
    assert isinstance(spec, FixedWingSpec) and spec.wing is not None
    wing = spec.wing
    fdm = jsbsim.FGFDMExec(str(root))
    fdm.set_debug_level(0)
    fdm.set_aircraft_path(str(tmp_path))
    assert fdm.load_model("c172p")
    surfaces = {"elevator": "elevator", "aileron": "left-aileron", "rudder": "rudder"}

    def found(alpha: float = math.radians(3.0), **state: float) -> dict[str, float]:
        """Coefficients of a state: rates in rad/s, surfaces as shares of their travel (read back in rad)."""
        for tank in (0, 1):
            fdm[f"propulsion/tank[{tank}]/contents-lbs"] = 0.0
        fdm["ic/h-sl-ft"], fdm["ic/vt-kts"], fdm["ic/alpha-rad"] = 1000.0, 75.0, alpha
        fdm["ic/beta-rad"] = state.get("beta", 0.0)
        for axis in "pqr":
            fdm[f"ic/{axis}-rad_sec"] = state.get(axis, 0.0)
        for name in surfaces:
            fdm[f"fcs/{name}-cmd-norm"] = state.get(name, 0.0)
        fdm.run_ic()
        force = fdm["aero/qbar-psf"] * fdm["metrics/Sw-sqft"]
        span, chord = fdm["metrics/bw-ft"], fdm["metrics/cbarw-ft"]
        return {
            "CL": fdm["forces/fwz-aero-lbs"] / force, "CD": fdm["forces/fwx-aero-lbs"] / force,
            "CY": fdm["forces/fwy-aero-lbs"] / force, "Cl": fdm["moments/l-aero-lbsft"] / (force * span),
            "Cm": fdm["moments/m-aero-lbsft"] / (force * chord), "Cn": fdm["moments/n-aero-lbsft"] / (force * span),
            "speed": fdm["velocities/vt-fps"] * 0.3048,
            **{name: fdm[f"fcs/{place}-pos-rad"] for name, place in surfaces.items()},
        }  # fmt: skip

    def slope(of: str, by: str) -> float:
        size = 0.05 if by in surfaces else 1e-3
        if by == "alpha":
            high, low = found(math.radians(3.0) + size), found(math.radians(3.0) - size)
        else:
            high, low = found(**{by: size}), found(**{by: -size})
        way = high[by] - low[by] if by in surfaces else 2 * size
        length = {"p": wing.span_m, "r": wing.span_m, "q": wing.chord_m}.get(by)
        return (high[of] - low[of]) / way / (length / (2 * high["speed"]) if length else 1.0)

    for of, by in [("CL", "alpha"), ("CL", "q"), ("CL", "elevator"), ("Cm", "alpha"), ("Cm", "q"), ("Cm", "elevator"),
                   *itertools.product(("CY", "Cl", "Cn"), ("beta", "p", "r", "aileron", "rudder"))]:  # fmt: skip
        # the pilot sits 4 cm beside the middle, which our wing does not know: 0.2 % of the moments
        assert slope(of, by) == pytest.approx(getattr(wing, f"{of}_{by}"), rel=5e-3, abs=5e-4), (of, by)
    aspect = wing.span_m**2 / wing.area_m2
    for degrees in (0.0, 3.0, 6.0):
        at = found(math.radians(degrees))
        polar = wing.CD_p + at["CL"] ** 2 / (math.pi * wing.oswald * aspect)
        assert at["CD"] == pytest.approx(polar, rel=0.05)  # a parabola through a table
        assert at["Cm"] == pytest.approx(wing.Cm_0 + wing.Cm_alpha * math.radians(degrees), abs=0.01)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.sdf", "<sdf><model name='x'/></sdf>", "no link has a mass"),
        ("a.sdf", "<!DOCTYPE a [<!ENTITY b 'c'>]><sdf/>", "document type"),
        ("a.sdf", "<sdf>", "no whole XML"),
        ("a.sdf", "<?xml version='1.0' encoding='no_such'?><sdf/>", "unknown encoding: no_such"),
        ("a.sdf", "<?xml version='1.0' encoding='shift_jis'?><sdf/>", "multi-byte encodings are not supported"),
        (
            "a.sdf",
            "<sdf><model><link name='a'><inertial><mass>inf</mass></inertial></link></model></sdf>",
            "not finite",
        ),
        ("a.sdf", SDF.replace("<momentConstant>0.02</momentConstant>", ""), "momentConstant"),
        ("a.sdf", SDF.replace("<pose>0 0 0.01", "<pose>1e200 0 0.01"), "made of its numbers .overflow"),
        ("a.urdf", "<robot/>", "no link has a mass"),
        (
            "a.urdf",
            "<robot><link name='a'/><link name='b'/><joint name='i'><parent link='a'/><child link='b'/></joint>"
            "<joint name='j'><parent link='b'/><child link='a'/></joint></robot>",
            "circle",
        ),
        ("a.json", "[1]", "no table"),
        ("a.json", '{"mass": "heavy", "diagonal_size": 1}', "mass = 'heavy'"),
        ("a.params", "hello", "no parameter"),
        ("a.xml", "<fdm_config/>", "wingarea"),
        ("a.stl", "", "--format"),
    ],
)
def test_damaged_files_are_refused_in_words(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(VehicleError, match=said):
        import_vehicle(written(tmp_path, name, text), None, Given(mass_kg=1.0))


def test_a_document_type_is_found_in_every_encoding(tmp_path: Path) -> None:
    text = "<?xml version='1.0' encoding='utf-16'?><!DOCTYPE a [<!ENTITY b 'c'>]><sdf>&b;</sdf>"
    (tmp_path / "a.sdf").write_bytes(text.encode("utf-16"))
    with pytest.raises(VehicleError, match="document type"):
        import_vehicle(tmp_path / "a.sdf")


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="urdf"):
        import_vehicle(tmp_path / "a.b", "urdff")


def test_the_catalogue_s_iris_is_what_the_import_of_px4_s_own_file_gives(tmp_path: Path) -> None:
    """With PX4-SITL_gazebo-classic: its models folder in IRONBIRD_GAZEBO_MODELS; else the catalogue alone."""
    spec = load_spec("quad_iris")
    assert isinstance(spec, MulticopterSpec)
    hover = math.sqrt(spec.body.mass_kg * 9.80665 / (4 * 5.84e-6))
    assert (hover - 100.0) / 1000.0 == pytest.approx(0.703, abs=0.001)  # throttle of hovering
    models = os.environ.get("IRONBIRD_GAZEBO_MODELS")
    if models:
        found = loaded(import_vehicle(model_of(models, "iris"), "sdf"), tmp_path)
        assert isinstance(found, MulticopterSpec)
        assert found.motor == spec.motor
        for difference in differences(found, spec):  # the module of the GPS, 15 g in the nose, if it lies beside
            near = difference.here == pytest.approx(difference.there, rel=0.02, abs=5e-5)
            assert near or difference.path.startswith(BEYOND), difference
        flight = fly(
            str(written(tmp_path, "iris.toml", import_vehicle(model_of(models, "iris"), "sdf").text())), until_s=15.0
        )
        assert flight.verdict == "pass" and -flight.log["body.p_NB_N"][-1, 2] > 2.0  # it hovers, and flies its square
        plane = written(tmp_path, "plane.toml", import_vehicle(model_of(models, "plane"), "sdf").text())
        found_trim = level_trim(plane).point
        assert 0.1 < found_trim["rotor/1/command_fault.value"][0] < 0.6 and abs(found_trim["body.euler"][1]) < 0.2


# What the catalogue gives the Iris beyond PX4's file: the air of its rotors, in the place of an airframe's drag
BEYOND = (
    "propeller.standard.inflow", "propeller.standard.rotor_drag", "propeller.standard.diameter", "airframe.drag",
)  # fmt: skip


def model_of(models: str, name: str) -> Path:
    folder = Path(models) / name
    return next(iter([*folder.glob(f"{name}.sdf"), *folder.glob(f"{name}.sdf.jinja")]))


def test_every_value_that_two_vehicles_have_differently_is_named() -> None:
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec) and differences(spec, spec) == []
    heavier = spec.model_copy(update={"body": spec.body.model_copy(update={"mass_kg": 2 * spec.body.mass_kg})})
    (found,) = differences(heavier, spec)
    assert found.path == "body.mass_kg" and found.text("a", "b").endswith("(+100.0 %)")
