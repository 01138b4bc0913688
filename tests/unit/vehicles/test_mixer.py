"""Mixer files: PX4's published matrices, outputs worked out by hand, errors with line and column, any text at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ironbird.errors import MixerError, VehicleError
from ironbird.vehicles.geometry import GEOMETRIES
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.mixer import MixerFile, MultirotorMixer, SumMixer, load_mixer, parse_mixer
from ironbird.vehicles.names import CATALOG
from ironbird.vehicles.templates.multicopter import MulticopterSpec, allocation, effectiveness

EXAMPLES = settings(deadline=None, max_examples=300, derandomize=True)
A, B, C = 0.707107, 0.382683, 0.923880
H = 0.866025
# Roll, pitch, yaw, thrust. Quad X, octo X and octo coax stand in PX4's generated header mixer_multirotor_normalized, as
# its test and other repositories repeat them; the hexacopters and octo + in PX4's older multi_tables, from memory.
PUBLISHED = {
    "4x": [[-A, A, 1, 1], [A, -A, 1, 1], [A, A, -1, 1], [-A, -A, -1, 1]],
    "4+": [[-1, 0, 1, 1], [1, 0, 1, 1], [0, 1, -1, 1], [0, -1, -1, 1]],
    "6x": [[-1, 0, -1, 1], [1, 0, 1, 1], [0.5, H, -1, 1], [-0.5, -H, 1, 1], [-0.5, H, 1, 1], [0.5, -H, -1, 1]],
    "6+": [[0, 1, -1, 1], [0, -1, 1, 1], [H, -0.5, -1, 1], [-H, 0.5, 1, 1], [H, 0.5, 1, 1], [-H, -0.5, -1, 1]],
    "8x": [
        [-B, C, -1, 1], [B, -C, -1, 1], [-C, B, 1, 1], [-B, -C, 1, 1],
        [B, C, 1, 1], [C, -B, 1, 1], [C, B, -1, 1], [-C, -B, -1, 1],
    ],
    "8+": [
        [0, 1, -1, 1], [0, -1, -1, 1], [-A, A, 1, 1], [-A, -A, 1, 1],
        [A, A, 1, 1], [A, -A, 1, 1], [1, 0, -1, 1], [-1, 0, -1, 1],
    ],
    "8c": [
        [-A, A, 1, 1], [A, A, -1, 1], [A, -A, 1, 1], [-A, -A, -1, 1],
        [A, A, 1, 1], [-A, A, -1, 1], [-A, -A, 1, 1], [A, -A, -1, 1],
    ],
}  # fmt: skip
VEHICLES = {
    "quad_f450": "4x", "quad_plus": "4+", "hexa_x": "6x", "hexa_plus": "6+", "hexa_coax": "6c", "octo_x": "8x",
    "octo_plus": "8+", "octo_coax": "8c", "tri_y": "3y",
}  # fmt: skip
BLADE_130 = """Blade 130 helicopter, as the RflySim manual prints it in 3.4
H: 3
T:       0   3000   6000   8000  10000
P:     500   1500   2500   3500   4500
# Swash plate servos:
S:       0  10000  10000      0  -8000   8000
S:     140  13054  10000      0  -8000   8000
S:     220  13054  10000      0  -8000   8000

# Tail servo:
M: 1
S: 0 2  10000  10000      0 -10000  10000
"""
GENERIC_WING = """Generic wing, as the RflySim manual prints it in 3.4
M: 2
S: 0 0  -8000  -8000      0 -10000  10000
S: 0 1   6000   6000      0 -10000  10000
M: 2
S: 0 0  -8000  -8000      0 -10000  10000
S: 0 1  -6000  -6000      0 -10000  10000
Output 2
Z:
M: 1
S: 0 3      0  20000 -10000 -10000  10000
"""


@pytest.mark.parametrize("key", PUBLISHED)
def test_matrices_are_the_published_ones(key: str) -> None:
    ours, theirs = GEOMETRIES[key].normalized, np.array(PUBLISHED[key])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1.5e-6)  # printed to six digits


@pytest.mark.parametrize("key", [key for key in GEOMETRIES if key != "4vt"])  # its rotors push sideways as well
def test_every_matrix_moves_only_what_it_is_asked_to_move(key: str) -> None:
    geometry = GEOMETRIES[key]
    effect = geometry.effect[[0, 1, 2, 5]] * [[1], [1], [1], [-1]]  # thrust counts up
    product = effect @ geometry.normalized

    wanted = [i for i in range(4) if np.abs(geometry.normalized[:, i]).max() > 1e-9]
    assert np.all(np.diag(product)[wanted] > 0)
    off = product[np.ix_(wanted, wanted)]
    np.testing.assert_allclose(off - np.diag(np.diag(off)), 0.0, atol=1e-9)


@pytest.mark.parametrize("name", VEHICLES)
def test_allocation_of_the_catalogue_is_that_of_px4(name: str) -> None:
    spec = load_spec(name)
    assert isinstance(spec, MulticopterSpec)
    geometry = GEOMETRIES[VEHICLES[name]]
    assert name in geometry.vehicles()
    ours = allocation(spec)[:, [1, 2, 3, 0]]
    ours[:, :2] /= np.linalg.norm(ours[:, :2], axis=0).max() / np.sqrt(len(spec.rotor) / 2)
    if not spec.tail:  # the tail's servo yaws
        ours[:, 2] /= np.abs(ours[:, 2]).max()
    ours[:, 3] /= ours[:, 3].mean()
    # The Typhoon's centre of mass is off by 4 mm; PX4 gives the places of the Y6 to three digits, of all others to six
    close = {"hexa_x": 0.09, "hexa_coax": 4e-5}.get(name, 4e-6)
    np.testing.assert_allclose(ours, geometry.normalized, rtol=0, atol=close)


# ---------------------------------------------------------------------- outputs


def test_the_helicopter_of_the_manual() -> None:
    mixer = parse_mixer(BLADE_130)

    assert mixer.count == 5
    # Half thrust: throttle 0.6 is 0.2 in -1 to 1, collective 0.25; 1.3054 at 140 degrees: cosine -1, sine 0.8391
    outputs = mixer.apply({(0, 0): 0.1, (0, 1): 0.2, (0, 2): -0.3, (0, 3): 0.5})
    expected = [0.2, 0.25 + 0.2, 0.25 - 0.2 - 0.08391, 0.25 - 0.2 + 0.08391, -0.3]
    np.testing.assert_allclose(outputs, expected, atol=1e-5)  # cosine and sine to five digits
    # Curves bend at the points of the file and servos stop at 0.8
    np.testing.assert_allclose(mixer.apply({(0, 3): 0.625, (0, 1): 1.0})[:3], [0.4, 0.8, 0.3 - 1.0], atol=1e-5)
    np.testing.assert_allclose(mixer.apply({(0, 3): 1.0})[:2], [1.0, 0.45])


def test_the_wing_of_the_manual() -> None:
    mixer = parse_mixer(GENERIC_WING)

    np.testing.assert_allclose(
        mixer.apply({(0, 0): 0.5, (0, 1): 0.25, (0, 3): 0.5}), [-0.4 + 0.15, -0.4 - 0.15, 0.0, 0.0], atol=1e-15
    )
    assert mixer.apply({(0, 0): -1.0, (0, 1): 1.0})[0] == 1.0  # 1.4, limited
    assert mixer.apply({(0, 3): -0.5})[3] == -1.0  # below zero counts as zero


def test_scales_offsets_and_limits_of_a_sum() -> None:
    mixer = parse_mixer("M: 2\nO: 5000 20000 1000 -3000 9000\nS: 3 4 10000 5000 -2000 -10000 5000\nS: 1 7 1 1 0 0 0\n")

    assert isinstance(mixer.mixers[0], SumMixer)
    # -0.4 - 0.2 = -0.6; halved and moved: -0.2.  1 x 0.5 - 0.2 = 0.3; doubled and moved: 0.7
    np.testing.assert_allclose(mixer.apply({(3, 4): -0.4}), [-0.2])
    np.testing.assert_allclose(mixer.apply({(3, 4): 1.0}), [0.7])
    np.testing.assert_allclose(mixer.apply({(3, 4): -1.0, (1, 7): 1.0}), [-0.3])  # its lower limit


def quad(**controls: float) -> list[float]:
    place = {"roll": (0, 0), "pitch": (0, 1), "yaw": (0, 2), "thrust": (0, 3)}
    return parse_mixer("R: 4x 10000 10000 10000 0\n").apply({place[k]: v for k, v in controls.items()})


def test_motors_follow_the_matrix_where_there_is_room() -> None:
    np.testing.assert_allclose(quad(thrust=0.5), 0.0, atol=1e-15)
    np.testing.assert_allclose(
        quad(thrust=0.5, roll=0.1, pitch=-0.2, yaw=0.05), 2 * (np.array(PUBLISHED["4x"]) @ [0.1, -0.2, 0.05, 0.5]) - 1,
        atol=1e-6,
    )  # fmt: skip


def test_thrust_gives_way_to_roll_and_yaw_gives_way_to_both() -> None:
    # 1 +- 0.7071 x 0.5 is lowered by 0.3536; yaw has no room left at the bottom of its own rotors
    np.testing.assert_allclose(quad(thrust=1.0, roll=0.5), [2 * (1 - A) - 1, 1, 1, 2 * (1 - A) - 1], atol=1e-6)
    # Near zero thrust is not raised: roll shrinks until the lower motors stand at zero
    np.testing.assert_allclose(quad(thrust=0.1, roll=1.0), [-1, -0.6, -0.6, -1], atol=1e-6)
    # Full thrust and yaw: up to 1.15, then all are lowered by 0.15
    np.testing.assert_allclose(quad(thrust=1.0, yaw=0.5), [1, 1, 2 * 0.7 - 1, 2 * 0.7 - 1], atol=1e-6)


def test_scales_and_idle_speed_of_the_older_format() -> None:
    mixer = parse_mixer("R: 4+ 5000 10000 0 1000\n")

    assert isinstance(mixer.mixers[0], MultirotorMixer)
    np.testing.assert_allclose(mixer.mixers[0].matrix[:, 0], [-0.5, 0.5, 0, 0], atol=1e-9)
    np.testing.assert_allclose(mixer.apply({}), -0.8)  # idle speed 0.1 in -1 to 1
    # Half of roll; thrust 0.5 fills half of what is above idle: -0.8 + 0.9 (1 +- 0.2)
    found = mixer.apply({(0, 0): 0.2, (0, 2): 1.0, (0, 3): 0.5})
    np.testing.assert_allclose(found, [-0.8 + 1.8 * 0.4, -0.8 + 1.8 * 0.6, 0.1, 0.1], atol=1e-9)


@given(
    key=st.sampled_from(sorted(GEOMETRIES)),
    controls=st.tuples(*[st.floats(-2, 2)] * 3, st.floats(-1, 2)),
)
@EXAMPLES
def test_outputs_stay_in_range_and_roll_has_its_sign(key: str, controls: tuple[float, ...]) -> None:
    outputs = np.array(parse_mixer(f"R: {key}\n").apply({(0, i): v for i, v in enumerate(controls)}))

    assert np.all((outputs >= -1) & (outputs <= 1))
    moment = GEOMETRIES[key].effect[0] @ ((outputs + 1) / 2)
    if abs(controls[2]) < 1e-9 and key not in ("4vt", "4dc", "4s", "4w", "8cw"):
        assert moment * controls[0] >= -1e-5  # frames whose rotors all have the same arm


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("R: 5x\n", 1, 4, "unknown geometry '5x'; did you mean"),
        ("text\n\nR:   4x 1 2 q 3\n", 3, 13, "yaw scale 'q' is not a whole number"),
        ("R: 4x 10000 10000\n", 1, 18, "R: ends before its yaw scale; it needs roll scale, pitch scale"),
        ("R:\n", 1, 3, "R: without a geometry"),
        ("M: 2\nS: 0 0 1 1 0 -1 1\nZ:\n", 3, 1, "Z: where S: is expected: M: in line 1 needs 2 lines S:, found 1"),
        ("M: 1\n", 1, 1, "M: needs 1 lines S:, found 0; the file ends before that"),
        ("M: 1\nS: 0 3 0.5 1 0 0 0\n", 2, 8, "numbers count ten-thousandths, so write 5000"),
        ("M: 1\nS: 0 9 1 1 0 0 0\n", 2, 6, "index 9 is not in 0 to 7; a group has eight controls"),
        ("M: 1\nS: 7 0 1 1 0 0 0\n", 2, 4, "group 7 is not in 0 to 5"),
        ("M: 1\nS: 0 0 1 1 0 10000 -10000\n", 2, 20, "upper limit -10000 is not in 10000 to"),
        ("M: 1\nO: 1 1 20000 0 0\n", 2, 8, "offset 20000 is not in -10010 to 10010"),
        ("M: 33\n", 1, 4, "control count 33 is not in 0 to 32"),
        ("H: 5\n", 1, 4, "number of servos 5 is not in 3 to 4"),
        ("H: 3\nP: 0 0 0 0 0\n", 2, 1, "P: where T: is expected: H: in line 1 needs a throttle curve"),
        ("H: 3\nT: 0 0 0 0\n", 2, 11, "T: ends before its at 100 %"),
        ("S: 0 0 1 1 0 0 0\n", 1, 1, "S: without its mixer"),
        ("A: 1\n", 1, 1, "unknown tag 'A:'"),
    ],
)
def test_mistakes_are_named_with_line_and_column(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(MixerError) as caught:
        parse_mixer(text)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in str(caught.value) and f"line {line}, column {column}" in str(caught.value)


def test_files_without_a_mixer_and_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(MixerError, match="no mixer in it"):
        parse_mixer("only words\n")
    with pytest.raises(MixerError, match=r"nowhere\.mix: cannot read it"):
        load_mixer(tmp_path / "nowhere.mix")
    (tmp_path / "bad.mix").write_text("R: 9x\n")
    with pytest.raises(MixerError, match=r"bad\.mix: line 1, column 4"):
        load_mixer(tmp_path / "bad.mix")


def test_what_px4_ignores_is_warned_of() -> None:
    mixer = parse_mixer("R: 4x\r\n  M: 1\r\nM: 0 more\nZ: # nothing\nZ:")

    assert mixer.count == 4 + 3
    assert mixer.warnings == (
        "line 2 is indented: PX4 takes 'M: 1' for a comment",
        "line 5 has no line end: PX4 refuses the last mixer",
        "line 3, column 6: 'more' and what follows is ignored",
    )


words = st.sampled_from(
    [
        "R:",
        "M:",
        "O:",
        "S:",
        "H:",
        "T:",
        "P:",
        "Z:",
        "4x",
        "6c",
        "0",
        "1",
        "3",
        "10000",
        "-10000",
        "1e9",
        "\n",
        "\n",
        " ",
    ]
)


@given(
    text=st.one_of(
        st.text(max_size=80), st.lists(words, max_size=60).map(" ".join).map(lambda t: t.replace("\n ", "\n"))
    )
)
@example(text="M: ٣\n")
@example(text="R: \x00\nM: 99999999999999999999\n")
@EXAMPLES
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        mixer = parse_mixer(text)
    except MixerError:
        return
    assert isinstance(mixer, MixerFile)
    outputs = mixer.apply({(0, i): 0.3 for i in range(4)})
    assert len(outputs) == mixer.count and np.isfinite(outputs).all()


def test_a_vehicle_whose_rotors_turn_the_other_way_has_another_geometry() -> None:
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)
    turned = [r.model_copy(update={"spin": "cw" if r.spin == "ccw" else "ccw"}) for r in spec.rotor]
    swapped = [spec.rotor[1], spec.rotor[0], *spec.rotor[2:]]

    assert GEOMETRIES["4x"].fits(spec) and not GEOMETRIES["4h"].fits(spec)
    other = spec.model_copy(update={"rotor": turned})
    assert GEOMETRIES["4h"].fits(other) and not GEOMETRIES["4x"].fits(other)
    assert not GEOMETRIES["4+"].fits(spec)
    assert not GEOMETRIES["4x"].fits(spec.model_copy(update={"rotor": swapped}))  # motor order counts


def test_the_effect_of_rotors_is_thrust_lever_and_reaction() -> None:
    """A rotor at x, y pushes with -y about roll, x about pitch, and turns the body against its own spin."""
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)
    effect = effectiveness(spec)

    for column, rotor in zip(effect.T, spec.rotor, strict=True):
        propeller = spec.propeller[rotor.propeller]
        reach = propeller.torque_coefficient_Nms2 / propeller.thrust_coefficient_Ns2  # moment over force, some cm
        x, y, _ = rotor.position_B_m
        # Spin is seen from above: a rotor that turns counter-clockwise drives the body clockwise, nose to the right
        assert column == pytest.approx([1.0, -y, x, reach if rotor.spin == "ccw" else -reach], rel=1e-12)
        assert 0.005 < reach < 0.05


def test_three_rotors_need_a_tail(tmp_path: Path) -> None:
    text = (CATALOG / "quad_f450.toml").read_text()
    before, *rotors = text.split("[[rotor]]")
    (tmp_path / "three.toml").write_text("[[rotor]]".join([before, *rotors[:2], rotors[3]]))

    with pytest.raises(
        VehicleError, match=r"three rotors cannot hold the yaw: give a \[tail\] whose servo tilts one of"
    ):
        load_spec(tmp_path / "three.toml")
