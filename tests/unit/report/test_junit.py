"""JUnit XML as a continuous-integration server reads it."""

from pathlib import Path
from xml.etree import ElementTree

from campaign_data import flight_case, flight_cases, result_of

from ironbird.flight.order import Requirement
from ironbird.report.junit import write_junit

HOSTILE = 'a<b>&"\x00\x1b[31m\ud800\uffff]]>'


def test_counts_and_kinds(tmp_path: Path) -> None:
    cases = [*flight_cases(4), flight_case(5, expect="fail"), flight_case(6, expect="fail")]
    verdicts = ["pass", "fail", "void", "error", "fail", "pass"]
    write_junit(tmp_path / "j.xml", "night", [result_of(c, v) for c, v in zip(cases, verdicts, strict=True)])
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert suite.attrib == {"name": "night", "tests": "6", "failures": "3", "errors": "1"}
    tests = suite.findall("testcase")
    silent = ("system-out", "properties")
    found = [(case.get("name"), [child.tag for child in case if child.tag not in silent]) for case in tests]
    kinds: list[list[str]] = [[], ["failure"], ["failure"], ["error"], [], ["failure"]]
    assert found == [(case.id, kind) for case, kind in zip(cases, kinds, strict=True)]
    assert tests[1][1].get("message") == "upright: tilt reached 35 deg"
    assert tests[5][1].get("type") == "pass where a failure is expected"
    assert tests[0].get("classname") == "night.hover"
    assert "sha256 " + "ab" * 32 in str(tests[0].findtext("system-out"))


def test_hostile_names(tmp_path: Path) -> None:
    case = flight_case(id=HOSTILE, case_id=HOSTILE)
    write_junit(tmp_path / "j.xml", HOSTILE, [result_of(case, "fail", sentence=HOSTILE)])
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    tests = suite.findall("testcase")
    shown = tests[0].get("name")
    assert shown is not None and shown.startswith('a<b>&"') and "\x1b" not in shown
    assert tests[0][1].get("message") == shown


def test_nothing_flown(tmp_path: Path) -> None:
    write_junit(tmp_path / "j.xml", "empty", [])
    assert ElementTree.parse(tmp_path / "j.xml").getroot().get("tests") == "0"


def test_a_flight_that_was_not_flown_is_an_error(tmp_path: Path) -> None:
    """A server that reads only this file must not take half a campaign for a whole one."""
    cases = flight_cases(3)
    write_junit(tmp_path / "j.xml", "half", [result_of(cases[0])], cases)
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "0", "2")
    assert [case[0].get("type") for case in suite.findall("testcase")[1:]] == ["not flown", "not flown"]


def properties(element: ElementTree.Element) -> list[tuple[str | None, str | None]]:
    return [(entry.get("name"), entry.get("value")) for entry in element.findall("properties/property")]


def test_time_is_wall_time_and_the_flight_is_a_property(tmp_path: Path) -> None:
    """Servers show 2.5 hours and alarms of slow tests for a run of two minutes if it is the length of the flights."""
    near = Requirement("near", "always (position_error < 5 m)", covers=("SORA-02", "SORA-03"))
    cases = [flight_case(number, requirements=(near,)) for number in (1, 2)]
    results = [result_of(case) for case in cases]
    write_junit(tmp_path / "j.xml", "night", results, cases, {cases[0].id: 0.25, cases[1].id: 0.5})
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    first, second = suite.findall("testcase")
    assert (suite.get("time"), first.get("time"), second.get("time")) == ("0.750", "0.250", "0.500")
    assert properties(suite) == [("simulated_s", "10.000")]
    assert properties(second) == [
        ("simulated_s", "5.000"), ("seed", "2"), ("requirement", "near"),
        ("project_requirement", "SORA-02"), ("project_requirement", "SORA-03"),
    ]  # fmt: skip
    write_junit(tmp_path / "j.xml", "night", results, cases)
    assert ElementTree.parse(tmp_path / "j.xml").getroot()[1].get("time") is None
