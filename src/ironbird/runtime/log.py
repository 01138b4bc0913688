"""Logs: decimated columns of all lanes, read by signal name; written as Parquet or CSV."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import RunError, UnknownNameError
from ironbird.files.csv_text import harmless
from ironbird.files.pictures import picture_of
from ironbird.files.whole import replacing
from ironbird.model.signal import Signal, entry_names
from ironbird.runtime.border import ticks_of
from ironbird.runtime.lane_columns import lane_columns
from ironbird.runtime.lane_hash import hashes_of_lanes
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.watch import Watches

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame

    from ironbird.runtime.state import RunState, Stop


Short: TypeAlias = Callable[[Callable[[str], np.ndarray]], np.ndarray]  # a value from a function that reads signals
MOST_BYTES = 16 * 2**30  # most bytes of one log; memory is used only as rows are written


@dataclass(frozen=True)
class LogPlan:
    """Plan of a log: which signals, and how often."""

    every: int  # ticks between rows
    index: np.ndarray  # rows in the kernel's list of loggable signals
    start: dict[str, int]  # signal path -> first column
    signals: dict[str, Signal]
    step_s: float

    @staticmethod
    def make(model: CompiledModel, patterns: list[str] | None, log_s: float) -> LogPlan:
        """Make a plan from signal patterns and the time between rows in s."""
        key = None if patterns is None else tuple(patterns), log_s
        plans = _PLANS.setdefault(model, {})
        if key not in plans:
            plans[key] = LogPlan._made(model, *key)
        return plans[key]

    @staticmethod
    def _made(model: CompiledModel, patterns: tuple[str, ...] | None, log_s: float) -> LogPlan:
        every = ticks_of(log_s, model.step_s, "log_s")
        if every < 1 or abs(every * model.step_s - log_s) > 1e-9:
            raise RunError(
                f"log_s = {log_s} s is not a whole number of steps of {model.step_s} s; give a multiple of it, or fly "
                "with smaller steps (integration rk4@0.001)"
            )
        start: dict[str, int] = {}
        signals: dict[str, Signal] = {}
        index: list[int] = []
        for path in model.find_signals(None if patterns is None else list(patterns)):
            rows = model.flat.log.rows(path)
            start[path] = len(index)
            signals[path] = model.flat.log.signals[path]
            index += range(rows.start, rows.stop)
        return LogPlan(every, np.array(index, np.int64), start, signals, model.step_s)

    def columns(self, paths: Sequence[str] | None) -> list[int]:
        """Columns of some signals in the given order; of all signals in the order of the plan."""
        if paths is None or len(paths) == len(self.start):
            return list(range(len(self.index)))
        return [self.start[path] + i for path in paths for i in range(self.signals[path].size)]

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """Arrow schema of the columns; units and frames are in the fields' metadata."""
        import pyarrow as pa

        fields = [pa.field("time_s", pa.float64(), metadata={"unit": "s"})]
        for path, signal in self.signals.items():
            about = {"unit": signal.unit, "frame": signal.frame or ""}
            fields += [pa.field(name, pa.float64(), metadata=about) for name in entry_names(path, signal.size)]
        return pa.schema(fields)

    def begin(self, tick: int, watch: Sequence[Sequence[Predicate]]) -> int:
        """First tick of the rows of a run that begins at a tick.

        If something is watched, the row before it is there as well, for the extremes from that tick on.
        """
        return tick - tick % self.every if any(watch) else tick

    def rows_between(self, first: int, last: int) -> int:
        """Number of rows in the ticks [first, last)."""
        return -(-last // self.every) - (-(-first // self.every))


# Stored with each model and deleted with it, so that a series of models does not accumulate
_PLANS: WeakKeyDictionary[CompiledModel, dict[tuple[tuple[str, ...] | None, float], LogPlan]] = WeakKeyDictionary()


@dataclass
class Log:
    """Values of signals over time, for all lanes: `log["body.p_NB_N"]` is [row, 3] of lane 0.

    `log.time()` are the times in s, `log.signals()` the paths, `log.to_pandas()` a DataFrame, `log.to_csv(path)` and
    `log.to_parquet(path)` write files.

    Attributes
    ----------
    plan : LogPlan
        Which signals it holds, with units and shapes.
    lanes : int
        Number of vehicles side by side.
    time_s : array
        Times of all rows in s.
    data : array
        Values [block, row, column, lane in block].
    stops : list of Stop or None
        Why and when each lane stopped.
    interrupted : bool
        Whether Ctrl-C ended the run.
    meta : dict of str
        Notes that go into files.
    short : dict
        Short names (`tilt`, `height`, `mode`) and how they follow from the signals; those of a flight are the names
        that requirements know.
    watches : Watches, optional
        Extremes between the rows of what requirements and faults look at.
    begins_within : bool, default False
        Whether the run began within the first row, which has extremes then and no values.

    Examples
    --------
    >>> log = ib.fly("quad_f450", control="truth", mission="hover", until_s=1.0).log
    >>> log["body.p_NB_N"].shape, float(log.time()[-1])
    ((50, 3), 0.98)
    """

    plan: LogPlan
    lanes: int
    time_s: np.ndarray
    data: np.ndarray  # [block, row, column, lane in block]
    stops: list[Stop | None]
    interrupted: bool = False
    meta: dict[str, str] = field(default_factory=dict)
    short: Mapping[str, Short] = field(default_factory=dict, repr=False, compare=False)
    watches: Watches | None = field(default=None, repr=False, compare=False)
    begins_within: bool = False

    def __repr__(self) -> str:
        span = f"{self.time_s[0]:g} to {self.time_s[-1]:g} s" if len(self.time_s) else "no rows"
        lanes = f"{self.lanes} lane{'s' * (self.lanes > 1)}"
        return f"<Log: {len(self.plan.signals)} signals, {len(self.time_s)} rows, {span}, {lanes}>"

    def plot(self, *signals: str, lanes: Sequence[int] = ()) -> Any:
        """Plot signals over time; a notebook shows the result in place.

        Parameters
        ----------
        *signals : str
            Paths, or short names in the log of a flight; the first three signals by default.
        lanes : sequence of int, optional
            Lanes to show; the first eight by default.

        Returns
        -------
        Picture
            Its `save("file.html")` writes it as a page.

        Examples
        --------
        >>> log.plot("body.p_NB_N", lanes=[0, 1]).save("out/paths.html")  # doctest: +SKIP
        """
        return picture_of("log", self, *signals, lanes=lanes)

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()

    @staticmethod
    def empty(plan: LogPlan, state: RunState, first: int, last: int, watch: Sequence[Sequence[Predicate]] = ()) -> Log:
        """A log with room for the rows of ticks [first, last), to be filled by the kernel.

        `watch` has the programs of each lane whose extremes between rows are kept. With some, and if `first` is no tick
        of a row, the row before it is there too, without values: it has the extremes from `first` on.
        """
        within = plan.begin(first, watch) < first
        first = plan.begin(first, watch)
        rows = plan.rows_between(first, last)
        if rows < 0:
            raise RunError(f"a log cannot go back from tick {first} to {last}")
        size = 8 * rows * (1 + state.x.shape[0] * len(plan.index) * state.width)
        if size > MOST_BYTES:
            raise RunError(
                f"the log would take {size / 1e9:.1f} GB: make the run shorter (--until), or log less often "
                "(--log-step) or fewer signals; in Python, keep=False with a sink keeps nothing in memory"
            )
        time_s = (-(-first // plan.every) + np.arange(rows)) * plan.every * plan.step_s
        try:
            data = np.empty((state.x.shape[0], rows, len(plan.index), state.width))
        except MemoryError:
            raise RunError(f"no memory for a log of {size / 1e9:.1f} GB: log fewer signals or less often") from None
        watches = None
        if any(watch):
            watches = Watches.make(watch, (state.x.shape[0], rows, state.width), state.model.flat.log.size)
            if within:
                data[:, 0] = np.nan
                watches.begin_within(0)
        return Log(plan, state.lanes, time_s, data, [], watches=watches, begins_within=within)

    def finish(self, state: RunState, rows: int) -> None:
        """Record how each lane ended, and remove rows that were not reached."""
        self.time_s = self.time_s[:rows]
        self.data = self.data[:, :rows]
        self.watches = None if self.watches is None else self.watches.rows(0, rows)
        self.stops = [state.stop_of(i) for i in range(state.lanes)]

    def between(self, first: int, last: int) -> Log:
        """View of the rows from `first` to before `last`."""
        watches = None if self.watches is None else self.watches.rows(first, last)
        begins_within = self.begins_within and first == 0
        time_s, data = self.time_s[first:last], self.data[:, first:last]
        return Log(self.plan, self.lanes, time_s, data, [], watches=watches, begins_within=begins_within)

    def followed_by(self, later: Log) -> Log:
        """This log and a later one of the same signals joined; the later one may begin within the last row."""
        if len(self.time_s) and len(later.time_s) and later.time_s[0] <= self.time_s[-1]:
            if self.watches is not None and later.watches is not None:
                self.watches.join_row(later.watches)
            later = replace(later.between(1, len(later.time_s)), stops=later.stops)
        data = np.concatenate([self.data, later.data], axis=1)
        watches = self.watches and later.watches and self.watches.followed_by(later.watches)
        time_s = np.concatenate([self.time_s, later.time_s])
        begins_within = self.begins_within
        return Log(self.plan, self.lanes, time_s, data, later.stops, watches=watches, begins_within=begins_within)

    @property
    def signals(self) -> dict[str, Signal]:
        """Declarations of the logged signals, by path."""
        return dict(self.plan.signals)

    def __contains__(self, path: str) -> bool:
        return path in self.plan.start

    def __getitem__(self, path: str) -> np.ndarray:
        """A signal of lane 0 over time: [row] if scalar, else [row, size]; ends where the lane stopped."""
        return self.lane(path, 0)

    def lane(self, path: str, lane: int) -> np.ndarray:
        """A signal of one lane over time: [row] if scalar, else [row, size]."""
        if path not in self.plan.start:
            if path in self.short:
                return self.short[path](lambda source: self.lane(source, lane))
            raise UnknownNameError("signal", path, [*self.plan.start, *self.short], "this log")
        block, place = divmod(lane, self.data.shape[3])
        start, size = self.plan.start[path], self.plan.signals[path].size
        values = self.data[block, : self.rows(lane), start : start + size, place]
        return values[:, 0] if size == 1 else values

    def time(self, lane: int = 0) -> np.ndarray:
        """Times in s of a lane's rows."""
        return self.time_s[: self.rows(lane)]

    def rows(self, lane: int = 0) -> int:
        """Number of rows of a lane: fewer than the others if it stopped early."""
        stop = self.stops[lane] if lane < len(self.stops) else None
        if stop is None:
            return len(self.time_s)
        return int(self.time_s.searchsorted(stop.time_s, side="right"))

    def part(self, first: int, last: int) -> Log:
        """View of the lanes from `first`, which must begin a block, to before `last`."""
        width = self.data.shape[3]
        blocks = first // width, -(-last // width)
        watches = None if self.watches is None else self.watches.blocks(*blocks)
        data = self.data[slice(*blocks)]
        stops = self.stops[first:last]
        return Log(self.plan, last - first, self.time_s, data, stops, self.interrupted, watches=watches)

    def all_lanes(self, path: str) -> np.ndarray:
        """A signal of all lanes: [lane, row] or [lane, row, size]; NaN after a lane's stop.

        Each entry (`[..., i]`) is contiguous in memory.
        """
        start, size = self.plan.start[path], self.plan.signals[path].size
        apart = lane_columns(self.data, start, size)[:, : self.lanes]
        return apart[0] if size == 1 else apart.transpose(1, 2, 0)

    def all_rows(self, path: str, lane: int) -> np.ndarray:
        """A signal of one lane, [row] or [row, size], with the rows after the lane's stop."""
        block, place = divmod(lane, self.data.shape[3])
        start, size = self.plan.start[path], self.plan.signals[path].size
        values = self.data[block, :, start : start + size, place]
        return values[:, 0] if size == 1 else values

    def sha256(self, lane: int = 0, paths: Sequence[str] | None = None) -> str:
        """SHA-256 of all values of one lane, or of some signals: equal flights have equal hashes."""
        block, place = divmod(lane, self.data.shape[3])
        values = self.data[block, : self.rows(lane), self.plan.columns(paths), place].T  # [row, column]
        digest = hashlib.sha256(np.ascontiguousarray(self.time(lane)).data)
        digest.update(np.ascontiguousarray(values).reshape(-1).data)
        return digest.hexdigest()

    def sha256_of_lanes(self, paths: Sequence[Sequence[str]]) -> list[str]:
        """SHA-256 of each lane over its own list of signals: equal to `sha256` per lane, several lanes in parallel."""
        if self.data.shape[3] == 1:  # one lane: avoids the compilation of the native hash
            return [self.sha256(lane, own) for lane, own in enumerate(paths)]
        rows = [self.rows(lane) for lane in range(len(paths))]
        columns = {own: self.plan.columns(own) for own in dict.fromkeys(map(tuple, paths))}
        return hashes_of_lanes(self.data, self.time_s, rows, [columns[tuple(own)] for own in paths])

    # ------------------------------------------------------------------ files

    def columns(self, lane: int = 0) -> dict[str, np.ndarray]:
        """One array per scalar, named `path` or `path[i]`, with `time_s` first."""
        table = {"time_s": self.time(lane)}
        for path, signal in self.plan.signals.items():
            values = self.lane(path, lane).reshape(-1, signal.size)
            table.update(zip(entry_names(path, signal.size), values.T, strict=True))
        return table

    def to_pandas(self, lane: int = 0) -> DataFrame:
        """One lane as a pandas DataFrame, the time in seconds as its index; units are in `frame.attrs["units"]`."""
        try:
            import pandas as pd
        except ImportError:
            raise RunError("pandas is not installed: pip install pandas, or use log.columns()") from None
        columns = self.columns(lane)
        frame = pd.DataFrame(columns).set_index("time_s")
        frame.attrs["units"] = {name: self.plan.signals[name.partition("[")[0]].unit for name in list(columns)[1:]}
        return frame

    def to_parquet(self, path: str | Path, lane: int = 0, paths: Sequence[str] | None = None) -> None:
        """Write one lane, or some signals of it, as Parquet; units and frames are in the fields' metadata."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        block, place = divmod(lane, self.data.shape[3])
        columns = self.plan.columns(paths)
        table = np.ascontiguousarray(self.data[block, : self.rows(lane), columns, place])  # [column, row]
        fields = [self.plan.schema.field(0), *(self.plan.schema.field(1 + column) for column in columns)]
        schema = pa.schema(fields).with_metadata(dict(self.meta))
        with replacing(Path(path)) as part:  # no dictionary encoding: the values hardly repeat
            arrays = [_arrow(self.time(lane)), *map(_arrow, table)]
            pq.write_table(pa.table(arrays, schema=schema), part, use_dictionary=False)

    def to_csv(self, path: str | Path, lane: int = 0) -> None:
        """Write one lane as CSV with a header line; numbers read back to the same bits."""
        columns = self.columns(lane)
        with replacing(Path(path)) as part, part.open("w") as handle:
            handle.write(",".join(harmless(name) for name in columns) + "\n")
            for row in zip(*columns.values(), strict=True):
                handle.write(",".join(repr(float(v)) for v in row) + "\n")


def _arrow(values: np.ndarray) -> pa.Array:
    """A NumPy array as an Arrow array, through its bytes: `pa.array` would import pandas, which takes 0.5 s."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.float64(), len(values), [None, pa.py_buffer(values.astype(np.float64).tobytes())])
