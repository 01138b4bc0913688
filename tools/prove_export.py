"""Exported C against the kernel over a faulted flight, with every compiler and machine that is here.

    python tools/prove_export.py [--seconds 60] [--part vehicle]

Prints one line per build: gcc, clang and zig at -O0 and -O2, for x86-64 and for aarch64 under qemu-user; zig for
Windows under wine. Exits with 1 if one that was built is not bit-equal. Debian's packages: gcc clang
gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user wine64.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ironbird.export.job import Job
from ironbird.export.registry import export

FAULTS = ["rotor.speed_loss@1:instance=1,severity=0.2,start=20", "imu.bias@1:instance=1,start=10,shape=ramp,rise=5"]
EXACT = ["-std=c99", "-ffp-contract=off", "-fno-math-errno", "-w"]
WINE = shutil.which("wine64") or "/usr/lib/wine/wine64"
ZIG = [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all", "-g0"]
BUILDS: dict[str, tuple[list[str], list[str]]] = {
    "gcc -O0": (["gcc", "-O0"], []),
    "gcc -O2": (["gcc", "-O2"], []),
    "clang -O0": (["clang", "-O0"], []),
    "clang -O2": (["clang", "-O2"], []),
    "zig -O0": ([*ZIG, "-O0"], []),
    "zig -O2": ([*ZIG, "-O2"], []),
    **{
        f"aarch64 {name} {level}": ([*command, level, "-static"], ["qemu-aarch64"])
        for name, command in (
            ("gcc", ["aarch64-linux-gnu-gcc"]),
            ("clang", ["clang", "--target=aarch64-linux-gnu"]),
            ("zig", [*ZIG, "-target", "aarch64-linux-musl"]),
        )
        for level in ("-O0", "-O2")
    },
    "windows -O0": ([*ZIG, "-O0", "-target", "x86_64-windows-gnu"], [WINE]),
    "windows -O2": ([*ZIG, "-O2", "-target", "x86_64-windows-gnu"], [WINE]),
}


def main() -> None:
    """Build, run, say."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=60.0)
    reader.add_argument("--part", default="vehicle")
    reader.add_argument("--only", nargs="*", default=list(BUILDS))
    asked = reader.parse_args()
    different = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "export"
        export("c", Job("quad_f450", asked.part, seconds=asked.seconds, faults=FAULTS), folder)
        for name in asked.only:
            command, runner = BUILDS[name]
            missing = [word for word in (command[0], *runner) if not shutil.which(word)]
            if missing:
                print(f"{name:20} skipped: no {missing[0]}", flush=True)
                continue
            program = folder / ("run.exe" if "windows" in name else "run")
            sources = [*map(str, (folder / "src").glob("*.c")), str(folder / "test/back_to_back.c")]
            subprocess.run([*command, *EXACT, f"-I{folder / 'include'}", *sources, "-o", str(program)], check=True)
            done = subprocess.run(
                [*runner, str(program), str(folder / "test/vectors.bin")], capture_output=True, text=True
            )
            print(f"{name:20} {done.stdout.strip() or done.stderr[-200:]}", flush=True)
            different |= done.returncode != 0
    raise SystemExit(1 if different else 0)


if __name__ == "__main__":
    main()
