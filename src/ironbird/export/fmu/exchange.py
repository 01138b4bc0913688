"""What an FMU needs for model exchange in addition to the C of its part: times of events, directional derivatives.

The continuous blocks are the differential equations; sampled blocks run at time events, which are whole steps of the
model. The directional derivatives come from CasADi's forward differentiation of the same equations and pass through
the kernel's emitter. Not offered: event indicators. A switch inside a continuous block (contact with the ground, a
limit) is located by the host's error control; the derivative there is that of the active side.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ironbird.compiler.emit import Emitter, Store
from ironbird.compiler.flatten import ARRAYS, Flat
from ironbird.compiler.ir import Graph

HEAD = (
    "static void ib_model_tangent(ib_s t, const ib_f *x, const ib_f *xd, const ib_f *held, const ib_f *u, "
    "const ib_f *p, const ib_f *noise, ib_f *dk, ib_f *dout)"
)


@dataclass(frozen=True)
class Exchange:
    """The sections of the C template that only model exchange uses."""

    tangent: str  # C function: derivatives of rates and outputs along a direction of states and inputs
    due: tuple[tuple[int, int], ...]  # sampled blocks run at ticks with tick % every == offset
    states: tuple[tuple[str, str], ...]  # name and unit of each continuous state


def exchange_of(flat: Flat) -> Exchange | None:
    """The code that model exchange needs; None for a part without continuous states."""
    if flat.x.size == 0:
        return None
    due = {(1, 0)} if flat.tick_noises else {(g.group.rate.every, g.group.rate.offset) for g in flat.groups}
    units = [signal.unit for signal in flat.x.signals.values() for _ in range(signal.size)]
    return Exchange(_tangent(flat), tuple(sorted(due)), tuple(zip(flat.x.labels(), units, strict=True)))


def _tangent(flat: Flat) -> str:
    """C function of the directional derivative; `u` holds inputs, direction in the states, direction in the inputs."""
    columns = {name: ca.SX.sym(name, flat.rates.size1_in(i)) for i, name in enumerate(ARRAYS)}
    along_x, along_u = ca.SX.sym("along_x", flat.x.size), ca.SX.sym("along_u", flat.u.size)
    values = ca.vertcat(flat.rates(*columns.values()), flat.outputs(*columns.values()))
    along = ca.jtimes(values, ca.vertcat(columns["x"], columns["u"]), ca.vertcat(along_x, along_u))
    columns_in = {**columns, "u": ca.vertcat(columns["u"], along_x, along_u)}
    graph = Graph()
    nodes = graph.import_function(ca.Function("tangent", list(columns_in.values()), [ca.densify(along)]), ARRAYS)
    names = {
        "x": flat.x.labels(), "xd": flat.xd.labels(), "held": flat.held.labels(), "p": flat.p.labels(),
        "u": [
            *flat.u.labels(), *(f"along {name}" for name in flat.x.labels()), *(f"along {n}" for n in flat.u.labels()),
        ],
    }  # fmt: skip
    stores = [Store("dk", i, node, f"of d/dt {flat.x.labels()[i]}") for i, node in enumerate(nodes[: flat.x.size])]
    stores += [
        Store("dout", i, node, f"of {label}")
        for i, (label, node) in enumerate(zip(flat.log.labels(), nodes[flat.x.size :], strict=True))
    ]
    return Emitter(graph, names, readable=True).function(HEAD, stores, use_pre=False, use_tick=False)
