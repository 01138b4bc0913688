"""What Tab offers: in the tree of commands, by the protocol of the shells, and in the shells themselves."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ironbird.cli.completion import ARGUMENTS, OPTIONS, whole_words
from ironbird.cli.kind_options import params_of_model
from ironbird.cli.main import app
from ironbird.cli.tree import OWNERS
from ironbird.flight.systems import loadable_kinds
from ironbird.systems.commanded.front import FRONTS, front_type

ROOT = typer.main.get_command(app)
MOST_CPU_S = 0.5  # of a completion of a vehicle's name
TRIES = 3
PATIENCE_S = 60.0
# A program that completes as `ironbird` does, and else prints its arguments
PROGRAM = """#!{python}
import os, sys
if "_IRONBIRD_COMPLETE" in os.environ:
    from ironbird.cli.main import main
    main()
else:
    print("ARGS", "|".join(sys.argv[1:]), "END")
"""
# Texts that name nothing that is listed: numbers, places, times, addresses, new names, parts of names
FREE = {
    "--address", "--ages", "--band", "--camera", "--endurance", "--frame-mass", "--gust", "--home", "--host", "--id",
    "--licence", "--name", "--param", "--payload", "--pixels", "--rule", "--start", "--turn", "--url", "--wind",
    "--window", "--init-params", "--dyn-params", "--input", "--output", "--serial", "--px4", "--ardupilot",
    "--flight-mode", "--mass", "--spacing", "--length", "vehicle.set:values", "--where",
    "vehicle.design.parts:contains", "connect.sticks:to", "connect.calibrate-sticks:device",
    "--good", "--bad", "--build", "--program",
}  # fmt: skip


def commands(command: Any = ROOT, path: str = "") -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    if not below or command.invoke_without_command:
        yield path, command
    for name in below:
        yield from commands(below[name], f"{path}.{name}".lstrip("."))


def completes(param: Any) -> bool:
    return bool(getattr(param, "offers", False) or param._custom_shell_complete or param.type_descriptor.is_choice)


def test_every_parameter_that_is_a_text_offers_names_or_is_free() -> None:
    mute = []
    for path, command in commands():
        for param in command.params:
            key = f"{path}:{param.name}" if param.param_type_name == "argument" else param.opts[-1]
            is_text = "str" in str(param.type_descriptor.annotation)
            if is_text and not completes(param) and key not in FREE and param.opts[0] not in FREE:
                mute.append(f"{path} {key}: {param.help}")
    assert not mute, "\n".join(mute)


NAMING = re.compile(r"\b(an?|name of an?|of the) (vehicle|fault|mission|world|campaign|scenario|chip|control system)\b")


def test_every_parameter_whose_help_names_a_thing_of_a_list_offers_it() -> None:
    mute = [
        f"{path} {param.name}: {param.help}"
        for path, command in commands()
        for param in command.params
        if NAMING.match((param.help or "").lower()) and "str" in str(param.type_descriptor.annotation)
        if not completes(param)
    ]
    assert not mute, "\n".join(mute)


def test_the_tables_name_parameters_that_are_there() -> None:
    options = {name for _, command in commands() for param in command.params for name in param.opts}
    options |= {f"--{key.replace('_', '-')}" for key in OWNERS}
    assert set(OPTIONS) <= options
    arguments = {f"{path}:{param.name}" for path, command in commands() for param in command.params}
    assert set(ARGUMENTS) <= arguments


def test_the_table_of_owners_is_what_control_systems_declare() -> None:
    found: dict[str, list[str]] = {}
    for kind in loadable_kinds():
        for key in kind.options.model_fields:
            found.setdefault(key, []).append(kind.name)
    for name in FRONTS:
        for key in front_type(name).options_type.model_fields if name != "mission" else ():
            if "commanded" not in found.get(key, []):
                found.setdefault(key, []).append(name)
    found.pop("params")  # given by --param and --params
    assert {key: list(owners) for key, owners in OWNERS.items()} == found


def test_choices_of_a_control_system_complete() -> None:
    px4 = next(kind for kind in loadable_kinds() if kind.name == "px4")
    (time_,) = [param for param in params_of_model(px4.options, "PX4") if "--time" in param.opts]
    assert completes(time_)


@pytest.mark.parametrize(
    ("broken", "number", "whole", "before"),
    [
        ("ironbird fly qu", 2, "ironbird fly qu", ""),
        ("ironbird fly q --fault rotor.loss @ 1", 6, "ironbird fly q --fault rotor.loss@1", "rotor.loss@"),
        ("ironbird fly q --fault a @ 1 : sev", 8, "ironbird fly q --fault a@1:sev", "a@1:"),
        ("ironbird fly q --fault a @ 1 :", 7, "ironbird fly q --fault a@1:", "a@1:"),
        ("ironbird app do start vehicle = qu", 6, "ironbird app do start vehicle=qu", "vehicle="),
        ("ironbird fly q --seed = 3 --wo", 6, "ironbird fly q --seed=3 --wo", ""),
    ],
)
def test_words_that_bash_breaks_are_put_together(broken: str, number: int, whole: str, before: str) -> None:
    words, place, left = whole_words(broken.split(), number)
    assert words == whole.split() and place == len(words) - 1 and left == before


# ---------------------------------------------------------------------- the protocol


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program."""
    made = tmp_path_factory.mktemp("completion")
    (made / "ironbird").write_text(PROGRAM.format(python=sys.executable))
    (made / "ironbird").chmod(0o755)
    return made


def surroundings(folder: Path) -> dict[str, str]:
    names = {key: value for key, value in os.environ.items() if not key.startswith(("COMP_", "_IRONBIRD"))}
    names.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed Ironbird has byte code
    names["PYTHONPYCACHEPREFIX"] = str(folder / "byte_code")
    return {**names, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "dumb", "HOME": str(folder), "PS1": "> "}


def asked(folder: Path, shell: str, line: str) -> tuple[list[str], float]:
    """The words that are offered at the end of a line, and the CPU time in seconds."""
    words = line.split(" ")
    protocol = {
        "_IRONBIRD_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line, "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1), "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }  # fmt: skip
    with (folder / "words").open("w+b") as out:
        child = subprocess.Popen([folder / "ironbird"], env=surroundings(folder) | protocol, stdout=out, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode()
    words = re.findall(r'"([^"]*)"', text) if shell == "zsh" else text.splitlines()
    return [word.partition("\t")[0].replace("\\\\:", ":") for word in words], usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("ironbird fly aeros", "aerosonde"),
        ("ironbird fly quad_f450 --control px4 --pil", "--pilot"),
        ("ironbird fly quad_f450 --control px4 --time v", "virtual"),
        ("ironbird fly quad_f450 --fault rotor.speed_l", "rotor.speed_loss@1"),
        ("ironbird fly quad_f450 --fault rotor.speed_loss@1:sev", "rotor.speed_loss@1:severity="),
        ("ironbird fly quad_f450 --fault rotor.speed_loss@1:instance=", "rotor.speed_loss@1:instance=4"),
        ("ironbird fly quad_f450 --set body.mas", "body.mass="),
        ("ironbird vehicle margins aerosonde --axis ai", "aileron"),
        ("ironbird campaign run safety --tag multi", "multicopter"),
        ("ironbird app do take_off hei", "height_m="),
        ("ironbird vehicle desi", "design"),
    ],
)
def test_names_are_offered(folder: Path, shell: str, line: str, offered: str) -> None:
    assert offered in asked(folder, shell, line)[0]


def test_a_vehicles_name_is_completed_in_half_a_second_of_cpu_time(folder: Path) -> None:
    times = [asked(folder, "bash", "ironbird fly quad_f")[1] for _ in range(TRIES)]  # the first writes byte code
    assert min(times) < MOST_CPU_S, times


def test_a_line_that_cannot_be_read_offers_nothing_and_says_nothing(folder: Path) -> None:
    assert asked(folder, "bash", "ironbird fly nosuch --set body.mas")[0] == []


# ---------------------------------------------------------------------- the shells

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], ""),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -D\n"),
    "fish": (["fish", "--no-config", "-i"], ""),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_in_the_shell(folder: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        reason = f"{shell} is missing: tools/install_system_packages.sh installs it"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    source = subprocess.run(
        [folder / "ironbird"], env=surroundings(folder) | {"_IRONBIRD_COMPLETE": f"source_{shell}"},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    script = folder / f"completion.{shell}"
    script.write_text(source)
    command, before = SHELLS[shell]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, surroundings(folder))
    try:
        os.write(terminal, f"{before}source {script}; echo READY\n".encode())
        read_until(terminal, r"READY\r?\n(?s:.*)READY|READY\r\n")
        for typed, arguments in (
            ("ironbird fly aeros\t\n", "fly|aerosonde"),
            ("ironbird fly quad_f450 --control px4 --pil\tnone\n", "fly|quad_f450|--control|px4|--pilot|none"),
            ("ironbird fly quad_f450 --fault rotor.speed_l\t\n", "fly|quad_f450|--fault|rotor.speed_loss@1"),
            (
                "ironbird fly quad_f450 --fault rotor.speed_loss@1:sev\t\n",
                "fly|quad_f450|--fault|rotor.speed_loss@1:severity=",
            ),
        ):
            os.write(terminal, typed.encode())
            found = read_until(terminal, r"ARGS (.*?) END")
            assert found[1] == arguments
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def read_until(terminal: int, pattern: str) -> re.Match[str]:
    """Read a terminal until a text is there."""
    text, deadline = "", time.monotonic() + PATIENCE_S
    while not (found := re.search(pattern, text)):
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"the shell printed only {text!r}"
        text += os.read(terminal, 65536).decode(errors="replace")
    return found
