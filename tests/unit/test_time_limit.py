"""The limit of every test: it ends what sleeps, writes to a full terminal, waits for a program or never leaves C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import time_limit

HANGS = {
    "sleep": "time.sleep(1000)",
    "thread": "threading.Thread(target=time.sleep, args=(1000,), daemon=True, name='asleep').start(); time.sleep(1000)",
    "pty": "far, near = pty.openpty(); tty.setraw(near)\n    while True: os.write(far, bytes(1000))",
    "program": "subprocess.run([sys.executable, '-c', 'import time; time.sleep(1000)'])",
    "stubborn": "try: time.sleep(1000)\n    except Exception: time.sleep(1000)\n    finally: time.sleep(1000)",
}
HEAD = "import itertools, os, pty, subprocess, sys, threading, time, tty\nimport pytest\n\n"
CONFTEST = """
import time_limit
from time_limit import pytest_configure, pytest_runtest_call, pytest_runtest_setup, pytest_runtest_teardown
from time_limit import pytest_unconfigure
time_limit.AGAIN_S, time_limit.LAST_S = 0.5, {last}
"""
ENDED_S = 100.0  # each of these runs takes some seconds alone


def run(folder: Path, text: str, *, limit_s: float = 1.0, last_s: float = 60.0) -> tuple[int, str]:
    """Exit code and output of pytest on a file of tests with this text."""
    (folder / "conftest.py").write_text(CONFTEST.format(last=last_s))
    (folder / "test_one.py").write_text(HEAD + text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_one.py"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.path.dirname(time_limit.__file__),
            "PYTEST_ADDOPTS": "",
            time_limit.ENVIRONMENT: str(limit_s),
        },
        capture_output=True,
        text=True,
        timeout=ENDED_S,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout + done.stderr


def test_what_hangs_fails_with_the_stacks_of_all_threads_and_the_next_test_runs(tmp_path: Path) -> None:
    text = "".join(f"def test_{name}():\n    {body}\n\n" for name, body in HANGS.items())
    code, said = run(tmp_path, text + "def test_next():\n    pass\n")
    assert code == 1 and "5 failed, 1 passed" in said, said
    for name in HANGS:
        assert f"test_{name} took longer than its limit of 1 s" in said
    assert said.count("Current thread") >= len(HANGS) and "Thread 0x" in said


def test_fixtures_and_their_ends_are_limited_too(tmp_path: Path) -> None:
    text = """
@pytest.fixture(scope="module")
def slow_begin():
    time.sleep(1000)

@pytest.fixture
def slow_end():
    yield
    time.sleep(1000)

def test_begin(slow_begin):
    pass

def test_end(slow_end):
    pass
"""
    code, said = run(tmp_path, text)
    assert code == 1 and "1 passed, 2 errors" in said, said
    assert "the setup of test_begin took longer" in said and "the teardown of test_end took longer" in said


@pytest.mark.parametrize(
    "text",
    [
        "def test_native():\n    sum(itertools.repeat(1))\n",  # a loop in C, which looks for no signal
        "def test_thread():\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n",  # no daemon: outlives it
    ],
    ids=["native", "thread"],
)
def test_a_process_that_cannot_be_interrupted_ends_with_the_stacks(tmp_path: Path, text: str) -> None:
    code, said = run(tmp_path, text, last_s=1.0)
    assert code == 1 and "Timeout (0:00:0" in said, said


def test_programs_that_ran_before_the_test_go_on(tmp_path: Path) -> None:
    text = """
server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])

def test_hangs():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(1000)"])

def test_serves():
    assert server.poll() is None
    server.kill()
    server.wait()
"""
    code, said = run(tmp_path, text)
    assert code == 1 and "1 failed, 1 passed" in said, said


def test_each_test_here_has_a_limit(request: pytest.FixtureRequest) -> None:
    begin, _ = signal.getitimer(signal.ITIMER_REAL)
    assert 0.0 < begin <= time_limit.limit_of(request.node)
    time.sleep(0.01)
    assert signal.getitimer(signal.ITIMER_REAL)[0] < begin


@pytest.mark.limit(77)
def test_a_marker_sets_another_limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    assert time_limit.limit_of(request.node) == 77.0
