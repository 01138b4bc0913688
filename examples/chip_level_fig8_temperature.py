"""[ChipLevel] Fig. 8 and Table 2: temperature drift of an accelerometer from 17 to 50 °C, and its index.

    python examples/chip_level_fig8_temperature.py

The authors' record is not public; the drift polynomial of an ICM-20689 in their released Simulink model, which the
paper does not print, is the truth here. The "experiment" is a chip with that drift, its own noise and bias. It is
warmed twice; from the first run a cubic is fitted to each axis, and a second chip with that cubic is the simulation of
the second run. The index is Eq. 28 with the deviation as the figure and 10 % of it as the tolerable error. Table 2
itself is worked out from its printed errors. The page is written to `out/`.
"""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ironbird import Block, Clock, Diagram, Out, Param, compile_model, run, start
from ironbird.blocks.sensors.imu import Imu
from ironbird.blocks.sensors.products import imu_params
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.credibility.index import mean_index, normalised
from ironbird.model.block import Values, View

PAGE = Path("out") / "chip_level_fig8_temperature.html"
SAMPLE_S, LOG_S, LENGTH_S = 0.004, 0.5, 300.0
KELVIN = 273.15
TOLERANCE = 0.1
PRINTED = {"x": (0.000900, 0.002517), "y": (0.000744, 0.002607), "z": (0.000759, 0.002493)}  # error, tolerable error
AXES = ("x", "y", "z")
TITLES = ["(a) temperature", *(f"(b) accelerometer {a}" for a in AXES)]


class Chamber(Block):
    """A level vehicle at rest in air that is warmed from 17 to 50 degrees Celsius.

    Not modelled: everything else.
    """

    source = "closed form of this project"

    time = Clock(doc="time")
    specific_force_B = Out(unit="m/s^2", shape=3, frame="B", doc="what an ideal accelerometer feels")
    w_NB_B = Out(unit="rad/s", shape=3, frame="B", doc="none")
    temperature = Out(unit="K", doc="of the air")
    length = Param(unit="s", default=LENGTH_S, low=1.0, doc="of the warming")

    def output(self, x: View, u: View, p: View) -> Values:
        return {
            "specific_force_B": ca.SX([0, 0, -STANDARD_GRAVITY_MPS2]),
            "w_NB_B": ca.SX.zeros(3),
            "temperature": KELVIN + 17.0 + 33.0 * ca.fmin(u.time / p.length, 1.0),
        }


def warmed(seed: int, drift: list[list[float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, temperatures in degrees Celsius, and what a chip with this drift says."""
    diagram = Diagram("chamber")
    chamber = diagram.add("chamber", Chamber())
    chip_params = {**imu_params("icm20689"), "self_heating": 0.0, "accel_temperature_drift": drift}
    chip = diagram.add("imu/1/chip", Imu(sample_s=SAMPLE_S), **chip_params)
    for source, target in (
        ("specific_force_B", "specific_force_B"),
        ("w_NB_B", "w_NB_B"),
        ("temperature", "air_temperature"),
    ):
        diagram.connect(chamber[source], chip[target])
    log = run(start(compile_model(diagram), seed=[seed]), LENGTH_S, log=["imu/1/chip"], log_s=LOG_S)
    return log.time_s, log.lane("imu/1/chip.temperature", 0).ravel() - KELVIN, log.lane("imu/1/chip.accel_B", 0)


def main() -> None:
    """Warm, fit, compare, draw, say where."""
    truth = np.asarray(imu_params("icm20689")["accel_temperature_drift"]).tolist()
    _, celsius, first = warmed(1, truth)
    fitted = [np.polynomial.polynomial.polyfit(celsius, first[:, axis], 3).tolist() for axis in range(3)]
    fitted[2][0] += STANDARD_GRAVITY_MPS2
    time_s, celsius, real = warmed(2, truth)
    _, _, simulated = warmed(3, fitted)

    print("Table 2 as printed:")
    marks = []
    for axis, (error, limit) in PRINTED.items():
        marks.append(normalised(error, limit))
        print(f"  {axis}: error {error:.6f}, tolerable {limit:.6f}, index {100 * marks[-1]:.3f} %")
    print(f"  mean {100 * mean_index(marks, 'arithmetic'):.3f} % (printed: 92.1251 %)")
    figure = make_subplots(rows=2, cols=2, subplot_titles=TITLES, vertical_spacing=0.14)
    figure.add_trace(go.Scatter(x=time_s, y=celsius, line={"color": "#2c3e50"}, showlegend=False), row=1, col=1)
    marks = []
    print("this model, deviation over the warming:")
    for number, axis in enumerate(AXES):
        place = {"row": (number + 1) // 2 + 1, "col": (number + 1) % 2 + 1}
        for values, name, colour in ((real, "experiment", "#2c3e50"), (simulated, "simulation", "#c0392b")):
            trace = go.Scatter(
                x=celsius,
                y=values[:, number],
                name=name,
                legendgroup=name,
                showlegend=number == 0,
                line={"color": colour, "width": 1},
            )
            figure.add_trace(trace, **place)
        figure.update_xaxes(title_text="°C", **place)
        figure.update_yaxes(title_text="m/s²", **place)
        spread, drawn = float(np.std(real[:, number])), float(np.std(simulated[:, number]))
        marks.append(normalised(abs(spread - drawn), TOLERANCE * spread))
        error, limit = abs(spread - drawn), TOLERANCE * spread
        print(f"  {axis}: error {error:.6f}, tolerable {limit:.6f}, index {100 * marks[-1]:.2f} %")
    print(f"  mean {100 * mean_index(marks, 'arithmetic'):.2f} %")
    figure.update_xaxes(title_text="s", row=1, col=1)
    figure.update_yaxes(title_text="°C", row=1, col=1)
    title = "Temperature drift of an accelerometer ([ChipLevel] Fig. 8)"
    figure.update_layout(title=title, height=800, template="plotly_white", legend={"orientation": "h", "y": 1.08})
    PAGE.parent.mkdir(exist_ok=True)
    figure.write_html(PAGE, include_plotlyjs=True)
    print(PAGE)


if __name__ == "__main__":
    main()
