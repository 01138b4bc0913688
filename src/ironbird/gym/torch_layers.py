"""Layers of a policy from modules of torch; needs the extra `learn`."""

from __future__ import annotations

import numpy as np
import torch

from ironbird.errors import RecordError
from ironbird.systems.policy.network import Layer

NAMES = {torch.nn.Tanh: "tanh", torch.nn.ReLU: "relu"}


def layers_of(*modules: torch.nn.Module) -> list[Layer]:
    """The layers of modules one after the other: Linear, each followed by Tanh, ReLU or nothing."""
    layers: list[Layer] = []
    for module in (part for whole in modules for part in whole.modules() if not list(part.children())):
        if isinstance(module, torch.nn.Linear):
            bias = module.bias if module.bias is not None else torch.zeros(module.out_features)
            weight, offset = (np.array(p.detach().numpy(), np.float32) for p in (module.weight, bias))
            layers.append(Layer(weight, offset, "none"))
        elif type(module) in NAMES and layers and layers[-1].activation == "none":
            layers[-1] = Layer(layers[-1].weight, layers[-1].bias, NAMES[type(module)])
        elif not isinstance(module, torch.nn.Identity | torch.nn.Flatten):
            raise RecordError(f"{type(module).__name__} is no layer that a policy may have: Linear, Tanh, ReLU")
    return layers
