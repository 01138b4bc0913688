"""Code of src/ that nothing uses: only what is listed here, each with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import unused_code
from unused_code import unused_modules, unused_names

CALLED_BY_OTHERS = {  # methods that other packages call
    "gym/env.py close_extras",  # gymnasium
    *(
        f"gym/stable_baselines.py {name}"
        for name in (
            "step_async",
            "get_attr",
            "set_attr",
            "env_method",
            "env_is_wrapped",
        )
    ),  # abstract methods of its VecEnv
    *(f"gym/window.py {name}" for name in ("do_GET", "log_message")),  # http.server
}
DRIVERS = "boards/clients.py "  # ports with the methods of smbus2, spidev, pyserial, busio: drivers call them
SHOWN_TO_USERS = {  # interfaces of guides, programs that are started by name, parts that vehicle files name
    "ironbird.blocks.forces.driven_wheel_contact",  # vehicles/catalog/roadable_aerosonde.toml
    "ironbird.campaign.migrations.env",  # alembic loads it and what is in versions/ by path
    "ironbird.identification.virtual",  # docs/guide/identification.md
    "ironbird.boards.clients",  # docs/guide/chips.md
    "ironbird.transport.serial_wire",  # docs/guide/hardware-in-the-loop.md: python -m
    "ironbird.rflysim.pictures",  # docs/guide/worlds.md
    "ironbird.gym.torch_layers",  # docs/guide/learning.md, examples/train_waypoint.py
    "ironbird.testing.alone",  # for tests of whoever adds a block
}


def test_every_name_is_used() -> None:
    found = {name for name in unused_names() if not name.startswith(DRIVERS)}
    assert found == CALLED_BY_OTHERS


def test_every_module_is_imported_by_another_or_shown_to_users() -> None:
    found = {name for name in unused_modules() if not name.startswith("ironbird.campaign.migrations.versions.")}
    assert found == SHOWN_TO_USERS


def test_what_nothing_uses_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "src" / "ironbird"
    package.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    (package / "used.py").write_text("LOW, HIGH = 0, 1\nLOST = 2\n\n\ndef take() -> int:\n    return LOW\n")
    (package / "lost.py").write_text("from ironbird import used\n\n\nclass Forgotten:\n    held = used.take()\n")
    monkeypatch.setattr(unused_code, "ROOT", tmp_path)
    monkeypatch.setattr(unused_code, "SOURCE", tmp_path / "src")
    assert unused_code.unused_names() == ["lost.py Forgotten", "used.py LOST"]
    assert unused_code.unused_modules() == ["ironbird.lost"]
