"""The published outcomes of RFlySimSafe's 29 cases, from `rflysimsafe.toml` in the same folder."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

HOLDS, CRASHES, LOST = "holds", "crashes", "flies away"


@dataclass(frozen=True)
class Published:
    """Outcome of a case in the two loops; impact speeds where it crashed."""

    software: str
    hardware: str
    impact_software_mps: float | None = None
    impact_hardware_mps: float | None = None
    reason: str = ""  # why Ironbird's differs, if it does

    @property
    def crashed(self) -> bool:
        """Whether it crashed in both loops."""
        return self.software == self.hardware == CRASHES

    @property
    def unclear(self) -> bool:
        """Whether the two loops differ, or the vehicle was lost without a crash."""
        return self.software != self.hardware or self.software == LOST


def _load() -> dict[str, Published]:
    data = tomllib.loads(Path(__file__).with_name("rflysimsafe.toml").read_text())
    reasons = {"": "", **data["reasons"]}
    return {id: Published(**{**row, "reason": reasons[row.get("reason", "")]}) for id, row in data["cases"].items()}


PUBLISHED = _load()
