"""Exported C: the same bits as the kernel with any compiler, clean under strict flags, needing nothing of others."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ironbird.compiler import native
from ironbird.errors import ExportError, UnknownNameError
from ironbird.export.c_code.code import one_lane
from ironbird.export.c_code.exporter import DEVIATIONS
from ironbird.export.job import Job
from ironbird.export.parts import make_part
from ironbird.export.registry import EXPORTERS, export, exporter_of

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off", "-fno-math-errno"]
FAULTS = ["rotor.speed_loss@1:instance=1,severity=0.2,start=1", "imu.bias@1:instance=1,start=1,shape=ramp,rise=1"]


@pytest.fixture(scope="session")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The F450's controller as C, with three seconds of a faulted flight."""
    folder = tmp_path_factory.mktemp("export") / "controller"
    export("c", Job("quad_f450", "controller", seconds=3.0, faults=FAULTS), folder)
    return folder


def built(folder: Path, compiler: str, *flags: str) -> Path:
    program = folder / f"test-{compiler}{''.join(flags)}"
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    sources = [*map(str, (folder / "src").glob("*.c")), str(folder / "test/back_to_back.c")]
    command = [compiler, *STRICT, *flags, f"-I{folder / 'include'}", *sources, "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[:2000]
    return program


def said_by(program: Path, vectors: Path) -> str:
    done = subprocess.run([str(program), str(vectors)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",)])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_every_output_of_every_step_has_the_bits_of_the_kernel(
    controller: Path, compiler: str, flags: tuple[str, ...]
) -> None:
    assert "3000 steps" in (text := said_by(built(controller, compiler, *flags), controller / "test/vectors.bin"))
    assert "bit-equal" in text


def test_a_faulted_vehicle_with_its_sensors_and_their_noise_has_the_bits_of_the_kernel(tmp_path: Path) -> None:
    rows = export("c", Job("quad_f450", "vehicle", seconds=2.5, faults=FAULTS), tmp_path / "v")
    assert "2500 steps" in rows["back to back"] and int(rows["back to back"].split()[2]) > 1000  # the ramp
    assert "bit-equal" in said_by(built(tmp_path / "v", "gcc", "-O0"), tmp_path / "v/test/vectors.bin")


@pytest.mark.slow
def test_the_windows_library_has_the_bits_of_the_kernel_under_wine(tmp_path: Path) -> None:
    wine = shutil.which("wine64", path=f"{os.environ['PATH']}:/usr/lib/wine")
    if wine is None:
        pytest.skip("there is no wine64: apt-get install wine64")
    folder = tmp_path / "lib"
    export("library", Job("quad_f450", "controller", seconds=3.0, faults=FAULTS, targets=("win64",)), folder)
    dll, program = next((folder / "lib/win64").glob("*.dll")), folder / "lib/win64/test.exe"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu", "-O2", f"-I{folder / 'include'}"]
    command += [str(folder / "test/back_to_back.c"), str(dll), "-o", str(program)]  # the step is in the library alone
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    environment = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all", "DISPLAY": ""}
    said = tmp_path / "said.txt"
    with said.open("wb") as file:  # not a pipe: wine's services inherit it and would hold its end for minutes
        for words in ([str(program), str(folder / "test/vectors.bin")], ["wineboot", "--kill"]):
            subprocess.run(
                [wine, *words], cwd=program.parent, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                timeout=600,
            )  # fmt: skip
    text = said.read_text(errors="replace")
    assert "3000 steps" in text and "bit-equal" in text, text[-1000:]


def test_the_back_to_back_test_notices_one_wrong_bit(controller: Path, tmp_path: Path) -> None:
    data = bytearray((controller / "test/vectors.bin").read_bytes())
    data[-32 * 8 - 8] ^= 1  # of the sum over all outputs of all steps, in the last row
    (tmp_path / "wrong.bin").write_bytes(data)
    program = built(controller, "gcc", "-O0")
    done = subprocess.run([str(program), str(tmp_path / "wrong.bin")], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and "differs from the kernel" in done.stdout


def test_the_code_needs_nothing_of_a_library(controller: Path, tmp_path: Path) -> None:
    made = tmp_path / "model.o"
    source = next((controller / "src").glob("*.c"))
    flags = [*STRICT, "-O2", "-c", f"-I{controller / 'include'}", str(source), "-o", str(made)]
    subprocess.run(["gcc", *flags], check=True, timeout=100)
    needs = subprocess.run(["nm", "-u", str(made)], capture_output=True, text=True, check=True, timeout=60).stdout
    assert set(needs.replace("U", "").split()) <= {"memcpy", "memset"}


@pytest.mark.slow
def test_only_the_stated_deviations_from_misra_are_found(tmp_path: Path) -> None:
    if not shutil.which("cppcheck"):
        pytest.skip("there is no cppcheck: apt-get install cppcheck")
    folder = tmp_path / "rotor"
    export("c", Job("quad_f450", "rotor/1", seconds=1.0), folder)
    command = ["cppcheck", "--addon=misra", "--enable=warning,portability,performance", "--std=c99", "--quiet"]
    include = [f"-I{folder / 'include'}", f"-I{folder / 'src'}", str(next((folder / "src").glob("*.c")))]
    said = subprocess.run([*command, *include], capture_output=True, text=True, timeout=300).stderr
    rules = set(re.findall(r"misra-c2012-([0-9.]+)", said))
    assert rules and rules <= set(DEVIATIONS)
    assert not re.search(r": (error|warning|portability|performance):", said)


def test_single_precision_stays_near_the_kernel(tmp_path: Path) -> None:
    folder = tmp_path / "single"
    export("c", Job("quad_f450", "rotor/1", precision="single", seconds=5.0, faults=FAULTS[:1]), folder)
    text = said_by(built(folder, "gcc", "-O2"), folder / "test/vectors.bin")
    worst = {line.split()[0]: line.split()[1::2] for line in text.splitlines() if " of " in line}
    assert "rotor_1_motor_speed" in worst
    for name, (off, size) in worst.items():
        # An acceleration is a difference of two speeds of some 600 rad/s over 12 ms: single precision has 3e-3 of it
        assert float(off) <= 1e-4 * max(1.0, float(size)), name


SINGLE = """
#include "ib_math_single.h"
#define ONE(n) void v_##n(const float *x, float *y, int k) { for (int i = 0; i < k; ++i) y[i] = ib_##n(x[i]); }
ONE(sin) ONE(cos) ONE(asin) ONE(acos) ONE(atan) ONE(exp) ONE(log) ONE(tanh) ONE(sqrt) ONE(expm1) ONE(log1p)
"""
BOUNDS = {  # function of NumPy: range, largest error relative to max(|result|, 1e-3 or what is stated)
    "sin": (-100, 100, 2e-7), "cos": (-100, 100, 2e-7), "arcsin": (-1, 1, 4e-7), "arccos": (-1, 1, 4e-7),
    "arctan": (-50, 50, 3e-7), "exp": (-80, 80, 4e-7), "log": (1e-6, 1e6, 3e-7), "tanh": (-9, 9, 1e-6),
    "sqrt": (0, 1e6, 7e-8), "expm1": (-3, 3, 2e-6), "log1p": (-0.9, 9, 3e-7),
}  # fmt: skip


def test_elementary_functions_in_single_precision_keep_their_bounds(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(SINGLE)
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC", f"-I{native.HEADERS}"]
    subprocess.run(["gcc", *flags, str(tmp_path / "f.c"), "-o", str(tmp_path / "f.so")], check=True, timeout=100)
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    for name, (low, high, bound) in BOUNDS.items():
        x = np.linspace(low, high, 100_001).astype(np.float32)
        y = np.empty_like(x)
        inside = name.replace("arc", "a")
        getattr(library, f"v_{inside}")(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), len(x))
        exact = getattr(np, name)(x.astype(float))
        scale = np.maximum(np.abs(exact), 1.0 if name in ("sin", "cos", "arccos", "log") else 1e-3)
        assert (np.abs(y - exact) / scale).max() < bound, name


def test_headers_for_one_lane_hold_no_word_of_several() -> None:
    text = one_lane((native.HEADERS / "ib_math.h").read_text())
    assert "vector_size" not in text and text.count("#if") == text.count("#endif")


def test_inputs_that_one_signal_feeds_are_one_field() -> None:
    part = make_part("quad_f450", "controller")
    assert len(part.inputs) < len(part.model.flat.u.signals)
    assert any(len(field.rows) > 1 for field in part.inputs)
    assert {row for field in part.inputs for row in field.rows} == set(part.model.flat.u.start.values())


def test_what_cannot_be_exported_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown part 'contoller'"):
        make_part("quad_f450", "contoller")
    with pytest.raises(UnknownNameError, match="exporter"):
        exporter_of("pascal")
    with pytest.raises(ExportError, match="no single precision"):
        export("fmu2", Job("quad_f450", precision="single"), tmp_path / "x")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    with pytest.raises(ExportError, match="no earlier export"):
        export("c", Job("quad_f450", "rotor/1"), tmp_path / "mine")
    assert (tmp_path / "mine/thesis.tex").exists()


@pytest.mark.parametrize("name", EXPORTERS)
def test_every_line_of_the_registry_is_an_exporter_of_that_name(name: str) -> None:
    assert exporter_of(name).name == name and exporter_of(name).summary.endswith(".")
