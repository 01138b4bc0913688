"""Flights in a world: nothing changes without obstacles, walls stop or throw back, and all of it repeats to the bit."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ironbird.errors import OrderError, WorldError
from ironbird.flight.flight import Flight, fly
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import judge
from ironbird.flight.order import Order, load_order, make_order, parse_order
from ironbird.flight.prepare import fit, prepare, surroundings_of
from ironbird.vehicles import places as at

EMPTY = 'schema = 1\n[terrain]\nkind = "plane"\n'
WALL = EMPTY + '[[box]]\nname = "wall"\nnorth_m = 12.0\nsize_m = [1.0, 40.0, 30.0]\n'
HILL = 'schema = 1\n[terrain]\nkind = "plane"\nheight_m = 3.0\nslope_north = 0.05\n'
FREE = {at.CLEARANCE("stop_speed"): 1e5}  # rebound
UNTIL_S = 15.0  # the square leads north first: the wall is reached at 11 s


def order(world: str, **more: object) -> Order:
    return make_order("quad_f450", control="truth", world=world, until_s=UNTIL_S, **more)  # type: ignore[arg-type]


@functools.cache
def flown(world: str) -> Flight:
    return fly(order(world))


def test_in_an_empty_world_a_vehicle_flies_as_without_one() -> None:
    alone = fly(make_order("quad_f450", control="truth", until_s=UNTIL_S, integration="rk4@0.001"))

    np.testing.assert_array_equal(flown(EMPTY).log[at.BODY.position], alone.log[at.BODY.position])
    assert at.CLEARANCE.path not in alone.model.flat.diagram.blocks


def test_a_wall_stops_the_flight_where_the_hull_touches_it() -> None:
    hit = flown(WALL)

    assert hit.verdict == "fail" and "collision" in hit.outcome
    assert hit.stop is not None and hit.log[at.BODY.position][-1, 0] == pytest.approx(11.5 - 0.301, abs=0.1)
    assert hit.log[at.CLEARANCE.min_distance][0] == pytest.approx(11.5 - 0.301, abs=0.02)
    assert hit.log[at.CLEARANCE.min_distance].min() < 0.1


def test_the_smallest_distance_is_a_requirement() -> None:
    judged = fly(order(WALL, requirements=["always (min_distance > 1.5 m)"])).judged

    assert judged.verdict == "fail"
    assert "min_distance was" in judged.sentence and "more than 1.5 m" in judged.sentence


def test_a_vehicle_that_may_touch_rebounds_and_stays_in_front_of_the_wall() -> None:
    thrown = fly(order(WALL, settings=FREE))

    north = thrown.log[at.BODY.position][:, 0]
    assert thrown.stop is None and north.max() < 11.5
    assert thrown.log[at.CLEARANCE.impact_speed].max() > 0.2
    assert thrown.log[at.CLEARANCE.min_distance].min() > -0.1


def test_a_hit_breaks_the_rotors_in_front_if_that_is_ordered() -> None:
    broken = fly(order(WALL, settings={**FREE, at.CLEARANCE("damage_speed"): 0.1}))

    speeds = [broken.log[at.rotor(number).motor("speed")][-1] for number in range(1, 5)]
    nose = [number for number in range(4) if broken.vehicle.spec.rotor[number].position_B_m[0] > 0]  # type: ignore[attr-defined]
    assert all(speeds[number] < 200.0 for number in nose)
    assert broken.judged.crashed


def test_the_ground_of_the_world_is_where_the_vehicle_stands() -> None:
    hill = fly(order(HILL, mission="hover"))

    height = -hill.log[at.BODY.position][:, 2]
    assert height[0] == pytest.approx(3.0 + 0.12, abs=0.05)  # on its gear
    assert hill.log[at.TERRAIN.height_above_ground][0] == pytest.approx(0.12, abs=0.05)
    assert height[-1] == pytest.approx(10.0, abs=0.5)


@pytest.mark.parametrize(("friction", "slides"), [(0.9, False), (0.1, True)])
def test_gear_rubs_on_the_ground_as_its_material_says(friction: float, slides: bool) -> None:
    slope = 0.3  # it holds where the friction is larger
    ice = f'{EMPTY}slope_north = {slope}\nmaterial = "m"\n[material.m]\nfriction = {friction}\n'
    still = {at.NAVIGATOR.arm_time: 100.0}
    stood = fly(replace(order(ice, mission="hover", settings=still), until_s=2.0))

    moved = stood.log[at.BODY.position][-1, 0] - stood.log[at.BODY.position][0, 0]
    down = -9.81 * np.cos(np.arctan(slope)) ** 2 * (slope - friction) * 2.0**2 / 2  # a block on a plane, after 2 s
    assert moved == pytest.approx(
        down if slides else 0.0, rel=0.2, abs=0.15
    )  # it begins level, and tips onto the slope
    own = fly(replace(order(ice, mission="hover", settings={**still, at.CONTACT("friction"): 0.9}), until_s=2.0))
    assert abs(own.log[at.BODY.position][-1, 0] - own.log[at.BODY.position][0, 0]) < 0.15  # an order's own stays


def test_tyres_are_as_their_file_says_on_a_dry_road() -> None:
    for friction, share in ((0.8, 1.0), (0.4, 0.5), (10.0, 2.0)):
        road = f'{EMPTY}material = "m"\n[material.m]\nfriction = {friction}\n'
        wet = make_order("car_escort", control="truth", world=road, until_s=1.0)
        state = prepare(fit(wet).model, [wet])
        around = surroundings_of([wet], state.model)
        assert around is not None
        around.begin(state, "a car")
        assert state.params[0, state.model.param_rows("wheel/1/tyre.friction"), 0] == share


def test_a_start_inside_the_wall_is_refused() -> None:
    with pytest.raises(WorldError, match="vehicle 'quad_f450' begins inside 'wall'"):
        fly(order(WALL, settings={at.BODY("p_0"): [12.0, 0.0, -0.12]}))


def test_lanes_and_repetition_give_the_same_bytes() -> None:
    orders = [order(WALL, seed=seed, settings=FREE) for seed in (3, 4, 5)]
    model = fit(orders[0]).model

    together = fly_lanes(orders, model, threads=2)
    alone = [fly(one).sha256 for one in orders]

    assert [judged.sha256 for judged in judge(together, model)] == alone
    assert fly(orders[0]).sha256 == alone[0]


def test_flights_side_by_side_need_one_world() -> None:
    with pytest.raises(OrderError, match="the same world, these have"):
        fly_lanes([order(WALL), order(EMPTY)], fit(order(WALL)).model)


def test_a_fault_in_a_world_has_its_witness() -> None:
    fault = "rotor.speed_loss@1:instance=1,severity=0.3,start=6"

    judged = fly(order(WALL, faults=[fault])).judged

    assert "acted on" in judged.sentence


def test_the_digest_covers_the_content_of_the_world_and_the_text_reads_back(tmp_path: Path) -> None:
    file = tmp_path / "yard.toml"
    file.write_text(WALL)
    first = order(str(file))
    before = first.digest()

    assert parse_order(first.text()) == first
    assert before != order("").digest()
    (tmp_path / "order.toml").write_text(first.text())
    assert load_order(tmp_path).digest() == before
    file.write_text(WALL.replace("12.0", "13.0"))
    assert replace(first).digest() != before


def test_the_ground_under_a_start_is_that_of_its_north_and_its_east() -> None:
    """On a plane that rises to the north alone, a start to the east is as high as home."""
    place = {at.BODY("p_0"): [20.0, -10.0, -0.12]}
    up = fly(order(HILL, mission="hover", settings=place, ends="time"))
    assert -up.log[at.BODY.position][0, 2] == pytest.approx(3.0 + 0.05 * 20.0 + 0.12, abs=0.05)
