"""Write docs/chips/: one page for each chip, from its register table, and the page that lists them."""

from __future__ import annotations

from pathlib import Path

from ironbird.boards.chips.catalog import CHIPS, chip_class
from ironbird.boards.chips.page import index, page

FOLDER = Path(__file__).parents[1] / "docs" / "chips"


def pages() -> dict[str, str]:
    """All pages by file name."""
    return {"index.md": index()} | {f"{name}.md": page(chip_class(name)) for name in CHIPS}


def main() -> None:
    """Write them."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
