"""What an FMU says of itself: modelDescription.xml."""

from __future__ import annotations

from fuzz.target import Refused, attempt
from ironbird.systems.fmu.kind import Description, describe

WORDS = (
    '<?xml version="1.0"?>', "<fmiModelDescription ", 'fmiVersion="2.0" ', 'fmiVersion="3.0" ', 'guid="g">', '<CoSimulation modelIdentifier="a"/>',
    "<ModelVariables>", '<ScalarVariable name="a" valueReference="1" causality="input"><Real/></ScalarVariable>', "</ModelVariables>",
    '<Float64 name="b" valueReference="2" causality="output"/>', "</fmiModelDescription>", "<!DOCTYPE a>", 'encoding="foo"', "&amp;", "&a;",
)  # fmt: skip
MOST = 1500


def check(data: bytes) -> bool | None:
    """Taken or refused."""
    found = attempt(describe, data, "a.fmu")
    if isinstance(found, Refused):
        return "no whole XML" not in str(found.error)
    assert isinstance(found, Description) and all(isinstance(number, int) for number in found.inputs.values())
    return None
