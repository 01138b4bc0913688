"""The identity of a campaign: what a user's control system brings along is part of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_data import flight_case

from ironbird.campaign.identity import definition_changed, files_of
from ironbird.errors import OrderError
from ironbird.flight.systems import kind_of

KIND = """
from identity_helper import DAMPING
from ironbird.rig.system import Kind


class Own(Kind):
    name, title, summary = "own", "Own", "A controller with a helper."

    def seat(self, task):
        raise NotImplementedError(DAMPING)


class Untitled(Kind):
    name = "untitled"

    def seat(self, task):
        raise NotImplementedError


OWN, UNTITLED = Own(), Untitled()
"""


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "identity_home.py"
    home.write_text(KIND)
    (tmp_path / "identity_helper.py").write_text("DAMPING = 0.08\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("IRONBIRD_SYSTEMS", f"own={home}:OWN,untitled={home}:UNTITLED")
    return tmp_path / "identity_helper.py"


def test_a_changed_helper_of_a_controller_is_noticed(helper: Path) -> None:
    """Two controllers in one campaign would be one statement about neither."""
    case = flight_case(control="own", faults=())  # a kind without options has none
    noted = files_of([case])
    assert definition_changed(case, case.digest(), noted) == ""
    helper.write_text("DAMPING = -0.06\n")
    assert definition_changed(case, case.digest(), noted) == f"the control system own changed: {helper}"


def test_a_kind_without_a_title_is_refused_in_words(helper: Path) -> None:
    with pytest.raises(OrderError, match=r"control system 'untitled' at .*UNTITLED has no title: give its Kind a text"):
        kind_of("untitled")
