"""Ten broken installations: each works all the same, or ends with a sentence that names the cure and exit code 2."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

FLY = ["fly", "rover_differential", "--control", "truth", "--until", "4", "--ends", "time"]
CLI = [sys.executable, "-c", "from ironbird.cli.main import main; main()"]
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec %= 3600;
  return result;
}
time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}
"""


class Installation:
    """A copy of the environment to break: its own cache with the model in it, and its own home."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.variables = {
            **{name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "IRONBIRD_CC")},
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(self.home),
            "IRONBIRD_CACHE": str(cache),
            "COLUMNS": "400",
        }

    def run(self, *arguments: str, before: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """The command, after some words of the shell, in a name space of mounts of its own if these mount anything."""
        command = [*CLI, *arguments]
        if before:
            command = ["sh", "-c", f'{before}\nexec "$@"', "sh", *command]
            if "mount " in before:
                command = ["unshare", "--mount", *command]
        return subprocess.run(
            command, cwd=self.folder, env=self.variables | variables, capture_output=True, text=True, timeout=300
        )

    def fly(self, *, before: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """A short flight."""
        return self.run(*FLY, "--out", str(self.folder / "out"), before=before, **variables)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the model, its native code built."""
    folder = tmp_path_factory.mktemp("warm")
    done = Installation(folder, folder / "cache").fly()
    assert done.returncode == 0, done.stderr
    return folder / "cache"


@pytest.fixture
def broken(tmp_path: Path, warm: Path) -> Installation:
    """An installation with a copy of the warm cache."""
    shutil.copytree(warm, tmp_path / "cache")
    return Installation(tmp_path, tmp_path / "cache")


@pytest.fixture
def mounts() -> None:
    done = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"this machine lets us mount nothing: {done.stderr.strip()}")


def refused(done: subprocess.CompletedProcess[str], *says: str) -> None:
    """It ended with a sentence, not with a traceback or a signal."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for text in says:
        assert text in " ".join(done.stderr.split()), done.stderr


def flown(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr


def doctor(installation: Installation, **options: str) -> str:
    """The findings of a doctor who sees that something is not in order."""
    done = installation.run("doctor", "--json", **options)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def library(installation: Installation) -> Path:
    (found,) = (installation.folder / "cache").rglob("*.so")
    return found


def test_a_cache_on_a_disk_that_allows_no_programs(broken: Installation, mounts: None) -> None:
    cache = broken.folder / "cache"
    shutil.copytree(cache, broken.folder / "copy")
    mount = f"mount -t tmpfs -o noexec,mode=700 none {cache} && cp -r {broken.folder}/copy/. {cache}/"
    flown(broken.fly(before=mount))  # native code is loaded from memory
    hook = broken.folder / "sitecustomize.py"  # where the kernel forbids that
    hook.write_text("import os\ndef memfd_create(*_):\n    raise OSError(38, 'no')\nos.memfd_create = memfd_create\n")
    path = f"{broken.folder}:{broken.variables['PYTHONPATH']}"
    refused(broken.fly(before=mount, PYTHONPATH=path), "cannot be loaded", "(noexec), set IRONBIRD_CACHE to a folder")


def test_a_home_that_is_read_only(broken: Installation, mounts: None) -> None:
    mount = f"mount -t tmpfs -o ro none {broken.home}"
    says = "Read-only file system; set IRONBIRD_CACHE to a folder of your own that you can write to"
    refused(broken.fly(before=mount, IRONBIRD_CACHE=""), says)
    assert "set IRONBIRD_CACHE" in doctor(broken, before=mount, IRONBIRD_CACHE="")
    flown(broken.fly(before=mount, IRONBIRD_CACHE=str(broken.folder / "new")))  # the cure


def test_a_disk_that_is_full(broken: Installation, mounts: None) -> None:
    mount = f"mkdir -p {broken.folder}/full && mount -t tmpfs -o size=64k,mode=700 none {broken.folder}/full"
    full = str(broken.folder / "full")
    refused(broken.fly(before=mount, IRONBIRD_CACHE=full), "No space left", "make room, or set IRONBIRD_CACHE")
    done = broken.run(*FLY, "--out", f"{full}/out", before=mount)
    refused(done, "cannot write results to", "No space left on device")
    limited = broken.fly(before="ulimit -f 16", IRONBIRD_CACHE=str(broken.folder / "limited"))  # a quota of 8 kB a file
    refused(limited, "set IRONBIRD_CACHE")


def test_a_cache_of_another_user(broken: Installation) -> None:
    cache = broken.folder / "cache"
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    theirs = broken.home / ".cache" / "ironbird"
    shutil.copytree(cache, theirs)
    os.chown(theirs, 61001, 61001)
    says = "belongs to another user (number 61001), who could run code as you; set IRONBIRD_CACHE to a folder"
    refused(broken.fly(IRONBIRD_CACHE=""), says)
    cache.chmod(0o777)
    refused(broken.fly(), "others can write to the cache folder", "say 'chmod go-w")
    assert "chmod go-w" in doctor(broken)


def test_a_damaged_library(broken: Installation) -> None:
    path = library(broken)
    good = path.read_bytes()
    path.write_bytes(good[:3000])
    done = broken.fly()
    flown(done)  # built again, and said
    assert "is damaged" in done.stderr and "built again" in done.stderr and path.read_bytes()[-49:-32] == good[-49:-32]
    models = broken.folder / "cache" / "models"
    (model,) = {*models.glob("*")} - {*models.glob("*.package")}  # besides the hash of the source
    model.write_bytes(b"\x80\x04junk")
    done = broken.fly()
    flown(done)
    assert "is damaged" in done.stderr


def test_a_damaged_store(broken: Installation) -> None:
    store = broken.folder / "campaigns.sqlite"
    for content, verb in (
        (b"this is no database at all" * 50, ["list"]),
        (b"SQLite format 3\0" + bytes(range(256)) * 20, ["show", "x"]),
    ):
        store.write_bytes(content)
        refused(broken.run("campaign", *verb, "--store", f"sqlite:///{store}"), "error: ", str(store))
        assert store.read_bytes() == content  # nothing is made of it


def test_a_wrong_clock(broken: Installation) -> None:
    """The year is 1970, before every file and every release."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc here: it makes the wrong clock")
    source, clock = broken.folder / "clock.c", broken.folder / "clock.so"
    source.write_text(CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(clock), "-ldl"], check=True)
    code = [sys.executable, "-c", "import time; print(time.gmtime().tm_year)"]
    asked = subprocess.run(code, env=os.environ | {"LD_PRELOAD": str(clock)}, capture_output=True, text=True)
    assert asked.stdout == "1970\n"
    flown(broken.fly(LD_PRELOAD=str(clock)))
    flown(broken.fly(LD_PRELOAD=str(clock), IRONBIRD_CACHE=str(broken.folder / "new")))  # compiled
    for path in (broken.folder / "new").rglob("*"):
        os.utime(path, (4e9, 4e9))  # files of the next century
    flown(broken.fly(IRONBIRD_CACHE=str(broken.folder / "new")))


def test_no_compiler(broken: Installation) -> None:
    new = str(broken.folder / "new")
    cure = "set IRONBIRD_CC to a gcc or clang"
    refused(broken.fly(IRONBIRD_CACHE=new, IRONBIRD_CC="no-such-compiler"), "'no-such-compiler --version'", cure)
    refused(broken.fly(IRONBIRD_CACHE=new, IRONBIRD_CC="/bin/false"), "does not run", cure)
    hook = broken.folder / "sitecustomize.py"  # the package is not there
    hook.write_text(
        "from importlib import metadata\nversion = metadata.version\n"
        "def missing(name):\n    if name == 'ziglang':\n        raise metadata.PackageNotFoundError(name)\n"
        "    return version(name)\nmetadata.version = missing\n"
    )
    path = f"{broken.folder}:{broken.variables['PYTHONPATH']}"
    says = "there is no C compiler: install the package ziglang ('pip install ziglang')"
    refused(broken.fly(IRONBIRD_CACHE=new, PYTHONPATH=path), says)
    assert "install the package ziglang" in doctor(broken, PYTHONPATH=path)


def compiler(installation: Installation, does: str) -> str:
    """A gcc that does something before its work."""
    script = installation.folder / "cc"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec gcc --version\n{does}\nexec gcc "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
def test_too_little_memory(broken: Installation) -> None:
    new = str(broken.folder / "new")
    done = broken.fly(IRONBIRD_CACHE=new, IRONBIRD_CC=compiler(broken, "ulimit -v 30000"))
    refused(done, "the C compiler failed", "there may be too little memory", "free some or raise the limit")
    done = broken.fly(before="ulimit -v 250000")  # Python itself
    refused(done, "memory")


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
def test_a_compiler_that_is_killed(broken: Installation) -> None:
    new, flag = broken.folder / "new", broken.folder / "flag"
    done = broken.fly(IRONBIRD_CACHE=str(new), IRONBIRD_CC=compiler(broken, "kill -9 $$"))
    refused(done, "the C compiler failed with code -9", "it was killed", "memory")
    # All of it killed in the middle, then the same again
    chosen = compiler(broken, f"[ -e {flag} ] || {{ echo half > model.so; touch {flag}; sleep 100; }}")
    command = [*CLI, *FLY, "--out", str(broken.folder / "out")]
    variables = broken.variables | {"IRONBIRD_CACHE": str(new), "IRONBIRD_CC": chosen}
    with subprocess.Popen(
        command, cwd=broken.folder, env=variables, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        until = time.monotonic() + 120
        while not flag.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        assert flag.exists() and process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
    assert list(new.glob("*/build-*"))  # the half of it
    flown(broken.fly(IRONBIRD_CACHE=str(new), IRONBIRD_CC=chosen))
    assert not list(new.glob("*/build-*"))
