"""Names of modes, on aircraft whose modes others have published and named."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.analysis.level import level_trim, modes_at
from ironbird.analysis.mode_names import names_of_modes, seen
from ironbird.cli.design import mode_rows

# Boeing 747 in cruise at 40,000 ft: u, w, q, theta, from the lectures of Boyd (EE263, Stanford) after Bryson;
# published roots -0.3750 +- 0.8818j (short period) and -0.0005 +- 0.0674j (phugoid)
ALONG = np.array(
    [[-0.003, 0.039, 0.0, -0.322], [-0.065, -0.319, 7.74, 0.0], [0.020, -0.101, -0.429, 0.0], [0.0, 0.0, 1.0, 0.0]]
)
# Jet transport at Mach 0.8 and 40,000 ft: beta, yaw rate, roll rate, bank (yaw damper example of the Control System
# Toolbox); published roots -0.0073 (spiral), -0.563 (roll), -0.0329 +- 0.947j (Dutch roll)
ACROSS = np.array(
    [[-0.0558, -0.9968, 0.0802, 0.0415], [0.598, -0.115, -0.0318, 0.0], [-3.05, 0.388, -0.465, 0.0], [0, 0.0805, 1, 0]]
)
STATES_ALONG = ["body.v[0]", "body.v[2]", "body.w[1]", "body.q[2]"]
STATES_ACROSS = ["body.v[1]", "body.w[2]", "body.w[0]", "body.q[1]"]


def named(A: np.ndarray, states: list[str], **how: bool) -> dict[str, complex]:
    values, right = np.linalg.eig(A)
    left = np.linalg.pinv(right)
    looks = [
        seen(complex(values[i]), states, np.abs(right[:, i] * left[i, :]).tolist())
        for i in range(len(values))
        if values[i].imag >= 0
    ]
    return dict(zip(names_of_modes(looks, **how), (look.value for look in looks), strict=True))


def test_modes_of_the_747_have_their_published_names() -> None:
    along = named(ALONG, STATES_ALONG, wings=True, hover=False)
    across = named(ACROSS, STATES_ACROSS, wings=True, hover=False)

    assert set(along) == {"short period", "phugoid"}
    assert along["short period"] == pytest.approx(-0.3750 + 0.8818j, abs=2e-3)  # the matrix has three digits
    assert along["phugoid"] == pytest.approx(-0.0005 + 0.0674j, abs=1e-3)
    assert set(across) == {"Dutch roll", "roll subsidence", "spiral"}
    assert across["spiral"] == pytest.approx(-0.0073, abs=1e-4)
    assert across["roll subsidence"] == pytest.approx(-0.563, abs=1e-3)
    assert across["Dutch roll"] == pytest.approx(-0.0329 + 0.947j, abs=1e-3)


def test_modes_of_vehicles_are_named() -> None:
    wing = {mode.name: mode.value for mode in modes_at(level_trim("aerosonde"))}
    assert {"short period", "phugoid", "Dutch roll", "roll subsidence", "spiral", "lag of servo"} == set(wing)
    assert abs(wing["short period"]) > abs(wing["phugoid"]) and abs(wing["roll subsidence"]) > abs(wing["spiral"])

    hover = modes_at(level_trim("quad_f450"))
    names = [mode.name for mode in hover]
    expected = [f"{motion} subsidence" for motion in ("heave", "surge", "sway", "roll", "pitch", "yaw")]
    assert sorted(names) == sorted([*expected, *["lag of motor"] * 4])
    rows = mode_rows(hover)
    assert "lag of motor (4 times)" in rows and "yaw rate, heading" in rows["yaw subsidence"]


def test_a_root_that_grows_diverges_and_one_that_swings_in_hover_is_an_oscillation() -> None:
    grows = seen(complex(0.2), ["body.w[1]", "body.q[2]"], [0.6, 0.4])
    swings = seen(0.1 + 0.5j, ["body.v[0]", "body.q[2]"], [0.5, 0.5])
    boat = seen(-0.1 + 0.9j, ["body.w[0]"], [1.0])
    assert names_of_modes([grows, swings], wings=False, hover=True) == ["pitch divergence", "hover oscillation along"]
    assert names_of_modes([boat], wings=False, hover=False) == ["roll oscillation"]
