"""Code of users by name: what a home brings along."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.files.named_code import load_home, source_files


def names(home: str, folder: Path) -> list[str]:
    return [file.relative_to(folder).as_posix() for file in source_files(home)]


def test_a_file_brings_all_modules_that_it_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Direct and indirect imports, those of packages and in functions; not those of Ironbird, Python and packages."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "gains_pkg" / "deep").mkdir(parents=True)
    for file, text in {
        "mine_home.py": "import json\nimport numpy\nimport ironbird.errors\nfrom gains_helper import DAMPING\n"
        "HOME = DAMPING\ndef later():\n    import gains_pkg.deep.table\n",
        "gains_helper.py": "from gains_more import VALUE as DAMPING\n",
        "gains_more.py": "VALUE = 0.08\n",
        "gains_pkg/__init__.py": "from . import beside\n",
        "gains_pkg/beside.py": "",
        "gains_pkg/deep/__init__.py": "",
        "gains_pkg/deep/table.py": "from ..beside import nothing\nfrom .other import thing\n",
        "gains_pkg/deep/other.py": "import gains_not_there\n",
        "unused.py": "",
    }.items():
        (tmp_path / file).write_text(text)
    home = f"{tmp_path / 'mine_home.py'}:HOME"
    assert load_home(home) == 0.08
    found = names(home, tmp_path)
    assert found == [
        "gains_helper.py", "gains_more.py", "gains_pkg/__init__.py", "gains_pkg/beside.py",
        "gains_pkg/deep/__init__.py", "gains_pkg/deep/other.py", "gains_pkg/deep/table.py", "mine_home.py",
    ]  # fmt: skip
    (tmp_path / "gains_more.py").write_text("import unused\nVALUE = 0.08\n")
    assert "unused.py" in names(home, tmp_path)


def test_an_installed_package_brings_its_own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "site-packages"
    (place / "flier_pkg").mkdir(parents=True)
    (place / "flier_pkg" / "__init__.py").write_text("")
    (place / "flier_pkg" / "kind.py").write_text("import numpy\nfrom flier_pkg.gains import HOME\nimport flier_other\n")
    (place / "flier_pkg" / "gains.py").write_text("HOME = 1\n")
    (place / "flier_other.py").write_text("")
    monkeypatch.syspath_prepend(place)
    assert load_home("flier_pkg.kind:HOME") == 1
    assert names("flier_pkg.kind:HOME", place) == ["flier_pkg/__init__.py", "flier_pkg/gains.py", "flier_pkg/kind.py"]


def test_what_is_no_code_brings_nothing(tmp_path: Path) -> None:
    assert source_files(f"{tmp_path}/faults.toml") == [] and source_files("not.imported:HOME") == []
    (tmp_path / "broken.py").write_text("def (\n")
    assert source_files(f"{tmp_path / 'broken.py'}:X") == [tmp_path / "broken.py"]  # whoever loads it says why
