"""The notebooks of examples/notebooks run from top to bottom; they are kept without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(notebook)
    names: dict[str, Any] = {"__name__": path.stem}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            exec(compile("".join(cell["source"]), f"{path.name}:{cell['id']}", "exec"), names)


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["fault_campaign", "first_flight", "own_controller_monte_carlo"]
