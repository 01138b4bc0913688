"""The verb `hdl`: chips as hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.output import errors, print_table


def hdl(
    chips: Annotated[list[str], typer.Argument(help="Chips of one design: icm20689, ist8310, ms5611, neo_m8n.")],
    device: Annotated[str, typer.Option(help="ECP5: 25k, 45k or 85k.")] = "25k",
    seeds: Annotated[int, typer.Option(help="Runs of place and route.", min=1, max=32)] = 1,
    out: Annotated[Path, typer.Option(help="Folder for Verilog, reports and the bitstream.")] = Path("out/hdl"),
) -> None:
    """Make a hardware design of chips: Verilog, place and route, bitstream; prints clock and size. Takes minutes."""
    from ironbird.errors import LinkError

    with errors():
        try:
            from ironbird.hdl.tools import board_rtlil, place, write_verilog
        except ImportError as error:
            raise LinkError(f"{error.name} is not installed: pip install 'ironbird[hdl]'") from error
        out.mkdir(parents=True, exist_ok=True)
        text = board_rtlil(chips)
        typer.echo(f"Verilog: {write_verilog(text, out, 'board')}")
        for placed in place(text, out, "board", device=device, seeds=range(1, seeds + 1)):
            used = ", ".join(f"{kind} {n} of {most}" for kind, (n, most) in placed.used.items())
            print_table(
                {
                    "device": f"{placed.device}, seed {placed.seed}",
                    "clock": f"{placed.clock_MHz:.1f} MHz",
                    "size": used,
                    "highest SPI clock": f"{placed.spi_MHz:.1f} MHz, oversampled at 100 MHz",
                    "bitstream": f"{placed.bitstream_bytes} bytes",
                },
                "Design",
            )
