"""Forces of the wind on a vessel above its waterline."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.rotation import norm


class WindLoads(Block):
    """Computes the wind force and yaw moment on a ship above the water, [Fossen2021] Ch. 10.
    X = q C_X A_F, Y = q C_Y A_L, N = q C_N A_L L with C_X = -c_x cos g, C_Y = c_y sin g, C_N = c_n sin 2g.

    [Fossen2021] Ch. 10 for ships that are symmetric fore and aft; g is the angle of the relative wind, q its dynamic
    pressure. The force acts `centre_height` above the body's origin. The force in still air is subtracted: the hull's
    damping was measured with it. Not modelled: shielding by waves, gusts along the hull, lift.
    """

    source = "[Fossen2021] Ch. 10"

    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    v_NB_B = In(unit="m/s", shape=3, frame="B", doc="velocity over ground: through the air if there were no wind")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="of the air")
    force_B = Out(unit="N", shape=3, frame="B", doc="of the wind")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="of the wind")
    frontal_area = Param(unit="m^2", low=0.0, doc="A_F, projected above the water")
    lateral_area = Param(unit="m^2", low=0.0, doc="A_L, projected above the water")
    length = Param(unit="m", low=0.01, doc="over all")
    centre_height = Param(unit="m", default=0.0, doc="of the areas' centre above the body's origin")
    surge_coefficient = Param(unit="1", default=0.7, low=0.0, high=2.0, tunable=True, doc="c_x: 0.5 to 0.9")
    sway_coefficient = Param(unit="1", default=0.825, low=0.0, high=2.0, tunable=True, doc="c_y: 0.7 to 0.95")
    yaw_coefficient = Param(unit="1", default=0.125, low=0.0, high=1.0, tunable=True, doc="c_n: 0.05 to 0.2")

    def _loads(self, v: ca.SX, density: ca.SX, p: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        # cos g = u / V and sin g = -v / V, so that no angle is needed
        pressure = 0.5 * density * norm(v[:2])
        X = -pressure * p.surge_coefficient * p.frontal_area * v[0]
        Y = -pressure * p.sway_coefficient * p.lateral_area * v[1]
        N = -density * p.yaw_coefficient * p.lateral_area * p.length * v[0] * v[1]
        return X, Y, N

    def output(self, x: View, u: View, p: View) -> Values:
        windy = self._loads(u.v_air_B, u.density, p)
        still = self._loads(u.v_NB_B, u.density, p)
        X, Y, N = (a - b for a, b in zip(windy, still, strict=True))
        return {
            "force_B": ca.vertcat(X, Y, 0),
            "moment_B": ca.vertcat(p.centre_height * Y, -p.centre_height * X, N),
        }
