"""Former names of commands: they work for this release, print the present name, and go with the next one (0.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

# Words of a command of release 0.1 -> words of today; the rest of the line is the same
MOVED = {
    "vehicles": "vehicle list",
    "show": "vehicle show",
    "trim": "vehicle trim",
    "modes": "vehicle modes",
    "signals": "vehicle signals",
    "params": "vehicle params",
    "blocks": "vehicle blocks",
    "step": "vehicle step",
    "margins": "vehicle margins",
    "autotune": "vehicle autotune",
    "tune": "vehicle set",
    "import vehicle": "vehicle import",
    "mixer": "vehicle mixer",
    "design": "vehicle design",
    "reliability": "vehicle reliability",
    "compare-autopilots": "bench autopilots",
    "compare-estimators": "bench estimators",
    "verify-determinism": "bench determinism",
    "identify": "model identify",
    "excite": "model excite",
    "credibility": "model credibility",
    "measure rest": "model noise",
    "measure": "model",
    "faults show": "fault show",
    "faults find": "fault find",
    "faults --find": "fault find",
    "missions": "mission list",
    "requirements --grammar": "requirement grammar",
    "requirements": "requirement list",
    "systems": "system list",
    "worlds show": "world show",
    "worlds check": "world check",
    "worlds draw": "world draw",
    "worlds look": "world look",
    "worlds": "world list",
    "case suites": "case list",
    "campaign evidence": "evidence pack",
    "campaign repeat": "evidence repeat",
    "dataset": "campaign dataset",
    "app-do": "app do",
    "route": "connect route",
    "rflysim": "connect rflysim",
    "autopilot": "connect autopilot",
    "sticks list": "connect gamepads",
    "sticks show": "connect show-sticks",
    "sticks record": "connect record-sticks",
    "sticks calibrate": "connect calibrate-sticks",
    "chips show": "board chip",
    "chips trace": "board trace",
    "chips serve": "board run",
    "chips": "board list",
    "hdl": "board hdl",
    "firmware build": "board firmware build",
    "provant": "board provant",
}
# Options of release 0.1 -> of today, by present command
OPTIONS = {
    "app": {"--port": "--http-port"},
    "bench autopilots": {"--control": "--system"},
    "bench fleet": {"--markdown": "--out"},
    "board firmware": {"--at": "--address"},
    "board hdl": {"--seeds": "--place-runs"},
    "board provant": {"--delay": "--late"},
    "campaign report": {"--flights": "--pages"},
    "connect autopilot": {"--port": "--simulator-port"},
    "fly": {"--plan": "--mission"},
    "model credibility": {"--shift": "--time-shift"},
    "vehicle design": {"--name": "--id"},
    "vehicle modes": {"--speed": "--airspeed"},
    "vehicle reliability": {"--flights": "--life"},
    "vehicle trim": {"--speed": "--airspeed"},
    "world look": {"--at": "--camera", "--size": "--pixels", "--time": "--moment"},
}
FLAGS = {"--headless", "--twin", "--json", "--help", "--priority", "--no-priority"}  # former options without a value


def renamed(args: Sequence[str]) -> list[str]:
    """The words of a command line with former names of commands and options replaced; says so on standard error."""
    words = _present_command(list(args))
    command = " ".join(words[:2]) if " ".join(words[:2]) in OPTIONS else words[0]
    for former, present in OPTIONS.get(command, {}).items():
        for index, word in enumerate(words):
            if word == former or word.startswith(f"{former}="):
                words[index] = present + word.removeprefix(former)
                _say(f"{command} {former}", f"{command} {present}")
    return words


def _present_command(words: list[str]) -> list[str]:
    for count in (2, 1):
        former = " ".join(words[:count])
        if former in REWRITERS:
            present = REWRITERS[former](words[count:])
            _say(former, " ".join([*present[:4], "…"]).replace("--help", "VEHICLE"))
            return present
        if former in MOVED:
            _say(former, MOVED[former])
            return [*MOVED[former].split(), *words[count:]]
    return words


def _say(former: str, present: str) -> None:
    text = f"note: 'ironbird {former}' is now 'ironbird {present}'; the former name goes with release 0.3"
    typer.secho(text, fg="yellow", err=True)


def _apart(words: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Arguments, and options with their values (empty for flags)."""
    arguments: list[str] = []
    options: list[tuple[str, str]] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            arguments.append(word)
        elif "=" in word and word.startswith("--"):
            name, _, value = word.partition("=")
            options.append((name, value))
        else:
            options.append((word, "" if word in FLAGS else next(rest, "")))
    return arguments, options


def _together(vehicle: str, control: str, options: Sequence[tuple[str, str]]) -> list[str]:
    flat = [word for name, value in options for word in ((name, value) if value else (name,))]
    return ["fly", vehicle, "--control", control, *flat]


def _home(options: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """A heading, the former fourth number of `--home`, as third number of `--start`."""
    found = dict(options)
    home, start = found.get("--home", ""), found.get("--start", "0,0")
    if home.count(",") != 3 or start.count(",") != 1:
        return list(options)
    place, _, yaw = home.rpartition(",")
    others = [(name, value) for name, value in options if name not in ("--home", "--start")]
    return [*others, ("--home", place), ("--start", f"{start},{yaw}")]


def _sitl(words: Sequence[str]) -> list[str]:
    arguments, options = _apart(words)
    control, vehicle, quiet = (arguments or ["px4"])[0], "quad_f450", False
    found: list[tuple[str, str]] = []
    for name, value in _home(options):
        if name == "--vehicle":
            vehicle = value
        elif name in ("--px4", "--ardupilot"):
            found.append(("--folder", value))
        elif name == "-n":
            found.append(("--count", value))
        elif name == "--headless":
            quiet = True
        else:
            found.append((name, value))
    named = {name for name, _ in found}
    if not quiet:
        found.append(("--ground-station", ""))
    elif control == "px4" and not {"--chips", "--time"} & named and ("--pilot", "none") not in found:
        found.append(("--quiet", ""))
    return _together(vehicle, control, found)


def _hil(words: Sequence[str]) -> list[str]:
    _, options = _apart(words)
    vehicles = [value for name, value in options if name == "--vehicle"] or ["quad_f450"]
    boards = [(name, *_port(value)) for name, value in options if name in ("--port", "--udp")]
    each = vehicles if len(vehicles) > 1 else vehicles * max(len(boards), 1)
    each = [named or usual for (_, _, named), usual in zip(boards, each, strict=False)] or vehicles
    found: list[tuple[str, str]] = [(name, port) for name, port, _ in boards[:1]]
    for name, value in options:
        if name == "--write-params":
            return ["vehicle", "board-params", vehicles[0], "--out", value]
        if name == "--headless":
            found.append(("--no-ground-station", ""))
        elif name == "--wait":
            found.append(("--connect-s", value))
        elif name not in ("--vehicle", "--port", "--udp"):
            found.append((name, value))
    if "--mission" not in {name for name, _ in found}:
        found.append(("--mission", "none"))
    for (name, port, _), vehicle in zip(boards[1:], each[1:], strict=False):
        found.append(("--beside", f"hardware={vehicle},{name.removeprefix('--')}={port}"))
    return _together(each[0], "hardware", found)


def _port(text: str) -> tuple[str, str]:
    port, equals, vehicle = text.rpartition("=")
    return (port, vehicle) if equals else (text, "")


def _serve(words: Sequence[str]) -> list[str]:
    arguments, options = _apart(words)
    front = next((value for name, value in options if name == "--front"), "mavlink")
    rest = [(name, value) for name, value in _home(options) if name != "--front"]
    control = "commanded" if front == "mission" else front
    return _together((arguments or ["--help"])[0], control, rest)


def _firmware(words: Sequence[str]) -> list[str]:
    arguments, options = _apart(words)
    vehicle = next((value for name, value in options if name == "--vehicle"), "")
    if not vehicle:
        return ["board", "firmware", "run", *words]
    rest = [(name, value) for name, value in options if name != "--vehicle"]
    return _together(vehicle, "firmware", [*(("--image", image) for image in arguments[:1]), *rest])


def _without_option(option: str, *command: str) -> Callable[[Sequence[str]], list[str]]:
    """A command whose former option is an argument now."""

    def rewrite(words: Sequence[str]) -> list[str]:
        arguments, options = _apart(words)
        own = [value for name, value in options if name == option]
        rest = [word for name, value in options if name != option for word in ((name, value) if value else (name,))]
        return [*command, *own, *arguments, *rest]

    return rewrite


def _faults(words: Sequence[str]) -> list[str]:
    return ["fault", "find" if words and not words[0].startswith("-") else "list", *words]


REWRITERS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "sitl": _sitl,
    "hil": _hil,
    "serve": _serve,
    "firmware run": _firmware,
    "faults": _faults,
    "sticks": _without_option("--to", "connect", "sticks"),
    "fleet": _without_option("--vehicle", "bench", "fleet"),
}
