"""NEO-M8N: satellite receiver by UART, binary protocol UBX and sentences of NMEA."""

from __future__ import annotations

import math

from ironbird.boards.chips.chip import Chip
from ironbird.boards.chips.numbers import quantise, root

BUFFER = 8192
START_UNIX = 1_767_225_600  # s: simulation time 0 is 2026-01-01 00:00 UTC
GPS_UNIX, LEAP = 315_964_800, 18
TURN = 57.29577951308232
NAV, ACK, CFG, MON = 0x01, 0x05, 0x06, 0x0A
POSLLH, STATUS, DOP, SOL, PVT, VELNED, TIMEGPS, TIMEUTC, SVINFO = 0x02, 0x03, 0x04, 0x06, 0x07, 0x12, 0x20, 0x21, 0x30
VER, HW, HW2 = 0x04, 0x09, 0x0B
STANDARD = 0xF0  # class of NMEA's sentences
KNOT = 0.514444444444444444  # m/s


def text_of(*lines: tuple[str, int]) -> bytes:
    """Texts padded with zeros to their lengths, as bytes."""
    return b"".join(text.encode().ljust(length, b"\0") for text, length in lines)


class NeoM8n(Chip):
    """The satellite receiver NEO-M8N: answers CFG, MON and NAV messages as the receiver does, and sends what was
    ordered each epoch, [ChipNotes] 10.

    At power-up 9600 Bd, one epoch a second, and of NMEA 4.0 RMC, VTG, GGA, GSA, GSV and GLL in each, until CFG-PRT or
    CFG-MSG changes it. `$PUBX,41` sets the rate as well. The UART obeys UBX on port 1. Not modelled: saved
    configuration (CFG-CFG is acknowledged), time to first fix, the geoid (height above sea level is that above the
    ellipsoid), single satellites (NAV-SVINFO and GSV list none).
    """

    part = "NEO-M8N"
    summary = "satellite receiver, UBX and NMEA"
    source = "[ChipNotes] 10"
    buses = ("uart",)
    clock_hz = 921_600
    # Dilutions of a typical sky, in hundredths: g2 = p2 + t2, p2 = v2 + h2, h2 = n2 + e2
    DILUTION = (172, 150, 85, 126, 81, 57, 57)
    feeds = (
        "latitude", "longitude", "height", "velocity_n", "velocity_e", "velocity_d", "eph", "epv", "speed_accuracy",
        "satellites", "fix",
    )  # fmt: skip
    KNOWN = (
        0x0102,
        0x0103,
        0x0104,
        0x0106,
        0x0107,
        0x0112,
        0x0120,
        0x0121,
        0x0130,
        0x0A09,
        0x0A0B,
        0x0A04,
    )  # messages with a rate
    VERSION = text_of(
        ("EXT CORE 3.01 (107888)", 30), ("00080000", 10), ("ROM BASE 2.01 (75331)", 30), ("FWVER=SPG 3.01", 30),
        ("PROTVER=18.00", 30), ("GPS;GLO;GAL;BDS", 30), ("SBAS;IMES;QZSS", 30),
    )  # fmt: skip
    VERSION_LENGTH = 190
    PUBX = b"PUBX,41,1,"
    SENTENCES = b"GNRMCGNVTGGNGGAGNGSAGPGSVGNGLL"  # in the order in which they are sent
    NUMBERS = (4, 5, 0, 2, 3, 1)  # of the messages of class F0
    ANGLES = tuple(math.atan(2.0**-i) for i in range(32))

    received: bytearray = bytearray(1032)
    filled: int = 0
    state: int = 0  # 0 between messages, 1 after the first sync byte, 2 in UBX, 3 in NMEA
    out: bytearray = bytearray(BUFFER)
    out_head: int = 0
    out_count: int = 0
    frame: bytearray = bytearray(1032)
    length: int = 0
    baud: int = 9600
    in_mask: int = 7
    out_mask: int = 3
    measure_ms: int = 1000
    nav_rate: int = 1
    time_reference: int = 0
    dynamics: int = 0
    fix_mode: int = 3
    sbas: int = 1
    epoch: int = 0
    rates: list[int] = [0] * 12
    sentences: list[int] = [1] * 6  # rates of NMEA, by the number of the message
    year: int = 0
    month: int = 0
    day: int = 0

    def power_on(self, t: int) -> None:
        self.now = t
        self.filled = 0
        self.state = 0
        self.out_count = 0
        self.baud = 9600
        self.in_mask = 7
        self.out_mask = 3
        self.measure_ms = 1000
        self.nav_rate = 1
        self.time_reference = 0
        self.dynamics = 0
        self.fix_mode = 3
        for i in range(12):
            self.rates[i] = 0
        for i in range(6):
            self.sentences[i] = 1
        self.schedule()

    def schedule(self) -> None:
        period = self.measure_ms * self.nav_rate * 1_000_000
        self.due = (self.now // period + 1) * period

    def uart_baud(self) -> int:
        return self.baud

    def uart_next(self, t: int) -> int:
        self.advance(t)
        if self.out_count == 0:
            return -1
        value = self.out[self.out_head]
        self.out_head = (self.out_head + 1) & (BUFFER - 1)
        self.out_count -= 1
        return value

    # ------------------------------------------------------------------ input

    def uart_byte(self, t: int, value: int) -> None:
        self.advance(t)
        if self.state == 0:
            if value == 0xB5:
                self.state = 1
            elif value == 36:
                self.state = 3
                self.filled = 0
        elif self.state == 1:
            self.state = 2 if value == 0x62 else 0
            self.filled = 0
        elif self.state == 2:
            self.received[self.filled] = value
            self.filled += 1
            if self.filled >= 4:
                length = self.received[2] | self.received[3] << 8
                if length > 1000:
                    self.state = 0
                elif self.filled == length + 6:
                    self.state = 0
                    if self.good(length):
                        self.obey(self.received[0], self.received[1], length)
        else:
            self.sentence(value)

    def good(self, length: int) -> int:
        a = 0
        b = 0
        for i in range(length + 4):
            a = (a + self.received[i]) & 0xFF
            b = (b + a) & 0xFF
        return self.received[length + 4] == a and self.received[length + 5] == b

    def sentence(self, value: int) -> None:
        """Handle a line of NMEA: `$PUBX,41,1,in,out,baud,0*sum` sets the rate of port 1."""
        if value == 10 or value == 13:
            self.state = 0
            if self.filled > 14:
                self.set_by_sentence()
        elif self.filled >= 100:
            self.state = 0
        else:
            self.received[self.filled] = value
            self.filled += 1

    def set_by_sentence(self) -> None:
        total = 0
        end = 0
        while end < self.filled and self.received[end] != 42:
            total = total ^ self.received[end]
            end += 1
        if end + 3 != self.filled:
            return
        if total != self.hexadecimal(self.received[end + 1]) * 16 + self.hexadecimal(self.received[end + 2]):
            return
        for i in range(10):
            if self.received[i] != self.PUBX[i]:
                return
        at = 10
        commas = 0
        while at < end and commas < 2:
            if self.received[at] == 44:
                commas += 1
            at += 1
        rate = 0
        while at < end and 48 <= self.received[at] <= 57 and rate < 10_000_000:
            rate = rate * 10 + self.received[at] - 48
            at += 1
        self.set_baud(rate)

    def hexadecimal(self, sign: int) -> int:
        if 48 <= sign <= 57:
            return sign - 48
        if 65 <= sign <= 70:
            return sign - 55
        if 97 <= sign <= 102:
            return sign - 87
        return 99

    def set_baud(self, rate: int) -> int:
        if 4800 <= rate <= 921_600:
            self.baud = rate
            return 1
        return 0

    def word(self, place: int) -> int:
        return self.received[4 + place] | self.received[5 + place] << 8

    def long(self, place: int) -> int:
        return self.word(place) | self.word(place + 2) << 16

    def find(self, message: int) -> int:
        for i in range(12):
            if self.KNOWN[i] == message:
                return i
        return -1

    def obey(self, group: int, number: int, length: int) -> None:
        if group == CFG:
            if number == 0x04:
                if length == 4:
                    self.power_on(self.now)
                return
            self.acknowledge(number, self.configure(number, length))
        elif group in (NAV, MON):
            self.send_message(group, number)

    def acknowledge(self, number: int, good: int) -> None:
        self.begin(ACK, 1 if good else 0)
        self.u1(CFG)
        self.u1(number)
        self.finish()

    def configure(self, number: int, length: int) -> int:
        if number == 0x00:
            return self.configure_port(length)
        if number == 0x01:
            if length != 2 and length != 3 and length != 8:
                return 0
            index = self.find(self.received[4] << 8 | self.received[5])
            if self.received[4] == STANDARD and self.received[5] < 6 and length > 2:
                self.sentences[self.received[5]] = self.received[6 if length == 3 else 7]
                return 1
            if index < 0:
                # Messages that have no rate here are switched off and stay off.
                return length > 2 and self.received[6 if length == 3 else 7] == 0
            if length == 2:
                self.begin(CFG, 0x01)
                self.u1(self.received[4])
                self.u1(self.received[5])
                self.u1(0)
                self.u1(self.rates[index])
                self.u4(0)
                self.finish()
            else:
                self.rates[index] = self.received[6 if length == 3 else 7]
            return 1
        if number == 0x08:
            if length == 6:
                if self.word(0) < 25 or self.word(2) == 0 or self.word(2) > 127:
                    return 0
                self.measure_ms = self.word(0)
                self.nav_rate = self.word(2)
                self.time_reference = self.word(4)
                self.schedule()
                return 1
            if length == 0:
                self.begin(CFG, 0x08)
                self.u2(self.measure_ms)
                self.u2(self.nav_rate)
                self.u2(self.time_reference)
                self.finish()
                return 1
            return 0
        if number == 0x24:
            if length == 36:
                if self.word(0) & 1:
                    self.dynamics = self.received[6]
                if self.word(0) & 4:
                    self.fix_mode = self.received[7]
                return 1
            if length == 0:
                self.begin(CFG, 0x24)
                self.u2(0xFFFF)
                self.u1(self.dynamics)
                self.u1(self.fix_mode)
                self.zeros(32)
                self.finish()
                return 1
            return 0
        if number == 0x16:
            if length == 0:
                self.begin(CFG, 0x16)
                self.u1(self.sbas)
                self.zeros(7)
                self.finish()
            elif length == 8:
                self.sbas = self.received[4]
            return length == 0 or length == 8
        if number == 0x3E and length == 0:
            self.begin(CFG, 0x3E)
            self.u1(0)
            self.u1(32)
            self.u1(32)
            self.u1(0)
            self.finish()
            return 1
        # GNSS, saving, time pulse: acknowledged, not used.
        return (number == 0x3E and length >= 4) or (number == 0x09 and (length == 12 or length == 13)) or number == 0x31

    def configure_port(self, length: int) -> int:
        if length <= 1:
            self.begin(CFG, 0x00)
            self.u1(1)
            self.u1(0)
            self.u2(0)
            self.u4(0x8D0)
            self.u4(self.baud)
            self.u2(self.in_mask)
            self.u2(self.out_mask)
            self.u4(0)
            self.finish()
            return 1
        if length % 20 != 0:
            return 0
        for i in range(length // 20):
            if self.received[4 + 20 * i] == 1:
                if not self.set_baud(self.long(20 * i + 8)):
                    return 0
                self.in_mask = self.word(20 * i + 12)
                self.out_mask = self.word(20 * i + 14)
        return 1

    # ------------------------------------------------------------------ output

    def begin(self, group: int, number: int) -> None:
        self.frame[0] = 0xB5
        self.frame[1] = 0x62
        self.frame[2] = group
        self.frame[3] = number
        self.length = 6

    def u1(self, value: int) -> None:
        self.frame[self.length] = value & 0xFF
        self.length += 1

    def u2(self, value: int) -> None:
        self.u1(value)
        self.u1(value >> 8)

    def u4(self, value: int) -> None:
        self.u2(value)
        self.u2(value >> 16)

    def zeros(self, count: int) -> None:
        for _i in range(count):
            self.u1(0)

    def finish(self) -> None:
        payload = self.length - 6
        self.frame[4] = payload & 0xFF
        self.frame[5] = payload >> 8
        a = 0
        b = 0
        for i in range(2, self.length):
            a = (a + self.frame[i]) & 0xFF
            b = (b + a) & 0xFF
        self.u1(a)
        self.u1(b)
        self.put_out()

    def put_out(self) -> None:
        if self.out_count + self.length > BUFFER:
            return  # the line is too slow: whole messages are lost
        for i in range(self.length):
            self.out[(self.out_head + self.out_count) & (BUFFER - 1)] = self.frame[i]
            self.out_count += 1

    def tick(self) -> None:
        for i in range(12):
            if self.rates[i] > 0 and self.epoch % self.rates[i] == 0:
                self.send_message(self.KNOWN[i] >> 8, self.KNOWN[i] & 0xFF)
        if self.out_mask & 2:
            for i in range(6):
                rate = self.sentences[self.NUMBERS[i]]
                if rate > 0 and self.epoch % rate == 0:
                    self.send_sentence(i)
        self.epoch += 1
        self.due += self.measure_ms * self.nav_rate * 1_000_000

    def milliseconds(self) -> int:
        """Milliseconds of the GPS week at the latest epoch."""
        period = self.measure_ms * 1_000_000
        at = self.now // period * period
        return ((START_UNIX - GPS_UNIX + LEAP) * 1000 + at // 1_000_000) % 604_800_000

    def send_message(self, group: int, number: int) -> None:
        if group == MON:
            self.send_monitoring(number)
        elif group == NAV:
            self.send_motion(number)
            self.send_status(number)

    def send_motion(self, number: int) -> None:
        """Send the message `number` with position or velocity."""
        tow = self.milliseconds()
        fix = quantise(self.inputs[10], 0, 3)
        east = quantise(self.inputs[1] * TURN * 1e7, -1_800_000_000, 1_800_000_000)
        north = quantise(self.inputs[0] * TURN * 1e7, -900_000_000, 900_000_000)
        height = quantise(self.inputs[2] * 1e3, -2_000_000_000, 2_000_000_000)
        eph = quantise(self.inputs[6] * 1e3, 0, 2_000_000_000)
        epv = quantise(self.inputs[7] * 1e3, 0, 2_000_000_000)
        if number == PVT:
            self.begin(NAV, PVT)
            self.u4(tow)
            self.date()
            self.u4(25)
            self.u4(0)
            self.u1(fix)
            self.u1(1 if fix >= 2 else 0)
            self.u1(0)
            self.u1(quantise(self.inputs[9], 0, 255))
            self.u4(east)
            self.u4(north)
            self.u4(height)
            self.u4(height)
            self.u4(eph)
            self.u4(epv)
            self.velocity()
            self.u2(quantise(150.0 if fix >= 2 else 9999.0, 0, 9999))
            self.zeros(14)
            self.finish()
        elif number == POSLLH:
            self.begin(NAV, POSLLH)
            self.u4(tow)
            self.u4(east)
            self.u4(north)
            self.u4(height)
            self.u4(height)
            self.u4(eph)
            self.u4(epv)
            self.finish()
        elif number == VELNED:
            self.begin(NAV, VELNED)
            self.u4(tow)
            for i in range(3):
                self.u4(quantise(self.inputs[3 + i] * 100.0, -50_000_000, 50_000_000))
            speed = root(self.inputs[3] * self.inputs[3] + self.inputs[4] * self.inputs[4])
            climb = self.inputs[5] * self.inputs[5]
            self.u4(quantise(root(speed * speed + climb) * 100.0, 0, 50_000_000))
            self.u4(quantise(speed * 100.0, 0, 50_000_000))
            self.u4(self.heading())
            self.u4(quantise(self.inputs[8] * 100.0, 0, 50_000_000))
            self.u4(500_000)
            self.finish()

    def send_status(self, number: int) -> None:
        """Send the message `number` with time, fix or dilution."""
        tow = self.milliseconds()
        fix = quantise(self.inputs[10], 0, 3)
        if number == DOP:
            self.begin(NAV, DOP)
            self.u4(tow)
            for i in range(7):
                self.u2(self.DILUTION[i] if fix >= 2 else 9999)
            self.finish()
        elif number == STATUS:
            self.begin(NAV, STATUS)
            self.u4(tow)
            self.u1(fix)
            self.u1(0x0D if fix >= 2 else 0)
            self.u2(0)
            self.u4(26_000)
            self.u4((self.now // 1_000_000) & 0xFFFFFFFF)
            self.finish()
        elif number == SOL:
            self.begin(NAV, SOL)
            self.u4(tow)
            self.u4(0)
            self.u2(self.week())
            self.u1(fix)
            self.u1(0x0D if fix >= 2 else 0)
            self.zeros(35)
            self.u1(quantise(self.inputs[9], 0, 255))
            self.zeros(4)
            self.finish()
        elif number == TIMEGPS:
            self.begin(NAV, TIMEGPS)
            self.u4(tow)
            self.u4(0)
            self.u2(self.week())
            self.u1(LEAP)
            self.u1(7)
            self.u4(25)
            self.finish()
        elif number == TIMEUTC:
            self.begin(NAV, TIMEUTC)
            self.u4(tow)
            self.u4(25)
            self.u4(0)
            self.date()
            self.finish()
        elif number == SVINFO:
            self.begin(NAV, SVINFO)
            self.u4(tow)
            self.u1(0)
            self.u1(4)
            self.u2(0)
            self.finish()

    def send_monitoring(self, number: int) -> None:
        """Send the message `number` with version or hardware."""
        if number == VER:
            self.begin(MON, VER)
            for i in range(self.VERSION_LENGTH):
                self.u1(self.VERSION[i])
            self.finish()
        elif number == HW:
            self.begin(MON, HW)
            self.zeros(16)
            self.u2(90)
            self.u2(4000)
            self.u1(2)
            self.zeros(39)
            self.finish()
        elif number == HW2:
            self.begin(MON, HW2)
            self.zeros(28)
            self.finish()

    def week(self) -> int:
        return (START_UNIX - GPS_UNIX + LEAP + self.now // 1_000_000_000) // 604_800

    def velocity(self) -> None:
        for i in range(3):
            self.u4(quantise(self.inputs[3 + i] * 1e3, -500_000_000, 500_000_000))
        speed = root(self.inputs[3] * self.inputs[3] + self.inputs[4] * self.inputs[4])
        self.u4(quantise(speed * 1e3, 0, 500_000_000))
        self.u4(self.heading())
        self.u4(quantise(self.inputs[8] * 1e3, 0, 500_000_000))
        self.u4(500_000)

    def heading(self) -> int:
        """Course over ground from 0 to 360 deg, in 1e-5 deg; computed by CORDIC, without an arc tangent function."""
        x = self.inputs[3]
        y = self.inputs[4]
        angle = 0.0
        if x < 0.0:
            angle = 180.0 if y >= 0.0 else -180.0
            x = -x
            y = -y
        power = 1.0
        for i in range(32):
            turned = power if y > 0.0 else -power
            if y == 0.0:
                break
            kept = x + y * turned
            y = y - x * turned
            x = kept
            angle = angle + (self.ANGLES[i] if turned > 0.0 else -self.ANGLES[i]) * TURN
            power = power * 0.5
        if angle < 0.0:
            angle = angle + 360.0
        return quantise(angle * 1e5, 0, 35_999_999)

    def seconds(self) -> int:
        """Seconds of UTC since 1970 at the epoch."""
        period = self.measure_ms * 1_000_000
        return START_UNIX + self.now // period * period // 1_000_000_000

    def set_date(self) -> None:
        days = self.seconds() // 86_400
        # Civil date from days since 1970-01-01: eras of 400 years of 146097 days, years from March on.
        shifted = days + 719_468
        era = shifted // 146_097
        day = shifted - era * 146_097
        year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
        rest = day - (365 * year + year // 4 - year // 100)
        month = (5 * rest + 2) // 153
        self.month = month + 3 if month < 10 else month - 9
        self.year = year + era * 400 + (1 if self.month <= 2 else 0)
        self.day = rest - (153 * month + 2) // 5 + 1

    def date(self) -> None:
        """Append year to seconds of UTC at the epoch, and their validity."""
        clock = self.seconds() % 86_400
        self.set_date()
        self.u2(self.year)
        self.u1(self.month)
        self.u1(self.day)
        self.u1(clock // 3600)
        self.u1(clock // 60 % 60)
        self.u1(clock % 60)
        self.u1(7)

    # ------------------------------------------------------------------ NMEA 0183, version 4.0

    def digits(self, value: int, width: int) -> None:
        """Append a number without sign, with at least `width` digits."""
        power = 1
        for _i in range(width - 1):
            power = power * 10
        while power * 10 <= value:
            power = power * 10
        while power > 0:
            self.u1(48 + value // power % 10)
            power = power // 10

    def decimal(self, value: int, width: int, places: int) -> None:
        """Append a number given in units of its last decimal place."""
        unit = 1
        for _i in range(places):
            unit = unit * 10
        if value < 0:
            self.u1(45)
        whole = abs(value)
        self.digits(whole // unit, width)
        self.u1(46)
        self.digits(whole % unit, places)

    def comma(self) -> None:
        self.u1(44)

    def clock_field(self) -> None:
        clock = self.seconds() % 86_400
        self.digits(clock // 3600, 2)
        self.digits(clock // 60 % 60, 2)
        self.decimal(clock % 60 * 100 + self.milliseconds() % 1000 // 10, 2, 2)
        self.comma()

    def angle_field(self, angle: int, width: int, positive: int, negative: int) -> None:
        size = abs(angle)  # 1e-7 deg
        self.digits(size // 10_000_000, width)
        self.decimal(size % 10_000_000 * 60 // 100, 2, 5)
        self.comma()
        self.u1(positive if angle >= 0 else negative)
        self.comma()

    def place_field(self) -> None:
        north = quantise(self.inputs[0] * TURN * 1e7, -900_000_000, 900_000_000)
        east = quantise(self.inputs[1] * TURN * 1e7, -1_800_000_000, 1_800_000_000)
        self.angle_field(north, 2, 78, 83)
        self.angle_field(east, 3, 69, 87)

    def commas(self, count: int) -> None:
        for _i in range(count):
            self.u1(44)

    def recommended_fields(self, fixed: int) -> None:
        """Append the fields of RMC: position, speed, course and date."""
        speed = root(self.inputs[3] * self.inputs[3] + self.inputs[4] * self.inputs[4])
        knots = quantise(speed / KNOT * 1e3, 0, 2_000_000)
        course = (self.heading() + 500) // 1000 % 36_000  # 0.01 deg
        mode = 65 if fixed else 78
        if fixed:
            self.clock_field()
            self.u1(65)
            self.comma()
            self.place_field()
            self.decimal(knots, 1, 3)
            self.comma()
            self.decimal(course, 1, 2)
            self.comma()
            self.set_date()
            self.digits(self.day, 2)
            self.digits(self.month, 2)
            self.digits(self.year % 100, 2)
        else:
            self.comma()
            self.u1(86)
            self.commas(7)
        self.commas(3)
        self.u1(mode)

    def course_fields(self, fixed: int) -> None:
        """Append the fields of VTG: course and speed over ground."""
        speed = root(self.inputs[3] * self.inputs[3] + self.inputs[4] * self.inputs[4])
        knots = quantise(speed / KNOT * 1e3, 0, 2_000_000)
        course = (self.heading() + 500) // 1000 % 36_000  # 0.01 deg
        mode = 65 if fixed else 78
        if fixed:
            self.decimal(course, 1, 2)
        self.comma()
        self.u1(84)
        self.commas(2)
        self.u1(77)
        self.comma()
        if fixed:
            self.decimal(knots, 1, 3)
        self.comma()
        self.u1(78)
        self.comma()
        if fixed:
            self.decimal(quantise(speed * 3.6e3, 0, 4_000_000), 1, 3)
        self.comma()
        self.u1(75)
        self.comma()
        self.u1(mode)

    def fix_fields(self, fixed: int) -> None:
        """Append the fields of GGA: position, height and quality of the fix."""
        if fixed:
            self.clock_field()
            self.place_field()
        else:
            self.commas(5)
        self.u1(49 if fixed else 48)
        self.comma()
        self.digits(quantise(self.inputs[9] if fixed else 0.0, 0, 12), 2)
        self.comma()
        self.decimal(150 if fixed else 9999, 1, 2)
        self.comma()
        if fixed:
            self.decimal(quantise(self.inputs[2] * 10.0, -1_000_000, 1_000_000), 1, 1)
        self.comma()
        self.u1(77)
        self.comma()
        if fixed:
            self.decimal(0, 1, 1)
        self.comma()
        self.u1(77)
        self.commas(2)

    def satellites_fields(self, fix: int) -> None:
        """Append the fields of GSA: satellites in use and dilution."""
        fixed = 1 if fix >= 2 else 0
        self.u1(65)
        self.comma()
        self.u1(48 + max(1, fix))
        self.comma()
        for i in range(12):
            if i < quantise(self.inputs[9] if fixed else 0.0, 0, 12):
                self.digits(i + 1, 2)
            self.comma()
        for i in range(3):
            self.decimal(150 if fixed else 9999, 1, 2)
            if i < 2:
                self.comma()

    def place_fields(self, fixed: int) -> None:
        """Append the fields of GLL: position and time."""
        mode = 65 if fixed else 78
        if fixed:
            self.place_field()
            self.clock_field()
            self.u1(65)
        else:
            self.commas(5)
            self.u1(86)
        self.comma()
        self.u1(mode)

    def send_sentence(self, number: int) -> None:
        fix = quantise(self.inputs[10], 0, 3)
        fixed = 1 if fix >= 2 else 0
        self.length = 0
        self.u1(36)
        for i in range(5):
            self.u1(self.SENTENCES[5 * number + i])
        self.comma()
        if number == 0:
            self.recommended_fields(fixed)
        elif number == 1:
            self.course_fields(fixed)
        elif number == 2:
            self.fix_fields(fixed)
        elif number == 3:
            self.satellites_fields(fix)
        elif number == 4:
            self.u1(49)
            self.comma()
            self.u1(49)
            self.comma()
            self.digits(0, 2)
        else:
            self.place_fields(fixed)
        total = 0
        for i in range(1, self.length):
            total = total ^ self.frame[i]
        self.u1(42)
        self.hex_digit(total >> 4)
        self.hex_digit(total & 15)
        self.u1(13)
        self.u1(10)
        self.put_out()

    def hex_digit(self, value: int) -> None:
        self.u1(48 + value if value < 10 else 55 + value)
