"""Loading of vehicles by catalogue name or file: TOML in, diagram out."""

from __future__ import annotations

import contextlib
import copy
import difflib
import functools
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.errors import MOST_NEAR, PlausibilityWarning, UnknownNameError, VehicleError, shortened
from ironbird.files.problems import (
    Layers,
    Problem,
    Source,
    merged,
    near_words,
    other_kind,
    read_source,
    schema_problems,
    unreadable,
)
from ironbird.model.diagram import Diagram
from ironbird.vehicles.commanded import take_commands
from ironbird.vehicles.external import cut_control
from ironbird.vehicles.kinds import CONTROLS, KINDS, VehicleKind, vehicle_kind
from ironbird.vehicles.names import CATALOG as CATALOG
from ironbird.vehicles.names import vehicle_ids as vehicle_ids
from ironbird.vehicles.parts import change_parts
from ironbird.vehicles.plausible import impossible, odd
from ironbird.vehicles.spec import CLOSE, Home, Integration, VehicleSpec, leaves, parse, sources_in

MISSING = "give a vehicle of the catalogue, or the path of a TOML file"
SCHEMA = 1  # version of vehicle files


@dataclass(frozen=True)
class Vehicle:
    """A vehicle with its diagram of blocks.

    Attributes
    ----------
    spec : VehicleSpec
        What its file says.
    diagram : Diagram
        Its blocks and their connections, which may be changed before it is compiled.
    path : Path
        Its file.
    control : str
        Whose diagram it is: reference, truth, external or commanded.
    """

    spec: VehicleSpec
    diagram: Diagram
    path: Path
    control: str  # kind of control in the diagram: reference, truth, external or commanded

    def __repr__(self) -> str:
        return f"<Vehicle '{self.id}': {self.spec.title}, control {self.control}, {len(self.diagram.blocks)} blocks>"

    @property
    def id(self) -> str:
        """Name of the vehicle in the catalogue."""
        return self.spec.id

    @property
    def kind(self) -> VehicleKind:
        """The declared kind of the vehicle, such as multicopter."""
        return vehicle_kind(self.spec)

    @property
    def integration(self) -> Integration:
        """Integration method and step of the file; millisecond steps if a part samples between the file's steps."""
        return self.spec.integration if self.spec.integration.fits(self.diagram) else CLOSE


def vehicle_path(name: str | Path) -> Path:
    """The file of a vehicle.

    Parameters
    ----------
    name : str or Path
        Catalogue name, or a TOML file.

    Returns
    -------
    Path
        Its TOML file.

    Raises
    ------
    UnknownNameError
        If the catalogue has no such vehicle.

    Examples
    --------
    >>> ib.vehicle_path("quad_f450").name
    'quad_f450.toml'
    """
    if str(name).endswith(".toml"):
        path = Path(name)
        if not _is_file(path):
            why = "it is a folder" if os.path.isdir(path) else "it does not exist"
            raise VehicleError(unreadable(path, why, _similar(path) + MISSING))
        return path
    found = _in_catalogue(str(name))
    if found is None or not _is_file(found):
        if (what := _other_file(str(name))) and str(name) not in vehicle_ids():
            raise VehicleError(f"{shortened(name)} is {what}, no vehicle: {MISSING}")
        raise UnknownNameError("vehicle", str(name), vehicle_ids(), listed_by="ironbird vehicle list")
    return found


def _similar(path: Path) -> str:
    """Files beside one that does not exist, and vehicles of the catalogue, that are spelled alike; for its cure."""
    try:
        files = [str(path.parent / name) for name in os.listdir(path.parent) if name.endswith(".toml")]
    except (OSError, ValueError):
        files = []
    near = difflib.get_close_matches(str(path), files, n=MOST_NEAR, cutoff=0.7)
    near += difflib.get_close_matches(path.stem, vehicle_ids(), n=MOST_NEAR, cutoff=0.7)
    return f"did you mean {' or '.join(repr(name) for name in near[:MOST_NEAR])}? If not, " if near else ""


def _other_file(name: str) -> str:
    """What a path that is no TOML file leads to; empty if there is nothing."""
    if not name or not os.path.exists(name):
        return ""
    if os.path.isdir(name):
        return "a folder"
    ending = os.path.splitext(name)[1]
    models = (".sdf", ".urdf", ".xml", ".params", ".mix", ".json")
    return "a file for 'ironbird vehicle import'" if ending in models else "a file that does not end in .toml"


@functools.lru_cache(maxsize=256)
def _in_catalogue(name: str) -> Path | None:
    """Path that a name has in the catalogue; None if it would be outside of it."""
    path = CATALOG / f"{name}.toml"
    return path if path.parent == CATALOG else None


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # False for names that no file can have


class VehicleFile(Layers):
    """A vehicle file on top of those it is based on.

    Numbers are inherited, texts about them are not: a file without a title and a summary is described by what it
    changes, and the base's source does not apply to a value that the file itself gives.
    """

    @functools.cached_property
    def data(self) -> dict[str, Any]:
        """Content of all files merged."""
        below = VehicleFile(self.sources[1:]).data if len(self.sources) > 1 else None
        own = self.sources[0].data
        if below is None:
            return own
        head = ("schema", "id", "base", "title", "summary", "template", "provenance")
        own_keys = [key for key, _ in leaves({key: value for key, value in own.items() if key not in head})]
        data = merged(below, own)
        name, tables = below.get("id"), ", ".join(dict.fromkeys(key.partition(".")[0] for key in own_keys))
        data["title"] = own.get("title", f"{own.get('id')}, based on {name}")
        data["summary"] = own.get("summary", f"As {name}" + (f", with other values of: {tables}." if tables else "."))
        if isinstance(data.get("provenance"), dict):
            data["provenance"] = _own_sources(data["provenance"], own.get("provenance", {}), own_keys, self.sources[0])
        return data


def _own_sources(together: dict[str, Any], own: dict[str, Any], keys: list[str], source: Source) -> dict[str, Any]:
    """Sources of a file and its base merged, so that a value that the file itself gives has the file's source."""
    if not all(isinstance(text, str) for text in together.values()):
        return together  # invalid: the grammar refuses it
    changed, of_own, of_both = {}, sources_in(own), sources_in(together)
    for key in keys:
        stated = of_own(key) or f"assumed: {source.path.name} gives no source"
        if of_both(key) not in ("", stated):
            changed[key] = stated
    return together | changed


def read_layers(path: Path) -> VehicleFile:
    """A vehicle file with the files that it is based on (`base`)."""
    return layers_of(_read(path))


def _read(path: Path) -> Source:
    """Read a vehicle file; catalogue files are cached, and their tables must not be changed."""
    if path.parent == CATALOG:
        with contextlib.suppress(OSError):
            return _of_catalogue(path, path.stat().st_mtime_ns)
    source = read_source(path, MISSING)
    if isinstance(source, Problem):
        raise VehicleError(source)
    return source


@functools.lru_cache(maxsize=256)
def _of_catalogue(path: Path, changed_ns: int) -> Source:
    source = read_source(path, MISSING)
    if isinstance(source, Problem):
        raise VehicleError(source)
    return source


def layers_of(source: Source) -> VehicleFile:
    """A vehicle file that was read, with the files that it is based on (`base`)."""
    sources, files = [source], [_same_file(source.path)]
    while True:
        if "base" not in source.data:
            return VehicleFile(tuple(sources))
        path = _base(source)
        file = _same_file(path)
        if file is not None and file in files:
            known = [other.path.resolve().stem for other in sources[files.index(file) :]]
            circle = " -> ".join((*known, path.stem))
            raise VehicleError(source.problem(("base",), f"it goes round in a circle: {circle}", "name another base"))
        source = _read(path)
        sources.append(source)
        files.append(file)


def _same_file(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file, equal for all its names; None if it does not exist."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _base(source: Source) -> Path:
    """Path of the file that a vehicle file is based on."""
    name = source.data["base"]
    if "id" not in source.data:
        cure = "a vehicle with a base needs an id of its own: add id = …"
        raise VehicleError(source.problem(("id",), "id is missing", cure))
    if not isinstance(name, str):
        cure = "give a vehicle of the catalogue, or a TOML file in quotes"
        raise VehicleError(source.problem(("base",), f"{name!r} does not fit here", cure))
    try:
        return vehicle_path(source.path.parent / name if name.endswith(".toml") else name)
    except UnknownNameError as error:
        cure = near_words(error, f"one of {', '.join(vehicle_ids())}; or a TOML file")
        raise VehicleError(source.problem(("base",), str(error).partition(";")[0], cure)) from None
    except VehicleError as error:
        raise VehicleError(source.problem(("base",), f"cannot read {name}: it does not exist", MISSING)) from error


def read_tables(path: Path) -> dict[str, Any]:
    """Content of a vehicle file merged with that of its base, as one file without a base."""
    return copy.deepcopy({key: value for key, value in read_layers(path).data.items() if key != "base"})


def load_spec(name: str | Path) -> VehicleSpec:
    """Read and check a vehicle file; those of the catalogue are cached until they change."""
    path = vehicle_path(name)
    return _catalogue_spec(path, file_stamp(path)) if path.parent == CATALOG else spec_of(read_layers(path))


@functools.lru_cache(maxsize=256)
def _catalogue_spec(path: Path, stamp: Stamp) -> VehicleSpec:
    return spec_of(read_layers(path))


def spec_of(file: VehicleFile) -> VehicleSpec:
    """Check a vehicle file that was read."""
    if problems := other_kind(file, "template", "base") or schema_problems(file, SCHEMA):
        raise VehicleError(*problems)
    template = file.data.get("template")
    if template is None:
        cure = f"add template = …, one of {', '.join(KINDS)}; or a base"
        raise VehicleError(file.problem(("template",), "template is missing", cure))
    if not isinstance(template, str) or template not in KINDS:
        unknown = UnknownNameError("template", str(template), KINDS)
        cure = near_words(unknown, f"one of {', '.join(KINDS)}")
        raise VehicleError(file.problem(("template",), str(unknown).partition(";")[0], cure))
    spec = parse(KINDS.load(template).spec, file)
    try:
        if impossible_values := impossible(spec):
            raise VehicleError(*(file.problem(*words) for words in impossible_values))
        unlikely = odd(spec)
    except (ArithmeticError, ValueError) as error:
        raise VehicleError(_out_of_proportion(file.sources[0].path, error)) from error
    for text in unlikely:
        warnings.warn(f"vehicle '{spec.id}': {text}", PlausibilityWarning, stacklevel=2)
    return spec


def _out_of_proportion(path: Path, error: Exception) -> str:
    return (
        f"{path}: no vehicle can be built with these numbers ({error}); look for one that is out of all proportion: "
        "a mass, a length, a thrust, a gain"
    )


Stamp = tuple[tuple[str, int], ...]  # files with their modification times


def file_stamp(path: Path) -> Stamp:
    """A stamp that changes when a vehicle file, or one that it is based on, has changed."""
    stamp: list[tuple[str, int]] = []
    following: Path | None = path
    while following is not None and str(following) not in dict(stamp):
        changed_ns = following.stat().st_mtime_ns
        stamp.append((str(following), changed_ns))
        following = _base_path(following, changed_ns)
    return tuple(stamp)


@functools.lru_cache(maxsize=256)
def _base_path(path: Path, changed_ns: int) -> Path | None:
    layers = read_layers(path).sources
    return layers[1].path if len(layers) > 1 else None


def usual_control(name: str | Path) -> str:
    """The default kind of control of a vehicle."""
    return vehicle_kind(load_spec(name)).controls[0]


def load_vehicle(name: str | Path, *, control: str | None = None, home: Home | None = None) -> Vehicle:
    """Load a vehicle, ready to be compiled.

    Parameters
    ----------
    name : str or Path
        Catalogue name, or a TOML file.
    control : str, optional
        reference (sensors, estimator, failsafes), truth (a controller that sees the true state), external (sensors, and
        actuators that wait for commands from outside) or commanded (as reference, and its navigator waits for commands
        from outside); by default what the vehicle usually has.
    home : Home, optional
        Take-off point in place of the file's own.

    Returns
    -------
    Vehicle
        Its specification and its diagram of blocks.

    Raises
    ------
    VehicleError
        If the file has problems.
    UnknownNameError
        If the catalogue has no such vehicle.

    Examples
    --------
    >>> ib.load_vehicle("quad_f450").spec.title
    'F450 quadcopter (Dai et al., Fig. 14)'
    """
    control = control or usual_control(name)
    if control not in CONTROLS:
        raise UnknownNameError("kind of control", control, CONTROLS)
    spec = load_spec(name)
    if home is not None:
        spec = spec.model_copy(update={"home": home})
    kind = vehicle_kind(spec)
    if control not in kind.controls:
        raise VehicleError(
            f"vehicle '{spec.id}' has no control of kind '{control}'; it offers {', '.join(kind.controls)}"
        )
    try:
        opened = {"external": cut_control, "commanded": take_commands}.get(control)
        diagram = kind.build(spec, "reference" if opened else control)
        if spec.replace or spec.add:
            file = functools.partial(read_layers, vehicle_path(name))
            change_parts(diagram, spec, file, functools.partial(kind.build, spec, "reference"))
        diagram = opened(diagram) if opened else diagram
    except (ArithmeticError, ValueError) as error:  # numbers that are valid singly but do not make a vehicle
        raise VehicleError(_out_of_proportion(vehicle_path(name), error)) from error
    return Vehicle(spec, diagram, vehicle_path(name), control)
