"""ArduCopter leaves its waypoint for ever when its last healthy barometer falls silent. Plain SITL, no other simulator.

    python reproduce.py build/sitl/bin/arducopter [--barometers 2] [--dead 1] [--until 120] [--speedup 10]

Needs pymavlink.

Starts `arducopter --model +` in an empty folder, flies to 20 m north and 20 m up in GUIDED, then sets SIM_BARO_DISABLE
(and SIM_BAR2_DISABLE) to 1 and prints the true place (SIM_STATE), ArduPilot's estimate (GLOBAL_POSITION_INT) and its
texts until the end. Exit code 1 if the vehicle was more than 50 m from its place or more than 20 m too high.
"""

import argparse
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pymavlink import mavutil

TAKE_OFF_M, NORTH_M, FAIL_AFTER_S = 20.0, 20.0, 20.0
DEFAULTS = """FRAME_TYPE 1
FS_THR_ENABLE 0
SIM_BARO_COUNT {count}
"""
PARAMETERS = "Tools/autotest/default_params/copter.parm"  # in ArduPilot's source folder


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program", type=Path)
    options.add_argument("--barometers", type=int, default=1, choices=(1, 2))
    options.add_argument("--dead", type=int, help="how many of them fall silent; all by default")
    options.add_argument("--until", type=float, default=160.0, help="s of simulation time after the barometer's end")
    options.add_argument("--speedup", type=float, default=10.0)
    options.add_argument("--source", type=Path, help="ArduPilot's source folder; by default that of the program")
    options.add_argument("--port", type=int, default=14990)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="baro-"))
    (folder / "more.parm").write_text(DEFAULTS.format(count=given.barometers))
    source = given.source or given.program.resolve().parents[3]
    (folder / "copter.parm").write_text((source / PARAMETERS).read_text())
    command = [
        str(given.program.resolve()),
        "--model",
        "+",
        "--home",
        "-35.363262,149.165237,584,0",
        "--wipe",
        "--speedup",
        str(given.speedup),
        "--defaults",
        "copter.parm,more.parm",
        "--serial0",
        f"udpclient:127.0.0.1:{given.port}",
        "--serial1",
        "none:",
        "--serial2",
        "none:",
    ]
    sitl = subprocess.Popen(command, cwd=folder, stdout=(folder / "console.txt").open("wb"), stderr=subprocess.STDOUT)
    try:
        return fly(mavutil.mavlink_connection(f"udpin:127.0.0.1:{given.port}"), given, folder)
    finally:
        sitl.terminate()
        sitl.wait(10)


def fly(link, given, folder):
    print("log:", folder / "logs")
    link.wait_heartbeat(timeout=60)
    link.mav.request_data_stream_send(link.target_system, link.target_component, 0, 5, 1)
    state = {"now": 0.0, "north": 0.0, "east": 0.0, "up": 0.0, "told": None, "told_at": 0.0, "armed": False}
    home = None

    def metres(latitude, longitude):
        return (latitude - home[0]) * 111319.5, (longitude - home[1]) * 111319.5 * math.cos(math.radians(home[0]))

    def listen():
        nonlocal home
        message = link.recv_match(blocking=True, timeout=5)
        if message is None:
            raise SystemExit("no message for 5 s")
        kind = message.get_type()
        if hasattr(message, "time_boot_ms"):
            state["now"] = max(state["now"], message.time_boot_ms * 1e-3)
        if kind == "SIM_STATE":
            home = home or (message.lat_int * 1e-7, message.lon_int * 1e-7, message.alt)
            state["north"], state["east"] = metres(message.lat_int * 1e-7, message.lon_int * 1e-7)
            state["up"] = message.alt - home[2]
        elif kind == "GLOBAL_POSITION_INT" and home:
            state["told"] = *metres(message.lat * 1e-7, message.lon * 1e-7), message.alt * 1e-3 - home[2]
            state["told_at"] = state["now"]
        elif kind == "HEARTBEAT" and message.get_srcComponent() == 1:
            state["armed"] = bool(message.base_mode & 128)
        elif kind == "STATUSTEXT":
            print(f"{state['now']:8.2f} s  {message.text}")
        elif kind == "COMMAND_ACK" and message.result:
            print(f"{state['now']:8.2f} s  command {message.command} refused: {message.result}")

    def command(number, *params):
        link.mav.command_long_send(
            link.target_system, link.target_component, number, 0, *params, *[0] * (7 - len(params))
        )

    for message in (108, 33):  # SIM_STATE, GLOBAL_POSITION_INT
        command(511, message, 200_000)
    next_try = 0.0
    while not state["armed"]:
        listen()
        if state["now"] > next_try:
            next_try = state["now"] + 3.0
            link.set_mode("GUIDED")
            command(400, 1)
    command(22, 0, 0, 0, 0, 0, 0, TAKE_OFF_M)
    begin = state["now"]
    while state["up"] < TAKE_OFF_M - 1.0:
        listen()
        if state["now"] > begin + 60:
            raise SystemExit("it does not climb")
    link.mav.set_position_target_local_ned_send(
        0, link.target_system, link.target_component, 1, 0b110111111000, NORTH_M, 0, -TAKE_OFF_M, *[0] * 8
    )
    settled = state["now"] + FAIL_AFTER_S
    while state["now"] < settled:
        listen()
    place = state["north"], state["east"], state["up"]
    print(
        f"{state['now']:8.2f} s  hovers at {place[0]:.1f} m north, {place[1]:.1f} m east, {place[2]:.1f} m up: "
        "the barometers fall silent"
    )
    for name in ("SIM_BARO_DISABLE", "SIM_BAR2_DISABLE")[: given.dead or given.barometers]:
        link.mav.param_set_send(link.target_system, link.target_component, name.encode(), 1.0, 9)
    dead, shown = state["now"], state["now"]
    away = high = 0.0
    while state["now"] < dead + given.until:
        listen()
        away = max(away, math.dist(place[:2], (state["north"], state["east"])))
        high = max(high, state["up"] - place[2])
        if state["now"] >= shown + 10:
            shown = state["now"]
            told = "{:7.1f} {:7.1f} {:7.1f} m".format(*state["told"]) if shown - state["told_at"] < 1.0 else "none"
            print(
                f"{shown:8.2f} s  truth {state['north']:7.1f} {state['east']:7.1f} {state['up']:7.1f} m, "
                f"estimate {told} (north, east, up)"
            )
    print(f"greatest distance {away:.1f} m, greatest climb {high:.1f} m")
    return 1 if away > 50 or high > 20 else 0


if __name__ == "__main__":
    begun = time.time()
    result = main()
    print(f"{time.time() - begun:.0f} s of wall time; exit code {result}")
    sys.exit(result)
