"""CSV cells that a spreadsheet cannot mistake for a formula [OwaspCsv]."""

from __future__ import annotations

# the last four are full-width characters
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def harmless(cell: str) -> str:
    """The cell text, with an apostrophe in front if a spreadsheet might run it as a formula; numbers stay unchanged."""
    if not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell if cell[0] in "+-" else "'" + cell
