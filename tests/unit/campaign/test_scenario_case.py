"""The judgement of a scenario in a campaign: that of its worst vehicle."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from campaign_data import flight_case

from ironbird.campaign.scenario_case import judged_scenario
from ironbird.flight.flight import fly
from ironbird.flight.judge import Judged, not_flown
from ironbird.flight.order import make_order
from ironbird.scenario.run import ScenarioFlight, VehicleFlight


def test_a_vehicle_that_could_not_be_graded_is_the_worst_of_all() -> None:
    flight = fly(make_order("quad_f450", control="truth", mission="hover", until_s=1.0, ends="time"))
    lost = replace(not_flown(flight.order, "the link was lost"), ended_s=0.5)
    assert math.isnan(lost.score) and isinstance(flight.judged, Judged) and flight.judged.score > 0.0
    vehicles = [
        VehicleFlight(name, judged, flight.log, 0, np.zeros((1, 3)), np.zeros((1, 3, 3)), math.inf)
        for name, judged in (("good", flight.judged), ("lost", lost), ("fair", replace(flight.judged, score=0.4)))
    ]
    for order in (vehicles, vehicles[::-1]):
        flown = ScenarioFlight(None, flight.log.time_s, order, [], [], {}, {}, 0.0)  # type: ignore[arg-type]
        judged = judged_scenario(flight_case(requirements=()), flown)
        assert math.isnan(judged.score) and judged.outcome == "lost: not flown"
