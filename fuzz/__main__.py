"""`python -m fuzz`: all targets one after another, for a time; exit code 1 with the path of each find.

python -m fuzz --time 3600                 an hour over all targets (`make fuzz TIME=3600`)
python -m fuzz formula mavlink --time 60   some of them
python -m fuzz --replay                    only the kept inputs
python -m fuzz formula FILE                one input
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

TALLY = Path(__file__).parent / "tally.json"
ROUND_S = 60.0  # the longest that a target runs before the others have their turn
INSTRUMENTED = ["ironbird", "tomllib", "pyulog"]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument(
        "names", nargs="*", help="targets; all by default. A path is one input of the target before it."
    )
    parser.add_argument("--time", type=float, default=3600.0, help="seconds in all")
    parser.add_argument("--engine", choices=("auto", "atheris", "plain"), default="auto", help="atheris where it is")
    parser.add_argument("--seed", type=int, default=None, help="of the mutations; by default the time")
    parser.add_argument("--work", type=Path, default=None, help="folder for growing corpora and finds")
    parser.add_argument("--round", type=float, default=ROUND_S, help="seconds of a target before the next has its turn")
    parser.add_argument("--replay", action="store_true", help="only the kept inputs")
    parser.add_argument("--no-tally", action="store_true", help="leave fuzz/tally.json as it is")
    asked = parser.parse_args()

    has_atheris = importlib.util.find_spec("atheris") is not None
    chosen = asked.engine if asked.engine != "auto" else ("atheris" if has_atheris else "plain")
    inputs = [Path(name) for name in asked.names if Path(name).is_file()]
    targets = _load([n for n in asked.names if not Path(n).is_file()], guided=chosen == "atheris")
    from fuzz import engine
    from fuzz.target import hasten

    if inputs:
        for path in inputs:
            targets[0].check(path.read_bytes())
        return 0
    for target in targets:
        print(f"{target.name}: {engine.replay(target)} kept inputs", flush=True)
    if asked.replay:
        return 0
    hasten()
    work = asked.work or Path(tempfile.mkdtemp(prefix="ironbird-fuzz-work-"))
    seed = asked.seed if asked.seed is not None else int(time.time())
    tally = {} if asked.no_tally or not TALLY.exists() else json.loads(TALLY.read_text())
    finds: set[str] = set()
    share, end = min(asked.round, asked.time / len(targets)), time.monotonic() + asked.time
    while time.monotonic() < end - 0.5 * share and len(finds) < len(targets):
        seed += 1
        for target in [t for t in targets if t.name not in finds]:
            outcome = engine.run(target, chosen, share, seed, work)
            packets = f", {sum(outcome.packets.values())} packets" if outcome.packets else ""
            print(f"{target.name}: {outcome.inputs} inputs, {outcome.rate:.0f}/s{packets}", flush=True)
            if outcome.told:
                finds.add(target.name)
                print(f"FIND in {target.name}: {outcome.find}\n{outcome.told}", file=sys.stderr, flush=True)
            if not asked.no_tally:
                _add(tally, outcome)
    if asked.work is None and not finds:
        shutil.rmtree(work)
    if finds:
        print(
            f"finds in {', '.join(sorted(finds))}; fix them, and keep each input in fuzz/regressions/TARGET",
            file=sys.stderr,
        )
    return 1 if finds else 0


def _load(names: list[str], *, guided: bool) -> list:
    if guided:
        import atheris  # type: ignore[import-not-found, unused-ignore]

        with atheris.instrument_imports(include=INSTRUMENTED):
            return _targets(names)
    return _targets(names)


def _targets(names: list[str]) -> list:
    from fuzz import target

    unknown = [name for name in names if name not in target.names()]
    if unknown:
        sys.exit(f"unknown target {', '.join(unknown)}; known: {', '.join(target.names())}")
    return [target.load(name) for name in names or target.names()]


def _add(tally: dict, outcome) -> None:  # type: ignore[no-untyped-def]
    """Inputs so far, by target, with the day of the last; a run that another one overtakes loses nothing of it."""
    row = tally.setdefault(outcome.target, {"inputs": 0, "seconds": 0.0, "finds": 0, "by_engine": {}})
    row["inputs"] += outcome.inputs
    row["seconds"] = round(row["seconds"] + outcome.seconds, 1)
    row["finds"] += bool(outcome.told)
    row["by_engine"][outcome.engine] = row["by_engine"].get(outcome.engine, 0) + outcome.inputs
    for name, count in outcome.packets.items():
        packets = row.setdefault("packets", {})
        packets[name] = packets.get(name, 0) + count
    row["last"] = time.strftime("%Y-%m-%d", time.gmtime())
    whole = json.dumps(dict(sorted(tally.items())), indent=1) + "\n"
    part = TALLY.with_suffix(".part")
    part.write_text(whole)
    os.replace(part, TALLY)


if __name__ == "__main__":
    sys.exit(main())
