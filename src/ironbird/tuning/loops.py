"""Control loops as exact linear models: broken at the actuators, with margins as a control engineer reads them.

A closed loop repeats every control period: sampled blocks run at its beginning, then the vehicle moves under constant
commands. Around a steady state both are linear maps, the first by exact derivatives of the blocks' equations, the
second by the matrix exponential of the vehicle's linear model, so that sampling, hold and delays of a period are in
the result as they are in a flight.

    s = (x, w)              states of the vehicle; all that sampled blocks keep or put out, and inputs
    s_after = J s           the blocks of this period, one after the other
    s_next = P s_after      P = exp([A B; 0 0] T)

The loop is broken at the commands of the actuators, along one axis d (roll, for instance): the controller's output
along it is replaced by v d. L(z) is minus the response of the controller along d to v.

Not modelled: blocks that are slower than the control period (navigator, GNSS, barometer, slow environment) are held
constant; the controller reads the true state, so lags of sensors, their filters and the estimator are not included; nor
are limits, noise and faults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ironbird.analysis.operating_point import OperatingPoint
from ironbird.blocks.actuators.surface_mixer import SurfaceMixer
from ironbird.blocks.controllers.fixed_wing_control import FixedWingControl
from ironbird.blocks.controllers.multicopter_control import MulticopterControl
from ironbird.blocks.controllers.navigator import BY_ATTITUDE, BY_POSITION, BY_VELOCITY
from ironbird.compiler.compiled import CompiledModel
from ironbird.compiler.flatten import ARRAYS
from ironbird.errors import ModelError, UnknownNameError, shortened
from ironbird.model.signal import Number
from ironbird.runtime.state import RunState
from ironbird.runtime.step import run
from ironbird.tuning.steady import HOVER_S, LINK, check_steady, fly_straight, hovering, is_wing, launched
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_vehicle

STILL = (0.05, 0.05)  # m/s and rad/s: above these the vehicle is not at rest; for a wing m/s up or down
POINTS = 800  # points of a frequency response
TOGETHER = 64  # frequencies that are solved at once
SLOWEST_RADPS = 0.05
AXES = ("lift", "roll", "pitch", "yaw")  # columns of a multicopter's allocation
FAULT = LINK.removesuffix(".value")  # block that passes on the command of an actuator
SAME = {  # what an axis of one kind of vehicle is called on another
    "roll": ("aileron",), "pitch": ("elevator",), "yaw": ("rudder",), "lift": ("throttle",),
    "aileron": ("roll",), "elevator": ("pitch",), "rudder": ("yaw",), "throttle": ("lift",),
    "bank": ("roll", "aileron"), "thrust": ("lift", "throttle"),
}  # fmt: skip
THROTTLE = "throttle"  # of a wing: all propellers together
ATTITUDE_SET, CONTROL_KIND = "offboard_attitude", at.NAVIGATOR("control_kind")


@dataclass(frozen=True)
class SetPoint:
    """A set-point of the cascade: its input, its response, and the control mode in which it is followed."""

    array: str  # array of the model: an input, or the held output of a slower block (the navigator)
    path: str
    answer: str
    kind: int


SET_POINTS = {
    "attitude": SetPoint("u", ATTITUDE_SET, at.BODY.euler, BY_ATTITUDE),
    "velocity": SetPoint("held", at.NAVIGATOR.velocity_set, at.BODY.velocity, BY_VELOCITY),
    "position": SetPoint("held", at.NAVIGATOR.position_set, at.BODY.position, BY_POSITION),
}
ENTRIES = ("x", "xd", "held", "u")  # parts of s, in this order
DRIFTS = 1e-6  # an eigenvalue above 1 by less than this only drifts


@dataclass(frozen=True)
class Margins:
    """Stability margins of a loop; infinite where the curve does not cross."""

    crossover_radps: float  # highest frequency at which |L| = 1
    phase_deg: float  # smallest phase margin over all crossovers
    gain_up_dB: float  # dB by which the gain may rise
    gain_down_dB: float  # dB by which the gain may fall
    delay_s: float  # s, smallest added delay that makes the loop unstable
    sensitivity: float  # largest |1 / (1 + L)|
    stable: bool  # whether the closed loop is stable, by its eigenvalues


@dataclass(frozen=True)
class Response:
    """Open-loop frequency response L(e^{jwT}) of one axis."""

    axis: str
    frequency_radps: np.ndarray
    L: np.ndarray
    margins: Margins

    @property
    def gain_dB(self) -> np.ndarray:
        """Gain of the broken loop in dB."""
        return 20 * np.log10(np.abs(self.L))

    @property
    def phase_deg(self) -> np.ndarray:
        """Phase of the broken loop in degrees, unwrapped; between -360 and 0 at the last crossing of |L| = 1."""
        phase = np.degrees(np.unwrap(np.angle(self.L)))
        above = np.flatnonzero(np.abs(self.L) >= 1)
        return np.asarray(phase - 360 * math.ceil(phase[above[-1] if len(above) else 0] / 360))


def check_axes(vehicle: str, axes: Sequence[str]) -> None:
    """Refuse axes that the loops of a vehicle do not have, and vehicles without loops, before anything is compiled."""
    known = axis_names(vehicle)
    for axis in axes:
        if axis not in known:
            same = next((name for name in SAME.get(axis, ()) if name in known), "")
            hint = f"; {axis} is {same}" if same else ""
            raise ModelError(f"unknown axis '{shortened(axis)}' of '{vehicle}': give {', '.join(known)}{hint}")


def axis_names(vehicle: str) -> list[str]:
    """The axes of a vehicle's loops, as `Loop.axes` has them, from its diagram alone."""
    check_steady(vehicle)
    blocks = load_vehicle(vehicle, control="reference" if is_wing(vehicle) else "truth").diagram.blocks
    names = [path.removesuffix(FAULT) for path in blocks if path.endswith(FAULT)]
    rotors = [name for name in names if name.startswith("rotor/")]
    control, mixer = blocks.get(at.CONTROL.path), blocks.get(at.SURFACE_MIXER.path)
    if isinstance(control, MulticopterControl) and control.rotors == len(rotors) == len(names):
        return list(AXES)
    if not isinstance(control, FixedWingControl):
        return names
    if isinstance(mixer, SurfaceMixer):
        return [*mixer.taken, THROTTLE]
    return [*(name.removeprefix("surface/") for name in names if name.startswith("surface/")), THROTTLE]


class Loop:
    """Closed loop of a vehicle around a steady state; it can be evaluated again with other gains."""

    def __init__(self, model: CompiledModel, point: OperatingPoint, period_s: float) -> None:
        self.model, self.point, self.period_s = model, point, period_s
        flat = model.flat
        self._every = round(period_s / flat.step_s)
        self.links = [path for path in flat.held.start if path.endswith(LINK)]
        symbols = dict(zip(ARRAYS, flat.rates.sx_in(), strict=True))
        s = ca.vertcat(*[symbols[name] for name in ENTRIES])
        after = dict(symbols)
        for group in flat.groups:  # in the kernel's order: each group reads what earlier ones wrote
            rate = group.group.rate
            if self._every % rate.every or rate.offset:
                continue
            values = group.function(*[after[name] for name in ARRAYS])
            columns = {"xd": ca.vertsplit(after["xd"]), "held": ca.vertsplit(after["held"])}
            for (array, row, _), value in zip(group.targets, ca.vertsplit(values), strict=True):
                columns[array][row] = value
            after |= {name: ca.vertcat(*entries) for name, entries in columns.items() if entries}
        sampled = ca.vertcat(*[after[name] for name in ENTRIES])
        rates = ca.vertcat(flat.rates(*symbols.values()), ca.SX(s.numel() - flat.x.size, 1))
        answers_of = flat.outputs(*symbols.values())[self._answer_rows()]
        J, generator, output = (ca.jacobian(part, s) for part in (sampled, rates, answers_of))
        self._kept = self._taking_part(J, generator)
        kept = self._kept.tolist()
        self._jacobians = ca.Function(
            "loop", list(symbols.values()), [J[kept, kept], generator[kept, kept], output[:, kept]]
        )

    def _answer_rows(self) -> list[int]:
        """Log rows of attitude, velocity and position, three each."""
        rows = [self.model.flat.log.rows(point.answer) for point in SET_POINTS.values()]
        return [row for part in rows for row in range(part.start, part.stop)]

    def _given(self) -> dict[str, SetPoint]:
        """Set-points that the model has and that nothing in the loop overwrites."""
        flat, points = self.model.flat, {}
        columns = {"u": flat.u, "held": flat.held}
        for name, point in SET_POINTS.items():
            if point.path in columns[point.array].start:
                navigator = flat.diagram.blocks.get(at.NAVIGATOR.path)
                slow = navigator is not None and (navigator.sample_s or 0.0) > self.period_s
                if point.array == "u" or slow:
                    points[name] = point
        return points

    def _entries(self, array: str, path: str) -> list[int]:
        """Indices of a signal in the state vector s."""
        flat = self.model.flat
        columns = {"x": flat.x, "xd": flat.xd, "held": flat.held, "u": flat.u}
        first = sum(columns[name].size for name in ENTRIES[: ENTRIES.index(array)])
        rows = columns[array].rows(path)
        return list(range(first + rows.start, first + rows.stop))

    def _places(self, array: str, path: str) -> list[int]:
        """Indices of a signal among the entries that take part."""
        return [int(np.searchsorted(self._kept, entry)) for entry in self._entries(array, path)]

    def _taking_part(self, J: ca.SX, generator: ca.SX) -> np.ndarray:
        """Entries of s that commands or set-points affect and that affect commands; others are constant."""
        pattern = np.logical_or(*(np.array(ca.DM(part.sparsity(), 1).full()) != 0 for part in (J, generator)))
        commands = np.zeros(len(pattern), bool)
        for path in self.links:
            commands[self._entries("held", path)] = True
        begun = commands.copy()
        for point in self._given().values():
            begun[self._entries(point.array, point.path)] = True
        return np.flatnonzero(_grown(pattern, begun) & _grown(pattern.T, commands))

    def _maps(
        self, params: Mapping[str, Number] | None = None, inputs: Mapping[str, Number] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """J, P and the output rows with some values changed; the steady state is assumed to stay the same."""
        point = self.point
        if params or inputs:
            arrays = (point.x, point.xd, point.held.copy(), point.u.copy(), point.p.copy())
            point = OperatingPoint(point.flat, point.t, *arrays)
            for path, value in {**(params or {}), **(inputs or {})}.items():
                point.set(path, value)
        J, generator, outputs = (ca.DM(part).full() for part in self._jacobians(*point.columns()))
        return J, exponential(generator * self.period_s), outputs

    def eigenvalues(self, params: Mapping[str, Number] | None = None) -> np.ndarray:
        """Eigenvalues of the closed loop over one period, the largest first."""
        J, P, _ = self._maps(params)
        values = np.linalg.eigvals(P @ J)
        return np.asarray(values[np.argsort(-np.abs(values))])

    def answer(
        self,
        loop: str,
        axis: int,
        params: Mapping[str, Number] | None = None,
        frequency_radps: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies in rad/s, and the response of attitude, velocity or position to its set-point (1: it follows).

        Axes are roll, pitch, yaw or north, east, down. Loops outside of the given one are open.
        """
        if loop not in SET_POINTS:
            raise UnknownNameError("loop", loop, SET_POINTS)
        point = self._given().get(loop)
        if point is None:
            raise ModelError(f"the controller of '{self.model.name}' takes no {loop} set-point")
        inputs: dict[str, Number] = {CONTROL_KIND: float(point.kind)}
        if loop == "attitude":
            full = self.point[at.CONTROL("max_thrust")].sum()
            inputs["offboard_thrust"] = float(self.point[at.CONTROL("thrust_total")][0] / full)
        J, P, outputs = self._maps(params, inputs)
        closed, row = P @ J, self._places(point.array, point.path)[axis]
        rest = np.delete(np.arange(len(closed)), row)
        w = self.frequencies() if frequency_radps is None else frequency_radps
        seen = outputs[3 * list(SET_POINTS).index(loop) + axis, rest]
        return w, answers(closed[np.ix_(rest, rest)], closed[rest, row], seen, np.exp(1j * w * self.period_s))

    def frequencies(self) -> np.ndarray:
        """Frequencies in rad/s from low to nearly half the sampling rate."""
        top = math.log10(0.99 * math.pi / self.period_s)
        return np.logspace(math.log10(SLOWEST_RADPS), top, POINTS)

    def axes(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """For each axis: how commands move along it, and its weights in the commands.

        Roll, pitch, yaw and lift of a multicopter; aileron, elevator, rudder and throttle of a wing, also if elevons or
        other surfaces share them; every actuator of other vehicles.
        """
        control = self.model.flat.diagram.blocks.get(at.CONTROL.path)
        rotors = [path for path in self.links if path.startswith("rotor/")]
        if isinstance(control, MulticopterControl) and control.rotors == len(rotors) == len(self.links):
            allocation = self.point[at.CONTROL("allocation")].reshape(-1, 4, order="F")
            geometry = np.linalg.pinv(allocation)
            return {axis: (allocation[:, i], geometry[i]) for i, axis in enumerate(AXES)}
        unit = np.eye(len(self.links))
        if isinstance(control, FixedWingControl):
            return self._wing_axes(unit)
        return {path.removesuffix(LINK): (unit[i], unit[i]) for i, path in enumerate(self.links)}

    def _wing_axes(self, unit: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Axes of a wing's controller: through the mixer if it has one; all propellers as one; no launcher."""
        names = [path.removesuffix(LINK) for path in self.links]
        rotors = [i for i, name in enumerate(names) if name.startswith("rotor/")]
        mixer = self.model.flat.diagram.blocks.get(at.SURFACE_MIXER.path)
        axes = {}
        if isinstance(mixer, SurfaceMixer):
            matrix = self.point[at.SURFACE_MIXER("matrix")].reshape(len(mixer.given), -1, order="F")
            rows = [names.index(f"surface/{name}") for name in mixer.given]
            back = np.linalg.pinv(matrix)
            for i, axis in enumerate(mixer.taken):
                axes[axis] = (matrix[:, i] @ unit[rows], back[i] @ unit[rows])
        else:
            for i, name in enumerate(names):
                if name.startswith("surface/"):
                    axes[name.removeprefix("surface/")] = (unit[i], unit[i])
        axes[THROTTLE] = (unit[rotors].sum(axis=0), unit[rotors].mean(axis=0))
        return axes

    def closed_axes(self) -> list[str]:
        """Axes through which there is a loop; an actuator that is unused in hover has none."""
        return [axis for axis in self.axes() if np.abs(self._broken(axis, None, self.frequencies()[:1])).max() > 0]

    def broken(
        self, axis: str, params: Mapping[str, Number] | None = None, frequency_radps: np.ndarray | None = None
    ) -> Response:
        """Response of the loop broken at the actuators along an axis."""
        axes = self.axes()
        if axis not in axes:
            raise UnknownNameError("axis", axis, axes, f"the loops of '{self.model.name}'")
        w = self.frequencies() if frequency_radps is None else frequency_radps
        L = self._broken(axis, params, w)
        if not np.abs(L).max() > 0:
            raise ModelError(f"in steady flight '{self.model.name}' does not use {axis}: there is no loop to break")
        closed = np.abs(self.eigenvalues(params)[0]) < 1 + DRIFTS
        return Response(axis, w, L, margins_of(w, L, bool(closed)))

    def _broken(self, axis: str, params: Mapping[str, Number] | None, w: np.ndarray) -> np.ndarray:
        along, share = self.axes()[axis]
        J, P, _ = self._maps(params)
        rows = [row for path in self.links for row in self._places("held", path)]
        cut = J.copy()
        cut[rows] -= np.outer(along, share @ J[rows])
        put = np.zeros(len(J))
        put[rows] = along
        return -answers(P @ cut, P @ put, share @ J[rows], np.exp(1j * w * self.period_s))


def margins_of(frequency_radps: np.ndarray, L: np.ndarray, stable: bool) -> Margins:
    """Margins from a frequency response; crossings are interpolated linearly between points."""
    w, size, phase = np.log(frequency_radps), np.log(np.abs(L)), np.unwrap(np.angle(L))
    phases, delays, top = [math.inf], [math.inf], math.nan
    for i in np.flatnonzero(np.diff(np.sign(size))):
        part = size[i] / (size[i] - size[i + 1])
        at_w, angle = math.exp(w[i] + part * (w[i + 1] - w[i])), phase[i] + part * (phase[i + 1] - phase[i])
        behind = math.pi + math.remainder(angle, 2 * math.pi)  # 0 to 2 pi after -180 degrees
        phases.append(min(behind, 2 * math.pi - behind))
        delays.append(behind / at_w)
        top = at_w
    up, down = [math.inf], [math.inf]
    turned = phase / math.pi  # odd numbers are the negative real axis
    odd = (turned + 1) / 2
    for i in np.flatnonzero(np.diff(np.floor(odd))):
        part = (math.ceil(min(odd[i], odd[i + 1])) - odd[i]) / (odd[i + 1] - odd[i])
        gain = (size[i] + part * (size[i + 1] - size[i])) * 20 / math.log(10)
        (up if gain < 0 else down).append(float(abs(gain)))
    return Margins(
        crossover_radps=top,
        phase_deg=math.degrees(min(phases)),
        gain_up_dB=min(up),
        gain_down_dB=min(down),
        delay_s=min(delays),
        sensitivity=float(np.max(1 / np.abs(1 + L))),
        stable=stable,
    )


def answers(A: np.ndarray, b: np.ndarray, c: np.ndarray, z: np.ndarray) -> np.ndarray:
    """c (z - A)^-1 b for many z, by eigenvalues where these are well conditioned."""
    # States that b does not reach or c does not read cost time, and may be at z = 1 exactly
    reached = _grown(A, np.abs(b) > 0)
    seen = _grown(A.T, np.abs(c) > 0)
    keep = np.flatnonzero(reached & seen)
    if not len(keep):
        return np.zeros(len(z), complex)
    A, b, c = A[np.ix_(keep, keep)], b[keep], c[keep]
    values, vectors = np.linalg.eig(A)
    left = np.linalg.solve(vectors, b.astype(complex))
    if np.linalg.cond(vectors) < 1e10:
        return np.asarray((c @ vectors * left) @ (1 / (z[None, :] - values[:, None])))
    response, eye = np.empty(len(z), complex), np.eye(len(keep))
    for first in range(0, len(z), TOGETHER):
        part = z[first : first + TOGETHER]
        systems = part[:, None, None] * eye - A
        response[first : first + TOGETHER] = (
            np.linalg.solve(systems, np.broadcast_to(b[:, None], (len(part), len(b), 1)))[..., 0] @ c
        )
    return response


def _grown(A: np.ndarray, seed: np.ndarray) -> np.ndarray:
    """Entries that can be reached from the seed entries through the nonzeros of A."""
    links, reached = A != 0, seed.copy()
    while True:
        more = reached | links[:, reached].any(axis=1)
        if (more == reached).all():
            return np.asarray(reached)
        reached = more


def exponential(M: np.ndarray) -> np.ndarray:
    """exp(M) by scaling, a Taylor sum and squaring; the norms here are small (one control period)."""
    halvings = max(0, math.ceil(math.log2(max(np.abs(M).sum(axis=1).max(), 1e-12))) + 4)
    small, term = M / 2.0**halvings, np.eye(len(M))
    total = term.copy()
    for n in range(1, 13):  # (1/16)^13 / 13! is below 1e-25
        term = term @ small / n
        total += term
    for _ in range(halvings):
        total = total @ total
    return np.asarray(total)


def loop_at(state: RunState, lane: int = 0) -> Loop:
    """The loop around the current state of a run, which should be at rest."""
    model = state.model
    block, place = divmod(lane, state.width)
    arrays = (state.x, state.xd, state.held, state.inputs, state.params)
    point = OperatingPoint(model.flat, state.time_s, *(array[block, :, place].copy() for array in arrays))
    control = model.flat.diagram.blocks.get(at.CONTROL.path)
    if control is None or control.sample_s is None:
        raise ModelError(f"model '{model.name}' has no sampled controller at '{at.CONTROL.path}'")
    return Loop(model, point, control.sample_s)


def hover_loop(vehicle: str, params: Mapping[str, Number] | None = None) -> Loop:
    """The loop of a hovering vehicle whose controller reads the true state."""
    state = hovering(vehicle, params=params)
    run(state, HOVER_S, log=[at.BODY.position], threads=1)
    stop = state.stop_of()
    if stop is not None:
        raise ModelError(f"{vehicle} does not hover with these gains: {stop.reason} at {stop.time_s:.2f} s")
    loop = loop_at(state)
    speed, turn = (float(np.abs(loop.point[path]).max()) for path in (at.BODY.velocity, at.BODY.rates))
    if not (speed < STILL[0] and turn < STILL[1]):
        raise ModelError(
            f"{vehicle} does not hover still with these gains: {speed:.3g} m/s and {turn:.3g} rad/s after "
            f"{HOVER_S:g} s; margins are those of a steady state"
        )
    return loop


def cruise_loop(vehicle: str, params: Mapping[str, Number] | None = None) -> Loop:
    """The loop of a wing in straight and level flight at cruise speed, whose controller reads the true state."""
    state = launched(vehicle, params=params)
    fly_straight(state)
    stop = state.stop_of()
    if stop is not None:
        raise ModelError(f"{vehicle} does not fly straight with these gains: {stop.reason} at {stop.time_s:.2f} s")
    loop = loop_at(state)
    sink, turn = float(abs(loop.point[at.BODY.velocity][2])), float(np.abs(loop.point[at.BODY.rates]).max())
    if not (sink < STILL[0] and turn < STILL[1]):
        raise ModelError(
            f"{vehicle} does not fly straight and level with these gains: {sink:.3g} m/s up or down and {turn:.3g} "
            f"rad/s after {state.time_s:g} s; margins are those of a steady state"
        )
    return loop


def steady_loop(vehicle: str, params: Mapping[str, Number] | None = None) -> Loop:
    """The loop of a wing in straight and level flight, or of another vehicle in hover."""
    return cruise_loop(vehicle, params) if is_wing(vehicle) else hover_loop(vehicle, params)
