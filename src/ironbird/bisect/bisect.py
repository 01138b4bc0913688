"""The commit of a control system that changed a flight: commits are built and flown, each at most once.

A commit is bad by its verdict (not what the case expects), or if its flight parts from that of the good commit. With n
commits to search at most ceil(log2 n) + 1 are flown: one at the end, to know what is searched for (the bad commit by
verdict, the good one by parting), and one for each halving. Results are kept by commit, so that a run that was stopped
goes on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from ironbird.bisect.history import WorkTree
from ironbird.bisect.search import Found, Outcome, search
from ironbird.campaign.case import FlightCase
from ironbird.campaign.expected import is_as_expected
from ironbird.errors import LinkError, OrderError
from ironbird.files.trust import Trust
from ironbird.files.whole import write_text
from ironbird.flight.flight import Flight, fly
from ironbird.flight.systems import kind_of, repeats

By = Literal["verdict", "parting"]
STATE = "bisect.json"
UNJUDGED = ("error", "void")  # verdicts that say nothing about a commit, unless the bad one has it


@dataclass
class Tried:
    """What is known of a commit."""

    commit: str
    title: str
    outcome: Outcome
    why: str  # verdict, first difference, or why it was skipped
    flown: bool = False
    verdict: str = ""
    sha256: str = ""
    build_s: float = 0.0


@dataclass(frozen=True)
class Wanted:
    """What is searched for, and how commits are built."""

    flight: FlightCase
    good: str
    bad: str
    build: str  # shell command
    program: str  # path of the program or its folder in the repository
    by: By
    build_limit_s: float = 3600.0

    def key(self) -> dict[str, str]:
        """What results depend on: a run goes on only if it is the same."""
        own = {name: str(getattr(self, name)) for name in ("good", "bad", "build", "program", "by")}
        return {**own, "order": self.flight.digest()}


class Bisection:
    """A search that keeps its results in a folder."""

    def __init__(
        self,
        wanted: Wanted,
        tree: WorkTree,
        folder: Path,
        keep: Callable[[Flight, Path], None],
        part: Callable[[Path, Path], str],
        say: Callable[[str], None],
    ) -> None:
        """`keep` writes a flight's folder, `part` gives the first difference of two such folders or an empty text."""
        self.wanted, self.tree, self.folder = wanted, tree, folder
        self._keep, self._part, self._say = keep, part, say
        self.tried: dict[str, Tried] = {}
        control, options = wanted.flight.control, dict(wanted.flight.options)
        if "folder" not in kind_of(control).options.model_fields:
            raise OrderError(
                f"control '{control}' starts no program from a folder: bisect cases of px4, ardupilot, fmu or a "
                "control system of yours with the option 'folder'"
            )
        if wanted.by == "parting" and not repeats(control, options, wanted.flight.script):
            raise OrderError('--judge parting needs flights that repeat to the bit: set time = "virtual" in the case')
        self._read()

    def _read(self) -> None:
        path = self.folder / STATE
        if not path.is_file():
            return
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            key, tried = data["wanted"], [Tried(**one) for one in data["tried"]]
        except (ValueError, KeyError, TypeError):
            raise OrderError(f"{path} is damaged: remove it, or give another --out") from None
        if key != self.wanted.key():
            changed = ", ".join(name for name, value in self.wanted.key().items() if key.get(name) != value)
            raise OrderError(f"{path} is of another search ({changed} differ): give another --out")
        self.tried = {one.commit: one for one in tried}

    def _write(self) -> None:
        data = {"wanted": self.wanted.key(), "tried": [asdict(one) for one in self.tried.values()]}
        write_text(self.folder / STATE, json.dumps(data, indent=1) + "\n")

    @property
    def flown(self) -> list[Tried]:
        """Commits that were flown."""
        return [one for one in self.tried.values() if one.flown]

    def run(self) -> Found:
        """Search; `OrderError` if the ends are not as given."""
        commits = self.tree.between(self.wanted.good, self.wanted.bad)
        most = math.ceil(math.log2(len(commits))) + 1 if len(commits) > 1 else 1
        self._say(f"{len(commits)} commits, at most {most} flights")
        by_verdict = self.wanted.by == "verdict"
        end = self._tried(commits[-1] if by_verdict else self.wanted.good)
        if end.outcome == "skipped":
            raise OrderError(
                f"the {'bad' if by_verdict else 'good'} commit {end.commit[:10]} cannot be judged: {end.why}"
            )
        if by_verdict and end.outcome == "good":
            raise OrderError(
                f"the bad commit {end.commit[:10]} flies as the case expects ({end.why}): there is nothing to find; "
                "--judge parting finds the first commit that flies another way"
            )
        return search(commits, lambda commit: self._tried(commit).outcome)

    def _tried(self, commit: str) -> Tried:
        """A commit's result: as kept, or built and flown now."""
        if commit in self.tried:
            return self.tried[commit]
        self._say(f"{commit[:10]}: building")
        log = self.folder / "builds" / f"{commit[:10]}.txt"
        log.parent.mkdir(exist_ok=True)
        log.unlink(missing_ok=True)
        built = self.tree.build(commit, self.wanted.build, log, self.wanted.build_limit_s)
        title = self.tree.title(commit)
        if built.problem:
            tried = Tried(commit, title, "skipped", built.problem, build_s=built.wall_s)
        else:
            tried = self._flown(Tried(commit, title, "skipped", "", build_s=built.wall_s))
        self.tried[commit] = tried
        self._write()
        self._say(f"{commit[:10]}: {tried.outcome} ({tried.why}) {title}")
        return tried

    def _place(self, commit: str) -> Path:
        """The folder of a commit's flight."""
        return self.folder / "flights" / commit[:10]

    def _flown(self, tried: Tried) -> Tried:
        flight_case, wanted = self.wanted.flight, self.wanted
        options = {**flight_case.options, "folder": str(self.tree.tree / wanted.program)}
        into = self._place(tried.commit)
        into.mkdir(parents=True, exist_ok=True)
        try:
            flight = fly(replace(flight_case, options=options), folder=into, trust=Trust.by_hand(options))
        except LinkError as error:
            return replace(tried, why=f"it did not fly: {error}")
        if flight.log.interrupted:
            raise OrderError("interrupted: the same command goes on with what is known")
        self._keep(flight, into)
        tried = replace(tried, flown=True, sha256=flight.sha256, verdict=flight.verdict)
        words = f"{flight.verdict}: {flight.judged.in_short}"
        if wanted.by == "parting":
            if tried.commit == wanted.good:
                return replace(tried, outcome="good", why=f"what the others are compared with; {words}")
            parted = self._part(self._place(wanted.good), into)
            return replace(tried, outcome="bad" if parted else "good", why=parted or "equal, bit for bit")
        end = self.tried.get(wanted.bad)
        if is_as_expected(flight.judged, flight_case.expect):
            return replace(tried, outcome="good", why=words)
        if end is not None and flight.verdict in UNJUDGED and flight.verdict != end.verdict:
            return replace(tried, why=words)
        return replace(tried, outcome="bad", why=words)
