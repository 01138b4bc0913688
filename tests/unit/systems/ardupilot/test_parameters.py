"""ArduPilot is asked for each parameter that was set: against a stand-in that has some of them."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pymavlink.dialects.v20 import ardupilotmega as mavlink

from ironbird.errors import LinkError
from ironbird.rig.rig import Rig, make_rig
from ironbird.systems.ardupilot import parameters
from ironbird.systems.ardupilot.parameters import ParameterLink, PresenceCheck


class Autopilot:
    """Answers PARAM_REQUEST_READ for the names that it has; if it `says` so, PARAM_ERROR for others, as 4.7 does."""

    def __init__(self, port: int, names: set[str], *, says: bool = False) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.to, self.names, self.says = ("127.0.0.1", port), names, says
        self.mav = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
        self.most = 0
        self.drops = itertools.cycle((True, False, False))  # every third request finds no room

    def say(self, message: Any) -> None:
        self.socket.sendto(message.pack(self.mav), self.to)

    def beat(self) -> None:
        self.say(self.mav.heartbeat_encode(2, 3, 0, 0, 4))

    def listen(self) -> None:
        try:
            data = self.socket.recv(4096)
        except BlockingIOError:
            return
        asked = self.mav.parse_buffer(data) or []
        self.most = max(self.most, len(asked))
        for message in asked:
            assert message.get_type() == "PARAM_REQUEST_READ" and message.param_index == -1
            if next(self.drops):
                continue
            if message.param_id in self.names:
                self.say(self.mav.param_value_encode(message.param_id.encode(), 1.0, 9, 1000, 3))
            elif self.says:
                self.say(self.mav.param_error_encode(0, 0, message.param_id.encode(), -1, 1))


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(parameters, "ANSWER_S", 0.01)
    yield make_rig("quad_f450", until_s=20.0, log=[])


def check(rig: Rig, names: list[str], has: set[str], *, says: bool = False) -> Autopilot:
    """Runs until the check is done or raises."""
    link = ParameterLink(rig)
    autopilot = Autopilot(link.port, has, says=says)
    presence = PresenceCheck(link, names, "ArduPilot V4.7.0")
    try:
        autopilot.beat()
        while not presence.done:
            assert rig.time_s < 15.0, "neither done nor missing"
            rig.step(5)
            link.poll()
            presence.poll()
            autopilot.listen()
            time.sleep(0.001)
    finally:
        link.close()
        autopilot.socket.close()
    return autopilot


NAMES = [f"SERVO{n}_MIN" for n in range(1, 17)] + ["RTL_ALT_M", "FENCE_ENABLE"]


def test_all_that_it_has_are_found_though_it_drops_requests(rig: Rig) -> None:
    autopilot = check(rig, NAMES, set(NAMES))
    assert 1 < autopilot.most <= parameters.ASKED_AT_ONCE


@pytest.mark.parametrize("says", [True, False])
def test_one_that_it_lacks_is_an_error_that_names_it(rig: Rig, says: bool) -> None:
    with pytest.raises(LinkError, match=r"ArduPilot V4\.7\.0 has no parameter 'RTL_ALT_M': look for its name"):
        check(rig, NAMES, {*NAMES} - {"RTL_ALT_M"}, says=says)


def test_nothing_is_asked_before_it_is_there(rig: Rig) -> None:
    link = ParameterLink(rig)
    presence = PresenceCheck(link, NAMES, "ArduPilot")
    for _ in range(50):
        rig.step(10)
        link.poll()
        presence.poll()
    link.close()
    assert not presence.done and not link.joined
