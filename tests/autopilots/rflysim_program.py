"""A program for RflySim: run with a folder (or several, with colons) of a public client and the number of a UDP mode.

It arms, takes off, flies a square with SendPosNED and a circle with SendVelNED, reads truth and estimate, and stops a
motor. What it saw is printed as one line of JSON. The client is used as it is; of `cv2` and `psutil`, which it imports
for other purposes, empty modules are enough.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import types
from collections.abc import Callable
from typing import Any

HEIGHT_M, SIDE_M, SPEED_MPS = 5.0, 5.0, 2.0
PATIENCE_S = 90.0  # for each leg


def _client(folders: str) -> Any:
    for name in ("cv2", "psutil"):
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = types.ModuleType(name)
    sys.path[:0] = folders.split(":")
    import PX4MavCtrlV4  # type: ignore[import-not-found]

    return PX4MavCtrlV4


def main() -> None:
    """Fly."""
    folders, mode = sys.argv[1], int(sys.argv[2])
    mav = _client(folders).PX4MavCtrler(20100)
    seen: dict[str, Any] = {"square": []}

    def wait(holds: Callable[[], bool]) -> bool:
        until = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    def near(x: float, y: float, z: float) -> Callable[[], bool]:
        return lambda: math.dist(mav.uavPosNED, (x, y, z)) < 0.8

    mav.InitMavLoop(mode)
    mav.InitTrueDataLoop()
    seen["ready"] = wait(lambda: bool(mav.isPX4Ekf3DFixed))
    mav.initOffboard()
    mav.SendPosNED(0, 0, -HEIGHT_M, 0)
    seen["took off"] = wait(near(0, 0, -HEIGHT_M))
    for x, y in ((SIDE_M, 0), (SIDE_M, SIDE_M), (0, SIDE_M), (0, 0)):
        mav.SendPosNED(x, y, -HEIGHT_M, 0)
        seen["square"].append(wait(near(x, y, -HEIGHT_M)))
    headings: set[int] = set()
    began = time.monotonic()
    while len(headings) < 8 and time.monotonic() - began < PATIENCE_S:  # all eighths of the compass
        angle = SPEED_MPS / 2.0 * (time.monotonic() - began)  # radius 2 m
        mav.SendVelNED(SPEED_MPS * math.cos(angle), SPEED_MPS * math.sin(angle), 0, 0)
        time.sleep(0.03)
        vx, vy = mav.uavVelNED[0], mav.uavVelNED[1]
        if math.hypot(vx, vy) > 0.5 * SPEED_MPS:
            headings.add(int(math.degrees(math.atan2(vy, vx)) % 360 // 45))
    seen["circle"] = len(headings)
    mav.SendPosNED(0, 0, -HEIGHT_M, 0)
    seen["back"] = wait(near(0, 0, -HEIGHT_M))
    seen["estimate"] = list(mav.uavPosNED)
    seen["truth"] = list(mav.truePosNED)
    seen["rpm"] = list(mav.trueMotorRPMS)
    seen["home"] = list(mav.uavPosGPSHome)
    seen["gps"] = list(mav.truePosGPS)
    seen["out copter"] = list(mav.trueSimulinkData)
    seen["rfly_px4"] = list(mav.px4ext.controls)
    mav.sendSILIntFloat([123450, *[0] * 7], [1, 0.3, *[0] * 18])
    seen["fell"] = wait(lambda: mav.truePosNED[2] > -1.5)
    print("SEEN " + json.dumps(seen), flush=True)
    os._exit(0)  # the client's threads know no other end


if __name__ == "__main__":
    main()
