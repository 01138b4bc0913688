"""Starting and ending PX4, with a small program in its place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ironbird.autopilots.px4 import process as px4_process
from ironbird.autopilots.px4.airframe import AUTOSTART
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.process import Px4Process, find_px4, open_port, px4_runs
from ironbird.errors import LinkError
from ironbird.rig.rig import make_rig
from ironbird.systems.px4.link import Px4
from ironbird.vehicles.load import load_vehicle

SLEEPER = "sleep 300 & echo child $!; wait"


def make_px4(folder: Path, body: str) -> Path:
    """A build folder whose program is a shell script."""
    (folder / "bin").mkdir(parents=True)
    (folder / "etc" / "init.d-posix" / "airframes").mkdir(parents=True)
    (folder / "etc" / "init.d-posix" / "rcS").write_text("# start-up\n")
    (folder / "etc" / "init.d-posix" / "airframes" / "1_other").write_text("")
    program = folder / "bin" / "px4"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return folder


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(check: object, seconds: float = 60.0) -> bool:
    """Until a function says true."""
    assert callable(check)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.02)
    return False


def child_of(process: Px4Process) -> int:
    """What the script started in the background."""
    assert wait_for(lambda: "child" in process.console())
    return int(process.console().split()[-1])


def test_it_starts_with_our_airframe_and_leaves_nothing(tmp_path: Path) -> None:
    body = (
        "echo $PX4_SYS_AUTOSTART $PX4_SIM_HOST_ADDR; ls $2/init.d-posix/airframes; mkdir -p log/a; echo u > log/a/f.ulg"
    )
    build = make_px4(tmp_path / "build", f"{body}\n{SLEEPER}")
    process = Px4Process(build, keep=tmp_path / "kept")
    airframe = airframe_of(load_vehicle("quad_f450", control="external"))
    process.start(airframe, "F450", 7)
    child, folder = child_of(process), process.folder
    assert folder is not None and process.running()
    assert process.console().split()[:3] == [str(AUTOSTART), "127.0.0.1", f"{AUTOSTART}_ironbird"]  # and no other
    assert (folder / "etc" / "init.d-posix" / "rcS").read_text() == "# start-up\n"
    process.stop()
    process.stop()
    assert wait_for(lambda: not alive(child))  # what it had started is gone as well
    assert not folder.exists()
    assert {path.name for path in process.logs} == {"f.ulg", "px4.txt", f"{AUTOSTART}_ironbird"}
    script = (tmp_path / "kept" / f"{AUTOSTART}_ironbird").read_text()
    assert "param set-default CA_ROTOR_COUNT 4" in script


@pytest.mark.parametrize("quiet", [True, False])
def test_a_quiet_one_has_no_link_for_ground_stations(quiet: bool, tmp_path: Path) -> None:
    build = make_px4(tmp_path / "build", f"cat $2/init.d-posix/px4-rc.mavlink\n{SLEEPER}")
    lines = [
        "udp_gcs_port_local=$((18570+px4_instance))", "mavlink start -x -u $udp_gcs_port_local -r 4000000 -f",
        "mavlink stream -r 50 -s ATTITUDE -u $udp_gcs_port_local", "mavlink start -x -u $udp_offboard_port_local -f",
    ]  # fmt: skip
    (build / "etc" / "init.d-posix" / "px4-rc.mavlink").write_text("\n".join([*lines, ""]))
    process = Px4Process(build, quiet=quiet)
    process.start(airframe_of(load_vehicle("quad_f450", control="external")), "F450", 7)
    try:
        child_of(process)
        said = [line for line in process.console().splitlines() if line.startswith(("udp", "mavlink"))]
    finally:
        process.stop()
    assert said == ([lines[0], lines[3]] if quiet else lines)


def test_its_start_up_is_over_when_it_says_so(tmp_path: Path) -> None:
    said = "INFO  [px4] Startup script returned successfully"
    build = make_px4(
        tmp_path / "build", f"echo begins; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo '{said}'; sleep 60"
    )
    process = Px4Process(build)
    try:
        process.start(airframe_of(load_vehicle("quad_f450", control="external")), "F450", 6)
        assert wait_for(lambda: "begins" in process.console()) and not process.started()
        (tmp_path / "go").touch()
        assert wait_for(process.started)
    finally:
        process.stop()


def test_a_program_that_ends_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    build = make_px4(tmp_path / "build", "echo the board is on fire; exit 3")
    system = Px4(Px4Process(build), connect_s=20)
    with pytest.raises(LinkError, match="PX4 ended with code 3; its output: the board is on fire"):
        system.start(make_rig("quad_f450", until_s=1.0))
    system.stop()


@pytest.mark.clock
def test_a_program_that_ignores_the_signal_is_ended(tmp_path: Path) -> None:
    build = make_px4(tmp_path / "build", "trap '' TERM; " + SLEEPER + "; sleep 300")
    process = Px4Process(build)
    process.start(airframe_of(load_vehicle("quad_f450", control="external")), "F450", 8)
    child = child_of(process)
    begin = time.monotonic()
    process.stop()
    assert time.monotonic() - begin < 120  # the program sleeps for 300 s
    assert wait_for(lambda: not alive(child))


def test_it_dies_with_us(tmp_path: Path) -> None:
    """SIGKILL of our process, which can do nothing about it."""
    build = make_px4(tmp_path / "build", "echo $$ > $IRONBIRD_PID; exec sleep 300")
    pid_file = tmp_path / "pid"
    program = textwrap.dedent(f"""
        import time
        from ironbird.autopilots.px4.airframes import airframe_of
        from ironbird.autopilots.px4.process import Px4Process
        from ironbird.vehicles.load import load_vehicle
        Px4Process({str(build)!r}).start(airframe_of(load_vehicle("quad_f450", control="external")), "F450", 9)
        time.sleep(300)
    """)
    environment = os.environ | {"IRONBIRD_PID": str(pid_file), "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment) as parent:
        assert wait_for(lambda: pid_file.exists() and pid_file.read_text().strip(), 60)
        child = int(pid_file.read_text())
        assert alive(child)
        parent.send_signal(signal.SIGKILL)
    assert wait_for(lambda: not alive(child))
    assert wait_for(lambda: not list(tmp_path.glob("ironbird-px4-*")))  # the guard does what we could not


def test_the_program_itself_may_be_named(tmp_path: Path) -> None:
    build = make_px4(tmp_path / "build", "true")
    assert find_px4(build / "bin" / "px4") == find_px4(build)
    assert find_px4(build).etc == (build / "etc").resolve()


def test_an_instance_that_runs_elsewhere_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PX4 locks a file per instance; one in another network has the same file, and nothing of it may be removed."""
    monkeypatch.setattr(px4_process, "LOCKS", tmp_path)
    number, server = open_port(None)
    server.close()
    lock, own = tmp_path / f"px4_lock-{number}", tmp_path / f"px4-sock-{number}"
    assert not px4_runs(number)
    holder = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True)"
    )
    command = [sys.executable, "-c", holder + "; time.sleep(300)", str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "held\n"
            own.touch()
            assert px4_runs(number)
            with pytest.raises(LinkError, match=f"px4_lock-{number}"):
                open_port(number)
            process = Px4Process(make_px4(tmp_path / "build", "exit 1"))
            process.start(airframe_of(load_vehicle("quad_f450", control="external")), "F450", number)
            process.stop()
            assert lock.exists() and own.exists()
        finally:
            other.kill()
    assert not px4_runs(number)  # the lock went with its holder


def test_it_gets_no_secrets_of_ours_and_no_more_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUD_TOKEN", "secret-of-ours")
    monkeypatch.setenv("PGPASSWORD", "secret-of-ours")
    monkeypatch.setenv("PX4_HOME_LAT", "12")  # of another run by hand
    monkeypatch.setenv("WANTED", "yes")
    monkeypatch.setenv("IRONBIRD_PASS", "OTHER, WANTED")
    build = make_px4(tmp_path / "build", f"env; grep NoNewPrivs /proc/self/status\n{SLEEPER}")
    process = Px4Process(build)
    process.start(airframe_of(load_vehicle("quad_f450", control="external")), "F450", 7)
    try:
        child_of(process)
        lines = process.console().splitlines()
        assert process._guard is not None
        guards = Path(f"/proc/{process._guard.pid}/environ").read_text()
    finally:
        process.stop()

    assert "secret-of-ours" not in "\n".join(lines) + guards
    assert "WANTED=yes" in lines and "PX4_SIM_HOST_ADDR=127.0.0.1" in lines
    assert not any(line.startswith("PX4_HOME_LAT") for line in lines)
    assert any(line.split() == ["NoNewPrivs:", "1"] for line in lines)
    assert any(line.startswith("PATH=") for line in lines)
