"""Native readers under libFuzzer: their C code with AddressSanitizer, UndefinedBehaviorSanitizer and coverage.

A harness is `native/NAME.c`. Before it stands the text of the reader as Ironbird builds it, with the tables that Python
hands to it (`fuzz/native_texts.py`). Inputs have the format of the target of that name in `targets/`, if there is one,
and share its corpus.

clang makes the fuzzer. Without it, gcc makes a program that replays the kept inputs under the same sanitizers. This
module imports nothing of Ironbird: atheris must see such imports.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.engine import Outcome


FOLDER = Path(__file__).parent / "native"
SANITIZERS = "address,undefined,float-cast-overflow"
FLAGS = ["-std=gnu11", "-g1", "-w", f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=all"]
CLANGS = ("clang", *(f"clang-{number}" for number in range(22, 12, -1)))
# Watching each comparison would take half the time and more: there are no words to be guessed, or they are in WORDS
WITHOUT_COMPARISONS = ("board_cable", "chip_board", "chip_bus", "stm32")
WITHOUT_RARITY = ("chip_board", "chip_bus")  # counting how rare each feature is would take a third of the time
WORDS = {"stm32": [0x45670123, 0xCDEF89AB, 0x05FA0004]}  # keys of the flash and of a reset
LIMIT_S = 120  # of one input, by the clock on the wall: libFuzzer knows no other, and the machine may be busy
MOST = {"mavlink": 1024, "px4_stream": 2048, "chip_bus": 64, "board_cable": 512, "chip_board": 64, "stm32": 384}


def names() -> list[str]:
    """All harnesses."""
    return sorted(path.stem for path in FOLDER.glob("*.c") if path.stem != "replay")


@functools.cache
def clang() -> str:
    """A clang that has libFuzzer; empty if there is none."""
    for name in CLANGS:
        if shutil.which(name) is None:
            continue
        tried = subprocess.run(
            [name, "-x", "c", "-", "-fsanitize=fuzzer", "-o", os.devnull],
            input="int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0; }",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if tried.returncode == 0:
            return name
    return ""


def build(name: str, folder: Path, *, compiler: str = "") -> Path:
    """The program of a harness: by clang one that fuzzes, by another compiler one that replays."""
    from fuzz.native_texts import TEXTS
    from ironbird.compiler import native

    compiler = compiler or clang()
    folder.mkdir(parents=True, exist_ok=True)
    fuzzes = "clang" in Path(compiler).name
    texts = TEXTS[name]()
    texts[0] += (
        (FOLDER / "check.h").read_text() + f'#line 1 "fuzz/native/{name}.c"\n' + (FOLDER / f"{name}.c").read_text()
    )
    if not fuzzes:
        texts.append((FOLDER / "replay.c").read_text())
    flags = [*FLAGS, f"-I{native.HEADERS}", *(["-O2", "-fsanitize=fuzzer"] if fuzzes else ["-O0"])]
    flags += ["-fno-sanitize-coverage=trace-cmp"] if fuzzes and name in WITHOUT_COMPARISONS else []
    mark = hashlib.sha256(repr((texts, compiler, flags)).encode()).hexdigest()[:16]
    program = folder / f"{name}-{mark}"
    if program.exists():
        return program
    sources = []
    for number, text in enumerate(texts):
        sources.append(folder / f"{name}-{number}.c")
        sources[-1].write_text(text)
    part = program.with_suffix(".part")
    done = subprocess.run(
        [compiler, *flags, *map(str, sources), "-lm", "-o", str(part)], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"{compiler} does not build the harness {name}:\n{done.stderr[-3000:]}")
    part.replace(program)
    return program


def kept(name: str) -> list[Path]:
    """The corpus of a reader, and inputs that once were finds."""
    from fuzz.target import CORPUS, REGRESSIONS

    folders = (CORPUS / name, REGRESSIONS / name)
    return sorted(path for folder in folders if folder.is_dir() for path in folder.iterdir())


def replay(name: str, folder: Path, *, compiler: str = "gcc") -> int:
    """Every kept input once, under sanitizers; raises with what the program said if one is a find."""
    program, paths = build(name, folder, compiler=compiler), kept(name)
    done = subprocess.run([program, *paths], capture_output=True, text=True, errors="replace", env=_environment())
    if done.returncode != 0:
        raise RuntimeError(f"{name}: code {done.returncode}\n{done.stderr[-4000:]}")
    return len(paths)


def _environment() -> dict[str, str]:
    return {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=8", "UBSAN_OPTIONS": "print_stacktrace=1"}


def _words(name: str, work: Path) -> list[str]:
    """The option that hands over words which are worth to be tried."""
    if name not in WORDS:
        return []
    path = work / f"{name}.dict"
    rows = ("".join(f"\\x{byte:02x}" for byte in word.to_bytes(4, "little")) for word in WORDS[name])
    path.write_text("".join(f'"{row}"\n' for row in rows))
    return [f"-dict={path}"]


def run(name: str, seconds: float, seed: int, work: Path) -> Outcome:
    """Fuzz a native reader for some seconds; what is found is kept below `work`."""
    from fuzz.engine import Outcome

    program = build(name, work / "native")
    corpus, finds = work / f"{name}-native", work / "finds"
    corpus.mkdir(parents=True, exist_ok=True)
    finds.mkdir(parents=True, exist_ok=True)
    first = work / f"{name}-native-kept"
    first.mkdir(exist_ok=True)
    for path in kept(name):
        shutil.copyfile(path, first / path.name)
    before, begin = set(finds.iterdir()), time.perf_counter()
    command = [
        str(program), str(corpus), str(first), f"-max_total_time={max(1, round(seconds))}", f"-seed={seed % 2**31 + 1}",
        f"-max_len={MOST.get(name, 512)}", f"-timeout={LIMIT_S}", "-print_final_stats=1", "-reload=0",
        f"-artifact_prefix={finds}/{name}-", *_words(name, work),
        f"-entropic={int(name not in WITHOUT_RARITY)}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=_environment())
    counts = re.findall(r"^stat::number_of_executed_units:\s*(\d+)", done.stderr, re.MULTILINE)
    outcome = Outcome(name, "libfuzzer", int(counts[-1]) if counts else 0, time.perf_counter() - begin)
    if done.returncode != 0:
        new = sorted(set(finds.iterdir()) - before)
        outcome.find, outcome.told = str(new[0]) if new else "", done.stderr[-3000:]
    return outcome
