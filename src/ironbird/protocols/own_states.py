"""Changes of an autopilot's own state in its log: estimator, sensors, failsafes, saturation, with their times.

Read from PX4: the topics estimator_selector_status, estimator_status_flags (of the estimator in charge),
sensor_selection, failsafe_flags and control_allocator_status [PX4]; from ArduPilot: the records XKF4 and XKFS (of the
core in charge), ERR and EV [ArduPilotCode] AP_Logger.h, AP_Nav_Common.h. Times are those of the autopilot's clock.

Not read: console output of its modules, values of test ratios (`autopilot_log.py` has them), PX4's event texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Data = Mapping[str, np.ndarray]
Find = Callable[..., Data | None]  # finds a topic or record by its name and number
PX4_TOPICS = (
    "estimator_selector_status", "estimator_status_flags", "sensor_selection", "failsafe_flags",
    "control_allocator_status",
)  # fmt: skip
ARDUPILOT_RECORDS = ("XKF4", "XKFS", "ERR", "EV")
FUSED = {  # measurements that the estimator may use, by flag
    "cs_gnss_pos": "GNSS position", "cs_gps": "GNSS position", "cs_gnss_vel": "GNSS velocity",
    "cs_opt_flow": "optical flow", "cs_baro_hgt": "barometer height", "cs_gps_hgt": "GNSS height",
    "cs_rng_hgt": "range height", "cs_mag_hdg": "magnetic heading", "cs_mag_3d": "magnetic field",
    "cs_mag": "magnetic field states", "cs_ev_pos": "vision position", "cs_ev_vel": "vision velocity",
    "cs_ev_hgt": "vision height", "cs_fuse_aspd": "airspeed", "cs_gnss_yaw": "GNSS heading",
}  # fmt: skip
SIDEWAYS = ("GNSS position", "GNSS velocity", "optical flow", "vision position", "vision velocity")
BELIEFS = {
    "cs_mag_field_disturbed": "magnetic field disturbed", "cs_mag_fault": "magnetometer faulty",
    "cs_gnss_fault": "GNSS faulty", "cs_gnss_hgt_fault": "GNSS height faulty", "cs_baro_fault": "barometer faulty",
    "cs_rng_fault": "rangefinder faulty", "cs_rng_stuck": "rangefinder stuck",
    "cs_inertial_dead_reckoning": "dead reckoning", "cs_wind_dead_reckoning": "dead reckoning by wind",
    "cs_fake_pos": "position made up", "cs_fake_hgt": "height made up",
    "fs_bad_acc_vertical": "vertical acceleration bad", "fs_bad_acc_clipping": "accelerometer clipping",
}  # fmt: skip
REJECTED = {
    "reject_hor_vel": "horizontal velocity", "reject_ver_vel": "vertical velocity",
    "reject_hor_pos": "horizontal position", "reject_ver_pos": "height", "reject_yaw": "heading",
    "reject_airspeed": "airspeed", "reject_hagl": "height above ground", "reject_optflow_x": "optical flow x",
    "reject_optflow_y": "optical flow y",
}  # fmt: skip
LINKS = ("manual_control_signal_lost", "gcs_connection_lost", "offboard_control_signal_lost", "auto_mission_missing")
SOLUTION = {  # bits of XKF4.SS
    0: "attitude valid", 1: "horizontal velocity valid", 2: "vertical velocity valid",
    3: "relative position valid", 4: "absolute position valid", 5: "height valid", 7: "constant position mode",
    13: "GNSS position fused", 14: "GNSS glitching", 15: "GNSS good", 17: "airspeed rejected", 18: "dead reckoning",
}  # fmt: skip
TIMEOUTS = ("position", "velocity", "height", "magnetometer", "airspeed", "drag")  # bits of XKF4.TS
CHOSEN = {"MI": "compass", "BI": "barometer", "GI": "GNSS receiver", "AI": "airspeed sensor"}  # columns of XKFS
SUBSYSTEMS = {
    1: "main", 2: "radio", 3: "compass", 5: "radio failsafe", 6: "battery failsafe", 8: "ground station failsafe",
    9: "fence failsafe", 10: "flight mode", 11: "GPS", 12: "crash check", 15: "parachute", 16: "estimator check",
    17: "estimator failsafe", 18: "barometer", 19: "processor", 21: "terrain", 22: "navigation",
    23: "terrain failsafe", 24: "primary estimator", 25: "thrust loss check", 26: "sensor failsafe",
    28: "pilot input", 29: "vibration failsafe", 30: "internal error", 31: "dead reckoning failsafe",
}  # fmt: skip
EVENTS = {
    19: "GPS lost", 54: "motors stopped", 60: "estimator's height reset", 62: "estimator's yaw reset",
    67: "primary GPS changed", 85: "first source set", 86: "second source set", 87: "third source set",
    90: "primary airspeed changed",
}  # fmt: skip


OPPOSITE = (
    ("fused", "no longer fused"),
    ("accepted again", "rejected"),
    ("accepted again", "timed out"),
)  # ends of texts


def are_opposite(text: str, other: str) -> bool:
    """Whether one text of a change says that the state of the other has changed back."""
    return _ends(text, other) or _ends(other, text)


def _ends(on: str, off: str) -> bool:
    if off == f"{on} no longer":
        return True
    return any(
        on.endswith(f" {yes}") and off.endswith(f" {no}") and on.removesuffix(yes) == off.removesuffix(no)
        for yes, no in OPPOSITE
    )


@dataclass(frozen=True)
class Change:
    """One change of the autopilot's state."""

    time_s: float
    kind: str  # estimator, fusion, rejection, sensor, failsafe, saturation
    text: str


def _switches(time_s: np.ndarray, values: np.ndarray) -> Iterator[tuple[float, int, int]]:
    """Changes of a number: time in s, old and new value. The initial value is no change."""
    order = np.argsort(time_s, kind="stable")
    times, numbers = time_s[order], np.asarray(values)[order]
    for row in np.flatnonzero(np.diff(numbers.astype(np.int64))) + 1:
        yield float(times[row]), int(numbers[row - 1]), int(numbers[row])


def _flags(time_s: np.ndarray, data: Data, words: Mapping[str, str], kind: str, on: str, off: str) -> Iterator[Change]:
    for name, word in words.items():
        if name in data:
            for at_s, _, now in _switches(time_s, data[name] != 0):
                yield Change(at_s, kind, f"{word} {on if now else off}".strip())


def in_order(changes: Sequence[Change]) -> list[Change]:
    """The changes sorted by time, those of one moment by their texts."""
    return sorted(changes, key=lambda change: (change.time_s, change.kind, change.text))


# ---------------------------------------------------------------------- PX4


def _stamps(data: Data) -> np.ndarray:
    return np.asarray(data["timestamp"], float) * 1e-6


def of_px4(topics: Find) -> list[Change]:
    """Changes of PX4's estimator, sensors, failsafes and saturation over time, from the topics of a ULog."""
    changes: list[Change] = []
    selector = topics("estimator_selector_status")
    if selector is not None:
        for at_s, was, now in _switches(_stamps(selector), selector["primary_instance"]):
            changes.append(Change(at_s, "estimator", f"estimator {now} takes over from {was}"))
    flags = _in_charge(topics, selector)
    if flags is not None:
        time_s = _stamps(flags)
        changes += _flags(time_s, flags, FUSED, "fusion", "fused", "no longer fused")
        changes += _flags(time_s, flags, BELIEFS, "estimator", "", "no longer")
        changes += _flags(time_s, flags, REJECTED, "rejection", "rejected", "accepted again")
    changes += _px4_sensors(topics("sensor_selection"))
    failsafe = topics("failsafe_flags")
    if failsafe is not None:
        words = {
            name: name.replace("_", " ")
            for name in failsafe
            if name != "timestamp" and not name.startswith("mode_req_") and name not in LINKS
        }
        changes += _flags(_stamps(failsafe), failsafe, words, "failsafe", "", "no longer")
    changes += _saturation(topics("control_allocator_status"))
    return in_order(changes)


def _in_charge(topics: Find, selector: Data | None) -> Data | None:
    """Flag rows of the estimator in charge at each time; rows of the others are left out."""
    numbers = range(9) if selector is not None else range(1)
    pieces: list[dict[str, np.ndarray]] = []
    for number in numbers:
        data = topics("estimator_status_flags", number)
        if data is None:
            continue
        keep = np.ones(len(data["timestamp"]), bool)
        if selector is not None:
            row = np.clip(np.searchsorted(_stamps(selector), _stamps(data), side="right") - 1, 0, None)
            keep = np.asarray(selector["primary_instance"])[row] == number
        pieces.append({name: values[keep] for name, values in data.items()})
    if not pieces:
        return None
    joined = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    order = np.argsort(joined["timestamp"], kind="stable")
    return {name: values[order] for name, values in joined.items()}


def _px4_sensors(data: Data | None) -> Iterator[Change]:
    for name, word in (("gyro_device_id", "gyroscope"), ("accel_device_id", "accelerometer")):
        if data is None or name not in data:
            continue
        for at_s, was, now in _switches(_stamps(data), data[name]):
            yield Change(at_s, "sensor", f"{word} {now} chosen in place of {was}" if now else f"no {word} is chosen")


def _saturation(data: Data | None) -> Iterator[Change]:
    """The first time an actuator is at its limit, and the first time the requested torque is not reached."""
    if data is None:
        return
    time_s = _stamps(data)
    for number in range(16):
        column = data.get(f"actuator_saturation[{number}]")
        if column is not None:
            for at_s, _, now in _switches(time_s, np.sign(column)):
                if now:
                    yield Change(
                        at_s, "saturation", f"output {number + 1} at its {'upper' if now > 0 else 'lower'} limit"
                    )
    if "torque_setpoint_achieved" in data:
        for at_s, _, now in _switches(time_s, data["torque_setpoint_achieved"] != 0):
            if not now:
                yield Change(at_s, "saturation", "the torque that is asked for is not reached")


# ---------------------------------------------------------------------- ArduPilot


def of_ardupilot(records: Find, chosen: Callable[[str], Data | None]) -> list[Change]:
    """Changes in the records of a DataFlash log; `chosen` returns the rows of the core in charge by record name."""
    changes: list[Change] = []
    leaders, status, sensors = records("XKF4", C=0), chosen("XKF4"), chosen("XKFS")
    if leaders is not None:
        for at_s, was, now in _switches(_boot_s(leaders), leaders["PI"]):
            changes.append(Change(at_s, "estimator", f"estimator {now} takes over from {was}"))
    if status is not None:
        time_s = _boot_s(status)
        for at_s, was, now in _switches(time_s, status["SS"]):
            for bit, word in SOLUTION.items():
                if (was ^ now) >> bit & 1:
                    yes = bool(now >> bit & 1)
                    kind = "fusion" if bit == 13 else "estimator"
                    text = ("GNSS position fused" if yes else "GNSS position no longer fused") if bit == 13 else word
                    changes.append(Change(at_s, kind, text if yes or bit == 13 else f"{word} no longer"))
        for at_s, was, now in _switches(time_s, status["TS"]):
            for bit, word in enumerate(TIMEOUTS):
                if (was ^ now) >> bit & 1:
                    late = bool(now >> bit & 1)
                    changes.append(Change(at_s, "rejection", f"{word} {'timed out' if late else 'accepted again'}"))
    if sensors is not None:
        for name, word in CHOSEN.items():
            for at_s, was, now in _switches(_boot_s(sensors), sensors.get(name, np.zeros(len(sensors["TimeUS"])))):
                changes.append(Change(at_s, "sensor", f"{word} {now + 1} chosen in place of {was + 1}"))
    changes += _errors(records("ERR"))
    events = records("EV")
    if events is not None:
        rows = zip(_boot_s(events).tolist(), np.asarray(events["Id"], int).tolist(), strict=True)
        changes += [Change(at_s, "estimator", EVENTS[number]) for at_s, number in rows if number in EVENTS]
    return in_order(changes)


def _boot_s(data: Data) -> np.ndarray:
    return np.asarray(data["TimeUS"], float) * 1e-6


def _errors(data: Data | None) -> Iterator[Change]:
    if data is None:
        return
    for at_s, subsystem, code in zip(
        _boot_s(data).tolist(), data["Subsys"].tolist(), data["ECode"].tolist(), strict=True
    ):
        word = SUBSYSTEMS.get(int(subsystem), f"subsystem {int(subsystem)}")
        kind = "failsafe" if "failsafe" in word or int(subsystem) in (12, 16) else "estimator"
        yield Change(at_s, kind, f"{word}: {'resolved' if int(code) == 0 else f'error {int(code)}'}")
