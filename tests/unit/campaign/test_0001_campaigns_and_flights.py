"""The first tables: a name belongs to one campaign, whoever writes."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

import ironbird.campaign.store as module


def test_the_database_itself_refuses_a_second_campaign_of_a_name(tmp_path: Path) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(module.__file__).parent / "migrations"))
    row = "INSERT INTO campaign VALUES ({}, 'summer', '', '2026-01-01', '0.0.1', '', 'd')"
    with sa.create_engine(f"sqlite:///{tmp_path}/store.db").connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(sa.text(row.format(1)))
        with pytest.raises(sa.exc.IntegrityError, match="UNIQUE"):
            connection.execute(sa.text(row.format(2)))
