"""Commands of control design: trim, modes, steps, margins and gains of a vehicle."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from ironbird.cli.output import JsonOption, errors, print_table, progress_bar
from ironbird.errors import IronbirdError, shortened

if TYPE_CHECKING:
    from ironbird.analysis.level import Mode
    from ironbird.model.signal import Number

MOST_SETS = 256  # that fly side by side
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

    with errors():
        found = level_trim(vehicle, airspeed, settings=settings_of(set_))
    print_table(found.rows(), f"{found.vehicle.spec.title}: trim", found.figures())


def modes(
    vehicle: VehicleArgument, airspeed: AirspeedOption = None, set_: SetOption = None, as_json: JsonOption = False
) -> None:
    """Linear modes of the bare vehicle at its trim: name, eigenvalue, frequency, damping, states that take part.

    On wings: short period, phugoid, Dutch roll, roll subsidence, spiral. Equal lags of parts (four motors) share a row.
    """
    from ironbird.analysis.level import level_trim, modes_at

    with errors():
        found = modes_at(level_trim(vehicle, airspeed, settings=settings_of(set_)))
    if as_json:
        rows = [{"name": m.name, "real": m.value.real, "imaginary": m.value.imag, "states": m.states} for m in found]
        typer.echo(json.dumps(rows, indent=2))
        return
    print_table(mode_rows(found), f"{vehicle}: modes")


def mode_rows(modes: Sequence[Mode]) -> dict[str, str]:
    """Modes for people, slowest first; equal ones of one name (the motors') together."""
    from ironbird.analysis.mode_names import STATES

    groups: dict[tuple[str, str], list[Mode]] = {}
    for mode in modes:
        groups.setdefault((mode.name, mode.sentence()), []).append(mode)
    rows: dict[str, str] = {}
    for (name, sentence), same in groups.items():
        title = f"{name} ({len(same)} times)" if len(same) > 1 else name
        while title in rows:
            title += " "
        states = dict.fromkeys(STATES.get(state, state) for mode in same for state in mode.states)
        rows[title] = f"{sentence}\n{', '.join(states)}"
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

    Example: ironbird step quad_f450 roll --sweep 'control.rate_gain[0]=10:40:7'
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
        write_step_page(title, found, named, page, list(sets.values()))
    if as_json:
        rows = [
            {"set": dict(sets[name]), "failure": answer.failure, **_plain(answer.figures())}
            for name, answer in named.items()
        ]
        typer.echo(json.dumps({"step": found.name, "unit": found.unit, "size": answers[0].size, "answers": rows}))
    else:
        print_table({name: answer_words(answer) for name, answer in named.items()}, title)
        typer.echo(f"report: {page}")
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
        from ironbird.report.tuning_page import MARGINS, margin_words, write_margins_page

        loop = steady_loop(vehicle, settings)
        responses = [loop.broken(name) for name in axis or loop.closed_axes()]
        page = (out or Path("out/tuning") / Path(vehicle).stem) / "margins.html"
        write_margins_page(f"{vehicle}: loops {where}", responses, page)
    if as_json:
        typer.echo(json.dumps({r.axis: _plain(vars(r.margins)) for r in responses}))
    else:
        words = {r.axis: zip(MARGINS, margin_words(r.margins), strict=True) for r in responses}
        print_table(
            {name: ", ".join(f"{what} {value}" for what, value in row) for name, row in words.items()},
            f"{vehicle}: margins {where}",
        )
        typer.echo(f"report: {page}")
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
    parameters for --set and as lines of a vehicle file. Look at them with 'ironbird step'.

    Example: ironbird autotune quad_f450 --bandwidth 10 --velocity-bandwidth 2.5 --position-bandwidth 1
    """
    from ironbird.report.tuning_page import MARGINS, margin_words
    from ironbird.tuning.autotune import tune

    with errors():
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
            "params": found.params,
            "axes": {t.axis: _plain(vars(t.margins)) for t in found.axes},
            "outer": {t.loop: _plain(vars(t)) for t in found.outer},
            "margins": {axis: _plain(vars(m)) for axis, m in found.margins.items()},
        }
        typer.echo(json.dumps(data))
        return
    rows = {
        t.axis: f"attitude gain {t.attitude_gain:g} 1/s, rate gain {t.rate_gain:g} 1/s: bandwidth "
        f"{t.bandwidth_radps:.2f} rad/s"
        for t in found.axes
    }
    rows |= {
        t.loop: f"gain {t.gain:g} 1/s: bandwidth {t.bandwidth_radps:.2f} rad/s, {t.vertical_radps:.2f} rad/s up and "
        f"down; peak {t.peak_dB:.1f} dB"
        for t in found.outer
    }
    for axis, m in found.margins.items():
        words = zip(MARGINS, margin_words(m), strict=True)
        rows[f"margins of {axis}"] = ", ".join(f"{what} {value}" for what, value in words)
    print_table(rows, f"{vehicle}: gains")
    texts = {path: json.dumps(v[0] if len(v) == 1 else v, separators=(",", ":")) for path, v in found.params.items()}
    first = "roll" if found.axes else "speed_north" if velocity_bandwidth else "north"
    typer.echo(
        "try:    " + " ".join([f"ironbird step {vehicle} {first}", *(f"--set {p}={t}" for p, t in texts.items())])
    )
    typer.echo("file:   [control] " + ", ".join(f"{path.partition('.')[2]} = {t}" for path, t in texts.items()))


def answer_words(answer: Any) -> str:
    """Figures of a step response for people."""
    if answer.failure:
        return f"did not fly: {answer.failure}"

    def seconds(value: float) -> str:
        return "never" if math.isnan(value) else f"{value:.3f} s"

    return (
        f"rise {seconds(answer.rise_s)}, overshoot {100 * answer.overshoot:.1f} %, "
        f"settled {seconds(answer.settling_s)}, error {100 * answer.error:+.1f} %, "
        f"saturated {100 * answer.saturated:.0f} %"
    )


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
    first, last, count = numbers_of("--sweep", values.replace(":", ","), 3, 3, "PATH=FIRST:LAST:COUNT")
    number = round(count)
    if number != count or not 1 <= number <= MOST_SETS:
        raise IronbirdError(f"--sweep '{shortened(text)}': the count is a whole number from 1 to {MOST_SETS}")
    return [first + (last - first) * i / max(number - 1, 1) for i in range(number)]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Numbers that JSON has: none instead of nan and infinity."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
