"""Long work is reported to whoever listens, and to nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.compiler import native
from ironbird.compiler.compiled import compile_model
from ironbird.files.work import Work, listening, working
from ironbird.vehicles.load import load_vehicle


class Heard:
    """A listener that keeps what it gets."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.shares: list[float | None] = []

    def begin(self, work: Work) -> None:
        self.said.append(f"begin {work.what}")

    def end(self, work: Work) -> None:
        self.said.append(f"end {work.what}")
        self.shares.append(work.share)


def test_listener_gets_begin_progress_and_end_also_of_work_that_fails() -> None:
    heard = Heard()
    with listening(heard):
        with working("outer") as update, working("inner"):
            update(0.25)
        with pytest.raises(ZeroDivisionError), working("in vain"):
            _ = 1 / 0
    with working("unheard") as update:
        update(0.5)
    assert heard.said == ["begin outer", "begin inner", "end inner", "end outer", "begin in vain", "end in vain"]
    assert heard.shares == [None, 0.25, None]


def test_inner_listener_replaces_the_outer_one_until_it_ends() -> None:
    outer, inner = Heard(), Heard()
    with listening(outer):
        with listening(inner), working("inside"):
            pass
        with listening(None), working("hidden"):
            pass
        with working("outside"):
            pass
    assert inner.said == ["begin inside", "end inside"]
    assert outer.said == ["begin outside", "end outside"]


def test_model_is_reported_when_it_is_compiled_and_not_when_it_is_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("IRONBIRD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(native, "_loaded", {})
    diagram = load_vehicle("quad_f450", control="external").diagram
    cold, warm = Heard(), Heard()
    with listening(cold):
        compile_model(diagram).library(1)
    with listening(warm):
        compile_model(diagram).library(1)
    assert [line for line in cold.said if line.startswith("begin")] == [
        f"begin writing the equations of {diagram.name} as C, once",
        f"begin compiling the model of {diagram.name}, once",
    ]
    assert warm.said == []
