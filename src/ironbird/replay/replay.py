"""A flight's log through a whole program again: exactly from its record, else from the sensors that the log holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.host.virtual_time.record import ALLOW, ENDING, NEXT, RecordFile
from ironbird.protocols.autopilot_log import begins_as_ulog
from ironbird.replay.builds import Autopilot, Tables, autopilot_of
from ironbird.replay.compare import LogComparison, compare_logs
from ironbird.replay.faulty import Acted, FaultyEntries
from ironbird.replay.program import Played, Program, play
from ironbird.replay.recording import Recording

TOLERANCE = 1e-5


@dataclass
class Replay:
    """The outcome of a replay: what each program made of it, and where logs part."""

    recording: Recording
    played: list[Played]
    comparison: LogComparison
    between: tuple[str, str]  # names of what is compared
    same_program: bool  # the build that flew is the one that was replayed
    acted: Mapping[str, Acted]  # what each fault changed, by its text
    figures: Mapping[str, str]  # how far the estimated motions are apart

    @property
    def agrees(self) -> bool:
        """Whether all estimates agree within the tolerance and every program got everything."""
        return self.comparison.agrees and not any(one.ended for one in self.played)

    @property
    def void(self) -> bool:
        """Whether a fault changed nothing, so that the comparison says nothing about it."""
        return any(math.isnan(one.first_s) for one in self.acted.values())


def read_recording(path: Path, source: str = "") -> Recording:
    """The recording of a flight: its folder, its record, or a log; `source`: "record" or "log", or what there is."""
    if not path.exists():
        raise LinkError(
            f"{path}: no such file or folder; give the folder of a flight, its record (*{ENDING}) or a ULog"
        )
    folder = path if path.is_dir() else path.parent
    records = [path] if path.suffix == ENDING else sorted(folder.glob(f"*{ENDING}"))
    is_log = path.is_file() and path.suffix != ENDING
    if source == "record" and not records:
        raise LinkError(f"{path}: no record (*{ENDING}) there: flights of PX4 and ArduPilot in virtual time leave one")
    if records and source != "log":
        record = RecordFile(records[0])
        autopilot = autopilot_of(record.about)
        log = path if is_log else _log_of(folder, autopilot)
        return Recording(autopilot, record.about, lambda: record, log, exact=True)
    log = path if is_log else _only_log(folder)
    if not begins_as_ulog(log):
        raise LinkError(
            f"{log} is no ULog of PX4: a log alone is replayed for PX4; of ArduPilot give the folder of a flight in "
            f"virtual time, whose record (*{ENDING}) is replayed"
        )
    from ironbird.replay.px4_log import recording_of

    return recording_of(log)


def _log_of(folder: Path, autopilot: Autopilot) -> Path:
    logs = [path for path in folder.iterdir() if path.suffix.lower() == autopilot.ending.lower()]
    if not logs:
        raise LinkError(f"{folder} has no log of {autopilot.title} (*{autopilot.ending}) to compare with")
    return max(logs, key=lambda path: path.stat().st_size)


def _only_log(folder: Path) -> Path:
    logs = sorted(folder.glob("*.ulg"))
    if len(logs) != 1:
        found = f"{len(logs)} logs (*.ulg)" if logs else "no log (*.ulg)"
        raise LinkError(f"{folder} has {found} and no record (*{ENDING}): name the file to replay")
    return logs[0]


def replay(
    recording: Recording,
    programs: Sequence[str | None],
    folder: Path,
    *,
    faults: Sequence[Injection] = (),
    tolerance: float = TOLERANCE,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Replay:
    """Replay a recording through one build, compared with the log of the flight, or through two, compared with each
    other. With faults and one build, its replay without them is what it is compared with."""
    autopilot = recording.autopilot
    builds = [autopilot.program(where, recording.about) for where in programs]
    healthy = bool(faults) and len(builds) == 1
    runs: list[tuple[str, Program, Sequence[Injection]]] = [(build.name, build, faults) for build in builds]
    if healthy:
        runs = [
            (f"{builds[0].name} without the fault", builds[0], ()),
            (f"{builds[0].name} with it", builds[0], faults),
        ]
    length_ns = max(_length_ns(recording), 1)
    played: list[Played] = []
    acted: dict[str, Acted] = {}
    for number, (_, build, these) in enumerate(runs):
        entries = FaultyEntries(recording.entries, these, seed, recording.begin_s) if these else recording.entries()

        def shown(time_ns: int, number: int = number) -> None:
            if progress is not None:
                progress((number + min(time_ns / length_ns, 1.0)) / len(runs))

        keep = folder / str(number + 1) if len(runs) > 1 else folder
        keep.mkdir(parents=True, exist_ok=True)
        played.append(play(build, recording.about, entries, keep, shown))
        if isinstance(entries, FaultyEntries):
            acted = {fault.text(): entries.acted(fault) for fault in these}  # the same for each program
    logs = [autopilot.tables(one.log) for one in played]
    names = [name for name, _, _ in runs]
    if len(logs) == 1:
        logs = [_shifted(autopilot.tables(recording.log), recording.shift_s), *logs]
        names = ["the flight", *names]
    comparison = compare_logs(
        logs[0], logs[1], estimates=autopilot.estimates, tolerance=tolerance, left_out=autopilot.left_out
    )
    same = all(build.digest() == recording.digest for build in builds)
    return Replay(recording, played, comparison, (names[0], names[1]), same, acted, autopilot.figures(logs[0], logs[1]))


def _shifted(tables: Tables, shift_s: float) -> Tables:
    if not shift_s:
        return tables
    return {name: {**table, "time_s": table["time_s"] + shift_s} for name, table in tables.items()}


def _length_ns(recording: Recording) -> int:
    times = (entry.time_ns for entry in recording.entries() if entry.kind in (ALLOW, NEXT))
    return max(times, default=0)
