"""The commands `app` and `app do`: the live rig as a page in the browser, and its actions from a terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.completion import action_arguments, action_names
from ironbird.cli.lazy import Group, Verb
from ironbird.cli.options import LIST_HELP, OutPathOption, StoreOption, check_store
from ironbird.cli.output import errors, print_json, shown_in_browser
from ironbird.errors import LinkError, UnknownNameError, shortened

if TYPE_CHECKING:
    from ironbird.app.security import Door

TOKEN = "IRONBIRD_APP_TOKEN"
WAIT_S = 120.0  # for an answer: ending a flight judges it and writes its report
UrlOption = Annotated[
    str, typer.Option(help="The address that 'ironbird app' printed, with its token.", envvar="IRONBIRD_APP")
]


app_group = typer.Typer(invoke_without_command=True, cls=Group)


@app_group.callback()
def app(
    context: typer.Context,
    http_port: Annotated[int, typer.Option(help="Port of the page; 0 is any free one.", min=0, max=65535)] = 8350,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    out: OutPathOption = Path("out/app"),
    logs: Annotated[Path, typer.Option(help="Logs below this folder can be replayed.")] = Path("out"),
    store: StoreOption = None,
    route: Annotated[
        list[Path] | None, typer.Option(help="A route file: its router runs beside, its packets are watched too.")
    ] = None,
) -> None:
    """Open a page in the browser: fly, watch, break, tune and judge vehicles while they run. Ctrl-C ends it.

    The address holds a token: whoever has it can fly. A second address is for guests, who may only look. It listens on
    this machine alone; from another one, use 'ssh -L 8350:127.0.0.1:8350'. What was flown is kept in its folder and
    repeats bit for bit by 'ironbird repeat FOLDER'. Needs the extra 'app'.

    A new token is made each time, or taken from IRONBIRD_APP_TOKEN.

    Example: ironbird app --http-port 8351
    """
    if context.invoked_subcommand:
        return
    from ironbird.transport.router.route_file import read_route

    with errors():
        routes = {file.stem: read_route(file) for file in route or []}
        check_store(store)
    from ironbird.app.records import Campaigns
    from ironbird.app.rig import Rig
    from ironbird.app.security import GUEST
    from ironbird.app.server import check_extra, serve

    def ready(door: Door) -> None:
        typer.echo(f"open:   {door.url()}")
        typer.echo(f"guests: {door.url(GUEST)}")
        typer.echo("Ctrl-C ends all flights and keeps what was flown")
        if not no_browser and not shown_in_browser(door.url()):
            typer.echo("no browser was found on this computer: open the address above in one")

    campaigns = Campaigns(store)
    with errors():
        check_extra()
        campaigns.check()  # before anything flies
    with errors(), Rig(out, campaigns) as rig:
        for name, read in routes.items():
            rig.route(name, read)
        serve(rig, port=http_port, token=os.environ.get(TOKEN, ""), logs=logs, ready=ready)


@app_group.command("do", cls=Verb)
def app_do(
    action: Annotated[
        str | None,
        typer.Argument(help="start, pause, take_off, inject, …: 'app do --list' has all.", autocompletion=action_names),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE…", help="Its arguments.", autocompletion=action_arguments),
    ] = None,
    url: UrlOption = "",
    list_: Annotated[bool, typer.Option("--list", help=LIST_HELP)] = False,
) -> None:
    """Do what the page's buttons do, to a running 'ironbird app': print the answer as JSON.

    Without flight=NAME it is done to the only flight that there is. Exit code 1 if the app refuses it.

    Examples: ironbird app do start vehicle=quad_f450 wind_mps=5 --url http://127.0.0.1:8350/?token=…
    ironbird app do inject flight=quad_f450-1 fault=rotor.speed_loss@1:instance=1,severity=0.2
    """
    with errors():
        if list_ or action is None:
            _list_actions(asked=list_)
            return
        _check_action(action)
        base, _, token = url.partition("/?token=")
        if not base.startswith("http://") or not token:
            raise LinkError("give --url (or IRONBIRD_APP) as 'ironbird app' printed it: http://127.0.0.1:PORT/?token=…")
        answer = _asked(base, token, {"do": action, **dict(map(_pair, values or []))})
    print_json({"action": action, **answer}, "ironbird/app-answer/1")
    if not answer["ok"]:
        typer.secho(f"refused: {answer['error']}", fg="red", err=True)
    raise typer.Exit(0 if answer["ok"] else 1)


def _list_actions(*, asked: bool) -> None:
    from ironbird.app.actions import ACTIONS, usage

    if not asked:
        raise LinkError("argument ACTION is missing: 'ironbird app do --list' lists all actions with their arguments")
    for name in ACTIONS:
        typer.echo(f"{name:<12}{usage(name)}")
    typer.echo("What stands in square brackets may be left out; without flight=NAME the only flight is meant.")


def _check_action(action: str) -> None:
    """Refuse an unknown action before the app is asked."""
    from ironbird.app.actions import ACTIONS

    if action not in ACTIONS:
        raise UnknownNameError("action", action, ACTIONS, listed_by="ironbird app do --list")


def _pair(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise LinkError(f"'{shortened(text)}' is not KEY=VALUE; for example vehicle=quad_f450")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _asked(base: str, token: str, what: dict[str, Any]) -> dict[str, Any]:
    import urllib.error
    import urllib.request

    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{base}/do", json.dumps(what).encode(), headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is on this machine
    try:
        with opener.open(request, timeout=WAIT_S) as reply:
            return dict(json.loads(reply.read()))
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        try:
            return dict(json.loads(text))
        except ValueError:
            raise LinkError(f"{base}: {text.strip()[:300]}") from None
    except OSError as error:
        raise LinkError(f"no app answers at {base} ({error}): start one by 'ironbird app'") from None
