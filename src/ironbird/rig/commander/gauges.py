"""State of a commanded vehicle: its autopilot's estimate and status."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ironbird import rotations
from ironbird.blocks.controllers import mission_table as modes
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.commander.abilities import LANDS, ON_GROUND
from ironbird.rig.commander.stand import Motion, Stand
from ironbird.rig.rig import Rig
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle


@dataclass(frozen=True)
class Status:
    """Status of the autopilot: mode, arming, health, mission progress, battery."""

    mode: str  # word of `mission_table.MODES`
    armed: bool
    landed: str  # on_ground, in_air, taking_off, landing
    healthy: bool
    failsafes: tuple[str, ...]  # words of `mission_table.FAILSAFES`
    item: int
    items: int
    done: bool
    battery_share: float  # nan if there is none
    battery_voltage_V: float
    battery_current_A: float
    position_set: np.ndarray
    yaw_set: float
    airspeed_mps: float  # nan if it is not measured
    throttle: float  # 0 to 1
    gnss_fix: int
    satellites: int
    eph_m: float
    epv_m: float
    accepts: frozenset[str]  # modes that this kind of vehicle accepts


class Gauges(Stand):
    """Reads the autopilot of one vehicle."""

    def __init__(
        self, vehicle: Vehicle, rig: Rig, *, sees_truth: bool = False, **observers: Callable[..., None]
    ) -> None:
        super().__init__(vehicle, rig, **observers)
        self.sees_truth = sees_truth
        flat = rig.state.model.flat
        self._held = {path: rig.held(path) for path in flat.held.start if path.startswith(_read_blocks())}
        latch = "/command.value"
        self._latches = {path.removesuffix(latch): rig.held(path) for path in flat.held.start if path.endswith(latch)}
        steers = at.NAVIGATOR("course_set") in self._held
        self.abilities = self.kind.abilities if steers else self.kind.hovering or self.kind.abilities
        self._armed = False
        self._items: list[LocalItem] = []

    def estimate(self) -> Motion:
        """The autopilot's estimate of the motion."""
        rotation = self._held[at.ESTIMATOR.attitude].reshape(3, 3).T
        return Motion(
            p_N=self._held[at.ESTIMATOR.position].copy(),
            v_N=self._held[at.ESTIMATOR.velocity].copy(),
            q_NB=rotations.from_matrix(rotation) if rotation.any() else np.array([1.0, 0.0, 0.0, 0.0]),
            rpy=rotations.euler_of_matrix(rotation),
            w_B=self._held[at.ESTIMATOR.rates].copy(),
            a_B=self._held[at.IMU_VOTER("accel_B")].copy(),
        )

    def seen(self) -> Motion:
        """The motion that the controller uses: the estimate, or the truth if that was chosen."""
        return self.truth() if self.sees_truth else self.estimate()

    def status(self) -> Status:
        """The present status of the autopilot."""
        navigator = at.NAVIGATOR
        mode = self.mode
        landed = "on_ground" if mode in ON_GROUND or not self.kind.flies else "in_air"
        if landed == "in_air" and (mode == "take-off" or mode in LANDS):
            landed = "taking_off" if mode == "take-off" else "landing"
        details = self.rig.receivers[0].details if self.rig.receivers else {}

        def one(path: str, otherwise: float = math.nan) -> float:
            return float(self._held[path][0]) if path in self._held else otherwise

        def of_gnss(name: str, otherwise: float) -> float:
            return float(details[name][0]) if name in details else otherwise

        return Status(
            mode=mode,
            armed=self.armed,
            landed=landed,
            healthy=one(at.ESTIMATOR.healthy, 1.0) > 0.5,
            failsafes=self._active(),
            item=int(one(navigator.item, 0.0)),
            items=len(self._items),
            done=one(navigator.done, 0.0) > 0.5,
            battery_share=one(at.BATTERY_GAUGE("remaining")),
            battery_voltage_V=one(at.BATTERY_MONITOR.voltage),
            battery_current_A=one(at.BATTERY_MONITOR.current),
            position_set=self._held[navigator.position_set].copy(),
            yaw_set=self._yaw_set(),
            airspeed_mps=one(at.AIRSPEED_VOTER("airspeed"), one(at.airspeed(1).speed("airspeed"))),
            throttle=self._throttle(),
            gnss_fix=int(of_gnss("fix_type", 0.0)),
            satellites=int(of_gnss("satellites_used", 0.0)),
            eph_m=of_gnss("eph", math.nan),
            epv_m=of_gnss("epv", math.nan),
            accepts=self.accepts,
        )

    @property
    def accepts(self) -> frozenset[str]:
        """Modes that this kind of vehicle accepts."""
        return self.abilities.modes

    def _yaw_set(self) -> float:
        """The commanded heading, rad; the present heading for vehicles without such a command."""
        heading = self._held.get(at.NAVIGATOR("yaw_set"))
        return float(self.estimate().rpy[2]) if heading is None else float(heading[0])

    @property
    def mode(self) -> str:
        """The autopilot's mode as a word."""
        return modes.MODES[int(self._held[at.NAVIGATOR.mode][0])]

    @property
    def armed(self) -> bool:
        """Whether the motors may turn; true from the command on."""
        return self._armed

    @property
    def flying(self) -> bool:
        """Whether it has left the ground; always false for vehicles that stay on it."""
        return self.kind.flies and self.mode not in ON_GROUND

    def actuators(self) -> dict[str, float]:
        """The last command of each actuator, by place: `rotor/1`."""
        return {place: float(value[0]) for place, value in self._latches.items()}

    def _throttle(self) -> float:
        """Mean magnitude of the commands to rotors, drives and wheels, 0 to 1."""
        commands = [
            value for place, value in self.actuators().items() if place.startswith(("rotor/", "drive", "wheel/"))
        ]
        return min(math.fsum(map(abs, commands)) / len(commands), 1.0) if commands else 0.0

    def _active(self) -> tuple[str, ...]:
        tripped = self._held.get(at.NAVIGATOR.failsafe)
        if tripped is None:
            return ()
        return tuple(name for name, on in zip(modes.FAILSAFES, tripped, strict=True) if on > 0.5)


def _read_blocks() -> tuple[str, ...]:
    parts = (
        at.NAVIGATOR, at.ESTIMATOR, at.IMU_VOTER, at.BATTERY_GAUGE, at.BATTERY_MONITOR, at.AIRSPEED_VOTER,
        at.CONTROL, at.airspeed(1).speed,
    )  # fmt: skip
    return tuple(f"{part.path}." for part in parts)
