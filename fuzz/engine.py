"""Runs one target: on given inputs, by seeded mutations, or guided by coverage with atheris."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import mmap
import os
import shutil
import signal
import struct
import sys
import time
import traceback
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz.mutate import Mutator
from fuzz.tables import dumped, loaded
from fuzz.target import Target, refusals, scratch_of

LIMIT_S = 2.0  # of one input; whatever takes longer hangs
LOOKS = 4  # so often during that time it is looked whether an input still runs
SLOWER = 10.0  # the limit's factor on a machine that is busy with other things, for the corpus
POOL = 4000  # inputs that mutations begin with
MUTATED = 8.0  # of so many inputs of a target that makes its own rows, one is a mutation of bytes
TEXTS = 256.0  # of so many inputs of a target that takes tables, one is a text: the reader of the text is not ours
SEEN_BITS = 2**28  # of what inputs there were: 32 MB
MOST_TABLE = 2**18  # bytes of a table that is noted before it is read
_HEAD = struct.Struct("<QQ")


class Hang(BaseException):
    """An input took too long; no `except Exception` of a reader may swallow it."""


@dataclass
class Outcome:
    """What came of a run."""

    target: str
    engine: str
    inputs: int = 0
    seconds: float = 0.0
    find: str = ""  # path of the input that must not have done what it did
    told: str = ""  # the end of the traceback
    beyond: int = 0  # inputs that the reader did not refuse at first sight
    packets: dict[str, int] = field(default_factory=dict)  # of targets that take rows of them, by port and kind

    @property
    def rate(self) -> float:
        """Inputs a second."""
        return self.inputs / self.seconds if self.seconds else 0.0


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Hang` after this many seconds of processor time."""

    def over(number: int, frame: FrameType | None) -> None:
        raise Hang(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def replay(target: Target) -> int:
    """Every kept input once; raises with the name of the file that is a find."""
    for path in target.kept():
        try:
            with limited(SLOWER * LIMIT_S):
                target.check(path.read_bytes())
        except BaseException as error:
            error.add_note(f"{target.name}: input {path}")
            raise
    return len(target.kept())


def keep(data: bytes, target: Target, folder: Path) -> Path:
    """An input that is a find, as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.name}-{hashlib.sha256(data).hexdigest()[:16]}"
    path.write_bytes(data)
    return path


# ---------------------------------------------------------------------- plain mutations


def plain(target: Target, seconds: float, seed: int, work: Path, *, inputs: int | None = None) -> Outcome:
    """Mutate for some seconds, or a number of inputs; what ends in a way that was not seen before is mutated on.

    Only inputs count that this folder has not seen before.
    """
    outcome = Outcome(target.name, "plain")
    target.packets.clear()
    pool = [path.read_bytes() for path in target.kept()] or [b""]
    mutator, latest = Mutator(seed, target.words, target.most), _Latest(work / "finds", target)
    ways: set[tuple[object, ...]] = set()  # in which inputs ended
    tables = target.tables() if target.tables is not None else None
    if tables is not None:
        tables.favour(functools.partial(_is_taken, target))
    draw, seen, watch = mutator.random, _Seen(work / f"{target.name}.seen"), _Watch(LIMIT_S)
    data, table, is_table = b"", None, False
    begin = now = time.perf_counter()
    end, most = begin + seconds, inputs if inputs is not None else sys.maxsize
    try:
        while now < end and outcome.inputs < most:
            is_table = tables is not None and draw.random() * TEXTS >= 1.0
            if is_table:
                assert tables is not None
                table = tables.make(draw)
                data = dumped(table)
            elif target.make is not None and draw.random() * MUTATED >= 1.0:
                data = target.make(draw)
            else:
                data = mutator.make(pool)
            now = time.perf_counter()
            if not seen.is_new(data):
                continue
            latest.note(data, is_table)
            refusals.clear()
            watch.input += 1
            outcome.beyond += (target.check_table(table) if is_table else target.check(data)) is not False
            outcome.inputs += 1
            way = (is_table, *refusals)
            if way not in ways and len(ways) < POOL:
                ways.add(way)
                if is_table:
                    assert tables is not None
                    tables.add(table)
                else:
                    pool.append(data)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        watch.stop()
        outcome.find = str(keep(target.text(table) if is_table else data, target, work / "finds"))
        outcome.told = _told(error)
    finally:
        watch.stop()
    outcome.seconds = time.perf_counter() - begin
    outcome.packets = dict(target.packets)
    latest.forget()
    seen.close()
    return outcome


def _is_taken(target: Target, table: Any) -> bool:
    refusals.clear()
    try:
        with limited(SLOWER * LIMIT_S):
            target.check_table(table)
    except Exception:  # told when it is mutated to
        return False
    return not refusals


class _Watch:
    """Raises `Hang` when one input has taken its time, looking once in a while: a timer for each would cost as much as
    a fast reader."""

    def __init__(self, seconds: float) -> None:
        self.input, self._before, self._looks, self._seconds = 0, 0, 0, seconds
        signal.signal(signal.SIGVTALRM, self._look)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds / LOOKS, seconds / LOOKS)

    def _look(self, number: int, frame: FrameType | None) -> None:
        self._looks = self._looks + 1 if self.input == self._before else 0
        self._before = self.input
        if self._looks > LOOKS:
            raise Hang(f"took longer than {self._seconds:g} s")

    def stop(self) -> None:
        """Look no more."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)


class _Seen:
    """Which inputs there were: a bit for each hash in a file, so that an input counts once over all runs in a folder.

    A share of inputs that are new are taken for seen: 4 of 100 after 10^7.
    """

    def __init__(self, path: Path) -> None:
        with path.open("ab") as file:
            file.truncate(SEEN_BITS // 8)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    def is_new(self, data: bytes) -> bool:
        """Whether it is the first of its hash; it is no longer from now on."""
        spot = zlib.crc32(data) & (SEEN_BITS - 1)
        place, bit = spot >> 3, 1 << (spot & 7)
        there = self._map[place]
        if there & bit:
            return False
        self._map[place] = there | bit
        return True

    def close(self) -> None:
        """Keep it for the next run."""
        self._map.close()


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-3000:]


class _Latest:
    """The input under way, where it outlives a process that native code ends."""

    def __init__(self, finds: Path, target: Target) -> None:
        finds.mkdir(parents=True, exist_ok=True)
        self.path = finds / f"{target.name}-latest"
        with self.path.open("wb") as file:
            file.truncate(_HEAD.size + max(target.most, MOST_TABLE))
        with self.path.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)

    def note(self, data: bytes, is_table: bool) -> None:
        size = len(data)
        if size <= MOST_TABLE or not is_table:
            self.map[: 16 + size] = _HEAD.pack(size, is_table) + data

    def forget(self) -> None:
        self.map.close()
        self.path.unlink()


def _last_words(finds: Path, target: Target, status: int) -> tuple[str, str]:
    """The input that ended a process, if it was by plain mutations."""
    path = finds / f"{target.name}-latest"
    if not path.exists():
        return "", f"the process ended with status {status}"
    raw = path.read_bytes()
    path.unlink()
    size, is_table = _HEAD.unpack_from(raw)
    data = raw[_HEAD.size : _HEAD.size + size]
    data = target.text(loaded(data)) if is_table else data
    return str(keep(data, target, finds)), f"the process ended with status {status}"


# ---------------------------------------------------------------------- atheris


def guided(target: Target, seconds: float, seed: int, finds: Path, corpus: Path) -> None:
    """Hand this process over to libFuzzer; it never returns."""
    import atheris  # type: ignore[import-not-found, unused-ignore]

    corpus.mkdir(parents=True, exist_ok=True)
    finds.mkdir(parents=True, exist_ok=True)
    words = corpus.parent / f"{target.name}.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words if 0 < len(word) <= 64))
    first = corpus.parent / f"{target.name}-kept"
    first.mkdir(exist_ok=True)
    for path in target.kept():
        shutil.copyfile(path, first / path.name)
    flags = [
        "fuzz", str(corpus), str(first), f"-max_total_time={max(1, round(seconds))}", f"-seed={seed + 1}",
        f"-max_len={target.most}", "-timeout=10", "-rss_limit_mb=4096", f"-artifact_prefix={finds}/{target.name}-",
        "-print_final_stats=1", f"-dict={words}", "-verbosity=1",
    ]  # fmt: skip

    def one(data: bytes) -> None:
        try:
            with limited(5 * LIMIT_S):  # instrumented code is slower
                target.check(data)
        except BaseException:
            keep(data, target, finds)
            raise

    atheris.Setup(flags, one)
    atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in word)


# ---------------------------------------------------------------------- in a process of its own


def run(target: Target, engine: str, seconds: float, seed: int, work: Path, *, inputs: int | None = None) -> Outcome:
    """Run in a child, which native code may end; the child shares what is loaded here."""
    finds, told = work / "finds", work / f"{target.name}.out"
    work.mkdir(parents=True, exist_ok=True)
    before = set(finds.iterdir()) if finds.is_dir() else set()
    begin = time.perf_counter()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _child(target, engine, seconds, seed, work, told, inputs)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    shutil.rmtree(scratch_of(child), ignore_errors=True)
    if engine == "plain":
        answer = work / f"{target.name}.json"
        if answer.exists():
            outcome = Outcome(**json.loads(answer.read_text()))
            answer.unlink()
            return outcome
        find, text = _last_words(finds, target, status)
        return Outcome(target.name, engine, 0, time.perf_counter() - begin, find, text)
    said = told.read_text(errors="replace") if told.exists() else ""
    outcome = Outcome(target.name, engine, _executed(said), time.perf_counter() - begin)
    if status != 0:
        new = sorted(set(finds.iterdir()) - before) if finds.is_dir() else []
        outcome.find, outcome.told = str(new[0]) if new else "", said[-3000:]
        outcome.told = outcome.told or f"the process ended with status {status}"
    return outcome


def _child(target: Target, engine: str, seconds: float, seed: int, work: Path, told: Path, inputs: int | None) -> None:
    status = 1
    try:
        if engine == "atheris":
            output = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            guided(target, seconds, seed, work / "finds", work / target.name)
        else:
            outcome = plain(target, seconds, seed, work, inputs=inputs)
            (work / f"{target.name}.json").write_text(json.dumps(asdict(outcome)))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _executed(said: str) -> int:
    """libFuzzer's own count."""
    counts = [line.split()[-1] for line in said.splitlines() if line.startswith("stat::number_of_executed_units")]
    return int(counts[-1]) if counts else 0
