"""`ironbird export rflysim`: a vehicle, with or without its control, as a model library with RflySim's functions.

The interface is that of RflySim's public header and clients; CopterSim itself is closed and was not tried.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ironbird.errors import ExportError
from ironbird.export.c_code.code import literal
from ironbird.export.c_code.exporter import source_values, write_source
from ironbird.export.job import Exporter, Job, filled
from ironbird.export.parts import Part
from ironbird.export.record import start_params
from ironbird.export.targets import build_library, targets_of
from ironbird.vehicles import places as at

HERE = Path(__file__).parent
VEHICLE_TYPE = 3  # of MavVehileInfo: a quadrotor's picture


class RflySim(Exporter):
    """Exporter of a model library with RflySim's public functions."""

    name = "rflysim"
    summary = "Model library with RflySim's public functions (DllInputPWMs, Dllstep, DlloutputSensors, …)."

    def write(self, job: Job, folder: Path) -> dict[str, str]:
        """Write source, wrapper and libraries into a folder; returns rows for the summary."""
        part = job.cut
        if part.kind not in ("vehicle", "whole"):
            raise ExportError(f"a model library holds a vehicle: export part 'vehicle' or 'whole', not '{part.kind}'")
        rows = write_source(job, folder)
        wrapper = folder / f"src/{part.name}_rflysim.c"
        wrapper.write_text(filled(HERE, "rflysim.c.j2", source_values(job) | _names(job)), encoding="utf-8")
        for target in targets_of(job.targets):
            result = folder / "lib" / target.name / f"{part.name}_rflysim{target.ending}"
            build_library([folder / f"src/{part.name}.c", wrapper], target, result, include=[folder / "include"])
            rows[target.name] = f"{result.relative_to(folder)}, {result.stat().st_size / 1000:.0f} kB"
        return rows


def _names(job: Job) -> dict[str, Any]:
    """Values for the template: which fields, rows and parameters of the vehicle correspond to RflySim's."""
    part = job.cut
    flat = part.model.flat
    by_path = {field.path: field.name for field in part.outputs}

    def field(path: str) -> str:
        return by_path.get(path, "")

    def row(path: str) -> int | None:
        return flat.p.start.get(path)

    position, velocity = by_path.get(at.BODY.position), by_path.get(at.BODY.velocity)
    if not position or not velocity:
        raise ExportError(f"'{part.vehicle.id}' has no body with a position: no model library can be made of it")
    commands = [] if part.kind == "whole" else sorted(part.inputs, key=_place)
    return {
        "mission": [(r, literal(v)) for r, v in start_params(job)],
        "seed": job.seed,
        "commands": [one.name for one in commands],
        "actuators": [one.path for one in commands],
        "rows": {
            "position": flat.x.start.get(at.BODY("p")),
            "attitude": flat.x.start.get(at.BODY("q")),
            "terrain": row(at.TERRAIN.base),
        },
        "home": {name: row(at.BODY(f"home_{name}")) for name in ("latitude", "longitude", "height")},
        "f": {
            "accel": field(at.imu(1).accel.value), "gyro": field(at.imu(1).gyro.value),
            "mag": field(at.magnetometer(1).tap.value), "baro": field(at.barometer(1).tap.value),
            "airspeed": field(at.airspeed(1).tap.value), "altitude": field(at.barometer(1).altitude.value),
            "latitude": field(at.BODY("latitude")), "longitude": field(at.BODY("longitude")),
            "height": field(at.BODY("height")), "velocity": field(at.gnss(1).velocity.value) or velocity,
            "true_velocity": velocity, "true_position": position, "euler": field(at.BODY.euler),
            "force": field(at.BODY.specific_force), "rates": field(at.BODY.rates),
            "quaternion": field(at.BODY.quaternion),
        },
        "fields_updated": 0x1FFF,
        "vehicle_type": VEHICLE_TYPE,
        "speeds": _speeds(part)[:8],
    }  # fmt: skip


def _place(field: Any) -> tuple[bool, str]:
    """Sort key of actuator fields: rotors first, then the rest by name."""
    return not field.path.startswith("rotor/"), field.path


def _speeds(part: Part) -> list[str]:
    paths = {field.path: field.name for field in part.outputs}
    return [paths[path] for rotor in at.each(at.rotor, paths) if (path := rotor.motor("speed")) in paths]


RFLYSIM = RflySim()
