"""One decision of all vehicles in native code (c/ib_decide.c): actions, margins of requirements, reward, observations.

The log's last row of every vehicle comes into a table, [column, vehicle]; a task computes its own signals from views of
it; margins are those of `requirements.robustness`, by the stack machine of `requirements.lane_margins`. All arrays are
made once, so that a decision makes no Python object for each signal or requirement.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ironbird.compiler import native
from ironbird.compiler.compiled import LANES
from ironbird.conditions.formula import Signal, parse_number
from ironbird.conditions.margin import MarginCode, UnfitError
from ironbird.errors import RequirementError
from ironbird.flight.derived import DERIVED
from ironbird.gym.fields import Action, Field
from ironbird.gym.task import Judge, Seen, Task
from ironbird.model.signal import entry_names
from ironbird.requirements.lane_margins import DEEPEST, depth_of, margins_text
from ironbird.runtime.episodes import Episodes
from ironbird.runtime.state import RUNNING

LIMITS = ("low", "high", "centre", "up", "down")  # of an action
_SIZE, _PLACE, _NUMBER = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double


class _Decision(ctypes.Structure):
    """Structure `ib_decision` of c/ib_decide.c."""

    _fields_ = [
        ("count", _SIZE), ("stride", _SIZE), ("width", _SIZE), ("logged", _SIZE), ("inputs", _SIZE), ("acting", _SIZE),
        ("log", _PLACE), ("place", _PLACE), ("ticks", _PLACE), ("stop", _PLACE), ("input", _PLACE),
        ("action_row", _PLACE), ("action", _PLACE), ("action_low", _PLACE), ("action_high", _PLACE),
        ("action_centre", _PLACE), ("action_up", _PLACE), ("action_down", _PLACE),
        ("step_s", _NUMBER), ("running", _SIZE), ("table", _PLACE), ("code", _PLACE), ("first", _PLACE),
        ("constant", _PLACE), ("goals", _SIZE), ("keeps", _SIZE), ("weight", _PLACE), ("per", _PLACE),
        ("end_reward", _NUMBER), ("success_reward", _NUMBER), ("most_steps", _SIZE), ("margins", _PLACE),
        ("least", _PLACE), ("extra", _PLACE), ("steps", _PLACE), ("reward", _PLACE), ("stopped", _PLACE),
        ("success", _PLACE), ("terminated", _PLACE), ("truncated", _PLACE), ("observed", _SIZE), ("shown", _PLACE),
        ("low", _PLACE), ("high", _PLACE), ("divisor", _PLACE), ("observation", _PLACE),
    ]  # fmt: skip


@functools.cache
def _library() -> ctypes.CDLL:
    text = margins_text() + (Path(__file__).parent / "c" / "ib_decide.c").read_text()
    library = native.load(text, LANES, what="the code of learning environments")
    for name, result in (("ib_act", _SIZE), ("ib_take", _SIZE), ("ib_observe", None), ("ib_judge", None)):
        function = getattr(library, name)
        function.restype, function.argtypes = result, [_PLACE]
    return library


class _TableCode(MarginCode):
    """Margins from the columns of the table."""

    def __init__(self, judge: Judge, columns: Mapping[str, int], stride: int) -> None:
        super().__init__()
        self.judge, self.columns, self.stride = judge, columns, stride

    def signal(self, term: Signal) -> None:
        """Append code that pushes the value of a column, or of the definition it is derived from."""
        if term.column in self.columns:
            self.emit(0, self.columns[term.column] * self.stride)  # PUSH_SIGNAL
        elif term.column in DERIVED:
            self.number(parse_number(DERIVED[term.column].text, self.judge.names))
        else:
            raise UnfitError


class Decision:
    """Arrays and native code of one decision; public arrays are [vehicle], and change at every decision."""

    def __init__(
        self,
        episodes: Episodes,
        judge: Judge,
        observation: Sequence[tuple[str, Field]],
        actions: Sequence[Action],
        most_steps: int,
    ) -> None:
        """`observation` and `actions` list each number; the former with the name of the signal it comes from."""
        self.episodes, task = episodes, judge.task
        count = self.count = episodes.count
        stride = -(-count // LANES) * LANES
        plan = episodes.plan
        columns = {
            entry: first + i
            for name, first in plan.start.items()
            for i, entry in enumerate(entry_names(name, plan.signals[name].size))
        }
        logged = len(plan.index)
        columns["time"], rows = logged, logged + 1
        self._own: list[tuple[str, np.ndarray]] = []
        places: list[tuple[str, slice]] = []
        for name, signal in task.task_signals.items():
            columns |= {entry: rows + i for i, entry in enumerate(entry_names(name, signal.size))}
            places.append((name, slice(rows, rows + signal.size)))
            rows += signal.size
        table = self._table = np.zeros((rows, stride))
        self._own = [(name, table[place, :count].T) for name, place in places]
        self._logged = table[:logged, :count]
        views = {name: table[first : first + plan.signals[name].size, :count].T for name, first in plan.start.items()}
        self.seen = Seen(views, table[logged, :count])
        self.action = np.zeros((count, len(actions)))
        self.observation = np.zeros((count, len(observation)), np.float32)
        goals, keeps = len(judge.goals), len(judge.keep)
        self.margins, self.least = np.zeros((goals + keeps, stride)), np.full((goals + keeps, stride), np.inf)
        self.extra, self.reward, self.steps = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
        self.stopped, self.success, self.terminated, self.truncated = (np.zeros(count, bool) for _ in range(4))
        code, first, constants = _compiled(judge, columns, stride)
        numbers = [[getattr(a, name) for a in actions] for name in LIMITS]
        fields = [f for _, f in observation]
        fixed: dict[str, np.ndarray] = {
            "action_row": np.array([a.row for a in actions], np.int64),
            **{f"action_{n}": np.array(v, float) for n, v in zip(LIMITS, numbers, strict=True)},
            "code": code, "first": first, "constant": constants,
            "weight": np.array([goal.weight for goal, _ in judge.goals] + [0.0], float),
            "per": np.array([goal.per for goal, _ in judge.goals] + [1.0], float),
            "shown": np.array([columns[name] for name, _ in observation], np.int64),
            "low": np.array([f.low for f in fields], np.float32),
            "high": np.array([f.high for f in fields], np.float32),
            "divisor": np.array([f.divisor for f in fields], np.float32),
            "table": table,
            **{name: getattr(self, name) for name in (
                "action", "observation", "margins", "least", "extra", "reward", "steps", "stopped", "success",
                "terminated", "truncated",
            )},
        }  # fmt: skip
        self._kept = fixed  # arrays that the structure points to
        self._c = _Decision(
            count=count, stride=stride, width=episodes.width, logged=logged, acting=len(actions),
            inputs=episodes.state.inputs.shape[1], step_s=episodes.model.step_s, running=RUNNING, goals=goals,
            keeps=keeps, end_reward=task.end_reward, success_reward=task.success_reward, most_steps=most_steps,
            observed=len(observation), **{name: array.ctypes.data for name, array in fixed.items()},
        )  # fmt: skip
        library, pointer = _library(), ctypes.byref(self._c)
        self._act, self._take, self._observe, self._judge = (
            functools.partial(getattr(library, name), pointer)
            for name in ("ib_act", "ib_take", "ib_observe", "ib_judge")
        )

    def moved(self) -> None:
        """Take the present addresses of the episodes' arrays; needed after each of their `begin`."""
        episodes, c = self.episodes, self._c
        state = episodes.state
        self._lanes = (episodes.place, episodes.ticks, state.stop_tick, state.inputs, episodes.log.data)
        c.place, c.ticks, c.stop, c.input, c.log = (array.ctypes.data for array in self._lanes)

    def act(self) -> int:
        """Give `action` to the vehicles; returns the number of one whose action is no finite number, or -1."""
        return int(self._act())

    def look(self, task: Task, memory: np.ndarray) -> None:
        """Take the vehicles' last logged row to the table, and compute the task's own signals."""
        if self._take():  # stopped earlier and not restarted: the log has no row of them
            late = np.flatnonzero(np.isnan(self._logged[0]))
            self._logged[:, late] = self.episodes.where_stopped(late).T
        self.signals = task.signals(self.seen, memory)
        for name, place in self._own:
            place[...] = self.signals[name]

    def again(self, task: Task, memory: np.ndarray) -> None:
        """Compute the task's own signals again, after its memory has changed."""
        self.signals = task.signals(self.seen, memory)
        for name, place in self._own:
            place[...] = self.signals[name]

    def observe(self) -> None:
        """Compute `observation`."""
        self._observe()

    def judge(self) -> None:
        """Compute margins, reward, ends and observations, with `extra` and `success` as the task gave them."""
        self._judge()


def _compiled(judge: Judge, columns: Mapping[str, int], stride: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Code of all requirements, where each begins, and their constants."""
    code: list[int] = []
    constants: list[float] = []
    first = [0]
    for text, (_, node) in [*((goal.text, made) for goal, made in judge.goals), *judge.keep]:
        program = _TableCode(judge, columns, stride)
        try:
            program.margin(node)
        except UnfitError:
            raise RequirementError(
                f"requirement '{text}' asks how the flight ended or for a fault's time, which no decision knows; "
                "write it with signals of the model and of the task"
            ) from None
        if depth_of(program.code) > DEEPEST:
            raise RequirementError(
                f"requirement '{text}' is nested too deeply: it needs {depth_of(program.code)} values at once, there "
                f"is room for {DEEPEST}; make two requirements of it"
            )
        for op, argument in program.code:
            code += [op, argument + len(constants) if op == 1 else argument]  # PUSH_CONSTANT
        constants += program.constants
        first.append(len(code) // 2)
    return np.array([*code, 0, 0], np.int64), np.array(first, np.int64), np.array([*constants, 0.0], float)
