"""[ChipLevel] Fig. 9 (h) and Fig. 10 with the fault where it is in hardware: on a wire between chip and driver.

The reference autopilot of the F450 reads its sensors through drivers and the chips of a PilotPi. First its inertial
unit's MISO is noisy, later it is open and pulled up, or shorted to ground: what the driver then reads are words of
0xFFFF and 0x0000, as in Fig. 9 (h). The driver sees by a register that does not hold what was written that the chip is
lost, and without a second unit the vehicle crashes, as in Fig. 10.

    python examples/chip_level_fig10_on_the_wire.py        writes out/chip_level_fig10_on_the_wire.html
"""

from __future__ import annotations

from pathlib import Path

import ironbird as ib
from ironbird.boards.board import load_board
from ironbird.boards.native_board import NativeBoard
from ironbird.report.flight.page import write_flight_page

PAGE = Path("out") / "chip_level_fig10_on_the_wire.html"
NOISE_S, QUIET_S, OPEN_S = 12.0, 18.0, 22.0
NOISE = f"wire.miso_noise@1:instance=imu,severity=0.08,start={NOISE_S:g},end={QUIET_S:g}"  # 0.26 V on the wire
OPEN = f"wire.miso_open_high@1:instance=imu,start={OPEN_S:g}"
SHORT = f"wire.miso_short_low@1:instance=imu,start={OPEN_S:g}"
CASES = {"no fault": [], "noise": [NOISE], "noise, then open": [NOISE, OPEN], "noise, then short": [NOISE, SHORT]}


def words() -> str:
    """Fig. 9 (h): the accelerometer's x axis as a driver reads it over a whole, an open and a shorted wire."""
    board = NativeBoard(load_board("pilotpi"))
    board.feed(0, accel_x=9.80665, temperature=298.15)
    board.tick(0)
    board.spi(0, 0, 0, bytes([0x4E, 0x0F]))  # awake
    said = []
    for number, (title, params) in enumerate(
        {"whole": {}, "open": {"open": 1.0, "pull": 1.0}, "short": {"short": 1.0, "level": 0.0}}.items(), 1
    ):
        board.set_wire("imu", "miso", params)
        got = board.spi(number * 100_000_000, 0, 0, bytes([0x9F, 0, 0])).data[1:]
        said.append(f"{title} 0x{got.hex().upper()}")
    return "Fig. 9 (h), ACCEL_DATA_X at 1 g: " + ", ".join(said)


def main() -> None:
    """Fly all cases and write the page of the crash."""
    print(words())
    for case, faults in CASES.items():
        flight = ib.fly("quad_f450", control="chips", mission="hover", faults=faults, seed=1, until_s=35.0)
        restarts = sum("restarted" in event.text for event in flight.autopilot_events)
        print(f"{case:18} {flight.outcome}; driver restarted {restarts} times; {flight.link['buses']}")
        for witness in flight.witnesses:
            print(f"{'':18} {witness.sentence()}")
        if case == "noise, then open":
            PAGE.parent.mkdir(exist_ok=True)
            write_flight_page(flight, PAGE)
    print(f"page: {PAGE}")


if __name__ == "__main__":
    main()
