"""Parameters of PX4 and ArduPilot for the flights of a campaign, on top of those of its cases."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ironbird.autopilots.kind import AutopilotKind, read_params
from ironbird.campaign.case import FlightCase
from ironbird.errors import IronbirdError
from ironbird.flight.systems import kind_of, loadable_kinds
from ironbird.protocols.param_files import params_text, read_param_file


def under_autopilots(flights: Sequence[FlightCase]) -> bool:
    """Whether one of some flights is under PX4 or ArduPilot, whose parameters `with_params` writes in one form."""
    autopilots = _autopilots()
    return any(flight.control in autopilots for flight in flights)


def with_params(
    flights: Sequence[FlightCase], files: Sequence[Path] = (), texts: Sequence[str] = ()
) -> list[FlightCase]:
    """Flights under autopilots with further parameters: of the environment (`PX4_PARAM_NAME`), files and texts.

    Those of the environment are below a case's own; those of `files`, then `texts` (NAME=VALUE), are above.
    """
    autopilots = _autopilots()
    if (files or texts) and not any(flight.control in autopilots for flight in flights):
        raise IronbirdError(f"--param and --params: no flight is under {' or '.join(autopilots)}")
    found = []
    for flight in flights:
        if flight.control in autopilots and not flight.scenario:
            text = _params(flight.control, files, texts, str(flight.options.get("params", "")))
            flight = replace(flight, options={**flight.options, "params": text}) if text else flight
        found.append(flight)
    return found


def _autopilots() -> list[str]:
    return [kind.name for kind in loadable_kinds() if isinstance(kind, AutopilotKind)]


def _params(autopilot: str, files: Sequence[Path], texts: Sequence[str], case: str) -> str:
    kind = kind_of(autopilot)
    begin = kind.param_variable if isinstance(kind, AutopilotKind) else ""
    told = [f"{n.removeprefix(begin)}={v}" for n, v in sorted(os.environ.items()) if begin and n.startswith(begin)]
    values = read_params(",".join(told)) | read_params(case)
    for file in files:
        values |= read_param_file(file)
    return params_text(values | read_params(",".join(texts)))
