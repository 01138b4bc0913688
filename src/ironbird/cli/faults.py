"""Commands about faults: the catalogue, a search in it, and one fault explained and shown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.completion import fault_names
from ironbird.cli.options import FaultsFileOption, OtherVehicleOption, OutOption
from ironbird.cli.output import JsonOption, errors, lead_to, print_columns, print_json, print_table
from ironbird.errors import FaultError
from ironbird.files.work import working

if TYPE_CHECKING:
    from ironbird.faults.spec import Fault, Injection


def list_faults(
    vehicle: OtherVehicleOption = None,
    faults_file: FaultsFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """List all faults: what breaks, what each needs, what its severity means; with --vehicle those that fit it.

    Your own are listed if --faults-file or the variable IRONBIRD_FAULTS names their files.
    """
    _list("", vehicle or "", faults_file, as_json)


def find_faults(
    words: Annotated[list[str], typer.Argument(help="What people call it: motor, GPS, compass, battery, camera …")],
    vehicle: OtherVehicleOption = None,
    faults_file: FaultsFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find faults by what people call them; with --vehicle those that fit it.

    Example: ironbird fault find compass
    """
    _list(" ".join(words), vehicle or "", faults_file, as_json)


def _list(text: str, vehicle: str, files: list[Path] | None, as_json: bool) -> None:
    from ironbird.faults.catalog import FAULTS, GRAMMAR, Catalogue, search
    from ironbird.faults.spec import NEEDS

    with errors():
        known = Catalogue(files or ())
        found = search(text, known.values())
        if not found:
            raise FaultError(f"no fault fits '{text}'; 'ironbird fault list' lists all {len(known)}")
        if vehicle:
            found = _of_vehicle(found, vehicle)
    if as_json:
        print_json({"faults": [_data(fault, fault.id in FAULTS) for fault in found]}, "ironbird/faults/1")
        return
    rows = [
        (
            fault.id, fault.summary, fault.severity, "" if fault.needs == "part" else NEEDS[fault.needs],
            "" if fault.id in FAULTS else "yours",
        )
        for fault in found
    ]  # fmt: skip
    print_columns(("id", "summary", "severity", "needs", "from"), rows, "Faults")
    typer.echo(f"written as {GRAMMAR}")


def _data(fault: Fault, own: bool) -> dict[str, Any]:
    from ironbird.faults.spec import NEEDS

    keys = ("id", "summary", "severity", "reference", "witness", "has_severity", "counts_instances", "axis", "needs")
    return {
        **{key: getattr(fault, key) for key in keys},
        "needs_in_words": NEEDS[fault.needs],
        "targets": [change.target for change in fault.changes],
        "signals": [tap.signal for tap in fault.taps],
        "origin": "ironbird" if own else "user",
        "definition": fault.definition,
    }


def _of_vehicle(faults: Iterable[Fault], vehicle: str) -> list[Fault]:
    """Those of which a vehicle has the part, under whatever number or name."""
    from ironbird.flight.outline import outline
    from ironbird.vehicles.load import usual_control

    known = outline(vehicle, usual_control(vehicle))
    there = (*known.params(), *known.signals())
    return [fault for fault in faults if fault.needs == "part" and fault.parts_in(there)]


def show_fault(
    fault: Annotated[
        str,
        typer.Argument(help="The fault's id, or a whole order as for 'fly --fault'.", autocompletion=fault_names),
    ],
    vehicle: OtherVehicleOption = None,
    faults_file: FaultsFileOption = None,
    out: OutOption = None,
) -> None:
    """Explain a fault and draw its witness signal in a short flight with it, beside the same flight without it.

    The flight is of --vehicle, or of one that has the part.

    For faults of wires and chips the sensors are chips on a board, for those of packets there is a link, for those
    of cameras and lidars a world.
    """
    from ironbird.faults.catalog import Catalogue
    from ironbird.faults.spec import NEEDS
    from ironbird.flight.fault_bench import usual_injection

    with errors():
        order = usual_injection(fault, Catalogue(faults_file or ()))
        said = order.fault
        rows = {
            "what": said.summary,
            "severity": said.severity,
            "needs": NEEDS[said.needs],
            "changes": "\n".join(
                [*(f"{tap.signal}: {tap.expression or 'disturbed'}" for tap in order.taps), *order.targets]
            ),
            "shown by": order.witness,
            "source": said.reference or "-",
            "ordered": order.text(),
        }
        with working(f"flying {said.id} and its healthy twin"):
            sentence, page = _shown(order, vehicle, out or Path("out") / "faults" / said.id)
        print_table({**rows, "witness": sentence, "report": str(page or "-")}, said.id)
        if page is not None:
            lead_to(page)


def _shown(order: Injection, vehicle: str | None, folder: Path) -> tuple[str, Path | None]:
    """What its bench shows of a fault in a sentence, and its page."""
    from ironbird.flight import fault_bench as bench
    from ironbird.flight.flight import fly as fly_order
    from ironbird.report.folder import write_flight_folder
    from ironbird.report.link_page import write_link_page

    if order.fault.needs == "link":
        run = bench.over_link(order)
        write_link_page(run, folder / "link.html")
        return run.witness.sentence(), folder / "link.html"
    if order.fault.id.startswith(bench.FIFO):
        return bench.read_fifo(order).sentence(), None
    flight = fly_order(bench.bench_order(order, vehicle))
    write_flight_folder(flight, folder)
    return flight.witnesses[0].sentence(), folder / "flight.html"
