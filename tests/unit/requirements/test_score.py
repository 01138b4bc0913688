"""Safety score: against a plain loop, and by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ironbird.errors import RequirementError
from ironbird.requirements.score import CHANNELS, EDGES, LEVELS, Channel, assess, band_score, crash_score
from ironbird.requirements.trace import Trace

EAST = (Channel("velocity", "body.v_NB_N[1]"),)  # the only column that RFlySimSafe judges


def flights(time_s: np.ndarray, rows: list[int], **columns: np.ndarray) -> Trace:
    values = {f"{part}[{axis}]": np.zeros((len(rows), len(time_s))) for part in (
        "body.p_NB_N", "body.v_NB_N", "body.euler", "navigator.position_set", "navigator.velocity_set",
    ) for axis in range(3)}  # fmt: skip
    values["crashed"] = np.zeros((len(rows), len(time_s)))
    values |= {name.replace("__", "."): column for name, column in columns.items()}
    return Trace(time_s, values, np.array(rows))


def plain_score(errors: list[float], kind: str, energy_j: float) -> tuple[float, list[float]]:
    """The steps of [RFlySimSafe] one after the other: score, share of each level."""
    probability = 0.0
    if energy_j > 0:
        probability = 1 / (1 + math.sqrt((1e6 / 100) * (100 / energy_j) ** (1 / (4 * 0.1))))
    worst = 0.1 - math.tanh(500 * probability / 2) / 10
    u = []
    for error in errors:
        score = worst
        scores = itertools.pairwise((0.999, 0.9, 0.7, 0.4, 0.1))
        for (high, low), (begin, end) in zip(scores, itertools.pairwise(EDGES[kind]), strict=True):
            if begin <= error <= end:
                score = high * (low / high) ** ((error - begin) / (end - begin))
                break
        u.append(1.0 if score > 0.9 else score)
    h = [u[0]]
    for now, after in itertools.pairwise(u):
        h.append(now * (1 - (now - after)) if after <= now else now)
    weights, total, mean = [0.0] * 5, 0.0, 0.0
    for value in h:
        level = 0 if value > 0.9 else 1 if value > 0.7 else 2 if value > 0.4 else 3 if value > 0.1 else 4
        weight = (1, 3, 6, 9, 12)[level]
        weights[level] += weight
        total += weight
        mean += weight * value
    return mean / total, [weight / total for weight in weights]


def test_a_flight_as_asked_for_is_unaffected() -> None:
    time_s = np.arange(101) * 0.02
    result = assess(flights(time_s, [101, 40]), mass_kg=1.515)

    np.testing.assert_array_equal(result.score, [1.0, 1.0])
    assert [LEVELS[level] for level in result.level] == ["unaffected", "unaffected"]


def test_bands_by_hand() -> None:
    for kind, edges in EDGES.items():
        np.testing.assert_allclose(band_score(np.array(edges), edges, 0.05), [0.999, 0.9, 0.7, 0.4, 0.1], rtol=1e-12)
        assert band_score(np.array([edges[-1] * 1.001]), edges, 0.05)[0] == 0.05, kind
    middle = band_score(np.array([0.1]), EDGES["velocity"], 0.05)[0]  # half of the way from 0.04 to 0.16
    assert middle == pytest.approx(math.sqrt(0.7 * 0.4), rel=1e-12)
    assert band_score(np.array([math.nan]), EDGES["velocity"], 0.05)[0] == 0.05


def test_transfer_and_weights_by_hand() -> None:
    # Squared errors 0, 0.04, 0.04, 0, 0 (m/s)^2: u = 1, 0.7, 0.7, 1, 1; h = 1, 1 * (1 - 0.3), 0.7, 0.7, 1.
    # Weights 1, 6, 6, 6, 1 (0.7 is the upper end of "serious"): mean (1 + 3 * 4.2 + 1) / 20.
    # 1e-9 more, as 0.2 squared may be below 0.04 by a bit.
    east = np.array([[0.0, 0.2 + 1e-9, 0.2 + 1e-9, 0.0, 0.0]]).repeat(2, axis=1)  # pairs, so that the mean is exact
    result = assess(flights(np.arange(10) * 0.05, [10], **{"body__v_NB_N[1]": east}), mass_kg=1.515, channels=EAST)

    assert result.score[0] == pytest.approx(14.6 / 20, rel=1e-7)
    np.testing.assert_allclose(result.shares[0], [0.1, 0, 0.9, 0, 0], rtol=1e-12)
    assert LEVELS[result.level[0]] == "slight"  # 0.73; most samples are serious, as the shares say


def test_crash_energy_by_hand() -> None:
    # 1.515 kg at 5 m/s: E = 18.9375 J; (100 / E)^2.5 = 64.077; P = 1 / (1 + sqrt(640 768)) = 1.2477e-3;
    # R = tanh(500 P / 2) = 0.30212; score = 0.1 - 0.0302
    assert crash_score(18.9375) == pytest.approx(0.06979, abs=1e-5)  # digits of the hand calculation
    assert crash_score(0.0) == 0.1
    # At E = 100 J the bracket is 1: P = 1 / 101
    assert crash_score(100.0) == pytest.approx(0.1 - math.tanh(250 / 101) / 10, rel=1e-12)
    assert crash_score(1e9) == pytest.approx(0.0, abs=1e-12)  # surely fatal


def test_a_crash_is_a_disaster_with_the_score_of_its_energy() -> None:
    time_s = np.arange(51) * 0.02
    crashed = np.zeros((3, 51))
    crashed[0, 50] = crashed[1, 30] = crashed[2, 40] = 1.0
    down = np.zeros((3, 51))
    down[0, 45] = -5.0  # the largest velocity of the run counts, whatever its sign
    down[2, 35] = 99.0  # behind the end of this flight
    result = assess(
        flights(time_s, [51, 31, 31], crashed=crashed, **{"body__v_NB_N[2]": down}), mass_kg=1.515, channels=EAST
    )

    assert result.score[0] == crash_score(0.5 * 1.515 * 25)
    assert result.score[1] == 0.1  # without energy
    assert result.score[2] == 1.0  # the third one did not crash before its end
    assert [LEVELS[level] for level in result.level] == ["disaster", "disaster", "unaffected"]


def test_all_axes_count() -> None:
    time_s = np.arange(101) * 0.02
    wave = 0.5 * np.sin(5 * time_s)[None]
    north = flights(time_s, [101], **{"body__v_NB_N[0]": wave})
    east = flights(time_s, [101], **{"body__v_NB_N[1]": wave})

    assert assess(north, mass_kg=1, channels=EAST).score[0] == 1.0  # what RFlySimSafe would say
    assert assess(east, mass_kg=1, channels=EAST).score[0] < 0.6
    assert assess(north, mass_kg=1).score[0] == assess(east, mass_kg=1).score[0] < 1.0


def test_a_turn_through_south_is_no_jump_of_heading() -> None:
    time_s = np.arange(501) * 0.02
    yaw = (np.pi - 0.01 + 0.002 * time_s + np.pi) % (2 * np.pi) - np.pi
    result = assess(flights(time_s, [501], **{"body__euler[2]": yaw[None]}), mass_kg=1)

    assert np.ptp(yaw) > 6 and result.score[0] == 1.0


def test_many_flights_are_judged_as_a_plain_loop_judges_each() -> None:
    random = np.random.default_rng(3)
    lanes, count, step_s = 12, 400, 0.02
    time_s = np.arange(count) * step_s
    rows = random.integers(60, count + 1, lanes)
    walk = {
        name: np.cumsum(random.normal(size=(lanes, count)), axis=1) * random.choice([1e-3, 1e-2, 4e-2], (lanes, 1))
        for name in {column for c in CHANNELS for column in (c.value, c.command) if column}
    }
    fault = random.integers(0, 50, lanes)
    walk["fault_active"] = (np.arange(count) >= fault[:, None]).astype(float)
    walk["fault_active"][0] = 0.0  # no fault: from the first row
    walk["crashed"] = np.zeros((lanes, count))
    walk["crashed"][1, rows[1] - 1] = 1.0
    channels = tuple(Channel(c.kind, c.value, c.command, 1.0 + n) for n, c in enumerate(CHANNELS))

    result = assess(Trace(time_s, dict(walk), rows), mass_kg=2.5, channels=channels)

    for lane in range(lanes):
        last, begin = rows[lane], 0 if lane == 0 else fault[lane]
        speed = max(abs(walk[f"body.v_NB_N[{axis}]"][lane, row]) for axis in range(3) for row in range(last))
        score, shares = 0.0, np.zeros(5)
        for channel in channels:

            def mean(name: str, row: int) -> float:
                return float(walk[name][lane, row] + walk[name][lane, min(row + 1, last - 1)]) / 2  # noqa: B023

            samples = range(begin, last, 5)
            value = [mean(channel.value, row) for row in samples]
            if channel.kind == "angle":
                errors = [0.0] + [abs(b - a) for a, b in itertools.pairwise(value)]
            else:
                assert channel.command is not None
                errors = [(v - mean(channel.command, row)) ** 2 for v, row in zip(value, samples, strict=True)]
            part, split = plain_score(errors, channel.kind, 0.5 * 2.5 * speed**2)
            score += channel.weight / 45 * part  # 1 + 2 + ... + 9
            shares += channel.weight / 45 * np.array(split)
        np.testing.assert_allclose(result.shares[lane], shares, rtol=1e-9, atol=1e-12)  # order of summation
        if lane == 1:
            assert result.score[lane] == crash_score(0.5 * 2.5 * speed**2) and result.level[lane] == 4
        else:
            assert result.score[lane] == pytest.approx(score, rel=1e-9)  # order of summation
            assert result.level[lane] == sum(score <= edge for edge in (0.9, 0.7, 0.4, 0.1))
    assert len(set(result.level.tolist())) > 1  # the flights are not all alike


def test_no_channel_is_refused() -> None:
    with pytest.raises(RequirementError, match="a safety score needs at least one channel"):
        assess(flights(np.arange(3.0), [3]), mass_kg=1, channels=())


def many(random: np.random.Generator, lanes: int, count: int, rows: list[int]) -> Trace:
    """Wild flights: angles that jump, values that are not numbers, lanes of all lengths and faults at all times."""
    trace = flights(np.arange(count) * 0.02, rows)
    values = dict(trace.values)
    for name in values:
        values[name] = np.cumsum(random.normal(scale=0.03, size=(lanes, count)), axis=1)
    for axis in range(3):
        angles = np.cumsum(random.normal(scale=0.3, size=(lanes, count)), axis=1)
        values[f"body.euler[{axis}]"] = (angles + np.pi) % (2 * np.pi) - np.pi
    values["body.euler[1]"][::2] *= 0.01  # some lanes have no jump
    values["body.p_NB_N[1]"][1, 3] = np.nan
    values["body.euler[0]"][2, 5] = np.nan
    starts = random.integers(0, np.array(rows), lanes)
    values["fault_active"] = (np.arange(count) >= starts[:, None]).astype(float)
    values["crashed"] = np.zeros((lanes, count))
    values["crashed"][3, rows[3] - 1] = 1.0
    return Trace(trace.time_s, values, trace.rows)


@pytest.mark.parametrize("count", [1, 2, 9, 64, 301])
@pytest.mark.parametrize("lanes", [8, 13])
def test_native_code_grades_many_lanes_to_the_bit_as_each_alone(lanes: int, count: int) -> None:
    random = np.random.default_rng(count)
    rows = [int(random.integers(min(count, 6), count + 1)) for _ in range(lanes)]
    trace = many(random, lanes, max(count, 6), [max(row, 6) for row in rows])

    together = assess(trace, mass_kg=1.515)

    for lane in range(lanes):
        alone = assess(trace.lane(lane), mass_kg=1.515)
        for name in ("score", "level", "shares"):
            assert getattr(together, name)[lane].tobytes() == getattr(alone, name)[0].tobytes(), (lane, name)
    assert len({float(score) for score in together.score}) > 3


def test_a_column_without_a_command_is_judged_against_zero_in_many_lanes_as_in_one() -> None:
    time_s, lanes = np.arange(200) * 0.02, 24
    speeds = np.random.default_rng(4).normal(scale=1.5, size=(lanes, len(time_s)))
    trace = flights(time_s, [200 - lane for lane in range(lanes)], **{"body__v_NB_N[1]": speeds})
    together = assess(trace, mass_kg=1.5, channels=EAST)
    for lane in range(lanes):
        assert together.score[lane] == assess(trace.lane(lane), mass_kg=1.5, channels=EAST).score[0]
    assert len(set(together.score.tolist())) > 5
