"""The notebooks of examples/notebooks run from top to bottom and show pictures; they are kept without outputs."""

from __future__ import annotations

import ast
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
    pictures = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            shown = run("".join(cell["source"]), f"{path.name}:{cell['id']}", names)
            picture = getattr(shown, "_repr_html_", None)
            pictures += picture is not None and "<iframe" in picture()
    assert pictures
    last = notebook["cells"][-1]
    assert last["cell_type"] == "markdown" and "".join(last["source"]).startswith("**")  # what it shows, and what not


def run(text: str, place: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line, which a notebook shows."""
    tree = ast.parse(text, place)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    return eval(compile(ast.Expression(last.value), place, "eval"), names) if isinstance(last, ast.Expr) else None


def test_there_are_four() -> None:
    expected = ["fault_campaign", "first_flight", "learning", "own_controller_monte_carlo"]
    assert [path.stem for path in NOTEBOOKS] == expected
