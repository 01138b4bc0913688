"""Faults on signals: the blocks that they need are added to a model only if its flight has such a fault.

A tap is placed after an output of a block: all readers of the output read the tap. Without a fault it passes its value
on bit for bit. Its expression refers to signals before all faults, so the order of the faults does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from ironbird.blocks.sensors.port_fault import PortFault
from ironbird.blocks.sensors.signal_fault import PER_SECOND, SignalFault
from ironbird.conditions.formula import Number, Parser, parse_number
from ironbird.conditions.names import RUN_UNITS
from ironbird.conditions.quantity import read_unit, si_text
from ironbird.conditions.symbolic import expression
from ironbird.errors import FaultError, IronbirdError, UnknownNameError
from ironbird.faults.spec import Injection, Tap
from ironbird.flight.derived import names_of
from ironbird.model.diagram import Diagram, block_of
from ironbird.model.signal import In, Signal
from ironbird.vehicles.load import Vehicle

COPY_S = 0.004  # between samples of a disturbed copy of a continuous signal
OWN = ("value", "severity", "time")  # names in an expression in addition to signals


def taps_of(faults: Iterable[Injection]) -> tuple[Tap, ...]:
    """All taps that faults need, once each."""
    return tuple(dict.fromkeys(tap for injection in faults for tap in injection.taps))


def with_taps(vehicle: Vehicle, taps: Sequence[Tap]) -> Vehicle:
    """The vehicle with the taps that faults on signals need; unchanged if they need none."""
    return replace(vehicle, diagram=tapped(vehicle.diagram, taps)) if taps else vehicle


def tapped(diagram: Diagram, taps: Iterable[Tap]) -> Diagram:
    """A diagram with the taps that faults on signals need."""
    healthy, diagram = diagram, diagram.copied()
    for tap in taps:
        try:
            _add(diagram, healthy, tap)
        except IronbirdError as error:
            raise FaultError(f"fault on signal {tap.signal}: {error}") from None
    return diagram


class _Signals:
    """The signals of a diagram that is not compiled."""

    def __init__(self, diagram: Diagram) -> None:
        self._found = {
            f"{path}.{name}": signal for path, block in diagram.blocks.items() for name, signal in block.outputs.items()
        }

    def signals(self) -> Mapping[str, Signal]:
        """All signals of the diagram by path."""
        return self._found


def _add(diagram: Diagram, healthy: Diagram, tap: Tap) -> None:
    known = _Signals(healthy).signals()
    if tap.signal not in known:
        raise UnknownNameError("signal", tap.signal, known, f"vehicle '{healthy.name}'")
    signal, part = known[tap.signal], healthy.block(block_of(tap.signal))
    if tap.unit and tap.unit != signal.unit:
        raise FaultError(
            f"it is in {signal.unit}, the fault says {tap.unit}; give the fault's numbers in {signal.unit}"
        )
    if signal.columns > 1:
        raise FaultError(f"it is a matrix of {signal.rows}x{signal.columns}; faults act on numbers and vectors")
    at = _last(diagram, tap.signal)
    readers = [target for target, sources in diagram.links.items() if at in sources]
    if not readers:
        raise FaultError(f"no part of vehicle '{healthy.name}' reads it; change a parameter of the part that gives it")
    rate: dict[str, Any] = {"sample_s": part.sample_s, "offset_s": part.offset_s}
    laws, sources = _law(tap, healthy, signal) if tap.expression else _copy(diagram, tap, signal, at)
    ports = {f"signal_{i}": In(**_like(diagram.port(path).signal)) for i, path in enumerate(sources)}
    block = PortFault(laws, ports, unit=signal.unit, frame=signal.frame, **rate)
    handle = diagram.add(tap.path, block)
    for name, path in zip(ports, sources, strict=True):
        diagram.connect(diagram.port(path), handle[name])
    diagram.connect(diagram.port(at), handle["value_in"])
    for target in readers:
        diagram.links[target] = [f"{tap.path}.value" if source == at else source for source in diagram.links[target]]


def _last(diagram: Diagram, signal: str) -> str:
    """The signal, or the output of the last tap after it."""
    for path, block in diagram.blocks.items():
        if isinstance(block, PortFault) and diagram.links.get(f"{path}.value_in") == [signal]:
            return _last(diagram, f"{path}.value")
    return signal


def _like(signal: Signal) -> dict[str, Any]:
    return {"unit": signal.unit, "shape": signal.shape, "frame": signal.frame, "doc": "a signal that the law names"}


def _copy(diagram: Diagram, tap: Tap, signal: Signal, at: str) -> tuple[list[ca.Function], list[str]]:
    """A disturbed copy of a signal, and the expressions that show it entry by entry."""
    if signal.unit not in PER_SECOND:
        raise FaultError(f"a signal in {signal.unit} cannot be disturbed so; give the fault an expression")
    part = diagram.block(block_of(tap.signal))
    copy = SignalFault(signal.size, signal.unit, signal.frame, sample_s=part.sample_s or COPY_S, offset_s=part.offset_s)
    copy.declare("stamp_in", In(unit="s", default=0.0, doc="a signal has no stamp"))
    diagram.connect(diagram.port(at), diagram.add(f"{tap.path}_copy", copy).value_in)
    disturbed, healthy = ([ca.SX.sym(f"{name}_{i}") for i in range(signal.size)] for name in ("disturbed", "healthy"))
    own = {name: ca.SX.sym(name) for name in OWN}
    # An unchanged copy has no effect: between its samples the signal itself continues
    shown = [ca.if_else(one == other, own["value"], one) for one, other in zip(disturbed, healthy, strict=True)]
    laws = [ca.Function("law", [*own.values(), *disturbed, *healthy], [one]) for one in shown]
    return laws, [f"{tap.path}_copy.value", f"{tap.path}_copy.healthy"]


def _law(tap: Tap, diagram: Diagram, signal: Signal) -> tuple[list[ca.Function], list[str]]:
    """The expression of a tap as a function for each entry, and the signals that it needs."""
    names = names_of(_Signals(diagram))
    names = replace(names, units={**names.units, "value": signal.unit, "severity": "1"})
    term = Parser(tap.expression, names, "expression").parse_number()
    plain_zero = isinstance(term, Number) and not term.unit and term.value == 0.0  # which fits every unit
    if term.dimension != read_unit(signal.unit).dimension and not plain_zero:
        raise FaultError(
            f"it is in {signal.unit}, the expression '{tap.expression}' in {si_text(term.dimension)}; "
            "multiply by a number with a unit, such as 2 m/s"
        )
    own = {name: ca.SX.sym(name) for name in OWN}
    sources: dict[str, list[ca.SX]] = {}  # entries of each signal that is named

    def found(entry: str) -> ca.SX:
        if entry in own:
            return own[entry]
        if entry in RUN_UNITS:
            raise FaultError(f"'{entry}' is known only when the flight is judged; leave it out of the expression")
        if entry in names.derived:
            return expression(parse_number(names.derived[entry].text, names), found)
        path, _, index = entry.partition("[")
        if path not in sources:
            sources[path] = [ca.SX.sym(f"s{len(sources)}_{i}") for i in range(_signal(diagram, path).size)]
        return sources[path][int(index[:-1]) if index else 0]

    made = expression(term, found)
    law = ca.Function("law", [*own.values(), *(entry for entries in sources.values() for entry in entries)], [made])
    constants = [i for i in range(law.n_instructions()) if law.instruction_id(i) == ca.OP_CONST]
    if not all(math.isfinite(law.instruction_constant(i)) for i in constants):
        raise FaultError(
            f"the expression '{tap.expression}' has a part that is no finite number; write smaller numbers"
        )
    return [law] * signal.size, list(sources)


def _signal(diagram: Diagram, path: str) -> Signal:
    return diagram.port(path).signal
