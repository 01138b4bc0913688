"""Commands about sticks: gamepads and keyboards that fly a vehicle, their calibration, and stick files."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ironbird.cli.live import FlightLines
from ironbird.cli.options import OutOption, UntilOption
from ironbird.cli.output import ending_in_order, errors, print_table

if TYPE_CHECKING:
    from ironbird.systems.commanded.sticks.gamepad import Gamepad
    from ironbird.systems.commanded.sticks.source import Source

LOOK_S = 0.02
LONGEST_S = 3600.0  # without --until
RECORD_S = 60.0  # the same of a record
MEASURE_S = 15.0
SourceOption = Annotated[str, typer.Option("--from", help="auto, a device, keyboard, or a stick file (.csv).")]
LayoutOption = Annotated[str, typer.Option("--layout", help="TOML file: which axis and button does what.")]


def sticks(
    to: Annotated[
        str, typer.Argument(help="The vehicle: udp:14550, udpout:HOST:PORT, tcp:HOST:PORT or serial:DEVICE:BAUD.")
    ],
    source: SourceOption = "auto",
    layout: LayoutOption = "",
    mode: Annotated[
        str, typer.Option("--flight-mode", help="Flight mode to ask for at the start; empty: as it is.")
    ] = "position",
    until: UntilOption = None,
) -> None:
    """Fly a vehicle by hand over MAVLink: PX4, ArduPilot, the reference autopilot or hardware.

    Buttons and keys arm, take off, land and change modes; 'ironbird connect show-sticks' prints their numbers. A stick
    file is flown in real time; for the same flight bit for bit use 'ironbird fly VEHICLE --control sticks --sticks
    FILE.csv --speed max'.

    Example: ironbird connect sticks udp:14550 --from keyboard
    """
    from ironbird.systems.commanded.sticks.front import open_source
    from ironbird.systems.commanded.sticks.remote import fly_by_hand

    lines = FlightLines(logged=True)
    with errors(), contextlib.closing(open_source(source, layout)) as held, ending_in_order():
        typer.echo("Ctrl-C ends it", err=True)
        try:
            fly_by_hand(held, to, mode=mode, until_s=until or LONGEST_S, say=lines.say, show=lines.figures)
        finally:
            lines.close()


def list_gamepads() -> None:
    """List the gamepads of this computer."""
    from ironbird.systems.commanded.sticks.gamepad import pads

    found = pads()
    if found:
        print_table(dict(found), "Gamepads")
    else:
        typer.echo("no gamepad is plugged in (/dev/input/js*)")


def show_sticks(
    source: SourceOption = "auto",
    layout: LayoutOption = "",
    until: UntilOption = None,
) -> None:
    """Show sticks and buttons as they move: raw axes of a pad, and what they mean."""
    from ironbird.systems.commanded.sticks.front import open_source

    with errors(), contextlib.closing(open_source(source, layout)) as held, ending_in_order():
        begin, last = time.monotonic(), ""
        while (now_s := time.monotonic() - begin) < (until or LONGEST_S) and not held.finished:
            now = held.read(now_s)
            raw = getattr(held, "axes", {})
            line = f"roll {now.roll:+.2f} pitch {now.pitch:+.2f} throttle {now.throttle:+.2f} yaw {now.yaw:+.2f}"
            line += f" buttons {[place for place in range(16) if now.buttons >> place & 1]} axes {raw}"
            if line != last:
                typer.echo(line)
                last = line
            for action in held.actions():
                typer.echo(action)
            time.sleep(LOOK_S)


def record_sticks(
    file: Annotated[Path, typer.Argument(help="Stick file to write (.csv).")],
    source: SourceOption = "auto",
    layout: LayoutOption = "",
    until: UntilOption = None,
) -> None:
    """Record sticks and buttons for --until seconds (60) into a stick file; Ctrl-C ends it earlier."""
    from ironbird.systems.commanded.sticks.front import open_source

    with errors(), contextlib.closing(open_source(source, layout)) as held:
        count = _record(held, file, until or RECORD_S)
    typer.echo(f"{count} rows: {file}")


def calibrate_gamepad(
    device: Annotated[str, typer.Argument(help="The gamepad, for example /dev/input/js0.")] = "auto",
    out: OutOption = None,
    measure: Annotated[float, typer.Option(help="Seconds for which the sticks are moved.", min=0.05)] = MEASURE_S,
) -> None:
    """Calibrate a gamepad: leave its sticks alone, then move them to all their ends; kept in a file."""
    from ironbird.errors import LinkError
    from ironbird.systems.commanded.sticks.front import open_source
    from ironbird.systems.commanded.sticks.gamepad import Gamepad
    from ironbird.systems.commanded.sticks.layout import usual_file

    with errors(), contextlib.closing(open_source(device)) as pad:
        if not isinstance(pad, Gamepad):
            raise LinkError(f"{device} is no gamepad: only gamepads are calibrated")
        text = _calibrated(pad, measure)
        path = out or usual_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    typer.echo(f"calibration: {path}")


def _calibrated(pad: Gamepad, seconds: float) -> str:
    from ironbird.systems.commanded.sticks.calibrate import Measured

    typer.echo("leave the sticks in their middle")
    measured = Measured()
    end = time.monotonic() + seconds / 3
    while time.monotonic() < end:
        pad.read(0.0)
        measured.rest(pad.axes)
        time.sleep(LOOK_S)
    typer.echo(f"move both sticks to all their ends for {2 * seconds / 3:.0f} s")
    end = time.monotonic() + 2 * seconds / 3
    while time.monotonic() < end:
        pad.read(0.0)
        measured.moved(pad.axes)
        time.sleep(LOOK_S)
    return measured.layout(pad.layout, pad.name).text()


def _record(held: Source, file: Path, until_s: float) -> int:
    from ironbird.systems.commanded.sticks.stick_file import Row, stick_text

    rows: list[Row] = []
    begin = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        while (now_s := time.monotonic() - begin) < until_s and not held.finished:
            tick_s = round(now_s, 3)  # whole ticks of the simulation
            now = held.read(now_s)
            if not rows or tick_s > rows[-1][0]:
                rows.append((tick_s, now))
            time.sleep(LOOK_S)
    text = stick_text(rows)
    file.write_text(text)
    if sys.stdout.isatty():
        typer.echo("")
    return text.count("\n") - 1
