"""ADS-B reports as messages, read back by pymavlink."""

from __future__ import annotations

import numpy as np
import pytest
from pymavlink.dialects.v20 import common

from ironbird.ground.traffic import adsb_vehicle
from ironbird.protocols.mavlink.codec import Packer
from ironbird.rig.rig import TrafficReport


def test_a_report_says_where_and_how_fast_a_vehicle_is() -> None:
    report = TrafficReport(4, "swarm_12_left", 10.0, np.zeros(3), np.array([-3.0, 4.0, 1.5]))
    message, fields = adsb_vehicle(report, (47.123456789, -8.5, 512.25), 13.2)
    packer = Packer()
    packer.add(message, *fields)
    (read,) = common.MAVLink(None).parse_buffer(bytes(packer.take()))
    assert (read.get_type(), read.lat, read.lon, read.altitude) == ("ADSB_VEHICLE", 471234568, -85000000, 512250)
    assert (read.hor_velocity, read.ver_velocity, read.tslc) == (500, -150, 3)  # cm/s, up
    assert read.heading == pytest.approx(12687, abs=1)  # atan2(4, -3) is 126.87 degrees
    assert read.callsign == "SWARM_12" and read.ICAO_address == 0xF00005
    assert read.flags & common.ADSB_FLAGS_VALID_COORDS and read.flags & common.ADSB_FLAGS_SIMULATED
    assert not read.flags & common.ADSB_FLAGS_VALID_SQUAWK
    assert read.emitter_type == common.ADSB_EMITTER_TYPE_UAV
    assert read.altitude_type == common.ADSB_ALTITUDE_TYPE_GEOMETRIC


def test_numbers_that_do_not_fit_are_cut() -> None:
    report = TrafficReport(0, "a", 0.0, np.zeros(3), np.array([1e4, 0.0, -1e4]))
    fields = adsb_vehicle(report, (0.0, 0.0, 0.0), 1e6)[1]
    assert fields[5] == 65535 and fields[6] == 32767 and fields[-1] == 255
