"""`python -m fuzz`: all targets one after another, for a time; exit code 1 with the path of each find.

python -m fuzz --time 3600                 an hour over all targets (`make fuzz TIME=3600`)
python -m fuzz formula mavlink --time 60   some of them
python -m fuzz --replay                    only the kept inputs
python -m fuzz formula FILE                one input
python -m fuzz --engine libfuzzer          only the native readers, by clang's libFuzzer under sanitizers
python -m fuzz --engine plain --to 10000000  each until it has seen so many inputs, the fastest first
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from fuzz import tally

ROUND_S = 60.0  # the longest that a target runs before the others have their turn
TRIAL_S = 4.0  # with which it is seen how fast each is
ENGINES = ("auto", "atheris", "plain", "libfuzzer")
INSTRUMENTED = ["ironbird", "tomllib", "pyulog"]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument(
        "names", nargs="*", help="targets; all by default. A path is one input of the target before it."
    )
    parser.add_argument("--time", type=float, default=3600.0, help="seconds in all")
    parser.add_argument(
        "--engine", choices=ENGINES, default="auto", help="atheris and clang's libFuzzer where they are"
    )
    parser.add_argument("--seed", type=int, default=None, help="of the mutations; by default the time")
    parser.add_argument("--work", type=Path, default=None, help="folder for growing corpora and finds")
    parser.add_argument("--round", type=float, default=ROUND_S, help="seconds of a target before the next has its turn")
    parser.add_argument("--replay", action="store_true", help="only the kept inputs")
    parser.add_argument("--to", type=int, default=None, help="go on with each until its tally says so many inputs")
    parser.add_argument("--tally", type=Path, default=tally.TALLY, help="where inputs are counted; fuzz/tally.json")
    parser.add_argument("--no-tally", action="store_true", help="leave fuzz/tally.json as it is")
    asked = parser.parse_args()

    from fuzz import libfuzzer

    has_atheris = importlib.util.find_spec("atheris") is not None
    chosen = asked.engine if asked.engine != "auto" else ("atheris" if has_atheris else "plain")
    inputs = [Path(name) for name in asked.names if Path(name).is_file()]
    names = [name for name in asked.names if not Path(name).is_file()]
    native = [name for name in names or libfuzzer.names() if name in libfuzzer.names()]
    native = native if asked.engine in ("auto", "libfuzzer") and not inputs else []
    if native and not libfuzzer.clang():
        if asked.engine == "libfuzzer":
            sys.exit("libFuzzer needs clang: 'apt-get install clang'")
        print("there is no clang with libFuzzer ('apt-get install clang'): native readers run through Python alone")
        native = []
    if asked.engine == "libfuzzer":
        _refuse_unknown(names, libfuzzer.names())
        targets = []
    else:
        _refuse_unknown(names, [*_known_targets(), *libfuzzer.names()])
        wanted = [name for name in names if name in _known_targets()]
        targets = _load(wanted, guided=chosen == "atheris") if wanted or not names else []
    from fuzz import engine
    from fuzz.target import hasten

    if inputs:
        for path in inputs:
            targets[0].check(path.read_bytes())
        return 0
    for target in targets:
        print(f"{target.name}: {engine.replay(target)} kept inputs", flush=True)
    if asked.replay:
        with tempfile.TemporaryDirectory() as folder:
            for name in native:
                print(
                    f"{name} in C: {libfuzzer.replay(name, Path(folder), compiler=libfuzzer.clang())} kept inputs",
                    flush=True,
                )
        return 0
    hasten()
    work = asked.work or Path(tempfile.mkdtemp(prefix="ironbird-fuzz-work-"))
    work.mkdir(parents=True, exist_ok=True)
    seed = asked.seed if asked.seed is not None else int(time.time())
    finds: set[str] = set()
    turns = [(t.name, functools.partial(engine.run, t, chosen), "") for t in targets]
    turns += [(name, functools.partial(libfuzzer.run, name), " in C") for name in native]
    share, end = min(asked.round, asked.time / len(turns)), time.monotonic() + asked.time
    kept = work / "rates.json"  # inputs for a second of a processor, also of runs before in this folder
    rates: dict[str, float] = json.loads(kept.read_text()) if kept.exists() else {}
    while time.monotonic() < end - 0.5 * share:
        seed += 1
        left = [turn for turn in turns if turn[0] + turn[2] not in finds]
        if asked.to is not None:
            left = next_turns(left, rates, tally.read(asked.tally), asked.to)
        if not left:
            break
        for name, run, where in left:
            is_tried = asked.to is None or name + where in rates
            begin = _processor_s()
            outcome = run(share if is_tried else min(share, TRIAL_S), seed, work)
            spent_s = max(0.1, _processor_s() - begin)  # whatever else the machine does
            packets = f", {sum(outcome.packets.values())} packets" if outcome.packets else ""
            beyond = f", {outcome.beyond / outcome.inputs:.0%} beyond the first look" if outcome.beyond else ""
            print(f"{name}{where}: {outcome.inputs} inputs, {outcome.rate:.0f}/s{packets}{beyond}", flush=True)
            if outcome.told:
                finds.add(name + where)
                print(f"FIND in {name}{where}: {outcome.find}\n{outcome.told}", file=sys.stderr, flush=True)
            if not asked.no_tally:
                rates[name + where] = max(1, tally.add(asked.tally, outcome)) / spent_s
                kept.write_text(json.dumps(rates))
            if asked.to is not None and time.monotonic() > end:
                break
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

    return [target.load(name) for name in names or target.names()]


def _known_targets() -> list[str]:
    from fuzz import target

    return target.names()


def _refuse_unknown(names: list[str], known: list[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"unknown target {', '.join(unknown)}; known: {', '.join(sorted(set(known)))}")


def _processor_s() -> float:
    """Time that children have had of a processor."""
    spent = os.times()
    return spent.children_user + spent.children_system


def next_turns(turns: list, rates: dict[str, float], seen: dict[str, dict], most: int) -> list:
    """Turns of those that have not seen so many: first all that were not tried, then the one that is there soonest."""
    left = [turn for turn in turns if tally.seen(seen.get(turn[0], {})) < most]
    untried = [turn for turn in left if turn[0] + turn[2] not in rates]
    if untried:
        return untried
    soonest = sorted(left, key=lambda turn: (most - tally.seen(seen.get(turn[0], {}))) / rates[turn[0] + turn[2]])
    return soonest[:1]


if __name__ == "__main__":
    sys.exit(main())
