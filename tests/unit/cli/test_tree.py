"""The tree of commands: one meaning for an option, help that fits a screen, former names that lead to the present."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ironbird.cli.former import MOVED, REWRITERS, renamed
from ironbird.cli.kind_options import params_of_model
from ironbird.cli.main import app
from ironbird.cli.tree import NO_FIGURES, PANELS, VERBS
from ironbird.flight.systems import loadable_kinds
from ironbird.systems.commanded.front import FRONTS, front_type

ROOT = typer.main.get_command(app)


def commands(command: Any = ROOT, path: str = "") -> Iterator[tuple[str, Any]]:
    """All commands that do something, by their dotted path."""
    below = getattr(command, "commands", {})
    if not below or command.invoke_without_command:
        yield path, command
    for name in below:
        yield from commands(below[name], f"{path}.{name}".lstrip("."))


def options() -> Iterator[tuple[str, Any]]:
    """All options of all commands and control systems."""
    for path, command in commands():
        yield from ((path, one) for one in command.params if one.param_type_name == "option")
    for kind in loadable_kinds():
        yield from ((f"fly --control {kind.name}", one) for one in params_of_model(kind.options, kind.title))
    for name in FRONTS:
        yield from ((f"fly --control {name}", one) for one in params_of_model(front_type(name).options_type, name))


def test_an_option_has_one_meaning_and_one_help_text_everywhere() -> None:
    texts: dict[str, dict[str, list[str]]] = {}
    for path, option in options():
        for name in option.opts:
            text = (option.help or "").partition(" \\[")[0]
            texts.setdefault(name, {}).setdefault(text, []).append(path)
    several = {name: found for name, found in texts.items() if len(found) > 1}
    assert not several, "\n".join(f"{name}: {found}" for name, found in several.items())


def test_the_list_of_commands_fits_a_screen() -> None:
    lines = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    assert all(any(line.startswith(f"  {name} ") for line in lines) for names in PANELS.values() for name in names)
    assert not any("…" in line for line in lines)


def test_a_bare_command_says_in_a_dozen_lines_what_to_do_first() -> None:
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 0 and len(done.output.splitlines()) <= 12 and "ironbird fly quad_f450" in done.output


def test_every_command_of_the_table_is_built_with_a_help_text() -> None:
    found = dict(commands())
    assert set(found) >= {path for path in VERBS if path != "app"} and all(command.help for command in found.values())
    assert set(found) >= NO_FIGURES


def words_of(path: str) -> list[str]:
    return path.split(".")


@pytest.mark.parametrize("former", MOVED)
def test_a_former_name_leads_to_a_command_that_is_there(former: str, capsys: pytest.CaptureFixture[str]) -> None:
    present = renamed([*former.split(), "x"])
    assert f"'ironbird {former}' is now 'ironbird {MOVED[former]}'" in capsys.readouterr().err
    node: Any = ROOT
    for word in MOVED[former].split():
        node = node.commands[word]
    assert (present == [*MOVED[former].split(), "x"] and former.split()[0] not in ("campaign", "case")) or node


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("sitl px4 --mission square --headless", "fly quad_f450 --control px4 --mission square --quiet"),
        (
            "sitl px4 --vehicle aerosonde --px4 b -n 2",
            "fly aerosonde --control px4 --folder b --count 2 --ground-station",
        ),
        (
            "sitl ardupilot --home 1,2,3,90 --time virtual --twin --headless",
            "fly quad_f450 --control ardupilot --time virtual --twin --home 1,2,3 --start 0,0,90",
        ),
        (
            "hil --port /dev/ttyACM0 --headless",
            "fly quad_f450 --control hardware --port /dev/ttyACM0 --no-ground-station --mission none",
        ),
        (
            "hil --udp 1=aerosonde --port b --mission square",
            "fly aerosonde --control hardware --udp 1 --mission square --beside hardware=quad_f450,port=b",
        ),
        ("hil --write-params a.params", "vehicle board-params quad_f450 --out a.params"),
        ("serve quad_f450 --wind 5", "fly quad_f450 --control mavlink --wind 5"),
        ("serve quad_f450 --front sticks --home 1,2,3,4", "fly quad_f450 --control sticks --home 1,2,3 --start 0,0,4"),
        ("firmware run a.elf --until 2", "board firmware run a.elf --until 2"),
        ("firmware run a.elf --vehicle v", "fly v --control firmware --image a.elf"),
        ("faults", "fault list"),
        ("faults compass", "fault find compass"),
    ],
)  # fmt: skip
def test_former_commands_that_fly_become_fly(former: str, present: str) -> None:
    assert renamed(former.split()) == present.split()
    assert any(former.startswith(name) for name in REWRITERS)


def test_options_of_a_control_system_come_from_its_declaration() -> None:
    done = CliRunner().invoke(app, ["fly", "--control", "px4", "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0 and "Options of PX4" in done.output and "--bus-trace" in done.output
    without = CliRunner().invoke(app, ["fly", "--help"], env={"COLUMNS": "200"})
    assert "--bus-trace" not in without.output
    front = CliRunner().invoke(app, ["fly", "--control", "mavlink", "--help"], env={"COLUMNS": "200"})
    assert "--lockstep" in front.output and "--stick-layout" not in front.output
    wrong = CliRunner().invoke(app, ["fly", "quad_f450", "--control", "px5"])
    assert wrong.exit_code == 2 and "did you mean 'px4'" in wrong.output


def test_words_in_square_brackets_are_printed() -> None:
    for path, command in commands():
        printed = CliRunner().invoke(app, [*words_of(path), "--help"], env={"COLUMNS": "10000"}).output
        flat = " ".join(printed.replace("│", " ").split())
        for option in command.params:
            text = (getattr(option, "help", None) or "").replace("\\[", "[")
            assert " ".join(text.split()) in flat, (path, option.name)


def test_no_help_text_is_cut_at_80_columns() -> None:
    """A word that is longer than its column is folded: examples can be read to their end."""
    fly = CliRunner().invoke(app, ["fly", "--help"], env={"COLUMNS": "80"}).stdout
    words = "".join(line.rstrip(" │").split("  ")[-1].strip() for line in fly.splitlines() if line.startswith("│"))
    assert "'rotor.speed_loss@1:instance=1,severity=0.2,start=5'" in words
    for path in VERBS:
        said = CliRunner().invoke(app, [*path.split("."), "--help"], env={"COLUMNS": "80"}).stdout
        assert not re.search(r"[\w/.@=]… *│", said), path
