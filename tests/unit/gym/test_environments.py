"""The learning environments: spaces, seeds, rewards, resets that are exact."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import ironbird.gym as learning
from ironbird.errors import RequirementError, RunError, UnknownNameError
from ironbird.flight.derived import derived_from
from ironbird.flight.prepare import events_of
from ironbird.gym.rollout import Rollout
from ironbird.gym.task import Goal, Seen
from ironbird.gym.tasks.deck import Deck
from ironbird.gym.tasks.lemniscate import Lemniscate
from ironbird.model.signal import entry_names
from ironbird.requirements.robustness import Evaluation
from ironbird.requirements.trace import Trace
from ironbird.runtime.log import LogPlan
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance
from ironbird.vehicles import places as at


@pytest.fixture
def hover() -> Iterator[gymnasium.Env[Any, Any]]:
    env = gymnasium.make("ironbird/Hover-v0", longest_s=0.5)
    yield env
    env.close()


def fresh_run(rollout: Rollout, vehicle: int) -> RunState:
    """The episode of a vehicle as any other run would begin it."""
    drawn = rollout.drawn[vehicle]
    assert drawn is not None
    state = start(rollout.model, seed=drawn.seed)
    for path, value in drawn.params.items():
        state.set_param(path, value)
    for path, number in drawn.states.items():
        state.set_state(path, number)
    for event in events_of(rollout.model, drawn.fault) if drawn.fault else []:
        state.add_event(event)
    state.inputs[0, :, 0] = rollout._inputs
    advance(state, 1)
    return state


@pytest.mark.parametrize("name", learning.IDS)
def test_every_environment_passes_the_checker_of_gymnasium(name: str) -> None:
    env = gymnasium.make(name).unwrapped

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    env.close()


def test_fields_of_the_spaces_carry_units_of_the_signals(hover: gymnasium.Env[Any, Any]) -> None:
    env = hover.unwrapped
    assert isinstance(env, learning.VehicleEnv)

    seen = {f.name: f.unit for f in env.observation_fields}
    assert seen["body.v_NB_N[2]"] == "m/s" and seen["body.w_NB_B[0]"] == "rad/s" and seen["to_target[1]"] == "m"
    assert [f.name for f in env.action_fields] == ["rotor/1", "rotor/2", "rotor/3", "rotor/4"]
    assert env.observation_space.shape == (len(env.observation_fields),)


def test_a_lane_that_begins_late_equals_a_fresh_run_bit_for_bit() -> None:
    """Ages of the lanes differ after the first episodes; noise (turbulence), faults and sample times must not."""
    envs = learning.VehicleVectorEnv(
        learning.Hover(longest_s=0.2),
        learning.Randomisation(
            wind_mps=(1.0, 6.0),
            turbulence_mps=(2.0, 8.0),
            scale={"body.mass": (0.9, 1.1)},
            faults=["rotor.speed_loss@1:instance=2,severity=0.9"],
            fault_start_s=(0.03, 0.1),
        ),
        num_envs=11,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    rollout, rng = envs.rollout, np.random.default_rng(3)
    envs.reset(seed=5)
    rollout.steps[:] = np.arange(11) % 7  # the first episodes end at different times
    beside = {vehicle: fresh_run(rollout, vehicle) for vehicle in range(11)}
    begun = 0

    for _ in range(45):
        actions = rng.uniform(0.3, 0.9, (11, 4)).astype(np.float32)
        *_, terminated, truncated, _ = envs.step(actions)
        for vehicle in range(11):
            if terminated[vehicle] or truncated[vehicle]:
                beside[vehicle] = fresh_run(rollout, vehicle)
                begun += 1
                continue
            other = beside[vehicle]
            other.inputs[0, :, 0] = actions[vehicle]
            advance(other, rollout.episodes.every)
            assert rollout.episodes.content(vehicle) == other.content(0)
    assert begun > 15 and len(set(rollout.episodes.ticks[rollout.episodes.used > 0])) > 1
    envs.close()


def test_vehicle_i_of_a_vector_is_the_single_environment_of_seed_plus_i() -> None:
    envs = gymnasium.make_vec("ironbird/FaultedHover-v0", num_envs=3, longest_s=0.3, autoreset_mode="SameStep")
    seen, _ = envs.reset(seed=40)
    single = gymnasium.make("ironbird/FaultedHover-v0", longest_s=0.3)
    alone, _ = single.reset(seed=42)
    rng = np.random.default_rng(0)

    assert (seen[2] == alone).all()
    for _ in range(70):
        actions = rng.uniform(0.4, 0.8, (3, 4)).astype(np.float32)
        seen, rewards, terminated, truncated, infos = envs.step(actions)
        alone, reward, over, cut, info = single.step(actions[2])
        assert (rewards[2], terminated[2], truncated[2]) == (reward, over, cut)
        if over or cut:
            assert (infos["final_obs"][2] == alone).all() and infos["final_info"]["reason"][2] == info["reason"]
            alone, _ = single.reset()
        assert (seen[2] == alone).all()
    envs.close()
    single.close()


def test_the_next_step_mode_begins_anew_one_step_later() -> None:
    envs = gymnasium.make_vec("ironbird/Hover-v0", num_envs=2, longest_s=0.05)
    envs.reset(seed=1)
    actions = np.full((2, 4), 0.6, np.float32)
    ends = [envs.step(actions)[3].tolist() for _ in range(12)]

    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    assert [any(row) for row in ends] == [False] * 4 + [True] + [False] * 5 + [True] + [False]
    envs.close()


def test_without_autoreset_a_mask_says_who_begins_anew() -> None:
    envs = learning.VehicleVectorEnv(learning.Hover(longest_s=0.03), num_envs=3, autoreset_mode="Disabled")
    first, _ = envs.reset(seed=1)
    actions = np.full((3, 4), 0.6, np.float32)
    for _ in range(3):
        seen, *_ = envs.step(actions)
    with pytest.raises(RunError, match="reset_mask"):
        envs.step(actions)
    mask = np.array([False, True, True])
    again, infos = envs.reset(options={"reset_mask": mask})

    assert (again[0] == seen[0]).all() and (again[1] != seen[1]).any() and (again[1] != first[1]).any()
    assert infos["_seed"].tolist() == mask.tolist()
    envs.close()


def test_threads_do_not_change_a_bit() -> None:
    found = []
    for threads in (1, 2):
        envs = learning.VehicleVectorEnv(learning.Hover(), num_envs=24, threads=threads)
        envs.reset(seed=9)
        for _ in range(5):
            seen, *_ = envs.step(np.full((24, 4), 0.65, np.float32))
        found.append(seen)
        envs.close()

    assert (found[0] == found[1]).all()


def test_the_reward_is_the_margin_of_the_requirement(hover: gymnasium.Env[Any, Any]) -> None:
    env = hover.unwrapped
    assert isinstance(env, learning.VehicleEnv)
    env.reset(seed=4)
    seen, reward, *_ = env.step(env.rollout.neutral_action)
    by_name = dict(zip((f.name for f in env.observation_fields), seen.astype(float), strict=True))
    distance = np.linalg.norm([by_name[f"to_target[{i}]"] for i in range(3)])
    rate = np.linalg.norm([by_name[f"body.w_NB_B[{i}]"] for i in range(3)])
    tilt = np.arccos(by_name["body.R_NB[8]"])

    expected = np.clip(1 - distance, -1, 1) + 0.2 * np.clip(1 - rate / 2, -1, 1)
    expected += 0.2 * np.clip((np.radians(20) - tilt) / 0.35, -1, 1)
    assert reward == pytest.approx(expected, abs=1e-6)  # observations are single precision


def test_a_crash_ends_the_episode_with_its_reason() -> None:
    env = gymnasium.make("ironbird/Hover-v0", keep=(), longest_s=10.0)
    env.reset(seed=2)
    seen, reward, over, _, info = env.step(np.zeros(4, np.float32))
    while not over:
        seen, reward, over, _, info = env.step(np.zeros(4, np.float32))

    assert info["reason"] in ("hard landing", "rollover") and np.isfinite(seen).all() and float(reward) < -15
    env.close()


def test_gates_are_passed_in_order_and_counted() -> None:
    """A vehicle that is carried along the line of centres passes all gates."""
    task = learning.Gates()
    start_, memory = task.draw(np.random.default_rng(1))
    memory, total, done = memory[None], 0.0, np.zeros(1, bool)
    here = start_.position_N_m
    for gate in range(5):
        centre = memory[0, 3 * gate : 3 * gate + 3].copy()
        for share in np.linspace(0, 1.0001, 8)[1:]:
            seen = Seen({"body.p_NB_N": (here + share * (centre - here))[None]}, np.zeros(1))
            memory, extra, done = task.after(seen, {}, memory)
            total += float(extra[0] >= task.gate_reward)
        here = centre

    assert total == 5 and done[0]


@pytest.mark.parametrize(
    "text", ["eventually (target_distance < 1 m)", "always (eventually[0 s, 1 s] (target_distance < 1 m))"]
)
def test_requirements_about_other_times_are_refused(text: str) -> None:
    with pytest.raises(RequirementError, match="about the present"):
        learning.VehicleEnv(learning.Hover(goals=(Goal(text, 1.0),)))


def test_the_moving_target_is_seen_from_the_vehicle_with_its_true_velocity() -> None:
    task = learning.Tracking()
    _, memory = task.draw(np.random.default_rng(1))
    here, time_s, step_s = np.array([[1.0, -2.0, -9.0]]), np.array([2.5]), 1e-5
    found = task.signals(Seen({at.BODY.position: here}, time_s), memory[None])
    before, after = (task.target(memory[None], time_s + sign * step_s) for sign in (-1, 1))

    assert here + found["to_target"] == pytest.approx(task.target(memory[None], time_s))
    assert found["target_velocity"] == pytest.approx((after - before) / (2 * step_s), abs=1e-6)


def test_a_landing_counts_on_the_pad_and_slow_only() -> None:
    """On the pad and slow, on it and fast, beside it and slow, above it."""
    task = learning.Landing()
    places = np.array([[0.1, 0.1, 0.0], [0.1, 0.1, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    speeds = np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 1.5], [0.0, 0.0, 0.5], [0.0, 0.0, 0.5]])
    load = np.array([[10.0], [10.0], [10.0], [0.0]])
    seen = Seen({at.BODY.position: places, at.BODY.velocity: speeds, "contact.load": load}, np.zeros(4))
    _, _, done = task.after(seen, {}, np.zeros((4, 3)))

    assert done.tolist() == [True, False, False, False]
    assert task.signals(seen, np.zeros((4, 3)))["rough_contact"][:, 0].tolist() == [0.0, 1.0, 1.0, 0.0]


def test_unknown_options_and_odd_actions_are_refused_in_words(hover: gymnasium.Env[Any, Any]) -> None:
    with pytest.raises(UnknownNameError, match="longest_s"):
        gymnasium.make("ironbird/Hover-v0", longest=1.0)
    env = hover.unwrapped
    with pytest.raises(RunError, match="reset first"):
        env.step(np.zeros(4))
    env.reset(seed=0)
    with pytest.raises(RunError, match="rotor/1"):
        env.step(np.array([0.1, np.nan, 0.1, 0.1]))


def test_set_points_of_the_controller_can_be_the_action() -> None:
    """Asked to move towards the target, the vehicle's own controller comes there and stays."""
    env = gymnasium.make("ironbird/Hover-v0", level="velocity", longest_s=6.0)
    seen, _ = env.reset(seed=3)
    for _ in range(599):
        seen, _, over, cut, _ = env.step(np.clip(1.2 * seen[-3:], -2, 2))
        assert not over and not cut
    assert np.linalg.norm(seen[-3:]) < 0.15  # 1/e time of the outer loop here is about 1 s
    env.close()


def test_logged_rows_are_those_of_an_ordinary_run() -> None:
    rollout = Rollout(learning.Hover(longest_s=0.2))
    rollout.seed([7])
    rollout.begin(np.zeros(1, np.int64))
    state = fresh_run(rollout, 0)
    plan = LogPlan.make(rollout.model, list(rollout.episodes.plan.start), 0.01)
    rollout.step(rollout.neutral_action[None])
    state.inputs[0, :, 0] = rollout.neutral_action
    log = advance(state, 10, plan=plan)

    assert log is not None
    assert (rollout.episodes.logged()[0] == log.data[0, 0, :, 0]).all()
    rollout.close()


def test_an_asked_attitude_is_taken_and_held() -> None:
    """Level `attitude`: roll of 0.2 rad is there after a second, and the vehicle goes to that side, [Dai] Eq. 1."""
    env = gymnasium.make(
        "ironbird/Hover-v0", level="attitude", longest_s=3.0, tilted_rad=0.0, turning_radps=0.0, moving_mps=0.0, keep=()
    )
    inner = env.unwrapped
    assert isinstance(inner, learning.VehicleEnv)
    names = [f.name for f in inner.action_fields]
    assert names == [*(f"offboard_attitude[{i}]" for i in range(3)), "offboard_thrust"]
    for seed in range(20):  # a start whose heading can be asked for: set-points reach 0.6 rad
        seen, _ = env.reset(seed=seed)
        heading = np.arctan2(seen[4], seen[3])  # R_NB column by column: the nose in N
        if abs(heading) < 0.5:
            break
    action = inner.rollout.neutral_action.copy()
    action[:3] = [0.2, 0.0, heading]
    for _ in range(150):
        seen, _, over, _, _ = env.step(action)
        assert not over
    down = seen[9:12].astype(float)  # the body's down axis in N
    right = seen[6:9].astype(float)
    assert np.arctan2(right[2], down[2]) == pytest.approx(0.2, abs=0.02)
    # the thrust that hovers holds cos(0.2) of the weight, and pushes to the right by sin(0.2) of it from 0.2 s on
    assert 0.27 < seen[2] < 0.27 + 0.05 * 9.81 * 1.5  # 9.81 (1 - cos 0.2) 1.4 s, and 5 % at most for air and battery
    level_right = np.array([right[0], right[1], 0.0]) / np.hypot(right[0], right[1])
    gained = float(seen[:3] @ level_right)
    assert 0.7 < gained / (9.81 * np.sin(0.2) * 1.4) < 1.0  # the rotors' drag takes about 0.25 m/s^2 per m/s
    env.close()


def test_the_full_loop_takes_off_by_itself_and_then_moves_as_it_is_asked() -> None:
    """Level `full_loop`: sensors, voting and estimator fly; the true velocity becomes the one that was asked for."""
    env = gymnasium.make("ironbird/Hover-v0", level="full_loop", longest_s=30.0, keep=())
    inner = env.unwrapped
    assert isinstance(inner, learning.VehicleEnv)
    assert [f.name for f in inner.action_fields] == [f"offboard_velocity[{i}]" for i in range(3)]
    seen, _ = env.reset(seed=6)
    assert np.abs(seen[:3]).max() < 0.05 and "estimator.p_NB_N" in inner.rollout.model.signals()
    for _ in range(1500):
        seen, _, over, _, _ = env.step(np.array([0.0, 0.0, 0.0], np.float32))
        assert not over
    height = inner.rollout.positions()[0, 2]
    assert height < -1.0  # in the air
    for _ in range(400):
        seen, _, over, _, _ = env.step(np.array([1.0, -0.5, -0.5], np.float32))
        assert not over
    assert seen[:3] == pytest.approx([1.0, -0.5, -0.5], abs=0.2)  # noise of the estimator
    env.close()


@pytest.mark.parametrize(
    "text",
    [
        "always (tilt < 20 deg and rate < 3 rad/s)",
        "always (speed < 1 m/s implies target_distance < 2 m)",
        "always (not (height > 9.5 m) or abs(body.v_NB_N[0]) < 1 m/s)",
        "always (rotor/1/motor.speed / rotor/2/motor.speed > 0.9)",
        "always (hypot(to_target[0], to_target[1]) < 1 m and time < 0.2 s)",
    ],
)
def test_margins_at_a_decision_are_those_of_the_judge_of_flights(text: str) -> None:
    """Native code against `requirements.robustness`, bit by bit; requirements of many lanes, groups and padding."""
    envs = learning.VehicleVectorEnv(learning.Hover(goals=(Goal(text, 1.0),), keep=()), num_envs=13)
    envs.reset(seed=3)
    rollout, least = envs.rollout, np.full(13, np.inf)
    ((_, (formula, node)),) = rollout.judge.goals
    for _ in range(25):
        envs.step(np.tile(rollout.neutral_action, (13, 1)))
        seen = {**rollout.seen.columns, **rollout._decision.signals}
        columns = {
            entry: values[:, i : i + 1]
            for name, values in seen.items()
            for i, entry in enumerate(entry_names(name, values.shape[1]))
        }
        columns["time"] = rollout.seen.time_s[:, None]
        values = {n: columns[n] if n in columns else derived_from(columns, n) for n in formula.signals}
        trace = Trace(np.zeros(1), values, np.ones(13, np.int64))  # type: ignore[arg-type]
        margins = Evaluation(trace, slice(None)).margins(node, 0, 1)[:, 0]
        least = np.minimum(least, margins)
        assert (rollout._decision.margins[0, :13] == margins).all()
    assert [rollout.margins(v)[formula.text] for v in range(13)] == least.tolist()
    envs.close()


def test_a_requirement_about_the_end_of_a_flight_is_refused() -> None:
    with pytest.raises(RequirementError, match="how the flight ended"):
        learning.VehicleEnv(learning.Hover(goals=(Goal("always (crashed < 0.5)", 1.0),)))


def test_normalised_spaces_are_shares_of_the_bounds_and_action_0_hovers() -> None:
    plain, shares = learning.VehicleEnv(learning.Hover()), learning.VehicleEnv(learning.Hover(normalise=True))
    for env in (plain, shares):
        env.reset(seed=5)
    assert (shares.observation_space.high == 1.0).all() and (shares.action_space.low == -1.0).all()  # type: ignore[attr-defined]
    high = np.array([f.high for f in plain.observation_fields], np.float32)
    for _ in range(5):
        seen, reward, *_ = plain.step(plain.rollout.neutral_action)
        share, same, *_ = shares.step(np.zeros(4, np.float32))
        assert reward == pytest.approx(same, rel=1e-6) and share == pytest.approx(seen / high, rel=1e-5, abs=1e-6)
    full = plain.step(np.ones(4, np.float32))[0] - shares.step(np.ones(4, np.float32))[0] * high
    assert full == pytest.approx(0.0, abs=1e-4)  # action 1 is full throttle


def test_options_of_a_reset_change_what_is_drawn() -> None:
    env = learning.VehicleEnv(learning.Hover(), learning.Randomisation(scale={"body.mass": (0.9, 1.1)}))
    env.reset(seed=1, options={"wind_mps": (6.0, 6.0), "scale": {}})
    drawn = env.rollout.drawn[0]
    assert drawn is not None and np.linalg.norm(drawn.params[at.WIND_STEADY.velocity]) == pytest.approx(6.0)
    assert drawn.params["body.mass"] == env.rollout.model.flat.values[env.rollout.model.param_rows("body.mass")]
    with pytest.raises(UnknownNameError, match="wind_mps"):
        env.reset(options={"wind": 3.0})
    with pytest.raises(RunError, match="make the environment with these"):
        env.reset(options={"scale": {"body.inertia": (0.9, 1.1)}})


def by_hand(seen: np.ndarray) -> np.ndarray:
    """Normalised throttles of a hand-written attitude and position controller for the task Waypoint on the F450."""
    way, velocity, down, rates = seen[3:6] * 3.0, seen[6:9] * 4.0, seen[9:12], seen[:3] * 6.0
    push = np.clip(0.9 * way - 1.3 * velocity, -3.0, 3.0)  # wanted acceleration, body axes
    lean = np.array([push[1], -push[0]]) / 9.81  # roll, pitch that give it
    tilt = np.array([down[1], -down[0]])
    moment = 0.9 * (np.clip(lean, -0.35, 0.35) - tilt) - 0.16 * rates[:2]
    lift = -0.05 * float(push @ down) * 1.5
    front_right, back_left, front_left, back_right = (
        lift + 0.3 * (sr * moment[0] + sp * moment[1]) for sr, sp in ((-1, 1), (1, -1), (1, 1), (-1, -1))
    )
    yaw = -0.03 * rates[2]
    return np.array([front_right + yaw, back_left + yaw, front_left - yaw, back_right - yaw], np.float32)


def test_a_simple_controller_beats_doing_nothing_at_a_waypoint() -> None:
    returns = {}
    for name, policy in {"nothing": lambda seen: np.zeros(4, np.float32), "by hand": by_hand}.items():
        env = gymnasium.make("ironbird/Waypoint-v0", normalise=True)
        returns[name] = 0.0
        for seed in range(6):
            seen, _ = env.reset(seed=seed)
            over = cut = False
            while not (over or cut):
                seen, reward, over, cut, _ = env.step(policy(seen))
                returns[name] += float(reward)
        env.close()
    assert returns["by hand"] > returns["nothing"] + 300.0, returns


@pytest.mark.parametrize("name", [name for name in learning.IDS if "Waypoint" not in name])
def test_going_for_the_target_beats_standing_still(name: str) -> None:
    """Set-points of velocity by hand, with the vehicle's own controller below, against set-points of zero."""
    returns = {}
    for gain in (0.0, 1.2):
        env = gymnasium.make(name, level="velocity")
        inner = env.unwrapped
        assert isinstance(inner, learning.VehicleEnv)
        returns[gain] = 0.0
        for seed in range(4):
            env.reset(seed=seed)
            over = cut = False
            while not (over or cut):
                rollout = inner.rollout
                signals = rollout.task.signals(rollout.seen, rollout.memory)
                way = signals.get("to_gate", signals.get("to_target"))
                way = (
                    rollout.task.target(rollout.memory, rollout.seen.time_s) - rollout.positions()
                    if way is None
                    else way
                )
                if "to_gate" in signals:  # through the gate, not up to it
                    way = way + signals["gate_normal"]
                wanted = gain * way[0] + (gain > 0) * signals.get("target_velocity", np.zeros((1, 3)))[0]
                if type(rollout.task) is learning.Landing:
                    wanted = np.append(wanted[:2], 0.4 if gain else 0.0)
                _, reward, over, cut, _ = env.step(np.clip(wanted, -2.5, 2.5).astype(np.float32))
                returns[gain] += float(reward)
        env.close()
    assert returns[1.2] > returns[0.0] + 20.0, returns


def test_a_figure_of_eight_has_the_velocity_that_it_says() -> None:
    task, rng = Lemniscate(), np.random.default_rng(2)
    memory = np.stack([task.draw(rng)[1] for _ in range(5)])
    for time_s in np.linspace(0.0, 9.0, 7):
        at_s = np.full(5, time_s)
        seen = Seen({at.BODY.position: np.zeros((5, 3))}, at_s)
        before, after = (task.target(memory, at_s + sign * 1e-5) for sign in (-1, 1))
        assert task.signals(seen, memory)["target_velocity"] == pytest.approx((after - before) / 2e-5, abs=1e-6)
    along = task.target(memory, np.zeros(5)) - [0.0, 0.0, -10.0]
    assert np.linalg.norm(along, axis=1) == pytest.approx(memory[:, 0])  # begins at its end


def test_a_deck_is_reached_from_above_in_its_middle_and_with_its_speed() -> None:
    """Near, slow and in the middle; too fast; beside it; above it; through it."""
    task = Deck()
    memory = np.tile([1.0, 0.0, 0.5, 1.0, 0.0, 0.0], (5, 1))
    deck = task.target(memory, np.zeros(5))
    velocity = np.tile([1.0, 0.0, -0.5], (5, 1))  # the deck's own at this moment
    places = deck + np.array([[0.1, 0, -0.1], [0.1, 0, -0.1], [0.6, 0, -0.1], [0, 0, -1.0], [0.6, 0, 0.1]])
    seen = Seen({at.BODY.position: places, at.BODY.velocity: velocity}, np.zeros(5))
    seen.columns[at.BODY.velocity][1] += [0.0, 0.0, 1.0]
    signals = task.signals(seen, memory)
    after, _, done = task.after(seen, signals, memory)
    assert done.tolist() == [True, False, False, False, False]
    assert after[:, 5].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    late = Seen({at.BODY.position: places, at.BODY.velocity: velocity}, np.full(5, 1e-5))
    found = (task.target(memory, late.time_s) - deck) / 1e-5
    assert signals["target_velocity"] == pytest.approx(found, abs=1e-4)
