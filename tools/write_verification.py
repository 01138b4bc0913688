"""Write docs/verification.md: how far Ironbird is from independent numbers.

    python tools/write_verification.py [--out FILE]

The page holds no date, time or machine: the same code writes the same page anywhere.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import nasa_checkcases as nasa

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data" / "nasa_6dof"
PAGE = ROOT / "docs" / "verification.md"


@dataclass(frozen=True)
class Proof:
    """One line of the second table."""

    what: str
    oracle: str
    tolerance: str
    test: str  # below tests/


BLOCKS, SYMBOLIC, SYSTEM = "unit/blocks", "unit/symbolic", "system"
PROOFS = (
    Proof(
        "torque-free axisymmetric body precesses; its axis goes round the angular momentum",
        "closed form of Euler's equations", "1e-9 rad/s, 1e-9", f"{BLOCKS}/bodies/test_rigid_body.py",
    ),
    Proof(
        "torque-free body with a full inertia matrix keeps energy and angular momentum over 20 s",
        "conservation", "1e-10", f"{BLOCKS}/bodies/test_rigid_body.py",
    ),
    Proof(
        "general motion under force, moment, gravity and rotor momentum",
        "scipy DOP853 at 1e-12 on equations in inertial axes", "1e-8 m in 5 s", f"{BLOCKS}/bodies/test_rigid_body.py",
    ),
    Proof(
        "motion seen from turned axes is the turned motion; displacement is linear in force; unit quaternion",
        "symmetry, Hypothesis", "1e-9, 1e-12, 5e-16", f"{BLOCKS}/bodies/test_rigid_body.py",
    ),
    Proof(
        "fall on the rotating ellipsoid",
        "scipy DOP853 in inertial space with J2; Jacobi integral", "1e-6 m in 100 s; 1e-12",
        f"{BLOCKS}/bodies/test_rigid_body_wgs84.py",
    ),
    Proof(
        "body whose weight is carried stays where it is for a minute", "equilibrium", "1e-7 m",
        f"{BLOCKS}/bodies/test_rigid_body_wgs84.py",
    ),
    Proof("WGS-84 conversions and radii", "pymap3d; own inverse", "1e-8 m; 5e-9 m", f"{SYMBOLIC}/test_earth.py"),
    Proof("quaternions and Euler angles", "scipy Rotation", "1e-14", f"{SYMBOLIC}/test_quaternion.py"),
    Proof(
        "gravity with J2", "gradient of the potential in 40 digits (mpmath)", "1e-13 m/s^2",
        f"{BLOCKS}/environment/test_gravity.py",
    ),
    Proof(
        "gravity, surface to 20 km", "Somigliana's normal gravity; J4 and above are what is left", "1.25e-4 m/s^2",
        f"{BLOCKS}/environment/test_gravity.py",
    ),
    Proof(
        "standard atmosphere, -4 to 79 km", "ambiance (temperature; pressure to its six printed digits)",
        "1e-14; 2.1e-6", f"{BLOCKS}/environment/test_atmosphere_isa.py",
    ),
    Proof(
        "pressure of the standard atmosphere", "hydrostatic equation, scipy quad", "1e-9",
        f"{BLOCKS}/environment/test_atmosphere_isa.py",
    ),
    Proof(
        "magnetic field", "29 published test values of WMM2025", "1e-3 nT; 0.05 nT where one decimal is printed",
        f"{BLOCKS}/environment/test_magnetic_wmm.py",
    ),
    Proof(
        "linear local field, 20 km around, up to 70 degrees latitude", "WMM2025 there",
        "1.2 nT, 0.7 nT at middle latitudes",
        f"{BLOCKS}/environment/test_magnetic_wmm.py",
    ),
    Proof(
        "Dryden filters' sample step", "matrix exponential and integral of the impulse response", "1e-9",
        f"{BLOCKS}/environment/test_wind_dryden.py",
    ),
    Proof(
        "Dryden variance, correlation and spectra, any sample time, from the first sample on",
        "MIL-F-8785C forms; Welch over 1,024 lanes", "4 standard deviations of the estimate (1 to 3 %)",
        f"{BLOCKS}/environment/test_wind_dryden.py",
    ),
    Proof(
        "wind shear, Dryden scale lengths and intensities", "MIL-F-8785C formulas worked out by hand", "1e-8; 1e-6",
        f"{BLOCKS}/environment/test_wind_shear.py",
    ),
    Proof(
        "motor step, first and second order", "closed forms", "1e-6", f"{BLOCKS}/actuators/test_motor.py",
    ),
    Proof(
        "rotor layout of the X quadrotor", "control matrix of RflySim's manual, section 7.1.1", "3e-7",
        f"{BLOCKS}/forces/test_rotor.py",
    ),
    Proof(
        "a rotor that spins up in free space turns the body; nutation of a body with a spinning rotor",
        "angular momentum of body and rotor; closed form", "2e-9 of 0.36 N m s; 1e-7",
        f"{BLOCKS}/forces/test_rotor.py",
    ),
    Proof(
        "fall with quadratic drag; decay of speed and spin", "tanh law; hyperbolas", "1e-10; 1e-9",
        f"{BLOCKS}/forces/test_airframe_drag.py",
    ),
    Proof(
        "rest on slopes up to 34 degrees (friction 0.7) for a minute", "no creep", "1e-9 m",
        f"{BLOCKS}/forces/test_ground_contact.py",
    ),
    Proof(
        "rest under a swinging side force up to 95 % of the friction limit for a minute", "no creep", "4e-6 m",
        f"{BLOCKS}/forces/test_ground_contact.py",
    ),
    Proof(
        "slide on 40 and 50 degrees; stopping distance; restitution",
        "Coulomb's law; spring and damper in closed form", "2e-4; 5 mm; 0.02",
        f"{BLOCKS}/forces/test_ground_contact.py",
    ),
    Proof(
        "battery: open-circuit curve, sag, greatest power, charge and energy", "published curve; Ohm's law; balance",
        "1e-9; 1e-12", f"{BLOCKS}/power/test_battery.py",
    ),
    Proof(
        "controller: hover carries the weight, allocation gives what is asked for, heading does not matter",
        "equilibrium; linear algebra; symmetry, Hypothesis", "1e-12; 1e-11; 1e-11",
        f"{BLOCKS}/controllers/test_multicopter_control.py",
    ),
    Proof(
        "navigator: time of a leg, limits of speed and acceleration", "trapezoid of speed", "1.5 samples; 1e-9",
        f"{BLOCKS}/controllers/test_navigator.py",
    ),
    Proof(
        "hover speed and throttle, level flight at 15 degrees, three F450 files", "published figures",
        "all printed digits", f"{SYSTEM}/test_f450_published_figures.py",
    ),
    Proof(
        "square mission in 5 m/s wind with light turbulence, three F450 files, eight seeds", "no crash, all corners",
        "1 m", f"{SYSTEM}/test_square_in_wind.py",
    ),
)  # fmt: skip


def number(value: float, floor: float) -> str:
    """Two digits; what is below the floor only says so, because it is rounding."""
    if value <= floor:
        return "0" if value == 0.0 else f"< {10 ** math.ceil(math.log10(floor)):.0e}"
    return f"{value:.1e}"


def case_lines(case: nasa.Case) -> list[str]:
    """The heading and the table of one case."""
    found = nasa.residuals(DATA, case.number)
    tools = sorted({tool for residual in found for tool in residual.to_tool})
    shown = [r for r in found if max(r.spread, r.nearest) > r.floor]
    silent = [r.quantity.name for r in found if r not in shown]
    head = ["quantity", "unit", *[f"tool {tool:02d}" for tool in tools], "spread of the tools", "within"]
    lines = [f"### Case {case.number}: {case.title}", "", f"Verifies: {case.verifies}.", ""]
    lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for r in shown:
        cells = [number(r.to_tool[tool], r.floor) if tool in r.to_tool else "-" for tool in tools]
        name = r.quantity.name
        row = [name, r.quantity.unit, *cells, number(r.spread, r.floor), "yes" if r.within else "**no**"]
        lines.append("| " + " | ".join(row) + " |")
    if silent:
        lines += ["", f"The same in Ironbird and all tools to the digits printed: {', '.join(silent)}."]
    return [*lines, ""]


def page() -> str:
    """The whole page."""
    lines = [
        "# Verification",
        "",
        "What Ironbird computes, compared with independent numbers. This page is written by `make docs`",
        "(`tools/write_verification.py`); the same checks run as tests and fail if a figure gets worse.",
        "",
        "## NASA check cases of six-degree-of-freedom flight",
        "",
        "NASA/TM-2015-218675: the same cases flown by NASA's simulation tools, of which five published these. Ironbird",
        f"flies them with its own blocks at a step of {1000 * nasa.STEP_S:g} ms for {nasa.END_S:g} s. The columns",
        "`tool NN` hold the largest distance of Ironbird from that tool over the run; `spread` is the largest distance",
        "between two tools. Ironbird is *within* when its distance from the nearest tool is not larger than the",
        "spread, or than 1e-12 (of the value, where that is larger than one), which is what the files show. The first",
        "row is left out for airspeed and aerodynamic force: some tools print zeros before they evaluate the wind.",
        "",
        "Tool 04 is the nearest in almost every line; the other columns mostly show differences between the tools.",
        "Known causes: tools 02 and 06 carry integration error in case 2; tool 01 damps pitch 1 % more in case 3;",
        "tool 03 prints forces in level axes; tool 06 has another length of a knot; in case 10 tools 01, 02 and 06",
        "give pitch against the geocentric level.",
        "",
    ]
    for case in nasa.CASES.values():
        lines += case_lines(case)
    lines += [
        "## Other proofs",
        "",
        "| what | against | tolerance | test |",
        "| --- | --- | --- | --- |",
        *[f"| {p.what} | {p.oracle} | {p.tolerance} | `tests/{p.test}` |" for p in PROOFS],
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=PAGE, help="where to write it")
    out: Path = parser.parse_args().out
    out.write_text(page(), encoding="utf-8")
    print(f"{out} written")


if __name__ == "__main__":
    main()
