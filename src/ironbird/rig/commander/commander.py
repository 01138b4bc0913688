"""The commander: the only way by which commands from outside reach a vehicle whose own autopilot flies it.

All numbers are SI and radians: metres north, east and down of the vehicle's home, body axes forward, right, down.
Every command returns None if it was accepted, or the reason of its refusal as text. Nothing here waits; a command acts
from the next step on. Sticks are -1 to 1: roll to the right, pitch forward (nose down), throttle with 0 in the middle,
yaw to the right; on the ground and on water pitch (or throttle) is the speed and roll (or yaw) the turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ironbird.blocks.controllers import mission_table as modes
from ironbird.blocks.controllers.command_ports import BY_SETPOINT
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.commander.abilities import STICKS
from ironbird.rig.commander.gauges import Gauges
from ironbird.rig.commander.target import MOST, Target, asked, impossible, kind_of, plain, turned
from ironbird.rig.rig import Rig
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle

NEVER_S = 1e9  # hold time of the item of a vehicle without a mission
NOTED_S = 1.0  # between two notes of commands of the same kind
NOTED_ELSEWHERE = ("arm", "disarm", "disarm by force")  # as armed and disarmed
STRAIGHT_M = 3000.0  # how far ahead a transition aims
COMMANDS = {"hold": modes.HOLD, "mission": modes.MISSION, "return": modes.RETURN, "land": modes.LANDING}
KINDS = {  # name of a mission item -> number in the navigator's table
    "waypoint": modes.FLY, "land": modes.LAND, "spiral": modes.SPIRAL, "takeoff": modes.TAKE_OFF_ITEM,
    "loiter": modes.LOITER_ITEM, "return": modes.RETURN_ITEM,
}  # fmt: skip


class Commander(Gauges):
    """Takes commands for one vehicle, and reports its estimate and status."""

    def __init__(
        self, vehicle: Vehicle, rig: Rig, *, sees_truth: bool = False, **observers: Callable[..., None]
    ) -> None:
        super().__init__(vehicle, rig, sees_truth=sees_truth, **observers)
        self._seen_armed = False
        self._wanted, self._mode = "hold", ""
        self._failsafes: tuple[str, ...] = ()
        self._sticks_s = self._target_s = -math.inf
        flat = rig.state.model.flat
        self._inputs = {name: flat.u.rows(name) for name in flat.u.start}
        self._orders = 0
        self._noted_s: dict[str, float] = {}  # when commands of a kind were noted
        self._items = self._loaded()
        self._set("command", modes.DISARMED)

    def _loaded(self) -> list[LocalItem]:
        """The mission of the model; empty if that is the single item of a vehicle without a mission."""
        flat, values = self.rig.state.model.flat, self.rig.state.params[0, :, 0]
        table = values[flat.p.rows(at.NAVIGATOR.table)].reshape(-1, modes.ROWS)
        count = int(values[flat.p.rows(at.NAVIGATOR.count)][0])
        names = {number: name for name, number in KINDS.items()}
        items = [
            LocalItem(row[0], row[1], -row[2], row[4], names.get(row[5], "waypoint"), math.degrees(row[3]))
            for row in table[:count].tolist()
        ]
        return [] if len(items) == 1 and items[0].hold_s >= NEVER_S else items

    # ------------------------------------------------------------------ what it does by itself

    def watch(self) -> None:
        """Check what the autopilot has done by itself; called before every exchange."""
        if self.look() == "disarmed" and self._seen_armed:  # it has landed, or lost its stream on the ground
            self._give("disarmed by itself", modes.DISARMED)
            self._armed = self._seen_armed = False
            self.note("armed", "disarmed")
        elif self._mode != "disarmed":
            self._seen_armed = self._armed

    def look(self) -> str:
        """Record changes of mode and failsafes; returns the mode."""
        mode = self.mode
        if mode != self._mode:
            self._mode = mode
            self.note("mode", mode)
        failsafes = self._active()
        for name in failsafes:
            if name not in self._failsafes:
                self.note("failsafe", name)
        self._failsafes = failsafes
        return mode

    # ------------------------------------------------------------------ arming, taking off, landing

    def arm(self) -> str | None:
        """Arm: the motors idle until lift is commanded."""
        if self._armed:
            return None
        if refusal := self._unready():
            return refusal
        if self.kind.launched and self._held[at.NAVIGATOR.landed][0] + self._down() > 0.5:
            return "it has landed: its launcher fires once"
        self._armed, self._seen_armed = True, False
        self.note("armed", "armed")
        if self._wanted in STICKS or self._wanted == "offboard":
            self._stamp()
            return self._steer("arm", self._wanted)
        return self._give("arm", modes.ARMED)

    def disarm(self, force: bool = False) -> str | None:
        """Stop the motors; in the air only with `force`."""
        if self.flying and not force:
            return "in the air: land first, or force it"
        if self._armed:
            self.note("armed", "disarmed")
        self._armed = self._seen_armed = False
        return self._give("disarm by force" if force else "disarm", modes.DISARMED)

    def _down(self) -> float:
        """1 when a mission has ended in a landing, else 0."""
        done = self._held[at.NAVIGATOR.done][0] > 0.5
        return float(done and self.mode == "disarmed")

    def _unready(self) -> str | None:
        if self.sees_truth:
            return None
        healthy = self._held.get(at.ESTIMATOR.healthy)
        if healthy is not None and healthy[0] < 0.5:
            return "no estimate of attitude and position yet"
        arm_s = self._value(at.NAVIGATOR.arm_time)
        if arm_s is not None and self.time_s < arm_s:
            return f"the estimator settles until {arm_s:g} s"
        return None

    def take_off(self, height_m: float | None = None) -> str | None:
        """Climb to a height above home (m) and hold there; without a height, to the vehicle's default."""
        if not self.kind.flies:
            return f"a vehicle of kind {self.kind.name} does not take off"
        if not self._armed:
            return "not armed"
        if self.flying:
            return "already in the air"
        if height_m is not None and (refusal := self.set_param(at.NAVIGATOR.take_off_height, height_m)):
            return refusal
        self._wanted = "hold"
        return self._give("take off" + (f" to {height_m:g} m" if height_m is not None else ""), modes.TAKE_OFF)

    def land(self) -> str | None:
        """Land at the present place; a wing lands where its landing is planned."""
        return self.set_mode("land")

    def return_home(self) -> str | None:
        """Return to home, and land there if the vehicle does so."""
        return self.set_mode("return")

    def hold(self) -> str | None:
        """Hold the present position; a wing circles."""
        return self.set_mode("hold")

    def start_mission(self, item: int = 0) -> str | None:
        """Fly the mission from an item on; a vehicle without a mission flies to its default place."""
        if not 0 <= item < max(len(self._items), 1):
            return f"the mission has items 0 to {max(len(self._items), 1) - 1}, not {item}"
        if not self._armed:
            return "not armed"
        self._wanted = "mission"
        return self._give(f"mission from item {item}", modes.MISSION, start_item=item)

    def set_mode(self, mode: str) -> str | None:
        """Change to a mode by name; modes that need set-points or sticks require that these already arrive."""
        accepts = self.accepts
        if mode not in accepts:
            known = ", ".join(sorted(accepts))
            return f"a vehicle of kind {self.kind.name} has no mode '{mode[:40]}' that can be asked for; it has {known}"
        if mode == "offboard" and self.time_s - self._target_s > self._timeout_s():
            return "no set-point has come yet: send them first, then change the mode"
        if mode == "mission":
            return self._continue_mission()
        self._wanted = mode
        if not self._armed:
            return None if mode in STICKS or mode in ("offboard", "hold") else "not armed"
        if mode in STICKS or mode == "offboard":
            if mode in STICKS and self.time_s - self._sticks_s > self._timeout_s():
                self._stamp()
            return self._steer(mode, mode)
        if not self.flying and self.kind.flies:
            if mode in ("return", "land"):
                return "on the ground"
            return self._give("hold on the ground", modes.ARMED)
        return self._give(mode, COMMANDS[mode])

    def _continue_mission(self) -> str | None:
        if not self._items:
            return "there is no mission"
        if not self._armed:
            return "not armed"
        self._wanted = "mission"
        return self._give("mission", modes.MISSION)

    def _steer(self, words: str, mode: str) -> str | None:
        return self._give(words, modes.OFFBOARD, direct=STICKS.get(mode, BY_SETPOINT))

    def release(self) -> str | None:
        """Return control to the vehicle's own mission."""
        return self._continue_mission()

    def take(self) -> str | None:
        """Take control from the mission: hold here, and wait for commands."""
        return self.hold()

    # ------------------------------------------------------------------ set-points, sticks, places

    def offboard(self, target: Target) -> str | None:
        """Set the set-point of the mode offboard; each call also renews the stream's timeout."""
        refusal = impossible(target) or self._unable(target)
        if refusal:
            return refusal
        position, velocity = np.array(target.position_N, float), np.array(target.velocity_N, float)
        acceleration = np.array(target.acceleration_N, float)
        if target.frame == "B":
            here = self.seen()
            c, s = math.cos(here.rpy[2]), math.sin(here.rpy[2])
            ahead = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            position, velocity, acceleration = (turned(ahead, v) for v in (position, velocity, acceleration))
            position = position + here.p_N
        speed = target.airspeed if math.isfinite(target.airspeed) else target.speed
        numbers = [*position, *velocity, target.yaw, target.yaw_rate, target.course, target.height, speed]
        self._set("offboard_kind", kind_of(target))
        self._set("offboard_given", *(float(math.isfinite(number)) for number in numbers))
        self._set("offboard_position", *plain(position))
        self._set("offboard_velocity", *plain(velocity))
        self._set("offboard_acceleration", *plain(acceleration))
        self._set("offboard_yaw", *plain([target.yaw]))
        self._set("offboard_yaw_rate", *plain([target.yaw_rate]))
        self._set("offboard_attitude", *(target.attitude_rpy or (0.0, 0.0, 0.0)))
        self._set("offboard_rates", *(target.rates_B or (0.0, 0.0, 0.0)))
        self._set("offboard_thrust", *plain([target.thrust]))
        self._set("offboard_course", *plain([target.course]))
        self._set("offboard_height", *plain([target.height]))
        self._set("offboard_speed", *plain([speed]))
        self._target_s = self.time_s
        if self._wanted not in STICKS:
            self._stamp()
        return None

    def sticks(self, roll: float, pitch: float, throttle: float, yaw: float) -> str | None:
        """Set the stick positions, -1 to 1 each; each call also renews the stream's timeout."""
        values = (roll, pitch, throttle, yaw)
        if not all(map(math.isfinite, values)):
            return "a stick is no number"
        self._set("stick", *(min(max(float(value), -1.0), 1.0) for value in values))
        self._sticks_s = self.time_s
        if self._wanted in STICKS:
            self._stamp()
        return None

    def reposition(self, p_N: Sequence[float], yaw: float | None = None) -> str | None:
        """Fly to a place and hold there, without a stream of set-points. A height of NaN keeps the present one.

        A wing that is still climbing after its launch goes there afterwards, then at the height of the climb.
        """
        place = [float(value) for value in p_N]
        if len(place) == 3 and math.isnan(place[2]):
            place[2] = float(self.seen().p_N[2])
            if self.kind.launched and self.mode == "take-off":
                place[2] = -float(self._held[at.NAVIGATOR("height_set")][0])
        if len(place) != 3 or not all(abs(value) <= MOST for value in place):
            return f"give a place of three numbers up to {MOST:g} m"
        if not self._armed:
            return "not armed"
        if self.kind.flies and not self.flying:
            return "on the ground: take off first"
        if yaw is not None and not math.isfinite(yaw):
            yaw = None
        self._wanted = "hold"
        flags = [0.0] * 11
        flags[6] = float(yaw is not None)
        self._set("offboard_position", *place)
        self._set("offboard_given", *flags)
        self._set("offboard_yaw", yaw or 0.0)
        return self._give("go to " + ", ".join(f"{v:.1f}" for v in place), modes.HOLD, goto=1.0)

    def transition(self, wings: bool) -> str | None:
        """Change from rotors to wings, straight ahead until the next command; or back to hover."""
        if "wings" not in self._inputs:
            return f"a vehicle of kind {self.kind.name} has no rotors and wings to change between"
        if not self.flying:
            return "on the ground: take off first"
        if not wings:
            return self.hold()
        least = self._value(at.NAVIGATOR("wing_height")) or 0.0
        here = self.seen()
        if -here.p_N[2] < least:
            return f"too low for wings: {-here.p_N[2]:.0f} m, at least {least:g} m"
        ahead = np.array([math.cos(here.rpy[2]), math.sin(here.rpy[2])]) * STRAIGHT_M
        refusal = self.reposition((here.p_N[0] + ahead[0], here.p_N[1] + ahead[1], here.p_N[2]))
        self._set("wings", 1.0)
        return refusal

    # ------------------------------------------------------------------ numbers

    def set_speed(self, speed_mps: float) -> str | None:
        """Set the speed of missions and of flights to a place, m/s."""
        for name in ("wing_speed", "cruise_speed"):
            if at.NAVIGATOR(name) in self._params:
                return self.set_param(at.NAVIGATOR(name), speed_mps)
        return f"a vehicle of kind {self.kind.name} has no speed that can be set"

    def set_loiter_radius(self, radius_m: float) -> str | None:
        """Set the radius of circles, m; negative is counter-clockwise seen from above."""
        if at.NAVIGATOR("loiter_radius") not in self._params:
            return f"a vehicle of kind {self.kind.name} flies no circles"
        return self.set_param(at.NAVIGATOR("loiter_radius"), abs(radius_m)) or self.set_param(
            at.NAVIGATOR("sense"), -1.0 if radius_m < 0 else 1.0
        )

    def set_home(self, p_N: Sequence[float]) -> str | None:
        """Set the place to which the vehicle returns, m north, east, down."""
        if len(p_N) != 3 or not all(abs(value) <= MOST for value in p_N):
            return f"give a place of three numbers up to {MOST:g} m"
        return self._tune(at.NAVIGATOR("home"), [float(value) for value in p_N], "home")

    def set_mission(self, items: Sequence[LocalItem]) -> str | None:
        """Replace the mission; one that is being flown continues with the item of the same number."""
        places = self.rig.state.model.flat.p.signals[at.NAVIGATOR.table].columns
        if not 1 <= len(items) <= places:
            return f"a mission has 1 to {places} items, not {len(items)}"
        table = np.zeros((modes.ROWS, places))
        for number, item in enumerate(items):
            if item.kind not in KINDS:
                return f"item {number}: no vehicle knows the kind '{item.kind[:40]}'; known: {', '.join(KINDS)}"
            column = (item.north_m, item.east_m, -item.height_m, math.radians(item.yaw_deg), item.hold_s)
            if not all(abs(value) <= 1e9 for value in column) or item.hold_s < 0:
                return f"item {number}: a number is out of range"
            table[:, number] = [*column, KINDS[item.kind]]
        refusal = self._tune(at.NAVIGATOR.table, table.flatten(order="F").tolist(), f"mission of {len(items)} items")
        refusal = refusal or self._tune(at.NAVIGATOR.count, float(len(items)))
        if refusal is None:
            self._items = list(items)
        return refusal

    def mission(self) -> list[LocalItem]:
        """The mission that was set last."""
        return list(self._items)

    def _unable(self, target: Target) -> str | None:
        """Reason why this kind of vehicle cannot follow a set-point, or None."""
        strange = asked(target) - self.abilities.setpoints
        if strange:
            takes = ", ".join(sorted(self.abilities.setpoints))
            names = ", ".join(sorted(strange))
            return f"a vehicle of kind {self.kind.name} takes no set-point of {names}; it takes {takes}"
        return None if asked(target) else "the set-point asks for nothing"

    # ------------------------------------------------------------------ inputs

    def _timeout_s(self) -> float:
        return self._value(at.NAVIGATOR("link_timeout")) or math.inf

    def _stamp(self) -> None:
        self._set("link_stamp", self.time_s)

    def _set(self, name: str, *values: float) -> None:
        if name in self._inputs:
            self.rig.stepper.inputs[self._inputs[name]] = values

    def _give(
        self, words: str, command: float, *, goto: float = 0.0, start_item: float = -1.0, direct: float = 0.0
    ) -> str | None:
        self._orders += 1
        self._set("command", float(command))
        self._set("order", float(self._orders))
        self._set("goto", goto)
        self._set("start_item", float(start_item))
        self._set("direct", float(direct))
        self._set("wings", 0.0)
        self.remark(words)
        if self.by and words not in NOTED_ELSEWHERE:
            self._note_command(words)
        return None

    def _note_command(self, words: str) -> None:
        """Note a command from outside; of a stream of the same kind ("go to …") one in a second."""
        kind = " ".join(words.split()[:2])
        if self.time_s - self._noted_s.get(kind, -math.inf) >= NOTED_S:
            self._noted_s[kind] = self.time_s
            self.note("command", words)
