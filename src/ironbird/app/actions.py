"""What can be asked of a rig by name, with plain data: by the page, by `ironbird app do`, by any program.

Names and values come from outside: any mistake in them is a sentence in the answer, never an error in the server.
Vehicles are those of the catalogue, by name: paths of files are not accepted.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

from ironbird.app.live_flight import DEEDS
from ironbird.app.plans import items_of_plan, mission_of_items, plan_of_items
from ironbird.app.rig import Rig
from ironbird.app.security import PILOT
from ironbird.errors import IronbirdError, MissionError, RunError, UnknownNameError, shortened
from ironbird.flight.mission import load_mission, mission_names
from ironbird.flight.passage import first_obstacle
from ironbird.flight.worlds import ordered_world
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.commander.obeyed import COMMANDS
from ironbird.transport.cable import ports
from ironbird.vehicles.kinds import vehicle_kind
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.shape import shape_of
from ironbird.world.files import world_names

MOST_ITEMS = 500
MOST_WORDS = 200  # characters of a filter
MOST_STEPS = 10_000  # exchanges at once
Action = Callable[..., Any]
FORMS = {"str": "TEXT", "float": "NUMBER", "int": "WHOLE", "bool": "true|false"}  # of arguments, in lists
WANTED = {"str": "a text", "float": "a finite number", "int": "a whole number", "bool": "true or false"}
STARTS = {  # options of a flight, and the type that each is converted to
    "control": str, "wind_mps": float, "wind_from_deg": float, "turbulence_mps": float, "seed": int, "until_s": float,
    "north_m": float, "east_m": float, "go": bool, "paused": bool, "mavlink": bool, "world": str, "udp": int,
    "port": str,
}  # fmt: skip


def act(rig: Rig, role: str, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out an action; the answer has `ok`, and the result or the `error` as text."""
    try:
        if role != PILOT:
            raise RunError(f"a guest may look, not {shortened(name, 40)}")
        if not isinstance(name, str) or name not in ACTIONS:
            raise UnknownNameError("action", shortened(name, 40), ACTIONS, listed_by="ironbird app do --list")
        return {"ok": True, "result": ACTIONS[name](rig, **_checked(rig, name, args))}
    except IronbirdError as error:
        return {"ok": False, "error": shortened(error, 1000)}
    except (TypeError, ValueError, OverflowError):  # values that do not fit each other
        given = shortened(", ".join(f"{key}={value!r}" for key, value in args.items()), 200)
        return {"ok": False, "error": f"{name}: {given or 'nothing'} does not fit; it takes {usage(name)}"}


def arguments(name: str) -> dict[str, inspect.Parameter]:
    """What an action takes, by name; `flight` may be left out if there is only one."""
    if name in COMMANDS:
        own = list(inspect.signature(COMMANDS[name]).parameters.values())[1:]
    elif name in DEEDS:
        own = list(inspect.signature(DEEDS[name]).parameters.values())[2:]
    else:
        own = list(inspect.signature(ACTIONS[name]).parameters.values())[1:]
    if name in DEEDS:
        own = [_argument("flight", "str"), *own]
    if name == "inject":
        own = [_argument("flight", "str"), _argument("fault", "str")]
    if name == "start":
        own = [one for one in own if one.kind is not one.VAR_KEYWORD]
        own += [_argument(key, kind.__name__, None) for key, kind in STARTS.items()]
    return {one.name: one for one in own}


def _argument(name: str, kind: str, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def usage(name: str) -> str:
    """The arguments of an action in a line; those in square brackets may be left out."""
    words = []
    for one in arguments(name).values():
        text = f"{one.name}={FORMS.get(str(one.annotation).partition(' |')[0], 'VALUE')}"
        optional = one.default is not one.empty or one.name == "flight"
        words.append(f"[{text}]" if optional else text)
    return " ".join(words) or "nothing"


def _checked(rig: Rig, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an action, with the only flight if none is named; refuses missing, unknown and wrong ones."""
    known, found = arguments(name), dict(args)
    for key in found:
        if key not in known:
            raise UnknownNameError("key", shortened(key, 40), known, name)
    if "flight" in known and "flight" not in found:
        found["flight"] = _only_flight(rig, name)
    if missing := [key for key, one in known.items() if key not in found and one.default is one.empty]:
        raise RunError(f"{name}: {', '.join(missing)} is missing; it takes {usage(name)}")
    for key, value in found.items():
        kind = str(known[key].annotation)
        if value is not None or ("None" not in kind and known[key].default is not None):
            _check_value(name, key, kind.partition(" |")[0], value)
    return found


def _only_flight(rig: Rig, name: str) -> str:
    flights = list(rig.flights)
    if not flights:
        raise RunError(f"{name}: there is no flight yet; start one: ironbird app do start vehicle=quad_f450")
    if len(flights) > 1:
        raise RunError(f"{name}: there are {len(flights)} flights; add flight=NAME, one of {', '.join(flights)}")
    return flights[0]


def _check_value(name: str, key: str, kind: str, value: Any) -> None:
    """Refuse a value that is not of its kind."""
    if kind not in FORMS:
        return
    if kind == "float":
        try:
            right = not isinstance(value, bool) and math.isfinite(float(value))
        except (TypeError, ValueError, OverflowError):
            right = False
    elif kind == "int":
        right = isinstance(value, int) and not isinstance(value, bool)
    else:
        right = isinstance(value, bool if kind == "bool" else str)
    if not right:
        raise RunError(f"{name}: {key} is {shortened(repr(value), 60)}; give {WANTED[kind]}")


def start(rig: Rig, vehicle: str = "quad_f450", mission: Any = None, speed: Any = 1.0, **how: Any) -> dict[str, Any]:
    """Start a flight; `mission` is a built-in name or a list of items, `speed` a factor or "max"."""
    if vehicle not in vehicle_ids():
        raise UnknownNameError("vehicle", shortened(vehicle, 80), vehicle_ids())
    for key in how:
        if key not in STARTS:
            raise UnknownNameError("key", shortened(key, 40), STARTS, "start")
    read = {key: _read(key, STARTS[key], value) for key, value in how.items()}
    if read.get("world") and read["world"] not in world_names():
        raise UnknownNameError("world", shortened(read["world"], 80), world_names())
    if board := {key: read.pop(key) for key in ("port", "udp") if read.get(key)}:
        if read.get("control") != "hardware":
            raise RunError("a port is for control 'hardware'")
        if "port" in board and board["port"] not in ports():
            raise UnknownNameError("serial port", shortened(board["port"], 80), ports())
        read["options"] = board
    read = {key: value for key, value in read.items() if key not in ("port", "udp")}
    flight = rig.start(vehicle, mission=_mission(mission), speed=_speed(speed), **read)
    return {"flight": flight.name}


def _read(key: str, kind: type, value: Any) -> Any:
    if kind is float:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise RunError(f"{key} is {shortened(repr(value), 40)}, no finite number")
        return number
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RunError(f"{key} is {shortened(repr(value), 40)}; give {WANTED[kind.__name__]}")
    return value


def _mission(mission: Any) -> Any:
    if mission is None or mission == "":
        return None
    if isinstance(mission, str):
        if mission not in mission_names():
            raise UnknownNameError("mission", shortened(mission, 80), mission_names())
        return mission
    return mission_of_items(_items(mission))


def _items(rows: Any) -> list[LocalItem]:
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_ITEMS:
        raise MissionError(f"a mission is a list of 1 to {MOST_ITEMS} items")
    items = []
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or set(row) - set(LocalItem._fields):
            raise MissionError(f"item {number}: give {', '.join(LocalItem._fields)}")
        numbers = {key: _read(key, float, row.get(key, 0.0)) for key in LocalItem._fields if key != "kind"}
        items.append(LocalItem(kind=str(row.get("kind", "waypoint")), **numbers))
    return items


def check_mission(rig: Rig, vehicle: str = "quad_f450", mission: Any = None, world: str = "") -> dict[str, str]:
    """Whether the straight way of a mission passes through an obstacle of a world: a sentence, or nothing."""
    if vehicle not in vehicle_ids():
        raise UnknownNameError("vehicle", shortened(vehicle, 80), vehicle_ids())
    if world and world not in world_names():
        raise UnknownNameError("world", shortened(world, 80), world_names())
    chosen = _mission(mission)
    spec = load_spec(vehicle)
    flown = load_mission(chosen or spec.mission) if chosen is None or isinstance(chosen, str) else chosen
    if not world or not vehicle_kind(spec).flies:
        return {"sentence": ""}
    reach = max((math.hypot(*rotor[:2]) for rotor in shape_of(vehicle)["rotors"]), default=0.3)
    speed_mps = float(getattr(getattr(spec, "control", None), "cruise_speed_mps", 5.0))
    found = first_obstacle(flown.item, ordered_world(world), reach_m=reach, speed_mps=speed_mps)
    return {"sentence": found.sentence() if found is not None else ""}


def close(rig: Rig, flight: str) -> None:
    """Forget a flight that is over; its folder stays."""
    rig.forget(flight)


def _speed(speed: Any) -> float | None:
    return None if speed in ("max", None, 0) else _read("speed", float, speed)


def pause(rig: Rig, flight: str) -> None:
    """Pause the simulation time of a flight."""
    rig.flight(flight).pause()


def resume(rig: Rig, flight: str) -> None:
    """Resume the simulation time of a flight."""
    rig.flight(flight).pause(False)


def step(rig: Rig, flight: str, exchanges: int = 1) -> None:
    """Pause a flight, and advance it by exchanges of 4 ms."""
    if not 1 <= int(exchanges) <= MOST_STEPS:
        raise RunError(f"{exchanges} exchanges: give 1 to {MOST_STEPS}")
    rig.flight(flight).step(int(exchanges))


def speed(rig: Rig, flight: str, factor: Any = 1.0) -> None:
    """Set the speed of a flight: a factor of real time, or "max"."""
    rig.flight(flight).set_speed(_speed(factor))


def branch(rig: Rig, flight: str, at_s: float | None = None, paused: bool = False) -> dict[str, Any]:
    """Start a second flight that is equal up to now, or up to `at_s`."""
    at = None if at_s is None else _read("at_s", float, at_s)
    return {"flight": rig.branch(flight, at_s=at, paused=bool(paused)).name}


def reset(rig: Rig, flight: str) -> dict[str, Any]:
    """End a flight and start its order again."""
    return {"flight": rig.reset(flight).name}


def end(rig: Rig, flight: str) -> dict[str, Any]:
    """End a flight; it is judged and written."""
    ended = rig.end(flight)
    if ended.flight is None:
        return {"verdict": "", "failure": ended.failure}
    return {"verdict": ended.flight.verdict, "sentence": ended.flight.judged.sentence, "folder": str(ended.folder)}


def packets(rig: Rig, of: str, filter: str = "") -> list[dict[str, Any]]:
    """Rows of the packet monitor of a flight or route, one for each kind of message, if they match the filter."""
    monitors = rig.monitors()
    if of not in monitors:
        raise UnknownNameError("flight or route", shortened(of, 80), monitors)
    return monitors[of].rows(str(filter)[:MOST_WORDS])


def capture(rig: Rig, of: str, filter: str = "") -> list[str]:
    """Save the newest packets of a flight or route as pcap and tlog; returns their paths."""
    return [str(path) for path in rig.capture(of, str(filter)[:MOST_WORDS])]


def refly(rig: Rig, campaign: str, stored: str) -> dict[str, Any]:
    """Fly a stored flight of a campaign again, for the replay."""
    return {"flight": rig.refly(str(campaign), str(stored)).name}


def read_plan(rig: Rig, text: str, vehicle: str = "quad_f450") -> list[dict[str, Any]]:
    """Items of a .plan or waypoint file for the map."""
    if vehicle not in vehicle_ids():
        raise UnknownNameError("vehicle", shortened(vehicle, 80), vehicle_ids())
    return [item._asdict() for item in items_of_plan(str(text), vehicle)]


def write_plan(rig: Rig, items: Any, vehicle: str = "quad_f450") -> str:
    """The text of a .plan file with the map's items."""
    if vehicle not in vehicle_ids():
        raise UnknownNameError("vehicle", shortened(vehicle, 80), vehicle_ids())
    return plan_of_items(_items(items), vehicle)


def _deed(what: str, rig: Rig, flight: str, **args: Any) -> dict[str, Any]:
    """Command, break or tune a flight; what was done to which flight, and when in its time."""
    if what == "set_mission":
        args["items"] = _items(args.get("items"))
    rig.do(flight, what, **args)
    live = rig.flight(flight)
    done: dict[str, Any] = {"flight": flight, "done": what}
    if what == "inject" and live.twins:
        ordered = live.twins[-1].injection
        done |= {"ordered": ordered.text(), "acts_on": ordered.witness, "number": len(live.twins) - 1}
    return done


ACTIONS: dict[str, Action] = {
    "start": start, "pause": pause, "resume": resume, "step": step, "speed": speed, "branch": branch, "reset": reset,
    "end": end, "refly": refly, "packets": packets, "capture": capture, "read_plan": read_plan,
    "write_plan": write_plan, "check_mission": check_mission, "close": close,
    **{name: functools.partial(_deed, name) for name in DEEDS},
}  # fmt: skip
