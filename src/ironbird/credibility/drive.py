"""Drives the model with the recorded commands of a real flight, so that only a log and a vehicle are needed.

A vehicle that is unstable without its control system diverges from any record within seconds, however good the model
is. So the model starts again from the recorded motion every `restart_s`, all pieces in parallel as lanes; the
comparison is of its prediction of each piece. Frequencies below two periods of a piece are therefore not judged, and
no figure (mean, spread) of a signal that begins as recorded: that of the model would be that of the record. Not
modelled: the wind of that day (calm air is taken) and forces on the vehicle while it stood on the ground.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ironbird.blocks.power.battery import FULL_CELL_V
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.credibility.airborne import airborne
from ironbird.credibility.amounts import amount
from ironbird.credibility.compare import Comparison, Measure
from ironbird.credibility.plan import DriveTable, Plan, Test, usual_tests
from ironbird.credibility.readers import ATTITUDE, FORCE, POSITION, RATES, VELOCITY
from ironbird.credibility.record import UNITS, Record, Track, check_whole, stands
from ironbird.credibility.skill import Skill
from ironbird.errors import RecordError, UnknownNameError
from ironbird.model.signal import Number
from ironbird.rotations import conjugate, from_euler, rotate
from ironbird.runtime.log import LogPlan
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle, load_vehicle
from ironbird.vehicles.templates.multicopter import MulticopterSpec
from ironbird.vehicles.templates.rotorcraft import SPIN

RESTART_S = 1.0
BEFORE_S = 0.2  # motors get their speed from the commands before a piece begins
LOG_S = 0.01
COMMAND_S = 0.002  # s between two updates of the commands
BEHIND_S = 0.2  # before a piece, whose slope goes on in the forecast without a model
CLEAR_M = 5.0  # lowest height of the driven model: the ground must not push it
STATES = ("body.p", "body.v", "body.q", "body.w")
OUTPUTS = {
    at.BODY.position: POSITION,
    at.BODY.velocity: VELOCITY,
    at.BODY.euler: ATTITUDE,
    at.BODY.rates: RATES,
    at.BODY.specific_force: FORCE,
}
RESTARTED = (*POSITION, *VELOCITY, *ATTITUDE, *RATES)
LEAST_RATIO = 0.5  # of the recorded to the full voltage: below it the log is not of this battery
Factor = float | tuple[float, ...]  # of a parameter, or of each of its entries
LEAST_BAND = 1.5  # of the highest to the lowest frequency of a response


@dataclass(frozen=True)
class Driven:
    """The simulated record, the real one with combined commands, and how the pieces lie."""

    real: Record
    simulated: Record
    pieces: tuple[np.ndarray, np.ndarray]  # begins, and times within a piece
    restart_s: float
    window_s: tuple[float, float]

    def fitted(self, plan: Plan) -> Plan:
        """The plan without tests that pieces do not allow: responses below two periods of one, positions, courses.

        A figure that a plan asks for of a signal that begins as recorded is an error, unless one piece holds it all.
        """
        tests = list(plan.test)
        if not tests:
            names = [name for name in self.real.tracks if name in self.simulated.tracks]
            tests = [test for test in usual_tests(names) if test.signal not in (*POSITION, "yaw")]
            tests = [test for test in tests if not self._restarted(test)]
        for test in tests:
            if self._restarted(test):
                raise RecordError(
                    f"test '{test.name}': {test.signal} of the model starts again from the record every "
                    f"{self.restart_s:g} s, so its {test.figure} is that of the record, whatever the model is. Judge "
                    f"the curve (kind = 'time'), or make one piece of the test's window: --window and --restart "
                    f"{self._length_s(test):.3g}"
                )
        lowest = 2 * 2 * math.pi / self.restart_s
        usable = []
        for test in tests:
            if test.kind == "frequency":
                if test.band_radps[1] <= LEAST_BAND * lowest:
                    continue
                test = test.model_copy(update={"band_radps": [max(test.band_radps[0], lowest), test.band_radps[1]]})
            usable.append(test)
        return plan.model_copy(update={"test": usable})

    def _restarted(self, test: Test) -> bool:
        """Whether a test takes a figure of a signal that begins again as recorded within the test's window."""
        again = len(self.pieces[0]) > 1 and self._length_s(test) > self.restart_s * (1 + 1e-6)
        return again and test.kind == "performance" and test.signal in RESTARTED

    def _length_s(self, test: Test) -> float:
        low, high = test.window_s or self.window_s
        return min(high, self.window_s[1]) - max(low, self.window_s[0])

    def errors(self, signal: str) -> np.ndarray:
        """Simulated minus recorded values [piece, row]."""
        return self._off(self.simulated.track(signal).values.reshape(len(self.pieces[0]), -1), signal)

    def _off(self, values: np.ndarray, signal: str) -> np.ndarray:
        begins, within = self.pieces
        return np.asarray(
            values - self.real.track(signal).at((begins[:, None] + within[None, :]).ravel()).reshape(values.shape)
        )

    def skills(self, signals: Sequence[str]) -> list[Skill]:
        """Errors of the model beside those of two forecasts that need no model."""
        begins, within = self.pieces
        skills = []
        for signal in signals:
            track = self.real.track(signal)
            still = np.repeat(track.at(begins)[:, None], len(within), axis=1)
            slope = (track.at(begins) - track.at(begins - BEHIND_S)) / BEHIND_S
            straight = still + slope[:, None] * within[None, :]
            rms = [float(np.sqrt(np.mean(e**2))) for e in (
                self.errors(signal), self._off(still, signal), self._off(straight, signal)
            )]  # fmt: skip
            skills.append(Skill(signal, track.unit, *rms))
        return skills

    def predicted(self, comparison: Comparison | None = None) -> list[str]:
        """Signals that move and that the pieces predict: those of a comparison's curves, or all of the motion."""
        curves = [pair.signal for pair in comparison.pairs] if comparison else []
        chosen = [name for name in curves if name in RESTARTED and name not in POSITION]
        time_s = np.linspace(*self.window_s, 1000)
        moving = [name for name in (*VELOCITY, *RATES) if not stands(self.real.track(name).at(time_s))]
        return [name for name in chosen if not stands(self.real.track(name).at(time_s))] or moving

    def beside(self, comparison: Comparison) -> Comparison:
        """The comparison, with the skill of the model's forecast against those without a model."""
        skills = self.skills(self.predicted(comparison))
        measures = [
            Measure(f"skill against {words}", skill.signal, value, "> 0", value > 0, detail)
            for skill in skills
            for words, value, detail in (
                ("no change", skill.against_unchanged, _beside(skill, "no change", skill.unchanged)),
                ("straight on", skill.against_straight, _beside(skill, "straight on", skill.straight)),
            )
        ]
        return replace(comparison, measures=[*measures, *comparison.measures], skills=skills)


def _beside(skill: Skill, words: str, other: float) -> str:
    return f"rms error {amount(skill.error, skill.unit, 4)}, of {words} {amount(other, skill.unit, 4)}"


def drive(
    real: Record,
    name: str | Path,
    how: DriveTable | None = None,
    *,
    restart_s: float | None = None,
    window_s: tuple[float, float] | None = None,
    params: Mapping[str, Number] | None = None,
    delay_s: float = 0.0,
    factors: Mapping[str, Factor] | None = None,
) -> Driven:
    """Drive a vehicle of the catalogue, or of a file, by a record.

    `params` are set on the model before, `factors` multiply parameters whose paths end so, and commands come
    `delay_s` late.
    """
    how = how or DriveTable()
    vehicle = load_vehicle(name, control="external")
    model = compile_model(vehicle.diagram)
    _needs(model, vehicle)
    commands = _commands(real, model, how, vehicle)
    begun, ended = airborne(real, list(commands.values()))
    piece_s = restart_s or how.restart_s or RESTART_S
    window = _window(real, commands, (begun, ended), window_s, piece_s)
    motion = (*VELOCITY, *ATTITUDE, *RATES)
    for needed in motion:
        if needed not in real.tracks:
            raise RecordError(
                f"{real.path.name} holds no {needed}, from which the model starts; it needs {', '.join(motion)}"
            )
    check_whole(real, motion, window)
    count = round((window[1] - window[0]) / piece_s)
    begins = window[0] + piece_s * np.arange(count)
    state = start(model, lanes=count, params={**how.set, **(params or {})})
    _supply(state, real, begins)
    _multiply(state, factors or {})
    if delay_s:
        commands = {path: replace(track, time_s=track.time_s + delay_s) for path, track in commands.items()}
    times, columns = _run(state, real, commands, begins, piece_s)
    flat_s = (begins[:, None] + times[None, :]).ravel()
    notes = list(_notes(real, vehicle, piece_s, count, "battery_voltage" in real.tracks))
    tracks = {name: Track(flat_s, values.ravel(), UNITS[name]) for name, values in columns.items()}
    combined = _combined(vehicle, commands)
    real_tracks = real.tracks | combined
    return Driven(
        Record(real.path, real.kind, real_tracks, list(real.notes)),
        Record(vehicle.path, "driven", tracks | combined, notes),
        (begins, times),
        piece_s,
        (float(flat_s[0]), float(flat_s[-1])),
    )


def _needs(model: CompiledModel, vehicle: Vehicle) -> None:
    missing = [path for path in STATES if path not in model.flat.x.start]
    if missing:
        raise RecordError(
            f"vehicle '{vehicle.id}' cannot be driven by a record: its body has no {', '.join(missing)}; it "
            f"must have six "
            "degrees of freedom on a flat earth"
        )


def _commands(real: Record, model: CompiledModel, how: DriveTable, vehicle: Vehicle) -> dict[str, Track]:
    """The command of each input of the model, in the model's own range."""
    inputs = how.inputs or {f"rotor/{number}": f"motor_{number}" for number in range(1, 13)}
    if how.inputs:
        for input_ in inputs:
            if input_ not in model.flat.u.start:
                raise UnknownNameError("input", input_, model.flat.u.start, f"vehicle '{vehicle.id}'")
    commands: dict[str, Track] = {}
    for input_ in model.flat.u.start:
        signal = inputs.get(input_, "")
        if signal not in real.tracks:
            motors = [name for name in real.tracks if name.startswith("motor_")]
            raise RecordError(
                f"{real.path.name} holds no command for input '{input_}' of vehicle '{vehicle.id}' (looked for "
                f"'{signal or input_}'; it has {', '.join(motors) or 'no motor commands'}): is it a log of "
                f"another vehicle? "
                "A [drive] table in a tests file names the signals"
            )
        track = real.tracks[signal]
        values = track.values * how.scale + how.offset
        low, high = (0.0, 1.0) if input_.startswith("rotor/") else (-1.0, 1.0)
        outside = float(np.mean((values < low - 1) | (values > high + 1)))  # beyond the excess that mixers command
        if outside > 0.5:
            raise RecordError(
                f"{real.path.name}: {signal} lies far outside {low:g} to {high:g} in {outside:.0%} of its samples, "
                f"so it is no "
                f"command of '{input_}'; give scale and offset in a [drive] table"
            )
        commands[input_] = Track(track.time_s, np.clip(values, low, high), "1")
    used = {inputs[input_] for input_ in model.flat.u.start}
    if not how.inputs:
        extra = [name for name in real.tracks if name.startswith("motor_") and name not in used]
        if extra:
            raise RecordError(
                f"{real.path.name} has {', '.join(extra)}, which vehicle '{vehicle.id}' does not have: it is a "
                f"log of another "
                "vehicle; a [drive] table in a tests file says which signals drive it"
            )
    return commands


def _multiply(state: RunState, factors: Mapping[str, Factor]) -> None:
    """Multiply parameters, as they are set, in every lane."""
    for ending, factor in factors.items():
        for path in state.model.flat.p.start:
            if path == ending or path.endswith(f"/{ending}"):
                held = state.params[:, state.model.flat.p.rows(path), :]  # block, row, lane in block
                values = np.moveaxis(held, 1, 2).reshape(-1, held.shape[1])[: state.lanes]
                state.set_param_of(path, dict(enumerate(np.asarray(factor) * values)))


def _window(
    real: Record,
    commands: Mapping[str, Track],
    flown: tuple[float, float],
    chosen: tuple[float, float] | None,
    piece_s: float,
) -> tuple[float, float]:
    names = [name for name in (*VELOCITY, *ATTITUDE, *RATES) if name in real.tracks]
    tracks = [*(real.tracks[name] for name in names), *commands.values()]
    low = max(*(float(track.time_s[0]) for track in tracks), flown[0]) + BEFORE_S
    high = min(*(float(track.time_s[-1]) for track in tracks), flown[1])
    if chosen is not None:
        low, high = max(low, chosen[0]), min(high, chosen[1])
    if high - low < piece_s:
        raise RecordError(
            f"{real.path.name} holds {max(high - low, 0):.2f} s that can be driven, a piece is {piece_s:g} s; choose "
            "another window (--window) or shorter pieces (--restart)"
        )
    return low, low + piece_s * math.floor((high - low) / piece_s + 1e-9)


def supply_ratio(real: Record, model: CompiledModel, time_s: np.ndarray) -> np.ndarray | None:
    """The recorded voltage over that of the full battery; None if one of the two is missing."""
    if "battery_voltage" not in real.tracks or "battery.voltage_factor" not in model.flat.p.start:
        return None
    full = float(model.flat.values[model.flat.p.rows("battery.cells")][0]) * FULL_CELL_V
    ratio = real.tracks["battery_voltage"].at(time_s) / full
    if not LEAST_RATIO <= float(np.median(ratio)) <= 1.1:
        raise RecordError(
            f"{real.path.name}: {np.median(ratio) * full:.1f} V is no voltage of this vehicle's battery "
            f"({full:.1f} V when full); is it a log of another vehicle?"
        )
    return np.clip(ratio, 0.0, 1.0)


def _supply(state: RunState, real: Record, begins: np.ndarray) -> None:
    """Feed the motors with the recorded voltage, if there is one, in place of the model's own battery."""
    ratio = supply_ratio(real, state.model, begins)
    if ratio is None:
        return
    state.set_param("battery.resistance", 0.0)
    state.set_param("battery.capacity", 1e9)
    for lane, value in enumerate(ratio):
        state.set_param("battery.voltage_factor", float(value), lane)


def _run(
    state: RunState, real: Record, commands: Mapping[str, Track], begins: np.ndarray, piece_s: float
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Run all pieces at once; returns times within a piece and columns [piece, row]."""
    step_s = state.model.step_s
    plan = LogPlan.make(state.model, list(OUTPUTS), LOG_S)
    ticks = max(1, round(COMMAND_S / step_s))
    before, inside = (round(duration / step_s) for duration in (BEFORE_S, piece_s))
    size = state.inputs.shape[0] * state.inputs.shape[2]
    logs = []
    for tick in range(-before, inside, ticks):
        for input_, track in commands.items():
            values = np.zeros(size)
            values[: state.lanes] = track.held(begins + tick * step_s)
            rows = state.model.flat.u.rows(input_)
            state.inputs[:, rows.start, :] = values.reshape(state.inputs.shape[0], state.inputs.shape[2])
        if tick <= 0 < tick + ticks or tick < 0:
            _place(state, real, begins)
        logs.append(advance(state, min(ticks, inside - tick), plan=plan if tick >= 0 else None))
    parts = [log for log in logs if log is not None and len(log.time_s)]
    for lane, begin in enumerate(begins):
        stop = state.stop_of(lane)
        if stop is not None:
            raise RecordError(
                f"the model that the commands drive from {begin:.2f} s on ends in '{stop.reason}': the record "
                f"begins on the "
                "ground, or the vehicle is another; choose a window of flight (--window)"
            )
    columns: dict[str, np.ndarray] = {}
    for path, names in OUTPUTS.items():
        values = np.concatenate([log.all_lanes(path) for log in parts], axis=1)  # lane, row, axis
        for axis, name in enumerate(names):
            columns[name] = values[:, :, axis]
    for name in ATTITUDE:
        columns[name] = np.unwrap(columns[name], axis=1)
    times = np.concatenate([log.time_s for log in parts])
    for name in (*ATTITUDE, *POSITION):  # add whole turns and the initial position as recorded
        if name in real.tracks:
            recorded = real.tracks[name].at(begins)
            off = recorded - columns[name][:, 0]
            if name in ATTITUDE:
                off = 2 * math.pi * np.round(off / (2 * math.pi))
            columns[name] = columns[name] + off[:, None]
    return times - times[0], columns


def _place(state: RunState, real: Record, begins: np.ndarray) -> None:
    """Set every lane to the recorded motion at the start of its piece."""

    def at_begin(names: tuple[str, ...]) -> np.ndarray:
        return np.column_stack([real.tracks[name].at(begins) for name in names])

    position = np.zeros((len(begins), 3))
    position[:, 2] = -CLEAR_M - 50.0
    if "down" in real.tracks:
        down = real.tracks["down"].at(begins)
        position[:, 2] = down - max(0.0, float(np.max(down)) + CLEAR_M)
    q = from_euler(at_begin(ATTITUDE))
    velocity = rotate(conjugate(q), at_begin(VELOCITY))
    for lane in range(state.lanes):
        for path, values in zip(STATES, (position, velocity, q, at_begin(RATES)), strict=True):
            state.set_state(path, values[lane], lane)


def _combined(vehicle: Vehicle, commands: Mapping[str, Track]) -> dict[str, Track]:
    """Commands about the body's axes of a multicopter, as inputs of frequency responses."""
    spec = vehicle.spec
    if not isinstance(spec, MulticopterSpec):
        return {}
    first = next(iter(commands.values()))
    shares = [commands[f"rotor/{number}"].held(first.time_s) for number in range(1, len(spec.rotor) + 1)]
    arm = max(math.hypot(*rotor.position_B_m[:2]) for rotor in spec.rotor)
    sides = {
        "roll_command": [-rotor.position_B_m[1] / arm for rotor in spec.rotor],
        "pitch_command": [rotor.position_B_m[0] / arm for rotor in spec.rotor],
        "yaw_command": [float(SPIN[rotor.spin]) for rotor in spec.rotor],
    }
    return {
        name: Track(first.time_s, sum(s * share for s, share in zip(side, shares, strict=True)) + 0.0, "1")
        for name, side in sides.items()
    }


def _notes(real: Record, vehicle: Vehicle, piece_s: float, count: int, fed: bool) -> list[str]:
    supply = (
        "the recorded battery voltage feeds its motors" if fed else "its battery is full: the record has no voltage"
    )
    return [
        f"driven by the recorded commands of {real.path.name}: {vehicle.id} starts again from the recorded "
        f"motion every "
        f"{piece_s:g} s ({count} pieces), in calm air; {supply}"
    ]
