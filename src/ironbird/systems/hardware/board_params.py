"""Parameters of a vehicle for a PX4 board on the bench, as a file that QGroundControl loads."""

from __future__ import annotations

from ironbird.autopilots.px4.airframe import ground_station_text
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.vehicles.load import Vehicle

# As in PX4's own HITL airframes 1001 and 1002: no hardware sensors, no power module [PX4Hitl]
BENCH: dict[str, float] = {"SYS_HITL": 1, "UAVCAN_ENABLE": 0, "CBRK_SUPPLY_CHK": 894281}


def board_params(vehicle: Vehicle) -> str:
    """Parameters of the vehicle for PX4 as text; its outputs are simulated actuators, HIL_ACT_FUNCn."""
    airframe = airframe_of(vehicle)
    params = {
        name.replace("PWM_MAIN_FUNC", "HIL_ACT_FUNC"): value
        for name, value in {**airframe.params, **airframe.late, **BENCH}.items()
        if not name.startswith("SIM_")  # of PX4's simulation on a computer
    }
    return ground_station_text(params, f"{vehicle.spec.title}, for hardware in the loop")
