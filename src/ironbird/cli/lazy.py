"""Verbs that are loaded on demand: a command that flies does not load how campaigns are listed.

`ironbird --help` needs each verb's first sentence, but not its options; `ironbird fly --help` needs one verb.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_group, solve_typer_info_help
from typer.models import CommandInfo, TyperInfo

from ironbird.cli.output import with_json
from ironbird.errors import IronbirdError
from ironbird.files.registry import Registry

MARKUP: Literal["rich"] = "rich"  # of help texts


class Verb(TyperCommand):
    """A verb; only options that were given are converted."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, `--help` among them."""
        return _converted_if_given(super().get_params(ctx))


class Group(TyperGroup):
    """A group of verbs; only options that were given are converted. With a verb `find`, other words are looked for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb, and the rest of the line."""
        if "find" in self.commands and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["find", *args]
        return super().resolve_command(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, `--help` among them."""
        return _converted_if_given(super().get_params(ctx))


def lazy_group(verbs: Registry[Any], no_figures: set[str]) -> type[TyperGroup]:
    """The kind of group whose verbs are loaded when they are asked for.

    A verb is a function or a group of verbs; those in `no_figures` have no `--json`.
    """

    class Lazy(Group):
        def __init__(self, **known: Any) -> None:
            super().__init__(**known)
            self.commands: Any = _Verbs(verbs, no_figures)

        def list_commands(self, ctx: Any) -> list[str]:
            return list(verbs)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            summaries = {name: _summary(name, verbs) for name in verbs}
            listed = Group(name=self.name, commands=summaries, params=self.params)
            listed.help, listed.rich_markup_mode = self.help, self.rich_markup_mode
            listed.format_help(ctx, formatter)

    return Lazy


class _Verbs(Mapping[str, Any]):
    """Verbs by name, each built when it is asked for."""

    def __init__(self, verbs: Registry[Any], no_figures: set[str]) -> None:
        self._verbs, self._no_figures = verbs, no_figures
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            if name not in self._verbs:
                raise KeyError(name)
            verb = self._verbs.load(name)
            if isinstance(verb, typer.Typer):
                self._built[name] = _group(name, verb, self._no_figures)
            else:
                info = _info(CommandInfo(name, callback=verb), figures=name not in self._no_figures)
                self._built[name] = get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode=MARKUP)
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._verbs)

    def __len__(self) -> int:
        return len(self._verbs)


def _summary(name: str, verbs: Registry[Any]) -> Any:
    """A verb without its options, for a list of verbs; one of a package that cannot be loaded says so."""
    try:
        verb = verbs.load(name)
        text = solve_typer_info_help(TyperInfo(verb)) if isinstance(verb, typer.Typer) else reflowed(verb.__doc__)
    except IronbirdError as error:
        text = str(error)
    return TyperCommand(name, help=text, rich_markup_mode=MARKUP)


def _group(name: str, group: typer.Typer, no_figures: set[str]) -> Any:
    own = copy.copy(group)
    own.info = copy.copy(group.info)
    own.info.cls, own.rich_markup_mode = Group, MARKUP
    own.registered_commands = [
        _info(one, figures=f"{name} {one.name}" not in no_figures) for one in group.registered_commands
    ]
    built = get_group(own)
    built.name = name
    return built


def _info(registered: CommandInfo, *, figures: bool) -> CommandInfo:
    info, verb = copy.copy(registered), registered.callback
    assert verb is not None
    info.cls, info.help = Verb, reflowed(verb.__doc__)
    info.callback = with_json(verb) if figures else verb
    return info


def reflowed(text: str | None) -> str:
    """A docstring whose paragraphs are lines: the terminal breaks them where it ends."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n"))


def _converted_if_given(params: list[Any]) -> list[Any]:
    """Let typer make its converter of a parameter, for which it loads pydantic, only if there is a value to convert."""
    for param in params:
        make = getattr(param, "get_runtime_param", None)  # earlier versions of typer have none
        if make is not None and not isinstance(make, _Converter):
            param.get_runtime_param = _Converter(make)
    return params


class _Converter:
    """Typer's converter of a parameter, made at its first use."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __call__(self) -> _Converter:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the verb takes it; nothing stays nothing."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        return self._make().coerce(value, param=param, ctx=ctx)
