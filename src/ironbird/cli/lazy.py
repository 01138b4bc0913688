"""Commands that are loaded on demand: a command that flies does not load how campaigns are listed.

`ironbird --help` needs the first sentence of each command, but not its options; `ironbird fly --help` needs one
command.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_group
from typer.models import CommandInfo

from ironbird.cli.completion import offer
from ironbird.cli.exit_codes import WRONG
from ironbird.cli.former import renamed
from ironbird.cli.output import with_json
from ironbird.cli.tree import NO_FIGURES, PANELS, SUMMARIES, VERBS
from ironbird.cli.wrong_usage import UsageError, is_finite, usage_hint, usage_sentence
from ironbird.errors import IronbirdError

MARKUP: Literal["rich"] = "rich"  # of help texts
NAME_WIDTH = 12  # of commands in the list of all
WELCOME = """\
Ironbird tests control systems of unmanned vehicles in simulation.

  ironbird fly quad_f450                       fly a quadcopter, judge it, write a page
  ironbird open                                show the last page in the browser
  ironbird fly quad_f450 --wind 5,270 --fault rotor.speed_loss@1:instance=1,severity=0.2,start=5
  ironbird app                                 fly and break vehicles live in the browser
  ironbird campaign run safety --sample 48     fly many faulted cases and report them
  ironbird fly quad_f450 --control px4         fly under PX4 (ironbird doctor: what is installed)

'ironbird --help' lists all commands, 'ironbird COMMAND --help' explains one.
Tab completes names: ironbird --install-completion"""


class Verb(TyperCommand):
    """A command; only options that were given are converted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; an error knows of which command it is."""
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """The arguments and options, `--help` among them."""
        return converted_if_given(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, in which no example is cut."""
        _fold_long_words()
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """A group that does something of its own, with options; only those that were given are converted."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, `--help` among them."""
        return converted_if_given(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, in which no example is cut."""
        _fold_long_words()
        super().format_help(ctx, formatter)


class Branch(TyperGroup):
    """A group of commands, loaded when they are asked for; the whole tree is the group with the empty path."""

    def __init__(self, path: str = "", **known: Any) -> None:
        super().__init__(**known)
        self.path = path
        self.commands: Any = _Verbs(path)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands of this group."""
        return list(self.commands)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, `--help` among them."""
        return converted_if_given(super().get_params(ctx))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **known: Any,
    ) -> Any:
        """Run the command line; what is wrong with it is printed as a sentence, with exit code 2."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **known)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **known)
        except UsageError as error:
            if type(error).__name__ != "NoArgsIsHelpError":  # that one has printed the help
                typer.secho(f"error: {usage_sentence(error)}", fg="red", err=True)
                typer.echo(usage_hint(error), err=True)
            sys.exit(WRONG)
        except typer.Abort:
            typer.echo("aborted", err=True)
            sys.exit(1)
        sys.exit(code if isinstance(code, int) else 0)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace a former name of a command by the present one; without any word, say what to do first."""
        if not self.path and not ctx.resilient_parsing:
            if not args:
                typer.echo(WELCOME)
                ctx.exit()
            args = renamed(args)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The whole tree as a list of one line each; a group as typer prints groups."""
        if not self.path:
            typer.echo(overview())
            return
        _fold_long_words()
        listed = TyperGroup(name=self.name, commands={name: self._summary(name) for name in self.commands})
        listed.params, listed.help, listed.rich_markup_mode = self.params, self.help, MARKUP
        listed.format_help(ctx, formatter)

    def _summary(self, name: str) -> Any:
        """A command without its options, for a list; one of a package that cannot be loaded says so."""
        return TyperCommand(name, help=summary(f"{self.path}.{name}".lstrip(".")), rich_markup_mode=MARKUP)


def _fold_long_words() -> None:
    from ironbird.cli.help_tables import fold_long_words  # and with it what prints tables

    fold_long_words()


class _Verbs(Mapping[str, Any]):
    """The commands below a path by name, each built when it is asked for."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            if name not in list(self):
                raise KeyError(name)
            self._built[name] = _build(f"{self._path}.{name}".lstrip("."), name)
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        begin = f"{self._path}." if self._path else ""
        names = (path.removeprefix(begin).partition(".")[0] for path in VERBS if path.startswith(begin))
        return iter(dict.fromkeys(names))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _build(path: str, name: str) -> Any:
    if path not in VERBS:
        return Branch(path, name=name, help=SUMMARIES.get(path, ""), no_args_is_help=True, rich_markup_mode=MARKUP)
    verb = VERBS.load(path)
    if isinstance(verb, typer.Typer):
        group = get_group(verb)
        group.name = name
        offer(group.params, path)
        return group
    info = CommandInfo(name, callback=verb if path in NO_FIGURES else with_json(verb), help=reflowed(verb.__doc__))
    info.cls = getattr(verb, "command_class", Verb)
    info.context_settings = getattr(verb, "context_settings", None)
    command = get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode=MARKUP)
    offer(command.params, path)
    return command


def overview() -> str:
    """All commands, a line each, by what people want to do."""
    placed = {name for names in PANELS.values() for name in names}
    more = tuple(name for name in _Verbs("") if name not in placed)
    lines = ["Usage: ironbird COMMAND [ARGUMENTS] [OPTIONS]", ""]
    lines += ["Test control systems of unmanned vehicles: models, faults, verdicts that repeat."]
    for title, names in {**PANELS, **({"More": more} if more else {})}.items():
        lines += ["", typer.style(title, bold=True)]
        lines += [f"  {name:<{NAME_WIDTH}}{_cut(SUMMARIES.get(name) or summary(name))}" for name in names]
    lines += ["", "  COMMAND --help explains one; --version; --install-completion for Tab"]
    return "\n".join(lines)


def _cut(text: str, width: int = 80 - NAME_WIDTH - 2) -> str:
    """The first sentence, as much of it as fits in a line."""
    first = text.partition(". ")[0].rstrip(".")
    return first if len(first) <= width else first[: width - 1].rstrip() + "…"


def summary(path: str) -> str:
    """What a command or group does, in its first paragraph; of a package that cannot be loaded, why."""
    if path not in VERBS:
        return SUMMARIES.get(path, "")
    try:
        verb = VERBS.load(path)
    except IronbirdError as error:
        return str(error)
    return SUMMARIES[path] if isinstance(verb, typer.Typer) else reflowed(verb.__doc__)


def reflowed(text: str | None) -> str:
    """A docstring whose paragraphs are lines, for terminals of any width; square brackets are no markup."""
    paragraphs = (" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n"))
    return "\n\n".join(paragraphs).replace("[", r"\[")


def converted_if_given(params: list[Any]) -> list[Any]:
    """Let typer make its converter of a parameter, for which it loads pydantic, only if there is a value to convert."""
    for param in params:
        make = getattr(param, "get_runtime_param", None)  # earlier versions of typer have none
        if make is not None and not isinstance(make, _Converter):
            param.get_runtime_param = _Converter(make)
            param.help = literal(param.help)
    return params


def literal(text: str | None) -> str | None:
    """A help text whose words in square brackets are printed and not taken as markup."""
    return text.replace("[", r"\[") if text else text


class _Converter:
    """Typer's converter of a parameter, made at its first use."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __call__(self) -> _Converter:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the command takes it; None, or an empty tuple where several may be given, if there is none."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        made = self._make()
        try:
            found = made.coerce(value, param=param, ctx=ctx)
            if not is_finite(found):
                raise typer.BadParameter("it is not a finite number", ctx=ctx, param=param)
        except typer.BadParameter as error:
            info = made.parameter_info
            error.wrong_value, error.wrong_type = value, made.annotation  # type: ignore[attr-defined]
            error.wrong_limits = (info.min, info.max)  # type: ignore[attr-defined]
            raise
        return found
