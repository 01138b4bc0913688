"""Makes the pictures of README.md and the guides: docs/pictures and docs/images.

Without words it makes all of them; words choose pictures by the beginning of their path below docs/ (`pictures/worlds`,
`images`). Pages are photographed by Chromium, without which these pictures stay as they are and the exit code is 1.

Pictures of vehicles (docs/vehicles) are written by tools/write_vehicle_pages.py, those of findings (docs/findings) by
tools/write_findings_page.py. `writer_of` names the writer of any picture; tests/system/test_doc_pictures.py asks it.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.shape import shape_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tests" / "unit"))  # the browser of the tests

LOOKS = {  # world -> camera, turn, moment of `ironbird world look`
    "forest": ("-8,0,2.5", "0,0,40", "0"),
    "city_block": ("-75,-60,55", "0,-30,40", "0"),
    "harbour": ("-6,-62,10", "0,-8,35", "0"),
    "sea_floor": ("-36,4,-17", "0,-12,40", "0"),
}
FLIGHT = ["fly", "quad_f450", "--mission", "square", "--seed", "1"]
FLIGHT += ["--fault", "imu.accel_bias@1:instance=1,start=14,end=22"]
FLIGHT += ["--fault", "rotor.speed_loss@1:instance=2,severity=0.1,start=25"]
SHOWN_S = 27.0  # moment of the replay
SUITE = """schema = 1
[suite]
id = "acceptance"
title = "Acceptance of the F450"
[suite.defaults]
vehicle = "quad_f450"
mission = "hover"
until_s = 20.0
[[suite.defaults.require]]
use = "no_crash"
[[case]]
id = "TC-01"
title = "Hover in wind"
seeds = [1, 2]
wind = { speed_mps = { grid = [0.0, 3.0, 6.0, 9.0] }, from_deg = 270.0 }
require = [{ name = "stays low", formula = "always (altitude < 15 m)" }]
[[case]]
id = "TC-02"
title = "Fading motor in wind"
wind = { speed_mps = { grid = [0.0, 4.0, 8.0] }, from_deg = 270.0 }
fault = [{ id = "rotor.speed_loss@1", instance = 1, severity = { range = [0.05, 0.8], steps = 7 }, start_s = 10.0 }]
require = [{ use = "attitude_limit", params = { limit = 45.0 } }]
[[case]]
id = "TC-03"
title = "Random mass and wind"
wind = { speed_mps = { uniform = [0.0, 10.0] }, from_deg = { uniform = [0.0, 360.0] } }
set = { "body.mass" = { uniform = [1.2, 2.3] } }
plan = { kind = "monte_carlo", samples = 40 }
require = [{ name = "stays near", formula = "always (distance < 0.8 m)" }]
"""


def ironbird(*words: str, cwd: Path = ROOT) -> None:
    """The command; exit code 1 is a verdict."""
    path = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-m", "ironbird.cli", *words], cwd=cwd, env=path, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"ironbird {' '.join(words)}: {done.stderr}")


def world(path: Path) -> None:
    """A look into a world."""
    camera, turn, moment = LOOKS[path.stem]
    words = (f"--camera={camera}", f"--turn={turn}", "--moment", moment, "--pixels", "480,320", "--out", str(path))
    ironbird("world", "look", path.stem, *words)


def sensors(path: Path) -> None:
    """One look of four sensors: a camera, the same with errors, depth, classes."""
    import numpy as np

    from ironbird.rotations import from_euler
    from ironbird.world.files import load_world
    from ironbird.world.png import write_png
    from ironbird.world.rays import Scene
    from ironbird.world.runner import sensor_of
    from ironbird.world.sensors.sensor import Sight
    from ironbird.world.track import Track

    scene = Scene(load_world("forest"))
    track = Track.still((-8.0, 0.0, -2.5), from_euler(np.radians([0.0, 0.0, 40.0])))
    base = {"name": "look", "width": 240, "height": 160}
    errors = {"k1": -0.1, "noise": 0.015, "dirt": 0.12, "rain_mm_per_h": 20.0, "vignetting": 0.4}

    def seen(kind: str, key: str, **more: float) -> np.ndarray:
        return np.asarray(sensor_of({"kind": kind, **base, **more}).measure(Sight(scene, track, 0.0, 0, 1))[key])

    depth = seen("depth_camera", "depth_m", max_m=40.0)
    grey = np.where(depth > 0, np.clip(255.0 - 6.0 * depth, 0, 255), 0).astype(np.uint8)  # black: no depth
    classes = seen("semantic_camera", "label")
    palette = np.array([[176, 208, 240], [120, 90, 50], [80, 160, 60], [140, 140, 140], [200, 80, 60], [60, 90, 200]])
    four = [
        seen("camera", "rgb", antialias=2),
        seen("camera", "rgb", **errors),
        np.repeat(grey[:, :, None], 3, axis=2),
        palette[classes % len(palette)].astype(np.uint8),
    ]
    path.write_bytes(write_png(np.vstack([np.hstack(four[:2]), np.hstack(four[2:])])))


def diagram(path: Path) -> None:
    """The blocks of the F450 with the control that sees the true state."""
    ironbird("vehicle", "show", "quad_f450", "--control", "truth", "--svg", str(path))


def flight(path: Path) -> None:
    """The page of a flight with two faults, at its replay; narrow: its beginning in a window of 400 px."""
    with tempfile.TemporaryDirectory() as name:
        ironbird(*FLIGHT, "--out", name)
        page = Path(name) / "flight.html"
        if path.stem.endswith("-narrow"):
            photograph(page, path, 400, 1100)
        else:
            photograph(page, path, 1280, 1180, f"""(() => {{
                const slider = document.querySelector('input[type=range]');
                slider.value = {SHOWN_S};
                slider.dispatchEvent(new Event('input'));
                [...document.querySelectorAll('h2')].find(h => h.innerText === 'Replay').scrollIntoView();
            }})()""")  # fmt: skip


def campaign(path: Path) -> None:
    """The report of a campaign with failures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "acceptance.toml").write_text(SUITE)
        ironbird("campaign", "run", "acceptance.toml", "--name", "acceptance", cwd=folder)
        page = folder / "out" / "campaigns" / "acceptance" / "report.html"
        photograph(page, path, *((400, 1100) if path.stem.endswith("-narrow") else (1280, 1500)))


def log(path: Path) -> None:
    """The page of a log in PX4's format: of the flight with two faults."""
    with tempfile.TemporaryDirectory() as name:
        ironbird(*FLIGHT, "--ulog", "--out", f"{name}/flight")
        ironbird("log", "show", f"{name}/flight/flight.ulg", "--out", f"{name}/log")
        photograph(Path(name) / "log" / "log.html", path, 1280, 1180)


STILL = """(shape => {
  const place = document.createElement('div'), small = document.createElement('canvas');
  place.style.cssText = 'position:relative;width:1080px;height:720px';
  document.body.append(place);
  const view = new Scene.View(place, {instruments: false, dark: false}), p = [...shape.start.p];
  const sea = {ground: {height: -60, slope: [0, 0], colour: '#8d8a72'}, water: {height: 0, colour: '#2f6f8f'}};
  const wet = ['boat', 'submarine'].includes(shape.drawing);
  view.setWorld(wet ? {...sea, things: [], pads: [], movers: [], visibility: 0} : null);
  view.add('it', {shape});
  view.setCamera('orbit');
  view.moving = 0;
  if (p[2] < -20) p[2] = -3;
  view.pose('it', {p, q: shape.start.q, joints: shape.signals.map(() => 0)});
  view.draw();
  small.width = 360; small.height = 240;
  const c = small.getContext('2d');
  c.imageSmoothingQuality = 'high';
  c.drawImage(view.canvas, 0, 0, 360, 240);
  place.remove();
  return small.toDataURL('image/png').split(',')[1];
})"""  # a vehicle at its start, drawn three times as large and made small


def vehicle(path: Path) -> None:
    """A vehicle of the catalogue as the scene of the pages draws it; the first picture leaves all of them."""
    if not _DRAWN:
        from browser import chromium

        from ironbird.report.page import script_text

        with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as browser:
            page = Path(profile) / "page.html"
            page.write_text(f"<!DOCTYPE html><body></body><script>{script_text('scene.js')}</script>", encoding="utf-8")
            for name in vehicle_ids():
                tab = browser.tab(1100, 740)
                tab.open(page.as_uri())
                tab.until("document.readyState == 'complete' && typeof Scene == 'object'")
                _DRAWN[name] = base64.b64decode(tab.js(f"{STILL}({json.dumps(shape_of(name))})"))
                browser.close_tabs()
    path.write_bytes(_DRAWN[path.stem])


def photograph(page: Path, path: Path, width: int, height: int, first: str = "") -> None:
    """A page from disk as a browser shows it, after some JavaScript."""
    from browser import chromium

    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as browser:
        tab = browser.tab(width, height)
        tab.open(page.as_uri())
        tab.until("document.readyState == 'complete'")
        tab.js("document.documentElement.style.scrollBehavior = 'auto'")
        if first:
            tab.js(first)
        tab.js("new Promise(done => setTimeout(done, 2000))")  # plots are drawn when they come into view
        tab.picture(path)


def app(path: Path) -> None:
    """A page of the live rig, while a test of the app clicks through it; it leaves all its pictures at once."""
    if not _CLICKED:
        folder = Path(tempfile.mkdtemp(prefix="ironbird-pictures-"))
        _CLICKED.append(folder)
        told = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "IRONBIRD_APP_PICTURES": str(folder)}
        test = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/system/test_app.py"]
        subprocess.run([sys.executable, *test], cwd=ROOT, env=told, check=True)
    shutil.copy(_CLICKED[0] / path.name, path)


_CLICKED: list[Path] = []
_DRAWN: dict[str, bytes] = {}
PICTURES: dict[str, Callable[[Path], None]] = {  # path below docs/ -> what makes it
    **{f"pictures/worlds/{name}.png": world for name in LOOKS},
    "pictures/worlds/sensors.png": sensors,
    "pictures/quad_f450.svg": diagram,
    "pictures/flight.png": flight,
    "pictures/flight-narrow.png": flight,
    "pictures/campaign.png": campaign,
    "pictures/log.png": log,
    "pictures/campaign-narrow.png": campaign,
    **{f"pictures/vehicles/{name}.png": vehicle for name in vehicle_ids()},
    **{f"images/app-{n}.png": app for n in ("fly", "faults", "plots", "world", "connections", "campaigns", "replay")},
}
WRITERS = {"vehicles": "tools/write_vehicle_pages.py", "findings": "tools/write_findings_page.py"}
PHOTOGRAPHS = (flight, campaign, log, app, vehicle)  # need Chromium


def writer_of(path: str) -> str:
    """The script that makes a picture of docs/; empty if none does."""
    return "tools/write_pictures.py" if path in PICTURES else WRITERS.get(path.partition("/")[0], "")


def main(words: list[str]) -> int:
    """Make all pictures, or those whose path begins with one of the words."""
    left = []
    for path, make in PICTURES.items():
        if words and not path.startswith(tuple(words)):
            continue
        if make in PHOTOGRAPHS and shutil.which("chromium") is None:
            left.append(path)
            continue
        (DOCS / path).parent.mkdir(parents=True, exist_ok=True)
        make(DOCS / path)
        print(f"docs/{path}")
    for folder in _CLICKED:
        shutil.rmtree(folder)
    if left:
        print(f"chromium is not on PATH; not made: {', '.join(left)}", file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
