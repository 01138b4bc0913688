"""Every command with `--json` prints one JSON document that keeps to the schema it names."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import doc_files
import pytest
import typer
from json_documents import checked
from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.proofs import counts, start_speed

ROOT = Path(__file__).parents[2]
TABLES = "ironbird/tables/1"
PARTS = '--battery "lesson 3S 4000" --esc "lesson ESC"'
CASES = """schema = 1
[[case]]
id = "loss"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 5.0
ends = "time"
seeds = 0
[case.set]
"body.mass" = { uniform = [1.3, 1.6] }
[[case.fault]]
id = "rotor.speed_loss@1"
instance = 1
severity = { uniform = [0.8, 1.0] }
start_s = 2.0
[[case.require]]
use = "attitude_limit"
params = { limit = 30.0 }
[case.plan]
kind = "latin_hypercube"
samples = 2
"""
ONE = """schema = 1
[[case]]
id = "one"
vehicle = "quad_f450"
mission = "hover"
until_s = 1.0
ends = "time"
seeds = 1
[[case.require]]
use = "no_crash"
"""
# Command -> lines that run it at least once, each with the schema of what it prints
EXAMPLES: dict[str, dict[str, str]] = {
    "bench.autopilots": {"one.toml --system truth --system reference --out autopilots": TABLES},
    "bench.campaign": {"2 --workers 1 --out bench.json": "ironbird/bench/1"},
    "bench.counts": {"": "ironbird/bench/1"},
    "bench.determinism": {"quad_f450 --until 0.2": TABLES},
    "bench.estimators": {"--lanes 1": TABLES},
    "bench.fleet": {"quad_f450 --seeds 1": "ironbird/fleet/1"},
    "bench.kernel": {"--quick": "ironbird/speed/1"},
    "bench.start": {"--quick": "ironbird/bench/1"},
    "bench.wasm": {"boat_cybership2 --faults 0 --seconds 1": "ironbird/bench/1"},
    "bisect": {},  # tests/system/test_bisect.py: it needs a history of commits
    "board.chip": {"icm20689": "ironbird/chip/1"},
    "board.firmware.build": {"built.elf": TABLES},
    "board.firmware.run": {"provant.elf --until 0.02": TABLES},
    "board.hdl": {"icm20689 --place-runs 0 --out hdl": TABLES},
    "board.list": {"": "ironbird/boards/1"},
    "board.provant": {"--until 1 --out provant": TABLES},
    "board.trace": {f"{ROOT}/tests/data/chip_traces/px4_icm20689.txt --chip icm20689": TABLES},
    "campaign.dataset": {"cases.toml --out set": TABLES},
    "campaign.coverage": {"first": "ironbird/campaign-coverage/1"},
    "campaign.delete": {"spare --yes": TABLES},
    "campaign.diff": {"first second": "ironbird/campaign-difference/2"},
    "campaign.list": {"": "ironbird/campaigns/1"},
    "campaign.map": {"cases.toml body.mass fault.1.severity --points 3 --out map.svg": TABLES},
    "campaign.plan": {"--probability 0.01": TABLES},
    "campaign.rerun": {"first loss/0001/s0 --out again": TABLES},
    "campaign.resume": {"first --workers 1": TABLES},
    "campaign.run": {"cases.toml --workers 1 --name third": TABLES},
    "campaign.search": {"cases.toml --trials 4 --no-shrink": TABLES},
    "campaign.show": {"first": "ironbird/campaign-cases/1", "first loss/0001/s0": "ironbird/campaign-flight/1"},
    "campaign.shrink": {"first loss/0001/s0": TABLES},
    "case.check": {"cases.toml": "ironbird/problems/1"},
    "case.list": {"": "ironbird/suites/1", "cases.toml": "ironbird/cases/1"},
    "compare": {"flown other": "ironbird/flight-comparison/1"},
    "connect.gamepads": {"": TABLES},
    "connect.route": {"--link a=pty --link b=pty --until 0.2 --every 0.1": "ironbird/route/1"},
    "doctor": {"": "ironbird/doctor/1"},
    "evidence.pack": {"first --out packed.zip": TABLES},
    "evidence.repeat": {"pack.zip": TABLES},
    "evidence.verify": {"pack.zip": TABLES},
    "export": {"c quad_f450 --part controller --seconds 0.5 --out exported": TABLES, "--list": TABLES},
    "fault.find": {"compass": "ironbird/faults/1"},
    "fault.list": {"": "ironbird/faults/1"},
    "fault.show": {"rotor.speed_loss@1": TABLES},
    "fly": {"quad_f450 --control truth --mission hover --until 2 --ends time --out single": TABLES},
    "log.show": {"flown/flight.parquet": TABLES},
    "mission.list": {"": "ironbird/missions/1"},
    "mission.show": {"hover": "ironbird/missions/1"},
    "model.credibility": {"flown/flight.parquet flown/flight.parquet --out credible": "ironbird/credibility/1"},
    "model.excite": {"doublet --duration 10 --out sticks.csv": TABLES},
    "model.identify": {"flight.csv --vehicle quad_f450 --free mass": TABLES},
    "model.motor": {"stand.csv": TABLES},
    "model.noise": {"still.csv": TABLES},
    "model.pendulum": {"swing.csv --mass 1.4 --spacing 0.3 --length 1.0": TABLES},
    "model.response": {"sweep.csv --input stick --output pitch_rate": TABLES},
    "repeat": {"flown": TABLES},
    "replay": {},  # tests/autopilots/test_replay.py: it needs a flight of a real autopilot
    "requirement.list": {"": "ironbird/requirements/1"},
    "requirement.show": {"no_crash": TABLES},
    "scenario.fly": {"leader_follower --out scenario": TABLES},
    "scenario.list": {"": "ironbird/scenarios/1"},
    "system.list": {"": "ironbird/systems/1"},
    "system.show": {"px4": TABLES},
    "vehicle.autotune": {"quad_f450 --bandwidth 10 --velocity-bandwidth 2.5": "ironbird/margins/1"},
    "vehicle.blocks": {"": "ironbird/blocks/1", "Battery": "ironbird/blocks/1"},
    "vehicle.check": {"quad_f450": "ironbird/problems/1"},
    "vehicle.design.evaluate": {
        f'{PARTS} --mass 1.5 --motor "SunnySky A2814 KV900" --propeller "APC 10x4.5" --out designed': TABLES
    },
    "vehicle.design.parts": {"battery lesson": TABLES},
    "vehicle.design.search": {f"{PARTS} --out searched": TABLES},
    "vehicle.kinds": {"": TABLES},
    "vehicle.list": {"": "ironbird/vehicles/1"},
    "vehicle.margins": {"quad_f450": "ironbird/margins/1"},
    "vehicle.mixer": {"quad.main.mix": "ironbird/mixer/1", "elevons.main.mix": "ironbird/mixer/1"},
    "vehicle.modes": {"quad_f450": "ironbird/modes/1"},
    "vehicle.params": {"quad_f450": "ironbird/parameters/1"},
    "vehicle.reliability": {"hexa_x --out reliability": TABLES},
    "vehicle.signals": {"quad_f450": "ironbird/signals/1"},
    "vehicle.step": {"quad_f450 roll": "ironbird/step-response/1"},
    "vehicle.trim": {"quad_f450": TABLES},
    "world.check": {"field": TABLES},
    "world.list": {"": "ironbird/worlds/1"},
    "world.look": {"field --pixels 16,12": TABLES},
    "world.show": {"harbour": "ironbird/worlds/1"},
}
LINES = [(name, words, schema) for name, lines in EXAMPLES.items() for words, schema in lines.items()]


def commands_with_json() -> set[str]:
    """All commands that have the option, by their path with dots."""
    found: set[str] = set()

    def walk(command: Any, path: tuple[str, ...]) -> None:
        if any("--json" in param.opts for param in command.params):
            found.add(".".join(path))
        for name, below in getattr(command, "commands", {}).items():
            walk(below, (*path, name))

    walk(typer.main.get_command(app), ())
    return found


def run(line: str) -> Any:
    return CliRunner().invoke(app, shlex.split(line))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with all that the examples read, and a store of its own."""
    folder = tmp_path_factory.mktemp("json")
    (folder / "cases.toml").write_text(CASES)
    (folder / "one.toml").write_text(ONE)
    (folder / "quad.main.mix").write_text("R: 4x 10000 10000 10000 0\n")
    (folder / "elevons.main.mix").write_text(doc_files.ELEVONS)
    doc_files.identification(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("IRONBIRD_STORE", f"sqlite:///{folder}/own.db")
        for line, code in (
            ("fly quad_f450 --control truth --mission hover --until 2 --ends time --out flown", 0),
            ("fly quad_f450 --control truth --mission hover --until 2 --ends time --wind 5,270 --out other", 0),
            ("campaign run cases.toml --workers 1 --name first", 1),
            ("campaign run cases.toml --workers 1 --name second", 1),
            ("campaign run cases.toml --workers 1 --name spare --sample 1", 1),
            ("evidence pack first --out pack.zip", 0),
            ("board firmware build provant.elf", 0),
        ):
            done = run(line)
            assert done.exit_code == code, f"{line}: {done.output}"
        yield folder


@pytest.fixture
def _quick_benches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benches that count for a moment, and start commands only in name."""
    monkeypatch.setattr(counts, "WARM_S", 0.1)
    monkeypatch.setattr(start_speed, "command", lambda *_: start_speed.Took(1.0, 0.5))
    monkeypatch.setattr(start_speed, "_wait_for_both", lambda _: None)


def test_every_command_with_json_has_an_example() -> None:
    assert commands_with_json() == set(EXAMPLES)


@pytest.mark.usefixtures("place", "_quick_benches")
@pytest.mark.parametrize(
    ("name", "words", "schema"), LINES, ids=[f"{name} {words}".strip() for name, words, _ in LINES]
)
def test_standard_output_is_a_document_that_keeps_to_its_schema(name: str, words: str, schema: str) -> None:
    if name == "bench.counts" and not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    done = run(f"{name.replace('.', ' ')} {words} --json")
    assert done.exit_code in (0, 1, 3), done.output + repr(done.exception)
    document = checked(done.stdout)
    assert document["schema"] == schema
    assert document.get("tables", [{}]) or name == "connect.gamepads"  # where none may be plugged in


def test_one_function_prints_documents() -> None:
    verbs = [*ROOT.glob("src/ironbird/cli/*.py"), *ROOT.glob("src/ironbird/*/verbs.py")]
    found = {path.name: len(re.findall(r"json\.dumps|json_text\(", path.read_text())) for path in verbs}
    # a request to an app, a file of a bench, and `print_json` itself
    assert {name: count for name, count in found.items() if count} == {"app.py": 1, "bench.py": 1, "output.py": 1}


def test_problems_of_files_are_documents(place: Path) -> None:
    (place / "wrong.toml").write_text(ONE.replace("quad_f450", "quad_f45"))
    (place / "vehicle.toml").write_text("schema = 1\n")
    for line in ("case check wrong.toml --json", "vehicle check vehicle.toml --json"):
        done = run(line)
        assert done.exit_code == 2
        (entry,) = checked(done.stdout)["files"].values()
        assert entry["problems"][0]["message"]
