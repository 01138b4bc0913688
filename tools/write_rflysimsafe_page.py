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
        "Written by `tools/write_rflysimsafe_page.py`. Published: PX4, software (S) and hardware (H) in the loop.",
        "Ironbird: the same parameters (`quad_f450_rflysimsafe`), the reference autopilot, suite `rflysimsafe`.",
        f"Holds, crashes or flies away: **{agree} of {len(rows)} agree**.",
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
