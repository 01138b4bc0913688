"""ArduPilot's parameters of multicopters, and of the rotors of other vehicles that hover.

Motors: ArduPilot models the thrust of a motor over its command x as (1 - e) x + e x^2 from SPIN_MIN to SPIN_MAX
[ArduPilotCode]. With a speed w_0 + k x the thrust above that at x = 0 is 2 w_0 k x + k^2 x^2: e = k / (2 w_0 + k) fits
exactly where the curve of the speed is straight.
"""

from __future__ import annotations

import math

import numpy as np

from ironbird.autopilots.ardupilot.channels import Fit, Wiring, wire_multicopter
from ironbird.blocks.power.battery import cell_voltage
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.protocols.parm_file import Param, Params
from ironbird.vehicles.templates.multicopter import MulticopterSpec, effectiveness

SPIN_ARM, SPIN_MIN, SPIN_MAX = 0.10, 0.15, 0.95  # [ArduPilotCode] defaults
LOW, CRITICAL = 0.2, 0.1  # shares of the charge at which the reference autopilot returns and lands
RATE_LOOP_RADPS, MOTOR_SHARE = 17.0, 0.3  # crossover of roll and pitch: the lesser of this and share / motor lag
YAW_LOOP_RADPS, YAW_P_MAX = 2.0, 1.0
D_OVER_P, YAW_I_OVER_P = 0.0267, 0.1  # as in ArduPilot's defaults 0.0036 / 0.135 and 0.018 / 0.18
RANGEFINDER: Params = {
    "RNGFND1_TYPE": Param(100, "rng_1 of the JSON interface"),
    "RNGFND1_ORIENT": Param(25, "looks down"),
    "RNGFND1_MAX": Param(12, "of range/1"),
}


def copter_params(spec: MulticopterSpec, wiring: Wiring) -> Params:
    params: Params = {
        "FRAME_CLASS": Param(wiring.frame_class, "same places and spins of the rotors"),
        "FRAME_TYPE": Param(wiring.frame_type, "the same"),
        "FS_THR_ENABLE": Param(0, "no remote control on the rig"),
        "RTL_ALT_M": Param(15, "m"),
        **RANGEFINDER,
        **motor_params(spec, "MOT_", "ATC_RAT_"),
        **battery_params(spec),
    }
    if spec.tail is not None:
        params["MOT_YAW_SV_ANGLE"] = Param(spec.tail.travel_deg, "tail.travel_deg")
    return params


def thrust_expo(idle_radps: float, slope_radps: float) -> float:
    """ArduPilot's THST_EXPO for a motor whose speed is linear in its command between SPIN_MIN and SPIN_MAX."""
    first = max(idle_radps + slope_radps * SPIN_MIN, 0.0)
    gain = idle_radps + slope_radps * SPIN_MAX - first
    return gain / (2 * first + gain)


def motor_params(spec: MulticopterSpec, motor: str, rate: str) -> Params:
    tables = [spec.motor[rotor.motor] for rotor in spec.rotor]
    blades = [spec.propeller[rotor.propeller] for rotor in spec.rotor]

    def thrust(share: float) -> float:
        speeds = [max(m.idle_speed_radps + m.slope_radps * share + m.quadratic_radps * share**2, 0) for m in tables]
        return sum(b.thrust_coefficient_Ns2 * speed**2 for b, speed in zip(blades, speeds, strict=True))

    lowest, usable = thrust(SPIN_MIN), thrust(SPIN_MAX) - thrust(SPIN_MIN)
    hover = (spec.body.mass_kg * STANDARD_GRAVITY_MPS2 - lowest) / usable
    # the straight line through the ends of the curve
    slope = tables[0].slope_radps + tables[0].quadratic_radps * (SPIN_MIN + SPIN_MAX)
    idle = tables[0].idle_speed_radps - tables[0].quadratic_radps * SPIN_MIN * SPIN_MAX
    effect, inertia = np.abs(effectiveness(spec)[1:]), np.diag(spec.body.inertia())
    # A demand of 1 changes every motor by up to half of its thrust [ArduPilotCode]
    share = effect / np.maximum(effect.max(axis=1, keepdims=True), 1e-9)
    accel = 0.5 * (usable / len(tables)) * (effect * share).sum(axis=1) / inertia
    if spec.tail is not None:
        tail = spec.rotor[spec.tail_number() or 0]
        accel[2] = (
            usable / len(tables) * abs(tail.position_B_m[0]) * math.sin(math.radians(spec.tail.travel_deg)) / inertia[2]
        )
    lag = max(m.time_constant_s or 1.0 / (m.natural_frequency_radps or 50.0) for m in tables)
    crossover = min(RATE_LOOP_RADPS, MOTOR_SHARE / lag)
    params: Params = {
        f"{motor}PWM_MIN": Param(1000, "command 0"),
        f"{motor}PWM_MAX": Param(2000, "command 1"),
        f"{motor}SPIN_ARM": Param(SPIN_ARM, "default"),
        f"{motor}SPIN_MIN": Param(SPIN_MIN, "default"),
        f"{motor}SPIN_MAX": Param(SPIN_MAX, "default"),
        f"{motor}THST_EXPO": Param(round(thrust_expo(idle, slope), 4), "speed over throttle in the table motor"),
        f"{motor}THST_HOVER": Param(
            round(min(max(hover, 0.125), 0.6875), 4), f"weight over usable thrust: {hover:.3f}; 0.125 to 0.6875 allowed"
        ),
    }  # fmt: skip
    for axis, value in (("RLL", accel[0]), ("PIT", accel[1])):
        gain = round(min(crossover / value, 0.5), 5)
        params |= {
            f"{rate}{axis}_P": Param(gain, f"{crossover:.3g} rad/s over {value:.3g} rad/s^2 at full demand"),
            f"{rate}{axis}_I": Param(gain, "as P"),
            f"{rate}{axis}_D": Param(round(gain * D_OVER_P, 6), "share of P as in the defaults"),
        }
    yaw = round(min(YAW_LOOP_RADPS / accel[2], YAW_P_MAX), 5)
    params[f"{rate}YAW_P"] = Param(
        yaw, f"{YAW_LOOP_RADPS:g} rad/s over {accel[2]:.3g} rad/s^2 at full demand, at most 1"
    )
    params[f"{rate}YAW_I"] = Param(round(yaw * YAW_I_OVER_P, 5), "share of P as in the defaults")
    return params


def battery_params(spec: MulticopterSpec) -> Params:
    return {
        "BATT_MONITOR": Param(4, "voltage and current of monitor/battery"),
        "BATT_CAPACITY": Param(1000 * spec.battery.capacity_Ah, "battery.capacity_Ah, in mAh"),
        "BATT_FS_VOLTSRC": Param(
            1, "voltage at rest, as Ironbird's gauge: it adds the drop over the resistance that it finds"
        ),
        "BATT_LOW_VOLT": Param(round(cell_voltage(LOW) * spec.battery.cells, 2), "Ironbird's curve: a fifth is left"),
        "BATT_CRT_VOLT": Param(round(cell_voltage(CRITICAL) * spec.battery.cells, 2), "a tenth is left"),
        "BATT_LOW_MAH": Param(round(1000 * LOW * spec.battery.capacity_Ah), "a fifth of the capacity"),
        "BATT_CRT_MAH": Param(round(1000 * CRITICAL * spec.battery.capacity_Ah), "a tenth of the capacity"),
        "BATT_FS_LOW_ACT": Param(2, "return, as the reference autopilot does"),
        "BATT_FS_CRT_ACT": Param(1, "land, as the reference autopilot does"),
    }


COPTER = Fit(wire_multicopter, copter_params)
