"""XML of others as a tree; what can blow up or reach out (document types, entities) is refused."""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ironbird.errors import WorldError

DEEPEST = 64
MOST_ELEMENTS = 1_000_000


def read_xml(data: bytes) -> Element:
    """The root of a document without a document type."""
    builder, parser = TreeBuilder(), expat.ParserCreate()
    depth = count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > DEEPEST or count > MOST_ELEMENTS:
            raise WorldError(f"more than {MOST_ELEMENTS} elements, or nested deeper than {DEEPEST}; split the file")
        builder.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    def refuse(*_: object) -> None:
        raise WorldError("it has a document type, which may hold entities; take out the <!DOCTYPE …> line")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise WorldError(f"it is no whole XML: {error}; export it again") from None
    return builder.close()
