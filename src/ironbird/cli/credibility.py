"""The verb `ironbird model credibility`: is a simulation, or a model, like the real vehicle?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.exit_codes import EXIT_CODES
from ironbird.cli.options import (
    TOLERANCE_HELP,
    OtherVehicleOption,
    OutOption,
    SalvageOption,
    SetOption,
    TestsOption,
    WindowOption,
    check_record,
    settings_of,
    window_of,
)
from ironbird.cli.output import JsonOption, errors, lead_to, print_json, print_report, results_folder
from ironbird.errors import RecordError, UnknownNameError
from ironbird.files.work import working

if TYPE_CHECKING:
    from ironbird.credibility.compare import Comparison
    from ironbird.credibility.plan import Plan
    from ironbird.credibility.record import Record


def credibility(
    real: Annotated[Path, typer.Argument(help="Record of the real vehicle: .ulg, .BIN, .parquet or .csv.")],
    simulated: Annotated[
        list[Path] | None, typer.Argument(metavar="SIM...", help="Simulated record; several are repeats or seeds.")
    ] = None,
    tests: TestsOption = None,
    drive: Annotated[bool, typer.Option("--drive", help="Let the recorded commands drive a model.")] = False,
    vehicle: OtherVehicleOption = None,
    setpoints: Annotated[
        bool,
        typer.Option("--setpoints", help="With --drive: the recorded set-points fly it, by the reference autopilot."),
    ] = False,
    restart: Annotated[
        float | None, typer.Option(help="With --drive: start again from the record so often, in s.", min=0.05, max=1e4)
    ] = None,
    set_: SetOption = None,
    window: WindowOption = None,
    time_shift: Annotated[float | None, typer.Option(help="Time shift in s; estimated if it is not given.")] = None,
    most_shift: Annotated[float | None, typer.Option(help="Largest shift of the estimate, in s.", min=0)] = None,
    mean: Annotated[str | None, typer.Option(help="rms or arithmetic.")] = None,
    weight: Annotated[
        list[str] | None, typer.Option(metavar="CLASS=NUMBER", help="Of performance, time or frequency.")
    ] = None,
    tolerance: Annotated[float | None, typer.Option(help=TOLERANCE_HELP, min=1e-6, max=10)] = None,
    salvage: SalvageOption = False,
    evidence: Annotated[
        str | None, typer.Option(metavar="MODULE", help="Write the result into the vehicle's evidence sheet.")
    ] = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a real record with simulated ones, or with a model that the recorded commands drive."""
    with errors():
        asked = window_of(window)
        _check(real, simulated, vehicle, mean, drive=drive, setpoints=setpoints, evidence=evidence)
    from ironbird.credibility.compare import compare
    from ironbird.credibility.evidence import add_entry
    from ironbird.credibility.readers import read_record
    from ironbird.report.credibility_page import credibility_numbers

    with errors():
        plan = _plan(tests, mean, weight or [], tolerance)
        with working(f"reading {real.name}"):
            record = read_record(real, columns=plan.columns("real"), salvage=salvage)
        if drive:
            assert vehicle is not None
            how = {"window_s": asked, "params": settings_of(set_)}
            with working(f"driving {vehicle} by the record and comparing"):
                comparison, words = _driven(record, vehicle, plan, how, setpoints=setpoints, restart_s=restart)
            title = f"{vehicle if not vehicle.endswith('.toml') else Path(vehicle).stem} {words} {real.name}"
        else:
            with working("reading the simulated records"):
                records = [read_record(p, columns=plan.columns("sim"), salvage=salvage) for p in simulated or []]
            with working("comparing the records"):
                comparison = compare(record, records, plan, shift_s=time_shift, window_s=asked, most_shift_s=most_shift)
            title = f"{records[0].path.name} against {real.name}"
        if evidence:
            assert vehicle is not None
            add_entry(comparison, vehicle, evidence)
        with results_folder(out, "credibility") as folder:
            page = _write(comparison, folder, title, vehicle)
    if as_json:
        print_json(credibility_numbers(comparison), "ironbird/credibility/1")
        lead_to(page)
    else:
        typer.echo(title)
        given = [str(real), *(["--tests", str(tests)] if tests else []), *(["--window", window] if window else [])]
        for line in _lines(comparison, " ".join(given), vehicle, driven=drive and not setpoints):
            typer.echo(f"  {line}")
        print_report(page)
    raise typer.Exit(EXIT_CODES["pass" if comparison.passed else "fail"])


def _check(
    real: Path, simulated: list[Path] | None, vehicle: str | None, mean: str | None, *, drive: bool, setpoints: bool,
    evidence: str | None,
) -> None:  # fmt: skip
    """Refuse what does not fit together before any record is read."""
    if drive == bool(simulated):
        raise RecordError(
            f"{'both simulated records and --drive are' if drive else 'nothing is'} given to compare {real} with: "
            "give either simulated records, or --drive with --vehicle"
        )
    if setpoints and not drive:
        raise RecordError("--setpoints goes with --drive and --vehicle: add both")
    if (drive or evidence) and vehicle is None:
        raise RecordError("--drive and --evidence need --vehicle: a catalogue name or a TOML file")
    if mean is not None and mean not in ("rms", "arithmetic"):
        raise UnknownNameError("--mean", mean, ("rms", "arithmetic"))
    for record_file in (real, *(simulated or ())):
        check_record(record_file)


def _write(comparison: Comparison, folder: Path, title: str, vehicle: str | None) -> Path:
    """Write the page and the numbers of a comparison; returns the page."""
    from ironbird.credibility.evidence import standing
    from ironbird.report.credibility_page import write_credibility_json, write_credibility_page

    page = folder / "credibility.html"
    with working("writing the page of the comparison"):
        write_credibility_page(comparison, page, title=title, levels=standing(vehicle) if vehicle else [])
        write_credibility_json(comparison, folder / "credibility.json")
    return page


def _driven(
    record: Record, vehicle: str, plan: Plan, how: dict[str, Any], *, setpoints: bool, restart_s: float | None
) -> tuple[Comparison, str]:
    """A record beside a model that its commands drive, or that its set-points fly; and what that is called."""
    from ironbird.credibility.compare import compare
    from ironbird.credibility.drive import drive
    from ironbird.credibility.setpoints import fitted, fly_setpoints
    from ironbird.credibility.wrong import with_wrong_models

    if setpoints:
        flown, window_s = fly_setpoints(record, vehicle, **how)
        found = compare(record, [flown], fitted(plan, record), shift_s=0.0, window_s=window_s)
        return found, "by the set-points of"
    how = {**how, "restart_s": restart_s}
    driven = drive(record, vehicle, plan.drive, **how)
    found = compare(driven.real, [driven.simulated], driven.fitted(plan), shift_s=0.0, window_s=driven.window_s)
    found = with_wrong_models(driven.beside(found), driven, record, vehicle, plan.drive, how)
    return found, "against"


def _plan(tests: Path | None, mean: str | None, weight: list[str], tolerance: float | None) -> Plan:
    """The tests of a file, or the usual ones, with what the command line changes."""
    from ironbird.credibility.compare import check_mark
    from ironbird.credibility.index import MEANS
    from ironbird.credibility.plan import Plan, load_plan
    from ironbird.errors import UnknownNameError

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
    return plan.model_copy(update=changes)


def _lines(comparison: Comparison, real: str, vehicle: str | None, *, driven: bool) -> list[str]:
    """Verdict, worst tests, likely cause and the next command, for which `real` is the record and its options."""
    from ironbird.credibility.summary import distinguished, likely_cause, verdict, worst_tests

    cause, name = likely_cause(comparison), vehicle or "VEHICLE"
    lines = [
        verdict(comparison),
        *distinguished(comparison),
        *([] if comparison.worthless else worst_tests(comparison)),
    ]
    helps = ""
    if cause is not None:
        helps = cause.helps
        if cause.free and (vehicle is None or _has_rotors(vehicle)):
            helps = f"ironbird model identify {real} --vehicle {name} --free {','.join(cause.free)}"
        lines.append(f"likely cause: {cause.text}" + (f"; {helps}" if helps else ""))
    if comparison.passed:
        return [*lines, "next: the page has all tests, curves and measures"]
    if not driven:
        return [*lines, f"next: ironbird model credibility {real} --drive --vehicle {name}, the model without control"]
    return lines if helps else [*lines, "next: the page shows when the error grows, and the delay of each signal"]


def _has_rotors(vehicle: str) -> bool:
    """Whether the words of `identify` about rotors are parameters of a vehicle."""
    from ironbird.vehicles.load import load_spec

    return load_spec(vehicle).template == "multicopter"
