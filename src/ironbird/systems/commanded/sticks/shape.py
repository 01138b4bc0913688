"""From raw axis values of a gamepad to stick positions: calibration, dead zone, expo."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

FULL = 32767  # of an axis, as Linux's joystick interface scales it


class Calibration(BaseModel):
    """Raw values of an axis at its ends and at its centre; linear in between."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    low: Annotated[int, Field(ge=-(2**31), lt=2**31)] = -FULL
    centre: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 0
    high: Annotated[int, Field(ge=-(2**31), lt=2**31)] = FULL

    @model_validator(mode="after")
    def _in_order(self) -> Calibration:
        if not self.low < self.centre < self.high:
            raise ValueError(f"low {self.low}, centre {self.centre} and high {self.high} must rise")
        return self

    def normal(self, raw: int) -> float:
        """Stick position of a raw value: -1 at the low end, 0 at the centre, 1 at the high end; limited beyond."""
        span = self.high - self.centre if raw > self.centre else self.centre - self.low
        return min(max((raw - self.centre) / span, -1.0), 1.0)


def shaped(value: float, *, dead_zone: float = 0.0, expo: float = 0.0) -> float:
    """A stick position from -1 to 1 after dead zone and expo, which lowers the gain near the centre: (1 - e) x + e x^3.

    Outside the dead zone the whole range is kept: x = (|v| - d) / (1 - d).
    """
    size = (abs(value) - dead_zone) / (1.0 - dead_zone)
    if size <= 0.0:
        return 0.0
    size = (1.0 - expo) * size + expo * size**3
    return size if value > 0 else -size
