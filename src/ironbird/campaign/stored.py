"""Reading of stored rows: content of a database is checked before it is used."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ironbird.campaign.case import FlightCase
from ironbird.campaign.expected import is_expectation
from ironbird.campaign.places import NAME
from ironbird.campaign.result import FlightResult
from ironbird.errors import IronbirdError, StoreError
from ironbird.flight.words import VERDICTS

TRACE = r"[\w\-][\w.\-]{0,250}"  # of a trace's file, in its campaign's folder
RESTORE = "restore the store from a backup"
_NUMBER = (int, float)
_ANYTHING_WRONG = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError, IronbirdError)
_RESULT: dict[str, type | tuple[type, ...]] = {
    "id": str, "case_id": str, "digest": str, "verdict": str, "sentence": str, "outcome": str, "crashed": bool,
    "ended_s": _NUMBER, "impact_mps": _NUMBER, "margin": _NUMBER, "score": _NUMBER, "level": str, "sha256": str,
    "model_hash": str, "seed": int, "values": dict, "expect": (str, type(None)), "trace": (str, type(None)),
    "judgements": list, "witnesses": list, "modes": list, "fault_modes": list, "reactions": list,
    "impact_sideways_mps": _NUMBER, "healthy": int, "caused": list, "steps": list,
}  # fmt: skip
_JUDGEMENT: dict[str, type | tuple[type, ...]] = {
    "name": str, "severity": str, "margin": _NUMBER, "time_s": _NUMBER, "sentence": str, "formula": str, "unit": str,
}  # fmt: skip
_STEP = {"fault", "changed", "sentence"}
_CASE: dict[str, type | tuple[type, ...]] = {
    "id": str, "case_id": str, "title": str, "vehicle": str, "control": str, "mission_name": str, "script": str,
    "seed": int, "until_s": (int, float, type(None)), "log_s": _NUMBER, "values": dict, "tags": tuple,
    "expect": (str, type(None)),
}  # fmt: skip


def read_campaign(row: Mapping[str, Any]) -> dict[str, Any]:
    """Checked content of a campaign's row: its name is fit for a folder, its texts are readable."""
    name = row["name"]
    if not re.fullmatch(NAME, name):
        raise StoreError(f"the store holds a campaign named {name!r}, which is no name; {RESTORE}")
    try:
        source, files = json.loads(row["source"]), json.loads(row["files"] or "{}")
        _check(isinstance(source, dict) and all(isinstance(text, str) for text in source.values()), "source")
        _check(isinstance(files, dict) and all(isinstance(entry, dict) for entry in files.values()), "files")
    except _ANYTHING_WRONG as error:
        raise StoreError(f"campaign '{name}' is damaged in the store: {_said(error)}; {RESTORE}") from None
    return {**row, "source": source, "files": files}


def read_case(campaign: str, flight_id: str, text: str) -> FlightCase:
    """Checked definition of a flight from its stored text."""
    try:
        record = _table(text)
        case = FlightCase.from_record(record)
        _typed(vars(case), _CASE)
        _check(isinstance(record["tags"], list), "tags")
        _check(case.id == flight_id, f"it is that of flight {case.id!r}")
        _check(is_expectation(case.expect), f"it expects {case.expect!r}")
        _check(all(isinstance(tag, str) for tag in case.tags), "tags")
        case.weather.digest_data()
        return case
    except _ANYTHING_WRONG as error:
        raise StoreError(
            f"campaign '{campaign}', flight '{flight_id}': its stored definition is damaged: {_said(error)}; "
            f"{RESTORE}, or fly the suite again under another name"
        ) from None


def read_result(campaign: str, row: Mapping[str, Any]) -> FlightResult:
    """Checked result of a flight from a row with flight_id, digest, verdict, sha256 and result."""
    try:
        result = FlightResult.from_record(_table(row["result"]))
        _typed(vars(result), _RESULT)
        for judgement in result.judgements:
            _typed(vars(judgement), _JUDGEMENT)
        _check(result.verdict in VERDICTS, f"'{result.verdict}' is no verdict")
        _check(is_expectation(result.expect), f"it expects {result.expect!r}")
        for key in ("verdict", "sha256"):
            _check(getattr(result, key) == row[key], f"it says {key} {getattr(result, key)!r}, its row {row[key]!r}")
        _check(result.id == row["flight_id"], f"it is that of flight {result.id!r}")
        _check(result.trace is None or is_trace_name(result.trace), f"{result.trace!r} is no name of a trace")
        _check(all(isinstance(entry, dict) for entry in result.witnesses), "witnesses")
        _check(all(isinstance(entry, str) for entry in (*result.reactions, *result.caused)), "reactions")
        _check(all(isinstance(entry, dict) and entry.keys() == _STEP for entry in result.steps), "steps")
        _check(all(isinstance(entry, int) for entry in result.fault_modes), "fault_modes")
        _check(all(isinstance(value, str | int | float) for value in result.values.values()), "values")
        _check(
            all(isinstance(e, list) and len(e) == 2 and all(isinstance(x, _NUMBER) for x in e) for e in result.modes),
            "modes",
        )
        _check(result.digest == row["digest"], "it was flown from another definition than the campaign's")
        return result
    except _ANYTHING_WRONG as error:
        raise StoreError(
            f"campaign '{campaign}', flight '{row['flight_id']}': its stored result is damaged: {_said(error)}; "
            f"{RESTORE}, or fly such flights again: 'ironbird campaign resume {campaign} --damaged'"
        ) from None


def is_trace_name(name: str) -> bool:
    """Whether a text is a plain file name that stays in its folder."""
    return re.fullmatch(TRACE, name) is not None and ".." not in name


def _table(text: str) -> dict[str, Any]:
    data = json.loads(text)
    _check(isinstance(data, dict), "it is no table")
    return dict(data)


def _typed(values: Mapping[str, Any], kinds: Mapping[str, type | tuple[type, ...]]) -> None:
    for key, kind in kinds.items():
        value = values[key]
        number = kind in (int, _NUMBER)
        _check(isinstance(value, kind) and not (number and isinstance(value, bool)), f"{key} is {value!r:.60}")


def _check(right: bool, why: str) -> None:
    if not right:
        raise ValueError(why)


def _said(error: Exception) -> str:
    text = str(error).strip().splitlines()
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return text[0] if text else type(error).__name__
