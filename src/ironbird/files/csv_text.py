"""Cells of CSV files that no spreadsheet takes for a formula [OwaspCsv]."""

from __future__ import annotations

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four: full-width


def harmless(cell: str) -> str:
    """A text with an apostrophe before it if a spreadsheet might run it; a number stays as it is."""
    if not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell if cell[0] in "+-" else "'" + cell
