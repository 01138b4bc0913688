"""[ChipLevel] Fig. 10: an accelerometer that is noisy and then open, with one IMU and with three.

Prints what became of each flight and writes the flight page of the crash. The paper's second fault is an open circuit
of the link to the chip, which silences accelerometer and gyro alike; with an accelerometer that alone reads zero the
vehicle completes its mission.

    python examples/chip_level_fig10_accel_faults.py        writes out/chip_level_fig10_accel_faults.html
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import ironbird as ib
from ironbird.flight.order import Weather
from ironbird.report.flight.page import write_flight_page
from ironbird.vehicles.load import CATALOG

PAGE = Path("out") / "chip_level_fig10_accel_faults.html"
NOISE_S, QUIET_S, OPEN_S = 15.0, 25.0, 30.0
NOISE = f"imu.accel_noise@1:instance=1,severity=1,start={NOISE_S:g},end={QUIET_S:g}"  # 5 m/s^2 on each axis
ACCEL = f"imu.accel_open@1:instance=1,start={OPEN_S:g}"
GYRO = f"imu.gyro_open@1:instance=1,start={OPEN_S:g}"
CASES = {
    "no fault": [],
    "noise": [NOISE],
    "noise, then accelerometer open": [NOISE, ACCEL],
    "noise, then link open": [NOISE, ACCEL, GYRO],
}


def vehicle_file(imus: int, folder: Path) -> Path:
    """The F450 with so many IMUs."""
    text = (CATALOG / "quad_f450.toml").read_text()
    path = folder / f"quad_f450_{imus}_imu.toml"
    path.write_text(
        text.replace('id = "quad_f450"', f'id = "quad_f450_{imus}_imu"').replace(
            "[provenance]", f'[sensors]\nimus = {imus}\n\n[provenance]\n"sensors.imus" = "assumed: for this example"'
        )
    )
    return path


def row(case: str, imus: int, flight: ib.Flight) -> str:
    """One line of the table: shaking under the noise, what came after, the outcome."""
    time_s = flight.log.time()
    noisy = (time_s >= NOISE_S) & (time_s < QUIET_S)
    shaking = np.degrees(np.sqrt((flight.log["body.w_NB_B"][noisy] ** 2).sum(axis=1).mean()))
    after = time_s >= OPEN_S
    tilt = np.degrees(np.arccos(np.clip(flight.log["body.R_NB"][after, 8], -1, 1))).max()
    height = -flight.log["body.p_NB_N"][after, 2].min()
    return f"{imus:4d}  {case:31s} {shaking:7.1f} {tilt:9.1f} {height:11.1f}   {flight.outcome}"


def main() -> None:
    """Fly all cases and show the table."""
    print("IMUs  faults                          shaking   tilt     height      outcome")
    print("                                        deg/s   deg      m")
    with tempfile.TemporaryDirectory() as folder:
        for imus in (1, 3):
            vehicle = ib.load_vehicle(vehicle_file(imus, Path(folder)), control="reference")
            for case, faults in CASES.items():
                flight = ib.fly(
                    vehicle,
                    control="reference",
                    mission="square",
                    weather=Weather(3.0, 240.0, 4.6),
                    seed=1,
                    faults=faults,
                    until_s=90.0,
                )
                print(row(case, imus, flight))
                if imus == 1 and GYRO in faults:
                    PAGE.parent.mkdir(exist_ok=True)
                    write_flight_page(flight, PAGE)
    print(PAGE)


if __name__ == "__main__":
    main()
