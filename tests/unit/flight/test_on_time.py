"""Flights whose loop is native: boards on pseudo-terminals and UDP, several at once, faults and their witnesses."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hil_board import BoardCable
from hil_board import fly_by_hand as fly
from hil_udp_board import ThreadBoard, serial_board, udp_board
from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.errors import LinkError, OrderError
from ironbird.files.trust import Trust
from ironbird.flight.flight import Flight
from ironbird.flight.order import Order, load_order, make_order
from ironbird.flight.prepare import fit, prepare
from ironbird.flight.start_line import StartLine
from ironbird.flight.together import fly_together
from ironbird.host.process import free_udp_port
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.protocols.mavlink.dialect import HIL_ACTUATOR_CONTROLS, HIL_GPS, HIL_SENSOR
from ironbird.rig.rig import attach
from ironbird.rig.system import Task
from ironbird.runtime.stepper import Stepper
from ironbird.systems.hardware.kind import HARDWARE
from ironbird.systems.hardware.link import HardwareLink
from ironbird.transport.cable import DatagramCable

OPTIONS: dict[str, Any] = {"ground_station": False, "priority": False, "control_hz": 100.0, "connect_s": 60.0}


def by_hand(*orders: Order) -> Trust:
    return Trust.by_hand(*(one.options for one in orders))


def order(until_s: float = 1.6, faults: tuple[str, ...] = (), **options: Any) -> Order:
    made = make_order("quad_f450", control="hardware", options={**OPTIONS, **options}, until_s=until_s, faults=faults)
    return replace(made, mission=None, mission_name="")


def test_a_board_on_a_serial_line_flies_in_native_code_and_nothing_is_left_out() -> None:
    board = ThreadBoard()
    with serial_board(board) as port:
        flight = fly(order(port=port))
        board.hear_until(1_600_000)
    # each step was sent once, in order; what the machine made late is another matter
    assert board.stamps == list(range(2000, 1_600_001, 2000)) and board.lost == 0
    assert board.got.count(HIL_GPS.id) == 8
    assert flight.measured["steps"] > 0 and flight.measured["began_s"] > 0.0
    assert flight.link["link"].startswith(f"{port}, 921600 baud, ordinary priority, as asked")
    assert flight.log["body.p_NB_N"][-1, 2] < -1.0  # it climbed under the board's throttle


def test_what_it_flew_is_what_its_commands_give_to_the_last_byte() -> None:
    board = ThreadBoard()
    given: list[np.ndarray] = []
    with udp_board(board) as port:
        ordered = order(until_s=1.0, udp=port)
        fitted = fit(ordered)
        options = HARDWARE.options.model_validate(dict(ordered.options))
        seat = HARDWARE.seat(Task(fitted.vehicle, (), options, 1.0, trust=Trust.by_hand(options.model_dump())))
        rig = attach(fitted.vehicle, prepare(fitted.model, [ordered]), until_s=1.0, log=["body.*"])
        try:
            seat.system.start(rig)
            loop = seat.system.take_over(rig, -1)
            assert loop is not None
            while loop.look():
                seat.system.watch(rig)
            given.append(loop.given.copy())
        finally:
            seat.close()
    log, _ = rig.finish()
    again = Stepper(prepare(fitted.model, [ordered]), until_s=1.0, log=["body.*"])
    for row in given[0]:
        assert again.step(2)
        again.inputs[:] = row
    assert again.finish().data.tobytes() == log.data.tobytes() and given[0].max() == np.float32(0.9)


class LateBoard(ThreadBoard):
    """Is switched on later than the bench."""

    def serve(self, handle: int, peer: tuple[str, int] | None = None) -> None:
        time.sleep(0.5)
        super().serve(handle, peer)


def test_over_udp_time_begins_when_the_board_has_said_something() -> None:
    board = LateBoard()
    with udp_board(board) as port:
        flight = fly(order(udp=port))
    assert board.stamps[0] == 2000 and flight.ended_s == 1.6  # the first step of the flight is the first that it hears


def test_a_board_on_udp_that_says_nothing_is_waited_for_until_nobody_wants_it_or_patience_ends() -> None:
    port = free_udp_port()
    ordered = order(udp=port)
    fitted = fit(ordered)

    def start(link: HardwareLink) -> None:
        rig = attach(fitted.vehicle, prepare(fitted.model, [ordered]), until_s=1.0, log=["body.*"])
        try:
            link.start(rig)
        finally:
            link.stop()

    with pytest.raises(LinkError, match=r"gave no HIL_ACTUATOR_CONTROLS for .*nothing came at all"):
        start(HardwareLink(DatagramCable(port), connect_s=0.15, priority=False))
    unwanted = HardwareLink(DatagramCable(port), connect_s=60.0, priority=False)
    unwanted.abandoned = lambda: True
    with pytest.raises(LinkError, match="ended before the board sent anything"):
        start(unwanted)


def test_the_model_may_be_faster_than_the_sensors() -> None:
    board = ThreadBoard()
    with udp_board(board) as port:
        flight = fly(order(until_s=1.0, udp=port, model_hz=2000.0))
        board.hear_until(1_000_000)
    assert flight.model.step_s == 0.0005 and flight.ended_s == 1.0
    assert board.stamps == list(range(2000, 1_000_001, 2000))


class BatchBoard(ThreadBoard):
    """Keeps whole packets, and answers each with one message of controls."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[bytes] = []

    def serve(self, handle: int, peer: tuple[str, int] | None = None) -> None:
        packer = Packer()
        assert peer is not None
        with socket.socket(fileno=os.dup(handle)) as line:
            line.connect(peer)
            line.settimeout(0.02)
            while not self._ends.is_set():
                packer.add(HIL_ACTUATOR_CONTROLS, 0, 0, *[self.throttle] * 16, 129)
                with contextlib.suppress(OSError):
                    line.send(packer.take())
                with contextlib.suppress(OSError):
                    self.packets.append(line.recv(65536))


def test_inertial_samples_of_8_khz_go_out_in_batches_of_one_write_a_millisecond() -> None:
    board = BatchBoard()
    with udp_board(board) as port:
        flight = fly(order(until_s=1.5, udp=port, model_hz=8000.0, sensor_hz=8000.0))
    batches = [
        [HIL_SENSOR.unpack(payload) for number, payload, _, _ in Parser().feed(packet) if number == HIL_SENSOR.id]
        for packet in board.packets
    ]
    assert len(batches) > 100
    for batch in batches:  # each sample has its own time and its own values
        stamps = [values[0] for values in batch]
        assert stamps == list(range(stamps[-1] - 875, stamps[-1] + 1, 125)) and stamps[-1] % 1000 == 0
        assert len({values[1:7] for values in batch}) == 8
    assert flight.model.step_s == 1.0 / 8000.0 and flight.ended_s == 1.5
    assert flight.measured["sensor_hz"] > 6.0 * flight.measured["control_hz"] > 0.0  # samples are counted, not batches
    assert flight.log["body.p_NB_N"][-1, 2] < -1.0


def test_batches_are_refused_where_the_loop_is_not_native_and_a_slow_model_has_no_fast_sensors() -> None:
    fast = order(until_s=1.5, udp=1, model_hz=8000.0, sensor_hz=8000.0)
    fitted = fit(fast)
    rig = attach(fitted.vehicle, prepare(fitted.model, [fast]), until_s=1.5, log=["body.*"])
    with pytest.raises(LinkError, match="batches of 8, which the loop in native code alone makes"):
        HardwareLink(BoardCable(), sensor_hz=8000.0).start(rig)
    with pytest.raises(LinkError, match=r"2000 Hz do not fit steps of 1 ms.*or a faster model"):
        fit(order(until_s=1.5, udp=1, sensor_hz=2000.0))


def test_a_fault_with_a_trigger_has_its_witness_beside_the_loop() -> None:
    board = ThreadBoard()
    with udp_board(board) as port:
        flight = fly(
            order(until_s=2.5, faults=("rotor.speed_loss@1:instance=1,severity=0.3,when=height > 1 m",), udp=port)
        )
    witness = flight.witnesses[0]
    assert witness.effective and flight.triggered_s[0] == pytest.approx(witness.first_s, abs=0.05)
    assert witness.first_s > 0.5


def test_a_board_that_falls_silent_ends_the_flight_with_its_log() -> None:
    board = ThreadBoard()
    with serial_board(board) as port:
        timer = threading.Timer(1.0, board.end)
        timer.start()
        flight = fly(order(until_s=60.0, port=port))
        timer.join()
    assert flight.verdict == "error" and "gave no HIL_ACTUATOR_CONTROLS for" in flight.judged.sentence
    assert flight.ended_s < 60.0 and len(flight.log.time()) > 10


def test_a_board_whose_answers_nobody_reads_does_not_wait() -> None:
    board = ThreadBoard()
    packer = Packer()
    with serial_board(board) as port:
        near = os.open(port, os.O_RDWR | os.O_NOCTTY)
        try:
            for n in range(200):  # as many answers are five times what the line holds
                packer.add(HIL_SENSOR, 2000 * n, *[0.0] * 13, 0, 0)
                os.write(near, packer.take())
        finally:
            os.close(near)
        board.hear_until(2000 * 199)
    assert len(board.stamps) == 200


def test_two_boards_and_a_vehicle_of_ours_fly_at_once_on_one_clock(tmp_path: Path) -> None:
    boards = [ThreadBoard(0.9), ThreadBoard(0.8)]
    with serial_board(boards[0]) as first, serial_board(boards[1]) as second:
        orders = [order(port=first), order(port=second), make_order("quad_f450", mission="hover", until_s=1.6)]
        flights: list[Flight] = fly_together(orders, [tmp_path / str(n) for n in range(3)], trust=by_hand(*orders))
        for board in boards:
            board.hear_until(1_600_000)
    assert [board.stamps[-1] for board in boards] == [1_600_000, 1_600_000]
    assert flights[0].measured["began_s"] == flights[1].measured["began_s"] > 0.0
    heights = [-float(flight.log["body.p_NB_N"][-1, 2]) for flight in flights[:2]]
    assert heights[0] > heights[1] > 0.0  # each under its own board
    alone = fly("quad_f450", mission="hover", until_s=1.6)
    assert flights[2].sha256 == alone.sha256


def test_if_one_of_several_never_comes_none_flies_and_the_error_says_which() -> None:
    board = ThreadBoard()
    with serial_board(board) as port:
        with pytest.raises(LinkError, match=r"vehicle 2 of 2 \(quad_f450\): serial port /dev/nowhere cannot be opened"):
            orders = [order(port=port), order(port="/dev/nowhere")]
            fly_together(orders, trust=by_hand(*orders))
        with pytest.raises(OrderError, match="vehicles 1 and 2 are both on port"):
            fly_together([order(port=port), order(port=port)], trust=by_hand(order(port=port)))
    assert HIL_SENSOR.id not in board.got


def test_the_verb_takes_several_ports_and_a_router_for_ground_stations(tmp_path: Path) -> None:
    boards = [ThreadBoard(), ThreadBoard()]
    with serial_board(boards[0]) as first, udp_board(boards[1]) as second:
        words = ["fly", "quad_f450", "--control", "hardware", "--mission", "none", "--port", first, "--until", "1.5"]
        rest = "control_hz=100,priority=false,ground_station=false"
        words += ["--control-hz", "100", "--no-priority", "--no-ground-station"]
        words += ["--beside", f"hardware=quad_f450,udp={second},{rest}"]
        ended = CliRunner().invoke(app, [*words, "--out", str(tmp_path)])
    assert ended.exit_code in (0, 1), ended.output  # 1: this machine is too busy to keep time
    assert all((tmp_path / number / "flight.parquet").is_file() for number in ("1", "2"))
    board = ["fly", "quad_f450", "--control", "hardware", "--udp", "14997"]
    named = CliRunner().invoke(app, [*board, "--link", "vehicle=udpout:127.0.0.1:1"])
    assert named.exit_code == 2 and "give the connection another name" in " ".join(named.stderr.split())


def test_the_verb_flies_mixed_vehicles_on_their_ports_and_others_beside_them(tmp_path: Path) -> None:
    boards = [ThreadBoard(), ThreadBoard()]
    with serial_board(boards[0]) as first, udp_board(boards[1]) as second:
        words = ["fly", "quad_f450", "--control", "hardware", "--mission", "none", "--port", first, "--until", "1.5"]
        rest = "control_hz=100,priority=false,ground_station=false"
        words += ["--control-hz", "100", "--no-priority", "--no-ground-station"]
        words += ["--beside", f"hardware=rover_differential,udp={second},{rest}", "--beside", "reference=quad_f450"]
        ended = CliRunner().invoke(app, [*words, "--out", str(tmp_path)])
    assert ended.exit_code in (0, 1, 2), ended.output  # not 0: this machine is too busy to keep time
    flown = [load_order(tmp_path / number) for number in ("1", "2", "3")]
    assert [order.vehicle for order in flown] == ["quad_f450", "rover_differential", "quad_f450"]
    assert [order.control for order in flown] == ["hardware", "hardware", "reference"]
    began = [json.loads((tmp_path / number / "link.json").read_text())["began_s"] for number in ("1", "2")]
    assert began[0] == began[1] > 0.0 and all(board.stamps for board in boards)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--udp", "99999"], "65535"),
        (["--udp", "x"], "--udp 'x': give a whole number from 1 to 65535"),
        (["--udp", "14997", "--beside", "quad_f450"], "give CONTROL=VEHICLE"),
        (["--udp", "14997", "--beside", "pxx4=quad_f450"], "pxx4"),
        (["--udp", "14997", "--beside", "hardware=quad_f45O,udp=14998"], "quad_f45O"),
        (["--udp", "14997", "--beside", "hardware=quad_f450,upd=14998"], "upd"),
        (["--udp", "14997", "--port", "/dev/ttyACM0"], "one of the two"),
    ],
)
def test_a_list_of_ports_that_is_wrong_is_refused_with_the_reason(words: list[str], reason: str) -> None:
    ended = CliRunner().invoke(app, ["fly", "quad_f450", "--control", "hardware", *words])
    assert ended.exit_code == 2 and reason in " ".join(ended.stderr.split())


def test_whoever_waits_at_the_start_line_learns_that_another_vehicle_gave_up() -> None:
    line = StartLine(2, patience_s=5.0)
    assert line.is_open()
    line.give_up()
    with pytest.raises(StartLine.Broken, match="another vehicle did not get ready"):
        line.is_open()
