"""Files of policies, .npz and .onnx, as data: nothing in them is run."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from ironbird.errors import RecordError
from ironbird.systems.policy.network import Layer, Policy
from ironbird.systems.policy.onnx import read_onnx

MOST_BYTES = 20_000_000
CATALOG = Path(__file__).parent / "catalog"


def policy_path(name: str) -> Path:
    """The file of a policy: a shipped one by name, such as `waypoint`, or a path."""
    shipped = CATALOG / f"{name}.npz"
    return shipped if name.isidentifier() and shipped.is_file() else Path(name).expanduser()


def shipped() -> list[str]:
    """Names of the shipped policies."""
    return sorted(path.stem for path in CATALOG.glob("*.npz"))


def load_policy(path: Path) -> Policy:
    """The policy of a file, .npz or .onnx; nothing in it is run."""
    if not path.is_file():
        raise RecordError(
            f"there is no policy '{path}': give a file .npz or .onnx, or a shipped one: {', '.join(shipped())}"
        )
    if path.stat().st_size > MOST_BYTES:
        raise RecordError(
            f"{path} has {path.stat().st_size / 1e6:.0f} MB; a policy has at most {MOST_BYTES / 1e6:.0f} MB"
        )
    if path.suffix == ".onnx":
        return read_onnx(path)
    try:
        with np.load(path, allow_pickle=False) as data:
            facts = json.loads(str(data["policy"]))
            layers = [
                Layer(np.array(data[f"weight_{n}"], np.float32), np.array(data[f"bias_{n}"], np.float32), activation)
                for n, activation in enumerate(facts["activations"], start=1)
            ]
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
        raise RecordError(f"{path} is no policy: {error}") from None
    return Policy.of_facts(facts, layers, str(path))
