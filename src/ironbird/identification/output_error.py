"""Output error and maximum likelihood on a vehicle's own equations, with exact derivatives and multiple shooting.

The record is cut into pieces; the state at the begin of each is unknown. With `continuous` each piece must begin where
the previous one ends, which is the output-error method over the whole record, kept stable on unstable vehicles; without
it disturbances such as gusts, and commands that a slow log leaves out, are forgotten at every begin. Gauss-Newton on
the exact derivatives of the equations; weights by the residuals (maximum likelihood); bounds after Cramér and Rao,
widened where residuals are not white [Klein] and by what slow commands leave open. Ground time is cut off. Sampled
blocks (battery, atmosphere, wakes) have the values that the recorded motion
gives them. Not modelled: process noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

from ironbird.analysis.operating_point import operating_point
from ironbird.compiler.compiled import compile_model
from ironbird.compiler.flatten import ARRAYS
from ironbird.credibility.airborne import airborne
from ironbird.credibility.drive import supply_ratio
from ironbird.credibility.plan import DriveTable
from ironbird.credibility.readers import ATTITUDE, FORCE, POSITION, RATES, VELOCITY
from ironbird.credibility.record import Record, Track, check_whole
from ironbird.errors import RecordError
from ironbird.identification.free import Free, free_parameters
from ironbird.identification.residuals import Residuals, coloured_deviations, look_at
from ironbird.identification.sampled import needed_rows, sampled_function
from ironbird.model.signal import Number
from ironbird.rotations import conjugate, from_euler, rotate
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_vehicle, read_tables, vehicle_path

FASTEST_S, SLOWEST_S = 0.002, 0.025  # steps between compared rows; the record's own if it lies there
SUBSTEP_S = 0.004  # of Runge-Kutta: as often as links take up commands; a third of a quick motor's time constant
PIECE_S = 0.5
EVERY_COMMAND_S = 0.006  # between two rows: slower ones leave commands out
IN_STEP = 0.2  # offset over the change from row to row: 0.01 to 0.38 on six flights of three vehicles, 8 to 100 ms
LEAST_HEIGHT_M = 5.0  # above the ground, which must not push
ITERATIONS = 25
CONVERGED = 1e-4  # change of the factors
PRIOR = 1.0  # relative deviation of the prior: keeps unidentified parameters from diverging
BEGIN_SIGMA = np.repeat([1.0, 0.1, 0.5], [3, 4, 3])  # of recorded begins: m/s, quaternion, rad/s; wide
BEGIN_MOTOR, FIRST_MOTOR = 0.1, 5.0  # of a motor's speed; before the first piece its commands are not known
UNTOLD = 0.5  # relative deviation from which on the data do not identify a parameter
KIN = 0.95  # correlation of two estimates from which on they cannot be separated
OUTPUTS = {
    at.BODY.velocity: VELOCITY,
    at.BODY.euler: ATTITUDE,
    at.BODY.rates: RATES,
    at.BODY.specific_force: FORCE,
}
BODY_STATES = {"body.v": 3, "body.q": 4, "body.w": 3}
LINK = "/command_fault.value"  # the command of a motor


@dataclass(frozen=True)
class Estimate:
    """One identified parameter: value before and after, standard deviation, bound, insensitivity."""

    name: str
    unit: str
    before: float
    value: float
    sigma: float  # standard deviation, widened for coloured residuals
    bound: float  # after Cramér and Rao, for white residuals
    insensitivity: float  # deviation if all others were known

    @property
    def relative(self) -> float:
        """Standard deviation as a share of the value."""
        return self.sigma / abs(self.value)

    @property
    def identified(self) -> bool:
        """Whether the data identify the parameter."""
        return self.relative < UNTOLD

    def interval(self, sigmas: float = 1.959964) -> tuple[float, float]:
        """Interval of `sigmas` standard deviations around the value; 95 % by default."""
        return self.value - sigmas * self.sigma, self.value + sigmas * self.sigma


@dataclass(frozen=True)
class Fit:
    """Result of an identification: estimates, correlations, residuals and curves."""

    record: str
    vehicle: str
    method: str
    free: list[Free]
    estimates: list[Estimate]
    factors: np.ndarray
    correlation: np.ndarray
    signals: list[str]
    noise: dict[str, float]  # standard deviation of the residual of each signal
    residuals: list[Residuals]
    time_s: np.ndarray
    measured: np.ndarray  # [row, signal]
    modelled: np.ndarray
    iterations: int
    notes: list[str]

    def correlated(self) -> list[tuple[str, str, float]]:
        """Pairs of parameters that the data cannot separate, with their correlation."""
        names = [estimate.name for estimate in self.estimates]
        pairs = [(i, j) for i in range(len(names)) for j in range(i) if abs(self.correlation[i, j]) > KIN]
        return [(names[j], names[i], float(self.correlation[i, j])) for i, j in pairs]


class Problem:
    """The equations of a vehicle as functions of states, unknown factors and commands, with their derivatives."""

    def __init__(
        self,
        name: str | Path,
        words: Sequence[str],
        params: Mapping[str, Number] | None = None,
        height_m: float = LEAST_HEIGHT_M,
    ) -> None:
        self.path = vehicle_path(name)
        self.vehicle = load_vehicle(name, control="external")
        self.model = compile_model(self.vehicle.diagram)
        self.tables = read_tables(self.path)
        flat = self.model.flat
        missing = [path for path in BODY_STATES if path not in flat.x.start]
        if missing:
            raise RecordError(f"vehicle '{self.vehicle.id}' has no {', '.join(missing)}; it cannot be identified here")
        self.free = free_parameters(self.model, self.tables, words)
        self.point = operating_point(self.model, params)
        self.point.set("body.p", [0.0, 0.0, -height_m])
        self.inputs = [input_ for input_ in flat.u.start if f"{input_}{LINK}" in flat.held.start]
        if not self.inputs:
            raise RecordError(f"vehicle '{self.vehicle.id}' takes no commands that are known")
        self.point.refresh()
        links = [flat.held.rows(f"{input_}{LINK}").start for input_ in self.inputs]
        self.held_rows = [*links, *needed_rows(flat, links)]  # what drives the equations from outside
        self._build()

    def _build(self) -> None:
        flat, point = self.model.flat, self.point
        self.rows: list[int] = []
        for path in BODY_STATES:
            self.rows += range(flat.x.rows(path).start, flat.x.rows(path).stop)
        self.motors = [flat.x.rows(path).start for path in flat.x.start if path.endswith("/motor.omega")]
        self.rows += self.motors
        x, theta, u = (
            ca.SX.sym("x", len(self.rows)),
            ca.SX.sym("theta", len(self.free)),
            ca.SX.sym("u", len(self.held_rows)),
        )
        columns = [ca.SX(ca.DM(np.atleast_1d(np.asarray(column, float)))) for column in point.columns()]
        for place, row in enumerate(self.rows):
            columns[ARRAYS.index("x")][row] = x[place]
        for place, free in enumerate(self.free):
            for row in free.rows:
                columns[ARRAYS.index("p")][row] = columns[ARRAYS.index("p")][row] * theta[place]
        for place, row in enumerate(self.held_rows):
            columns[ARRAYS.index("held")][row] = u[place]
        rates = ca.densify(flat.rates.call(columns)[0][self.rows])
        outputs = flat.outputs.call(columns)[0]
        chosen = [row for path in OUTPUTS for row in range(flat.log.rows(path).start, flat.log.rows(path).stop)]
        y = ca.densify(outputs[chosen])
        dense = [ca.densify(ca.jacobian(a, b)) for a in (rates, y) for b in (x, theta)]
        self._rates = ca.Function("rates", [x, theta, u], [rates, dense[0], dense[1]])
        self._outputs = ca.Function("outputs", [x, theta, u], [y, dense[2], dense[3]])
        self._maps: dict[tuple[str, int], ca.Function] = {}

    def _mapped(self, function: ca.Function, count: int) -> ca.Function:
        key = (function.name(), count)
        if key not in self._maps:
            self._maps[key] = function.map(count)
        return self._maps[key]

    def _evaluate(
        self, function: ca.Function, x: np.ndarray, theta: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values [piece, row] and derivatives [piece, row, column] of a function for all pieces."""
        count = x.shape[0]
        values = self._mapped(function, count)(x.T, np.tile(theta[:, None], count), u.T)
        value, by_x, by_theta = (np.array(v) for v in values)
        size = value.shape[0]
        return (
            value.T,
            by_x.reshape(size, count, -1).transpose(1, 0, 2),
            by_theta.reshape(size, count, -1).transpose(1, 0, 2),
        )

    def rates(self, x: np.ndarray, theta: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Time derivatives of the states, and their derivatives by states and factors."""
        return self._evaluate(self._rates, x, theta, u)

    def outputs(self, x: np.ndarray, theta: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs, and their derivatives by states and factors."""
        return self._evaluate(self._outputs, x, theta, u)

    def driven(self, record: Record, time_s: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Commands [row, input], and beside them what the sampled blocks hold at these times of a record."""
        flat = self.model.flat
        places = [(name, "body.p") for name in POSITION]
        position = np.column_stack(
            [record.tracks[n].at(time_s) if n in record.tracks else np.full(len(time_s), self.point[p][i])
             for i, (n, p) in enumerate(places)]
        )  # fmt: skip
        position[:, 2] = np.minimum(position[:, 2], -LEAST_HEIGHT_M)
        q, velocity, rates = motion_of(record, time_s)
        outside = self.held_rows[len(self.inputs) :]
        known = np.column_stack([commands, np.tile(self.point.held[outside], (len(time_s), 1))])
        x = np.tile(self.point.x[:, None], len(time_s))
        x[flat.x.rows("body.p")] = position.T
        x[self.rows] = np.column_stack([velocity, q, rates, self.speeds(known, np.ones(len(self.free)))]).T
        u = np.tile(self.point.u[:, None], len(time_s))
        for input_, values in zip(self.inputs, commands.T, strict=True):
            u[flat.u.rows(input_)] = values
        supply = supply_ratio(record, self.model, time_s)
        held = sampled_function(flat, self.point, outside, supplied=supply is not None)
        given = [x, u] if supply is None else [x, u, supply[None]]
        return np.column_stack([commands, np.array(held.map(len(time_s))(*given)).T])

    def speeds(self, u: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Steady speeds of the motors [row, motor] for inputs [row, input], by Newton's method on their rates."""
        count = len(self.motors)
        x = np.zeros((len(u), len(self.rows)))
        x[:, 3] = 1.0
        if not count:
            return x[:, :0]
        x[:, -count:] = 100.0
        for _ in range(3):  # linear in the speed, so the first step is exact
            f, fx, _ = self.rates(x, theta, u)
            x[:, -count:] -= np.linalg.solve(fx[:, -count:, -count:], f[:, -count:, None])[:, :, 0]
        return np.asarray(x[:, -count:])

    def run(
        self, x0: np.ndarray, theta: np.ndarray, u: np.ndarray, step_s: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Integrate all pieces: outputs [piece, step, row], their derivatives by begin and factors, final states.

        Classical Runge-Kutta of the states and of their derivatives; commands u [piece, step, substep, input].
        """
        pieces, steps, parts, n, k = u.shape[0], u.shape[1], u.shape[2], x0.shape[1], len(theta)
        h = step_s / parts
        x = x0.copy()
        s = np.concatenate([np.broadcast_to(np.eye(n), (pieces, n, n)), np.zeros((pieces, n, k))], axis=2)
        ys, ss = [], []
        for step in range(steps):
            y, yx, yt = self.outputs(x, theta, u[:, step, 0])
            sensitivity = yx @ s
            sensitivity[:, :, n:] += yt
            ys.append(y)
            ss.append(sensitivity)
            for part in range(parts):
                x, s = self._stepped(x, s, theta, u[:, step, part], h)
        return np.stack(ys, axis=1), np.stack(ss, axis=1), x, s

    def _stepped(
        self, x: np.ndarray, s: np.ndarray, theta: np.ndarray, command: np.ndarray, h: float
    ) -> tuple[np.ndarray, np.ndarray]:
        n = x.shape[1]

        def slope(at_x: np.ndarray, at_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            f, fx, ft = self.rates(at_x, theta, command)
            out = fx @ at_s
            out[:, :, n:] += ft
            return f, out

        f1, g1 = slope(x, s)
        f2, g2 = slope(x + h / 2 * f1, s + h / 2 * g1)
        f3, g3 = slope(x + h / 2 * f2, s + h / 2 * g2)
        f4, g4 = slope(x + h * f3, s + h * g3)
        return x + h / 6 * (f1 + 2 * f2 + 2 * f3 + f4), s + h / 6 * (g1 + 2 * g2 + 2 * g3 + g4)


def identify(
    record: Record,
    name: str | Path,
    words: Sequence[str],
    *,
    how: DriveTable | None = None,
    signals: Sequence[str] | None = None,
    window_s: tuple[float, float] | None = None,
    piece_s: float = PIECE_S,
    continuous: bool | None = None,
    params: Mapping[str, Number] | None = None,
) -> Fit:
    """Identify parameters of a vehicle from a record of its motion and commands.

    `continuous` lets each piece begin where the one before ends; by default if the record has every command.
    """
    if not words:
        raise RecordError("nothing is free: name what to identify, for example mass,inertia")
    how = how or DriveTable()
    problem = Problem(name, words, params, height_of(record))
    names = [n for group in OUTPUTS.values() for n in group]
    used = list(signals) if signals else [n for n in names if n in record.tracks and n not in FORCE]
    for signal in used:
        if signal not in names:
            raise RecordError(f"'{signal}' is no output of the model; one of {', '.join(names)}")
    data = gathered(record, problem, how, used, window_s, piece_s)
    return _gauss_newton(
        record,
        problem,
        data,
        used,
        [names.index(n) for n in used],
        not data.unknown if continuous is None else continuous,
    )


@dataclass(frozen=True)
class Data:
    """Rows of a record, cut into pieces."""

    step_s: float
    time_s: np.ndarray  # [piece, step]
    u: np.ndarray  # [piece, step, substep, input]
    z: np.ndarray  # [piece, step, signal]
    there: np.ndarray  # of the same shape: whether the record has a sample of its own at that step
    x0: np.ndarray
    unknown: float  # standard deviation of an offset of all commands
    notes: list[str]


def gathered(
    record: Record,
    problem: Problem,
    how: DriveTable,
    used: Sequence[str],
    window_s: tuple[float, float] | None,
    piece_s: float,
) -> Data:
    signals = how.inputs or {input_: f"motor_{input_.rpartition('/')[2]}" for input_ in problem.inputs}
    commands = []
    for input_ in problem.inputs:
        if signals.get(input_, "") not in record.tracks:
            raise RecordError(
                f"{record.path.name} holds no command for '{input_}' (looked for '{signals.get(input_, input_)}'); "
                "a [drive] table in a tests file names it"
            )
        commands.append(record.tracks[signals[input_]])
    needed = [*VELOCITY, *ATTITUDE, *RATES]
    for name in needed:
        if name not in record.tracks:
            raise RecordError(f"{record.path.name} holds no {name}; identification needs {', '.join(needed)}")
    tracks = [record.tracks[name] for name in {*needed, *used}] + commands
    low, high = max(float(t.time_s[0]) for t in tracks), min(float(t.time_s[-1]) for t in tracks)
    begun, ended = airborne(record, commands)
    if window_s is not None:
        earliest, latest = max(low, begun), min(high, ended)
        if window_s[0] >= latest or window_s[1] <= earliest:
            raise RecordError(
                f"{record.path.name}: the window {window_s[0]:g} to {window_s[1]:g} s holds nothing of the flight, "
                f"which is recorded from {earliest:.2f} to {latest:.2f} s; choose a window within it (--window)"
            )
        low, high = max(low, window_s[0]), min(high, window_s[1])
    notes = [
        f"{word} {time_s:.2f} s it is on the ground: left out"
        for word, time_s, cut in (("before", begun, begun > low), ("after", ended, ended < high))
        if cut
    ]
    low, high = max(low, begun), min(high, ended)
    step_s = min(max(record.tracks[RATES[0]].step_s, FASTEST_S), SLOWEST_S)
    first = record.tracks[RATES[0]].time_s
    low = float(first[np.searchsorted(first, low - 1e-9)])  # rows at the samples of the rates
    steps = max(4, round(piece_s / step_s))
    pieces = math.floor((high - low) / (steps * step_s) + 1e-9)
    if pieces < 1:
        raise RecordError(f"{record.path.name} holds {max(high - low, 0):.2f} s, less than one piece of {piece_s:g} s")
    check_whole(record, needed, (low, low + pieces * steps * step_s))
    time_s = low + step_s * np.arange(pieces * steps)
    parts = math.ceil(step_s / SUBSTEP_S - 1e-9)
    edges = (time_s[:, None] + step_s / parts * np.arange(parts + 1)[None, :]).ravel()
    u = np.stack([_means(c, edges, how).reshape(-1, parts + 1)[:, :parts] for c in commands], axis=-1)
    unknown = _between_rows(commands, how, (low, high))
    if unknown:
        notes.append(
            f"its commands come every {commands[0].step_s * 1e3:.3g} ms and change each time: the bounds allow for an "
            f"offset of {unknown:.2g} that such rows cannot show; a log at the rate of control has closer bounds"
        )
    beside = problem.driven(record, time_s, u.mean(axis=1))[:, len(commands) :]
    u = np.concatenate([u, np.repeat(beside[:, None], parts, axis=1)], axis=2).reshape(pieces, steps, parts, -1)
    z = np.stack([record.tracks[name].at(time_s) for name in used], axis=-1).reshape(pieces, steps, -1)
    there = np.stack([_sampled_at(record.tracks[name].time_s, time_s, step_s) for name in used], axis=-1)
    begin = time_s.reshape(pieces, steps)[:, 0]
    q, velocity, rates = motion_of(record, begin)
    x0 = np.concatenate([velocity, q, rates, problem.speeds(u[:, 0, 0], np.ones(len(problem.free)))], axis=1)
    return Data(step_s, time_s.reshape(pieces, steps), u, z, there.reshape(pieces, steps, -1), x0, unknown, notes)


def _between_rows(commands: Sequence[Track], how: DriveTable, window_s: tuple[float, float]) -> float:
    """Standard deviation of an offset of all commands that a slow log cannot show; 0 if it has every command.

    Rows of a log are often in step with a control loop (set-points every 20 ms), so that each finds the commands at
    the same phase of a pattern: their mean is not that of the commands.
    """
    time_s = commands[0].time_s[(commands[0].time_s >= window_s[0]) & (commands[0].time_s <= window_s[1])]
    if len(time_s) < 2 or commands[0].step_s <= EVERY_COMMAND_S:
        return 0.0
    change = np.diff(np.mean([np.clip(c.held(time_s) * how.scale + how.offset, 0, 1) for c in commands], axis=0))
    return IN_STEP * float(np.sqrt(np.mean(change**2))) if np.mean(change != 0) > 0.5 else 0.0


def motion_of(record: Record, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Recorded attitude (quaternions), velocity and rates in the body's axes, at these times."""

    def at_times(names: Sequence[str]) -> np.ndarray:
        return np.column_stack([record.tracks[name].at(time_s) for name in names])

    q = from_euler(at_times(ATTITUDE))
    return q, rotate(conjugate(q), at_times(VELOCITY)), at_times(RATES)


def height_of(record: Record) -> float:
    """Height of the flight in m, clear of the ground."""
    down = record.tracks.get("down")
    return LEAST_HEIGHT_M if down is None else max(LEAST_HEIGHT_M, -float(np.mean(down.values)))


def _means(command: Track, edges: np.ndarray, how: DriveTable) -> np.ndarray:
    """Mean of a held command from each edge to the next."""
    values = np.clip(command.values * how.scale + how.offset, 0.0, 1.0)
    whole = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(command.time_s))])
    rows = np.clip(np.searchsorted(command.time_s, edges, side="right") - 1, 0, None)
    integral = whole[rows] + values[rows] * (edges - command.time_s[rows])
    after = np.concatenate([np.diff(integral), [0.0]])
    return np.asarray(after / np.maximum(np.concatenate([np.diff(edges), [1.0]]), 1e-12))


def _sampled_at(samples: np.ndarray, time_s: np.ndarray, step_s: float) -> np.ndarray:
    """Which rows have a real sample of the record within half a step."""
    after = np.clip(np.searchsorted(samples, time_s), 1, len(samples) - 1)
    near = np.minimum(np.abs(samples[after] - time_s), np.abs(samples[after - 1] - time_s))
    return np.asarray(near <= 0.5 * step_s)


def _wrapped(residual: np.ndarray, used: Sequence[str]) -> np.ndarray:
    for place, name in enumerate(used):
        if name in ATTITUDE:
            residual[..., place] = (residual[..., place] + math.pi) % (2 * math.pi) - math.pi
    return residual


@dataclass(frozen=True)
class _Look:
    """The model beside the record at one guess: outputs, residuals, their derivatives, and the ends of the pieces."""

    y: np.ndarray  # [piece, step, signal]
    s: np.ndarray  # [piece, step, signal, begin and factors]
    residual: np.ndarray
    ends: np.ndarray
    end_s: np.ndarray


@dataclass(frozen=True)
class _Search:
    """What does not change while the factors and begins are looked for."""

    record: Record
    problem: Problem
    data: Data
    used: Sequence[str]
    chosen: Sequence[int]
    continuous: bool
    begin_weight: np.ndarray

    def look(self, theta: np.ndarray, x0: np.ndarray, offset: float = 0.0) -> _Look:
        """Run all pieces, with an offset of all commands."""
        u = self.data.u.copy()
        u[..., : len(self.problem.inputs)] += offset
        with np.errstate(over="ignore", invalid="ignore"):
            y, s, ends, end_s = self.problem.run(x0, theta, u, self.data.step_s)
        y, s = y[:, :, self.chosen], s[:, :, self.chosen, :]
        residual = _wrapped(self.data.z - y, self.used) * self.data.there
        return _Look(y, s, residual, ends, end_s)

    def weight(self, look: _Look) -> np.ndarray:
        """Weights of the signals by the residuals: maximum likelihood."""
        count = len(self.used)
        rows = np.maximum(self.data.there.reshape(-1, count).sum(axis=0), 1)
        sigma = np.sqrt((look.residual.reshape(-1, count) ** 2).sum(axis=0) / rows)
        return np.asarray(1.0 / np.maximum(sigma, 1e-9))

    def step(
        self, look: _Look, theta: np.ndarray, x0: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The change of factors and begins, the gain of the gradient in the factors, and the Hessian."""
        hessian, gradient = _normal_equations(self.data, look.s, look.residual, weight, self.begin_weight, theta, x0)
        rows, gaps = _continuity(x0, look.ends, look.end_s, len(theta)) if self.continuous else ([], [])
        return (*_solved(hessian, gradient, rows, gaps, len(theta)), hessian)

    def run_away(self, look: _Look) -> RecordError:
        """The error for a model that leaves the record, with the place where it is farthest off."""
        spread = np.maximum(np.std(self.data.z.reshape(-1, len(self.used)), axis=0), 1e-6)
        off = np.nan_to_num(np.abs(look.residual) / spread, nan=np.inf)
        piece, step, place = np.unravel_index(int(np.argmax(off)), off.shape)
        signal = self.used[int(place)]
        times = self.data.time_s[piece]
        length_s = self.data.step_s * len(times)
        free = "" if not self.continuous else ", begins that do not follow from each other (--no-continuous)"
        return RecordError(
            f"{self.record.path.name}: the model runs away within a piece, most from {signal} at {times[step]:.2f} s, "
            f"in the piece of {length_s:.2g} s that begins at {times[0]:.2f} s: the vehicle is unstable "
            f"without its control, or the commands are too slow. Take --method equation-error, "
            f"which cannot run away, shorter pieces (--piece {0.4 * length_s:.1g}){free}, or a window (--window)"
        )


def _gauss_newton(
    record: Record, problem: Problem, data: Data, used: Sequence[str], chosen: Sequence[int], continuous: bool
) -> Fit:
    (pieces, n), k = data.x0.shape, len(problem.free)
    theta, x0 = np.ones(k), data.x0.copy()
    weight = 1.0 / np.maximum(np.std(data.z.reshape(-1, len(used)), axis=0) * 0.1, 1e-6)
    motor_sigma = np.maximum(BEGIN_MOTOR * data.x0[:, 10:], 1.0)
    if continuous:
        motor_sigma[0] *= FIRST_MOTOR / BEGIN_MOTOR
    begin_weight = 1 / np.concatenate([np.tile(BEGIN_SIGMA, (pieces, 1)), motor_sigma], axis=1) ** 2
    if continuous:  # later begins follow from the first: weighting them too would count the record's noise twice
        begin_weight[1:] = 0.0
    search = _Search(record, problem, data, used, chosen, continuous, begin_weight)
    iterations, most = 0, math.inf
    while iterations < ITERATIONS and not (iterations > 4 and most < CONVERGED):
        iterations += 1
        look = search.look(theta, x0)
        if not np.isfinite(look.ends).all():
            raise search.run_away(search.look(np.ones(k), data.x0))
        if iterations > 2:
            weight = search.weight(look)
        step, gain, hessian = search.step(look, theta, x0, weight)
        most = float(np.max(np.abs(step[:k]), initial=0.0))
        share = min(1.0, 0.3 / most) if most > 0 else 1.0  # limits the change of the factors per step
        before = theta, x0
        theta = np.clip(theta + share * step[:k], 0.05, 20.0)
        most = float(np.max(np.abs(theta - before[0]), initial=0.0))
        x0 = x0 + share * step[k:].reshape(pieces, n)
    if most > 0.05:
        raise not_converged(problem, iterations, most)
    looks = [look_at(name, look.residual[:, :, place][data.there[:, :, place]]) for place, name in enumerate(used)]
    covariance = gain[:, :k]  # after Cramér and Rao
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    pull = _pull(gain, look.s, data.there, weight)
    widened = coloured_deviations(pull, look.residual.reshape(-1, len(used)), deviations)
    if data.unknown:
        moved = search.step(search.look(*before, data.unknown), *before, weight)[0] - step
        widened = np.hypot(widened, moved[:k])
    scale = np.where(deviations > 0, deviations, 1.0)
    return Fit(
        record.path.name,
        problem.vehicle.id,
        "output error, " + ("continuous" if continuous else "pieces"),
        problem.free,
        estimates_of(problem, theta, widened, deviations, 1 / np.sqrt(np.diag(hessian)[:k])),
        theta,
        covariance / np.outer(scale, scale),
        list(used),
        {name: float(1 / w) for name, w in zip(used, weight, strict=True)},
        looks,
        data.time_s.ravel(),
        data.z.reshape(-1, len(used)),
        look.y.reshape(-1, len(used)),
        iterations,
        data.notes,
    )


def _normal_equations(
    data: Data,
    s: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray,
    begin_weight: np.ndarray,
    theta: np.ndarray,
    x0: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Hessian and gradient in [factors, begin of piece 1, begin of piece 2, …]; `s` are the sensitivities."""
    (pieces, n), k = x0.shape, len(theta)
    q_rows = np.arange(3, 7)
    size = k + n * pieces
    hessian, gradient = np.zeros((size, size)), np.zeros(size)
    hessian[:k, :k] += np.eye(k) / PRIOR**2
    gradient[:k] += (1 - theta) / PRIOR**2
    for m in range(pieces):
        j = (s[m] * (weight[None, :] * data.there[m])[:, :, None]).reshape(-1, n + k)
        r = (residual[m] * weight[None, :]).reshape(-1)
        mine = slice(k + n * m, k + n * (m + 1))
        jx, jt = j[:, :n], j[:, n:]
        hessian[:k, :k] += jt.T @ jt
        hessian[:k, mine] += jt.T @ jx
        hessian[mine, :k] += jx.T @ jt
        hessian[mine, mine] += jx.T @ jx
        gradient[:k] += jt.T @ r
        gradient[mine] += jx.T @ r
        hessian[mine, mine] += np.diag(begin_weight[m])  # states that are not fitted begin as recorded
        gradient[mine] += begin_weight[m] * (data.x0[m] - x0[m])
        length = 2 * x0[m, q_rows] * 1e3  # quaternions of unit length
        hessian[mine, mine][np.ix_(q_rows, q_rows)] += np.outer(length, length)
        gradient[k + n * m + q_rows] += length * 1e3 * (1 - x0[m, q_rows] @ x0[m, q_rows])
    return hessian, gradient


def _continuity(
    x0: np.ndarray, ends: np.ndarray, end_s: np.ndarray, k: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Rows and gaps of the constraint that each piece begins where the previous one ends."""
    pieces, n = x0.shape
    rows, gaps = [], []
    for m in range(pieces - 1):
        row = np.zeros((n, k + n * pieces))
        row[:, :k] = end_s[m][:, n:]
        row[:, k + n * m : k + n * (m + 1)] = end_s[m][:, :n]
        row[:, k + n * (m + 1) : k + n * (m + 2)] = -np.eye(n)
        rows.append(row)
        gaps.append(x0[m + 1] - ends[m])
    return rows, gaps


def not_converged(problem: Problem, iterations: int, most: float) -> RecordError:
    """The error for a fit that does not converge."""
    return RecordError(
        f"no convergence after {iterations} iterations (factors still change by {most:.2g}): the record does not "
        f"excite {', '.join(f.name for f in problem.free)}, or the vehicle is another"
    )


def estimates_of(
    problem: Problem, theta: np.ndarray, widened: np.ndarray, bounds: np.ndarray, alone: np.ndarray
) -> list[Estimate]:
    """The factors as parameters with their deviations."""
    return [
        Estimate(
            free.name,
            free.unit,
            free.value,
            free.value * float(factor),
            abs(free.value) * float(wide),
            abs(free.value) * float(bound),
            abs(free.value) * float(one),
        )
        for free, factor, wide, bound, one in zip(problem.free, theta, widened, bounds, alone, strict=True)
    ]


def _solved(
    hessian: np.ndarray, gradient: np.ndarray, rows: Sequence[np.ndarray], gaps: Sequence[np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The step with continuity as constraints, and the factors' rows of the inverse (gain of the gradient)."""
    size = len(gradient)
    scale = 1 / np.sqrt(np.maximum(np.diag(hessian), 1e-12))
    scaled = hessian * np.outer(scale, scale) + 1e-12 * np.eye(size)
    if rows:
        c = np.concatenate(rows) * scale[None, :]
        matrix = np.block([[scaled, c.T], [c, np.zeros((len(c), len(c)))]])
        right = np.concatenate([gradient * scale, np.concatenate(gaps)])
    else:
        matrix, right = scaled, gradient * scale
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(matrix)
    step = (inverse @ right)[:size] * scale
    return step, inverse[:k, :size] * np.outer(scale[:k], scale)


def _pull(gain: np.ndarray, sensitivity: np.ndarray, there: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Change of the factors [sample, signal, factor] by each sample's residual, over the whole record."""
    pieces, steps, signals, columns = sensitivity.shape
    k = len(gain)
    n = columns - k
    scaled = sensitivity * (weight**2 * there)[:, :, :, None]
    begins = gain[:, k:].reshape(k, pieces, n)
    pull = scaled[..., n:] @ gain[:, :k].T + np.einsum("msjn,kmn->msjk", scaled[..., :n], begins)
    return np.asarray(pull.reshape(pieces * steps, signals, k))
