"""Pages and files that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import UndefinedError

from ironbird.report.page import replacing, write_page, write_text


def test_a_write_that_breaks_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_text(path, "before")

    with pytest.raises(RuntimeError), replacing(path) as part:
        part.write_text("half a pa")
        assert path.read_text() == "before" and part.parent == tmp_path
        raise RuntimeError("killed")

    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_a_write_takes_the_place_of_the_file_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_text(path, "before")

    with replacing(path) as part:
        part.write_text("after")

    assert path.read_text() == "after" and list(tmp_path.iterdir()) == [path]


def test_a_page_makes_its_folder_and_escapes_what_it_shows(tmp_path: Path) -> None:
    content = {"title": "<b>", "faults": [], "wind": "", "together": [], "systems": [], "estimates": []}

    write_page(tmp_path / "deep" / "page.html", "compare.html.j2", content)

    assert "<h1>&lt;b&gt;" in (tmp_path / "deep" / "page.html").read_text()


def test_a_name_that_nobody_gives_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UndefinedError):
        write_page(tmp_path / "page.html", "compare.html.j2", {"title": "a"})

    assert list(tmp_path.iterdir()) == []
