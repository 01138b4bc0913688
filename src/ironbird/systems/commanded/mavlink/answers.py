"""What is asked of every autopilot besides flying: clocks, pings, log lists, files. Answered, if only with "none".

Not done: logs and files over MAVLink; a flight's log is in its folder, and PX4's form of it can be written there.
"""

from __future__ import annotations

from typing import Any

from ironbird.protocols.mavlink import dialect
from ironbird.rig.commander.commander import Commander
from ironbird.systems.commanded.mavlink.connections import Channel, Sender

# MAVLink FTP [MAVLinkFtp]: header of its payload, answers, and what is asked for
SEQUENCE, SESSION, OPCODE, SIZE, ASKED, HEADER = 0, 2, 3, 4, 5, 12
ACK, NAK = 128, 129
NONE, TERMINATE, RESET = 0, 1, 2
UNKNOWN_COMMAND, NOT_FOUND = 7, 10
OPENS = (3, 4, 7)  # list a folder, open a file, ... : there is none
FTP_BYTES = 251
NS_PER_US = 1000


class Answers:
    """Questions that change nothing."""

    def __init__(self, commander: Commander) -> None:
        self.commander = commander

    def take_ping(self, channel: Channel, said: Any, sender: Sender) -> None:
        """PING: a question to everybody is answered to who asked."""
        if said.target_system == 0 and said.target_component == 0:
            channel.say(dialect.PING, said.time_usec, said.seq, *sender)

    def take_timesync(self, channel: Channel, said: Any, _sender: Sender) -> None:
        """TIMESYNC: simulation time in answer to the sender's, in nanoseconds."""
        if said.tc1 == 0:
            channel.say(dialect.TIMESYNC, self.commander.time_us * NS_PER_US, said.ts1)

    def take_log_list(self, channel: Channel, _said: Any, _sender: Sender) -> None:
        """LOG_REQUEST_LIST: there are none here."""
        channel.say(dialect.LOG_ENTRY, 0, 0, 0, 0, 0)

    def take_log_data(self, channel: Channel, said: Any, _sender: Sender) -> None:
        """LOG_REQUEST_DATA: of length zero, which ends a download."""
        channel.say(dialect.LOG_DATA, said.ofs, said.id, 0, *bytes(90))

    def take_ftp(self, channel: Channel, said: tuple[int, ...], sender: Sender) -> None:
        """FILE_TRANSFER_PROTOCOL: sessions end, and there are no files."""
        payload = said[3:]
        number = (payload[SEQUENCE] | payload[SEQUENCE + 1] << 8) + 1 & 0xFFFF
        asked = payload[OPCODE]
        good = asked in (NONE, TERMINATE, RESET)
        answer = bytearray(FTP_BYTES)
        answer[0:2] = number.to_bytes(2, "little")
        answer[SESSION], answer[OPCODE], answer[ASKED] = payload[SESSION], ACK if good else NAK, asked
        if not good:
            answer[SIZE], answer[HEADER] = 1, NOT_FOUND if asked in OPENS else UNKNOWN_COMMAND
        channel.say(dialect.FILE_TRANSFER_PROTOCOL, 0, *sender, *answer)
