"""The mission protocol: upload, download, clear, current item, items reached [MAVLinkMission].

Items are stored as received, so that a ground station reads back what it wrote, and passed to the vehicle as its
mission after the last one. One transfer at a time; a silent partner is asked again, then the transfer is given up. Not
done: fences and rally points (a list of them is empty, and an upload is refused), parts of lists, DO_JUMP.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

from ironbird.errors import MissionError
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.plan_file import ITEMS_MOST, LocalMission, PlanItem, from_local, to_mission
from ironbird.rig.commander.commander import Commander
from ironbird.systems.commanded.mavlink.connections import Channel, Sender
from ironbird.systems.commanded.mavlink.place import Home
from ironbird.systems.commanded.mavlink.texts import Texts

ASK_AGAIN_S, ASK_TIMES = 1.0, 6  # wall time between two requests for an item, and their number [MAVLinkMission]
DEGREE = 1e7
FARTHEST_DEG = 214.0  # largest degrees that fit into an int32 times 1e7
MISSION = numbers.MAV_MISSION_TYPE_MISSION
KNOWN_TYPES = (MISSION, numbers.MAV_MISSION_TYPE_FENCE, numbers.MAV_MISSION_TYPE_RALLY)


class Stored(NamedTuple):
    """A mission item as received, with its autocontinue flag."""

    item: PlanItem
    autocontinue: int


@dataclass
class Upload:
    """A mission upload in progress: partner, number of items, items received, requests sent."""

    channel: Channel
    sender: Sender
    count: int
    items: list[Stored]
    asked_at: float = 0.0
    asked: int = 0
    by_float: bool = False  # the partner sends MISSION_ITEM


class Missions:
    """The stored mission, and the upload in progress."""

    def __init__(self, commander: Commander, texts: Texts, home: Home) -> None:
        self.commander, self.texts, self.home = commander, texts, home
        self.stored: list[Stored] = []
        self.local = LocalMission([], [], {}, [])
        self._upload: Upload | None = None
        self._at = -1  # item of the vehicle's own mission
        self._done = False
        self._begun = self._told_over = False
        own = commander.mission()
        if own:  # the mission of the order
            self.stored = [Stored(item, 1) for item in from_local(own, home.origin)]
            self.local = LocalMission(own, list(range(len(own))), {}, [])

    # ------------------------------------------------------------------------------------------ down

    def take_list(self, channel: Channel, message: Any, sender: Sender) -> None:
        """MISSION_REQUEST_LIST: answered with the number of items."""
        if message.mission_type not in KNOWN_TYPES:
            self._ack(channel, sender, numbers.MAV_MISSION_UNSUPPORTED, message.mission_type)
            return
        count = len(self.stored) if message.mission_type == MISSION else 0
        channel.say(dialect.MISSION_COUNT, count, *sender, message.mission_type)

    def take_request(self, channel: Channel, message: Any, sender: Sender) -> None:
        """MISSION_REQUEST: answered with an item whose position is in floats."""
        self._tell(channel, message, sender, dialect.MISSION_ITEM)

    def take_request_int(self, channel: Channel, message: Any, sender: Sender) -> None:
        """MISSION_REQUEST_INT: answered with an item whose position is in integers."""
        self._tell(channel, message, sender, dialect.MISSION_ITEM_INT)

    def _tell(self, channel: Channel, request: Any, sender: Sender, message: dialect.Message) -> None:
        if request.mission_type != MISSION or request.seq >= len(self.stored):
            self._ack(channel, sender, numbers.MAV_MISSION_INVALID_SEQUENCE, request.mission_type)
            return
        item, autocontinue = self.stored[request.seq]
        x, y = item.latitude_deg, item.longitude_deg
        if message is dialect.MISSION_ITEM_INT:
            x, y = _e7(x), _e7(y)
        now = int(request.seq == self.current)
        channel.say(
            message, *item.params, x, y, item.altitude_m, request.seq, item.command, *sender, item.frame, now,
            autocontinue, MISSION,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------ up

    def take_count(self, channel: Channel, message: Any, sender: Sender) -> None:
        """MISSION_COUNT: begin an upload."""
        if message.mission_type != MISSION:
            empty = message.count == 0 and message.mission_type in KNOWN_TYPES
            if not empty:
                self.texts.refuse("fences and rally points are not known here; only missions are")
            result = numbers.MAV_MISSION_ACCEPTED if empty else numbers.MAV_MISSION_UNSUPPORTED
            self._ack(channel, sender, result, message.mission_type)
            return
        busy = self._upload
        if busy is not None and (busy.channel, busy.sender) != (channel, sender):
            self.texts.refuse("a mission is coming in from another ground station")
            self._ack(channel, sender, numbers.MAV_MISSION_DENIED, MISSION)
            return
        if message.count > ITEMS_MOST:
            self.texts.refuse(f"{message.count} mission items; {ITEMS_MOST} at most")
            self._ack(channel, sender, numbers.MAV_MISSION_NO_SPACE, MISSION)
            return
        if message.count == 0:
            self._clear(channel, sender, MISSION)
            return
        self._upload = Upload(channel, sender, message.count, [])
        self._ask()

    def take_item(self, channel: Channel, message: Any, sender: Sender) -> None:
        """MISSION_ITEM: an item of an upload, position in floats."""
        self._take(channel, message, sender, message.x, message.y, by_float=True)

    def take_item_int(self, channel: Channel, message: Any, sender: Sender) -> None:
        """MISSION_ITEM_INT: an item of an upload, position in integers."""
        self._take(channel, message, sender, message.x / DEGREE, message.y / DEGREE, by_float=False)

    def _take(self, channel: Channel, message: Any, sender: Sender, x: float, y: float, *, by_float: bool) -> None:
        up = self._upload
        if up is None or (up.channel, up.sender) != (channel, sender) or message.mission_type != MISSION:
            self._ack(channel, sender, numbers.MAV_MISSION_INVALID_SEQUENCE, message.mission_type)
            return
        if message.seq != len(up.items):
            return  # an item that was requested twice; the next one is requested already
        params = (message.param1, message.param2, message.param3, message.param4)
        up.by_float = by_float
        up.items.append(Stored(PlanItem(message.command, message.frame, params, x, y, message.z), message.autocontinue))
        up.asked = 0
        if len(up.items) < up.count:
            self._ask()
            return
        self._upload = None
        self._ack(channel, sender, self._install(up.items), MISSION)

    def _ask(self) -> None:
        up = self._upload
        assert up is not None
        message = dialect.MISSION_REQUEST if up.by_float else dialect.MISSION_REQUEST_INT
        up.channel.say(message, len(up.items), *up.sender, MISSION)
        up.asked_at, up.asked = time.monotonic(), up.asked + 1

    def _install(self, items: list[Stored]) -> int:
        """Pass the mission to the vehicle; returns a MAV_MISSION_RESULT."""
        try:
            local = to_mission([stored.item for stored in items], self.home.origin, self.home.height_m)
        except MissionError as error:
            self.texts.refuse(str(error))
            return numbers.MAV_MISSION_UNSUPPORTED
        for number in local.passed_over:
            command = items[number].item.command
            self.texts.say(f"item {number}: MAV_CMD {command} does nothing here", numbers.MAV_SEVERITY_NOTICE)
        why = self.commander.set_mission(local.items)
        if why:
            self.texts.refuse(f"mission: {why}")
            return numbers.MAV_MISSION_NO_SPACE if "items, not" in why else numbers.MAV_MISSION_DENIED
        self.stored, self.local = items, local
        self._at, self._done, self._begun = -1, False, False
        self.commander.note("mission", f"mission of {len(items)} item{'s' * (len(items) > 1)} received")
        return numbers.MAV_MISSION_ACCEPTED

    # ------------------------------------------------------------------------------------------ the rest

    def take_clear(self, channel: Channel, message: Any, sender: Sender) -> None:
        """MISSION_CLEAR_ALL: delete the stored mission."""
        self._clear(channel, sender, message.mission_type)

    def _clear(self, channel: Channel, sender: Sender, kind: int) -> None:
        known = kind in (*KNOWN_TYPES, numbers.MAV_MISSION_TYPE_ALL)
        if kind in (MISSION, numbers.MAV_MISSION_TYPE_ALL):
            if self.stored:
                self.commander.note("mission", "mission cleared")
            self.stored, self.local = [], LocalMission([], [], {}, [])
            self._at, self._done, self._upload = -1, False, None
        self._ack(channel, sender, numbers.MAV_MISSION_ACCEPTED if known else numbers.MAV_MISSION_UNSUPPORTED, kind)

    def take_partial(self, channel: Channel, message: Any, sender: Sender) -> None:
        """MISSION_WRITE_PARTIAL_LIST and MISSION_REQUEST_PARTIAL_LIST: refused, whole lists only."""
        self._ack(channel, sender, numbers.MAV_MISSION_UNSUPPORTED, message.mission_type)

    def take_ack(self, channel: Channel, message: Any, sender: Sender) -> None:
        """MISSION_ACK of a partner: the end of a download, or it aborts an upload."""
        up = self._upload
        if message.type and up is not None and (up.channel, up.sender) == (channel, sender):
            self._upload = None

    def take_current(self, channel: Channel, message: Any, _sender: Sender) -> None:
        """MISSION_SET_CURRENT: continue with another item."""
        why = self.go_to(message.seq)
        if why:
            self.texts.refuse(f"mission item {message.seq}: {why}")
        channel.say(dialect.MISSION_CURRENT, *self.state())

    def begin(self) -> str | None:
        """Fly the mission from the present item, or the start if new or completed; a reason of refusal or None."""
        why = self.commander.set_mode("mission") if self._begun and not self._done else self.commander.start_mission(0)
        if why is None:
            self._begun, self._done = True, False
        return why

    def go_to(self, number: int) -> str | None:
        """Begin the mission at an item; returns the reason of a refusal, or None."""
        if not 0 <= number < len(self.stored):
            return f"the mission has {len(self.stored)} items"
        later = [own for own, theirs in enumerate(self.local.numbers) if theirs >= number]
        why = self.commander.start_mission(later[0] if later else len(self.local.items) - 1)
        if why is None:
            self._begun, self._done = True, False
        return why

    @property
    def current(self) -> int:
        """Number of the present item as ground stations count."""
        if not self.stored:
            return 0
        if self._done:
            return len(self.stored) - 1 if self.local.returns is None else self.local.returns
        return self.local.numbers[self._at] if 0 <= self._at < len(self.local.numbers) else 0

    def state(self) -> tuple[int, int, int, int]:
        """Fields of the message MISSION_CURRENT."""
        mode = self.commander.mode
        if not self.stored:
            state = numbers.MISSION_STATE_NO_MISSION
        elif self._done:
            state = numbers.MISSION_STATE_COMPLETE
        elif mode == "mission":
            state = numbers.MISSION_STATE_ACTIVE
        elif self._at > 0 and self.commander.armed:
            state = numbers.MISSION_STATE_PAUSED
        else:
            state = numbers.MISSION_STATE_NOT_STARTED
        return self.current, len(self.stored), state, int(mode == "mission")

    def poll(self, channels: list[Channel]) -> None:
        """Repeat requests for missing items, and report items that were reached."""
        up = self._upload
        if up is not None and (up.channel not in channels or up.asked > ASK_TIMES):
            self._upload = None
        elif up is not None and time.monotonic() - up.asked_at > ASK_AGAIN_S:
            self._ask()
        if not self.stored:
            return
        status = self.commander.status()
        over, self._told_over = status.done and not self._told_over, status.done
        if over:
            self._reached(channels, len(self.local.items) - 1)
            self._done = True
            if self.local.returns is not None and status.armed:
                why = self.commander.return_home()
                if why:
                    self.texts.refuse(f"return after the mission: {why}")
        elif status.item != self._at and not status.done:
            if status.item > self._at >= 0 and status.mode == "mission":
                self._reached(channels, status.item - 1)
            self._at, self._done = status.item, False
            speed = self.local.speeds_mps.get(self._at)
            if speed is not None:
                self.commander.set_speed(speed)

    def _reached(self, channels: list[Channel], own: int) -> None:
        theirs = self.local.numbers
        if own + 1 < len(theirs) and theirs[own + 1] == theirs[own]:
            return  # the approach to a landing: the item is the landing
        for channel in channels:
            channel.say(dialect.MISSION_ITEM_REACHED, theirs[own])
            channel.say(dialect.MISSION_CURRENT, *self.state())

    def _ack(self, channel: Channel, sender: Sender, result: int, kind: int) -> None:
        channel.say(dialect.MISSION_ACK, *sender, result, kind)


def _e7(degrees: float) -> int:
    """Degrees as integer times 1e7; NaN (no position) becomes INT32_MAX [MAVLink2]."""
    return round(degrees * DEGREE) if abs(degrees) < FARTHEST_DEG else 2**31 - 1
