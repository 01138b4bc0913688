"""Long runs: 10^8 steps with flat memory, and 4,096 lanes for 60 s with 50 Hz logs below 2 GB.

    python bench/soak.py [--steps 1e8]

Prints peak memory as it goes; exits with 1 if a bar is broken.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

from ironbird import compile_model, load_vehicle, run, start


def peak_mb() -> float:
    """Peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Run both soaks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=float, default=1e8, help="steps of the long run, all lanes together")
    arguments = parser.parse_args()
    model = compile_model(load_vehicle("quad_f450", control="truth").diagram)
    ok = True

    lanes = 64
    state = start(model, lanes=lanes, seed=1)
    state.set_param("wind/turbulence.wind_20ft", 8.0)
    state.set_param("battery.capacity", 1e9)  # stay in the air
    until_s = arguments.steps / lanes * model.step_s
    run(state, 10.0, keep=False)
    before, begin, rows = peak_mb(), time.perf_counter(), [0]

    def count(piece: object) -> None:
        rows[0] += len(piece.time_s)  # type: ignore[attr-defined]

    while state.time_s < until_s:
        run(state, min(until_s, state.time_s + until_s / 10), keep=False, sink=count, log=["body.p_NB_N"])
        print(f"{state.time_s * lanes / model.step_s:.2e} steps, peak {peak_mb():.0f} MB", flush=True)
    grown = peak_mb() - before
    running = sum(state.stop_of(lane) is None for lane in range(lanes))
    print(f"long run: {grown:.1f} MB grown, {time.perf_counter() - begin:.0f} s, {running} of {lanes} lanes flying")
    ok &= grown < 20.0 and running == lanes

    state = start(model, lanes=4096, seed=1)
    state.set_param("wind/turbulence.wind_20ft", 8.0)
    begin = time.perf_counter()
    log = run(state, 60.0, log=["body.p_NB_N", "body.q_NB", "body.w_NB_B"], log_s=0.02)
    seconds = time.perf_counter() - begin
    print(f"4,096 lanes, 60 s: {log.data.nbytes / 1e9:.2f} GB of logs, peak {peak_mb() / 1e3:.2f} GB, {seconds:.1f} s")
    ok &= peak_mb() < 2000.0
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
