"""The rig: one or several running flights, without any page. Everything the page does is a call of this class.

rig = Rig(Path("out/app")) flight = rig.start("quad_f450", wind_mps=5.0) rig.do(flight.name, "inject",
fault="rotor.speed_loss@1:instance=1,severity=0.2") branch = rig.branch(flight.name) rig.close()
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ironbird.app.live_flight import DEEDS, FAILED, OVER, LiveFlight
from ironbird.app.monitor import Monitor
from ironbird.app.plans import mission_of_items
from ironbird.app.records import Campaigns
from ironbird.errors import IronbirdError, OrderError, RunError, UnknownNameError, shortened
from ironbird.faults.catalog import parse_fault
from ironbird.files.trust import Trust
from ironbird.flight.mission import Mission
from ironbird.flight.order import Order, Weather, make_order
from ironbird.flight.pose import start_settings
from ironbird.flight.systems import is_outside, kind_of, repeats, system_names
from ironbird.protocols.plan_file import LocalItem
from ironbird.systems.commanded.mavlink.front import MavlinkFront
from ironbird.transport.router.route_file import Route
from ironbird.transport.router.router import Router
from ironbird.vehicles.load import load_spec

UNTIL_S = 600.0  # of a flight that is not ended; its log takes about 0.25 MB a second
MOST_FLYING = 32
MOST_KEPT_BYTES = 256 * 2**20  # logs of flights that are over and still in memory; all are in their folders
OWN = {"reference": "estimate", "truth": "truth"}  # control by the vehicle's own autopilot: the state that it uses


class Rig:
    """Flights by name. Calls may come from any thread; only `do`, `end` and `close` wait."""

    def __init__(self, folder: Path = Path("out/app"), campaigns: Campaigns | None = None) -> None:
        self.folder, self.campaigns = folder, campaigns or Campaigns()
        self.routes: dict[str, Monitor] = {}  # of routers beside the flights, by name
        self.flights: dict[str, LiveFlight] = {}
        self._routers = contextlib.ExitStack()
        self._numbers, self._captures = itertools.count(1), itertools.count(1)
        self._lock = threading.Lock()
        self._stamp = time.strftime("%Y%m%d-%H%M%S")

    # ------------------------------------------------------------------ flights

    def start(
        self,
        vehicle: str = "quad_f450",
        *,
        control: str = "reference",
        mission: Mission | str | Path | Sequence[LocalItem] | None = None,
        wind_mps: float = 0.0,
        wind_from_deg: float = 270.0,
        turbulence_mps: float = 0.0,
        seed: int = 0,
        speed: float | None = 1.0,
        until_s: float = UNTIL_S,
        north_m: float = 0.0,
        east_m: float = 0.0,
        go: bool = True,
        paused: bool = False,
        mavlink: bool | str = False,
        **ordered: Any,
    ) -> LiveFlight:
        """Start a flight; with `go` the vehicle arms and flies its mission, else it waits for commands.

        `control` is `reference` (the vehicle's own autopilot), `truth` (the same on the true state) or any other name
        of `ironbird system list`. With `mavlink` ground stations reach it too, at the usual ports or at the links that
        it names (as `fly --control mavlink --links …`); PX4 and ArduPilot then keep wall time and do not repeat. More
        is as `make_order` takes it.
        """
        if control not in system_names():
            raise UnknownNameError("control system", control, system_names())
        attended = is_outside(control) and kind_of(control).takes_orders(load_spec(vehicle).template)
        own = control in OWN or kind_of(control).obeys  # an internal commander arms it
        if mavlink and control not in OWN and (own or not attended):
            raise OrderError(f"control '{control}' has no link to ground stations")
        if attended:
            ordered["options"] = _attended(control, bool(mavlink)) | dict(ordered.get("options") or {})
        if mission is not None and not isinstance(mission, Mission | str | Path):
            mission = mission_of_items(mission)
        order = make_order(
            vehicle,
            control="commanded" if control in OWN else control,
            options={"state": OWN[control]} if control in OWN else ordered.pop("options", None),
            mission=mission,
            weather=Weather(speed_mps=wind_mps, from_deg=wind_from_deg, turbulence_mps=turbulence_mps),
            seed=seed,
            until_s=until_s,
            **ordered,
        )
        if north_m or east_m:
            order = replace(order, settings={**start_settings(order, north_m, east_m), **order.settings})
        wishes = () if not go else ("arm", "mission") if own else ("mission",) if attended else ()
        return self._begin(
            order, wishes=wishes, speed=speed, paused=paused, mavlink=mavlink, trust=Trust.by_hand(order.options)
        )

    def branch(self, name: str, *, at_s: float | None = None, paused: bool = False) -> LiveFlight:
        """Start a second flight that is equal to the bit up to now (or up to `at_s`) and continues in parallel.

        It is flown again from its start at full speed, each action at its tick, so its order and log are complete.
        """
        first = self.flight(name)
        own = first.order.control == "commanded"
        if not own and not repeats(first.order.control, first.order.options, ""):
            raise RunError(f"{name}: control '{first.order.control}' need not repeat to the bit: there is no branch")
        if first.also is not None:
            raise RunError(f"{name}: commands of ground stations are not recorded yet: it cannot be branched")
        tick = first.tick  # before the actions: one that comes in between belongs to the first only
        if at_s is not None:
            tick = min(tick, max(0, round(at_s / first.step_s)))
        deeds = list(first.deeds)
        past = [deed for deed in deeds if deed.tick <= tick]
        wishes = [*(deed.name for deed in deeds if deed.wished and deed.tick > tick), *first.wishes]
        return self._begin(
            first.order, wishes=wishes, speed=first.speed, past=past, until_tick=tick, paused=paused, trust=first.trust
        )

    def refly(self, campaign: str, flight: str) -> LiveFlight:
        """Fly a stored flight of a campaign again, as fast as possible, to get a log for the replay."""
        return self._begin(self.campaigns.order(campaign, flight), speed=None)

    def route(self, name: str, route: Route) -> Router:
        """Run a router until the rig is closed; its packets are monitored as those of flights are."""
        if name in self.monitors():
            raise OrderError(f"there is a flight or a route with the name '{shortened(name, 40)}' already")
        monitor, connections = Monitor(), route.connections()
        for connection in connections:
            connection.watch = monitor.watch
        router = self._routers.enter_context(Router(connections, route.rules()))
        self.routes[name] = monitor
        return router

    def monitors(self) -> dict[str, Monitor]:
        """Packet monitors of each flight and of each route, by name."""
        return {**{name: flight.monitor for name, flight in self.flights.items()}, **self.routes}

    def capture(self, name: str, words: str = "") -> list[Path]:
        """Save the newest packets of a flight or route: those that match the words as pcap, all MAVLink as tlog."""
        monitors = self.monitors()
        if name not in monitors:
            raise UnknownNameError("flight or route", name, monitors)
        self.folder.mkdir(parents=True, exist_ok=True)
        stem = f"{self._stamp}-{re.sub(r'[^A-Za-z0-9_-]', '_', name)}-{next(self._captures)}"
        files = {f"{stem}.pcap": monitors[name].pcap(words), f"{stem}.tlog": monitors[name].tlog()}
        for file, data in files.items():
            (self.folder / file).write_bytes(data)
        return [self.folder / file for file in files]

    def reset(self, name: str) -> LiveFlight:
        """End a flight and start the same order again, without any actions."""
        first = self.flight(name)
        first.end()
        with self._lock:
            self.flights.pop(name, None)
        return self._begin(
            first.order, wishes=first.began_with, speed=first.speed, mavlink=first.mavlink, trust=first.trust
        )

    def _begin(self, order: Order, *, mavlink: bool | str = False, **how: Any) -> LiveFlight:
        with self._lock:
            monitor = Monitor()
            front = self._front(mavlink, monitor) if mavlink and order.control == "commanded" else None
            how |= {"mavlink": mavlink, "also": front, "monitor": monitor}
            self._forget_old()
            if sum(flight.state not in (OVER, FAILED) for flight in self.flights.values()) >= MOST_FLYING:
                raise RunError(f"{MOST_FLYING} flights run already: end one")
            name = f"{re.sub(r'[^A-Za-z0-9_]', '_', Path(order.vehicle).stem)[:40]}-{next(self._numbers)}"
            flight = LiveFlight(name, order, folder=self.folder / f"{self._stamp}-{name}", **how)
            self.flights[name] = flight
        flight.start()
        return flight

    def _front(self, mavlink: bool | str, monitor: Monitor) -> MavlinkFront:
        instances = {flight.also.options.instance for flight in self.flights.values()
                 if isinstance(flight.also, MavlinkFront) and flight.thread.is_alive()}  # fmt: skip
        instance = next(number for number in itertools.count() if number not in instances)
        links = mavlink if isinstance(mavlink, str) else ""
        front = MavlinkFront({"instance": instance, "links": links, "flights": 0})
        front.watch = monitor.watch
        return front

    def _forget_old(self) -> None:
        """Drop finished flights from memory, the oldest first, when their logs are too large; folders stay."""
        size, dropped = 0, False
        for name, flight in reversed(list(self.flights.items())):
            if flight.state in (OVER, FAILED):
                size += flight.flight.log.data.nbytes if flight.flight is not None else 2**20
                if size > MOST_KEPT_BYTES:
                    del self.flights[name]
                    dropped = True
        if dropped:
            gc.collect()  # a flight, its front end and its rig refer to each other

    def flight(self, name: str) -> LiveFlight:
        """The flight with this name; raises UnknownNameError."""
        if name not in self.flights:
            raise UnknownNameError("flight", name, self.flights)
        return self.flights[name]

    # ------------------------------------------------------------------ actions

    def do(self, name: str, what: str, /, **args: Any) -> None:
        """Command, fault or tune a flight (`DEEDS`); raises `RunError` with the reason if it is refused."""
        if refusal := self.flight(name).do(what, _read(what, args)):
            raise RunError(f"{name}: {refusal}")

    def end(self, name: str) -> LiveFlight:
        """End a flight: it is judged as far as it was flown, and its folder is written."""
        flight = self.flight(name)
        flight.end()
        return flight

    def forget(self, name: str) -> None:
        """Drop a flight that is over from memory; its folder stays."""
        if self.flight(name).state not in (OVER, FAILED):
            raise RunError(f"{name} still flies: end it first")
        del self.flights[name]

    def close(self) -> None:
        """End all flights; they are judged and written into their folders."""
        for flight in list(self.flights.values()):
            flight.end(wait_s=0.0)
        for flight in list(self.flights.values()):
            flight.end()
        self._routers.close()

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _attended(control: str, mavlink: bool) -> dict[str, Any]:
    """Options by which the built-in ground station accepts orders in flight, for control systems that have them.

    An autopilot then runs in simulation time, so that it can be paused, branched and repeated to the bit; unless other
    ground stations are to command it too.
    """
    usual = {"pilot": "attended", "time": "real" if mavlink else "virtual", "ground_station": mavlink}
    return {key: value for key, value in usual.items() if key in kind_of(control).options.model_fields}


def _read(what: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an action with texts converted to objects (faults, mission items)."""
    if what not in DEEDS:
        raise UnknownNameError("action", what, DEEDS)
    values = dict(args)
    if what == "inject":
        if set(values) - {"fault"}:
            raise IronbirdError(f"a fault is one text, ID:key=value,…; not {', '.join(values)}")
        return {"injection": parse_fault(str(values.get("fault", "")))}
    if what == "set_mission":
        values["items"] = [
            item if isinstance(item, LocalItem) else LocalItem(*item) for item in values.get("items", ())
        ]
    return values
