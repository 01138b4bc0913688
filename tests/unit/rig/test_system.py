"""The interface of control systems: what a seat lets go of, and what a system says by default."""

from __future__ import annotations

import pytest

from ironbird.rig.rig import Rig
from ironbird.rig.system import AutopilotEvent, FunctionSystem, Seat


class Stubborn:
    """A pilot whose port does not close."""

    autopilot_events: list[AutopilotEvent]
    finished = False

    def poll(self, rig: Rig) -> None:
        pass

    def close(self) -> None:
        raise OSError("busy")


class Counted(FunctionSystem):
    """Counts how often it was stopped."""

    stops = 0

    def stop(self) -> None:
        self.stops += 1


def test_the_system_is_stopped_even_if_its_pilot_cannot_be_closed() -> None:
    system = Counted(lambda rig: None)
    with pytest.raises(OSError, match="busy"):
        Seat(system, Stubborn()).close()
    assert system.stops == 1


def test_a_system_without_figures_has_nothing_against_a_conclusion() -> None:
    system = FunctionSystem(lambda rig: None)
    assert (system.failure, system.mistrust(), system.figures(), system.measured()) == ("", "", {}, {})
