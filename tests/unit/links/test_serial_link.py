"""Hardware in the loop over a pseudo-terminal: the budget, the rates, what is lost, and how well it hovers."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import socket
import subprocess
import sys
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ironbird.errors import LinkError
from ironbird.links import mavlink
from ironbird.links.mavlink import HIL_ACTUATOR_CONTROLS, HIL_GPS, HIL_SENSOR
from ironbird.links.rig import Rig, make_rig
from ironbird.links.serial_link import Figures, HardwareLink, load_of, with_sensor_rate
from ironbird.vehicles.load import Vehicle, load_vehicle

UNTIL_S, HOVER_FROM_S = 11.0, 6.0
# The board: the stand-in behind the other end of the cable. The mission is [NguyenHa] section 4: hover at 2.5 m.
BOARD = """
import json, sys
import numpy as np
from ironbird.links.standin import ReferenceAutopilot, run_px4_stream
from ironbird.vehicles.load import load_vehicle

vehicle = load_vehicle("quad_f450", control="reference")
table = np.zeros((6, vehicle.diagram.param("navigator.table").columns))
table[:, 0] = [0, 0, -2.5, 0, 60, 0]
params = {"navigator.table": table, "navigator.count": 1.0, "navigator.take_off_height": 2.5}
pilot = ReferenceAutopilot(vehicle, params=params, arm_after_s=1.0)
print("ready", flush=True)
side = run_px4_stream(pilot, int(sys.argv[1]))
print(json.dumps({"sensors": side.sensors}))
"""


@pytest.fixture(scope="module")
def vehicle() -> Vehicle:
    return with_sensor_rate(load_vehicle("quad_f450", control="external"), 500.0)


@contextlib.contextmanager
def cable() -> Iterator[tuple[int, int, str]]:
    far, near = pty.openpty()
    tty.setraw(near)
    try:
        yield far, near, os.ttyname(near)
    finally:
        for handle in (far, near):
            with contextlib.suppress(OSError):
                os.close(handle)


@dataclass
class Run:
    link: HardwareLink
    places: np.ndarray
    yaws: np.ndarray
    board: dict[str, Any]


@pytest.fixture(scope="module")
def run(vehicle: Vehicle) -> Run:
    """Eleven seconds of real time, all of which the tests below look at."""
    rig = make_rig(vehicle, until_s=UNTIL_S)
    places, yaws = [], []
    with cable() as (far, near, name):
        command = [sys.executable, "-c", BOARD, str(far)]
        with subprocess.Popen(command, pass_fds=[far], stdout=subprocess.PIPE, text=True) as board:
            try:
                assert board.stdout is not None and board.stdout.readline() == "ready\n"
                os.close(far)
                link = HardwareLink(name)
                link.start(rig)
                while rig.step(link.step_ticks):
                    link.exchange(rig)
                    if rig.time_s > HOVER_FROM_S:
                        w, x, y, z = rig.truth("q").tolist()
                        places.append(rig.truth("p").copy())
                        yaws.append(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
                link.stop()
                os.close(near)
                told = board.stdout.read()
            finally:
                board.kill()
    return Run(link, np.array(places), np.array(yaws), json.loads(told))


@pytest.mark.slow
def test_mean_rates_hold_over_a_pseudo_terminal(run: Run) -> None:
    # Means: on a busy machine both sides make up for late steps in bursts, which `late` and `broken` tell. No real
    # serial line and no board are in it, so this is no comparison of benches.
    figures = run.link.figures()
    # [NguyenHa] table 4 asks 500, 5 and 400 Hz and got 431.9, 4.15 and 342.6 (14 to 17 % less) on its best bench
    assert figures.sensor_hz == pytest.approx(500.0, rel=0.005)
    assert figures.gnss_hz == pytest.approx(5.0, abs=0.15)  # 50 fixes, one more or less
    assert figures.control_hz == pytest.approx(400.0, rel=0.005)
    assert figures.lost <= 0.005 and figures.unsent <= 0.005
    assert run.board["sensors"] >= 0.995 * run.link.traffic.sent
    assert 0.0 < figures.delay_ms < 100.0


@pytest.mark.slow
def test_scatter_in_hover_is_below_the_error_of_the_published_single_thread_bench(run: Run) -> None:
    # [NguyenHa] table 5, HILS with one thread: RMS 0.0581, 0.0790, 0.2131 m and 0.0866 of yaw. What error its
    # satellites have is not said; ours wander, so this is the scatter about the mean place, which
    # is less than an RMS error against the place asked for.
    scatter = np.sqrt(np.mean((run.places - run.places.mean(axis=0)) ** 2, axis=0))
    assert run.places[:, 2].mean() == pytest.approx(-2.5, abs=0.5)
    assert (scatter < [0.0581, 0.0790, 0.2131]).all(), scatter  # measured: 0.017, 0.037, 0.046 m
    assert np.std(run.yaws) < 0.0429  # the better of the two benches, unit not printed; measured: 0.007 rad


def test_a_cable_that_is_too_slow_is_refused_with_figures(vehicle: Vehicle) -> None:
    rig = make_rig(vehicle, until_s=1.0)
    # 500 * (65 + 12) + 50 * (64 + 12) + 10 * (39 + 12) bytes/s by hand; 57600 baud carry 5760
    with pytest.raises(
        LinkError, match=r"cannot carry .*to the board: 42810 of 5760 bytes/s \(743 %: HIL_SENSOR 38500"
    ):
        HardwareLink("/dev/null", baud=57600).start(rig)
    with pytest.raises(LinkError, match=r"from the board: 93021 of 92160 bytes/s"):
        HardwareLink("/dev/null", control_hz=1000.0).start(rig)
    assert all(load.fits for load in HardwareLink("/dev/null").loads(rig))


def test_the_budget_counts_whole_frames() -> None:
    packer = mavlink.Packer()
    packer.add(HIL_GPS, 2**60, *[2**30] * 3, *[2**15] * 3, *[2**14] * 3, 2**15, *[200] * 3, 2**15)
    longest = len(packer.take())
    assert load_of("x", {HIL_GPS: 10.0}, 9600).bytes_per_s == 10 * longest
    assert load_of("x", {HIL_SENSOR: 1.0, HIL_ACTUATOR_CONTROLS: 1.0}, 9600).room_per_s == 960


def test_wrong_settings_are_refused(vehicle: Vehicle) -> None:
    rig = make_rig(vehicle, until_s=1.0)
    with pytest.raises(LinkError, match="a serial device, such as /dev/ttyACM0, or a UDP port"):
        HardwareLink()
    with pytest.raises(LinkError, match="400 Hz does not fit"):
        HardwareLink("/dev/null", sensor_hz=400.0).start(rig)
    with pytest.raises(LinkError, match=r"serial port /dev/nowhere cannot be opened.*plugged in"):
        HardwareLink("/dev/nowhere").start(rig)


def answer(packer: mavlink.Packer, number: int) -> bytes:
    packer.add(HIL_ACTUATOR_CONTROLS, number * 2000, 1, *[0.25] * 16, 129)
    return bytes(packer.take())


def test_frames_that_the_board_lost_are_counted_by_their_numbers(vehicle: Vehicle) -> None:
    rig = make_rig(vehicle, until_s=1.2)
    packer = mavlink.Packer()
    with cable() as (far, _, name):
        os.set_blocking(far, False)
        link = HardwareLink(name)
        link.start(rig)
        count = 0
        while rig.step(link.step_ticks):
            frame = answer(packer, count)
            if count % 20 or count < 500:  # one of twenty is lost once the figures count
                os.write(far, frame)
            with contextlib.suppress(BlockingIOError):
                os.read(far, 65536)
            link.exchange(rig)
            count += 1
        link.stop()
    assert link.armed and rig.stepper.inputs[rig.actuators["rotor/1"]] == 0.25
    assert link.figures().lost == pytest.approx(0.05, abs=0.02)
    assert "lost" in link.broken or "Hz instead of" in link.broken or "late" in link.broken


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        (Figures(), "gave no controls"),
        (Figures(480, 5, 400), r"sensors came at 480\.0 Hz instead of 500 Hz"),
        (Figures(500, 5, 342.6), r"controls came at 342\.6 Hz instead of 400 Hz"),
        (Figures(500, 5, 400, lost=0.006), r"0\.60 % of the frames from the board were lost; at most 0\.5 %"),
        (Figures(500, 5, 400, unsent=0.01), "found no room"),
        (Figures(500, 5, 400, late=0.02), r"2\.00 % of the steps were late"),
    ],
)
def test_figures_that_do_not_hold_void_the_run(figures: Figures, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    link = HardwareLink("/dev/null")
    monkeypatch.setattr(link, "figures", lambda: figures)
    assert re.search(says, link.broken)
    monkeypatch.setattr(link, "figures", lambda: Figures(499.9, 5, 399.9, 0.001, 0.0, 0.004))
    assert link.broken == ""


def silent_board(rig: Rig, link: HardwareLink) -> None:
    while rig.step(link.step_ticks):
        link.exchange(rig)


def test_a_silent_board_and_a_cut_cable_end_the_run(vehicle: Vehicle) -> None:
    with cable() as (_, _, name):
        link = HardwareLink(name, connect_s=0.1)
        link.start(rig := make_rig(vehicle, until_s=5.0))
        with pytest.raises(LinkError, match=r"flight controller gave no HIL_ACTUATOR_CONTROLS for 0\.1 s"):
            silent_board(rig, link)
        link.stop()
        link.stop()
    with cable() as (far, near, name):
        link = HardwareLink(name)
        link.start(rig := make_rig(vehicle, until_s=5.0))
        os.close(far)
        os.close(near)
        with pytest.raises(LinkError, match=r"the cable is gone|gave no"):
            silent_board(rig, link)
        link.stop()


def test_the_same_exchange_goes_over_udp(vehicle: Vehicle) -> None:
    rig = make_rig(vehicle, until_s=0.5)
    packer, parser = mavlink.Packer(), mavlink.Parser()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board:
        board.bind(("127.0.0.1", 0))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        link = HardwareLink(udp_port=port)
        link.start(rig)
        board.setblocking(False)
        heard, count = 0, 0
        while rig.step(link.step_ticks):
            board.sendto(answer(packer, count), ("127.0.0.1", port))
            link.exchange(rig)
            count += 1
            with contextlib.suppress(BlockingIOError):
                heard += sum(number == HIL_SENSOR.id for number, *_ in parser.feed(board.recv(65536)))
        link.stop()
    assert heard == count - 1  # before the first packet of the board nobody knows where it is
    assert link.traffic.received == count
