"""A trained policy in the place of the control system; it flies the mission point by point."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ironbird.errors import LinkError, RecordError
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem, Kind, Options, Seat, Task
from ironbird.runtime.border import ticks_of
from ironbird.systems.policy.code import compiled
from ironbird.systems.policy.files import load_policy, policy_path
from ironbird.systems.policy.network import Policy
from ironbird.systems.policy.observing import Observer

REACHED_M = 0.7  # a point counts as reached within this distance
SINK_M = 0.5  # below the vehicle: target of a landing
GROUND_M = 0.05  # above where it began: it has landed when it is that low and slow
SLOW_MPS = 0.3


class PolicyOptions(Options):
    """Options of control system `policy`."""

    file: Annotated[
        str,
        Field(
            description="Name of the FMU or file of the policy (.npz, .onnx or a shipped one); not needed if there is "
            "one only."
        ),
    ] = "waypoint"
    sha256: Annotated[str, Field(description="The file's hash; another file is refused. Empty: any.")] = ""
    ahead_m: Annotated[
        float, Field(description="Longest way to a point that the policy sees, in m.", gt=0.1, le=50)
    ] = 2.0
    state: Annotated[
        Literal["gyros", "truth"],
        Field(
            description="What control sees: what the estimator or the sensors give, or the true state; sensors work in "
            "both."
        ),
    ] = "gyros"


class PolicySystem(ControlSystem):
    """A policy that flies from point to point of a mission on the true position, velocity and attitude."""

    name = "policy"

    def __init__(self, policy: Policy, options: PolicyOptions, items: Sequence[LocalItem], step_s: float) -> None:
        super().__init__()
        self.policy, self.options, self.items = policy, options, list(items)
        self.step_ticks = ticks_of(policy.decision_s, step_s, "decision_s of the policy")
        self._observer = Observer([number.name for number in policy.observes], gyros=options.state == "gyros")
        self._decide = compiled(policy)
        self._item, self._reached_s = 0, -1.0
        self._landed = False

    def start(self, rig: Rig) -> None:
        """Check that the vehicle has the actuators that the policy commands, and no other."""
        names = [number.name for number in self.policy.commands]
        if sorted(names) != sorted(rig.actuators):
            raise LinkError(
                f"the policy commands {', '.join(names)}; {rig.vehicle.id} has {', '.join(rig.actuators)}: it was "
                f"trained for {self.policy.vehicle or 'another vehicle'}"
            )
        self._home = np.array(rig.truth("p"))

    def exchange(self, rig: Rig) -> None:
        """Observe, decide, and command the actuators."""
        place = np.array(rig.truth("p"))
        target = self._target(rig, place)
        if self._landed:
            for number in self.policy.commands:
                rig.command(number.name, number.low)
            return
        away = target - place
        length = float(np.linalg.norm(away))
        if length > self.options.ahead_m:
            target = place + away * (self.options.ahead_m / length)
        decided = self._decide(self._observer.observe(rig, target))
        for number, value in zip(self.policy.commands, decided.tolist(), strict=True):
            rig.command(number.name, value)

    def _target(self, rig: Rig, place: np.ndarray) -> np.ndarray:
        """The point to fly to now; goes on to the next item of the mission when one is reached."""
        if not self.items:
            return self._home + np.array([0.0, 0.0, -5.0])
        item = self.items[self._item]
        if item.kind == "land":
            low = self._home[2] - place[2] < GROUND_M and float(np.linalg.norm(rig.truth("v"))) < SLOW_MPS
            if low and not self._landed:
                self._landed = True
                self.note(rig, "landed", "on ground")
            return np.array([item.north_m, item.east_m, min(place[2] + SINK_M, self._home[2] + SINK_M)])
        point = np.array([item.north_m, item.east_m, -item.height_m])
        if np.linalg.norm(point - place) < REACHED_M:
            if self._reached_s < 0.0:
                self._reached_s = rig.time_s
                self.note(rig, "mission", f"item {self._item + 1} reached")
            if rig.time_s - self._reached_s >= item.hold_s and self._item + 1 < len(self.items):
                self._item, self._reached_s = self._item + 1, -1.0
        return point

    def reads(self) -> frozenset[str] | None:
        """Unknown: it takes the run itself for the true state."""
        return None

    @property
    def finished(self) -> bool:
        """Whether it has landed."""
        return self._landed

    def stop(self) -> None:
        """Do nothing: a policy has no process."""


class PolicyKind(Kind):
    """Kind of control system `policy`: a trained network."""

    name = "policy"
    title = "Policy"
    summary = "Fly with a trained network (.npz, .onnx) that commands the actuators."
    options = PolicyOptions
    longest_s = 120.0

    def seat(self, task: Task) -> Seat:
        """The policy of the file, ready to fly the mission."""
        assert isinstance(task.options, PolicyOptions)
        return Seat(PolicySystem(policy_of(task.options), task.options, task.items, self.step_s(task.options)))

    def programs(self, options: Options) -> Sequence[Path]:
        """The policy's file, whose hash belongs to the record."""
        assert isinstance(options, PolicyOptions)
        return (policy_path(options.file),)

    def repeats(self, options: Options, script: str) -> bool:
        """A network is arithmetic in a fixed order: its flights repeat, as long as the file is the same."""
        return True

    def takes_none(self) -> str:
        """Reason why a policy takes no commands in flight."""
        return "a policy flies the mission that it was given"


def policy_of(options: PolicyOptions) -> Policy:
    """The policy that the options name; `LinkError` if there is none, or the file is another one than was ordered."""
    path = policy_path(options.file)
    try:
        policy = load_policy(path)
    except RecordError as error:
        raise LinkError(str(error)) from None
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if options.sha256 and options.sha256 != found:
        raise LinkError(f"{path} has the sha256 {found}, ordered is {options.sha256}: it is another policy")
    return policy


POLICY = PolicyKind()
