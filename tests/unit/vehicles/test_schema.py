"""The JSON Schema of vehicle files takes what the grammar takes; `ironbird vehicle check` says what is wrong."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped, unused-ignore]
import pytest
from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.vehicles.kinds import KINDS
from ironbird.vehicles.names import CATALOG
from ironbird.vehicles.schema import meanings, schema_text
from ironbird.vehicles.spec import Environment

BASED = '[body]\nmass_kg = 1.1\n[provenance]\n"body.mass_kg" = "measured: scale"\n'


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_every_vehicle_of_the_catalogue_is_valid(validator: Any) -> None:
    for path in CATALOG.glob("*.toml"):
        assert not [error.message for error in validator.iter_errors(tomllib.loads(path.read_text()))], path.name


@pytest.mark.parametrize(
    ("data", "valid"),
    [
        ({"schema": 1, "id": "x", "base": "quad_f450", "body": {"mass_kg": 1.1}}, True),
        ({"schema": 1, "id": "x", "base": "quad_f450", "body": {"mass": 1.1}}, False),
        ({"schema": 1, "id": "x", "base": "quad_f450", "body": {"mass_kg": -1.0}}, False),
        ({"schema": 1, "id": "x", "base": "quad_f450", "motor": {"kv": 920}}, False),
        ({"schema": 1, "id": "x", "template": "multicopter"}, False),  # without a base all must be there
        ({"schema": 1, "id": "x"}, False),
    ],
)
def test_it_sees_wrong_keys_and_ranges(validator: Any, data: dict[str, Any], valid: bool) -> None:
    assert validator.is_valid(data) == valid


def test_keys_have_their_meaning(validator: Any) -> None:
    schema = validator.schema["$defs"]
    assert set(KINDS) < set(schema)
    assert schema["multicopter.Environment"]["properties"]["slow_sample_s"]["description"].startswith("gravity")
    assert meanings(Environment)["gust_span_m"].startswith("angular gusts")


def test_check_says_line_key_and_cure(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('schema = 1\nid = "mine"\nbase = "quad_f450"\n' + BASED)
    bad.write_text('schema = 1\nid = "mine"\nbase = "quad_f450"\n[body]\nmas_kg = 1.1\n')
    done = CliRunner().invoke(app, ["vehicle", "check", str(good)])
    assert done.exit_code == 0 and "multicopter 'mine', no problems" in done.stdout, done.output
    done = CliRunner().invoke(app, ["vehicle", "check", str(good), str(bad), "--json"])
    assert done.exit_code == 2
    report = json.loads(done.stdout)["files"]
    assert report[str(good)]["problems"] == []
    (problem,) = report[str(bad)]["problems"]
    assert (problem["line"], problem["key"]) == (5, "body.mas_kg") and "mass_kg" in problem["cure"]


def test_check_warns_of_what_is_unlikely(tmp_path: Path) -> None:
    odd = tmp_path / "odd.toml"
    odd.write_text('schema = 1\nid = "mine"\nbase = "quad_f450"\n' + BASED.replace("1.1", "0.2"))
    done = CliRunner().invoke(app, ["vehicle", "check", str(odd)])
    assert done.exit_code == 0 and "warning: vehicle 'mine': body.inertia_diag_kgm2" in done.stderr, done.output
    odd.write_text(odd.read_text().replace("0.2", "0.1"))  # on the same legs: too light for its step, too
    done = CliRunner().invoke(app, ["vehicle", "check", str(odd)])
    assert done.exit_code == 2 and "warning: vehicle 'mine': its rotors lift" in done.stderr, done.output
    assert "'mine' cannot be integrated with rk2 in steps of 2 ms" in done.output
