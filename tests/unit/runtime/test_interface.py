"""The mirror of the kernel's structures is compared field by field."""

from __future__ import annotations

import ctypes

import pytest
from parts import Lag

from ironbird import CompiledModel, Diagram, advance, compile_model, start
from ironbird.compiler.native import cache_folder
from ironbird.errors import RunError
from ironbird.runtime import interface
from ironbird.runtime.interface import EventRecord, RunArgs


@pytest.fixture(scope="module")
def lag() -> CompiledModel:
    diagram = Diagram("lag")
    block = diagram.add("lag", Lag())
    diagram.export(block.u)
    return compile_model(diagram)


def swapped(structure: type[ctypes.Structure], one: str, other: str) -> type[ctypes.Structure]:
    kinds = dict(structure._fields_)  # type: ignore[arg-type]
    names = [{one: other, other: one}.get(name, name) for name in kinds]
    return type("Swapped", (ctypes.Structure,), {"_fields_": [(name, kinds[name]) for name in names]})


@pytest.mark.parametrize(
    ("name", "structure", "one", "other"),
    [("ib_event", EventRecord, "start", "end"), ("ib_run_args", RunArgs, "log_rows", "log_first")],
)
def test_two_swapped_fields_are_found(
    lag: CompiledModel,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    structure: type[ctypes.Structure],
    one: str,
    other: str,
) -> None:
    advance(start(lag))  # the true mirror agrees
    there, here = (getattr(structure, field).offset for field in (one, other))
    monkeypatch.setitem(interface.STRUCTURES, name, swapped(structure, one, other))
    monkeypatch.setattr(interface, "_checked", set())
    with pytest.raises(RunError) as error:
        advance(start(lag))
    assert str(error.value) == (
        f"the kernel and this version of Ironbird disagree about {name}.{one}: {there} there, {here} here; "
        f"empty the cache folder {cache_folder()}"
    )


def test_a_constant_that_differs_is_found(lag: CompiledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interface, "STACK", 64)
    monkeypatch.setattr(interface, "_checked", set())
    with pytest.raises(RunError, match="disagree about IB_STACK: 32 there, 64 here"):
        advance(start(lag))
