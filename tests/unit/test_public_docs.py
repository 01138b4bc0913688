"""Every public name says what it takes, with types, units and defaults; the short examples run."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import ironbird
from ironbird.flight.order import Ordered, make_order

OBJECTS = {
    name: getattr(importlib.import_module(f"ironbird.{home}"), name)
    for home, names in ironbird._HOMES.items()
    for name in names.split()
}
CALLABLE = {name: thing for name, thing in OBJECTS.items() if inspect.isfunction(thing) or inspect.isclass(thing)}
WITHOUT = {"ControlSystem", "Kind", "Options", "IronbirdError", "Campaign"}  # made by nobody, or by subclasses


def section(text: str, title: str) -> list[str]:
    """The lines of a section of a numpydoc text."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[^\n]*\n-+$|\Z)", text, re.M | re.S)
    return found[1].splitlines() if found else []


def told(text: str) -> dict[str, str]:
    """Names of all arguments or attributes of a text, with what is said after them."""
    entries: dict[str, str] = {}
    for line in [*section(text, "Parameters"), *section(text, "Attributes")]:
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            entries |= dict.fromkeys(re.split(r", ", names), kind)
    return entries


def wanted(thing: Any) -> set[str]:
    """Names of the arguments of a function, or of the fields or arguments of a class."""
    if dataclasses.is_dataclass(thing):
        return {entry.name for entry in dataclasses.fields(thing) if not entry.name.startswith("_")}
    if hasattr(thing, "model_fields"):
        return {entry.alias or name for name, entry in thing.model_fields.items()}
    parameters = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing).parameters.values()
    names = {entry.name for entry in parameters if entry.kind is not entry.VAR_KEYWORD} - {"self"}
    return names | (set(Ordered.__annotations__) if thing is OBJECTS["fly"] else set())


@pytest.mark.parametrize("name", sorted(set(CALLABLE) - WITHOUT))
def test_every_argument_is_told(name: str) -> None:
    thing = CALLABLE[name]
    text = inspect.getdoc(thing) or ""
    assert set(told(text)) == wanted(thing)
    if inspect.isfunction(thing) and inspect.signature(thing).return_annotation != "None":
        assert section(text, "Returns") or section(text, "Yields")


@pytest.mark.parametrize("name", sorted(set(CALLABLE) - WITHOUT))
def test_every_argument_has_a_type_or_refers_to_another_name(name: str) -> None:
    text = inspect.getdoc(CALLABLE[name]) or ""
    lines = [*section(text, "Parameters"), *section(text, "Attributes")]
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if line and not line.startswith(" "):
            assert " : " in line or below.strip().startswith("As in `"), line
            assert below.startswith("    "), f"nothing is said of {line}"


@pytest.mark.parametrize("name", sorted(n for n in CALLABLE if inspect.isfunction(CALLABLE[n])))
def test_defaults_that_are_told_are_those_of_the_signature(name: str) -> None:
    function = CALLABLE[name]
    said = told(inspect.getdoc(function) or "")
    parameters = dict(inspect.signature(function).parameters)
    if function is OBJECTS["fly"]:
        parameters |= {
            n: p for n, p in inspect.signature(make_order).parameters.items() if n in Ordered.__annotations__
        }
    for key, entry in parameters.items():
        kind = said.get(key, "")
        if not kind or entry.kind is entry.VAR_KEYWORD:
            continue
        if entry.default is entry.empty:
            assert "optional" not in kind and "default" not in kind, f"{key} is needed"
        elif "default " in kind:
            value = kind.partition("default ")[2]
            if re.fullmatch(r"-?[\d.e+-]+|\".*\"|True|False|None|\(\)", value):
                assert eval(value) == entry.default, f"{key} is {entry.default!r}, not {value}"
        else:
            assert "optional" in kind, f"{key} may be left out"


def test_the_keywords_of_fly_are_those_of_an_order() -> None:
    assert set(Ordered.__annotations__) == set(inspect.signature(make_order).parameters) - {"vehicle", "control"}


@pytest.mark.parametrize("name", sorted(CALLABLE))
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in finder.find(CALLABLE[name], name, globs={"ib": ironbird}):
        assert runner.run(test).failed == 0, f"the example of {name} gives something else"
