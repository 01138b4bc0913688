"""Texts of options that several control systems or commands have: one option, one meaning, one text."""

from __future__ import annotations

PILOT = (
    "Who commands: 'ours' (built in: it flies the mission), attended (it obeys orders in flight: the live "
    "rig, or a record of its orders), none (another ground station), sticks (PX4's multicopters in "
    "position mode, where its collision prevention acts)."
)
FOLDER = "Folder of the program or FMU; by default from its variable (IRONBIRD_PX4, …), then the PATH."
HOST = "Address to listen on, or of the program to connect to; other computers are reached if it is not loopback."
INSTANCE = "Instance number, added to the usual ports; by default the first free one."
GROUND_STATION = (
    "Feed a ground station on UDP 14550 too (PX4 does so in any case in real time, unless it is quiet); "
    "in virtual time it may listen only, and the flight is the same."
)
CHIPS = (
    "A board (pilotpi) whose chips the autopilot's own drivers read; the program is its build for that "
    "board (IRONBIRD_PX4_PILOTPI, IRONBIRD_ARDUPILOT_PILOTPI). Empty: its simulator link."
)
IMAGE = (
    "ELF or HEX file of the firmware; by default IRONBIRD_ARDUPILOT_F405 (control autopilot_image), or "
    "the bench's own, built for the vehicle (control firmware)."
)
BOARD = "A board by name, or a TOML file of your own."
STICKS = "Sticks that command: auto, a gamepad's device, keyboard, or a stick file (.csv)."
WAIT = "Seconds of wall time to wait for an answer."
BAUD = "Baud rate of the serial port; boards on USB ignore it."
UDP = "UDP port to which a board sends, in place of a serial port."
NUMBERS = "Numbers of the services: as the paper has them, or the published code."
FLIGHTS = "Flights of another ground station or client after which the run ends; 0: it goes on."
INIT_PARAMS = "Parameters that InitInParams change, NUMBER=PATH,…, for example 1=body.mass."
DYN_PARAMS = "Parameters that DynModiParams change, NUMBER=PATH,…"
