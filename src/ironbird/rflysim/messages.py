"""Packets of a vehicle to its clients, as RflySim's structs.

Local positions are metres from where the vehicle stands at the start; true positions (`posE`) are in the map's frame,
whose origin all vehicles share. Euler angles in rad, rotor speeds in 1/min, time in s or ms of simulation time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ironbird.protocols.geodesy import Place, to_geodetic
from ironbird.rflysim.structs import encode
from ironbird.rflysim.vehicle import Commandable
from ironbird.rig.commander.gauges import Status
from ironbird.rig.commander.stand import Motion
from ironbird.vehicles.kinds import VehicleKind

RPM = 60.0 / (2.0 * math.pi)  # of 1 rad/s
READY, CRASHED = 1234567891, 1234567892  # checksums of outHILStateShort with a special meaning
NOT_HIT = -1
ROTORS = 8  # that the structs have room for
ACTUATORS = 16  # of ExtToUE4

# outCopterData: 32 numbers that RflySim leaves to the model. Ironbird's, in order:
OUT_COPTER = (
    "time_s", "armed", "healthy", "in_air", "item", "items", "done", "battery share",
    *(f"command of actuator {n}" for n in range(1, 9)),
    *(f"rotor speed {n}, rad/s" for n in range(1, 9)),
    "error of the estimate north, m", "east", "down",
    "faults in force", "packets refused", "throttle", "battery voltage, V", "battery current, A",
)  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """State of a vehicle at one moment, from which packets are encoded."""

    copter: int
    kind: VehicleKind
    time_s: float
    home: Place
    place_N: np.ndarray  # of home in the map's frame
    origin: tuple[float, float, float]  # of the map: latitude, longitude, height
    estimate: Motion
    truth: Motion
    status: Status
    commands: tuple[float, ...]  # to the actuators
    speeds: tuple[float, ...]  # of the rotors, rad/s
    ready: bool = True  # it can be armed
    hit: int = NOT_HIT
    faults: int = 0
    refused: int = 0

    @classmethod
    def of(
        cls, commander: Commandable, copter: int, place_N: np.ndarray, origin: Place, home: Place, **more: Any
    ) -> Shown:
        """The present state of a vehicle; `copter` is its number, `place_N` its home in the map's frame."""
        return cls(
            copter=copter,
            kind=commander.kind,
            time_s=commander.time_s,
            home=home,
            place_N=place_N,
            origin=(origin.latitude_deg, origin.longitude_deg, origin.height_m),
            estimate=commander.estimate(),
            truth=commander.truth(),
            status=commander.status(),
            commands=tuple(commander.actuators().values()),
            speeds=tuple(commander.rotor_speeds()),
            **more,
        )

    @property
    def _gps_home(self) -> list[int]:
        home = self.home
        return [_e7(home.latitude_deg), _e7(home.longitude_deg), round(home.height_m * 1e3)]

    @property
    def _on_map(self) -> list[float]:
        return [float(value) for value in self.truth.p_N + self.place_N]

    @property
    def _rpm(self) -> list[float]:
        return [speed * RPM for speed in self.speeds[:ROTORS]]

    def state_full(self) -> bytes:
        """The struct outHILStateData: the autopilot's estimate."""
        estimated, status = self.estimate, self.status
        latitude, longitude, height = to_geodetic(self.home, estimated.p_N)
        heading = math.degrees(float(estimated.rpy[2])) % 360.0
        return encode(
            "outHILStateData",
            tg=self.hit,
            time_boot_ms=round(self.time_s * 1e3),
            copterID=self.copter,
            gpsPos=[_e7(latitude), _e7(longitude), _int(height * 1e3)],
            gpsVel=[_int(v * 100) for v in estimated.v_N],
            gpsHome=self._gps_home,
            relative_alt=_int(-estimated.p_N[2] * 1e3),
            hdg=_int(heading * 1e3),
            satellites=_int(status.satellites),
            fix_type=_int(status.gnss_fix),
            euler=_floats(estimated.rpy),
            pos=_floats(estimated.p_N),
            vel=_floats(estimated.v_N),
            hAcc=_finite(status.eph_m),
            vAcc=_finite(status.epv_m),
            ekfFixed=1.0 if self.ready else 0.0,
        )

    def state_short(self) -> bytes:
        """The struct outHILStateShort: the autopilot's estimate, shortened."""
        estimated = self.estimate
        return encode(
            "outHILStateShort", checksum=1234567890, gpsHome=self._gps_home,
            euler=_floats(estimated.rpy), pos=_floats(estimated.p_N), vel=_floats(estimated.v_N),
        )  # fmt: skip

    def state_more(self) -> list[bytes]:
        """Extra packets of UDP_Simple: the estimator is ready, another vehicle was hit."""
        packets = []
        if self.ready:
            packets.append(encode("outHILStateShort", checksum=READY, gpsHome=self._gps_home))
        if self.hit >= 0:
            packets.append(encode("outHILStateShort", checksum=CRASHED, gpsHome=[0, self.hit, 0]))
        return packets

    def truths(self, structs: Sequence[str]) -> list[bytes]:
        """The true motion, encoded in each of these structs."""
        true = self.truth
        position = self._on_map
        latitude, longitude, height = to_geodetic(self.home, true.p_N)
        values: dict[str, Any] = {
            "copterID": self.copter, "vehicleType": self.kind.rflysim_type, "time": self.time_s,
            "velE": _floats(true.v_N), "euler": _floats(true.rpy), "posE": position, "rpm": self._rpm,
        }  # fmt: skip
        more: dict[str, Any] = {
            "quaternion": _floats(true.q_NB), "accB": _floats(true.a_B), "rateB": _floats(true.w_B),
            "gps": [latitude, longitude, height],
        }  # fmt: skip
        forms = {
            "SOut2SimulatorOld": {"tg": self.hit, **values, **more},
            "SOut2Simulator": {**values, **more},
            "SOut2SimulatorSimpleTime": {**values, "gpsInt": [_e7(latitude), _e7(longitude), _int(height * 1e3)]},
            "SOut2SimulatorSimple1": values,
            "SOut2SimulatorSimple": values,
        }
        return [encode(name, **forms[name]) for name in structs]

    def out_copter(self) -> bytes:
        """The struct outCopterData; the order is that of `OUT_COPTER`."""
        status = self.status
        row = [
            self.time_s, status.armed, status.healthy, status.landed != "on_ground",
            status.item, status.items, status.done, _finite(status.battery_share),
            *_padded(self.commands, 8), *_padded(self.speeds, 8),
            *_floats(self.estimate.p_N - self.truth.p_N),
            self.faults, self.refused, _finite(status.throttle), _finite(status.battery_voltage_V),
            _finite(status.battery_current_A),
        ]  # fmt: skip
        return encode("outCopterStruct", copterID=self.copter, data=[float(value) for value in row])

    def origin_gps(self) -> bytes:
        """The struct Ue4CMDGPS: position of the map's origin."""
        return encode("Ue4CMDGPS", copterID=self.copter, gps=list(self.origin))

    def crash(self) -> bytes:
        """The struct crash: number of the vehicle that was hit."""
        return encode("crash", copterID=self.copter, targetID=self.hit)

    def px4_ext(self, numbers: Sequence[float] | None = None) -> bytes:
        """The struct PX4ExtMsg: numbers of the autopilot, or the first eight actuator commands."""
        controls = _padded(self.commands if numbers is None else numbers, 8)
        return encode("PX4ExtMsg", copterID=self.copter, time=self.time_s, controls=controls)

    def ext_to_ue4(self) -> bytes:
        """The struct Ue4ExtMsg: actuator commands for the 3D engine."""
        return encode("Ue4ExtMsg", copterID=self.copter, time=self.time_s, data=_padded(self.commands, ACTUATORS))

    def imu(self, acceleration_B: np.ndarray, rate_B: np.ndarray) -> bytes:
        """One sample of the inertial sensor as a packet."""
        return encode(
            "imuReply", copterID=self.copter, time=self.time_s, acc=_floats(acceleration_B), gyro=_floats(rate_B)
        )  # fmt: skip

    def hil_truth(self) -> list[float]:
        """HIL_ACTUATOR_CONTROLS with flags 1234567890: the true motion, and the estimator's flag or the vehicle hit."""
        true = self.truth
        last = float(self.hit) if self.hit >= 0 else float(self.ready)
        return [
            *_floats(true.rpy), *self._on_map, *_floats(true.v_N), *_floats(true.w_B), 0.0, 0.0, 0.0, last,
        ]  # fmt: skip

    def hil_speeds(self) -> list[float]:
        """HIL_ACTUATOR_CONTROLS with other flags: speeds of the rotors, 1/min."""
        return [*_padded(self._rpm, ROTORS), *[0.0] * (16 - ROTORS)]


def _floats(values: Sequence[float] | np.ndarray) -> list[float]:
    return [_finite(float(value)) for value in values]


def _padded(values: Sequence[float], count: int) -> list[float]:
    return [*_floats(values[:count]), *[0.0] * (count - len(values[:count]))]


def _finite(value: float) -> float:
    """A number with 0 in place of NaN, for fields whose readers accept no NaN."""
    return float(value) if math.isfinite(value) else 0.0


def _int(value: float) -> int:
    return round(min(max(_finite(float(value)), -2147483648.0), 2147483647.0))


def _e7(degrees: float) -> int:
    return _int(degrees * 1e7)
