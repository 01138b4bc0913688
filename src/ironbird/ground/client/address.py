"""Addresses of vehicles: `udp:14550`, `udpout:192.168.0.7:14580`, `tcp:127.0.0.1:5760`, `serial:/dev/ttyACM0:57600`."""

from __future__ import annotations

import time

from ironbird.errors import LinkError, shortened
from ironbird.ground.wires import OnCable, Port, Wire
from ironbird.transport.cable import SerialCable, StreamCable

FORMS = "udp:PORT, udp:HOST:PORT, udpout:HOST:PORT, tcp:HOST:PORT or serial:DEVICE[:BAUD]"
USUAL_BAUD = 921_600
AGAIN_S = 0.2  # between two attempts to reach a server
LOOPBACK = "127.0.0.1"


def open_wire(address: str, within_s: float) -> Wire:
    """Open the link to a vehicle; connecting to a server is retried for `within_s`.

    `udp` listens on the port that the vehicle sends to, on loopback unless another HOST of this computer is given;
    `udpout` sends first, to a vehicle that listens.
    """
    kind, _, rest = address.partition(":")
    if kind == "serial" and rest:
        device, _, baud = rest.rpartition(":")
        if not device or not baud.isdecimal():
            device, baud = rest, str(USUAL_BAUD)
        cable = SerialCable(device, int(baud))
        cable.open()
        return OnCable(cable)
    host, _, port_text = rest.rpartition(":")
    known = kind in ("udp", "udpin", "tcp") or (kind == "udpout" and host)
    if not known or not _is_port(port_text):
        raise LinkError(f"'{shortened(address)}' is no address of a vehicle; give {FORMS}")
    port = int(port_text)
    if kind == "tcp":
        return OnCable(_connected(host or LOOPBACK, port, within_s))
    if kind == "udpout":
        return Port(0, LOOPBACK if host.startswith(("127.", "localhost")) else "0.0.0.0", peer=(host, port))
    return Port(port, host or LOOPBACK)


def _connected(host: str, port: int, within_s: float) -> StreamCable:
    deadline = time.monotonic() + within_s
    while True:
        cable = StreamCable(port, host, connect_s=max(deadline - time.monotonic(), 0.05))
        try:
            cable.open()
            return cable
        except LinkError as error:
            if time.monotonic() + AGAIN_S >= deadline:
                raise LinkError(f"{error} (tried for {within_s:g} s)") from None
            time.sleep(AGAIN_S)


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= 65535
