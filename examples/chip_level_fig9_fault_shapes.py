"""The eight fault shapes of [ChipLevel] Fig. 9, on the x axis of an accelerometer: one run, one lane per fault.

    python examples/chip_level_fig9_fault_shapes.py

An ICM-20689 rides on a vehicle that swings back and forth; a fault tap stands behind it. Each fault is a parameter of
the tap, changed between 8 and 14 s by an event inside the kernel. The page is written to `out/`.
"""

from __future__ import annotations

import math
from pathlib import Path

import casadi as ca
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ironbird import Block, Clock, Diagram, Log, Out, Param, ParamEvent, Values, View, compile_model, run, start
from ironbird.blocks.sensors.imu import Imu
from ironbird.blocks.sensors.products import imu_params
from ironbird.blocks.sensors.signal_fault import SignalFault

SAMPLE_S = 0.004
END_S = 20.0
FROM_S, TO_S = 8.0, 14.0
FULL_SCALE = 16 * 9.80665
PAGE = Path("out") / "chip_level_fig9_fault_shapes.html"

# Title -> (parameter of the tap, value, window)
WHOLE = (FROM_S, TO_S)
FAULTS: dict[str, list[tuple[str, float, tuple[float, float]]]] = {
    "(a) scale, Eq. 18: 2.5 times": [("scale[0]", 2.5, WHOLE)],
    "(b) bias, Eq. 19: +3 m/s²": [("offset[0]", 3.0, WHOLE)],
    "(c) drift, Eq. 20: 0.8 m/s² per second": [("drift_rate[0]", 0.8, WHOLE)],
    "(d) noise, Eq. 21: deviation 1.5 m/s²": [("noise[0]", 1.5, WHOLE)],
    "(e) spikes, Eq. 22: 20 m/s², 2 per second": [("spike_rate", 2.0, WHOLE), ("spike_size[0]", 20.0, WHOLE)],
    "(f) open element: only its noise is left": [("scale[0]", 0.0, WHOLE), ("noise[0]", 0.02, WHOLE)],
    "(g) short element: full scale": [("offset[0]", 2 * FULL_SCALE, WHOLE), ("high[0]", FULL_SCALE, WHOLE)],
    "(h) open, then short link: words 0x0000, 0x7FFF": [
        ("replace", 1.0, WHOLE), ("replacement[0]", FULL_SCALE, ((FROM_S + TO_S) / 2, TO_S)),
    ],
}  # fmt: skip


class Swing(Block):
    """Specific force of a level vehicle that accelerates back and forth.

    Not modelled: everything else.
    """

    source = "closed form of this project"

    time = Clock(doc="time")
    specific_force_B = Out(unit="m/s^2", shape=3, frame="B", doc="what an ideal accelerometer feels")
    w_NB_B = Out(unit="rad/s", shape=3, frame="B", doc="none")
    amplitude = Param(unit="m/s^2", default=1.0, doc="of the acceleration")
    period = Param(unit="s", default=4.0, low=0.1, doc="of the swing")

    def output(self, x: View, u: View, p: View) -> Values:
        forward = p.amplitude * ca.sin(2 * math.pi * u.time / p.period)
        return {"specific_force_B": ca.vertcat(forward, 0, -9.80665), "w_NB_B": ca.SX.zeros(3)}


def build() -> Diagram:
    """Motion, chip and tap."""
    diagram = Diagram("fig9")
    swing = diagram.add("swing", Swing())
    chip = diagram.add("imu/1/chip", Imu(sample_s=SAMPLE_S), **imu_params("icm20689"))
    tap = diagram.add("imu/1/accel_fault", SignalFault(3, "m/s^2", "B", sample_s=SAMPLE_S))
    diagram.connect(swing.specific_force_B, chip.specific_force_B)
    diagram.connect(swing.w_NB_B, chip.w_NB_B)
    diagram.connect(chip.accel_B, tap.value_in)
    diagram.connect(chip.stamp, tap.stamp_in)
    return diagram


def fly() -> Log:
    """One lane per fault; all have the same seed, so that they differ by the fault alone."""
    state = start(compile_model(build()), lanes=len(FAULTS), seed=[1] * len(FAULTS))
    for lane, changes in enumerate(FAULTS.values()):
        for param, value, (begin, end) in changes:
            state.add_event(ParamEvent(f"imu/1/accel_fault.{param}", value, start_s=begin, end_s=end), lane)
    return run(state, END_S, log=["imu/1/accel_fault"], log_s=SAMPLE_S)


def draw(log: Log) -> go.Figure:
    """Eight small charts, the healthy signal behind the faulty one."""
    figure = make_subplots(rows=4, cols=2, subplot_titles=list(FAULTS), vertical_spacing=0.07, horizontal_spacing=0.06)
    for lane in range(len(FAULTS)):
        place = {"row": lane // 2 + 1, "col": lane % 2 + 1}
        for name, colour, text in (("value", "#c0392b", "with fault"), ("healthy", "#2c3e50", "healthy")):
            values = log.lane(f"imu/1/accel_fault.{name}", lane)[:, 0]
            line = {"color": colour, "width": 1}
            trace = go.Scatter(x=log.time_s, y=values, name=text, line=line, legendgroup=text, showlegend=lane == 0)
            figure.add_trace(trace, **place)
        figure.add_vrect(x0=FROM_S, x1=TO_S, fillcolor="#c0392b", opacity=0.07, line_width=0, **place)
        figure.update_yaxes(title_text="m/s²", **place)
        figure.update_xaxes(title_text="time, s" if lane > 5 else None, **place)
    title = "Accelerometer x axis with faults from 8 to 14 s ([ChipLevel] Fig. 9)"
    figure.update_layout(title=title, height=1100, template="plotly_white", margin={"t": 90})
    return figure


def main() -> None:
    """Run, check that every fault acted, draw, say where."""
    log = fly()
    for lane, title in enumerate(FAULTS):
        difference = log.lane("imu/1/accel_fault.difference", lane)
        inside = (log.time_s >= FROM_S) & (log.time_s < TO_S)
        assert difference[inside].max() > 0 and not difference[~inside].any(), title
        print(f"{title:50s} largest change {difference.max():8.3f} m/s^2")
    PAGE.parent.mkdir(exist_ok=True)
    draw(log).write_html(PAGE, include_plotlyjs=True)
    print(PAGE)


if __name__ == "__main__":
    main()
