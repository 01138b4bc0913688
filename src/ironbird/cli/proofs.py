"""Verbs by which Ironbird shows something about itself: speed, determinism, estimators, what is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.output import JsonOption, errors, print_sentence, print_table
from ironbird.errors import UnknownNameError


def compare_estimators(
    lanes: Annotated[int, typer.Option(help="Flights, each with its own seed.", min=1, max=4096)] = 64,
) -> None:
    """Attitude errors of the Kalman filter and the complementary filter on the same flights, hovering and turning."""
    from ironbird.proofs.estimators import attitude_error_table

    with errors():
        rows = attitude_error_table(lanes=lanes)
    print_table(
        {f"{r.estimator}, {r.phase}": r.sentence() for r in rows}, "Attitude error", {"rows": [vars(r) for r in rows]}
    )


def doctor(
    as_json: JsonOption = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 if anything is missing or busy.")] = False,
) -> None:
    """Say what is installed for links to autopilots, which ports are busy and by whom, and what to do."""
    from ironbird.autopilots.doctor import examine

    with errors():
        findings = examine()
    if as_json:
        typer.echo(json.dumps([finding.data() for finding in findings], indent=2))
    else:
        print_table({finding.name: finding.sentence() for finding in findings}, "Doctor")
    if strict and not all(finding.good for finding in findings):
        raise typer.Exit(1)


def bench(
    what: Annotated[
        str,
        typer.Argument(
            help="kernel: steps against JSBSim; counts: their instructions by part (needs valgrind); campaign: whole "
            "flights; start: commands."
        ),
    ] = "kernel",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write the JSON to this file.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="kernel, start: short runs; tries the tool, the figures mean little.")
    ] = False,
    flights: Annotated[int, typer.Option(help="campaign: number of flights.", min=1)] = 10_000,
    workers: Annotated[int | None, typer.Option(help="campaign: processes; one per core by default.", min=1)] = None,
) -> None:
    """Measure speed: of a step against JSBSim's F450 (a minute), of a campaign, or of commands from start to end."""
    from ironbird.proofs import campaign_speed as bench_campaign
    from ironbird.proofs import counts, start_speed
    from ironbird.proofs import speed as benchmark

    with errors():
        if what == "kernel":
            result = benchmark.measure(quick=quick, progress=lambda text: typer.echo(text, err=True))
        elif what == "campaign":
            result = bench_campaign.measure(flights=flights, workers=workers)
        elif what == "counts":
            result = counts.measure()
        elif what == "start":
            result = start_speed.measure(
                rounds=1 if quick else start_speed.ROUNDS, progress=lambda text: typer.echo(text, err=True)
            )
        else:
            raise UnknownNameError("benchmark", what, ["kernel", "counts", "campaign", "start"])
        if out:
            out.write_text(benchmark.as_json(result) + "\n")
    if as_json:
        typer.echo(benchmark.as_json(result))
        return
    if what == "campaign":
        print_table({key.replace("_", " "): str(value) for key, value in result.items()}, "Speed of a campaign")
        return
    if what == "counts":
        print_table(counts.rows(result), "Instructions for a millisecond of flight and vehicle")
        return
    if what == "start":
        print_table(start_speed.rows(result), "Commands, median (lowest to highest)")
        return
    one, many = result["single_lane"], result["lanes"]
    rows = {
        "one vehicle": f"{one['us_per_ms']} µs for a millisecond of flight, {one['ratio_to_jsbsim']} times JSBSim",
        f"{many['lanes']} lanes": f"{many['us_per_ms']} µs each, {many['ratio_to_jsbsim']} times JSBSim",
        "JSBSim F450": f"{result['jsbsim']['us_per_ms']} µs",
    }
    for key, name in (("single_lane", "reference autopilot, one"), ("lanes", f"the same, {many['lanes']} lanes")):
        full = result["reference_autopilot"][key]
        rows[name] = f"{full['us_per_ms']} µs each, {full['ratio_to_jsbsim']} times JSBSim"
    print_table(rows, "Speed")


def verify_determinism(
    vehicle: Annotated[str, typer.Argument(help="A vehicle of the catalogue.")] = "quad_f450",
    until: Annotated[float, typer.Option(help="Length of the flight in seconds.", min=0.1)] = 60.0,
    control: Annotated[
        str | None, typer.Option(help="An autopilot (px4, ardupilot), flown again and again in virtual time.")
    ] = None,
    runs: Annotated[
        int, typer.Option(help="How often an autopilot flies; every second time beside busy cores.", min=2)
    ] = 4,
) -> None:
    """Fly one flight with other lanes, threads, pauses, processes and compilers, and compare the hashes of its log."""
    from ironbird.proofs.determinism import all_equal, verify, verify_outside

    results = []
    with errors():
        for result in verify_outside(control, vehicle, until, runs) if control else verify(vehicle, until_s=until):
            results.append(result)
            said = f"{result.sha256 or 'skipped: ' + result.skipped}  {result.until_s:g} s, {result.way}"
            print_sentence(said, result.way, vars(result))
    if not all_equal(results):
        typer.secho("NOT deterministic: hashes differ", fg="red", err=True)
        raise typer.Exit(1)
    typer.echo(f"deterministic: {sum(not r.skipped for r in results)} ways, equal hashes")
