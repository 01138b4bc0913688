"""Commands by which Ironbird shows something about itself: speed, determinism, estimators, what is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ironbird.cli.completion import vehicle_names
from ironbird.cli.exit_codes import WRONG, code_of, code_of_all
from ironbird.cli.kind_options import spelled_out
from ironbird.cli.options import (
    ControlOption,
    OutOption,
    SeedsOption,
    StrictOption,
    UntilOption,
    WorkersOption,
    check_suite,
)
from ironbird.cli.output import (
    JsonOption,
    errors,
    print_columns,
    print_json,
    print_report,
    print_sentence,
    print_table,
    results_folder,
)
from ironbird.files.json_text import json_text
from ironbird.files.work import working

BENCH = "ironbird/bench/1"  # schema of figures without a schema of their own
QuickOption = Annotated[bool, typer.Option("--quick", help="Short runs: they try the tool, their figures mean little.")]


def doctor(
    as_json: JsonOption = False,
    strict: StrictOption = False,
) -> None:
    """Say what is installed (autopilots, compiler, extras), which ports are busy and by whom, and what to do.

    Ends with 1 if something is NOT OK, with --strict also if something optional is absent.
    """
    from ironbird.autopilots.doctor import examine, shortened_list

    with errors(), working("looking at programs and ports"):
        findings = examine()
    if as_json:
        print_json({"findings": [finding.data() for finding in findings]}, "ironbird/doctor/1")
    else:
        rows = [(finding.name, finding.state, finding.text, finding.cure) for finding in shortened_list(findings)]
        print_columns(("thing", "state", "what was found", "what to do"), rows, "Doctor")
    if not all(finding.good or (finding.optional and not strict) for finding in findings):
        raise typer.Exit(1)


def kernel(quick: QuickOption = False, out: OutOption = None, as_json: JsonOption = False) -> None:
    """Measure the time of a simulation step against JSBSim's F450, in the same run (a minute)."""
    from ironbird.proofs import speed

    with errors():
        result = speed.measure(quick=quick, progress=_say)
        _print(result, "ironbird/speed/1", lambda: _kernel_rows(result), "Speed", out, as_json)


def _kernel_rows(result: dict[str, Any]) -> dict[str, str]:
    """The figures of `bench kernel` in words."""
    one, many = result["single_lane"], result["lanes"]
    rows = {
        "one vehicle": f"{one['us_per_ms']} µs for a millisecond of flight, {one['ratio_to_jsbsim']} times JSBSim",
        f"{many['lanes']} lanes": f"{many['us_per_ms']} µs each, {many['ratio_to_jsbsim']} times JSBSim",
        "JSBSim F450": f"{result['jsbsim']['us_per_ms']} µs",
    }
    for key, name in (("single_lane", "reference autopilot, one"), ("lanes", f"the same, {many['lanes']} lanes")):
        full = result["reference_autopilot"][key]
        rows[name] = f"{full['us_per_ms']} µs each, {full['ratio_to_jsbsim']} times JSBSim"
    return rows


def campaign(
    flights: Annotated[int, typer.Argument(help="Number of flights.", min=1)] = 10_000,
    workers: WorkersOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a campaign of whole flights: flights a second, memory, share of the time outside the kernel."""
    from ironbird.proofs import campaign_speed

    with errors():
        _say(f"flying a campaign of {flights} flights")  # no thread of a bar: workers are copies of this process
        result = campaign_speed.measure(flights=flights, workers=workers)
        _print(
            {"bench": "campaign", "figures": result},
            BENCH,
            lambda: {key.replace("_", " "): str(value) for key, value in result.items()},
            "Speed of a campaign",
            out,
            as_json,
        )


def counts(out: OutOption = None, as_json: JsonOption = False) -> None:
    """Count processor instructions for a millisecond of flight, by part of the model (needs valgrind)."""
    from ironbird.proofs import counts as counting

    with errors():
        with working("counting instructions"):
            result = counting.measure()
        title = "Instructions for a millisecond of flight and vehicle"
        _print({"bench": "counts", "figures": result}, BENCH, lambda: counting.rows(result), title, out, as_json)


def start(quick: QuickOption = False, out: OutOption = None, as_json: JsonOption = False) -> None:
    """Measure commands from start to end, with cold and warm caches."""
    from ironbird.proofs import start_speed

    with errors():
        result = start_speed.measure(rounds=1 if quick else start_speed.ROUNDS, progress=_say)
        title = "Commands, median (lowest to highest)"
        _print({"bench": "start", "figures": result}, BENCH, lambda: start_speed.rows(result), title, out, as_json)


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _print(
    data: dict[str, Any], schema: str, rows: Callable[[], dict[str, str]], title: str, out: Path | None, as_json: bool
) -> None:
    """Write the figures to a file if one is asked for, and print them as JSON or in words."""
    if out:
        out.write_text(json_text(data, schema))
    if as_json:
        print_json(data, schema)
    else:
        print_table(rows(), title)


def determinism(
    vehicle: Annotated[str, typer.Argument(help="A vehicle of the catalogue.")] = "quad_f450",
    until: UntilOption = 60.0,
    control: ControlOption = None,
    runs: Annotated[
        int, typer.Option(help="How often an autopilot flies; every second time beside busy cores.", min=2)
    ] = 4,
) -> None:
    """Fly one flight with other lanes, threads, pauses, processes and compilers, and compare the hashes of its log."""
    from ironbird.proofs.determinism import all_equal, verify, verify_outside

    results = []
    with errors():
        for result in (
            verify_outside(control, vehicle, until or 60.0, runs) if control else verify(vehicle, until_s=until or 60.0)
        ):
            results.append(result)
            said = f"{result.sha256 or 'skipped: ' + result.skipped}  {result.until_s:g} s, {result.way}"
            print_sentence(said, result.way, vars(result))
    if not all_equal(results):
        typer.secho("NOT deterministic: hashes differ", fg="red", err=True)
        raise typer.Exit(1)
    typer.echo(f"deterministic: {sum(not r.skipped for r in results)} ways, equal hashes")


def estimators(
    lanes: Annotated[int, typer.Option(help="Flights, each with its own seed.", min=1, max=4096)] = 64,
) -> None:
    """Attitude errors of the Kalman filter and the complementary filter on the same flights, hovering and turning."""
    from ironbird.proofs.estimators import attitude_error_table

    with errors(), working(f"flying {lanes} flights with each estimator"):
        rows = attitude_error_table(lanes=lanes)
    print_table(
        {f"{r.estimator}, {r.phase}": r.sentence() for r in rows}, "Attitude error", {"rows": [vars(r) for r in rows]}
    )


def fleet(
    vehicle: Annotated[list[str] | None, typer.Argument(help="Vehicles of the catalogue; all by default.")] = None,
    seeds: SeedsOption = 20,
    as_json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Fly every vehicle's own mission in wind, or current, with many seeds: outcome, tracking error, speed.

    Ends with exit code 1 if any flight did not complete its mission.
    """
    from ironbird.campaign import fleet as flights

    with errors():
        rows = flights.fly_fleet(vehicle or [], seeds, lambda text: typer.echo(text, err=True))
        if out:
            out.write_text(flights.page(rows), encoding="utf-8")
    if as_json:
        print_json({"vehicles": [flights.as_data(row) for row in rows]}, "ironbird/fleet/1")
    else:
        print_table({row.vehicle: row.sentence() for row in rows}, f"Fleet, {seeds} seeds each")
    if not all(row.good for row in rows):
        raise typer.Exit(1)


def wasm(
    vehicle: Annotated[
        list[str] | None,
        typer.Argument(help="Vehicles of the catalogue; all by default.", autocompletion=vehicle_names),
    ] = None,
    faults: Annotated[int, typer.Option(help="Flights with a fault, besides one without.", min=0, max=50)] = 5,
    seconds: Annotated[
        float, typer.Option(help="Length of the flight that is recorded for the back-to-back test.", min=1, max=600)
    ] = 10.0,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fly vehicles with faults as WebAssembly in Node.js and compare every byte with the kernel's; exit code 1 if any
    differs."""
    from ironbird.proofs.wasm import compare

    rows = []
    with errors():
        for row in compare(vehicle or [], faults=faults, seconds=seconds):
            rows.append(row)
            _say(f"{row.vehicle}: {row.sentence()}")
        table = [
            {"vehicle": r.vehicle, "kind": r.kind, "module_bytes": r.module_bytes, "packed_bytes": r.packed_bytes}
            | {"equal": r.equal, "flights": [vars(flight) for flight in r.flights]}
            for r in rows
        ]
        words = {row.vehicle: row.sentence() for row in rows}
        _print({"bench": "wasm", "figures": {"rows": table}}, BENCH, lambda: words, "WebAssembly", out, as_json)
    if not all(row.equal == len(row.flights) for row in rows):
        typer.secho("NOT equal: a module differs from the kernel", fg="red", err=True)
        raise typer.Exit(1)


def compare_autopilots(
    case: Annotated[str, typer.Argument(help="A case file with one case, or FILE:CASE.")],
    system: Annotated[
        list[str] | None,
        typer.Option(help="A control system; may be repeated. By default reference, px4 and ardupilot."),
    ] = None,
    px4: Annotated[str | None, typer.Option(help="PX4's build folder.")] = None,
    ardupilot: Annotated[str | None, typer.Option(help="ArduPilot's folder.")] = None,
    out: OutOption = None,
) -> None:
    """Fly one case under several control systems and put them on one page. Exit code 1 if any did not pass.

    All autopilots fly in the same kind of time: virtual, or as the case's option `time` says. With faults each flies
    healthy flights beside, which show what the faults caused (option `twin`).
    """
    with errors():
        file, _, one_case = case.partition(":")
        check_suite(file, case=one_case or None)
        for name in system or ():
            spelled_out(name, {})
    from ironbird.campaign.compare import compare, first_flight
    from ironbird.report.compare_page import write_compare_page
    from ironbird.report.folder import write_flight_folder

    with errors(), results_folder(out, "autopilots") as out:
        folders = {"px4": px4, "ardupilot": ardupilot}
        systems: dict[str, dict[str, Any]] = {}
        for name in system or ("reference", "px4", "ardupilot"):
            folder = folders.get(name)
            systems[name] = {"folder": folder} if folder else {}
        with working(f"flying {case} under {', '.join(systems)}"):
            flown = compare(first_flight(case), systems, out)
        for one in flown:
            if one.flight is not None:
                write_flight_folder(one.flight, out / one.name)
        write_compare_page(flown, out / "comparison.html")
    figures = {one.name: one.flight.figures() if one.flight is not None else None for one in flown}
    print_table({one.name: one.sentence() for one in flown}, case, figures)
    print_report(out / "comparison.html")
    raise typer.Exit(code_of_all([code_of(one.flight) if one.flight is not None else WRONG for one in flown]))
