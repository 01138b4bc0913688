"""Coefficients of rotors in moving air from tables of propellers, and the loss of rotors in each other's wakes.

    fit = fit_table(rows)                              # RPM, J, C_T, C_P
    fit.coefficients(c_t, c_m, diameter_m=0.2388)      # keys of [propeller.*] in a vehicle file

The results of these functions are in the vehicle files, with their sources in [provenance].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# [RotorPy]: AscTec Hummingbird, 8 inch: rotor drag and translational lift that were identified in flight
HUMMINGBIRD_DIAMETER_M = 0.2032
HUMMINGBIRD_DRAG_NS2PM, HUMMINGBIRD_LIFT_NS2PM2 = 1.19e-4, 3.39e-3
LEAST_SPACING = 0.02  # share of the diameter: rotors closer than this along their axes are in one plane


@dataclass(frozen=True)
class PropellerFit:
    """C_T(J) / C_T(0) = 1 + t1 J + t2 J^2 and C_P(J) / C_P(0) likewise; valid up to the largest J of the rows."""

    t1: float
    t2: float
    p1: float
    p2: float

    def coefficients(self, thrust_Ns2: float, torque_Nms2: float, diameter_m: float) -> dict[str, float]:
        """Keys of a propeller table in a vehicle file: J = 2 pi V / (w D), so that C_1 J w^2 is C_1 (2 pi / D) w V."""
        turn = 2 * math.pi / diameter_m
        return {
            "inflow_Ns2pm": -thrust_Ns2 * self.t1 * turn,
            "climb_loss_Ns2pm2": -thrust_Ns2 * self.t2 * turn**2,
            "torque_inflow_Ns2": -torque_Nms2 * self.p1 * turn,
            "torque_climb_Ns2pm": -torque_Nms2 * self.p2 * turn**2,
        }


def fit_table(rows: np.ndarray, *, rpm: float, spread_rpm: float = 0.0, largest_j: float = 0.6) -> PropellerFit:
    """Least squares through the rows (RPM, J, C_T, C_P) of a propeller near one speed."""
    near = rows[(np.abs(rows[:, 0] - rpm) <= spread_rpm) & (rows[:, 1] <= largest_j)]
    thrust = np.polyfit(near[:, 1], near[:, 2], 2)
    power = np.polyfit(near[:, 1], near[:, 3], 2)
    return PropellerFit(
        float(thrust[1] / thrust[2]),
        float(thrust[0] / thrust[2]),
        float(power[1] / power[2]),
        float(power[0] / power[2]),
    )


def hummingbird_scaled(diameter_m: float) -> dict[str, float]:
    """Rotor drag and translational lift of the Hummingbird scaled to another diameter: k_d with D^3, k_h with D^2."""
    size = diameter_m / HUMMINGBIRD_DIAMETER_M
    return {
        "rotor_drag_Ns2pm": HUMMINGBIRD_DRAG_NS2PM * size**3,
        "translational_lift_Ns2pm2": HUMMINGBIRD_LIFT_NS2PM2 * size**2,
    }


def coaxial_share() -> float:
    """Thrust of the lower rotor over that of the upper one at equal torque, lower disc in the contracted wake.

    Momentum theory [Leishman2006] Ch. 2: half of the lower disc gets twice the upper one's induced speed. With
    t = T_l / T_u it is t (1 + t)^2 = 2: t = 0.696, and the pair takes 1.28 times the power of two rotors apart.
    """
    return float(next(root.real for root in np.roots([1.0, 2.0, 1.0, -2.0]) if abs(root.imag) < 1e-9))


def overlap(distance_m: float, diameter_m: float) -> float:
    """Share of a disc that another of the same size covers, [Leishman2006] Ch. 2: m' of tandem rotors."""
    ratio = min(distance_m / diameter_m, 1.0)
    return 2 / math.pi * (math.acos(ratio) - ratio * math.sqrt(1 - ratio * ratio))


def wake_losses(
    hubs_m: Sequence[Sequence[float]], axes: Sequence[Sequence[float]], diameters_m: Sequence[float]
) -> list[list[float]]:
    """Row i: share of its thrust that rotor i loses in the wake of each other rotor, if both have the same thrust.

    A rotor below another loses thrust by `coaxial_share`, for the share of its disc that the other covers. Rotors that
    overlap in one plane take 1 + (sqrt(2) - 1) m' times the power [Leishman2006] Ch. 2; at constant power thrust falls
    with its power -2/3. Rotors that do not overlap lose nothing.
    """
    count = len(hubs_m)
    lost = [[0.0] * count for _ in range(count)]
    for i, (hub, axis, size) in enumerate(zip(hubs_m, axes, diameters_m, strict=True)):
        for j, other in enumerate(hubs_m):
            if j == i or float(np.dot(axis, axes[j])) < 0.9:
                continue
            away = np.subtract(other, hub)
            above = float(np.dot(away, axis))
            aside = float(np.linalg.norm(away - above * np.array(axis)))
            covered = overlap(aside, (size + diameters_m[j]) / 2)
            if above > LEAST_SPACING * size:
                lost[i][j] = (1 - coaxial_share()) * covered
            elif above >= -LEAST_SPACING * size:
                lost[i][j] = 1 - (1 + (math.sqrt(2) - 1) * covered) ** (-2 / 3)
    return lost
