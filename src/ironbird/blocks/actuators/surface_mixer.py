"""Linear mixer of commands or deflections of control surfaces."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param


class SurfaceMixer(Block):
    """Mixes surface commands by a matrix.
    Aileron and elevator become two elevons, or elevons become what a wing's model takes.

    Not modelled: limits; a surface with too large a command stops at its servo's travel.
    """

    source = "[BeardMcLain] Sec. 4.2: elevons"
    role = "transform"

    def __init__(self, inputs: Sequence[str], outputs: Sequence[str], unit: str, *, sample_s: float | None = None):
        super().__init__(sample_s=sample_s)
        self.taken, self.given = tuple(inputs), tuple(outputs)
        for name in self.taken:
            self.declare(f"{name}_in", In(unit=unit, doc="to be mixed"))
        for name in self.given:
            self.declare(f"{name}_out", Out(unit=unit, doc="mixed"))
        shape = (len(self.given), len(self.taken))
        self.declare("matrix", Param(unit="1", shape=shape, doc="one row per output"))

    def output(self, x: View, u: View, p: View) -> Values:
        values = p.matrix @ ca.vertcat(*[u[f"{name}_in"] for name in self.taken])
        return {f"{name}_out": values[i] for i, name in enumerate(self.given)}
