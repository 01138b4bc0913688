"""Write the fragments of changelog/ into CHANGELOG.md as the section of a release, and remove them.

A fragment is a file `changelog/NAME.TYPE.md` with one paragraph; changelog/README.md says how to write one.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADINGS = {  # type of a fragment -> heading, in the order of a release's section
    "added": "Added",
    "changed": "Changed",
    "fixed": "Fixed",
    "removed": "Removed",
    "security": "Security",
    "numbers": "Numbers change",
}
MARK = "<!-- releases -->\n"  # in CHANGELOG.md: the newest release follows
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\.(?P<type>[a-z]+)\.md")
VERSION = re.compile(r"\d+\.\d+\.\d+")


class ChangelogError(ValueError):
    """A fragment or the changelog is not as changelog/README.md says."""


@dataclass(frozen=True)
class Fragment:
    """One change: its file, its type (a key of `HEADINGS`) and its text."""

    path: Path
    type: str
    text: str

    def bullet(self) -> str:
        """The text as an item of a list; further lines are indented."""
        first, *rest = self.text.splitlines()
        return "\n".join([f"- {first}", *(f"  {line.strip()}" for line in rest)])


def load(folder: Path) -> list[Fragment]:
    """All fragments of a folder by name; a wrong name or text is an error that names all of them."""
    fragments, problems = [], []
    for path in sorted(path for path in folder.iterdir() if path.name != "README.md"):
        found = NAME.fullmatch(path.name)
        if not found or found["type"] not in HEADINGS:
            problems.append(f"{path.name}: not NAME.TYPE.md with TYPE one of {', '.join(HEADINGS)}")
            continue
        text = path.read_text(encoding="utf-8").strip()
        if not text or "\n\n" in text or text.startswith(("-", "*", "#")):
            problems.append(f"{path.name}: not one paragraph without bullet and heading")
        fragments.append(Fragment(path, found["type"], text))
    if problems:
        raise ChangelogError("\n".join(problems))
    return fragments


def section(version: str, date: datetime.date, fragments: list[Fragment]) -> str:
    """The section of a release: its heading, and the fragments under the headings of their types."""
    parts = [f"## {version} ({date.isoformat()})"]
    for kind, heading in HEADINGS.items():
        if bullets := [fragment.bullet() for fragment in fragments if fragment.type == kind]:
            parts += [f"### {heading}", "\n".join(bullets)]
    return "\n\n".join(parts) + "\n"


def release(root: Path, version: str, date: datetime.date) -> str:
    """Write the section of a release into CHANGELOG.md, remove its fragments, and return the section."""
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    fragments = load(root / "changelog")
    if not VERSION.fullmatch(version):
        raise ChangelogError(f"'{version}' is no version: write it as 0.3.0")
    if not fragments:
        raise ChangelogError("changelog/ has no fragments: nothing to release")
    if f"\n## {version} " in text:
        raise ChangelogError(f"CHANGELOG.md has a section {version} already")
    if text.count(MARK) != 1:
        raise ChangelogError(f"CHANGELOG.md must have the line '{MARK.strip()}' once")
    added = section(version, date, fragments)
    changelog.write_text(text.replace(MARK, f"{MARK}\n{added}"), encoding="utf-8")
    for fragment in fragments:
        fragment.path.unlink()
    return added


def main(arguments: list[str] | None = None) -> int:
    """The command: 0 if the section was written or printed, 2 with a sentence if it cannot be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", help="of the release, such as 0.3.0")
    parser.add_argument(
        "--date", type=datetime.date.fromisoformat, default=datetime.date.today(), help="of the release"
    )
    parser.add_argument("--draft", action="store_true", help="print the section and change nothing")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder with CHANGELOG.md and changelog/")
    given = parser.parse_args(arguments)
    try:
        if given.draft:
            print(section(given.version, given.date, load(given.root / "changelog")))
        else:
            print(release(given.root, given.version, given.date))
    except ChangelogError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
