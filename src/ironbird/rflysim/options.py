"""Options of a vehicle behind RflySim's ports."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ironbird.rflysim.ports import LOOPBACK
from ironbird.systems.commanded.front import FrontOptions


class RflySimOptions(FrontOptions):
    """Options of the front end `rflysim`: mode, ports, hosts, faults and parameters."""

    vehicle_id: Annotated[
        int, Field(ge=1, le=9999, description="rflysim: number of the vehicle, from 1: its ports follow.")
    ] = 1
    mode: Annotated[
        Literal["udp_full", "udp_simple", "mavlink_full", "mavlink_simple", "mavlink_nosend"],
        Field(description="rflysim: how it speaks to clients."),
    ] = "udp_full"
    host: Annotated[str, Field(description="rflysim: where it listens; clients are looked for there too.")] = LOOPBACK
    shift: Annotated[int, Field(description="rflysim: added to every port number.")] = 0
    map_north_m: Annotated[float, Field(ge=-1e6, le=1e6, description="rflysim: where home is on the map.")] = 0.0
    map_east_m: Annotated[float, Field(ge=-1e6, le=1e6, description="rflysim: where home is on the map.")] = 0.0
    fault_map: Annotated[Literal["A", "B", "C"], Field(description="rflysim: map of fault ids.")] = "A"
    init_params: Annotated[str, Field(description="rflysim: InitInParams: 1=PATH,2=PATH.")] = ""
    dyn_params: Annotated[str, Field(description="rflysim: DynModiParams: 1=PATH,2=PATH.")] = ""
    all_truth: Annotated[bool, Field(description="rflysim: send the truth in all five structs.")] = False
    scene: Annotated[bool, Field(description="rflysim: feed RflySim3D on port 20010.")] = True
