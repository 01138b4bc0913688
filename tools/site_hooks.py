"""What `make site` adds to mkdocs: pages that live beside docs/, folders in the navigation, links, equations.

A link to a page or picture of docs/ stays one; a link to a file of the source tree becomes its name, since the site
holds pages only; a link to nothing is an error. Equations (`$$ … $$` and ```` ```math ````) become MathML, which
browsers draw without a script.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BESIDE = {  # page of the site -> file beside docs/
    "index.md": "README.md",
    "known-gaps.md": "KNOWN_GAPS.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
}
HIDDEN = ("measured/",)  # as exclude_docs of mkdocs.yml has it
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


# ---------------------------------------------------------------------- pages and navigation


def pages() -> list[str]:
    """All pages of the site, by their path in it."""
    within = (path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    return sorted([*BESIDE, *(page for page in within if not page.startswith(HIDDEN))])


def full_nav(nav: list[Any]) -> list[Any]:
    """The navigation with every folder replaced by its pages."""

    def entries(value: Any) -> Any:
        if isinstance(value, str) and value.endswith("/"):
            return sorted(page for page in pages() if page.startswith(value) and page not in named)
        if isinstance(value, list):
            return [entries(part) for part in value]
        if isinstance(value, dict):
            return {title: entries(part) for title, part in value.items()}
        return value

    named = set(named_pages(nav))
    return [entries(part) for part in nav]


def named_pages(nav: Any) -> Iterator[str]:
    """Every page that a navigation names."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from named_pages(part)


# ---------------------------------------------------------------------- links


def source_of(page: str) -> Path:
    """The file from which a page of the site is made."""
    return ROOT / BESIDE[page] if page in BESIDE else DOCS / page


def page_of(path: Path) -> str | None:
    """The page or picture of the site that a file becomes; nothing for files of the source tree."""
    for page, name in BESIDE.items():
        if path == ROOT / name:
            return page
    hidden = path.suffix in (".toml", ".bib") or path.is_dir()
    if hidden or not path.is_relative_to(DOCS) or path.relative_to(DOCS).as_posix().startswith(HIDDEN):
        return None
    return path.relative_to(DOCS).as_posix()


def with_links_of_the_site(text: str, page: str) -> str:
    """A page's text with links as they are in the site."""
    here = source_of(page)

    def changed(found: re.Match[str]) -> str:
        mark, label, target = found.groups()
        place, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not place:
            return found[0]
        path = Path(os.path.normpath(here.parent / place))
        if not path.exists():
            raise ValueError(f"{here.relative_to(ROOT)} links to {target}, which does not exist")
        there = page_of(path)
        if there is None:
            return label
        relative = os.path.relpath(there, Path(page).parent)
        return f"{mark}[{label}]({relative}{'#' * bool(anchor)}{anchor})"

    parts, last = [], 0
    for code in CODE.finditer(text):  # what is code stays
        if code[0].startswith("```"):
            parts += [LINK.sub(changed, text[last : code.start()]), code[0]]
            last = code.end()
    return "".join([*parts, LINK.sub(changed, text[last:])])


def with_equations(text: str) -> str:
    """A page's text with its equations as MathML."""
    if "```math\n" not in text:
        return text
    from latex2mathml.converter import convert

    def drawn(found: re.Match[str]) -> str:
        lines = [line for line in found[1].strip().split("\n\n") if line.strip()]
        return "\n".join(f'<div class="equation">{convert(line, display="block")}</div>\n' for line in lines)

    return re.sub(r"```math\n(.*?)```", drawn, text, flags=re.DOTALL)


# ---------------------------------------------------------------------- called by mkdocs


def on_config(config: Any) -> Any:
    """Put the pages of folders into the navigation."""
    config["nav"] = full_nav(config["nav"])
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that live beside docs/."""
    from mkdocs.structure.files import File

    for page, name in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links and equations."""
    from mkdocs.exceptions import PluginError

    try:
        return with_equations(with_links_of_the_site(markdown, page.file.src_uri))
    except ValueError as error:
        raise PluginError(str(error)) from error


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Refuse a page that loads anything from the network."""
    from mkdocs.exceptions import PluginError

    if loaded := re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|stylesheet)[^>]+//[^>]+", output):
        raise PluginError(f"{page.file.src_uri}: the page loads something from the network: {loaded[0]}")
    return output
