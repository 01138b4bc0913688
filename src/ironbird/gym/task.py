"""Task of an agent: where an episode begins, what is observed, which requirements give reward and end an episode.

Rewards and ends come from requirements in the usual language, in the form `always (…)` with a condition on the present:
at every decision the margin of the condition in the brackets is computed. The least of these margins over an episode is
the requirement's robustness, sampled at the decisions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.conditions.formula import Formula, Interval, Node, Window, parse_formula
from ironbird.conditions.names import Names
from ironbird.errors import RequirementError
from ironbird.flight.derived import DERIVED, names_of
from ironbird.flight.order import Requirement
from ironbird.model.signal import entry_names
from ironbird.vehicles import places as at
from ironbird.world.model import Material, Obstacle, Sphere

MARK, MARK_M = Material("mark", colour=(0.85, 0.45, 0.05)), 0.08


@dataclass(frozen=True)
class Goal:
    """A requirement that gives reward: per decision `weight` times margin over `per` (in SI), limited to -1 and 1."""

    text: str
    per: float
    weight: float = 1.0


@dataclass(frozen=True)
class Signal:
    """A signal that the task itself computes, in addition to the signals of the model."""

    unit: str
    size: int
    limit: float  # bound of its space, both ways


@dataclass
class Start:
    """Where an episode begins: in the air with rotors at hover speed, or standing on the ground."""

    position_N_m: np.ndarray
    velocity_B_mps: np.ndarray = field(default_factory=lambda: np.zeros(3))
    euler_rad: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rates_radps: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass
class Seen:
    """Signals of all vehicles at a decision: [vehicle, size] by name, and the time since the start of the episode."""

    columns: Mapping[str, np.ndarray]
    time_s: np.ndarray

    def __getitem__(self, path: str) -> np.ndarray:
        return self.columns[path]


@dataclass(frozen=True)
class Task(ABC):
    """Base class of tasks; a subclass defines `memory`, `draw`, `signals`, and `after` if it stores more per episode.

    `observed` lists signals of the model, each with a symmetric bound in its unit; the task's own signals come
    after them.
    Values beyond a bound are limited to it.
    """

    vehicle: str = "quad_f450"
    level: str = "actuators"
    decision_s: float = 0.01
    integration: str = ""  # METHOD@STEP_S in place of the vehicle's own, such as rk4@0.001
    longest_s: float = 5.0
    normalise: bool = False  # observations and actions in -1 .. 1: shares of their bounds; action 0 holds a hover
    observed: tuple[tuple[str, float], ...] = (
        (at.BODY.velocity, 15.0),
        (at.BODY.attitude, 1.0),
        (at.BODY.rates, 30.0),
    )
    keep: tuple[str, ...] = ("always (tilt < 100 deg)", "always (target_distance < 8 m)")  # broken: the episode ends
    goals: tuple[Goal, ...] = (
        Goal("always (target_distance < 1 m)", 1.0),
        Goal("always (rate < 2 rad/s)", 2.0, 0.2),
        Goal("always (tilt < 20 deg)", 0.35, 0.2),
    )
    end_reward: float = -20.0  # for a crash or a broken requirement
    success_reward: float = 20.0
    memory = 3  # numbers that an episode remembers
    task_signals: Mapping[str, Signal] = field(
        default_factory=lambda: {"to_target": Signal("m", 3, 10.0), "target_distance": Signal("m", 1, 20.0)}
    )
    shown: tuple[str, ...] = ("to_target",)  # signals of the task that are observed

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> tuple[Start, np.ndarray]:
        """Start of an episode, and its memory (an array; here it begins with the target position)."""

    def target(self, memory: np.ndarray, time_s: np.ndarray) -> np.ndarray:
        """Target position of each vehicle, [vehicle, 3] in N, m."""
        return memory[:, :3]

    def signals(self, seen: Seen, memory: np.ndarray) -> dict[str, np.ndarray]:
        """The task's own signals by name, [vehicle, size]."""
        away = self.target(memory, seen.time_s) - seen[at.BODY.position]
        return {"to_target": away, "target_distance": np.linalg.norm(away, axis=1)[:, None]}

    def after(
        self, seen: Seen, signals: Mapping[str, np.ndarray], memory: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """New memory, extra reward and success of each vehicle after a decision."""
        return memory, np.zeros(len(memory)), np.zeros(len(memory), bool)

    def marks(self, memory: np.ndarray, time_s: float) -> list[Obstacle]:
        """What pictures show beside the vehicle, in N; here a small sphere at the target. `memory` is one vehicle's."""
        place = self.target(memory[None], np.array([time_s]))[0]
        return [Sphere("target", tuple(place), material=MARK, radius_m=MARK_M)]

    def changed(self, **options: object) -> Task:
        """The same task with other values of its fields."""
        return replace(self, **options)  # type: ignore[arg-type]


class Judge:
    """The requirements of a task, bound to a model."""

    def __init__(self, task: Task, model: CompiledModel) -> None:
        self.task = task
        base = names_of(model)
        own = {
            entry: signal.unit for name, signal in task.task_signals.items() for entry in entry_names(name, signal.size)
        }
        self.names = replace(base, units={**base.units, **own})
        goals = [Goal(_text(goal.text), goal.per, goal.weight) for goal in task.goals]
        self.goals = [(goal, _present(goal.text, self.names)) for goal in goals]
        self.keep = [(text, _present(text, self.names)) for text in map(_text, task.keep)]
        names = [name for _, (formula, _) in (*self.goals, *self.keep) for name in formula.signals]
        entries = [s for name in names for s in (DERIVED[name].sources if name in DERIVED else [name])]
        self.paths = sorted({e.partition("[")[0] for e in entries if e.partition("[")[0] in model.signals()})


def _text(text: str) -> str:
    return Requirement.of(text).formula


def _present(text: str, names: Names) -> tuple[Formula, Node]:
    """A requirement `always (condition on the present)`, and that condition."""
    formula = parse_formula(text, names)
    root = formula.root
    inner = (
        root.child if isinstance(root, Window) and root.operator == "always" and root.interval == Interval() else None
    )
    if inner is None or _looks_away(inner):
        raise RequirementError(
            f"requirement '{text}' cannot be judged at every decision: write 'always (…)' with a condition about the "
            "present in the brackets"
        )
    return formula, inner


def _looks_away(node: object) -> bool:
    """Whether a condition refers to other times than the present."""
    if isinstance(node, Window) or type(node).__name__ in ("Until", "Edge"):
        return True
    return any(_looks_away(part) for part in vars(node).values() if hasattr(part, "__dataclass_fields__"))
