"""Flights over a cable come to a verdict, whatever ends them, and their results are kept."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hil_board import BoardCable, StillClock
from hil_board import fly_by_hand as fly
from pymavlink.dialects.v20 import common
from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.errors import LinkError
from ironbird.flight.flight import Flight
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Order, make_order
from ironbird.flight.outside import KEPT
from ironbird.ground import handshakes
from ironbird.report.flight.page import write_flight_page
from ironbird.report.folder import write_flight_folder
from ironbird.rig.system import AutopilotEvent
from ironbird.systems.hardware.kind import HARDWARE
from ironbird.vehicles import places as at

RUNNER = CliRunner()
OPTIONS: dict[str, str | int | float | bool] = {
    "udp": 1, "control_hz": 500.0, "priority": False, "ground_station": False,
}  # fmt: skip

Plug = Callable[..., None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Plug:
    """Puts a cable and a clock in place of the real ones."""

    def put(cable: BoardCable, stalls: dict[int, float] | None = None) -> None:
        monkeypatch.setattr(HARDWARE, "_cable", lambda options: cable)
        monkeypatch.setattr(HARDWARE, "_clock", lambda: StillClock(stalls))

    return put


def untold(**changes: Any) -> Order:
    """An order to a board that is told nothing and flies what it has."""
    order = make_order("quad_f450", control="hardware", options=OPTIONS, until_s=2.5)
    return replace(order, mission=None, mission_name="", **changes)


def test_a_flight_whose_link_holds_passes(plug: Plug, tmp_path: Path) -> None:
    lines: list[str] = []
    board = BoardCable()
    board.throttle = 0.8  # it leaves the ground
    plug(board)
    flight = fly(untold(), show=lines.append)
    assert (flight.verdict, flight.judged.sentence) == ("pass", "flown to the end at 2.50 s")
    rows = write_flight_folder(flight, tmp_path)
    assert rows["verdict"] == "pass" and rows["control"] == "flight controller"
    assert rows["mission"] == "as the control system has it"
    assert rows["link rates"].startswith("sensors 500.0 Hz, GNSS 5.")
    assert len(lines) == 3 and "late 0" in lines[-1]
    assert flight.measured["late_steps"] == 0
    page = (tmp_path / "flight.html").read_text()
    assert "ironbird fly quad_f450 \\\n    --control hardware" in page and "--option udp=1" in page
    assert "Link lateness" in page and "mission.toml" not in page


def test_a_board_flies_in_a_world(plug: Plug) -> None:
    plug(BoardCable())
    post = 'schema = 1\n[terrain]\nkind = "plane"\n[[box]]\nname = "post"\nnorth_m = 5.0\nsize_m = [1.0, 1.0, 20.0]\n'
    flight = fly(untold(world=post))
    assert flight.verdict != "error" and flight.measured["late_steps"] == 0
    assert flight.log[at.CLEARANCE.min_distance][0] == pytest.approx(4.5 - 0.3, abs=0.05)


def test_a_late_run_is_an_error_and_its_page_says_so(plug: Plug, tmp_path: Path) -> None:
    plug(BoardCable(), {900: 0.1})
    flight = fly(untold())
    assert flight.verdict == "error" and flight.survived
    assert "of the steps were late" in flight.judged.sentence
    write_flight_page(flight, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert '<span class="badge error">error</span>' in page and "of the steps were late" in page


def test_a_link_that_breaks_in_flight_is_an_error_with_the_log_until_then(plug: Plug) -> None:
    def cut(number: int, frame: bytes) -> bytes:
        if number == 1000:
            raise OSError(5, "Input/output error")
        return frame

    cable = BoardCable(spoil=cut)
    plug(cable)
    live: list[AutopilotEvent] = []
    flight = fly(untold(until_s=5.0), on_event=live.append)
    assert flight.verdict == "error" and "the cable is gone" in flight.judged.sentence
    assert [event for event in live if event.kind != "begin"] == flight.autopilot_events
    assert [event.text for event in live if event.kind == "begin"] == [KEPT]
    assert "the cable is gone" in live[-1].sentence()
    assert flight.ended_s == pytest.approx(2.0, abs=0.05)
    assert flight.log.time()[-1] == pytest.approx(2.0, abs=0.05)
    said = [h.text for h in flight.autopilot_events if h.kind == "link"][-1]
    assert flight.judged.sentence == f"{said} (flown to the end at {flight.ended_s:.2f} s)"
    assert cable.closed


def test_a_board_that_never_answers_gives_no_flight(plug: Plug) -> None:
    cable = BoardCable(spoil=lambda n, frame: b"")
    plug(cable)
    with pytest.raises(LinkError, match="nothing came at all"):
        fly(untold(options={**OPTIONS, "connect_s": 0.2}))
    assert cable.closed


def test_ctrl_c_ends_the_flight_and_keeps_it(plug: Plug) -> None:
    def interrupt(number: int, frame: bytes) -> bytes:
        if number == 800:
            os.kill(os.getpid(), signal.SIGINT)
        return frame

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background ignores it
    try:
        plug(BoardCable(spoil=interrupt))
        flight = fly(untold(until_s=5.0))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert flight.log.interrupted and flight.outcome == "interrupted at 1.60 s"
    assert (flight.verdict, flight.judged.sentence) == ("error", "interrupted at 1.60 s")
    assert len(flight.log.time()) == 80


def flown_high(plug: Plug, fault: str) -> Flight:
    cable = BoardCable()
    cable.throttle = 0.9
    plug(cable)
    return fly(untold(until_s=8.0), faults=make_order("quad_f450", faults=[fault]).faults)


def test_a_crash_is_a_fail(plug: Plug) -> None:
    flight = flown_high(plug, "rotor.speed_loss@1:instance=1,severity=1,start=2")
    assert flight.verdict == "fail" and not flight.survived
    assert flight.judged.sentence.startswith(f"no_crash: crashed at {flight.ended_s:.2f} s (hard landing, ")
    assert flight.witnesses[0].effective


def test_a_fault_that_does_not_act_is_void(plug: Plug) -> None:
    flight = flown_high(plug, "rotor.speed_loss@1:instance=1,severity=0,start=2")
    assert flight.verdict == "void" and flight.survived
    assert flight.judged.sentence.startswith("the fault did not act: rotor.speed_loss@1:instance=1,severity=0,start=2")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "give --port DEVICE or --udp PORT, one of the two"),
        (["--port", "/dev/null", "--udp", "14997"], "vehicle 1 of 2 (quad_f450): serial port /dev/null"),
        (["--port", "/dev/nowhere"], "there is no such device; is the board plugged in?"),
        (["--port", "/dev/null"], "is it a serial port?"),
        (["--port", "/dev/nowhere", "--baud", "115200"], "Use 460800 baud, here and on the board"),
        (["--udp", "14997", "--sensor-hz", "400"], "give 1000, 500, 250"),
        (["--udp", "14997", "--vehicle", "quad_f451"], "quad_f450"),
        (["--udp", "14997", "--wait", "1"], "gave no HIL_ACTUATOR_CONTROLS for 1.0 s"),
    ],
)
def test_what_is_wrong_is_said(options: list[str], says: str, tmp_path: Path) -> None:
    ended = RUNNER.invoke(app, ["hil", *options, "--headless", "--no-priority", "--out", str(tmp_path)])
    assert ended.exit_code == 2
    assert says in " ".join(ended.stderr.split())


def test_the_budget_is_shown_before_it_is_refused(tmp_path: Path) -> None:
    ended = RUNNER.invoke(app, ["hil", "--port", "/dev/nowhere", "--baud", "115200", "--out", str(tmp_path)])
    shown = " ".join(ended.stdout.replace("│", " ").split())
    assert "Budget of /dev/nowhere at 115200 baud" in shown and "TOO MUCH" in shown
    assert "HIL_SENSOR" in shown and "HIL_ACTUATOR_CONTROLS" in shown


def test_a_port_that_is_not_there_is_refused_before_the_budget(tmp_path: Path) -> None:
    words = ["fly", "quad_f450", "--control", "hardware", "--port", "/dev/nowhere", "--out", str(tmp_path)]
    ended = RUNNER.invoke(app, words)
    assert ended.exit_code == 2 and "no such device" in ended.stderr and not ended.stdout


class Said:
    """Where pymavlink writes what a board says."""

    def __init__(self, board: SpokenBoard) -> None:
        self.board = board

    def write(self, data: bytes) -> None:
        self.board.said += bytes(data)


class SpokenBoard(BoardCable):
    """A board that also takes orders of a ground station: uploads, arming, and a flight that is over after a second."""

    def __init__(self) -> None:
        super().__init__()
        self.armed = False
        self.mode = 0
        self.items = self.expected = 0
        self.armed_at: int | None = None
        self.spoken = common.MAVLink(Said(self), srcSystem=1, srcComponent=1)
        self.heard = common.MAVLink(None)
        self.heard.robust_parsing = True
        self.said = b""

    def write(self, data: memoryview) -> int:
        for message in self.heard.parse_buffer(bytes(data)) or []:
            self.obey(message)
        if self.writes % 100 == 0:
            self.spoken.heartbeat_send(2, 12, 128 if self.armed else 1, self.mode, 4)
            self.spoken.sys_status_send(0, 0, 0x10000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
            self.spoken.home_position_send(474000000, 85000000, 488000, 0, 0, 0, [1, 0, 0, 0], 0, 0, 0)
            self.spoken.extended_sys_state_send(0, 2 if self.armed else 1)
        if self.armed_at is not None and self.writes > self.armed_at + 500:
            self.armed = False
        return super().write(data)

    def read(self) -> bytes:
        data, self.said = super().read() + self.said, b""
        return data

    def obey(self, message: Any) -> None:
        name = message.get_type()
        if name == "MISSION_COUNT":
            self.expected = message.count
            self.spoken.mission_request_int_send(255, 190, 0)
        elif name == "MISSION_ITEM_INT":
            self.items = message.seq + 1
            if self.items == self.expected:
                self.spoken.mission_ack_send(255, 190, 0)
            else:
                self.spoken.mission_request_int_send(255, 190, self.items)
        elif name == "COMMAND_LONG" and message.command != 511:
            self.spoken.command_ack_send(message.command, 0)
            if message.command == 400:
                self.armed, self.armed_at = True, self.writes
            elif message.command == 176:
                self.mode = int(message.param2) << 16 | int(message.param3) << 24


def test_a_mission_is_uploaded_and_flown_over_the_same_cable(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "ASK_WALL_S", 0.0)  # simulation time alone decides here
    board = SpokenBoard()
    plug(board)
    flight = fly("quad_f450", control="hardware", mission="square", until_s=60.0, options=OPTIONS)
    assert board.items == board.expected > 4 and board.mode == 4 << 16 | 4 << 24  # AUTO, MISSION
    kinds = [h.kind for h in flight.autopilot_events]
    assert {"ready", "armed", "mode", "finished"} <= set(kinds)
    assert flight.ended_s < 30.0 and flight.mission_title == load_mission("square").title


def test_parameters_for_a_board_are_those_of_the_vehicle(tmp_path: Path) -> None:
    path = tmp_path / "f450.params"
    assert RUNNER.invoke(app, ["vehicle", "board-params", "quad_f450", "--out", str(path)]).exit_code == 0
    rows = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    params = {name: (value, kind) for system, component, name, value, kind in rows if (system, component) == ("1", "1")}
    assert params["SYS_HITL"] == ("1", "6") and params["HIL_ACT_FUNC4"] == ("104", "6")
    assert params["CA_ROTOR0_PX"] == ("0.159099", "9")
    assert not [name for name in params if name.startswith(("PWM_", "SIM_"))]
    ended = RUNNER.invoke(app, ["vehicle", "board-params", "quad_f450", "--out", str(tmp_path / "no" / "x")])
    assert ended.exit_code == 2 and "cannot read or write: " in ended.stderr
