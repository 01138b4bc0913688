"""JUnit XML of a campaign: one test case per flight, for continuous integration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.files.whole import replacing
from ironbird.flight.words import ERROR, FAIL, VOID

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


def write_junit(
    path: Path,
    name: str,
    results: Sequence[FlightResult],
    cases: Sequence[FlightCase] = (),
    wall_s: Mapping[str, float] | None = None,
) -> None:
    """Write JUnit XML: `fail`, `void` and unexpected `pass` are failures, `error` is an error.

    A flight of `cases` without a result is an error as well. `time` is wall time, from `wall_s` by flight, and is left
    out where it is not known; the length of the flight is the property `simulated_s`. Other properties are the seed,
    the requirements that were judged, those of the project that they cover, what the faults caused, and whether they
    changed nothing.
    """
    wrong = [r for r in results if not r.as_expected]
    judged = {r.id for r in results}
    missing = [case for case in cases if case.id not in judged]
    failures = sum(r.verdict != ERROR for r in wrong)
    errors = len(wrong) - failures + len(missing)
    counts = {"tests": str(len(results) + len(missing)), "failures": str(failures), "errors": str(errors)}
    known = wall_s or {}
    suite = ElementTree.Element("testsuite", {"name": _clean(name), **counts, **_time(sum(known.values()), known)})
    _write_properties(suite, [("simulated_s", f"{sum(r.ended_s for r in results):.3f}")])
    covered = {case.id: [id for r in case.requirements for id in r.covers] for case in cases}
    for result in results:
        about = {"classname": _clean(f"{name}.{result.case_id}"), "name": _clean(result.id)}
        about |= _time(known.get(result.id, 0.0), known)
        case = ElementTree.SubElement(suite, "testcase", about)
        _write_properties(case, _properties(result, covered.get(result.id, [])))
        if not result.as_expected:
            kind = "error" if result.verdict == ERROR else "failure"
            reason = {FAIL: "fail", VOID: "void", ERROR: "error"}.get(
                result.verdict, "pass where a failure is expected"
            )
            ElementTree.SubElement(case, kind, type=reason, message=_clean(result.sentence))
        ElementTree.SubElement(case, "system-out").text = _clean(f"sha256 {result.sha256}\n{result.sentence}")
    for flight in missing:
        about = {"classname": _clean(f"{name}.{flight.case_id}"), "name": _clean(flight.id)}
        case = ElementTree.SubElement(suite, "testcase", about)
        ElementTree.SubElement(case, "error", type="not flown", message="it is not flown yet")
    ElementTree.indent(suite)
    with replacing(path) as part:
        ElementTree.ElementTree(suite).write(part, encoding="utf-8", xml_declaration=True)


def _time(seconds: float, known: Mapping[str, float]) -> dict[str, str]:
    """The attribute of a wall time; none if no times are known."""
    return {"time": f"{seconds:.3f}"} if known else {}


def _properties(result: FlightResult, covered: Sequence[str]) -> list[tuple[str, str]]:
    """Names and values of the properties of a flight."""
    return [
        ("simulated_s", f"{result.ended_s:.3f}"),
        ("seed", str(result.seed)),
        *(("requirement", judgement.name) for judgement in result.judgements),
        *(("project_requirement", id) for id in dict.fromkeys(covered)),
        *(("not put to the test", f"{judgement.name}: {judgement.untested}") for judgement in result.untested),
        *(("caused", text) for text in result.caused),
        *(("changed nothing", f"{s['fault']} {s['sentence']}") for s in result.steps if result.changed_nothing),
    ]


def _write_properties(element: ElementTree.Element, properties: Sequence[tuple[str, str]]) -> None:
    table = ElementTree.SubElement(element, "properties")
    for name, value in properties:
        ElementTree.SubElement(table, "property", name=name, value=_clean(value))


def _clean(text: str) -> str:
    """A text without characters that XML cannot hold."""
    return _NOT_XML.sub(" ", text)
