"""How things show themselves as pictures in notebooks: by what they are, one line each.

A flight and a log are made below the pages that draw them; they find their picture here, by name, when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironbird.files.registry import Registry

PICTURES: Registry[Callable[..., Any]] = Registry(
    "pictures",
    {
        "flight": "ironbird.report.pictures:flight_picture",
        "log": "ironbird.report.pictures:log_picture",
    },
    Callable,  # type: ignore[arg-type]
    what="picture",
)


def picture_of(what: str, *things: Any, **options: Any) -> Any:
    """The picture (`report.picture.Picture`) of something, by the name of its kind."""
    return PICTURES.load(what)(*things, **options)
