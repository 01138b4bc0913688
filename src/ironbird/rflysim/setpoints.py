"""RflySim's command packets as calls of the commander.

There are three kinds: UDP_Full (MAVLink's type mask and frame), UDP_Simple (a mode and four numbers) and the bits of
inSILInts (the complete model, [RflyModel] 9.1.3). NaN means "do not control this", as the newest client sends it.
As with
CopterSim, the first packet of a stream arms the vehicle and changes to offboard.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ironbird.protocols.geodesy import Place, to_local
from ironbird.rflysim.structs import Packet
from ironbird.rflysim.vehicle import Commandable
from ironbird.rig.commander.target import Target

NAN = math.nan
FRAME_LOCAL, FRAME_BODY = 1, 8  # MAV_FRAME_LOCAL_NED, MAV_FRAME_BODY_NED
FRAMES_GLOBAL = (0, 5, 6, 11)  # MAV_FRAME_GLOBAL and its kin: latitude, longitude, height
NO_YAW, NO_YAW_RATE = 1 << 10, 1 << 11
WING_TAKE_OFF, WING_LAND, WING_LOITER, WING_IDLE = 0x1000, 0x2000, 0x3000, 0x4000  # upper bits of SendPosNEDExt
SPEED_HEIGHT_COURSE = 0b000111000000  # the mask of SendVelYawAlt
VTOL_STATE, TO_HOVER, TO_WINGS = 30, 3.0, 4.0  # mode of UDP_Simple; MAV_VTOL_STATE
STREAM_GAP_S = 1.0  # a stream that pauses longer begins again
INSIST_S = 5.0  # a command that is refused at first is tried again for so long
DEFAULT_HEIGHT_M = 10.0  # [RflyModel] 9.2.1.2: take-off without a height
NO_HEIGHT_M = 1.0  # [RflyModel] 9.2.1.2: less is no height at all

# Bits of inSILInts[0] and [1], [RflyModel] 9.1.3
HAS_COMMAND, SIL, ARMED = 1 << 0, 1 << 1, 1 << 2
TAKE_OFF, POSITION, LAND, RETURN, LOITER, HEIGHT, HORIZONTAL = (1 << n for n in range(8, 15))
OFFBOARD_POSITION, OFFBOARD_ATTITUDE = 1 << 16, 1 << 17
HAS_POS, HAS_VEL, HAS_ACC, HAS_YAW, HAS_YAW_RATE = (1 << n for n in range(5))
HAS_ATT, HAS_ROLL_RATE, HAS_PITCH_RATE, HAS_THRUST, IS_FRD, IS_LOCAL = (1 << n for n in range(8, 14))
IS_GLOBAL = 1 << 17
CLIMBING = ("disarmed", "armed", "take-off")  # modes until a take-off is over


@dataclass
class Wish:
    """A command that is repeated until it is accepted or its time is over."""

    what: str
    ask: Callable[[], str | None]
    until_s: float
    of_stream: bool = False  # it lapses with the stream that it came with
    refused: str = ""


@dataclass
class Setpoints:
    """Receives command packets of one vehicle and passes them to the commander; refusals are kept for the report."""

    place_N: np.ndarray  # of home in the map's frame, m
    origin: Place  # of the map
    said: Callable[[str], None] = lambda text: None
    wishes: list[Wish] = field(default_factory=list)
    bad: int = 0  # packets with implausible numbers
    _stream_s: float = -math.inf  # time of the last set-point of the stream
    _bits: int = 0  # of inSILInts[0], last seen
    _body: tuple[tuple[float, ...], tuple[tuple[float, ...], float]] | None = (
        None  # body-frame request and the resulting place
    )
    _place_after_take_off: tuple[float, float, float] | None = None
    _vtol_state: float = 0.0  # asked for last
    _taking_off: bool = False

    # ------------------------------------------------------------------ packets

    def full(self, commander: Commandable, packet: Packet) -> None:
        """Process a packet of UDP_Full: a set-point with MAVLink's type mask and frame."""
        mask, frame = int(packet["type_mask"]), int(packet["frame"])
        pos, vel, acc = packet["pos"], packet["vel"], packet["acc"]
        yaw, rate = packet["yaw"], packet["yawrate"]
        if not _sane((*pos, *vel, *acc, yaw, rate)):
            self.bad += 1
            return
        wing = mask & 0xF000
        if wing in (WING_TAKE_OFF, WING_LAND, WING_IDLE):
            action = {WING_TAKE_OFF: "take-off", WING_LAND: "landing"}.get(wing)
            if action == "take-off":
                self._take_off(commander, -pos[2])
            elif action == "landing":
                self._wish(commander, "landing", commander.land)
            return
        if mask == SPEED_HEIGHT_COURSE and commander.kind.winged:  # the client puts heading and speed into vel
            self._stream(commander, Target(airspeed=vel[1], height=abs(pos[2]), course=vel[0]))
            return
        if wing == WING_LOITER:
            mask = 0xFF8  # the place alone
        position = _masked(pos, mask)
        velocity, acceleration = _masked(vel, mask >> 3), _masked(acc, mask >> 6)
        heading = NAN if mask & NO_YAW else yaw
        yaw_rate = NAN if mask & NO_YAW_RATE else rate
        if frame in FRAMES_GLOBAL:
            position = self._local(pos)
            frame = FRAME_LOCAL
        self._setpoint(commander, position, velocity, acceleration, heading, yaw_rate, frame == FRAME_BODY)

    def short(self, commander: Commandable, packet: Packet) -> None:
        """Process a packet of UDP_Simple, or arming in both UDP modes; the table of modes is in the guide."""
        mode, four = int(packet["ctrlMode"]), tuple(packet["controls"])
        if mode < 0:
            return
        if not _sane(four):
            self.bad += 1
            return
        none = (NAN,) * 3
        if mode in (0, 1):
            self._setpoint(commander, none, four[:3], none, NAN, four[3], mode == 1)
        elif mode in (2, 3):
            self._setpoint(commander, four[:3], none, none, four[3], NAN, mode == 3)
        elif mode in (4, 5):
            self._attitude(commander, four[:3], four[3], mode == 5)
        elif mode in (6, 7, 8):
            self._setpoint(commander, none, none, four[:3], NAN, NAN if mode == 6 else four[3], False)
        elif mode == 9:
            self.arm(commander, four[0] > 0.5)
        elif mode == 10:
            if four[0] > 0:
                self._tell("cruise speed", commander.set_speed(four[0]))
            if four[1] > 0:
                self._tell("loiter radius", commander.set_loiter_radius(four[1]))
        elif mode in (11, 12):
            place = four[:3] if mode == 11 else self._local(four[:3])
            self._take_off(commander, -place[2], place)
        elif mode == 13:
            self._stream(commander, Target(airspeed=four[0], height=abs(four[1]), course=four[2]))
        elif mode == 14:
            self._setpoint(commander, self._local(four[:3]), none, none, four[3], NAN, False)
        elif mode == VTOL_STATE:
            self._transition(commander, four[0])
        else:
            self.said(f"mode {mode} of UDP_Simple has no counterpart here")

    def _transition(self, commander: Commandable, state: float) -> None:
        """Change to rotors or wings, by MAV_VTOL_STATE; packets are repeated, a change is commanded once."""
        if state not in (TO_HOVER, TO_WINGS):
            self.said(f"VTOL state {state:g} of UDP_Simple 30: give 3, to rotors, or 4, to wings")
        elif state != self._vtol_state:
            self._vtol_state = state
            self._wish(commander, "transition", lambda: commander.transition(state == TO_WINGS))

    def sil(self, commander: Commandable, ints: Sequence[int], floats: Sequence[float]) -> None:
        """Process the bits of the complete model. Commands act when they change; set-points act at once."""
        if not _sane(floats):
            self.bad += 1
            return
        bits, flags = int(ints[0]), int(ints[1])
        new = bits & HAS_COMMAND and bits != self._bits
        if bits & HAS_COMMAND:
            self._bits = bits
        if new:
            if bits & ARMED and not commander.armed:
                self.arm(commander, True)
            elif not bits & ARMED and commander.armed:
                self.arm(commander, False)
                return
        height = -floats[2]
        steers = flags & (HAS_POS | HAS_VEL | HAS_ACC | HAS_YAW | HAS_YAW_RATE)
        if bits & LAND:  # of requests at the same time: landing before return before take-off, [RflyModel] 9.2.1.2
            if new:
                self._wish(commander, "landing", lambda: self._land(commander, height))
        elif bits & RETURN:
            if new:
                self._wish(commander, "return", lambda: self._return(commander, height))
        elif bits & TAKE_OFF:
            if new:
                self._take_off(commander, height)
        elif self._climbs(commander):
            return  # commands during a take-off are ignored, [RflyModel] 9.2.1.2
        elif bits & LOITER and not steers:
            if new:
                self._wish(commander, "hold", commander.hold)
        elif flags & HAS_ATT or bits & OFFBOARD_ATTITUDE:
            self._attitude(commander, floats[9:12], floats[15], False)
        elif flags & (HAS_ROLL_RATE | HAS_PITCH_RATE):
            rates = tuple(0.0 if math.isnan(value) else value for value in floats[12:15])
            self._stream(commander, Target(rates_B=rates, thrust=_share(floats[15])))
        elif steers:
            none = (NAN,) * 3
            position = none
            if flags & HAS_POS:
                position = (floats[0], floats[1], floats[2])
                if flags & IS_GLOBAL:
                    position = self._local((ints[6], ints[7], floats[2]))
                elif not flags & IS_LOCAL:  # in the map's frame: the client adds the start
                    position = (position[0] - self.place_N[0], position[1] - self.place_N[1], position[2])
            velocity = tuple(floats[3:6]) if flags & HAS_VEL else none
            acceleration = tuple(floats[6:9]) if flags & HAS_ACC else none
            yaw = floats[11] if flags & HAS_YAW else NAN
            rate = floats[14] if flags & HAS_YAW_RATE else NAN
            if commander.kind.winged and bits & (POSITION | HEIGHT) and flags & HAS_VEL:
                self._tell("speed", commander.set_speed(floats[3]))
                velocity = none
            self._setpoint(
                commander, position, velocity, acceleration, yaw, rate, bool(flags & IS_FRD), body_place=False
            )

    def arm(self, commander: Commandable, on: bool) -> None:
        """Arm, or disarm in any state; a stream that goes on does not arm it again."""
        self.wishes = []
        if on:
            self._wish(commander, "arming", commander.arm)
        else:
            self._tell("disarming", commander.disarm(force=True))

    def poll(self, commander: Commandable) -> None:
        """Repeat refused commands in order; later ones wait for earlier ones."""
        if commander.time_s - self._stream_s > STREAM_GAP_S:
            self.wishes = [wish for wish in self.wishes if not wish.of_stream]
        while self.wishes:
            wish = self.wishes[0]
            wish.refused = wish.ask() or ""
            if wish.refused and commander.time_s < wish.until_s:
                return
            if wish.refused:
                self.said(f"{wish.what} refused: {wish.refused}")
            self.wishes.pop(0)
        place = self._place_after_take_off
        if place is not None and commander.flying and commander.mode == "hold":
            self._place_after_take_off = None
            self._tell("the place of the take-off", commander.reposition(place, None))

    # ------------------------------------------------------------------ inner

    def _setpoint(
        self,
        commander: Commandable,
        position: Sequence[float],
        velocity: Sequence[float],
        acceleration: Sequence[float],
        yaw: float,
        yaw_rate: float,
        body: bool,
        *,
        body_place: bool = True,
    ) -> None:
        place = tuple(map(float, position))
        if body and body_place and not all(map(math.isnan, place)):
            place, yaw = self._from_body(commander, place, yaw)
            body = False
        else:
            self._body = None
        self._stream(
            commander,
            Target(
                position_N=place,
                velocity_N=tuple(map(float, velocity)),
                acceleration_N=tuple(map(float, acceleration)),
                yaw=yaw,
                yaw_rate=yaw_rate,
                frame="B" if body else "N",
            ),
        )

    def _from_body(
        self, commander: Commandable, offset: Sequence[float], yaw: float
    ) -> tuple[tuple[float, ...], float]:
        """Place and yaw in N of a body-frame offset from where the vehicle was at the first of equal packets."""
        ahead, right, down, turned = (0.0 if math.isnan(value) else float(value) for value in (*offset, yaw))
        request = ahead, right, down, turned
        if self._body is None or self._body[0] != request:
            here = commander.seen()
            heading = float(here.rpy[2])
            c, s = math.cos(heading), math.sin(heading)
            steps = c * ahead - s * right, s * ahead + c * right, down
            self._body = (
                request,
                (tuple(float(p) + step for p, step in zip(here.p_N, steps, strict=True)), heading + turned),
            )
        return self._body[1]

    def _attitude(self, commander: Commandable, angles: Sequence[float], thrust: float, added: bool) -> None:
        attitude = np.nan_to_num(np.array(angles, dtype=float))
        if added:
            attitude = attitude + commander.seen().rpy
        self._stream(commander, Target(attitude_rpy=tuple(map(float, attitude)), thrust=_share(thrust)))

    def _stream(self, commander: Commandable, target: Target) -> None:
        """Pass on one set-point; the first of a stream arms and changes to offboard."""
        begins = commander.time_s - self._stream_s > STREAM_GAP_S
        self._stream_s = commander.time_s
        refused = commander.offboard(target)
        if begins:
            if refused:
                self.said(f"set-point refused: {refused}")
            if not any(wish.what == "offboard" for wish in self.wishes):
                if not commander.armed and not any(wish.what == "arming" for wish in self.wishes):
                    self._wish(commander, "arming", commander.arm, math.inf)
                self._wish(commander, "offboard", lambda: commander.set_mode("offboard"), math.inf)

    def _take_off(self, commander: Commandable, height_m: float, place: Sequence[float] | None = None) -> None:
        height = height_m if abs(height_m) >= NO_HEIGHT_M else DEFAULT_HEIGHT_M
        if self._taking_off and (commander.flying or any(wish.what == "take-off" for wish in self.wishes)):
            return  # clients repeat packets
        if not commander.armed:
            self._wish(commander, "arming", commander.arm)
        self._taking_off = True
        self._wish(commander, "take-off", lambda: commander.take_off(abs(height)))
        if place is not None and max(abs(place[0]), abs(place[1])) > NO_HEIGHT_M:
            self._place_after_take_off = (place[0], place[1], -abs(height))

    def _climbs(self, commander: Commandable) -> bool:
        """Whether a commanded take-off is still in progress."""
        pending = any(wish.what == "take-off" for wish in self.wishes)
        self._taking_off &= pending or commander.mode in CLIMBING
        return self._taking_off

    def _land(self, commander: Commandable, height_m: float) -> str | None:
        """Land; rotorcraft with a given height descend to it and stay, [RflyModel] 9.2.1.2."""
        if abs(height_m) < NO_HEIGHT_M or not commander.kind.hovers:
            return commander.land()
        here = commander.seen().p_N
        return commander.reposition((float(here[0]), float(here[1]), -abs(height_m)))

    def _return(self, commander: Commandable, height_m: float) -> str | None:
        """Return to the start, at the given height or else the present one, and stay there (a wing circles).

        [RflyModel] 9.2.1.2 and 9.2.2.1.
        """
        down = -abs(height_m) if abs(height_m) >= NO_HEIGHT_M else float(commander.seen().p_N[2])
        return commander.reposition((0.0, 0.0, down))

    def _local(self, global_: Sequence[float]) -> tuple[float, float, float]:
        """Latitude, longitude (degrees, or 1e-7 of them) and height above the sea as metres from home."""
        latitude, longitude = (value / 1e7 if abs(value) > 360 else value for value in global_[:2])
        on_map = to_local(self.origin, latitude, longitude, global_[2])
        return on_map[0] - float(self.place_N[0]), on_map[1] - float(self.place_N[1]), on_map[2]

    def _wish(self, commander: Commandable, what: str, ask: Callable[[], str | None], for_s: float = INSIST_S) -> None:
        self.wishes.append(Wish(what, ask, commander.time_s + for_s, of_stream=math.isinf(for_s)))
        if len(self.wishes) == 1:
            self.poll(commander)

    def _tell(self, what: str, refused: str | None) -> None:
        if refused:
            self.said(f"{what} refused: {refused}")


def _masked(values: Sequence[float], mask: int) -> tuple[float, ...]:
    return tuple(NAN if mask >> axis & 1 else value for axis, value in enumerate(values))


def _share(thrust: float) -> float:
    return min(max(0.0 if math.isnan(thrust) else thrust, 0.0), 1.0)


def _sane(values: Sequence[float]) -> bool:
    """Whether numbers are plausible: not infinite, nor too large (latitudes in 1e-7 degrees are long)."""
    return all(math.isnan(value) or abs(value) < 4e9 for value in values)
