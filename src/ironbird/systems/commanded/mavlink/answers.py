"""Answers to requests that do not concern flying: clocks, pings, log lists, files; if only with "none".

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
    """Answers requests that change nothing in the vehicle."""

    def __init__(self, commander: Commander) -> None:
        self.commander = commander

    def take_ping(self, channel: Channel, message: Any, sender: Sender) -> None:
        """PING: a broadcast request is answered to its sender."""
        if message.target_system == 0 and message.target_component == 0:
            channel.say(dialect.PING, message.time_usec, message.seq, *sender)

    def take_timesync(self, channel: Channel, message: Any, _sender: Sender) -> None:
        """TIMESYNC: simulation time in answer to the sender's, in nanoseconds."""
        if message.tc1 == 0:
            channel.say(dialect.TIMESYNC, self.commander.time_us * NS_PER_US, message.ts1)

    def take_log_list(self, channel: Channel, _message: Any, _sender: Sender) -> None:
        """LOG_REQUEST_LIST: answered with an empty list."""
        channel.say(dialect.LOG_ENTRY, 0, 0, 0, 0, 0)

    def take_log_data(self, channel: Channel, message: Any, _sender: Sender) -> None:
        """LOG_REQUEST_DATA: answered with length zero, which ends a download."""
        channel.say(dialect.LOG_DATA, message.ofs, message.id, 0, *bytes(90))

    def take_ftp(self, channel: Channel, message: tuple[int, ...], sender: Sender) -> None:
        """FILE_TRANSFER_PROTOCOL: sessions can be ended; every file or folder is reported as missing."""
        payload = message[3:]
        number = (payload[SEQUENCE] | payload[SEQUENCE + 1] << 8) + 1 & 0xFFFF
        opcode = payload[OPCODE]
        good = opcode in (NONE, TERMINATE, RESET)
        answer = bytearray(FTP_BYTES)
        answer[0:2] = number.to_bytes(2, "little")
        answer[SESSION], answer[OPCODE], answer[ASKED] = payload[SESSION], ACK if good else NAK, opcode
        if not good:
            answer[SIZE], answer[HEADER] = 1, NOT_FOUND if opcode in OPENS else UNKNOWN_COMMAND
        channel.say(dialect.FILE_TRANSFER_PROTOCOL, 0, *sender, *answer)
