"""Mixer files that drive a vehicle: arming, failsafe, travel times, main and AUX together."""

from __future__ import annotations

import pytest

from ironbird.errors import MixerError
from ironbird.mixer.outputs import MixedOutputs
from ironbird.vehicles.mixer import parse_mixer

MAIN = parse_mixer("R: 4x 10000 10000 10000 0\n")
GEAR = parse_mixer("M: 1\nO: 10000 10000 0 -10000 10000 20000\nS: 0 7 10000 10000 0 -10000 10000\n")  # 2 s end to end


def test_outputs_of_both_files_are_named_and_mixed_from_the_same_controls() -> None:
    board = MixedOutputs(MAIN, GEAR)
    out = board.step({(0, 3): 0.5, (0, 7): 1.0}, armed=True, dt_s=0.01)

    assert list(out) == ["MAIN1", "MAIN2", "MAIN3", "MAIN4", "AUX1"]
    assert [out[f"MAIN{n}"] for n in range(1, 5)] == pytest.approx([0.0] * 4) and out["AUX1"] == 1.0


def test_a_travel_time_limits_how_fast_an_output_moves() -> None:
    board = MixedOutputs(MAIN, GEAR)
    board.step({(0, 7): -1.0}, armed=True, dt_s=0.1)
    seen = [board.step({(0, 7): 1.0}, armed=True, dt_s=0.1)["AUX1"] for _ in range(21)]

    assert seen[0] == pytest.approx(-0.9) and seen[9] == pytest.approx(0.0) and seen[19] == pytest.approx(1.0)
    assert seen[20] == 1.0


def test_disarmed_motors_stand_still_and_a_failsafe_has_values_of_its_own() -> None:
    board = MixedOutputs(MAIN, GEAR, disarmed={"AUX1": 0.3}, failsafe={"MAIN1": -0.5})
    off = board.step({(0, 3): 1.0}, armed=False, dt_s=0.01)
    lost = board.step({(0, 3): 1.0}, armed=True, failsafe=True, dt_s=0.01)

    assert off["MAIN2"] == -1.0 and off["AUX1"] == 0.3
    assert lost["MAIN1"] == -0.5 and lost["MAIN2"] == -1.0 and lost["AUX1"] == pytest.approx(0.29)
    with pytest.raises(MixerError, match="MAIN4"):
        MixedOutputs(MAIN, disarmed={"MAIN9": 0.0})
