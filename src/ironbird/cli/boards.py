"""Commands about boards and chips: lists, a chip's registers, recorded bus traffic, programs that run on a board."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Literal

import typer

from ironbird.cli.completion import chip_names
from ironbird.cli.options import BoardOption, FaultOption, SeedOption, UntilOption, VehicleOption
from ironbird.cli.output import JsonOption, errors, print_columns, print_json, print_sentence, print_table
from ironbird.errors import LinkError, shortened

MOST_BYTES = 64_000_000  # of a trace


def list_boards(as_json: JsonOption = False) -> None:
    """List the boards, and the chips that are modelled to their registers and pins; 'board chip NAME' shows one."""
    from ironbird.boards.board import board_ids, load_board
    from ironbird.boards.chips.catalog import CHIPS
    from ironbird.boards.chips.page import facts

    with errors():
        chips, boards = dict(CHIPS.loadable()), {name: load_board(name).about for name in board_ids()}
    if as_json:
        data = {"boards": boards, "chips": {name: facts(kind) for name, kind in chips.items()}}
        print_json(data, "ironbird/boards/1")
        return
    print_columns(("board", "what it is"), list(boards.items()), "Boards")
    rows = [(name, kind.part, kind.summary, ", ".join(kind.buses)) for name, kind in chips.items()]
    print_columns(("chip", "part", "what it is", "buses"), rows, "Chips")


def show_chip(
    chip: Annotated[str, typer.Argument(help="The chip's name ('ironbird board list').", autocompletion=chip_names)],
    as_json: JsonOption = False,
) -> None:
    """Show a chip: what it is, and its registers as a driver sees them."""
    from ironbird.boards.chips.catalog import chip_class
    from ironbird.boards.chips.page import HEAD, facts, rows

    with errors():
        kind = chip_class(chip)
    if as_json:
        table = [dict(zip(HEAD, row, strict=True)) for row in rows(kind)]
        print_json({"chip": chip, "facts": facts(kind), "registers": table}, "ironbird/chip/1")
        return
    print_table(facts(kind), kind.part)
    typer.echo((kind.__doc__ or "").strip().splitlines()[0])
    for address, name, reset, mask, access, doc in rows(kind):
        typer.echo(f"{address:>5}  {name:<20} reset {reset}  writable {mask:<24} {access:<12} {doc}")


def trace(
    file: Annotated[Path, typer.Argument(help="Recorded bus traffic, one transaction a line.")],
    chip: Annotated[str, typer.Option(help="The chip whose registers name the bytes.")] = "",
    vcd: Annotated[
        Path | None, typer.Option(help="Write the levels of the wires here, for GTKWave or PulseView.")
    ] = None,
) -> None:
    """Decode recorded bus traffic like a logic analyser; with --vcd write the wires' levels."""
    from ironbird.boards.chips.catalog import chip_class
    from ironbird.boards.chips.page import explain
    from ironbird.boards.chips.trace import read_trace
    from ironbird.boards.chips.vcd import vcd as dump

    with errors():
        try:
            with file.open(errors="replace") as opened:
                text = opened.read(MOST_BYTES)
        except OSError as error:
            raise LinkError(
                f"{file} cannot be read: {error.strerror}; give a trace as docs/guide/chips.md shows"
            ) from error
        transactions = read_trace(text)
        kind = chip_class(chip) if chip else None
    explained = [(one.line(), explain(one, kind) if kind is not None else "") for one in transactions]
    for line, said in explained:
        typer.echo(f"{line if len(line) <= 100 else line[:97] + '...'}" + (f"   {said}" if said else ""))
    figures = {"transactions": [{"line": line, "meaning": said} for line, said in explained]}
    print_sentence(f"{len(transactions)} transactions", file.name, figures)
    if vcd is not None:
        vcd.write_text(dump(transactions))
        typer.echo(f"levels: {vcd}")


def run_program(
    context: typer.Context,
    board: BoardOption = "pilotpi",
    vehicle: VehicleOption = "quad_f450",
    fault: FaultOption = None,
    trace: Annotated[Path | None, typer.Option(help="Write every request to this file.")] = None,
    transport: Annotated[
        Literal["memory", "socket"],
        typer.Option(help="memory: chips in C inside the program; socket: the Python models, here."),
    ] = "memory",
    seed: SeedOption = 0,
    until: UntilOption = None,
) -> None:
    """Run a Linux program on the chips of a board: /dev/spidevX.Y, /dev/i2c-N and serial lines are the board's."""
    with errors():
        if not context.args:
            raise LinkError(
                "the program is missing: give it after --, for example: ironbird board run -- i2cdetect -y 1"
            )
        if shutil.which(context.args[0]) is None:
            raise LinkError(
                f"'{shortened(context.args[0])}' is no program that can be started: install it, or give its path"
            )
    from ironbird.boards.board import load_board
    from ironbird.boards.serve import serve
    from ironbird.faults.catalog import parse_fault
    from ironbird.flight.prepare import inject

    with errors():
        faults = [parse_fault(text) for text in fault or ()]
        made = serve(
            load_board(board),
            context.args,
            vehicle=vehicle,
            faults=faults,
            order=inject,
            seed=seed,
            trace=trace,
            transport=transport,
            until_s=until,
            folder=Path.cwd(),
        )
    rate = made.requests / max(made.seconds, 1e-9)
    typer.echo(f"{made.requests} requests in {made.seconds:.2f} s ({rate:.0f}/s), hash {made.digest}", err=True)
    for witness in made.witnesses:
        typer.echo(f"witness: {witness}", err=True)
    raise typer.Exit(made.code)


run_program.context_settings = {"allow_extra_args": True, "ignore_unknown_options": True}  # type: ignore[attr-defined]
