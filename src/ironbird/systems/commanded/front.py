"""Front ends: they turn the messages of a protocol, a gamepad or a program into calls of the commander."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from ironbird.errors import LinkError
from ironbird.files.registry import Registry
from ironbird.files.trust import Trust
from ironbird.rig.commander.commander import Commander


class FrontOptions(BaseModel):
    """Base class of a front end's options; other keys are those of the control system and of other front ends."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class FrontEnd(Protocol):
    """A source of commands for a vehicle, constructed with the options of the order and polled in every exchange.

    Its options in an order are declared by the class attribute `options_type`, a subclass of `FrontOptions`.
    """

    open_ended: bool  # whether the user ends the flight (Ctrl-C), not a plan

    def open(self, commander: Commander) -> None:
        """Bind its ports; raises `LinkError` with the cure if one is taken."""

    def poll(self, commander: Commander) -> None:
        """Receive and send without waiting; in lockstep it may wait for its peer, with a deadline."""

    def announce(self) -> list[str]:
        """Lines for the user: which address and port it listens on."""

    @property
    def finished(self) -> bool:
        """Whether the front end considers the flight to be over."""

    def close(self) -> None:
        """Close all ports and files; further calls do nothing."""


def needs_no_client(name: str) -> bool:
    """Whether a front end depends on the order and the simulation alone, so that its flight repeats to the bit."""
    return name in ("mission", "avoid")


def make_front(name: str, options: Mapping[str, Any], trust: Trust) -> FrontEnd:
    """A front end by name, not opened yet; one that listens, opens devices or writes files needs the user's trust."""
    maker = front_type(name)
    if not needs_no_client(name) and name not in trust.fronts:
        raise LinkError(
            f"front end '{name}' is named by a file alone; it would open ports or devices: use 'ironbird fly --control "
            f"{name}', or record a flight under it, whose order repeats without it"
        )
    front: FrontEnd = maker(options)
    return front


def front_type(name: str) -> Any:
    """The class of a front end, which is constructed with the options of an order."""
    front = FRONTS.load(name)
    if not (isinstance(front, type) and issubclass(getattr(front, "options_type", object), FrontOptions)):
        raise LinkError(f"front end '{name}': {FRONTS[name]} is no class with options_type, a class of FrontOptions")
    return front


class ProgramFront:
    """A Python program as front end: a generator that commands and yields; each yield is one exchange (4 ms).

    def plan(vehicle):
        yield from until(lambda: vehicle.arm() is None)
        vehicle.take_off(5.0)
        yield from until(lambda: vehicle.mode == "hold")

    flight = ib.fly("quad_f450", control=CommandedSystem(ProgramFront(plan)))
    """

    options_type = FrontOptions
    open_ended = False

    def __init__(self, plan: Callable[[Commander], Iterator[None]]) -> None:
        self._plan = plan
        self._steps: Iterator[None] = iter(())
        self._over = False

    def open(self, commander: Commander) -> None:
        """Create the program's generator; nothing is opened."""
        self._steps = self._plan(commander)

    def poll(self, commander: Commander) -> None:
        """Run the program up to its next `yield`."""
        if next(self._steps, OVER) is OVER:
            self._over = True

    def announce(self) -> list[str]:
        """No lines: a program listens on no port."""
        return []

    @property
    def finished(self) -> bool:
        """Whether the program has ended."""
        return self._over

    def close(self) -> None:
        """Do nothing: a program opens nothing."""


def until(holds: Callable[[], bool]) -> Iterator[None]:
    """Yield exchanges until a condition holds; the end of the order is the deadline."""
    while not holds():
        yield


def lasting(commander: Commander, seconds: float, each: Callable[[], object] | None = None) -> Iterator[None]:
    """Yield exchanges for `seconds` of simulation time and call `each` in every one."""
    end_s = commander.time_s + seconds
    while commander.time_s < end_s:
        if each is not None:
            each()
        yield


FRONTS: Registry[Any] = Registry(
    "fronts",
    {
        "mission": "ironbird.systems.commanded.front:MissionFront",
        "avoid": "ironbird.systems.commanded.avoid:AvoidFront",
        "mavlink": "ironbird.systems.commanded.mavlink.front:MavlinkFront",
        "sticks": "ironbird.systems.commanded.sticks.front:SticksFront",
    },
    object,
    what="front end",
    error=LinkError,
)
OVER = object()


class MissionFront(ProgramFront):
    """No external commands: arms, flies the mission of the order, and is finished when the mission is."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(_mission)


def _mission(vehicle: Commander) -> Iterator[None]:
    yield from until(lambda: vehicle.arm() is None and vehicle.start_mission() is None)
    yield from until(lambda: vehicle.status().done or not vehicle.armed)
