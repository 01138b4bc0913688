"""The verb `hdl`: chips as hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.options import OutPathOption
from ironbird.cli.output import errors, print_sentence, print_table
from ironbird.files.work import working


def hdl(
    chips: Annotated[
        list[str],
        typer.Argument(
            help="Chips of one design (icm20689, ist8310, ms5611, neo_m8n), or a board: its chips with cores."
        ),
    ],
    device: Annotated[str, typer.Option(help="ECP5: 25k, 45k or 85k; iCE40: hx8k.")] = "25k",
    place_runs: Annotated[int, typer.Option(help="Runs of place and route; 0 writes Verilog only.", min=0, max=32)] = 1,
    check: Annotated[
        int, typer.Option(help="Random transactions against the models in C, without and with pin faults.", min=0)
    ] = 0,
    out: OutPathOption = Path("out/hdl"),
) -> None:
    """Make a hardware design of chips: Verilog, place and route, bitstream; prints clock, size and bus clocks."""
    from ironbird.errors import LinkError

    with errors():
        try:
            from ironbird.hdl.agreement import compare_core
            from ironbird.hdl.tools import board_rtlil, cores_of, place, write_verilog
        except ImportError as error:
            raise LinkError(f"{error.name} is not installed: pip install 'ironbird[hdl]'") from error
        chosen, left_out = cores_of(chips)
        out.mkdir(parents=True, exist_ok=True)
        if left_out:
            typer.secho(f"without a core, left out: {', '.join(left_out)}", fg="yellow", err=True)
        text = board_rtlil(chosen)
        file = write_verilog(text, out, "board")
        print_sentence(f"Verilog: {file}", "Verilog", {"file": str(file), "chips": list(chosen)})
        for chip in dict.fromkeys(chosen) if check else ():
            for fault in (False, True):
                with working(f"comparing the core of {chip} with its model"):
                    found = compare_core(chip, check, out, fault=fault)
                wires = "with pin faults" if fault else "whole wires"
                if found.differences:
                    raise LinkError(f"{chip}, {wires}: the core differs from the model: {found.differences[0]}")
                agreed = {"transactions": found.transactions, "slots": found.bits, "pin_faults": fault}
                print_sentence(
                    f"{chip}, {wires}: {found.transactions:,} transactions, {found.bits:,} slots, 0 differences",
                    chip,
                    {"chip": chip, **agreed, "differences": 0},
                )
        for placed in place(text, out, "board", device=device, seeds=range(1, place_runs + 1)) if place_runs else ():
            buses = {chip: placed.bus_MHz(chip) for chip in dict.fromkeys(chosen)}
            rows = {
                "device": f"{placed.device}, seed {placed.seed}",
                "clock": f"{placed.clock_MHz:.1f} MHz",
                "clock of front ends on SCK": f"{placed.sck_MHz:.1f} MHz" if placed.sck_MHz else "none",
                "size": ", ".join(f"{kind} {n} of {most}" for kind, (n, most) in placed.used.items()),
                **{f"highest bus clock of {chip}": f"{clock:.1f} MHz, {why}" for chip, (clock, why) in buses.items()},
                "bitstream": f"{placed.bitstream_bytes} bytes",
            }
            figures = {
                "device": placed.device,
                "seed": placed.seed,
                "clock_MHz": placed.clock_MHz,
                "sck_MHz": placed.sck_MHz or None,
                "used": {kind: {"used": n, "available": most} for kind, (n, most) in placed.used.items()},
                "bus_MHz": {chip: clock for chip, (clock, _) in buses.items()},
                "bitstream_bytes": placed.bitstream_bytes,
            }
            print_table(rows, "Design", figures)
