"""XML from other programs as a tree; document types and entities (expansion attacks, external files) are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ironbird.errors import IronbirdError

DEEPEST = 64
MOST_ELEMENTS = 1_000_000


def read_xml(data: bytes, refused: Callable[[str], IronbirdError]) -> Element:
    """Root element of a document without a document type; `refused` makes the exception from the reason of a refusal.

    The parser itself detects a document type, so that the encoding of the document does not matter.
    """
    builder, parser = TreeBuilder(), expat.ParserCreate()
    depth = count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > DEEPEST or count > MOST_ELEMENTS:
            raise refused(f"more than {MOST_ELEMENTS} elements, or nested deeper than {DEEPEST}; split the file")
        builder.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    def refuse(*_: object) -> NoReturn:
        raise refused("it has a document type, which may hold entities; take out the <!DOCTYPE …> line")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: unknown encodings
        raise refused(f"it is no whole XML: {error}; export it again") from None
    return builder.close()
