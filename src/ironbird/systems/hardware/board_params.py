"""Parameters of a vehicle for a PX4 board on the bench, as a file that QGroundControl loads."""

from __future__ import annotations

from ironbird.autopilots.px4.airframe import number
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.protocols.mavlink.numbers import MAV_PARAM_TYPE_INT32, MAV_PARAM_TYPE_REAL32
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
    lines = [f"# {vehicle.spec.title}, for hardware in the loop", "# Vehicle-Id Component-Id Name Value Type"]
    for name, value in sorted(params.items()):
        kind = MAV_PARAM_TYPE_INT32 if isinstance(value, int) else MAV_PARAM_TYPE_REAL32
        lines.append(f"1\t1\t{name}\t{number(value)}\t{kind}")
    return "\n".join(lines) + "\n"
