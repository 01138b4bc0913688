"""JUnit XML of a campaign: one test case per flight, for continuous integration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.files.whole import replacing
from ironbird.flight.words import ERROR, FAIL, VOID

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


def write_junit(path: Path, name: str, results: Sequence[FlightResult], cases: Sequence[FlightCase] = ()) -> None:
    """Write JUnit XML: `fail`, `void` and unexpected `pass` are failures, `error` is an error.

    A flight of `cases` without a result is an error as well.
    """
    wrong = [r for r in results if not r.as_expected]
    judged = {r.id for r in results}
    missing = [case for case in cases if case.id not in judged]
    failures = sum(r.verdict != ERROR for r in wrong)
    errors = len(wrong) - failures + len(missing)
    counts = {"tests": str(len(results) + len(missing)), "failures": str(failures), "errors": str(errors)}
    time_s = sum(r.ended_s for r in results)
    suite = ElementTree.Element("testsuite", {"name": _clean(name), **counts, "time": f"{time_s:.3f}"})
    for result in results:
        about = {"classname": _clean(f"{name}.{result.case_id}"), "name": _clean(result.id)}
        case = ElementTree.SubElement(suite, "testcase", {**about, "time": f"{result.ended_s:.3f}"})
        if not result.as_expected:
            kind = "error" if result.verdict == ERROR else "failure"
            reason = {FAIL: "fail", VOID: "void", ERROR: "error"}.get(
                result.verdict, "pass where a failure is expected"
            )
            ElementTree.SubElement(case, kind, type=reason, message=_clean(result.sentence))
        if result.untested:
            table = ElementTree.SubElement(case, "properties")
            for judgement in result.untested:
                text = _clean(f"{judgement.name}: {judgement.untested}")
                ElementTree.SubElement(table, "property", name="not put to the test", value=text)
        ElementTree.SubElement(case, "system-out").text = _clean(f"sha256 {result.sha256}\n{result.sentence}")
    for flight in missing:
        about = {"classname": _clean(f"{name}.{flight.case_id}"), "name": _clean(flight.id), "time": "0.000"}
        case = ElementTree.SubElement(suite, "testcase", about)
        ElementTree.SubElement(case, "error", type="not flown", message="it is not flown yet")
    ElementTree.indent(suite)
    with replacing(path) as part:
        ElementTree.ElementTree(suite).write(part, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    """A text without characters that XML cannot hold."""
    return _NOT_XML.sub(" ", text)
