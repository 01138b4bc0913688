"""Dialects of autopilots for a ground station: modes, parameters, missions, and ways to arm and take off.

Everything else that a ground station does is the same for every autopilot. Another autopilot is one more object: two
are defined here, more come from entry points of the group `ironbird.dialects` or from the variable IRONBIRD_DIALECTS.
Sources: [PX4], [ArduPilotDev], [ArduPilotCode], [MAVLinkMission].
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ironbird.errors import LinkError
from ironbird.files.registry import Registry
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.dialect import Message
from ironbird.protocols.plan_file import PlanItem
from ironbird.vehicles.kinds import VehicleClass

Place = tuple[float, float, float]  # degrees, degrees, m above sea level
FIX_3D = 3
ESTIMATOR_FLAGS = {
    numbers.ESTIMATOR_ATTITUDE: "attitude",
    numbers.ESTIMATOR_VELOCITY_HORIZ: "horizontal velocity",
    numbers.ESTIMATOR_VELOCITY_VERT: "vertical velocity",
    numbers.ESTIMATOR_POS_HORIZ_REL: "relative position",
    numbers.ESTIMATOR_POS_HORIZ_ABS: "absolute position",
    numbers.ESTIMATOR_POS_VERT_ABS: "height",
    numbers.ESTIMATOR_CONST_POS_MODE: "constant position",
}
EKF_NEEDED = (
    numbers.ESTIMATOR_ATTITUDE
    | numbers.ESTIMATOR_VELOCITY_HORIZ
    | numbers.ESTIMATOR_VELOCITY_VERT
    | numbers.ESTIMATOR_POS_HORIZ_ABS
    | numbers.ESTIMATOR_POS_VERT_ABS
)


class SetMode(NamedTuple):
    """A step of a procedure: change to a mode of the autopilot's own name."""

    name: str


class Arm(NamedTuple):
    """A step of a procedure: arm the vehicle."""


class Ask(NamedTuple):
    """A step of a procedure: repeat a command until it is accepted."""

    name: str
    command: int
    params: tuple[float, ...] = ()


Procedure = tuple[SetMode | Arm | Ask, ...]


class Reports(Protocol):
    """The received state of an autopilot from which its readiness is judged."""

    kind: VehicleClass
    home: Place | None
    ekf_flags: int
    gps_fix: int

    @property
    def healthy(self) -> bool:
        """Whether its checks before arming pass."""


class AutopilotDialect(ABC):
    """One autopilot: its names, its encodings, and the order of its procedures."""

    name: str  # in orders and on the command line
    number: int  # MAV_AUTOPILOT
    words: Mapping[str, str]  # modes that are ordered: Ironbird's word -> its own name
    flags: Mapping[int, str]  # of its estimator, beyond those of all
    estimator: Message  # by which it reports them
    optical_flow: Message  # that it reads
    radius_param: str  # radius of a wing's circles
    rotor_on: Ask | None = None  # switches the rotor of an armed helicopter on
    rotor_text: str | None = None  # text by which it reports that the rotor is at speed
    take_off_needs_home: bool = False  # its heights of take-off are above the sea
    reposition_mode: str = ""  # word of the mode in which it may be sent to a place

    # ------------------------------------------------------------------------------------------ modes

    def modes(self, kind: VehicleClass) -> dict[str, str]:
        """The autopilot's mode names by Ironbird's words."""
        return dict(self.words)

    @abstractmethod
    def mode_name(self, kind: VehicleClass, base: int, custom: int) -> str:
        """The mode that a heartbeat reports."""

    @abstractmethod
    def mode_numbers(self, kind: VehicleClass, name: str) -> tuple[int, int]:
        """Main and sub-mode that command a mode; `LinkError` if it has none of that name."""

    # ------------------------------------------------------------------------------------------ parameters, missions

    def encoded(self, value: float, kind: int) -> float:
        """The value of a parameter of a MAVLink type, as the float that is sent."""
        return float(value)

    def decoded(self, coded: float, kind: int) -> float:
        """The value of a parameter that was sent as this float."""
        return coded

    def mission_items(self, plan: Sequence[PlanItem], home: Place | None) -> list[PlanItem]:
        """The items of a plan as the autopilot numbers them."""
        return list(plan)

    def plan_of(self, items: Sequence[PlanItem]) -> list[PlanItem]:
        """The plan that belongs to these mission items of the autopilot."""
        return list(items)

    def item_params(self, params: Sequence[float]) -> Sequence[float]:
        """Parameters of a mission item, as they are sent."""
        return params

    # ------------------------------------------------------------------------------------------ procedures

    @abstractmethod
    def is_ready(self, state: Reports, *, by_plan: bool) -> bool:
        """Whether the autopilot can be armed and navigate."""

    @abstractmethod
    def start_mission(self, kind: VehicleClass) -> Procedure:
        """Procedure that arms and flies the stored mission."""

    @abstractmethod
    def take_off(self, kind: VehicleClass, height_m: float, home_m: float) -> Procedure:
        """Procedure that arms and takes off to `height_m` above home; home is `home_m` above the sea."""

    def arming_mode(self, kind: VehicleClass) -> str:
        """Word of the mode in which it arms without a remote control, if that is a special one."""
        return ""

    def climbing_mode(self, kind: VehicleClass) -> str:
        """Word of the mode in which a vehicle that is armed already takes off, if that is a special one."""
        return ""

    def height_param(self, kind: VehicleClass) -> str:
        """The parameter that sets the height of take-off, if its command does not."""
        return ""

    def take_off_is_a_mode(self, kind: VehicleClass) -> bool:
        """Whether a reposition command is lost while the vehicle is in its take-off mode."""
        return False

    def settling_mode(self, kind: VehicleClass) -> str:
        """The mode in which it detects the ground reliably, if it may miss it while landing."""
        return ""

    # ------------------------------------------------------------------------------------------ words

    def estimator_changes(self, before: int, now: int) -> str:
        """Flags of the estimator that were set (+) and cleared (-); empty if no named flag changed."""
        names = {**ESTIMATOR_FLAGS, **self.flags}
        gained = [f"+{text}" for bit, text in names.items() if now & bit and not before & bit]
        lost = [f"-{text}" for bit, text in names.items() if before & bit and not now & bit]
        return ", ".join(gained + lost)


class Px4Dialect(AutopilotDialect):
    """PX4, and the reference autopilot, which uses the same dialect."""

    name = "px4"
    number = numbers.MAV_AUTOPILOT_PX4
    words = {
        "mission": "MISSION", "land": "LAND", "return": "RTL", "hold": "LOITER", "offboard": "OFFBOARD",
        "take-off": "TAKEOFF", "position": "POSCTL", "altitude": "ALTCTL", "stabilized": "STABILIZED", "acro": "ACRO",
        "manual": "MANUAL",
    }  # fmt: skip
    flags = {numbers.ESTIMATOR_GPS_GLITCH: "GPS glitch", numbers.ESTIMATOR_ACCEL_ERROR: "accelerometer error"}
    estimator = dialect.ESTIMATOR_STATUS
    optical_flow = dialect.OPTICAL_FLOW_RAD
    radius_param = "NAV_LOITER_RAD"
    take_off_needs_home = True

    def mode_name(self, kind: VehicleClass, base: int, custom: int) -> str:
        """The mode that a heartbeat reports: a main mode, or a sub-mode of AUTO."""
        main, sub = custom >> 16 & 0xFF, custom >> 24 & 0xFF
        auto = main == numbers.PX4_AUTO_MAIN
        table, number = (numbers.PX4_AUTO_MODES, sub) if auto else (numbers.PX4_MAIN_MODES, main)
        return next((name for name, value in table.items() if value == number), f"mode {main}.{sub} ({base})")

    def mode_numbers(self, kind: VehicleClass, name: str) -> tuple[int, int]:
        """Main and sub-mode of a mode name; sub-modes exist only within AUTO."""
        if name in numbers.PX4_AUTO_MODES:
            return numbers.PX4_AUTO_MAIN, numbers.PX4_AUTO_MODES[name]
        if name in numbers.PX4_MAIN_MODES:
            return numbers.PX4_MAIN_MODES[name], 0
        known = [*numbers.PX4_MAIN_MODES, *numbers.PX4_AUTO_MODES]
        raise LinkError(f"PX4 has no mode '{name}'; it has {', '.join(known)}")

    def encoded(self, value: float, kind: int) -> float:
        """The value as float; integers are sent as the bits of a float."""
        form = numbers.PARAM_FORMS.get(kind, "<f")
        number = value if form == "<f" else round(value)
        try:
            return float(struct.unpack("<f", struct.pack(form, number))[0])
        except struct.error:
            raise LinkError(f"the value {value:g} does not fit a parameter of MAVLink type {kind}") from None

    def decoded(self, coded: float, kind: int) -> float:
        """The value of a float, or of an integer sent as the bits of a float."""
        return float(struct.unpack(numbers.PARAM_FORMS.get(kind, "<f"), struct.pack("<f", coded))[0])

    def is_ready(self, state: Reports, *, by_plan: bool) -> bool:
        """Whether its own checks pass and home is known; a submarine needs no home."""
        return state.healthy and (state.home is not None or state.kind == "sub")

    def start_mission(self, kind: VehicleClass) -> Procedure:
        """Procedure: change to the mission mode, then arm; the mission waits for arming."""
        return SetMode("MISSION"), Arm()

    def take_off(self, kind: VehicleClass, height_m: float, home_m: float) -> Procedure:
        """Procedure: command the take-off with a height above the sea, then arm; it waits for arming."""
        return Ask("take-off", numbers.NAV_TAKEOFF, (0, 0, 0, math.nan, math.nan, math.nan, home_m + height_m)), Arm()

    def take_off_is_a_mode(self, kind: VehicleClass) -> bool:
        """True for planes, which climb out first, whatever else is commanded."""
        return kind == "plane"


class ArduPilotDialect(AutopilotDialect):
    """ArduPilot, whose programs for classes of vehicles differ in their modes."""

    name = "ardupilot"
    number = numbers.MAV_AUTOPILOT_ARDUPILOTMEGA
    words = {
        "mission": "AUTO", "land": "LAND", "return": "RTL", "hold": "LOITER", "offboard": "GUIDED",
        "take-off": "TAKEOFF", "position": "POSHOLD", "altitude": "ALT_HOLD", "stabilized": "STABILIZE",
        "acro": "ACRO", "manual": "MANUAL",
    }  # fmt: skip
    own_words: Mapping[VehicleClass, Mapping[str, str]] = {  # where a program has another word [ArduPilotDev]
        "plane": {"land": "RTL", "position": "CRUISE", "altitude": "FBWB", "stabilized": "FBWA"},
        "vtol": {"land": "QLAND", "position": "QLOITER", "altitude": "QHOVER", "stabilized": "QSTABILIZE"},
        "rover": {"hold": "HOLD", "land": "HOLD", "position": "LOITER", "altitude": "STEERING",
                  "stabilized": "STEERING"},
        "boat": {"land": "HOLD", "position": "LOITER", "altitude": "STEERING", "stabilized": "STEERING"},
        "sub": {"hold": "POSHOLD", "land": "SURFACE", "return": "SURFACE"},
        "copter": {"manual": "STABILIZE"},
    }  # fmt: skip
    flags = {numbers.EKF_UNINITIALIZED: "not initialised", numbers.EKF_GPS_GLITCHING: "GPS glitch"}
    estimator = dialect.EKF_STATUS_REPORT
    optical_flow = dialect.OPTICAL_FLOW
    radius_param = "WP_LOITER_RAD"
    rotor_on = Ask("rotor switched on", numbers.DO_AUX_FUNCTION, (numbers.MOTOR_INTERLOCK, numbers.SWITCH_HIGH))
    rotor_text = "Runup Complete"
    reposition_mode = "offboard"

    def modes(self, kind: VehicleClass) -> dict[str, str]:
        """Names of modes in the program for a class of vehicles, by Ironbird's words."""
        return {**self.words, **self.own_words[kind]}

    def _by_number(self, kind: VehicleClass) -> dict[int, str]:
        """Modes of the program for a class of vehicles."""
        return numbers.ardupilot_modes({"vtol": "plane", "boat": "rover"}.get(kind, kind))

    def mode_name(self, kind: VehicleClass, base: int, custom: int) -> str:
        """The mode that a heartbeat reports, by its number in the program."""
        return self._by_number(kind).get(custom, f"mode {custom}")

    def mode_numbers(self, kind: VehicleClass, name: str) -> tuple[int, int]:
        """The number in the program; there are no sub-modes."""
        modes = {mode: number for number, mode in self._by_number(kind).items()}
        if name not in modes:
            raise LinkError(f"ArduPilot's {kind} has no mode '{name}'; it has {', '.join(modes)}")
        return modes[name], 0

    def mission_items(self, plan: Sequence[PlanItem], home: Place | None) -> list[PlanItem]:
        """The plan's items after home, which ArduPilot stores as item 0."""
        place = home or (0.0, 0.0, 0.0)
        return [PlanItem(numbers.NAV_WAYPOINT, numbers.FRAME_GLOBAL, (0.0, 0.0, 0.0, 0.0), *place), *plan]

    def plan_of(self, items: Sequence[PlanItem]) -> list[PlanItem]:
        """The mission items without item 0, which is home."""
        return list(items[1:])

    def item_params(self, params: Sequence[float]) -> Sequence[float]:
        """Parameters with 0 in place of NaN, which stands for the autopilot's default."""
        return [0.0 if math.isnan(value) else value for value in params]

    def is_ready(self, state: Reports, *, by_plan: bool) -> bool:
        """Whether checks pass, the estimator is sure and there is a fix; submarines without a plan need checks only."""
        if state.kind == "sub" and not by_plan:
            return state.healthy
        sure = state.ekf_flags & EKF_NEEDED == EKF_NEEDED and not state.ekf_flags & numbers.ESTIMATOR_CONST_POS_MODE
        return state.healthy and sure and state.gps_fix >= FIX_3D and state.home is not None

    def start_mission(self, kind: VehicleClass) -> Procedure:
        """Procedure: a copter arms in GUIDED, not in AUTO, and starts the mission only by a command."""
        if kind in ("plane", "vtol"):
            return SetMode("AUTO"), Arm()
        before = SetMode("ALT_HOLD" if kind == "sub" else "GUIDED")
        return before, Arm(), Ask("start of the mission", numbers.MISSION_START)

    def take_off(self, kind: VehicleClass, height_m: float, home_m: float) -> Procedure:
        """Procedure: a plane has a take-off mode, others a command in GUIDED with a height above home."""
        if kind == "plane":
            return SetMode("TAKEOFF"), Arm()
        return SetMode("GUIDED"), Arm(), Ask("take-off", numbers.NAV_TAKEOFF, (0, 0, 0, 0, 0, 0, height_m))

    def arming_mode(self, kind: VehicleClass) -> str:
        """GUIDED for vehicles that arm there without a remote control."""
        return "offboard" if kind in ("copter", "rover", "boat") else ""

    def climbing_mode(self, kind: VehicleClass) -> str:
        """The word for GUIDED; empty for planes."""
        return "" if kind == "plane" else "offboard"

    def height_param(self, kind: VehicleClass) -> str:
        """The parameter with the height of a plane's take-off mode."""
        return "TKOFF_ALT" if kind == "plane" else ""

    def settling_mode(self, kind: VehicleClass) -> str:
        """The mode in which a copter that has touched down leaning detects its landing: ALT_HOLD; empty for others.

        In ALT_HOLD the sticks command the lean, and without a remote control they mean level and down. The land
        detector requires a commanded lean of less than 15 degrees; after a touch-down in a gust the position loop
        commands more, growing with time, as nothing moves [ArduPilotCode] land_detector.cpp.
        """
        return "ALT_HOLD" if kind == "copter" else ""


PX4, ARDUPILOT = Px4Dialect(), ArduPilotDialect()
DIALECTS: Registry[AutopilotDialect] = Registry(
    "dialects",
    {"px4": "ironbird.ground.dialects:PX4", "ardupilot": "ironbird.ground.dialects:ARDUPILOT"},
    "ironbird.ground.dialects:AutopilotDialect",
    what="autopilot's dialect",
    error=LinkError,
)


def dialects_by_number() -> dict[int, AutopilotDialect]:
    """All dialects by their MAV_AUTOPILOT number, as heartbeats name them."""
    by_number: dict[int, AutopilotDialect] = {}
    for _, one in DIALECTS.loadable():
        by_number.setdefault(one.number, one)  # the first wins: another dialect cannot take the number of PX4
    return by_number
