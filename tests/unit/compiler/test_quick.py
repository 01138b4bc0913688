"""Quick builds: the same bytes, the optimised library from the background, nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from ironbird import compile_model, load_vehicle, run, start
from ironbird.compiler import background, build_later, cache, compiled, native

TEXT = """#include <stdint.h>
#ifdef __OPTIMIZE__
#define ANSWER 2
#else
#define ANSWER 0
#endif
__attribute__((visibility("default"))) int64_t ib_answer(void) { return ANSWER; }
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("IRONBIRD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IRONBIRD_QUICK", "1")
    monkeypatch.setattr(native, "_loaded", {})
    monkeypatch.setattr(native, "QUICK_FROM", 0)
    return tmp_path / "cache"


def wait_for(path: Path, seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.02)


def children() -> set[str]:
    """Processes that this one has started and not yet heard the end of."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_quick_first_then_optimised_from_the_background(folder: Path) -> None:
    before = children()
    library, is_optimised = native.load_quickly(TEXT, 1)
    assert (library.ib_answer(), is_optimised) == (0, False)
    wait_for(native.library_path(TEXT, 1))
    found = native.optimised(TEXT, 1)
    assert found is not None and found.ib_answer() == 2
    library, is_optimised = native.load_quickly(TEXT, 1)
    assert (library.ib_answer(), is_optimised) == (2, True)
    until = time.monotonic() + 60.0
    while children() - before:  # not one of them stays as a zombie
        assert time.monotonic() < until
        time.sleep(0.02)
    assert not list(folder.rglob("build-*"))


@pytest.mark.parametrize(
    ("quick", "lanes", "least"),
    [("0", 1, 0), ("1", 8, 0), ("only", 8, 0), ("1", 1, len(TEXT) + 1)],
    ids=["switched off", "lanes", "lanes, alone", "small"],
)
def test_optimised_at_once(quick: str, lanes: int, least: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONBIRD_QUICK", quick)
    monkeypatch.setattr(native, "QUICK_FROM", least)
    library, is_optimised = native.load_quickly(TEXT, lanes)
    assert (library.ib_answer(), is_optimised) == (2, True)
    assert len(list(folder.rglob("*.so"))) == 1 and not (folder / build_later.QUEUE).exists()


@pytest.mark.parametrize("least", [0, len(TEXT) + 1], ids=["large", "small"])
def test_the_quick_build_alone_on_demand(least: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONBIRD_QUICK", "only")
    monkeypatch.setattr(native, "QUICK_FROM", least)
    library, is_optimised = native.load_quickly(TEXT, 1)
    assert (library.ib_answer(), is_optimised) == (0, False)
    assert len(list(folder.rglob("*.so"))) == 1 and not (folder / build_later.QUEUE).exists()


def test_the_process_in_the_background_outlives_ctrl_c(folder: Path) -> None:
    code = f"""
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where the tests run in the background
from ironbird.compiler import native
native.QUICK_FROM = 0
native.load_quickly({TEXT!r}, 1)
os.killpg(0, signal.SIGINT)  # as a terminal does to all that belongs to its command
"""
    done = subprocess.run([sys.executable, "-c", code], start_new_session=True, stderr=subprocess.DEVNULL, timeout=120)
    assert done.returncode == -signal.SIGINT
    wait_for(native.library_path(TEXT, 1))


@pytest.mark.parametrize("lock", [".lock", background.WAITING])
def test_what_is_being_built_or_waits_for_its_turn_is_not_built_twice(lock: str, folder: Path) -> None:
    path = native.library_path(TEXT, 1)
    cache.make_folder(path.parent.name)
    with cache.locked(path.with_suffix(lock)):
        before = children()
        library, is_optimised = native.load_quickly(TEXT, 1)
        assert (library.ib_answer(), is_optimised) == (0, False)
        assert children() == before


READ_ONLY = f"""
import os, subprocess, sys
from ironbird.compiler import native
os.setgroups([])
os.setresgid(61001, 61001, 61001)
os.setresuid(61001, 61001, 61001)
native.QUICK_FROM = 0
native.compiler_version()  # asks the compiler, once
begun = []
subprocess.Popen = lambda *given, **known: begun.append(given)
library, is_optimised = native.load_quickly({TEXT!r}, 1)
print(library.ib_answer(), is_optimised, begun)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
def test_nothing_is_started_for_a_cache_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONBIRD_CC", "gcc")  # which every user can run
    native.compiler_version.cache_clear()
    try:
        with tempfile.TemporaryDirectory() as public:
            Path(public).chmod(0o755)
            monkeypatch.setenv("IRONBIRD_CACHE", public + "/cache")
            native.load_unoptimised(TEXT, 1)
            for path in (Path(public, "cache"), *Path(public, "cache").iterdir()):
                path.chmod(0o755)
            done = subprocess.run(
                [sys.executable, "-c", READ_ONLY],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": "/tmp"},
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
    finally:
        native.compiler_version.cache_clear()
    assert done.stdout == "0 False []\n", done.stderr


def test_a_flight_changes_to_the_optimised_library_with_the_same_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = compile_model(load_vehicle("rover_differential", control="truth").diagram)
    quick = run(start(model.built_unoptimised(), lanes=1, seed=3), until_s=2.0)

    monkeypatch.setattr(compiled, "LOOK_S", 0.0)
    changing = start(model, lanes=1, seed=3)
    first = run(changing, until_s=1.0)
    slow = model.library(1)
    wait_for(native.library_path(model.source.text, 1))
    rest = run(changing, until_s=2.0)
    assert model.library(1) is not slow

    monkeypatch.setenv("IRONBIRD_QUICK", "0")
    usual = run(
        start(compile_model(load_vehicle("rover_differential", control="truth").diagram), lanes=1, seed=3), until_s=2.0
    )
    assert quick.sha256() == first.followed_by(rest).sha256() == usual.sha256()
