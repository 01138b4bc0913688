"""Axes, signs and notation: the only place where frames are defined.

N  local north-east-down, origin at the take-off point on the ellipsoid normal; z is down, so height is -z
B  body: x forward, y right, z down, origin at the centre of mass
E  earth-centred, earth-fixed (WGS-84): x through latitude 0 longitude 0, z through the north pole
I  earth-centred inertial, equal to E at time zero

Notation (after Drake's monogram notation): quantity_FromTo_ExpressedIn
  p_NB_N   position of B's origin from N's origin, expressed in N
  v_NB_B   velocity of B with respect to N, expressed in B
  w_NB_B   angular velocity of B with respect to N, expressed in B
  R_NB     rotation matrix that maps a vector from B to N:  v_N = R_NB v_B
  q_NB     the same rotation as a unit quaternion, order w x y z

Angles: yaw, pitch, roll in z-y-x order; all right-handed. A wind vector points to where the air goes.
"""

from __future__ import annotations

FRAMES: frozenset[str] = frozenset({"N", "B", "E", "I"})
