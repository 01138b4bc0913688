"""The bench of [ProVANT]: one mission flown by the board and by the same law in the kernel, and their difference.

Expected differences: the board computes in single precision and gets references and sensors, and sends commands, over
serial lines. In the kernel a command needs no line; with `delay_samples` the actuator links of that flight are late by
so many of their samples of 2 ms, which is the delay of the board's lines.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.files.trust import Trust
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import make_order
from ironbird.flight.prepare import fit
from ironbird.flight.seat import take_seat
from ironbird.host.realtime import undisturbed
from ironbird.provant.cable import CableSystem
from ironbird.provant.kind import FirmwareSystem
from ironbird.vehicles import places as at
from ironbird.vehicles.templates.tilt_rotor import CONTROL_SAMPLE_S, SIDES

LINKS = ("rotor/1", "rotor/2", *(f"tilt/{side}" for side in SIDES))
SIGNALS = {  # name -> signal and unit
    "position": (at.BODY.position, "m"),
    "angles": (at.BODY.euler, "rad"),
    "tilts": (at.BODY("tilt"), "rad"),
}
INPUTS = "control.wanted"
LATE_S = 0.013  # [ProVANT] Fig. 14: the second, smaller peak of the histogram


@dataclass
class Bench:
    """Two flights of one mission (board and kernel), and the statistics of the board's links."""

    board: Flight
    kernel: Flight
    inputs: np.ndarray  # of the board: time, thrusts (N), tilt torques (N m)
    periods_s: np.ndarray
    wall_periods_s: np.ndarray | None = None
    counters: dict[str, Any] = field(default_factory=dict)

    def together(self, begin_s: float = 0.0) -> np.ndarray:
        """Indices of the log rows that both flights share, from `begin_s` on."""
        rows = min(self.board.log.rows(), self.kernel.log.rows())
        return np.flatnonzero(self.board.log.time()[:rows] >= begin_s)

    def difference(self, name: str, begin_s: float = 0.0) -> np.ndarray:
        """Difference of a quantity (a name of SIGNALS) between both flights, row by row."""
        rows = self.together(begin_s)
        if name == "inputs":
            return self._inputs_difference(rows)
        signal = SIGNALS[name][0]
        return np.asarray(self.board.log[signal][rows] - self.kernel.log[signal][rows])

    def _inputs_difference(self, rows: np.ndarray) -> np.ndarray:
        """Difference of the commands of equal periods; the board's arrive a few milliseconds later."""
        time_s = self.kernel.log.time()[rows]
        period = np.floor(time_s / CONTROL_SAMPLE_S + 1e-6).astype(int)
        first = np.floor(self.inputs[:, 0] / CONTROL_SAMPLE_S + 1e-6).astype(int)
        place = np.searchsorted(first, period, "right") - 1
        there = place >= 0
        difference = np.full((len(rows), 4), np.nan)
        difference[there] = self.inputs[place[there], 1:] - self.kernel.log[INPUTS][rows[there]]
        return difference

    def figures(self) -> dict[str, Any]:
        """The figures of the comparison as plain data, in SI."""
        time_s, commands = self.board.log.time(), self.inputs
        apart = {name: float(np.nanmax(np.abs(self.difference(name)))) for name in (*SIGNALS, "inputs")}
        figures: dict[str, Any] = {
            "most_apart": apart,  # units as in SIGNALS; inputs in N and N m
            "greatest_thrust_N": float(commands[:, 1:3].max()) if len(commands) else None,
            "greatest_torque_Nm": float(np.abs(commands[:, 3:]).max()) if len(commands) else None,
            "periods": _plain(self.periods_s),
            "flown_s": float(time_s[-1]) if len(time_s) else 0.0,
        }
        if self.wall_periods_s is not None:
            figures["wall_periods"] = _plain(self.wall_periods_s)
        return figures

    def rows(self) -> dict[str, str]:
        """The figures of the comparison as rows of a table."""
        units = {name: unit for name, (_, unit) in SIGNALS.items()}
        out = {}
        for name in (*SIGNALS, "inputs"):
            apart = np.abs(self.difference(name))
            unit = units.get(name, "N, N m")
            out[f"{name}, board and kernel"] = f"{np.nanmax(apart):.3g} {unit} apart at most"
        time_s, commands = self.board.log.time(), self.inputs
        span = f"{commands[:, 1:3].max():.2f} N, {np.abs(commands[:, 3:]).max():.3f} N m" if len(commands) else "none"
        out["greatest inputs"] = span
        out["periods"] = _said(self.periods_s)
        if self.wall_periods_s is not None:
            out["periods on the wall"] = _said(self.wall_periods_s)
        out["flown"] = f"{time_s[-1]:.2f} s" if len(time_s) else "nothing"
        return out


def wall_periods(vehicle: str, *, mission: str, seconds: float, numbers: str = "paper") -> np.ndarray:
    """Periods between requests (s) of an emulated board on pseudo-terminals, in wall time."""
    command = [sys.executable, "-m", "ironbird.provant.board_program", vehicle, numbers]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as board:
        assert board.stdin is not None and board.stdout is not None
        try:
            ends = board.stdout.readline().split()
            if len(ends) != 2:
                raise LinkError(f"the emulated board did not start: its output is '{' '.join(ends)}'")
            system = CableSystem(*ends, numbers=numbers)
            with undisturbed():
                fly(vehicle, control=system, mission=mission, until_s=seconds, speed=1.0)
            assert system.server is not None
            return np.array(system.server.periods_s)
        finally:
            board.stdin.close()


def _plain(periods_s: np.ndarray) -> dict[str, float | int]:
    figures: dict[str, float | int] = {"count": len(periods_s), "late": int((periods_s > LATE_S).sum())}
    if len(periods_s):
        figures |= {
            f"{name}_s": float(of(periods_s)) for name, of in (("mean", np.mean), ("least", np.min), ("most", np.max))
        }
    return figures


def _said(periods_s: np.ndarray) -> str:
    if not len(periods_s):
        return "none"
    late = int((periods_s > LATE_S).sum())
    return (
        f"{len(periods_s)} of {1e3 * periods_s.mean():.4f} ms on average, {1e3 * periods_s.min():.4f} to "
        f"{1e3 * periods_s.max():.4f} ms, {late} beyond {1e3 * LATE_S:g} ms"
    )


def run_bench(
    vehicle: str = "tiltrotor_provant",
    *,
    mission: str = "spiral",
    options: Mapping[str, Any] | None = None,
    delay_samples: int = 1,
    until_s: float | None = None,
    faults: Sequence[Injection | str] = (),
    seed: int = 0,
) -> Bench:
    """Fly a mission with the board and with the kernel's own law; `faults` act on the board's flight only."""
    ends = "" if until_s is None else "time"
    common: dict[str, Any] = {
        "mission": mission,
        "until_s": until_s,
        "ends": ends,
        "seed": seed,
        "log_s": CONTROL_SAMPLE_S,
    }
    order = make_order(vehicle, control="firmware", options=dict(options or {}), faults=list(faults), **common)
    fitted = fit(order)
    system = take_seat(order, fitted, trust=Trust.by_hand(options)).system
    if not isinstance(system, FirmwareSystem):
        raise LinkError(f"control 'firmware' gave a {type(system).__name__}")
    board = fly(order, control=system)
    settings = {f"{link}/command_fault.delay": float(delay_samples) for link in LINKS} if delay_samples else {}
    kernel = fly(vehicle, control="truth", settings=settings, **common)
    server = system.server
    assert server is not None
    inputs = np.array(server.history).reshape(-1, 5)
    return Bench(board, kernel, inputs, np.array(server.periods_s), counters=system.measured())
