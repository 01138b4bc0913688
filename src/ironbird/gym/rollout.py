"""Simulation of several vehicles with a task; the base of all environments of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ironbird.errors import RunError, UnknownNameError
from ironbird.faults.spec import Injection
from ironbird.flight.prepare import events_of
from ironbird.gym.decide import Decision
from ironbird.gym.fields import Action, Field, action_box, box, entries
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
    """Result of one decision for all vehicles; the same arrays every time, with the values of the last one."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    success: np.ndarray


class Rollout:
    """Vehicles by number; each has its own random numbers, so its episode does not depend on the other vehicles."""

    def __init__(
        self,
        task: Task,
        randomisation: Randomisation | None = None,
        *,
        count: int = 1,
        threads: int = 1,
        wake: bool = False,
    ) -> None:
        self.task, self.randomisation, self.count = task, randomisation or Randomisation(), count
        self.level = level_of(task.level)
        self.fitted = fit(task.vehicle, self.level, task.integration, wake=wake)
        self.model = model = self.fitted.model
        self.judge = Judge(task, model)
        every = ticks_of(task.decision_s, model.step_s, "decision_s")
        if every < 1 or abs(every * model.step_s - task.decision_s) > 1e-9:
            raise RunError(f"decision_s = {task.decision_s:g} s is not a whole number of steps of {model.step_s:g} s")
        self.most_steps = max(1, round(task.longest_s / task.decision_s))
        self._orders = self.randomisation.orders()
        events = self._slots(self._orders)
        motors = [at.rotor(n).motor("omega_0") for n in range(1, len(self.fitted.hover_radps) + 1)]
        self._motors = dict(zip(motors, self.fitted.hover_radps, strict=True))
        varied = [] if self.level.on_ground else [*START, *motors]
        varied = list(dict.fromkeys([*varied, *self.randomisation.varied()]))
        paths = [path for path, _ in task.observed]
        logged = list(dict.fromkeys([*paths, *self.judge.paths, *self._needed(wake)]))
        self.episodes = Episodes(model, count, paths=logged, every=every, varied=varied, events=events, threads=threads)
        self.action_fields, self.actions = self._actions(task.normalise)
        actions = self.actions
        observed = self._observed(task.normalise)
        self.observation_fields = [f for _, f in observed]
        self.observation_space, self.action_space = box(self.observation_fields), action_box(actions)
        self.memory = np.zeros((count, task.memory))
        decision = self._decision = Decision(self.episodes, self.judge, observed, actions, self.most_steps)
        self.steps, self.least = decision.steps, decision.least  # of the present episodes; least margins so far
        self.outcome = Outcome(
            decision.observation, decision.reward, decision.terminated, decision.truncated, decision.success
        )
        self.drawn: list[Drawn | None] = [None] * count
        self._rngs: list[np.random.Generator | None] = [None] * count

    def _needed(self, wake: bool) -> list[str]:
        """Signals that tasks and pictures read in addition to those observed and judged."""
        paths = [at.BODY.position, at.BODY.velocity, at.BODY.attitude]
        return paths + [path for path in self.model.signals() if wake and path.startswith(f"{at.THRUSTS.path}.")]

    def _actions(self, normalise: bool) -> tuple[list[Field], list[Action]]:
        """Fields of the action in SI, and how a number of the space becomes one; sets what flies on by itself."""
        flat, level = self.model.flat, self.level
        bounds = level.action or tuple((name, 0.0, 1.0) for name in flat.u.start if name != at.WASH("told_N"))
        self._inputs = flat.inputs.copy()
        for name, value in level.inputs.items():
            self._inputs[flat.u.rows(name)] = value
        hover = self.fitted.hover_throttle
        if level.bare:
            for number, throttle in enumerate(hover, start=1):
                self._inputs[flat.u.rows(f"rotor/{number}")] = throttle
        elif "offboard_thrust" in dict((name, 0) for name, *_ in bounds):
            self._inputs[flat.u.rows("offboard_thrust")] = self.fitted.hover_thrust
        fields: list[Field] = []
        actions: list[Action] = []
        for name, low, high in bounds:
            signal, span = flat.u.signals[name], flat.u.rows(name)
            fields += entries(name, signal.size, signal.unit, low, high)
            for row in range(span.start, span.stop):
                rest = float(self._inputs[row])
                actions.append(
                    Action(row, -1, 1, rest, high - rest, rest - low) if normalise else Action(row, low, high)
                )
        self.neutral_action = np.array([0.0 if normalise else self._inputs[a.row] for a in actions], np.float32)
        return fields, actions

    def _observed(self, normalise: bool) -> list[tuple[str, Field]]:
        """Every number of the observation: the column it comes from, and its field."""
        signals, own = self.model.signals(), self.task.task_signals
        parts = [(path, signals[path].size, signals[path].unit, limit) for path, limit in self.task.observed]
        parts += [(name, own[name].size, own[name].unit, own[name].limit) for name in self.task.shown]
        return [
            (field.name, field)
            for name, size, unit, limit in parts
            for field in entries(name, size, unit, -limit, limit, limit if normalise else 1.0)
        ]

    # ------------------------------------------------------------------ episodes

    def seed(self, seeds: Sequence[int | None], vehicles: Sequence[int] | None = None) -> None:
        """Seed the random numbers of vehicles; a vehicle without a seed gets one from the operating system."""
        for vehicle, seed in zip(range(self.count) if vehicles is None else vehicles, seeds, strict=True):
            self._rngs[vehicle] = np.random.Generator(np.random.PCG64(seed))

    def _slots(self, orders: Sequence[Injection]) -> int:
        return max((len(events_of(self.model, order)) * 9 for order in orders), default=0)

    def vary(self, options: Mapping[str, Any]) -> None:
        """Change fields of the randomisation for all episodes that begin from now on."""
        known = [entry.name for entry in fields(Randomisation)]
        for key in options:
            if key not in known:
                raise UnknownNameError("option of reset", key, known)
        changed = replace(self.randomisation, **options)
        orders = changed.orders()
        new = [path for path in changed.varied() if path not in self.episodes.varied]
        if new or self._slots(orders) > self.episodes.slots:
            raise RunError(
                f"the options of reset ask for {'; '.join(new) or 'faults that change more values'}: make the "
                "environment with these in scale or faults, so that it has room for them"
            )
        self.randomisation, self._orders = changed, orders

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
        params |= {path: self._own_value(path) for path in self.episodes.varied if path not in params}
        fault = self.randomisation.draw_fault(rng, self._orders)
        return Drawn(int(rng.integers(2**63)), params, self.level.states, fault, memory)

    def _own_value(self, path: str) -> np.ndarray:
        """Value of a parameter as the vehicle's file has it."""
        return np.asarray(self.model.flat.values[self.model.param_rows(path)])

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
            self._decision.moved()
        self._decision.look(self.task, self.memory)
        self._decision.observe()
        return self._decision.observation

    def step(self, actions: np.ndarray) -> Outcome:
        """Apply one action to every vehicle; a vehicle whose episode is over does not change."""
        decision = self._decision
        actions = np.asarray(actions)
        if actions.shape != decision.action.shape or actions.dtype.kind not in "fiu":
            raise RunError(f"actions are {actions.dtype} {actions.shape}; give {self._wanted()}")
        decision.action[...] = actions
        wrong = decision.act()
        if wrong >= 0:
            raise RunError(f"the action of vehicle {wrong} is {actions[wrong].tolist()}; give {self._wanted()}")
        self.episodes.go_on()
        decision.look(self.task, self.memory)
        before = self.memory
        self.memory, decision.extra[...], decision.success[...] = self.task.after(
            decision.seen, decision.signals, before
        )
        if self.memory is not before:
            decision.again(self.task, self.memory)
        decision.judge()
        return self.outcome

    def _wanted(self) -> str:
        names = ", ".join(f"{f.name} [{f.unit}]" for f in self.action_fields)
        return f"{(self.count, len(self.action_fields))} finite numbers: {names}"

    def reason(self, vehicle: int) -> str:
        """Why the present episode of a vehicle was terminated; empty if it was not."""
        if not self.outcome.terminated[vehicle]:
            return ""
        stop = self.episodes.stop_of(vehicle)
        if stop is not None:
            return stop.reason
        if self.outcome.success[vehicle]:
            return "success"
        margins = self._decision.margins[len(self.judge.goals) :, vehicle]
        return "; ".join(text for (text, _), margin in zip(self.judge.keep, margins, strict=True) if margin < 0.0)

    def margins(self, vehicle: int) -> dict[str, float]:
        """The least margin of each requirement in the present episode: its robustness, sampled at the decisions."""
        texts = [goal.text for goal, _ in self.judge.goals] + [text for text, _ in self.judge.keep]
        return {text: float(self.least[column, vehicle]) for column, text in enumerate(texts)}

    # ------------------------------------------------------------------ observations

    def put(self, name: str, values: np.ndarray) -> None:
        """Set an input of all vehicles, [vehicle, size], until the next call."""
        block, place = np.divmod(self.episodes.place, self.episodes.width)
        span = self.model.flat.u.rows(name)
        self.episodes.state.inputs[block[:, None], np.arange(span.start, span.stop), place[:, None]] = values

    @property
    def seen(self) -> Seen:
        """Signals at the last decision; views that change at the next one."""
        return self._decision.seen

    def time_s(self, vehicle: int) -> float:
        """Time since the begin of a vehicle's episode."""
        return float(self.seen.time_s[vehicle])

    def positions(self) -> np.ndarray:
        """Positions of the vehicles in N, m: [vehicle, 3]; a view that changes at the next decision."""
        return self.seen[at.BODY.position]

    def close(self) -> None:
        """End the worker threads of the kernel."""
        self.episodes.close()
