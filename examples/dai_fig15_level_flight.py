"""[Dai] Fig. 15: a model from a parts list, a model calibrated by a flight, and the vehicle, in a step of 15 degrees.

    python examples/dai_fig15_level_flight.py

The authors' flight is not public, so the "vehicle" is a virtual one: the F450 with other inertia, thrust, drag and
motors than its file says, and noise on its log. The estimated model is the file (flyeval's numbers of Fig. 14). The
calibrated one is identified from another flight of the vehicle, with excitation. All three are commanded to pitch by 15
degrees at 0.2 s, by the same control. The page and both vehicle files are written to `out/`.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

import ironbird as ib
from ironbird.credibility.index import mean_index, normalised, time_errors
from ironbird.credibility.record import Record
from ironbird.identification.excite import excitation
from ironbird.identification.virtual import CONTROL_S, excited_flight
from ironbird.model.signal import Number

OUT = Path("out") / "dai_fig15"
STILL = {"wakes.vortex_ring": 0.0, "wakes.ground_effect": 0.0}
TRUTH: dict[str, Number] = {  # what is unknown
    "body.inertia": np.diag([0.0195, 0.0202, 0.0345]).tolist(),
    "airframe.drag": [0.02, 0.02, 0.02],
    **{f"rotor/{n}/propeller.thrust_coefficient": 8.75e-6 for n in range(1, 5)},
    **{f"rotor/{n}/motor.time_constant": 0.021 for n in range(1, 5)},
}
WORDS = ["inertia", "thrust", "motor_time", "drag_x", "drag_y"]
STEP_S, END_S, PITCH_RAD = 0.2, 4.0, math.radians(-15.0)
SHOWN = {
    "pitch": ("pitch", "°", math.degrees(1)),
    "pitch_rate": ("pitch rate", "°/s", math.degrees(1)),
    "velocity_north": ("speed north", "m/s", 1.0),
}
COLOURS = {"vehicle": "#2c3e50", "estimated (Fig. 14)": "#e08e0b", "calibrated": "#c0392b"}


def step(vehicle: str | Path, params: dict[str, Number], noise: dict[str, float] | None) -> Record:
    """A step of the wanted pitch by -15 degrees (nose down) at 0.2 s."""
    rows = round(END_S / CONTROL_S)
    tilts = np.zeros((rows, 2))
    tilts[round(STEP_S / CONTROL_S) :, 1] = PITCH_RAD
    return excited_flight(vehicle, np.zeros((rows, 4)), params={**STILL, **params}, noise=noise, seed=5, tilts=tilts)


def calibration_flight() -> Record:
    """Excitation about all axes at 7 m/s, so that drag shows."""
    columns = []
    for axis, amplitude in enumerate((0.08, 0.08, 0.08, 0.2)):
        made = excitation(
            "multisine", amplitude=amplitude, duration_s=3.0, band_radps=(1.5, 25.0), step_s=CONTROL_S, seed=axis
        )
        columns.append(np.roll(made.values[250:500], 37 * axis))
    return excited_flight(
        "quad_f450", np.column_stack(columns), seed=9, params={**STILL, **TRUTH, "body.v_0": [6.0, -4.0, 0.0]}
    )


def main() -> None:
    """Calibrate, fly the step three times, compare, draw, say where."""
    fit = ib.identify(calibration_flight(), "quad_f450", WORDS, settings={"battery.resistance": 0.0, **STILL})
    calibrated = fit.write_vehicle(OUT / "quad_f450_calibrated.toml")
    for e in fit.estimates:
        print(f"{e.name}: Fig. 14 {e.before:.4g}, calibrated {e.value:.4g} ± {e.sigma:.2g} {e.unit}")
    flights = {
        "vehicle": step("quad_f450", TRUTH, None),
        "estimated (Fig. 14)": step("quad_f450", {}, {}),
        "calibrated": step(calibrated, {}, {}),
    }
    figure = make_subplots(
        rows=3, cols=1, subplot_titles=[title for title, _, _ in SHOWN.values()], vertical_spacing=0.09
    )
    indices: dict[str, list[float]] = {name: [] for name in flights}
    for row, (signal, (_, unit, factor)) in enumerate(SHOWN.items(), start=1):
        real = flights["vehicle"].track(signal)
        for name, record in flights.items():
            track = record.track(signal)
            style = {"color": COLOURS[name], "width": 1.4, "dash": "solid" if name != "calibrated" else "dash"}
            trace = go.Scatter(x=track.time_s, y=factor * track.values, name=name, legendgroup=name, line=style)
            figure.add_trace(trace.update(showlegend=row == 1), row=row, col=1)
            if name != "vehicle":
                error, limit = time_errors(real.values, track.at(real.time_s), 0.05, None)
                indices[name].append(normalised(error, limit))
        figure.update_yaxes(title_text=unit, row=row, col=1)
    figure.update_xaxes(title_text="s", row=3, col=1)
    for name, values in indices.items():
        if values:
            parts = ", ".join(
                f"{title} {value:.3f}" for (title, _, _), value in zip(SHOWN.values(), values, strict=True)
            )
            print(f"{name}: {parts}; together {mean_index(values):.3f}")
    title = "Step to 15° of level flight ([Dai] Fig. 15): vehicle, estimated and calibrated model"
    figure.update_layout(title=title, height=900, template="plotly_white", legend={"orientation": "h", "y": 1.06})
    page = OUT / "dai_fig15_level_flight.html"
    figure.write_html(page, include_plotlyjs=True)
    print(page)


if __name__ == "__main__":
    main()
