"""`ironbird export realtime`: a program for small Linux boards that flies a vehicle, and reports its timing."""

from __future__ import annotations

from pathlib import Path

from ironbird.export.c_code.code import files_of, literal
from ironbird.export.c_code.exporter import provenance, source_values
from ironbird.export.job import Exporter, Job, filled
from ironbird.export.record import start_params
from ironbird.export.targets import TARGETS, build_program, targets_of

HERE = Path(__file__).parent
PLATFORMS = ("linux64", "aarch64")


class Realtime(Exporter):
    """Exporter of a program that simulates a vehicle in real time on small Linux boards."""

    name = "realtime"
    summary = "Program for small Linux boards: flies at 1 to 5 kHz, sends MAVLink over UDP, reports its own timing."
    default_part = "whole"

    def write(self, job: Job, folder: Path) -> dict[str, str]:
        """Write source and programs for Linux on x86-64 and aarch64; returns rows for the summary."""
        part = job.cut
        name = f"{part.name}_realtime"
        values = source_values(job) | {
            "mission": [(row, literal(value)) for row, value in start_params(job)],
            "rate": round(1.0 / part.model.step_s),
            "seed": job.seed,
        }
        files = files_of(job) | {
            f"src/{name}.c": filled(HERE, "realtime.c.j2", values),
            "PROVENANCE.json": provenance(job),
        }
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        rows = {"model": part.model.model_hash, "rate": f"{values['rate']} Hz"}
        for target in targets_of(job.targets or PLATFORMS):
            if target is TARGETS["win64"]:
                continue  # Windows has other clocks and sockets
            program = folder / "bin" / target.name / name
            sources = [folder / f"src/{part.name}.c", folder / f"src/{name}.c"]
            build_program(sources, target, program, include=[folder / "include"])
            program.chmod(0o755)
            rows[target.name] = f"{program.relative_to(folder)}, {program.stat().st_size / 1000:.0f} kB"
        return rows


REALTIME = Realtime()
