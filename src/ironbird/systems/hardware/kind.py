"""A flight controller on a cable as a kind of control system: in real time, with statistics of the link."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from ironbird.errors import LinkError
from ironbird.files import option_texts as texts
from ironbird.ground.client.attended import Attended
from ironbird.ground.pilot import Pilot
from ironbird.ground.wires import Port
from ironbird.host.process import GROUND_STATION_PORT, free_udp_port
from ironbird.host.realtime import WallClock
from ironbird.protocols.orders import is_orders
from ironbird.rig.mission_plan import class_of, plan_of
from ironbird.rig.rig import Rig
from ironbird.rig.system import AutopilotEvent, Budget, Kind, Options, Seat, Task
from ironbird.systems.hardware.bridge import Bridge
from ironbird.systems.hardware.link import CONTROL_HZ, MOST_SENSOR_HZ, SENSOR_HZ, HardwareLink, with_sensor_rate
from ironbird.transport.cable import Cable, DatagramCable, Load, SerialCable, ports
from ironbird.vehicles.load import Vehicle, load_vehicle

SHOW_S = 1.0  # between two lines of figures


class HardwareOptions(Options):
    """Options of control system `hardware`: cable, message rates, and real-time scheduling of this computer."""

    port: Annotated[str | None, Field(description="Serial port of the board, for example /dev/ttyACM0.")] = None
    baud: Annotated[int, Field(description=texts.BAUD, ge=1200, le=12_000_000)] = 921_600
    udp: Annotated[int | None, Field(description=texts.UDP, ge=1, le=65535)] = None
    host: Annotated[
        str,
        Field(description=texts.HOST),
    ] = "127.0.0.1"
    sensor_hz: Annotated[
        float,
        Field(
            description="Inertial samples a second: 1000, 500, 250, 200 or 100; up to 8000 in batches of one write, "
            "with a model as fast.",
            ge=10,
            le=MOST_SENSOR_HZ,
        ),
    ] = SENSOR_HZ
    model_hz: Annotated[
        float,
        Field(description="Steps of the vehicle's model a second: 1000, 2000, 4000, 5000 or 8000.", ge=1000, le=8000),
    ] = 1000.0
    control_hz: Annotated[float, Field(description="Controls a second that the board is asked for.", ge=1, le=1000)] = (
        CONTROL_HZ
    )
    connect_s: Annotated[float, Field(description="Seconds to wait for the first controls.", gt=0)] = 30.0
    priority: Annotated[bool, Field(description="Ask the system for real-time priority.")] = True
    core: Annotated[int | None, Field(description="Keep the loop on this core of the processor.", ge=0, le=4095)] = None
    pilot: Annotated[
        Literal["ours", "attended"],
        Field(description=texts.PILOT),
    ] = "ours"
    ground_station: Annotated[
        bool,
        Field(description=texts.GROUND_STATION),
    ] = True


def cable_of(options: HardwareOptions) -> Cable:
    """The cable that the options name (serial or UDP), not opened yet."""
    if (options.port is None) == (options.udp is None):
        there = ", ".join(ports()) or "no serial port that looks like a board"
        raise LinkError(f"give --port DEVICE or --udp PORT, one of the two; this computer has {there}")
    if options.port is not None:
        return SerialCable(options.port, options.baud)
    assert options.udp is not None
    return DatagramCable(options.udp, options.host)


class HardwareKind(Kind):
    """Kind of control system `hardware`: a board that flies a mission it is given, its own, or by its own pilot.

    `cable` and `clock` construct the cable and the clock; tests replace them.
    """

    name = "hardware"
    title = "flight controller"
    summary = "Hardware in the loop: a flight controller on a cable flies a vehicle in real time."
    options = HardwareOptions
    longest_s = 60.0
    shows = True

    def __init__(
        self,
        cable: Callable[[HardwareOptions], Cable] = cable_of,
        clock: Callable[[], WallClock] = WallClock,
    ) -> None:
        self._cable, self._clock = cable, clock

    def takes_orders(self, template: str) -> bool:
        """True: a board accepts commands in flight for every vehicle."""
        return True

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle with inertial units that sample at the rate at which they are sent."""
        assert isinstance(options, HardwareOptions)
        class_of(vehicle, "flight controller")
        return with_sensor_rate(vehicle, options.sensor_hz, options.model_hz)

    def step_s(self, options: Options) -> float:
        """Step of the model in s, from the option `model_hz`."""
        assert isinstance(options, HardwareOptions)
        return 1.0 / options.model_hz

    def loads(self, vehicle: Vehicle, options: HardwareOptions, *, told: bool = False) -> list[Load]:
        """Load of the cable in both directions; `told` is whether the board gets a mission by MAVLink."""
        return self._link(options).loads(vehicle, shared=options.ground_station or told)

    def budget(self, vehicle: str, options: Options, *, has_mission: bool) -> Sequence[Budget]:
        """Bytes a second each way, message by message, and what the cable has room for."""
        assert isinstance(options, HardwareOptions)
        cable = cable_of(options)
        fitted = self.fitted(load_vehicle(vehicle, control=self.vehicle_control), options)
        loads = self.loads(fitted, options, told=has_mission)
        if all(load.fits for load in loads):  # else the budget says what to change, with a board or without
            cable.check()
        rows: dict[str, str] = {}
        figures: dict[str, Any] = {}
        for load in loads:
            for name, (rate, size) in load.parts.items():
                rows[f"{load.direction}: {name}"] = f"{rate:g} a second of {size} bytes: {rate * size:.0f} bytes/s"
            room = ""
            if load.room_per_s is not None:
                share = 100 * load.bytes_per_s / load.room_per_s
                room = f" of {load.room_per_s:.0f}, {share:.0f} %{'' if load.fits else ': TOO MUCH'}"
            rows[load.direction] = f"{load.bytes_per_s:.0f} bytes/s{room}"
            figures[load.direction] = {
                "bytes_per_s": load.bytes_per_s,
                "room_bytes_per_s": load.room_per_s,
                "fits": load.fits,
                "messages": {name: {"per_s": rate, "bytes": size} for name, (rate, size) in load.parts.items()},
            }
        title = f"Budget of {cable.name}" + (f" at {cable.baud} baud" if cable.baud else "")
        return [(title, rows, {"baud": cable.baud, "directions": figures})]

    def has_live_events(self, options: Options, *, has_mission: bool) -> bool:
        """Always: a board takes part."""
        return True

    def links(self, options: Options) -> Sequence[str]:
        """Links on which link faults can act: the cable, and ground stations behind it, in both directions."""
        return ("ground", "vehicle", "sensors", "actuators")

    def seat(self, task: Task) -> Seat:
        """The board's link, and the built-in ground station on its cable if there is a mission to fly."""
        options = task.options
        assert isinstance(options, HardwareOptions)
        for cable in (options.port, options.udp):
            if cable is not None:
                task.trust.check_cable(cable)
        link, plan = self._link(options), plan_of(task)
        stations = [GROUND_STATION_PORT] if options.ground_station else []
        pilot: Pilot | None = None
        if options.pilot == "attended":
            stations.append(free_udp_port())
            script = task.script if is_orders(task.script) else ""
            attended = Attended(Port(stations[-1], who="the board"), plan=plan, items=task.items, script=script)
            link.bridge, link.recorder, link.open_ended = Bridge(stations), attended.record, True
            return Seat(link, attended)
        if plan.items:
            stations.append(free_udp_port())
            pilot = Pilot(
                "px4",
                kind=class_of(task.vehicle),
                port=stations[-1],
                plan=plan.items,
                fence=plan.fence,
                rally=plan.rally,
            )
        link.bridge = Bridge(stations) if stations else None
        return Seat(link, pilot if task.show is None else _Display(link, pilot, task.show))

    def _link(self, options: HardwareOptions) -> HardwareLink:
        return HardwareLink(
            self._cable(options),
            sensor_hz=options.sensor_hz,
            control_hz=options.control_hz,
            connect_s=options.connect_s,
            priority=options.priority,
            core=options.core,
            clock=self._clock(),
        )


@dataclasses.dataclass
class _Display:
    """A pilot, or none, and a line of statistics about once a second."""

    link: HardwareLink
    pilot: Pilot | None
    show: Callable[[str], None]

    def __post_init__(self) -> None:
        none: list[AutopilotEvent] = []
        self.autopilot_events = self.pilot.autopilot_events if self.pilot is not None else none
        self._next_s = 0.0

    @property
    def finished(self) -> bool:
        """Whether the pilot has flown its mission."""
        return self.pilot is not None and self.pilot.finished

    def poll(self, rig: Rig) -> None:
        """Let the pilot continue; print a line when it is due."""
        if self.pilot is not None:
            self.pilot.poll(rig)
        if rig.time_s >= self._next_s:
            self._next_s = rig.time_s + SHOW_S
            self.show(self.link.live(rig.time_s))

    def close(self) -> None:
        """Close the pilot's port, if there is a pilot."""
        if self.pilot is not None:
            self.pilot.close()


HARDWARE = HardwareKind()
