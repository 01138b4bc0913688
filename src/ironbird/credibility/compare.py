"""Comparison of a real record with simulated ones: indices with uncertainty, established measures, verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ironbird.analysis.spectra import FrequencyResponse, Spectra, log_frequencies, window_lengths, window_spectra
from ironbird.credibility import metrics
from ironbird.credibility.align import Shift, find_shift
from ironbird.credibility.amounts import amount
from ironbird.credibility.index import combined, frequency_errors, mean_index, normalised, performance_errors
from ironbird.credibility.iso18571 import LEAST as ISO_LEAST
from ironbird.credibility.iso18571 import MOST as ISO_MOST
from ironbird.credibility.iso18571 import rating
from ironbird.credibility.plan import PAIRS, SHAPE, Plan, Test, figure, usual_tests
from ironbird.credibility.qualification import USUAL, bound
from ironbird.credibility.record import ANGLES, UNITS, Record, check_whole, stands
from ironbird.credibility.skill import Skill, WrongModel, overall
from ironbird.credibility.uncertainty import DRAWS, block_length, drawn_rows, interval
from ironbird.errors import RecordError, RequirementError

CLASSES = ("performance", "time", "frequency")
USUAL_NAMES = (*UNITS, *PAIRS)  # without a plan, what a flight is judged by
DEGREES = (50.0, 65.0)  # ratio of spreads between degrees and radians (57.3)


@dataclass(frozen=True)
class Index:
    """One credibility index: its subject, error, tolerable error and the 95 % interval."""

    test: Test
    value: float
    low: float
    high: float
    error: float
    tolerance: float
    unit: str
    text: str
    passed: bool
    least: float  # least of its parts: magnitude and phase of a response, else the index itself
    draws: np.ndarray = field(repr=False)
    runs: list[float] = field(default_factory=list)  # of the single simulated runs


@dataclass(frozen=True)
class Measure:
    """One established measure of agreement; `passed` is None where it has no limit."""

    name: str
    signal: str
    value: float
    limit: str
    passed: bool | None
    detail: str = ""


@dataclass(frozen=True)
class ErrorEvent:
    """What a mean over the window hides: the worst moment, and how long the error exceeded the tolerable one."""

    signal: str
    unit: str
    most: float
    at_s: float
    beyond_s: float  # in all
    longest_s: float  # in one piece
    delay_s: float  # shift of this signal alone that fits best; positive: the simulation is late
    best_rms: float  # error that is left after that shift
    tolerance: float


@dataclass(frozen=True)
class Pair:
    """One signal of the real and the simulated records on one time grid, for plots."""

    signal: str
    unit: str
    time_s: np.ndarray
    real: np.ndarray
    simulated: list[np.ndarray]


@dataclass(frozen=True)
class Bode:
    """A frequency response of the real and the simulated record."""

    test: Test
    real: FrequencyResponse
    simulated: FrequencyResponse


@dataclass(frozen=True)
class Comparison:
    """The complete comparison of a simulation with a record."""

    real: Record
    simulated: list[Record]
    plan: Plan
    shifts: list[Shift]
    window_s: tuple[float, float]
    indices: list[Index]
    measures: list[Measure]
    events: list[ErrorEvent]
    pairs: list[Pair]
    bodes: list[Bode]
    classes: dict[str, tuple[float, float, float]]  # value, low, high
    overall: tuple[float, float, float]
    skipped: list[str]
    notes: list[str]
    skills: list[Skill] = field(default_factory=list)  # of a driven model
    wrong: list[WrongModel] = field(default_factory=list)

    @property
    def skill(self) -> tuple[float, float] | None:
        """Skill of a driven model over all signals, against no change and against straight on."""
        if not self.skills:
            return None
        return overall(self.skills, "against_unchanged"), overall(self.skills, "against_straight")

    @property
    def worthless(self) -> bool:
        """Whether a driven model predicts no better than a forecast without any model: no index counts then."""
        return self.skill is not None and not min(self.skill) > 0

    @property
    def smallest(self) -> Index:
        """The worst single index; magnitude and phase of a response count separately, as their mean hides one."""
        return min(self.indices, key=lambda index: index.least)

    @property
    def passed(self) -> bool:
        """Whether every index and every tolerance with a limit is met; other measures only inform."""
        return all(index.passed for index in self.indices) and not self.worthless


def compare(
    real: Record,
    simulated: Sequence[Record],
    plan: Plan | None = None,
    *,
    shift_s: float | None = None,
    window_s: tuple[float, float] | None = None,
    most_shift_s: float | None = None,
) -> Comparison:
    """Compare simulated records with a real one; raises `RecordError` where a record allows no statement."""
    plan = plan or Plan()
    if not simulated:
        raise RecordError("give at least one simulated record")
    shifts: list[Shift] = []
    moved: list[Record] = []
    for record in simulated:
        names = _common(real, [record])
        if not names:
            raise RecordError(
                f"{real.path.name} and {record.path.name} have no signal in common: {', '.join(list(real.tracks)[:8])} "
                f"against {', '.join(list(record.tracks)[:8])}; name the columns in a tests file ([[signal]])"
            )
        shift = (
            find_shift(real, record, names, most_shift_s)
            if shift_s is None
            else Shift(shift_s, math.nan, math.nan, [], True)
        )
        shifts.append(shift)
        moved.append(record.moved(shift.seconds))
    names = _common(real, moved)
    window = _window(real, moved, names, window_s)
    tests = list(plan.test) or usual_tests([name for name in names if name in USUAL_NAMES] or names)
    skipped: list[str] = []
    if not plan.test:
        tests, skipped = _testable(tests, real, moved, window)
    if not tests:
        raise RecordError(f"nothing is left to compare: {'; '.join(skipped) or 'no test'}")
    made = [_Tested(test, plan, real, moved, _clipped(test, window)) for test in tests]
    indices = [one.index() for one in made]
    classes: dict[str, tuple[float, float, float]] = {}
    draws_by: dict[str, np.ndarray] = {}
    for name in CLASSES:
        members = [index for index in indices if index.test.kind == name]
        if members:
            stack = np.array([index.draws for index in members])
            mean = np.sqrt(np.mean(stack**2, axis=0)) if plan.mean == "rms" else stack.mean(axis=0)
            classes[name] = (mean_index([index.value for index in members], plan.mean), *interval(mean))
            draws_by[name] = mean
    weights = plan.weights
    overall = combined({name: value[0] for name, value in classes.items()}, weights, plan.mean)
    drawn = [
        combined({name: float(draws[i]) for name, draws in draws_by.items()}, weights, plan.mean) for i in range(DRAWS)
    ]
    curves = {one.test.signal: one for one in made if one.test.kind == "time"}
    return Comparison(
        real,
        moved,
        plan,
        shifts,
        window,
        indices,
        [measure for one in made for measure in one.measures()],
        [one.event() for one in curves.values()],
        [one.pair() for one in curves.values()],
        [one.bode() for one in made if one.test.kind == "frequency"],
        classes,
        (overall, *interval(np.array(drawn))),
        skipped,
        [*real.notes, *(note for record in simulated for note in record.notes)],
    )


def _common(real: Record, simulated: Sequence[Record]) -> list[str]:
    return [name for name in real.tracks if all(name in record.tracks for record in simulated)]


def _window(
    real: Record, simulated: Sequence[Record], names: Sequence[str], chosen: tuple[float, float] | None
) -> tuple[float, float]:
    tracks = [record.track(name) for record in (real, *simulated) for name in names]
    low, high = max(float(t.time_s[0]) for t in tracks), min(float(t.time_s[-1]) for t in tracks)
    if chosen is not None:
        low, high = max(low, chosen[0]), min(high, chosen[1])
    if not high > low:
        raise RecordError(
            f"the records do not overlap: {real.path.name} and the simulation have no common time"
            + (f" in the window {chosen[0]:g} to {chosen[1]:g} s" if chosen else "")
        )
    return low, high


def _clipped(test: Test, window: tuple[float, float]) -> tuple[float, float]:
    if test.window_s is None:
        return window
    low, high = max(window[0], test.window_s[0]), min(window[1], test.window_s[1])
    if not high > low:
        raise RecordError(
            f"test '{test.name}': its window {test.window_s[0]:g} to {test.window_s[1]:g} s lies outside of what both "
            f"records hold, {window[0]:.2f} to {window[1]:.2f} s"
        )
    return low, high


def _testable(
    tests: Sequence[Test], real: Record, simulated: Sequence[Record], window: tuple[float, float]
) -> tuple[list[Test], list[str]]:
    """The default tests without those of signals that are constant in the real record; these are reported."""
    usable, skipped = [], []
    for test in tests:
        values = real.track(test.signal).at(np.linspace(*window, 1000))
        if stands(values):
            if test.kind == "time":
                skipped.append(f"{test.signal} stands still in {real.path.name}")
        else:
            usable.append(test)
    return usable, skipped


class _Tested:
    """One test on one real and several simulated records."""

    def __init__(
        self, test: Test, plan: Plan, real: Record, simulated: Sequence[Record], window: tuple[float, float]
    ) -> None:
        self.test, self.plan, self.window = test, plan, window
        names = [test.signal, *([test.input] if test.input else [])]
        for record in (real, *simulated):
            check_whole(record, names, window)
        tracks = [record.track(test.signal) for record in (real, *simulated)]
        self.unit = tracks[0].unit
        self.step_s = min(max(track.step_s for track in tracks), (window[1] - window[0]) / 16)
        self.time_s = np.arange(window[0], window[1] + 1e-9, self.step_s)
        self.real = self._smooth(tracks[0].at(self.time_s))
        self.simulated = [self._smooth(track.at(self.time_s)) for track in tracks[1:]]
        if test.signal in ANGLES:  # whole turns do not count
            turn = 2 * math.pi
            self.simulated = [s + turn * round(float(np.mean(self.real - s)) / turn) for s in self.simulated]
        self._refuse(real, simulated)
        if test.kind == "frequency":
            self.inputs = [record.track(test.input).at(self.time_s) for record in (real, *simulated)]
            if any(stands(values) for values in self.inputs):
                raise RecordError(
                    f"test '{test.name}': {test.input} stands still; a response needs an input that moves"
                )

    def _smooth(self, values: np.ndarray) -> np.ndarray:
        count = round(self.test.smooth_s / self.step_s)
        if count < 2:
            return values
        padded = np.pad(values, (count // 2, count - 1 - count // 2), mode="edge")
        return np.convolve(padded, np.ones(count) / count, mode="valid")

    def _refuse(self, real: Record, simulated: Sequence[Record]) -> None:
        test = self.test
        if stands(self.real) and test.limit is None:
            raise RecordError(
                f"test '{test.name}': {test.signal} stands still at {self.real[0]:.4g} {self.unit} in "
                f"{real.path.name} from "
                f"{self.window[0]:.2f} to {self.window[1]:.2f} s, so the data give no tolerable error; give a limit"
            )
        spread = float(np.std(self.real))
        for record, values in zip(simulated, self.simulated, strict=True):
            if self.unit in ("rad", "rad/s") and spread > 0 and float(np.std(values)) > 0:
                ratio = float(np.std(values)) / spread
                same = abs(float(np.corrcoef(self.real, values)[0, 1])) > 0.8
                if same and (DEGREES[0] < ratio < DEGREES[1] or DEGREES[0] < 1 / ratio < DEGREES[1]):
                    raise RecordError(
                        f"{test.signal}: the spread in {record.path.name} is {ratio:.3g} times that in "
                        f"{real.path.name}, and the "
                        "shape is the same: one of them is in degrees; give the unit in a tests file ([[signal]])"
                    )

    # ------------------------------------------------------------------ errors

    def _tolerance(self) -> float:
        return self.test.tolerance if self.test.tolerance is not None else self.plan.tolerance

    def _limit(self) -> float | None:
        if self.test.qualification:
            return bound(self.test.qualification).limit(float(np.max(np.abs(self.real))))
        return self.test.limit

    def index(self) -> Index:
        """The index with its uncertainty: bootstrap of blocks, over all runs."""
        values, draws, errors = [], [], []
        for run, simulated in enumerate(self.simulated):
            value, error, tolerance, drawn = getattr(self, f"_{self.test.kind}")(run, simulated)
            values.append(value)
            errors.append((error, tolerance))
            draws.append(drawn)
        together = np.array(draws)
        mixed = together[np.arange(DRAWS) % len(draws), np.arange(DRAWS)]
        low, high = interval(mixed)
        value = float(np.mean(values))
        worst = int(np.argmin(values))
        error, tolerance = errors[worst]
        least = value
        if self.test.kind == "frequency":
            least = min(
                normalised(*part, self.plan.pass_mark)
                for run in range(len(self.simulated))
                for part in self._frequency_errors(self._spectra(0), self._spectra(run + 1))
            )
        return Index(
            self.test,
            value,
            min(low, value),
            max(high, value),
            error,
            tolerance,
            "dB, deg" if self.test.kind == "frequency" else self._figure_unit(),
            self._text(worst),
            least >= self.plan.pass_mark - 1e-12,
            least,
            mixed,
            values,
        )

    def _figure_unit(self) -> str:
        if self.test.kind == "performance":
            return {"rise_time": "s", "settling_time": "s", "overshoot": "1"}.get(self.test.figure, self.unit)
        return self.unit

    def _text(self, run: int) -> str:
        if self.test.kind == "performance":
            figures = (figure(self.test.figure, self.time_s, v) for v in (self.real, self.simulated[run]))
            real, simulated = (amount(value, self._figure_unit(), 4) for value in figures)
            return f"{self.test.figure} {real} real, {simulated} simulated"
        if self.test.kind == "frequency":
            (mag, mag_eps), (pha, pha_eps) = self._frequency_errors(self._spectra(0), self._spectra(run + 1))
            return f"magnitude {mag:.2f} dB of {mag_eps:.2f}, phase {pha:.1f} deg of {pha_eps:.1f}"
        worst = int(np.argmax(np.abs(self.real - self.simulated[run])))
        return f"worst at {self.time_s[worst]:.2f} s"

    def _performance(self, run: int, simulated: np.ndarray) -> tuple[float, float, float, np.ndarray]:
        kind, mark = self.test.figure, self.plan.pass_mark
        real_figure, other = (figure(kind, self.time_s, v) for v in (self.real, simulated))
        if not (math.isfinite(real_figure) and math.isfinite(other)):
            raise RecordError(
                f"test '{self.test.name}': the {kind} of {self.test.signal} does not exist: no step is in it"
            )
        error, tolerance = performance_errors(real_figure, other, self._tolerance(), self._limit())
        if tolerance == 0:  # [DaiCred]: another scale where the figure is zero
            tolerance = self._tolerance() * abs(other)
        if tolerance == 0:
            raise RecordError(f"test '{self.test.name}': the {kind} is zero in both records; give a limit")
        value = normalised(error, tolerance, mark)
        if kind in SHAPE:
            return value, error, tolerance, np.full(DRAWS, value)
        rows = drawn_rows(len(self.real), block_length(self.real - simulated), seed=run)
        drawn = []
        for draw in rows:
            a, b = figure(kind, self.time_s, self.real[draw]), figure(kind, self.time_s, simulated[draw])
            drawn.append(normalised(abs(a - b), tolerance, mark))
        return value, error, tolerance, np.array(drawn)

    def _time(self, run: int, simulated: np.ndarray) -> tuple[float, float, float, np.ndarray]:
        limit = self._limit()
        tolerance = limit if limit is not None else self._tolerance() * float(np.ptp(self.real))
        squared = (self.real - simulated) ** 2
        error = math.sqrt(float(np.mean(squared)))
        rows = drawn_rows(len(squared), block_length(self.real - simulated), seed=run)
        drawn = [normalised(float(e), tolerance, self.plan.pass_mark) for e in np.sqrt(squared[rows].mean(axis=1))]
        return normalised(error, tolerance, self.plan.pass_mark), error, tolerance, np.array(drawn)

    # ------------------------------------------------------------------ frequency

    def _spectra(self, number: int) -> Spectra:
        """Spectra of the real record (0) or a simulated run (1 …), with the longest window that gives enough."""
        band = (self.test.band_radps[0], self.test.band_radps[1])
        record_s = self.window[1] - self.window[0]
        window_s = window_lengths(band, record_s)[-1]
        output = self.real if number == 0 else self.simulated[number - 1]
        low = max(band[0], 2 * math.pi / window_s)
        high = min(band[1], 0.9 * math.pi / self.step_s)
        if not low < high:
            raise RecordError(
                f"test '{self.test.name}': {record_s:.1f} s in steps of {self.step_s * 1e3:.3g} ms hold no "
                f"frequency of the band "
                f"{band[0]:g} to {band[1]:g} rad/s; give a longer record or another band"
            )
        return window_spectra(
            self.inputs[number], output, self.step_s, window_s, log_frequencies((low, high), self.test.points)
        )

    def _frequency_errors(self, real: Spectra, simulated: Spectra) -> tuple[tuple[float, float], tuple[float, float]]:
        return frequency_errors(real.response(), simulated.response(), self._tolerance())

    def _frequency(self, run: int, simulated: np.ndarray) -> tuple[float, float, float, np.ndarray]:
        real, other = self._spectra(0), self._spectra(run + 1)
        mark = self.plan.pass_mark

        def value_of(errors: tuple[tuple[float, float], tuple[float, float]]) -> float:
            # [DaiCred] eq. 14: root mean square of magnitude and phase
            return math.sqrt(sum(normalised(*error, mark) ** 2 for error in errors) / 2)

        errors = self._frequency_errors(real, other)
        random = np.random.default_rng(run)
        (_, mag_eps), (_, pha_eps) = errors
        drawn = []
        for _ in range(DRAWS):
            rows = random.integers(0, len(real.gxx), len(real.gxx))
            (mag, _), (pha, _) = self._frequency_errors(real.drawn(rows), other.drawn(rows % len(other.gxx)))
            drawn.append(value_of(((mag, mag_eps), (pha, pha_eps))))
        return value_of(errors), errors[0][0], errors[0][1], np.array(drawn)

    # ------------------------------------------------------------------ established measures

    def measures(self) -> list[Measure]:
        """Established measures of the first simulated run."""
        signal = self.test.signal
        if self.test.kind == "frequency":
            real, other = self._spectra(0).response(), self._spectra(1).response()
            cost = metrics.cifer_cost(real, other)
            outside = metrics.noticed(real, other, self.plan.froude_scale)
            w = real.frequency_radps
            about = f"{len(w)} points, {w[0]:.2g} to {w[-1]:.3g} rad/s"
            scale = self.plan.froude_scale
            return [
                Measure("CIFER J", signal, cost, f"≤ {metrics.J_ACCEPTABLE:g}", cost <= metrics.J_ACCEPTABLE, about),
                Measure("MUAD, share outside", signal, outside, "0", outside == 0, f"frequency scale {scale:g}"),
            ]
        if self.test.kind != "time":
            return []
        real_curve, other_curve = self.real, self.simulated[0]
        inequality = metrics.theil(real_curve, other_curve)
        shares = (
            f"bias {inequality.bias:.0%}, variance {inequality.variance:.0%}, covariance {inequality.covariance:.0%}"
        )
        geers = metrics.sprague_geers(real_curve, other_curve)
        ship = metrics.russell(real_curve, other_curve)
        measures = [
            Measure(
                "Theil TIC",
                signal,
                inequality.value,
                f"≤ {metrics.TIC_GOOD:g}",
                inequality.value <= metrics.TIC_GOOD,
                shares,
            ),
            Measure("Sprague-Geers C", signal, geers.value, "", None, f"M {geers.magnitude:+.3f}, P {geers.phase:.3f}"),
            Measure(
                "Russell C",
                signal,
                ship.value,
                f"≤ {metrics.RUSSELL_ACCEPTABLE:g}",
                ship.value <= metrics.RUSSELL_ACCEPTABLE,
                f"M {ship.magnitude:+.3f}, P {ship.phase:.3f}",
            ),
        ]
        every = max(1, math.ceil(len(real_curve) / ISO_MOST))  # warping takes time with the square of the length
        thin_real, thin_other = real_curve[::every], other_curve[::every]
        if len(thin_real) >= ISO_LEAST and float(np.ptp(thin_real)) > 0:
            iso = rating(thin_real, thin_other)
            parts = f"Z {iso.corridor:.3f}, P {iso.phase:.3f}, M {iso.magnitude:.3f}, S {iso.slope:.3f}"
            parts += f"; at {1 / (every * self.step_s):.4g} Hz"
            if every > 1:
                parts += f", one of {every} samples"
            measures.append(
                Measure("ISO 18571 R", signal, iso.value, "> 0.58", iso.value > 0.58, f"{iso.word}: {parts}")
            )
        name = self.test.qualification or USUAL.get(signal, "")
        if name:
            allowed = bound(name)
            limits = np.maximum(allowed.share * np.abs(real_curve), allowed.amount)
            inside = float(np.mean(np.abs(real_curve - other_curve) <= limits))
            measures.append(
                Measure("qualification, share inside", signal, inside, "1", inside == 1.0, f"{name}: {allowed.source}")
            )
        return measures

    def event(self) -> ErrorEvent:
        """The worst moment of the first simulated run, and its delay."""
        error = np.abs(self.real - self.simulated[0])
        limit = self._limit()
        tolerance = limit if limit is not None else self._tolerance() * float(np.ptp(self.real))
        beyond = error > tolerance
        edges = np.flatnonzero(np.diff(np.concatenate([[0], beyond.astype(int), [0]])))
        longest = float(np.max(edges[1::2] - edges[::2])) if len(edges) else 0.0
        delay, rms = self._delay()
        worst = int(np.argmax(error))
        return ErrorEvent(
            self.test.signal,
            self.unit,
            float(error[worst]),
            float(self.time_s[worst]),
            float(beyond.sum()) * self.step_s,
            longest * self.step_s,
            delay,
            rms,
            tolerance,
        )

    def _delay(self) -> tuple[float, float]:
        """The shift (s) of this signal alone with the smallest error, within a tenth of the window, and that error."""
        most = max(1, min(len(self.real) // 10, 500))
        real, other = self.real, self.simulated[0]
        best = (math.inf, 0)
        for lag in range(-most, most + 1):
            a, b = (real[: len(real) - lag], other[lag:]) if lag >= 0 else (real[-lag:], other[:lag])
            rms = float(np.sqrt(np.mean((a - b) ** 2)))
            if (rms, abs(lag)) < (best[0], abs(best[1])):
                best = (rms, lag)
        return best[1] * self.step_s, best[0]

    def pair(self) -> Pair:
        """The curves of both records on one time grid."""
        return Pair(self.test.signal, self.unit, self.time_s, self.real, self.simulated)

    def bode(self) -> Bode:
        """The frequency responses of the real record and the first simulated run."""
        return Bode(self.test, self._spectra(0).response(), self._spectra(1).response())


def check_mark(text: str) -> tuple[str, float]:
    """Parse `time=0.4` of the command line: a class and its weight."""
    name, equals, value = text.partition("=")
    try:
        if name in CLASSES and equals and math.isfinite(float(value)) and float(value) >= 0:
            return name, float(value)
    except ValueError:
        pass
    raise RequirementError(f"--weight '{text}': give CLASS=NUMBER, the class one of {', '.join(CLASSES)}")
