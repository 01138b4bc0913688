"""The C text of a policy: observation in SI to commands in SI, in double precision, with the kernel's functions.

The same text is compiled for flights and exported, so that a policy decides the same bits here and on a target; a
target must not contract sums to fused operations (`-ffp-contract=off`).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ironbird.compiler import native
from ironbird.systems.policy.network import Number, Policy

HEAD = """/* A trained policy as C: {inputs} numbers observed, {outputs} commanded, every {decision_s:g} s.
 * Observed: {observes}
 * Commanded: {commands}
 */
#include "ib_math.h"

#define POLICY_INPUTS {inputs}
#define POLICY_OUTPUTS {outputs}

"""
RUN = """
#ifndef POLICY_EXPORT
#define POLICY_EXPORT __attribute__((visibility("default")))
#endif

/* Commands in SI for an observation in SI. */
POLICY_EXPORT void ib_policy(const double *observed, double *command)
{{
    double a[{widest}], b[{widest}];
    for (int i = 0; i < POLICY_INPUTS; ++i) {{
        const double *s = space_in[i];
        a[i] = (observed[i] < s[0] ? s[0] : observed[i] > s[1] ? s[1] : observed[i]) / s[2];
    }}
{calls}
    for (int i = 0; i < POLICY_OUTPUTS; ++i) {{
        const double *s = space_out[i];
        const double x = {last}[i] < -1.0 ? -1.0 : {last}[i] > 1.0 ? 1.0 : {last}[i];
        const double c = s[2] + x * (x < 0.0 ? s[4] : s[3]);
        command[i] = c < s[0] ? s[0] : c > s[1] ? s[1] : c;
    }}
}}
"""
LAYER = """static void layer(int outputs, int inputs, const float *weight, const float *bias, int kind, const double *x,
                  double *y)
{
    for (int i = 0; i < outputs; ++i) {
        double total = bias[i];
        for (int j = 0; j < inputs; ++j) total += (double)weight[i * inputs + j] * x[j];
        y[i] = kind == 1 ? ib_tanh(total) : kind == 2 ? (total > 0.0 ? total : 0.0) : total;
    }
}
"""
KINDS = {"none": 0, "tanh": 1, "relu": 2}


def c_text(policy: Policy) -> str:
    """The policy as C that includes only ib_math.h."""
    sizes = [len(policy.observes), *(len(layer.bias) for layer in policy.layers)]
    parts = [
        HEAD.format(
            inputs=sizes[0], outputs=sizes[-1], decision_s=policy.decision_s,
            observes=_names(policy.observes), commands=_names(policy.commands),
        )
    ]  # fmt: skip
    parts.append(_table("space_in", [(n.low, n.high, n.divisor) for n in policy.observes]))
    parts.append(_table("space_out", [(n.low, n.high, n.centre, n.up, n.down) for n in policy.commands]))
    calls, here, there = [], "a", "b"
    for number, layer in enumerate(policy.layers, start=1):
        parts += [_array(f"weight_{number}", layer.weight.ravel()), _array(f"bias_{number}", layer.bias)]
        kind, size = KINDS[layer.activation], f"{sizes[number]}, {sizes[number - 1]}"
        calls.append(f"    layer({size}, weight_{number}, bias_{number}, {kind}, {here}, {there});")
        here, there = there, here
    return "".join([*parts, LAYER, RUN.format(widest=max(sizes), calls="\n".join(calls), last=here)])


def _names(numbers: Sequence[Number]) -> str:
    return ", ".join(f"{n.name} [{n.unit}]" for n in numbers)


def _table(name: str, rows: Sequence[Sequence[float]]) -> str:
    lines = ",\n    ".join("{" + ", ".join(float(v).hex() for v in row) + "}" for row in rows)
    return f"static const double {name}[{len(rows)}][{len(rows[0])}] = {{\n    {lines}}};\n"


def _array(name: str, values: np.ndarray) -> str:
    numbers = [f"{float(v).hex()}f" for v in values]
    lines = ",\n    ".join(", ".join(numbers[i : i + 6]) for i in range(0, len(numbers), 6))
    return f"static const float {name}[{len(numbers)}] = {{\n    {lines}}};\n"


def compiled(policy: Policy) -> Callable[[np.ndarray], np.ndarray]:
    """The policy as native code of this machine: commands for an observation, both in SI."""
    library = native.load(c_text(policy), 1, what="the code of a policy")
    run = library.ib_policy
    run.restype, run.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p]
    return functools.partial(_decide, run, np.zeros(len(policy.observes)), np.zeros(len(policy.commands)))


def _decide(run: Callable[[int, int], None], seen: np.ndarray, found: np.ndarray, observed: np.ndarray) -> np.ndarray:
    seen[:] = observed
    run(seen.ctypes.data, found.ctypes.data)
    return found.copy()


def write_c(policy: Policy, folder: Path) -> list[Path]:
    """Write policy.c with the header that it needs; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"policy.c": c_text(policy), "ib_math.h": (native.HEADERS / "ib_math.h").read_text(encoding="utf-8")}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]
