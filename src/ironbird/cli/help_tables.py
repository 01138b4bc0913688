"""Tables of help texts in which no word is cut: typer shortens words that are longer than their column."""

from __future__ import annotations

from typing import Any

from rich.columns import Columns
from rich.table import Table
from rich.text import Text
from typer import rich_utils


class FoldingTable(Table):
    """A table that breaks words that are longer than their column."""

    def add_row(self, *cells: Any, **how: Any) -> None:
        """Add a row; its columns fold."""
        super().add_row(*cells, **how)
        for column in self.columns:
            column.overflow = "fold"


class FoldingColumns(Columns):
    """Texts side by side that break words that are too long."""

    def __rich_console__(self, console: Any, options: Any) -> Any:
        for text in self.renderables:
            if isinstance(text, Text):
                text.overflow = "fold"
        yield from super().__rich_console__(console, options)


def fold_long_words() -> None:
    """Let typer print its help with these tables."""
    known: Any = rich_utils
    known.Table, known.Columns = FoldingTable, FoldingColumns
