"""What is wrong with a command line in a sentence: unknown commands and options, wrong values, what is missing.

The parser says only that something is wrong. Here its errors become sentences as all others of Ironbird: the place,
the value, and a cure, which is the nearest name in the whole tree of commands, the list of choices, or the range.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args, get_origin

import typer

from ironbird.cli.tree import SYNONYMS, VERBS
from ironbird.errors import MOST_LISTED, shortened

UsageError: Any = typer.BadParameter.__bases__[0]  # what typer's parser raises; typer itself does not name it
_COMMAND = re.compile(r"No such command '(.*?)'\.", re.DOTALL)
_EXTRA = re.compile(r"Got unexpected extra arguments?\(?s?\)? \((.*)\)$", re.DOTALL)
NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}


def usage_sentence(error: Any) -> str:
    """The sentence of an error of the parser; its own words if there is nothing to add to them."""
    ctx, param = getattr(error, "ctx", None), getattr(error, "param", None)
    message = str(error.format_message())
    if ctx is None:
        return message
    if hasattr(error, "possibilities"):
        return _unknown_option(ctx, str(error.option_name))
    if found := _COMMAND.search(message):
        return _unknown_command(ctx, found[1])
    if found := _EXTRA.search(message):
        return _extra(ctx, found[1])
    if hasattr(error, "option_name"):
        return _without_value(ctx, str(error.option_name), message)
    if hasattr(error, "param_type") and param is not None:
        return f"{_place(param)} is missing: {_help(param)}"
    if hasattr(error, "wrong_value") and param is not None:
        cure = wanted(error.wrong_type, error.wrong_limits, error.wrong_value)
        return f"{_place(param)} '{shortened(error.wrong_value)}': {cure or error.message}"
    return message


def usage_hint(error: Any) -> str:
    """How to learn more about the command that was called in a wrong way."""
    ctx = getattr(error, "ctx", None)
    return f"'{path_of(ctx)} --help' explains it" if ctx is not None else "'ironbird --help' lists all commands"


def path_of(ctx: Any) -> str:
    """The words of a command: `ironbird vehicle trim`, however the program itself was started."""
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    return " ".join(["ironbird", *words])


def wanted(kind: Any, limits: tuple[Any, Any], value: object) -> str:
    """The cure for a value of a wrong type or outside its limits; empty if the type says nothing."""
    inner = [one for one in get_args(kind) if one is not type(None)]
    if get_origin(kind) is Literal:
        choices = [str(choice) for choice in get_args(kind)]
        near = difflib.get_close_matches(str(value), choices, n=1, cutoff=0.5)
        return f"give one of {', '.join(choices)}" + (f"; did you mean '{near[0]}'?" if near else "")
    if kind not in NUMBERS and inner:
        return wanted(inner[0], limits, value)
    if kind not in NUMBERS:
        return ""
    if not is_finite(_number(value)):
        return f"give {NUMBERS[kind]} that is finite"
    low, high = (None if limit is None else str(int(limit) if limit == int(limit) else limit) for limit in limits)
    between = f" from {low} to {high}" if low and high else f" of at least {low}" if low else ""
    return f"give {NUMBERS[kind]}{between or (f' of at most {high}' if high else '')}"


def _number(value: object) -> float:
    """A value as a number; 0 if it is none."""
    try:
        return float(str(value))
    except ValueError:
        return 0.0


def is_finite(value: object) -> bool:
    """Whether a value, or each in a list, is no infinite number and no NaN."""
    if isinstance(value, list | tuple):
        return all(map(is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


# ---------------------------------------------------------------------- names


def _unknown_command(ctx: Any, name: str) -> str:
    """The nearest commands of the group, and of the whole tree: by what people call them, then by spelling."""
    group = path_of(ctx)
    here = list(ctx.command.list_commands(ctx))
    meant = [f"ironbird {path}" for path in SYNONYMS.get(name.lower(), ())]
    if name.lower() in STARTS:  # the verb of this group that starts something comes before those of other groups
        meant = [f"{group} {verb}" for verb in here if verb in STARTS] or meant
    if not meant:
        meant = [f"{group} {near}" for near in difflib.get_close_matches(name, here, n=3)]
        meant = [*meant, *(path for path in _elsewhere(name) if path not in meant)][:4]
    if not meant and ctx.parent is None and name in _vehicles():
        meant = [f"ironbird fly {name}"]
    hint = f"did you mean {_or(meant)}?" if meant else f"known: {', '.join(here)}"
    of = f" of '{group}'" if ctx.parent is not None else ""
    return f"No such command '{shortened(name)}'{of}; {hint}"


def _elsewhere(name: str) -> list[str]:
    """Commands anywhere in the tree whose last word is this one, or nearly so."""
    last: dict[str, list[str]] = {}
    for path in VERBS:
        *_, word = path.split(".")
        last.setdefault(word, []).append("ironbird " + path.replace(".", " "))
    near = difflib.get_close_matches(name, [word for word in last if word not in COMMON], n=2, cutoff=0.8)
    return [path for word in near for path in last[word]]


STARTS = ("run", "fly")  # what people call the verb that starts something
COMMON = {"list", "show", "check", "schema", "import"}  # words that many groups have


def _vehicles() -> list[str]:
    from ironbird.cli.completion import vehicle_names

    return vehicle_names("")


def _unknown_option(ctx: Any, name: str) -> str:
    """The nearest option of the command; one of a control system is named with its owner."""
    command = ctx.command
    if (whose := getattr(command, "whose_option", None)) and (text := whose(ctx, name)):
        return str(text)
    options = [opt for param in command.get_params(ctx) for opt in (*param.opts, *param.secondary_opts)]
    options = [opt for opt in options if opt.startswith("-")]
    words = {opt.lstrip("-"): opt for opt in options}
    near = [words[word] for word in difflib.get_close_matches(name.lstrip("-"), words, n=2, cutoff=0.6)]
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif len(options) <= MOST_LISTED:
        hint = f"its options: {', '.join(options)}"
    else:
        hint = f"its options: {', '.join(options[:MOST_LISTED])}, … ({len(options)} in all)"
    return f"No such option: {shortened(name)} of '{path_of(ctx)}'; {hint}"


def _without_value(ctx: Any, name: str, message: str) -> str:
    """An option that needs a value and has none; or has one and takes none."""
    param = next((one for one in ctx.command.get_params(ctx) if name in (*one.opts, *one.secondary_opts)), None)
    if param is None or "not take a value" in message:
        return f"{name} takes no value: write {name} alone"
    return f"{name} needs a value: {_help(param)}"


def _extra(ctx: Any, words: str) -> str:
    takes = [str(param.name).upper() for param in ctx.command.get_params(ctx) if param.param_type_name == "argument"]
    return (
        f"unexpected argument '{shortened(words)}': '{path_of(ctx)}' takes {' '.join(takes) or 'options only'}; put "
        "quotation marks round a text with blanks"
    )


def _place(param: Any) -> str:
    return f"argument {str(param.name).upper()}" if param.param_type_name == "argument" else str(param.opts[-1])


def _help(param: Any) -> str:
    return (getattr(param, "help", None) or "give it").replace("\\[", "[")


def _or(names: Sequence[str]) -> str:
    return " or ".join(f"'{name}'" for name in names)


def words(names: Iterable[str]) -> str:
    """Names with commas, and 'and' before the last."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
