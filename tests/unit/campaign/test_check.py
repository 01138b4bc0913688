"""Problems that `case check` finds in what is ordered."""

from pathlib import Path

import pytest

from ironbird.campaign.suite import check


@pytest.mark.parametrize(
    ("start", "until", "late"),
    [("12", "10", True), ("{ grid = [12, 20] }", "10", True), ("{ grid = [5, 20] }", "10", False), ("5", "10", False)],
)
def test_a_fault_that_begins_after_the_end_is_refused(tmp_path: Path, start: str, until: str, late: bool) -> None:
    text = f'schema = 1\n[[case]]\nid = "a"\nvehicle = "quad_f450"\nuntil_s = {until}\n'
    (tmp_path / "a.toml").write_text(
        f'{text}[[case.fault]]\nid = "imu.accel_bias@1"\ninstance = 1\nstart_s = {start}\n'
    )
    found = [problem.message for problem in check(tmp_path / "a.toml")]
    assert (found == ["it begins at 12 s, and the flight ends at 10 s: it cannot act"]) == late, found


def test_an_axis_of_what_has_none_is_refused_in_words(tmp_path: Path) -> None:
    text = 'schema = 1\n[[case]]\nid = "a"\nvehicle = "quad_f450"\n[[case.fault]]\nid = "baro.bias@1"\n'
    (tmp_path / "a.toml").write_text(text + "instance = 1\naxis = 0\n")
    (problem,) = check(tmp_path / "a.toml")
    assert problem.message == "baro/1/fault.offset has no axes, it acts on all of the signal"
    assert problem.cure == "leave axis out" and problem.key.endswith("axis")


def test_a_sensor_that_the_control_lacks_is_no_misspelling(tmp_path: Path) -> None:
    text = (
        'schema = 1\n[[case]]\nid = "a"\nvehicle = "quad_f450"\ncontrol = "truth"\n[[case.fault]]\nid = "mag.bias@1"\n'
    )
    (tmp_path / "a.toml").write_text(text + "instance = 1\n")
    (problem,) = check(tmp_path / "a.toml")
    assert "did you mean" not in problem.cure and "under 'reference' vehicles have sensors" in problem.cure
