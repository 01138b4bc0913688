"""Outputs of a vehicle's sampled blocks along a record: air density, supply of the motors, wakes of the rotors.

The equations of an identification hold them at values that change with time, so that a battery that empties, or a
vortex ring in a descent, does not go into the identified parameters. Computed by the blocks' own equations from the
recorded motion and commands, without the random part of the wakes. Not modelled: the lag of a sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from ironbird.analysis.operating_point import OperatingPoint
from ironbird.compiler.flatten import ARRAYS, Flat

PASSES = 3  # of all blocks: terrain, then wakes, then what they change
SUPPLY = "battery.voltage_ratio"


def needed_rows(flat: Flat, known: Sequence[int]) -> list[int]:
    """Rows of the held outputs on which rates or logged outputs of a model depend, without those that are `known`."""
    sizes = [1, flat.x.size, flat.xd.size, flat.held.size, flat.u.size, flat.p.size, flat.noise.size]
    columns = [ca.SX.sym(name, size) for name, size in zip(ARRAYS, sizes, strict=True)]
    held = columns[ARRAYS.index("held")]
    body = [flat.log.rows(path) for path in flat.log.start if path.startswith("body.")]
    outputs = flat.outputs.call(columns)[0]
    results = ca.vertcat(flat.rates.call(columns)[0], *(outputs[rows.start : rows.stop] for rows in body))
    depends = ca.which_depends(results, held, 1, False)
    return [row for row, used in enumerate(depends) if used and row not in set(known)]


def sampled_function(flat: Flat, point: OperatingPoint, rows: Sequence[int], *, supplied: bool) -> ca.Function:
    """The function of states x and inputs u that gives these rows of the held outputs.

    With `supplied` it takes a third argument: the recorded voltage over that of the full battery, which feeds the
    motors; without it the model's own battery does.
    """
    x, u, supply = ca.SX.sym("x", flat.x.size), ca.SX.sym("u", flat.u.size), ca.SX.sym("supply")
    arrays = {"held": ca.SX(ca.DM(point.held)), "xd": ca.SX(ca.DM(point.xd))}
    fed = flat.held.rows(SUPPLY).start if supplied else None
    noise = ca.SX.zeros(flat.noise.size)
    for _ in range(PASSES):
        for group in flat.groups:
            if fed is not None:
                arrays["held"][fed] = supply
            columns = [ca.SX(point.t), x, arrays["xd"], arrays["held"], u, ca.SX(ca.DM(point.p)), noise]
            values = group.function.call(columns)[0]
            for place, (array, row, _) in enumerate(group.targets):
                if array in arrays:
                    arrays[array][row] = values[place]
    if fed is not None:
        arrays["held"][fed] = supply
    chosen = ca.densify(arrays["held"][list(rows)])
    return ca.Function("sampled", [x, u, supply] if supplied else [x, u], [chosen])
