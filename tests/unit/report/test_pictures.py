"""Pictures of flights, logs and campaigns as notebooks show them."""

from __future__ import annotations

import base64
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ironbird as ib
from ironbird.errors import UnknownNameError
from ironbird.report.picture import Picture

ORDER: dict[str, Any] = {
    "mission": "hover", "until_s": 8.0, "ends": "time",
    "faults": ["rotor.speed_loss@1:instance=1,severity=0.1,start=5"],
}  # fmt: skip


@pytest.fixture(scope="module")
def flight() -> ib.Flight:
    return ib.fly("quad_f450", control="truth", **ORDER)


def figures(picture: Picture) -> dict[str, Any]:
    found = re.search(r'id="figures"[^>]*>(.*?)</script>', picture.html, re.S)
    assert found is not None
    return dict(json.loads(found[1]))


def numbers(packed: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["bdata"]), "<f4")


def test_a_flight_shows_itself_with_replay_verdict_and_first_plots(flight: ib.Flight) -> None:
    shown = flight._repr_html_()
    page = unescape(shown[shown.index('srcdoc="') + 8 :])
    assert flight.judged.sentence in unescape(page) and 'id="replay"' in page
    assert (
        list(figures(flight.plot())) == ["replay", "height", "error", "horizontal"] or len(figures(flight.plot())) == 4
    )
    assert "https://" not in page  # it needs no network


def test_signals_of_a_flight_are_plotted_in_degrees_with_the_fault_shaded(flight: ib.Flight) -> None:
    picture = flight.plot("body.euler", "height")
    euler, height = figures(picture).values()
    assert [curve["name"] for curve in euler["data"]] == [f"body.euler[{i}]" for i in range(3)]
    assert numbers(euler["data"][0]["y"])[-1] == pytest.approx(np.degrees(flight.log["body.euler"][-1, 0]), rel=1e-5)
    assert numbers(height["data"][0]["y"]).max() == pytest.approx(-flight.log["body.p_NB_N"][:, 2].min(), rel=1e-5)
    assert [shape["x0"] for shape in euler["layout"]["shapes"] if shape["type"] == "rect"] == [5.0]
    with pytest.raises(UnknownNameError, match="did you mean"):
        flight.plot("body.eulr")


def test_lanes_of_a_log_are_curves_side_by_side() -> None:
    model = ib.compile_model(ib.load_vehicle("quad_f450", control="truth").diagram)
    state = ib.start(model, lanes=3, seed=1)
    log = ib.run(state, until_s=0.5, log=["body.p_NB_N", "body.euler"])
    (figure,) = figures(log.plot("body.p_NB_N", lanes=[0, 2])).values()
    assert [curve["name"] for curve in figure["data"]][::3] == ["body.p_NB_N[0], lane 0", "body.p_NB_N[0], lane 2"]
    assert len(figures(log.plot())) == 2 and "3 of 3 lanes" in log.plot().title


def test_a_campaign_shows_margins_over_what_varied(tmp_path: Path) -> None:
    (tmp_path / "mass.toml").write_text("""
schema = 1
[[case]]
id = "mass"
title = "Hover with an unknown mass"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 4.0
ends = "time"
[case.set]
"body.mass" = { uniform = [1.2, 1.6] }
[case.plan]
kind = "monte_carlo"
samples = 5
[[case.require]]
name = "level"
formula = "always (tilt < 20 deg)"
""")
    campaign = ib.campaign(tmp_path / "mass.toml", workers=1, store=f"sqlite:///{tmp_path / 'c.db'}", traces="none")
    picture = campaign.plot("body.mass", requirement="level")
    assert picture.html.count("<circle") + picture.html.count("<path") >= 5 and "5 flights: 5 pass" in picture.html
    assert campaign._repr_html_().startswith("<iframe")
    with pytest.raises(UnknownNameError, match="varied parameter"):
        campaign.plot("mass")
    saved = picture.save(tmp_path / "folder" / "margins.html")
    assert saved.read_text(encoding="utf-8") == picture.html
