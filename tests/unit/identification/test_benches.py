"""Benches return what was put in, within their own error formulas; noise at rest is that of allantools."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import allantools
import numpy as np
import pytest
from typer.testing import CliRunner

from ironbird.blocks.sensors.products import imu_params
from ironbird.cli.main import app
from ironbird.compiler.compiled import compile_model
from ironbird.errors import RecordError
from ironbird.flight.mission import load_mission
from ironbird.identification.bench import (
    bifilar_inertia,
    propulsion,
    read_bench,
    step_time,
    swing_period,
)
from ironbird.identification.excite import excitation, excitation_mission
from ironbird.identification.rest import allan_deviation, noise_at_rest, noise_table, power_spectrum
from ironbird.identification.virtual import bifilar_swing, propulsion_stand, rest_record
from ironbird.vehicles.load import load_spec, load_vehicle

DATA = Path(__file__).parents[2] / "data"
RANDOM = np.random.default_rng(8)


def shipped_rest() -> tuple[np.ndarray, np.ndarray]:
    with (DATA / "icm20689_rest" / "rest.csv").open() as file:
        rows = list(csv.reader(file))
    values = np.array([[float(cell) for cell in row] for row in rows[1:]])
    return values[:, 0], values[:, 1]


def test_the_allan_deviation_of_the_shipped_rest_record_is_that_of_allantools() -> None:
    time_s, gyro = shipped_rest()
    step_s = float(np.median(np.diff(time_s)))
    gyro = gyro - gyro.mean()

    tau, found = allan_deviation(gyro, step_s, np.geomspace(step_s, 0.2, 12))

    oracle_tau, oracle, *_ = allantools.oadev(gyro, rate=1 / step_s, data_type="freq", taus=tau)
    assert tau == pytest.approx(oracle_tau) and found == pytest.approx(oracle, rel=1e-9)
    noise = noise_at_rest(gyro, step_s)
    at_one = np.sqrt(np.mean(oracle**2 * oracle_tau))  # N by the slope of minus one half, from the oracle's curve
    assert noise.white == pytest.approx(at_one, rel=0.35)
    assert 0.004 < math.degrees(noise.white) < 0.008  # data sheet: 0.006 degrees per second and root hertz


def test_white_noise_and_a_random_walk_are_found_and_their_absence_is_too() -> None:
    step_s, size = 0.01, 200_000
    white = 0.02 / math.sqrt(step_s) * RANDOM.standard_normal(size)
    walk = 0.01 * math.sqrt(step_s) * np.cumsum(RANDOM.standard_normal(size))

    pure, both = noise_at_rest(white, step_s), noise_at_rest(white + walk, step_s)

    assert pure.white == pytest.approx(0.02, rel=0.02)
    assert pure.walk is None or pure.walk < 1e-3
    assert both.white == pytest.approx(0.02, rel=0.02) and both.walk == pytest.approx(0.01, rel=0.3)
    frequency, density = power_spectrum(white, step_s)
    assert np.mean(density[10:-10]) == pytest.approx(2 * 0.02**2, rel=0.05)
    assert frequency[-1] == pytest.approx(50.0)


def test_what_is_no_rest_record_is_refused() -> None:
    with pytest.raises(RecordError, match="samples"):
        noise_at_rest(np.zeros(10), 0.01)
    with pytest.raises(RecordError, match="does not move"):
        noise_at_rest(np.ones(1000), 0.01)


@pytest.mark.parametrize("seed", range(5))
def test_the_virtual_pendulum_gives_the_inertia_back_within_its_error_formula(seed: int) -> None:
    inertia = 0.03176
    time_s, angle = bifilar_swing(inertia, 1.4, damping_Nms=2e-4, seed=seed)

    found = bifilar_inertia(swing_period(time_s, angle), (1.4, 0.0), (0.3, 0.0), (1.0, 0.0))

    assert abs(found.value - inertia) < 4 * found.sigma + 3e-4 * inertia  # what the small-angle formula leaves out
    assert found.sigma < 2e-3 * inertia


def test_errors_of_mass_spacing_and_length_add_up_as_the_formula_says() -> None:
    time_s, angle = bifilar_swing(0.03, 1.4)
    period = swing_period(time_s, angle)

    found = bifilar_inertia(period, (1.4, 0.014), (0.3, 0.003), (1.0, 0.01))

    expected = math.sqrt(0.01**2 + 4 * 0.01**2 + 0.01**2 + 4 * (period.sigma / period.value) ** 2)
    assert found.sigma / found.value == pytest.approx(expected)
    with pytest.raises(RecordError, match="positive"):
        bifilar_inertia(period, (0.0, 0.0), (0.3, 0.0), (1.0, 0.0))
    with pytest.raises(RecordError, match="swings"):
        swing_period(time_s[:200], angle[:200])


def test_the_stand_with_the_vehicles_own_rotor_gives_its_file_back() -> None:
    throttles = np.repeat(np.linspace(0.2, 1.0, 9), 2)
    table = propulsion_stand(
        "quad_f450", throttles.tolist(), noise={"speed": 2.0, "thrust": 0.02, "torque": 5e-4}, seed=3
    )

    found = {f.name: f for f in propulsion(table)}

    thin = air_density_share()
    truth = {"thrust_coefficient": 9.286e-6 * thin, "torque_coefficient": 1.189e-7 * thin, "slope": 691.33}
    for name, value in truth.items():
        figure = found[name]
        assert abs(figure.value - value) < 4 * figure.sigma + 2e-3 * value, (name, figure)
        assert figure.sigma < 0.02 * value


def air_density_share() -> float:
    """Air 50 m above the home of the vehicle over that of its coefficients, 1.225 kg/m^3: the standard atmosphere."""
    height = 50.0 + load_spec("quad_f450").home.height_m
    return float((1 - 2.25577e-5 * height) ** 4.2559)


def test_noise_at_rest_is_what_the_chip_was_given() -> None:
    record = rest_record("quad_f450", duration_s=20.0, seed=2)

    found, table = noise_table(record)

    chip = imu_params("icm20689")
    # the chip's noise goes through its rounding to whole steps, which is noise as well: LSB / sqrt(12)
    for kind, key in (("gyro", "gyro_noise_radpsrtHz"), ("accel", "accel_noise_mps2rtHz")):
        step = float(np.ravel(chip[f"{kind}_resolution"])[0]) / math.sqrt(12) * math.sqrt(2 * 0.004)
        expected = math.hypot(float(np.ravel(chip[f"{kind}_noise"])[0]), step)
        assert table[key] == pytest.approx(expected, rel=0.08), kind
    assert len(found) == 6


def test_the_virtual_propulsion_stand_gives_the_coefficients_back() -> None:
    throttle = np.repeat(np.linspace(0.2, 1.0, 17), 3)
    speed = 691.33 * throttle + 162.59 + 2.0 * RANDOM.standard_normal(len(throttle))
    table = {
        "throttle": throttle,
        "speed": speed,
        "thrust": 9.286e-6 * speed**2 + 0.02 * RANDOM.standard_normal(len(throttle)),
        "torque": 1.189e-7 * speed**2 + 5e-4 * RANDOM.standard_normal(len(throttle)),
    }

    found = {f.name: f for f in propulsion(table)}

    truth = {"thrust_coefficient": 9.286e-6, "torque_coefficient": 1.189e-7, "slope": 691.33, "idle_speed": 162.59}
    for name, value in truth.items():
        assert abs(found[name].value - value) < 4 * found[name].sigma, name
        assert found[name].sigma < 0.02 * abs(value)


def test_a_step_of_the_speed_has_its_time_constant() -> None:
    time_s = np.arange(0.0, 0.5, 0.001)
    speed = 400 + 200 * (1 - np.exp(-np.clip(time_s - 0.1, 0, None) / 0.025)) + RANDOM.standard_normal(len(time_s))

    found = step_time(time_s, speed)

    assert abs(found.value - 0.025) < 4 * found.sigma and found.sigma < 1e-3
    with pytest.raises(RecordError, match="no step"):
        step_time(time_s, 400 + RANDOM.standard_normal(len(time_s)))


def test_a_table_of_a_real_stand_is_read_and_fitted() -> None:
    found = {f.name: f for f in propulsion(read_bench(DATA / "propulsion" / "static_a1_7.csv"))}

    assert 5e-7 < found["thrust_coefficient"].value < 3e-6  # a five-inch propeller
    assert found["thrust_coefficient"].sigma < 0.05 * found["thrust_coefficient"].value
    done = CliRunner().invoke(app, ["model", "motor", str(DATA / "propulsion" / "static_a1_7.csv")])
    assert done.exit_code == 0 and "thrust_coefficient" in done.output


@pytest.mark.parametrize("text", ["", "rpm,thrust_N\n1,2\n", "thrust_N\n" + "1\n" * 9, "rpm,thrust_N\n" + "x,1\n" * 9])
def test_a_table_that_is_no_bench_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RecordError):
        read_bench(tmp_path / "a.csv")


def test_excitations_have_their_band_and_amplitude() -> None:
    for kind in ("sweep", "multisine"):
        made = excitation(kind, amplitude=0.2, duration_s=60, band_radps=(1.0, 20.0))
        w = 2 * math.pi * np.fft.rfftfreq(len(made.values), 0.01)
        power = np.abs(np.fft.rfft(made.values)) ** 2
        assert np.max(np.abs(made.values)) <= 0.2 + 1e-9
        assert power[(w > 0.5) & (w < 25)].sum() > 0.97 * power.sum()
    doublet = excitation("doublet", amplitude=0.2, duration_s=10).values
    assert doublet.sum() == pytest.approx(0.0, abs=0.21) and set(np.round(doublet, 3)) == {0.0, 0.2, -0.2}
    assert excitation("sweep", duration_s=10.0).advice
    with pytest.raises(RecordError, match="amplitude"):
        excitation("sweep", amplitude=2.0)


def test_the_noise_of_a_rest_record_becomes_a_vehicle_whose_sensors_have_it(tmp_path: Path) -> None:
    with (DATA / "icm20689_rest" / "rest.csv").open() as file:
        rows = list(csv.reader(file))
    names = ["time_s", "roll_rate", "pitch_rate", "yaw_rate", *(f"specific_force_{a}" for a in "xyz")]
    text = "\n".join(",".join(row) for row in [names, *rows[1:]]) + "\n"
    (tmp_path / "rest.csv").write_text(text)

    done = CliRunner().invoke(
        app, ["model", "noise", str(tmp_path / "rest.csv"), "--vehicle", "quad_f450", "--out", str(tmp_path)]
    )

    assert done.exit_code == 0, done.output
    spec = load_spec(tmp_path / "quad_f450_noise.toml")
    model = compile_model(load_vehicle(tmp_path / "quad_f450_noise.toml", control="external").diagram)
    noise = noise_at_rest(shipped_rest()[1], float(np.median(np.diff(shipped_rest()[0]))))
    set_ = float(model.flat.values[model.flat.p.rows("imu/1/chip.gyro_noise")][0])
    assert set_ == pytest.approx(math.sqrt(2) * noise.white, rel=0.3)  # of one axis; the file has the mean of three
    assert set_ == pytest.approx(math.radians(0.0070), rel=0.25)  # what the product's entry says of this record
    assert spec.source_of("sensors.imu_noise.gyro_noise_radpsrtHz").startswith("identified: rest.csv")


def test_the_command_fits_a_transfer_function_to_a_sweep(tmp_path: Path) -> None:
    sweep = excitation("sweep", amplitude=0.5, duration_s=60.0)
    answer, lag = [0.0], 0.0
    for value in sweep.values[:-1]:
        lag += 0.01 / 0.2 * (value - lag)  # a lag of 0.2 s by Euler's rule
        answer.append(float(lag))
    rows = "".join(
        f"{t:.3f},{a!r},{b!r}\n" for t, a, b in zip(sweep.time_s, sweep.values.tolist(), answer, strict=True)
    )
    (tmp_path / "sweep.csv").write_text("time_s,stick,answer\n" + rows)

    done = CliRunner().invoke(
        app,
        ["model", "response", str(tmp_path / "sweep.csv"), "--input", "stick", "--output", "answer", "--poles", "1"],
    )

    assert done.exit_code == 0, done.output
    assert "coherence 1.00" in done.output
    pole = float(done.output.split("│ a0")[1].split("±")[0].strip(" │"))
    assert pole == pytest.approx(5.0, rel=0.05)


def test_an_excitation_becomes_a_mission_of_legs_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "legs.toml"
    arguments = [
        "model",
        "excite",
        "3211",
        "--axis",
        "roll",
        "--band",
        "0.5,2",
        "--amplitude",
        "0.5",
        "--out",
        str(path),
    ]
    done = CliRunner().invoke(app, arguments)

    assert done.exit_code == 0, done.output
    mission = load_mission(path)
    east = [item.east_m for item in mission.item]
    leg = 9.80665 * math.tan(math.radians(15)) * math.pi**2 / 4  # half period pi / 1 rad/s
    expected = np.cumsum([9 * leg, -4 * leg, leg, -leg])  # legs of three, two, one, one half periods
    assert east[1:5] == pytest.approx(expected, rel=1e-3) and mission.item[-1].kind == "land"
    heights = [item.height_m for item in excitation_mission("doublet", "throttle").item[:-1]]
    assert max(heights) > 21 and min(heights) >= 5
    assert len(excitation_mission("sweep", "pitch").item) == 12
    turns = [item.yaw_deg for item in excitation_mission("doublet", "yaw", amplitude=0.5).item]
    assert turns == pytest.approx([0, 45, -45, 0, 0])
    with pytest.raises(RecordError, match="no legs"):
        excitation_mission("multisine", "pitch")
