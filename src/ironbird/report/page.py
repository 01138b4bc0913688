"""What all pages share: one template environment."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ironbird.files.whole import write_text

TEMPLATES = Path(__file__).parent / "templates"


@functools.cache
def _environment() -> Environment:
    """Values are escaped; a name that a template asks for and nobody gives is an error."""
    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def write_page(path: Path, template: str, content: dict[str, Any]) -> None:
    """Write one HTML page; its folder is made if it is not there."""
    text = _environment().get_template(template).render(**content)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
