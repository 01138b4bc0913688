"""The command `ironbird`: one verb, one call. Heavy packages are loaded only by the verbs that need them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ironbird.cli.autopilots import compare_autopilots, sitl_app
from ironbird.cli.campaign import campaign_app, case_app
from ironbird.cli.hardware import hil
from ironbird.cli.output import JsonOption, fail, print_table, progress_bar, settings_of, wind_of
from ironbird.errors import IronbirdError, UnknownNameError

if TYPE_CHECKING:
    from ironbird.flight.flight import Flight

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Prove a control system on the ground: fly vehicles that can be believed, break them, see what happens.",
)


faults_app = typer.Typer(invoke_without_command=True)
app.add_typer(faults_app, name="faults")
app.add_typer(case_app, name="case")
app.add_typer(campaign_app, name="campaign")
app.add_typer(sitl_app, name="sitl")
app.command("hil")(hil)
app.command("compare-autopilots")(compare_autopilots)

VehicleArgument = Annotated[
    str, typer.Argument(help="A vehicle of the catalogue (see 'ironbird vehicles') or a TOML file.")
]


WindOption = Annotated[
    str | None, typer.Option(metavar="SPEED[,FROM_DEG]", help="Steady wind in m/s and where it comes from.")
]
TurbulenceOption = Annotated[
    float,
    typer.Option(
        help="Dryden turbulence: mean wind at 20 ft in m/s; 7.7 light, 15 moderate, 23 severe.", min=0, max=60
    ),
]
SeedOption = Annotated[int, typer.Option(help="Seed of all random numbers; equal seeds give equal bytes.", min=0)]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="A parameter, for example body.mass=1.6; may be repeated."),
]
FaultOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ID:key=value,…",
        help="A fault, for example 'rotor.speed_loss@1:instance=1,severity=0.2,start=5'; may be repeated.",
    ),
]


@app.command()
def fly(
    vehicle: VehicleArgument,
    mission: Annotated[
        str | None, typer.Option(help="square, hover, or a TOML file with waypoints; by default the vehicle's own.")
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(help="reference: sensors, estimator and failsafes; truth: a controller that sees all."),
    ] = None,
    wind: WindOption = None,
    turbulence: TurbulenceOption = 0.0,
    seed: SeedOption = 0,
    set_: SetOption = None,
    fault: FaultOption = None,
    until: Annotated[
        float | None, typer.Option(help="End after this many seconds, whatever the mission says.", min=0.001)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; out/VEHICLE by default.")] = None,
    speed: Annotated[
        float | None,
        typer.Option(help="Keep to the wall clock at this factor and listen to 'ironbird tune'.", min=0.01, max=100),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="A tunings.json of an earlier flight: the same changes at the same ticks.")
    ] = None,
    ulog: Annotated[bool, typer.Option("--ulog", help="Also write a PX4 ULog file.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Also write a CSV file.")] = False,
) -> None:
    """Fly a mission and write a log (Parquet) and a page with plots.

    With faults, a twin without them flies in the same wind, and the difference is each fault's witness. Ctrl-C ends the
    flight early; what was flown until then is kept.

    Example: ironbird fly quad_f450 --wind 5,270 --fault 'rotor.speed_loss@1:instance=1,severity=0.2,start=5'
    """
    from ironbird.flight.flight import fly as fly_mission
    from ironbird.flight.live import LiveControl
    from ironbird.runtime.tuning import read_tunings

    live = None
    try:
        if speed is not None:
            live = LiveControl(out or Path("out") / Path(vehicle).stem)
            typer.echo(f"listening: ironbird tune {live.path.parent} PATH=VALUE", err=True)
        with progress_bar(f"flying {vehicle}") as update:
            flight = fly_mission(
                vehicle, mission=mission, control=control, wind=wind_of(wind, turbulence), seed=seed,
                settings=settings_of(set_ or []),
                faults=fault or [], until_s=until, progress=update, speed=speed, live=live,
                tunings=read_tunings(replay) if replay else (),
            )  # fmt: skip
        folder = out or Path("out") / flight.vehicle.id
        _write(flight, folder, ulog=ulog, csv=csv)
    except IronbirdError as error:
        fail(error)
    finally:
        if live is not None:
            live.close()
    print_table(flight.summary(), f"{flight.vehicle.spec.title}")
    typer.echo(f"log:    {folder / 'flight.parquet'}")
    typer.echo(f"report: {folder / 'flight.html'}")


def _write(flight: Flight, folder: Path, *, ulog: bool, csv: bool) -> None:
    from ironbird.report.flight_page import write_flight_page

    try:
        folder.mkdir(parents=True, exist_ok=True)
        flight.log.to_parquet(folder / "flight.parquet")
        (folder / "summary.json").write_text(json.dumps(flight.summary(), indent=2, ensure_ascii=False) + "\n")
        if flight.tunings:
            from ironbird.runtime.tuning import write_tunings

            write_tunings(folder / "tunings.json", flight.tunings)
        if ulog:
            from ironbird.report.ulog import write_ulog

            write_ulog(flight.log, folder / "flight.ulg")
        if csv:
            flight.log.to_csv(folder / "flight.csv")
        write_flight_page(flight, folder / "flight.html")
    except OSError as error:
        raise IronbirdError(f"cannot write results to {folder}: {error}") from error


@app.command()
def tune(
    folder: Annotated[Path, typer.Argument(help="Folder of a flight started with 'fly … --speed'.")],
    values: Annotated[list[str], typer.Argument(metavar="PATH=VALUE…", help="Tunable parameters and their values.")],
) -> None:
    """Change parameters of a flight while it flies; the changes are recorded and can be replayed."""
    from ironbird.flight.live import tune as tune_flight

    try:
        time_s = tune_flight(folder, dict(settings_of(values)))
    except IronbirdError as error:
        fail(error)
    typer.echo(f"changed at {time_s:.3f} s of simulation time")


@app.command("compare-estimators")
def compare_estimators(
    lanes: Annotated[int, typer.Option(help="Flights, each with its own seed.", min=1, max=4096)] = 64,
) -> None:
    """Attitude errors of the Kalman filter and the complementary filter on the same flights, hovering and turning."""
    from ironbird.proofs.estimators import attitude_error_table

    rows = attitude_error_table(lanes=lanes)
    print_table({f"{r.estimator}, {r.phase}": r.sentence() for r in rows}, "Attitude error")


@app.command()
def vehicles(as_json: JsonOption = False) -> None:
    """List the vehicles of the catalogue."""
    from ironbird.vehicles.load import load_spec, vehicle_ids

    specs = [load_spec(name) for name in vehicle_ids()]
    if as_json:
        data = [
            {"id": s.id, "title": s.title, "template": s.template, "summary": s.summary, "assumed": s.assumed()}
            for s in specs
        ]
        typer.echo(json.dumps(data, indent=2))
        return
    for template in dict.fromkeys(s.template for s in sorted(specs, key=lambda s: s.template)):
        rows = {s.id: f"{s.title}\n{s.summary}" for s in specs if s.template == template}
        print_table(rows, template.replace("_", " ").capitalize())


@app.command()
def show(
    vehicle: VehicleArgument,
    control: Annotated[str, typer.Option(help="truth, or reference with sensors and estimator.")] = "truth",
    svg: Annotated[Path | None, typer.Option(help="Where to draw the diagram; VEHICLE.svg by default.")] = None,
    source: Annotated[Path | None, typer.Option(help="Also write the generated C source here.")] = None,
) -> None:
    """Print a vehicle's diagram as a tree and draw it as an SVG picture."""
    from ironbird.report.diagram_svg import diagram_tree, write_diagram_svg
    from ironbird.vehicles.load import load_vehicle

    try:
        loaded = load_vehicle(vehicle, control=control)
        path = svg or Path(f"{loaded.id}.svg")
        typer.echo(diagram_tree(loaded.diagram))
        write_diagram_svg(loaded.diagram, path)
        if source:
            from ironbird.compiler.compiled import compile_model

            source.write_text(compile_model(loaded.diagram).source.text)
            typer.echo(f"source:  {source}")
    except OSError as error:
        fail(IronbirdError(f"cannot write: {error}"))
    except IronbirdError as error:
        fail(error)
    typer.echo(f"picture: {path}")


SpeedOption = Annotated[
    float | None, typer.Option(help="In m/s to the north; hovering if the vehicle can, else its cruise speed.", min=0)
]


@app.command("trim")
def trim_vehicle(vehicle: VehicleArgument, speed: SpeedOption = None, set_: SetOption = None) -> None:
    """Find steady level motion: attitude, actuator commands, thrusts."""
    from ironbird.analysis.level import level_trim

    try:
        found = level_trim(vehicle, speed, settings=settings_of(set_ or []))
    except IronbirdError as error:
        fail(error)
    print_table(found.rows(), f"{found.vehicle.spec.title}: trim")


@app.command("modes")
def modes_of_vehicle(
    vehicle: VehicleArgument, speed: SpeedOption = None, set_: SetOption = None, as_json: JsonOption = False
) -> None:
    """Linear modes of the bare vehicle at its trim: eigenvalues, frequency, damping, and the states that take part."""
    from ironbird.analysis.level import level_trim, modes_at

    try:
        found = modes_at(level_trim(vehicle, speed, settings=settings_of(set_ or [])))
    except IronbirdError as error:
        fail(error)
    if as_json:
        rows = [{"real": m.value.real, "imaginary": m.value.imag, "states": m.states} for m in found]
        typer.echo(json.dumps(rows, indent=2))
        return
    print_table({f"{n}": f"{m.sentence()}\n{', '.join(m.states)}" for n, m in enumerate(found, 1)}, f"{vehicle}: modes")


@app.command("fleet")
def fleet_table(
    seeds: Annotated[int, typer.Option(help="Flights of each vehicle, side by side.", min=1, max=4096)] = 20,
    vehicle: Annotated[list[str] | None, typer.Option(help="A vehicle; may be repeated. All by default.")] = None,
    as_json: JsonOption = False,
    markdown: Annotated[Path | None, typer.Option(help="Also write the table as a page.")] = None,
) -> None:
    """Fly every vehicle's own mission in wind, or current, with many seeds: outcome, tracking error, speed.

    Ends with exit code 1 if any flight was lost.
    """
    from ironbird.campaign import fleet

    try:
        rows = fleet.fly_fleet(vehicle or [], seeds, lambda text: typer.echo(text, err=True))
        if markdown:
            markdown.write_text(fleet.page(rows), encoding="utf-8")
    except OSError as error:
        fail(IronbirdError(f"cannot write: {error}"))
    except IronbirdError as error:
        fail(error)
    if as_json:
        typer.echo(json.dumps([fleet.as_data(row) for row in rows], indent=2))
    else:
        print_table({row.vehicle: row.sentence() for row in rows}, f"Fleet, {seeds} seeds each")
    if any(row.lost for row in rows):
        raise typer.Exit(1)


@faults_app.callback()
def faults(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the faults that can be injected, with what their severity means; `show` explains and draws one."""
    from ironbird.faults.catalog import FAULTS, GRAMMAR

    if context.invoked_subcommand:
        return
    if as_json:
        keys = ("id", "summary", "severity", "reference", "witness")
        rows = [
            {**{key: getattr(f, key) for key in keys}, "targets": [c.target for c in f.changes]}
            for f in FAULTS.values()
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    print_table({f.id: f"{f.summary} Severity: {f.severity}." for f in FAULTS.values()}, "Faults")
    typer.echo(f"written as {GRAMMAR}")


@faults_app.command("show")
def show_fault(
    fault: Annotated[str, typer.Argument(help="The fault's id, or a whole order as for 'fly --fault'.")],
    vehicle: Annotated[str, typer.Option(help="The vehicle that shows it.")] = "quad_f450",
    out: Annotated[Path | None, typer.Option(help="Folder for the page; out/faults/ID by default.")] = None,
) -> None:
    """Explain a fault and draw the signal that shows it, before and after, in a hover flight with a healthy twin."""
    from ironbird.faults.catalog import parse_fault
    from ironbird.flight.flight import fly as fly_mission

    try:
        order = parse_fault(fault if ":" in fault else f"{fault}:start=15,end=20")
        print_table(
            {
                "what": order.fault.summary,
                "severity": order.fault.severity,
                "changes": "\n".join(order.targets),
                "shown by": order.witness,
                "source": order.fault.reference,
            },
            order.fault.id,
        )
        flight = fly_mission(vehicle, mission="hover", faults=[order], until_s=25.0, control="reference")
        folder = out or Path("out") / "faults" / order.fault.id
        _write(flight, folder, ulog=False, csv=False)
    except IronbirdError as error:
        fail(error)
    typer.echo(flight.witnesses[0].sentence())
    typer.echo(f"report: {folder / 'flight.html'}")


@app.command()
def mixer(
    file: Annotated[Path, typer.Argument(help="A PX4 mixer file, for example quad_x.main.mix.")],
    as_json: JsonOption = False,
) -> None:
    """Explain a PX4 mixer file: which control goes to which output; for rotors the matrix and a drawing."""
    from ironbird.report.mixer_text import mixer_data, mixer_rows
    from ironbird.vehicles.mixer import load_mixer

    try:
        loaded = load_mixer(file)
    except IronbirdError as error:
        fail(error)
    if as_json:
        typer.echo(json.dumps(mixer_data(loaded), indent=2))
        return
    for warning in loaded.warnings:
        typer.secho(f"warning: {warning}", fg="yellow", err=True)
    for title, rows in mixer_rows(loaded):
        print_table(rows, title)


@app.command()
def autopilot(
    vehicle: Annotated[str, typer.Option(help="Whose control system it is.")] = "quad_f450",
    px4: Annotated[bool, typer.Option("--px4-protocol", help="Connect to a simulator as PX4 does.")] = False,
    ardupilot: Annotated[
        bool, typer.Option("--ardupilot-protocol", help="Speak to a simulator as ArduPilot does.")
    ] = False,
    port: Annotated[int | None, typer.Option(help="4560 (TCP) or 9002 (UDP) by default.", min=1, max=65535)] = None,
    serial: Annotated[
        str | None, typer.Option(help="As a PX4 board on this serial port, for 'ironbird hil --port'.")
    ] = None,
    udp: Annotated[
        int | None, typer.Option(help="As a PX4 board on UDP, for 'ironbird hil --udp'.", min=1, max=65535)
    ] = None,
    baud: Annotated[int, typer.Option(help="Of the serial port.", min=1200, max=12_000_000)] = 921_600,
    host: Annotated[str, typer.Option(help="Where the simulator runs.")] = "127.0.0.1",
    mission: Annotated[str | None, typer.Option(help="By default the vehicle's own.")] = None,
    arm_after: Annotated[float | None, typer.Option(help="Simulation time of the first arming, s.", min=0.0)] = None,
) -> None:
    """Run the reference autopilot in a process of its own behind the protocol of PX4 or ArduPilot.

    For trying a simulator's link without their binaries: it flies the mission by itself, from what comes over the link.
    As a board it prints at the end what it heard.
    """
    from ironbird.flight.mission import load_mission
    from ironbird.links import standin
    from ironbird.links.hardware.cable import DatagramCable, SerialCable
    from ironbird.vehicles.load import load_vehicle

    try:
        if [px4, ardupilot, serial is not None, udp is not None].count(True) != 1:
            raise IronbirdError("give one of --px4-protocol and --ardupilot-protocol, --serial and --udp")
        loaded = load_vehicle(vehicle, control="reference")
        params = load_mission(mission or loaded.spec.mission).params(loaded.diagram.param("navigator.table").columns)
        pilot = standin.ReferenceAutopilot(loaded, params=params, arm_after_s=arm_after)
        typer.echo(f"{loaded.id}: ready", err=True)
        if px4:
            standin.run_px4(pilot, host=host, port=port or 4560)
        elif serial is not None or udp is not None:
            cable = SerialCable(serial, baud) if serial else DatagramCable(0, host, peer=(host, udp or 0))
            typer.echo(json.dumps(standin.run_px4_board(pilot, cable).data()))
        else:
            standin.run_ardupilot(pilot, host=host, port=port or 9002)
    except IronbirdError as error:
        fail(error)


@app.command()
def doctor(
    as_json: JsonOption = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 if anything is missing or busy.")] = False,
) -> None:
    """Say what is installed for links to autopilots, which ports are busy and by whom, and what to do."""
    from ironbird.links.doctor import examine

    findings = examine()
    if as_json:
        typer.echo(json.dumps([finding.data() for finding in findings], indent=2))
    else:
        print_table({finding.name: finding.sentence() for finding in findings}, "Doctor")
    if strict and not all(finding.good for finding in findings):
        raise typer.Exit(1)


@app.command()
def bench(
    what: Annotated[str, typer.Argument(help="kernel: steps against JSBSim; campaign: whole flights.")] = "kernel",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write the JSON to this file.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="kernel: short runs; tries the tool, the figures mean little.")
    ] = False,
    flights: Annotated[int, typer.Option(help="campaign: number of flights.", min=1)] = 10_000,
    workers: Annotated[int | None, typer.Option(help="campaign: processes; one per core by default.", min=1)] = None,
) -> None:
    """Measure speed: of a step against JSBSim's F450 on one core (a minute), or of a campaign of faulted flights."""
    from ironbird.proofs import campaign_speed as bench_campaign
    from ironbird.proofs import speed as benchmark

    try:
        if what == "kernel":
            result = benchmark.measure(quick=quick, progress=lambda text: typer.echo(text, err=True))
        elif what == "campaign":
            result = bench_campaign.measure(flights=flights, workers=workers)
        else:
            raise UnknownNameError("benchmark", what, ["kernel", "campaign"])
    except IronbirdError as error:
        fail(error)
    if out:
        out.write_text(benchmark.as_json(result) + "\n")
    if as_json:
        typer.echo(benchmark.as_json(result))
        return
    if what == "campaign":
        print_table({key.replace("_", " "): str(value) for key, value in result.items()}, "Speed of a campaign")
        return
    one, many = result["single_lane"], result["lanes"]
    rows = {
        "one vehicle": f"{one['us_per_step']} µs a step, {one['ratio_to_jsbsim']} times JSBSim",
        f"{many['lanes']} lanes": f"{many['us_per_step']} µs a step each, {many['ratio_to_jsbsim']} times JSBSim",
        "JSBSim F450": f"{result['jsbsim']['us_per_step']} µs a step",
    }
    for key, name in (("single_lane", "reference autopilot, one"), ("lanes", f"the same, {many['lanes']} lanes")):
        full = result["reference_autopilot"][key]
        rows[name] = f"{full['us_per_step']} µs a step each, {full['ratio_to_jsbsim']} times JSBSim"
    names = {
        "cold_start_s": "hover flight of 10 s, empty cache",
        "warm_start_s": "hover flight of 10 s, warm",
        "help_s": "fly --help",
    }
    rows.update({name: f"{result[key]} s" for key, name in names.items() if key in result})
    print_table(rows, "Speed")


@app.command("verify-determinism")
def verify_determinism(
    vehicle: Annotated[str, typer.Argument(help="A vehicle of the catalogue.")] = "quad_f450",
    until: Annotated[float, typer.Option(help="Length of the flight in seconds.", min=0.1)] = 60.0,
) -> None:
    """Run one flight in every way that must not matter and compare the hashes of its log."""
    from ironbird.proofs.determinism import all_equal, verify

    results = []
    try:
        for result in verify(vehicle, until_s=until):
            results.append(result)
            typer.echo(f"{result.sha256 or 'skipped: ' + result.skipped}  {result.until_s:g} s, {result.way}")
    except IronbirdError as error:
        fail(error)
    if not all_equal(results):
        typer.secho("NOT deterministic: hashes differ", fg="red", err=True)
        raise typer.Exit(1)
    typer.echo(f"deterministic: {sum(not r.skipped for r in results)} ways, equal hashes")


def main() -> None:
    """Entry point of the command."""
    app()


if __name__ == "__main__":
    main()
