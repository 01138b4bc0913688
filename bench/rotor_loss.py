"""Takes a rotor from quadcopters that hover at 20 m in 3 m/s of wind, with and without `control.lands_spinning`.

    python bench/rotor_loss.py [--seeds 20] [--rotors 1,3]

For each vehicle: how the flights ended, sink rate 3 s after the loss and later, speed at the ground, distance between
the place of the loss and that of the touch-down, and rate of spin over the last five seconds in the air.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ironbird.faults.catalog import parse_fault
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import judge
from ironbird.flight.order import Weather, make_order
from ironbird.flight.prepare import fit
from ironbird.vehicles.load import vehicle_path

VEHICLES = ("quad_h250", "quad_f450")
HEIGHT_M, LOST_S, UNTIL_S, LOG_S = 20.0, 20.0, 70.0, 0.01
WIND = Weather(speed_mps=3.0, from_deg=270.0, turbulence_mps=4.6)
MISSION = f"""schema = 1
title = "hover at {HEIGHT_M:g} m height"
duration_s = {UNTIL_S}
[[item]]
kind = "waypoint"
height_m = {HEIGHT_M}
hold_s = 1e9
"""


@dataclass(frozen=True)
class Landing:
    """One flight."""

    seed: int
    ended: str
    sink_mps: float  # largest from 3 s after the loss
    impact_mps: float
    sideways_mps: float  # at the ground
    away_m: float
    spin_radps: float


def fly(vehicle: str, *, spins: bool, rotor: int, seeds: Sequence[int]) -> list[Landing]:
    """Lose a rotor in hover, once per seed."""
    with tempfile.TemporaryDirectory() as folder:
        file, mission = Path(folder) / f"{vehicle}.toml", Path(folder) / "hover.toml"
        text = vehicle_path(vehicle).read_text()
        file.write_text(text.replace("[control]\n", "[control]\nlands_spinning = true\n") if spins else text)
        mission.write_text(MISSION)
        fault = parse_fault(f"rotor.speed_loss@1:instance={rotor},severity=1,start={LOST_S:g}")
        orders = [
            make_order(
                str(file), control="reference", mission=str(mission), faults=[fault], weather=WIND, seed=seed,
                until_s=UNTIL_S, log_s=LOG_S,
            )
            for seed in seeds
        ]  # fmt: skip
        names = ("body.p_NB_N", "body.v_NB_N", "body.w_NB_B", "contact.load")
        model = fit(orders[0]).model
        flown = fly_lanes(orders, model, also=names, threads=1)
        verdicts = judge(flown, model)  # while the vehicle's file is there
    found, log = [], flown[0].log
    for lane, judged in enumerate(verdicts):
        time_s = log.time(lane)
        place, velocity, rates, load = (log.lane(name, lane) for name in names)
        touched = np.flatnonzero((load.ravel() > 0) & (time_s > LOST_S))
        last = int(touched[0]) - 1 if len(touched) else len(time_s) - 1
        late = velocity[(time_s > LOST_S + 3) & (np.arange(len(time_s)) <= last), 2]
        before, turning = np.flatnonzero(time_s <= LOST_S)[-1], rates[max(last - int(5 / LOG_S), 0) : last, 2]
        found.append(
            Landing(
                orders[lane].seed, judged.outcome, float(late.max()) if len(late) else float(velocity[last, 2]),
                float(np.linalg.norm(velocity[last])), float(np.hypot(*velocity[last, :2])),
                float(np.hypot(*(place[last] - place[before])[:2])), float(turning.mean()),
            )
        )  # fmt: skip
    return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rotors", default="1,3")
    given = parser.parse_args()
    for vehicle in VEHICLES:
        for spins in (False, True):
            for rotor in map(int, given.rotors.split(",")):
                found = fly(vehicle, spins=spins, rotor=rotor, seeds=range(given.seeds))
                landed = sum("landed" in flight.ended for flight in found)
                print(f"{vehicle}, rotor {rotor} lost, lands_spinning {spins}: {landed} of {len(found)} landed")
                for name in ("sink_mps", "impact_mps", "sideways_mps", "away_m", "spin_radps"):
                    values = np.array([getattr(flight, name) for flight in found])
                    print(f"  {name:13s} {values.min():7.2f} {np.median(values):7.2f} {values.max():7.2f}")


if __name__ == "__main__":
    main()
