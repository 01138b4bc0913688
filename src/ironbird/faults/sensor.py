"""Faults of sensors: bias, drift, noise, spikes, delay, loss and others, each for every signal of a sensor.

They are generated from a table of signals (with their sizes) and a table of kinds of fault. The shapes are those of
[ChipLevel] Eq. 18 to 27; every sensor signal has a tap (`SignalFault`) that carries them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironbird.faults.spec import Change, Fault, Offset, Replace, Scale, switch

DELAY_SAMPLES = 8.0  # longest delay of a tap in samples


@dataclass(frozen=True)
class Tapped:
    """A sensor signal with taps for faults."""

    id: str  # first part of the fault's id
    name: str  # name in words
    taps: tuple[str, ...]  # paths of the taps; {instance} is the number of the sensor
    size: float  # bias at severity 1, in the signal's unit
    full: float  # full scale of the sensor
    unit: str
    axes: int = 3  # how many values the signal has


ACCEL = Tapped("imu.accel", "accelerometer", ("imu/{instance}/accel_fault",), 5.0, 156.9, "m/s^2")
GYRO = Tapped("imu.gyro", "gyroscope", ("imu/{instance}/gyro_fault",), 1.0, 34.9, "rad/s")
SIGNALS = (
    ACCEL,
    GYRO,
    Tapped("mag", "magnetometer", ("mag/{instance}/fault",), 5e-5, 1.6e-3, "T"),
    Tapped("baro", "barometer", ("baro/{instance}/fault",), 500.0, 120000.0, "Pa", axes=1),
    Tapped("gnss.position", "GNSS position", ("gnss/{instance}/position_fault",), 30.0, 1e5, "m"),
    Tapped("gnss.velocity", "GNSS velocity", ("gnss/{instance}/velocity_fault",), 5.0, 500.0, "m/s"),
    Tapped("airspeed", "airspeed sensor", ("airspeed/{instance}/fault",), 200.0, 6895.0, "Pa", axes=1),
    Tapped("range", "rangefinder", ("range/{instance}/fault",), 5.0, 12.0, "m", axes=1),
    Tapped("flow", "optical flow", ("flow/{instance}/fault",), 1.0, 7.4, "rad/s", axes=2),
)


def _faults(signal: Tapped) -> list[Fault]:
    """Faults of all kinds for one signal."""
    witness = signal.taps[0] + ".value"

    def fault(
        kind: str, summary: str, severity: str, equation: str, *changes: tuple[str, Scale | Offset | Replace]
    ) -> Fault:
        return Fault(
            id=f"{signal.id}_{kind}@1" if "." in signal.id else f"{signal.id}.{kind}@1",
            summary=summary.replace("{}", signal.name),
            changes=tuple(Change(f"{tap}.{param}", effect) for tap in signal.taps for param, effect in changes),
            severity=severity,
            reference=f"[ChipLevel] {equation}",
            witness=witness,
        )

    s, f, u = signal.size, signal.full, signal.unit
    binary = "none: it is there or not"
    return [
        fault("scale", "The {} reads too much by a factor.", "1 is double", "Eq. 18", ("scale", Scale(1.0, 2.0))),
        fault(
            "bias",
            "The {} is off by a constant.",
            f"1 is {{:g}} {u}" + " on each axis" * (signal.axes > 1),
            "Eq. 19",
            ("offset", Offset(0.0, s)),
        ),
        fault(
            "drift",
            "The {} drifts away.",
            f"1 is {{:g}} {u} per second",
            "Eq. 20",
            ("drift_rate", Replace(0.0, s / 10)),
        ),
        fault("noise", "The {} is noisy.", f"1 is a deviation of {{:g}} {u}", "Eq. 21", ("noise", Replace(0.0, s))),
        fault(
            "spike",
            "The {} has spikes of one sample, five a second.",
            f"1 is {{1:g}} {u}",
            "Eq. 22",
            ("spike_rate", switch(5.0)),
            ("spike_size", Replace(0.0, 4 * s)),
        ),
        fault("stuck", "The {} repeats one value; its samples look fresh.", binary, "Sec. 5", ("stuck", switch())),
        fault(
            "open",
            "The element of the {} is open: it reads zero.",
            binary,
            "Eq. 24",
            ("replace", switch()),
            ("replacement", switch(0.0)),
        ),
        fault(
            "short",
            "The element of the {} is shorted: it reads full scale.",
            binary,
            "Eq. 25",
            ("replace", switch()),
            ("replacement", switch(f)),
        ),
        fault(
            "delay",
            "The {} comes late, and nothing shows it.",
            "1 is {:g} samples",
            "Eq. 12",
            ("delay", Replace(0.0, DELAY_SAMPLES)),
        ),
        fault("dropout", "Samples of the {} do not arrive.", binary, "Sec. 5", ("lost", switch())),
        fault(
            "saturation",
            "The {} clips early.",
            f"0 is {f:g} {u}, 1 lets nothing through",
            "Sec. 4",
            ("high", Replace(f, 0.0)),
            ("low", Replace(-f, 0.0)),
        ),
    ]


IMU_BIAS = Fault(
    id="imu.bias@1",
    summary="An inertial unit is off by a constant in both accelerometer and gyroscope.",
    changes=(
        Change("imu/{instance}/accel_fault.offset", Offset(0.0, ACCEL.size)),
        Change("imu/{instance}/gyro_fault.offset", Offset(0.0, GYRO.size)),
    ),
    severity="1 is {:g} m/s^2 and {:g} rad/s on each axis",
    reference="[ChipLevel] Eq. 19",
    witness="imu/{instance}/accel_fault.value",
)
GNSS_JAMMING = Fault(
    id="gnss.jamming@1",
    summary="A receiver is jammed: satellites disappear, accuracy falls, the fix is lost.",
    changes=(Change("gnss/{instance}/chip.jamming", Replace(0.0, 1.0)),),
    severity="1 is no fix at all",
    reference="[ChipLevel] Sec. 5",
    witness="gnss/{instance}/chip.satellites_used",
)
GNSS_SPOOFING = Fault(
    id="gnss.spoofing@1",
    summary="A receiver is dragged off: its position runs away steadily while everything looks healthy.",
    changes=(Change("gnss/{instance}/chip.spoof_velocity_N", Replace(0.0, 2.0)),),
    severity="1 is {:g} m/s on each axis",
    reference="[ChipLevel] Sec. 5",
    witness="gnss/{instance}/position_fault.value",
)

FAULTS = (*(fault for signal in SIGNALS for fault in _faults(signal)), IMU_BIAS, GNSS_JAMMING, GNSS_SPOOFING)
# Search words by the beginning of the fault's id
KEYWORDS = {
    "imu.": "inertial unit sensor", "imu.accel": "accelerometer", "imu.gyro": "gyro rate sensor",
    "mag.": "compass heading sensor", "baro.": "altimeter pressure height sensor",
    "gnss.": "GPS satellite navigation receiver sensor", "airspeed.": "pitot tube speed sensor",
    "range.": "lidar sonar radar altimeter distance sensor", "flow.": "camera speed sensor",
}  # fmt: skip
