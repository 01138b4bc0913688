"""Pictures of an episode: arrays, a page, a film in the browser."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import Any

import gymnasium
import numpy as np
import pytest

import ironbird.gym as learning
from ironbird.errors import RunError, UnknownNameError
from ironbird.report.picture import Picture
from ironbird.world.png import read_png


def flown(mode: str | None, decisions: int = 30, **options: Any) -> learning.VehicleEnv:
    env = gymnasium.make("ironbird/Hover-v0", render_mode=mode, **options).unwrapped
    assert isinstance(env, learning.VehicleEnv)
    env.reset(seed=3)
    for _ in range(decisions):
        env.step(env.rollout.neutral_action)
    return env


def test_a_picture_shows_the_vehicle_in_its_middle_and_the_target_where_it_is() -> None:
    env = flown("rgb_array", 5, beside_m=0.5)
    picture = np.asarray(env.render())
    assert picture.shape == (360, 480, 3) and picture.dtype == np.uint8
    middle = picture[160:200, 210:270].astype(int)
    assert (middle.max(axis=2) < 90).sum() > 30  # the dark frame; grass and sky are brighter
    red, green, blue = picture.astype(int).transpose(2, 0, 1)
    assert ((red - green > 60) & (red - blue > 60) & (green < 120)).sum() > 50  # discs in front
    orange = np.argwhere((red > 180) & (abs(green - 140) < 40) & (blue < 90))
    away = np.array([0.0, 0.0, -10.0]) - env.rollout.positions()[0]
    right = away[1] * 0.963 + away[0] * 0.268  # the camera looks 15.5 degrees to the left of north
    assert len(orange) > 5 and np.sign(orange[:, 1].mean() - 240) == np.sign(right)
    env.close()


def test_the_same_episode_gives_the_same_picture_and_another_moment_another() -> None:
    first, second, third = (np.asarray(flown("rgb_array", n).render()) for n in (10, 10, 40))
    assert (first == second).all() and (first != third).any()


def test_a_replay_is_a_page_with_the_path_so_far() -> None:
    page = flown("replay", 25).render()
    assert isinstance(page, Picture) and "25 decisions" in page.title
    figures = json.loads(re.search(r'id="figures"[^>]*>(.*?)</script>', page.html, re.S)[1])  # type: ignore[index]
    assert set(figures) == {"replay", "position", "reward"}
    assert figures["replay"]["marks"][0]["place"] == [0.0, 0.0, 10.0]
    assert page._repr_html_().startswith("<iframe sandbox") and "https://" not in page.html


def test_a_window_is_a_film_on_the_machines_own_address(capsys: pytest.CaptureFixture[str]) -> None:
    env = flown("human", 3)
    url = capsys.readouterr().out.split()[-1]
    assert url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(url, timeout=20) as film:
        assert film.headers["Content-Type"].startswith("multipart/x-mixed-replace")
        assert film.readline() == b"--picture\r\n"
        film.readline()
        size = int(film.readline().split()[1])
        film.readline()
        pixels, white = read_png(film.read(size))
    assert pixels.shape == (360, 480, 3) and white == 255
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(url[:-3], timeout=20)
    env.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=5)


def test_without_a_render_mode_or_with_another_one_it_is_said() -> None:
    with pytest.raises(RunError, match="give render_mode, human, rgb_array, replay"):
        flown(None, 0).render()
    with pytest.raises(UnknownNameError, match="rgb_array"):
        learning.VehicleEnv(learning.Hover(), render_mode="rgb_arry")


def test_vectors_and_many_vehicles_show_their_first() -> None:
    single = np.asarray(flown("rgb_array", 0).render())
    envs = gymnasium.make_vec("ironbird/Hover-v0", num_envs=2, render_mode="rgb_array")
    envs.reset(seed=3)
    pictures = envs.render()
    assert pictures is not None and (np.asarray(pictures[0]) == single).all()
    envs.close()
