"""Commands about firmware: run an image, build the bench's own, and the whole tilt-rotor bench."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.options import (
    BoardOption,
    FaultOption,
    FaultsFileOption,
    MissionOption,
    OutPathOption,
    SeedOption,
    UntilOption,
    VehicleOption,
    faults_of,
)
from ironbird.cli.output import ending_in_order, errors, lead_to, print_table, write_and_print
from ironbird.files import option_texts as texts

NumbersOption = Annotated[str, typer.Option(help=texts.NUMBERS)]


def address_of(text: str) -> int:
    """An address, decimal or hexadecimal."""
    from ironbird.errors import LinkError

    try:
        return int(text, 0)
    except ValueError:
        raise LinkError(f"--address is an address such as 0x08001000, not '{text}'") from None


def run_firmware(
    image: Annotated[Path, typer.Argument(help="ELF file, Intel HEX, or a raw .bin, see --address.")],
    board: BoardOption = "stm32f4_discovery",
    address: Annotated[
        str, typer.Option(help="Address of a raw .bin; the start of the flash by default.")
    ] = "0x08000000",
    until: UntilOption = None,
    gdb: Annotated[int | None, typer.Option(help="Wait for a debugger on this port of 127.0.0.1 (0: any).")] = None,
) -> None:
    """Run an image on an emulated board for --until seconds (1) and print what its core and serial ports did.

    'ironbird fly VEHICLE --control firmware --image FILE' flies a vehicle with it. Exit code 1 if the core had a fault.

    Example: ironbird board firmware run provant.elf --until 0.5
    """
    from ironbird.boards.firmware.device import load_mcu_board
    from ironbird.boards.firmware.elf import read_image
    from ironbird.boards.firmware.gdb import serve_gdb
    from ironbird.boards.firmware.machine import Machine

    with errors():
        machine = Machine(load_mcu_board(board), read_image(image, address_of(address)))
        try:
            if gdb is not None:
                serve_gdb(machine, gdb, until or 3600.0, announce=typer.echo)
            else:
                machine.run(until or 1.0)
            now = machine.figures()
            rows = {
                "time": f"{now.time_s:.6f} s",
                "instructions": str(now.instructions),
                "clock": f"{now.clock_Hz / 1e6:.3f} MHz",
                "resets": str(now.resets - 1),
                "core is": "asleep" if now.sleeping else f"in {image.name}: {machine.where()}",
                "fault": machine.fault_text() or "none",
            }
            taken: dict[str, int] = {}
            for port in range(1, 7):
                data, _ = machine.take(port)
                if data:
                    taken[str(port)] = len(data)
                    rows[f"serial port {port}"] = f"{len(data)} bytes: {data[:64]!r}"
            print_table(rows, image.name, {**vars(now), "serial_bytes": taken})
        finally:
            machine.close()
        raise typer.Exit(int(bool(now.faults)))


def build_firmware(
    out: Annotated[Path, typer.Argument(help="The ELF file to write.")],
    vehicle: VehicleOption = "tiltrotor_provant",
    numbers: NumbersOption = "paper",
) -> None:
    """Build the firmware of the tilt-rotor bench for a vehicle: equal sources give equal bytes.

    Example: ironbird board firmware build provant.elf
    """
    import hashlib

    from ironbird.errors import LinkError, UnknownNameError
    from ironbird.provant.image import NUMBERS, firmware_bytes

    with errors():
        if numbers not in NUMBERS:
            raise UnknownNameError("set of service numbers", numbers, NUMBERS)
        content = firmware_bytes(vehicle, numbers)
        try:
            out.write_bytes(content)
        except OSError as error:
            raise LinkError(f"{out} cannot be written: {error.strerror}") from None
        sha256 = hashlib.sha256(content).hexdigest()
        print_table({"bytes": str(len(content)), "sha256": sha256}, str(out), {"bytes": len(content), "sha256": sha256})


def provant(
    vehicle: VehicleOption = "tiltrotor_provant",
    mission: MissionOption = "spiral",
    numbers: NumbersOption = "paper",
    clocks: Annotated[
        float, typer.Option(help="Clocks that an instruction takes on average.", min=0.25, max=16)
    ] = 1.25,
    late: Annotated[
        int, typer.Option(help="Samples of 2 ms by which the kernel's own commands are late, as the board's.", min=0)
    ] = 1,
    fault: FaultOption = None,
    faults_file: FaultsFileOption = None,
    seed: SeedOption = 0,
    until: UntilOption = None,
    wall: Annotated[
        float, typer.Option(help="Also fly this many seconds in wall time over pseudo-terminals.", min=0, max=600)
    ] = 0.0,
    out: OutPathOption = Path("out/provant"),
) -> None:
    """The whole tilt-rotor bench: board, links, base station; a page with figures 10 to 14 of the paper.

    The board is emulated; a real one is flown by 'ironbird fly tiltrotor_provant --control firmware
    --sensor-port /dev/ttyUSB0 --reference-port /dev/ttyUSB1'.

    Exit code: 0 pass, 1 fail, 2 error, 3 void (nothing is verified), 130 interrupted.

    Example: ironbird board provant --wall 20
    """
    from ironbird.provant.bench import run_bench, wall_periods
    from ironbird.provant.page import write_bench_page

    with errors():
        options = {"numbers": numbers, "clocks_per_instruction": clocks}
        with ending_in_order():
            bench = run_bench(
                vehicle, mission=mission or "spiral", options=options, delay_samples=late, until_s=until,
                faults=faults_of(fault, faults_file), seed=seed,
            )  # fmt: skip
            if wall:
                bench.wall_periods_s = wall_periods(vehicle, mission=mission or "spiral", seconds=wall, numbers=numbers)
        code = write_and_print(bench.board, out / "board")
        write_bench_page(bench, out / "bench.html")
        page = {"page": str(out / "bench.html")}
        print_table({**bench.rows(), **page}, "Board and kernel", {**bench.figures(), **page})
        lead_to(out / "bench.html")
    raise typer.Exit(code)
