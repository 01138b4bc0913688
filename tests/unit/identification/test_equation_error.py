"""Equation error gives the truth back, with trim as an unknown of its own; and corrects a guess by a real PX4 log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ironbird.credibility.compare import compare
from ironbird.credibility.drive import drive
from ironbird.credibility.plan import load_plan
from ironbird.credibility.readers import FORCE, RATES, read_record
from ironbird.errors import RecordError, UnknownNameError
from ironbird.identification.equation_error import equation_error
from ironbird.identification.excite import excitation
from ironbird.identification.result import identified_vehicle
from ironbird.identification.virtual import CONTROL_S, excited_flight
from ironbird.report.identification_page import write_identification_page

STILL = {"wakes.vortex_ring": 0.0, "wakes.ground_effect": 0.0}
FULL = {"battery.resistance": 0.0, **STILL}
PX4 = Path(__file__).parents[2] / "data" / "px4_vision"


def test_mass_and_inertia_come_back_from_forces_and_turning() -> None:
    made = [
        excitation("multisine", amplitude=a, duration_s=3.0, band_radps=(1.5, 25.0), step_s=CONTROL_S, seed=axis)
        for axis, a in enumerate((0.08, 0.08, 0.08, 0.2))
    ]
    axes = np.column_stack([np.roll(m.values[250:500], 37 * axis) for axis, m in enumerate(made)])
    noise = {**dict.fromkeys(FORCE, 0.1), **dict.fromkeys(RATES, 0.002)}
    record = excited_flight("quad_f450", axes, seed=4, noise=noise, params=STILL)

    found = equation_error(record, "quad_f450", ["mass", "inertia"], smooth_s=0.05, params=FULL)

    by_name = {e.name: e for e in found.estimates}
    for name, share in {"mass": 0.005, "inertia_x": 0.03, "inertia_y": 0.03, "inertia_z": 0.1}.items():
        e = by_name[name]
        assert e.value == pytest.approx(e.before, rel=share), e
    assert found.method == "equation error"
    with pytest.raises(RecordError, match="no signal of equation error"):
        equation_error(record, "quad_f450", ["mass"], signals=["pitch"])
    with pytest.raises(RecordError, match="nothing is free"):
        equation_error(record, "quad_f450", [])
    with pytest.raises(UnknownNameError):
        equation_error(record, "quad_f450", ["weight"])


def test_a_guess_corrected_by_half_of_a_px4_log_is_better_on_the_other_half(tmp_path: Path) -> None:
    record, plan, guess = read_record(PX4 / "flight.csv"), load_plan(PX4 / "tests.toml"), PX4 / "quad_px4_vision.toml"
    fit = equation_error(
        record, guess, ["thrust"], how=plan.drive, signals=["specific_force_z"], window_s=(10.0, 14.0), smooth_s=0.3
    )
    write_identification_page(fit, tmp_path / "page.html")
    fitted = identified_vehicle(fit, guess, tmp_path / "fitted.toml")

    values: dict[str, dict[str, float]] = {}
    for vehicle in (guess, fitted):
        driven = drive(record, vehicle, plan.drive, window_s=(28.5, 32.0))
        found = driven.beside(compare(driven.real, [driven.simulated], driven.fitted(plan), shift_s=0.0))
        skills = {m.signal: m.value for m in found.measures if m.name.startswith("skill against no change")}
        values[Path(vehicle).stem] = {i.test.name: i.value for i in found.indices} | {"skill": skills["velocity_down"]}

    before, after = values["quad_px4_vision"], values["fitted"]
    assert after["velocity down over time"] > before["velocity down over time"] + 0.1
    assert after["specific force down"] > 0.97 > before["specific force down"]
    assert after["skill"] > 0.2 > 0.0 > before["skill"]
    assert "m/s²" in (tmp_path / "page.html").read_text()
