"""Search, import, export, identification and tuning in one call each, by the code of the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from json_documents import checked

import ironbird as ib
from ironbird.errors import ExportError, IronbirdError, RecordError, UnknownNameError, VehicleError
from ironbird.identification.excite import excitation
from ironbird.identification.virtual import CONTROL_S, excited_flight

WEAK = """
schema = 1
[[case]]
id = "loss"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 6.0
[[case.fault]]
id = "rotor.speed_loss@1"
severity = { uniform = [0.0, 1.0], steps = 5 }
start_s = 3.0
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_search_finds_the_smallest_fault_and_writes_it_as_a_case() -> None:
    Path("weak.toml").write_text(WEAK)
    shares: list[float] = []
    found = ib.search("weak.toml", trials=16, seed=1, progress=shares.append)

    assert shares[-1] == 1.0 and len(found.flown) == 16 and found.failing
    assert found.smallest is not None and found.result.verdict == "fail"
    assert found.case.faults[0].severity <= found.worst.case.faults[0].severity
    assert "smallest found" in found.sentence() and found.sentence() in repr(found)
    [again] = ib.fly_all(ib.load_suite(found.write("worst.toml")).flights())
    assert again.verdict == "fail" and again.sha256 == found.result.sha256
    assert ib.search("weak.toml", "loss", trials=2, seed=1, shrink=False).smallest is None
    with pytest.raises(UnknownNameError, match=r"unknown case 'lost' in weak\.toml; did you mean 'loss'"):
        ib.search("weak.toml", "lost")


def test_an_imported_vehicle_says_what_it_lacks_and_flies() -> None:
    Path("quad_x.main.mix").write_text("R: 4x 10000 10000 10000 0\n")
    imported = ib.import_vehicle("quad_x.main.mix", id="mine", mass_kg=1.5, arm_m=0.25, against="quad_f450")

    assert imported.path == Path("mine.toml") and imported.id == "mine" and imported.assumed
    assert any(text.startswith("body.mass_kg: 1.5 in mine") for text in imported.differences)
    assert imported.load().spec.id == "mine" and "entries assumed" in repr(imported)
    assert ib.import_vehicle("quad_x.main.mix", "other.toml", mass_kg=1.5, arm_m=0.25).path == Path("other.toml")
    with pytest.raises(VehicleError, match="its ending does not say what it is"):
        ib.import_vehicle("quad_x.txt")


def test_an_export_has_a_folder_an_archive_and_its_origin() -> None:
    made = ib.export("c", "quad_f450", "rotor", part="rotor/1", seconds=0.5)

    assert made.folder == Path("rotor") and made.archive == Path("rotor.zip") and made.archive.is_file()
    assert checked(made.folder / "PROVENANCE.json")["part"] == "rotor/1" and made.rows["folder"] == "rotor"
    with pytest.raises(ExportError, match="half"):
        ib.export("c", "quad_f450", precision="half")


def test_identification_finds_the_mass_and_writes_a_vehicle() -> None:
    shake = excitation("multisine", amplitude=0.08, duration_s=2.0, band_radps=(3.5, 25.0), step_s=CONTROL_S).values
    axes = np.column_stack([shake, np.roll(shake, 30), np.roll(shake, 60), 2 * np.roll(shake, 90)])[250:430]
    record = excited_flight("quad_f450", axes, seed=1)
    found = ib.identify(record, "quad_f450", "mass, inertia_y", settings={"battery.resistance": 0.0})

    assert found["mass"].value == pytest.approx(1.4, rel=0.02)  # that of the vehicle which made the record
    assert [estimate.name for estimate in found.estimates] == ["mass", "inertia_y"] and repr(found).startswith(
        "<Identified of 'quad_f450': mass 1."
    )
    assert ib.load_vehicle(found.write_vehicle("mine.toml")).spec.id == "mine"
    assert found.report("page.html").is_file()
    with pytest.raises(UnknownNameError, match="unknown method 'magic'"):
        ib.identify(record, "quad_f450", "mass", method="magic")
    with pytest.raises(UnknownNameError, match="unknown estimate 'mas'"):
        _ = found["mas"]


def test_records_are_compared_and_a_page_is_written() -> None:
    time_s = np.arange(0, 20, 0.02)
    for name, lag_s in (("real", 1.0), ("sim", 1.1)):
        step = 0.3 * (1 - np.exp(-np.clip(time_s - 2, 0, None) / lag_s))
        rows = "".join(f"{a},{b}\n" for a, b in zip(time_s, step, strict=True))
        Path(f"{name}.csv").write_text("time_s,pitch\n" + rows)
    tests = {"test": [{"name": "attitude", "kind": "time", "signal": "pitch"}]}
    found = ib.compare_records("real.csv", "sim.csv", tests=tests, shift_s=0.0)

    assert [index.test.name for index in found.indices] == ["attitude"] and found.passed
    assert found.smallest is found.indices[0] and found.overall[0] == pytest.approx(found.indices[0].value)
    page = found.report("out")
    assert page.is_file() and checked(page.with_suffix(".json"))["passed"] is True
    assert repr(found).startswith("<Credibility of sim.csv against real.csv: pass, overall 0.")
    same = ib.compare_records(ib.read_record("real.csv"), [ib.read_record("real.csv")], tests=tests)
    assert same.overall[0] == pytest.approx(1.0)
    with pytest.raises(RecordError, match="give either simulated records, or the vehicle"):
        ib.compare_records("real.csv")


def test_margins_steps_and_gains() -> None:
    before = ib.margins("quad_f450", ["roll"])["roll"]
    assert before.stable and 0 < before.phase_deg < 90
    gains = ib.autotune("quad_f450", attitude_radps=8.0).params
    answer = ib.step_response("quad_f450", "roll", settings=gains, lasts_s=1.0)
    assert not answer.failure and 0 < answer.rise_s < 1.0
    with pytest.raises(IronbirdError, match="rol"):
        ib.step_response("quad_f450", "rol")


def test_arguments_of_fly_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown argument 'misson' in ib\.fly; did you mean 'mission'"):
        ib.fly("quad_f450", misson="hover")  # type: ignore[call-arg]
    order = ib.make_order("quad_f450", mission="hover")
    with pytest.raises(UnknownNameError, match=r"unknown argument 'untl_s' in ib\.fly; did you mean 'until_s'"):
        ib.fly(order, untl_s=2.0)  # type: ignore[call-arg]
