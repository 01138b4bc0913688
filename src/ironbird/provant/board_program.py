"""`python -m ironbird.provant.board_program VEHICLE [NUMBERS]`: an emulated board on two pseudo-terminals.

It prints the names of the two ends for the bench (sensors, references) and runs in wall time until its input ends.
"""

from __future__ import annotations

import os
import pty
import sys
import threading
import tty

from ironbird.boards.firmware.device import load_mcu_board
from ironbird.boards.firmware.machine import Machine
from ironbird.provant.cable import board_on_terminals
from ironbird.provant.image import firmware_image


def main() -> None:
    """Create the pseudo-terminals and run the board until standard input ends."""
    vehicle, *rest = sys.argv[1:]
    machine = Machine(load_mcu_board("stm32f4_discovery"), firmware_image(vehicle, *rest[:1]))
    pairs = [pty.openpty() for _ in range(2)]
    for ours, theirs in pairs:
        tty.setraw(theirs)
        os.set_blocking(ours, False)
    end = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        end.set()

    threading.Thread(target=wait, daemon=True).start()
    print(*(os.ttyname(theirs) for _, theirs in pairs), flush=True)
    board_on_terminals(machine, (pairs[0][0], pairs[1][0]), end)
    machine.close()


if __name__ == "__main__":
    main()
