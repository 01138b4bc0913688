"""What the tests of the whole share: a PostgreSQL server."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import USER, Postgres, programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running server."""
    place = programs()
    if place is None:
        reason = "PostgreSQL is missing: tools/install_system_packages.sh installs it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="ironbird-postgres-"))
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam(USER).pw_uid, -1)
    server = Postgres(place, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
