"""Propulsion of a multicopter from its parts: the chain of Quan, Shi and Dai ([Quan] lesson 5), vectorised over parts.

Propeller, motor, speed controller and battery in steady state. Where a propeller has no measured table its coefficients
are those of blade elements with constants of the book, good to about 20 %. Not modelled: inflow in forward flight,
heat, the fall of the voltage over the flight (a mean voltage is taken), interference of rotors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ironbird.design.parts import CELL_V, BatteryPart, EscPart, MotorPart, PropellerPart, coefficient_table
from ironbird.errors import RecordError

G = 9.8  # of the printed example
# Blade constants of the book [Quan]: aspect ratio, downwash, share of the radius, tip, span efficiency, drag, zero lift
A, EPS, LAM, ZETA, E, CFD, ALPHA0, K0 = 5.0, 0.85, 0.75, 0.5, 0.83, 0.015, 0.0, 6.11
OTHER_A = 0.5  # electronics
RESERVE = 0.15  # of the capacity
PAYLOAD_DUTY = 0.85  # throttle at which the largest payload and tilt are computed
DRAG_SIDE, DRAG_TOP = 0.35, 0.14  # S CD1, S CD2 in m^2 of a 450 mm frame, by the printed range and speed
FORMULA_SIGMA, MEASURED_SIGMA, MOTOR_SIGMA, BATTERY_SIGMA = 0.2, 0.05, 0.05, 0.05  # relative
Number = float | np.ndarray


def air_density(height_m: float, temperature_C: float) -> float:
    """Air density, kg/m3: p = 101325 (1 - 0.0065 h/(273 + T))^5.2561; rho = 1.293 * 273/(273 + T) * p/101325 [Quan]."""
    pressure = (1 - 0.0065 * height_m / (273 + temperature_C)) ** 5.2561
    return 273 / (273 + temperature_C) * pressure * 1.293


def blade_coefficients(diameter_m: Number, pitch_m: Number, blades: Number = 2.0) -> tuple[Number, Number]:
    """CT and CM of T = CT rho n^2 D^4, M = CM rho n^2 D^5 from diameter and pitch [Quan]."""
    angle = EPS * np.arctan(pitch_m / (math.pi * diameter_m)) - ALPHA0
    thrust = 0.25 * math.pi**3 * LAM * ZETA**2 * blades * K0 * angle / (math.pi * A + K0)
    drag = CFD + (math.pi * A * K0**2 / E) * angle**2 / (math.pi * A + K0) ** 2
    torque = (1 / (8 * A)) * math.pi**2 * drag * ZETA**2 * LAM * blades**2
    return thrust, torque


def static_coefficients(propeller: PropellerPart) -> tuple[float, float, float]:
    """CT and CM at zero airspeed and their relative uncertainty: from the measured table, else from blade elements."""
    if propeller.table:
        table = coefficient_table(propeller.table)
        still = table[table[:, 1] < 1e-6]
        if not len(still):
            still = table[table[:, 1] < np.percentile(table[:, 1], 10)]
        return float(np.mean(still[:, 2])), float(np.mean(still[:, 3])) / (2 * math.pi), MEASURED_SIGMA
    thrust, torque = blade_coefficients(propeller.diameter_m, propeller.pitch_m, propeller.blades)
    return float(thrust), float(torque), FORMULA_SIGMA


@dataclass(frozen=True)
class Chain:
    """Constants of the propulsion chain of one or many sets of parts; a field is a number or an array of one shape."""

    rho: Number
    rotors: int
    diameter: Number
    ct: Number
    cm: Number
    ke: Number  # V/rpm
    kt: Number  # N m/A
    no_load: Number
    resistance: Number
    esc: Number
    battery_ohm: Number
    battery_V: Number
    capacity_Ah: Number

    def torque(self, rpm: Number) -> Number:
        """Torque of a propeller in N m at `rpm`: M = CM rho (N/60)^2 D^5."""
        return self.cm * self.rho * (rpm / 60) ** 2 * self.diameter**5

    def thrust(self, rpm: Number) -> Number:
        """Thrust of a propeller in N at `rpm`: T = CT rho (N/60)^2 D^4."""
        return self.ct * self.rho * (rpm / 60) ** 2 * self.diameter**4

    def state(self, rpm: Number) -> State:
        """Currents, voltages and throttle at a speed; the throttle is NaN if the battery cannot supply it."""
        motor_A = self.torque(rpm) / self.kt + self.no_load
        motor_V = self.ke * rpm + self.resistance * motor_A
        # sigma (Ub - (nr sigma Im + Io) Rb) = Um + Im Re: the smaller root
        a = self.rotors * motor_A * self.battery_ohm
        b = self.battery_V - OTHER_A * self.battery_ohm
        c = motor_V + motor_A * self.esc
        root = b * b - 4 * a * c
        with np.errstate(invalid="ignore"):
            duty = np.where(root >= 0, 2 * c / (b + np.sqrt(np.where(root >= 0, root, np.nan))), np.nan)
        esc_A = duty * motor_A
        battery_A = self.rotors * esc_A + OTHER_A
        return State(rpm, duty, motor_A, esc_A, battery_A, self.battery_V - battery_A * self.battery_ohm)

    def at_duty(self, duty: float) -> State:
        """Steady state at a throttle (0 to 1): the speed is the positive root of a quadratic equation."""
        r = self.resistance + self.esc + duty * duty * self.rotors * self.battery_ohm
        k = self.cm * self.rho * self.diameter**5 / 3600 / self.kt
        a, b = r * k, self.ke
        c = r * self.no_load + duty * OTHER_A * self.battery_ohm - duty * self.battery_V
        with np.errstate(invalid="ignore"):
            rpm = (-b + np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))) / (2 * a)
        return self.state(np.maximum(rpm, 0.0))

    def hover_rpm(self, weight_N: Number, tilt: Number = 0.0) -> Number:
        """Rotor speed in rpm that carries `weight_N` at a tilt in rad: N = 60 sqrt(G / (nr cos(tilt) rho D^4 CT))."""
        return 60 * np.sqrt(weight_N / (self.rotors * np.cos(tilt) * self.rho * self.diameter**4 * self.ct))

    def minutes(self, state: State) -> Number:
        """Minutes of flight in a steady state until only the battery reserve is left."""
        return (1 - RESERVE) * self.capacity_Ah / state.battery_A * 60


@dataclass(frozen=True)
class State:
    """Steady state of the chain: rotor speed, throttle, currents (A) and voltages (V) of motor, ESC and battery."""

    rpm: Number
    duty: Number
    motor_A: Number
    esc_A: Number
    battery_A: Number
    esc_V: Number


def chain_of(
    motor: MotorPart,
    propeller: PropellerPart,
    esc: EscPart,
    battery: BatteryPart,
    *,
    rotors: int = 4,
    rho: float = 1.225,
    factors: np.ndarray | None = None,
) -> Chain:
    """The propulsion chain of a set of parts; `factors` [draw, 5] scale thrust, torque, KV, resistance and capacity."""
    ct, cm, _ = static_coefficients(propeller)
    f = np.ones((1, 5)) if factors is None else factors
    kv = motor.kv_rpmpV * f[:, 2]
    resistance = motor.resistance_ohm * f[:, 3]
    # KE = (U0 - I0 R)/(KV0 U0), KT = 9.55 KE [Quan]
    ke = (motor.no_load_voltage_V - motor.no_load_current_A * resistance) / (kv * motor.no_load_voltage_V)
    if not np.all(ke > 0):
        raise RecordError(f"motor '{motor.name}': {motor.no_load_current_A:g} A at no load drop all of its voltage")
    volts = battery.voltage_V or CELL_V * battery.cells
    chain = Chain(
        rho,
        rotors,
        propeller.diameter_m,
        ct * f[:, 0],
        cm * f[:, 1],
        ke,
        9.55 * ke,
        motor.no_load_current_A,
        resistance,
        esc.resistance_ohm,
        battery.resistance_ohm,
        volts,
        battery.capacity_Ah * f[:, 4],
    )
    return chain
