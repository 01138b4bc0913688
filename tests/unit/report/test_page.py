"""What all pages share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from ironbird.report.page import TEMPLATES, _environment, write_page


def test_a_page_makes_its_folder_and_escapes_what_it_shows(tmp_path: Path) -> None:
    content = {"title": "<b>", "faults": [], "wind": "", "together": [], "systems": [], "estimates": []}

    write_page(tmp_path / "deep" / "page.html", "compare.html.j2", content)

    assert "<h1>&lt;b&gt;" in (tmp_path / "deep" / "page.html").read_text()


def test_a_name_that_nobody_gives_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UndefinedError):
        write_page(tmp_path / "page.html", "compare.html.j2", {"title": "a"})

    assert list(tmp_path.iterdir()) == []


def test_all_templates_escape_and_tell_the_browser_to_load_nothing() -> None:
    assert _environment().autoescape is True
    # pictures of svg_plot.py, which escapes their texts; rows as JSON in which no element can begin
    trusted = {"plot | safe", "map.svg | safe", "rest | safe"}
    for path in TEMPLATES.glob("*.j2"):
        text = path.read_text()
        assert "autoescape" not in text
        assert set(re.findall(r"\{\{ ([^}]*\| *safe) \}\}", text)) <= trusted, path.name
        if path.name.endswith(".html.j2") and "<html" in text:  # a whole page, no part of one
            policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
            assert policy is not None, path.name
            rules = {rule.split()[0]: rule.split()[1:] for rule in policy[1].split("; ")}
            assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
            assert "'unsafe-inline'" not in rules.get("script-src", []) and "'unsafe-eval'" not in policy[1]
