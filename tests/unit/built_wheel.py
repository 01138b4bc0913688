"""A wheel of the package, built from a copy of the tree so that nothing is left in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build_wheel(folder: Path) -> Path:
    """Build a wheel in this folder."""
    tree = folder / "tree"
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    command = ["wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *command, str(tree)], check=True, capture_output=True)
    (wheel,) = folder.glob("ironbird-*.whl")
    return wheel
