"""The reference autopilot on a board: it reads its sensors through drivers and chips, and sends pulses to motors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ironbird.boards.board import Board, load_board
from ironbird.boards.drivers import Pulses, make_drivers
from ironbird.boards.feed import Feeder
from ironbird.boards.native_board import NativeBoard
from ironbird.boards.wire_faults import BrokenWires, with_wires
from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.files import option_texts as texts
from ironbird.protocols.orders import is_orders
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.reference_autopilot import ReferenceAutopilot
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem, Kind, Options, Seat, Task
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle, load_vehicle

EXCHANGE_TICKS = 4  # ms between two exchanges (chips, drivers, autopilot): the sample period of its sensors


class ChipsOptions(Options):
    """Options of control system `chips`: the board that carries the sensors."""

    board: Annotated[str, Field(description=texts.BOARD)] = "pilotpi"
    pilot: Annotated[
        Literal["ours", "attended"],
        Field(description=texts.PILOT),
    ] = "ours"


class ReferenceOnChips(ControlSystem):
    """Control system: the reference autopilot behind drivers, chips and wires that carry the vehicle's sensors."""

    name = "chips"
    fills = "chips"
    step_ticks = EXCHANGE_TICKS

    def __init__(
        self,
        board: Board,
        pilot: ReferenceAutopilot,
        injections: tuple[Injection, ...],
        seed: int,
        orders: str | None = None,  # orders to carry out in flight; None: it accepts none
    ) -> None:
        super().__init__()
        self.board, self.pilot = board, pilot
        self.chips = NativeBoard(board, seed=seed)
        self._injections, self._orders = injections, orders

    def start(self, rig: Rig) -> None:
        """Power on the board; the first bus requests come with the first exchange."""
        if abs(rig.state.model.step_s - 0.001) > 1e-12:
            raise LinkError(f"chips are fed every 1 ms, but {rig.vehicle.id} has steps of {rig.state.model.step_s:g} s")
        self.chips.tap = self.tap
        motors = [place for place in rig.actuators if place in self.pilot.commands]
        self.drivers = make_drivers(self.chips, self.pilot, motors)
        self._pulses = next((driver for driver in self.drivers if isinstance(driver, Pulses)), None)
        self._motors = [(place, self.pilot.commands[place]) for place in motors]
        self._feeder = Feeder(self.board, rig, self.chips.inputs)
        self._wires = BrokenWires(self.chips, rig, self._injections)
        done = at.NAVIGATOR.done
        start = self.pilot.stepper.state.model.flat.held.start
        self._done = self.pilot.view(done) if done in start and self._orders is None else None
        if self._orders is not None:  # the commander sees the autopilot alone, without its vehicle
            inner = Rig(self.pilot.vehicle, self.pilot.stepper.state, self.pilot.stepper, receivers=rig.receivers)
            self.obey(rig, inner, self._orders)

    def exchange(self, rig: Rig) -> None:
        """Write new values to the chips; then run the drivers, the autopilot, and orders to it."""
        t = rig.state.tick * 1_000_000
        if self.obeyed is not None:
            self.obeyed.commander.watch()
        self._feeder.take()
        self._wires.take(t)
        self.chips.tick(t)
        for driver in self.drivers:
            driver.poll(t)
            if driver.events:
                for _, text in driver.events:
                    self.note(rig, "text", text)
                driver.events.clear()
        self.pilot.advance(rig.time_s)
        if self._pulses is not None:
            for place, throttle in zip(self._pulses.motors, self._pulses.throttles(), strict=True):
                rig.command(place, throttle)
        else:
            for place, command in self._motors:
                rig.command(place, float(command[0]) if self.pilot.armed else 0.0)
        if self.obeyed is not None:
            self.obeyed.play(rig.time_us)

    @property
    def finished(self) -> bool:
        """Whether the mission is done and the motors are off."""
        return self._done is not None and bool(self._done[0] > 0.5)

    def injected(self, injection: Injection) -> None:
        """Watch the wires for a fault that was added in flight."""
        self._wires.add(injection)

    def acted(self, injection: Injection) -> OwnWitness | None:
        """First level on a wire that a fault of the board changed; None for other faults."""
        return self._wires.acted(injection)

    def stop(self) -> None:
        """Do nothing: no process runs outside."""

    def figures(self) -> dict[str, str]:
        """Rows of the flight's summary: requests and hash of the buses, samples of the drivers."""
        starts = sum(max(0, driver.starts - 1) for driver in self.drivers)
        return {
            "buses": f"{self.chips.requests} requests, hash {self.chips.digest}",
            "drivers": f"{sum(driver.samples for driver in self.drivers)} samples, {starts} restarted",
        }

    def measured(self) -> dict[str, Any]:
        """Statistics of buses and drivers as data for JSON."""
        return {
            "requests": self.chips.requests,
            "bus_hash": self.chips.digest,
            "samples": {driver.device.name: driver.samples for driver in self.drivers},
        }


class ChipsKind(Kind):
    """Kind of control system `chips`; flights repeat to the last bit, because no part of it reads a clock."""

    name = "chips"
    title = "Reference autopilot on chips"
    summary = "The reference autopilot reads its sensors through drivers and chips, so that wires and chips can fail."
    options = ChipsOptions
    obeys = True

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle with the wires of the board."""
        return with_wires(vehicle, load_board(_board_of(options)))

    def repeats(self, options: Options, script: str) -> bool:
        """True: the same order always gives the same flight."""
        return True

    def takes_orders(self, template: str) -> bool:
        """True: the autopilot's own commander accepts orders for every vehicle."""
        return True

    def seat(self, task: Task) -> Seat:
        """The vehicle without its own autopilot, and that autopilot on a board."""
        assert isinstance(task.options, ChipsOptions)
        attended = task.options.pilot == "attended"
        if task.script and not (attended and is_orders(task.script)):
            raise LinkError("the reference autopilot on chips flies missions, no plan of another program")
        vehicle = load_vehicle(task.vehicle.path, control="commanded" if attended else "reference")
        columns = vehicle.diagram.blocks["navigator"].params["table"].columns
        settings = task.navigator(columns) if task.navigator is not None else {}
        pilot = ReferenceAutopilot(vehicle, params=settings)
        board, orders = load_board(task.options.board), task.script if attended else None
        return Seat(ReferenceOnChips(board, pilot, tuple(task.injections), task.seed, orders))


def _board_of(options: Options) -> str:
    assert isinstance(options, ChipsOptions)
    return options.board


CHIPS = ChipsKind()
