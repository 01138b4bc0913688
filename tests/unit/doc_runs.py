"""Every shell command of README.md and of the guides is executed, page by page, and ends as the page says.

The commands of a page run in its order, in a folder that holds the files which the page shows: blocks whose first line
is a comment with a file's name, tables that the text before names, and texts that a Python block writes by
`Path("name").write_text("…")`. The exit code is 0 unless the comment of the command says otherwise (`# exit code 1:
why`). `SAYS` has what a command prints where the page makes a claim about it.

What a reader has and a test has not is made small (tests/unit/doc_files.py), or the command is run in another way
(`RUNS_AS`, `SERVERS`, stand-ins for PX4, ArduPilot and boards). `NOT_RUN` is the whole list of commands that are not
executed; tests/system/test_doc_commands.py still reads them with the real command line.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import attended_system
from doc_files import PREPARED

from ironbird.autopilots.px4.process import SIMULATOR_PORT
from ironbird.compiler import native

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
SHELLS = ("sh", "bash", "shell", "console")
SETTLED_S = 60.0  # until an estimator has settled
BUSY = r"error: (?:sensors|controls) came at|error: \d+\.\d+ % of the steps (?:were late|found no room)"
PATIENCE_S = 300.0  # for one command; the machine may be busy
NAMED = re.compile(r"`([\w-]+\.csv)`:\n\n```csv\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
FILE_LINE = re.compile(r"^# ([\w./-]+\.(?:toml|csv|json|mix|yaml|sdf|urdf|xml))\n")


class Command(NamedTuple):
    """A command of a page."""

    text: str  # without its comment, on one line
    code: int  # exit code that the page announces

    def __str__(self) -> str:
        return self.text


# ---------------------------------------------------------------------- what a page has


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Language and text of each block of code."""
    yield from re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def split_comment(line: str) -> tuple[str, str]:
    """A line of a shell, and the comment at its end."""
    quote = ""
    for place, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and (not place or line[place - 1].isspace()):
            return line[:place].strip(), line[place + 1 :].strip()
    return line.strip(), ""


def commands_of(text: str) -> list[Command]:
    """The commands of all shell blocks of a page, in order."""
    found = []
    for language, block in blocks(text):
        if language in SHELLS:
            for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines():
                command, comment = split_comment(line)
                if command:
                    code = re.match(r"exit code (\d+): \S", comment)
                    found.append(Command(command, int(code[1]) if code else 0))
    return found


def files_of(text: str) -> dict[str, str]:
    """Files that a page shows, by name."""
    found = {name: block for name, block in NAMED.findall(text) if not FILE_LINE.match(block)}
    for language, block in blocks(text):
        if language == "python":
            found.update(_written(ast.parse(block)))
        elif name := FILE_LINE.match(block):
            found[name[1]] = block
    return found


def _written(code: ast.Module) -> dict[str, str]:
    """What `Path("name").write_text(text)` writes, where text is a constant or the name of one."""
    texts: dict[str, str] = {}
    files: dict[str, str] = {}
    for statement in code.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                texts[name] = text
            case ast.Assign(targets=[ast.Name(id=name)]):
                texts.pop(name, None)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Call(func=ast.Name(id="Path"), args=[ast.Constant(value=str(path))]),
                        attr="write_text",
                    ),
                    args=[argument],
                )
            ):
                if isinstance(argument, ast.Constant):
                    files[path] = str(argument.value)
                elif isinstance(argument, ast.Name) and argument.id in texts:
                    files[path] = texts[argument.id]
    return files


# ---------------------------------------------------------------------- how a page is run


NOT_RUN = {  # the beginning of a command -> why it is not executed here
    "README: make demo": "installs; the two commands of the target are those of the tour",
    "README: make test": "this suite",
    "README: pip install": "the network; tests/long/test_installed_wheel.py installs the wheel",
    "app: pip install": "the network",
    "autopilots: ironbird campaign run autopilots": "PX4 and ArduPilot themselves, and minutes",
    "virtual-time: ironbird bench determinism": "PX4 itself: tests/autopilots/test_virtual_time.py",
    "campaigns: ironbird campaign run safety --store": "a PostgreSQL server with a certificate: test_secure_places.py",
    "campaigns: ironbird campaign run safety --dask": "a Dask scheduler with a certificate: test_secure_places.py",
    "chips: ironbird fly quad_f450 --control px4": "PX4's build for a board: tests/autopilots/test_on_chips.py",
    "chips: ironbird fly quad_f450 --control ardupilot": "ArduPilot's build: tests/autopilots/test_on_chips.py",
    "chips: ironbird board hdl": "yosys and nextpnr: bench/hdl.py, `make place-and-route`",
    "control-from-python: ironbird connect calibrate-sticks": "a gamepad",
    "control-from-python: ironbird connect show-sticks": "a gamepad",
    "control-from-python: ironbird connect sticks": "a gamepad, or hands on a keyboard",
    "control-from-python: ironbird connect record-sticks": "a gamepad",
    "firmware: ironbird fly quad_f450 --control autopilot_image": "an image: test_firmware_images.py",
    "firmware: ironbird board firmware run iofirmware_lowpolh.bin": "an image of ArduPilot: test_firmware_images.py",
    "import-a-vehicle: ironbird vehicle import $IRONBIRD_GAZEBO_MODELS": "Gazebo's models: tests/unit/vehicles/imports",
    "hardware-in-the-loop: ironbird fly quad_f450 --control hardware --port /dev/ttyACM0 --beside px4": "PX4 itself",
    "maintainers: ironbird fly quad_f450 --control px4": "PX4 itself in virtual time: tests/autopilots/test_replay.py",
    "maintainers: ironbird bisect": "a history of PX4: tests/system/test_bisect.py",
    "maintainers: ironbird replay": "PX4 itself: tests/autopilots/test_replay.py",
    "rflysim: ironbird connect rflysim --control px4": "PX4 itself: tests/autopilots/test_rflysim_clients.py",
}
RUNS_AS = {  # beginning of a command -> a part of it, and what replaces it in the test
    "app: ironbird app": [("ironbird app", "ironbird app --http-port {port}")],
    "logs: ironbird model credibility flight.ulg --drive": [("flight.ulg", "flight.csv")],
    "logs: ironbird model identify": [("flight.ulg", "flight.csv")],
    "logs: ironbird app": [("ironbird app", "ironbird app --http-port {port}")],
    "app: ironbird app do": [],
    "app: ironbird app do start vehicle=quad_f450 control=px4": [("control=px4", "control=told")],
    "app: ironbird app do tune": [("MPC_XY_VEL_MAX", "MPC_XY_CRUISE")],
    "virtual-time: ironbird fly quad_f450 --control px4 --time virtual --twin": [("start=30", "start=1")],
    "campaigns: ironbird campaign search": [("--trials 300", "--trials 24")],
    "campaigns: ironbird campaign shrink": [("FLIGHT", "{failed}")],
    "campaigns: ironbird campaign diff": [("before after", "first first")],
    "control-by-mavlink: ironbird fly": [("mavlink", "mavlink --links tcp:127.0.0.1:{port}")],
    "control-from-outside: ironbird fly quad_f450 --control mavlink": [
        ("mavlink", "mavlink --links tcp:127.0.0.1:{port}")
    ],
    "control-from-outside: ironbird fly boat_otter": [("mavlink", "mavlink --links tcp:127.0.0.1:{port}")],
    "credibility: ironbird model credibility flight.ulg": [("flight.ulg", "flight.csv")],
    "credibility: ironbird model credibility flight.BIN": [("flight.BIN", "flight.csv"), ("10,40", "5,12")],
    "export: ironbird export c": [("--seconds 60", "--seconds 25")],
    "export: ironbird fly quad_f450 --control fmu-plant": [("start=5'", "start=5' --until 8 --ends time")],
    "firmware: ironbird board provant": [("provant", "provant --until 10")],
    "firmware: ironbird board provant --wall": [("--wall 20", "--wall 1 --until 4")],
    "firmware: ironbird fly tiltrotor_provant --control firmware --mission square": [
        ("square", "square --until 5 --ends time")
    ],
    "firmware: ironbird fly tiltrotor_provant --control firmware --mission square --fault": [
        ("start=10,end=10.1'", "start=2,end=2.1' --until 5 --ends time")
    ],
    "firmware: ironbird fly tiltrotor_provant --control firmware --image": [("spiral", "spiral --until 5 --ends time")],
    "firmware: ironbird campaign run": [("run firmware", "run firmware --sample 2")],
    "hardware-in-the-loop: ironbird fly quad_f450 --control hardware --udp": [
        ("--udp 14560 --host 192.168.1.10", "--udp {board}"),
        ("start=60", "start=1"),
    ],
    "hardware-in-the-loop: ironbird fly quad_f450 --control hardware --port /dev/ttyUSB0": [
        ("--mission square --until 300", "--mission none")
    ],
    "hardware-in-the-loop: ironbird fly quad_f450 --control hardware --port /dev/ttyACM0 --until": [
        (" --until 120", "")
    ],
    "hardware-in-the-loop: ironbird fly quad_f450 --control hardware --port /dev/ttyACM0 --mission none --beside": [
        ("udp=14560", "udp={board}")
    ],
    "identification: ironbird model identify": [("flight.ulg", "flight.csv")],
    "identification: ironbird model noise": [("still.ulg", "still.csv")],
    "import-a-vehicle: ironbird fly quad_f450": [(".mix", ".mix --until 6 --ends time")],
    "import-a-vehicle: ironbird fly zagi": [("AUX1=rotor/1", "AUX1=rotor/1 --until 6 --ends time")],
    "learning: ironbird campaign dataset safety": [("--sample 60", "--sample 2")],
    "learning: ironbird campaign dataset my_cases.toml": [("--seeds 20", "--seeds 2")],
    "learning: ironbird fly quad_f450 --mission hover": [("hover", "hover --until 5 --ends time")],
    "reliability: ironbird vehicle reliability hexa_x": [("--campaign safety", "--campaign flown")],
    "scenarios: ironbird fly quad_f450 --world forest --control avoid": [("0.3 m)'", "0.3 m)' --until 8 --ends time")],
    "route: ironbird fly quad_f450 --control hardware": [("when=height > 5 m,duration=10'", "start=1' --mission none")],
    "route: ironbird connect route": [("udpin:14550", "udpin:{port}"), ("127.0.0.1:14551", "127.0.0.1:{other}")],
}


ENDS_WITH = {  # the beginning of a command -> exit code that depends on the reader's files, here on those of the test
    "autopilot-ground-station: ironbird fly quad_f450 --control ardupilot": 0,  # the stand-in hovers by itself
    "autopilots: ironbird fly quad_f450 --control ardupilot --mission survey.plan": 0,  # as above, --pilot none
    "autopilots: ironbird fly quad_f450 --control ardupilot --fault": 3,  # the stand-in has no such parameter
    "credibility: ironbird model credibility flight.ulg --drive": 1,  # it takes off: the ground is not in the model
    "logs: ironbird model credibility flight.ulg --drive": 1,  # as above
    "control-from-outside: ironbird repeat": 3,  # nobody flew it
    "hardware-in-the-loop: ironbird fly quad_f450 --control hardware": 3,  # it does not take off in 3 s
    "hardware-in-the-loop: ironbird fly quad_f450 --control hardware --port /dev/ttyACM0 --until 120"
    " --mission none --b": 1,
    "hardware-in-the-loop: ironbird fly quad_f450 --control hardware --port /dev/ttyACM0 --mission none --beside": 1,
    "route: ironbird fly quad_f450 --control hardware": 3,  # the board does not take off in so short a time
    "route: ironbird fly quad_f450 --control px4": 3,  # the stand-in hears no ground station: no packet to cut
}
STAND_IN = re.compile(r"--control (px4|ardupilot)\b")
NOT_FLOWN = 3  # the stand-in does not take off without a ground station


def with_stand_in(command: str) -> str:
    """A flight under PX4 or ArduPilot as the stand-in can fly it: without a ground station, by its own clock."""
    for option in (r" --time virtual", r" --twin", r" --pilot \w+"):
        command = re.sub(option, "", command)
    return f"{command} --pilot none --speed max --until 3"


class Server(NamedTuple):
    """A command that runs until Ctrl-C, or for ever."""

    ready: str  # pattern of what it prints when it can be asked
    code: int = 0  # exit code after Ctrl-C
    more_s: float = 0.5  # it goes on for that long


SERVERS: dict[
    str, Server | None
] = {  # the beginning of a command -> how it is known to work; the longest beginning counts
    "app: ironbird app": Server(r"Ctrl-C ends all flights"),
    "app: ironbird app do": None,
    "autopilots: ironbird connect autopilot": Server(r"ready", 130),
    "control-by-mavlink: ironbird fly": Server(r"MAVLink on TCP", NOT_FLOWN, more_s=1.0),
    "control-from-outside: ironbird fly quad_f450 --control mavlink": Server(r"MAVLink on TCP", NOT_FLOWN, more_s=1.0),
    "control-from-outside: ironbird fly boat_otter --control mavlink": Server(r"MAVLink on TCP", NOT_FLOWN, more_s=1.0),
    "firmware: ironbird board firmware run provant.elf --gdb": Server(r"target remote", 130),
    "hardware-in-the-loop: ironbird connect autopilot": Server(r"ready", 130),
    "hardware-in-the-loop: python -m ironbird.transport.serial_wire": Server(r"/dev/pts/\d+"),
    "logs: ironbird app --logs": Server(r"Ctrl-C ends all flights"),
    "rflysim: ironbird connect rflysim": Server(r"vehicle \d: \w+; commands UDP", NOT_FLOWN, more_s=3.0),
    "rflysim: ironbird connect rflysim --vehicles": Server(r"vehicle \d: \w+; commands UDP", 1, more_s=3.0),
    "route: ironbird connect route": Server(r"gcs: udp"),
}
SAYS: dict[str, list[str]] = {  # the beginning of a command -> patterns of what it prints
    "README: ironbird fly quad_f450 --wind": [r"verdict pass", r"mission 20 m square", r"report: out/"],
    "README: ironbird fly quad_f450 --fault 'imu": [r"verdict pass", r"imu\.accel_open@1.*acted on"],
    "README: ironbird fly quad_f450 --fault 'gnss": [r"verdict pass"],
    "README: ironbird repeat": [r"equal to the earlier flight, bit for bit"],
    "README: ironbird campaign run": [r"report: out/campaigns/"],
    "README: ironbird vehicle step": [r"roll by 10 deg \(7\)"],
    "README: ironbird vehicle margins": [r"margins at hover \(4\)"],
    "campaigns: ironbird campaign rerun": [r"equal to the stored flight, bit for bit"],
    "campaigns: ironbird evidence repeat": [r"equal, bit for bit 100"],
    "chips: ironbird fly quad_f450 --control chips": [r"crashed at 21\.\d+ s"],
    "chips: ironbird board run -- i2cdetect": [r"70: 70 -- -- -- -- -- 76"],
    "chips: ironbird board run --fault": [r"Error: Read failed"],
    "first-case: ironbird case list": [r"12 flights|\(12\)"],
    "first-case: ironbird campaign run": [r"pass 8 fail 4"],
    "own-quadcopter: ironbird vehicle margins my_quad.toml": [r"roll\b.*20\.2\d.*34\."],
    "own-quadcopter: ironbird vehicle autotune": [
        r"6\.00",
        r"attitude_gain = \[3\.4302,3\.4302,2\.0\] rate_gain = \[11\.4326,11\.4326,4\.0\]",
    ],
    "own-quadcopter: ironbird case check": [r"20 flights"],
    "own-quadcopter: ironbird campaign run": [r"pass 20"],
    "own-quadcopter: ironbird evidence pack": [r"requirements: 4 of 4 met"],
    "own-quadcopter: ironbird evidence repeat": [r"equal, bit for bit 20", r"signed by key\.pub"],
    "scenarios: ironbird scenario fly": [r"verdict pass"],
    "scenarios: ironbird fly quad_f450 --world forest --require": [r"crashed at 11\.\d+ s \(collision"],
    "scenarios: ironbird fly quad_f450 --world forest --control avoid": [r"verdict pass"],
    "scenarios: ironbird fly quad_f450 --world yard.toml --start": [r"was missed by"],
    "scenarios: ironbird fly quad_f450 --world yard.toml --set": [r"crashed at 14\.\d+ s"],
    "tuning: ironbird vehicle margins quad_f450": [r"roll\b.*20\.67.*42\.9.*17\.6.*12\.2.*36\."],
    "tuning: ironbird vehicle margins quad_f450 --set": [r"margins at hover \(1\)"],
    "tuning: ironbird vehicle modes aerosonde": [
        r"spiral.* phugoid.* Dutch roll.* short period.* roll subsidence",
    ],
    "worlds: ironbird fly quad_f450 --world forest": [r"crashed at 11\.\d+ s \(collision"],
}


def entry(found: dict[str, Any], page: str, command: str) -> Any:
    """What a table has for a command; the longest beginning counts."""
    keys = [key for key in found if f"{page}: {command}".startswith(key)]
    return found[max(keys, key=len)] if keys else None


class Shell:
    """The folder of a page, the environment of its commands, and what was started for it."""

    def __init__(self, page: str, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.started: list[subprocess.Popen[str]] = []
        programs = folder / "bin"
        programs.mkdir()
        for name, module in (("ironbird", " -m ironbird.cli"), ("python", "")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}"{module} "$@"\n')
            program.chmod(0o755)
        self.place = folder / "work"
        self.place.mkdir()
        self.env: dict[str, str] = {
            **{name: value for name, value in os.environ.items() if not name.startswith("IRONBIRD_")},
            "IRONBIRD_QUICK": os.environ["IRONBIRD_QUICK"],
            "IRONBIRD_KEEP_USER": "1",  # the stand-ins lie in a folder of the tests
            "IRONBIRD_CACHE": str(native.cache_folder()),
            "PATH": f"{programs}:{os.environ['PATH']}:/usr/sbin",
            "HOME": str(self.place),
            "COLUMNS": "200",
            "BROWSER": "true",
            "IRONBIRD_SYSTEMS": f"told={attended_system.__file__}:TOLD",  # in the place of PX4 in the app
        }
        for kind, variable, binary in (
            ("px4", "IRONBIRD_PX4", "bin/px4"),
            ("ardupilot", "IRONBIRD_ARDUPILOT", "arducopter"),
        ):
            self.env[variable] = str(_stand_in(folder / kind, binary, self.env["PATH"]))

    def run(self, command: str) -> tuple[int, str]:
        """Exit code and output of a command."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.place, env=self.env, capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def start(self, command: str, ready: str) -> tuple[subprocess.Popen[str], str]:
        """A command that runs on, once it has printed what it prints when it is ready."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.place, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.started.append(process)
        said: list[str] = []
        assert process.stdout is not None
        threading.Thread(target=lambda: said.extend(process.stdout or []), daemon=True).start()
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(ready, "".join(said)):
            assert process.poll() is None, f"{command} ended with {process.returncode}: {''.join(said)}"
            assert time.monotonic() < deadline, f"{command} is never ready: {''.join(said)}"
            time.sleep(0.05)
        return process, "".join(said)

    def wire(self) -> tuple[str, str]:
        """The two ends of a serial line."""
        _, said = self.start("python -m ironbird.transport.serial_wire 921600", r"/dev/\S+ /dev/\S+\n")
        near, far = said.split()[:2]
        return near, far

    def board(self, vehicle: str = "quad_f450") -> str:
        """The serial port of a board: the reference autopilot behind PX4's protocol."""
        near, far = self.wire()
        self.start(f"ironbird connect autopilot --serial {far} --vehicle {vehicle} --mission hover", r"ready")
        return near

    def board_on_udp(self) -> str:
        """The UDP port to which such a board sends."""
        port = free_port()
        self.start(f"ironbird connect autopilot --udp {port} --mission hover", r"ready")
        return str(port)

    def app(self) -> str:
        """The address of a live rig that nobody has used."""
        _, said = self.start("ironbird app --no-browser --http-port 0", r"Ctrl-C ends all flights")
        return str(re.findall(r"open: +(\S+)", said)[0])

    def failed(self) -> str:
        """A flight of the campaign `first` that failed."""
        results = json.loads((self.place / "out" / "campaigns" / "first" / "results.json").read_text())
        return next(str(flight["id"]) for flight in results["flights"] if flight["verdict"] == "fail")

    def filled(self, text: str) -> str:
        """A command with what this machine has in the place of what a reader has."""
        made = {
            "{port}": lambda: str(free_port()), "{other}": lambda: str(free_port()), "{board}": self.board_on_udp,
            "{failed}": self.failed, "/dev/ttyACM0": self.board, "/dev/ttyUSB0": self.board, "/dev/pts/5": self.board,
            "/dev/ttyACM1": lambda: self.board("aerosonde"), "/dev/pts/6": lambda: self.wire()[1],
        }  # fmt: skip
        for name, make in made.items():
            if name in text:
                text = text.replace(name, make())  # type: ignore[no-untyped-call]
        return text

    def end(self, process: subprocess.Popen[str]) -> int:
        """Ctrl-C; the exit code."""
        process.send_signal(signal.SIGINT)
        return process.wait(PATIENCE_S)

    def close(self) -> None:
        """Nothing that was started goes on."""
        while self.started:
            process = self.started.pop()
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE_S)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def _stand_in(folder: Path, name: str, path: str) -> Path:
    """A folder that looks like PX4's or ArduPilot's; its program is the reference autopilot behind their protocol."""
    program = folder / name
    program.parent.mkdir(parents=True)
    start = folder / "etc" / "init.d-posix"
    start.mkdir(parents=True)
    for file in ("rcS", "px4-rc.mavlink"):
        (start / file).write_text("#!/bin/sh\n")
    if name == "bin/px4":  # -d etc -w work -i instance
        words = f"--px4-protocol --simulator-port $(({SIMULATOR_PORT} + $6))"
        hello = "echo 'INFO  [px4] Startup script returned successfully'\n"
    else:  # --model JSON:127.0.0.1 --sim-port-out port
        words, hello = "--ardupilot-protocol --simulator-port $4 --arm-after 1", ""
    program.write_text(f"#!/bin/sh\n{hello}PATH={shlex.quote(path)} exec ironbird connect autopilot {words}\n")
    program.chmod(0o755)
    return folder


def free_port() -> int:
    """A port of TCP and UDP that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """No other test of this kind at the same time: each would take the first free instance of PX4."""
    with Path("/tmp/ironbird-test-fake-px4.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_page(page: Path, shell: Shell) -> list[str]:
    """What went otherwise than the page says."""
    text = page.read_text(encoding="utf-8")
    prepare = PREPARED.get(page.stem)
    if prepare is not None:
        prepare(shell.place)
    for name, content in files_of(text).items():
        (shell.place / name).parent.mkdir(parents=True, exist_ok=True)
        (shell.place / name).write_text(content)
    wrong = []
    for command in commands_of(text):
        if entry(NOT_RUN, page.stem, command.text):
            continue
        wrong += [f"{command}\n    {fault}" for fault in run_command(page.stem, command, shell)]
        if page.stem != "app":
            shell.close()  # boards and cables of this command
    return wrong


def run_command(page: str, command: Command, shell: Shell) -> Iterator[str]:
    """Run one command; what is wrong with how it ended."""
    name, _, value = command.text.removeprefix("export ").partition("=")
    if command.text.startswith("export "):
        if name not in shell.env or name in ("IRONBIRD_SYSTEMS",):
            shell.env[name] = value.strip("'")
        return
    known = entry(ENDS_WITH, page, command.text)
    text, code = command.text, command.code if known is None else known
    for old, new in entry(RUNS_AS, page, text) or ():
        assert old in text, f"{page}: {text}: no '{old}' to run as '{new}'"
        text = text.replace(old, new)
    text = shell.filled(text)
    if text.startswith("ironbird app do start vehicle=quad_f450"):
        shell.env["IRONBIRD_APP"] = shell.app()  # the pages' flights are the first ones
    if "--control hardware" in text:
        text += " --until 3"
    if STAND_IN.search(text):
        text, code = with_stand_in(text), NOT_FLOWN if known is None else known
    server = entry(SERVERS, page, command.text)
    if server is not None:
        process, said = shell.start(text, server.ready)
        time.sleep(server.more_s)
        ended = shell.end(process)
        if ended != server.code:
            yield f"exit code {ended} after Ctrl-C, not {server.code}: {said[-1500:]}"
        return
    with alone() if STAND_IN.search(text) else contextlib.nullcontext():
        ended, said = shell.run(text)
    deadline = time.monotonic() + SETTLED_S
    while text.startswith("ironbird app do") and ended != code and time.monotonic() < deadline:
        ended, said = shell.run(text)  # refused until its estimator has settled
    if "--control hardware" in text and ended == (1 if "--beside" in text else 2) and re.search(BUSY, said):
        ended = code  # this machine was too busy to keep time, and says so
    if ended != code:
        yield f"exit code {ended}, not {code}: {said[-1500:]}"
    plain = " ".join(re.sub(r"[│┃]", " ", said).split())
    for pattern in entry(SAYS, page, command.text) or ():
        if not re.search(pattern, plain):
            yield f"does not say '{pattern}': {plain[-1500:]}"


def check_page(page: Path, folder: Path) -> None:
    """Run the commands of a page in a folder; fails if one ends otherwise than the page says."""
    with contextlib.ExitStack() as whole:
        shell = Shell(page.stem, folder)
        whole.callback(shell.close)
        wrong = run_page(page, shell)
    assert not wrong, "\n".join([f"{page.relative_to(ROOT)}:", *wrong])
