"""Commands of control design: trim, modes, steps, margins and gains of a vehicle."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ironbird.cli.options import (
    AXIS_HELP,
    ControlOption,
    OutOption,
    SeedOption,
    SetOption,
    VehicleArgument,
    numbers_of,
    settings_of,
)
from ironbird.cli.output import (
    JsonOption,
    errors,
    figure,
    lead_to,
    print_columns,
    print_json,
    print_table,
    progress_bar,
)
from ironbird.errors import IronbirdError, shortened
from ironbird.files.work import working

if TYPE_CHECKING:
    from ironbird.analysis.level import Mode
    from ironbird.model.signal import Number
    from ironbird.tuning.loops import Margins
    from ironbird.tuning.steps import Answer

MOST_STATES = 3  # of a mode that are named in a table
MOST_SETS = 256  # that fly side by side
MODE_HEAD = (
    "mode", "count", "real 1/s", "imaginary 1/s", "frequency rad/s", "damping", "halves in s", "doubles in s", "states",
)  # fmt: skip
ANSWER_HEAD = ("rise s", "overshoot %", "settled s", "error %", "saturated %", "did not fly")
MARGIN_HEAD = (
    "axis", "crossover rad/s", "phase margin °", "gain up dB", "gain down dB", "delay margin ms", "peak sensitivity",
    "closed loop",
)  # fmt: skip
SweepOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH=FIRST:LAST:COUNT",
        help="Several values of a parameter, or PATH=1,2,5 as a list; may be repeated: all combinations fly.",
    ),
]
AirspeedOption = Annotated[
    float | None,
    typer.Option(help="In m/s to the north; hovering if the vehicle can, else its cruise speed.", min=0, max=400),
]


def trim(vehicle: VehicleArgument, airspeed: AirspeedOption = None, set_: SetOption = None) -> None:
    """Find steady level motion: attitude, actuator commands, thrusts."""
    from ironbird.analysis.level import level_trim

    with errors(), working(f"finding the trim of {vehicle}"):
        found = level_trim(vehicle, airspeed, settings=settings_of(set_))
    print_table(found.rows(), f"{found.vehicle.spec.title}: trim", found.figures())


def modes(
    vehicle: VehicleArgument, airspeed: AirspeedOption = None, set_: SetOption = None, as_json: JsonOption = False
) -> None:
    """Linear modes of the bare vehicle at its trim: name, eigenvalue, frequency, damping, states that take part.

    On wings: short period, phugoid, Dutch roll, roll subsidence, spiral. Equal lags of parts (four motors) share a row.
    """
    from ironbird.analysis.level import level_trim, modes_at

    with errors(), working(f"finding the trim and the modes of {vehicle}"):
        found = modes_at(level_trim(vehicle, airspeed, settings=settings_of(set_)))
    if as_json:
        rows = [{"name": m.name, "real": m.value.real, "imaginary": m.value.imag, "states": m.states} for m in found]
        print_json({"vehicle": vehicle, "modes": rows}, "ironbird/modes/1")
        return
    print_columns(MODE_HEAD, mode_rows(found), f"{vehicle}: modes", optional=("imaginary 1/s", "states"))


def mode_rows(modes: Sequence[Mode]) -> list[list[str]]:
    """Modes as rows of a table with the columns of `MODE_HEAD`, slowest first; equal ones of one name share a row."""
    from ironbird.analysis.mode_names import STATES

    groups: dict[tuple[str, str], list[Mode]] = {}
    for mode in modes:
        groups.setdefault((mode.name, mode.sentence()), []).append(mode)
    rows = []
    for (name, _), same in groups.items():
        mode = same[0]
        real, imaginary = mode.value.real, mode.value.imag
        swings = abs(imaginary) >= 1e-9 * abs(mode.value)
        time = f"{math.log(2) / abs(real):.3g}" if real else "-"
        states = dict.fromkeys(STATES.get(state, state) for one in same for state in one.states)
        rows.append(
            [
                name, str(len(same)), f"{real:.5g}", f"{imaginary:.5g}" if swings else "-",
                f"{mode.frequency_radps:.4g}" if swings else "-", f"{mode.damping:.3f}" if swings else "-",
                time if real < 0 else "-", time if real > 0 else "-",
                ", ".join(list(states)[:MOST_STATES]) + (" …" if len(states) > MOST_STATES else ""),
            ]
        )  # fmt: skip
    return rows


def step(
    vehicle: VehicleArgument,
    axis: Annotated[
        str | None,
        typer.Argument(
            help="roll_rate, pitch_rate, yaw_rate, roll, pitch, yaw, speed_north, speed_east, climb, north, east, up; "
            "of a wing: bank, pitch, height, airspeed."
        ),
    ] = None,
    size: Annotated[
        float | None, typer.Option(help="Size of the step in degrees, degrees/s, m/s or m; a usual one by default.")
    ] = None,
    lasts: Annotated[float | None, typer.Option(help="Seconds after the step.", min=0.1, max=120)] = None,
    set_: SetOption = None,
    sweep: SweepOption = None,
    control: ControlOption = "truth",
    seed: SeedOption = 0,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Step response of a hovering vehicle or a wing: rise time, overshoot, settling, saturation; a page with curves.

    With --sweep many sets of gains fly side by side. Exit code 1 if one of them does not fly.

    Example: ironbird vehicle step quad_f450 roll --sweep 'control.rate_gain[0]=10:40:7'
    """
    with errors():
        fixed, swept = settings_of(set_), sets_of(sweep)
        sets = {name: {**fixed, **values} for name, values in swept.items()}
        from ironbird.tuning.steady import check_steady
        from ironbird.tuning.steps import answers_to, step_of, usual_step

        check_steady(vehicle)
        found = step_of(usual_step(vehicle) if axis is None else axis, vehicle)
        if (control or "truth") not in ("truth", "reference"):
            raise IronbirdError(
                f"--control '{shortened(control)}': steps are flown under truth or reference; a step of another "
                "control system is a set-point of a flight: 'ironbird fly --control …'"
            )
        from ironbird.report.tuning_page import write_step_page

        with progress_bar(f"steps of {vehicle}") as update:
            answers = answers_to(
                vehicle,
                found,
                size,
                list(sets.values()),
                control=control or "truth",
                seed=seed,
                lasts_s=lasts,
                progress=update,
            )
        named = dict(zip(sets, answers, strict=True))
        page = (out or Path("out/tuning") / Path(vehicle).stem) / f"step_{found.name}.html"
        title = f"{vehicle}: {found.name} by {answers[0].size:g} {found.unit}"
        with working("writing the page of step responses"):
            write_step_page(title, found, named, page, list(sets.values()))
    if as_json:
        data = [
            {"set": dict(sets[name]), "failure": answer.failure, **answer.figures()} for name, answer in named.items()
        ]
        head = {"vehicle": vehicle, "step": found.name, "unit": found.unit, "size": answers[0].size}
        print_json({**head, "answers": data, "page": str(page)}, "ironbird/step-response/1")
    else:
        varied = list(next(iter(sets_of(sweep).values())))
        rows = [[f"{sets[name][path]:g}" for path in varied] + answer_cells(answer) for name, answer in named.items()]
        heads = [path.removeprefix("control.") for path in varied]
        if not varied:
            heads, rows = ["gains"], [["as they are", *row] for row in rows]
        print_columns([*heads, *ANSWER_HEAD], rows, title)
        typer.echo(f"report: {page}")
    lead_to(page)
    raise typer.Exit(int(any(answer.failure for answer in answers)))


def margins(
    vehicle: VehicleArgument,
    axis: Annotated[list[str] | None, typer.Option(help=AXIS_HELP)] = None,
    set_: SetOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Gain, phase and delay margins of a hovering vehicle's or wing's loops, cut at the actuators; Bode, Nichols plots.

    A wing is looked at straight and level at cruise speed. From exact derivatives of the vehicle's and the
    controller's equations, with sampling and hold. Without --axis all loops are shown; it may be
    repeated. Exit code 1 if the closed loop is not stable.
    """
    with errors():
        settings = settings_of(set_)
        from ironbird.tuning.loops import check_axes, steady_loop
        from ironbird.tuning.steady import is_wing

        check_axes(vehicle, axis or ())
        where = "in level flight" if is_wing(vehicle) else "at hover"
        from ironbird.report.tuning_page import write_margins_page

        with working(f"linearising {vehicle} {where}"):
            loop = steady_loop(vehicle, settings)
        axes = axis or loop.closed_axes()
        with working(f"margins of {', '.join(axes)}"):
            responses = [loop.broken(name) for name in axes]
        page = (out or Path("out/tuning") / Path(vehicle).stem) / "margins.html"
        with working("writing the page of margins"):
            write_margins_page(f"{vehicle}: loops {where}", responses, page)
    if as_json:
        data = {"vehicle": vehicle, "margins": {r.axis: vars(r.margins) for r in responses}, "page": str(page)}
        print_json(data, "ironbird/margins/1")
    else:
        rows = [[r.axis, *margin_cells(r.margins)] for r in responses]
        print_columns(MARGIN_HEAD, rows, f"{vehicle}: margins {where}")
        typer.echo(f"report: {page}")
    lead_to(page)
    raise typer.Exit(int(not all(r.margins.stable for r in responses)))


BANDWIDTH = {"min": 0.02, "max": 300.0}


def autotune(
    vehicle: VehicleArgument,
    bandwidth: Annotated[
        float | None,
        typer.Option(help="Of roll and pitch in rad/s: where the attitude answers with -3 dB.", **BANDWIDTH),
    ] = None,
    yaw_bandwidth: Annotated[float | None, typer.Option(help="Of yaw in rad/s.", **BANDWIDTH)] = None,
    velocity_bandwidth: Annotated[
        float | None, typer.Option(help="Of the horizontal velocity in rad/s.", **BANDWIDTH)
    ] = None,
    position_bandwidth: Annotated[
        float | None, typer.Option(help="Of the horizontal position in rad/s.", **BANDWIDTH)
    ] = None,
    phase_margin: Annotated[float, typer.Option(help="At least, in degrees.", min=0, max=90)] = 45.0,
    gain_margin: Annotated[float, typer.Option(help="At least, in dB, up and down.", min=0, max=40)] = 6.0,
    as_json: JsonOption = False,
) -> None:
    """Gains of attitude, velocity and position control for bandwidths, with margins, from the linear model at hover.

    Loops for which no bandwidth is given keep their gains; tuning goes from the inside out. Prints the gains as
    parameters for --set and as lines of a vehicle file. Look at them with 'ironbird vehicle step'.

    Example: ironbird vehicle autotune quad_f450 --bandwidth 10 --velocity-bandwidth 2.5 --position-bandwidth 1
    """
    from ironbird.tuning.autotune import tune

    with errors(), working(f"finding gains of {vehicle}"):
        found = tune(
            vehicle,
            attitude_radps=bandwidth,
            yaw_radps=yaw_bandwidth,
            velocity_radps=velocity_bandwidth,
            position_radps=position_bandwidth,
            phase_margin_deg=phase_margin,
            gain_margin_dB=gain_margin,
        )
    if as_json:
        data = {
            "vehicle": vehicle,
            "params": found.params,
            "axes": {t.axis: vars(t.margins) for t in found.axes},
            "outer": {t.loop: vars(t) for t in found.outer},
            "margins": {axis: vars(m) for axis, m in found.margins.items()},
        }
        print_json(data, "ironbird/margins/1")
        return
    if found.axes:
        cells = [
            [
                t.axis,
                f"{t.attitude_gain:g}",
                f"{t.rate_gain:g}",
                figure(t.bandwidth_radps),
                *margin_cells(t.margins)[1:2],
            ]
            for t in found.axes
        ]
        heads = ("axis", "attitude gain 1/s", "rate gain 1/s", "bandwidth rad/s", "phase margin °")
        print_columns(heads, cells, f"{vehicle}: gains of attitude")
    if found.outer:
        cells = [
            [t.loop, f"{t.gain:g}", figure(t.bandwidth_radps), figure(t.vertical_radps), figure(t.peak_dB, 1)]
            for t in found.outer
        ]
        heads = ("loop", "gain 1/s", "bandwidth rad/s", "up and down rad/s", "peak dB")
        print_columns(heads, cells, f"{vehicle}: gains of velocity and position")
    if found.margins:
        cells = [[axis, *margin_cells(m)] for axis, m in found.margins.items()]
        print_columns(MARGIN_HEAD, cells, f"{vehicle}: margins with these gains")
    texts = {path: str(v[0] if len(v) == 1 else v).replace(" ", "") for path, v in found.params.items()}
    first = "roll" if found.axes else "speed_north" if velocity_bandwidth else "north"
    gains = (f"--set {shlex.quote(f'{path}={text}')}" for path, text in texts.items())
    typer.echo("try:    " + " ".join([f"ironbird vehicle step {vehicle} {first}", *gains]))
    typer.echo("in the vehicle file:")
    typer.echo("\n".join(["[control]", *(f"{path.partition('.')[2]} = {text}" for path, text in texts.items())]))


def answer_cells(answer: Answer) -> list[str]:
    """Figures of a step response in the columns of `ANSWER_HEAD`."""
    figures = [
        figure(answer.rise_s, 3), figure(100 * answer.overshoot, 1),
        "never" if math.isnan(answer.settling_s) else figure(answer.settling_s, 3),
        figure(100 * answer.error, 1), figure(100 * answer.saturated, 0),
    ]  # fmt: skip
    return [*(["-"] * len(figures) if answer.failure else figures), answer.failure]


def margin_cells(margins: Margins) -> list[str]:
    """Margins in the columns of `MARGIN_HEAD` but the first."""
    return [
        figure(margins.crossover_radps), figure(margins.phase_deg, 1), figure(margins.gain_up_dB, 1),
        figure(margins.gain_down_dB, 1), figure(1e3 * margins.delay_s, 1), figure(margins.sensitivity),
        "stable" if margins.stable else "UNSTABLE",
    ]  # fmt: skip


def sets_of(sweeps: list[str] | None) -> dict[str, dict[str, Number]]:
    """All combinations of `--sweep`, by a name that says what is varied."""
    axes: list[list[tuple[str, float]]] = []
    for text in sweeps or []:
        path, equals, values = text.partition("=")
        if not equals or not path.strip():
            raise IronbirdError(f"--sweep '{shortened(text)}': give PATH=FIRST:LAST:COUNT or PATH=1,2,5")
        axes.append([(path.strip(), value) for value in _values(text, values)])
    if math.prod(map(len, axes)) > MOST_SETS:
        raise IronbirdError(f"--sweep: {math.prod(map(len, axes))} combinations; at most {MOST_SETS} fly side by side")
    found: dict[str, dict[str, Number]] = {}
    for chosen in itertools.product(*axes):
        found[", ".join(f"{path.removeprefix('control.')} {value:g}" for path, value in chosen) or "as it is"] = dict(
            chosen
        )
    return found


def _values(text: str, values: str) -> list[float]:
    if ":" not in values:
        return numbers_of("--sweep", values, 1, MOST_SETS, "PATH=1,2,5")
    if values.count(":") != 2:
        raise IronbirdError(f"--sweep '{shortened(text)}': give PATH=FIRST:LAST:COUNT, for example 10:40:7")
    first, last, count = numbers_of("--sweep", values.replace(":", ","), 3, 3, "PATH=FIRST:LAST:COUNT")
    number = round(count)
    if number != count or not 1 <= number <= MOST_SETS:
        raise IronbirdError(f"--sweep '{shortened(text)}': the count is a whole number from 1 to {MOST_SETS}")
    return [first + (last - first) * i / max(number - 1, 1) for i in range(number)]
