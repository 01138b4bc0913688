"""PCA9685: sixteen pulse-width outputs by I2C; on the PilotPi they drive the motors."""

from __future__ import annotations

from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.table import Register

MODE1, MODE2, ALLCALLADR, LED0, ALL_LED, PRE_SCALE = 0x00, 0x01, 0x05, 0x06, 0xFA, 0xFE
INTERNAL_HZ, EXTERNAL_HZ = 25e6, 24.576e6


class Pca9685(RegisterChip):
    """The PWM controller PCA9685: pulse widths in seconds that change at the stop condition, sleep and restart,
    prescaler, [ChipNotes] 27.

    A pulse of zero is off; one of a whole period is full on. With EXTCLK the clock is that of the PilotPi. Not
    modelled: the phase of the pulses, sub-addresses, output enable. The address for all calls (0x70) is answered.
    """

    part = "PCA9685"
    summary = "16 pulse-width outputs"
    source = "[ChipNotes] 27"
    buses = ("i2c",)
    address = 0x40
    clock_hz = 1_000_000
    outputs = tuple(f"pulse_{n}" for n in range(16))
    PLACES = 256
    ADDRESS = 0xFF
    registers = (
        Register(0x00, "MODE1", 0x11, 0x3F, ".7 restart, .6 external clock (sticky), .5 pointer walks, .4 sleep",
                 acts=True, self_clearing=0xC0),
        Register(0x01, "MODE2", 0x04, 0x1F, "drivers; stored"),
        *[Register(0x02 + i, ("SUBADR1", "SUBADR2", "SUBADR3", "ALLCALLADR")[i], (0xE2, 0xE4, 0xE8, 0xE0)[i], 0xFE,
                   "stored") for i in range(4)],
        *[Register(0x06 + 4 * n + i, f"LED{n}_{('ON_L', 'ON_H', 'OFF_L', 'OFF_H')[i]}", 0x10 if i == 3 else 0,
                   0x1F if i & 1 else 0xFF, "12 bits; bit 4 of the high byte is full on or off")
          for n in range(16) for i in range(4)],
        *[Register(0xFA + i, f"ALL_LED_{('ON_L', 'ON_H', 'OFF_L', 'OFF_H')[i]}", 0, 0, "writes all outputs", acts=True,
                   self_clearing=0x1F if i & 1 else 0xFF) for i in range(4)],
        Register(0xFE, "PRE_SCALE", 0x1E, 0, "rate = clock / 4096 / (value + 1); writable while asleep, 3 and above",
                 acts=True),
    )  # fmt: skip

    def i2c_match(self, address: int) -> int:
        if address == self.own_address:
            return 1
        return 1 if self.reg[MODE1] & 1 and address == self.reg[ALLCALLADR] >> 1 else 0

    def walk(self) -> None:
        if self.reg[MODE1] & 0x20:
            self.pointer = (self.pointer + 1) & 0xFF

    def on_write(self, place: int, value: int) -> None:
        if place == MODE1:
            before = self.reg[MODE1]
            kept = before & 0xC0
            if value & 0x80:
                kept = kept & 0x40  # writing the restart bit clears it: pulses continue
            if value & 0x40 and before & 0x10:
                kept = kept | 0x40
            if value & 0x10 and not before & 0x10:
                kept = kept | 0x80  # the chip was put to sleep while running
            self.reg[MODE1] = kept | value & 0x3F
        elif place == PRE_SCALE:
            if self.reg[MODE1] & 0x10:
                self.reg[PRE_SCALE] = max(3, value)
        elif ALL_LED <= place < ALL_LED + 4:
            for n in range(16):
                self.store(LED0 + 4 * n + place - ALL_LED, value)
        else:
            self.store(place, value)

    def i2c_end(self) -> None:
        clock = EXTERNAL_HZ if self.reg[MODE1] & 0x40 else INTERNAL_HZ
        step = (self.reg[PRE_SCALE] + 1) / clock  # s
        asleep = self.reg[MODE1] & 0x10
        for n in range(16):
            place = LED0 + 4 * n
            on = self.reg[place] | self.reg[place + 1] << 8
            off = self.reg[place + 2] | self.reg[place + 3] << 8
            counts = (off - on) & 0xFFF
            if on & 0x1000:
                counts = 4096
            if off & 0x1000 or asleep:
                counts = 0
            self.drive[n] = counts * step
