"""Chips of a Pixhawk 4 as hardware: place and route over seeds and devices, and agreement with the models in C.

python bench/hdl.py --out docs/measured/hdl.json [--seeds 8] [--transactions 100000] [--chips icm20689 …]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from ironbird.hdl.agreement import compare_core
from ironbird.hdl.tools import Simulation, board_rtlil, cores_of, place

BOARD = "pixhawk4"
DEVICES = ("25k", "hx8k")


def agreement(chips: list[str], transactions: int, seed: int) -> list[dict[str, Any]]:
    """Every core against its model, without and with pin faults."""
    found = []
    for chip in chips:
        with tempfile.TemporaryDirectory() as folder:
            core = Simulation(chip, Path(folder))
            for fault in (False, True):
                before, clocks = time.process_time(), core.clocks
                result = compare_core(chip, transactions, Path(folder), seed, fault=fault, simulation=core)
                found.append(
                    {
                        "chip": chip, "faults": fault, "seed": seed, "transactions": result.transactions,
                        "slots": result.bits, "clocks": core.clocks - clocks, "differences": list(result.differences),
                        "cpu_s": round(time.process_time() - before, 1),
                    }
                )  # fmt: skip
                print(found[-1], flush=True)
    return found


def designs(chips: list[str], seeds: int) -> list[dict[str, Any]]:
    """What the tools report of all chips in one device."""
    found = []
    for device in DEVICES:
        with tempfile.TemporaryDirectory(dir=".") as folder:  # the tools see what is below the working directory
            text = board_rtlil(chips, BOARD)
            for placed in place(text, Path(folder), BOARD, device=device, seeds=range(1, seeds + 1)):
                found.append(
                    {
                        "device": placed.device, "seed": placed.seed, "clock_MHz": round(placed.clock_MHz, 1),
                        "sck_MHz": round(placed.sck_MHz, 1), "input_ns": round(placed.input_ns, 2),
                        "output_ns": round(placed.output_ns, 2),
                        "bus_MHz": {chip: round(placed.bus_MHz(chip)[0], 1) for chip in chips},
                        "used": {kind: list(numbers) for kind, numbers in placed.used.items()},
                        "bitstream_bytes": placed.bitstream_bytes,
                    }
                )  # fmt: skip
                print(found[-1], flush=True)
    return found


def main() -> None:
    """Measure and write; a part that is not asked for keeps what the file had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--transactions", type=int, default=100_000)
    parser.add_argument("--only", choices=("agreement", "designs"))
    arguments = parser.parse_args()
    chips, _ = cores_of([BOARD])
    measured = json.loads(arguments.out.read_text()) if arguments.out.is_file() else {}
    if arguments.only != "designs":
        measured["agreement"] = agreement(chips, arguments.transactions, 1)
    if arguments.only != "agreement":
        measured["placed"] = designs(chips, arguments.seeds)
    arguments.out.write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    main()
