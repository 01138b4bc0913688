"""`ib.margins`, `ib.step_response` and `ib.autotune`: how well a vehicle's gains are chosen, and better ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ironbird.model.signal import Number
from ironbird.tuning.autotune import Result, tune
from ironbird.tuning.loops import Margins, steady_loop
from ironbird.tuning.steps import Answer, answers_to, step_of, usual_step


def margins(
    vehicle: str | Path, axes: Sequence[str] | None = None, *, settings: Mapping[str, Number] | None = None
) -> dict[str, Margins]:
    """Gain, phase and delay margins of a vehicle's control loops, cut at the actuators: `ironbird vehicle margins`.

    Linear analysis at hover, or of a wing in level flight at cruise speed, by exact derivatives, with sampling and
    hold.

    Parameters
    ----------
    vehicle : str or Path
        Catalogue name, or a TOML file.
    axes : sequence of str, optional
        roll, pitch, yaw, lift; of a wing aileron, elevator, rudder, throttle. All by default.
    settings : mapping, optional
        Parameters by path, for example `{"control.rate_gain": [20.0, 20.0, 8.0]}`.

    Returns
    -------
    dict of str to Margins
        By axis: `crossover_radps`, `phase_deg`, `gain_up_dB`, `gain_down_dB`, `delay_s`, `sensitivity`, `stable`;
        infinite where the loop's curve never crosses.

    Raises
    ------
    IronbirdError
        If the vehicle does not hover or cruise, or has no such axis.

    Examples
    --------
    >>> ib.margins("quad_f450", ["roll"])["roll"].phase_deg  # doctest: +SKIP
    34.0
    """
    loop = steady_loop(str(vehicle), settings)
    return {name: loop.broken(name).margins for name in axes or loop.closed_axes()}


def step_response(
    vehicle: str | Path,
    axis: str | None = None,
    *,
    size: float | None = None,
    lasts_s: float | None = None,
    settings: Mapping[str, Number] | None = None,
    control: str = "truth",
    seed: int = 0,
) -> Answer:
    """Fly a step of a hovering vehicle or a wing and measure the answer: `ironbird vehicle step`.

    Parameters
    ----------
    vehicle : str or Path
        Catalogue name, or a TOML file.
    axis : str, optional
        roll_rate, pitch_rate, yaw_rate, roll, pitch, yaw, speed_north, speed_east, climb, north, east, up; of a wing
        bank, pitch, height, airspeed. By default roll, of a wing bank.
    size : float, optional
        Size of the step in degrees, degrees/s, m/s or m; a usual one by default.
    lasts_s : float, optional
        Time in s that is flown after the step; a usual one by default.
    settings : mapping, optional
        Parameters by path, for example gains.
    control : str, default "truth"
        "truth": the controller sees the true state; "reference": sensors and estimator too.
    seed : int, default 0
        Seed of all noise.

    Returns
    -------
    Answer
        `time_s`, `value`, and figures: `rise_s`, `delay_s`, `settling_s` in s, `overshoot`, `error`, `saturated` as
        shares; `failure` says why it ended early.

    Raises
    ------
    UnknownNameError
        If the vehicle has no such axis.

    Examples
    --------
    >>> answer = ib.step_response("quad_f450", "roll")  # doctest: +SKIP
    >>> answer.rise_s, answer.overshoot  # doctest: +SKIP
    (0.18, 0.12)
    """
    name = str(vehicle)
    step = step_of(axis or usual_step(name), name)
    [answer] = answers_to(name, step, size, [settings or {}], control=control, seed=seed, lasts_s=lasts_s)
    return answer


def autotune(
    vehicle: str | Path,
    *,
    attitude_radps: float | None = None,
    yaw_radps: float | None = None,
    velocity_radps: float | None = None,
    position_radps: float | None = None,
    phase_margin_deg: float = 45.0,
    gain_margin_dB: float = 6.0,
) -> Result:
    """Gains of attitude, velocity and position control for bandwidths, with margins: `ironbird vehicle autotune`.

    Loops for which no bandwidth is given keep their gains; tuning goes from the inside out, on the linear model at
    hover.

    Parameters
    ----------
    vehicle : str or Path
        Catalogue name, or a TOML file.
    attitude_radps, yaw_radps, velocity_radps, position_radps : float, optional
        Bandwidth in rad/s of roll and pitch, of yaw, of the horizontal velocity, of the horizontal position: where the
        answer is down by 3 dB. At least one is needed.
    phase_margin_deg : float, default 45.0
        Smallest phase margin in degrees.
    gain_margin_dB : float, default 6.0
        Smallest gain margin in dB, up and down.

    Returns
    -------
    Result
        `params` for `settings=` of `ib.fly` and `ib.step_response`, `margins` by axis, and the gains of each loop.

    Raises
    ------
    ModelError
        If no bandwidth is given, or no gains have it with these margins.

    Examples
    --------
    >>> gains = ib.autotune("quad_f450", attitude_radps=8.0).params  # doctest: +SKIP
    >>> ib.fly("quad_f450", settings=gains).verdict  # doctest: +SKIP
    'pass'
    """
    return tune(
        str(vehicle), attitude_radps=attitude_radps, yaw_radps=yaw_radps, velocity_radps=velocity_radps,
        position_radps=position_radps, phase_margin_deg=phase_margin_deg, gain_margin_dB=gain_margin_dB,
    )  # fmt: skip
