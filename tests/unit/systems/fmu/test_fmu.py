"""FMUs of others as control systems: they fly, and one that is broken ends the flight as an error with the reason."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from ironbird import fly
from ironbird.app.live import status_of
from ironbird.app.rig import Rig
from ironbird.errors import LinkError, ModelError, RunError
from ironbird.export.job import Job
from ironbird.export.registry import export
from ironbird.systems.fmu.kind import describe

BODY = {"p_NB_N": 3, "v_NB_N": 3, "q_NB": 4, "w_NB_B": 3, "specific_force_B": 3}
# An FMU 2.0 that counts its steps, and refuses one that does not begin where the last ended; after 20 it does BAD.
SOURCE = """
#include <stddef.h>
#include <unistd.h>
static int steps, set; static double heard;
void *fmi2Instantiate(const char *a, int b, const char *c, const char *d, void *e, int f, int g) { return &steps; }
int fmi2SetupExperiment(void *c, int a, double b, double d, int e, double f) { return 0; }
int fmi2EnterInitializationMode(void *c) { return 0; }
int fmi2ExitInitializationMode(void *c) { return set ? 0 : 3; } /* its first outputs follow from inputs */
int fmi2SetReal(void *c, const unsigned *vr, size_t n, const double *v) { heard = v[0]; set = 1; return 0; }
int fmi2GetReal(void *c, const unsigned *vr, size_t n, double *v) {
  for (size_t i = 0; i < n; ++i) v[i] = 0.3;
  if (steps > 20) { NAN_OUTPUT }
  return 0;
}
int fmi2DoStep(void *c, double t, double h, int f) {
  if (t > h * steps + 1e-6 || t < h * steps - 1e-6) return 3;
  ++steps;
  if (steps > 20) { BAD }
  return 0;
}
"""
XML = """<?xml version="1.0"?><fmiModelDescription fmiVersion="2.0" guid="g"><CoSimulation modelIdentifier="bad"/>
<ModelVariables>
<ScalarVariable name="imu/1/gyro_fault.value[0]" valueReference="1" causality="input"><Real/></ScalarVariable>
<ScalarVariable name="rotor/1" valueReference="2" causality="output"><Real/></ScalarVariable>
</ModelVariables></fmiModelDescription>"""


def made(
    folder: Path, bad: str = "", nan: str = "", place: str = "linux64", xml: str = XML, output: str = "0.3"
) -> Path:
    source = SOURCE.replace("v[i] = 0.3", f"v[i] = {output}")
    (folder / "bad.c").write_text(source.replace("NAN_OUTPUT", nan).replace("BAD", bad))
    subprocess.run(
        ["gcc", "-w", "-shared", "-fPIC", str(folder / "bad.c"), "-o", str(folder / "bad.so")], check=True, timeout=100
    )
    with zipfile.ZipFile(folder / "bad.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", xml)
        archive.write(folder / "bad.so", f"binaries/{place}/bad.so")
    return folder


def flown(folder: Path, patience_s: float = 30.0) -> tuple[str, str]:
    flight = fly("quad_f450", control="fmu", until_s=0.3, options={"folder": str(folder), "patience_s": patience_s})
    return flight.verdict, flight.judged.sentence


def test_an_fmu_of_others_drives_the_actuators_that_its_outputs_are_named_after(tmp_path: Path) -> None:
    flight = fly("quad_f450", control="fmu", until_s=0.3, options={"folder": str(made(tmp_path))})
    assert (flight.verdict, flight.survived) == ("void", True)  # one rotor of four does not lift it
    assert flight.log["rotor/1/command_fault.value"][-1] == pytest.approx(0.3)
    assert flight.log["rotor/2/command_fault.value"][-1] == 0.0


def test_an_fmu_on_the_live_rig_says_why_it_takes_no_command(tmp_path: Path) -> None:
    options = {"folder": str(made(tmp_path))}
    with Rig(tmp_path / "out") as rig:
        flight = rig.start("quad_f450", control="fmu", options=options, until_s=1.0, speed=None, paused=True)
        for command in ("arm", "land", "mission"):
            with pytest.raises(RunError, match="has no input for commands"):
                rig.do(flight.name, command)
        assert "has no input for commands" in status_of(flight)["said"]


@pytest.mark.parametrize(
    ("bad", "nan", "reason"),
    [
        ("return 3;", "", "fmi2DoStep answered status 3"),
        ("", 'v[0] = __builtin_nan("");', "put out nan as 'rotor/1'"),
        ("_exit(7);", "", "ended with code 7"),
        ("for (;;) sleep(1);", "", "gave no answer for 1.0 s"),
    ],
)
def test_an_fmu_that_fails_in_flight_ends_it_as_an_error(tmp_path: Path, bad: str, nan: str, reason: str) -> None:
    verdict, sentence = flown(made(tmp_path, bad, nan), 1.0 if "sleep" in bad else 30.0)
    assert verdict == "error" and reason in sentence


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"place": "darwin64"}, "no binary for linux64; it has darwin64"),
        ({"xml": XML.replace("rotor/1", "thrust")}, "no output that drives an actuator"),
        ({"xml": XML.replace("CoSimulation", "ModelExchange")}, "without co-simulation"),
        ({"xml": "<fmi"}, "no whole XML"),
    ],
)
def test_an_fmu_that_cannot_be_used_is_refused_with_a_sentence(
    tmp_path: Path, change: dict[str, str], reason: str
) -> None:
    with pytest.raises(LinkError, match=reason):
        flown(made(tmp_path, **change))


def test_a_file_that_is_no_fmu_or_leads_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.fmu").write_text("no zip")
    with pytest.raises(LinkError, match="is no FMU"):
        flown(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.fmu", "w") as archive:
        archive.writestr("../evil", "x")
    with pytest.raises(LinkError, match="leads out of its folder"):
        flown(tmp_path)
    assert not (tmp_path.parent / "evil").exists()
    with pytest.raises(LinkError, match="entities"):
        describe(b'<!DOCTYPE x [<!ENTITY a "b">]><x/>', "x")


@pytest.mark.slow
def test_our_own_autopilot_flies_outside_as_an_fmu_as_it_does_in_the_kernel(tmp_path: Path) -> None:
    export("fmu2", Job("quad_f450", "autopilot", seconds=0.1, targets=("linux64",)), tmp_path / "made")
    outside = fly("quad_f450", control="fmu", until_s=12.0, options={"folder": str(tmp_path / "made")})
    inside = fly("quad_f450", until_s=12.0)
    away = outside.log["body.p_NB_N"][-1] - inside.log["body.p_NB_N"][-1]
    assert inside.log["body.p_NB_N"][-1][0] > 10.0  # under way to the first corner
    assert abs(away).max() < 0.3  # the link delays commands by one exchange


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The F450 without its control, as an FMU."""
    folder = tmp_path_factory.mktemp("plant") / "made"
    export("fmu3", Job("quad_f450", "vehicle", "truth", seconds=0.1, targets=("linux64",)), folder)
    return folder


@pytest.mark.slow
def test_a_plant_fmu_is_flown_by_the_reference_autopilot_with_its_own_sensors(plant: Path) -> None:
    options: dict[str, str | int | float | bool] = {"folder": str(plant), "step_ticks": 4}
    outside = fly("quad_f450", control="fmu-plant", until_s=8.0, ends="time", options=options)
    inside = fly("quad_f450", until_s=8.0)
    away = outside.log["body.p_NB_N"] - inside.log["body.p_NB_N"]
    assert outside.verdict == "pass" and -inside.log["body.p_NB_N"][-1, 2] > 8.0
    assert abs(away).max() < 0.3  # commands reach it one exchange and one latch later


@pytest.mark.slow
def test_faults_on_the_ports_of_a_plant_fmu_act_and_faults_inside_it_are_refused(plant: Path) -> None:
    options: dict[str, str | int | float | bool] = {"folder": str(plant), "step_ticks": 4}
    faults = ["link.loss@1:start=6", "imu.bias@1:instance=1,start=5"]
    flight = fly("quad_f450", control="fmu-plant", until_s=9.0, options=options, faults=faults)
    healthy = fly("quad_f450", control="fmu-plant", until_s=9.0, options=options)
    assert all(witness.effective for witness in flight.witnesses)
    assert abs(flight.log["body.p_NB_N"][-1] - healthy.log["body.p_NB_N"][-1]).max() > 0.05  # the plant felt it
    with pytest.raises(LinkError, match=r"rotor.speed_loss@1 changes rotor/1/motor.health, which the plant FMU has"):
        fly("quad_f450", control="fmu-plant", options=options, faults=["rotor.speed_loss@1:instance=1"])


def test_an_fmu_that_does_not_move_a_body_is_no_plant(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match=r"is no plant of quad_f450: it lacks the outputs body.p_NB_N\[0\]"):
        fly("quad_f450", control="fmu-plant", until_s=0.3, options={"folder": str(made(tmp_path))})
    with pytest.raises(ModelError, match="TiltRotorBody"):
        fly("tiltrotor_provant", control="fmu-plant", until_s=0.3, options={"folder": str(made(tmp_path))})


@pytest.mark.parametrize(
    ("bad", "nan", "reason"),
    [
        ("", 'v[1] = __builtin_nan("");', "put out nan as 'body.p_NB_N[1]'"),
        ("for (;;) sleep(1);", "", "no answer for 1.0 s"),
    ],
)
def test_a_plant_fmu_that_fails_in_flight_ends_it_as_an_error(tmp_path: Path, bad: str, nan: str, reason: str) -> None:
    names = [f"body.{signal}[{i}]" for signal, size in BODY.items() for i in range(size)]
    ports = "".join(
        f'<ScalarVariable name="{name}" valueReference="{i}" causality="output"><Real/></ScalarVariable>'
        for i, name in enumerate(names)
    )
    xml = XML.replace("imu/1/gyro_fault.value[0]", "rotor/1").replace(
        '<ScalarVariable name="rotor/1" valueReference="2" causality="output"><Real/></ScalarVariable>', ports
    )
    standing = "vr[i] == 2 ? -0.12 : vr[i] == 6 ? 1.0 : vr[i] == 15 ? -9.8 : 0.0"  # height, attitude, specific force
    folder = made(tmp_path, bad, nan, xml=xml, output=standing)
    patience_s = 1.0 if "sleep" in bad else 30.0
    flight = fly(
        "quad_f450", control="fmu-plant", until_s=0.3, options={"folder": str(folder), "patience_s": patience_s}
    )
    assert flight.verdict == "error" and reason in flight.judged.sentence
