"""Commands of README.md and of the guides, part 4: see doc_runs."""

from pathlib import Path

import pytest
from doc_runs import check_page, pages_of


@pytest.mark.parametrize("page", pages_of(3), ids=lambda page: page.stem)
def test_the_commands_of_a_page_end_as_it_says(page: Path, tmp_path: Path) -> None:
    check_page(page, tmp_path)
