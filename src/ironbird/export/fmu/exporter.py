"""`ironbird export fmu2` and `fmu3`: FMUs with source and binaries for Linux, Windows and aarch64.

Every part is offered for co-simulation; a part with continuous states also for model exchange, with directional
derivatives. Not offered: input derivatives, event indicators, clocks.
"""

from __future__ import annotations

import re
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from ironbird.export.c_code.code import files_of, literal
from ironbird.export.c_code.exporter import provenance, source_values
from ironbird.export.fmu.exchange import Exchange, exchange_of
from ironbird.export.job import Exporter, Job, filled, zipped
from ironbird.export.parts import Field, Part
from ironbird.export.record import start_params
from ironbird.export.targets import build_library, targets_of
from ironbird.model.signal import entry_names

HERE = Path(__file__).parent
FIRST_OUTPUT, FIRST_PARAM, TIME, SEED = 1_000_000, 2_000_000, 3_000_000, 3_000_001
FIRST_STATE, FIRST_RATE = 4_000_000, 5_000_000
INSTANCES, STATES = 16, 64
_TYPES = (
    "Float32",
    "Int8",
    "UInt8",
    "Int16",
    "UInt16",
    "Int32",
    "UInt32",
    "Int64",
    "Boolean",
    "String",
    "Binary",
    "Clock",
)
NOT_OFFERED = [
    *(f"{verb}{kind}" for verb in ("Get", "Set") for kind in _TYPES),
    "GetNumberOfVariableDependencies", "GetVariableDependencies",
    "GetAdjointDerivative", "EnterConfigurationMode", "ExitConfigurationMode", "GetIntervalDecimal",
    "GetIntervalFraction", "GetShiftDecimal", "GetShiftFraction", "SetIntervalDecimal", "SetIntervalFraction",
    "SetShiftDecimal", "SetShiftFraction", "EvaluateDiscreteStates", "GetOutputDerivatives", "ActivateModelPartition",
]  # fmt: skip
OF_EXCHANGE = [  # offered by parts with continuous states
    "EnterEventMode", "GetDirectionalDerivative", "UpdateDiscreteStates", "EnterContinuousTimeMode",
    "CompletedIntegratorStep", "SetTime", "SetContinuousStates", "GetContinuousStateDerivatives", "GetEventIndicators",
    "GetContinuousStates", "GetNominalsOfContinuousStates", "GetNumberOfEventIndicators", "GetNumberOfContinuousStates",
]  # fmt: skip
_BASE = {  # SI units as exponents of the base units of FMI
    "m": {"m": 1}, "s": {"s": 1}, "kg": {"kg": 1}, "A": {"A": 1}, "K": {"K": 1}, "rad": {"rad": 1}, "1": {},
    "Hz": {"s": -1}, "N": {"kg": 1, "m": 1, "s": -2}, "Pa": {"kg": 1, "m": -1, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3}, "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "ohm": {"kg": 1, "m": 2, "s": -3, "A": -2}, "T": {"kg": 1, "s": -2, "A": -1},
}  # fmt: skip


def base_unit(unit: str) -> dict[str, int] | None:
    """Exponents of a unit in the base units of FMI; None if they are not integers (noise densities)."""
    total: dict[str, int] = {}
    for sign, name, power in re.findall(r"(^|[*/])(\w+|sqrt\(\w+\))(?:\^(\d+))?", unit):
        if name not in _BASE:
            return None
        factor = (-1 if sign == "/" else 1) * int(power or 1)
        for base, exponent in _BASE[name].items():
            total[base] = total.get(base, 0) + factor * exponent
    return {base: exponent for base, exponent in total.items() if exponent}


class FmuExporter(Exporter):
    """Exporter of an FMU: a zip with modelDescription.xml, sources and binaries."""

    precisions = ("double",)

    def __init__(self, fmi: int) -> None:
        self.fmi = fmi
        self.name = f"fmu{fmi}"
        self.summary = f"FMU {fmi}.0 (co-simulation, model exchange), source and binaries for Linux, Windows, aarch64."

    def write(self, job: Job, folder: Path) -> dict[str, str]:
        """Write the FMU and its provenance into a folder; returns rows for the summary."""
        part = job.cut
        fmu = folder / f"{part.name}.fmu"
        exchange = exchange_of(part.model.flat)
        with tempfile.TemporaryDirectory(prefix="ironbird-") as temporary:
            inside = Path(temporary)
            token = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.fmi} {part.name} {part.model.model_hash}"))
            mission = start_params(job)
            values = source_values(job) | {
                "mission": [(row, literal(value)) for row, value in mission], "seed": job.seed,
                "fmi": self.fmi, "token": token, "instances": INSTANCES, "states": STATES, "exchange": exchange,
                "not_offered": NOT_OFFERED if exchange else [*NOT_OFFERED, *OF_EXCHANGE],
            }  # fmt: skip
            sources = {Path(name).name: text for name, text in files_of(job, exchange).items()}
            sources["fmu.c"] = filled(HERE, "fmu.c.j2", values)
            (inside / "sources").mkdir()
            for name, text in sources.items():
                (inside / "sources" / name).write_text(text, encoding="utf-8")
            if self.fmi == 3:
                (inside / "sources/buildDescription.xml").write_text(build_description(part), encoding="utf-8")
            (inside / "modelDescription.xml").write_text(
                description(part, self.fmi, token, dict(mission), job.seed, exchange), encoding="utf-8"
            )
            (inside / "documentation").mkdir()
            (inside / "documentation/index.html").write_text(
                f"<!DOCTYPE html><title>{part.name}</title><p>Model {part.model.model_hash}</p>\n", encoding="utf-8"
            )
            (inside / "resources").mkdir()
            (inside / "resources/PROVENANCE.json").write_text(provenance(job), encoding="utf-8")
            sizes = {}
            for target in targets_of(job.targets):
                place = target.fmi2 if self.fmi == 2 else target.fmi3
                result = inside / "binaries" / place / f"{part.name}{target.ending}"
                units = [inside / "sources" / f"{part.name}.c", inside / "sources/fmu.c"]
                build_library(units, target, result)
                sizes[target.name] = f"binaries/{place}, {result.stat().st_size / 1000:.0f} kB"
            zipped(inside, fmu)
        (folder / "PROVENANCE.json").write_text(provenance(job), encoding="utf-8")
        return {"model": part.model.model_hash, "fmu": str(fmu), **sizes}


def scalars(field: Field) -> list[str]:
    """Names of a field's scalars: its path, with an index if it has several."""
    return entry_names(field.path, field.signal.size)


def variables(part: Part, mission: Mapping[int, float]) -> list[dict[str, Any]]:
    """All variables: name, value reference, causality, variability, unit, start, description."""
    rows: list[dict[str, Any]] = []
    flat = part.model.flat
    number = 0
    for field in part.inputs:
        for i, name in enumerate(scalars(field)):
            start = literal_xml(flat.inputs[field.rows[0] + i])
            rows.append(_variable(name, number, "input", "continuous", field.signal.unit, field.signal.doc, start))
            number += 1
    number = FIRST_OUTPUT
    names = {entry["name"] for entry in rows}
    for field in part.outputs:
        for name in scalars(field):
            own = name if name not in names else f"out.{name}"
            rows.append(_variable(own, number, "output", "continuous", field.signal.unit, field.signal.doc, ""))
            number += 1
    row = 0
    for path, signal in flat.p.signals.items():
        for name in entry_names(path, signal.size):
            kind = "tunable" if getattr(signal, "tunable", False) else "fixed"
            start = literal_xml(mission.get(row, flat.values[row]))
            own = name if name not in names else f"param.{name}"
            rows.append(_variable(own, FIRST_PARAM + row, "parameter", kind, signal.unit, signal.doc, start))
            row += 1
    return rows


def continuous(exchange: Exchange | None, others: Iterable[str]) -> list[dict[str, Any]]:
    """Continuous states, then their derivatives, as variables; a state named like another variable gets a prefix."""
    states, rates = [], []
    names = set(others)
    for i, (label, unit) in enumerate(exchange.states if exchange else ()):
        name = f"state.{label}" if label in names else label
        states.append(_variable(name, FIRST_STATE + i, "local", "continuous", unit, "", ""))
        per_s = "1/s" if unit == "1" else f"{unit}/s"
        rates.append(_variable(f"der({name})", FIRST_RATE + i, "local", "continuous", per_s, "", ""))
        rates[-1]["of"] = FIRST_STATE + i
    return states + rates


def _variable(name: str, vr: int, causality: str, variability: str, unit: str, doc: str, start: str) -> dict[str, Any]:
    return {
        "name": name, "vr": vr, "causality": causality, "variability": variability, "unit": unit, "doc": doc,
        "start": start,
    }  # fmt: skip


def literal_xml(value: float) -> str:
    """A number as text that reads back to the same bits."""
    return repr(float(value))


def description(
    part: Part, fmi: int, token: str, mission: Mapping[int, float], seed: int, exchange: Exchange | None = None
) -> str:
    """Text of modelDescription.xml; `mission` holds start values that differ from the vehicle's own."""
    rows = variables(part, mission)
    rows += continuous(exchange, [row["name"] for row in rows])
    places = {row["vr"]: i for i, row in enumerate(rows, 1)}  # indices of FMI 2
    step = part.model.step_s
    units = "".join(_unit(unit) for unit in sorted({row["unit"] for row in rows} | {"s"}))
    title = f"{part.vehicle.spec.title}: {part.kind}"
    common = (
        f"modelName={quoteattr(part.name)} description={quoteattr(title)} "
        f'version={quoteattr(part.model.model_hash[:16])} generationTool="Ironbird {metadata.version("ironbird")}" '
        'variableNamingConvention="flat"'
    )
    experiment = f'  <DefaultExperiment startTime="0.0" stopTime="10.0" stepSize="{step!r}"/>\n'
    can = 'canHandleVariableCommunicationStepSize="true" '
    if fmi == 2:
        lines = "".join(_scalar2(row, places) for row in rows)
        lines += (
            f'    <ScalarVariable name="seed" valueReference="{SEED}" causality="parameter" variability="fixed" '
            f'description="of all random numbers"><Integer start="{seed}" min="0"/></ScalarVariable>\n'
        )
        outputs = [i for i, row in enumerate(rows, 1) if row["causality"] == "output"]
        unknowns = "".join(f'      <Unknown index="{i}"/>\n' for i in outputs)
        moving = [i for i, row in enumerate(rows, 1) if "of" in row]
        first = "".join(f'      <Unknown index="{i}"/>\n' for i, row in enumerate(rows, 1) if _is_calculated(row))
        derivatives = "".join(f'      <Unknown index="{i}"/>\n' for i in moving)
        derivatives = f"    <Derivatives>\n{derivatives}    </Derivatives>\n" if moving else ""
        files = "".join(f'      <File name="{name}"/>\n' for name in (f"{part.name}.c", "fmu.c"))
        offered = (
            f'  <ModelExchange modelIdentifier="{part.name}" completedIntegratorStepNotNeeded="true" '
            'canNotUseMemoryManagementFunctions="true" canGetAndSetFMUstate="true" canSerializeFMUstate="true" '
            'providesDirectionalDerivative="true">\n    <SourceFiles>\n'
            f"{files}    </SourceFiles>\n  </ModelExchange>\n"
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<fmiModelDescription fmiVersion="2.0" guid="{token}" {common} numberOfEventIndicators="0">\n'
            f"{offered if exchange else ''}"
            f'  <CoSimulation modelIdentifier="{part.name}" {can}canGetAndSetFMUstate="true" '
            f'canSerializeFMUstate="true" canNotUseMemoryManagementFunctions="true">\n    <SourceFiles>\n{files}'
            f"    </SourceFiles>\n  </CoSimulation>\n  <UnitDefinitions>\n{units}  </UnitDefinitions>\n{experiment}"
            f"  <ModelVariables>\n{lines}  </ModelVariables>\n"
            f"  <ModelStructure>\n    <Outputs>\n{unknowns}    </Outputs>\n{derivatives}"
            f"    <InitialUnknowns>\n{first}    </InitialUnknowns>\n  </ModelStructure>\n</fmiModelDescription>\n"
        )
    lines = (
        f'    <Float64 name="time" valueReference="{TIME}" causality="independent" '
        'variability="continuous" unit="s"/>\n'
        f'    <UInt64 name="seed" valueReference="{SEED}" causality="parameter" variability="fixed" start="{seed}" '
        'description="of all random numbers"/>\n'
    ) + "".join(_scalar3(row) for row in rows)
    outputs = [row["vr"] for row in rows if row["causality"] == "output"]
    structure = "".join(f'    <Output valueReference="{vr}"/>\n' for vr in outputs)
    structure += "".join(
        f'    <ContinuousStateDerivative valueReference="{row["vr"]}"/>\n' for row in rows if "of" in row
    )
    structure += "".join(f'    <InitialUnknown valueReference="{row["vr"]}"/>\n' for row in rows if _is_calculated(row))
    offered = (
        f'  <ModelExchange modelIdentifier="{part.name}" canGetAndSetFMUState="true" canSerializeFMUState="true" '
        'providesDirectionalDerivatives="true"/>\n'
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<fmiModelDescription fmiVersion="3.0" instantiationToken="{token}" {common}>\n'
        f"{offered if exchange else ''}"
        f'  <CoSimulation modelIdentifier="{part.name}" {can}canGetAndSetFMUState="true" canSerializeFMUState="true" '
        f'fixedInternalStepSize="{step!r}"/>\n'
        f"  <UnitDefinitions>\n{units}  </UnitDefinitions>\n{experiment}"
        f"  <ModelVariables>\n{lines}  </ModelVariables>\n"
        f"  <ModelStructure>\n{structure}  </ModelStructure>\n</fmiModelDescription>\n"
    )


def _unit(unit: str) -> str:
    exponents = base_unit(unit)
    if exponents is None:
        return f"    <Unit name={quoteattr(unit)}/>\n"
    inner = " ".join(f'{base}="{power}"' for base, power in exponents.items())
    return f"    <Unit name={quoteattr(unit)}><BaseUnit {inner}/></Unit>\n".replace("<BaseUnit />", "<BaseUnit/>")


def _said(row: dict[str, Any]) -> str:
    text = f'name={quoteattr(row["name"])} valueReference="{row["vr"]}" causality="{row["causality"]}" '
    text += f'variability="{row["variability"]}"'
    text += ' initial="calculated"' if row["causality"] == "local" else ""
    return text + (f" description={quoteattr(row['doc'])}" if row["doc"] else "")


def _is_calculated(row: dict[str, Any]) -> bool:
    """Whether a variable is calculated from others at the start (`initial="calculated"`)."""
    return row["causality"] in ("output", "local")


def _scalar2(row: dict[str, Any], places: Mapping[int, int]) -> str:
    start = f' start="{row["start"]}"' if row["start"] else ""
    start += f' derivative="{places[row["of"]]}"' if "of" in row else ""
    return f"    <ScalarVariable {_said(row)}><Real unit={quoteattr(row['unit'])}{start}/></ScalarVariable>\n"


def _scalar3(row: dict[str, Any]) -> str:
    start = f' start="{row["start"]}"' if row["start"] else ""
    start += f' derivative="{row["of"]}"' if "of" in row else ""
    return f"    <Float64 {_said(row)} unit={quoteattr(row['unit'])}{start}/>\n"


def build_description(part: Part) -> str:
    """Text of sources/buildDescription.xml of an FMU 3.0."""
    files = "".join(f'      <SourceFile name="{name}"/>\n' for name in (f"{part.name}.c", "fmu.c"))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<fmiBuildDescription fmiVersion="3.0">\n'
        f'  <BuildConfiguration modelIdentifier="{part.name}">\n    <SourceFileSet language="C99" '
        f'compilerOptions="-ffp-contract=off -fno-math-errno">\n{files}    </SourceFileSet>\n  </BuildConfiguration>\n'
        "</fmiBuildDescription>\n"
    )


FMU2 = FmuExporter(2)
FMU3 = FmuExporter(3)
