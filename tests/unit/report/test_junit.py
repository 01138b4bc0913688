"""JUnit XML as a continuous-integration server reads it."""

from pathlib import Path
from xml.etree import ElementTree

from campaign_data import flight_case, flight_cases, result_of

from ironbird.report.junit import write_junit

HOSTILE = 'a<b>&"\x00\x1b[31m\ud800\uffff]]>'


def test_counts_and_kinds(tmp_path: Path) -> None:
    cases = [*flight_cases(4), flight_case(5, expect="fail"), flight_case(6, expect="fail")]
    verdicts = ["pass", "fail", "void", "error", "fail", "pass"]
    write_junit(tmp_path / "j.xml", "night", [result_of(c, v) for c, v in zip(cases, verdicts, strict=True)])
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert suite.attrib == {"name": "night", "tests": "6", "failures": "3", "errors": "1", "time": "30.000"}
    found = [(case.get("name"), [child.tag for child in case if child.tag != "system-out"]) for case in suite]
    kinds: list[list[str]] = [[], ["failure"], ["failure"], ["error"], [], ["failure"]]
    assert found == [(case.id, kind) for case, kind in zip(cases, kinds, strict=True)]
    assert suite[1][0].get("message") == "upright: tilt reached 35 deg"
    assert suite[5][0].get("type") == "pass where a failure is expected"
    assert suite[0].get("classname") == "night.hover"
    assert "sha256 " + "ab" * 32 in str(suite[0].findtext("system-out"))


def test_hostile_names(tmp_path: Path) -> None:
    case = flight_case(id=HOSTILE, case_id=HOSTILE)
    write_junit(tmp_path / "j.xml", HOSTILE, [result_of(case, "fail", sentence=HOSTILE)])
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    shown = suite[0].get("name")
    assert shown is not None and shown.startswith('a<b>&"') and "\x1b" not in shown
    assert suite[0][0].get("message") == shown


def test_nothing_flown(tmp_path: Path) -> None:
    write_junit(tmp_path / "j.xml", "empty", [])
    assert ElementTree.parse(tmp_path / "j.xml").getroot().get("tests") == "0"


def test_a_flight_that_was_not_flown_is_an_error(tmp_path: Path) -> None:
    """A server that reads only this file must not take half a campaign for a whole one."""
    cases = flight_cases(3)
    write_junit(tmp_path / "j.xml", "half", [result_of(cases[0])], cases)
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "0", "2")
    assert [case[0].get("type") for case in suite[1:]] == ["not flown", "not flown"]
