"""A navigator that hears commands, by itself: orders are counted, and it is asked what it puts out afterwards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ironbird.blocks.controllers.command_ports import COURSE, HEIGHT, P_N, SPEED, V_N, YAW, YAW_RATE
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run

GIVEN = {  # input of a set-point -> places in `offboard_given`
    "offboard_position": slice(P_N, V_N), "offboard_velocity": slice(V_N, YAW), "offboard_yaw": slice(YAW, YAW + 1),
    "offboard_yaw_rate": slice(YAW_RATE, YAW_RATE + 1), "offboard_course": slice(COURSE, COURSE + 1),
    "offboard_height": slice(HEIGHT, HEIGHT + 1), "offboard_speed": slice(SPEED, SPEED + 1),
}  # fmt: skip


def heading(yaw: float) -> list[float]:
    """Attitude of a level vehicle, as the input `R_NB` has it."""
    c, s = math.cos(yaw), math.sin(yaw)
    return [c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0]


class Bench:
    """One navigator, and the vehicle that stays where it is put."""

    def __init__(self, model: CompiledModel, place: list[float], **states: Any) -> None:
        self.state = start(model)
        self.orders = 0
        self.put(place)
        for name, value in states.items():
            self.state.set_state(f"block.{name}", value)

    def put(self, place: list[float], v: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        self.give(p_NB_N=place, v_NB_N=v)

    def give(self, **inputs: Any) -> None:
        for name, value in inputs.items():
            if name in self.state.model.inputs():
                self.state.set_input(name, value)

    def target(self, kind: float = 0.0, **values: Any) -> None:
        """The set-point, and with it which of its parts are given."""
        given = np.zeros(11)
        for name in values:
            if name in GIVEN:
                given[GIVEN[name]] = 1.0
        self.give(offboard_kind=kind, offboard_given=given, **values)

    def order(self, command: float, **inputs: Any) -> None:
        self.orders += 1
        plain = {"goto": 0.0, "start_item": -1.0, "direct": 0.0}
        self.give(command=float(command), order=float(self.orders), **{**plain, **inputs})

    def rows(self, seconds: float) -> dict[str, np.ndarray]:
        """Outputs at each sample of a while."""
        step = self.state.model.step_s
        log = run(self.state, self.state.time_s + seconds, log_s=step)
        return {path.partition(".")[2]: log[path] for path in log.signals if path.startswith("block.")}

    def after(self, seconds: float = 0.0) -> dict[str, np.ndarray]:
        """Outputs after a while; without one as soon as what was given is heard."""
        step = self.state.model.step_s
        return {name: np.atleast_1d(values[-1]) for name, values in self.rows(max(seconds, 2 * step)).items()}
