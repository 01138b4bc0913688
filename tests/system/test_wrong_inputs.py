"""Wrong command lines over the whole tree: exit code 2, one sentence with place, value and cure, within a second.

Each runs as a program of its own; the second is CPU time (user and system) of that process, not wall time. An
installed Ironbird has byte code, so a line that takes longer is tried again: its first run writes it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ironbird.cli.tree import PANELS, SYNONYMS, VERBS

MOST_CPU_S = 1.0
TRIES = 3

DESIGN = (
    "vehicle design evaluate --motor 'SunnySky A2814 KV900' --propeller 'APC 10x4.5' --esc 'lesson ESC' "
    "--battery 'lesson 3S 4000'"
)
# Command line -> words that the message has: place and value first, then the cure
LINES: list[tuple[str, tuple[str, ...]]] = [
    # the tree itself
    ("linearize", ("'linearize'", "'ironbird vehicle modes' or 'ironbird vehicle margins'")),
    ("report", ("'report'", "'ironbird open' or 'ironbird campaign report'")),
    ("flyy quad_f450", ("'flyy'", "did you mean 'ironbird fly'")),
    ("quad_f450", ("'quad_f450'", "did you mean 'ironbird fly quad_f450'?")),
    ("replay nothing.ulg", ("nothing.ulg", "no such file", "give the folder of a flight")),
    ("bisect nothing.toml --good a --bad b --build true", ("nothing.toml", "give the path of a TOML file")),
    ("help", ("'help'", "'ironbird --help'")),
    ("--verion", ("--verion", "did you mean --version?")),
    ("-x", ("-x", "its options: --version")),
    ("ünïcödé", ("'ünïcödé'", "known: fly, repeat")),
    ("model trim", ("'trim'", "did you mean 'ironbird vehicle trim'?")),
    # fly: the vehicle
    ("fly", ("argument VEHICLE is missing", "'ironbird vehicle list'")),
    ("fly quad_f45", ("unknown vehicle 'quad_f45'", "did you mean 'quad_f450'")),
    ("fly ''", ("unknown vehicle ''", "'ironbird vehicle list' lists them")),
    ("fly ünïcödé", ("unknown vehicle 'ünïcödé'", "'ironbird vehicle list'")),
    ("fly nofile.toml", ("nofile.toml:1:1", "does not exist", "give a vehicle of the catalogue")),
    ("fly numbr.toml", ("numbr.toml:1:1", "does not exist", "did you mean 'number.toml'?")),
    ("fly folder/quad_f45.toml", ("folder/quad_f45.toml", "does not exist", "did you mean 'quad_f450'")),
    ("fly folder", ("folder is a folder", "give a vehicle of the catalogue")),
    ("fly folder.toml", ("folder.toml:1:1", "it is a folder", "give a vehicle")),
    ("fly binary.toml", ("binary.toml:1:2", "byte 0xff is not UTF-8", "save the file as UTF-8")),
    ("fly empty.toml", ("empty.toml:1:1", "the file is empty", "begin it with schema = 1")),
    ("fly table.toml", ("table.toml:2:6", "not valid TOML: Expected ']'", "correct this line")),
    ("fly number.toml", ("number.toml:4:14", "not valid TOML", "correct this line")),
    ("fly value.toml", ("value.toml:3:8", "not valid TOML: Invalid value", "correct this line")),
    ("fly any.json", ("any.json is a file for 'ironbird vehicle import'", "give a vehicle")),
    ("fly case.toml", ("case.toml:", "case")),
    ("fly quad_f450 hexa", ("unexpected argument 'hexa'", "takes VEHICLE")),
    # fly: weather, place, time
    ("fly quad_f450 --wind 5,270,3", ("--wind '5,270,3'", "give SPEED or SPEED,FROM_DEG")),
    ("fly quad_f450 --wind ''", ("--wind ''", "for example 5,270")),
    ("fly quad_f450 --wind -3", ("--wind: -3 m/s", "0 to 100 m/s")),
    ("fly quad_f450 --wind 1e9", ("--wind: 1e+09 m/s", "0 to 100 m/s")),
    ("fly quad_f450 --wind", ("--wind needs a value", "Steady wind in m/s")),
    ("fly quad_f450 --gust 5", ("--gust '5'", "SPEED,START")),
    ("fly quad_f450 --turbulence 100", ("--turbulence '100'", "give a number from 0 to 60")),
    ("fly quad_f450 --home 47,8,400,2026", ("--home '47,8,400,2026'", "--start 0,0,YAW", "--year")),
    ("fly quad_f450 --home 147,8", ("--home '147,8'", "latitude_deg", "at most 89.9")),
    ("fly quad_f450 --year 3000", ("--year 3000", "at most 2030")),
    ("fly quad_f450 --start 1", ("--start '1'", "NORTH,EAST[,YAW]")),
    ("fly quad_f450 --speed fast", ("--speed 'fast'", "'max' or a factor")),
    ("fly quad_f450 --seed abc", ("--seed 'abc'", "give a whole number from 0 to 9223372036854775807")),
    ("fly quad_f450 --seed 99999999999999999999999", ("--seed '99999999999999999999999'", "from 0 to 9223")),
    ("fly quad_f450 --until nan", ("--until 'nan'", "finite")),
    ("fly quad_f450 --until 0", ("--until '0'", "from 0.001 to 10000000")),
    ("fly quad_f450 --integration euler", ("integration 'euler'", "rk2 or rk4")),
    ("fly quad_f450 --log-step 0.0033", ("--log-step 0.0033 s", "give a multiple")),
    # fly: options
    ("fly quad_f450 --windd 5", ("--windd", "did you mean --wind")),
    ("fly quad_f450 --twin", ("--twin is an option of px4", "add --control px4")),
    ("fly quad_f450 --control px4 --time virtual --twin=3", ("--twin takes no value", "write --twin alone")),
    ("fly quad_f450 --control px4 --time virtual --twin", ("--twin compares with flights", "give a --fault")),
    ("fly quad_f450 --control px4 --twin --fault mag.bias@1", ("a flight that repeats", "--time virtual")),
    ("fly quad_f450 --control hardware --port /dev/nosuch", ("/dev/nosuch", "no such device", "plugged in?")),
    ("fly quad_f450 --folder x", ("--folder is an option of px4, ardupilot, fmu", "add --control px4")),
    ("fly quad_f450 --control mavlink --folder x", ("--folder is an option of px4", "'mavlink' does not have it")),
    ("fly quad_f450 --control px5", ("control system 'px5'", "did you mean 'px4'?")),
    ("fly quad_f450 --control mavlnk", ("control system 'mavlnk'", "did you mean 'mavlink'?")),
    ("fly quad_f450 --control px4 --time vrtual", ("--time 'vrtual'", "virtual, paced", "did you mean 'virtual'?")),
    ("fly quad_f450 --control px4 --instance 99", ("--instance '99'", "from 0 to 9")),
    ("fly quad_f450 --count 2", ("--count", "not for 'reference'", "'ironbird system list'")),
    ("fly quad_f450 --beside px4", ("--beside 'px4'", "CONTROL=VEHICLE")),
    ("fly quad_f450 --param MPC_XY=3", ("--param 'MPC_XY=3'", "--control px4", "--set")),
    ("fly quad_f450 --option foo", ("--option 'foo'", "KEY=VALUE")),
    ("fly quad_f450 --replay any.json", ("any.json is not a record of tunings", "give the tunings.json")),
    ("fly quad_f450 --replay nothing.json", ("nothing.json is not a record of tunings", "give the tunings.json")),
    # fly: names
    ("fly quad_f450 --mission sqare", ("unknown mission 'sqare'", "did you mean 'square'?")),
    ("fly quad_f450 --mission none.plan", ("--mission 'none.plan'", "No such file", "'ironbird mission list'")),
    ("fly quad_f450 --mission binary.toml", ("binary.toml:1:2", "save the file as UTF-8")),
    ("fly quad_f450 --world forrest", ("unknown world 'forrest'", "did you mean 'forest'?")),
    ("fly quad_f450 --fault motor", ("unknown fault 'motor'", "did you mean 'rotor.speed_loss@1'")),
    ("fly quad_f450 --fault GPS", ("unknown fault 'GPS'", "did you mean 'gnss.")),
    ("fly quad_f450 --fault rotor.speed_loss", ("'rotor.speed_loss'", "did you mean 'rotor.speed_loss@1'")),
    ("fly quad_f450 --fault rotor.speed_loss@1:severity=2", ("severity 2", "outside 0 .. 1")),
    ("fly quad_f450 --fault rotor.speed_loss@1:severity=20%", ("got '20%'", "from 0 to 1, for example 0.2")),
    ("fly quad_f450 --fault 'rotor.speed_loss@1:start=5 s'", ("got '5 s'", "without a unit, for example start=5")),
    ("fly quad_f450 --fault rotor.speed_loss@1:instnce=1", ("'instnce'", "did you mean 'instance'")),
    ("fly quad_f450 --fault rotor.speed_loss@1:begin=3", ("'begin'", "did you mean 'start'?")),
    ("fly quad_f450 --fault rotor.speed_loss:start=3", ("'rotor.speed_loss'", "did you mean 'rotor.speed_loss@1'")),
    ("fly quad_f450 --fault rotor.speed_loss@1:instance=9", ("rotor 1 to 4, not 9",)),
    ("fly quad_f450 --fault servo.stuck@1", ("servo.stuck@1", "has no surface", "fault list --vehicle quad_f450")),
    ("fly quad_f450 --fault rotor.speed_loss@1:start=-5", ("start -5 s is negative", "begins at 0 s")),
    ("fly quad_f450 --fault rotor.speed_loss@1:start=5,start=6", ("start is given twice", "keep one")),
    ("fly quad_f450 --fault rotor.speed_loss@1:shape=ramp", ("needs rise > 0 s, not 0", "rise=2")),
    ("fly quad_f450 --fault rotor.speed_loss@1:shape=intermittent", ("period > 0 s", "period=2,duty=0.5")),
    ("fly quad_f450 --control fmu", ("no FMU (.fmu) in folder '.'", "--folder FOLDER")),
    ("fly quad_f450 --faults-file nofile.toml", ("nofile.toml:1:1", "give a file of faults")),
    ("fly quad_f450 --require no_crsh", ("unknown requirement 'no_crsh'", "did you mean 'no_crash'?")),
    ("fly quad_f450 --require 'always (altitude < 60)'", ("column 18", "60 has no unit", "write '60 m'")),
    ("fly quad_f450 --require 'always (altitud < 60 m)'", ("column 9", "'altitud'", "did you mean 'altitude'")),
    ("fly quad_f450 --require 'alway (altitude < 60 m)'", ("column 1", "'alway'", "did you mean 'always'?")),
    ("fly quad_f450 --require 'time > 0 s an time < 9 s'", ("'an'", "did you mean 'and'?")),
    ("fly quad_f450 --set body.mas=1", ("'body.mas'", "did you mean 'body.mass'")),
    ("fly quad_f450 --set body.mass=heavy", ("--set 'body.mass=heavy'", "not a number")),
    ("fly quad_f450 --set body.mass=1600g", ("'1600g'", "without a unit, in SI (kg): body.mass=1.6")),
    ("fly quad_f450 --set body.mass", ("--set 'body.mass'", "PATH=VALUE")),
    # vehicle
    ("vehicle shw", ("'shw'", "did you mean 'ironbird vehicle show'?")),
    ("vehicle check README.md", ("README.md is a file that does not end in .toml", "give a vehicle")),
    ("vehicle import any.json", ("any.json is no vehicle of ArduPilot", "mass", "--format")),
    ("vehicle import nofile.sdf", ("nofile.sdf", "No such file", "a model of Gazebo")),
    ("vehicle import folder", ("folder is a folder", "model.sdf")),
    ("vehicle import words.csv", ("words.csv", "--format, one of sdf, urdf")),
    ("vehicle trim quad_f450 --airsped 5", ("--airsped", "did you mean --airspeed")),
    ("vehicle trim quad_f450 --airspeed 1e6", ("--airspeed '1e6'", "from 0 to 400")),
    ("vehicle margins aerosonde --axis roll", ("'roll'", "give aileron, elevator, rudder, throttle; roll is aileron")),
    ("vehicle margins quad_f450 --axis ''", ("axis ''", "give lift, roll, pitch, yaw")),
    ("vehicle margins car_escort", ("'car_escort' (car)", "multicopters, helicopter, VTOL")),
    ("vehicle step aerosonde roll", ("'roll'", "airspeed, bank, height, pitch", "roll is bank")),
    ("vehicle step quad_f450 roll --sweep body.mass", ("--sweep 'body.mass'", "PATH=FIRST:LAST:COUNT")),
    ("vehicle step quad_f450 roll --sweep body.mass=1:2", ("--sweep 'body.mass=1:2'", "PATH=FIRST:LAST:COUNT")),
    ("vehicle step quad_f450 --control px4", ("--control 'px4'", "truth or reference")),
    ("vehicle autotune quad_f450 --bandwidth 1000", ("--bandwidth '1000'", "from 0.02 to 300")),
    ("vehicle autotune quad_f450", ("give a bandwidth", "--bandwidth 10")),
    ("vehicle check text.toml", ("text.toml:5:1", "'1.5' does not fit here", "write a number")),
    ("vehicle check twice.toml", ("twice.toml:5:14", "key 'mass_kg' is given twice", "keep one")),
    ("vehicle blocks Motr", ("block 'Motr'", "did you mean 'Motor'")),
    ("vehicle mixer README.md", ("README.md", "a mixer begins with")),
    ("vehicle design parts motr", ("'motr'", "did you mean 'motor'?")),
    (f"{DESIGN} --mass 1.5 --payload 300", ("--payload '300'", "with its unit", "0.5kg")),
    (f"{DESIGN} --cells 4", ("--cells 4", "'lesson 3S 4000' has 3", "a multiple of 3")),
    ("vehicle design parts battery --cells 4", ("--cells", "its options: --where")),
    (DESIGN.replace("SunnySky A2814 KV900", "A2814"), ("motor 'A2814'", "'SunnySky A2814 KV900'")),
    ("vehicle set nofolder body.mass=1", ("nofolder/control.sock", "ironbird fly")),
    # model, export
    ("model identify none.ulg --vehicle quad_f450 --free mass", ("none.ulg: no such file", ".ulg (PX4)")),
    ("model identify README.md --vehicle quad_f450 --free mass", ("README.md is no record", ".parquet or .csv")),
    ("model identify words.csv", ("--vehicle is missing", "'ironbird vehicle list'")),
    ("model identify words.csv --vehicle quad_f450 --free mass --window 50,10", ("50 s is not before 10 s", "earlier")),
    ("model credibility words.csv --drive --vehicle quad_f450 --window 50,10", ("50 s is not before 10 s", "earlier")),
    ("model excite swep", ("'swep'", "did you mean 'sweep'?")),
    ("model credibility words.csv", ("words.csv", "--drive with --vehicle")),
    ("export cc quad_f450", ("exporter 'cc'", "did you mean 'c'?")),
    ("export c quad_f450 --part controler", ("part 'controler'", "did you mean 'controller'")),
    ("export fmu4 quad_f450", ("exporter 'fmu4'", "'fmu3' or 'fmu2'")),
    # fault, requirement, mission, world, case
    ("fault show motor", ("unknown fault 'motor'", "did you mean 'rotor.speed_loss@1'")),
    ("fault find zzzz", ("'zzzz'", "'ironbird fault list' lists all")),
    ("fault list --family rotor", ("--family", "its options: --vehicle")),
    ("requirement show no_crsh", ("'no_crsh'", "did you mean 'no_crash'?")),
    ("mission show sqare", ("'sqare'", "did you mean 'square'?")),
    ("world show forrest", ("'forrest'", "did you mean 'forest'?")),
    ("world check README.md", ("'README.md'", "known: city_block")),
    ("case list nosuch", ("suite 'nosuch'", "known: autopilots")),
    ("case check table.toml", ("table.toml:2:6", "not valid TOML", "correct this line")),
    ("case check case.toml", ("case.toml:1:1", "schema", "begin it with schema = 1")),
    # campaign, evidence, scenario
    ("case check table_case.toml", ("table_case.toml:2:1", "a table does not fit here", "write [[case]]")),
    ("campaign run nosuch", ("suite 'nosuch'", "known: autopilots")),
    ("campaign run case.toml", ("case.toml:1:1", "begin it with schema = 1")),
    ("campaign run safety --name a/b", ("'a/b' is no name for a campaign", "use letters")),
    ("campaign run safety --tag multicoptr", ("tag 'multicoptr'", "did you mean 'multicopter'")),
    ("campaign run safety --workers 1000", ("--workers '1000'", "from 1 to 256")),
    ("campaign run safety --store mysql://x", ("--store 'mysql://x'", "sqlite:///FILE")),
    ("campaign run safety --dask nohost", ("--dask 'nohost'", "tcp://HOST:PORT")),
    ("campaign run safety --traces som", ("'som'", "known: all, failing, none")),
    ("campaign show nosuch", ("campaign 'nosuch'",)),
    ("campaign diff nosuch other", ("campaign 'nosuch'",)),
    ("campaign search safety", ("safety has", "name one by --case")),
    ("campaign search safety --case nosuch", ("case 'nosuch'", "ironbird case list safety")),
    ("campaign plan --probability 2", ("probability 2", "between 0 and 1")),
    ("campaign report nosuch --requirements nope.csv", ("--requirements nope.csv", "id, text, tags")),
    ("evidence pack nosuch --requirements nope.csv", ("--requirements nope.csv", "id, text, tags")),
    ("evidence pack nosuch --fmea folder", ("--fmea folder is a folder", "id, text, tags")),
    ("evidence pack nosuch --sign nokey", ("no key nokey", "'ssh-keygen -t ed25519'")),
    ("evidence verify README.md", ("README.md is no evidence pack", "no zip file", "ironbird evidence pack")),
    ("evidence verify none.zip", ("none.zip", "no such file", "ironbird evidence pack")),
    ("evidence verify folder", ("folder is no evidence pack", "SHA256SUMS", "give the evidence.zip")),
    ("evidence verify other.zip", ("SHA256SUMS",)),
    ("scenario fly nosuch", ("scenario 'nosuch'", "known: landing_on_a_deck")),
    ("scenario run landing_on_a_deck", ("'run'", "did you mean 'ironbird scenario fly'?")),
    # system, connect, board, log, bench, app, the rest
    ("system show px5", ("'px5'", "did you mean 'px4'?")),
    ("connect route --link a", ("link 'a'", "NAME=WHERE")),
    ("connect autopilot", ("--px4-protocol",)),
    ("connect rflysim --type nosuch", ("vehicle 'nosuch'", "'ironbird vehicle list'")),
    ("board chip bmp38", ("chip 'bmp38'", "did you mean 'bmp388'?")),
    ("board run nosuchprogram", ("'nosuchprogram'", "install it, or give its path")),
    ("board hdl nosuch", ("'nosuch'", "known: icm20689")),
    ("log convert words.csv --to xlsx", ("format 'xlsx'", "known: csv")),
    ("bench kernal", ("'kernal'", "did you mean 'ironbird bench kernel'?")),
    ("bench campaign many", ("argument FLIGHTS 'many'", "give a whole number")),
    ("bench autopilots nofile.toml", ("nofile.toml:1:1", "give the path of a TOML file")),
    ("repeat nofolder", ("nofolder", "give the folder of a flight")),
    ("compare folder", ("give 2 to 6 folders", "not 1")),
    ("compare folder folder", ("folder is not the folder of a flight", "give one that 'ironbird fly' wrote")),
    ("open nofile", ("nofile", "give a page (.html)")),
    ("doctor now", ("unexpected argument 'now'", "takes options only")),
    ("app bogus", ("'bogus'", "known: do")),
    ("app do bogus", ("action 'bogus'", "'ironbird app do --list' lists them")),
    ("app do take_of", ("action 'take_of'", "did you mean 'take_off'?")),
    ("app do take_off", ("--url", "http://127.0.0.1:PORT/?token=")),
    ("app --http-port 99999", ("--http-port '99999'", "from 0 to 65535")),
    ("app --route nofile.toml", ("nofile.toml cannot be read",)),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of all wrong kinds."""
    made = tmp_path_factory.mktemp("wrong")
    (made / "folder").mkdir()
    (made / "folder.toml").mkdir()
    (made / "README.md").write_text("# Title\n\n- not = TOML\n")
    (made / "any.json").write_text('{"a": 1}')
    (made / "words.csv").write_text("hello,world\n")
    (made / "binary.toml").write_bytes(b"a\xff\x00\x01" * 500)
    (made / "empty.toml").write_text("")
    (made / "table.toml").write_text('title = "x"\n[body\nmass_kg = 1\n')
    (made / "number.toml").write_text('id = "x"\n\n[body]\nmass_kg = 1.4.2\n')
    (made / "value.toml").write_text('id = "x"\n[body]\nmass = \n')
    (made / "case.toml").write_text('[[case]]\nid = "a"\nvehicle = "quad_f450"\n')
    (made / "nothing.json").write_text("{}")
    own = 'schema = 1\nid = "x"\nbase = "quad_f450"\n[body]\n'
    (made / "text.toml").write_text(f'{own}mass_kg = "1.5"\n')
    (made / "twice.toml").write_text('id = "x"\nbase = "quad_f450"\n[body]\nmass_kg = 1.5\nmass_kg = 1.6\n')
    (made / "table_case.toml").write_text('schema = 1\n[case]\nid = "a"\nvehicle = "quad_f450"\n')
    with zipfile.ZipFile(made / "other.zip", "w") as other:
        other.writestr("a.txt", "no evidence")
    return made


def run(folder: Path, words: list[str], **more: str) -> tuple[int, float, str, str]:
    """Exit code, CPU time in seconds, standard output and error of a command line in a process of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("IRONBIRD_", "PX4_", "_IRONBIRD"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    kept |= {"PYTHONPYCACHEPREFIX": str(folder.parent / "byte_code"), "IRONBIRD_CACHE": str(folder.parent / "cache")}
    kept["IRONBIRD_QUICK"] = os.environ["IRONBIRD_QUICK"]
    command = [sys.executable, "-m", "ironbird.cli.main", *words]
    with (folder / "stdout").open("w+b") as out, (folder / "stderr").open("w+b") as err:
        child = subprocess.Popen(
            command, cwd=folder, env={**kept, **more}, stdout=out, stderr=err, stdin=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    return child.returncode, usage.ru_utime + usage.ru_stime, texts[0], texts[1]


def test_there_are_lines_for_every_noun_of_the_tree() -> None:
    begun = {line.split(" ")[0] for line, _ in LINES}
    assert {name for names in PANELS.values() for name in names} <= begun and len(LINES) >= 60
    groups = {path.rpartition(".")[0] for path in VERBS if "." in path}
    assert len({" ".join(line.split(" ")[:2]) for line, _ in LINES}) > 2 * len(groups)


@pytest.mark.parametrize(("line", "words"), LINES, ids=[line for line, _ in LINES])
def test_a_wrong_line_is_refused_with_place_value_and_cure_in_a_second(
    folder: Path, line: str, words: tuple[str, ...]
) -> None:
    before = {path.name for path in folder.iterdir()}
    for number in range(1, TRIES + 1):
        code, cpu_s, out, err = run(folder, shlex.split(line))
        assert code == 2 and not out.strip(), f"exit code {code}\n{out}\n{err}"
        assert "Traceback" not in err and "Errno" not in err and "<urlopen" not in err
        assert all(word in err for word in words), err
        if cpu_s < MOST_CPU_S:
            break
        assert number < TRIES, f"{cpu_s:.2f} s of CPU time"
    left = {path.name for path in folder.iterdir()} - before - {"stdout", "stderr"}
    assert not left, "a refused command leaves no files and no empty folder"
    assert not any((folder.parent / "cache").rglob("*.so")), "nothing is compiled before it is refused"


@pytest.mark.parametrize("word", sorted(SYNONYMS))
def test_synonyms_lead_to_commands_that_are_there(word: str) -> None:
    groups = {path.partition(".")[0] for path in VERBS}
    for path in SYNONYMS[word]:
        assert path.startswith("--") or path.replace(" ", ".") in {*VERBS, "app.do"}, path
    assert word not in groups, "a command needs no synonym"


# ---------------------------------------------------------------------- encodings


@pytest.mark.parametrize(
    "names", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("vehicle trim quad_f450", 0),  # degrees
        ("vehicle trim quad_f450 --json", 0),
        ("fly ünïcödé", 2),
        ("fly --help", 0),
        ("fault list", 0),
        ("system show px4", 0),
        ("fault show gnss.jamming@1", 0),
        ("vehicle show quad_f450", 0),
    ],
)
def test_signs_that_a_terminal_cannot_show_end_no_command(
    folder: Path, tmp_path: Path, line: str, code: int, names: dict[str, str]
) -> None:
    found, _, out, err = run(folder, shlex.split(line), IRONBIRD_CACHE=str(tmp_path), **names)
    assert found == code and "UnicodeEncodeError" not in err and "Traceback" not in err, err
    assert "\ufffd" not in out, "what cannot be shown is replaced by signs that can"


@pytest.mark.slow
def test_commands_that_write_files_need_no_locale(folder: Path, tmp_path: Path) -> None:
    names = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "IRONBIRD_CACHE": str(tmp_path / "cache")}
    (tmp_path / "suite.toml").write_text(
        'schema = 1\n\n[[case]]\nid = "warm"\ntitle = "Größe 5°"\nvehicle = "quad_f450"\ncontrol = "truth"\n'
        'mission = "hover"\nuntil_s = 1.0\nends = "time"\nseeds = 1\n',
        encoding="utf-8",
    )
    flown = tmp_path / "flown"
    for line in (
        f"fly quad_f450 --control truth --mission hover --until 2 --ends time --csv --ulog --out {flown}",
        f"case check {tmp_path}/suite.toml",
        f"campaign run {tmp_path}/suite.toml --store sqlite:///{tmp_path}/store.db --out {tmp_path}/campaign",
        f"model credibility {flown}/flight.parquet {flown}/flight.parquet --out {tmp_path}/credibility",
    ):
        code, _, _, err = run(folder, shlex.split(line), **names)
        assert code == 0 and "Traceback" not in err, err
    assert "Größe 5°" in (tmp_path / "campaign" / "report.html").read_text(encoding="utf-8")
