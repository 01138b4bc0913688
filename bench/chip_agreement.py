"""Every chip as three models under the same random traffic, without and with pin faults; writes what was compared.

python bench/chip_agreement.py --out docs/measured/chip_agreement.json [--transactions 20000] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from ironbird.boards.agreement import compare
from ironbird.boards.chips.catalog import CHIPS, chip_class


def main() -> None:
    """Compare; with faults pins in Python against pins in C, without them transactions in Python against pins in C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--transactions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in CHIPS:
        for bus in chip_class(name).buses:
            for fault in (False, True):
                before = time.process_time()
                found = compare(name, bus, arguments.transactions, arguments.seed, fault=fault, slow=fault)
                rows.append(
                    {
                        "chip": name, "bus": bus, "faults": fault, "seed": arguments.seed,
                        "transactions": found.transactions, "slots": found.bits, "differences": list(found.differences),
                        "cpu_s": round(time.process_time() - before, 1),
                    }
                )  # fmt: skip
                print(rows[-1], flush=True)
                arguments.out.write_text("[\n " + ",\n ".join(json.dumps(row) for row in rows) + "\n]\n")
    wrong = [row for row in rows if row["differences"]]
    raise SystemExit(f"{len(wrong)} of {len(rows)} differ: {wrong[0]}" if wrong else 0)


if __name__ == "__main__":
    main()
