"""Options of a control system on the command line: `fly --control px4 --help` shows those that PX4's kind declares."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer.main import get_command_from_info
from typer.models import CommandInfo

from ironbird.cli.completion import offer
from ironbird.cli.lazy import Verb, converted_if_given
from ironbird.cli.tree import OWNERS
from ironbird.cli.wrong_usage import words
from ironbird.errors import IronbirdError, UnknownNameError

BEGIN = "kind_"  # of names of parameters that hold options of a control system
ELSEWHERE = {"params"}  # given by options of the command itself
META = "ironbird.kind_options"
ARGS = "ironbird.words"  # of the command line, in the context


class KindVerb(Verb):
    """A command whose further options are those of the control system that `--control` names."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's own options and those of the control system."""
        return [*super().get_params(ctx), *ctx.meta.get(META, [])]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for the control system first: it decides which options there are."""
        ctx.meta[ARGS] = tuple(args)
        try:
            ctx.meta[META] = _params_for(args)
        except IronbirdError as error:
            if not ctx.resilient_parsing:
                typer.secho(f"error: {error}", fg="red", err=True)
                ctx.exit(2)
        return super().parse_args(ctx, args)

    def whose_option(self, ctx: Any, name: str) -> str:
        """Which control systems have an option that this command line's one has not; empty if none has it."""
        key = name.removeprefix("--").removeprefix("no-").replace("-", "_")
        if key not in OWNERS:
            return ""
        control = _value(ctx.meta.get(ARGS, ()), "--control")
        also = f"; '{control}' does not have it" if control else ""
        named = " or ".join(f"--control {owner}" for owner in OWNERS[key][:2])
        return f"{name} is an option of {words(OWNERS[key])}: add {named}{also}"

    def invoke(self, ctx: Any) -> Any:
        """Hand the options of the control system over in one piece, as far as they were given."""
        own = {key: ctx.params.pop(key) for key in list(ctx.params) if key.startswith(BEGIN)}
        ctx.meta[META] = {key.removeprefix(BEGIN): value for key, value in own.items() if value is not None}
        return super().invoke(ctx)


def given_options(context: typer.Context) -> dict[str, Any]:
    """The options of the control system that the command line gave."""
    return dict(context.meta.get(META) or {})


def spelled_out(control: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A control system by its name and options; the name of a front end is short for `commanded` under it."""
    from ironbird.flight.systems import INSIDE, OUTSIDE, system_names

    if control in INSIDE or control in OUTSIDE:
        return control, dict(options)
    from ironbird.systems.commanded.front import FRONTS

    if control not in FRONTS:
        known = [*system_names(), *(name for name in FRONTS if name != "mission")]
        raise UnknownNameError("control system", control, known, listed_by="ironbird system list")
    return "commanded", {"front": control, **options}


def _params_for(args: Sequence[str]) -> list[Any]:
    """Parameters of typer for the control system that a command line names; none if it names none outside."""
    control = _value(args, "--control")
    if not control:
        return []
    from ironbird.flight.systems import INSIDE, kind_of

    name, options = spelled_out(control, {})
    if name in INSIDE:
        return []
    kind = kind_of(name)
    deciding = {key: value for key in kind.deciding if (value := _value(args, f"--{key}") or options.get(key))}
    return params_of_model(kind.options_for(deciding), kind.title)


def _value(args: Sequence[str], name: str) -> str:
    """The value of an option in a command line that is not parsed yet."""
    for index, word in enumerate(args):
        if word == name and index + 1 < len(args):
            return args[index + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""


def params_of_model(model: Any, title: str) -> list[Any]:
    """Parameters of typer, all optional, for the fields of a pydantic model of options."""
    parameters = []
    for key, field in model.model_fields.items():
        if key in ELSEWHERE:
            continue
        limits: dict[str, Any] = {}
        for mark in field.metadata:
            limits |= {"min": mark.ge} if getattr(mark, "ge", None) is not None else {}
            limits |= {"max": mark.le} if getattr(mark, "le", None) is not None else {}
        kind = _plain(field.annotation)
        default = "" if field.default in (None, "") else f" [{_text(field.default)}]"
        name = f"--{key.replace('_', '-')}"
        option = typer.Option(
            f"{name}/--no-{name[2:]}" if kind is bool else name,
            help=f"{field.description or ''}{default}",
            rich_help_panel=f"Options of {title}",
            **(limits if kind in (int, float) else {}),
        )
        parameters.append(
            inspect.Parameter(
                f"{BEGIN}{key}",
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[Union[kind, None], option],  # noqa: UP007
            )
        )

    def stub() -> None: ...

    stub.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    stub.__annotations__ = {p.name: p.annotation for p in parameters}
    command = get_command_from_info(
        CommandInfo("stub", callback=stub), pretty_exceptions_short=True, rich_markup_mode="rich"
    )
    params = converted_if_given(list(command.params))
    offer(params, "")
    return params


def _plain(annotation: Any) -> Any:
    """A type that typer reads: without None, and text for what is neither number, choice nor switch."""
    options = [one for one in get_args(annotation) if one is not type(None)]
    if get_origin(annotation) is Literal or annotation in (bool, int, float, str):
        return annotation
    return _plain(options[0]) if options and get_origin(annotation) is not Literal else str


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
