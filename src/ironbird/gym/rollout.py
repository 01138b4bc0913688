"""Simulation of several vehicles with a task; the base of all environments of this package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ironbird.errors import RunError
from ironbird.faults.spec import Injection
from ironbird.flight.prepare import events_of
from ironbird.gym.fields import Field, entries
from ironbird.gym.levels import fit, level_of
from ironbird.gym.randomise import Randomisation
from ironbird.gym.task import Judge, Seen, Task
from ironbird.rotations import from_euler
from ironbird.runtime.border import ticks_of
from ironbird.runtime.episodes import Episodes
from ironbird.vehicles import places as at

START = ("body.p_0", "body.v_0", "body.q_0", "body.w_0")


@dataclass
class Drawn:
    """Everything that defines an episode except its actions; `ironbird.runtime.state.start` repeats it bit for bit."""

    seed: int
    params: dict[str, np.ndarray]
    states: dict[str, float]
    fault: Injection | None
    memory: np.ndarray


@dataclass
class Outcome:
    """Result of one decision for all vehicles."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    success: np.ndarray
    reasons: dict[int, str] = field(default_factory=dict)  # of vehicles whose episode was terminated


class Rollout:
    """Vehicles by number; each has its own random numbers, so its episode does not depend on the other vehicles."""

    def __init__(
        self, task: Task, randomisation: Randomisation | None = None, *, count: int = 1, threads: int = 1
    ) -> None:
        self.task, self.randomisation, self.count = task, randomisation or Randomisation(), count
        self.level = level_of(task.level)
        self.fitted = fit(task.vehicle, self.level, task.integration)
        self.model = model = self.fitted.model
        self.judge = Judge(task, model)
        every = ticks_of(task.decision_s, model.step_s, "decision_s")
        if every < 1 or abs(every * model.step_s - task.decision_s) > 1e-9:
            raise RunError(f"decision_s = {task.decision_s:g} s is not a whole number of steps of {model.step_s:g} s")
        self.most_steps = max(1, round(task.longest_s / task.decision_s))
        self._orders = self.randomisation.orders()
        events = max((len(events_of(model, order)) * 9 for order in self._orders), default=0)
        motors = [at.rotor(n).motor("omega_0") for n in range(1, len(self.fitted.hover_radps) + 1)]
        self._motors = dict(zip(motors, self.fitted.hover_radps, strict=True))
        varied = [] if self.level.on_ground else [*START, *motors]
        varied = list(dict.fromkeys([*varied, *self.randomisation.varied()]))
        paths = [path for path, _ in task.observed]
        logged = list(dict.fromkeys([*paths, *self.judge.paths, *self._needed()]))
        self.episodes = Episodes(model, count, paths=logged, every=every, varied=varied, events=events, threads=threads)
        self._make_action()
        self.observation_fields = self._observation_fields()
        self._low = np.array([[f.low] for f in self.observation_fields], np.float32)  # as in the space
        self._high = np.array([[f.high] for f in self.observation_fields], np.float32)
        self.memory = np.zeros((count, task.memory))
        self.steps = np.zeros(count, np.int64)
        self.least = np.full((len(self.judge.goals) + len(self.judge.keep), count), np.inf)  # margins so far
        self.drawn: list[Drawn | None] = [None] * count
        self._rngs: list[np.random.Generator | None] = [None] * count

    def _needed(self) -> list[str]:
        """Signals that tasks read in addition to those observed and judged."""
        return [at.BODY.position, at.BODY.velocity]

    def _make_action(self) -> None:
        flat, level = self.model.flat, self.level
        bounds = level.action or tuple((name, 0.0, 1.0) for name in flat.u.start)
        self.action_fields: list[Field] = []
        rows: list[int] = []
        for name, low, high in bounds:
            signal = flat.u.signals[name]
            self.action_fields += entries(name, signal.size, signal.unit, low, high)
            span = flat.u.rows(name)
            rows += range(span.start, span.stop)
        self._action_rows = np.array(rows, np.int64)
        self._action_low = np.array([f.low for f in self.action_fields])
        self._action_high = np.array([f.high for f in self.action_fields])
        self._inputs = flat.inputs.copy()
        for name, value in level.inputs.items():
            self._inputs[flat.u.rows(name)] = value
        hover = self.fitted.hover_throttle
        if level.bare:
            self._inputs[: len(hover)] = hover
        elif "offboard_thrust" in dict((name, 0) for name, *_ in bounds):
            self._inputs[flat.u.rows("offboard_thrust")] = self.fitted.hover_thrust
        self.neutral_action = self._inputs[self._action_rows].astype(np.float32)

    def _observation_fields(self) -> list[Field]:
        fields: list[Field] = []
        signals = self.model.signals()
        for path, limit in self.task.observed:
            fields += entries(path, signals[path].size, signals[path].unit, -limit, limit)
        for name in self.task.shown:
            own = self.task.task_signals[name]
            fields += entries(name, own.size, own.unit, -own.limit, own.limit)
        return fields

    # ------------------------------------------------------------------ episodes

    def seed(self, seeds: Sequence[int | None], vehicles: Sequence[int] | None = None) -> None:
        """Seed the random numbers of vehicles; a vehicle without a seed gets one from the operating system."""
        for vehicle, seed in zip(range(self.count) if vehicles is None else vehicles, seeds, strict=True):
            self._rngs[vehicle] = np.random.Generator(np.random.PCG64(seed))

    def _draw(self, vehicle: int) -> Drawn:
        rng = self._rngs[vehicle]
        if rng is None:
            rng = self._rngs[vehicle] = np.random.Generator(np.random.PCG64())
        begin, memory = self.task.draw(rng)
        params = self.randomisation.draw(rng, self.model)
        if not self.level.on_ground:
            params |= {
                "body.p_0": begin.position_N_m,
                "body.v_0": begin.velocity_B_mps,
                "body.q_0": from_euler(begin.euler_rad),
                "body.w_0": begin.rates_radps,
            }
            params |= {path: np.array([speed]) for path, speed in self._motors.items()}
        fault = self.randomisation.draw_fault(rng, self._orders)
        return Drawn(int(rng.integers(2**63)), params, self.level.states, fault, memory)

    def begin(self, vehicles: np.ndarray) -> np.ndarray:
        """Begin an episode with some vehicles; returns the observations of all vehicles."""
        if len(vehicles):
            drawn = [self._draw(int(vehicle)) for vehicle in vehicles]
            values = np.array(
                [np.concatenate([np.ravel(one.params[path]) for path in self.episodes.varied]) for one in drawn]
            )
            self.episodes.begin(
                vehicles,
                [one.seed for one in drawn],
                values,
                states={path: np.full((len(vehicles), 1), value) for path, value in self.level.states.items()},
                inputs=np.broadcast_to(self._inputs, (len(vehicles), len(self._inputs))),
                events=[events_of(self.model, one.fault) if one.fault else [] for one in drawn],
            )
            for vehicle, one in zip(vehicles.tolist(), drawn, strict=True):
                self.drawn[vehicle] = one
                self.memory[vehicle] = one.memory
            self.steps[vehicles] = 0
            self.least[:, vehicles] = np.inf
        rows = self.episodes.logged()
        late = np.flatnonzero(np.isnan(rows[:, 0]))
        if len(late):  # stopped earlier and not restarted
            rows[late] = self.episodes.where_stopped(late)
        self._latest = seen = self._seen(rows)
        return self._observation(seen, self.task.signals(seen, self.memory))

    def step(self, actions: np.ndarray) -> Outcome:
        """Apply one action to every vehicle; a vehicle whose episode is over does not change."""
        actions = np.asarray(actions, np.float64)
        if actions.shape != (self.count, len(self._action_rows)) or not np.isfinite(actions).all():
            raise RunError(
                f"actions are {actions.shape}; give {(self.count, len(self._action_rows))} finite numbers: "
                + ", ".join(f"{f.name} [{f.unit}]" for f in self.action_fields)
            )
        bounded = np.minimum(np.maximum(actions, self._action_low), self._action_high)
        self.episodes.step(bounded, self._action_rows)
        self.steps += 1
        rows, stopped = self.episodes.logged(), self.episodes.stopped()
        late = np.flatnonzero(np.isnan(rows[:, 0]))
        if len(late):
            rows[late] = self.episodes.where_stopped(late)
        self._latest = seen = self._seen(rows)
        signals = self.task.signals(seen, self.memory)
        before = self.memory
        self.memory, extra, success = self.task.after(seen, signals, before)
        if self.memory is not before:
            signals = self.task.signals(seen, self.memory)
        goals, keep = self.judge.margins(seen, signals)
        for column, margins in enumerate((*goals.T, *keep.T)):
            np.minimum(self.least[column], margins, out=self.least[column])
        broken = (keep < 0.0).any(axis=1)
        bad = stopped | broken
        success = success & ~bad
        reward = self.judge.reward(goals) + extra
        reward = reward + np.where(bad, self.task.end_reward, np.where(success, self.task.success_reward, 0.0))
        terminated = bad | success
        truncated = ~terminated & (self.steps >= self.most_steps)
        reasons = {int(v): self._reason(int(v), bool(success[v]), keep[v]) for v in np.flatnonzero(terminated)}
        return Outcome(self._observation(seen, signals), reward, terminated, truncated, success, reasons)

    def _reason(self, vehicle: int, success: bool, keep: np.ndarray) -> str:
        stop = self.episodes.stop_of(vehicle)
        if stop is not None:
            return stop.reason
        if success:
            return "success"
        return "; ".join(text for (text, _), margin in zip(self.judge.keep, keep, strict=True) if margin < 0.0)

    def margins(self, vehicle: int) -> dict[str, float]:
        """The least margin of each requirement in the present episode: its robustness, sampled at the decisions."""
        texts = [goal.text for goal, _ in self.judge.goals] + [text for text, _ in self.judge.keep]
        return {text: float(self.least[column, vehicle]) for column, text in enumerate(texts)}

    # ------------------------------------------------------------------ observations

    def positions(self) -> np.ndarray:
        """Positions of the vehicles in N, m: [vehicle, 3]."""
        return np.asarray(self._latest[at.BODY.position])

    def _seen(self, rows: np.ndarray) -> Seen:
        plan = self.episodes.plan
        columns = {path: rows[:, first : first + plan.signals[path].size] for path, first in plan.start.items()}
        return Seen(columns, self.episodes.time_s())

    def _observation(self, seen: Seen, signals: dict[str, np.ndarray]) -> np.ndarray:
        parts = [seen[path].T for path, _ in self.task.observed] + [signals[name].T for name in self.task.shown]
        rows = np.concatenate(parts, axis=0, dtype=np.float32)
        np.minimum(np.maximum(rows, self._low, out=rows), self._high, out=rows)
        return np.ascontiguousarray(rows.T)

    def close(self) -> None:
        """End the worker threads of the kernel."""
        self.episodes.close()
