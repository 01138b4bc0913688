"""PX4 mixer files that drive a vehicle: the reference autopilot's controls go through them to the actuators.

What the autopilot asks of its actuators becomes the controls of PX4 1.13 (group 0: roll, pitch, yaw, throttle) by the
vehicle's own geometry; a main and an AUX file make outputs of them [PX4Mixer], and wires lead these to actuators. So a
file that does not fit the vehicle flies as it would: a swapped motor topples it, half the roll scale is half the
authority. Disarmed, and where the flight processor is silent, outputs have their disarmed and failsafe values.
Not modelled: PWM, the thrust curve of PX4's mixer (THR_MDL_FAC), controls of other groups than 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.errors import LinkError, MixerError
from ironbird.mixer.outputs import MixedOutputs
from ironbird.rig.reference_autopilot import ReferenceAutopilot
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem, Kind, Options, Seat, Task
from ironbird.vehicles import places as at
from ironbird.vehicles.geometry import Geometry, Place
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.mixer import Controls, MultirotorMixer, load_mixer
from ironbird.vehicles.templates.multicopter import MulticopterSpec

EXCHANGE_TICKS = 4  # ms between two exchanges: the period of the autopilot's control
ROTOR = "rotor/"
SURFACES = {0: ("control.aileron", 1.0), 1: ("control.elevator", -1.0), 2: ("control.rudder", -1.0)}
# controls of group 0 and their signs: positive elevator pitches down, positive rudder yaws left [BeardMcLain];
# in PX4 they pitch up and yaw right


class MixerOptions(Options):
    """Options of control system `mixer`: mixer files, wiring of outputs, values of outputs without a command."""

    main: Annotated[str, Field(description="Mixer file of the main outputs (MAIN1, MAIN2, …).")] = ""
    aux: Annotated[str, Field(description="Mixer file of the auxiliary outputs (AUX1, …).")] = ""
    wires: Annotated[
        str,
        Field(
            description="Output to actuator: 'MAIN1=rotor/1,AUX1=-surface/rudder', - turns a servo round. "
            "Without it the outputs of a multirotor mixer go to the rotors in their order."
        ),
    ] = ""
    disarmed: Annotated[str, Field(description="Outputs while disarmed, -1 to 1: 'MAIN1=-1,AUX1=0.2'.")] = ""
    failsafe: Annotated[str, Field(description="The same while the flight processor is silent.")] = ""
    silent_s: Annotated[float, Field(description="From this time on it is silent; negative: never.")] = -1.0


class MixerSystem(ControlSystem):
    """The reference autopilot whose controls pass through the mixer files of a PX4 board and wires to the actuators."""

    name = "mixer"
    fills = "mixer"
    step_ticks = EXCHANGE_TICKS

    def __init__(self, pilot: ReferenceAutopilot, board: MixedOutputs, options: MixerOptions) -> None:
        super().__init__()
        self.pilot, self.board, self.silent_s = pilot, board, options.silent_s
        self._wires = wires_of(options.wires, board)
        self._spec = pilot.vehicle.spec
        self._silent = False

    def start(self, rig: Rig) -> None:
        """Resolve which output drives which actuator; raise MixerError if an actuator is driven by no output."""
        places = [place for place in rig.actuators if place in self.pilot.commands]
        driven = {place for place, _ in self._wires.values()}
        strange = sorted(driven - set(places))
        if strange:
            raise LinkError(f"'{strange[0]}' is no actuator of {rig.vehicle.id}: wire outputs to {', '.join(places)}")
        mixed = [place for place in places if place.startswith((ROTOR, "surface/"))]
        missing = [place for place in mixed if place not in driven]
        if missing:
            raise LinkError(
                f"no output drives {', '.join(missing)} of {rig.vehicle.id}: the files have "
                f"{', '.join(self.board.names)}; wire them with --option wires=MAIN1=rotor/1,…"
            )
        self._straight = [(place, self.pilot.commands[place]) for place in places if place not in driven]
        start = rig.state.model.flat.held.start
        self._read = [(path, rig.held(path)) for path in self.pilot.reads if path in start]
        self._rotors = [self.pilot.commands[place] for place in mixed if place.startswith(ROTOR)]
        self._inverse: np.ndarray | None = None
        if isinstance(self._spec, MulticopterSpec):
            self._inverse = np.linalg.pinv(geometry_of(self._spec).normalized)
        else:
            known = self.pilot.stepper.state.model.flat.held.start
            self._surfaces = {
                index: (self.pilot.view(path), sign) for index, (path, sign) in SURFACES.items() if path in known
            }
        done = at.NAVIGATOR.done
        self._done = self.pilot.view(done) if done in self.pilot.stepper.state.model.flat.held.start else None

    def controls(self) -> Controls:
        """Controls of PX4's group 0 (roll, pitch, yaw, throttle; -1 to 1) for the autopilot's present commands."""
        if self._inverse is not None:
            demands = self._inverse @ np.array([float(command[0]) for command in self._rotors])
            return {(0, index): float(value) for index, value in enumerate(demands)}
        controls = {(0, index): sign * float(view[0]) for index, (view, sign) in self._surfaces.items()}
        controls[0, 3] = float(np.mean([command[0] for command in self._rotors])) if self._rotors else 0.0
        return controls

    def exchange(self, rig: Rig) -> None:
        """Pass the sensors to the autopilot, its controls through the mixers, and the outputs to the actuators."""
        for path, values in self._read:
            self.pilot.feed(path, values)
        self.pilot.advance(rig.time_s)
        silent = 0.0 <= self.silent_s <= rig.time_s
        if silent and not self._silent:
            self.note(rig, "failsafe", "the flight processor is silent: outputs take their failsafe values")
        self._silent = silent
        length_s = self.step_ticks * rig.state.model.step_s
        outputs = self.board.step(self.controls(), armed=self.pilot.armed, failsafe=silent, dt_s=length_s)
        for name, (place, sign) in self._wires.items():
            value = sign * outputs[name]
            rig.command(place, 0.5 * (value + 1.0) if place.startswith(ROTOR) else value)
        for place, command in self._straight:
            rig.command(place, float(command[0]))

    @property
    def finished(self) -> bool:
        """Whether the mission is done and the motors are off."""
        return self._done is not None and bool(self._done[0] > 0.5)

    def stop(self) -> None:
        """Do nothing: no process runs outside."""

    def figures(self) -> dict[str, str]:
        """Rows of the flight's summary: which mixer output drives which actuator."""
        wired = ", ".join(f"{name} {'-' if sign < 0 else ''}{place}" for name, (place, sign) in self._wires.items())
        return {"mixer outputs": wired}


def geometry_of(spec: MulticopterSpec) -> Geometry:
    """The rotors of a vehicle as input of PX4's mixer generator: positions in arm lengths, one torque ratio for all."""
    arm_m = float(np.mean([np.hypot(*rotor.position_B_m[:2]) for rotor in spec.rotor]))
    levers = [
        spec.propeller[rotor.propeller].torque_coefficient_Nms2 / spec.propeller[rotor.propeller].thrust_coefficient_Ns2
        for rotor in spec.rotor
    ]
    places = []
    for rotor in spec.rotor:
        (x, y, _), (along, across, down) = rotor.position_B_m, rotor.axis_B
        places.append(Place(rotor.name, x / arm_m, y / arm_m, rotor.spin, (along, across, down)))
    return Geometry(spec.id, spec.title, float(np.mean(levers)) / arm_m, tuple(places))


def wires_of(text: str, board: MixedOutputs) -> dict[str, tuple[str, float]]:
    """Actuator and sign of each output, read from `MAIN1=name,MAIN2=-name`.

    Without a text the outputs of multirotor mixers drive the rotors in their order.
    """
    wires: dict[str, tuple[str, float]] = {}
    for name, place in pairs(text, "wires").items():
        if name not in board.names:
            raise MixerError(f"wires: {name} is no output of the files: they drive {', '.join(board.names)}")
        wires[name] = (place.removeprefix("-"), -1.0 if place.startswith("-") else 1.0)
    if not text:
        files = (board.main,) if board.aux is None else (board.main, board.aux)
        mixers = [mixer for file in files for mixer in file.mixers for _ in range(mixer.count)]
        turning = [n for n, mixer in zip(board.names, mixers, strict=True) if isinstance(mixer, MultirotorMixer)]
        wires = {name: (f"{ROTOR}{number}", 1.0) for number, name in enumerate(turning, 1)}
    return wires


def pairs(text: str, what: str) -> dict[str, str]:
    """Values by output name, both as texts, read from `MAIN1=a,AUX1=b`; `what` names the option in error texts."""
    result: dict[str, str] = {}
    for part in filter(None, (word.strip() for word in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise MixerError(f"{what}: '{part}' is not OUTPUT=VALUE, such as MAIN1=-1")
        result[name.strip()] = value.strip()
    return result


def values(text: str, what: str) -> Mapping[str, float]:
    """Numbers by output name, read from `MAIN1=-1,AUX1=0`; `what` names the option in error texts."""
    numbers = {}
    for name, value in pairs(text, what).items():
        try:
            numbers[name] = float(value)
        except ValueError:
            raise MixerError(f"{what}: '{value}' of {name} is no number; give one from -1 to 1") from None
    return numbers


class MixerKind(Kind):
    """Kind of control system `mixer`; flights repeat to the last bit, because no part of it reads a clock."""

    name = "mixer"
    title = "Reference autopilot behind PX4 mixer files"
    summary = "The reference autopilot's controls go through PX4 mixer files (main and AUX) to the actuators."
    options = MixerOptions

    def repeats(self, options: Options, script: str) -> bool:
        """True: the same order always gives the same flight."""
        return True

    def programs(self, options: Options) -> Sequence[Path]:
        """The mixer files, whose hashes belong to the record of a flight."""
        assert isinstance(options, MixerOptions)
        return tuple(Path(name) for name in (options.main, options.aux) if name)

    def seat(self, task: Task) -> Seat:
        """The vehicle without its own autopilot, and that autopilot behind the board with the mixer files."""
        assert isinstance(task.options, MixerOptions)
        if task.script:
            raise LinkError("the reference autopilot behind mixers flies missions, no plan of another program")
        if not task.options.main:
            raise LinkError("no mixer file is named: give --option main=FILE.main.mix")
        board = MixedOutputs(
            load_mixer(task.options.main),
            load_mixer(task.options.aux) if task.options.aux else None,
            disarmed=values(task.options.disarmed, "disarmed"),
            failsafe=values(task.options.failsafe, "failsafe"),
        )
        vehicle = load_vehicle(task.vehicle.path, control="reference")
        columns = vehicle.diagram.blocks["navigator"].params["table"].columns
        settings = task.navigator(columns) if task.navigator is not None else {}
        return Seat(MixerSystem(ReferenceAutopilot(vehicle, params=settings), board, task.options))


MIXER = MixerKind()
