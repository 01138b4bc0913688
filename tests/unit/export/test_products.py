"""What is built from exported C: libraries, FMUs, a model library for hosts of others, a program, firmware."""

from __future__ import annotations

import ctypes
import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave
from fmpy.validation import validate_fmu
from json_documents import checked
from pymavlink.dialects.v20 import common

from ironbird import start
from ironbird.export.fmu.exporter import base_unit
from ironbird.export.job import Job
from ironbird.export.record import start_params
from ironbird.export.registry import export
from ironbird.runtime.stepper import Stepper

ONLY = ("linux64",)


@pytest.fixture(scope="module", params=["fmu2", "fmu3"])
def fmu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rotor with its motor and command tap."""
    folder = tmp_path_factory.mktemp("fmu") / request.param
    export(request.param, Job("quad_f450", "rotor/1", targets=ONLY), folder)
    return next(folder.glob("*.fmu"))


def opened(path: Path, folder: Path) -> tuple[Any, Any]:
    description = fmpy.read_model_description(str(path))
    fmpy.extract(str(path), str(folder))
    kind = FMU2Slave if description.fmiVersion == "2.0" else FMU3Slave
    identifier = description.coSimulation.modelIdentifier
    token = description.instantiationToken  # the guid of FMI 2
    unit = kind(guid=token, unzipDirectory=str(folder), modelIdentifier=identifier, instanceName="one")
    unit.instantiate()
    return unit, description


def begin(unit: Any, description: Any) -> None:
    if description.fmiVersion == "2.0":
        unit.setupExperiment(startTime=0.0)
    unit.enterInitializationMode()
    unit.exitInitializationMode()


def real(unit: Any, refs: list[int]) -> list[float]:
    return unit.getReal(refs) if hasattr(unit, "getReal") else unit.getFloat64(refs)


def set_real(unit: Any, refs: list[int], values: list[float]) -> None:
    (unit.setReal if hasattr(unit, "setReal") else unit.setFloat64)(refs, values)


def test_an_fmu_has_no_complaints_and_runs_as_the_kernel_does_bit_for_bit(fmu: Path, tmp_path: Path) -> None:
    assert validate_fmu(str(fmu)) == []
    job = Job("quad_f450", "rotor/1")
    model = job.cut.model
    unit, description = opened(fmu, tmp_path)
    names = {variable.name: variable.valueReference for variable in description.modelVariables}
    outputs = [v.valueReference for v in description.modelVariables if v.causality == "output"]
    throttle = next(field for field in job.cut.inputs if "throttle" in field.path)
    begin(unit, description)
    state = start(model, seed=1)
    for row, value in start_params(job):
        state.set_param(model.flat.p.labels()[row], value)
    stepper = Stepper(state, until_s=0.5, log_s=model.step_s)
    stepper.step(1)
    mine = [real(unit, outputs)]
    for tick in range(1, 500):
        command = 0.5 + 0.2 * np.sin(0.05 * tick)
        set_real(unit, [names[throttle.path]], [command])
        unit.doStep(currentCommunicationPoint=(tick - 1) * 1e-3, communicationStepSize=1e-3)
        mine.append(real(unit, outputs))
        stepper.inputs[list(throttle.rows)] = command
        stepper.step(1)
    unit.terminate()
    unit.freeInstance()
    theirs = stepper.finish().data[0, :, :, 0]
    assert np.ptp(theirs, axis=0).max() > 1.0
    np.testing.assert_array_equal(np.array(mine), theirs)


def test_the_state_of_an_fmu_can_be_kept_written_and_taken_back(fmu: Path, tmp_path: Path) -> None:
    unit, description = opened(fmu, tmp_path)
    outputs = [v.valueReference for v in description.modelVariables if v.causality == "output"]
    begin(unit, description)
    three = description.fmiVersion == "3.0"
    keep, back = (unit.getFMUState, unit.setFMUState) if three else (unit.getFMUstate, unit.setFMUstate)

    def run(steps: int) -> list[float]:
        for k in range(steps):
            unit.doStep(currentCommunicationPoint=k * 1e-3, communicationStepSize=1e-3)
        return list(real(unit, outputs))

    run(20)
    kept = keep()
    first = run(30)
    assert run(10) != first
    data = unit.serializeFMUState(kept) if three else unit.serializeFMUstate(kept)
    back(kept)
    assert run(30) == first
    again = unit.deserializeFMUState(data) if three else unit.deSerializeFMUstate(data)
    back(again)
    assert run(30) == first
    unit.terminate()
    unit.freeInstance()


def test_tunable_parameters_and_units_are_declared(fmu: Path) -> None:
    description = fmpy.read_model_description(str(fmu))
    by_name = {variable.name: variable for variable in description.modelVariables}
    health = by_name["rotor/1/motor.health"]
    assert (health.causality, health.variability) == ("parameter", "tunable")
    assert by_name["rotor/1/motor.speed"].unit == "rad/s"
    assert {unit.name for unit in description.unitDefinitions} >= {"rad/s", "N"}


def test_units_are_products_of_base_units() -> None:
    assert base_unit("N*m*s^2/rad^2") == {"kg": 1, "m": 2, "rad": -2}
    assert base_unit("V") == {"kg": 1, "m": 2, "s": -3, "A": -1} and base_unit("1") == {}
    assert base_unit("rad/s/sqrt(Hz)") is None


class Info(ctypes.Structure):
    """MavVehileInfo as the document of the interface gives it."""

    _fields_ = [
        ("copter", ctypes.c_int32), ("kind", ctypes.c_int32), ("time", ctypes.c_double), ("v", ctypes.c_float * 3),
        ("p", ctypes.c_float * 3), ("euler", ctypes.c_float * 3), ("q", ctypes.c_float * 4),
        ("rpm", ctypes.c_float * 8),
        ("acc", ctypes.c_float * 3), ("rate", ctypes.c_float * 3), ("gps", ctypes.c_double * 3),
    ]  # fmt: skip


def test_a_host_of_others_loads_the_model_library_and_hovers_with_it(tmp_path: Path) -> None:
    export("rflysim", Job("quad_f450", "vehicle", "truth", seconds=0.5, targets=ONLY), tmp_path / "rfly")
    library = ctypes.CDLL(str(next((tmp_path / "rfly/lib/linux64").glob("*.so"))))
    library.DllGetStep0.restype = ctypes.c_double
    step_s = library.DllGetStep0()
    info, pwm = Info(), (ctypes.c_float * 16)()
    assert ctypes.sizeof(info) == 152
    library.DllReInitModel()
    signs = ((-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1))  # roll, pitch, yaw of each rotor, PX4's order
    height_sum = 0.0
    for tick in range(12000):
        if tick % 4 == 0:
            library.DlloutModel3DInfo(ctypes.byref(info))
            off = 5.0 + info.p[2]  # 5 m above home
            height_sum += off * 0.004
            lift = 0.55 + 0.08 * off + 0.06 * info.v[2] + 0.02 * height_sum
            roll = 0.15 * (-0.05 * info.p[1] - 0.1 * info.v[1] - info.euler[0]) - 0.04 * info.rate[0]
            pitch = 0.15 * (0.05 * info.p[0] + 0.1 * info.v[0] - info.euler[1]) - 0.04 * info.rate[1]
            yaw = -0.05 * info.euler[2] - 0.1 * info.rate[2]
            for i, (a, b, c) in enumerate(signs):
                pwm[i] = min(1.0, max(0.0, lift + a * roll + b * pitch + c * yaw))
            library.DllInputPWMs(pwm)
        assert library.Dllstep() == 0, tick
    library.DlloutModel3DInfo(ctypes.byref(info))
    assert step_s == 1e-3 and info.time == pytest.approx(12.0)
    assert -info.p[2] == pytest.approx(5.0, abs=0.5) and abs(info.euler[0]) < 0.1 and abs(info.euler[1]) < 0.1
    assert min(info.rpm[:4]) > 3000 and max(info.rpm[4:]) == 0


@pytest.fixture(scope="module")
def real_time(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The F450 with its control at 5 kHz, for this computer and for a small board."""
    folder = tmp_path_factory.mktemp("real_time") / "rt"
    job = Job("quad_f450", "whole", "truth", seconds=5.0, targets=("linux64", "aarch64"), rate_hz=5000)
    export("realtime", job, folder)
    return folder


@pytest.mark.slow
def test_the_real_time_program_of_a_board_holds_5_khz_in_virtual_time_and_reports_its_worst_step(
    real_time: Path,
) -> None:
    """The aarch64 program under qemu-user: the same flight as on this computer, and the report of its steps."""
    emulator = shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("there is no qemu-aarch64: apt-get install qemu-user")
    reports = []
    for runner, place in (([], "linux64"), ([emulator], "aarch64")):
        program = next((real_time / "bin" / place).iterdir())
        command = [*runner, str(program), "--virtual", "--seconds", "4"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        reports.append(json.loads(done.stdout))
    here, board = reports
    assert board["steps"] == 20_000 and board["rate_hz"] == 5000
    assert board["worst_us"] >= board["mean_us"] > 0
    assert board["height_m"] == here["height_m"] > 0.5  # bit for bit, as the model everywhere


@pytest.mark.slow
def test_the_real_time_program_flies_its_mission_reports_its_steps_and_speaks_mavlink(real_time: Path) -> None:
    program = next((real_time / "bin/linux64").iterdir())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        ear.settimeout(30)
        command = [str(program), "--virtual", "--seconds", "5", "--every", "5000", "--udp", str(ear.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        report = json.loads(done.stdout)
        heard = [ear.recv(300) for _ in range(report["sent"])]
    assert report["steps"] == 25000 and report["rate_hz"] == 5000 and report["sent"] == 5
    assert report["worst_us"] >= report["mean_us"] > 0 and report["height_m"] > 1.0
    parser = common.MAVLink(None)
    messages = [parser.parse_char(data) for data in heard]
    assert [m.get_type() for m in messages] == ["HIL_STATE_QUATERNION"] * 5
    assert messages[-1].time_usec == 4_000_000 and sum(
        q * q for q in messages[-1].attitude_quaternion
    ) == pytest.approx(1)


def test_the_controller_fits_a_small_microcontroller(tmp_path: Path) -> None:
    job = Job("quad_f450", "controller", precision="single", seconds=0.5)
    export("cortex-m", job, tmp_path / "m4")
    sizes = checked(tmp_path / "m4/size.json")
    assert checked(tmp_path / "m4/PROVENANCE.json")["precision"] == "single"
    assert 5_000 < sizes["text"] < 60_000 and sizes["bss"] == 0 and sizes["model_bytes"] < 4_000
    assert not [name for name in sizes["needs"] if "d2" in name or "dadd" in name or "dmul" in name]  # no double
    assert next((tmp_path / "m4/lib/cortex-m4f").glob("lib*.a")).read_bytes().startswith(b"!<arch>")


def exchanged(path: Path, folder: Path) -> tuple[Any, Any]:
    """An FMU in model exchange after its first event, integrating."""
    description = fmpy.read_model_description(str(path))
    fmpy.extract(str(path), str(folder))
    kind = FMU2Model if description.fmiVersion == "2.0" else FMU3Model
    identifier = description.modelExchange.modelIdentifier
    unit = kind(
        guid=description.instantiationToken, unzipDirectory=str(folder), modelIdentifier=identifier, instanceName="one"
    )
    unit.instantiate()
    begin(unit, description)
    (unit.newDiscreteStates if description.fmiVersion == "2.0" else unit.updateDiscreteStates)()
    unit.enterContinuousTimeMode()
    return unit, description


def with_states(unit: Any, description: Any, states: np.ndarray, outputs: list[int]) -> np.ndarray:
    """Derivatives and outputs at these states."""
    count = len(states)
    given, taken = (ctypes.c_double * count)(*states), (ctypes.c_double * count)()
    unit.setContinuousStates(given, count)
    rates = unit.getDerivatives if description.fmiVersion == "2.0" else unit.getContinuousStateDerivatives
    rates(taken, count)
    return np.concatenate([np.array(taken), real(unit, outputs)])


def test_a_motor_in_model_exchange_has_the_derivative_of_its_equation(fmu: Path, tmp_path: Path) -> None:
    """d omega'/d omega = -1/T, [Dai] Eq. 7; the host's integrator comes to the speed that co-simulation has."""
    unit, description = exchanged(fmu, tmp_path)
    by_name = {variable.name: variable.valueReference for variable in description.modelVariables}
    rate, state = by_name["der(rotor/1/motor.omega)"], by_name["rotor/1/motor.omega"]
    (time_constant_s,) = real(unit, [by_name["rotor/1/motor.time_constant"]])
    found = unit.getDirectionalDerivative([rate, by_name["rotor/1/motor.speed"]], [state], [2.0])
    unit.terminate()
    unit.freeInstance()

    assert found == pytest.approx([-2.0 / time_constant_s, 2.0], rel=1e-12)
    throttle = next(field.path for field in Job("quad_f450", "rotor/1").cut.inputs if "throttle" in field.path)
    speeds = [
        fmpy.simulate_fmu(
            str(fmu), stop_time=0.05, step_size=1e-3, output_interval=0.01, output=["rotor/1/motor.speed"],
            start_values={throttle: 0.6}, fmi_type=kind, relative_tolerance=1e-9, validate=False,
        )["rotor/1/motor.speed"][-1]
        for kind in ("ModelExchange", "CoSimulation")
    ]  # fmt: skip
    assert speeds[1] > 300.0 and speeds[0] == pytest.approx(speeds[1], rel=1e-6)  # RK4 at 1 ms: (h/T)^5/120 a step


@pytest.mark.slow
def test_a_vehicle_in_model_exchange_flies_as_in_co_simulation_and_knows_its_derivatives(tmp_path: Path) -> None:
    export("fmu3", Job("quad_f450", "vehicle", "truth", seconds=0.1, targets=ONLY), tmp_path / "made")
    path = next((tmp_path / "made").glob("*.fmu"))
    assert validate_fmu(str(path)) == []
    names = [f"body.{signal}[{axis}]" for signal in ("p_NB_N", "euler") for axis in range(3)]
    flown = [
        fmpy.simulate_fmu(
            str(path), stop_time=2.0, step_size=1e-3, output_interval=0.1, output=names, fmi_type=kind,
            start_values={"rotor/1": 0.75, "rotor/2": 0.749, "rotor/3": 0.75, "rotor/4": 0.7502},
            relative_tolerance=1e-8, validate=False,
        )[-1]
        for kind in ("ModelExchange", "CoSimulation")
    ]  # fmt: skip
    ours, theirs = ([row[name] for name in names] for row in flown)
    assert ours[2] < -3.0 and abs(ours[0]) > 0.2 and abs(ours[3]) > 0.1  # took off, drifted, tilted
    assert ours == pytest.approx(theirs, abs=2e-4)  # leaving the ground: one step of 1 ms against the error control

    unit, description = exchanged(path, tmp_path / "unpacked")
    count = description.numberOfContinuousStates
    outputs = [v.valueReference for v in description.modelVariables if v.causality == "output"]
    turned = np.array([0.9, 0.2, -0.1, 0.3]) / np.linalg.norm([0.9, 0.2, -0.1, 0.3])
    here = np.zeros(count)
    here[:17] = [1.0, 2.0, -20.0, 3.0, -1.0, 0.5, *turned, 0.3, -0.2, 0.5, 600.0, 610.0, 590.0, 605.0]
    for column in range(count):
        step = np.zeros(count)
        step[column] = 1e-6 * max(1.0, abs(here[column]))
        sides = [with_states(unit, description, here + sign * step, outputs) for sign in (1, -1)]
        difference = (sides[0] - sides[1]) / (2 * step[column])
        with_states(unit, description, here, outputs)
        exact = unit.getDirectionalDerivative(
            [5_000_000 + i for i in range(count)] + outputs, [4_000_000 + column], [1.0]
        )
        # rounding of the difference: values up to 1e5 (pressure) times 1e-16 over 1e-6
        np.testing.assert_allclose(exact, difference, rtol=1e-5, atol=2e-4)
    unit.terminate()
    unit.freeInstance()


def test_a_part_without_continuous_states_has_no_model_exchange(tmp_path: Path) -> None:
    export("fmu2", Job("quad_f450", "vote", "reference", seconds=0.1, targets=ONLY), tmp_path / "made")
    path = str(next((tmp_path / "made").glob("*.fmu")))
    assert validate_fmu(path) == [] and fmpy.read_model_description(path).modelExchange is None
