"""FMUs of other tools as control system or as plant: stepped by the rig in a separate process, with a deadline.

Its inputs carry names of signals of sampled blocks (`imu/1/gyro_fault.value[0]`: after fault injection, so faults of
sensors reach it), its outputs names of actuators (`rotor/1`) or of the signals that drive them in the reference
autopilot (`control.throttle_1`), so that the exported autopilot fits unchanged. Inputs and outputs with other names are
ignored; an FMU without any known output is refused. Faults of actuator links act after it.

As a plant it computes the motion of the body: its inputs are actuators (`rotor/1`: the command after fault injection)
or signals of sampled blocks, its outputs the body's motion (`body.p_NB_N[0]`), as Ironbird's exported `vehicle` has
them. Sensors, their faults, estimator and control are the vehicle's own. Motors, battery and telemetry of rotors stay
the vehicle's own, too: those of the plant are not used.
"""

from __future__ import annotations

import fnmatch
import json
import math
import os
import platform
import select
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.errors import LinkError
from ironbird.files import option_texts as texts
from ironbird.files.xml_tree import read_xml
from ironbird.host.process import AutopilotProcess, passed_on
from ironbird.model.diagram import block_of
from ironbird.rig.reference_autopilot import CARRIED
from ironbird.rig.rig import Rig
from ironbird.rig.system import ControlSystem, Kind, Options, Seat, Task
from ironbird.systems.fmu import worker
from ironbird.vehicles import places as at
from ironbird.vehicles.external import cut_vehicle, plant_blocks, with_external_body
from ironbird.vehicles.load import Vehicle, load_vehicle

VARIABLE = "IRONBIRD_FMU"  # folder with FMUs that may be run
MOST_BYTES = 500_000_000  # of an FMU, unpacked
ERROR_BYTES = 200
PLANT, TAP, COMMAND = "plant/", "/command_fault.", "/command_fault.value"
MAY_LACK = ("body.angular_acceleration_B",)  # zero if missing: for inertial sensors away from the centre of mass
STARTS = {"body.p_NB_N": at.BODY("p_0"), "body.q_NB": at.BODY.attitude_0}  # before the plant's first output
PLATFORMS = {
    ("x86_64", "2.0"): "linux64", ("aarch64", "2.0"): "aarch64-linux",
    ("x86_64", "3.0"): "x86_64-linux", ("aarch64", "3.0"): "aarch64-linux",
}  # fmt: skip


class FmuOptions(Options):
    """Options of control system `fmu`: folder and file of the FMU, exchange period, deadline."""

    folder: Annotated[
        str | None,
        Field(description=texts.FOLDER),
    ] = None
    file: Annotated[
        str,
        Field(
            description="Name of the FMU or file of the policy (.npz, .onnx or a shipped one); not needed if there is "
            "one only."
        ),
    ] = ""
    step_ticks: Annotated[int, Field(description="Milliseconds between two exchanges.", ge=1, le=1000)] = 4
    patience_s: Annotated[float, Field(description="Longest wait for one answer, in seconds.", gt=0, le=600)] = 10.0


@dataclass(frozen=True)
class Description:
    """The parts of modelDescription.xml that are needed to run an FMU."""

    fmi: str
    token: str
    library: str
    inputs: dict[str, int]  # name -> value reference
    outputs: dict[str, int]


def describe(text: bytes, name: str) -> Description:
    """Parse modelDescription.xml; `LinkError` if it is invalid or offers no co-simulation."""
    root = read_xml(text, lambda why: LinkError(f"{name}: modelDescription.xml: {why}"))
    version = root.get("fmiVersion", "")
    offered = root.find("CoSimulation")
    if not version.startswith(("2.0", "3.0")) or offered is None:
        raise LinkError(
            f"{name} is FMI '{version}' {'without' if offered is None else 'with'} co-simulation: 2.0 or 3.0 needed"
        )
    ports: dict[str, dict[str, int]] = {"input": {}, "output": {}}
    variables = root.find("ModelVariables")
    for variable in variables if variables is not None else ():
        number = variable.find("Real") is not None or variable.tag == "Float64"
        if number and variable.get("causality") in ports:
            try:
                ports[variable.get("causality", "")][variable.get("name", "")] = int(variable.get("valueReference", ""))
            except ValueError:
                raise LinkError(f"{name}: variable '{variable.get('name')}' has no value reference") from None
    token = root.get("guid" if version.startswith("2") else "instantiationToken", "")
    return Description(version[:3], token, offered.get("modelIdentifier", ""), ports["input"], ports["output"])


class FmuProcess(AutopilotProcess):
    """An FMU, unpacked into a temporary folder, and the process that steps it."""

    prefix = "ironbird-fmu-"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    @property
    def name(self) -> str:
        """File name of the FMU, for messages."""
        return self.path.name

    def _to_keep(self, folder: Path) -> Sequence[Path]:
        return ()

    def unpack(self) -> Description:
        """Unpack the FMU and read its description; refuses file names that lead out of the folder."""
        folder = self._make_folder()
        try:
            with zipfile.ZipFile(self.path) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
                    raise LinkError(f"{self.path} unpacks to more than {MOST_BYTES / 1e6:.0f} MB")
                for entry in archive.namelist():
                    if entry.startswith("/") or ".." in Path(entry).parts or "\\" in entry:
                        raise LinkError(f"{self.path} holds '{entry}', which leads out of its folder")
                archive.extractall(folder)
            text = (folder / "modelDescription.xml").read_bytes()
        except (OSError, zipfile.BadZipFile, KeyError, RuntimeError, ValueError, EOFError, zlib.error) as error:
            raise LinkError(f"{self.path} is no FMU: {error}") from None
        return describe(text, self.path.name)

    def library(self, description: Description) -> Path:
        """Path of the FMU's binary for this computer; `LinkError` lists the platforms it has instead."""
        assert self.folder is not None
        place = PLATFORMS.get((platform.machine(), description.fmi), platform.machine())
        binary = self.folder / "binaries" / place / f"{description.library}.so"
        if not binary.is_file():
            there = sorted(path.name for path in (self.folder / "binaries").glob("*"))
            raise LinkError(f"{self.path.name} has no binary for {place}; it has {', '.join(there) or 'none'}")
        return binary

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the worker process that steps the FMU."""
        assert self.folder is not None
        with (self.folder / self.console_name).open("wb") as console:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", worker.__file__],
                cwd=self.folder, env=passed_on(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=console,
                start_new_session=True, bufsize=0,
            )  # fmt: skip
        return self._process


class FmuSystem(ControlSystem):
    """An FMU in the place of the control system."""

    def __init__(self, path: Path, options: FmuOptions, driven: Mapping[str, str]) -> None:
        super().__init__()
        self.name = path.name
        self.step_ticks = options.step_ticks
        self.patience_s = options.patience_s
        self.driven = driven
        self.box = FmuProcess(path)
        self._worker: subprocess.Popen[bytes] | None = None
        self._left = b""

    def start(self, rig: Rig) -> None:
        """Unpack the FMU, start its process, and connect its inputs and outputs by name."""
        description = self.box.unpack()
        library = self.box.library(description)
        inputs = self.wire(rig, description)
        self._worker = self.box.launch()
        resources = library.parents[2] / "resources"
        order = {
            "library": str(library), "fmi": int(description.fmi[0]), "token": description.token, "inputs": inputs,
            "outputs": [description.outputs[name] for name, _ in self.commands],
            "resources": resources.as_uri() if description.fmi == "2.0" else str(resources),
        }  # fmt: skip
        self._send(rig, json.dumps(order).encode() + b"\n")
        answer = json.loads(self._take(rig, 0))
        if "error" in answer:
            raise LinkError(f"{self.name} cannot be started: {answer['error']}")
        self.note(
            rig, "text", f"FMU {description.fmi}: {len(inputs)} inputs and {len(self.commands)} outputs are wired"
        )

    def wire(self, rig: Rig, description: Description) -> list[int]:
        """Resolve rows that the FMU reads (`rows`) and drives (`commands`); returns the references of its inputs."""
        labels = {label: row for row, label in enumerate(rig.state.model.flat.held.labels())}
        self.rows = np.array([labels[name] for name in description.inputs if name in labels], np.intp)
        drives = {signal: place for place, signal in self.driven.items()} | {place: place for place in rig.actuators}
        self.commands = [(name, rig.actuators[drives[name]]) for name in description.outputs if name in drives]
        if not self.commands:
            raise LinkError(
                f"{self.name} has no output that drives an actuator: name outputs {', '.join(rig.actuators)} "
                f"(it has {', '.join(list(description.outputs)[:8]) or 'none'})"
            )
        return [reference for name, reference in description.inputs.items() if name in labels]

    def exchange(self, rig: Rig) -> None:
        """One communication step, up to the rig's time; none at the start, before the first measurement."""
        if rig.state.tick == 0:  # zeros would be taken as pressure and voltage at rest
            return
        length = self.step_ticks * rig.state.model.step_s
        values = rig.stepper.held[self.rows]
        self._send(rig, struct.pack(f"<{1 + len(values)}d", length, *values))
        data = self._take(rig, ERROR_BYTES + 8 * len(self.commands))
        if text := data[:ERROR_BYTES].rstrip(b"\0").decode(errors="replace"):
            raise LinkError(f"{self.name} failed: {text} {self.where(rig)}")
        for (name, row), value in zip(
            self.commands, struct.unpack_from(f"<{len(self.commands)}d", data, ERROR_BYTES), strict=True
        ):
            if not math.isfinite(value):
                raise LinkError(f"{self.name} put out {value} as '{name}' {self.where(rig)}")
            rig.stepper.inputs[row] = value

    def _send(self, rig: Rig, data: bytes) -> None:
        assert self._worker is not None and self._worker.stdin is not None
        try:
            self._worker.stdin.write(data)
        except OSError:
            raise self._gone(rig) from None
        self.traffic.sent += 1
        self.traffic.last_sent = "a step"

    def _take(self, rig: Rig, size: int) -> bytes:
        """Read an answer of `size` bytes, or a line, from the process within the deadline."""
        assert self._worker is not None and self._worker.stdout is not None
        deadline = time.monotonic() + self.patience_s
        handle = self._worker.stdout.fileno()
        data = self._left
        while len(data) < size if size else b"\n" not in data:
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise self.silent(rig, self.patience_s, "answer")
            part = os.read(handle, 1 << 16)
            if not part:
                raise self._gone(rig)
            data += part
        end = size or data.index(b"\n") + 1
        self._left = data[end:]
        self.traffic.received += 1
        self.traffic.last_received = "outputs"
        return data[:end]

    def _gone(self, rig: Rig) -> LinkError:
        assert self._worker is not None
        try:
            code: int | None = self._worker.wait(1.0)
        except subprocess.TimeoutExpired:
            code = None
        return LinkError(f"the process of {self.name} ended with code {code} {self.where(rig)}")

    def stop(self) -> None:
        """End the process and remove its folder."""
        if self._worker is not None:
            for pipe in (self._worker.stdin, self._worker.stdout):
                if pipe is not None:
                    pipe.close()
        self.box.stop()
        self._worker = None


class FmuPlant(FmuSystem):
    """An FMU as plant: the motion of a vehicle that has its own sensors and control."""

    fills = "fmu-plant"

    def wire(self, rig: Rig, description: Description) -> list[int]:
        """Connect commands after fault injection to the FMU's inputs, and the body's motion to its outputs."""
        flat = rig.state.model.flat
        labels = {label: row for row, label in enumerate(flat.held.labels())}
        labels |= {label.removesuffix(COMMAND): row for label, row in labels.items() if label.endswith(COMMAND)}
        self.rows = np.array([labels[name] for name in description.inputs if name in labels], np.intp)
        motion = {
            label.removeprefix(PLANT): row for row, label in enumerate(flat.u.labels()) if label.startswith(PLANT)
        }
        self.commands = [(name, motion[name]) for name in description.outputs if name in motion]
        missing = [name for name in motion if name not in description.outputs and not name.startswith(MAY_LACK)]
        if missing or not len(self.rows):
            lacks = f"the outputs {', '.join(missing)}" if missing else "inputs named after actuators, such as rotor/1"
            raise LinkError(f"{self.name} is no plant of {rig.vehicle.id}: it lacks {lacks}")
        start = {
            f"{signal}[{i}]": value for signal, path in STARTS.items() for i, value in enumerate(self._param(rig, path))
        }
        for name, row in motion.items():
            rig.stepper.inputs[row] = start.get(name, rig.stepper.inputs[row])
        return [reference for name, reference in description.inputs.items() if name in labels]

    @staticmethod
    def _param(rig: Rig, path: str) -> np.ndarray:
        return np.asarray(rig.state.params[0, rig.state.model.param_rows(path), 0])


class FmuKind(Kind):
    """Kind of control system `fmu`: a co-simulation FMU of another tool."""

    name = "fmu"
    title = "FMU"
    summary = "Fly with a co-simulation FMU (2.0 or 3.0) as the control system."
    options = FmuOptions
    longest_s = 120.0

    def takes_none(self) -> str:
        """Why an FMU takes no commands in flight: its inputs are sensors, connected by name."""
        return (
            "an FMU is wired by names: outputs of sensors to its inputs, its outputs to actuators; it has no input for "
            "commands, and what it flies is decided inside it"
        )

    def seat(self, task: Task) -> Seat:
        """The rig with an FMU that is not started yet; an FMU gets no mission."""
        assert isinstance(task.options, FmuOptions)
        path = path_of(task.options)
        if task.options.folder is not None:
            task.trust.check_folder(task.options.folder, VARIABLE)
        reference = load_vehicle(task.vehicle.path, control="reference")
        return Seat(FmuSystem(path, task.options, cut_vehicle(reference.diagram)[2]))

    def programs(self, options: Options) -> Sequence[Path]:
        """The FMU's file, whose hash belongs to the record; empty if it is not found."""
        assert isinstance(options, FmuOptions)
        try:
            return (path_of(options),)
        except LinkError:
            return ()


class PlantOptions(FmuOptions):
    """Options of control system `fmu_plant`: those of `fmu`, with an exchange every millisecond."""

    step_ticks: Annotated[int, Field(description="Milliseconds between two exchanges.", ge=1, le=1000)] = 1


class FmuPlantKind(FmuKind):
    """Kind of control system `fmu_plant`: an FMU as plant of a vehicle with the reference autopilot."""

    name = "fmu-plant"
    title = "Reference autopilot on a plant FMU"
    summary = "Fly the reference autopilot and its sensors on the motion of a co-simulation FMU (2.0 or 3.0)."
    options = PlantOptions
    vehicle_control = "reference"

    def fitted(self, vehicle: Vehicle, options: Options) -> Vehicle:
        """The vehicle with a body whose motion is prescribed by inputs."""
        return replace(vehicle, diagram=with_external_body(vehicle.diagram))

    def seat(self, task: Task) -> Seat:
        """The rig with a plant FMU that is not started yet; faults inside the plant are refused."""
        assert isinstance(task.options, FmuOptions)
        path = path_of(task.options)
        if task.options.folder is not None:
            task.trust.check_folder(task.options.folder, VARIABLE)
        inside = set(plant_blocks(task.vehicle.diagram))
        for injection in task.injections:
            for target in injection.targets:
                acts_inside = bool(fnmatch.filter(inside, block_of(target)))
                if acts_inside and not target.startswith(CARRIED) and TAP not in target:
                    raise LinkError(
                        f"{injection.fault.id} changes {target}, which the plant FMU has in its place: order faults of "
                        "sensors or of the commands' links, or give the FMU a parameter of its own"
                    )
        return Seat(FmuPlant(path, task.options, {}))


def path_of(options: FmuOptions) -> Path:
    """Path of the FMU that the options name."""
    folder = Path(options.folder or os.environ.get(VARIABLE, "")).expanduser()
    if not str(folder) or not folder.is_dir():
        raise LinkError(f"there is no folder '{folder}' with an FMU: give --folder FOLDER or set {VARIABLE}")
    files = sorted(folder.glob(options.file or "*.fmu"))
    if not files:
        missing = f"no {options.file}" if options.file else "no FMU (.fmu)"
        raise LinkError(f"there is {missing} in folder '{folder}': give --folder FOLDER or set {VARIABLE}")
    if len(files) > 1:
        raise LinkError(
            f"folder '{folder}' has {len(files)} FMUs: name one with --file, such as --file {files[0].name}"
        )
    return files[0]


FMU = FmuKind()
FMU_PLANT = FmuPlantKind()
