"""Records are read from every format, and what is broken is refused in words, never given an index."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from flown_records import flight_log, table

from ironbird.compiler.compiled import compile_model
from ironbird.credibility.align import find_shift
from ironbird.credibility.compare import compare
from ironbird.credibility.drive import supply_ratio
from ironbird.credibility.plan import Plan, load_plan
from ironbird.credibility.readers import px4_throttle, read_record
from ironbird.credibility.record import Record, Track
from ironbird.errors import RecordError, RequirementError, UnknownNameError
from ironbird.report.ulog import write_ulog
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_vehicle

TIME_S = np.arange(0.0, 20.0, 0.02)
RANDOM = np.random.default_rng(2)
WAVE = np.convolve(RANDOM.standard_normal(len(TIME_S) + 40), np.ones(41) / 41, mode="valid")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return table(tmp_path / "good.csv", time_s=TIME_S, pitch=WAVE, pitch_rate=np.gradient(WAVE, 0.02))


def test_one_flight_is_the_same_in_parquet_csv_and_ulog(tmp_path: Path) -> None:
    log = flight_log()
    log.to_parquet(tmp_path / "a.parquet")
    log.to_csv(tmp_path / "a.csv")
    write_ulog(log, tmp_path / "a.ulg")

    parquet, csv, ulog = (read_record(tmp_path / f"a.{ending}") for ending in ("parquet", "csv", "ulg"))

    for name in ("north", "down", "roll", "pitch_rate", "motor_1"):
        assert np.array_equal(parquet.track(name).values, csv.track(name).values)
    for name in ("north", "down", "velocity_down", "roll", "yaw"):
        assert ulog.track(name).at(np.arange(1, 13.0)) == pytest.approx(
            parquet.track(name).at(np.arange(1, 13.0)), abs=2e-3
        )
    assert parquet.track("roll").unit == "rad" and ulog.kind == "ulg"


def test_endings_of_columns_name_their_unit(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", time_ms=1e3 * TIME_S, pitch_deg=np.degrees(WAVE), wing_m=WAVE)

    record = read_record(path)

    assert record.track("pitch").values == pytest.approx(WAVE) and record.track("pitch").unit == "rad"
    assert record.track("wing").unit == "m" and record.length_s == pytest.approx(TIME_S[-1])


def test_a_tests_file_names_columns_and_their_units(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", time_s=TIME_S, theta=np.degrees(WAVE))
    (tmp_path / "plan.toml").write_text('[[signal]]\nname = "pitch"\nreal = "theta"\nunit = "deg"\n')
    plan = load_plan(tmp_path / "plan.toml")

    assert read_record(path, columns=plan.columns("real")).track("pitch").values == pytest.approx(WAVE)
    with pytest.raises(UnknownNameError, match="theta2"):
        read_record(path, columns={"pitch": ("theta2", "deg")})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("time_s,pitch\n", "no rows"),
        ("pitch,roll\n1,2\n", "first column"),
        ("time_s,pitch\n" + "".join(f"{i * 0.1},0.1\n" for i in range(30)) + "3.1", "not whole"),
        ("time_s,pitch\n" + "".join(f"{i * 0.1},x\n" for i in range(30)), "numbers"),
        ("time_s,pitch\n0,1\n0.1,2\n", "samples"),
        ("time_s,pitch,pitch\n0,1,1\n", "name of another"),
        ("time_s,pitch\n" + "".join(f"{(i if i < 20 else i - 10) * 0.1},0.1\n" for i in range(40)), "jumps back"),
        ("time_s,roll\n" + "".join(f"{i * 0.1},{i}\n" for i in range(40)), "unit is another"),
    ],
)
def test_broken_tables_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RecordError, match=words):
        read_record(tmp_path / "a.csv")


@pytest.mark.parametrize("share", [0.31, 0.999])
def test_a_ulog_that_is_cut_off_is_refused_unless_it_is_to_be_salvaged(tmp_path: Path, share: float) -> None:
    write_ulog(flight_log(), tmp_path / "a.ulg")
    data = (tmp_path / "a.ulg").read_bytes()
    (tmp_path / "b.ulg").write_bytes(data[: int(share * len(data))])

    with pytest.raises(RecordError, match="salvage"):
        read_record(tmp_path / "b.ulg")
    assert read_record(tmp_path / "b.ulg", salvage=True).notes[0].startswith("the file is damaged")


@pytest.mark.parametrize("name", ["a.ulg", "a.bin", "a.parquet", "a.csv", "a.txt"])
def test_noise_is_no_record(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(np.random.default_rng(3).bytes(5000))
    with pytest.raises(RecordError):
        read_record(tmp_path / name)
    with pytest.raises(RecordError, match="no such file"):
        read_record(tmp_path / f"missing{Path(name).suffix}" if name != "a.txt" else tmp_path / "missing.csv")


def test_a_hole_in_the_window_is_refused_and_a_window_without_it_is_not(tmp_path: Path, good: Path) -> None:
    kept = (TIME_S < 8) | (TIME_S > 11)
    path = table(tmp_path / "hole.csv", time_s=TIME_S[kept], pitch=WAVE[kept])
    real, other = read_record(path), read_record(good)

    with pytest.raises(RecordError, match=r"hole of 3\.0"):
        compare(real, [other], shift_s=0.0)
    assert compare(real, [other], shift_s=0.0, window_s=(0.0, 7.9)).overall[0] == pytest.approx(1.0)


def test_degrees_against_radians_are_refused(tmp_path: Path, good: Path) -> None:
    path = table(tmp_path / "deg.csv", time_s=TIME_S, pitch=np.degrees(0.05 * WAVE))
    small = table(tmp_path / "rad.csv", time_s=TIME_S, pitch=0.05 * WAVE)

    with pytest.raises(RecordError, match="degrees"):
        compare(read_record(small), [read_record(path)])


def test_a_signal_that_stands_still_gets_no_index(tmp_path: Path, good: Path) -> None:
    still = table(tmp_path / "still.csv", time_s=TIME_S, pitch=np.full_like(WAVE, 0.3))
    plan = Plan.model_validate({"test": [{"name": "a", "kind": "time", "signal": "pitch"}]})

    with pytest.raises(RecordError, match="stands still"):
        compare(read_record(still), [read_record(good)], plan, shift_s=0.0)
    with pytest.raises(RecordError, match="nothing is left"):
        compare(read_record(still), [read_record(good)], shift_s=0.0)
    with pytest.raises(RecordError, match="aligned"):
        compare(read_record(still), [read_record(good)])


def test_another_manoeuvre_is_refused_and_missing_signals_are_named(tmp_path: Path, good: Path) -> None:
    other = np.convolve(np.random.default_rng(9).standard_normal(len(TIME_S) + 40), np.ones(41) / 41, mode="valid")
    strange = table(tmp_path / "strange.csv", time_s=TIME_S, pitch=other, pitch_rate=np.gradient(other, 0.02))
    without = table(tmp_path / "without.csv", time_s=TIME_S, heave=WAVE)

    with pytest.raises(RecordError, match="nothing in common"):
        compare(read_record(good), [read_record(strange)])
    with pytest.raises(RecordError, match="no signal in common"):
        compare(read_record(good), [read_record(without)])


@pytest.mark.parametrize("shift_s", [-3.21, 0.0, 0.137, 5.0])
def test_the_time_shift_is_found_to_a_few_milliseconds(tmp_path: Path, good: Path, shift_s: float) -> None:
    fine = np.arange(0.0, 14.0, 0.013)
    path = table(tmp_path / "late.csv", time_s=fine + 100.0, pitch=np.interp(fine + 4.0 - shift_s, TIME_S, WAVE))

    found = find_shift(read_record(good), read_record(path), ["pitch"])

    assert found.seconds == pytest.approx(4.0 - shift_s, abs=0.01)
    assert found.correlation > 0.95 and "pitch" in str(found)


@pytest.mark.parametrize(
    "text",
    [
        '[[test]]\nname = "a"\nkind = "frequency"\nsignal = "x"\n',
        '[[test]]\nname = "a"\nkind = "time"\nsignal = "x"\nwindow_s = [3, 1]\n',
        '[[test]]\nname = "a"\nkind = "time"\nsignal = "x"\nqualification = "nothing"\n',
        '[[signal]]\nname = "a"\nreal = "x"\nunit = "furlong"\n',
        'mean = "geometric"\n',
        "tolerance = -1\n",
        "surprise = 1\n",
        "= 1\n",
        '[[test]]\nname = "a"\nkind = "time"\nsignal = "x"\n[[test]]\nname = "a"\nkind = "time"\nsignal = "y"\n',
    ],
)
def test_a_wrong_tests_file_says_where_it_is_wrong(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(RequirementError, match=r"plan\.toml"):
        load_plan(tmp_path / "plan.toml")


def test_thrusts_that_px4_wants_become_throttles_by_its_own_curve() -> None:
    throttle = np.linspace(0.0, 1.0, 11)
    for factor in (0.3, 0.5648, 1.0):
        thrust = factor * throttle**2 + (1 - factor) * throttle  # THR_MDL_FAC's definition
        assert px4_throttle(thrust, factor) == pytest.approx(throttle)
    assert px4_throttle(throttle, 0.0) == pytest.approx(throttle)


def test_the_recorded_voltage_stands_for_the_models_own_full_battery() -> None:
    model = compile_model(load_vehicle("quad_f450", control="external").diagram)
    state = start(model, params={"battery.resistance": 0.0})
    full = float(run(state, 0.01, log=["battery.voltage"], log_s=0.001)["battery.voltage"][0])
    time_s = np.linspace(0.0, 1.0, 20)
    record = Record(Path("x"), "csv", {"battery_voltage": Track(time_s, np.full(20, 0.95 * full), "V")})

    ratio = supply_ratio(record, model, time_s)

    assert ratio == pytest.approx(0.95, abs=1e-4)
