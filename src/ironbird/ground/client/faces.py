"""Two interfaces of one client: calls that block, and calls to be awaited in asyncio."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Concatenate, ParamSpec, TypeVar

from ironbird.ground.client.address import open_wire
from ironbird.ground.client.calls import Calls
from ironbird.ground.client.telemetry import Telemetry

P = ParamSpec("P")
R = TypeVar("R")
CONNECT_S = 30.0


def _blocking(
    call: Callable[Concatenate[Calls, P], Generator[None, None, R]],
) -> Callable[Concatenate[RemoteVehicle, P], R]:
    @functools.wraps(call)
    def face(self: RemoteVehicle, *args: P.args, **kwargs: P.kwargs) -> R:
        future = self._calls.core.submit(call(self._calls, *args, **kwargs))
        try:
            return future.result()
        finally:
            future.cancel()  # of an interrupted wait; nothing happens to one that is over

    return face  # type: ignore[return-value]


def _awaited(
    call: Callable[Concatenate[Calls, P], Generator[None, None, R]],
) -> Callable[Concatenate[AsyncRemoteVehicle, P], Coroutine[Any, Any, R]]:
    @functools.wraps(call)
    async def face(self: AsyncRemoteVehicle, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.wrap_future(self._calls.core.submit(call(self._calls, *args, **kwargs)))

    return face  # type: ignore[return-value]


class RemoteVehicle:
    """A vehicle on a MAVLink connection: `ib.connect` makes one.

    Its calls block until what they wait for, or raise `LinkError` at their deadline. Lengths in m, speeds in m/s,
    angles in rad; north, east, down or forward, right, down. A set-point is sent 20 times a second until another takes
    its place, a call that leaves the mode offboard, or `close`.

    Parameters
    ----------
    calls : Calls
        What `ib.connect` makes of an address.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def __enter__(self) -> RemoteVehicle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the streams and close the link; the vehicle's own failsafe takes over. Further calls do nothing."""
        self._calls.core.close()

    @property
    def telemetry(self) -> Telemetry:
        """The newest telemetry of the vehicle; does not wait."""
        return self._calls.telemetry

    @property
    def texts(self) -> list[str]:
        """What happened lately: modes, arming, text messages of the vehicle."""
        return [f"{note.time_s:.2f} s {note.kind}: {note.text}" for note in list(self._calls.station.autopilot_events)]

    wait_ready = _blocking(Calls.wait_ready)
    arm = _blocking(Calls.arm)
    disarm = _blocking(Calls.disarm)
    set_mode = _blocking(Calls.set_mode)
    hold = _blocking(Calls.hold)
    return_home = _blocking(Calls.return_home)
    take_off = _blocking(Calls.take_off)
    land = _blocking(Calls.land)
    wait_landed = _blocking(Calls.wait_landed)
    wait_disarmed = _blocking(Calls.wait_disarmed)
    goto = _blocking(Calls.goto)
    goto_global = _blocking(Calls.goto_global)
    position = _blocking(Calls.position)
    position_global = _blocking(Calls.position_global)
    velocity = _blocking(Calls.velocity)
    acceleration = _blocking(Calls.acceleration)
    attitude = _blocking(Calls.attitude)
    rates = _blocking(Calls.rates)
    sticks = _blocking(Calls.sticks)
    release = _blocking(Calls.release)
    speed = _blocking(Calls.speed)
    loiter_radius = _blocking(Calls.loiter_radius)
    set_home = _blocking(Calls.set_home)
    upload_mission = _blocking(Calls.upload_mission)
    download_mission = _blocking(Calls.download_mission)
    start_mission = _blocking(Calls.start_mission)
    wait_mission = _blocking(Calls.wait_mission)
    param = _blocking(Calls.param)
    set_param = _blocking(Calls.set_param)
    params = _blocking(Calls.params)
    inject = _blocking(Calls.inject)
    command = _blocking(Calls.command)
    wait_for = _blocking(Calls.wait_for)


class AsyncRemoteVehicle:
    """The same as `RemoteVehicle` for asyncio: every call is awaited, and several may wait at once.

    Parameters
    ----------
    address : str
        As in `ib.connect`.
    system : int, default 0
        MAVLink id of the vehicle; 0 is the first that is received.
    within_s : float, default 30.0
        How long in s the first heartbeat is waited for.
    """

    def __init__(self, address: str, *, system: int = 0, within_s: float = CONNECT_S) -> None:
        self._address, self._system, self._within_s = address, system, within_s
        self._calls: Calls

    async def __aenter__(self) -> AsyncRemoteVehicle:
        wire = await asyncio.to_thread(open_wire, self._address, self._within_s)
        self._calls = Calls(wire, system=self._system)
        self._calls.core.start()
        try:
            await asyncio.wrap_future(self._calls.core.submit(self._calls.meet(self._within_s)))
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the streams and close the link; further calls do nothing."""
        await asyncio.to_thread(self._calls.core.close)

    @property
    def telemetry(self) -> Telemetry:
        """The newest telemetry of the vehicle; does not wait."""
        return self._calls.telemetry

    wait_ready = _awaited(Calls.wait_ready)
    arm = _awaited(Calls.arm)
    disarm = _awaited(Calls.disarm)
    set_mode = _awaited(Calls.set_mode)
    hold = _awaited(Calls.hold)
    return_home = _awaited(Calls.return_home)
    take_off = _awaited(Calls.take_off)
    land = _awaited(Calls.land)
    wait_landed = _awaited(Calls.wait_landed)
    wait_disarmed = _awaited(Calls.wait_disarmed)
    goto = _awaited(Calls.goto)
    goto_global = _awaited(Calls.goto_global)
    position = _awaited(Calls.position)
    position_global = _awaited(Calls.position_global)
    velocity = _awaited(Calls.velocity)
    acceleration = _awaited(Calls.acceleration)
    attitude = _awaited(Calls.attitude)
    rates = _awaited(Calls.rates)
    sticks = _awaited(Calls.sticks)
    release = _awaited(Calls.release)
    speed = _awaited(Calls.speed)
    loiter_radius = _awaited(Calls.loiter_radius)
    set_home = _awaited(Calls.set_home)
    upload_mission = _awaited(Calls.upload_mission)
    download_mission = _awaited(Calls.download_mission)
    start_mission = _awaited(Calls.start_mission)
    wait_mission = _awaited(Calls.wait_mission)
    param = _awaited(Calls.param)
    set_param = _awaited(Calls.set_param)
    params = _awaited(Calls.params)
    inject = _awaited(Calls.inject)
    command = _awaited(Calls.command)
    wait_for = _awaited(Calls.wait_for)


def connect(address: str, *, system: int = 0, within_s: float = CONNECT_S) -> RemoteVehicle:
    """Connect to a vehicle by MAVLink and wait for its first heartbeat; `with` closes the connection.

    Parameters
    ----------
    address : str
        `udp:14550` listens where the vehicle sends to, `udpout:HOST:PORT` speaks first, `tcp:HOST:PORT`,
        `serial:/dev/ttyACM0:921600`.
    system : int, default 0
        MAVLink id of the vehicle if there are several on the link; 0 is the first that is received.
    within_s : float, default 30.0
        How long in s it is waited for.

    Returns
    -------
    RemoteVehicle
        The vehicle: `arm`, `take_off`, `goto`, `telemetry`, …

    Raises
    ------
    LinkError
        If nothing is received in time.

    Examples
    --------
    >>> with ib.rehearsal("quad_f450") as address, ib.connect(address) as vehicle:  # doctest: +SKIP
    ...     vehicle.arm()
    ...     vehicle.take_off(5.0)
    """
    calls = Calls(open_wire(address, within_s), system=system)
    calls.core.start()
    vehicle = RemoteVehicle(calls)
    try:
        calls.core.submit(calls.meet(within_s)).result()
    except BaseException:
        vehicle.close()
        raise
    return vehicle


def aconnect(address: str, *, system: int = 0, within_s: float = CONNECT_S) -> AsyncRemoteVehicle:
    """The same as `ib.connect` for asyncio: every call is awaited.

    Parameters
    ----------
    address : str
        As in `ib.connect`.
    system : int, default 0
        MAVLink id of the vehicle; 0 is the first that is received.
    within_s : float, default 30.0
        How long in s the first heartbeat is waited for.

    Returns
    -------
    AsyncRemoteVehicle
        To be used with `async with`.

    Raises
    ------
    LinkError
        If nothing is received in time.

    Examples
    --------
    >>> async def fly():
    ...     async with ib.aconnect("udp:14550") as vehicle:
    ...         await vehicle.arm()
    """
    return AsyncRemoteVehicle(address, system=system, within_s=within_s)
