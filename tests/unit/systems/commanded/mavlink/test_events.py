"""What clients do to a vehicle over MAVLink is told at once: who came, what was asked for, refused, armed, received."""

from __future__ import annotations

import time

import pytest
from mavlink_bench import NAN, bench, item, upload

from ironbird.rig.commander.commander import NOTED_S
from ironbird.rig.system import AutopilotEvent, Seat
from ironbird.systems.commanded.mavlink import clients
from ironbird.systems.commanded.mavlink.clients import Clients

ARM, TAKE_OFF, REPOSITION, UNKNOWN = 400, 22, 192, 31999


def test_clients_commands_refusals_and_missions_are_told_when_they_come() -> None:
    with bench() as made:
        told: list[AutopilotEvent] = []
        Seat(made.system).listen(told.append)
        made.go(0.1)
        assert made.command(ARM, 1) != 0
        assert made.command(UNKNOWN) == 3
        assert made.command(UNKNOWN) == 3  # the same again at once is no news
        made.settle()
        told = told[: next(n for n, event in enumerate(told) if event.kind == "armed")]  # of the bench itself
        Seat(made.system).listen(told.append)
        assert upload(made, [item(made, 0, 22, 0, 0, 10), item(made, 1, 16, 30, 0, 10)]) == 0
        assert made.command(ARM, 1) == 0
        made.go(0.2)
        height = made.front.home.height_m + 6
        assert made.command(TAKE_OFF, 0, 0, 0, NAN, NAN, NAN, height) == 0
        made.go(0.2)
    said = [event.sentence() for event in told if event.kind != "mode"]
    assert said[0].startswith("MAVLink client 255 connected (udp 127.0.0.1:")
    assert said[1].startswith("refused: arming: ") and said[1].endswith("(asked by MAVLink client 255)")
    assert said[2:] == [
        f"refused: command {UNKNOWN}: not known here (asked by MAVLink client 255)",
        "mission of 2 items received by MAVLink client 255",
        "armed by MAVLink client 255",
        "take off to 6 m by MAVLink client 255",
    ]
    modes = [event.sentence() for event in told if event.kind == "mode"]
    assert modes[-1] == "mode take-off"
    assert [event.time_s for event in told] == sorted(event.time_s for event in told)
    assert made.commander.by == ""


def test_a_stream_of_the_same_command_is_told_once_a_second() -> None:
    with bench() as made:
        made.fly(5.0)
        told: list[AutopilotEvent] = []
        Seat(made.system).listen(told.append)
        made.commander.by = "tester"
        begin_s = made.rig.time_s
        for number in range(500):  # 2 s
            assert made.commander.reposition((0.1 * number, 0.0, -5.0)) is None
            made.step()
    times = [event.time_s for event in told if event.kind == "command"]
    assert 2 <= len(times) <= 3 and times[1] - times[0] >= NOTED_S and times[0] == pytest.approx(begin_s, abs=1e-9)


def test_client_without_heartbeats_is_silent_then_back_or_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    said: list[str] = []
    known = Clients(note=lambda kind, words: said.append(words))
    known.heard("udp a", 76, 245)  # a command, never a heartbeat: nothing is missed
    known.heard("tcp b", 0, 255)
    now += clients.SILENT_S + 0.1
    known.look(["udp a", "tcp b"])
    known.look(["udp a", "tcp b"])
    known.heard("tcp b", 0, 255)
    known.look(["udp a"])
    known.look(["udp a"])
    assert said == [
        "MAVLink client 245 connected (udp a)",
        "MAVLink client 255 connected (tcp b)",
        "MAVLink client 255 is silent: no heartbeat for 5 s",
        "MAVLink client 255 is back",
        "MAVLink client 255 is gone (tcp b)",
    ]
    waits = Clients(lapses=False, note=lambda kind, words: said.append(words))
    waits.heard("udp c", 0, 1)
    now += 1000.0
    waits.look(["udp c"])
    assert said[-1] == "MAVLink client 1 connected (udp c)"  # in lockstep a client may take its time
