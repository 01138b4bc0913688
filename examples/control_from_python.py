"""A square flown by a program: arm, take off, four corners, a circle by velocities, land.

    python examples/control_from_python.py [ADDRESS]

Without an address it rehearses with the reference autopilot in the same process, as fast as it goes; with one
(`udp:14540` for PX4's simulation, `tcp:127.0.0.1:5760` for ArduPilot's, `serial:/dev/ttyACM0:921600` for a board on the
desk) the same lines fly that. The path is drawn on a page in `out/`.
"""

from __future__ import annotations

import contextlib
import math
import sys
from pathlib import Path

import plotly.graph_objects as go

import ironbird as ib

SIDE_M, HEIGHT_M, SPEED_MPS = 6.0, 4.0, 1.5
PAGE = Path("out") / "control_from_python.html"


def fly(v: ib.RemoteVehicle) -> list[tuple[float, float]]:
    """The flight; returns the path."""
    path: list[tuple[float, float]] = []

    def note(told: ib.Telemetry) -> bool:
        path.append(told.position[:2])
        return True

    v.wait_ready()
    v.arm()
    v.take_off(HEIGHT_M)
    for north, east in ((SIDE_M, 0.0), (SIDE_M, SIDE_M), (0.0, SIDE_M), (0.0, 0.0)):
        v.goto(north, east, -HEIGHT_M, yaw=0.0)
        v.wait_for(note)
    begin_s = v.telemetry.time_s
    for step in range(1, 9):  # a circle: the velocity turns by an eighth every second of the vehicle's time
        angle = 2 * math.pi * step / 8
        v.velocity(SPEED_MPS * math.cos(angle), SPEED_MPS * math.sin(angle))
        due_s = begin_s + step
        v.wait_for(lambda told, due_s=due_s: told.time_s >= due_s, "the next eighth")  # type: ignore[misc]
        v.wait_for(note)
    v.land()
    v.wait_disarmed()
    return path


def main() -> None:
    """Fly and draw."""
    with contextlib.ExitStack() as stack:
        address = sys.argv[1] if len(sys.argv) > 1 else stack.enter_context(ib.rehearsal("quad_f450"))
        v = stack.enter_context(ib.connect(address))
        path = fly(v)
        print(f"landed {math.dist(v.telemetry.position[:2], (0.0, 0.0)):.1f} m from the start")
    figure = go.Figure(go.Scatter(x=[p[1] for p in path], y=[p[0] for p in path], mode="lines+markers"))
    figure.update_layout(title="A square and a circle", xaxis_title="east / m", yaxis_title="north / m")
    figure.update_yaxes(scaleanchor="x")
    PAGE.parent.mkdir(exist_ok=True)
    figure.write_html(PAGE)
    print(f"page: {PAGE}")


if __name__ == "__main__":
    main()
