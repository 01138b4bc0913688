"""Performance of a set of parts: hover, full throttle, payload, range, endurance with uncertainty; and warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ironbird.design.parts import (
    ESTIMATES,
    STATUSES,
    BatteryPart,
    EscPart,
    FlightControllerPart,
    FramePart,
    MotorPart,
    Part,
    PropellerPart,
    mass_of,
)
from ironbird.design.propulsion import (
    BATTERY_SIGMA,
    DRAG_SIDE,
    DRAG_TOP,
    MOTOR_SIGMA,
    PAYLOAD_DUTY,
    Chain,
    G,
    air_density,
    chain_of,
    static_coefficients,
)
from ironbird.errors import RecordError

DRAWS = 400
FRAME_450_M = 0.45
HIGH_DUTY, LOW_DUTY = 0.65, 0.25
WEAK = STATUSES[-2:]  # statuses of figures that no data sheet gives
TILTS = np.radians(np.arange(1.0, 70.0, 0.5))


@dataclass(frozen=True)
class Craft:
    """A multicopter as a set of parts on a frame, with its mass and the height and temperature of the place."""

    motor: MotorPart
    propeller: PropellerPart
    esc: EscPart
    battery: BatteryPart
    mass_kg: float  # take-off mass
    frame_m: float = FRAME_450_M  # diagonal between motors
    rotors: int = 4
    height_m: float = 50.0
    temperature_C: float = 25.0
    others: tuple[Part, ...] = ()  # frame and flight controller if chosen by name; size and mass above include them
    summed: bool = False  # whether the mass is the sum of those of the parts

    def parts(self) -> list[tuple[str, Part]]:
        """Every part of the craft with the name of its kind."""
        kinds: dict[type[Part], str] = {FramePart: "frame", FlightControllerPart: "flight controller"}
        return [
            ("motor", self.motor),
            ("propeller", self.propeller),
            ("speed controller", self.esc),
            ("battery", self.battery),
            *((kinds[type(part)], part) for part in self.others),
        ]

    def chain(self, factors: np.ndarray | None = None) -> Chain:
        """Propulsion chain of the craft; `factors` [draw, 5] scale thrust, torque, KV, resistance and capacity."""
        rho = air_density(self.height_m, self.temperature_C)
        return chain_of(
            self.motor, self.propeller, self.esc, self.battery, rotors=self.rotors, rho=rho, factors=factors
        )


@dataclass(frozen=True)
class Value:
    """A figure and its standard deviation."""

    value: float
    sigma: float
    unit: str

    def __str__(self) -> str:
        unit = "" if self.unit == "1" else f" {self.unit}"
        deviation = f" ± {float(f'{self.sigma:.2g}'):g}" if self.sigma else ""
        return f"{self.value:.4g}{deviation}{unit}"


@dataclass(frozen=True)
class Evaluation:
    """All figures of a craft by name."""

    craft: Craft
    figures: dict[str, Value]
    warnings: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> float:
        return self.figures[name].value


UNITS = {
    "hover rpm": "rpm", "hover throttle": "1", "hover ESC current": "A", "hover battery current": "A",
    "hover voltage": "V", "hover time": "min", "hover shaft power": "W", "hover efficiency": "1",
    "full rpm": "rpm", "full lift": "N", "full ESC current": "A", "full battery current": "A", "full voltage": "V",
    "full time": "min", "payload": "kg", "largest tilt": "deg", "top speed": "m/s", "range": "km",
    "time at best range": "min",
}  # fmt: skip


def propulsion_mass_kg(
    motor: MotorPart, propeller: PropellerPart, esc: EscPart, battery: BatteryPart, rotors: int
) -> float:
    """Mass of all motors, propellers, speed controllers and the battery; a part without a mass is refused."""
    each = mass_of("motor", motor) + mass_of("propeller", propeller) + mass_of("speed controller", esc)
    return rotors * each + mass_of("battery", battery)


def evaluate(craft: Craft, *, draws: int = DRAWS, seed: int = 0) -> Evaluation:
    """Hover, full throttle, range and payload of a multicopter, each figure with its standard deviation.

    Deviations come from `draws` random variations of propeller, motor and battery.
    """
    if not (math.isfinite(craft.mass_kg) and craft.mass_kg > 0 and craft.frame_m > 0 and craft.rotors >= 3):
        raise RecordError(
            f"mass {craft.mass_kg:g} kg, frame {craft.frame_m:g} m, {craft.rotors} rotors: all are positive, "
            f"rotors 3 or more"
        )
    nominal = _figures(craft, None)
    if not np.isfinite(nominal["hover throttle"][0]) or nominal["hover throttle"][0] > 1:
        full = float(nominal["full lift"][0])
        raise RecordError(
            f"these parts do not lift {craft.mass_kg:.3g} kg: full throttle gives {full:.3g} N, the weight is "
            f"{craft.mass_kg * G:.3g} N; take larger propellers, more cells or less mass{_cells_hint(craft)}"
        )
    _, _, propeller_sigma = static_coefficients(craft.propeller)
    random = np.random.default_rng(seed)
    sigmas = np.array([propeller_sigma, propeller_sigma, MOTOR_SIGMA, MOTOR_SIGMA, BATTERY_SIGMA])
    drawn = _figures(craft, np.exp(sigmas * random.standard_normal((draws, 5))))
    figures = {
        name: Value(float(nominal[name][0]), float(np.nanstd(drawn[name])), unit) for name, unit in UNITS.items()
    }
    return Evaluation(craft, figures, _warnings(craft, figures))


def _figures(craft: Craft, factors: np.ndarray | None) -> dict[str, np.ndarray]:
    chain = craft.chain(factors)
    weight = craft.mass_kg * G
    hover = chain.state(chain.hover_rpm(weight))
    full, loaded = chain.at_duty(1.0), chain.at_duty(PAYLOAD_DUTY)
    shaft = 2 * math.pi / 60 * hover.rpm * chain.torque(hover.rpm)
    lift = craft.rotors * chain.thrust(full.rpm)
    carried = craft.rotors * chain.thrust(loaded.rpm)
    with np.errstate(invalid="ignore"):
        tilt = np.degrees(np.arccos(np.minimum(weight / carried, 1.0)))
    speed, distance, time = _forward(craft, chain, weight, np.radians(tilt))
    figures = {
        "hover rpm": hover.rpm,
        "hover throttle": hover.duty,
        "hover ESC current": hover.esc_A,
        "hover battery current": hover.battery_A,
        "hover voltage": hover.esc_V,
        "hover time": chain.minutes(hover),
        "hover shaft power": shaft,
        "hover efficiency": craft.rotors * shaft / (chain.battery_V * hover.battery_A),
        "full rpm": full.rpm,
        "full lift": lift,
        "full ESC current": full.esc_A,
        "full battery current": full.battery_A,
        "full voltage": full.esc_V,
        "full time": chain.minutes(full),
        "payload": carried / G - craft.mass_kg,
        "largest tilt": tilt,
        "top speed": speed,
        "range": distance,
        "time at best range": time,
    }
    size = 1 if factors is None else len(factors)
    return {name: np.broadcast_to(np.asarray(value, float), (size,)) for name, value in figures.items()}


def _forward(
    craft: Craft, chain: Chain, weight: float, most_tilt: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Top speed (m/s), best range (km) and flight time at it (min), over tilts: G tan = rho V^2 S CD / 2 [Quan]."""
    scale = (craft.frame_m / FRAME_450_M) ** 2
    area = scale * (DRAG_SIDE * (1 - np.sin(TILTS) ** 3) + DRAG_TOP * (1 - np.cos(TILTS) ** 3))
    speed = np.sqrt(2 * weight * np.tan(TILTS) / (float(np.mean(chain.rho)) * area))
    minutes = np.array([np.atleast_1d(chain.minutes(chain.state(chain.hover_rpm(weight, tilt)))) for tilt in TILTS])
    allowed = TILTS[:, None] <= np.atleast_1d(most_tilt)[None, :]
    reach = np.where(allowed & np.isfinite(minutes), 0.06 * speed[:, None] * minutes, -1.0)  # km
    best = np.argmax(reach, axis=0)
    top = np.max(np.where(allowed, speed[:, None], 0.0), axis=0)
    return top, np.maximum(np.max(reach, axis=0), 0.0), minutes[best, np.arange(minutes.shape[1])]


def largest_propeller_m(frame_m: float, rotors: int) -> float:
    """Largest propeller diameter in m with 5 % of air between neighbours: R = r_max / sin(180 deg / n) [Quan]."""
    return frame_m * math.sin(math.pi / rotors) / 1.05


def _cells_hint(craft: Craft) -> str:
    """What to do if the name of the battery says other cells than its figures; empty if they agree."""
    named, cells = craft.battery.named_cells(), craft.battery.cells
    if named in (0, cells):
        return ""
    count = f"{cells} cell" + "s" * (cells > 1)
    return f"; battery '{craft.battery.name}' says {named}S, its figures are of {count}: add --cells {named}"


def _warnings(craft: Craft, figures: dict[str, Value]) -> list[str]:
    warnings = [hint.removeprefix("; ")] if (hint := _cells_hint(craft)) else []
    duty, amps = figures["hover throttle"].value, figures["full battery current"].value
    if duty > HIGH_DUTY:
        warnings.append(f"hover takes {100 * duty:.0f} % throttle: little is left for control")
    if duty < LOW_DUTY:
        warnings.append(f"hover takes {100 * duty:.0f} % throttle only: the resolution of the control suffers")
    if craft.battery.current_A and amps > craft.battery.current_A:
        warnings.append(f"full throttle draws {amps:.0f} A, the battery gives {craft.battery.current_A:.0f} A")
    esc_A = figures["full ESC current"].value
    if craft.esc.current_A and esc_A > craft.esc.current_A:
        warnings.append(f"full throttle draws {esc_A:.0f} A of each ESC, it bears {craft.esc.current_A:.0f} A")
    if craft.motor.current_A and esc_A > craft.motor.current_A:
        warnings.append(f"full throttle draws {esc_A:.0f} A of each motor, it bears {craft.motor.current_A:.0f} A")
    most = largest_propeller_m(craft.frame_m, craft.rotors)
    if craft.propeller.diameter_m > most:
        warnings.append(
            f"propellers of {1e3 * craft.propeller.diameter_m:.0f} mm touch on this frame: {1e3 * most:.0f} mm at most"
        )
    sag = 1 - figures["full voltage"].value / (craft.battery.voltage_V or 4.0 * craft.battery.cells)
    if sag > 0.15:
        warnings.append(f"the voltage falls by {100 * sag:.0f} % at full throttle")
    if craft.motor.no_load_current_A == 0:
        warnings.append(f"the no-load current of {craft.motor.name} is not known; 0 A was taken")
    if not craft.esc.resistance_ohm:
        warnings.append(f"the resistance of {craft.esc.name} is not known; 0 Ω was taken")
    for kind, part in craft.parts():
        if text := _estimate(kind, part, craft.summed):
            warnings.append(text)
        if part.status in WEAK:
            warnings.append(f"figures of the {kind} {part.name}: {part.status} ({part.source})")
    if not craft.propeller.table:
        warnings.append(f"{craft.propeller.name} has no measured coefficients: those of the formula are good to 20 %")
    return warnings


def _estimate(kind: str, part: Part, masses_count: bool) -> str:
    """The warning of a figure that follows a rule; empty if none does, or if it is a mass and masses do not count."""
    rule = ESTIMATES.get("esc" if isinstance(part, EscPart) else kind)
    if rule is None or rule.key not in part.estimated:
        return ""
    value = getattr(part, rule.key)
    if rule.key == "mass_kg":
        figure = f"the mass of the {kind} {part.name} is not known: {1e3 * value:.3g} g each" if masses_count else ""
    else:
        figure = f"the resistance of the {kind} {part.name} is not known: {1e3 * value:.3g} mΩ"
    return f"{figure} estimated ({rule.how})" if figure else ""
