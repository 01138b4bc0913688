"""PX4 and ArduPilot fly an excitation, and their own logs give the vehicle's mass back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ironbird.credibility.readers import read_record
from ironbird.files.whole import write_text
from ironbird.flight.flight import fly
from ironbird.identification.equation_error import equation_error
from ironbird.identification.excite import excitation_mission, mission_text

pytestmark = pytest.mark.autopilot


def test_an_excitation_is_flown_and_the_autopilots_log_tells_the_mass(autopilot: str, tmp_path: Path) -> None:
    mission = tmp_path / "legs.toml"
    write_text(mission, mission_text(excitation_mission("doublet", "pitch", amplitude=0.4, band_radps=(0.5, 2.0))))

    flight = fly("quad_f450", control=autopilot, mission=mission, options={"time": "virtual"}, folder=tmp_path / "out")

    log = next(path for path in flight.logs if path.suffix in (".ulg", ".BIN"))
    record = read_record(log, salvage=True)  # ArduPilot is switched off while it writes
    high = record.track("down").time_s[record.track("down").values < -17.0]
    tilt = np.abs(record.track("pitch").at(high))
    assert np.max(tilt) > np.radians(8)  # the legs tilt it
    found = equation_error(
        record, "quad_f450", ["mass"], signals=["specific_force_z"], window_s=(float(high[0]) + 2, float(high[-1]))
    )
    assert found.estimates[0].value == pytest.approx(1.4, rel=0.015)  # the accelerometers' own bias is half of that
