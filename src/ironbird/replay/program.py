"""A program that is started as a record says, gets what the record holds, and ends."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.errors import LinkError
from ironbird.host.process import FOLDER, AutopilotProcess
from ironbird.host.virtual_time.player import Player
from ironbird.host.virtual_time.record import ALLOW, NEXT, SIGNAL, Entry

STEP_S = 0.001  # of virtual time at the end, while a program writes its log
GOODBYE_S = 3.0
LOOK = 2000  # entries between two reports of progress


@dataclass(frozen=True)
class Program:
    """A build that can be started: its binary, and what its recorded links lead to."""

    name: str  # for tables: release and path
    binary: Path
    links: Mapping[str, str]  # links below its folder, to what else belongs to the build
    files: Callable[[Mapping[str, str]], Mapping[str, str]]  # texts of its start-up files -> those for this build
    log_pattern: str  # of its log, below its folder

    def digest(self) -> str:
        """SHA-256 of the binary."""
        return hashlib.sha256(self.binary.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Played:
    """The result of a replay: its log, the statistics of its run, and how it ended."""

    program: Program
    log: Path
    figures: Mapping[str, str]
    ended: str  # why it did not get all entries; empty if it did


class PlayedProcess(AutopilotProcess):
    """A program that is started with the files, arguments and variables of a record."""

    prefix = "ironbird-replay-"
    console_name = "console.txt"
    goodbye_s = 3.0

    def __init__(self, program: Program, about: Mapping[str, Any], keep: Path) -> None:
        self.slack_s = int(about["slack_ns"]) * 1e-9
        super().__init__(keep=keep, virtual=True, thread_seed=int(about["thread_seed"]))
        self.program, self._about_run = program, about

    @property
    def name(self) -> str:
        """Name of the program for messages."""
        return self.program.name

    def start(self) -> None:
        """Write its files and start it."""
        about, folder = self._about_run, self._make_folder()
        for name in about["folders"]:
            _below(folder, name).mkdir(parents=True, exist_ok=True)
        for name, text in self.program.files(about["files"]).items():
            _below(folder, name).write_text(text)
        for name, target in self.program.links.items():
            if not (folder / name).exists():
                (folder / name).symlink_to(target)
        command = [str(self.program.binary), *(text.replace(FOLDER, str(folder)) for text in about["command"])]
        self._launch(command, cwd=_below(folder, about["cwd"]), settings=about["settings"])

    def _to_keep(self, folder: Path) -> Sequence[Path]:
        return *sorted(folder.glob(self.program.log_pattern)), folder / self.console_name


def _below(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()) or path.is_symlink():
        raise LinkError(f"the record names a file outside the folder of its program: {name}")
    return path


def play(
    program: Program,
    about: Mapping[str, Any],
    entries: Iterable[Entry],
    keep: Path,
    progress: Callable[[int], None] | None = None,
) -> Played:
    """Start a program, give it all entries, and end it; its log is copied to `keep`."""
    process = PlayedProcess(program, about, keep)
    ended = play_entries(process, about, entries, progress)
    logs = [path for path in process.logs if path.suffix != Path(process.console_name).suffix]
    if not logs:
        raise LinkError(
            f"{program.name} left no log{'; ' + ended if ended else ''}; its output: {keep / 'console.txt'}"
        )
    log = max(logs, key=lambda path: path.stat().st_size)
    return Played(program, log, dict(process.figures), ended)


def play_entries(
    process: PlayedProcess,
    about: Mapping[str, Any],
    entries: Iterable[Entry],
    progress: Callable[[int], None] | None = None,
) -> str:
    """Start a program, give it entries and end it; returns why it did not get all of them, or an empty text."""
    player = None
    try:
        assert process.run is not None
        player = Player(process.run, about, process.settle)
        process.start()
        return _play(process, player, entries, progress)
    finally:
        if player is not None:
            player.close()
        process.stop()


def _play(
    process: PlayedProcess, player: Player, entries: Iterable[Entry], progress: Callable[[int], None] | None
) -> str:
    """Give it all entries; returns why it did not get all of them, or an empty text."""
    run, asked, time_ns = process.run, False, 0
    assert run is not None
    try:
        for number, entry in enumerate(entries):
            process.settle()
            if entry.kind == SIGNAL:
                process.ask_to_end()
                asked = True
            else:
                player.play(entry)
            time_ns = entry.time_ns if entry.kind in (ALLOW, NEXT) else time_ns
            if progress is not None and number % LOOK == 0:
                progress(time_ns)
    except LinkError as error:
        return "" if asked else f"at {time_ns * 1e-9:.3f} s of its time: {error}"
    with contextlib.suppress(LinkError):  # it has ended as ordered
        process.settle()
        if not asked:
            process.ask_to_end()
        for _ in range(round(GOODBYE_S / STEP_S)):
            run.allow_more(STEP_S)
            process.settle()
    return ""
