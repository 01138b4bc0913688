"""NASA's check cases, flown with Ironbird's blocks and compared with the published time histories [NESC2015]."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nasa_checkcases as nasa
from ironbird.compiler.compiled import compile_model
from ironbird.errors import RunError, UnknownNameError
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.units import FOOT_M

DATA = Path(__file__).parents[1] / "data" / "nasa_6dof"


def by_name(number: int) -> dict[str, nasa.Residual]:
    return {r.quantity.name: r for r in nasa.residuals(DATA, number)}


@pytest.mark.parametrize("number", nasa.CASES)
def test_every_quantity_is_within_the_spread_of_the_tools(number: int) -> None:
    found = nasa.residuals(DATA, number)

    assert len(found) == len(nasa.QUANTITIES)
    outside = [
        f"{r.quantity.name}: {r.nearest:g} {r.quantity.unit}, spread {r.spread:g}" for r in found if not r.within
    ]
    assert not outside, "\n".join(outside)


@pytest.mark.parametrize("number", nasa.CASES)
def test_start_is_the_first_row_of_the_files(number: int) -> None:
    own, tools = nasa.fly(number), nasa.read(DATA, number)

    for quantity in nasa.QUANTITIES[:12]:  # position, velocity, angles, rates
        for columns in tools.values():
            if quantity.column in columns:
                theirs = columns[quantity.column][0] * quantity.column_scale
                assert abs(own[quantity.name][0] - theirs) < 2e-5  # m/s: tool 01 prints its first step of the wind


def test_case_1_falls_with_the_exact_tools_to_a_micrometre() -> None:
    found = by_name(1)

    for tool in (4, 6):
        assert found["altitude"].to_tool[tool] < 1e-6  # m of 9144: what they print
        assert found["longitude"].to_tool[tool] < 1e-12  # deg
        assert found["gravitation"].to_tool[tool] < 1e-10  # m/s^2
        assert found["velocity down"].to_tool[tool] < 1e-8  # m/s


def test_case_2_turns_with_the_exact_tools() -> None:
    found = by_name(2)

    for tool in (1, 4):  # tools 02 and 06 carry 0.001 to 0.005 deg/s of integration error
        for axis in ("roll", "pitch", "yaw"):
            assert found[f"body rate {axis}"].to_tool[tool] < 1e-9  # deg/s: what they print; 1e-6 is asked for
            assert found[f"Euler angle {axis}"].to_tool[tool] < 1e-8  # deg


def test_case_3_is_tool_04_once_the_brick_has_its_dimensions() -> None:
    # The model file rounds the brick to 0.22222 ft^2, 0.33333 ft and 0.66667 ft; tool 04 has 2/9, 1/3 and 2/3
    diagram = nasa.build(nasa.CASES[3])
    diagram.set("damping.area", 2 / 9 * FOOT_M**2)
    diagram.set("damping.length", [FOOT_M / 3, FOOT_M * 2 / 3, FOOT_M / 3])
    log = run(start(compile_model(diagram, step_s=nasa.STEP_S)), nasa.END_S + nasa.STEP_S, log_s=nasa.ROW_S)

    tool = nasa.read(DATA, 3)[4]
    for i, axis in enumerate(("Roll", "Pitch", "Yaw")):
        gap = np.degrees(log["body.w_IB_B"][:, i]) - tool[f"bodyAngularRateWrtEi_deg_s_{axis}"]
        assert np.abs(gap).max() < 5e-6  # deg/s: its density differs in the seventh digit


@pytest.mark.parametrize("number", [6, 7, 8])
def test_drop_through_air_agrees_with_tool_04_to_ten_micrometres(number: int) -> None:
    found = by_name(number)

    assert found["altitude"].to_tool[4] < 1e-5  # m of a fall of 4180
    assert found["velocity down"].to_tool[4] < 3e-6  # m/s of 263
    assert found["velocity east"].to_tool[4] < 1e-7  # m/s
    assert found["longitude"].to_tool[4] < 3e-12  # deg: 0.3 micrometres
    assert found["aerodynamic force z"].to_tool[4] < 1e-5  # N of 47


def test_case_10_agrees_with_tool_04_to_half_a_millimetre() -> None:
    found = by_name(10)

    assert found["altitude"].to_tool[4] < 5e-4  # m of 3250
    assert found["latitude"].to_tool[4] < 5e-9  # deg: 0.6 mm of 6.9 km
    assert found["longitude"].to_tool[4] < 1e-11  # deg: a micrometre of 8.7 m, all of it Coriolis
    assert found["Euler angle pitch"].to_tool[4] < 5e-9  # deg: geodetic, as tool 04 has it; the others are geocentric


@pytest.mark.parametrize("number", nasa.CASES)
def test_air_is_that_of_tool_04(number: int) -> None:
    found = by_name(number)

    assert found["temperature"].to_tool[4] < 3e-6  # K: the height differs a little in case 10
    assert found["density"].to_tool[4] < 2.1e-7  # kg/m^3: seven digits of the gas constant
    assert found["pressure"].to_tool[4] < 1.1  # Pa: tool 04 prints 101325.9 at height zero
    assert found["speed of sound"].to_tool[4] < 3e-5  # m/s


def test_step_size_does_not_matter() -> None:
    coarse = run(
        start(compile_model(nasa.build(nasa.CASES[2]), step_s=0.002)), nasa.END_S + 0.002, log_s=nasa.ROW_S
    )  # fmt: skip

    rates = np.degrees(coarse["body.w_IB_B"])
    for i, axis in enumerate(("roll", "pitch", "yaw")):
        assert np.abs(rates[:, i] - nasa.fly(2)[f"body rate {axis}"]).max() < 1e-10  # deg/s: RK4 has converged


def test_unknown_case_and_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="check case"):
        nasa.fly(4)
    with pytest.raises(RunError, match="no time histories of check case 1"):
        nasa.read(tmp_path, 1)
