"""A comparison with a real record in a few lines: verdict, worst tests in physical units, likely cause.

The likely cause is a rule of thumb by the signals that fail, for multicopters; an identification with its confidence
intervals has to confirm it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironbird.credibility.amounts import amount
from ironbird.credibility.compare import Comparison, ErrorEvent, Index
from ironbird.credibility.skill import WrongModel

WORTHLESS = (
    "the model predicts this record no better than a forecast without a model, so it is not credible here, "
    "and no index is given"
)
WORST = 3  # tests that are named
LEAST_DELAY_S = 0.02  # below, a delay explains nothing
EXPLAINED = 0.5  # share of the error that is left at most if a delay explains it
SLOW_COMMANDS_S = 0.021  # between two recorded commands: slower ones do not show what a fast control loop did
TURNS = ("roll", "pitch", "roll_rate", "pitch_rate")


@dataclass(frozen=True)
class Cause:
    """What may be wrong in a model, and the words of `identify --free` that would change it; else what helps."""

    text: str
    free: tuple[str, ...] = ()
    helps: str = ""


CAUSES = {  # by signals that fail
    ("velocity_down", "down", "specific_force_z"): Cause(
        "thrust or mass (motion alone cannot distinguish them)", ("thrust",)
    ),
    ("yaw_rate", "yaw"): Cause("torque of the rotors or inertia about the vertical", ("torque", "inertia_z")),
    TURNS: Cause("inertia or lag of the motors", ("inertia_x", "inertia_y", "motor_time")),
    ("velocity_north", "velocity_east", "north", "east", "specific_force_x", "specific_force_y"): Cause(
        "drag, wind that only one of the two had, or an autopilot's estimate that was off", ("drag",)
    ),
    ("battery_voltage",): Cause(
        "the battery: its resistance, capacity, or charge at the start",
        helps="compare again with other values, --set battery.resistance=…, until it fits",
    ),
}


def verdict(comparison: Comparison) -> str:
    """Whether the model passes: the skill of a driven model first, then what an index means."""
    value, low, high = comparison.overall
    word = "pass" if comparison.passed else "fail"
    if comparison.worthless:
        return f"{word}: {skill_text(comparison)}; {WORTHLESS}"
    skill = f"{skill_text(comparison)}; " if comparison.skill else ""
    return (
        f"{word}: {skill}{count(comparison)}; overall index {value:.2f} ({low:.2f} to {high:.2f}): 1 is no error, "
        f"{comparison.plan.pass_mark:g} is an error as large as the tolerable one and the least that passes"
    )


def skill_text(comparison: Comparison) -> str:
    """The skill of a driven model over all signals, and its worst signal; empty without a drive."""
    if comparison.skill is None:
        return ""
    unchanged, straight = (with_sign(value) for value in comparison.skill)
    worst = min(comparison.skills, key=lambda skill: min(skill.against_unchanged, skill.against_straight))
    least = with_sign(min(worst.against_unchanged, worst.against_straight))
    more = f", least {least} in {worst.signal}" if len(comparison.skills) > 1 else ""
    return f"skill {unchanged} against no change, {straight} against straight on{more}"


def with_sign(value: float) -> str:
    """A skill with two digits; 1 is exact, 0 is no better than a forecast without a model."""
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"


def distinguished(comparison: Comparison) -> list[str]:
    """Which wrong models the record distinguishes from this one, which it does not, and which it prefers."""
    lines = []
    for word, begin in (
        ("yes", "this record distinguishes wrong models:"),
        ("no", "this record cannot distinguish:"),
        ("against", "this record is nearer to a wrong model, so it does not support this one:"),
    ):
        names = [_distinguished(wrong) for wrong in comparison.wrong if wrong.word == word]
        if names:
            lines.append(f"{begin} {'; '.join(names)}")
    return lines


def _distinguished(wrong: WrongModel) -> str:
    if wrong.change == 0:
        return wrong.name
    error, other = (amount(value, wrong.unit) for value in (wrong.error, wrong.wrong_error))
    why = f"; {wrong.why}" if wrong.why else ""
    return f"{wrong.name} ({wrong.signal} {other} off instead of {error}{why})"


def count(comparison: Comparison) -> str:
    """How many tests pass or fail."""
    total, failed = len(comparison.indices), sum(not index.passed for index in comparison.indices)
    if not failed:
        return f"all {total} tests pass"
    return f"{failed} of {total} tests fail (index below {comparison.plan.pass_mark:g})"


def worst_tests(comparison: Comparison) -> list[str]:
    """The worst tests, of different signals as far as there are, each with its error beside the tolerable one."""
    ranked = sorted(comparison.indices, key=lambda index: index.least)
    first: dict[str, Index] = {}
    for index in ranked:
        first.setdefault(index.test.signal, index)
    chosen = [*first.values(), *(index for index in ranked if index not in first.values())][:WORST]
    return [_sentence(index) for index in chosen]


def _sentence(index: Index) -> str:
    word = "pass" if index.passed else "fail"
    if index.test.kind == "frequency":
        return f"{index.test.name}: {index.text}, index {index.least:.2f}, {word}"
    error, tolerable = (amount(value, index.unit) for value in (index.error, index.tolerance))
    return f"{index.test.name}: {error} off, tolerable {tolerable}, index {index.least:.2f}, {word}"


def likely_cause(comparison: Comparison) -> Cause | None:
    """What most likely makes the worst tests fail; None if all pass, or nothing is known about these signals."""
    failed = sorted((index for index in comparison.indices if not index.passed), key=lambda index: index.least)
    if not failed:
        return None
    late = _delayed(failed, comparison.events)
    if late:
        mean_s = sum(event.delay_s for event in late) / len(late)
        names = ", ".join(event.signal for event in late)
        word = "late" if mean_s > 0 else "early"
        return Cause(f"a lag: the simulation is {abs(mean_s) * 1e3:.0f} ms {word} in {names}", ("motor_time",))
    signal = failed[0].test.signal
    command = comparison.real.tracks.get("motor_1")
    if signal in TURNS and command is not None and command.step_s > SLOW_COMMANDS_S:
        rate = 1.0 / command.step_s
        return Cause(
            f"the record has {rate:.0f} commands a second, too few to predict roll and pitch",
            helps="log them faster (PX4: SDLOG_PROFILE, ArduPilot: LOG_BITMASK), or compare with --setpoints",
        )
    return next((cause for signals, cause in CAUSES.items() if signal in signals), None)


def _delayed(failed: Sequence[Index], events: Sequence[ErrorEvent]) -> list[ErrorEvent]:
    """Signals whose error a delay explains, if that is so for most of the curves that fail, all the same way."""
    errors = {index.test.signal: index.error for index in failed if index.test.kind == "time"}
    known = {event.signal: event for event in events if event.signal in errors}
    late = [
        event
        for name, event in known.items()
        if abs(event.delay_s) >= LEAST_DELAY_S and event.best_rms <= EXPLAINED * errors[name]
    ]
    same = len({event.delay_s > 0 for event in late}) == 1
    return late if same and 2 * len(late) > len(known) else []
