"""How to repeat a flight: the command line of its order, and the text of its mission."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np

from ironbird.flight.duration import OBJECT
from ironbird.flight.flight import Flight
from ironbird.flight.mission import Mission
from ironbird.flight.order import LOG_S, Option, Order, Requirement
from ironbird.model.signal import Number
from ironbird.units import exact


def command(order: Order) -> str:
    """The command line that flies this order again."""
    words = [("--control", order.control)]
    if order.has_plan:
        words.append(("--plan", "mission.plan"))
    else:
        words.append(("--mission", (order.mission_name or "mission.toml") if order.mission is not None else "none"))
    weather = order.weather
    if weather.speed_mps or weather.from_deg:
        words.append(("--wind", f"{exact(weather.speed_mps)},{exact(weather.from_deg)}"))
    if weather.turbulence_mps:
        words.append(("--turbulence", exact(weather.turbulence_mps)))
    if weather.gust_mps:
        gust = (weather.gust_mps, weather.gust_start_s, weather.gust_rise_s, weather.gust_hold_s)
        words.append(("--gust", ",".join(map(exact, gust))))
    if order.place is not None:
        place = (order.place.latitude_deg, order.place.longitude_deg, order.place.height_m, order.place.year)
        words.append(("--home", ",".join(map(exact, place))))
    words.append(("--seed", str(order.seed)))
    words += [("--set", f"{path}={_setting(value)}") for path, value in order.settings.items()]
    words += [("--fault", injection.text()) for injection in order.faults]
    words += [("--require", requirement.text()) for requirement in order.requirements]
    words += [("--option", f"{key}={_option(value)}") for key, value in order.options.items()]
    if order.ends:
        words.append(("--ends", order.ends))
    if order.until_s is not None:
        words.append(("--until", exact(order.until_s)))
    if order.log_s != LOG_S:
        words.append(("--log-step", exact(order.log_s)))
    if order.tunings:
        words.append(("--replay", "tunings.json"))
    name = str(Path(order.vehicle).absolute()) if order.vehicle.endswith(".toml") else order.vehicle
    lines = [f"ironbird fly {shlex.quote(name)}", *(f"{key} {shlex.quote(value)}" for key, value in words)]
    lines += ["--may-crash"] if order.may_crash else []
    return " \\\n    ".join(lines)


def _option(value: Option) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _setting(value: Number) -> str:
    array = np.asarray(value, dtype=float)
    return exact(float(array)) if array.ndim == 0 else json.dumps(array.tolist(), separators=(",", ":"))


def mission_text(order: Order) -> str | None:
    """The mission's file as text, if it is not a built-in one; a plan of another program unchanged."""
    if order.has_plan_file:
        return order.script
    return mission_toml(order.mission) if order.mission is not None and not order.mission_name else None


def notes(flight: Flight) -> list[str]:
    """Remarks on what the command line does not contain."""
    order, remarks = flight.order, []
    if any(Requirement.of(requirement.text()) != requirement for requirement in order.requirements):
        remarks.append("Names and severities of its requirements are in order.toml: 'ironbird repeat' keeps them.")
    if flight.of_object:
        remarks.append("The vehicle was an object of a Python program; the command knows its file alone.")
    if order.control.startswith(OBJECT):
        remarks.append("The control system was an object of a Python program; the command does not know it.")
    if flight.log.interrupted:
        remarks.append("The flight was interrupted by hand: the command flies it to its end.")
    if order.tunings:
        remarks.append("Parameters were changed during the flight; tunings.json, beside the log, holds these changes.")
    if not order.has_plan_file and mission_text(order) is not None:
        remarks.append("The mission is not a built-in one. Save the text below as mission.toml.")
    if order.script and not order.has_plan:
        remarks.append(
            "Orders came in flight; order.toml, beside the log, holds them: 'ironbird repeat' gives them again."
        )
    elif order.has_plan_file:
        remarks.append("It flew a plan of another program: mission.plan beside the log, and the text below.")
    elif order.script:
        remarks.append("It was commanded in flight; order.toml, beside the log, holds the record.")
    return remarks


def mission_toml(mission: Mission) -> str:
    """A mission as TOML text of its file."""
    lines = ["schema = 1", f"title = {json.dumps(mission.title, ensure_ascii=False)}"]
    if mission.duration_s is not None:
        lines.append(f"duration_s = {float(mission.duration_s)!r}")
    if mission.cruise_speed_mps is not None:
        lines.append(f"cruise_speed_mps = {float(mission.cruise_speed_mps)!r}")
    for item in mission.item:
        lines += ["[[item]]", f'kind = "{item.kind}"']
        lines += [
            f"{key} = {value!r}" for key, value in item.model_dump(exclude={"kind"}, exclude_defaults=True).items()
        ]
    return "\n".join(lines) + "\n"
