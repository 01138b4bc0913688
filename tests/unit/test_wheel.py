"""A wheel holds the whole package, and the extras of pyproject.toml are those that messages name."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path

import pytest
from built_wheel import build_wheel
from packaging.requirements import Requirement

from ironbird.cli.exit_codes import WRONG
from ironbird.cli.output import naming_extras
from ironbird.files.extras import EXTRAS, PURPOSES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = {"serial": "pyserial"}  # imported under another name


def test_a_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    with zipfile.ZipFile(wheel) as packed:
        held = {name for name in packed.namelist() if ".dist-info/" not in name}
    expected = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "ironbird").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == expected, "see [tool.setuptools.package-data] in pyproject.toml"


@pytest.mark.parametrize("package", sorted(EXTRAS))
def test_the_extra_that_a_message_names_installs_the_package(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    extra = PROJECT["optional-dependencies"][EXTRAS[package]]
    names = {Requirement(text).name.lower().replace("-", "_") for text in extra}
    assert {PACKAGES.get(package, package), f"{package}_support"} & names
    with pytest.raises(SystemExit) as ended, naming_extras():
        raise ModuleNotFoundError(f"No module named '{package}.part'", name=f"{package}.part")
    assert ended.value.code == WRONG and f"pip install 'ironbird[{EXTRAS[package]}]'" in capsys.readouterr().err


def test_a_package_of_no_extra_is_not_explained_away() -> None:
    with pytest.raises(ModuleNotFoundError), naming_extras():
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")


def test_every_package_of_the_extras_for_users_is_named_by_a_message() -> None:
    tools = {"dev", "fuzz", "clients", "site", "notebooks", "all"}  # not behind a verb
    for extra, requirements in PROJECT["optional-dependencies"].items():
        if extra in tools:
            continue
        for name in {Requirement(text).name for text in requirements} - {"ironbird"}:
            module = {v: k for k, v in PACKAGES.items()}.get(name, name.replace("-", "_").removesuffix("_support"))
            assert extra in PURPOSES and EXTRAS.get(module) == extra, (
                f"{name} of the extra {extra}: see EXTRAS in files/extras.py"
            )
