"""A trained policy beside the PID controller and the reference autopilot in the same faulted flights.

    python bench/policies.py [--policy FILE] [--samples 150] [--workers 2] [--json FILE]

Every control system flies the same samples: take off and hover at 10 m, in wind and turbulence, with a mass that is not
known, and one fault from 12 s on. `truth` is the vehicle's own cascaded PID on the true state, as the policy flies on
the true position, velocity and attitude; `reference` is the same controller behind sensors, voting and an estimator.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import tempfile
from pathlib import Path

import numpy as np

import ironbird as ib
from ironbird.systems.policy.files import policy_path

CASES = {
    "one rotor loses 0 to 70 % of its speed": ("rotor.speed_loss@1", "severity = { uniform = [0.0, 0.7] }", True),
    "one rotor answers slowly": ("rotor.slow_response@1", "severity = { uniform = [0.0, 1.0] }", True),
    "battery gives up to 30 % less voltage": ("battery.low_voltage@1", "severity = { uniform = [0.0, 0.3] }", False),
}
CASE = """
[[case]]
id = "{id}"
title = "{title}"
vehicle = "quad_f450"
control = "{control}"
mission = "hover"
until_s = 20.0
ends = "time"
{options}
[case.wind]
speed_mps = {{ uniform = [0.0, 8.0] }}
from_deg = {{ uniform = [0.0, 360.0] }}
turbulence_mps = {{ uniform = [0.0, 8.0] }}
[case.set]
"body.mass" = {{ uniform = [1.26, 1.54] }}
[[case.fault]]
id = "{fault}"
{instance}
{severity}
start_s = 12.0
[case.plan]
kind = "monte_carlo"
samples = {samples}
[[case.require]]
use = "no_crash"
[[case.require]]
name = "stays"
formula = "always[10 s, end] (norm(body.p_NB_N[0], body.p_NB_N[1], body.p_NB_N[2] + 10 m) < 2 m)"
"""


def suite(control: str, policy: Path, samples: int) -> str:
    """The case file for a control system."""
    options = ""
    if control == "policy":
        sha256 = hashlib.sha256(policy.read_bytes()).hexdigest()
        options = f'[case.options]\nfile = "{policy}"\nsha256 = "{sha256}"'
    parts = ["schema = 1"]
    for number, (title, (fault, severity, instance)) in enumerate(CASES.items(), start=1):
        parts.append(
            CASE.format(
                id=f"case-{number}",
                title=title,
                control=control,
                options=options,
                fault=fault,
                severity=severity,
                instance="instance = { grid = [1, 2] }" if instance else "",
                samples=samples,
            )
        )
    return "\n".join(parts)


def main() -> None:
    """Fly and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", type=Path, default=policy_path("waypoint"))
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for control in ("policy", "truth", "reference"):
            file = Path(folder) / f"{control}.toml"
            file.write_text(suite(control, given.policy.resolve(), given.samples), encoding="utf-8")
            campaign = ib.campaign(
                file, workers=given.workers, store=f"sqlite:///{folder}/{control}.db", name=control, traces="none"
            )
            for number, title in enumerate(CASES, start=1):
                own = [r for r in campaign.flights if r.case_id == f"case-{number}"]
                stays = [j.margin for r in own for j in r.judgements if j.name == "stays"]
                worst = [2.0 - margin for margin in stays if math.isfinite(margin)]
                row = {verdict: sum(r.verdict == verdict for r in own) for verdict in ("pass", "fail", "void", "error")}
                crashed = sum(r.crashed for r in own)
                found.setdefault(title, {})[control] = {
                    **row, "crashed": crashed, "flights": len(own),
                    "median_m": round(float(np.median(worst)), 2) if worst else math.nan,
                }  # fmt: skip
    print("| fault | control | flights | pass | fail | void | crashed | farthest from the point, median |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for title, rows in found.items():
        for control, r in rows.items():
            cells = [title, f"`{control}`", *(f"{r[k]:.0f}" for k in ("flights", "pass", "fail", "void", "crashed"))]
            print("| " + " | ".join([*cells, f"{r['median_m']:.2f} m"]) + " |")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
