"""Firmware in the loop: the bench of the tilt-rotor paper with its board emulated."""

from __future__ import annotations

import contextlib
import functools
import os
import pty
import socket
import subprocess
import sys
import threading
import tty
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("unicorn")

from ironbird.boards.firmware.device import load_mcu_board
from ironbird.boards.firmware.gdb import GdbServer, talk
from ironbird.boards.firmware.machine import Machine
from ironbird.campaign.runner import run_campaign
from ironbird.campaign.store import Store
from ironbird.campaign.suite import load_suite
from ironbird.errors import LinkError
from ironbird.flight.flight import Flight, fly
from ironbird.provant.bench import Bench, run_bench
from ironbird.provant.build import compile_image
from ironbird.provant.cable import CableSystem, SerialPort
from ironbird.provant.frames import BAUD, FrameReader, encode, pack
from ironbird.provant.image import firmware_bytes, firmware_files, firmware_image
from ironbird.provant.kind import FIRMWARE, FirmwareOptions
from ironbird.provant.server import Server
from ironbird.rig.rig import make_rig
from ironbird.vehicles.load import load_vehicle

VEHICLE = "tiltrotor_provant"
CAMPAIGN = """
schema = 1
[suite]
id = "board"
title = "A board on workers"
[[case]]
id = "brown-out"
title = "The supply is too low for a while"
vehicle = "tiltrotor_provant"
control = "firmware"
mission = "spiral"
until_s = 1.5
[[case.fault]]
id = "firmware.brown_out@1"
start_s = 1.0
duration_s = { set = [0.02, 0.04, 0.06, 0.08] }
"""
SPIRAL_FROM_S, SPIRAL_TO_S = 20.0, 30.0  # ten seconds after its start, until the flight is cut


@functools.cache
def bench() -> Bench:
    return run_bench(VEHICLE, until_s=SPIRAL_TO_S)


def flown(*faults: str, until_s: float = 13.5, mission: str = "spiral", **options: Any) -> Flight:
    how: dict[str, Any] = {"mission": mission, "until_s": until_s, "ends": "time", "options": options}
    return fly(VEHICLE, control="firmware", faults=list(faults), **how)


# ------------------------------------------------------------------------------- the spiral


def test_spiral_is_tracked_by_the_board_without_saturation() -> None:
    log = bench().board.log
    error = np.linalg.norm(log["body.p_NB_N"] - log["navigator.position_set"], axis=1)
    settled = log.time() > SPIRAL_FROM_S
    assert bench().board.verdict == "pass"
    assert error[settled].max() < 0.1  # m; the point that is tracked moves in steps of 31 mm
    assert np.abs(log["body.euler"][settled][:, 2]).max() < np.radians(2.0)
    forces = bench().inputs[bench().inputs[:, 0] > 10.0]
    assert forces[:, 1:3].min() > 5.0 and forces[:, 1:3].max() < 16.0 and np.abs(forces[:, 3:]).max() < 0.3


def test_board_and_kernel_differ_by_less_than_the_links_explain() -> None:
    # Later by 2 ms and with references as old as a period of 12 ms, at 1.57 m/s along the spiral: some 3 mm
    found = bench()
    assert np.abs(found.difference("position", SPIRAL_FROM_S)).max() < 3e-3
    assert np.abs(found.difference("angles", SPIRAL_FROM_S)).max() < 8e-3
    assert np.abs(found.difference("tilts", SPIRAL_FROM_S)).max() < 2e-2
    assert np.nanmax(np.abs(found.difference("inputs", SPIRAL_FROM_S))) < 0.1
    assert np.abs(found.difference("position")).max() > 1e-6  # they are two computations


def test_period_is_twelve_milliseconds_in_virtual_time() -> None:
    periods = bench().periods_s
    assert len(periods) > 2400
    assert np.abs(periods - 0.012).max() < 1e-6  # s: a few instructions
    counted = bench().counters["board"]
    assert counted["answers"] == counted["periods"] and counted["timeouts"] == counted["late"] == 0


def test_two_flights_are_equal_to_the_bit() -> None:
    assert flown(until_s=6.0).sha256 == flown(until_s=6.0).sha256


def test_campaigns_on_one_and_two_workers_are_equal_to_the_bit(tmp_path: Path) -> None:
    file = tmp_path / "board.toml"
    file.write_text(CAMPAIGN)
    hashes = []
    for workers in (1, 2):
        with contextlib.closing(Store(f"sqlite:///{tmp_path}/{workers}.db")) as store:
            campaign = store.create("board", "", {}, load_suite(file).flights())
            run_campaign(store, campaign, workers=workers)
            hashes.append([result.sha256 for result in store.results(campaign)])
    assert hashes[0] == hashes[1] and len(set(hashes[0])) == 4 and None not in hashes[0]


def test_numbers_of_the_published_code_fly_alike_and_wrong_ones_are_not_served() -> None:
    paper, code = flown(until_s=6.0), flown(until_s=6.0, numbers="code")
    assert code.measured["commands"] == paper.measured["commands"] > 0
    assert np.abs(code.log["body.p_NB_N"] - paper.log["body.p_NB_N"]).max() < 1e-3


def test_other_vehicles_are_refused_in_words() -> None:
    with pytest.raises(LinkError, match="sixteen sensors"):
        fly("quad_f450", control="firmware", until_s=1.0)


# ------------------------------------------------------------------------------- building


def test_image_is_reproducible_byte_for_byte() -> None:
    files, law = firmware_files(VEHICLE)
    options = (f'-DLAW_HEADER="{law}.h"', f"-DLAW_NAME={law}", "-DSERVICE_NUMBERS=0", "-DWATCHDOG=1")
    again = compile_image("provant.elf", files, options)
    assert again == firmware_bytes(VEHICLE)


# ------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("fault", "acted", "verdict"),
    [
        ("firmware.task_hung@1:instance=2,start=10,end=10.5", "hang in control_turn", "pass"),
        ("firmware.peripheral_dead@1:instance=dma1,start=10", "refused access to dma1", "fail"),
        ("firmware.brown_out@1:start=10,end=10.05", "reset by a low supply", "pass"),
        ("firmware.clock_drift@1:severity=0.2,start=10", "clock at 169.68", "pass"),
        ("firmware.register_flip@1:severity=0.99,start=10", "bit 26 of pc", "pass"),
        ("firmware.peripheral_dead@1:instance=rcc,start=10", "ineffective", "void"),
    ],
)
def test_faults_of_the_board_act_and_say_so(fault: str, acted: str, verdict: str) -> None:
    flight = flown(fault)
    assert flight.verdict == verdict, flight.judged.sentence
    assert acted in flight.judged.sentence


def test_a_flip_that_crashes_a_task_without_a_watchdog_ends_as_fail_with_the_reason() -> None:
    image = firmware_image(VEHICLE, "paper", False)
    place, size = image.symbols["os_tasks"]
    machine = Machine(load_mcu_board("stm32f4_discovery"), image)
    used = max(v + s for v, s in image.symbols.values() if s and 0x20000000 <= v < 0x20020000) - 0x20000000
    machine.close()
    at = (8 * (place - 0x20000000 + 3) + 6.5) / (8 * used)  # bit 30 of the first task's stack pointer
    flight = flown(f"firmware.ram_flip@1:severity={at!r},start=10", watchdog=False)
    assert size and flight.verdict == "fail"
    assert "os_tasks+0x3" in flight.judged.sentence and "BusFault" in flight.judged.sentence
    assert any(h.kind == "failsafe" for h in flight.autopilot_events)
    recovered = flown(f"firmware.ram_flip@1:severity={at!r},start=10")
    assert any("watchdog" in h.text for h in recovered.autopilot_events)


# ------------------------------------------------------------------------------- both ends under bad bytes


def test_board_lives_through_noise_on_both_links_and_flies_on() -> None:
    machine = Machine(load_mcu_board("stm32f4_discovery"), firmware_image(VEHICLE))
    draw = np.random.default_rng(5)
    for _ in range(60):
        for port in (2, 3):
            machine.send(port, draw.integers(0, 256, 90, np.uint8).tobytes(), BAUD, machine.time_s)
        machine.run(machine.time_s + 0.012)
    assert machine.fault_text() == "" and machine.figures().resets == 1
    counters = machine.image.address("counters")
    assert machine.word(counters + 16) + machine.word(counters + 20) > 5  # bad frames, bad lengths
    answers = machine.word(counters + 4)
    machine.tell(2, 0x7E)
    reader = FrameReader()
    machine.take(2)
    end_s = machine.time_s + 0.1
    while machine.time_s < end_s:
        machine.run(end_s)
        for payload in reader.feed(machine.take(2)[0]):
            if len(payload) == 4:
                machine.send(2, pack([0.0] * 16), BAUD, machine.time_s)
                machine.send(2, pack([0.0] * 16), BAUD, machine.time_s)  # doubled: counted, not used twice
    assert machine.word(counters + 4) >= answers + 7
    assert machine.word(counters + 12) >= 6  # late or doubled answers
    machine.close()


def test_server_lives_through_any_frames() -> None:
    draw = np.random.default_rng(7)
    vehicle = FIRMWARE.fitted(load_vehicle(VEHICLE, control="truth"), FirmwareOptions())
    rig = make_rig(vehicle, until_s=1.0)
    server, sent = Server(rig), list[bytes]()
    for number in range(300):
        noise = draw.integers(0, 256, int(draw.integers(0, 40)), np.uint8).tobytes()
        payload = draw.integers(0, 256, int(draw.integers(1, 40)), np.uint8).tobytes()
        server.bytes_came(noise + encode(payload), 0.012 * number, sent.append)
        server.bytes_came(pack([3.0, float("nan"), 1.0, 0.0, 0.0]), 0.012 * number, sent.append)
        server.command()
    assert np.isfinite(rig.stepper.inputs).all() and server.counters.unknown >= 300
    server.bytes_came(b"\x7e" + pack([2.0]), 10.0, sent.append)
    server.bytes_came(pack([2.0]), 10.001, sent.append)
    assert len(FrameReader().feed(sent[-1])[0]) == 64 and server.counters.duplicates == 1


# ------------------------------------------------------------------------------- real ports, debugger


def test_board_on_terminals_is_served_in_wall_time() -> None:
    command = [sys.executable, "-m", "ironbird.provant.board_program", VEHICLE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as board:
        assert board.stdin is not None and board.stdout is not None
        try:
            sensors, references = board.stdout.readline().split()
            system = CableSystem(sensors, references, wait_s=60.0)
            flight = fly(VEHICLE, control=system, mission="hover", until_s=2.0, speed=1.0)
        finally:
            board.stdin.close()
    assert not flight.log.interrupted and flight.measured["commands"] > 20
    assert flight.log["navigator.armed"][-1] == 1.0


def test_a_second_program_on_the_reference_port_is_refused() -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    name = os.ttyname(theirs)
    first = SerialPort(name)
    with pytest.raises(LinkError, match="held by another program"):
        SerialPort(name)
    first.close()
    SerialPort(name).close()
    os.close(ours)
    os.close(theirs)


def test_debugger_reads_breaks_steps_and_goes_on() -> None:
    machine = Machine(load_mcu_board("stm32f4_discovery"), firmware_image(VEHICLE))
    near, far = socket.socketpair()
    thread = threading.Thread(target=talk, args=(far, GdbServer(machine, 5.0)))
    thread.start()

    def ask(text: str) -> str:
        near.sendall(f"${text}#{sum(text.encode()) & 255:02x}".encode())
        data = b""
        while not (b"#" in data and len(data) >= data.index(b"#") + 3):
            data += near.recv(4096)
        return data[data.index(b"$") + 1 : data.index(b"#")].decode()

    place = machine.image.address("control_turn") & ~1
    assert ask("qSupported").startswith("PacketSize")
    assert ask(f"Z0,{place:x},2") == "OK" and ask("c") == "S05"
    assert int.from_bytes(bytes.fromhex(ask("pf")), "little") == place
    assert ask("s") == "S05" and int.from_bytes(bytes.fromhex(ask("pf")), "little") != place
    assert len(ask("g")) == 2 * (17 * 4 + 16 * 8 + 4) and ask("m8000000,8")[:8] == "00c00120"
    assert ask("mffffffff,4").startswith("E") and ask("mzz") == "E01" and ask("vMustReplyEmpty") == ""
    assert ask("D") == "OK"
    thread.join(60)
    near.close()
    far.close()
    machine.close()
    assert not thread.is_alive()
