"""Flights over a cable come to a verdict, whatever ends them, and their results are kept."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hil_board import BoardCable, StillClock
from pymavlink.dialects.v20 import common
from typer.testing import CliRunner

from ironbird.campaign.hil import Bench, HilFlight, HilOrder
from ironbird.cli.main import app
from ironbird.errors import LinkError
from ironbird.flight.mission import load_mission
from ironbird.links import ground
from ironbird.report.flight_page import write_flight_page

RUNNER = CliRunner()


def flown(cable: BoardCable, *, until_s: float = 2.5, stalls: dict[int, float] | None = None) -> HilFlight:
    order = HilOrder(
        cable, "quad_f450", until_s=until_s, control_hz=500.0, priority=False, ground_station=False, options=" --udp 1"
    )
    return Bench(order, clock=StillClock(stalls)).fly()


def test_a_flight_whose_link_holds_passes(tmp_path: Path) -> None:
    lines: list[str] = []
    order = HilOrder(BoardCable(), "quad_f450", until_s=2.5, control_hz=500.0, priority=False, options=" --udp 1")
    found = Bench(order, clock=StillClock()).fly(lines.append)
    assert (found.verdict, found.sentence) == ("pass", "")
    rows = found.flight.summary()
    assert rows["verdict"] == "pass" and rows["mission"] == "as the board has it"
    assert rows["link rates"].startswith("sensors 500.0 Hz, GNSS 5.")
    assert len(lines) == 3 and "late 0" in lines[-1]
    assert found.data()["verdict"] == "pass" and found.data()["late_steps"] == 0
    write_flight_page(found.flight, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "ironbird hil --udp 1 \\\n    --vehicle quad_f450" in page and "Link lateness" in page
    assert "mission.toml" not in page


def test_a_late_run_is_void_and_its_page_says_so(tmp_path: Path) -> None:
    found = flown(BoardCable(), stalls={900: 0.1})
    assert found.verdict == "void" and "of the steps were late" in found.sentence
    assert found.flight.survived and found.flight.void == found.sentence
    write_flight_page(found.flight, tmp_path / "page.html")
    assert '<span class="badge interrupted">void</span>' in (tmp_path / "page.html").read_text()


def test_a_link_that_breaks_in_flight_is_an_error_with_the_log_until_then() -> None:
    def cut(number: int, frame: bytes) -> bytes:
        if number == 1000:
            raise OSError(5, "Input/output error")
        return frame

    found = flown(BoardCable(spoil=cut), until_s=5.0)
    assert found.verdict == "error" and "the cable is gone" in found.sentence
    assert found.flight.ended_s == pytest.approx(2.0, abs=0.05)
    assert [h.text for h in found.flight.happenings if h.kind == "link"][-1] == found.sentence


def test_a_board_that_never_answers_gives_no_flight() -> None:
    order = HilOrder(BoardCable(spoil=lambda n, frame: b""), "quad_f450", connect_s=0.2, priority=False)
    with pytest.raises(LinkError, match="nothing came at all"):
        Bench(order, clock=StillClock()).fly()


def test_ctrl_c_ends_the_flight_and_keeps_it() -> None:
    def interrupt(number: int, frame: bytes) -> bytes:
        if number == 800:
            os.kill(os.getpid(), signal.SIGINT)
        return frame

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background ignores it
    try:
        found = flown(BoardCable(spoil=interrupt), until_s=5.0)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert found.flight.log.interrupted and found.flight.outcome == "interrupted at 1.60 s"
    assert len(found.flight.log.time()) == 80


def test_a_crash_is_a_fail() -> None:
    cable = BoardCable()
    order = HilOrder(
        cable, "quad_f450", until_s=8.0, control_hz=500.0, priority=False, ground_station=False,
        faults=("rotor.speed_loss@1:instance=1,severity=1,start=2",),
    )  # fmt: skip
    cable.throttle = 0.9
    found = Bench(order, clock=StillClock()).fly()
    assert found.verdict == "fail" and found.sentence == found.flight.outcome
    assert found.flight.witnesses[0].effective


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "give --port DEVICE or --udp PORT, one of the two"),
        (["--port", "/dev/nowhere", "--udp", "1"], "one of the two"),
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


def test_a_mission_is_uploaded_and_flown_over_the_same_cable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground, "ASK_WALL_S", 0.0)  # simulation time alone decides here
    board = SpokenBoard()
    order = HilOrder(
        board, "quad_f450", mission="square", until_s=60.0, control_hz=500.0, priority=False, ground_station=False
    )  # fmt: skip
    found = Bench(order, clock=StillClock()).fly()
    assert board.items == board.expected > 4 and board.mode == 4 << 16 | 4 << 24  # AUTO, MISSION
    kinds = [h.kind for h in found.flight.happenings]
    assert {"ready", "armed", "mode", "finished"} <= set(kinds)
    assert found.flight.ended_s < 30.0 and found.flight.mission.title == load_mission("square").title


def test_parameters_for_a_board_are_those_of_the_vehicle(tmp_path: Path) -> None:
    path = tmp_path / "f450.params"
    assert RUNNER.invoke(app, ["hil", "--write-params", str(path)]).exit_code == 0
    rows = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    params = {name: (value, kind) for system, component, name, value, kind in rows if (system, component) == ("1", "1")}
    assert params["SYS_HITL"] == ("1", "6") and params["HIL_ACT_FUNC4"] == ("104", "6")
    assert params["CA_ROTOR0_PX"] == ("0.159099", "9")
    assert not [name for name in params if name.startswith(("PWM_", "SIM_"))]
    ended = RUNNER.invoke(app, ["hil", "--write-params", str(tmp_path / "no" / "x"), "--vehicle", "quad_f450"])
    assert ended.exit_code == 2 and "cannot write" in ended.stderr
