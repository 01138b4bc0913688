"""A fault that names an axis acts on that axis alone, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.errors import FaultError
from ironbird.faults.catalog import FAULTS
from ironbird.flight.inside import fly_lanes
from ironbird.flight.order import Order, make_order
from ironbird.flight.prepare import model_of, targets_in

WHOLE = ("delay", "dropout")  # of samples as a whole
SENSORS = {"imu.accel": "imu/1/accel_fault", "imu.gyro": "imu/1/gyro_fault", "mag": "mag/1/fault"}
SENSORS |= {"gnss.position": "gnss/1/position_fault", "gnss.velocity": "gnss/1/velocity_fault"}


def order(fault: str, axis: int) -> Order:
    text = f"{fault}:instance=1,axis={axis},start=1"
    return make_order("quad_f450", mission="hover", until_s=3.0, log_s=0.004, faults=[text], seed=3)


def names(sensor: str) -> list[str]:
    separator = "_" if "." in sensor else "."
    kinds = ("scale", "bias", "drift", "noise", "spike", "stuck", "open", "short", "delay", "dropout", "saturation")
    found = [f"{sensor}{separator}{kind}@1" for kind in kinds]
    assert set(found) <= set(FAULTS)
    return found


@pytest.mark.parametrize("sensor", SENSORS)
def test_a_fault_of_one_axis_leaves_the_others_as_they_are(sensor: str) -> None:
    faults = [name for name in names(sensor) if not name.removesuffix("@1").endswith(WHOLE)]
    orders = [order(name, axis) for name in faults for axis in range(3)]
    tap = SENSORS[sensor]
    flown = fly_lanes(orders, model_of(orders[0]), also=[f"{tap}.value", f"{tap}.healthy"])
    for flight in flown:
        injection = flight.order.faults[0]
        changed = np.abs(flight.log.lane(f"{tap}.value", flight.lane) - flight.log.lane(f"{tap}.healthy", flight.lane))
        others = [axis for axis in range(3) if axis != injection.axis]
        assert not changed[:, others].any(), injection.text()
        if not injection.fault.id.endswith(("saturation@1", "scale@1")):  # at rest they may have nothing to change
            assert changed[:, injection.axis].any(), injection.text()


@pytest.mark.parametrize(
    "text",
    [
        f"{name}:instance=1,axis=0,start=1"
        for s in SENSORS
        for name in names(s)
        if name.removesuffix("@1").endswith(WHOLE)
    ]
    + ["baro.bias@1:instance=1,axis=0,start=1", "gnss.jamming@1:instance=1,axis=1,start=1"],
)
def test_what_has_no_axes_refuses_one(text: str) -> None:
    made = make_order("quad_f450", mission="hover", until_s=3.0, faults=[text])
    with pytest.raises(FaultError, match="has no axes, it acts on all of the signal; leave axis out"):
        targets_in(model_of(made), made.faults[0])
