"""Trim and linear modes of any vehicle, from the exact derivatives of its equations.

The controller is disconnected: every actuator command of the vehicle is free, and the steady state is searched in which
the vehicle moves to the north at the requested speed, level, without turning. Modes are the eigenvalues of the linear
model there. Not modelled: sampled blocks (controllers, estimators) are held constant, so these are the modes of the
bare vehicle.
"""

from __future__ import annotations

import fnmatch
import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import casadi as ca
import numpy as np

from ironbird.analysis.linear import linearize
from ironbird.analysis.mode_names import Seen, names_of_modes, seen
from ironbird.analysis.operating_point import OperatingPoint, operating_point
from ironbird.analysis.trim import trim
from ironbird.blocks.actuators.governed_engine import GovernedEngine
from ironbird.blocks.actuators.wheel_drive import WheelDrive
from ironbird.blocks.forces.catapult import Catapult
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.compiler.flatten import ARRAYS
from ironbird.errors import ModelError
from ironbird.model.block import Block
from ironbird.model.signal import Number
from ironbird.rotations import euler_of_matrix
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle, load_vehicle

# Paths and classes of the vehicle's parts that this module depends on
LINKS = "*/command_fault.value"  # commands of the actuators
THRUST = "/propeller.force_B"  # force of the propeller that a link commands
DRIVES = ("rotor/", "wheel/", "drive/")  # commands of these go from 0 to 1, those of others from -1 to 1
POSITION, VELOCITY = "body.p", at.BODY.velocity  # states of the vehicle, and of a trailer
BODIES = ("body.", "trailer/body.")
CONTACT = "contact.force_B"  # only flying vehicles have it
FAR = ("contact.", "launcher/")  # states of parts that are not involved in flight: ground and catapult
LEFT_CATAPULT = "catapult.gone"
UNUSED: tuple[tuple[type[Block], str, float], ...] = (  # inputs unused in steady motion: class, input, and its value
    (WheelDrive, "brake", 0.0),
    (Catapult, "launch", 0.0),
    (GovernedEngine, "throttle", 1.0),
)

NOSE_UP = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
HEIGHT_M = 100.0
SETTLE_STEPS, SETTLE_STEP_S = 2000, 1e-3
STILL = 1e-6  # 1/s: eigenvalues with less magnitude are those of position, heading and the quaternion's length


@dataclass(frozen=True)
class Trim:
    """A steady state (trim) of a vehicle."""

    vehicle: Vehicle
    model: CompiledModel
    speed_mps: float
    point: OperatingPoint
    links: list[str]
    R_NU: np.ndarray  # axes of zero attitude: level, or nose up

    def rows(self) -> dict[str, str]:
        """Main figures as text: attitude, and the command of each actuator."""
        signals = self.model.signals()
        roll, pitch, _ = euler_of_matrix(self.R_NU.T @ self.point[at.BODY.attitude].reshape(3, 3, order="F"))
        rows = {"speed": f"{self.speed_mps:g} m/s to the north"}
        upright = " from nose up" if self.R_NU is NOSE_UP else ""
        rows[f"roll, pitch{upright}"] = f"{math.degrees(roll):.4f}°, {math.degrees(pitch):.4f}°"
        if "air.angle_of_attack" in signals:
            rows["angle of attack"] = f"{math.degrees(float(self.point['air.angle_of_attack'][0])):.4f}°"
        for link in self.links:
            rows[link.removesuffix(LINKS[1:])] = f"{float(self.point[link][0]):.6g}"
        for path in signals:
            if path.endswith((".thrust", ".deflection")) or fnmatch.fnmatch(path, "rotor/*/motor.speed"):
                rows[path] = f"{float(self.point[path][0]):.6g} {signals[path].unit}"
        return rows

    def figures(self) -> dict[str, float]:
        """The figures of `rows` as numbers in SI units, by name."""
        signals = self.model.signals()
        roll, pitch, _ = euler_of_matrix(self.R_NU.T @ self.point[at.BODY.attitude].reshape(3, 3, order="F"))
        values = {"speed_mps": float(self.speed_mps), "roll_rad": float(roll), "pitch_rad": float(pitch)}
        shown = [*self.links, *(p for p in signals if p.endswith((".thrust", ".deflection", "/motor.speed")))]
        return values | {path: float(self.point[path][0]) for path in shown}


@dataclass(frozen=True)
class Mode:
    """One eigenvalue (of a pair, that with the positive imaginary part) and the states that take part in it."""

    value: complex
    states: list[str]
    name: str = ""  # short period, phugoid, Dutch roll, …

    @property
    def frequency_radps(self) -> float:
        """Undamped natural frequency in rad/s."""
        return abs(self.value)

    @property
    def damping(self) -> float:
        """Damping ratio; negative if the mode grows."""
        return -self.value.real / abs(self.value)

    def sentence(self) -> str:
        """Eigenvalue, frequency, damping, and time of growth or decay as a sentence."""
        rate = self.value.real
        grows = f"doubles in {math.log(2) / rate:.3g} s" if rate > 0 else f"halves in {-math.log(2) / rate:.3g} s"
        if abs(self.value.imag) < 1e-9 * abs(self.value):
            return f"{rate:.5g} 1/s, {grows}"
        return (
            f"{rate:.5g} ± {self.value.imag:.5g}j 1/s, {self.frequency_radps:.4g} rad/s, "
            f"damping {self.damping:.3f}, {grows if rate else 'neither grows nor decays'}"
        )


def level_trim(
    vehicle: Vehicle | str | Path, speed_mps: float | None = None, *, settings: Mapping[str, Number] | None = None
) -> Trim:
    """Find steady level motion to the north.

    Of many solutions the one is taken that uses the rotors that lift in hover and those that push in motion, with as
    little roll and pitch as can be, and the smallest commands.

    Parameters
    ----------
    vehicle : str, Path or Vehicle
        Catalogue name, TOML file, or a vehicle that was loaded.
    speed_mps : float, optional
        Speed in m/s; by default hovering if the vehicle can, else its cruise speed.
    settings : mapping, optional
        Parameters by path, in SI units.

    Returns
    -------
    Trim
        States, commands and attitude.

    Raises
    ------
    ModelError
        If there is no such motion.

    Examples
    --------
    >>> ib.level_trim("quad_f450").speed_mps
    0.0
    """
    if not isinstance(vehicle, Vehicle):
        vehicle = load_vehicle(vehicle, control="truth")
    model = compile_model(vehicle.diagram)
    if speed_mps is None:
        hovers = vehicle.kind.hovers
        speed_mps = 0.0 if hovers else float(model.flat.values[model.param_rows(at.NAVIGATOR.cruise_speed)][0])
    links = [path for path in model.flat.held.start if fnmatch.fnmatch(path, LINKS)]
    moving = [path for path in model.flat.x.start if path.endswith(POSITION)]
    speeds: dict[str, Number] = {path: [speed_mps, 0.0, 0.0] for path in model.signals() if path.endswith(VELOCITY)}
    steady = functools.partial(trim, model, moving=moving, params=settings, least=True)
    problem = ModelError("it has no actuators")
    for R_NU, resting, guess in _beginnings(model, links, speed_mps, settings):
        free, hold = [link for link in links if link not in resting], _held(model, guess) | resting
        for roll, pitch in ((0.0, 0.0), (0.0, math.nan), (math.nan, math.nan)):
            required = {**speeds, at.BODY.attitude: _turned(R_NU, roll, pitch)}
            try:
                point = steady(inputs=free, hold=hold, guess=guess, require=required)
                return Trim(vehicle, model, speed_mps, point, links, R_NU)
            except ModelError as error:
                problem = error
    raise ModelError(f"{vehicle.id} has no steady level motion at {speed_mps:g} m/s: {problem}")


def _beginnings(
    model: CompiledModel, links: list[str], speed_mps: float, settings: Mapping[str, Number] | None
) -> Iterator[tuple[np.ndarray, dict[str, Number], dict[str, Number]]]:
    """Starting points for the search of a trim, the most likely first: upright axes, unused links, guess."""
    for R_NU in _attitudes(model, speed_mps):
        near = _guess(model, links, speed_mps, R_NU, settings)
        for resting in _choices(model, links, near, speed_mps):
            guess = near | resting
            yield R_NU, resting, guess
            yield R_NU, resting, _level(model, links, resting, guess, settings)


def _attitudes(model: CompiledModel, speed_mps: float) -> list[np.ndarray]:
    """Candidates of zero attitude R_NU (U: upright axes): level, or nose up for a vehicle that starts so."""
    if operating_point(model)[at.BODY.attitude][2] > -0.99:
        return [np.eye(3)]
    return [NOSE_UP, np.eye(3)] if speed_mps == 0 else [np.eye(3), NOSE_UP]


def _turned(R_NU: np.ndarray, roll: float, pitch: float) -> list[float]:
    """Entries of R_NB to ask for, others NaN: heading along U, roll and pitch from it as given (0 or NaN: free).

    R_UB = R_NU' R_NB, and R_NU only permutes axes and signs, so that single entries of R_NB are enough.
    """
    entries = np.full((3, 3), math.nan)
    for row, column, value in ((1, 0, 0.0), (2, 1, roll), (2, 0, pitch)):
        entries[int(np.argmax(np.abs(R_NU[:, row]))), column] = value
    return entries.ravel(order="F").tolist()


def _guess(
    model: CompiledModel, links: list[str], speed_mps: float, R_NU: np.ndarray, settings: Mapping[str, Number] | None
) -> dict[str, Number]:
    """Initial guess: at the speed, in the air if it flies, actuators settled at half of their range."""
    point = operating_point(model, settings)
    flat = model.flat
    if CONTACT in model.signals():
        point.set("body.p", [0.0, 0.0, -HEIGHT_M])
    if point[at.BODY.attitude][2] <= -0.99 and R_NU is not NOSE_UP:
        point.set("body.q", [1.0, 0.0, 0.0, 0.0])
    for path in (path for path in flat.x.start if path.endswith("body.v")):
        point.set(path, (R_NU.T @ [speed_mps, 0.0, 0.0])[: flat.x.signals[path].size].tolist())
    for link in links:
        point.set(link, 0.5 if link.startswith(DRIVES) else 0.0)
    for link, value in _idle(model, links).items():
        point.set(link, value)
    settling = np.array([not label.startswith(BODIES) for label in flat.x.labels()])
    x = ca.SX.sym("x", flat.x.size)
    columns = [x if name == "x" else column for name, column in zip(ARRAYS, point.columns(), strict=True)]
    step = ca.Function("step", [x], [x + SETTLE_STEP_S * ca.DM(settling.astype(float)) * flat.rates(*columns)])
    point.x = np.array(step.fold(SETTLE_STEPS)(point.x)).ravel()
    values: dict[str, Number] = {path: point.x[flat.x.rows(path)].tolist() for path in flat.x.start}
    return values | {link: float(point[link][0]) for link in links}


def _level(
    model: CompiledModel,
    links: list[str],
    resting: dict[str, Number],
    guess: dict[str, Number],
    settings: Mapping[str, Number] | None,
) -> dict[str, Number]:
    """A better guess: the attitude of the guess, and the actuator commands that come closest to holding it."""
    x = model.flat.x
    free = [link for link in links if link not in resting]
    hold = {path: guess[path] for path in x.start if path.startswith(BODIES)} | resting
    moving = [path for path in x.start if path.endswith(POSITION)]
    hold |= _held(model, guess)
    point = trim(model, inputs=free, hold=hold, moving=moving, guess=guess, params=settings, tolerance=math.inf)
    return guess | {path: point[path].tolist() for path in (*x.start, *free)}


def _held(model: CompiledModel, guess: Mapping[str, Number]) -> dict[str, Number]:
    """States that are held fixed: the position in the air, and whether the vehicle has left its catapult."""
    flies = CONTACT in model.signals()
    names = [path for path in model.flat.x.start if path.endswith(LEFT_CATAPULT) or (flies and path == POSITION)]
    return {name: guess[name] for name in names}


def _idle(model: CompiledModel, links: list[str]) -> dict[str, float]:
    """Links that are not used to hold a steady motion, and their commands."""
    blocks = model.flat.diagram.blocks
    commands = {}
    for target, sources in model.flat.diagram.links.items():
        block, _, port = target.rpartition(".")
        for kind, name, value in UNUSED:
            if isinstance(blocks[block], kind) and port == name:
                commands.update({source: value for source in sources if source in links})
    return commands


def _choices(
    model: CompiledModel, links: list[str], guess: Mapping[str, Number], speed_mps: float
) -> list[dict[str, Number]]:
    """Combinations of unused links with their values; the first combination with a solution is used."""
    idle: dict[str, Number] = dict(_idle(model, links))
    point = operating_point(model)
    for path, value in guess.items():
        point.set(path, value)
    lifting: list[str] = []
    pushing: list[str] = []
    for link in links:
        thrust = link.replace(LINKS[1:], THRUST)
        if thrust in model.signals() and link not in idle:
            force = point[at.BODY.attitude].reshape(3, 3, order="F") @ point[thrust]
            (lifting if abs(force[2]) > abs(force[0]) else pushing).append(link)
    resting = pushing if speed_mps == 0 else lifting
    return [idle | dict.fromkeys(resting, 0.0), idle] if lifting and pushing else [idle]


def modes_at(trimmed: Trim) -> list[Mode]:
    """Modes of the bare vehicle in steady motion, slowest first; those that merely carry position and heading are left
    out.

    Parameters
    ----------
    trimmed : Trim
        What `ib.level_trim` returns.

    Returns
    -------
    list of Mode
        Eigenvalue in 1/s, name, and the states that take part.

    Examples
    --------
    >>> modes = ib.modes_at(ib.level_trim("aerosonde"))  # doctest: +SKIP
    """
    linear = linearize(trimmed.model, trimmed.point, inputs=trimmed.links)
    values, right = np.linalg.eig(linear.A)
    left = np.linalg.pinv(right)
    modes: list[Mode] = []
    looks: list[Seen] = []
    for i in np.argsort(np.abs(values)):
        if abs(values[i]) < STILL or values[i].imag < 0:
            continue
        share = np.abs(right[:, i] * left[i, :])  # participation factors
        main = np.argsort(-share)[:3]
        if linear.states[main[0]].startswith(FAR):
            continue
        modes.append(Mode(complex(values[i]), [linear.states[k] for k in main if share[k] > 0.2 * share.max()]))
        looks.append(seen(complex(values[i]), linear.states, share.tolist()))
    flies, moves = CONTACT in trimmed.model.signals(), trimmed.speed_mps != 0
    wings = flies and moves and trimmed.vehicle.kind.winged
    names = names_of_modes(looks, wings=wings, hover=flies and not wings)
    return [replace(mode, name=name) for mode, name in zip(modes, names, strict=True)]
