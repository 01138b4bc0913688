"""The link to PX4's rovers, against a client that is as mute as they are: pace, silences, and the speed governor."""

from __future__ import annotations

import time

import numpy as np
import pytest
from px4_like import Px4Like

from ironbird.autopilots.px4 import process as px4_process
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.messages import Outputs
from ironbird.errors import LinkError
from ironbird.rig.rig import make_rig
from ironbird.systems.px4.link import Px4

PORT = 4560


class Mute(Px4Like):
    """Answers from one step to another only, as if it were armed between them."""

    def __init__(self, port: int, begin: int, end: int) -> None:
        super().__init__(port, lambda number, time_us: self.reply(number, time_us))
        self.begin, self.end = begin, end

    def reply(self, number: int, time_us: int) -> bytes:
        """The last says that it is disarmed."""
        return self.controls(time_us, [0.3, 0.3], armed=number < self.end) if self.begin <= number <= self.end else b""


def drive(client: Mute, instance: int, until_s: float, **settings: float) -> tuple[Px4, list[float]]:
    """A rover to the end, and the wall time of each step."""
    rig = make_rig("rover_differential", until_s=until_s)
    client.start()
    system = Px4(instance=instance, connect_s=10.0, **settings)  # type: ignore[arg-type]
    system.start(rig)
    walls = [time.perf_counter()]
    try:
        while rig.step(system.step_ticks):
            system.exchange(rig)
            walls.append(time.perf_counter())
    finally:
        system.stop()
        client.join(timeout=60)
    return system, walls


@pytest.mark.clock
def test_steps_follow_the_wall_clock_while_disarmed_and_the_answers_while_armed() -> None:
    instance = px4_process.free_instance()
    client = Mute(PORT + instance, begin=101, end=400)
    system, walls = drive(client, instance, 5.0)
    assert system.step_ticks == 10
    assert client.steps == 500
    steps = [m.time_usec for m in client.got if m.get_type() == "HIL_SENSOR" and m.id == 0]
    assert set(np.diff(steps)) == {10_000}
    assert walls[100] - walls[0] > 0.9  # a second in a second
    assert walls[500] - walls[402] > 0.9
    assert np.quantile(np.diff(walls[110:390]), 0.2) < 0.008  # as fast as answers come: a step is 0.01 s
    assert system.traffic.late <= 1
    assert [h.text for h in system.autopilot_events if h.kind == "armed"] == ["armed", "disarmed"]


@pytest.mark.clock
def test_an_armed_rover_that_falls_silent_is_an_error_and_a_disarmed_one_is_not() -> None:
    instance = px4_process.free_instance()
    client = Mute(PORT + instance, begin=1, end=10**9)
    client.reply = lambda number, time_us: client.controls(time_us, [0.0]) if number <= 50 else b""  # type: ignore[method-assign]
    begin = time.perf_counter()
    with pytest.raises(LinkError, match="gave no HIL_ACTUATOR_CONTROLS for 1"):
        drive(client, instance, 1000.0, patience_s=1.0)
    assert time.perf_counter() - begin < 120
    instance = px4_process.free_instance()
    system, _ = drive(Mute(PORT + instance, begin=1, end=20), instance, 3.0, patience_s=1.0)
    assert not system.armed


def test_the_governor_of_a_car_holds_speeds_and_brakes() -> None:
    rig = make_rig("car_escort", until_s=60.0)
    airframe = airframe_of(rig.vehicle)
    assert airframe.governor is not None
    outputs = Outputs(rig, airframe)
    brake, drive_row = rig.actuators["brake"], rig.actuators["drive"]
    speed = rig.truth("v")

    def go(throttle: float, seconds: float, armed: bool = True) -> None:
        end = rig.time_s + seconds
        while rig.time_s < end and rig.step(10):
            outputs.place([0.0, throttle], armed, 0.0)

    go(0.0, 0.1, armed=False)
    assert rig.stepper.inputs[brake] == 1.0  # parked
    go(0.5, 12.0)
    assert speed[0] == pytest.approx(0.5 * airframe.governor.full_mps, rel=0.02)
    assert rig.stepper.inputs[brake] == 0.0
    go(0.1, 0.2)
    assert rig.stepper.inputs[brake] > 0.0 and rig.stepper.inputs[drive_row] == 0.0
    go(0.1, 10.0)
    assert speed[0] == pytest.approx(0.1 * airframe.governor.full_mps, rel=0.1)
    go(-0.1, 12.0)
    assert speed[0] == pytest.approx(-0.1 * airframe.governor.full_mps, rel=0.1)
