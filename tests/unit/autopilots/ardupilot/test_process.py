"""Starting and ending ArduPilot: with a stand-in program that does what it is told by a file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ironbird.autopilots.ardupilot.process import VARIABLE, ArduPilotProcess, find_program
from ironbird.errors import LinkError
from ironbird.rig.rig import make_rig
from ironbird.systems.ardupilot.link import ArduPilot
from ironbird.vehicles.spec import Home

# Speaks the protocol just well enough: sends a packet, waits, repeats; SIGTERM is seen only between replies
STAND_IN = """#!{python}
import os, signal, socket, struct, sys
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
os.makedirs("logs"); open("logs/00000001.BIN", "wb").write(b"log")
print("started", " ".join(sys.argv[1:]), flush=True)
if "{mode}" == "dies": print("bad parameter", flush=True); sys.exit(3)
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
port = int(sys.argv[sys.argv.index("--sim-port-out") + 1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
frame = 0
while not ended:
    s.sendto(struct.pack("<HHI16H", 18458, 1200, frame, *[1500] * 16), ("127.0.0.1", port))
    text = s.recv(4096)
    frame += 1
open("logs/00000001.BIN", "ab").write(b", complete")
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def put(folder: Path, name: str = "arducopter", mode: str = "flies") -> Path:
    program = folder / name
    program.write_text(STAND_IN.format(python=sys.executable, mode=mode))
    program.chmod(0o755)
    return program


def test_the_program_is_found_by_argument_variable_and_path(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = put(programs)
    other = tmp_path / "other"
    other.mkdir()
    given = put(other)
    assert find_program("arducopter") == own.resolve()
    assert find_program("arducopter", other) == given.resolve()
    assert find_program("arducopter", given) == given.resolve()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("PATH", str(programs))
    assert find_program("arducopter") == own.resolve()


def test_a_missing_program_is_named_with_what_to_do(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LinkError, match=r"no program 'arduplane' \(tried: IRONBIRD_ARDUPILOT .*waf plane"):
        find_program("arduplane")


def test_a_run_ends_the_process_keeps_its_log_and_leaves_nothing(programs: Path, tmp_path: Path) -> None:
    put(programs)
    process = ArduPilotProcess(keep=tmp_path / "kept")
    system = ArduPilot(process, first_patience_s=20.0)
    rig = make_rig("quad_f450", until_s=0.2, log=[])
    system.start(rig)
    folder = process.folder
    assert folder is not None and (folder / "vehicle.parm").read_text().startswith("#")
    while rig.step(system.step_ticks):
        system.exchange(rig)
    assert system.traffic.sent == 200
    system.stop()
    assert not folder.exists() and not process.running()
    assert (tmp_path / "kept" / "00000001.BIN").read_bytes() == b"log, complete"  # it was asked to end and did
    said = (tmp_path / "kept" / "console.txt").read_text()
    for part in ("--model JSON:127.0.0.1", "--wipe", "--serial2 none:", "--rate 1000", "--home 40.15", "--defaults"):
        assert part in said
    system.stop()


@pytest.mark.clock
def test_a_process_that_ends_by_itself_is_reported_at_once_with_its_words(programs: Path) -> None:
    put(programs, mode="dies")
    system = ArduPilot(ArduPilotProcess(), first_patience_s=100.0)
    begin = time.monotonic()
    with pytest.raises(
        LinkError, match=r"arducopter ended with code 3 at 0.000 s of simulation time; .*its output: .*bad parameter"
    ):
        system.start(make_rig("quad_f450", until_s=1.0, log=[]))
    system.stop()
    assert time.monotonic() - begin < 60.0


def test_a_process_that_waits_for_physics_is_ended_too(programs: Path) -> None:
    put(programs)
    process = ArduPilotProcess()
    process.start("arducopter", "", home=Home(), physics_port=9, rate_hz=1000)
    time.sleep(0.2)
    process.ask_to_end()  # it does not see this
    folder = process.folder
    process.stop()
    assert not process.running() and folder is not None and not folder.exists()


def test_the_process_dies_with_us_even_if_we_are_killed(programs: Path, tmp_path: Path) -> None:
    put(programs)
    script = (
        "import os, signal\n"
        "from ironbird.autopilots.ardupilot.process import ArduPilotProcess\n"
        "from ironbird.vehicles.spec import Home\n"
        "p = ArduPilotProcess()\n"
        "p.start('arducopter', '', home=Home(), physics_port=9, rate_hz=1000)\n"
        "print(p._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    pid = int(result.stdout)
    deadline = time.monotonic() + 60.0
    while _alive(pid) or list(tmp_path.glob("ironbird-ardupilot-*")):  # the guard does what we could not
        assert time.monotonic() < deadline, f"process {pid} or its folder is still there"
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_programs_that_cannot_run_are_named(programs: Path) -> None:
    program = programs / "ardurover"
    program.write_bytes(b"\x7fELF nothing")
    program.chmod(0o755)
    process = ArduPilotProcess()
    with pytest.raises(LinkError, match="ardurover cannot be started"):
        process.start("ardurover", "", home=Home(), physics_port=9, rate_hz=1000)
    assert process.folder is None and os.access(program, os.X_OK)
