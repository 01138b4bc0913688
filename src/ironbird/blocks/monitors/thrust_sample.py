"""Thrust of the rotors, held for code outside the kernel to read between two steps."""

from __future__ import annotations

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out


class ThrustSample(Block):
    """Holds the thrust of each rotor and the state of the air of the last sample, from which a scenario computes wakes.
    Sampled.

    Not modelled: nothing; values are only held.
    """

    source = "a register of this project"

    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    air = Out(unit="kg/m^3", doc="density at the last sample")
    flow_B = Out(unit="m/s", shape=3, frame="B", doc="velocity through the air at the last sample")

    def __init__(self, rotors: int, *, sample_s: float | None = None) -> None:
        super().__init__(sample_s=sample_s)
        self.rotors = rotors
        for number in range(1, rotors + 1):
            self.declare(f"thrust_{number}", In(unit="N", doc="of this rotor"))
            self.declare(f"held_{number}", Out(unit="N", doc="at the last sample"))

    def output(self, x: View, u: View, p: View) -> Values:
        held = {f"held_{number}": u[f"thrust_{number}"] for number in range(1, self.rotors + 1)}
        return {"air": u.density, "flow_B": u.v_air_B, **held}
