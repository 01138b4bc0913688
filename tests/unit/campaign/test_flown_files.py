"""Vehicle files of a campaign as they were flown: kept as one text each, written again, compared by digest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from campaign_data import flight_case

from ironbird.campaign.flown_files import VEHICLE, same_definition, vehicle_texts, write_vehicles
from ironbird.errors import StoreError
from ironbird.flight.order import vehicle_digest

MINE = 'schema = 1\nbase = "quad_f450"\nid = "mine"\n[body]\nmass_kg = 1.1\n'


def test_a_vehicle_is_written_as_it_was_though_its_file_has_changed(tmp_path: Path) -> None:
    mine = tmp_path / "my own.toml"
    mine.write_text(MINE)
    case = flight_case(1, vehicle=str(mine))
    digest, flown = case.digest(), vehicle_digest(str(mine))
    source = vehicle_texts([case, flight_case(2, vehicle=str(mine))])
    assert list(source) == [f"{VEHICLE}{mine}"]

    mine.write_text(MINE.replace("1.1", "1.3"))
    files = write_vehicles(source, [case], tmp_path / "deep" / "vehicles")

    assert list(files) == [str(mine)] and files[str(mine)].name == f"my_own-{flown[:8]}.toml"
    assert list((tmp_path / "deep" / "vehicles").iterdir()) == [files[str(mine)]]
    assert vehicle_digest(str(files[str(mine)])) == flown
    same_definition(replace(case, vehicle=str(files[str(mine)])), digest)
    with pytest.raises(StoreError, match="hover/0001/s1 cannot be packed: its vehicle file was changed since"):
        same_definition(flight_case(1, vehicle=str(mine)), digest)
