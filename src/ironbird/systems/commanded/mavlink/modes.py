"""Modes of the reference autopilot as PX4's mode numbers, so that ground stations show and command them by name.

custom_mode has the main mode in its third byte and the mode within AUTO in its fourth [PX4].
"""

from __future__ import annotations

from typing import NamedTuple

from ironbird.protocols.mavlink import numbers

AUTO = numbers.PX4_AUTO_MODES
MAIN = numbers.PX4_MAIN_MODES


class Shown(NamedTuple):
    """Representation of a mode for ground stations: PX4's numbers and title."""

    main: int
    sub: int
    title: str  # as QGroundControl writes it
    standard: int = 0  # MAV_STANDARD_MODE
    by_hand: bool = False  # sticks fly it

    @property
    def custom(self) -> int:
        """The value of `custom_mode` in HEARTBEAT."""
        return self.main << 16 | self.sub << 24

    @property
    def base(self) -> int:
        """The value of `base_mode` in HEARTBEAT, without the arming flag."""
        if self.by_hand:
            return (
                numbers.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
                | numbers.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED
                | numbers.MAV_MODE_FLAG_STABILIZE_ENABLED
            )
        return (
            numbers.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
            | numbers.MAV_MODE_FLAG_STABILIZE_ENABLED
            | numbers.MAV_MODE_FLAG_GUIDED_ENABLED
            | numbers.MAV_MODE_FLAG_AUTO_ENABLED
        )


# Modes that can be commanded, by the commander's names; the numbers of MAV_STANDARD_MODE are [MAVLink2]'s
ASKED = {
    "manual": Shown(MAIN["MANUAL"], 0, "Manual", by_hand=True),
    "stabilized": Shown(MAIN["STABILIZED"], 0, "Stabilized", by_hand=True),
    "acro": Shown(MAIN["ACRO"], 0, "Acro", by_hand=True),
    "altitude": Shown(MAIN["ALTCTL"], 0, "Altitude", 4, by_hand=True),
    "position": Shown(MAIN["POSCTL"], 0, "Position", 1, by_hand=True),
    "offboard": Shown(MAIN["OFFBOARD"], 0, "Offboard"),
    "take-off": Shown(numbers.PX4_AUTO_MAIN, AUTO["TAKEOFF"], "Takeoff", 8),
    "hold": Shown(numbers.PX4_AUTO_MAIN, AUTO["LOITER"], "Hold"),
    "mission": Shown(numbers.PX4_AUTO_MAIN, AUTO["MISSION"], "Mission", 6),
    "return": Shown(numbers.PX4_AUTO_MAIN, AUTO["RTL"], "Return", 5),
    "land": Shown(numbers.PX4_AUTO_MAIN, AUTO["LAND"], "Land", 7),
}
# Further modes that are only shown: failsafes, and phases of a VTOL mission
OTHERS = {
    "descend": ASKED["land"],
    "terminated": Shown(MAIN["TERMINATION"], 0, "Terminated"),
    "hover": ASKED["mission"],
    "transition": ASKED["mission"],
    "cruise": ASKED["mission"],
    "back-transition": ASKED["mission"],
}
BY_NUMBER = {shown.custom: word for word, shown in ASKED.items()}


def shown(word: str) -> Shown:
    """A mode of the autopilot as ground stations see it; a mode without a number of PX4 is shown as hold."""
    return ASKED.get(word) or OTHERS.get(word) or ASKED["hold"]


def word_of(custom: int) -> str | None:
    """The mode that a custom_mode commands; None if unknown. The fourth byte counts for AUTO only."""
    main, sub = custom >> 16 & 0xFF, custom >> 24 & 0xFF
    if main != numbers.PX4_AUTO_MAIN:
        sub = 0
    return BY_NUMBER.get(main << 16 | sub << 24)
