"""The front end "rflysim": one vehicle behind RflySim's ports, as CopterSim provides it.

Commands arrive at 20100, model inputs at 30100, re-placement at 20002; state, truth and the rest are sent in simulation
time at the rates of the mode. No packet can stop a flight: packets that do not belong to the interface are counted,
refusals are in the flight's record.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError

from ironbird.errors import LinkError
from ironbird.protocols.geodesy import to_geodetic, to_local
from ironbird.rflysim.faults import FaultDesk, entries_of
from ironbird.rflysim.mavlink import CopterSimMavlink, say_truth
from ironbird.rflysim.messages import NOT_HIT, Shown
from ironbird.rflysim.modes import MODES, mode_named, mode_numbered
from ironbird.rflysim.options import RflySimOptions
from ironbird.rflysim.ports import LOOPBACK, MOST_VEHICLES, Ports, Wires
from ironbird.rflysim.setpoints import Setpoints
from ironbird.rflysim.structs import COMMAND, MODEL_IN, SETUP, Packet, decode, encode
from ironbird.rflysim.vehicle import Commandable
from ironbird.vehicles import places as at

HEARTBEAT_S = 1.0
SLOW_S = 1.0  # between two messages of the map's origin and of readiness
SCENE_S = 1.0 / 30.0
MOST_ASKERS = 16  # receivers of the heartbeat
CLIENT = "RflySim client"
MOST_NOTES = 400  # remarks of one flight
FASTEST_IMU_HZ = 250.0
MOST_FLOAT = 3e38  # of a number of single precision
COLLISION_MARK = 12345  # first number of inFloatsCollision


@dataclass(frozen=True)
class Placement:
    """Place at which a client wants the vehicle to restart."""

    map_north_m: float
    map_east_m: float
    yaw_deg: float = 0.0
    height_m: float | None = None
    origin: tuple[float, float, float] | None = None  # a new one of the map


class Every:
    """A periodic timer in simulation time."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self._next_s = 0.0

    def due(self, now_s: float) -> bool:
        """Whether the next period is due; missed periods are not made up for."""
        if now_s < self._next_s - 1e-9:
            return False
        self._next_s = max(self._next_s + self.period_s, now_s)
        return True


class RflySimFront:
    """A vehicle behind the ports of CopterSim."""

    options_type = RflySimOptions
    open_ended = True

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self.options = check_options(options or {})
        chosen = self.options
        self.ports = Ports(chosen.vehicle_id, chosen.shift)
        self.mode = mode_named(chosen.mode)
        self.notes: list[str] = []
        self.packets = self.strange = 0
        self.placement: Placement | None = None  # requested: the flight ends, the next one starts there
        self.rebooted = False
        self._init = entries_of(chosen.init_params, "init-params", 32)
        self._dyn = entries_of(chosen.dyn_params, "dyn-params", 64)
        self._wires: Wires | None = None
        self._mavlink: CopterSimMavlink | None = None
        self._commander: Commandable | None = None
        self._place_N = np.array([chosen.map_north_m, chosen.map_east_m, 0.0])
        self._known: frozenset[str] = frozenset()  # paths of the vehicle's parameters
        self._ready_s = 0.0
        self._hit = NOT_HIT
        self._askers: dict[str, None] = {}
        self._met: set[str] = set()  # hosts that have sent something
        self._imu: tuple[str, int, Every] | None = None
        self._extra: dict[int, tuple[float, ...]] = {}  # inCtrlExt 1 to 5, inFromUE (0), as they came
        self._started_ms = round(time.time() * 1e3)
        self._beats = 0

    # ------------------------------------------------------------------ front end

    def open(self, commander: Commandable) -> None:
        """Bind the ports of this vehicle."""
        self.attend(commander)
        try:
            if self.mode.mavlink:
                self._open_mavlink(commander)
            self._wires = Wires(self.ports, self.options.host, hears_commands=not self.mode.mavlink)
        except LinkError:
            self.close()
            raise

    # ------------------------------------------------------------------ what depends on who flies the vehicle

    def _open_mavlink(self, commander: Any) -> None:
        """Open the reference autopilot's MAVLink link on CopterSim's ports."""
        self._mavlink = CopterSimMavlink(
            self.ports,
            self.options.host,
            full=self.mode.name == "mavlink_full",
            structs=lambda data: self.command(commander, data),
        )
        self._mavlink.open(commander)
        self._mavlink.home.origin = self.home

    def _poll_mavlink(self, commander: Any) -> None:
        if self._mavlink is not None:
            self._mavlink.poll(commander)

    def _tell_mavlink(self, shown: Shown) -> None:
        if self._mavlink is not None:
            say_truth(self._mavlink.channels, shown)

    def _rfly_ctrl(self, data: Sequence[float]) -> None:
        """Process rfly_ctrl as RflySim's PX4 does with its own topic."""
        self._desk.autopilot(data)

    def _px4_ext(self, shown: Shown) -> bytes:
        """The packet that RflySim's PX4 would send for its own topic."""
        return shown.px4_ext()

    # ------------------------------------------------------------------ the same for all

    def ext_to_px4(self, commander: Commandable) -> list[float]:
        """ExtToPX4, which RflySim leaves to the model: eight rotor speeds in rad/s, the first eight of inFromUE."""
        speeds, scene = commander.rotor_speeds()[:8], self._extra.get(0, ())[:8]
        numbers = [*speeds, *[0.0] * (8 - len(speeds)), *scene, *[0.0] * (8 - len(scene))]
        return [value if abs(value) < MOST_FLOAT else 0.0 for value in numbers]

    def attend(self, commander: Commandable) -> None:
        """Prepare everything for a vehicle that needs no port."""
        self._commander = commander
        origin = commander.vehicle.spec.home  # of the map: all vehicles fly the same model
        latitude, longitude, height = to_geodetic(origin, self._place_N)
        moved = {"latitude_deg": latitude, "longitude_deg": longitude, "height_m": height}
        self.origin, self.home = origin, origin.model_copy(update=moved)
        self._set = Setpoints(self._place_N, self.origin, self._note)
        if not self._known:
            self._known = frozenset(path.partition("[")[0] for path in commander.params())
            self._ready_s = commander.params().get(at.NAVIGATOR.arm_time, 0.0)
        self._desk = FaultDesk(
            self.options.fault_map,
            self._known,
            self._init,
            self._dyn,
            inject=commander.inject,
            end=commander.end,
            set_param=commander.set_param,
            said=self._note,
        )
        self._timers()

    def _timers(self) -> None:
        self._state, self._truth = Every(1.0 / self.mode.rate_Hz), Every(1.0 / self.mode.rate_Hz)
        self._slow, self._beat, self._scene = Every(SLOW_S), Every(HEARTBEAT_S), Every(SCENE_S)

    def announce(self) -> list[str]:
        """Lines for the user: ports of commands, model inputs, state and truth."""
        ports, host = self.ports, self.options.host
        return [
            f"vehicle {ports.vehicle}: {self.mode.name}; commands UDP {host}:{ports.command}, model inputs "
            f"{ports.model}; state to {ports.state}, truth to {ports.truth}, rfly_px4 to {ports.extra}; heartbeat to "
            f"{ports.time}, re-placement at {ports.setup}"
        ]

    @property
    def finished(self) -> bool:
        """Whether a client has requested a restart of the vehicle."""
        return self.rebooted or self.placement is not None

    def poll(self, commander: Commandable) -> None:
        """Receive, then send what is due."""
        wires = self._wires
        if wires is None:
            return
        commander.by = CLIENT
        try:
            for data, (host, _) in wires.commands():
                self._meet(host)
                self.command(commander, data)
            for data, (host, _) in wires.inputs():
                self._meet(host)
                self.model_input(commander, data, host)
            for data, all_got_it in wires.placements():
                self.setup(commander, data, all_got_it)
            self.settle(commander)
        finally:
            commander.by = ""
        self._poll_mavlink(commander)
        self._tell(commander, wires)

    def _meet(self, host: str) -> None:
        """Note a client when its first packet comes."""
        if host not in self._met and len(self._met) < MOST_ASKERS:
            self._met.add(host)
            if self._commander is not None:
                self._commander.note("client", f"{CLIENT} at {host} connected")

    def settle(self, commander: Commandable) -> None:
        """Repeat commands that were refused."""
        self._set.poll(commander)

    def forget(self) -> None:
        """Reset all requests and notes, for a new flight."""
        self.notes.clear()
        self.placement, self.rebooted, self._imu, self._hit = None, False, None, NOT_HIT
        self._askers.clear()
        self._extra.clear()
        if self._commander is not None:
            self.attend(self._commander)

    def close(self) -> None:
        """Close the ports; further calls do nothing."""
        if self._wires is not None:
            self._wires.close()
            self._wires = None
        if self._mavlink is not None:
            self._mavlink.close()

    # ------------------------------------------------------------------ in

    def command(self, commander: Commandable, data: bytes) -> None:
        """Process a packet received at port 20100: set-points, arming, MAVLink."""
        packet = decode(COMMAND, data)
        self.packets += 1
        if packet is None:
            self.strange += 1
        elif packet.layout.name == "inHILCMDData":
            self._set.full(commander, packet)
        elif packet.layout.name == "inOffboardShortData":
            self._set.short(commander, packet)
        else:
            self._note("restart, on request of a client")
            self.rebooted = True

    def model_input(self, commander: Commandable, data: bytes, host: str = LOOPBACK) -> None:
        """Process a packet received at port 30100: model inputs, faults, parameters."""
        packet = decode(MODEL_IN, data)
        self.packets += 1
        if packet is None:
            self.strange += 1
            return
        name = packet.layout.name
        if name in ("PX4SILIntFloat", "DllInDoubCtrls"):
            self._sil(commander, packet)
        elif name in ("inCtrlExt", "inCtrlExtDouble"):
            self._ext(packet)
        elif name == "PX4ModelInParams":
            self._desk.fault_params(packet["mask"], packet["data"])
        elif name in ("InitInParams", "DynModiParams"):
            self._desk.model_params(name, packet["mask"], packet["data"])
        elif name == "UEToCopterDataD":
            self._keep(0, "inFromUE", packet["data"])
        elif name == "Ue4RayTraceDrone":
            self._collision(packet["copterID"], packet["size"], packet["posE"], packet["ray"])
        elif name == "Coll20d":
            row = packet["data"]
            if row[0] == COLLISION_MARK and all(map(math.isfinite, row)):
                self._collision(int(row[1]), row[2], row[3:6], row[9:15])
        elif name == "TerrainIn15d":
            self._terrain(commander, packet["data"][0])
        elif name == "PX4UorbRflyCtrl":
            self._rfly_ctrl(packet["data"])
        elif name == "heartbeatRequest":
            if len(self._askers) < MOST_ASKERS:
                self._askers[host] = None
        elif name == "SensorReqCopterSim":
            self._sensor(packet)
        else:
            self.setup(commander, data, True)

    def _sil(self, commander: Commandable, packet: Packet) -> None:
        if packet.layout.name == "PX4SILIntFloat":
            ints, floats = packet["inSILInts"], packet["inSILFloats"]
        else:
            row = packet["data"]
            if not all(math.isfinite(value) and abs(value) < 2**31 for value in row[:8]):
                self.strange += 1
                return
            ints, floats = tuple(int(value) for value in row[:8]), row[8:]
        if self._desk.is_fault(ints):
            self._desk.sil(ints, floats)
        else:
            self._set.sil(commander, ints, floats)

    def _ext(self, packet: Packet) -> None:
        number = packet["checksum"] % 100
        row = packet["data"] if "data" in packet.values else (*packet["inSILInts"], *packet["inSILFloats"])
        self._keep(number, f"inCtrlExt{number}", row)

    def _keep(self, number: int, name: str, row: tuple[float, ...]) -> None:
        """Store numbers that only a user's own model would use, and report them once."""
        if number not in self._extra:
            self._note(f"{name} is received; no part of this model uses it")
        self._extra[number] = row

    def _collision(self, other: int, size: float, place: Any, ray: Any) -> None:
        """Process a collision: with a vehicle it falls; with scenery clients are notified only."""
        if not all(map(math.isfinite, (size, *place, *ray))) or other < 0 or other == self.ports.vehicle:
            return
        if other != self._hit:
            self._note(f"hit {'the scenery' if other == 0 else f'vehicle {other}'}, as the 3D engine says")
        self._hit = other
        if other > 0:
            self._desk.hit()

    def _terrain(self, commander: Commandable, down_m: float) -> None:
        if not math.isfinite(down_m) or abs(down_m) > 1e4:
            self.strange += 1
            return
        refused = commander.set_param("terrain.base_z", down_m)
        if refused:
            self._note(f"TerrainZ {down_m:g} m refused: {refused}")

    def _sensor(self, packet: Packet) -> None:
        if packet["sensorType"] != 0:
            self._note(f"sensor of type {packet['sensorType']} was asked for; only 0, the inertial unit, is sent")
            return
        rate = min(max(float(packet["rate"]), 1.0), FASTEST_IMU_HZ)
        port = int(packet["port"]) or self.ports.imu
        if port < 1024:
            self._note(f"inertial unit to port {port} refused: give 1024 or more")
            return
        host = ".".join(map(str, packet["ip"]))
        if not host.startswith("127.") and self.options.host == LOOPBACK:
            host = LOOPBACK  # no packet leaves this computer by default
        self._imu = host, port, Every(1.0 / rate)

    def setup(self, commander: Commandable, data: bytes, all_got_it: bool) -> None:
        packet = decode(SETUP, data)
        if packet is None:
            self.strange += 1
            return
        vehicle = int(packet["copterID"])
        if vehicle > 0 and vehicle != self.ports.vehicle:
            if not all_got_it and self._wires is not None:
                self._pass_on(data, vehicle)
            return
        if packet.layout.name == "CptSimCMD":
            self._note(f"another {'map' if packet['what'] == 2 else 'model'} was asked for; give --type at the start")
            return
        new_mode = mode_numbered(int(packet["udpMode"]))
        if new_mode is not None and new_mode is not self.mode:
            if new_mode.mavlink != self.mode.mavlink:
                self._note(f"mode {new_mode.name} was asked for; start with --mode {new_mode.name}")
            else:
                self.mode = new_mode
                self._timers()
        self._place(packet)

    def _pass_on(self, data: bytes, vehicle: int) -> None:
        """Forward a packet to the vehicle it is addressed to: the host's port 20002 reaches one vehicle only."""
        assert self._wires is not None
        if vehicle < self.ports.vehicle + MOST_VEHICLES:
            self._wires.send(data, Ports(vehicle, self.ports.shift).model)

    def _place(self, packet: Packet) -> None:
        how, xy, yaw = int(packet["isXyYaw"]), packet["xy"], float(packet["yaw"])
        numbers = (*xy, yaw, *packet["zRollPitch"])
        if how not in (1, 2, 3):
            return
        if not all(math.isfinite(value) and abs(value) < 1e6 for value in numbers):
            self.strange += 1
            return
        height = -float(packet["zRollPitch"][0]) if packet["isZRP"] > 0 else None
        here = float(self._place_N[0]), float(self._place_N[1])
        if how == 1:
            self.placement = Placement(xy[0], xy[1], yaw, height)
        elif how == 2:
            if abs(xy[0]) > 89.9 or abs(xy[1]) > 180.0:  # as a home may be
                self.strange += 1
                return
            self.placement = Placement(*here, origin=(xy[0], xy[1], yaw))
        else:
            north, east, _ = to_local(self.origin, xy[0], xy[1], 0.0)
            self.placement = Placement(north, east, yaw, height)
        self._note(f"placed again at {self.placement.map_north_m:g}, {self.placement.map_east_m:g} m, by a client")

    # ------------------------------------------------------------------ out

    def _tell(self, commander: Commandable, wires: Wires) -> None:
        now_s, ports, mode = commander.time_s, self.ports, self.mode
        state, truth, slow = self._state.due(now_s), self._truth.due(now_s), self._slow.due(now_s)
        scene = self.options.scene and self._scene.due(now_s)
        imu = self._imu is not None and self._imu[2].due(now_s)
        if not (state or truth or slow or scene or imu):
            return
        shown = Shown.of(
            commander, ports.vehicle, self._place_N, self.origin, self.home,
            ready=commander.status().healthy and now_s >= self._ready_s, hit=self._hit, faults=self._desk.count,
            refused=self.strange + self._set.bad,
        )  # fmt: skip
        if mode.sends and state and not mode.mavlink:
            wires.send(shown.state_full() if mode.name == "udp_full" else shown.state_short(), ports.state)
        if mode.sends and state and mode.mavlink:
            self._tell_mavlink(shown)
        if truth:
            structs = MODES_TRUTH if self.options.all_truth else mode.truth
            for data in shown.truths(structs):
                wires.send(data, ports.truth)
            wires.send(self._px4_ext(shown), ports.extra)
        if slow:
            wires.send(shown.origin_gps(), ports.truth)
            if mode.name == "udp_simple" and mode.sends:
                for data in shown.state_more():
                    wires.send(data, ports.state)
            if self._hit >= 0:
                wires.send(shown.crash(), ports.truth)
            self._heartbeat(wires)
        if scene:
            wires.send(shown.out_copter(), ports.truth)
            for data in (*shown.truths(("SOut2Simulator",)), shown.ext_to_ue4()):
                wires.send(data, ports.scene)
        if imu and self._imu is not None:
            host, port, _ = self._imu
            accels, gyros = commander.rig.accels, commander.rig.gyros
            if accels and gyros:
                wires.send(shown.imu(accels[0].values, gyros[0].values), port, host)

    def _heartbeat(self, wires: Wires) -> None:
        self._beats += 1
        beat = encode(
            "RflyTimeStmp", copterID=self.ports.vehicle, start_ms=self._started_ms, now_ms=round(time.time() * 1e3),
            count=self._beats,
        )  # fmt: skip
        wires.send_to_group(beat, self.ports.time)
        wires.send(beat, self.ports.time)
        for host in self._askers:
            if host != LOOPBACK:
                wires.send(beat, self.ports.time, host)

    def _note(self, text: str) -> None:
        if len(self.notes) < MOST_NOTES:
            self.notes.append(text)
            if self._commander is not None:
                self._commander.note("rflysim", text)


MODES_TRUTH = (
    *dict.fromkeys(name for mode in MODES.values() for name in mode.truth),
    "SOut2SimulatorSimple1",
    "SOut2SimulatorSimple",
)


def check_options(options: Mapping[str, Any]) -> RflySimOptions:
    """The validated options of the front end; `LinkError` explains what is wrong."""
    try:
        return RflySimOptions.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise LinkError(f"option {key} of rflysim: {first['msg']} (got {first['input']!r})") from None
