"""Sticks: bytes as the kernel gives them, shapes by closed form, files that are flown again bit for bit."""

from __future__ import annotations

import math
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner
from vehicle_double import Double

import ironbird as ib
from ironbird.cli.main import app
from ironbird.errors import LinkError
from ironbird.rig.rig import make_rig
from ironbird.systems.commanded.kind import CommandedSystem
from ironbird.systems.commanded.sticks.calibrate import Measured
from ironbird.systems.commanded.sticks.front import SticksFront, open_source
from ironbird.systems.commanded.sticks.gamepad import Gamepad, pads
from ironbird.systems.commanded.sticks.keyboard import HELD_S, Keyboard
from ironbird.systems.commanded.sticks.layout import PADS, Layout, layout_for, load_layout
from ironbird.systems.commanded.sticks.remote import fly_by_hand
from ironbird.systems.commanded.sticks.shape import Calibration, shaped
from ironbird.systems.commanded.sticks.source import Sticks
from ironbird.systems.commanded.sticks.stick_file import StickFile, load_sticks, parse_sticks, stick_text
from ironbird.vehicles.load import load_vehicle

PLAIN = Layout(expo=0.0, dead_zone=0.0)
AXIS, BUTTON, INITIAL = 2, 1, 0x80
STICK = st.floats(-1.0, 1.0)


def event(value: int, kind: int, number: int) -> bytes:
    """As the kernel writes it: struct js_event."""
    return struct.pack("<IhBB", 1234, value, kind, number)


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Any]:
    """A pad made of a FIFO, and the end at which the kernel would write."""
    path = tmp_path / "js0"
    os.mkfifo(path)
    pad = Gamepad(str(path), PLAIN)
    kernel = os.open(path, os.O_WRONLY)
    yield pad, kernel
    pad.close()
    os.close(kernel)


def test_axes_and_buttons_are_read_from_the_bytes_of_the_kernel(pipe: Any) -> None:
    pad, kernel = pipe
    assert pad.read(0.0) == Sticks()
    os.write(kernel, event(32767, AXIS, 0) + event(-32767, AXIS | INITIAL, 1) + event(1, BUTTON | INITIAL, 3))
    os.write(kernel, event(-16384, AXIS, 3) + event(1, BUTTON, 0))
    now = pad.read(0.0)
    assert (now.yaw, now.throttle) == (1.0, 1.0)  # mode 2: the left stick, forward is negative
    assert now.roll == pytest.approx(-16384 / 32767) and now.buttons == 0b1001
    assert pad.actions() == ["arm"]  # what was held down at the start is not pressed
    os.write(kernel, event(0, BUTTON, 0))
    assert pad.read(0.0).buttons == 0b1000 and pad.actions() == []


def test_an_event_may_come_in_pieces(pipe: Any) -> None:
    pad, kernel = pipe
    whole = event(32767, AXIS, 3)
    for byte in whole[:-1]:
        os.write(kernel, bytes([byte]))
        assert pad.read(0.0).roll == 0.0
    os.write(kernel, whole[-1:])
    assert pad.read(0.0).roll == 1.0


def test_garbage_moves_no_stick_beyond_its_ends_and_is_counted(pipe: Any) -> None:
    pad, kernel = pipe
    os.write(kernel, event(5, 0x40, 0) + event(5, AXIS, 200) + event(1, BUTTON, 77))
    pad.read(0.0)
    assert pad.strange == 3 and not pad.axes and not pad.buttons
    for _ in range(20):
        os.write(kernel, os.urandom(4001))
        now = pad.read(0.0)
        assert all(-1.0 <= value <= 1.0 for value in (now.roll, now.pitch, now.throttle, now.yaw))
        assert 0 <= now.buttons < 1 << 16


def test_a_pad_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match=r"gamepad /dev/input/js99 cannot be opened: No such file or directory; pads"):
        Gamepad("/dev/input/js99")
    assert pads(tmp_path) == []
    (tmp_path / "js1").touch()
    assert pads(tmp_path) == [(str(tmp_path / "js1"), "unknown pad")]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [  # left_x, left_y, right_x, right_y pushed right, forward, left and backward
        (1, Sticks(roll=-0.5, pitch=1.0, throttle=-0.25, yaw=0.75)),
        (2, Sticks(roll=-0.5, pitch=-0.25, throttle=1.0, yaw=0.75)),
        (3, Sticks(roll=0.75, pitch=1.0, throttle=-0.25, yaw=-0.5)),
        (4, Sticks(roll=0.75, pitch=-0.25, throttle=1.0, yaw=-0.5)),
    ],
)
def test_modes_of_transmitters(mode: Any, expected: Sticks) -> None:
    layout = PLAIN.model_copy(
        update={"mode": mode, "calibration": dict.fromkeys(("left_x", "left_y", "right_x", "right_y"), HUNDRED)}
    )
    assert layout.sticks({0: 75, 1: -100, 3: -50, 4: 25}, 0) == expected


HUNDRED = Calibration(low=-100, centre=0, high=100)


def test_calibration_is_two_straight_lines() -> None:
    axis = Calibration(low=-100, centre=20, high=80)
    assert [axis.normal(raw) for raw in (-200, -100, -40, 20, 50, 80, 90)] == [-1.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.0]


@given(value=STICK, dead_zone=st.floats(0.0, 0.9), expo=st.floats(0.0, 1.0))
def test_dead_zone_and_expo_are_their_closed_form(value: float, dead_zone: float, expo: float) -> None:
    out = shaped(value, dead_zone=dead_zone, expo=expo)
    inner = max(0.0, (abs(value) - dead_zone) / (1 - dead_zone))
    assert out == pytest.approx(math.copysign((1 - expo) * inner + expo * inner**3, value) if inner else 0.0, abs=1e-12)
    assert abs(out) <= 1.0 + 1e-12 and shaped(-value, dead_zone=dead_zone, expo=expo) == -out
    assert shaped(math.copysign(1.0, value), dead_zone=dead_zone, expo=expo) == pytest.approx(math.copysign(1.0, value))


@given(low=STICK, high=STICK, dead_zone=st.floats(0.0, 0.9), expo=st.floats(0.0, 1.0))
def test_a_stick_that_is_pushed_further_never_gives_less(
    low: float, high: float, dead_zone: float, expo: float
) -> None:
    low, high = sorted((low, high))
    assert shaped(low, dead_zone=dead_zone, expo=expo) <= shaped(high, dead_zone=dead_zone, expo=expo) + 1e-12


def test_a_calibration_is_measured_and_kept(tmp_path: Path) -> None:
    measured = Measured()
    measured.rest({0: 100, 1: -50, 3: 0, 4: 10})
    measured.moved({0: -30000, 1: 32000, 3: -20000, 4: 9000})
    measured.moved({0: 31000, 1: -32000, 3: 21000, 4: -9500})
    layout = measured.layout(Layout(), 'Pad "of" one')
    file = tmp_path / "sticks.toml"
    file.write_text(layout.text())
    again = load_layout(file)
    assert again.calibration == layout.calibration and again.name == "Pad of one" and again.buttons == layout.buttons
    assert again.calibration["left_x"] == Calibration(low=-30000, centre=100, high=31000)
    with pytest.raises(LinkError, match=r"stick right_y \(axis 4\) went from 10 to 10 about 10: move it to both ends"):
        measured.ends[4] = (10, 10)
        measured.layout(Layout(), "Pad")


def test_layouts_are_chosen_by_the_name_of_the_pad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert layout_for("FrSky Taranis Joystick").left_y == 2 and layout_for("Microsoft X-Box 360 pad").left_y == 1
    assert layout_for("anything") == PADS[-1]
    (tmp_path / "ironbird").mkdir()
    (tmp_path / "ironbird" / "sticks.toml").write_text('name = "mine"\nmode = 1\n')
    assert layout_for("this is Mine").mode == 1 and layout_for("another").mode == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mode = 5", r"mode: Input should be 1, 2, 3 or 4"),
        ("left_x = -1", r"left_x: Input should be greater than or equal to 0"),
        ("speed = 1", r"speed: Extra inputs are not permitted"),
        ("[calibration.left_x]\nlow = 5", r"calibration.left_x: .*must rise"),
        ('[buttons]\n0 = "explode"', r"buttons.0 = 'explode': give 0 to 15 and one of arm"),
        ('[buttons]\n99 = "arm"', r"buttons.99"),
        ("mode = ", r"cannot be read"),
    ],
)
def test_wrong_layouts_are_refused_by_key(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "layout.toml"
    file.write_text(text)
    with pytest.raises(LinkError, match=said):
        load_layout(file)


def test_keys_of_a_terminal_move_sticks_and_let_go() -> None:
    read, write = os.pipe()
    keys = Keyboard(read)
    os.write(write, b"w\x1b[A\x1b[D1t?")
    assert keys.read(0.0) == Sticks(roll=-0.5, pitch=0.5, throttle=0.5) and keys.actions() == ["arm", "take-off"]
    assert keys.read(HELD_S / 2).pitch == 0.5 and keys.read(HELD_S) == Sticks()
    os.write(write, b"d q")
    assert keys.read(1.0) == Sticks() and keys.finished
    keys.close()
    os.close(read)
    os.close(write)


# ---------------------------------------------------------------------------------------------- stick files

ROWS = st.lists(
    st.tuples(st.integers(0, 10**9), st.builds(Sticks, STICK, STICK, STICK, STICK, st.integers(0, 65535))),
    min_size=1, max_size=20, unique_by=lambda row: row[0],
).map(lambda rows: sorted((tick * 1e-3, sticks) for tick, sticks in rows))  # fmt: skip


@given(rows=ROWS)
def test_a_stick_file_reads_back_to_the_same_bits(rows: list[tuple[float, Sticks]]) -> None:
    again = parse_sticks(stick_text(rows))
    source, other = StickFile(rows), StickFile(again)
    for time_s, _ in rows:
        assert source.read(time_s) == other.read(time_s)
    assert again[-1] == rows[-1] and other.finished


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"the first line must be 'time_s,roll,pitch,throttle,yaw,buttons'"),
        ("time_s,roll\n", r"the first line must be"),
        ("HEAD\n", r"there are no rows"),
        ("HEAD\n0,0,0,0,0\n", r"line 2: .*is not five numbers and a whole one"),
        ("HEAD\n0,0,0,0,0,0,0\n", r"line 2 has 7 columns"),
        ("HEAD\n0,2,0,0,0,0\n", r"line 2: sticks must be from -1 to 1"),
        ("HEAD\n0,nan,0,0,0,0\n", r"line 2: sticks must be from -1 to 1"),
        ("HEAD\n0,0,0,0,0,99999\n", r"buttons from 0 to 65535"),
        ("HEAD\n1,0,0,0,0,0\n1,0,0,0,0,0\n", r"line 3: time 1.0 s must rise"),
        ("HEAD\nnan,0,0,0,0,0\n", r"line 2: time nan s must rise"),
    ],
)
def test_wrong_stick_files_are_refused_by_line(text: str, said: str) -> None:
    with pytest.raises(LinkError, match=said):
        parse_sticks(text.replace("HEAD", "time_s,roll,pitch,throttle,yaw,buttons"))


@given(data=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode()))
def test_any_bytes_are_rows_or_a_sentence(data: bytes) -> None:
    try:
        rows = parse_sticks("time_s,roll,pitch,throttle,yaw,buttons\n" + data.decode(errors="replace"))
    except LinkError as error:
        assert str(error)
    else:
        assert rows


FLIGHT = [
    (0.0, Sticks()),
    (3.2, Sticks(buttons=1)),  # arm
    (3.4, Sticks(buttons=0)),
    (3.6, Sticks(throttle=1.0)),
    (5.2, Sticks(pitch=0.8, yaw=0.25)),
    (6.8, Sticks()),
]


def flown(front: SticksFront | None, script: str = "") -> tuple[Any, CommandedSystem]:
    """The last state of an F450 that is flown by sticks, or by the stream that this gave."""
    rig = make_rig(load_vehicle("quad_f450", control="commanded"), until_s=7.0, seed=3)
    system = CommandedSystem(front, script=script)
    system.start(rig)
    try:
        while rig.time_s < 6.8 and rig.step(system.step_ticks):
            system.exchange(rig)
    finally:
        system.stop()
    return rig.state.x.copy(), system


def test_a_stick_file_flies_the_vehicle_and_repeats_bit_for_bit(tmp_path: Path) -> None:
    file = tmp_path / "climb.csv"
    file.write_text(stick_text(FLIGHT))
    options = {"sticks": str(file), "stick_mode": "position"}
    first, system = flown(SticksFront(options))
    assert system.front is not None and system.front.finished and system.commander is not None
    truth = system.commander.truth()
    assert system.commander.armed and truth.p_N[2] < -0.3  # it climbed,
    assert math.hypot(truth.v_N[0], truth.v_N[1]) > 0.3  # and flew forward
    again, _ = flown(SticksFront(options))
    replayed, _ = flown(None, system.script())
    assert first.tobytes() == again.tobytes() == replayed.tobytes()


def test_a_pad_flies_the_reference_autopilot_over_mavlink() -> None:
    rows = [(0.0, Sticks()), (0.1, Sticks(buttons=1)), (0.5, Sticks(throttle=1.0)), (60.0, Sticks())]
    with ib.rehearsal() as address:
        said: list[str] = []
        source = StickFile(rows)
        with ib.connect(address) as v:
            v.wait_ready()
            before = v.telemetry
            assert before.height_m < 0.5

            class Until:
                """The file, until the vehicle has climbed."""

                name = "until"
                read, actions, close = source.read, source.actions, source.close
                begin = time.monotonic()

                @property
                def finished(self) -> bool:
                    return v.telemetry.height_m > 2.0 or time.monotonic() - self.begin > 120

            fly_by_hand(Until(), address, mode="position", until_s=200.0, say=said.append)
            assert v.telemetry.height_m > 2.0, said
    assert said[0] == "px4, copter: mode hold" and "arm: done" in said, said


def test_what_buttons_ask_for_is_done_over_mavlink_and_refusals_are_told() -> None:
    with Double() as double:
        said: list[str] = []
        rows = [(0.0, Sticks()), (0.05, Sticks(roll=0.5, buttons=1)), (1.5, Sticks())]
        double.refuse = {176: 3}
        fly_by_hand(StickFile(rows), double.address, mode="altitude", until_s=60.0, say=said.append)
        assert double.armed and "MANUAL_CONTROL" in double.heard
    assert "arm: done" in said and any(line.startswith("altitude: ") and "unsupported" in line for line in said), said


def test_the_verbs_list_show_record_and_calibrate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    run = CliRunner().invoke
    assert run(app, ["connect", "gamepads"]).exit_code == 0
    source = tmp_path / "in.csv"
    source.write_text(stick_text([(0.0, Sticks()), (0.1, Sticks(roll=0.25, buttons=1)), (0.2, Sticks())]))
    shown = run(app, ["connect", "show-sticks", "--from", str(source)])
    assert shown.exit_code == 0 and "roll +0.25" in shown.output and "arm" in shown.output
    out = tmp_path / "out.csv"
    assert run(app, ["connect", "record-sticks", str(out), "--from", str(source)]).exit_code == 0
    assert [sticks.roll for _, sticks in load_sticks(out)][:2] == [0.0, 0.25]
    wrong = run(app, ["connect", "show-sticks", "--from", "/dev/input/js99"])
    assert wrong.exit_code == 2 and "cannot be opened" in wrong.output
    assert run(app, ["connect", "calibrate-sticks", str(source)]).exit_code == 2
    device = tmp_path / "js0"
    os.mkfifo(device)
    keep = os.open(device, os.O_RDWR)
    os.write(keep, b"".join(event(0, AXIS | INITIAL, number) for number in range(5)))
    still = run(app, ["connect", "calibrate-sticks", str(device), "--measure", "0.1"])
    os.close(keep)
    assert still.exit_code == 2 and "move it to both ends" in " ".join(still.output.split())
    assert run(app, ["connect", "sticks"]).exit_code == 2


def test_sources_are_chosen_by_name(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(stick_text(FLIGHT))
    assert isinstance(open_source(str(file)), StickFile)
    with pytest.raises(LinkError, match=r"stick file .*none.csv cannot be read"):
        open_source(str(tmp_path / "none.csv"))
