"""`ironbird export policy FILE`: a trained policy as C, with a program that compares it with the flown one."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import numpy as np

from ironbird.errors import ExportError
from ironbird.export.job import Exporter, Job, filled
from ironbird.export.targets import TARGETS, build_program
from ironbird.systems.policy.code import compiled, write_c
from ironbird.systems.policy.files import load_policy, policy_path

HERE = Path(__file__).parent
DECISIONS = 500  # compared back to back
BEYOND = 1.3  # observations up to this share of their bounds: limits are tried too


class PolicyExporter(Exporter):
    """Exporter of a policy file as C."""

    name = "policy"
    summary = (
        "A trained policy (.npz, .onnx, in place of the vehicle) as C, compared bit by bit with the one that flies."
    )
    default_part = "network"

    def write(self, job: Job, folder: Path) -> dict[str, str]:
        """Write policy.c, its header, the comparison and a README; builds and runs the comparison."""
        path = policy_path(job.vehicle)
        policy, sha256 = load_policy(path), hashlib.sha256(path.read_bytes()).hexdigest()
        high = np.array([n.high for n in policy.observes])
        observed = np.random.default_rng(job.seed).uniform(-BEYOND, BEYOND, (DECISIONS, len(high))) * high
        decide = compiled(policy)
        expected = np.array([decide(row) for row in observed])
        files = write_c(policy, folder)
        program = folder / "back_to_back.c"
        texts = {
            program.name: {"count": DECISIONS, "inputs": observed.shape[1], "outputs": expected.shape[1],
                           "observed": _rows(observed), "expected": _rows(expected)},
            "README.md": {"decision_s": f"{policy.decision_s:g}", "observes": policy.observes,
                          "commands": policy.commands, "sha256": sha256},
        }  # fmt: skip
        for name, values in texts.items():
            (folder / name).write_text(filled(HERE, f"{name}.j2", values), encoding="utf-8")
        record = {"policy": path.name, "sha256": sha256, "facts": policy.facts()}
        (folder / "PROVENANCE.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        binary = folder / "bin" / "back_to_back"
        binary.parent.mkdir()
        build_program([files[0], program], TARGETS["linux64"], binary, include=[folder])
        binary.chmod(0o755)
        done = subprocess.run([str(binary)], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise ExportError(f"the exported policy differs from the flown one: {done.stdout.strip() or done.stderr}")
        weights = sum(layer.weight.size + layer.bias.size for layer in policy.layers)
        return {"policy": f"{path.name}, sha256 {sha256}", "weights": f"{weights}", "back to back": done.stdout.strip()}


def _rows(values: np.ndarray) -> str:
    return "".join("    {" + ", ".join(float(v).hex() for v in row) + "},\n" for row in values)


POLICY = PolicyExporter()
