"""Native code under AddressSanitizer and UndefinedBehaviorSanitizer: same results, no report; and reports do come."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ironbird.compiler.native import sanitizer_environment
from ironbird.errors import CompileError

ROOT = Path(__file__).parents[2]
PRELUDE = f"""
import dataclasses, sys
sys.path.insert(0, {str(ROOT / "tests" / "unit")!r})
from parts import Lag
import ironbird as ib
from ironbird.compiler import native
from ironbird.compiler.generate import Source
from ironbird.conditions.names import Names
from ironbird.conditions.trigger import compile_trigger
from ironbird.runtime import events, state as states, step

diagram = ib.Diagram("lag")
diagram.export(diagram.add("lag", Lag()).u)
model = ib.compile_model(diagram)

def patched(old, new):
    loop = (native.HEADERS / "ib_loop.h").read_text()
    assert old in loop
    text = model.source.text.replace('#include "ib_loop.h"', loop.replace(old, new))
    return dataclasses.replace(model, source=Source(text, {{}}), _libraries={{}})
"""
BROKEN = {
    "a stack that is too small": (
        "stack-buffer-overflow",
        """
kernel = patched("const ib_f *at[IB_STACK];", "const ib_f *room[2], **at = room;")
state = ib.start(kernel)
when = compile_trigger("1 s + (1 s + (1 s + (1 s + (1 s + time)))) > 9 s", Names.of(kernel))
state.add_event(ib.ParamEvent("lag.gain", 2.0, when=when))
ib.advance(state, 20)
""",
    ),
    "an array that is too short": (
        "heap-buffer-overflow",
        """
import numpy as np
step.check_state = lambda state: None
state = ib.start(model, lanes=9)
state.params = np.zeros((1, 3, 8))
ib.advance(state, 1)
""",
    ),
    "times beyond 64 bits": (
        "signed integer overflow",
        """
state = ib.start(model)
state.tick = 100
state.add_event(ib.ParamEvent("lag.gain", 2.0, when=compile_trigger("time > 0 s", Names.of(model))))
state.kernel_events = step.kernel_events(state)
state.kernel_events.records[0].start = 2**63 - 1
ib.advance(state, 20)
""",
    ),
}


def environment() -> dict[str, str]:
    try:
        return os.environ | sanitizer_environment() | {"PYTHONPATH": os.pathsep.join(sys.path)}
    except CompileError as error:
        return pytest.fail(str(error)) if os.environ.get("CI") else pytest.skip(str(error))


def test_the_sanitized_build_gives_the_same_results_and_reports_nothing() -> None:
    environment()
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(ROOT / "tools" / "sanitize.py"), "--quick"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("same ") == 7 and done.stdout.count("passed ") == 3
    assert "0 different, no report" in done.stdout


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_kernel_is_reported(what: str) -> None:
    says, code = BROKEN[what]
    variables = environment()
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code],
        env=variables,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert done.returncode != 0
    assert says in done.stderr, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
