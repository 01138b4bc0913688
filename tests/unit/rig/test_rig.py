"""The rig: sensors behind their taps, fresh samples, actuators, places on the earth."""

import numpy as np
import pymap3d
import pytest

from ironbird.errors import UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.prepare import inject
from ironbird.rig.rig import attach, make_rig
from ironbird.rig.system import FunctionSystem
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.names import vehicle_ids


def test_sensors_have_their_rates() -> None:
    rig = make_rig("quad_f450", until_s=2.0, log=["body"])
    counts = dict.fromkeys(("gyro", "mag", "baro", "gnss"), 0)
    while rig.step(4):
        counts["gyro"] += rig.gyros[0].fresh()
        counts["mag"] += rig.magnetometers[0].fresh()
        counts["baro"] += rig.barometers[0].fresh()
        counts["gnss"] += rig.receivers[0].position_N.fresh()
    assert counts["gyro"] == 500  # 250 Hz
    assert counts["mag"] == pytest.approx(100, abs=1) and counts["baro"] == pytest.approx(100, abs=1)
    assert counts["gnss"] == pytest.approx(10, abs=1)
    assert rig.accels[0].values[2] == pytest.approx(-9.8, abs=0.5)  # at rest, z down


def test_a_dropped_sensor_is_never_fresh_and_the_clock_goes_on() -> None:
    vehicle = load_vehicle("quad_f450", control="external")
    rig = make_rig(vehicle, until_s=2.0, log=["body"])
    state = rig.state
    inject(state, parse_fault("imu.gyro_dropout@1:instance=1,severity=1,start=1"))
    rig = attach(vehicle, state, until_s=2.0, log=["body"])
    late = 0
    while rig.step(4):
        fresh = rig.gyros[0].fresh()
        late += rig.time_s > 1.1 and fresh
    assert late == 0
    assert rig.time_s == pytest.approx(2.0)
    assert rig.gyros[1].fresh()


def test_places_on_the_earth_are_those_of_pymap3d() -> None:
    rig = make_rig("quad_f450", until_s=0.1, log=["body"])
    home = rig.vehicle.spec.home
    for offset in ([300.0, -200.0, -50.0], [-900.0, 400.0, 10.0]):
        ours = rig.geodetic(np.array(offset))
        theirs = pymap3d.ned2geodetic(*offset, home.latitude_deg, home.longitude_deg, home.height_m)
        assert ours[0] == pytest.approx(theirs[0], abs=1e-6)  # deg: 0.1 m
        assert ours[1] == pytest.approx(theirs[1], abs=1e-6)
        assert ours[2] == pytest.approx(theirs[2], abs=0.1)  # m: the earth is round, 0.08 m at 1 km


@pytest.mark.slow
def test_every_vehicle_can_be_put_on_the_rig() -> None:
    for name in vehicle_ids():
        diagram = load_vehicle(name, control="external").diagram
        diagram.validate()
        assert diagram.external_inputs()
        assert not [path for path in diagram.blocks if path in ("navigator", "control", "estimator")]


def test_a_function_flies() -> None:
    rig = make_rig("quad_f450", until_s=8.0, log=["body"])

    def climb(rig: object) -> None:
        height, sink = -float(p[2]), float(v[2])
        for number in range(1, 5):
            system_rig.command(f"rotor/{number}", min(1.0, max(0.0, 0.664 + 0.05 * (5.0 - height) + 0.08 * sink)))

    system_rig, p, v = rig, rig.truth("p"), rig.truth("v")
    system = FunctionSystem(climb)
    system.start(rig)
    while rig.step(system.step_ticks):
        system.exchange(rig)
    system.stop()
    log, stop = rig.finish()
    assert stop is None
    assert -log["body.p_NB_N"][-1, 2] == pytest.approx(5.0, abs=0.5)


def test_an_unknown_actuator_is_refused_with_the_known_ones() -> None:
    rig = make_rig("quad_f450", until_s=0.1, log=["body"])
    with pytest.raises(UnknownNameError, match=r"'propeller' in vehicle 'quad_f450'; known: rotor/1, "):
        rig.command("propeller", 0.5)
