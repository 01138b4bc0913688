"""The verb `ironbird log`: logs of flights in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.options import OutOption
from ironbird.cli.output import errors


def convert(
    log: Annotated[Path, typer.Argument(help="The flight.parquet of a flight.")],
    to: Annotated[str, typer.Option(help="mcap (ROS 2 messages), mat (MATLAB), csv, ulg (PX4) or parquet.")],
    out: OutOption = None,
) -> None:
    """Convert a log: MCAP for Foxglove and rosbag2, MATLAB, CSV, ULog."""
    from ironbird.report.log_formats import convert_log

    with errors():
        path = convert_log(log, to, out)
    typer.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
