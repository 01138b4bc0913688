"""Logs of PX4 and ArduPilot: what is read from them, and what happens to broken ones."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest
from autopilot_files import FORMS, Row, dataflash_bytes, px4_attitude, px4_position, write_ulog_topics
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymavlink.DFReader import DFReader_binary

from ironbird.errors import LinkError
from ironbird.protocols.autopilot_log import AutopilotLog, read_autopilot_log
from ironbird.protocols.dataflash import read_dataflash
from ironbird.vehicles.spec import Home

HOME = Home(latitude_deg=40.1540302, longitude_deg=116.2593683, height_m=41.526)
ORIGIN_N = np.array([0, 0, HOME.height_m - 50.0])  # of the autopilots' own coordinates
TIME_S = np.arange(20) * 0.1 + 1.0
PLACE = np.column_stack([TIME_S, -TIME_S, -2 * TIME_S])
VELOCITY = np.tile([1.0, -1.0, -2.0], (len(TIME_S), 1))
LEVEL = np.tile([1.0, 0.0, 0.0, 0.0], (len(TIME_S), 1))
STAMPS = TIME_S * 1e6


def px4_topics() -> dict[tuple[str, int], dict[str, np.ndarray]]:
    half = np.arange(len(TIME_S)) >= 10
    one = np.ones(len(TIME_S))
    ratios = {f"{name}_test_ratio": one for name in ("vel", "pos", "hgt", "hdg")}
    return {
        ("vehicle_local_position", 0): dict(px4_position(TIME_S, PLACE, VELOCITY)),
        ("vehicle_attitude", 0): dict(px4_attitude(TIME_S, LEVEL)),
        ("vehicle_status", 0): {"timestamp": STAMPS, "nav_state": np.where(half, 3.0, 4.0)},
        ("battery_status", 0): {"timestamp": STAMPS, "voltage_v": 12.5 * one},
        ("actuator_motors", 0): {"timestamp": STAMPS}
        | {f"control[{i}]": (0.25 * i * one if i < 4 else np.nan * one) for i in range(12)},
        ("estimator_selector_status", 0): {"timestamp": STAMPS, "primary_instance": np.where(half, 1.0, 0.0)},
        ("estimator_status", 0): {"timestamp": STAMPS} | {key: 0.1 * value for key, value in ratios.items()},
        ("estimator_status", 1): {"timestamp": STAMPS} | {key: 0.2 * value for key, value in ratios.items()},
        ("vehicle_gps_position", 0): {
            "timestamp": STAMPS, "latitude_deg": 40.1541302 * one, "longitude_deg": 116.2593683 * one,
            "altitude_msl_m": 51.526 * one, "fix_type": np.where(half, 3.0, 0.0),
        },
        ("vehicle_air_data", 0): {"timestamp": STAMPS, "baro_alt_meter": 43.526 * one},
        ("vehicle_local_position_groundtruth", 0): dict(px4_position(TIME_S, PLACE, VELOCITY, ref_alt=41.526)),
    }  # fmt: skip


def ardupilot_rows() -> list[Row]:
    rows: list[Row] = [
        ("MSG", (1e6, "ArduCopter V4.7.0 (1511f271)")), ("ORGN", (1e6, 0, 40.1540302, 116.2593683, 50.0)),
        ("ORGN", (1e6, 1, 0.0, 0.0, 0.0)), ("MODE", (1e6, 4, 4, 2)), ("MODE", (2e6, 3, 3, 2)),
    ]  # fmt: skip
    for i, stamp in enumerate(STAMPS):
        leader = int(i >= 10)
        p, v = PLACE[i], VELOCITY[i]
        for core in (0, 1):
            rows.append(("XKF1", (stamp, core, 0, 0, 0, *(v + 10 * core), 0, *(p + 10 * core), 0, 0, 0, 0)))
            rows.append(("XKQ", (stamp, core, 1, 0, 0, 0)))
            rows.append(("XKF4", (stamp, core, *([0.1 + 0.1 * core] * 4), 0, 0, 0, 0, 0, 0, 0, 0, leader)))
        rows.append(("SIM2", (stamp, *p, *v)))
        rows.append(("RCOU", (stamp, 1100, 1200, 1300, 1400, *([0] * 10))))
        rows.append(("BAT", (stamp, 0, 12.5)))
        rows.append(("GPS", (stamp, 0, 3 if leader else 1, 40.1541302, 116.2593683, 51.53)))
        rows.append(("GPS", (stamp, 1, 3, 0.0, 0.0, 0.0)))
        rows.append(("BARO", (stamp, 0, 2.0)))
    return rows


@pytest.fixture
def ulog(tmp_path: Path) -> Path:
    return write_ulog_topics(tmp_path / "flight.ulg", px4_topics())


@pytest.fixture
def dataflash(tmp_path: Path) -> Path:
    (tmp_path / "flight.BIN").write_bytes(dataflash_bytes(ardupilot_rows()))
    return tmp_path / "flight.BIN"


def values(log: AutopilotLog, name: str) -> np.ndarray:
    return log.estimated[name].values


def test_a_ulog_is_read_about_our_home(ulog: Path) -> None:
    log = read_autopilot_log(ulog, HOME)

    assert log.kind == "px4" and log.notes == []
    np.testing.assert_allclose(log.estimated["position"].time_s, TIME_S)
    np.testing.assert_allclose(values(log, "position"), PLACE + ORIGIN_N, atol=1e-6)
    np.testing.assert_allclose(values(log, "velocity"), VELOCITY)
    np.testing.assert_allclose(values(log, "attitude"), LEVEL)
    np.testing.assert_allclose(values(log, "battery"), 12.5)
    np.testing.assert_allclose(values(log, "baro"), 2.0)
    np.testing.assert_allclose(log.received["position"].values, PLACE, atol=1e-6)
    assert log.modes == [(1.0, "LOITER"), (2.0, "MISSION")]
    assert log.outputs == ["motor 1", "motor 2", "motor 3", "motor 4"]
    np.testing.assert_allclose(values(log, "output")[0], [0, 0.25, 0.5, 0.75])
    assert len(log.estimated["gnss"]) == 10  # only with a fix
    np.testing.assert_allclose(values(log, "gnss")[0], [11.1, 0, -10], atol=0.01)  # 1e-4 degrees are 11.1 m


def test_a_dataflash_log_is_read_about_our_home(dataflash: Path) -> None:
    log = read_autopilot_log(dataflash, HOME)

    assert log.kind == "ardupilot" and log.notes == []
    moved = PLACE + ORIGIN_N + np.where(np.arange(20) >= 10, 10.0, 0.0)[:, None]
    np.testing.assert_allclose(values(log, "position"), moved, atol=0.02)  # the origin has steps of 1e-7 degrees
    np.testing.assert_allclose(log.received["position"].values, PLACE)
    np.testing.assert_allclose(log.received["velocity"].values, VELOCITY)
    np.testing.assert_allclose(values(log, "output")[0], [1.1e-3, 1.2e-3, 1.3e-3, 1.4e-3])
    np.testing.assert_allclose(values(log, "baro"), 2.0)
    assert log.modes == [(1.0, "GUIDED"), (2.0, "AUTO")]
    assert len(log.estimated["gnss"]) == 10
    np.testing.assert_allclose(values(log, "gnss")[0], [11.1, 0, -10], atol=0.02)


@pytest.mark.parametrize("file", ["ulog", "dataflash"])
def test_test_ratios_are_those_of_the_estimator_in_charge(file: str, request: pytest.FixtureRequest) -> None:
    log = read_autopilot_log(request.getfixturevalue(file), HOME)

    np.testing.assert_allclose(values(log, "estimator")[:, 0], np.arange(20) >= 10)
    np.testing.assert_allclose(values(log, "test_ratio")[:10], 0.1, rtol=1e-6)
    np.testing.assert_allclose(values(log, "test_ratio")[10:], 0.2, rtol=1e-6)


def test_pymavlink_reads_the_same_from_a_dataflash_log(dataflash: Path) -> None:
    found = read_dataflash(dataflash, FORMS)

    rows: dict[str, list[dict[str, object]]] = {}
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        reader = DFReader_binary(str(dataflash))
        while (record := reader.recv_match(type=list(FORMS))) is not None:
            rows.setdefault(record.get_type(), []).append(record.to_dict())
        reader.close()
    assert found.skipped == 0 and set(found.tables) == set(rows)
    for name, table in found.tables.items():
        for column, mine in table.items():
            theirs = [row[column] for row in rows[name]]
            if mine.dtype.kind == "S":
                assert [text.decode() for text in mine.tolist()] == theirs
            else:
                np.testing.assert_allclose(mine.astype(float), np.array(theirs, float), err_msg=f"{name}.{column}")


def test_records_after_damage_are_read_and_the_damage_is_told(tmp_path: Path) -> None:
    data = dataflash_bytes(ardupilot_rows())
    middle = data.index(b"\xa3\x95", len(data) // 2)
    path = tmp_path / "hurt.BIN"
    path.write_bytes(data[:middle] + bytes(1000) + b"\xa3\x95\xff" + data[middle:])

    log = read_autopilot_log(path, HOME)

    assert len(log.received["position"]) == 20
    assert log.notes == ["the file is damaged or cut off (1003 bytes); what could be read is shown"]


def test_an_unfinished_last_record_is_usual(dataflash: Path) -> None:
    dataflash.write_bytes(dataflash.read_bytes()[:-2])

    assert read_autopilot_log(dataflash, HOME).notes == []


def test_fields_of_another_version_lose_only_their_quantity(tmp_path: Path) -> None:
    topics = px4_topics()
    del topics["vehicle_local_position", 0]["ref_lat"]
    log = read_autopilot_log(write_ulog_topics(tmp_path / "other.ulg", topics), HOME)

    assert log.notes == ["estimated position: not in a form that is known ('ref_lat')"]
    assert "position" not in log.estimated and "attitude" in log.estimated

    rows = [(name, row) for name, row in ardupilot_rows() if name in ("XKQ", "XKF4", "SIM2")]
    path = tmp_path / "other.BIN"
    path.write_bytes(dataflash_bytes(rows, FORMS | {"SIM2": ("Qdddfff", "TimeUS,PX,PY,PZ,VN,VE,VD")}))
    log = read_autopilot_log(path, HOME)
    assert log.notes == ["received motion: not in a form that is known ('PN')"]
    assert "attitude" in log.estimated


@pytest.mark.parametrize("name", ["a.ulg", "a.BIN"])
def test_files_that_are_no_logs_are_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with pytest.raises(LinkError, match=r"a\.\w+ cannot be read: No such file or directory"):
        read_autopilot_log(path, HOME)
    path.write_bytes(b"")
    with pytest.raises(LinkError, match="is empty: the autopilot ended before it wrote its log"):
        read_autopilot_log(path, HOME)
    path.write_bytes(b"no log at all " * 50)
    with pytest.raises(LinkError, match=r"is no readable (ULog file|DataFlash log)"):
        read_autopilot_log(path, HOME)


def test_other_endings_and_logs_without_a_flight_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match=r"ends in \.ulg \(PX4\) or \.BIN \(ArduPilot\)"):
        read_autopilot_log(tmp_path / "flight.txt", HOME)
    topics = {("vehicle_command", 0): {"timestamp": STAMPS, "param1": STAMPS}}
    with pytest.raises(LinkError, match="holds none of the records that are looked for"):
        read_autopilot_log(write_ulog_topics(tmp_path / "none.ulg", topics), HOME)


def broken(data: bytes, cut: float, hits: list[tuple[float, int]]) -> bytes:
    """A file that ends early and has some bytes replaced."""
    spoiled = bytearray(data[: int(cut * len(data))])
    for place, byte in hits:
        if spoiled:
            spoiled[int(place * (len(spoiled) - 1))] = byte
    return bytes(spoiled)


SHARE = st.floats(0, 1)
HITS = st.lists(st.tuples(SHARE, st.integers(0, 255)), max_size=20)


@pytest.mark.parametrize("file", ["ulog", "dataflash"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(cut=SHARE, hits=HITS)
def test_a_broken_log_is_read_in_part_or_refused(
    file: str, request: pytest.FixtureRequest, tmp_path: Path, cut: float, hits: list[tuple[float, int]]
) -> None:
    whole: Path = request.getfixturevalue(file)
    path = tmp_path / f"broken{whole.suffix}"
    path.write_bytes(broken(whole.read_bytes(), cut, hits))

    try:
        log = read_autopilot_log(path, HOME)
    except LinkError as error:
        assert path.name in str(error)
        return
    for series in (*log.estimated.values(), *log.received.values()):
        assert np.isfinite(series.values).all() and (np.diff(series.time_s) > 0).all()
        assert len(series.values) == len(series.time_s)


def test_a_time_that_is_none_is_left_out(tmp_path: Path) -> None:
    rows = [("SIM2", (stamp, *PLACE[i], *VELOCITY[i])) for i, stamp in enumerate(STAMPS)]
    path = tmp_path / "late.BIN"
    path.write_bytes(dataflash_bytes([*rows, ("SIM2", (2**63, 1, 1, 1, 1, 1, 1)), ("SIM2", (9e12, 1, 1, 1, 1, 1, 1))]))

    assert read_autopilot_log(path, HOME).span_s == pytest.approx((1.0, 2.9))


def test_a_damaged_ulog_that_leads_round_in_a_circle_is_refused(tmp_path: Path) -> None:
    found = (
        Path(__file__).parents[3] / "fuzz" / "regressions" / "ulog" / "circle"
    )  # by fuzzing: pyulog never ends on it
    path = tmp_path / "log.ulg"
    path.write_bytes(found.read_bytes())

    with pytest.raises(LinkError, match="round in a circle"):
        read_autopilot_log(path, Home())
