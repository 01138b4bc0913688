"""Is a first guess of a vehicle like the vehicle? A PX4 log of a real flight corrects it, and judges it.

    python examples/px4_vision_credibility.py

The record is part of a public flight of a PX4 Vision kit (tests/data/px4_vision). The thrust is identified by equation
error from 8 s of the cruise; both models are judged on the 12 s after it and on the descent, which the fit
has not seen. The log has the motors' pulses at 10 Hz, so roll and pitch, which the vehicle controlled at 400 Hz, are
not judged.
"""

from __future__ import annotations

from pathlib import Path

from ironbird.credibility.compare import compare
from ironbird.credibility.drive import drive
from ironbird.credibility.plan import load_plan
from ironbird.credibility.readers import read_record
from ironbird.identification.equation_error import equation_error
from ironbird.identification.result import identified_vehicle
from ironbird.report.credibility_page import write_credibility_json, write_credibility_page
from ironbird.report.identification_page import write_identification_page

DATA = Path(__file__).parents[1] / "tests" / "data" / "px4_vision"
FITTED_S = (6.0, 14.0)
JUDGED = {"cruise": (14.0, 26.0), "descent": (28.5, 32.0)}
OUT = Path("out") / "px4_vision"


def main() -> None:
    """Fit, compare, write the pages, print the indices."""
    record, plan, guess = (
        read_record(DATA / "flight.csv"),
        load_plan(DATA / "tests.toml"),
        DATA / "quad_px4_vision.toml",
    )
    fit = equation_error(
        record, guess, ["thrust"], how=plan.drive, signals=["specific_force_z"], window_s=FITTED_S, smooth_s=0.3
    )
    write_identification_page(fit, OUT / "identification.html")
    fitted = identified_vehicle(fit, guess, OUT / "quad_px4_vision_identified.toml")
    for e in fit.estimates:
        print(f"{e.name}: {e.value:.4g} ± {e.sigma:.2g} {e.unit} (was {e.before:.4g})")
    for phase, window_s in JUDGED.items():
        for name, vehicle in {"guess": guess, "fitted": fitted}.items():
            driven = drive(record, vehicle, plan.drive, window_s=window_s)
            found = driven.beside(compare(driven.real, [driven.simulated], driven.fitted(plan), shift_s=0.0))
            page = OUT / f"{phase}_{name}.html"
            write_credibility_page(found, page, title=f"PX4 Vision, {phase}: {name}")
            write_credibility_json(found, page.with_suffix(".json"))
            values = ", ".join(f"{i.test.name} {i.value:.2f} ({i.low:.2f} to {i.high:.2f})" for i in found.indices)
            skills = ", ".join(f"{m.signal} {m.value:.2f}" for m in found.measures if m.name.endswith("no change"))
            print(f"{phase}, {name}: {values}; skill {skills}; {page}")


if __name__ == "__main__":
    main()
