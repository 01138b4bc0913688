"""Home as the front end reports it: the origin of heights above home, and the target of a return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ironbird.protocols.geodesy import to_geodetic

if TYPE_CHECKING:
    from ironbird.vehicles.spec import VehicleSpec


class Home:
    """Home position in metres from the origin of the vehicle's local frame, which is the home of its file."""

    def __init__(self, spec: VehicleSpec) -> None:
        self.origin = spec.home
        self.p_N: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def move(self, p_N: Sequence[float]) -> None:
        """Set another home position (m, in N), as commanded by a client."""
        north, east, down = p_N
        self.p_N = (float(north), float(east), float(down))

    @property
    def geodetic(self) -> tuple[float, float, float]:
        """Latitude and longitude in degrees, height in m above the sea."""
        return to_geodetic(self.origin, self.p_N)

    @property
    def height_m(self) -> float:
        """Height of home in m above the sea."""
        return self.origin.height_m - self.p_N[2]
