"""JUnit XML of a campaign: one test case per flight, for continuous integration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from ironbird.campaign.verdict import ERROR, FAIL, VOID, FlightResult

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


def write_junit(path: Path, name: str, results: Sequence[FlightResult]) -> None:
    """Failures are `fail` and `void` (or a `pass` where a failure is expected), errors are `error`."""
    wrong = [r for r in results if not r.as_expected]
    suite = ElementTree.Element(
        "testsuite", name=_clean(name), tests=str(len(results)),
        failures=str(sum(r.verdict != ERROR for r in wrong)), errors=str(sum(r.verdict == ERROR for r in wrong)),
        time=f"{sum(r.ended_s for r in results):.3f}",
    )  # fmt: skip
    for result in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_clean(f"{name}.{result.case_id}"), name=_clean(result.id),
            time=f"{result.ended_s:.3f}",
        )  # fmt: skip
        if not result.as_expected:
            kind = "error" if result.verdict == ERROR else "failure"
            said = {FAIL: "fail", VOID: "void", ERROR: "error"}.get(result.verdict, "pass where a failure is expected")
            ElementTree.SubElement(case, kind, type=said, message=_clean(result.sentence))
        ElementTree.SubElement(case, "system-out").text = _clean(f"sha256 {result.sha256}\n{result.sentence}")
    ElementTree.indent(suite)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    """Without characters that XML cannot hold."""
    return _NOT_XML.sub(" ", text)
