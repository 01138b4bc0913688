"""`ib.identify`, `ib.compare_records` and `ib.read_record`: models beside records of real vehicles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.credibility.compare import Comparison, Index, compare
from ironbird.credibility.drive import drive
from ironbird.credibility.plan import Plan, load_plan
from ironbird.credibility.readers import read_record as read_file
from ironbird.credibility.record import Record
from ironbird.credibility.setpoints import fitted, fly_setpoints
from ironbird.credibility.wrong import with_wrong_models
from ironbird.errors import RecordError, UnknownNameError
from ironbird.identification.equation_error import equation_error
from ironbird.identification.output_error import Estimate, Fit
from ironbird.identification.output_error import identify as output_error
from ironbird.identification.result import identified_vehicle
from ironbird.model.signal import Number
from ironbird.report.credibility_page import write_credibility_json, write_credibility_page
from ironbird.report.identification_page import write_identification_page

METHODS = ("output-error", "equation-error")


def read_record(
    file: str | Path, *, columns: Mapping[str, tuple[str, str]] | None = None, salvage: bool = False
) -> Record:
    """Read a record of a flight: a log of PX4 or ArduPilot, of Ironbird, or a table.

    Parameters
    ----------
    file : str or Path
        .ulg (PX4), .BIN (ArduPilot), .parquet (Ironbird) or .csv with a column `time_s` in s.
    columns : mapping, optional
        Names for what the file calls otherwise: name -> (column or `topic.field`, unit).
    salvage : bool, default False
        Accept a file that is cut off.

    Returns
    -------
    Record
        Signals in SI units by name (`tracks`), each with its own times.

    Raises
    ------
    RecordError
        If the file is none of these, or damaged.

    Examples
    --------
    >>> record = ib.read_record("flight.ulg")  # doctest: +SKIP
    >>> sorted(record.tracks)[:2]  # doctest: +SKIP
    ['acceleration_x', 'acceleration_y']
    """
    return read_file(Path(file), columns=columns, salvage=salvage)


@dataclass(frozen=True)
class Identified:
    """Parameters of a vehicle that were identified from a record.

    Attributes
    ----------
    fit : Fit
        All that was found: estimates, correlation, residuals, measured and modelled signals.
    vehicle : str
        The model that it began with: a catalogue name or a TOML file.
    """

    fit: Fit
    vehicle: str

    @property
    def estimates(self) -> list[Estimate]:
        """One entry for each parameter: `name`, `value`, `sigma` (deviation), `unit`, `before`, `identified`."""
        return self.fit.estimates

    @property
    def correlated(self) -> list[tuple[str, str, float]]:
        """Pairs of parameters that the record cannot separate, with their correlation."""
        return self.fit.correlated()

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of one parameter, for example `found["mass"]`."""
        known = {estimate.name: estimate for estimate in self.estimates}
        if name not in known:
            raise UnknownNameError("estimate", name, known)
        return known[name]

    def write_vehicle(self, path: str | Path) -> Path:
        """Write a vehicle file with the identified values on top of the model that it began with.

        Parameters
        ----------
        path : str or Path
            TOML file to write.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        RecordError
            If nothing was identified: every deviation is above half of the value.
        """
        return identified_vehicle(self.fit, self.vehicle, Path(path))

    def report(self, path: str | Path) -> Path:
        """Write the page of the identification; returns its path.

        Parameters
        ----------
        path : str or Path
            HTML file to write.
        """
        write_identification_page(self.fit, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        said = ", ".join(f"{e.name} {e.value:.5g} ± {e.sigma:.2g} {e.unit}" for e in self.estimates)
        return f"<Identified of '{self.vehicle}': {said}>"


def identify(
    record: str | Path | Record,
    vehicle: str | Path,
    free: str | Sequence[str],
    *,
    method: str = "output-error",
    window_s: tuple[float, float] | None = None,
    piece_s: float = 0.5,
    continuous: bool | None = None,
    smooth_s: float = 0.1,
    signals: Sequence[str] | None = None,
    settings: Mapping[str, Number] | None = None,
    tests: str | Path | None = None,
    salvage: bool = False,
) -> Identified:
    """Identify parameters of a vehicle from a flight, by its own equations with exact derivatives.

    Parameters
    ----------
    record : str, Path or Record
        A flight with its commands: .ulg, .BIN, .parquet or .csv, or a record that was read.
    vehicle : str or Path
        The model to begin with: a catalogue name or a TOML file.
    free : str or sequence of str
        What to identify, for example `"mass,inertia,motor_time"` or `["mass", "inertia_y"]`.
    method : str, default "output-error"
        "output-error" (multiple shooting), or "equation-error" for slow logs.
    window_s : tuple of float, optional
        First and last second of the record to use; all of it by default.
    piece_s : float, default 0.5
        Length in s of a piece of multiple shooting (output error).
    continuous : bool, optional
        Each piece begins where the one before ends; not for flights in gusts (output error). By default if the
        record has every command: rows at least every 6 ms, or commands that stay for several rows.
    smooth_s : float, default 0.1
        Length in s of the moving mean of equation error.
    signals : sequence of str, optional
        Signals to fit; all but forces by default.
    settings : mapping, optional
        Parameters of the model by path, for example `{"battery.resistance": 0.0}`.
    tests : str or Path, optional
        TOML file with `[[signal]]` and `[drive]` tables: names of columns, and what drives the model.
    salvage : bool, default False
        Accept a record that is cut off.

    Returns
    -------
    Identified
        Estimates with deviations; it writes the vehicle file and the page.

    Raises
    ------
    RecordError
        If the record lacks what is needed, or the model runs away.
    UnknownNameError
        If there is no such method or parameter.

    Examples
    --------
    >>> found = ib.identify("flight.ulg", "quad_f450", "mass,inertia", window_s=(10.0, 40.0))  # doctest: +SKIP
    >>> found["mass"].value  # doctest: +SKIP
    1.43
    """
    plan = load_plan(Path(tests)) if tests is not None else Plan()
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    flown = record
    if not isinstance(flown, Record):
        flown = read_record(flown, columns=plan.columns("real"), salvage=salvage)
    parts = free.split(",") if isinstance(free, str) else list(free)
    words = [word.strip() for word in parts if word.strip()]
    params = {**plan.drive.set, **(settings or {})}
    if method == "output-error":
        found = output_error(
            flown, vehicle, words, how=plan.drive, signals=signals, window_s=window_s, piece_s=piece_s,
            continuous=continuous, params=params,
        )  # fmt: skip
    else:
        found = equation_error(
            flown, vehicle, words, how=plan.drive, signals=signals, window_s=window_s, smooth_s=smooth_s, params=params
        )
    return Identified(found, str(vehicle))


@dataclass(frozen=True)
class Credibility:
    """How well a simulation agrees with a record of a real vehicle.

    Attributes
    ----------
    comparison : Comparison
        All that was compared: indices, measures, error events, curves.
    title : str
        What was compared with what.
    """

    comparison: Comparison
    title: str

    @property
    def indices(self) -> list[Index]:
        """One entry for each test: `test.name`, `value` (1 is equal), `low` and `high` (95 % interval), `passed`."""
        return self.comparison.indices

    @property
    def overall(self) -> tuple[float, float, float]:
        """The index over all tests: value, low and high end of its interval."""
        return self.comparison.overall

    @property
    def smallest(self) -> Index:
        """The worst single index."""
        return self.comparison.smallest

    @property
    def passed(self) -> bool:
        """Whether every index is at least the pass mark (0.6 if the tests do not say another)."""
        return self.comparison.passed

    def report(self, folder: str | Path) -> Path:
        """Write `credibility.html` and `credibility.json`; returns the page.

        Parameters
        ----------
        folder : str or Path
            Folder to write into.
        """
        page = Path(folder) / "credibility.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        write_credibility_page(self.comparison, page, title=self.title)
        write_credibility_json(self.comparison, page.with_suffix(".json"))
        return page

    def __repr__(self) -> str:
        value, low, high = self.overall
        said = f"overall {value:.3f} ({low:.3f} to {high:.3f}), smallest {self.smallest.least:.3f}"
        return f"<Credibility of {self.title}: {'pass' if self.passed else 'fail'}, {said}>"


def compare_records(
    real: str | Path | Record,
    simulated: str | Path | Record | Sequence[str | Path | Record] = (),
    *,
    vehicle: str | Path | None = None,
    setpoints: bool = False,
    tests: str | Path | Mapping[str, object] | None = None,
    shift_s: float | None = None,
    most_shift_s: float | None = None,
    window_s: tuple[float, float] | None = None,
    restart_s: float | None = None,
    settings: Mapping[str, Number] | None = None,
    salvage: bool = False,
) -> Credibility:
    """Compare a record of a real vehicle with simulated ones, or with a model that it drives.

    Parameters
    ----------
    real : str, Path or Record
        The record of the real vehicle: .ulg, .BIN, .parquet or .csv.
    simulated : str, Path, Record or sequence of these, optional
        Simulated records; none if a `vehicle` is given.
    vehicle : str or Path, optional
        A model that the recorded commands drive: a catalogue name or a TOML file.
    setpoints : bool, default False
        The model flies the recorded set-points with its own controller, instead of taking the commands of the motors.
    tests : str, Path or mapping, optional
        TOML file of tests, or its content; the usual tests by default.
    shift_s : float, optional
        Shift of the simulated records in s; found by correlation by default.
    most_shift_s : float, optional
        Largest shift in s that is looked for.
    window_s : tuple of float, optional
        First and last second of the real record to use; all of it by default.
    restart_s : float, optional
        The driven model restarts from the record's state every so many s; every second by default.
    settings : mapping, optional
        Parameters of the driven model by path.
    salvage : bool, default False
        Accept records that are cut off.

    Returns
    -------
    Credibility
        Indices with intervals; it writes the page.

    Raises
    ------
    RecordError
        If the records allow no statement, or both `simulated` and `vehicle` are given.

    Examples
    --------
    >>> found = ib.compare_records("flight.ulg", vehicle="quad_f450", window_s=(10.0, 40.0))  # doctest: +SKIP
    >>> found.passed, found.smallest.test.name  # doctest: +SKIP
    (False, 'velocity_down')
    """
    several = [simulated] if isinstance(simulated, str | Path | Record) else list(simulated)
    if bool(several) == (vehicle is not None):
        raise RecordError("give either simulated records, or the vehicle that the record drives")
    if isinstance(tests, Mapping):
        plan = Plan.model_validate(tests)
    else:
        plan = load_plan(Path(tests)) if tests is not None else Plan()

    def read(file: str | Path | Record, columns: Mapping[str, tuple[str, str]]) -> Record:
        return file if isinstance(file, Record) else read_record(file, columns=columns, salvage=salvage)

    record = read(real, plan.columns("real"))
    if vehicle is None:
        others = [read(file, plan.columns("sim")) for file in several]
        found = compare(record, others, plan, shift_s=shift_s, window_s=window_s, most_shift_s=most_shift_s)
        return Credibility(found, f"{others[0].path.name} against {record.path.name}")
    name = Path(vehicle).stem
    if setpoints:
        flown, used_s = fly_setpoints(record, str(vehicle), window_s=window_s, params=settings or {})
        found = compare(record, [flown], fitted(plan, record), shift_s=0.0, window_s=used_s)
        return Credibility(found, f"{name} by the set-points of {record.path.name}")
    how: dict[str, Any] = {"restart_s": restart_s, "window_s": window_s, "params": settings or {}}
    driven = drive(record, vehicle, plan.drive, **how)
    found = compare(driven.real, [driven.simulated], driven.fitted(plan), shift_s=0.0, window_s=driven.window_s)
    found = with_wrong_models(driven.beside(found), driven, record, vehicle, plan.drive, how)
    return Credibility(found, f"{name} against {record.path.name}")
