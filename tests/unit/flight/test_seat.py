"""What a control system is told when it takes its seat."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ironbird.flight import seat
from ironbird.flight.order import make_order
from ironbird.flight.prepare import fit
from ironbird.rig.system import FunctionSystem, Kind, Seat, Task


class Listening(Kind):
    """Keeps what it is told."""

    name, title, summary = "listening", "listening", "keeps its task"

    def seat(self, task: Task) -> Seat:
        self.task = task
        return Seat(FunctionSystem(lambda rig: None))


@pytest.mark.parametrize(("mission", "items"), [("hover", 1), (None, 0)])
def test_the_items_of_the_mission_are_told_if_there_is_one(
    mission: str | None, items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = Listening()
    monkeypatch.setattr(seat, "kind_of", lambda name: kind)
    order = make_order("quad_f450", control="truth", mission="hover", until_s=1.0)
    order = order if mission else replace(order, mission=None, mission_name="")
    seat.take_seat(order, fit(order)).close()
    assert len(kind.task.items) == items
    assert kind.task.until_s == 1.0 and kind.task.seed == order.seed
    if items:
        assert kind.task.items[0].height_m == order.mission.item[0].height_m  # type: ignore[union-attr]
