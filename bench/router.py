"""The router against a direct line and a single thread: Table 4 of the source document on middleware, and ten links.

    python bench/router.py [--seconds 10]

Prints JSON. A simulator sends HIL_SENSOR at 500 Hz and HIL_GPS at 5 Hz, a flight controller HIL_ACTUATOR_CONTROLS at
400 Hz, each from a process of its own, paced by an absolute clock; what comes out at the other end is counted there.
Three ways between them: directly, through one thread that serves both lines in turn and waits for each (what the
document calls TS), and through the router. `lost` is the share of what was sent that did not come. Then ten links of
1,000 packets a second each, all through one router. Rates of the document's Table 4, on its machine: SITL 462.7, 4.49,
383.0 Hz; TS 352.9, 3.62, 279.5; TCAS 431.9, 4.15, 342.6.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import socket
import threading
import time
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Barrier
from typing import Any

from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.dialect import ATTITUDE, HIL_ACTUATOR_CONTROLS, HIL_GPS, HIL_SENSOR, Message
from ironbird.transport.cable import make_room
from ironbird.transport.frames import FrameReader
from ironbird.transport.router.cables import parse_cable
from ironbird.transport.router.router import Connection, Router, Rule, Traffic

LINKS = 10
LINK_HZ = 1000.0
TURN_S = 0.002  # that the single thread waits for a line
SIMULATOR = {HIL_SENSOR: 500.0, HIL_GPS: 5.0}
BOARD = {HIL_ACTUATOR_CONTROLS: 400.0}


def end(own: int, far: int, messages: dict[Message, float], seconds: float, said: Pipe, ready: Barrier) -> None:
    """One end of a line: sends its messages at their rates and counts what comes."""
    port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    make_room(port)
    port.bind(("127.0.0.1", own))
    port.settimeout(0.1)
    came: dict[int, int] = {}
    ends = threading.Event()

    def listen() -> None:
        reader = FrameReader()
        while not ends.is_set():
            try:
                data = port.recv(4096)
            except OSError:
                continue
            for frame in reader.feed(data):
                came[frame.id] = came.get(frame.id, 0) + 1

    thread = threading.Thread(target=listen)
    thread.start()
    ready.wait()
    packer = Packer()
    begin = time.monotonic()
    sent = dict.fromkeys(messages, 0)
    while (now := time.monotonic() - begin) < seconds:
        for message, rate in messages.items():
            while sent[message] < now * rate:
                zeros = message.payload.unpack(bytes(message.payload.size))
                packer.add(message, *zeros)
                sent[message] += 1
                with contextlib.suppress(OSError):
                    port.sendto(packer.take(), ("127.0.0.1", far))
        time.sleep(0.0005)
    time.sleep(1.0)
    ends.set()
    thread.join()
    port.close()
    said.send(({message.name: count for message, count in sent.items()}, came))


def ports(count: int) -> list[int]:
    """Free ones."""
    held = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    numbers = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return numbers


def single(left: int, right: int, sides: tuple[int, int], ends: threading.Event) -> None:
    """Both lines in turn, in one thread that waits for each."""
    lines = []
    for own in (left, right):
        line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        line.bind(("127.0.0.1", own))
        line.settimeout(TURN_S)
        lines.append(line)
    while not ends.is_set():
        for line, other, to in ((lines[0], lines[1], sides[1]), (lines[1], lines[0], sides[0])):
            try:
                other.sendto(line.recv(4096), ("127.0.0.1", to))
            except OSError:
                continue
    for line in lines:
        line.close()


def table(way: str, seconds: float) -> dict[str, Any]:
    """Rates that arrive and shares that are lost."""
    a, b, left, right = ports(4)
    if way == "direct":
        left, right = b, a

        def between() -> None:
            """Nothing."""

    elif way == "single thread":
        ends = threading.Event()
        thread = threading.Thread(target=single, args=(left, right, (a, b), ends))
        thread.start()

        def between() -> None:
            ends.set()
            thread.join()

    else:
        router = Router(
            [Connection("simulator", parse_cable(f"udpin:{left}")), Connection("board", parse_cable(f"udpin:{right}"))],
            [Rule("simulator", "board"), Rule("board", "simulator")],
        )
        router.__enter__()

        def between() -> None:
            router.__exit__()

    results = run([(a, left, SIMULATOR), (b, right, BOARD)], seconds)
    between()
    figures: dict[str, Any] = {}
    for (sent, _), (_, came) in (results, results[::-1]):
        for message in (*SIMULATOR, *BOARD):
            if message.name in sent:
                count = came.get(message.id, 0)
                figures[message.name] = {
                    "hz": round(count / seconds, 2),
                    "lost": round(1.0 - count / sent[message.name], 5),
                }
    return figures


def run(
    sides: list[tuple[int, int, dict[Message, float]]], seconds: float
) -> list[tuple[dict[str, int], dict[int, int]]]:
    """Processes for all ends; what each sent and what came."""
    started = []
    ready = multiprocessing.Barrier(len(sides))
    for own, far, messages in sides:
        here, there = multiprocessing.Pipe()
        process = multiprocessing.Process(target=end, args=(own, far, messages, seconds, there, ready))
        process.start()
        started.append((process, here))
    results = [here.recv() for _, here in started]
    for process, _ in started:
        process.join()
    return results


def _received(connection: Connection) -> dict[str, Traffic]:
    return connection.received


def _sent(connection: Connection) -> dict[str, Traffic]:
    return connection.sent


def ten(seconds: float) -> dict[str, Any]:
    """Ten senders of 1 kHz through one router to ten receivers."""
    own, far, left = (ports(LINKS) for _ in range(3))
    connections, rules = [], []
    for k in range(LINKS):
        connections += [Connection(f"in_{k}", parse_cable(f"udpin:{left[k]}")),
                        Connection(f"out_{k}", parse_cable(f"udpout:127.0.0.1:{far[k]}"))]  # fmt: skip
        rules.append(Rule(f"in_{k}", f"out_{k}"))
    before = time.process_time()
    with Router(connections, rules) as router:
        sides = [(own[k], left[k], {ATTITUDE: LINK_HZ}) for k in range(LINKS)] + [(f, 9, {}) for f in far]
        results = run(sides, seconds)
        ends = list(router.connections.values())
        late = sorted(value for c in ends for value in c.latencies_s)
        heard, passed = (sum(t.count for c in ends for t in way(c).values()) for way in (_received, _sent))
    sent = sum(sum(counts.values()) for counts, _ in results[:LINKS])
    came = sum(sum(counts.values()) for _, counts in results[LINKS:])
    return {
        "packets": sent,
        "lost": round(1.0 - came / sent, 5),
        "lost_before_the_router": round(1.0 - heard / sent, 5),
        "lost_in_the_router": round(1.0 - passed / max(heard, 1), 5),
        "latency_ms": {
            "median": round(1e3 * late[len(late) // 2], 3),
            "p95": round(1e3 * late[int(0.95 * len(late))], 3),
        },
        "core_share": round((time.process_time() - before) / seconds, 3),
    }


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=10.0)
    arguments.add_argument("--ten-only", action="store_true", help="only the ten links")
    options = arguments.parse_args()
    seconds = options.seconds
    ways = () if options.ten_only else ("direct", "single thread", "router")
    figures = {way: table(way, seconds) for way in ways}
    print(json.dumps({**figures, "ten links": ten(seconds), "load": os.getloadavg()[0]}, indent=1))


if __name__ == "__main__":
    main()
