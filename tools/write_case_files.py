"""Writes what is generated beside the case grammar: its JSON Schema, and the suite of RFlySimSafe's published cases."""

from __future__ import annotations

from ironbird.campaign.case import SCHEMA_FILE, schema_text
from ironbird.campaign.imports.rflysimsafe import SUITE_FILE, published_suite


def main() -> None:
    """Write both files."""
    SCHEMA_FILE.write_text(schema_text())
    SUITE_FILE.parent.mkdir(exist_ok=True)
    SUITE_FILE.write_text(published_suite())


if __name__ == "__main__":
    main()
