"""`ib.import_vehicle` and `ib.export`: models of other programs in, code for other programs out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ironbird.export.job import Job
from ironbird.export.registry import export as write_export
from ironbird.export.registry import exporter_of
from ironbird.faults.catalog import Catalogue, parse_fault
from ironbird.faults.spec import Injection
from ironbird.files.whole import write_text
from ironbird.vehicles.imports.differences import differences
from ironbird.vehicles.imports.registry import Given
from ironbird.vehicles.imports.registry import import_vehicle as draft_of
from ironbird.vehicles.load import Vehicle, load_spec, load_vehicle


@dataclass(frozen=True)
class ImportedVehicle:
    """A vehicle file made from a model of another program.

    Attributes
    ----------
    path : Path
        The vehicle file: give it to `ib.fly` or `ib.load_vehicle`.
    id, title : str
        Name and title of the vehicle.
    missing : list of str
        A sentence for everything of the model that was not understood.
    assumed : list of str
        Entries of the vehicle file that the model did not say and that are assumed.
    differences : list of str
        Values that differ from the vehicle `against`, one sentence each.
    """

    path: Path
    id: str
    title: str
    missing: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def load(self) -> Vehicle:
        """The vehicle, as `ib.load_vehicle` gives it."""
        return load_vehicle(self.path)

    def __repr__(self) -> str:
        said = f"{len(self.missing)} things not understood, {len(self.assumed)} entries assumed"
        return f"<ImportedVehicle '{self.id}' in {self.path}: {said}>"


def import_vehicle(
    file: str | Path,
    out: str | Path | None = None,
    *,
    format: str | None = None,
    id: str | None = None,
    mass_kg: float | None = None,
    arm_m: float | None = None,
    against: str | Path | None = None,
) -> ImportedVehicle:
    """Make a vehicle file from a model of another program: `ironbird vehicle import`.

    Parameters
    ----------
    file : str or Path
        A model of Gazebo (.sdf, .urdf), ArduPilot (.json), PX4 (.params, .mix) or JSBSim (.xml).
    out : str or Path, optional
        The vehicle file to write; ID.toml in the current folder by default.
    format : str, optional
        sdf, urdf, ardupilot-json, px4 or jsbsim; by default the file's ending says it.
    id : str, optional
        Name of the vehicle; by default the model's.
    mass_kg : float, optional
        Total mass in kg, where the file does not say it (PX4).
    arm_m : float, optional
        Distance from the middle to a rotor in m, for PX4's mixer files.
    against : str or Path, optional
        A vehicle by name or file: values that differ from it are listed.

    Returns
    -------
    ImportedVehicle
        The vehicle file, with what was not understood and what is assumed.

    Raises
    ------
    VehicleError
        If the file cannot be read, or makes no vehicle.
    UnknownNameError
        If there is no such format.

    Examples
    --------
    >>> imported = ib.import_vehicle("iris.sdf", "iris.toml")  # doctest: +SKIP
    >>> ib.fly(imported.path).verdict  # doctest: +SKIP
    'pass'
    """
    draft = draft_of(Path(file), format, Given(id, mass_kg, arm_m))
    path = Path(out) if out is not None else Path(f"{draft.id}.toml")
    write_text(path, draft.text())
    spec = load_spec(path)
    differing = differences(spec, load_spec(against)) if against is not None else []
    sentences = [difference.text(spec.id, str(against)) for difference in differing]
    return ImportedVehicle(path, spec.id, spec.title, list(draft.missing), list(spec.assumed()), sentences)


@dataclass(frozen=True)
class Exported:
    """A vehicle, or a part of it, as code for another program.

    Attributes
    ----------
    folder : Path
        Folder with all files, a README among them.
    archive : Path
        The same as a zip file.
    rows : dict of str
        What was written and how the back-to-back test went, as the command prints it.
    """

    folder: Path
    archive: Path
    rows: dict[str, str]

    def __repr__(self) -> str:
        return f"<Exported in {self.folder}>"


def export(
    kind: str,
    vehicle: str | Path,
    folder: str | Path | None = None,
    *,
    part: str | None = None,
    control: str | None = None,
    precision: str | None = None,
    seconds: float = 10.0,
    faults: Sequence[Injection | str] = (),
    faults_files: Sequence[str | Path] = (),
    seed: int = 1,
    targets: Sequence[str] = (),
    rate_hz: float = 1000.0,
) -> Exported:
    """Write a vehicle, its controller or any block as code for other programs: `ironbird export`.

    Parameters
    ----------
    kind : str
        c, library, rflysim, fmu2, fmu3, wasm, cortex-m or realtime.
    vehicle : str or Path
        Catalogue name, or a TOML file.
    folder : str or Path, optional
        Folder to write; `out/export/KIND_VEHICLE_PART` by default. It must be empty, or an earlier export.
    part : str, optional
        vehicle, whole, controller, estimator, autopilot, sensors, or the path of a block, for example `rotor/1`; by
        default what the kind usually writes.
    control : str, optional
        reference or truth: the control system that parts are taken from; by default the vehicle's own.
    precision : str, optional
        double or single; by default the first that the kind has.
    seconds : float, default 10.0
        Length in s of the flight that is recorded for the back-to-back test.
    faults : sequence of Injection or str, optional
        Faults of that flight, for example `"rotor.speed_loss@1:severity=0.2,start=5"`.
    faults_files : sequence of str or Path, optional
        Files that define faults of your own.
    seed : int, default 1
        Seed of that flight.
    targets : sequence of str, optional
        Platforms (linux64, aarch64, win64); all that the kind has by default.
    rate_hz : float, default 1000.0
        Steps a second; other than 1000 for realtime only.

    Returns
    -------
    Exported
        Folder, archive and what was written.

    Raises
    ------
    ExportError
        If the kind, part or precision does not exist, or the folder holds other files.

    Examples
    --------
    >>> made = ib.export("c", "quad_f450", "controller_c", part="controller")  # doctest: +SKIP
    >>> made.archive  # doctest: +SKIP
    PosixPath('controller_c.zip')
    """
    exporter = exporter_of(kind)
    known = Catalogue(faults_files)
    job = Job(
        vehicle=str(vehicle),
        part=part or exporter.default_part,
        control=control,
        precision=precision or exporter.precisions[0],
        seconds=seconds,
        faults=[parse_fault(fault, known) if isinstance(fault, str) else fault for fault in faults],
        seed=seed,
        targets=targets,
        rate_hz=rate_hz,
    )
    usual = Path("out/export") / f"{kind}_{Path(vehicle).stem}_{job.part.replace('/', '_')}"
    place = Path(folder) if folder is not None else usual
    rows = write_export(kind, job, place)
    return Exported(place, Path(rows["archive"]), rows)
