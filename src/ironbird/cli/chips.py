"""Verbs about chips: the list, one chip's registers, recorded bus traffic, programs of others on a board."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from ironbird.cli.output import JsonOption, errors, print_table

chips_app = typer.Typer(invoke_without_command=True)
MOST_BYTES = 64_000_000  # of a trace


@chips_app.callback()
def chips(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the chips that are modelled to their registers and pins, and the boards; `show` has one chip's registers."""
    from ironbird.boards.board import board_ids, load_board
    from ironbird.boards.chips.catalog import CHIPS
    from ironbird.boards.chips.page import facts

    if context.invoked_subcommand:
        return
    if as_json:
        typer.echo(json.dumps({name: facts(kind) for name, kind in CHIPS.loadable()}, indent=2))
        return
    kinds = dict(CHIPS.loadable())
    print_table({name: f"{k.part}: {k.summary} ({', '.join(k.buses)})" for name, k in kinds.items()}, "Chips")
    print_table({name: load_board(name).about for name in board_ids()}, "Boards")


@chips_app.command("show")
def show_chip(
    chip: Annotated[str, typer.Argument(help="The chip's name, as 'ironbird chips' lists it.")],
    as_json: JsonOption = False,
) -> None:
    """Show a chip: what it is, and its registers as a driver sees them."""
    from ironbird.boards.chips.catalog import chip_class
    from ironbird.boards.chips.page import HEAD, facts, rows

    with errors():
        kind = chip_class(chip)
    if as_json:
        table = [dict(zip(HEAD, row, strict=True)) for row in rows(kind)]
        typer.echo(json.dumps({"facts": facts(kind), "registers": table}, indent=2))
        return
    print_table(facts(kind), kind.part)
    typer.echo((kind.__doc__ or "").strip().splitlines()[0])
    for address, name, reset, mask, access, doc in rows(kind):
        typer.echo(f"{address:>5}  {name:<20} reset {reset}  writable {mask:<24} {access:<12} {doc}")


@chips_app.command("trace")
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
    from ironbird.errors import LinkError

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
    for transaction in transactions:
        said = explain(transaction, kind) if kind is not None else ""
        line = transaction.line()
        typer.echo(f"{line if len(line) <= 100 else line[:97] + '...'}" + (f"   {said}" if said else ""))
    typer.echo(f"{len(transactions)} transactions")
    if vcd is not None:
        vcd.write_text(dump(transactions))
        typer.echo(f"levels: {vcd}")


@chips_app.command("serve", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def serve_board(
    context: typer.Context,
    board: Annotated[str, typer.Option(help="The board: a name, or a TOML file of your own.")] = "pilotpi",
    vehicle: Annotated[str, typer.Option(help="The vehicle whose sensors feed the chips.")] = "quad_f450",
    fault: Annotated[
        list[str] | None, typer.Option(help="A fault of a wire or chip, as in docs/guide/chips.md; may be repeated.")
    ] = None,
    trace: Annotated[Path | None, typer.Option(help="Write every request to this file.")] = None,
    transport: Annotated[
        Literal["memory", "socket"],
        typer.Option(help="memory: chips in C inside the program; socket: the Python models, here."),
    ] = "memory",
    seed: Annotated[int, typer.Option(help="Of noise on sensors and wires.", min=0)] = 0,
    until: Annotated[float | None, typer.Option(help="End the program after so many seconds.", min=0.0)] = None,
) -> None:
    """Run a Linux program on the chips of a board: /dev/spidevX.Y, /dev/i2c-N and serial lines are the board's."""
    from ironbird.boards.board import load_board
    from ironbird.boards.serve import serve
    from ironbird.faults.catalog import parse_fault
    from ironbird.flight.prepare import inject

    if not context.args:
        typer.echo("give the command after --, for example: ironbird chips serve -- i2cdetect -y 1", err=True)
        raise typer.Exit(2)
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
