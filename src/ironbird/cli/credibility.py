"""The verb `ironbird credibility`: is a simulation, or a model, like the real vehicle?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.options import SetOption, numbers_of, settings_of
from ironbird.cli.output import EXIT_CODES, JsonOption, errors, print_table


def credibility(
    real: Annotated[Path, typer.Argument(help="Record of the real vehicle: .ulg, .BIN, .parquet or .csv.")],
    simulated: Annotated[
        list[Path] | None, typer.Argument(metavar="SIM...", help="Simulated record; several are repeats or seeds.")
    ] = None,
    tests: Annotated[Path | None, typer.Option(help="TOML file of tests; else the usual ones.")] = None,
    drive: Annotated[bool, typer.Option("--drive", help="Let the recorded commands drive a model.")] = False,
    vehicle: Annotated[str | None, typer.Option(help="The model to drive: a catalogue name or a TOML file.")] = None,
    setpoints: Annotated[
        bool,
        typer.Option("--setpoints", help="With --drive: the recorded set-points fly it, by the reference autopilot."),
    ] = False,
    restart: Annotated[
        float | None, typer.Option(help="With --drive: start again from the record so often, in s.", min=0.05, max=1e4)
    ] = None,
    set_: SetOption = None,
    window: Annotated[str | None, typer.Option(metavar="FROM,TO", help="Seconds of the real record.")] = None,
    shift: Annotated[float | None, typer.Option(help="Time shift in s; estimated if it is not given.")] = None,
    most_shift: Annotated[float | None, typer.Option(help="Largest shift of the estimate, in s.", min=0)] = None,
    mean: Annotated[str | None, typer.Option(help="rms or arithmetic.")] = None,
    weight: Annotated[
        list[str] | None, typer.Option(metavar="CLASS=NUMBER", help="Of performance, time or frequency.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Tolerable error as a share of the figure or span.", min=1e-6, max=10)
    ] = None,
    salvage: Annotated[bool, typer.Option("--salvage", help="Accept a record that is cut off.")] = False,
    evidence: Annotated[
        str | None, typer.Option(metavar="MODULE", help="Write the result into the vehicle's evidence sheet.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("out/credibility"),
    as_json: JsonOption = False,
) -> None:
    """Compare a real record with simulated ones, or with a model that the recorded commands drive."""
    import json

    from ironbird.credibility.compare import check_mark, compare
    from ironbird.credibility.drive import drive as drive_model
    from ironbird.credibility.evidence import add_entry, standing
    from ironbird.credibility.index import MEANS
    from ironbird.credibility.plan import Plan, load_plan
    from ironbird.credibility.readers import read_record
    from ironbird.credibility.setpoints import fitted, fly_setpoints
    from ironbird.errors import RecordError, UnknownNameError
    from ironbird.report.credibility_page import (
        credibility_numbers,
        write_credibility_json,
        write_credibility_page,
    )

    with errors():
        plan = load_plan(tests) if tests else Plan()
        changes: dict[str, object] = {}
        if mean is not None:
            if mean not in MEANS:
                raise UnknownNameError("mean", mean, MEANS)
            changes["mean"] = mean
        if weight:
            changes["weights"] = {**plan.weights, **dict(check_mark(text) for text in weight)}
        if tolerance is not None:
            changes["tolerance"] = tolerance
        plan = plan.model_copy(update=changes)
        span = numbers_of("--window", window, 2, 2, "FROM,TO in seconds, for example 10,25") if window else None
        asked = (span[0], span[1]) if span else None
        if drive == bool(simulated):
            raise RecordError("give either simulated records, or --drive with --vehicle")
        if setpoints and not drive:
            raise RecordError("--setpoints goes with --drive and --vehicle")
        if (drive or evidence) and vehicle is None:
            raise RecordError("--drive and --evidence need --vehicle: a catalogue name or a TOML file")
        record = read_record(real, columns=plan.columns("real"), salvage=salvage)
        if drive and setpoints:
            assert vehicle is not None
            flown, window_s = fly_setpoints(record, vehicle, window_s=asked, params=settings_of(set_))
            comparison = compare(record, [flown], fitted(plan, record), shift_s=0.0, window_s=window_s)
            title = (
                f"{vehicle if not vehicle.endswith('.toml') else Path(vehicle).stem} by the set-points of {real.name}"
            )
        elif drive:
            assert vehicle is not None
            driven = drive_model(
                record, vehicle, plan.drive, restart_s=restart, window_s=asked, params=settings_of(set_)
            )
            comparison = compare(
                driven.real, [driven.simulated], driven.fitted(plan), shift_s=0.0, window_s=driven.window_s
            )
            comparison = driven.beside(comparison)
            title = f"{vehicle if not vehicle.endswith('.toml') else Path(vehicle).stem} against {real.name}"
        else:
            records = [read_record(p, columns=plan.columns("sim"), salvage=salvage) for p in simulated or []]
            comparison = compare(record, records, plan, shift_s=shift, window_s=asked, most_shift_s=most_shift)
            title = f"{records[0].path.name} against {real.name}"
        if evidence:
            assert vehicle is not None
            add_entry(comparison, vehicle, evidence)
        levels = standing(vehicle) if vehicle else []
        page = out / "credibility.html"
        write_credibility_page(comparison, page, title=title, levels=levels)
        write_credibility_json(comparison, out / "credibility.json")
    if as_json:
        typer.echo(json.dumps(credibility_numbers(comparison), indent=2))
        raise typer.Exit(EXIT_CODES["pass" if comparison.passed else "fail"])
    rows = {
        "time shift": "; ".join(str(s) for s in comparison.shifts),
        **{f"{i.test.name}": _said(i.value, i.low, i.high, i.passed) for i in comparison.indices},
        **{f"class {name}": _said(*value) for name, value in comparison.classes.items()},
        "overall": _said(*comparison.overall),
        "smallest": f"{comparison.smallest.least:.4f} ({comparison.smallest.test.name})",
    }
    print_table(rows, title)
    typer.echo(f"report: {page}")
    raise typer.Exit(EXIT_CODES["pass" if comparison.passed else "fail"])


def _said(value: float, low: float, high: float, passed: bool | None = None) -> str:
    word = {True: "  pass", False: "  fail", None: ""}[passed]
    return f"{value:.4f} ({low:.4f} to {high:.4f}){word}"
