"""A flight under a control system outside that is interrupted keeps what was flown, if that is wanted."""

from __future__ import annotations

import pytest

from ironbird.flight.outside import fly_external
from ironbird.links.rig import Rig
from ironbird.links.system import FunctionSystem


class Interrupted(FunctionSystem):
    """Ctrl-C comes in its last step; counts its ends."""

    ended = 0

    def stop(self) -> None:
        self.ended += 1


def interrupt_at(time_s: float) -> Interrupted:
    def function(rig: Rig) -> None:
        if rig.time_s >= time_s:
            raise KeyboardInterrupt

    return Interrupted(function)


def test_what_was_flown_is_kept_if_it_is_wanted() -> None:
    system = interrupt_at(0.5)
    flight = fly_external("quad_f450", system, until_s=2.0, keep_interrupted=True)
    assert flight.log.interrupted and flight.outcome == "interrupted at 0.50 s"
    assert flight.log.time()[-1] == pytest.approx(0.5, abs=0.03)  # one row of the log
    assert system.ended == 1


def test_otherwise_and_before_the_first_step_the_interruption_goes_on() -> None:
    for keep, time_s in ((False, 0.5), (True, 0.0)):
        system = interrupt_at(time_s)
        with pytest.raises(KeyboardInterrupt):
            fly_external("quad_f450", system, until_s=2.0, keep_interrupted=keep)
        assert system.ended == 1
