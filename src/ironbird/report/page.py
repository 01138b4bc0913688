"""What all pages share: one template environment, and files that appear whole or not at all."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

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


def write_text(path: Path, text: str) -> None:
    """Write a whole text file."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file in the same folder that takes the place of `path` at the end.

    A process that is killed before leaves what was there, never half a file.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
