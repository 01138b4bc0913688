"""Calibration of a gamepad from the values of its axes at rest and at their ends."""

from __future__ import annotations

from ironbird.errors import LinkError
from ironbird.systems.commanded.sticks.layout import GIMBALS, Layout
from ironbird.systems.commanded.sticks.shape import Calibration

LEAST_TRAVEL = 1000  # of 32767 on each side: a stick with less was not moved


class Measured:
    """Raw values of a gamepad's axes at rest and at both ends."""

    def __init__(self) -> None:
        self.centres: dict[int, int] = {}
        self.ends: dict[int, tuple[int, int]] = {}

    def rest(self, axes: dict[int, int]) -> None:
        """Record axis values while the sticks are centred."""
        self.centres.update(axes)

    def moved(self, axes: dict[int, int]) -> None:
        """Record axis values while the sticks are moved; extends the range of each axis."""
        for number, value in axes.items():
            low, high = self.ends.get(number, (value, value))
            self.ends[number] = (min(low, value), max(high, value))

    def layout(self, before: Layout, name: str) -> Layout:
        """The layout with this calibration; `LinkError` names a stick that was not moved."""
        calibration = {}
        for stick in GIMBALS:
            number: int = getattr(before, stick)
            centre = self.centres.get(number, 0)
            low, high = self.ends.get(number, (centre, centre))
            if centre - low < LEAST_TRAVEL or high - centre < LEAST_TRAVEL:
                raise LinkError(
                    f"{name}: stick {stick} (axis {number}) went from {low} to {high} about {centre}: move it to both "
                    "ends, or say another axis in a layout file"
                )
            calibration[stick] = Calibration(low=low, centre=centre, high=high)
        return before.model_copy(update={"calibration": calibration, "name": name})
