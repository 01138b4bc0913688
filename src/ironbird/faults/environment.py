"""Faults of the environment: wind, magnetic field, temperature."""

from __future__ import annotations

from ironbird.faults.spec import Change, Fault, Offset, Replace

FAULTS = (
    Fault(
        id="wind.steady@1",
        summary="A steady wind sets in (axis=0 to the north, 1 to the east, 2 down; all three without axis).",
        changes=(Change("wind/steady.velocity_N", Offset(0.0, 20.0)),),
        severity="1 is {:g} m/s",
        reference="[Dai] Eq. 6; [CopterSim] section 9: isConstWind",
        witness="air.wind_sum_N",
    ),
    Fault(
        id="wind.gust@1",
        summary="A steady wind sets in, as wind.steady@1; kept for old reports, the gust is wind.gust@2.",
        changes=(Change("wind/steady.velocity_N", Offset(0.0, 20.0)),),
        severity="1 is {:g} m/s at the top",
        reference="[Dai] Eq. 6; [CopterSim] section 9: isGustWind",
        witness="air.wind_sum_N",
    ),
    Fault(
        id="wind.gust@2",
        summary=(
            "A gust of 1-cosine shape begins (axis=0 to the north, 1 to the east, 2 down; north without axis); order a "
            "step without end: it lasts as `rise_time` and `hold_time` of wind/gust say, 2 s if nothing is set."
        ),
        changes=(Change("wind/gust.triggered_amplitude_N", Offset(0.0, 20.0)),),
        severity="1 is {:g} m/s at the top",
        reference="[MIL8785C] 3.7.3.3; [Dai] Eq. 6",
        witness="air.wind_sum_N",
        axis=0,
    ),
    Fault(
        id="wind.shear@1",
        summary="Wind that grows with height.",
        changes=(Change("wind/shear.velocity_20ft_N", Offset(0.0, 10.0)),),
        severity="1 is {:g} m/s at 20 ft",
        reference="[MIL8785C] 3.7.3.4; [CopterSim] section 9: isSheerWind",
        witness="air.wind_sum_N",
    ),
    Fault(
        id="wind.turbulence@1",
        summary="Turbulence sets in.",
        changes=(Change("wind/turbulence.wind_20ft", Replace(0.0, 30.0)),),
        severity="1 is a mean wind of {:g} m/s at 20 ft, more than severe",
        reference="[MIL8785C] 3.7.3; [CopterSim] section 9: isTurbWind",
        witness="air.wind_sum_N",
    ),
    Fault(
        id="environment.magnetic_anomaly@1",
        summary="A disturbed magnetic field: steel, power lines.",
        changes=(Change("magnetic.field_home", Offset(0.0, 5e-5)),),
        severity="1 is {:g} T, as much as the earth's field",
        reference="[Dai] Sec. II-B",
        witness="magnetic.field_N",
    ),
    Fault(
        id="environment.heat@1",
        summary="Air warmer than standard: less density, drifting sensors.",
        changes=(Change("atmosphere.temperature_offset", Offset(0.0, 40.0)),),
        severity="1 is {:g} K",
        reference="[ChipLevel] Sec. 4",
        witness="atmosphere.density",
    ),
    Fault(
        id="environment.cold@1",
        summary="Air colder than standard.",
        changes=(Change("atmosphere.temperature_offset", Offset(0.0, -40.0)),),
        severity="1 is {:g} K",
        reference="[ChipLevel] Sec. 4",
        witness="atmosphere.density",
    ),
    Fault(
        id="environment.gnss_denied@1",
        summary="All receivers are jammed.",
        changes=(Change("gnss/*/chip.jamming", Replace(0.0, 1.0)),),
        severity="1 is no fix at all",
        reference="[ChipLevel] Sec. 5",
        witness="gnss/1/chip.satellites_used",
    ),
)
# Search words by the beginning of the fault's id
KEYWORDS = {
    "wind.": "weather gust storm air", "environment.": "weather surroundings",
    "environment.magnetic_anomaly": "compass magnetometer", "environment.gnss_denied": "GPS satellite jamming",
    "environment.heat": "temperature hot", "environment.cold": "temperature ice",
}  # fmt: skip
