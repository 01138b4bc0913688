"""Commands that make models from records and benches: identify, excite, noise, response, motor, pendulum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.options import (
    AXIS_HELP,
    MASS_HELP,
    BandOption,
    OtherVehicleOption,
    OutPathOption,
    SalvageOption,
    SetOption,
    TestsOption,
    VehicleOption,
    WindowOption,
    check_record,
    numbers_of,
    settings_of,
    window_of,
)
from ironbird.cli.output import errors, print_report, print_sentence, print_table
from ironbird.errors import UnknownNameError
from ironbird.files.work import working

METHODS = ("output-error", "equation-error")


def identify(
    record: Annotated[Path, typer.Argument(help="A flight with its commands: .ulg, .BIN, .parquet or .csv.")],
    vehicle: VehicleOption,
    free: Annotated[str, typer.Option(help="What to identify, for example mass,inertia,motor_time.")],
    tests: TestsOption = None,
    window: WindowOption = None,
    method: Annotated[str, typer.Option(help="output-error, or equation-error (slow logs, trim).")] = "output-error",
    piece: Annotated[float, typer.Option(help="Length of a piece of multiple shooting, in s.", min=0.05, max=60)] = 0.5,
    continuous: Annotated[
        bool | None,
        typer.Option(
            "--continuous/--no-continuous",
            help="Each piece begins where the one before ends; not for gusts. By default if the log has every command.",
        ),
    ] = None,
    smooth: Annotated[float, typer.Option(help="Moving mean of equation error, in s.", min=0, max=10)] = 0.1,
    signals: Annotated[str | None, typer.Option(help="Signals to fit, with commas; else all but forces.")] = None,
    set_: SetOption = None,
    salvage: SalvageOption = False,
    out: OutPathOption = Path("out/identified"),
) -> None:
    """Identify parameters of a vehicle from a flight, by its own equations with exact derivatives."""
    with errors():
        inside = window_of(window)
        check_record(record)
        if method not in METHODS:
            raise UnknownNameError("--method", method, METHODS)
    from ironbird.credibility.plan import Plan, load_plan
    from ironbird.credibility.readers import read_record
    from ironbird.identification.equation_error import equation_error
    from ironbird.identification.output_error import identify as fit_vehicle
    from ironbird.identification.result import identified_vehicle
    from ironbird.report.identification_page import write_identification_page

    with errors():
        plan = load_plan(tests) if tests else Plan()
        with working(f"reading {record.name}"):
            flight = read_record(record, columns=plan.columns("real"), salvage=salvage)
        words = [word.strip() for word in free.split(",") if word.strip()]
        chosen = [word.strip() for word in signals.split(",")] if signals else None
        params = {**plan.drive.set, **settings_of(set_)}
        with working(f"identifying {', '.join(words)} of {vehicle}"):
            if method == "output-error":
                found = fit_vehicle(
                    flight, vehicle, words, how=plan.drive, signals=chosen, window_s=inside, piece_s=piece,
                    continuous=continuous, params=params,
                )  # fmt: skip
            else:
                found = equation_error(
                    flight, vehicle, words, how=plan.drive, signals=chosen, window_s=inside, smooth_s=smooth,
                    params=params,
                )  # fmt: skip
        page = out / "identification.html"
        with working("writing the page of the identification"):
            write_identification_page(found, page)
        rows = {
            e.name: f"{e.value:.5g} ± {e.sigma:.2g} {e.unit} (was {e.before:.5g}){'' if e.identified else ' not found'}"
            for e in found.estimates
        }
        rows |= {f"{a}, {b}": f"cannot be distinguished (correlation {r:+.3f})" for a, b, r in found.correlated()}
        rows["used"] = f"{found.time_s[0]:.2f} to {found.time_s[-1]:.2f} s of the record, by {found.method}"
        figures = {
            "notes": found.notes,
            "estimates": [{**vars(e), "identifiable": e.identified} for e in found.estimates],
        }
        print_table(rows, f"{found.vehicle} from {found.record}", figures)
        for note in found.notes:
            typer.secho(f"note: {note}", err=True)
        print_report(page)
        name = vehicle if not vehicle.endswith(".toml") else Path(vehicle).stem
        path = identified_vehicle(found, vehicle, out / f"{name}_identified.toml")
    typer.echo(f"vehicle: {path}")


def excite(
    kind: Annotated[str, typer.Argument(help="sweep, doublet, 3211 or multisine.")],
    axis: Annotated[str, typer.Option(help=AXIS_HELP)] = "pitch",
    amplitude: Annotated[float, typer.Option(help="Share of a full stick.")] = 0.3,
    duration: Annotated[float, typer.Option(help="Seconds, without the quiet before and after.")] = 60.0,
    band: BandOption = "0.5,30",
    out: OutPathOption = Path("out/excitation.csv"),
) -> None:
    """Write an excitation for the reference autopilot, PX4 and ArduPilot: a stick file, or a mission of legs."""
    from ironbird.files.whole import write_text
    from ironbird.identification.excite import (
        FOLLOWED_RADPS,
        excitation,
        excitation_mission,
        mission_text,
        stick_file,
    )

    with errors():
        low, high = numbers_of("--band", band, 2, 2, "LOW,HIGH in rad/s, for example 0.5,30")
        if out.suffix == ".toml":
            mission = excitation_mission(kind, axis, amplitude=amplitude, band_radps=(low, high))
            out.parent.mkdir(parents=True, exist_ok=True)
            write_text(out, mission_text(mission))
            if high > FOLLOWED_RADPS:
                text = f"position control hardly follows {high:g} rad/s: --band 0.5,{FOLLOWED_RADPS:g}, or a stick file"
                typer.secho(f"warning: {text}", fg="yellow", err=True)
            figures: dict[str, object] = {"kind": kind, "axis": axis, "band_radps": [low, high], "file": str(out)}
            print_sentence(
                f"mission: {out} ({len(mission.item)} items)", "Excitation", {**figures, "items": len(mission.item)}
            )
            typer.echo(
                f"fly it: ironbird fly quad_f450 --mission {out}; ironbird fly quad_f450 --control px4 --time virtual "
                f"--mission {out}"
            )
            return
        found = excitation(kind, amplitude=amplitude, duration_s=duration, band_radps=(low, high))
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, stick_file(found, axis))
    for text in found.advice:
        typer.secho(f"warning: {text}", fg="yellow", err=True)
    figures = {
        "kind": kind, "axis": axis, "band_radps": [low, high], "amplitude": amplitude, "file": str(out),
        "ended_s": float(found.time_s[-1]), "rows": len(found.time_s), "advice": list(found.advice),
    }  # fmt: skip
    print_sentence(f"sticks: {out} ({found.time_s[-1]:.0f} s)", "Excitation", figures)
    typer.echo(f"fly it: ironbird fly quad_f450 --control sticks --sticks {out} --speed max")


def noise(
    record: Annotated[Path, typer.Argument(help="A record of a vehicle at rest.")],
    window: WindowOption = None,
    vehicle: OtherVehicleOption = None,
    tests: TestsOption = None,
    out: OutPathOption = Path("out/identified"),
) -> None:
    """Noise of gyroscopes and accelerometers from a record at rest: Allan deviation."""
    from ironbird.credibility.plan import Plan, load_plan
    from ironbird.credibility.readers import read_record
    from ironbird.identification.rest import noise_table
    from ironbird.identification.result import vehicle_with_noise

    with errors():
        plan = load_plan(tests) if tests else Plan()
        with working(f"noise of {record.name}"):
            found = read_record(record, columns=plan.columns("real"))
            span = window_of(window)
            noises, table = noise_table(found, span)
        rows = {}
        for name, noise in noises.items():
            unit = found.tracks[name].unit
            slow = f"; bias instability {noise.instability:.3g}" if noise.instability else ""
            walk = f"; random walk {noise.walk:.3g} /sqrt(s)" if noise.walk else ""
            rows[name] = f"{noise.white:.4g} ± {noise.white_sigma:.1g} {unit}/sqrt(Hz){slow}{walk}"
        print_table(rows, f"Noise of {record.name} at rest", {name: vars(noise) for name, noise in noises.items()})
        if vehicle:
            stem = Path(vehicle).stem if vehicle.endswith(".toml") else vehicle
            typer.echo(f"vehicle: {vehicle_with_noise(found, table, vehicle, out / f'{stem}_noise.toml')}")


def response(
    record: Annotated[Path, typer.Argument(help="A record with a sweep.")],
    input_: Annotated[str, typer.Option("--input", help="Signal that was swept.")],
    output: Annotated[str, typer.Option(help="Signal that answers.")],
    band: BandOption = "0.5,30",
    poles: Annotated[int, typer.Option(help="Of the transfer function.", min=1, max=8)] = 2,
    zeros: Annotated[int, typer.Option(help="Of the transfer function.", min=0, max=8)] = 0,
    delay: Annotated[bool, typer.Option(help="With an unknown delay.")] = True,
    tests: TestsOption = None,
) -> None:
    """Frequency response of a sweep with its coherence, and the transfer function that fits it."""
    from ironbird.credibility.plan import Plan, load_plan
    from ironbird.credibility.readers import read_record
    from ironbird.identification.frequency import GOOD_COST, recorded_response, transfer_function

    with errors():
        plan = load_plan(tests) if tests else Plan()
        low, high = numbers_of("--band", band, 2, 2, "LOW,HIGH in rad/s, for example 0.5,30")
        with working(f"frequency response of {record.name}"):
            found = recorded_response(read_record(record, columns=plan.columns("real")), input_, output, (low, high))
            fit = transfer_function(found, zeros, poles, delay=delay)
        points = zip(found.frequency_radps, found.magnitude_dB, found.phase_deg, found.coherence, strict=True)
        print_table(
            {f"{w:.3g} rad/s": f"{m:7.2f} dB  {p:8.1f}°  coherence {c:.2f}" for w, m, p, c in points},
            f"{input_} to {output} of {record.name}",
        )
        values = zip(fit.names, fit.values, fit.bounds, strict=True)
        rows = {name: f"{value:.5g} ± {bound:.2g}" for name, value, bound in values}
        rows["cost J"] = f"{fit.cost:.2f} (below {GOOD_COST:g}: hardly distinguishable from the record)"
        if fit.doubts():
            rows["poorly identified"] = ", ".join(fit.doubts())
        figures = {"cost": fit.cost, **dict(zip(fit.names, map(float, fit.values), strict=True))}
        print_table(rows, "(b0 + b1 s + …) / (a0 + a1 s + … + s^n) exp(-delay s)", figures)


def motor(
    table: Annotated[
        Path, typer.Argument(help="CSV of a static test: throttle, speed_radps or rpm, thrust_N, torque_Nm.")
    ],
    quadratic: Annotated[bool, typer.Option("--quadratic", help="A throttle curve that bends.")] = False,
) -> None:
    """Motor and propeller from a thrust stand."""
    from ironbird.identification.bench import propulsion, read_bench

    with errors():
        found = propulsion(read_bench(table), quadratic=quadratic)
        print_table({f.name: str(f) for f in found}, table.name, {f.name: vars(f) for f in found})


def pendulum(
    record: Annotated[Path, typer.Argument(help="CSV with time_s and angle_rad of the swing.")],
    mass: Annotated[str, typer.Option(metavar="KG[,SIGMA]", help=MASS_HELP)],
    spacing: Annotated[str, typer.Option(metavar="M[,SIGMA]", help="Between the strings.")],
    length: Annotated[str, typer.Option(metavar="M[,SIGMA]", help="Of the strings.")],
) -> None:
    """Inertia about the vertical from the swing on two strings."""
    from ironbird.credibility.readers import read_record
    from ironbird.identification.bench import bifilar_inertia, swing_period

    def pair(name: str, text: str) -> tuple[float, float]:
        values = numbers_of(name, text, 1, 2, "VALUE or VALUE,SIGMA")
        return values[0], values[1] if len(values) == 2 else 0.0

    with errors():
        track = read_record(record).track("angle")
        period = swing_period(track.time_s, track.values)
        found = bifilar_inertia(period, pair("--mass", mass), pair("--spacing", spacing), pair("--length", length))
        print_table({"period": str(period), "inertia": str(found)}, record.name, {"inertia": vars(found)})
