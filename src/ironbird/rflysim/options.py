"""Options of a vehicle behind RflySim's ports."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ironbird.files import option_texts as texts
from ironbird.rflysim.ports import LOOPBACK
from ironbird.systems.commanded.front import FrontOptions


class RflySimOptions(FrontOptions):
    """Options of the front end `rflysim`: mode, ports, hosts, faults and parameters."""

    vehicle_id: Annotated[
        int, Field(ge=1, le=9999, description="Number of the vehicle, from 1; its ports follow from it.")
    ] = 1
    mode: Annotated[
        Literal["udp_full", "udp_simple", "mavlink_full", "mavlink_simple", "mavlink_nosend"],
        Field(description="RflySim communication mode."),
    ] = "udp_full"
    host: Annotated[
        str,
        Field(description=texts.HOST),
    ] = LOOPBACK
    shift: Annotated[int, Field(description="Added to every port number.")] = 0
    map_north_m: Annotated[float, Field(ge=-1e6, le=1e6, description="Where home is on the map, in m.")] = 0.0
    map_east_m: Annotated[float, Field(ge=-1e6, le=1e6, description="Where home is on the map, in m.")] = 0.0
    fault_map: Annotated[Literal["A", "B", "C"], Field(description="Map of RFlySimSafe's fault ids.")] = "A"
    init_params: Annotated[str, Field(description=texts.INIT_PARAMS)] = ""
    dyn_params: Annotated[str, Field(description=texts.DYN_PARAMS)] = ""
    all_truth: Annotated[bool, Field(description="Send the truth in all five structs.")] = False
    scene: Annotated[bool, Field(description="Feed RflySim3D on UDP 20010.")] = True
