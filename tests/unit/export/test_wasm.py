"""WebAssembly modules: in Node.js they fly the kernel's bytes, whatever is changed; mistakes are said in words."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ironbird.errors import ExportError
from ironbird.export.job import Job
from ironbird.export.registry import export
from ironbird.export.wasm.flight import order_text, prepared
from ironbird.flight.flight import fly
from ironbird.flight.order import Weather, make_order, parse_order
from ironbird.flight.prepare import model_of

FAULTS = (
    "rotor.speed_loss@1:instance=1,severity=0.12,start=0.5,shape=ramp,rise=0.7,when=altitude > 2 m",
    "load.gain@1:severity=0.3,start=1,end=2",
)
NODE = ["node", "--input-type=module", "-e"]


def node(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("node") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("node is missing; in CI modules must be run")
        pytest.skip("node is not on PATH")
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)


def said(folder: Path, script: str) -> Any:
    """What a script prints as JSON; `model` and `order` are there."""
    head = 'import { load, flight, orderText } from "./index.js"; const model = await load(), order = await flight();'
    words = "const tried = (f) => { try { return f(); } catch (e) { return e.constructor.name + ': ' + e.message; } };"
    done = node(folder, *NODE, f"{head}{words}console.log(JSON.stringify({script}))")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The F450 under the controller that sees the truth, with a fault that has a condition."""
    folder = tmp_path_factory.mktemp("wasm") / "whole"
    export("wasm", Job("quad_f450", "whole", "truth", seconds=6.0, faults=FAULTS, seed=2**53 + 1), folder)
    return folder


def test_a_whole_flight_has_the_kernels_bytes(whole: Path) -> None:
    done = node(whole, "node", "test/back_to_back.mjs")
    assert done.returncode == 0 and "the kernel's bytes" in done.stdout, done.stdout
    order = make_order("quad_f450", control="truth", faults=FAULTS, seed=2**53 + 1, until_s=6.0)
    assert fly(order).sha256 in done.stdout
    assert "the flight of ironbird fly" in node(whole, "node", "example.mjs").stdout


def test_a_changed_flight_is_that_of_its_saved_order(whole: Path) -> None:
    wind, fault = "{speed_mps: 3.7, from_deg: 105, turbulence_mps: 2.5}", "{severity: 0.61, start_s: 0.123}"
    changes = f"{{seed: 5, wind: {wind}, faults: {{0: {fault}}}}}"
    sha256, text, plain = said(
        whole, f"[model.fly(order, {changes}).sha256, orderText(order, {changes}), orderText(order)]"
    )
    again = parse_order(text)
    assert again.weather == Weather(3.7, 105.0, 2.5) and again.faults[0].severity == 0.61 and again.seed == 5
    assert fly(again).sha256 == sha256 != json.loads((whole / "flight.json").read_text())["sha256"]
    assert parse_order(plain) == make_order("quad_f450", control="truth", faults=FAULTS, seed=2**53 + 1, until_s=6.0)


def test_further_faults_of_the_catalogue_are_part_of_the_saved_order(whole: Path) -> None:
    loss = "{id: 'rotor.speed_loss@1', instance: 3, severity: 0.15, start_s: 2, end_s: 3.5}"
    changes = f"{{also: [{loss}, {{id: 'load.gain@1', severity: 0.25, start_s: 4, shape: 'ramp', rise_s: 0.5}}]}}"
    sha256, text = said(whole, f"[model.fly(order, {changes}).sha256, orderText(order, {changes})]")
    order = parse_order(text)
    assert [fault.text() for fault in order.faults[2:]] == [
        "rotor.speed_loss@1:instance=3,severity=0.15,start=2,end=3.5",
        "load.gain@1:severity=0.25,start=4,shape=ramp,rise=0.5",
    ]
    assert fly(order).sha256 == sha256


def test_a_number_that_differs_in_the_last_bit_is_seen(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "other")
    path = tmp_path / "other/model.json"
    info = json.loads(path.read_text())
    row = info["params"]["body.mass"]["row"]
    info["values"][row] *= 1 + 2**-52
    path.write_text(json.dumps(info))
    done = node(tmp_path / "other", "node", "test/back_to_back.mjs")
    assert done.returncode == 1 and "differs from the kernel" in done.stdout


def test_a_module_of_another_export_is_refused(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "other")
    module = tmp_path / "other/module.wasm"
    module.write_bytes(module.read_bytes() + b"\0")
    done = node(tmp_path / "other", "node", "test/back_to_back.mjs")
    assert done.returncode != 0 and "they are of two exports" in done.stderr


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("model.start({seed: -1})", "seed -1 is outside 0 .. "),
        ("model.start().setParam('body.mas', 1)", "there is no parameter 'body.mas'; did you mean 'body.mass'?"),
        ("model.start().setParam('body.mass', -1)", "body.mass = -1 kg is outside its range"),
        ("model.start().setParam('body.mass', NaN)", "body.mass = NaN is not a finite number"),
        ("model.start().setParam('body.mass', [1, 2])", "body.mass has 1 values, got 2"),
        ("model.start().setInput('x', 1)", "there is no input 'x'"),
        ("model.start().inject({id: 'rotor.speed_los@1'})", "did you mean 'rotor.speed_loss@1'"),
        ("model.start().inject({id: 'rotor.speed_loss@1', instance: 5})", "there is no part of rotor.speed_loss@1 '5'"),
        ("model.start().inject({id: 'rotor.speed_loss@1', severity: 2})", "severity 2 is outside 0 .. 1"),
        ("model.start().inject({id: 'rotor.speed_loss@1', when: 'x'})", "is not among those that were compiled"),
        ("model.start().run(1e9)", "too long for a page"),
        ("model.start().run(Infinity)", "is not a finite number"),
        ("model.start().run(3600, {log_s: 0.002})", "would take [0-9]+ MB, more than the module may have"),
        ("model.start().run(600, {log: ['body'], limit_s: 0.01})", "to compute, the limit is 0.01 s"),
        ("model.start().run(1, {log: ['bodi']})", "there is no signal 'bodi'"),
        ("model.start().run(1, {log_s: 0.003})", "is not a whole number of steps"),
        ("model.fly(order, {wind: {speed_mps: 1e9}})", "wind of 1000000000 m/s"),
        ("model.fly(order, {wind: {from_deg: 7}})", "wind from 7°: the flight knows 0, 15"),
        ("model.fly(order, {gain: 2})", "there is no change 'gain'"),
        ("model.fly({...order, model_sha256: 'x'})", "was prepared for model x"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_in_words(whole: Path, script: str, words: str) -> None:
    answer = said(whole, f"tried(() => {script})")
    assert isinstance(answer, str) and answer.startswith("KernelError: ") and re.search(words, answer), answer


def test_runs_of_ones_own_take_parameters_faults_and_events(whole: Path) -> None:
    weight, ratio, stopped = said(
        whole,
        """(() => {
          const heavy = model.start({seed: 1, params: {"body.mass": 2}});
          const log = heavy.run(0.5), again = model.start({seed: 1, params: {"body.mass": 2}}).run(0.5);
          const run = model.start({seed: 1});
          run.addEvent({param: "body.mass", value: 1.5, effect: "scale", start_s: 0.1, end_s: 0.2});
          run.inject({id: "rotor.speed_loss@1", instance: 2, start_s: 1});
          run.run(20);
          return [heavy.param("body.mass"), log.sha256() === again.sha256(), run.stop?.reason ?? ""];
        })()""",
    )
    assert (weight, ratio) == (2, True) and stopped


def test_any_other_part_has_the_bits_of_the_kernel_with_recorded_inputs(tmp_path: Path) -> None:
    rows = export("wasm", Job("quad_f450", "controller", seconds=2.0, faults=FAULTS[:1]), tmp_path / "c")
    assert "2000 steps" in rows["back to back"]
    done = node(tmp_path / "c", "node", "test/back_to_back.mjs")
    assert done.returncode == 0 and "2000 steps" in done.stdout and "bit-equal" in done.stdout, done.stdout
    vectors = tmp_path / "c/test/vectors.bin"
    data = bytearray(vectors.read_bytes())
    count = int.from_bytes(data[72:80], "little")
    for number in range(count // 3, count // 3 + 100):  # inputs in the middle of the flight, in their last bit
        data[80 + 24 * number + 16] ^= 1
    vectors.write_bytes(data)
    assert node(tmp_path / "c", "node", "test/back_to_back.mjs").returncode == 1


def test_the_package_has_what_npm_asks_for(whole: Path) -> None:
    package = json.loads((whole / "package.json").read_text())
    assert package["name"] == "ironbird-quad-f450-whole" and package["type"] == "module"
    for name in (package["main"], package["types"], "README.md", "example.mjs"):
        assert (whole / name).is_file(), name
    declared = set(re.findall(r"export (?:class|function) (\w+)", (whole / "index.d.ts").read_text()))
    exported = set(said(whole, "Object.keys(await import('./index.js'))"))
    assert declared <= exported


def test_what_a_module_cannot_fly_is_refused_by_name() -> None:
    order = make_order("quad_f450", control="truth", world="forest", until_s=1.0)
    with pytest.raises(ExportError, match="obstacles of the world 'forest' are looked up by Python"):
        prepared(order, model_of(make_order("quad_f450", control="truth")))
    with pytest.raises(ExportError, match="leave --target out"):
        export("wasm", Job("quad_f450", "whole", "truth", targets=("win64",)), Path("out/never"))


def test_the_text_of_an_order_in_pieces_is_the_order() -> None:
    order = make_order("quad_f450", faults=FAULTS, weather=Weather(2.0, 33.0), seed=9)
    values = {"seed": "9", "wind.speed_mps": "2.0", "wind.from_deg": "33.0", "wind.turbulence_mps": "0.0"}
    for number, fault in enumerate(order.faults):
        values |= {f"faults.{number}.severity": str(fault.severity), f"faults.{number}.start_s": str(fault.start_s)}
    pieces = order_text(order)
    text = "".join(values[piece] if i % 2 else piece for i, piece in enumerate(pieces))
    assert parse_order(text) == order
    assert parse_order(text.replace("0.12", "0.5")) == dataclasses.replace(
        order, faults=(dataclasses.replace(order.faults[0], severity=0.5), order.faults[1])
    )
