"""An export job, and the base class of exporters: a name, a summary, and a method that writes files."""

from __future__ import annotations

import functools
import shutil
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ironbird.export.parts import Part, make_part
from ironbird.faults.spec import Injection

PRECISIONS = {"double": "double", "single": "float"}  # name -> type in C


@dataclass(frozen=True)
class Job:
    """One export: vehicle, part, precision, and the flight of the back-to-back test."""

    vehicle: str
    part: str = "vehicle"
    control: str | None = None
    precision: str = "double"
    seconds: float = 10.0  # of the recorded flight
    faults: Sequence[Injection | str] = ()
    seed: int = 1
    targets: Sequence[str] = ()  # platforms; none: all that the exporter knows
    rate_hz: float = 1000.0  # steps a second

    @functools.cached_property
    def cut(self) -> Part:
        """The part of the vehicle, cut out of its diagram and compiled."""
        return make_part(self.vehicle, self.part, self.control, rate_hz=self.rate_hz)


class Exporter(ABC):
    """Base class of exporters; each writes one kind of product into a folder."""

    name: str
    summary: str  # one line for the help of the command line
    precisions: Sequence[str] = ("double",)
    default_part: str = "vehicle"

    @abstractmethod
    def write(self, job: Job, folder: Path) -> dict[str, str]:
        """Write the files; returns rows for the summary."""


def filled(place: Path, template: str, values: Mapping[str, Any]) -> str:
    """Text of a Jinja template of an exporter's folder, filled with values."""
    made = Environment(
        loader=FileSystemLoader(place / "templates"), undefined=StrictUndefined, keep_trailing_newline=True,
        trim_blocks=True, lstrip_blocks=True, autoescape=False,
    )  # fmt: skip
    return made.get_template(template).render(**values)


def zipped(folder: Path, archive: Path) -> Path:
    """Pack the files of a folder into a zip whose bytes depend on these files alone."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path != archive:
                info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), (1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (0o755 if path.suffix in (".so", ".dll", "") else 0o644) << 16
                file.writestr(info, path.read_bytes())
    return archive


def emptied(folder: Path, mark: str = "PROVENANCE.json") -> Path:
    """Create or empty the folder of an export; a folder that holds no earlier export is refused."""
    from ironbird.errors import ExportError

    if folder.exists() and any(folder.iterdir()):
        if not (folder / mark).is_file():
            raise ExportError(f"{folder} holds files that are no earlier export: give an empty or a new folder (--out)")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
