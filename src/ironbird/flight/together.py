"""Several vehicles at once, each with its own control system, on one wall clock.

Each flight has a thread; native loops run in parallel, independent of Python. All are prepared first; then time begins
for all at the same moment, and simulation time is wall time since then in each of them.
Not done: the vehicles do not affect each other (wake, radio, collision).
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ironbird.errors import IronbirdError, LinkError, OrderError
from ironbird.files.trust import Trust
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import Order
from ironbird.flight.prepare import fit
from ironbird.flight.start_line import StartLine
from ironbird.flight.systems import is_outside, kind_of, read_options

if TYPE_CHECKING:
    from ironbird.rig.system import AutopilotEvent

MOST = 16  # vehicles
LOOK_S = 0.05


def fly_together(
    orders: Sequence[Order],
    folders: Sequence[Path | None] = (),
    *,
    announce: Callable[[str], None] | None = None,
    patience_s: float = 120.0,
    trust: Trust | None = None,
    on_event: Callable[[int, AutopilotEvent], None] | None = None,
) -> list[Flight]:
    """Fly several vehicles in real time on one clock; Ctrl-C ends all of them with their results.

    Parameters
    ----------
    orders : sequence of Order
        One for each vehicle.
    folders : sequence of Path or None, default ()
        Where external control systems leave their logs, in the same order.
    announce : callable, optional
        Called with sentences about ports that are opened.
    patience_s : float, default 120.0
        How long in s all wait until every control system takes part.
    trust : Trust, optional
        What the options of the orders may start; nothing by default.
    on_event : callable, optional
        Called with the number of a vehicle, from 1 on, and each event of its control system, in the thread of its
        flight.

    Returns
    -------
    list of Flight
        In the order of the orders.

    Raises
    ------
    LinkError
        If one of them never takes part: then none flies.
    OrderError
        If there are too many, or two need the same port.

    Examples
    --------
    >>> orders = [ib.make_order("quad_f450", mission="hover", until_s=2.0, seed=n) for n in (1, 2)]
    >>> [flight.ended_s for flight in ib.fly_together(orders)]  # doctest: +SKIP
    [2.0, 2.0]
    """
    if not 1 <= len(orders) <= MOST:
        raise OrderError(f"{len(orders)} vehicles at once: give 1 to {MOST}")
    _check_apart(orders)
    folders = folders or [None] * len(orders)
    for order in orders:
        fit(order)  # compiled one after the other, before any waits for the others
    line = StartLine(len(orders), patience_s)
    flights: dict[int, Flight] = {}
    failed: dict[int, BaseException] = {}

    def work(number: int, order: Order, folder: Path | None) -> None:
        report = None if on_event is None else functools.partial(on_event, number + 1)
        try:
            flights[number] = fly(
                order, speed=1.0, folder=folder, announce=announce, line=line, trust=trust, on_event=report
            )
        except BaseException as error:
            failed[number] = error
            line.give_up()

    threads = [
        threading.Thread(target=work, args=(number, order, folder), name=f"vehicle {number + 1}")
        for number, (order, folder) in enumerate(zip(orders, folders, strict=True))
    ]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        line.end()
    for thread in threads:
        thread.join()
    own = {number: error for number, error in failed.items() if not isinstance(error, StartLine.Broken)}
    for number, error in sorted((own or failed).items()):
        if isinstance(error, IronbirdError):
            raise LinkError(f"vehicle {number + 1} of {len(orders)} ({orders[number].vehicle}): {error}") from error
        raise error
    return [flights[number] for number in range(len(orders))]


def _check_apart(orders: Sequence[Order]) -> None:
    """Raise `OrderError` if two orders use the same serial or UDP port."""
    taken: dict[str, int] = {}
    for number, order in enumerate(orders, start=1):
        if not is_outside(order.control):
            continue
        options = read_options(kind_of(order.control), order.options).model_dump()
        for key in ("port", "udp"):
            place = f"{key} {options[key]}" if options.get(key) is not None else ""
            if place and taken.setdefault(place, number) != number:
                raise OrderError(f"vehicles {taken[place]} and {number} are both on {place}: give each its own")
