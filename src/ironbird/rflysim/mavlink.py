"""MAVLink as CopterSim forwards it: commands at 20100, telemetry to 20101, and the truth in between.

The messages are those of the front end "mavlink". In addition HIL_ACTUATOR_CONTROLS with flags 1234567890 carries the
true motion; its time field is in ms. Structs of the interface are received at the same port: arming, restart.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

from ironbird.protocols.mavlink import dialect, numbers
from ironbird.rflysim.messages import Shown
from ironbird.rflysim.ports import LOOPBACK, Ports, peer_of
from ironbird.rflysim.structs import COMMAND, decode
from ironbird.rig.commander.commander import Commander
from ironbird.systems.commanded.mavlink import parameters
from ironbird.systems.commanded.mavlink.connections import Channel, Sender, UdpEndpoint
from ironbird.systems.commanded.mavlink.front import MavlinkFront
from ironbird.systems.commanded.mavlink.texts import Texts

TRUTH_FLAGS, RPM_FLAGS = 1234567890, 1
OF_HIT, OF_STATE = 2, 1  # modes of the truth message: meaning of its last number
DO_SET_SERVO, MARK = 183, 999.0  # RFlySimSafe marks the time of a fault in the log with seven times 999
SPEEDS = ("FW_AIRSPD_TRIM", "GND_SPEED_TRIM", "MPC_XY_VEL_MAX")  # parameters by which clients set a speed
UNUSED = ("NAV_RCL_ACT", "NAV_DLL_ACT", "COM_RCL_EXCEPT", "RWTO_TKOFF")  # set by every client; nothing here needs them
FAST = (dialect.ATTITUDE, dialect.ATTITUDE_QUATERNION, dialect.LOCAL_POSITION_NED, dialect.GLOBAL_POSITION_INT)
FULL_S = 1.0 / 50.0  # between two of the fast ones, as PX4 sends them to CopterSim


class CopterSimEndpoint(UdpEndpoint):
    """UDP endpoint that always sends to one port; structs of the interface have other ports."""

    def __init__(self, sysid: int, ports: Ports, host: str, structs: Callable[[bytes], None]) -> None:
        super().__init__(sysid, host, ports.command, (peer_of(host), ports.state))
        self._structs = structs

    def receive(self) -> Iterator[tuple[Channel, bytes]]:
        """Receive MAVLink packets, without structs of the interface."""
        for partner, data in super().receive():
            if decode(COMMAND, data) is not None:
                self._structs(data)
            else:
                yield partner, data

    def _partner(self, address: tuple[str, int], *, lasting: bool = False) -> Channel | None:
        assert self.target is not None
        return super()._partner(self.target, lasting=True)


class _Texts(Texts):
    """Status texts that begin as PX4's do: clients search for the word Failsafe."""

    def say(self, text: str, severity: int = numbers.MAV_SEVERITY_INFO) -> None:
        super().say(text[:1].upper() + text[1:], severity)


class CopterSimMavlink(MavlinkFront):
    """The front end "mavlink" behind CopterSim's ports."""

    def __init__(self, ports: Ports, host: str, *, full: bool, structs: Callable[[bytes], None]) -> None:
        super().__init__({"instance": 0, "links": f"udpin:{LOOPBACK}:0", "flights": 0})
        self.sysid = (ports.vehicle - 1) % 250 + 1
        self.endpoints = [CopterSimEndpoint(self.sysid, ports, host, structs)]
        self.texts = _Texts()
        self._full = full
        self._owner: Commander | None = None

    def open(self, commander: Commander) -> None:
        """Open the port and set the rates of the mode."""
        super().open(commander)
        self._owner = commander
        if self._full:
            for channel in self.channels:
                channel.interval_s |= {message.id: FULL_S for message in FAST}

    def take(self, channel: Channel, number: int, payload: bytes, sender: Sender) -> None:
        """Process RflySim's special messages, and the rest as MAVLink."""
        commander = self._owner
        assert commander is not None
        if number == dialect.COMMAND_LONG.id:
            message = dialect.COMMAND_LONG.read(payload)
            if message.command == DO_SET_SERVO and message.param1 == MARK:
                commander.note("rflysim", "a client marks the time of a fault")
                return
        if number == parameters.SET.id:
            message = dialect.PARAM_SET.read(payload)
            name = bytes(message.param_id).split(b"\0")[0].decode("ascii", "replace")
            if name in UNUSED:
                return
            if name in SPEEDS:
                (value,) = struct.unpack_from("<f", payload)
                refused = commander.set_speed(value) if value > 0 else None
                if refused:
                    commander.note("rflysim", f"{name} {value:g} refused: {refused}")
                return
        super().take(channel, number, payload, sender)


def say_truth(channels: Sequence[Channel], shown: Shown) -> None:
    """Send the true motion, and the speeds of the rotors."""
    mode = OF_HIT if shown.hit >= 0 else OF_STATE
    time_ms = round(shown.time_s * 1e3)
    for channel in channels:
        channel.say(dialect.HIL_ACTUATOR_CONTROLS, time_ms, TRUTH_FLAGS, *shown.hil_truth(), mode)
        channel.say(dialect.HIL_ACTUATOR_CONTROLS, time_ms, RPM_FLAGS, *shown.hil_speeds(), mode)
        channel.flush()
