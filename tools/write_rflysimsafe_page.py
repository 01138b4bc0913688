"""Writes docs/rflysimsafe.md: the 29 published cases of RFlySimSafe, published and Ironbird's."""

from __future__ import annotations

from pathlib import Path

from rflysimsafe_outcomes import Comparison, compare_all

PAGE = Path(__file__).parent.parent / "docs" / "rflysimsafe.md"


def page(rows: list[Comparison]) -> str:
    """The page as text."""
    agree = sum(row.agrees for row in rows)
    lines = [
        "# RFlySimSafe's 29 published cases",
        "",
        "RFlySimSafe has published 29 flights of a quadcopter under PX4, each with one fault, in software (S) and in",
        "hardware (H) in the loop. Here the same faults are flown by Ironbird's reference autopilot with the same",
        "parameters of the vehicle (`quad_f450_rflysimsafe`; `ironbird campaign run rflysimsafe`), and the outcomes",
        f"are compared: the vehicle holds, crashes or flies away. **{agree} of {len(rows)} agree.** Which fault",
        "is which of Ironbird's: [RFlySimSafe's faults](reference/rflysimsafe-faults.md). Written by",
        "`tools/write_rflysimsafe_page.py`.",
        "",
        "| case | fault | published S, H | Ironbird | impact S, H, Ironbird (m/s) | agrees | why not, or remark |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        p = row.published
        speeds = [f"{v:.1f}" if v is not None else "-" for v in (p.impact_software_mps, p.impact_hardware_mps)]
        speeds.append(f"{row.ours.impact_mps:.1f}" if row.ours.crashed else "-")
        lines.append(
            f"| {row.case} | {row.title} | {p.software}, {p.hardware} | {row.outcome} | {', '.join(speeds)} | "
            f"{'yes' if row.agrees else 'no'} | {p.reason} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(compare_all()))
