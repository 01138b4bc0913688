"""Native code of the links: texts in `c/`."""

from __future__ import annotations

import ctypes
from pathlib import Path

from ironbird.compiler.native_text import Structures, load_texts

FOLDER = Path(__file__).parent / "c"


def load_native(*names: str | Path, structures: Structures | None = None) -> ctypes.CDLL:
    """Build texts of `c/` (or whole paths) as one library; `structures` are its own by their names there."""
    return load_texts(FOLDER, *names, structures=structures)
