"""The programming interfaces of drivers on our chips, and ten drivers from PyPI that nobody here wrote.

The drivers are those of locks/requirements-drivers.lock, which `make test` installs into a folder of their own
without their dependencies: these are hardware libraries of single boards, in whose place our buses stand. Without a
package its test is skipped and says so.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import math
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import serial

from ironbird.boards.board import parse_board
from ironbird.boards.clients import I2cPort, SerialPort, SpiPort, Terminal, VirtualClock, drivers_on
from ironbird.boards.wiring import Wiring
from ironbird.faults.catalog import parse_fault
from ironbird.faults.wire import WIRE_FAULTS

G = 9.80665
MPU = {
    "accel_x": 0.5,
    "accel_y": -1.0,
    "accel_z": 9.7,
    "gyro_x": 0.2,
    "gyro_y": -0.1,
    "gyro_z": 0.05,
    "temperature": 303.15,
}
BARO = {"pressure": 100009.0, "temperature": 293.15 + 0.07}


def _wiring(*devices: str, faults: tuple[str, ...] = ()) -> Wiring:
    """A board of lines `name chip bus select-or-address`."""
    text = 'schema = 1\nid = "bench"\nabout = ""\nsource = ""\n'
    for device in devices:
        name, chip, bus, place = device.split()
        key = "address" if bus.startswith("i2c") else "select"
        text += f'[[device]]\nname = "{name}"\nchip = "{chip}"\nbus = "{bus}"\n' + (
            f"{key} = {place}\n" if place != "-" else ""
        )
    return Wiring(parse_board(text.encode(), "bench"), [parse_fault(f, WIRE_FAULTS) for f in faults])


def _fed(device: str, values: dict[str, float], faults: tuple[str, ...] = ()) -> Wiring:
    wiring = _wiring(device, faults=faults)
    wiring.feed(0, **values)
    return wiring


DRIVERS = Path(sys.prefix) / "drivers"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a driver afresh, so that it sees the modules of this test."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(DRIVERS))

    def load(name: str) -> Any:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            pytest.skip(f"{name} is not installed in {DRIVERS}: `make test` does it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of code that is not ours
            return importlib.import_module(name)

    yield load
    for name in set(sys.modules) - before:
        if not name.startswith(("ironbird", "_pytest", "pytest")):
            del sys.modules[name]


def test_smbus_spidev_and_sleep_are_ours_inside_and_back_outside() -> None:
    import time

    sleep = time.sleep
    wiring = _fed("imu mpu6000 i2c1 0x68", MPU)
    with drivers_on(wiring) as clock:
        smbus = importlib.import_module("smbus")
        bus = smbus.SMBus(1)
        assert bus.read_byte_data(0x68, 0x75) == 0x68
        time.sleep(3600.0)
        assert clock.now > 3600e9
        with pytest.raises(OSError, match="Remote I/O") as error:
            bus.read_byte(0x33)
        assert error.value.errno == 121
    assert time.sleep is sleep and "smbus" not in sys.modules


def test_a_bus_is_scanned() -> None:
    wiring = _wiring("a ist8310 i2c1 0x0E", "b ms5611 i2c1 0x77", "c pca9685 i2c1 0x40")
    assert I2cPort(wiring, VirtualClock(), "i2c1").scan() == [0x0E, 0x40, 0x70, 0x77]  # 0x70 calls all PCA9685


def test_adafruits_mpu6050_reads_force_rate_and_temperature(driver: Any) -> None:
    wiring = _fed("imu mpu6000 i2c1 0x68", MPU)
    with drivers_on(wiring) as clock:
        unit = driver("adafruit_mpu6050").MPU6050(I2cPort(wiring, clock, "i2c1"))
        clock.sleep(0.1)
        assert unit.acceleration == pytest.approx((0.5, -1.0, 9.7), abs=0.01)
        assert unit.gyro == pytest.approx((0.2, -0.1, 0.05), abs=0.002)
        assert unit.temperature == pytest.approx(30.0, abs=0.05)


def test_adafruits_mpu6050_reports_a_broken_wire(driver: Any) -> None:
    for fault, number in (("sda_short_low", 16), ("scl_short_low", 110), ("sda_open_high", 121)):
        wiring = _fed("imu mpu6000 i2c1 0x68", MPU, (f"wire.{fault}@1:instance=i2c1,start=0.5",))
        with drivers_on(wiring) as clock:
            unit = driver("adafruit_mpu6050").MPU6050(I2cPort(wiring, clock, "i2c1"))
            clock.sleep(0.6)
            with pytest.raises(OSError) as error:
                _ = unit.acceleration
            assert error.value.errno == number


I2C_ERRORS = {"wire.sda_short_low@1:instance=i2c1": 16, "wire.scl_short_low@1:instance=i2c1": 110,
              "wire.sda_open_high@1:instance=i2c1": 121, "wire.nack@1:instance=part": 121}  # fmt: skip


@pytest.mark.parametrize(("order", "number"), list(I2C_ERRORS.items()))
def test_drivers_on_i2c_report_the_error_of_the_bus(driver: Any, order: str, number: int) -> None:
    """EBUSY, ETIMEDOUT and EREMOTEIO, as Linux says it of a real line."""

    def raspberry(clock: VirtualClock, wiring: Wiring) -> Any:
        return driver("mpu6050").mpu6050(0x68).get_accel_data

    def gyro(clock: VirtualClock, wiring: Wiring) -> Any:
        unit = driver("adafruit_l3gd20").L3GD20_I2C(I2cPort(wiring, clock, "i2c1"))
        return lambda: unit.gyro

    def pimoroni(clock: VirtualClock, wiring: Wiring) -> Any:
        driver("i2cdevice")
        unit = driver("lsm303d").LSM303D(0x1D, i2c_dev=importlib.import_module("smbus2").SMBus(1))
        unit.setup()
        return unit.accelerometer

    def baro(clock: VirtualClock, wiring: Wiring) -> Any:
        unit = driver("navio2.ms5611").MS5611(bus="I2C")
        unit.initialize()
        return unit.update

    parts = {"mpu6000 i2c1 0x68": raspberry, "l3gd20h i2c1 0x6B": gyro, "lsm303d i2c1 0x1D": pimoroni,
             "ms5611 i2c1 0x77": baro}  # fmt: skip
    for part, made in parts.items():
        wiring = _wiring(f"part {part}", faults=(f"{order},start=1",))
        with drivers_on(wiring) as clock:
            read = made(clock, wiring)
            read()
            clock.now = 1_100_000_000
            with pytest.raises(OSError) as error:
                read()
            assert error.value.errno == number, part


@pytest.mark.parametrize(("order", "byte"), [("wire.miso_open_high", 0xFF), ("wire.miso_short_low", 0x00)])
def test_drivers_on_spi_read_the_level_of_a_broken_line(driver: Any, order: str, byte: int) -> None:
    """SPI has no acknowledge: every bit is the level of the line, and a driver that does not look takes it for data."""
    word = -1 if byte else 0  # 16 bits
    wiring = _fed("imu icm20602 spi0 0", MPU, (f"{order}@1:instance=imu,start=1",))
    with drivers_on(wiring) as clock:
        unit = driver("icm20602").ICM20602(0, 0)
        clock.sleep(0.1)
        unit.initialize()
        clock.now = 1_100_000_000
        force = unit.read_accel_data()
        assert abs(force["x"]) < 0.001 and {force[axis] for axis in "xyz"} == {force["x"]}
        assert (force["x"] == 0.0) == (word == 0)


@pytest.mark.parametrize(("order", "byte"), [("wire.miso_open_high", 0xFF), ("wire.miso_short_low", 0x00)])
def test_emlids_drivers_take_the_level_of_a_broken_line_for_registers(driver: Any, order: str, byte: int) -> None:
    orders = tuple(f"{order}@1:instance={name},start=1" for name in ("baro", "imu"))
    wiring = _wiring("baro ms5611 spi0 0", "imu mpu6000 spi0 1", faults=orders)
    with drivers_on(wiring) as clock:
        core, baro = driver("navio2.mpu9250").MPU9250(), driver("navio2.ms5611").MS5611(bus="SPI")
        assert core.ReadReg(0x75 | 0x80) == 0x68
        clock.now = 1_100_000_000
        assert core.ReadReg(0x75 | 0x80) == byte
        baro.initialize()
        assert {getattr(baro, f"C{n}") for n in range(1, 7)} == {byte << 8 | byte}  # no calibration is like this


def test_pyubx2_finds_no_message_in_a_dead_line_and_few_in_a_noisy_one(driver: Any) -> None:
    def fixes(*orders: str) -> int:
        wiring = _fed("gps neo_m8n uart0 -", GPS, orders)
        with drivers_on(wiring) as clock:
            ubx = driver("pyubx2")
            port = SerialPort(wiring, clock, "uart0", timeout=0.1)
            port.write(ubx.UBXMessage("CFG", "CFG-MSG", ubx.SET, msgClass=1, msgID=7, rateUART1=1).serialize())
            port.write(ubx.UBXMessage("CFG", "CFG-RATE", ubx.SET, measRate=200, navRate=1, timeRef=0).serialize())
            raw = bytearray()
            while clock.now < 2_500_000_000:
                raw += port.read(100)
            reader, found = ubx.UBXReader(io.BytesIO(bytes(raw)), protfilter=2, quitonerror=0), 0
            with contextlib.suppress(UnicodeDecodeError):  # it takes broken sentences for text
                found = sum(getattr(message, "identity", "") == "NAV-PVT" for _, message in reader)
            return found

    assert fixes() >= 4  # five a second
    assert fixes("wire.rx_short_high@1:instance=gps,start=0.1") == 0
    assert fixes("wire.rx_flips@1:instance=gps,severity=0.02,start=0.1") < 4


def test_adafruits_l3gd20_reads_rates_by_i2c_and_by_spi(driver: Any) -> None:
    rates = {"gyro_x": 0.3, "gyro_y": -0.2, "gyro_z": 0.1, "temperature": 298.0}
    wiring = _fed("gyro l3gd20h i2c1 0x6B", rates)
    with drivers_on(wiring) as clock:
        unit = driver("adafruit_l3gd20").L3GD20_I2C(I2cPort(wiring, clock, "i2c1"))
        clock.sleep(0.1)
        assert unit.gyro == pytest.approx((0.3, -0.2, 0.1), abs=0.001)
    wiring = _fed("gyro l3gd20h spi0 0", rates)
    with drivers_on(wiring) as clock:
        port = SpiPort(wiring, clock, "spi0")
        unit = driver("adafruit_l3gd20").L3GD20_SPI(port, port.select(0))
        clock.sleep(0.1)
        # This class of the driver turns degrees into radians twice.
        assert [math.degrees(w) for w in unit.gyro] == pytest.approx((0.3, -0.2, 0.1), abs=0.001)


def test_pimoronis_lsm303d_reads_force_and_field(driver: Any) -> None:
    values = {
        "accel_x": 1.0,
        "accel_y": 2.0,
        "accel_z": 9.0,
        "field_x": 2e-5,
        "field_y": 1e-6,
        "field_z": 4e-5,
        "temperature": 300.0,
    }
    wiring = _fed("am lsm303d i2c1 0x1D", values)
    with drivers_on(wiring) as clock:
        driver("i2cdevice")
        unit = driver("lsm303d").LSM303D(0x1D, i2c_dev=importlib.import_module("smbus2").SMBus(1))
        unit.accelerometer()  # sets the chip up and reads at once
        clock.sleep(0.5)
        assert [a * G for a in unit.accelerometer()] == pytest.approx((1.0, 2.0, 9.0), abs=0.01)
        # It takes 2 gauss for full scale, where the data sheet has 0.080 mGa a count: 1.31 times that.
        assert [m * 1e-4 * 0.08e-3 * 32767 / 2 for m in unit.magnetometer()] == pytest.approx(
            (2e-5, 1e-6, 4e-5), abs=1e-6
        )


def test_adafruits_lsm9ds0_takes_the_pair_of_the_pixhawk_1(driver: Any) -> None:
    wiring = _wiring("am lsm303d i2c1 0x1D", "gyro l3gd20h i2c1 0x6B")
    wiring.feed(0, accel_x=1.0, accel_y=2.0, accel_z=9.0, field_x=2e-5, field_y=1e-6, field_z=4e-5, temperature=300.0)
    wiring.feed(1, gyro_x=0.3, gyro_y=-0.2, gyro_z=0.1, temperature=300.0)
    wiring.chips[1].identity = 0xD7 ^ 0xD4  # type: ignore[attr-defined]  # the driver takes the L3GD20 of that part
    with drivers_on(wiring) as clock:
        unit = driver("adafruit_lsm9ds0").LSM9DS0_I2C(I2cPort(wiring, clock, "i2c1"))
        clock.sleep(0.5)
        assert list(unit.acceleration) == pytest.approx((1.0, 2.0, 9.0), abs=0.02)
        assert [math.radians(w) for w in unit.gyro] == pytest.approx((0.3, -0.2, 0.1), abs=0.01)


def test_the_micropython_ms5611_reads_pressure(driver: Any) -> None:
    wiring = _fed("baro ms5611 i2c1 0x77", BARO)
    with drivers_on(wiring) as clock:
        unit = driver("micropython_ms5611.ms5611").MS5611(I2cPort(wiring, clock, "i2c1"), 0x77)
        temperature, pressure = unit.measurements
        # It takes the first byte of a conversion for the last one too: up to 255 counts, 4 Pa and 0.2 K wrong.
        assert pressure == pytest.approx(100.009, abs=0.2) and temperature == pytest.approx(20.07, abs=1.0)


@pytest.mark.parametrize("bus", ["I2C", "SPI"])
def test_emlids_ms5611_reads_pressure(driver: Any, bus: str) -> None:
    wiring = _fed("baro ms5611 i2c1 0x77" if bus == "I2C" else "baro ms5611 spi0 0", BARO)
    with drivers_on(wiring):
        unit = driver("navio2.ms5611").MS5611(bus=bus)
        unit.initialize()
        unit.update()
        assert unit.returnPressure() == pytest.approx(1000.09, abs=0.02)
        assert unit.returnTemperature() == pytest.approx(20.07, abs=0.02)


def test_emlids_mpu9250_driver_reads_the_inertial_core(driver: Any) -> None:
    wiring = _fed("imu mpu6000 spi0 1", MPU)
    with drivers_on(wiring) as clock:
        unit = driver("navio2.mpu9250").MPU9250()
        assert unit.ReadReg(0x75 | 0x80) == 0x68 or unit.whoami() == 0x68
        unit.WriteReg(0x6B, 0x01)
        unit.set_acc_scale(0x08)  # 4 g
        clock.sleep(0.1)
        unit.read_acc()
        assert list(unit.accelerometer_data) == pytest.approx((0.5, -1.0, 9.7), abs=0.02)


def test_icm20602_reads_force_and_rate(driver: Any) -> None:
    wiring = _fed("imu icm20602 spi0 0", MPU)
    with drivers_on(wiring) as clock:
        unit = driver("icm20602").ICM20602(0, 0)
        clock.sleep(0.1)
        unit.initialize()
        clock.sleep(0.1)
        force = unit.read_accel_data()
        assert [force[axis] * G for axis in "xyz"] == pytest.approx((0.5, -1.0, 9.7), abs=0.05)


def test_mpu6050_raspberrypi_reads_force_rate_and_temperature(driver: Any) -> None:
    wiring = _fed("imu mpu6000 i2c1 0x68", MPU)
    with drivers_on(wiring) as clock:
        unit = driver("mpu6050").mpu6050(0x68)
        clock.sleep(0.1)
        force, rate = unit.get_accel_data(), unit.get_gyro_data()
        assert (force["x"], force["y"], force["z"]) == pytest.approx((0.5, -1.0, 9.7), abs=0.01)
        assert math.radians(rate["x"]) == pytest.approx(0.2, abs=0.002)
        assert unit.get_temp() == pytest.approx(30.0, abs=0.05)


def test_piicodevs_mpu6050_reads_force(driver: Any) -> None:
    wiring = _fed("imu mpu6000 i2c1 0x68", MPU)
    with drivers_on(wiring) as clock:
        unit = driver("PiicoDev_MPU6050").PiicoDev_MPU6050()
        clock.sleep(0.1)
        force = unit.read_accel_data()
        assert (force["x"], force["y"], force["z"]) == pytest.approx((0.5, -1.0, 9.7), abs=0.02)


GPS = {
    "latitude": 0.8,
    "longitude": 0.1,
    "height": 500.0,
    "velocity_n": 3.0,
    "eph": 1.0,
    "epv": 1.5,
    "satellites": 14.0,
    "fix": 3.0,
}


def test_pyubx2_configures_the_receiver_and_reads_fixes(driver: Any) -> None:
    wiring = _fed("gps neo_m8n uart0 -", GPS)
    with drivers_on(wiring) as clock:
        ubx = driver("pyubx2")
        port = SerialPort(wiring, clock, "uart0", timeout=2.0)
        port.write(ubx.UBXMessage("MON", "MON-VER", ubx.POLL).serialize())
        port.write(ubx.UBXMessage("CFG", "CFG-MSG", ubx.SET, msgClass=1, msgID=7, rateUART1=1).serialize())
        port.write(ubx.UBXMessage("CFG", "CFG-RATE", ubx.SET, measRate=200, navRate=1, timeRef=0).serialize())
        reader = ubx.UBXReader(port, protfilter=2)  # UBX: sentences of NMEA come between
        said = [reader.read()[1] for _ in range(5)]
        assert [m.identity for m in said] == ["MON-VER", "ACK-ACK", "ACK-ACK", "NAV-PVT", "NAV-PVT"]
        assert said[-1].lat == pytest.approx(math.degrees(0.8), abs=1e-6) and said[-1].numSV == 14
        assert said[-1].velN == 3000 and said[-1].fixType == 3


def test_a_terminal_serves_a_program_that_opens_a_path() -> None:
    wiring = _fed("gps neo_m8n uart0 -", GPS)
    with Terminal(wiring, "uart0") as terminal, serial.Serial(terminal.path, 9600, timeout=2.0) as line:
        answer = b""
        for _ in range(10):  # a receiver that has just got its power hears nothing yet: drivers ask again
            line.write(bytes.fromhex("b5620a0400000e34"))
            answer += line.read(600)  # sentences of NMEA come between
            if b"00080000" in answer:
                break
    assert b"\xb5\x62\x0a\x04" in answer and b"00080000" in answer


def test_a_terminal_that_no_program_reads_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    wiring = _fed("gps neo_m8n uart0 -", GPS)
    said: list[int] = []
    enough = threading.Event()

    def much(now: int, bus: str) -> bytes:
        said.append(now)
        if len(said) > 3:
            enough.set()
        return bytes(10_000)  # more than the buffer of a pseudo-terminal holds

    monkeypatch.setattr(wiring, "uart_receive", much)
    with Terminal(wiring, "uart0") as terminal:
        assert enough.wait(60.0)
    assert not terminal._thread.is_alive()
