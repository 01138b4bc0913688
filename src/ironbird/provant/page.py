"""The page of the tilt-rotor bench: figures 10 to 14 of [ProVANT], and the differences between board and kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ironbird.provant.bench import INPUTS, Bench
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, bars_plot, lines_plot, track_plot
from ironbird.vehicles import places as at

REFERENCE, BOARD, KERNEL = "var(--c3)", "var(--c0)", "var(--c1)"
EDGES_MS = [round(11.0 + 0.1 * i, 1) for i in range(31)]  # [ProVANT] Fig. 14 shows 12 and 13 ms


def write_bench_page(bench: Bench, path: Path) -> None:
    """Write the HTML page of a bench; plots are plain SVG without scripts."""
    board, kernel = bench.board.log, bench.kernel.log
    time_s = board.time()
    place, reference = board[at.BODY.position], board[at.NAVIGATOR.position_set]
    other = kernel[at.BODY.position]
    path_plots = [
        track_plot(
            "Fig. 10: path from above (m)",
            [
                Curve("reference", reference[:, 1], reference[:, 0], REFERENCE),
                Curve("kernel", other[:, 1], other[:, 0], KERNEL),
                Curve("board", place[:, 1], place[:, 0], BOARD),
            ],
        ),
        lines_plot(
            "Fig. 10: height",
            "m",
            [
                Curve("reference", time_s, -reference[:, 2], REFERENCE),
                Curve("kernel", kernel.time(), -other[:, 2], KERNEL),
                Curve("board", time_s, -place[:, 2], BOARD),
            ],
        ),
    ]
    angle_plots = _angle_plots(bench)
    names = (("thrust right", "N"), ("thrust left", "N"), ("tilt torque right", "N m"), ("tilt torque left", "N m"))
    input_plots = [
        lines_plot(
            f"Fig. 13: {name}",
            unit,
            [
                Curve("kernel", kernel.time(), kernel[INPUTS][:, i], KERNEL),
                Curve("board", bench.inputs[:, 0], bench.inputs[:, 1 + i], BOARD),
            ],
        )
        for i, (name, unit) in enumerate(names)
    ]
    periods = [bars_plot("Fig. 14: periods, virtual time", "ms", 1e3 * bench.periods_s, EDGES_MS)]
    if bench.wall_periods_s is not None:
        shown = np.clip(1e3 * bench.wall_periods_s, EDGES_MS[0], EDGES_MS[-1])
        periods.append(bars_plot("Fig. 14: periods, wall time over pseudo-terminals", "ms", shown, EDGES_MS))
    rows = bench.together()
    apart = [
        lines_plot(
            f"{name}: board less kernel",
            unit,
            [Curve(str(axis), time_s[rows], values[:, axis], f"var(--c{axis % 4})") for axis in range(values.shape[1])],
        )
        for name, unit in (("position", "m"), ("angles", "rad"), ("tilts", "rad"), ("inputs", "N, N m"))
        for values in [bench.difference(name)]
    ]
    content = {
        "title": f"{bench.board.vehicle.spec.title}: {bench.board.mission_title}",
        "verdict": bench.board.verdict,
        "sentence": bench.board.judged.sentence,
        "rows": bench.rows(),
        "sections": [
            ("Path", path_plots),
            ("Angles and servo angles", angle_plots),
            ("Control inputs", input_plots),
            ("Periods between requests for sensors", periods),
            ("Difference between the board and the same law in the kernel", apart),
        ],
        "counters": {name: value for name, value in bench.counters.items() if not isinstance(value, dict)},
        "board_counters": bench.counters.get("board", {}),
    }
    write_page(path, "bench.html.j2", content)


def _angle_plots(bench: Bench) -> list[str]:
    """Figures 11 and 12: angles of the body and of the servos, of board and kernel."""
    board, kernel = bench.board.log, bench.kernel.log
    time_s = board.time()
    pairs = [
        *(("Fig. 11: " + name, "°", at.BODY.euler, i, 180 / np.pi) for i, name in enumerate(("roll", "pitch", "yaw"))),
        *(("Fig. 12: tilt " + name, "°", at.BODY("tilt"), i, 180 / np.pi) for i, name in enumerate(("right", "left"))),
    ]
    return [
        lines_plot(
            name,
            unit,
            [
                Curve("kernel", kernel.time(), factor * kernel[signal][:, i], KERNEL),
                Curve("board", time_s, factor * board[signal][:, i], BOARD),
            ],
        )
        for name, unit, signal, i, factor in pairs
    ]
