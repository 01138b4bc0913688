"""Is the model of the H250 like the vehicle? A real flight drives it: hover, the loss of a rotor, the steady spin.

The record is part of a public flight (tests/data/h250). The model is compared twice: with its authors' yaw numbers, and
as the catalogue has it, with the rotors' drag that `ironbird model identify` finds in another flight of this vehicle
(exp_unknown_multi_1.ulg).
"""

from __future__ import annotations

from pathlib import Path

from ironbird.credibility.compare import compare
from ironbird.credibility.drive import drive
from ironbird.credibility.plan import DriveTable, Plan
from ironbird.credibility.readers import read_record
from ironbird.model.signal import Number
from ironbird.report.credibility_page import write_credibility_json, write_credibility_page

RECORD = Path(__file__).parents[1] / "tests" / "data" / "h250" / "multi_10.csv"
# wanted thrusts in N go to pulses of 1000 + 181.81 T microseconds; rotors clockwise from front right
HOW = DriveTable(
    inputs={"rotor/1": "thrust_1", "rotor/4": "thrust_2", "rotor/2": "thrust_3", "rotor/3": "thrust_4"}, scale=0.18181
)
LOST: dict[str, Number] = {"rotor/1/motor.health": 0.0}
ROTORS = [f"rotor/{n}/propeller" for n in range(1, 5)]
PUBLISHED: dict[
    str, Number
] = {  # the authors' numbers: torque 0.0166 m of the thrust, and all drag of the spin in one quadratic law
    "airframe.damping": [0.001, 0.001, 6e-5],
    **{f"{rotor}.rotor_drag": 0.0 for rotor in ROTORS},
    **{f"{rotor}.torque_coefficient": 2.233e-8 for rotor in ROTORS},
}
FITTED: dict[str, Number] = {f"{rotor}.rotor_drag": 2.731e-5 for rotor in ROTORS}  # N s^2/m, +- 0.06e-5
PHASES: dict[
    str, tuple[tuple[float, float], float, tuple[str, ...], dict[str, Number]]
] = {  # seconds of the record, pieces in s, signals
    "hover": ((0.5, 5.5), 0.5, ("velocity_down", "yaw_rate"), {}),
    "loss": ((6.9, 9.4), 0.5, ("velocity_down", "yaw_rate", "roll_rate", "pitch_rate"), LOST),
    "spin": ((9.5, 13.4), 1.0, ("velocity_down", "yaw_rate", "roll_rate", "pitch_rate"), LOST),
}


def main() -> None:
    """Compare, write the pages, print the indices."""
    real = read_record(RECORD)
    for phase, (window_s, restart_s, signals, broken) in PHASES.items():
        tests = [{"name": f"{s} over time", "kind": "time", "signal": s, "tolerance": 0.1} for s in signals]
        for model, more in (("published", PUBLISHED), ("fitted", FITTED)):
            driven = drive(real, "quad_h250", HOW, window_s=window_s, restart_s=restart_s, params={**broken, **more})
            plan = driven.fitted(Plan.model_validate({"test": tests}))
            found = driven.beside(compare(driven.real, [driven.simulated], plan, shift_s=0.0))
            page = Path("out") / "h250_credibility" / f"{phase}_{model}.html"
            write_credibility_page(found, page, title=f"H250, {phase}: {model} numbers")
            write_credibility_json(found, page.with_suffix(".json"))
            values = ", ".join(f"{i.test.name} {i.value:.2f} ({i.low:.2f} to {i.high:.2f})" for i in found.indices)
            print(f"{phase}, {model}: {values}; {page}")


if __name__ == "__main__":
    main()
