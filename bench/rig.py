"""The figures of the live rig that want a quiet machine, in one command: tables 4 and 5 of [NguyenHa], real time.

    python bench/rig.py [--quick] [--only router,hil,real_time] [--out FILE]

Runs, one after the other: `bench/router.py` (table 4: rates and losses directly, through one thread and through the
router; ten links of 1 kHz; 1.5 minutes), `bench/hil.py --ways direct,router --rounds 2 --control` (table 5: hover error
through the router over that of the direct way, the direct way against itself, measured delays flown again in simulation
time over eight seeds, and whether flights over the paced 921600 baud line were void; 7 minutes), `bench/real_time.py`
(1 kHz for ten minutes, 5 and 8 kHz for half a minute; 11.5 minutes). 20 minutes in all; with `--quick` 4, which shows
that all of it runs and gives no figure to quote. Prints a JSON document with the load of the machine before and after
each part, then a table against the bars.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MOST_LOST = 0.001  # of the messages of table 4
BAR_HZ = 1000.0  # at which lateness has a bar
PARTS = ("router", "hil", "real_time")


def part(name: str, *words: str) -> dict[str, Any]:
    """One bench: the JSON that it prints, its load, how long it took."""
    load, began = os.getloadavg()[0], time.monotonic()
    print(f"{name} {' '.join(words)} …", file=sys.stderr, flush=True)
    ended = subprocess.run([sys.executable, str(HERE / name), *words], stdout=subprocess.PIPE, text=True, check=True)
    found, rest = [], ended.stdout.strip()
    while rest:
        document, end = json.JSONDecoder().raw_decode(rest)
        found.append(document)
        rest = rest[end:].strip()
    took = round(time.monotonic() - began, 1)
    return {"documents": found, "load": [round(load, 2), round(os.getloadavg()[0], 2)], "seconds": took}


def rows(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What, figure, bar."""
    router, hil, real = (found.get(name, {"documents": []})["documents"] for name in PARTS)
    return (
        [row for document in router for row in _router(document)]
        + [row for document in hil for row in _hil(document)]
        + [_real_time(document) for document in real]
    )


def _router(router: dict[str, Any]) -> list[tuple[str, str, str]]:
    said = []
    for way in ("direct", "single thread", "router"):
        rates = ", ".join(f"{figure['hz']:g} Hz ({100 * figure['lost']:.3f} % lost)" for figure in router[way].values())
        held = all(figure["lost"] <= MOST_LOST for figure in router[way].values())
        said.append((f"table 4, {way}", rates, "" if way != "router" else "held" if held else "NOT HELD"))
    ten = router["ten links"]
    through = "held" if ten["lost"] <= MOST_LOST else "NOT HELD"
    return [*said, ("ten links of 1 kHz", f"{100 * ten['lost']:.3f} % lost", through)]


def _hil(hil: dict[str, Any]) -> list[tuple[str, str, str]]:
    said = []
    for axis, share in hil["in_simulation_time"]["ratios"]["router"].items():
        words = f"{share['ratio']:.3f} of the direct way ({share['from']:.3f} to {share['to']:.3f} at 95 %)"
        surely = "held" if share["confident"] else "held, not with 95 % confidence"
        said.append((f"table 5, hover RMS {axis}, measured delays", words, surely if share["held"] else "NOT HELD"))
    for way, axes in hil["ratios"].items():
        shares = ", ".join(f"{axis} {share['mean']:.3f}" for axis, share in axes.items())
        said.append((f"table 5 in wall time, {way} over direct", shares, ""))
    verdicts = [link["verdict"] for links in hil["links"].values() for link in links]
    void = sum(verdict == "error" for verdict in verdicts)
    held = "NOT HELD" if void else "held"
    return [*said, ("flights over the 921600 baud line", f"{void} of {len(verdicts)} void (verdict error)", held)]


def _real_time(run: dict[str, Any]) -> tuple[str, str, str]:
    words = f"{100 * run['share']:.4f} % of {run['steps']} steps more than 1 ms late, host took {run['stolen_s']} s"
    held = "held" if run["held"] else "NOT HELD"
    return f"{run['hz']:g} Hz for {run['seconds']:g} s", words, held if run["hz"] == BAR_HZ else ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs: no figures to quote")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument("--out", type=Path, help="also write the JSON here")
    options = parser.parse_args()
    wanted, short, long = options.only.split(","), ("5", "20", "2", "10"), ("20", "45", "8", "600")
    if strange := set(wanted) - set(PARTS):
        raise SystemExit(f"--only {', '.join(strange)}: there is {', '.join(PARTS)}")
    router_s, hover_s, seeds, real_s = short if options.quick else long
    words = {
        "router": ["--seconds", router_s],
        "hil": ["--ways", "direct,router", "--rounds", "2", "--control", "--seconds", hover_s, "--seeds", seeds],
        "real_time": ["--seconds", real_s],
    }
    found = {name: part(f"{name}.py", *words[name]) for name in PARTS if name in wanted}
    text = json.dumps(found, indent=1)
    if options.out is not None:
        options.out.write_text(text + "\n")
    print(text)
    print("\n| what | figure | bar |\n| --- | --- | --- |")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows(found)))


if __name__ == "__main__":
    main()
