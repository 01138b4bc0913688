"""Virtual benches: Ironbird's model on a rig, as the real vehicle would be.

Each bench gives the record that a real one would give, computed by the equations of a vehicle, so that the
identification can be compared with the true parameters: an excited flight, a rig with one axis, a propulsion stand, a
rest on the ground, and a swing on two strings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ironbird.analysis.level import level_trim
from ironbird.compiler.compiled import compile_model
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.credibility.readers import ATTITUDE, FORCE, POSITION, RATES, VELOCITY
from ironbird.credibility.record import UNITS, Record, Track
from ironbird.errors import RecordError, UnknownNameError
from ironbird.model.signal import Number
from ironbird.rotations import euler, from_euler, rotate
from ironbird.runtime.state import RunState, start
from ironbird.runtime.stepper import Stepper
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.templates.multicopter import MulticopterSpec
from ironbird.vehicles.templates.rotorcraft import SPIN

CONTROL_S = 0.012  # three samples of the links to the motors
LINK_S = 0.004
HEIGHT_M = 50.0
SETTLED_S = 2.0  # on its legs
SIGNALS = {
    at.BODY.position: POSITION,
    at.BODY.velocity: VELOCITY,
    at.BODY.euler: ATTITUDE,
    at.BODY.rates: RATES,
    at.BODY.specific_force: FORCE,
}
NOISE = {  # standard deviations of what a flight log of a small vehicle holds
    **dict.fromkeys(VELOCITY, 0.02),
    **dict.fromkeys(ATTITUDE, 0.003),
    **dict.fromkeys(RATES, 0.01),
    **dict.fromkeys(FORCE, 0.1),
}


@dataclass(frozen=True)
class Hover:
    """Feedback that holds a multicopter in hover on a virtual flight: attitude and height, on the true state."""

    mixer: np.ndarray  # [rotor, (thrust, roll, pitch, yaw)] in throttle
    trim: np.ndarray  # throttle of each rotor in hover

    def commands(self, seen: Mapping[str, np.ndarray], more: np.ndarray, tilt: np.ndarray | None = None) -> np.ndarray:
        """Throttles for the state, with an excitation about the axes added; without a tilt it holds its position."""
        angles, rates, v, p = (np.asarray(seen[name]) for name in ("euler", "rates", "velocity", "position"))
        roll, pitch = np.clip([-0.1 * v[1], 0.1 * v[0]], -0.1, 0.1) if tilt is None else tilt
        demand = np.array(
            [
                0.15 * (p[2] + HEIGHT_M) + 0.15 * v[2],
                -0.30 * (angles[0] - roll) - 0.06 * rates[0],
                -0.30 * (angles[1] - pitch) - 0.06 * rates[1],
                -0.10 * math.remainder(angles[2], 2 * math.pi) - 0.15 * rates[2],
            ]
        )
        return np.asarray(np.clip(self.trim + self.mixer @ (demand + more), 0.0, 1.0))


def hover_of(spec: MulticopterSpec, trim: Sequence[float]) -> Hover:
    """The feedback of a vehicle from its geometry alone."""
    arm = max(math.hypot(*rotor.position_B_m[:2]) for rotor in spec.rotor)
    rows = [[1.0, -r.position_B_m[1] / arm, r.position_B_m[0] / arm, SPIN[r.spin]] for r in spec.rotor]
    return Hover(np.array(rows), np.asarray(trim, float))


def excited_flight(
    name: str | Path,
    excitations: np.ndarray,
    *,
    params: Mapping[str, Number] | None = None,
    noise: Mapping[str, float] | None = None,
    seed: int = 0,
    rig: str = "",
    tilts: np.ndarray | None = None,
) -> Record:
    """A flight about hover with excitations [row, (thrust, roll, pitch, yaw)] every 12 ms, recorded with noise.

    With `rig` the vehicle is on a stiff rod through its centre of mass and turns about that axis alone: roll, pitch
    or yaw. The rod has no friction. With `tilts` [row, (roll, pitch)] it follows these angles instead of a position.
    """
    if rig not in ("", *ATTITUDE):
        raise UnknownNameError("axis of the rig", rig, ATTITUDE)
    vehicle = load_vehicle(name, control="external")
    if not isinstance(vehicle.spec, MulticopterSpec):
        raise RecordError(f"vehicle '{vehicle.id}' is no multicopter; the virtual flight knows no other")
    model = compile_model(vehicle.diagram)
    count = len(vehicle.spec.rotor)
    steady = level_trim(vehicle, 0.0, settings=params).point
    numbers = range(1, count + 1)
    hover = hover_of(vehicle.spec, [float(steady[f"rotor/{n}/command_fault.value"][0]) for n in numbers])
    state = start(model, params={"battery.resistance": 0.0, "battery.capacity": 1e9, **(params or {})})
    state.set_param("body.p_0", [0.0, 0.0, -HEIGHT_M])
    links = [f"rotor/{n}/command_fault.value" for n in numbers]
    stepper = Stepper(state, until_s=len(excitations) * CONTROL_S, log=[*SIGNALS, *links], log_s=LINK_S)
    rows = [stepper.input_row(f"rotor/{n}") for n in numbers]
    for n in numbers:
        state.set_state(f"rotor/{n}/motor.omega", float(steady[f"rotor/{n}/motor.speed"][0]))
    for row, more in enumerate(excitations):
        seen = {
            "position": state.get("body.p"),
            "rates": state.get("body.w"),
            **_motion(state.get("body.q"), state.get("body.v")),
        }
        stepper.inputs[rows] = hover.commands(seen, more, None if tilts is None else tilts[row])
        if rig:
            _hold(state, ATTITUDE.index(rig))
        if not stepper.step(round(CONTROL_S / model.step_s)):
            break
    log = stepper.finish()
    if log.stops[0] is not None and log.stops[0].reason:
        raise RecordError(f"the virtual flight ends in '{log.stops[0].reason}': excite less")
    every = round(CONTROL_S / LINK_S)
    time_s = log.time()[::every]
    tracks: dict[str, Track] = {}
    for path, names in SIGNALS.items():
        for axis, signal in enumerate(names):
            values = log[path][::every, axis]
            tracks[signal] = Track(time_s, np.unwrap(values) if signal in ATTITUDE else values, UNITS[signal])
    for n, link in zip(numbers, links, strict=True):
        tracks[f"motor_{n}"] = Track(log.time(), log[link], "1")
    return with_noise(Record(Path(f"{vehicle.id}_virtual"), "virtual", tracks, []), noise, seed)


def with_noise(record: Record, noise: Mapping[str, float] | None = None, seed: int = 0) -> Record:
    """A record with added white noise of these standard deviations, by default those of `NOISE`."""
    random = np.random.default_rng(seed)
    tracks = {}
    for name, track in record.tracks.items():
        sigma = (NOISE if noise is None else noise).get(name, 0.0)
        tracks[name] = replace(track, values=track.values + sigma * random.standard_normal(len(track.values)))
    return replace(record, tracks=tracks)


def propulsion_stand(
    name: str | Path,
    throttles: Sequence[float],
    *,
    settle_s: float = 0.4,
    noise: Mapping[str, float] | None = None,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """A rotor of a vehicle on a stand: throttle, speed, thrust and torque of each steady state, as in `read_bench`.

    The frame is clamped, the supply is the full battery's. `noise` is given for speed, thrust and torque. Values are at
    the air density of the vehicle's home, 50 m up.
    """
    vehicle = load_vehicle(name, control="external")
    if not isinstance(vehicle.spec, MulticopterSpec):
        raise RecordError(f"vehicle '{vehicle.id}' is no multicopter; the virtual stand knows no other")
    model = compile_model(vehicle.diagram)
    state = start(model, params={"battery.resistance": 0.0, "battery.capacity": 1e9})
    state.set_param("body.p_0", [0.0, 0.0, -HEIGHT_M])
    signals = ["rotor/1/motor.speed", "rotor/1/propeller.thrust", "rotor/1/propeller.shaft_power"]
    stepper = Stepper(state, until_s=len(throttles) * settle_s, log=signals, log_s=LINK_S)
    row = stepper.input_row("rotor/1")
    for throttle in throttles:
        stepper.inputs[row] = throttle
        for _ in range(round(settle_s / LINK_S)):
            _hold(state, None)
            stepper.step(round(LINK_S / model.step_s))
    log = stepper.finish()
    last = np.searchsorted(log.time(), settle_s * np.arange(1, len(throttles) + 1) - 2 * LINK_S)
    speed, thrust, power = (np.ravel(log[signal])[last] for signal in signals)
    columns = {"throttle": np.asarray(throttles, float), "speed": speed, "thrust": thrust, "torque": power / speed}
    random = np.random.default_rng(seed)
    return {
        name: values + (noise or {}).get(name, 0.0) * random.standard_normal(len(values))
        for name, values in columns.items()
    }


def rest_record(name: str | Path, *, duration_s: float = 30.0, seed: int = 0) -> Record:
    """Record of the first inertial unit of a vehicle that stands on the ground, motors off."""
    vehicle = load_vehicle(name, control="external")
    model = compile_model(vehicle.diagram)
    state = start(model, seed=[seed])
    unit = at.imu(1).chip.path
    signals = {f"{unit}.gyro_B": RATES, f"{unit}.accel_B": FORCE}
    stepper = Stepper(state, until_s=duration_s + SETTLED_S, log=list(signals), log_s=LINK_S)
    stepper.step(round((duration_s + SETTLED_S) / model.step_s))
    log = stepper.finish()
    stands = log.time() > SETTLED_S
    tracks = {
        signal: Track(log.time()[stands], log[path][stands, axis], UNITS[signal])
        for path, names in signals.items()
        for axis, signal in enumerate(names)
    }
    return Record(Path(f"{vehicle.id}_rest"), "virtual", tracks, [])


def _hold(state: RunState, axis: int | None) -> None:
    """Apply the constraint of a rod: no translation, rotation about its axis only; a clamp (None) allows none."""
    angles, rates = np.zeros(3), np.zeros(3)
    if axis is not None:
        angles[axis] = euler(state.get("body.q"))[axis]
        rates[axis] = state.get("body.w")[axis]
    for path, value in (
        ("body.p", np.array([0.0, 0.0, -HEIGHT_M])),
        ("body.v", np.zeros(3)),
        ("body.q", from_euler(angles)),
        ("body.w", rates),
    ):
        state.set_state(path, value)


def _motion(q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    return {"euler": euler(q), "velocity": rotate(q, v)}


def bifilar_swing(
    inertia_kgm2: float,
    mass_kg: float,
    *,
    length_m: float = 1.0,
    spacing_m: float = 0.3,
    amplitude_rad: float = 0.1,
    damping_Nms: float = 0.0,
    duration_s: float = 30.0,
    step_s: float = 0.005,
    noise_rad: float = 0.001,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Angle of a body on two strings over time, with the large-angle equation of Jardin and Mueller [Jardin]."""
    stiffness = mass_kg * STANDARD_GRAVITY_MPS2 * spacing_m**2 / (4 * length_m)

    def acceleration(angle: float, rate: float) -> float:
        below = math.sqrt(1 - spacing_m**2 / (2 * length_m**2) * (1 - math.cos(angle)))
        return -(stiffness * math.sin(angle) / below + damping_Nms * rate) / inertia_kgm2

    angle, rate = amplitude_rad, 0.0
    angles = []
    for _ in range(round(duration_s / step_s)):
        angles.append(angle)
        # classical Runge-Kutta
        a1 = acceleration(angle, rate)
        r2 = rate + step_s / 2 * a1
        a2 = acceleration(angle + step_s / 2 * rate, r2)
        r3 = rate + step_s / 2 * a2
        a3 = acceleration(angle + step_s / 2 * r2, r3)
        r4 = rate + step_s * a3
        a4 = acceleration(angle + step_s * r3, r4)
        angle += step_s / 6 * (rate + 2 * r2 + 2 * r3 + r4)
        rate += step_s / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    noise = noise_rad * np.random.default_rng(seed).standard_normal(len(angles))
    return step_s * np.arange(len(angles)), np.array(angles) + noise
