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
