"""Native code of the links: texts in `c/`."""

from __future__ import annotations

import ctypes
from pathlib import Path

from ironbird.compiler.native_text import Structures, load_texts

FOLDER = Path(__file__).parent / "c"


def load_native(*names: str, structures: Structures | None = None) -> ctypes.CDLL:
    """Build texts of `c/` as one library and load it; `structures` are its own by their names there."""
    return load_texts(FOLDER, *names, structures=structures)
