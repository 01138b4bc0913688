"""Sections of a flight's page that come from outside: packages (`ironbird.sections`) and users (IRONBIRD_SECTIONS).

def content(flight):
    return [("Largest roll", f"{...:.1f} deg")]

SECTION = Section("Roll", content)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ironbird.errors import IronbirdError
from ironbird.files.registry import Registry
from ironbird.flight.flight import Flight
from ironbird.report.flight.curves import Json

Rows = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Section:
    """A section of a flight's page: its title, and a function that returns its content for a flight.

    The content is rows of a name and a text, or one text; a text is escaped unless it is `Markup`. Empty content leaves
    the section out.
    """

    title: str
    content: Callable[[Flight], str | Rows]


SECTIONS: Registry[Section] = Registry("sections", {}, Section, what="section of the flight page")


def sections(flight: Flight) -> Iterator[Json]:
    """Content of each section for the page; a section that fails shows its error, and the page is still written."""
    try:
        names = list(SECTIONS)
    except IronbirdError as error:  # the variable cannot be read
        yield {"id": "sections", "title": "Sections of others", "text": "", "rows": [], "problem": str(error)}
        return
    for name in names:
        title, shown, problem = name, None, ""
        try:
            section = SECTIONS.load(name)
            title, shown = section.title, section.content(flight)
        except IronbirdError as error:
            problem = str(error)
        except (Exception, SystemExit) as error:  # it is a user's function: anything may be wrong with it
            problem = f"{SECTIONS[name]} fails: {type(error).__name__}: {error}"
        if shown or problem:
            text = shown if isinstance(shown, str) else ""
            rows = [] if isinstance(shown, str) else list(shown or ())
            anchor = "section-" + re.sub(r"[^a-z0-9]+", "-", name.lower())
            yield {"id": anchor, "title": title, "text": text, "rows": rows, "problem": problem}
