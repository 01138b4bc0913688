"""RflySim's UDP modes: which packets are sent how often, and which packets are accepted."""

from __future__ import annotations

from dataclasses import dataclass

from ironbird.errors import UnknownNameError


@dataclass(frozen=True)
class UdpMode:
    """One of CopterSim's communication modes."""

    name: str
    numbers: tuple[int, ...]  # in the clients' calls
    mavlink: bool  # state and commands are MAVLink; else structs
    rate_Hz: float  # of state and truth
    truth: tuple[str, ...]  # structs that carry it: all clients read the first
    sends: bool = True


_FULL = ("SOut2SimulatorOld", "SOut2Simulator")  # old clients read the first only, DllSimCtrlAPI the second only
_SIMPLE = ("SOut2SimulatorOld", "SOut2SimulatorSimpleTime")
MODES: dict[str, UdpMode] = {
    mode.name: mode
    for mode in (
        UdpMode("udp_full", (0,), False, 100.0, _FULL),
        UdpMode("udp_simple", (1,), False, 30.0, _SIMPLE),
        UdpMode("mavlink_full", (2, 5, 6), True, 100.0, _FULL),
        UdpMode("mavlink_simple", (3,), True, 30.0, _SIMPLE),
        UdpMode("mavlink_nosend", (4,), True, 30.0, _SIMPLE, sends=False),
    )
}


def mode_named(name: str) -> UdpMode:
    """The mode with this name; raises UnknownNameError."""
    if name not in MODES:
        raise UnknownNameError("mode of RflySim", name, MODES)
    return MODES[name]


def mode_numbered(number: int) -> UdpMode | None:
    """A mode by the number that clients use; None if there is none."""
    return next((mode for mode in MODES.values() if number in mode.numbers), None)
