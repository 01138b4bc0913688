"""Lines while something flies that people or programs command: events, keys, and a line of figures."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pymavlink import mavutil

from ironbird.cli.live import FlightLines
from ironbird.rig.system import AutopilotEvent

COMMAND = [sys.executable, "-m", "ironbird.cli.main"]
ARM, START_MISSION = 400, 300


def test_events_have_their_time_and_a_state_that_is_known_is_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    lines = FlightLines()
    lines.event(AutopilotEvent(0.0, "begin", "Ctrl-C ends the flight and judges it"))
    lines.event(AutopilotEvent(0.0, "mode", "disarmed"))
    lines.event(AutopilotEvent(12.34, "armed", "armed", "MAVLink client 245"))
    lines.event(AutopilotEvent(12.5, "armed", "armed"))  # PX4's own word for the same
    lines.event(AutopilotEvent(13.0, "mode", "hold"))
    lines.event(AutopilotEvent(14.0, "mode", "hold"))
    lines.event(AutopilotEvent(15.0, "failsafe", "battery"))
    lines.event(AutopilotEvent(16.0, "text", "Takeoff detected (severity 6)"))
    FlightLines("vehicle 2").event(AutopilotEvent(1.0, "refused", "arming: no", "keyboard"))
    assert capsys.readouterr().err.splitlines() == [
        "Ctrl-C ends the flight and judges it",
        "   12.3 s  armed by MAVLink client 245",
        "   13.0 s  mode hold",
        "   15.0 s  failsafe: battery",
        "   16.0 s  it says: Takeoff detected (severity 6)",
        "vehicle 2:     1.0 s  refused: arming: no (asked by keyboard)",
    ]


def test_line_of_figures_is_logged_every_five_seconds_and_only_if_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 10.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    logged, silent = FlightLines(logged=True), FlightLines()
    assert silent.shower(True) is None and logged.shower(False) is None and logged.shower(True) is not None
    for number in range(12):
        now = 10.0 + number
        logged.figures(f"line {number}")
        silent.figures("never")
    assert capsys.readouterr().err.splitlines() == ["line 5", "line 10"]


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def acknowledged(client: mavutil.mavfile, command: int, *params: float) -> int:
    client.mav.command_long_send(1, 1, command, 0, *params, *[0.0] * (7 - len(params)))
    answer = heard(client, "COMMAND_ACK")
    assert answer.command == command
    return int(answer.result)


def heard(client: mavutil.mavfile, *kinds: str) -> Any:
    """The next message of some kinds."""
    message = client.recv_match(type=list(kinds), blocking=True, timeout=30)
    assert message is not None, kinds
    return message


def test_flight_under_a_mavlink_client_prints_what_it_does_and_ctrl_c_judges_it(tmp_path: Path) -> None:
    port = free_port()
    with (tmp_path / "said").open("w+") as said:
        command = [*COMMAND, "fly", "quad_f450", "--control", "mavlink", "--links", f"tcp:127.0.0.1:{port}", "--json"]
        process = subprocess.Popen(
            [*command, "--out", str(tmp_path / "flight")],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        try:
            client = connected(port, process)
            assert acknowledged(client, ARM, 1) != 0  # the estimator has not settled
            client.mav.mission_count_send(1, 1, 2, 0)
            while (asked := heard(client, "MISSION_REQUEST_INT", "MISSION_ACK")).get_type() != "MISSION_ACK":
                place = (round(40.1540302e7), round(116.2593683e7) + 1000 * asked.seq, 8.0)
                number = (22, 16)[asked.seq]
                client.mav.mission_item_int_send(1, 1, asked.seq, 6, number, 0, 1, 0, 0, 0, 0, *place, 0)
            until = time.monotonic() + 60.0
            while acknowledged(client, ARM, 1) != 0:
                assert time.monotonic() < until
                time.sleep(0.2)
            assert acknowledged(client, START_MISSION) == 0
            time.sleep(1.0)
            client.close()
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            stdout, _ = process.communicate(timeout=180)
        finally:
            process.kill()
        said.seek(0)
        lines = said.read().splitlines()
    assert process.returncode == 0, lines  # ended and judged
    assert '"verdict": "pass"' in stdout and "Ctrl-C" not in stdout
    told = [re.sub(r"^ *\d+\.\d s  ", "", line) for line in lines]
    wanted = [
        r"Ctrl-C ends the flight and judges it",
        r"MAVLink client 245 connected \(tcp 127\.0\.0\.1:\d+\)",
        r"refused: arming: .* \(asked by MAVLink client 245\)",
        r"mission of 2 items received by MAVLink client 245",
        r"armed by MAVLink client 245",
        r"mission from item 0 by MAVLink client 245",
        r"mode take-off",
        r"MAVLink client 245 is gone \(.*\)",
    ]
    found = [next((n for n, line in enumerate(told) if re.fullmatch(pattern, line)), -1) for pattern in wanted]
    assert -1 not in found and found == sorted(found), lines


def connected(port: int, process: subprocess.Popen[str]) -> mavutil.mavfile:
    """A client on pymavlink, as soon as the vehicle listens."""
    until = time.monotonic() + 120.0
    while True:
        try:
            client = mavutil.mavlink_connection(f"tcp:127.0.0.1:{port}", source_system=245, retries=1)
            break
        except OSError:
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.1)
    assert client.wait_heartbeat(timeout=180) is not None
    client.mav.heartbeat_send(6, 8, 0, 0, 4)
    return client


def test_keyboard_prints_its_keys_and_a_line_of_figures_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*COMMAND, "fly", "quad_f450", "--control", "sticks", "--sticks", "keyboard", "--until", "100"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "flight")],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "150", "NO_COLOR": "1"},
    )
    os.close(theirs)
    said = ""

    def until(pattern: str, seconds: float = 60.0) -> None:
        nonlocal said
        end = time.monotonic() + seconds
        while not re.search(pattern, said):
            assert time.monotonic() < end and process.poll() is None, said
            if select.select([ours], [], [], 0.2)[0]:
                said += os.read(ours, 65536).decode(errors="replace")

    try:
        until(r"take-off, land, return[\s\S]*disarmed, disarmed  height -?\d+\.\d m  speed", 120.0)
        assert re.search(r"Ctrl-C ends the flight and judges it", said) and "sticks: keyboard" in said
        said = ""
        os.write(ours, b"t")
        until(r"refused: take-off: not armed \(asked by keyboard\)")
        said = ""
        os.write(ours, b"?")
        until(r"keys \(.*\):\r\n  w s +throttle up, down")
        said = ""
        os.write(ours, b"w")
        until(r"throttle \+0\.50 yaw \+0\.00")
        time.sleep(3.0)  # the estimator settles
        os.write(ours, b"1")
        until(r"\d+\.\d s  armed by keyboard")
        os.write(ours, b"q")
        while process.poll() is None:  # a terminal that nobody reads is full at some time
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    said += os.read(ours, 65536).decode(errors="replace")
                except OSError:
                    break
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert process.returncode == 3, said  # void: armed, but nothing was flown
    assert "nothing was flown: the vehicle never left the ground" in said
