"""Policies as control systems: their files, their numbers, their flights, their C."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ironbird as ib
from ironbird.errors import LinkError, RecordError
from ironbird.export.job import Job
from ironbird.export.registry import export
from ironbird.rotations import from_euler, matrix
from ironbird.systems.policy.code import compiled
from ironbird.systems.policy.files import load_policy, policy_path
from ironbird.systems.policy.network import Layer, Number, Policy
from ironbird.systems.policy.observing import in_body_axes

DATA = Path(__file__).parents[3] / "data" / "policies"
TRAINED = policy_path("waypoint")


def a_policy(activation: str = "tanh") -> Policy:
    rng = np.random.default_rng(3)
    sizes = (6, 9, 4)
    layers = tuple(
        Layer(rng.normal(size=(n, m)).astype("f4"), rng.normal(size=n).astype("f4"), kind)
        for m, n, kind in zip(sizes[:-1], sizes[1:], (activation, "none"), strict=True)
    )
    names = [f"way_B[{i}]" for i in range(3)] + [f"body.w_NB_B[{i}]" for i in range(3)]
    observes = tuple(Number(name, "m", -3.0, 3.0, 3.0) for name in names)
    commands = tuple(Number(f"rotor/{n}", "1", 0.0, 1.0, 1.0, 0.64, 0.36, 0.64) for n in range(1, 5))
    return Policy(layers, observes, commands, 0.02, "quad_f450", {"seed": 3})


def in_numpy(policy: Policy, observed: np.ndarray) -> np.ndarray:
    """Commands, written anew with NumPy's functions."""
    kinds: dict[str, Any] = {"tanh": np.tanh, "relu": lambda v: np.maximum(v, 0.0), "none": lambda v: v}
    x = np.clip(observed, -3.0, 3.0) / 3.0
    for layer in policy.layers:
        x = layer.weight.astype(float) @ x + layer.bias
        x = kinds[layer.activation](x)
    x = np.clip(x, -1.0, 1.0)
    return np.clip(0.64 + x * np.where(x < 0, 0.64, 0.36), 0.0, 1.0)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_native_code_decides_what_numpy_does(activation: str) -> None:
    policy, rng = a_policy(activation), np.random.default_rng(1)
    decide = compiled(policy)
    for observed in rng.uniform(-5.0, 5.0, (50, 6)):  # beyond the bounds too
        assert decide(observed) == pytest.approx(in_numpy(policy, observed), abs=1e-13)  # order of sums


def test_a_file_gives_the_same_policy_again(tmp_path: Path) -> None:
    policy = a_policy()
    policy.save(tmp_path / "p.npz")
    again = load_policy(tmp_path / "p.npz")
    assert again.facts() == policy.facts()
    assert all(
        (a.weight == b.weight).all() and (a.bias == b.bias).all()
        for a, b in zip(again.layers, policy.layers, strict=True)
    )


def test_an_onnx_file_decides_as_onnxruntime_did() -> None:
    """tiny.onnx was written by the package onnx (Gemm, Tanh, MatMul, Add); tiny.json has what onnxruntime gave."""
    policy, expected = load_policy(DATA / "tiny.onnx"), json.loads((DATA / "tiny.json").read_text())
    assert policy.vehicle == "quad_f450" and [n.name for n in policy.commands][3] == "rotor/4"
    decide = compiled(policy)
    for x, y in zip(expected["x"], expected["y"], strict=True):
        found = (decide(np.array(x) * 3.0) - 0.64) / np.where(np.array(y) < 0, 0.64, 0.36)
        assert found == pytest.approx(np.clip(y, -1, 1), abs=1e-6)  # single precision there


def test_files_that_are_no_policy_are_refused_in_words(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "pickled.npz", policy=np.array([{"a": 1}], object), allow_pickle=True)
    (tmp_path / "noise.onnx").write_bytes(bytes(range(256)))
    cases = {
        tmp_path / "none.npz": "there is no policy",
        tmp_path / "other.npz": "is no policy",
        tmp_path / "pickled.npz": "is no policy",
        tmp_path / "noise.onnx": "is no ONNX file",
        DATA / "sigmoid.onnx": "operation Sigmoid",
    }
    for path, words in cases.items():
        with pytest.raises(RecordError, match=words):
            load_policy(path)


def test_onnx_files_that_are_cut_or_changed_never_end_otherwise(tmp_path: Path) -> None:
    whole, rng, path = (DATA / "tiny.onnx").read_bytes(), np.random.default_rng(1), tmp_path / "p.onnx"
    for number in range(300):
        data = bytearray(whole[: rng.integers(1, len(whole))] if number % 2 else whole)
        for _ in range(3):
            data[rng.integers(len(data))] = rng.integers(256)
        path.write_bytes(data)
        try:
            load_policy(path)
        except RecordError:
            continue


def test_layers_that_do_not_fit_are_refused() -> None:
    policy = a_policy()
    with pytest.raises(RecordError, match="layer 1 of the policy has weights"):
        Policy(policy.layers, policy.observes[1:], policy.commands, 0.02)
    with pytest.raises(RecordError, match="4 outputs for 3 commands"):
        Policy(policy.layers, policy.observes, policy.commands[1:], 0.02)
    bad = Layer(np.full((9, 6), np.nan, "f4"), policy.layers[0].bias, "tanh")
    with pytest.raises(RecordError, match="no finite number"):
        Policy((bad, policy.layers[1]), policy.observes, policy.commands, 0.02)


def test_body_axes_are_those_of_the_rotation_matrix() -> None:
    rotation = matrix(from_euler(np.array([0.3, -0.5, 1.2])))
    velocity, way = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 0.2])
    found = in_body_axes(velocity[None], rotation.T.ravel()[None], way[None])
    for turned, vector in zip(found, (velocity, way, np.array([0.0, 0.0, 1.0])), strict=True):
        assert turned[0] == pytest.approx(rotation.T @ vector)


def fly(**more: Any) -> ib.Flight:
    options = {"file": str(TRAINED), **more.pop("options", {})}
    return ib.fly("quad_f450", control="policy", options=options, **more)


def test_a_trained_policy_takes_off_flies_the_mission_and_lands() -> None:
    flight = fly(mission="square", until_s=90.0)
    assert flight.verdict == "pass", flight.judged.sentence
    place = flight.log["body.p_NB_N"]
    for corner in ((20.0, 0.0, -10.0), (20.0, 20.0, -10.0), (0.0, 20.0, -10.0)):
        assert np.linalg.norm(place - corner, axis=1).min() < 1.0
    assert place[-1, 2] == pytest.approx(place[0, 2], abs=0.05)  # on the ground again
    again = fly(mission="square", until_s=90.0)
    assert again.sha256 == flight.sha256


def test_a_fault_of_the_gyroscopes_reaches_a_policy_unless_it_reads_the_truth() -> None:
    fault = [f"imu.gyro_bias@1:instance={n},severity=1,start=5" for n in (1, 2)]  # two of three: the median follows
    ends = {
        state: fly(mission="hover", until_s=8.0, ends="time", faults=fault, options={"state": state})
        for state in ("gyros", "truth")
    }
    healthy = fly(mission="hover", until_s=8.0, ends="time")
    paths = {name: f.log["body.p_NB_N"] for name, f in ends.items()}
    assert np.abs(paths["gyros"][-1] - healthy.log["body.p_NB_N"][-1]).max() > 1e-3
    assert paths["truth"].shape and ends["truth"].verdict in ("pass", "void")


def test_wrong_orders_of_a_policy_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match="or a shipped one: waypoint"):
        fly(until_s=1.0, options={"file": "waypont"})
    with pytest.raises(LinkError, match="another policy"):
        fly(until_s=1.0, options={"sha256": "0" * 64})
    strange = replace(a_policy(), commands=tuple(replace(n, name=f"{n.name}0") for n in a_policy().commands))
    strange.save(tmp_path / "strange.npz")
    with pytest.raises(LinkError, match="commands rotor/10, rotor/20, rotor/30, rotor/40; quad_f450 has rotor/1"):
        fly(until_s=1.0, options={"file": str(tmp_path / "strange.npz")})
    blind = replace(a_policy(), observes=tuple(replace(n, name=f"eye[{i}]") for i, n in enumerate(a_policy().observes)))
    blind.save(tmp_path / "blind.npz")
    with pytest.raises(LinkError, match="which a flight does not give"):
        fly(until_s=1.0, options={"file": str(tmp_path / "blind.npz")})


def test_an_exported_policy_is_bit_equal_and_a_c_compiler_says_nothing(tmp_path: Path) -> None:
    rows = export("policy", Job(vehicle=str(TRAINED)), tmp_path / "policy")
    assert rows["back to back"] == "500 of 500 decisions are bit-equal"
    assert rows["policy"].endswith(hashlib.sha256(TRAINED.read_bytes()).hexdigest())
    gcc = shutil.which("gcc")
    if gcc:
        command = [gcc, "-std=gnu11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "policy.c", "back_to_back.c"]
        done = subprocess.run(
            [*command, "-o", "b"], cwd=tmp_path / "policy", capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0 and "policy.c" not in done.stderr, done.stderr
        assert subprocess.run([str(tmp_path / "policy" / "b")], timeout=60).returncode == 0
