"""Actions by name with plain data, as pages and the command line send them; frames and status as browsers get them."""

from __future__ import annotations

import inspect
import json
import re
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from autopilot_files import FORMS, dataflash_bytes

import ironbird.app as app_package
from ironbird.app.actions import ACTIONS, act, usage
from ironbird.app.frames import FLOATS, log_frames, replay_frames
from ironbird.app.live import HEAD, PLOTS, POSES, Live, Plotter
from ironbird.app.live_flight import DEEDS
from ironbird.app.records import Campaigns, Records
from ironbird.app.rig import Rig
from ironbird.app.security import GUEST, PILOT
from ironbird.errors import IronbirdError, RecordError, RunError
from ironbird.report.ulog import write_ulog
from ironbird.vehicles.shape import shape_of

PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(tmp_path_factory.mktemp("rig")) as rig:
        yield rig


@pytest.fixture(scope="module")
def flight(rig: Rig) -> str:
    """A flight that stands at 6 s, in the air, with a fault."""
    answer = act(rig, PILOT, "start", {"vehicle": "quad_f450", "wind_mps": 5, "speed": "max", "paused": True})
    name = str(answer["result"]["flight"])
    act(rig, PILOT, "step", {"flight": name, "exchanges": 1499})
    deadline = time.monotonic() + PATIENCE_S
    while rig.flight(name).tick < 6000:
        assert time.monotonic() < deadline and not rig.flight(name).failure
        time.sleep(0.01)
    assert act(rig, PILOT, "inject", {"flight": name, "fault": "rotor.speed_loss@1:instance=2"})["ok"]
    return name


def test_every_deed_is_an_action() -> None:
    assert set(DEEDS) <= set(ACTIONS)


PAGES = Path(app_package.__file__).parent
CALLS = (
    r"\b(?:ironbird|desk)\.act\(\\?['\"](\w+)",
    r"\bjs_button\(\s*\"[^\"]*\", \"(\w+)\"",
    r"\b(?:perform|act)\(\"(\w+)\"",
)
READ = {
    "flights",
    "flight",
    "monitors",
    "campaigns",
    "state",
    "records",
}  # what pages take from a rig, and only look at


def test_pages_do_nothing_that_is_no_action() -> None:
    texts = [path.read_text() for folder in ("pages", "static") for path in sorted((PAGES / folder).glob("*.[pj]*"))]
    named = {name for text in texts for call in CALLS for name in re.findall(call, text)}
    assert {"start", "pause", "inject", "tune", "goto", "sticks", "refly", "set_mission", "take_off"} <= named  # found
    assert named <= set(ACTIONS)
    used = {name for text in texts for name in re.findall(r"\brig\.(\w+)", text)}
    assert used <= READ, "pages change a rig by actions only, which Python and the command line have too"


def test_every_action_is_a_call_in_python_whose_arguments_have_names() -> None:
    for name, action in ACTIONS.items():
        parameters = list(inspect.signature(action).parameters.values())
        assert parameters[0].name == "rig" and action.__doc__, name
        assert all(one.kind in (one.POSITIONAL_OR_KEYWORD, one.VAR_KEYWORD) for one in parameters), name


@pytest.mark.parametrize(
    ("name", "args", "why"),
    [
        ("start", {"vehicle": "../../etc/passwd"}, "unknown vehicle"),
        ("start", {"vehicle": "<script>alert(1)</script>"}, "unknown vehicle"),
        ("start", {"vehicle": ["quad_f450"]}, "vehicle is ['quad_f450']; give a text"),
        ("start", {"mission": "/etc/passwd"}, "unknown mission"),
        ("start", {"mission": [{"north_m": 1e400}]}, "no finite number"),
        ("start", {"mission": [{"__class__": 1}]}, "item 0: give north_m"),
        ("start", {"mission": [{}] * 501}, "1 to 500 items"),
        ("start", {"control": "python:os"}, "unknown control system"),
        ("start", {"settings": {"body.mass": 1}}, "unknown key 'settings'"),
        ("start", {"seed": -1}, "seed -1"),
        ("start", {"seed": 1.5}, "seed is 1.5; give a whole number"),
        ("start", {"until_s": 1e300}, "until_s"),
        ("start", {"wind_mps": "nan"}, "wind_mps is 'nan'; give a finite number"),
        ("start", {"go": "yes"}, "go is 'yes'; give true or false"),
        ("pause", {"flight": "none"}, "unknown flight"),
        ("pause", {"flight": {"a": 1}}, "flight is {'a': 1}; give a text"),
        ("inject", {"flight": "FLIGHT"}, "inject: fault is missing; it takes [flight=TEXT] fault=TEXT"),
        ("take_of", {}, "did you mean 'take_off'"),
        ("step", {"flight": "FLIGHT", "exchanges": 10**9}, "1 to 10000"),
        ("speed", {"flight": "FLIGHT", "factor": 1e9}, "times real time"),
        ("speed", {"flight": "FLIGHT", "factor": "fast"}, "speed is 'fast', no finite number"),
        ("branch", {"flight": "FLIGHT", "at_s": "x"}, "branch: at_s is 'x'; give a finite number"),
        ("inject", {"flight": "FLIGHT", "fault": "rotor.speed_loss@1:severity=7"}, "outside 0 .. 1"),
        ("inject", {"flight": "FLIGHT", "fault": "x" * 5000}, "unknown fault"),
        ("inject", {"flight": "FLIGHT", "injection": 3}, "unknown key 'injection' in inject"),
        ("clear", {"flight": "FLIGHT", "number": 99}, "no fault number 99"),
        ("clear", {"flight": "FLIGHT", "number": "1"}, "number is '1'; give a whole number"),
        ("goto", {"flight": "FLIGHT", "north_m": None, "east_m": 0}, "goto: north_m is None; give a finite number"),
        ("read_plan", {"text": "{" * 100_000}, "no valid JSON"),
        ("read_plan", {"text": "x" * 3_000_000}, "2000000 characters"),
        ("write_plan", {"items": "all"}, "a mission is a list"),
        ("launch", {}, "unknown action"),
        ("__init__", {}, "unknown action"),
    ],
)
def test_hostile_arguments_are_refused_with_a_sentence(
    rig: Rig, flight: str, name: str, args: dict[str, Any], why: str
) -> None:
    given = {key: flight if value == "FLIGHT" else value for key, value in args.items()}
    flying = list(rig.flights)
    answer = act(rig, PILOT, name, given)
    assert not answer["ok"] and why in answer["error"] and len(answer["error"]) < 1500
    assert list(rig.flights) == flying


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_a_guest_does_nothing_at_all(rig: Rig, name: str) -> None:
    answer = act(rig, GUEST, name, {"flight": "none"})
    assert not answer["ok"] and "a guest may look" in answer["error"]


def test_poses_are_those_of_the_log(rig: Rig, flight: str) -> None:
    frame = Live(rig).poses()
    kind, count, _, _ = HEAD.unpack_from(frame)
    numbers = np.frombuffer(frame, "<f4", offset=HEAD.size).reshape(count, 1 + FLOATS)
    log = rig.flight(flight).log()
    assert kind == POSES and log is not None
    mine = numbers[numbers[:, 0] == int(flight.rpartition("-")[2])][0]
    last = len(log.time_s) - 1
    position = log.data[0, last, log.plan.start["body.p_NB_N"] :, 0][:3]
    np.testing.assert_array_equal(mine[2:5], position.astype(np.float32))
    rotation = mine[5:14].reshape(3, 3)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-5)
    assert (mine[17:21] > 100).all() and (mine[21:] == 0).all()  # four rotors turn


def test_plots_send_each_row_once_and_a_row_that_is_not_there_never(rig: Rig, flight: str) -> None:
    plotter = Plotter(rig)
    plotter.choose([[flight, "body.p_NB_N", 2], [flight, "no.such", 0], [flight, "body.p_NB_N", 7]], 600.0)
    (frame,) = plotter.frames()
    kind, count, rows, _ = HEAD.unpack_from(frame)
    values = np.frombuffer(frame, "<f4", offset=HEAD.size).reshape(count + 1, rows)
    log = rig.flight(flight).log()
    assert log is not None and kind == PLOTS and rows == len(log.time_s)
    np.testing.assert_array_equal(values[1], log["body.p_NB_N"][:, 2].astype(np.float32))
    assert np.isnan(values[2:]).all()
    assert plotter.frames() == []  # nothing new: the flight stands
    for wrong in ("x", [["a", "b"]], [["a", "b", "c"]], [[flight, "x", 0]] * 25):
        with pytest.raises(RunError, match="plot"):
            plotter.choose(wrong)


def test_status_is_json_with_the_faults_and_the_parts_that_broke(rig: Rig, flight: str) -> None:
    status = json.loads(Live(rig).status())
    row = next(row for row in status["flights"] if row["name"] == flight)
    assert row["state"] == "paused" and row["armed"] and row["time_s"] == pytest.approx(5.98, abs=0.05)
    assert row["faults"][0]["part"] == "rotor/2" and row["faults"][0]["active"]


def test_a_log_is_replayed_as_it_was_flown(rig: Rig, flight: str, tmp_path: Path) -> None:
    log = rig.flight(flight).log()
    assert log is not None
    (tmp_path / "deep").mkdir()
    log.to_parquet(tmp_path / "deep" / "flight.parquet")
    records = Records(tmp_path)
    assert records.names() == ["deep/flight.parquet"]
    np.testing.assert_array_equal(records.frames("deep/flight.parquet"), log_frames(log))
    for wrong in ("../deep/flight.parquet", "/etc/passwd", "", "deep", "deep/../deep/flight.parquet"):
        with pytest.raises(RecordError, match="no log"):
            records.frames(wrong)


def test_links_out_of_the_folder_are_not_listed(tmp_path: Path) -> None:
    (tmp_path / "secret.parquet").write_bytes(b"x")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "link.parquet").symlink_to(tmp_path / "secret.parquet")
    (tmp_path / "logs" / "up").symlink_to(tmp_path)
    assert Records(tmp_path / "logs").names() == []


def test_a_log_of_px4s_kind_is_replayed(rig: Rig, flight: str, tmp_path: Path) -> None:
    log = rig.flight(flight).log()
    assert log is not None
    write_ulog(log, tmp_path / "flight.ulg")
    frames, ours = replay_frames(tmp_path / "flight.ulg"), log_frames(log)
    for column in range(1, 13):  # position and rotation matrix
        expected = np.interp(frames[:, 0] + ours[0, 0], ours[:, 0], ours[:, column])
        np.testing.assert_allclose(frames[2:-2, column], expected[2:-2], atol=0.06)


def test_a_log_of_ardupilots_kind_is_replayed(tmp_path: Path) -> None:
    rows: list[Any] = []
    for number in range(100):  # level, nose to the east, 2 m/s north, 5 m high
        stamp = 1e6 + 1e5 * number
        rows.append(("XKF1", (stamp, 0, 0, 0, 90, 2, 0, 0, 0, 0.2 * number, 0, -5, 0, 0, 0, 0)))
        rows.append(("ATT", (stamp, 0.0, 0.0, 90.0)))
    forms = {**FORMS, "ATT": ("QccC", "TimeUS,Roll,Pitch,Yaw")}
    (tmp_path / "a.BIN").write_bytes(dataflash_bytes(rows, forms))
    frames = replay_frames(tmp_path / "a.BIN")
    np.testing.assert_allclose(frames[:, 1], 2.0 * frames[:, 0], atol=0.01)
    np.testing.assert_allclose(frames[:, 3], -5.0)
    np.testing.assert_allclose(frames[:, 4:7], np.broadcast_to([0.0, 1.0, 0.0], (len(frames), 3)), atol=1e-3)


def test_looking_for_campaigns_makes_no_store(tmp_path: Path) -> None:
    campaigns = Campaigns(f"sqlite:///{tmp_path / 'none.db'}")
    assert campaigns.listed() == [] and not (tmp_path / "none.db").exists()


def test_a_shape_has_the_rotors_of_the_vehicles_file() -> None:
    shape = shape_of("quad_f450")
    assert shape["drawing"] == "rotors" and len(shape["rotors"]) == 4
    assert np.hypot(*shape["rotors"][0][:2]) == pytest.approx(0.225, abs=1e-3)  # 450 mm from motor to motor
    assert shape_of("car_escort")["rotors"] == []


def test_frames_fit_their_head() -> None:
    assert HEAD.size == 8 and struct.calcsize("<f") == 4 and FLOATS == 32
    with pytest.raises(IronbirdError, match="unknown vehicle"):
        shape_of("no_such")


def test_a_mission_through_a_tree_is_told_before_it_is_flown(rig: Rig) -> None:
    said = act(rig, PILOT, "check_mission", {"vehicle": "quad_f450", "world": "forest"})["result"]["sentence"]
    assert said.startswith("The mission passes through pine_65_crown on the way to item 2, 8 m north, 0 m east")
    for free in (
        {"world": "field"},
        {"world": ""},
        {"world": "forest", "mission": [{"kind": "waypoint", "height_m": 6}]},
    ):
        assert act(rig, PILOT, "check_mission", free) == {"ok": True, "result": {"sentence": ""}}, free
    assert "unknown world" in act(rig, PILOT, "check_mission", {"world": "/etc/passwd"})["error"]


def test_only_a_flight_that_is_over_can_be_closed(rig: Rig, flight: str) -> None:
    assert "still flies: end it first" in act(rig, PILOT, "close", {"flight": flight})["error"]
    other = act(rig, PILOT, "start", {"go": False, "until_s": 0.1, "speed": "max"})["result"]["flight"]
    assert act(rig, PILOT, "end", {"flight": other})["ok"]
    folder = rig.flights[other].folder
    assert act(rig, PILOT, "close", {"flight": other})["ok"] and other not in rig.flights
    assert folder is not None and (folder / "flight.html").is_file()


def test_the_only_flight_is_meant_and_an_injection_says_what_was_ordered(rig: Rig, flight: str, tmp_path: Path) -> None:
    with Rig(tmp_path) as empty:
        assert "there is no flight yet; start one" in act(empty, PILOT, "take_off", {})["error"]
    assert list(rig.flights) == [flight], "this test needs one flight"
    answer = act(rig, PILOT, "inject", {"fault": "rotor.speed_loss@1:instance=3,severity=0.1"})
    assert answer["ok"] and answer["result"]["flight"] == flight
    assert answer["result"]["ordered"].startswith("rotor.speed_loss@1:instance=3,severity=0.1")
    assert answer["result"]["acts_on"] == "rotor/3/motor.speed"


def test_every_action_says_what_it_takes() -> None:
    assert usage("take_off") == "[flight=TEXT] [height_m=NUMBER]" and usage("inject") == "[flight=TEXT] fault=TEXT"
    assert all(usage(name) for name in ACTIONS)
