"""Campaigns in the app: matrix, map, comparison; looking at a stored flight flies nothing, a pilot has it flown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from campaign_data import stored_campaigns
from live_rig import PATIENCE_S
from typer.testing import CliRunner

from ironbird.app.actions import act
from ironbird.app.frames import FLOATS, log_frames
from ironbird.app.point_map import boundary, point_map
from ironbird.app.records import OTHER_MEANING, Campaigns
from ironbird.app.rig import Rig
from ironbird.app.security import GUEST, PILOT
from ironbird.campaign.store import Store
from ironbird.cli.main import app as cli
from ironbird.errors import RecordError, StoreError


@pytest.fixture
def campaigns(tmp_path: Path) -> Campaigns:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    stored_campaigns(url)
    return Campaigns(url)


def test_verdicts_map_and_comparison(campaigns: Campaigns) -> None:
    (row,) = campaigns.matrix("calm")
    assert (row["pass"], row["fail"], row["worst"]) == (3, 1, "hover/0001/s1")
    points = campaigns.points("calm")["hover"]
    assert [point["verdict"] for point in points] == ["fail", "pass", "pass", "pass"]
    picture = point_map("calm", points, "wind.speed_mps", "body.mass")
    assert picture.count("<circle") == 4 and picture.count("#dc2626") == 1
    assert 'href="/replay?campaign=calm&amp;flight=hover%2F0001%2Fs1"' in picture
    assert point_map("calm", points, "wind.speed_mps", "no such") == ""
    found = campaigns.compared("calm", "windy")
    (change,) = found["verdicts"]
    assert [change[key] for key in ("flight", "before", "after")] == ["hover/0002/s2", "pass", "fail"]
    assert found["same"] == 4


def test_campaigns_whose_verdicts_mean_something_else_are_not_compared(
    campaigns: Campaigns, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Store.campaign
    monkeypatch.setattr(
        Store,
        "campaign",
        lambda store, name: replace(found(store, name), ironbird="0.1.0" if name == "calm" else "9.0"),
    )
    with pytest.raises(StoreError, match=r"campaign calm has verdicts of Ironbird 0\.1\.0") as refusal:
        campaigns.compared("calm", "windy")
    assert f"the tick at '{OTHER_MEANING}' compares all the same" in str(refusal.value)
    assert "--" not in str(refusal.value)  # a person in the browser has no options
    assert campaigns.compared("calm", "windy", other_meaning=True)["same"] == 4


def test_the_line_between_pass_and_fail_is_midway_between_neighbours() -> None:
    flights = [(x, y, "fail" if y > 1.0 + x else "pass") for x in (0.0, 1.0, 2.0) for y in (0.5, 1.5, 2.5, 3.5)]
    assert boundary([*flights, (3.0, 0.5, "pass"), (2.0, 3.0, "void")]) == [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]
    assert boundary([(0.0, 1.0, "pass"), (0.0, 2.0, "pass"), (0.0, 2.0, "fail")]) == [(0.0, 1.5)]
    points = [{"id": "a", "values": {"x": x, "y": y}, "verdict": v, "margin": 0.0} for x, y, v in flights]
    assert point_map("c", points, "x", "y").count("<polyline") == 1


def test_names_in_a_map_cannot_be_markup() -> None:
    values = {"<b>": 1.0, "a&b": 2.0}
    point = {"id": '"><script>', "values": values, "verdict": "<i>", "margin": 0.5}
    picture = point_map('"<', [point], "<b>", "a&b")
    assert "<script>" not in picture and "<b>" not in picture and "<i>" not in picture


def test_looking_at_a_stored_flight_flies_nothing_and_a_guest_cannot_have_it_flown(
    campaigns: Campaigns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ironbird.flight.flight.fly", lambda *_, **__: pytest.fail("it was flown"))
    assert campaigns.kept("calm", "hover/0001/s1") == (False, "quad_f450")
    with pytest.raises(RecordError, match="its trace was not kept"):
        campaigns.frames("calm", "hover/0001/s1")
    with Rig(tmp_path / "app", campaigns) as rig:
        answer = act(rig, GUEST, "refly", {"campaign": "calm", "stored": "hover/0001/s1"})
        assert not answer["ok"] and "a guest may look" in answer["error"] and not rig.flights


def test_a_pilot_has_a_stored_flight_flown_again_in_a_thread_of_its_own(campaigns: Campaigns, tmp_path: Path) -> None:
    with Rig(tmp_path / "app", campaigns) as rig:
        answer = act(rig, PILOT, "refly", {"campaign": "calm", "stored": "hover/0001/s1"})
        assert answer["ok"], answer
        live = rig.flight(answer["result"]["flight"])
        assert live.join(PATIENCE_S) and not live.failure
        assert live.flight is not None
        frames = log_frames(live.flight.log)
        assert frames.shape[1] == FLOATS and frames[-1, 0] == pytest.approx(2.0, abs=0.03)
        assert np.isfinite(frames).all()
        assert not act(rig, PILOT, "refly", {"campaign": "calm", "stored": "../x"})["ok"]
        assert not act(rig, PILOT, "arm", {"flight": live.name})["ok"]


@pytest.mark.parametrize(
    ("store", "reason"),
    [("nonsense", "is no store of campaigns: give sqlite:///FILE"), ("mysql://x/y", "is no store of campaigns")],
)
def test_a_store_that_is_none_is_refused_before_the_page_opens(store: str, reason: str) -> None:
    ended = CliRunner().invoke(cli, ["app", "--no-browser", "--http-port", "0", "--store", store])
    assert ended.exit_code == 2 and reason in " ".join(ended.stderr.split())


def test_looking_for_a_store_makes_none(tmp_path: Path) -> None:
    Campaigns(f"sqlite:///{tmp_path / 'store.db'}").check()
    assert not (tmp_path / "store.db").exists()
