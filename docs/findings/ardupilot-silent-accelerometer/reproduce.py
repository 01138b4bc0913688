"""ArduCopter does not detect its landing after its first accelerometer fell silent in flight. Plain SITL.

    python reproduce.py build/sitl/bin/arducopter [--silent 0] [--until 100] [--speedup 10]

Needs pymavlink. Starts `arducopter --model +` in an empty folder, flies north in GUIDED, sets SIM_ACC_FAIL_MSK to
`--silent` (1: the first of two accelerometers) while it flies, then LAND, and prints when it touches the ground (in
truth, SIM_STATE) and when it disarms. Exit code 1 if it is still armed `--until` s after that.
"""

import argparse
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pymavlink import mavutil

TAKE_OFF_M, NORTH_M, FAIL_AT_M = 20.0, 300.0, 60.0
DEFAULTS = """FRAME_TYPE 1
FS_THR_ENABLE 0
"""
PARAMETERS = "Tools/autotest/default_params/copter.parm"  # in ArduPilot's source folder


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program", type=Path)
    options.add_argument("--silent", type=int, default=1, help="mask of accelerometers that fall silent")
    options.add_argument("--until", type=float, default=100.0, help="s of simulation time after the touch-down")
    options.add_argument("--speedup", type=float, default=10.0)
    options.add_argument("--source", type=Path, help="ArduPilot's source folder; by default that of the program")
    options.add_argument("--port", type=int, default=14990)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="baro-"))
    (folder / "more.parm").write_text(DEFAULTS)
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
    while state["north"] < FAIL_AT_M:
        listen()
    print(f"{state['now']:8.2f} s  flies north; accelerometers that fall silent: mask {given.silent}; then LAND")
    link.mav.param_set_send(link.target_system, link.target_component, b"SIM_ACC_FAIL_MSK", float(given.silent), 9)
    link.set_mode("LAND")
    while state["up"] > 0.3:
        listen()
    down = shown = state["now"]
    print(f"{down:8.2f} s  on the ground")
    while state["armed"] and state["now"] < down + given.until:
        listen()
        if state["now"] > shown + 20:
            shown = state["now"]
            print(f"{shown:8.2f} s  {state['up']:.2f} m up, {'armed' if state['armed'] else 'disarmed'}")
    print(f"{'still armed' if state['armed'] else 'disarmed'} {state['now'] - down:.0f} s after touch-down")
    return int(state["armed"])


if __name__ == "__main__":
    begun = time.time()
    result = main()
    print(f"{time.time() - begun:.0f} s of wall time; exit code {result}")
    sys.exit(result)
