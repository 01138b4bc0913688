"""Unmodified public clients of RflySim fly `ironbird rflysim`, each in three modes, our autopilot and PX4 behind it.

IRONBIRD_RFLYSIM_CLIENTS names a folder with `rFlySimapi` (github.com/EchoXuK/rFlySimapi), `RFlySimSafe`
(github.com/RflySim/RFlySimSafe) and `RflySim_Planner` (github.com/KennethYangle/RflySim_Planner); none has a licence,
so none is here. Clients use fixed ports, send broadcasts and know no other end than being killed: as root they run as
nobody in a network namespace with nothing but loopback, else the test is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ironbird.autopilots.px4.process import VARIABLE as PX4_VARIABLE
from ironbird.autopilots.px4.process import find_px4
from ironbird.compiler.cache import cache_folder
from ironbird.errors import LinkError

pytestmark = pytest.mark.autopilot
VARIABLE = "IRONBIRD_RFLYSIM_CLIENTS"
CLIENTS = {
    "rFlySimapi": ("rFlySimapi/ctrl", "rFlySimapi/ue"),
    "RFlySimSafe": ("RFlySimSafe/AutoSafe/AutoTestAPI",),
    "RflySim_Planner": ("RflySim_Planner/rflysim_pkg/script",),
}
MODES = {"udp_full": 0, "udp_simple": 1, "mavlink_full": 2}
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs")
ROOT = Path(__file__).parents[2]
HOME = [40.1540302, 116.2593683]  # of quad_f450
BOX = """
ip link set lo up && ip route add 224.0.0.0/4 dev lo || exit 9
exec 3> $OUT/server.txt
options="--mode $MODE --control $CONTROL --flights 1 --until 400"
$NOBODY $PYTHON -m ironbird.cli.main rflysim $options --out $OUT/results >&3 2>&3 &
server=$!
for tries in $(seq 600); do grep -q 'vehicle 1' $OUT/server.txt && break; sleep 0.1; done
timeout 600 $NOBODY $PYTHON $PROGRAM $FOLDERS $NUMBER > $OUT/client.txt 2>&1
for tries in $(seq 300); do kill -0 $server 2> /dev/null || break; sleep 0.1; done
kill $server 2> /dev/null
wait $server
exit 0
"""


def _clients() -> Path:
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.skip(f"{VARIABLE} is not set: it names a folder with {', '.join(CLIENTS)}")
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("unshare", "setpriv", "ip")):
        pytest.skip("clients run in a namespace of their own: root, unshare, setpriv and ip are needed")
    return Path(named)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that belongs to nobody, with what was compiled before."""
    folder = Path(tempfile.mkdtemp())  # others may not look into pytest's own
    kept = cache_folder()
    if kept.is_dir():
        shutil.copytree(kept, folder / "cache")
    else:
        (folder / "cache").mkdir()
    subprocess.run(["chown", "-R", "65534:65534", str(folder)], check=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("control", ["reference", "px4"])
def test_a_public_client_flies_square_and_circle_and_stops_a_motor(
    control: str, client: str, mode: str, place: Path
) -> None:
    folders = [_clients() / folder for folder in CLIENTS[client]]
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        pytest.skip(f"{VARIABLE} has no {', '.join(missing)}")
    more = {}
    if control == "px4":
        try:
            more = {PX4_VARIABLE: str(find_px4().binary.parent.parent)}
        except LinkError as error:
            pytest.skip(str(error))
    out = place / f"{control}-{client}-{mode}"
    out.mkdir()
    os.chown(out, 65534, 65534)
    program = shutil.copy(Path(__file__).parent / "rflysim_program.py", place / "program.py")
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(out), "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1",
        "IRONBIRD_CACHE": str(place / "cache"), "PYTHON": sys.executable, "NOBODY": " ".join(NOBODY), "MODE": mode,
        "NUMBER": str(MODES[mode]), "OUT": str(out), "PROGRAM": str(program), "FOLDERS": ":".join(map(str, folders)),
        "CONTROL": control, **more,
    }  # fmt: skip

    subprocess.run(["unshare", "-n", "sh", "-c", BOX], env=environment, cwd=out, timeout=900, check=True)

    server, said = (out / "server.txt").read_text(), (out / "client.txt").read_text()
    lines = [line for line in said.splitlines() if line.startswith("SEEN ")]
    assert lines, f"{said[-2000:]}\n{server[-2000:]}"
    seen = json.loads(lines[0].removeprefix("SEEN "))
    assert seen["ready"] and seen["took off"] and seen["back"] and seen["fell"], seen
    assert seen["square"] == [True] * 4
    assert seen["circle"] == 8
    assert seen["home"][:2] == pytest.approx(HOME, abs=1e-6 if control == "reference" else 5e-5)  # PX4 estimates it
    assert seen["truth"] == pytest.approx(seen["estimate"], abs=3.0)
    assert seen["truth"] != seen["estimate"]
    assert seen["gps"][:2] == pytest.approx(HOME, abs=1e-4)
    assert all(1000 < rpm < 20000 for rpm in seen["rpm"][:4])
    assert seen["out copter"][1] == 1.0  # armed
    assert all(0 < command < 1 for command in seen["rfly_px4"][:4])
    report = json.loads((out / "results" / "1" / "1" / "summary.json").read_text())
    assert "rotor.speed_loss@1" in json.dumps(report)
