"""MS4525DO: differential pressure by I2C, for airspeed; no registers."""

from __future__ import annotations

from ironbird.boards.chips.chip import Chip
from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.table import Register

KELVIN = 273.15
PSI = 6894.757
CONVERSION_NS = 1_000_000
FULL = 16383.0


class Ms4525do(Chip):
    """The differential pressure sensor MS4525DO-DS5AI001DP: plus and minus 1 psi, output type A, fresh and stale
    results, [ChipNotes] 9.

    A conversion runs on request, and once at power-up. Port 2 is the pitot tube's, so more airspeed is a lower count.
    """

    part = "MS4525DO-DS5AI001DP"
    summary = "differential pressure, 14 bits"
    source = "[ChipNotes] 9"
    buses = ("i2c",)
    address = 0x28
    clock_hz = 400_000
    feeds = ("differential_pressure", "temperature")
    registers = (
        Register(0x00, "READ_MR", 0, 0, "command: any write starts a conversion", acts=True),
        Register(0x01, "READ_DF", 0, 0, "4 bytes: status and pressure 14 bits, temperature 11 bits", acts=True,
                 measured=True),
    )  # fmt: skip

    own_address: int = 0x28
    status: int = 0  # 0 fresh, 2 stale
    pressure: int = 0
    warmth: int = 0
    position: int = 0

    def power_on(self, t: int) -> None:
        self.now = t
        self.due = t + CONVERSION_NS
        self.status = 2
        self.position = 0

    def tick(self) -> None:
        self.due = NEVER
        # Both autopilots take the pressure with the sign turned, [ChipNotes] 9.
        counts = 0.1 * FULL + (PSI - self.inputs[0]) * 0.8 * FULL / (2.0 * PSI)
        self.pressure = quantise(counts, 0, 16383)
        self.warmth = quantise((self.inputs[1] - KELVIN + 50.0) * 2047.0 / 200.0, 0, 2047)
        self.status = 0

    def i2c_match(self, address: int) -> int:
        return 1 if address == self.own_address else 0

    def i2c_begin(self, t: int, reading: int) -> int:
        self.advance(t)
        self.position = 0
        return 1

    def i2c_byte(self, value: int) -> int:
        self.due = self.now + CONVERSION_NS
        return 1

    def i2c_peek(self) -> int:
        if self.position == 0:
            return self.status << 6 | self.pressure >> 8
        if self.position == 1:
            return self.pressure & 0xFF
        if self.position == 2:
            return self.warmth >> 3
        if self.position == 3:
            return (self.warmth & 7) << 5
        return 0xFF

    def i2c_done(self) -> None:
        self.position += 1

    def i2c_end(self) -> None:
        if self.position > 0:
            self.status = 2
