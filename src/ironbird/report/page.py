"""What all pages share: one template environment, and scripts of this project that a page may run."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ironbird.files.whole import write_text

TEMPLATES = Path(__file__).parent / "templates"


@functools.cache
def _environment() -> Environment:
    """Jinja environment: values are escaped; a name that a template needs and does not get is an error."""
    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def page_text(template: str, content: dict[str, Any]) -> str:
    """The text of one HTML page."""
    return _environment().get_template(template).render(**content)


def write_page(path: Path, template: str, content: dict[str, Any]) -> None:
    """Write one HTML page; its folder is created if it does not exist."""
    text = page_text(template, content)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


@functools.cache
def script_text(*names: str) -> str:
    """Scripts of the templates' folder as one text; contains no result values, so its CSP hash is constant."""
    return "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)


@functools.cache
def hash_source(script: str) -> str:
    """CSP source expression (hash) of a script, which allows a browser to run it and no other [CSP3]."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
