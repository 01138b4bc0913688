"""Faults of sensor and actuator chips and of the wires to them: open, shorted, stuck or noisy lines, wrong registers.

An example: `wire.miso_open_high@1:instance=imu,start=5,end=6`. They act where sensors and outputs are chips on buses
(`ironbird.boards.wiring`); the instance is the name of the device on its board, for the wires of an I2C bus that of the
bus. The witness is the first differing bit on the wire against a twin of the same chip that gets the same requests over
fault-free wires.
"""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Replace, switch

LINES = ("cs", "sck", "mosi", "miso", "scl", "sda", "tx", "rx")  # tx and rx as the host calls them
NONE = "none: it is there or not"
WITNESS = "wire/{instance}.first_difference"


def _line_faults(line: str) -> list[Fault]:
    at = f"wire/{{instance}}/{line}"

    def fault(kind: str, summary: str, severity: str, equation: str, *changes: tuple[str, Replace]) -> Fault:
        return Fault(
            id=f"wire.{line}_{kind}@1",
            summary=summary.replace("{}", line.upper()),
            changes=tuple(Change(f"{at}.{param}", effect) for param, effect in changes),
            severity=severity,
            reference=f"[ChipLevel] {equation}",
            witness=WITNESS,
            needs="chips",
        )

    return [
        fault("random", "{} is random in some bits.", "share of bits", "Eq. 23", ("random", Replace(0.0, 1.0))),
        fault("noise", "Noise on {} crosses the logic thresholds.", "1 is a deviation of {:g} V", "Fig. 5",
              ("noise_V", Replace(0.0, 3.3))),
        fault("flips", "Bits of {} are read wrong at a rate.", "1 is a share of {:g} of the bits", "Eq. 27",
              ("flips", Replace(0.0, 0.1))),
        fault("slow", "Edges of {} are slow: at speed they come late.", "share of late edges", "Fig. 5",
              ("hold", Replace(0.0, 1.0))),
        fault("open_low", "{} is open and pulled down.", NONE, "Eq. 24", ("open", switch()), ("pull", switch(0.0))),
        fault("open_high", "{} is open and pulled up.", NONE, "Eq. 24", ("open", switch()), ("pull", switch(1.0))),
        fault("short_low", "{} is shorted to ground.", NONE, "Eq. 25", ("short", switch()), ("level", switch(0.0))),
        fault("short_high", "{} is shorted to supply.", NONE, "Eq. 25", ("short", switch()), ("level", switch(1.0))),
    ]  # fmt: skip


def _device(name: str, summary: str, severity: str, effect: Replace) -> Fault:
    param = name.partition(".")[2]
    return Fault(
        id=f"{name}@1",
        summary=summary,
        changes=(Change(f"wire/{{instance}}.{param}", effect),),
        severity=severity,
        reference="[ChipLevel] Sec. 5",
        witness=WITNESS,
        needs="chips",
    )


FAULTS = (
    *(fault for line in LINES for fault in _line_faults(line)),
    _device("wire.nack", "A chip on I2C does not acknowledge its address.", "share of requests", Replace(0.0, 1.0)),
    _device(
        "wire.stretch",
        "A chip on I2C holds the clock low after each byte; hosts wait for a time.",
        "1 is {:g} slots, twice the time that hosts wait",
        Replace(0.0, 64.0),
    ),
    _device("wire.lost", "Bytes of a serial line are lost.", "share of bytes", Replace(0.0, 1.0)),
    _device("wire.doubled", "Bytes of a serial line come twice.", "share of bytes", Replace(0.0, 1.0)),
    _device("wire.baud", "A chip's serial clock drifts.", "1 is {:g} of its rate", Replace(0.0, 0.1)),
    _device(
        "wire.swapped", "The chip selects of this device and of the next one on the bus are swapped.", NONE, switch()
    ),
    _device("chip.reset", "A chip loses power and restarts: a brown-out.", NONE, switch()),
    _device("chip.off", "A chip has no power.", NONE, switch()),
    _device("chip.identity", "A chip says that it is another part.", NONE, switch()),
    _device("chip.overflow", "A chip's FIFO overflows.", NONE, switch()),
)
WIRE_FAULTS: dict[str, Fault] = {fault.id: fault for fault in FAULTS}
# What people call them, by how ids begin
KEYWORDS = {
    "wire.": "cable connector contact bus pin sensor", "chip.": "sensor circuit power",
    **dict.fromkeys(("wire.cs_", "wire.sck_", "wire.mosi_", "wire.miso_", "wire.swapped"), "SPI"),
    **dict.fromkeys(("wire.scl_", "wire.sda_", "wire.nack", "wire.stretch"), "I2C"),
    **dict.fromkeys(("wire.tx_", "wire.rx_", "wire.lost", "wire.doubled", "wire.baud"), "UART serial GPS"),
}  # fmt: skip
