"""A policy that was trained in an environment as a file that flies (`--control policy`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironbird.errors import RunError
from ironbird.gym.rollout import Rollout
from ironbird.systems.policy.network import Layer, Number, Policy


def policy_of(rollout: Rollout, layers: Sequence[Layer], record: Mapping[str, Any] | None = None) -> Policy:
    """The policy of layers that were trained in an environment with normalised spaces; `record` is of the training.

    Examples
    --------
    >>> layers = layers_of(model.policy.mlp_extractor.policy_net, model.policy.action_net)  # doctest: +SKIP
    >>> policy_of(envs.envs.rollout, layers).save(Path("waypoint.npz"))  # doctest: +SKIP
    """
    task = rollout.task
    if not task.normalise:
        raise RunError("a policy file maps -1 .. 1 to -1 .. 1: train it in an environment with normalise=True")
    observes = [Number(f.name, f.unit, f.low, f.high, f.divisor) for f in rollout.observation_fields]
    commands = [
        Number(f.name, f.unit, f.low, f.high, 1.0, a.centre, a.up, a.down)
        for f, a in zip(rollout.action_fields, rollout.actions, strict=True)
    ]
    facts = dict(record or {})
    return Policy(tuple(layers), tuple(observes), tuple(commands), task.decision_s, task.vehicle, facts)
