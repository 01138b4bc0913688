"""Data sets: labels, splits by flight, a card with hashes, the same bytes again; and the baseline's rules."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from json_documents import checked

from ironbird.campaign.diagnosis import Diagnosis, family_of
from ironbird.campaign.suite import load_suite
from ironbird.dataset.files import healthy_flights, write_dataset
from ironbird.errors import CaseError

CASES = """schema = 1
[[case]]
id = "bias"
vehicle = "quad_f450"
mission = "hover"
until_s = 8.0
seeds = [1, 2, 3, 4]
log_s = 0.05
[[case.fault]]
id = "imu.accel_bias@1"
instance = 1
severity = 1.0
start_s = 5.0
end_s = 7.0
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ironbird.faults.catalog import FAULTS

    path = tmp_path_factory.mktemp("cases") / "cases.toml"
    known = "imu.accel_bias@1" if "imu.accel_bias@1" in FAULTS else next(f for f in FAULTS if f.startswith("imu.bias"))
    path.write_text(CASES.replace("imu.accel_bias@1", known))
    return path


@pytest.fixture(scope="module")
def written(cases: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    flights = load_suite(cases).flights()
    folder = tmp_path_factory.mktemp("set")
    write_dataset([*flights, *healthy_flights(flights)], folder, name="bias", threads=1)
    return folder


def test_rows_carry_the_label_while_the_fault_is_active(written: Path) -> None:
    read = pq.read_table(written / "quad_f450" / "train.parquet")
    time_s, label = read["time_s"].to_numpy(), np.array(read["label"].to_pylist())
    active, flight = read["fault_active"].to_numpy(), np.array(read["flight"].to_pylist())

    faulted = np.char.find(flight, "healthy") < 0
    assert (active == (faulted & (time_s >= 5.0 - 1e-9) & (time_s < 7.0 - 1e-9))).all()
    assert set(label[active]) == {"imu"} and set(label[~active]) == {"healthy"}
    assert read.schema.field("imu/1/accel_fault.value[0]").metadata[b"unit"] == b"m/s^2"


def test_every_flight_is_in_one_split_and_every_family_in_all(written: Path) -> None:
    flights = pq.read_table(written / "flights.parquet").to_pylist()
    seen = {
        where: set(pq.read_table(written / "quad_f450" / f"{where}.parquet")["flight"].to_pylist())
        for where in ("train", "validation", "test")
    }

    assert not (seen["train"] & seen["test"] or seen["train"] & seen["validation"] or seen["test"] & seen["validation"])
    assert {row["label"] for row in flights if row["split"] == "test"} == {"imu", "healthy"}
    assert all(row["flight"] in seen[row["split"]] and row["effective"] for row in flights)


def test_the_card_has_hashes_that_hold_and_the_confusion_of_the_baseline(written: Path) -> None:
    card = checked(written / "card.json")

    for name, digest in card["files_sha256"].items():
        assert hashlib.sha256((written / name).read_bytes()).hexdigest() == digest
    assert card["seeds"] == [1, 2, 3, 4] and card["licence"] == "CC-BY-4.0"
    assert card["baseline"]["confusion"] == {  # the two flights of the test split
        "healthy": {**dict.fromkeys(card["baseline"]["confusion"]["healthy"], 0), "healthy": 1},
        "imu": {**dict.fromkeys(card["baseline"]["confusion"]["imu"], 0), "imu": 1},
    }
    assert "| imu |" in (written / "card.md").read_text()


def test_the_same_suite_gives_the_same_bytes(cases: Path, written: Path, tmp_path: Path) -> None:
    flights = load_suite(cases).flights()
    write_dataset([*flights, *healthy_flights(flights)], tmp_path, name="bias", threads=2)

    names = sorted(str(path.relative_to(written)) for path in written.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert all((written / name).read_bytes() == (tmp_path / name).read_bytes() for name in names)


def test_flights_of_outside_control_are_refused(cases: Path) -> None:
    from dataclasses import replace

    flight = replace(load_suite(cases).flights()[0], control="px4")
    with pytest.raises(CaseError, match="does not repeat"):
        write_dataset([flight], Path("nowhere"))


def test_rules_find_the_part_that_was_broken_by_hand() -> None:
    rng = np.random.default_rng(1)
    healthy = {f"imu/{n}/accel_fault.value[{i}]": rng.normal(0, 0.1, 400) for n in (1, 2, 3) for i in range(3)}
    healthy |= {f"gnss/{n}/position_fault.value[{i}]": rng.normal(0, 1.0, 400) for n in (1, 2) for i in range(3)}
    expert = Diagnosis.learn([(healthy, np.ones(400, bool))])

    assert expert.diagnose(healthy)[0] == "healthy"
    broken = {**healthy, "imu/2/accel_fault.value[1]": healthy["imu/2/accel_fault.value[1]"] + 2.0}
    assert expert.diagnose(broken)[0] == "imu"
    jumped = {**healthy, "gnss/1/position_fault.value[0]": healthy["gnss/1/position_fault.value[0]"] + 30.0}
    assert expert.diagnose(jumped)[0] == "gnss"
    assert (family_of("gnss.jamming@1"), family_of("load.shift@1")) == ("gnss", "other")
