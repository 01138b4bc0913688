"""Search over motors and propellers for a frame: all pairs are evaluated, the Pareto front of mass and time is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.design.evaluate import Craft, largest_propeller_m
from ironbird.design.parts import CELL_V, BatteryPart, Database, EscPart, MotorPart, Part, PropellerPart, mass_of
from ironbird.design.propulsion import PAYLOAD_DUTY, Chain, G, air_density, static_coefficients
from ironbird.errors import RecordError

CHUNK = 200  # motors evaluated at a time
MOST_DUTY = 0.65  # in hover
SMALLEST = 0.5  # least propeller diameter as a share of the largest; smaller ones are inefficient


@dataclass(frozen=True)
class Wanted:
    """Requirements of a search: endurance, payload, frame, number of rotors, height and temperature of the place."""

    endurance_min: float = 0.0
    payload_kg: float = 0.0
    frame_m: float = 0.45
    frame_mass_kg: float = 0.5  # with electronics, without motors, propellers, ESCs, battery and payload
    rotors: int = 4
    height_m: float = 50.0
    temperature_C: float = 25.0
    others: tuple[Part, ...] = ()  # frame and flight controller if chosen by name


@dataclass(frozen=True)
class Choice:
    """A motor and propeller that meet the requirements, with mass, flight time and spare payload."""

    motor: MotorPart
    propeller: PropellerPart
    esc: EscPart
    battery: BatteryPart
    mass_kg: float  # with the payload
    minutes: float
    duty: float
    spare_kg: float  # payload beyond the required one, at 85 % throttle

    def craft(self, requirements: Wanted) -> Craft:
        """The craft of this choice, carrying the required payload."""
        return Craft(
            self.motor, self.propeller, self.esc, self.battery, self.mass_kg, requirements.frame_m, requirements.rotors,
            requirements.height_m, requirements.temperature_C, requirements.others, summed=True,
        )  # fmt: skip


@dataclass(frozen=True)
class Found:
    """Result of a search: number of pairs tried, number that meet the requirements, and the Pareto front."""

    wanted: Wanted
    tried: int
    possible: int
    front: list[Choice]  # Pareto front: no other choice flies longer with less mass; longest first
    cloud: np.ndarray  # [mass, minutes] of some choices that meet the requirements, for a plot
    without_mass: tuple[str, ...] = ()  # motors that were left out because their mass is not known


def search(
    database: Database,
    wanted: Wanted,
    battery: BatteryPart,
    esc: EscPart,
    *,
    motors: Sequence[MotorPart] | None = None,
    propellers: Sequence[PropellerPart] | None = None,
) -> Found:
    """Evaluate every motor with every propeller on one battery and speed controller; keep those that meet `wanted`."""
    all_motors = list(motors if motors is not None else database.motors.values())
    without_mass = tuple(m.name for m in all_motors if not m.mass_kg)
    all_motors = [m for m in all_motors if m.mass_kg]
    most = largest_propeller_m(wanted.frame_m, wanted.rotors)
    all_propellers = list(propellers if propellers is not None else database.propellers.values())
    if not all_motors or not all_propellers:
        raise RecordError("no motor with a mass or no propeller is left to search over: give mass_kg in your file")
    size = np.array([p.diameter_m for p in all_propellers])
    coefficients = np.array([static_coefficients(p)[:2] for p in all_propellers])
    fits = (size <= most) & (size >= SMALLEST * most)
    blade_kg = np.array([mass_of("propeller", p) for p in all_propellers])
    rho = air_density(wanted.height_m, wanted.temperature_C)
    base = wanted.frame_mass_kg + wanted.payload_kg
    base += mass_of("battery", battery) + wanted.rotors * mass_of("speed controller", esc)
    volts = battery.voltage_V or CELL_V * battery.cells
    rows: list[np.ndarray] = []
    for first in range(0, len(all_motors), CHUNK):
        part = all_motors[first : first + CHUNK]
        kv, ohm, idle, kg, u0 = (
            np.array([[getattr(m, key)] for m in part])
            for key in ("kv_rpmpV", "resistance_ohm", "no_load_current_A", "mass_kg", "no_load_voltage_V")
        )
        ke = np.maximum(u0 - idle * ohm, 1e-3) / (kv * u0)
        chain = Chain(
            rho, wanted.rotors, size[None, :], coefficients[None, :, 0], coefficients[None, :, 1], ke, 9.55 * ke,
            idle, ohm, esc.resistance_ohm, battery.resistance_ohm, volts, battery.capacity_Ah,
        )  # fmt: skip
        mass = base + wanted.rotors * (kg + blade_kg[None, :])
        hover = chain.state(chain.hover_rpm(mass * G))
        minutes = np.asarray(chain.minutes(hover))
        full, loaded = chain.at_duty(1.0), chain.at_duty(PAYLOAD_DUTY)
        spare = wanted.rotors * np.asarray(chain.thrust(loaded.rpm)) / G - mass
        duty = np.asarray(hover.duty)
        with np.errstate(invalid="ignore"):
            good = fits[None, :] & (duty > 0) & (duty <= MOST_DUTY) & (minutes >= wanted.endurance_min) & (spare >= 0)
            if esc.current_A:
                good &= np.asarray(full.esc_A) <= esc.current_A
            if battery.current_A:
                good &= np.asarray(full.battery_A) <= battery.current_A
        i, j = np.nonzero(good)
        rows.append(np.column_stack([i + first, j, mass[i, j], minutes[i, j], duty[i, j], spare[i, j]]))
    table = np.concatenate(rows)
    tried = len(all_motors) * len(all_propellers)
    if not len(table):
        return Found(wanted, tried, 0, [], np.zeros((0, 2)), without_mass)
    front = _front(table)
    cloud = table[:: max(1, len(table) // 2000), 2:4]
    choices = [
        Choice(
            all_motors[int(r[0])], all_propellers[int(r[1])], esc, battery,
            float(r[2]), float(r[3]), float(r[4]), float(r[5]),
        )
        for r in front
    ]  # fmt: skip
    return Found(wanted, tried, len(table), choices, cloud, without_mass)


def _front(table: np.ndarray) -> np.ndarray:
    """Rows of `table` on the Pareto front: no other row is better in both mass and time."""
    order = np.lexsort((-table[:, 3], table[:, 2]))
    rows, best = [], -np.inf
    for row in table[order]:
        if row[3] > best:
            rows.append(row)
            best = row[3]
    return np.array(rows[::-1])
