"""Virtual time with small programs in C that know nothing of it, compiled here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ironbird.autopilots.ardupilot.process import ArduPilotProcess
from ironbird.autopilots.kind import AutopilotOptions, in_virtual_time
from ironbird.autopilots.px4.process import Px4Process
from ironbird.compiler import native
from ironbird.errors import LinkError
from ironbird.ground.relay import HEADER
from ironbird.host.virtual_time import run as virtual
from ironbird.host.virtual_time.record import RecordFile
from ironbird.host.virtual_time.run import Outcome, VirtualRun
from ironbird.proofs.determinism import all_equal, verify_outside
from ironbird.replay.builds import autopilot_of
from ironbird.replay.program import PlayedProcess, play_entries
from ironbird.rig.rig import make_rig
from ironbird.rig.system import ControlSystem, Task
from ironbird.systems.ardupilot.kind import ARDUPILOT
from ironbird.systems.ardupilot.link import ArduPilot
from ironbird.systems.px4.kind import PX4
from ironbird.systems.px4.link import Px4
from ironbird.vehicles.load import load_vehicle

SOURCE = Path(__file__).with_name("programs.c")
USERS = [None, (12345, 12345)] if os.geteuid() == 0 else [None]  # root's programs become nobody's, or another user's


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """The programs: as themselves, as an ArduPilot and as a PX4; where any user may run them."""
    with tempfile.TemporaryDirectory(prefix="ironbird-programs-") as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "px4" / "bin").mkdir(parents=True)
        (place / "px4" / "etc" / "init.d-posix").mkdir(parents=True)
        (place / "px4" / "etc" / "init.d-posix" / "rcS").write_text("#!/bin/sh\n")
        program = place / "programs"
        with pytest.MonkeyPatch.context() as patch:  # what zig makes of the C library is kept
            patch.setenv("ZIG_GLOBAL_CACHE_DIR", str(native.cache_folder() / "zig"))
            _compile(program)
        for copy in (place / "arducopter", place / "px4" / "bin" / "px4"):
            shutil.copy(program, copy)
        yield place


def _compile(program: Path) -> None:
    compiler = native.compiler_command()
    flags = ["-O1", "-w", *(native.PRELOAD_ZIG_FLAGS if "ziglang" in compiler else [])]
    command = [*compiler, *flags, str(SOURCE), "-o", str(program), "-lpthread", "-lrt", "-lm"]
    native.run_compiler(command, program.parent)


def run(
    folder: Path,
    *arguments: str,
    user: tuple[int, int] | None = None,
    timeout_s: float = 120.0,
    thread_seed: int = 0,
) -> Outcome:
    """A program in a run of its own."""
    with tempfile.TemporaryDirectory(prefix="ironbird-vt-") as name, ExitStack() as stack:
        made = VirtualRun(Path(name), simulated=False, thread_seed=thread_seed)
        stack.callback(made.close)
        if user is not None:
            made.owner = user
            for path in (Path(name), *Path(name).rglob("*")):
                os.chown(path, *user)
        return made.run([str(folder / "programs"), *arguments], timeout_s=timeout_s)


def lines(outcome: Outcome) -> list[str]:
    """What it said; it must have ended well."""
    assert outcome.code == 0, outcome
    return outcome.output.decode().splitlines()


@pytest.mark.parametrize("user", USERS)
def test_a_torture_of_threads_is_the_same_each_time_for_every_user_and_beside_busy_cores(
    folder: Path, user: tuple[int, int] | None
) -> None:
    first = run(folder, "torture", "1000")
    assert first.code == 0
    assert first.switches > 5000
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        again = run(folder, "torture", "1000", user=user)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert again.digest() == first.digest()


def test_a_million_switches_give_one_hash(folder: Path) -> None:
    outcomes = [run(folder, "torture", "120000", timeout_s=600) for _ in range(2)]
    assert outcomes[0].switches > 1_000_000
    assert len({outcome.digest() for outcome in outcomes}) == 1


def test_another_order_of_work_has_another_hash(folder: Path) -> None:
    assert run(folder, "torture", "100").trace != run(folder, "torture", "101").trace


def test_a_deadlock_is_named_with_threads_and_who_holds_what(folder: Path) -> None:
    outcome = run(folder, "deadlock")
    assert outcome.code == 125
    assert outcome.failure.startswith("deadlock at 0.001000 s: every thread waits for another")
    assert "thread 0 'programs' of process 100 waits for a mutex that thread 1 holds" in outcome.failure
    assert "thread 1 'programs' of process 100 waits for a mutex that thread 0 holds" in outcome.failure


def test_a_thread_that_spins_without_asking_for_the_time_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virtual, "STUCK_S", 0.5)
    with pytest.raises(LinkError, match=r"thread 'spinner' \(number 0\) at 0.0000\d+ s .* without asking for the time"):
        run(folder, "spin")


def test_one_that_spins_on_the_clock_gets_there(folder: Path) -> None:
    assert lines(run(folder, "clock")) == ["0.0011 the flag was raised"]


def test_sleepers_wake_in_the_order_of_their_times_and_ties_as_they_lay_down(folder: Path) -> None:
    said = lines(run(folder, "sleepers"))
    assert [line.split()[1] for line in said] == ["101", "102", "103", "200", "300", "400", "500"]
    assert [line.split()[0] for line in said] == ["0.0100"] * 3 + ["0.0200", "0.0300", "0.0400", "0.0500"]


def test_an_hour_of_waiting_for_a_condition_costs_no_time(folder: Path) -> None:
    outcome = run(folder, "conditions")
    assert lines(outcome) == [
        "3600.0000 steady: Connection timed out",
        "3602.0000 calendar: Connection timed out",
        "3602.0200 signalled: 0",
    ]
    assert outcome.virtual_s == pytest.approx(3602.02, abs=1e-3)


def test_signals_interrupt_waits_and_timers_ring_at_their_times(folder: Path) -> None:
    assert lines(run(folder, "signals")) == [
        "0.0000 raised: 10",
        "0.0300 sleep interrupted: -1 Interrupted system call, 0.970 left, 1 rings",
        "0.0700 5 rings",
        "0.0700 waited for signal 12",
        "0.0770 timer: 10",
    ]


def test_what_belongs_to_a_thread_stays_with_it_whichever_has_its_turn(folder: Path) -> None:
    outcome = run(folder, "belongings")
    assert [line.partition(" ")[2] for line in lines(outcome)] == [
        "0 wrong, ends 36, napped with signal 10",
        "cancelled 1, cleaned 5",
        "a child of a thread, with a thread: 19, cleaned here 0",
        "2000 cleaned, 0 with storage elsewhere",
    ]
    assert run(folder, "belongings").digest() == outcome.digest()


def test_children_shells_and_pipes_live_in_the_same_time(folder: Path) -> None:
    assert lines(run(folder, "fork")) == [
        "0.0000 I am 100, child of 2",
        *(f"{0.007 * (n + 1):.4f} child says: line {n}" for n in range(3)),
        "0.0210 child 101 of 101 ended with 7",
        "0.0220 signal 15 ended the second",
        "0.0220 signal 6 ended the third",
        "from the shell",
        "0.2720 shell: 3",
        "0.2720 popen: one",
        "0.3720 popen: two",
    ]


def test_as_many_children_as_one_likes_end_one_after_the_other_each_at_its_moment(folder: Path) -> None:
    said = lines(run(folder, "children", "300"))
    assert said == ["0.3001 300 children, the last is 400, 1.00 ms each"]


def test_nothing_that_is_sent_to_the_simulator_is_lost(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ironbird-vt-") as name, ExitStack() as stack:
        made = VirtualRun(Path(name), simulated=True)
        stack.callback(made.close)
        port = made.datagrams(14550)
        stack.callback(port.close)
        process = subprocess.Popen(
            [str(folder / "programs"), "chatter", "1000"],
            cwd=name,
            env=made.variables(),
            preexec_fn=made.prepare_child,
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        made.settle(60.0, lambda: None)
        made.allow_more(0.001)
        made.settle(60.0, lambda: None)
        found = []
        with pytest.raises(BlockingIOError):
            while True:
                found.append(int.from_bytes(port.recvfrom(64)[0], "little"))
        assert found == list(range(1000))


def test_files_that_one_waits_for_are_ready_at_their_times(folder: Path) -> None:
    assert lines(run(folder, "epoll")) == [
        "0.0150 timer 1", "0.0250 timer 1", "0.0250 event 2", "0.0350 timer 1", "0.0450 timer 1", "0.0500 event 2",
        "0.0550 timer 1", "0.0990 timer 4", "0.1320 poll: 0", "0.1530 select: 0",
    ]  # fmt: skip


def test_two_processes_speak_over_tcp_and_udp_inside_the_run(folder: Path) -> None:
    assert lines(run(folder, "sockets")) == [
        "0.0030 connected", "0.0040 step 0", "0.0050 step 1", "0.0060 step 2",
        "0.0060 goodbye from 127.0.0.1:40003", "0.0560 nothing more: -1 Resource temporarily unavailable",
    ]  # fmt: skip


@pytest.mark.parametrize("user", USERS)
def test_the_host_is_out_of_reach_and_nothing_of_it_shows(folder: Path, user: tuple[int, int] | None) -> None:
    before = time.time() - time.monotonic()
    outcome = run(folder, "host", user=user)
    assert time.time() - time.monotonic() == pytest.approx(before, abs=0.5)  # nobody set the clock
    said = lines(outcome)
    assert said[:7] == [
        "clock_settime: Operation not permitted", "settimeofday: Operation not permitted",
        "reboot: Operation not permitted", "broadcast: Permission denied", "elsewhere: Network is unreachable",
        "everybody: Permission denied", "raw: Permission denied",
    ]  # fmt: skip
    dice = "d5a8f54b989f6db7 caa75b175be59183"  # of the run's seed
    assert said[7].startswith(dice)
    assert said[7].endswith("user 65534 file 1767225600 at 1767225600 process 100 room 1")
    assert run(folder, "host").output == outcome.output  # addresses of memory too


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be refused")
def test_root_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "owner_of_programs", lambda who: None)
    outcome = run(folder, "host")
    assert outcome.code == 126
    assert b"never as root" in outcome.output


def test_a_program_that_does_not_end_is_ended(folder: Path) -> None:
    with pytest.raises(LinkError, match=r"has not ended after 0\.3 s"):
        run(folder, "torture", "10000000", timeout_s=0.3)


def test_an_unmodified_python_with_threads_and_children_repeats(folder: Path) -> None:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no python3 of the system")
    text = (
        "import threading, time, random, subprocess, os\n"
        "seen = []\n"
        "def work(n):\n"
        "    for i in range(20):\n"
        "        time.sleep(random.random() / 100); seen.append((n, i, time.monotonic(), hash(str(i))))\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
        "[t.start() for t in threads], [t.join() for t in threads]\n"
        "print(seen, os.getpid(), subprocess.run(['date'], capture_output=True).stdout)\n"
    )
    digests = set()
    for _ in range(2):
        with tempfile.TemporaryDirectory(prefix="ironbird-vt-") as name, ExitStack() as stack:
            made = VirtualRun(Path(name), simulated=False)
            stack.callback(made.close)
            outcome = made.run(["/usr/bin/python3", "-I", "-S", "-c", text], timeout_s=120)
        assert outcome.code == 0, outcome.output
        assert b"Thu Jan  1 00:00:00 UTC 2026" in outcome.output
        digests.add(outcome.digest())
    assert len(digests) == 1


# ---------------------------------------------------------------------------------------- links


def arducopter(folder: Path) -> ControlSystem:
    """A program that speaks as ArduPilot does."""
    return ArduPilot(ArduPilotProcess(folder, virtual=True))


def px4(folder: Path) -> ControlSystem:
    """The same for PX4."""
    return Px4(Px4Process(folder / "px4", virtual=True))


def flown(system: ControlSystem, until_s: float = 1.0) -> tuple[np.ndarray, dict[str, str], str]:
    """The commands of each exchange, the figures of virtual time, and what it said last."""
    rig = make_rig("quad_f450", until_s=until_s)
    commands = []
    try:
        system.start(rig)
        while rig.step(system.step_ticks):
            system.exchange(rig)
            commands.append(rig.stepper.inputs.copy())
        assert system.process is not None
    finally:
        said = _stop(system)
    return np.array(commands), system.figures(), said


def _stop(system: ControlSystem) -> str:
    process = system.process
    assert process is not None
    with tempfile.TemporaryDirectory() as kept:
        process.keep = Path(kept)
        system.stop()
        console = Path(kept) / process.console_name
        return console.read_text() if console.exists() else ""


@pytest.mark.parametrize("make", [arducopter, px4])
def test_a_flight_repeats_to_the_last_bit_and_its_program_ends_when_told(folder: Path, make: type) -> None:
    commands, figures, said = flown(make(folder))
    assert len(np.unique(commands, axis=0)) > 20  # its answers wander with its own threads and dice
    assert "trace" in figures["virtual time"]
    assert "ended by signal 15" in said
    again, more_figures, _ = flown(make(folder))
    assert np.array_equal(commands, again)
    assert figures == more_figures


@pytest.mark.parametrize("make", [arducopter, px4])
def test_the_record_of_a_flight_gives_the_same_program_the_same_run(folder: Path, make: type, tmp_path: Path) -> None:
    system = make(folder)
    system.process.keep = tmp_path
    rig = make_rig("quad_f450", until_s=0.5)
    try:
        system.start(rig)
        while rig.step(system.step_ticks):
            system.exchange(rig)
    finally:
        system.stop()
    record = RecordFile(next(tmp_path.glob("*.sent")))
    where = folder / "px4" if make is px4 else folder
    program = replace(autopilot_of(record.about).program(str(where), record.about), log_pattern="console.txt")
    process = PlayedProcess(program, record.about, tmp_path / "again")
    assert play_entries(process, record.about, record) == ""
    assert process.figures == system.figures()  # switches of threads, and their hash
    cut = [entry for number, entry in enumerate(record) if number not in range(150, 170)]
    other = PlayedProcess(program, record.about, tmp_path / "other")
    play_entries(other, record.about, cut)
    assert other.figures != system.figures()


def test_another_order_of_threads_is_drawn_by_a_seed_and_repeats(folder: Path) -> None:
    usual = run(folder, "torture", "300")
    drawn = {seed: run(folder, "torture", "300", thread_seed=seed) for seed in (1, 2)}
    assert len({outcome.trace for outcome in (usual, *drawn.values())}) == 3
    assert run(folder, "torture", "300", thread_seed=2).digest() == drawn[2].digest()
    assert run(folder, "torture", "300", thread_seed=0).digest() == usual.digest()


def test_a_race_that_the_usual_order_hides_is_shown_by_seeds(folder: Path) -> None:
    usual = run(folder, "race")
    assert lines(usual) == ["400 of 400"]
    drawn = [lines(run(folder, "race", thread_seed=seed)) for seed in range(1, 6)]
    assert all(line != ["400 of 400"] for line in drawn)


def test_a_seed_for_the_order_of_threads_goes_with_virtual_time_alone() -> None:
    task = Task(load_vehicle("quad_f450"), (), AutopilotOptions(thread_seed=3), until_s=1.0)
    with pytest.raises(LinkError, match=r"thread_seed = 3 draws the order of threads in virtual time: add --time"):
        in_virtual_time(task)


@pytest.mark.parametrize("make", [arducopter, px4])
def test_a_program_that_dies_in_flight_is_told_of_with_its_end(folder: Path, make: type) -> None:
    system = make(folder)
    rig = make_rig("quad_f450", until_s=1.0)
    try:
        system.start(rig)
        rig.step(system.step_ticks)
        system.exchange(rig)
        os.kill(system.process.pid, 9)
        with pytest.raises(LinkError, match="was ended by SIGKILL"):
            for _ in range(5):
                rig.step(system.step_ticks)
                system.exchange(rig)
    finally:
        system.stop()
    assert system.process.folder is None


# ---------------------------------------------------------------------------------------- flights


def test_a_flight_of_an_order_repeats_beside_busy_cores(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONBIRD_ARDUPILOT", str(folder))
    results = list(verify_outside("ardupilot", "quad_f450", 1.0, 2))
    assert [result.until_s for result in results] == [1.0, 1.0]
    assert all_equal(results)


def test_flights_in_virtual_time_say_that_they_repeat_and_paced_ones_keep_to_the_wall_clock() -> None:
    for kind in (ARDUPILOT, PX4):
        assert [kind.repeats(AutopilotOptions(time=time), "") for time in ("real", "virtual", "paced")] == [
            False,
            True,
            True,
        ]
        assert [kind.pace(AutopilotOptions(time=time), "") for time in ("real", "virtual", "paced")] == [
            None,
            None,
            1.0,
        ]
        assert not kind.repeats(AutopilotOptions(time="virtual", pilot="none"), "")


def test_a_flight_that_another_ground_station_commanded_repeats_by_its_record() -> None:
    for kind in (ARDUPILOT, PX4):
        assert kind.repeats(AutopilotOptions(time="virtual", pilot="none"), HEADER)
        assert not kind.repeats(AutopilotOptions(time="real", pilot="none"), HEADER)


@pytest.mark.parametrize(
    ("options", "script", "said"),
    [
        (AutopilotOptions(time="virtual"), "", "the autopilot needs commands"),
        (AutopilotOptions(time="virtual"), HEADER, "flown with --time virtual or paced and --pilot none"),
        (AutopilotOptions(pilot="none"), HEADER, "flown with --time virtual or paced and --pilot none"),
    ],
)
def test_flights_that_nobody_would_command_or_that_could_not_repeat_are_refused(
    options: AutopilotOptions, script: str, said: str
) -> None:
    vehicle = load_vehicle("quad_f450", control="external")
    for kind in (ARDUPILOT, PX4):
        with pytest.raises(LinkError, match=said):
            kind.seat(Task(vehicle, [], options, until_s=1.0, script=script))


def test_the_libraries_belong_to_what_repeats(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONBIRD_ARDUPILOT", str(folder))
    assert [path.name for path in ARDUPILOT.programs(AutopilotOptions())] == ["arducopter"]
    names = [path.name for path in ARDUPILOT.programs(AutopilotOptions(time="virtual"))]
    assert names[0] == "arducopter" and any(name.startswith("libc.so") for name in names)
