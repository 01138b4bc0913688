"""Small built-in drivers for the chips of a board, as in an autopilot.

A driver identifies its chip, configures it, reads it, and checks one of its settings in each cycle: if the setting is
wrong, or requests fail too often, it restarts the chip. Meanwhile there are no samples. Drivers use only a chip's
registers, never its model.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from ironbird.boards.board import Board, Device
from ironbird.boards.chips.catalog import chip_class
from ironbird.boards.native_board import NativeBoard
from ironbird.errors import LinkError
from ironbird.protocols.atmosphere import pressure_height_m
from ironbird.protocols.geodesy import Place, to_local
from ironbird.rig.reference_autopilot import ReferenceAutopilot

MS = 1_000_000
G, DEG = 9.80665, 0.017453292519943295
RETRY_NS = 100 * MS  # ns between two attempts to start a chip
FAILURES = 10  # failed requests in a row until the chip is restarted
_COUNTS = struct.Struct(">7h")


class Driver(ABC):
    """Base of the driver of one device. `events` are its console messages."""

    every_ns = 4 * MS

    def __init__(self, chips: NativeBoard, number: int, pilot: ReferenceAutopilot) -> None:
        self.chips, self.number, self.pilot = chips, number, pilot
        self.device: Device = chips.board.device[number]
        kind = chip_class(self.device.chip)
        self.bus, self.select = self.device.number, self.device.select
        self.address = self.device.address or kind.address
        self.unit = self.device.feed.partition("/")[2] if self.device.feed else "1"
        self.running = False
        self.due = 0
        self.failures = 0
        self.starts = 0
        self.samples = 0
        self.events: list[tuple[int, str]] = []

    def poll(self, t: int) -> None:
        """Do what is due at time `t` in ns: start the chip, or read a sample."""
        if t < self.due:
            return
        if not self.running:
            self.running = self.start(t)
            self.due = t + (self.every_ns if self.running else RETRY_NS)
            if self.running:
                self.starts += 1
                self.failures = 0
                self._say(t, "started" if self.starts == 1 else f"restarted ({self.starts})")
            return
        self.due = t + self.every_ns
        if self.read(t):
            self.failures = 0
            self.samples += 1
            return
        self.failures += 1
        if self.failures >= FAILURES:
            self.lost(t, f"{FAILURES} requests in a row failed")

    def lost(self, t: int, why: str) -> None:
        """Record the failure `why` and begin from the start."""
        self.running = False
        self.due = t + self.every_ns
        self._say(t, why)

    def _say(self, t: int, text: str) -> None:
        self.events.append((t, f"{self.device.name}: {text}"))

    def get(self, t: int, register: int, count: int = 1) -> bytes:
        """Read registers of the chip; empty if it does not answer."""
        if self.device.kind == "spi":
            return self.chips.spi(t, self.bus, self.select, bytes([register | 0x80]) + bytes(count)).data[1:]
        return self.chips.i2c(t, self.bus, self.address, bytes([register]), count).data

    def put(self, t: int, register: int, *values: int) -> bool:
        """Write registers; False if the chip does not answer, which SPI cannot detect."""
        if self.device.kind == "spi":
            self.chips.spi(t, self.bus, self.select, bytes([register, *values]))
            return True
        return not self.chips.i2c(t, self.bus, self.address, bytes([register, *values]), 0).error

    @abstractmethod
    def start(self, t: int) -> bool:
        """Identify and configure the chip; True when it is ready."""

    @abstractmethod
    def read(self, t: int) -> bool:
        """Read a sample; False if that failed."""


def _turner(device: Device) -> Callable[[Sequence[int], float], list[float]]:
    """Function from counts along the chip's axes to values along the body's axes."""
    rows = device.axis_rows()
    order = [next((k, sign) for k, (axis, sign) in enumerate(rows) if axis == body) for body in range(3)]

    def turned(counts: Sequence[int], unit: float) -> list[float]:
        return [counts[k] * sign * unit for k, sign in order]

    return turned


class Inertial(Driver):
    """Driver of inertial units with accelerometer and gyroscope in one burst of seven numbers."""

    who = 0x75
    identity: dict[str, int] = {"icm42688p": 0x47, "icm20689": 0x98, "icm20602": 0x12, "mpu6000": 0x68}
    reset: dict[str, tuple[int, int]] = {"icm42688p": (0x11, 0x01)}
    settings: dict[str, tuple[tuple[int, int], ...]] = {"icm42688p": ((0x4E, 0x0F), (0x4F, 0x06), (0x50, 0x06))}
    data: dict[str, int] = {"icm42688p": 0x1D}

    def __init__(self, chips: NativeBoard, number: int, pilot: ReferenceAutopilot) -> None:
        super().__init__(chips, number, pilot)
        chip = self.device.chip
        self._identity = self.identity[chip]
        self._reset = self.reset.get(chip, (0x6B, 0x80))
        usual = ((0x6B, 0x01), (0x1A, 0x01), (0x1B, 0x18), (0x1C, 0x18))  # awake; 176 Hz; 2000 deg/s; 16 g
        self._settings = self.settings.get(chip, usual)
        first = self.data.get(chip, 0x3B)
        self._burst = bytes([first | 0x80]) + bytes(14)
        self._first_is_warmth = chip == "icm42688p"
        self._body = _turner(self.device)
        self._accel, self._gyro = f"imu/{self.unit}/accel_fault", f"imu/{self.unit}/gyro_fault"
        self._stage = 0
        self._check = 0

    def start(self, t: int) -> bool:
        """Reset and configure in two cycles: a reset takes time."""
        if self._stage == 0:
            if self.get(t, self.who) != bytes([self._identity]):
                return False
            self.put(t, *self._reset)
            self._stage = 1
            return False
        self._stage = 0
        for register, value in self._settings:
            self.put(t, register, value)
        return all(self.get(t, register) == bytes([value]) for register, value in self._settings)

    def read(self, t: int) -> bool:
        """Read one burst, and check one setting."""
        register, value = self._settings[self._check]
        self._check = (self._check + 1) % len(self._settings)
        if self.get(t, register) != bytes([value]):
            self.lost(t, f"register 0x{register:02x} is not 0x{value:02x}: bad register")
            return True
        got = self.chips.spi(t, self.bus, self.select, self._burst).data
        counts = _COUNTS.unpack_from(got, 1)
        accel = counts[1:4] if self._first_is_warmth else counts[0:3]
        time_s = t * 1e-9
        self.pilot.sample(self._accel, self._body(accel, G / 2048.0), time_s)
        self.pilot.sample(self._gyro, self._body(counts[4:7], DEG / 16.4), time_s)
        return True


class Magnetic(Driver):
    """Driver of the IST8310 with single measurements."""

    every_ns = 20 * MS

    def __init__(self, chips: NativeBoard, number: int, pilot: ReferenceAutopilot) -> None:
        super().__init__(chips, number, pilot)
        self._body = _turner(self.device)

    def start(self, t: int) -> bool:
        """Check the identity, set averaging, begin the first measurement."""
        return self.get(t, 0x00) == b"\x10" and self.put(t, 0x41, 0x24) and self.put(t, 0x0A, 0x01)

    def read(self, t: int) -> bool:
        """Read the measurement begun in the last cycle, and begin the next."""
        got = self.get(t, 0x02, 7)
        begun = self.put(t, 0x0A, 0x01)
        if len(got) != 7 or not got[0] & 1:
            return False
        field = self._body(struct.unpack_from("<3h", got, 1), 1.0 / 3.3e6)
        self.pilot.sample(f"mag/{self.unit}/fault", field, t * 1e-9)
        return begun


class StMotion(Driver):
    """Base of the drivers of ST's two parts: identity and settings, one of which is checked in each cycle."""

    identity: int
    settings: tuple[tuple[int, int], ...]

    def __init__(self, chips: NativeBoard, number: int, pilot: ReferenceAutopilot) -> None:
        super().__init__(chips, number, pilot)
        self._body = _turner(self.device)
        self._walk = 0x40 if self.device.kind == "spi" else 0x80  # address increment
        self._check = 0

    def start(self, t: int) -> bool:
        """Check the identity, write the settings and read them back."""
        if self.get(t, 0x0F) != bytes([self.identity]):
            return False
        for register, value in self.settings:
            self.put(t, register, value)
        return all(self.get(t, register) == bytes([value]) for register, value in self.settings)

    def intact(self, t: int) -> bool:
        """Whether the setting that is checked in this cycle has the written value."""
        register, value = self.settings[self._check]
        self._check = (self._check + 1) % len(self.settings)
        if self.get(t, register) == bytes([value]):
            return True
        self.lost(t, f"register 0x{register:02x} is not 0x{value:02x}: bad register")
        return False

    def vector(self, t: int, register: int, unit: float) -> list[float] | None:
        """Three numbers, if there is a new sample: status and data in one request; else None."""
        got = self.get(t, register | self._walk, 7)
        if len(got) != 7 or not got[0] & 0x08:
            return None
        return self._body(struct.unpack_from("<3h", got, 1), unit)


class ForceAndField(StMotion):
    """Driver of the LSM303D: 800 Hz and 16 g; in every fifth cycle the magnetometer, 100 Hz and 2 gauss."""

    identity = 0x49
    settings = ((0x20, 0x9F), (0x21, 0x20), (0x24, 0x74), (0x25, 0x00), (0x26, 0x00))
    _turn = 0

    def read(self, t: int) -> bool:
        """Read the specific force, and in every fifth cycle the field."""
        if not self.intact(t):
            return True
        force = self.vector(t, 0x27, 0.732e-3 * G)
        if force is not None:
            self.pilot.sample(f"imu/{self.unit}/accel_fault", force, t * 1e-9)
        self._turn += 1
        if self._turn % 5 == 0:
            field = self.vector(t, 0x07, 0.080e-7)
            if field is not None:
                self.pilot.sample(f"mag/{self.unit}/fault", field, t * 1e-9)
        return force is not None


class Rates(StMotion):
    """Driver of the L3GD20H: 758 Hz and 2000 deg/s."""

    identity = 0xD7
    settings = ((0x20, 0xFF), (0x23, 0xB0))

    def read(self, t: int) -> bool:
        """Read the angular rates of one sample, and check one setting."""
        if not self.intact(t):
            return True
        rates = self.vector(t, 0x27, 70e-3 * DEG)
        if rates is not None:
            self.pilot.sample(f"imu/{self.unit}/gyro_fault", rates, t * 1e-9)
        return rates is not None


class ThreeFields(Driver):
    """Driver of the HMC5883L: continuous at 75 Hz, 1.3 gauss; data in the order x, z, y."""

    every_ns = 16 * MS
    OVERFLOW = -4096

    def __init__(self, chips: NativeBoard, number: int, pilot: ReferenceAutopilot) -> None:
        super().__init__(chips, number, pilot)
        self._body = _turner(self.device)

    def start(self, t: int) -> bool:
        """Check the identity, set rate and gain, begin continuous measurement."""
        return self.get(t, 0x0A, 3) == b"H43" and self.put(t, 0x00, 0x78, 0x20, 0x00)

    def read(self, t: int) -> bool:
        """Read the newest sample together with the settings, to detect a chip that lost them."""
        settings, got = self.get(t, 0x00, 3), self.get(t, 0x03, 6)
        if len(got) != 6 or len(settings) != 3:
            return False
        if settings != b"\x78\x20\x00":
            self.lost(t, f"registers 0x00 to 0x02 are {settings.hex(' ')}, not 78 20 00: bad register")
            return True
        x, z, y = struct.unpack(">3h", got)
        if self.OVERFLOW in (x, y, z):
            return False
        self.pilot.sample(f"mag/{self.unit}/fault", self._body((x, y, z), 1e-4 / 1090.0), t * 1e-9)
        return True


class DynamicPressure(Driver):
    """Driver of the MS4525DO: a conversion per request, ±1 psi on 80 % of 14 bits, with inverted sign."""

    every_ns = 20 * MS
    PSI = 6894.757

    def start(self, t: int) -> bool:
        """Check for an answer, and begin the first conversion."""
        return not self.chips.i2c(t, self.bus, self.address, b"\0", 0).error

    def read(self, t: int) -> bool:
        """Read the conversion requested in the last cycle, and request the next."""
        answer = self.chips.i2c(t, self.bus, self.address, b"", 4)
        answers = not self.chips.i2c(t, self.bus, self.address, b"\0", 0).error
        if answer.error or answer.data[0] >> 6:  # stale, or a fault
            return False
        counts = int.from_bytes(answer.data[:2], "big")
        psi = (counts - 0.1 * 16383.0) * 2.0 / (0.8 * 16383.0) - 1.0
        self.pilot.sample(f"airspeed/{self.unit}/fault", -psi * self.PSI, t * 1e-9)
        return answers


class Barometric(Driver):
    """Driver of the MS5611: pressure every second cycle, temperature every twentieth; second-order compensation."""

    every_ns = 12 * MS  # a conversion takes 9.04 ms

    def __init__(self, chips: NativeBoard, number: int, pilot: ReferenceAutopilot) -> None:
        super().__init__(chips, number, pilot)
        self._words: list[int] = []
        self._turn = 0
        self._converting = 0
        self._warm = 0
        self._reset = False

    def _command(self, t: int, command: int, count: int = 0) -> bytes | None:
        if self.device.kind == "spi":
            return self.chips.spi(t, self.bus, self.select, bytes([command]) + bytes(count)).data[1:]
        answer = self.chips.i2c(t, self.bus, self.address, bytes([command]), count)
        return None if answer.error else answer.data

    def start(self, t: int) -> bool:
        """Reset, read the coefficients and verify their check bits."""
        if not self._reset:
            self._reset = self._command(t, 0x1E) is not None
            return False
        self._reset = False
        words = [self._command(t, 0xA0 + 2 * i, 2) for i in range(8)]
        if any(word is None or len(word) != 2 for word in words):
            return False
        self._words = [int.from_bytes(word or b"", "big") for word in words]
        if not any(self._words) or _crc4(self._words) != self._words[7] & 15:
            return False
        self._turn, self._warm = 0, 0
        return self._convert(t, 2)

    def _convert(self, t: int, what: int) -> bool:
        self._converting = what
        return self._command(t, 0x48 if what == 1 else 0x58) is not None

    def read(self, t: int) -> bool:
        """Read the conversion begun in the last cycle, and begin the next."""
        got = self._command(t, 0x00, 3)
        value = int.from_bytes(got or b"", "big")
        done = self._converting
        self._turn += 1
        begun = self._convert(t, 2 if self._turn % 20 == 0 else 1)
        if got is None or value in (0, 0xFFFFFF) or not begun:
            return False
        if done == 2:
            self._warm = value
            return True
        if not self._warm:
            return False
        c = self._words
        dt = self._warm - c[5] * 256
        temp = 2000 + (dt * c[6] >> 23)
        off, sens = (c[2] << 16) + (c[4] * dt >> 7), (c[1] << 15) + (c[3] * dt >> 8)
        if temp < 2000:
            f = (temp - 2000) ** 2
            off -= 5 * f >> 1
            sens -= 5 * f >> 2
        pressure = ((value * sens >> 21) - off) / 32768.0
        if not 1000.0 < pressure < 120_000.0:
            return False
        self.pilot.sample(f"baro/{self.unit}/altitude", pressure_height_m(pressure), t * 1e-9)
        return True


def _crc4(words: Sequence[int]) -> int:
    """Check bits of the coefficients, application note AN520."""
    rest = 0
    for i in range(16):
        word = words[i >> 1] & (0xFF00 if i >> 1 == 7 else 0xFFFF)
        rest ^= word & 0xFF if i & 1 else word >> 8
        for _ in range(8):
            rest = (rest << 1) ^ (0x3000 if rest & 0x8000 else 0)
            rest &= 0xFFFF
    return rest >> 12 & 15


class Positioning(Driver):
    """Driver of the NEO-M8N: UBX at 115200 Bd, ten fixes a second."""

    silence_ns = 2_000 * MS

    def __init__(self, chips: NativeBoard, number: int, pilot: ReferenceAutopilot, home: Place) -> None:
        super().__init__(chips, number, pilot)
        self._home = home
        self._heard = bytearray()
        self._last = 0
        self._tries = 0

    def _send(self, t: int, group: int, kind: int, payload: bytes) -> None:
        body = bytes([group, kind]) + len(payload).to_bytes(2, "little") + payload
        a = b = 0
        for value in body:
            a = (a + value) & 0xFF
            b = (b + a) & 0xFF
        self.chips.uart_send(t, self.number, b"\xb5\x62" + body + bytes([a, b]))

    def start(self, t: int) -> bool:
        """Set the baud rate, then the messages; the receiver may begin at either rate."""
        baud = (9600, 115_200)[self._tries % 2]
        self._tries += 1
        serial = self.chips.memory.device[self.number].serial
        serial.baud = baud
        port = struct.pack("<BBHIIHHHH", 1, 0, 0, 0x8D0, 115_200, 1, 1, 0, 0)
        self._send(t, 0x06, 0x00, port)
        serial.baud = 115_200
        self._send(t + 40 * MS, 0x06, 0x08, struct.pack("<HHH", 100, 1, 1))
        self._send(t + 45 * MS, 0x06, 0x01, bytes([0x01, 0x07, 1]))
        self._heard.clear()
        self._last = t
        return True

    def read(self, t: int) -> bool:
        """Parse fixes from the received bytes."""
        self._heard += self.chips.uart_receive(t, self.number)
        while True:
            at = self._heard.find(b"\xb5\x62")
            if at < 0:
                del self._heard[:-1]
                break
            del self._heard[:at]
            if len(self._heard) < 6:
                break
            length = self._heard[4] | self._heard[5] << 8
            if length > 512:
                del self._heard[:2]
                continue
            if len(self._heard) < length + 8:
                break
            frame = bytes(self._heard[2 : length + 6])
            a = b = 0
            for value in frame:
                a = (a + value) & 0xFF
                b = (b + a) & 0xFF
            good = self._heard[length + 6 : length + 8] == bytes([a, b])
            del self._heard[: length + 8 if good else 2]
            if good and frame[:2] == b"\x01\x07" and length >= 84:
                self._fix(t, frame[4:])
        if t - self._last > self.silence_ns:
            self.lost(t, "silent for 2 s")
        return True

    def _fix(self, t: int, fix: bytes) -> None:
        self._last = t
        kind, flags = fix[20], fix[21]
        east, north, height, _, eph, epv, *velocity = struct.unpack_from("<iiiiIIiii", fix, 24)
        self.pilot.fix(
            int(self.unit),
            to_local(self._home, north * 1e-7, east * 1e-7, height * 1e-3),
            [value * 1e-3 for value in velocity],
            t * 1e-9,
            kind=float(kind if flags & 1 else 0),
            eph_m=eph * 1e-3,
            epv_m=epv * 1e-3,
        )


class Voltage(Driver):
    """Driver of the ADS1115: battery voltage behind a divider, continuously at 128 Hz, 6.144 V range."""

    every_ns = 100 * MS

    def start(self, t: int) -> bool:
        """Select AIN0 against ground, continuous conversion."""
        return self.put(t, 0x01, 0x40, 0x83)

    def read(self, t: int) -> bool:
        """Read the newest conversion as the battery's voltage."""
        got = self.get(t, 0x00, 2)
        if len(got) != 2:
            return False
        volts = int.from_bytes(got, "big", signed=True) * 6.144 / 32768.0 / self.device.scale
        if self.samples:  # the first conversion may not be finished
            self.pilot.feed("monitor/battery.voltage", volts)
        return True


class Pulses(Driver):
    """Driver of the PCA9685: a pulse of 1 to 2 ms for each motor, 400 Hz."""

    PRESCALE = 14  # 25 MHz / 4096 / 15 = 406.9 Hz
    STEP_S = 15 / 25e6

    def __init__(self, chips: NativeBoard, number: int, pilot: ReferenceAutopilot, motors: Sequence[str]) -> None:
        super().__init__(chips, number, pilot)
        self.motors = list(motors)
        self._sources = [pilot.commands[name] for name in motors]
        self._drive = np.frombuffer(chips.fields(number).drive)[: len(self.motors)]

    def start(self, t: int) -> bool:
        """Set the rate while asleep, then wake with address increment."""
        done = self.put(t, 0x00, 0x10) and self.put(t, 0xFE, self.PRESCALE) and self.put(t, 0x00, 0x20)
        return done and self.get(t, 0xFE) == bytes([self.PRESCALE])

    def read(self, t: int) -> bool:
        """Write all pulses in one request."""
        on = self.pilot.armed
        values = bytearray()
        for source in self._sources:
            counts = round((1.0 + float(source[0])) * 1e-3 / self.STEP_S) if on else 0
            values += bytes([0, 0, counts & 0xFF, counts >> 8])
        return self.put(t, 0x06, *values)

    def throttles(self) -> list[float]:
        """Motor commands from the chip's output pulses: 0 below 1 ms."""
        return [min(1.0, max(0.0, pulse_s * 1e3 - 1.0)) for pulse_s in self._drive.tolist()]


DRIVERS: dict[str, Callable[..., Driver]] = {
    "icm42688p": Inertial,
    "icm20689": Inertial,
    "icm20602": Inertial,
    "mpu6000": Inertial,
    "lsm303d": ForceAndField,
    "l3gd20h": Rates,
    "ist8310": Magnetic,
    "hmc5883l": ThreeFields,
    "ms4525do": DynamicPressure,
    "ms5611": Barometric,
    "neo_m8n": Positioning,
    "ads1115": Voltage,
}
UNUSED = ("sbus",)  # the reference autopilot flies missions: it uses no sticks


def make_drivers(chips: NativeBoard, pilot: ReferenceAutopilot, motors: Sequence[str]) -> list[Driver]:
    """A driver for each device of a board that the reference autopilot uses."""
    board: Board = chips.board
    made: list[Driver] = []
    for number, device in enumerate(board.device):
        if device.chip == "pca9685":
            if len(motors) <= 16:
                made.append(Pulses(chips, number, pilot, motors))
        elif device.chip == "neo_m8n":
            made.append(Positioning(chips, number, pilot, pilot.vehicle.spec.home))
        elif device.chip in DRIVERS:
            made.append(DRIVERS[device.chip](chips, number, pilot))
        elif device.chip not in UNUSED:
            raise LinkError(
                f"board {board.id}: the reference autopilot has no driver for {device.chip} ({device.name}); it has "
                f"{', '.join(DRIVERS)}"
            )
    return made
