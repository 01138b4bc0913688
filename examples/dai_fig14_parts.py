"""[Dai] Fig. 14: the model of an F450 from its parts list, beside the numbers that flyeval.com printed.

    python examples/dai_fig14_parts.py

DJI does not publish its E310 set (motor 2312, propeller 9.4 x 4.3 inch), so a motor of the same size and the
propeller's diameter and pitch alone stand for it. Mass and frame are given; inertia and drag follow flyeval's own
rule, coefficients the book's propeller formula. Against Fig. 14 the thrust coefficient comes out 9 % too large, the
torque coefficient 40 %, the slope of the motor's speed 23 % and its time constant 68 %. The page and a vehicle file are
written to `out/`.
"""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go

from ironbird.design.evaluate import Craft, evaluate
from ironbird.design.parts import PropellerPart, load_database
from ironbird.design.vehicle import write_design
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.multicopter import MulticopterSpec

OUT = Path("out") / "dai_fig14"
INCH = 0.0254
PRINTED = {
    "Jxx, kg m²": 1.704e-2, "Jzz, kg m²": 3.176e-2, "CT, N s²": 9.286e-6, "CM, N m s²": 1.189e-7, "CR, rad/s": 691.33,
    "wb, rad/s": 162.59, "Tm, s": 0.0119, "Cd, N s²/m²": 6.697e-2, "Cm, N m s²": 9.174e-3,
}  # fmt: skip


def main() -> None:
    """Put the parts together, write the vehicle, hold its numbers against the print."""
    parts = load_database()
    propeller = PropellerPart("9.4x4.3", "DJI", 0.013, "assumed: diameter and pitch", 9.4 * INCH, 4.3 * INCH, 2, "")
    craft = Craft(
        parts.motor("Scorpion SII-2212-960 V2"),
        propeller,
        parts.esc("lesson ESC"),
        parts.battery("lesson 3S 4000"),
        mass_kg=1.4,
    )
    found = evaluate(craft)
    spec = load_spec(write_design(found, OUT, "f450_of_parts")["vehicle"])
    assert isinstance(spec, MulticopterSpec)
    inertia = spec.body.inertia_diag_kgm2 or []
    motor, blade = spec.motor["standard"], spec.propeller["standard"]
    ours = [
        inertia[0], inertia[2], blade.thrust_coefficient_Ns2,
        blade.torque_coefficient_Nms2, motor.slope_radps, motor.idle_speed_radps, motor.time_constant_s,
        spec.airframe.drag_Ns2pm2[0], spec.airframe.damping_Nms2prad2[0],
    ]  # fmt: skip
    rows = [
        (name, f"{p:.4g}", f"{o:.4g}", f"{100 * (o / p - 1):+.1f} %")
        for (name, p), o in zip(PRINTED.items(), ours, strict=True)
    ]
    for row in rows:
        print("  ".join(f"{cell:>12}" for cell in row))
    hover, minutes = found.figures["hover throttle"], found.figures["hover time"]
    print(f"hover throttle {hover} (Fig. 14's line: 0.644), hover time {minutes}")
    head = ["parameter", "printed", "of parts", "difference"]
    table = go.Table(header={"values": head}, cells={"values": list(zip(*rows, strict=True)), "height": 26})
    figure = go.Figure(table)
    figure.update_layout(title="F450 from its parts ([Dai] Fig. 14)", height=480, template="plotly_white")
    page = OUT / "dai_fig14_parts.html"
    figure.write_html(page, include_plotlyjs=True)
    print(page)


if __name__ == "__main__":
    main()
