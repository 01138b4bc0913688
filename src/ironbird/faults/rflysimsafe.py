"""RFlySimSafe's faults and test cases mapped to Ironbird's: plain data, for the import of test cases.

Source: github.com/RflySim/RFlySimSafe, commit 22cef0d (2024), and two related sources that number the same faults
differently. Map A is RFlySimSafe's own model and the one used here. Map B is that of the RflySim PHM documents, map C
that of the RflyMAD data set. An id means nothing without the name of its map.

Their noise is uniform in two bounds. Ironbird's is normal; equal means equal standard deviation, the bound divided by
the square root of three. Their vehicle has one sensor of each kind, so there is an injection for every instance that it
has. A severity greater than 1 is limited to 1, with a remark.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """Mapping of one fault id of map A."""

    name: str
    fault: str  # Ironbird's fault id; empty if there is none
    translation: str  # how its parameters become Ironbird's
    remark: str


class Case(NamedTuple):
    """One published test case: 29 of them, each flown in software and with hardware in the loop."""

    name: str
    ids: tuple[int, ...]  # fault ids of map A
    injected: str  # in RFlySimSafe's notation, after the climb to 15 m
    orders: tuple[str, ...]  # in Ironbird's notation, without the start time
    remark: str


MAP_A: dict[int, Entry] = {
    123450: Entry(
        "motor", "rotor.speed_loss@1", "instance = motor; severity = 1 - factor",
        "Their factor acts on the command, Ironbird's on the speed, idle speed included. One slot acts "
        "on motors 1 and 2. Map C scales the pulse width; its modes 2 and 11 are the shapes ramp and intermittent.",
    ),
    123451: Entry(
        "propeller", "rotor.blade_damage@1", "instance = rotor; severity = 1 - factor²",
        "Their factor acts on the speed, so thrust goes with its square. A parameter that is not sent is 0 and stops "
        "its rotor. Map C scales thrust and torque: severity = 1 - factor.",
    ),
    123452: Entry(
        "battery: custom hover time", "battery.low_capacity@1",
        "severity = (1 - hover time / healthy hover time) / 0.99", "",
    ),
    123453: Entry("battery: power off", "battery.power_off@1", "no parameters", ""),
    123454: Entry("battery: low voltage", "battery.low_voltage@1", "severity = 1 - ratio", ""),
    123455: Entry(
        "battery: low capacity", "battery.low_capacity@1", "severity = (1 - ratio) / 0.99, cut to 1",
        "Ironbird leaves a hundredth.",
    ),
    123456: Entry(
        "load fall", "load.drop@2", "severity = ratio / 0.99, the ratio cut to 0.95",
        "Ironbird keeps the inertia.",
    ),
    123457: Entry(
        "load shift", "load.shift@1",
        "one order per axis: severity = ratio · arm length · share of the arm / 0.05 m, cut to 1",
        "Ironbird moves the centre of gravity and keeps the inertia. Severity has no sign: forward, right and down.",
    ),
    123458: Entry(
        "load leak", "load.leak@2", "severity = ratio / 0.99, cut to 1; shape=ramp, rise = 1 / rate",
        "Ironbird keeps the inertia.",
    ),
    123459: Entry(
        "constant wind", "wind.steady@1", "one order per axis: severity = component / (20 m/s)",
        "Severity has no sign: order wind to the south or west with the flight's own wind.",
    ),
    123540: Entry(
        "gust", "wind.gust@1", "severity = strength / (20 m/s); shape=intermittent, period = 60 / frequency",
        "RFlySimSafe's has random strength, heading and period, and smooth flanks. Ironbird's repeats, with edges.",
    ),
    123541: Entry(
        "turbulence", "wind.turbulence@1", "severity = 2.5 strength / (30 m/s)",
        "In CopterSim the wind at 20 ft is 2.5 times the strength. RFlySimSafe has its own amplitude beside it, 3 m/s.",
    ),
    123542: Entry("wind shear", "wind.shear@1", "axis=0; severity = strength / (10 m/s)", ""),
    123543: Entry("wind noise", "wind.turbulence@1", "by trial: there is no common measure", "The nearest one."),
    123544: Entry(
        "accelerometer noise", "imu.accel_noise@1",
        "every instance: severity = 5 (0.2 + 0.8 gain) · 0.1 m/s² / √3 / (5 m/s²); twice that for axis=2; cut to 1",
        "RFlySimSafe's is new every 3 ms.",
    ),
    123545: Entry(
        "gyroscope noise", "imu.gyro_noise@1",
        "every instance: severity = 5 (0.2 + 0.8 gain) · 0.01 rad/s / √3 / (1 rad/s)", "",
    ),
    123546: Entry(
        "magnetometer noise", "mag.noise@1", "every instance: severity = 2 (0.2 + 0.8 gain) · 1e-6 T / √3 / (5e-5 T)",
        "RFlySimSafe's is in gauss; 1 G is 1e-4 T.",
    ),
    123547: Entry(
        "barometer: coupling with speed", "baro.bias@1", "severity = pressure error at the speed flown / (500 Pa)",
        "RFlySimSafe's grows with dynamic pressure and is zero in hover; Ironbird's is constant.",
    ),
    123548: Entry(
        "GPS", "gnss.position_noise@1",
        "every instance: severity = (0.3 + 0.7 gain) · 0.2 m / √3 / (30 m); twice that for axis=2; "
        "satellites: gnss.jamming@1 with severity = 1 - satellites / 14",
        "A receiver of Ironbird sees 14 satellites (ublox_f9p 24). Its fix type follows from what is left; below four "
        "there is no fix.",
    ),
    123549: Entry("pod (camera) fault 1", "", "none", "Ironbird has no fault of the camera in this list."),
    125340: Entry("pod (camera) fault 2", "", "none", "Ironbird has no fault of the camera in this list."),
    125341: Entry("pod (camera) fault 3", "", "none", "Ironbird has no fault of the camera in this list."),
}  # fmt: skip

# Meaning of the same ids in other maps
MAP_B: dict[int, str] = {
    123450: "motor", 123451: "propeller", 123452: "battery failure", 123453: "low voltage", 123454: "low capacity",
    123455: "load fall", 123456: "load drift", 123457: "load leak", 123458: "constant wind", 123459: "gust",
    123540: "turbulence", 123541: "wind shear", 123542: "accelerometer noise", 123543: "gyroscope noise",
    123544: "magnetometer noise", 123545: "barometer noise", 123546: "GPS",
}  # fmt: skip
MAP_C: dict[int, str] = {
    123450: "motor", 123451: "propeller", 123452: "accelerometer", 123453: "gyroscope", 123454: "barometer",
    123455: "magnetometer", 123456: "GPS", 123457: "payload drop", 123458: "payload shift", 123459: "payload leak",
    123540: "custom hover time", 123541: "battery failure", 123542: "low voltage", 123543: "low capacity",
    123544: "constant wind", 123545: "gust", 123546: "turbulence", 123547: "crosswind, shear", 123548: "wind noise",
    123549: "no fault",
}  # fmt: skip

# Faults of the other maps that map A does not have
ELSEWHERE: dict[str, Entry] = {
    "B 111111": Entry(
        "motor noise", "link.noise@1", "severity = deviation of the command / 0.3",
        "All motors at once. Map A adds such noise to its motor fault.",
    ),
    "B 123457 in PX4": Entry(
        "radio control", "", "none",
        "Injected inside PX4 by a message. A silent link is a failsafe of the navigator.",
    ),
    "C 123452 mode 3": Entry(
        "accelerometer bias and gain", "imu.accel_bias@1", "axis; severity = bias / (5 m/s²); gain as 123544 in map A",
        "The other sensors alike: imu.gyro_bias@1, mag.bias@1, baro.bias@1, gnss.position_bias@1.",
    ),
    "C 123452 mode 4": Entry(
        "accelerometer scale", "imu.accel_scale@1", "axis; severity = factor - 1",
        "Ironbird's reads too much, never too little. The other sensors alike.",
    ),
}  # fmt: skip


def _each(fault: str, count: int, severity: float) -> tuple[str, ...]:
    """One injection of a fault per sensor, as texts."""
    return tuple(f"{fault}:instance={number},severity={severity:g}" for number in range(1, count + 1))


def _axes(fault: str, count: int, level: float, down: float) -> tuple[str, ...]:
    """One injection per sensor and axis: noise is stronger along the vertical."""
    return tuple(
        f"{fault}:instance={number},axis={axis},severity={severity:g}"
        for number in range(1, count + 1)
        for axis, severity in enumerate((level, level, down))
    )


IMUS, MAGNETOMETERS, RECEIVERS = 1, 1, 1  # sensors that their model feeds to PX4, and that quad_f450_rflysimsafe has
_CUT = "Severity is cut to 1."
_FLOWN = "During a leg of 250 m to the north."

CASES: dict[str, Case] = {
    "ST001": Case("motor 2 at 0.8", (123450,), "2,6,123450,1,0.8", ("rotor.speed_loss@1:instance=2,severity=0.2",), ""),
    "ST002": Case("motor 2 at 0.6", (123450,), "2,6,123450,1,0.6", ("rotor.speed_loss@1:instance=2,severity=0.4",), ""),
    "ST003": Case("motor 2 at 0.4", (123450,), "2,6,123450,1,0.4", ("rotor.speed_loss@1:instance=2,severity=0.6",), ""),
    "ST004": Case("motor 2 at 0.2", (123450,), "2,6,123450,1,0.2", ("rotor.speed_loss@1:instance=2,severity=0.8",), ""),
    "ST005": Case("motor 2 off", (123450,), "2,6,123450,1,0", ("rotor.speed_loss@1:instance=2,severity=1",), ""),
    "ST006": Case("power off", (123453,), "2,6,123453", ("battery.power_off@1:severity=1",), ""),
    "ST007": Case(
        "low voltage 0.5", (123454,), "2,6,123454,0.5", ("battery.low_voltage@1:severity=0.5",),
        "Their two loops differ by a factor of two in impact speed.",
    ),
    "ST008": Case("low voltage 0", (123454,), "2,6,123454,0", ("battery.low_voltage@1:severity=1",), ""),
    "ST009": Case("low capacity 0.5", (123455,), "2,6,123455,0.5", ("battery.low_capacity@1:severity=0.50505",), ""),
    "ST010": Case(
        "low capacity 0", (123455,), "2,6,123455,0", ("battery.low_capacity@1:severity=1",),
        f"{_CUT} Ironbird keeps a hundredth and falls later.",
    ),
    "ST011": Case(
        "GPS noise 20", (123548,), "2,3,250,0,-15;2,6,123548,123548,20,3,10",
        _axes("gnss.position_noise@1", RECEIVERS, 0.05504, 0.110081), _FLOWN,
    ),
    "ST012": Case(
        "GPS noise 50", (123548,), "2,3,250,0,-15;2,6,123548,123548,50,3,10",
        _axes("gnss.position_noise@1", RECEIVERS, 0.13587, 0.27174), _FLOWN,
    ),
    "ST013": Case(
        "GPS noise 150", (123548,), "2,3,250,0,-15;2,6,123548,123548,150,3,10",
        _axes("gnss.position_noise@1", RECEIVERS, 0.4053, 0.8106), _FLOWN,
    ),
    "ST014": Case(
        "GPS with 5 satellites", (123548,), "2,3,250,0,-15;2,6,123548,123548,0,3,5",
        _each("gnss.jamming@1", RECEIVERS, 0.64286), _FLOWN,
    ),
    "ST015": Case(
        "GPS with 0 satellites", (123548,), "2,3,250,0,-15;2,6,123548,123548,0,3,0",
        _each("gnss.jamming@1", RECEIVERS, 1),
        f"{_FLOWN} The published flies on; with no satellites Ironbird has no position, and the navigator descends.",
    ),
    "ST016": Case(
        "load fall 1.5", (123456,), "2,6,123456,1.5", ("load.drop@2:severity=0.9596",),
        "The ratio is cut to 0.95. Their file calls it a leak.",
    ),
    "ST017": Case(
        "load leak 0.7", (123458,), "2,6,123458,0.7,0.5", ("load.leak@2:severity=0.70707,shape=ramp,rise=2",),
        "Their file calls it a drift.",
    ),
    "ST018": Case(
        "load leak 1", (123458,), "2,6,123458,1,0.5", ("load.leak@2:severity=1,shape=ramp,rise=2",),
        "The ratio is cut to 0.99.",
    ),
    "ST019": Case(
        "wind 3, 4, 5 m/s", (123459,), "2,6,123459,123459,3,4,5",
        (
            "wind.steady@1:axis=0,severity=0.15", "wind.steady@1:axis=1,severity=0.2",
            "wind.steady@1:axis=2,severity=0.25",
        ), "",
    ),
    "ST020": Case(
        "gust 15, 30 a minute", (123540,), "2,6,123540,15,30",
        ("wind.gust@1:axis=0,severity=0.75,shape=intermittent,period=2,duty=0.5",), "",
    ),
    "ST021": Case(
        "wind shear 5", (123542,), "2,6,123542,5", ("wind.shear@1:axis=0,severity=0.5",),
        "Their file calls it turbulent; the id is shear in map A.",
    ),
    "ST022": Case(
        "accelerometer noise 5", (123544,), "2,6,123544,5",
        _axes("imu.accel_noise@1", IMUS, 0.24249, 0.48497), "",
    ),
    "ST023": Case(
        "accelerometer noise 15", (123544,), "2,6,123544,15",
        _axes("imu.accel_noise@1", IMUS, 0.70437, 1.0), f"{_CUT} On the vertical axis only.",
    ),
    "ST024": Case(
        "accelerometer noise 30", (123544,), "2,6,123544,30", _each("imu.accel_noise@1", IMUS, 1), _CUT
    ),
    "ST025": Case(
        "gyroscope noise 5", (123545,), "2,6,123545,5", _each("imu.gyro_noise@1", IMUS, 0.12124), ""
    ),
    "ST026": Case(
        "gyroscope noise 15", (123545,), "2,6,123545,15", _each("imu.gyro_noise@1", IMUS, 0.35218), ""
    ),
    "ST027": Case(
        "gyroscope noise 30", (123545,), "2,6,123545,30", _each("imu.gyro_noise@1", IMUS, 0.69859), ""
    ),
    "ST028": Case(
        "magnetometer noise 10", (123546,), "2,6,123546,10",
        _each("mag.noise@1", MAGNETOMETERS, 0.18937), "",
    ),
    "ST029": Case(
        "magnetometer noise 30", (123546,), "2,6,123546,30",
        _each("mag.noise@1", MAGNETOMETERS, 0.55888), "",
    ),
}  # fmt: skip
