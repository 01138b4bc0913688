"""The verb `ironbird replay`: a flight's input through a whole autopilot program again, or through another build."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ironbird.cli.exit_codes import EXIT_CODES
from ironbird.cli.options import (
    PROGRAM_HELP,
    TOLERANCE_HELP,
    FaultOption,
    FaultsFileOption,
    OutOption,
    SeedOption,
    faults_of,
)
from ironbird.cli.output import JsonOption, errors, print_json, print_report, print_table, progress_bar, results_folder
from ironbird.errors import OrderError

MOST_PROGRAMS = 2


def replay(
    flight: Annotated[
        Path,
        typer.Argument(help="Folder of a flight in virtual time, its record (.sent), or a ULog of PX4 (.ulg)."),
    ],
    program: Annotated[
        list[str] | None,
        typer.Option(help=PROGRAM_HELP),
    ] = None,
    feed: Annotated[
        Literal["record", "log"] | None,
        typer.Option(help="What is fed: the record of the flight, or its log; by default the record if there is one."),
    ] = None,
    fault: FaultOption = None,
    faults_file: FaultsFileOption = None,
    tolerance: Annotated[float, typer.Option(help=TOLERANCE_HELP, min=0.0, max=1e3)] = 1e-5,
    seed: SeedOption = 0,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a program again what it got in a flight, in virtual time, and compare the estimates of all its EKFs.

    The whole unmodified program runs: drivers, sensor voting, all EKFs, commander, controllers; its outputs go nowhere.
    A flight in virtual time under PX4 or ArduPilot leaves a record of every byte that the program got and when (.sent);
    the same build then writes the same log, and another build gets the same input. A ULog without a record holds
    only what PX4 kept of its sensors: see docs/guide/maintainers.md for what that can show.

    Without --program the build of IRONBIRD_PX4 or IRONBIRD_ARDUPILOT replays. With one its log is compared with that of
    the flight, with two their logs with each other, and with --fault (in logged sensor values) the replay with the
    fault with that without it. Exit code: 0 estimates agree, 1 they part, 2 error, 3 a fault changed nothing.

    Example: ironbird replay out/quad_f450-1 --program ~/PX4-Autopilot/build/px4_sitl_default

    Example: ironbird replay out/quad_f450-1 --fault 'imu.gyro_bias@1:instance=1,severity=0.05,start=20'
    """
    with errors():
        programs: list[str | None] = [*program] if program else [None]
        if len(programs) > MOST_PROGRAMS:
            raise OrderError(
                f"--program is given {len(programs)} times: one is compared with the flight, two with each other"
            )
        faults = faults_of(fault, faults_file)
        from ironbird.replay.replay import read_recording
        from ironbird.replay.replay import replay as replay_recording
        from ironbird.report.replay_page import replay_data, replay_rows, verdict_of, write_replay_page

        recording = read_recording(flight, feed or "")
        with results_folder(out, "replay") as folder, progress_bar(f"replaying {flight.name}") as update:
            done = replay_recording(
                recording, programs, folder, faults=faults, tolerance=tolerance, seed=seed, progress=update
            )
            page = folder / "replay.html"
            write_replay_page(done, page)
    if as_json:
        print_json({**replay_data(done), "page": str(page)}, "ironbird/replay/1")
    else:
        print_table(replay_rows(done), verdict_of(done))
        print_report(page)
    raise typer.Exit(EXIT_CODES["void" if done.void else "pass" if done.agrees else "fail"])
