"""The command line as a user meets it."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

COMMAND = [sys.executable, "-m", "ironbird.cli"]


def ironbird(*arguments: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run([*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_fly_writes_log_page_and_summary(tmp_path: Path) -> None:
    fault = "rotor.speed_loss@1:instance=1,severity=0.1,start=3"
    arguments = ["fly", "quad_f450", "--mission", "hover", "--until", "6", "--ends", "time", "--wind", "5,270"]
    arguments += ["--turbulence", "5"]
    done = ironbird(
        *arguments,
        "--seed",
        "3",
        "--set",
        "body.mass=1.5",
        "--fault",
        fault,
        "--ulog",
        "--csv",
        "--out",
        "o",
        cwd=tmp_path,
    )
    assert "acted on rotor/1/motor.speed from 3.0" in done.stdout
    assert done.stdout.strip().endswith("report: o/flight.html")
    assert {p.name for p in (tmp_path / "o").iterdir()} == {
        "flight.parquet", "flight.html", "flight.ulg", "flight.csv", "summary.json", "order.toml",
    }  # fmt: skip
    table = pq.read_table(tmp_path / "o" / "flight.parquet")
    assert table.num_rows == 300 and b"quad_f450" in table.schema.metadata[b"ironbird.vehicle"]
    first = json.loads((tmp_path / "o" / "summary.json").read_text())["sha256"]
    ironbird(*arguments, "--seed", "3", "--set", "body.mass=1.5", "--fault", fault, "--out", "p", cwd=tmp_path)
    assert json.loads((tmp_path / "p" / "summary.json").read_text())["sha256"] == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly", "quad_f45"], "unknown vehicle 'quad_f45'; did you mean 'quad_f450'"),
        (["fly", "quad_f450", "--mission", "sqare"], "unknown mission 'sqare'; did you mean 'square'?"),
        (["fly", "quad_f450", "--wind", "fast"], "--wind 'fast': give SPEED or SPEED,FROM_DEG"),
        (["fly", "quad_f450", "--set", "body.mas=1"], "did you mean 'body.mass'"),
        (["fly", "quad_f450", "--set", "body.mass"], "give PATH=VALUE"),
        (["fly", "quad_f450", "--set", "body.mass=heavy"], "'heavy' is not a number"),
        (["fly", "quad_f450", "--fault", "rotor.speedloss@1"], "did you mean 'rotor.speed_loss@1'"),
        (["fly", "quad_f450", "--until", "1", "--out", "/proc/nope"], "cannot write results to /proc/nope"),
        (
            ["vehicle", "show", "nothing.toml"],
            "nothing.toml:1:1: file: it does not exist; give a vehicle of the catalogue",
        ),
    ],
)
def test_mistakes_end_with_a_sentence_and_code_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = ironbird(*arguments, cwd=tmp_path, code=2)
    assert message in done.stderr and "Traceback" not in done.stderr


def test_vehicles_faults_and_show(tmp_path: Path) -> None:
    rows = json.loads(ironbird("vehicle", "list", "--json", cwd=tmp_path).stdout)["vehicles"]
    assert {"quad_f450", "quad_f450_coptersim", "quad_f450_mpsoc"} <= {row["id"] for row in rows}
    assert "quad_f450_mpsoc" in ironbird("vehicle", "list", cwd=tmp_path).stdout
    assert "rotor.speed_loss@1" in ironbird("fault", "list", cwd=tmp_path).stdout
    shown = ironbird("vehicle", "show", "quad_f450", "--source", "model.c", cwd=tmp_path).stdout
    assert "body" in shown and "picture: out/quad_f450.svg" in shown
    assert (tmp_path / "out" / "quad_f450.svg").read_text().startswith(("<svg", "<?xml"))
    assert "ib_model_rates" in (tmp_path / "model.c").read_text()


def _hear_interrupts() -> None:
    """A suite that runs in the background of a shell ignores SIGINT, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _processor_s(pid: int) -> float:
    """Time of the processor that a program has used; on a busy machine it says more than the wall's clock."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_keeps_what_was_flown(tmp_path: Path) -> None:
    flight = [
        "fly",
        "quad_f450",
        "--control",
        "truth",
        "--mission",
        "hover",
        "--set",
        "battery.capacity=1e12",
        "--out",
        "o",
    ]
    ironbird(*flight, "--until", "0.1", cwd=tmp_path, code=3)  # from now on the kernel is there
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ironbird(*flight, "--until", "0.1", cwd=tmp_path, code=3)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    start_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime  # of the processor
    process = subprocess.Popen(
        [*COMMAND, *flight, "--until", "100000"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=_hear_interrupts,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 120.0
        while _processor_s(process.pid) < start_s + 2.0 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, err
    assert "interrupted at" in out and "Traceback" not in err
    assert pq.read_table(tmp_path / "o" / "flight.parquet").num_rows > 100


def test_bench_measures_all_figures(tmp_path: Path) -> None:
    figures = json.loads(ironbird("bench", "kernel", "--quick", "--json", cwd=tmp_path).stdout)
    assert figures["single_lane"]["us_per_ms"] > 0 and figures["lanes"]["ratio_to_jsbsim"] > 1
    assert figures["jsbsim"]["aircraft"] == "F450"
