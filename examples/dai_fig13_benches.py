"""The bench experiments of [Dai] Fig. 13 a to f, each as a comparison with its index.

    python examples/dai_fig13_benches.py

The authors' records are not public. Stand-ins: (a, b) a second specimen of the sensor (another seed) says how far
chance goes; (c) a public record of a real thrust stand (tests/data/propulsion); (d) the virtual stand with noise; (e,
f) the one-axis rig as a virtual bench with noise, against the model's own exact derivatives. The page is written to
`out/`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ironbird import compile_model, level_trim, linearize, load_vehicle, start
from ironbird.analysis.spectra import FrequencyResponse, local_response, log_frequencies
from ironbird.blocks.sensors.products import imu_params
from ironbird.credibility.index import frequency_errors, normalised, performance_errors, time_errors
from ironbird.credibility.metrics import cifer_cost
from ironbird.identification.bench import propulsion, read_bench, step_time
from ironbird.identification.excite import excitation
from ironbird.identification.virtual import CONTROL_S, LINK_S, excited_flight, with_noise
from ironbird.runtime.stepper import Stepper

PAGE = Path("out") / "dai_fig13_benches.html"
STAND = Path(__file__).parents[1] / "tests" / "data" / "propulsion" / "static_a1_7.csv"
BEGIN_S, SETTLED_S, STEP_S, END_S = 19.5, 20.5, 21.5, 23.0  # the throttle goes to 50 % at 21.5 s
TOLERANCE = 0.1
STILL = {"wakes.vortex_ring": 0.0, "wakes.ground_effect": 0.0}  # what is sampled stands still in exact derivatives
REAL, MODEL = "#2c3e50", "#c0392b"
ROTORS = (1, 2, 3, 4)
SIGNS = np.array([1.0, -1.0, 1.0, -1.0]) / np.sqrt(2)  # rotors about the pitch axis


def vibration(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Accelerometer, gyroscope and rotor speed of the F450 on the ground, while the throttle goes to 50 %."""
    model = compile_model(load_vehicle("quad_f450", control="external").diagram)
    chip = {f"imu/1/chip.{name}": value for name, value in imu_params("mpu6000").items()}
    state = start(model, seed=[seed], params=chip)
    signals = ["imu/1/chip.accel_B", "imu/1/chip.gyro_B", "rotor/1/motor.speed"]
    stepper = Stepper(state, until_s=END_S - BEGIN_S, log=signals, log_s=LINK_S)
    for share, until in ((0.0, STEP_S), (0.5, END_S)):
        for number in ROTORS:
            stepper.inputs[stepper.input_row(f"rotor/{number}")] = share
        stepper.step(round((until - (BEGIN_S if share == 0 else STEP_S)) / model.step_s))
    log = stepper.finish()
    accel, gyro, speed = (log[name] for name in signals)
    return BEGIN_S + log.time(), accel, gyro, speed


def rig() -> tuple[FrequencyResponse, FrequencyResponse]:
    """Pitch rate over the command about pitch: of a noisy sweep on the rig, and of the exact derivatives."""
    sweep = excitation("sweep", amplitude=0.015, duration_s=60.0, band_radps=(0.5, 40.0), step_s=CONTROL_S).values
    more = np.zeros((len(sweep), 4))
    more[:, 2] = sweep
    record = with_noise(
        excited_flight("quad_f450", more, noise={}, params=STILL, rig="pitch"), {"pitch_rate": 0.005}, 1
    )
    time_s = record.track("pitch_rate").time_s
    held = [s * record.track(f"motor_{n}").held(time_s + 0.005) for n, s in zip(ROTORS, SIGNS, strict=True)]
    w = log_frequencies((0.7, 30.0), 30)
    measured = local_response(np.sum(held, axis=0), record.track("pitch_rate").at(time_s), CONTROL_S, w)
    point = level_trim("quad_f450", 0.0)
    links = [f"rotor/{n}/command_fault.value" for n in ROTORS]
    linear = linearize(point.model, point.point, inputs=links, outputs=["body.w_NB_B"])
    turning = [row for row, name in enumerate(linear.states) if not name.startswith(("body.p", "body.v", "body.q"))]
    a, b, c = linear.A[np.ix_(turning, turning)], linear.B[turning], linear.C[:, turning]  # the rod holds the rest
    exact = [(c @ np.linalg.solve(1j * one * np.eye(len(a)) - a, b) + linear.D)[1] @ SIGNS / 2 for one in w]
    late = np.exp(-1j * w * (CONTROL_S / 2 + LINK_S)) * np.sinc(w * CONTROL_S / 2 / np.pi)  # sampling and the link
    return measured, FrequencyResponse(w, np.array(exact) * late, np.ones(len(w)), np.zeros(len(w)))


def line(
    figure: go.Figure, place: tuple[int, int], x: np.ndarray, y: np.ndarray, name: str, colour: str, **style: object
) -> None:
    """One curve, or points if `mode` says so."""
    mode = str(style.pop("mode", "lines"))
    shown = bool(style.pop("shown", False))
    trace = go.Scatter(x=x, y=y, name=name, mode=mode, legendgroup=name, showlegend=shown)
    trace.update(line={"color": colour, "width": 1.2}, marker={"color": colour, "size": 5})
    figure.add_trace(trace, row=place[0], col=place[1])


def main() -> None:
    """Run the benches, compare, draw, say where."""
    titles = [
        "(a) accelerometer z", "(b) gyroscope x", "(c) thrust over speed, real stand", "(d) step of the throttle",
        "(e) rig: magnitude", "(f) rig: phase",
    ]  # fmt: skip
    figure = make_subplots(rows=3, cols=2, subplot_titles=titles, vertical_spacing=0.1, horizontal_spacing=0.1)
    said: list[str] = []

    specimens = [vibration(seed) for seed in (1, 2)]
    for number, (time_s, accel, gyro, _) in enumerate(specimens):
        colour, name = (REAL, "reference") if number == 0 else (MODEL, "model")
        stands = time_s > SETTLED_S  # on its legs
        line(figure, (1, 1), time_s[stands], accel[stands, 2], name, colour, shown=True)
        line(figure, (1, 2), time_s[stands], gyro[stands, 0], name, colour)
    for what, column, axis in (("accelerometer z", 1, 2), ("gyroscope x", 2, 0)):
        for when, inside in (
            ("before", (specimens[0][0] > SETTLED_S) & (specimens[0][0] < STEP_S)),
            ("after", specimens[0][0] > STEP_S + 0.3),
        ):
            one, other = (float(np.std(specimen[column][inside, axis])) for specimen in specimens)
            error, limit = performance_errors(one, other, TOLERANCE, None)
            said.append(
                f"{what}, deviation {when} the step: {one:.4g} and {other:.4g}, index {normalised(error, limit):.3f}"
            )

    table = read_bench(STAND)
    turning = table["speed"] > 0.02 * table["speed"].max()
    speed, thrust = table["speed"][turning], table["thrust"][turning]
    fitted = {f.name: f for f in propulsion(table)}
    modelled = fitted["thrust_coefficient"].value * speed**2
    order = np.argsort(speed)
    line(figure, (2, 1), speed[order], thrust[order], "reference", REAL, mode="markers")
    line(figure, (2, 1), speed[order], modelled[order], "model", MODEL)
    error, limit = time_errors(thrust, modelled, TOLERANCE, None)
    said.append(f"thrust of a real stand, {fitted['thrust_coefficient']}: index {normalised(error, limit):.3f}")

    time_s, spun = specimens[0][0] - STEP_S, specimens[0][3].ravel()
    inside = (time_s > -0.1) & (time_s < 0.4)
    noisy = spun[inside] + 2.0 * np.random.default_rng(3).standard_normal(int(inside.sum()))
    tau = step_time(time_s[inside], noisy)
    low, high = noisy[:20].mean(), noisy[-40:].mean()
    begin = LINK_S  # the link takes the command up one step later
    step = low + (high - low) * (1 - np.exp(-np.clip(time_s[inside] - begin, 0, None) / tau.value))
    line(figure, (2, 2), time_s[inside], noisy, "reference", REAL, mode="markers")
    line(figure, (2, 2), time_s[inside], step, "model", MODEL)
    error, limit = time_errors(noisy, step, TOLERANCE, None)
    said.append(f"step of the motor, time constant {tau} (put in: 0.0119 s): index {normalised(error, limit):.3f}")

    measured, exact = rig()
    w = measured.frequency_radps
    for place, values in (((3, 1), "magnitude_dB"), ((3, 2), "phase_deg")):
        line(figure, place, w, getattr(measured, values), "reference", REAL, mode="markers")
        line(figure, place, w, getattr(exact, values), "model", MODEL)
    parts = frequency_errors(measured, exact, TOLERANCE)
    marks = ", ".join(f"{normalised(error, limit):.3f}" for error, limit in parts)
    said.append(
        f"rig, pitch channel: indices of magnitude and phase {marks}; J {cifer_cost(measured, exact):.2f}; "
        f"smallest coherence {measured.coherence.min():.2f}"
    )
    for place, text in (
        ((1, 1), "m/s²"),
        ((1, 2), "rad/s"),
        ((2, 1), "N"),
        ((2, 2), "rad/s"),
        ((3, 1), "dB"),
        ((3, 2), "°"),
    ):
        figure.update_yaxes(title_text=text, row=place[0], col=place[1])
    for place, text in (((1, 1), "s"), ((1, 2), "s"), ((2, 1), "rad/s"), ((2, 2), "s after the step")):
        figure.update_xaxes(title_text=text, row=place[0], col=place[1])
    figure.update_xaxes(type="log", title_text="rad/s", row=3)
    title = "Benches of [Dai] Fig. 13"
    figure.update_layout(title=title, height=1000, template="plotly_white", legend={"orientation": "h", "y": 1.06})
    PAGE.parent.mkdir(exist_ok=True)
    figure.write_html(PAGE, include_plotlyjs=True)
    print("\n".join([*said, str(PAGE)]))


if __name__ == "__main__":
    main()
