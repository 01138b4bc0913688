"""A policy: a small network of layers, with what it observes and commands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import RecordError

ACTIVATIONS = ("tanh", "relu", "none")
SCHEMA = 1


@dataclass(frozen=True)
class Layer:
    """A dense layer: activation(weight @ x + bias)."""

    weight: np.ndarray  # [outputs, inputs], single precision
    bias: np.ndarray
    activation: str


@dataclass(frozen=True)
class Number:
    """A number that a policy observes or commands; x of the network is its value over `divisor`, or see `Policy`."""

    name: str
    unit: str
    low: float
    high: float
    divisor: float = 1.0
    centre: float = 0.0
    up: float = 1.0
    down: float = 1.0


@dataclass(frozen=True)
class Policy:
    """Layers, and the spaces between which they map.

    An observation is limited to `low` and `high` in SI and divided by `divisor`. An output x is limited to -1 .. 1 and
    commands centre + x up, or centre + x down if x < 0, which is limited to `low` and `high` in SI.
    """

    layers: tuple[Layer, ...]
    observes: tuple[Number, ...]
    commands: tuple[Number, ...]
    decision_s: float
    vehicle: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)  # of the training

    def __post_init__(self) -> None:
        if not self.layers:
            raise RecordError("a policy has no layer")
        sizes = [len(self.observes), *(len(layer.bias) for layer in self.layers)]
        for number, (layer, inputs) in enumerate(zip(self.layers, sizes[:-1], strict=True), start=1):
            if layer.weight.shape != (len(layer.bias), inputs):
                raise RecordError(
                    f"layer {number} of the policy has weights {layer.weight.shape} for {inputs} inputs and "
                    f"{len(layer.bias)} outputs"
                )
            if layer.activation not in ACTIVATIONS:
                raise RecordError(
                    f"layer {number}: activation '{layer.activation}'; known are {', '.join(ACTIVATIONS)}"
                )
            if not (np.isfinite(layer.weight).all() and np.isfinite(layer.bias).all()):
                raise RecordError(f"layer {number} of the policy has a weight that is no finite number")
        if sizes[-1] != len(self.commands):
            raise RecordError(f"the policy has {sizes[-1]} outputs for {len(self.commands)} commands")

    # ------------------------------------------------------------------ files

    def save(self, path: Path) -> None:
        """Write as .npz: arrays `weight_1`, `bias_1`, …, and a text `policy` with the rest as JSON."""
        arrays = {f"weight_{n}": layer.weight for n, layer in enumerate(self.layers, start=1)}
        arrays |= {f"bias_{n}": layer.bias for n, layer in enumerate(self.layers, start=1)}
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, policy=np.array(json.dumps(self.facts())), **arrays)  # type: ignore[arg-type]

    def facts(self) -> dict[str, Any]:
        """All but the weights, as plain data."""
        return {
            "schema": SCHEMA, "activations": [layer.activation for layer in self.layers],
            "observes": [vars(n) for n in self.observes], "commands": [vars(n) for n in self.commands],
            "decision_s": self.decision_s, "vehicle": self.vehicle, "record": dict(self.record),
        }  # fmt: skip

    @staticmethod
    def of_facts(facts: Mapping[str, Any], layers: Sequence[Layer], where: str) -> Policy:
        """A policy from its layers and plain data; `RecordError` names what is missing."""
        try:
            if facts["schema"] != SCHEMA:
                raise RecordError(f"{where} has schema {facts['schema']}; this version reads {SCHEMA}")
            observes, commands = (tuple(Number(**n) for n in facts[key]) for key in ("observes", "commands"))
            record = dict(facts.get("record", {}))
            return Policy(
                tuple(layers), observes, commands, float(facts["decision_s"]), str(facts.get("vehicle", "")), record
            )
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(f"{where} does not say what the policy observes and commands: {error!r}") from None
