"""Verbs that are loaded on demand: a command that flies does not load how campaigns are listed.

`ironbird --help` needs each verb's first sentence, but not its options; `ironbird fly --help` needs one verb.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, MutableMapping
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_group, solve_typer_info_help
from typer.models import CommandInfo, TyperInfo

from ironbird.cli.output import with_json

MARKUP: Literal["rich"] = "rich"  # of help texts
# What typer's help imports from rich, for texts in Markdown and for tracebacks, both of which help has not: 0.1 s
NOT_FOR_HELP = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}


class Verbs(MutableMapping[str, Any]):
    """Verbs by name, each built when it is asked for; `places` says where each one is, as 'module:name'."""

    def __init__(self, places: dict[str, str], no_figures: set[str]) -> None:
        self.places = places
        self.no_figures = no_figures  # verbs without `--json`
        self._built: dict[str, Any] = {}

    def found(self, name: str) -> Callable[..., None] | typer.Typer:
        """A verb's function or a group of verbs."""
        module, _, attribute = self.places[name].partition(":")
        found: Callable[..., None] | typer.Typer = getattr(import_module(f"ironbird.cli.{module}"), attribute)
        return found

    def summary(self, name: str) -> TyperCommand:
        """A verb without its options, for a list of verbs."""
        found = self.found(name)
        said = solve_typer_info_help(TyperInfo(found)) if isinstance(found, typer.Typer) else reflowed(found.__doc__)
        return TyperCommand(name, help=said, rich_markup_mode=MARKUP)

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            found = self.found(name)
            self._built[name] = self._group(name, found) if isinstance(found, typer.Typer) else self._verb(name, found)
        return self._built[name]

    def _verb(self, name: str, verb: Callable[..., None]) -> Any:
        info = self._info(name, CommandInfo(name, callback=verb))
        return get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode=MARKUP)

    def _group(self, name: str, group: typer.Typer) -> Any:
        own = copy.copy(group)
        own.info = copy.copy(group.info)
        own.info.cls, own.rich_markup_mode = Group, MARKUP
        own.registered_commands = [self._info(f"{name} {one.name}", one) for one in group.registered_commands]
        built = get_group(own)
        built.name = name
        return built

    def _info(self, path: str, registered: CommandInfo) -> CommandInfo:
        info, verb = copy.copy(registered), registered.callback
        assert verb is not None
        info.cls, info.help = Verb, reflowed(verb.__doc__)
        info.callback = verb if path in self.no_figures else with_json(verb)
        return info

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __setitem__(self, name: str, command: Any) -> None:
        raise TypeError(f"the verb '{name}' belongs into the table of places")

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"the verb '{name}' stays")


def reflowed(text: str | None) -> str:
    """A docstring whose paragraphs are lines: the terminal breaks them where it ends."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n"))


class Verb(TyperCommand):
    """A verb; its help loads what it needs, and only options that were given are converted."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, `--help` among them."""
        return _converted_if_given(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help of the verb."""
        _load_help()
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """A group of verbs; its help loads what it needs."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, `--help` among them."""
        return _converted_if_given(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the list of verbs."""
        _load_help()
        super().format_help(ctx, formatter)


def root_of(verbs: Verbs) -> type[TyperGroup]:
    """The kind of group that has these verbs."""

    class Root(Group):
        def __init__(self, **known: Any) -> None:
            super().__init__(**known)
            self.commands = verbs

        def list_commands(self, ctx: Any) -> list[str]:
            return list(verbs)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            listed = Group(name=self.name, commands={name: verbs.summary(name) for name in verbs}, params=self.params)
            listed.help, listed.rich_markup_mode = self.help, self.rich_markup_mode
            listed.format_help(ctx, formatter)

    return Root


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


def _load_help() -> None:
    """Import typer's help; parts of rich that it names and help does not use are loaded at their use."""
    stood_in = {name: _Later(name) for name in NOT_FOR_HELP if name not in sys.modules}
    sys.modules.update(stood_in)
    try:
        import_module("typer.rich_utils")
    finally:
        for name, module in stood_in.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


class _Later(ModuleType):
    """Stands for a module while another one imports a class from it."""

    def __getattr__(self, name: str) -> Any:
        if name != NOT_FOR_HELP[self.__name__]:
            raise AttributeError(name)
        return _LaterClass(self.__name__, name)


class _LaterClass:
    """Stands for a class: calls it and gives its attributes, and loads it then."""

    def __init__(self, module: str, name: str) -> None:
        self._place = module, name

    @functools.cached_property
    def _real(self) -> Any:
        module, name = self._place
        return getattr(import_module(module), name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._real(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __or__(self, other: Any) -> Any:
        return Any  # in annotations

    __ror__ = __or__
