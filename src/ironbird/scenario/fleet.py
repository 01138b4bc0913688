"""The vehicles of a scenario in motion: one clock, mutual sight and reports, and collisions.

Vehicles of one kind and control system are lanes of one run of the kernel; a vehicle with an external control system
has a separate run. All advance by the same number of ticks (`SLICE_TICKS`, one tick while two are about to touch);
between two slices they are processed in the order of the file. So the result is the same with any number of workers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import LinkError, ScenarioError
from ironbird.faults.spec import Injection
from ironbird.flight.derived import paths_to_log
from ironbird.flight.judge import log_paths, watched_by
from ironbird.flight.order import Order
from ironbird.flight.outside import own_witness
from ironbird.flight.prepare import Fitted, fit, fit_key, has_link_faults, inject, prepare, targets_in
from ironbird.flight.seat import take_seat
from ironbird.flight.sights import Sights
from ironbird.flight.surroundings import LOOK_TICKS, Surroundings, near_of
from ironbird.flight.systems import is_outside
from ironbird.flight.twins import WITNESS_S, Twins, Watched, in_turn
from ironbird.flight.witness import Witness
from ironbird.flight.worlds import ordered_world
from ironbird.rig.rig import Rig, TrafficReport, attach
from ironbird.rig.system import AutopilotEvent, Seat
from ironbird.rotations import from_matrices
from ironbird.runtime.lane_stepper import LaneStepper
from ironbird.runtime.lanes import lanes_of, write_lanes
from ironbird.runtime.log import Log
from ironbird.runtime.state import RUNNING, RunState
from ironbird.runtime.step import CHUNK_TICKS
from ironbird.runtime.stepper import Stepper
from ironbird.runtime.tuning import apply_tuning
from ironbird.scenario.between import Motion, Trigger
from ironbird.scenario.grammar import Member, Scenario
from ironbird.scenario.impact import Body, collide
from ironbird.scenario.wake import Wakes
from ironbird.symbolic import shapes as sh
from ironbird.vehicles import places as at
from ironbird.vehicles.in_world import Hull, hull_of, rotors_of
from ironbird.world.model import Box
from ironbird.world.near import Shapes
from ironbird.world.rays import Scene

SLICE_TICKS = 20  # of 1 ms between two looks at each other
DECK_TICKS = 10  # between two looks at where decks of vehicles are
CLOSE_M = 0.3  # within this gap, or what two close in two slices, they go on tick by tick
GROUND_M, GROUND_MPS = 0.2, 0.5  # height of a hull, and speed, below which a vehicle reports that it is on the ground
HIT_TICKS = 10  # how long a hit is reported to the kernel, which looks every 5 ms
COMPARED_S = WITNESS_S + 25.0  # after its begin a fault is compared with its twin; log rows are 10 s apart at most
FEW_LOGGED = (at.BODY.attitude, at.CLEARANCE.min_distance, at.CLEARANCE.collision, at.CLEARANCE.impact_speed)


@dataclass
class Group:
    """Vehicles of one model, as lanes of one run."""

    members: list[int]  # their numbers in the scenario, by lane
    orders: list[Order]
    fitted: Fitted
    state: RunState
    around: Surroundings
    hull: Hull
    stepper: LaneStepper | None = None
    seat: Seat | None = None  # of a control system outside
    rig: Rig | None = None
    next_exchange: int = 0
    failure: str = ""
    twins: Twins | None = None  # of one under a control system outside that has faults
    next_watch: int = 0
    recording: bool = False  # whether a twin will need the next steps
    steps: list[tuple[int, int, np.ndarray]] = field(default_factory=list)  # tick, ticks, and all inputs, for its twins
    came: list[Injection] = field(default_factory=list)  # faults whose triggers across vehicles have fired
    witnesses: list[Witness] = field(default_factory=list)  # of its faults, after `finish`
    _pose: list[slice] = field(
        default_factory=list
    )  # rows of the four parts of a pose, among `_poses` of the held ones
    _poses: slice = field(default_factory=lambda: slice(0))

    @property
    def model(self) -> CompiledModel:
        """The compiled model of the group."""
        return self.fitted.model

    def motion(self) -> list[np.ndarray]:
        """Position, velocity, attitude (column by column) and rates of all lanes."""
        if not self._pose:
            rows = [self.model.flat.held.rows(at.POSE(n)) for n in ("position", "velocity", "attitude", "rates")]
            first = min(part.start for part in rows)
            self._pose = [slice(part.start - first, part.stop - first) for part in rows]
            self._poses = slice(first, max(part.stop for part in rows))
        together = lanes_of(self.state, self.state.held, self._poses)
        return [together[:, part] for part in self._pose]

    def running(self) -> np.ndarray:
        """Which lanes have not stopped, as flags."""
        return self.state.stop_tick.reshape(-1)[: self.state.lanes] == RUNNING

    def watch(self) -> None:
        """Let the twins follow the run; inputs before any twin and after all were compared are dropped."""
        assert self.twins is not None and self.rig is not None
        self.rig.stepper.note_fired()
        self.twins.watch(self.state)
        self.next_watch = self.state.tick + CHUNK_TICKS
        ticks = [*self.twins.ticks, self.twins.before.tick if self.twins.before is not None else self.state.tick]
        self.steps = [step for step in self.steps if step[0] >= min(ticks)]
        step_s, begun = self.model.step_s, [(fault.begin(self.state), fault.injection) for fault in self.twins.faults]
        compared_s = [tick * step_s + fault.rise_s + COMPARED_S for tick, fault in begun if math.isfinite(tick)]
        self.recording = bool(self.twins.waiting) or self.state.time_s < max(compared_s, default=0.0)

    def replay(self, twin: RunState, until_s: float, signals: list[str] | None, watch: Watched) -> Log:
        """Log of a twin with the recorded inputs of the flight from its tick on: commands, reports of the others."""
        stepper = Stepper(twin, until_s=until_s, log=signals, log_s=self.orders[0].log_s, watch=[watch])
        due = [tuning for tuning in self.rig.tunings if tuning.tick >= twin.tick] if self.rig is not None else []
        for tick, ticks, inputs in self.steps:
            if tick < twin.tick:
                continue
            while due and due[0].tick <= tick:
                apply_tuning(twin, due.pop(0))
            stepper.inputs[:] = inputs
            if not stepper.step(ticks):
                break
        return stepper.finish()

    def held(self, path: str) -> np.ndarray:
        """An output of a sampled block for all lanes, (lanes, size)."""
        return lanes_of(self.state, self.state.held, self.model.flat.held.rows(path))

    def put(self, name: str, values: np.ndarray) -> None:
        """Write an input of all lanes, (lanes, size)."""
        write_lanes(self.state, self.model.flat.u.rows(name), values)


@dataclass(frozen=True)
class Report:
    """The last ADS-B report of a vehicle."""

    time_s: float
    position: np.ndarray  # m in N, as its receiver has it
    velocity: np.ndarray  # m/s in N
    on_ground: bool = False  # as transponders say it: its hull is at the ground and it hardly moves


@dataclass
class Across:
    """A fault of a vehicle whose trigger names several vehicles."""

    number: int
    fault: Injection
    trigger: Trigger
    fired_s: float = math.inf
    came: int = -1  # its number among fired faults of the group, under an external control system


def _begun(entry: Across) -> Injection:
    """The fault with absolute times, once its trigger has fired."""
    fault = entry.fault
    return replace(fault, when="", start_s=fault.start_s + entry.fired_s, end_s=fault.end_s + entry.fired_s)


@dataclass
class Hit:
    """A collision of two vehicles: time, names, speed."""

    time_s: float
    first: str
    second: str
    speed_mps: float


@dataclass
class Fleet:
    """A scenario in flight: all groups of vehicles on one clock."""

    scenario: Scenario
    workers: int = 1
    also: Sequence[str] = ()  # signals that are logged besides what the judge needs
    keep: bool = False  # the samples of sensors of the world
    groups: list[Group] = field(default_factory=list)
    place: list[tuple[int, int]] = field(default_factory=list)  # group and lane of each vehicle
    hits: list[Hit] = field(default_factory=list)
    reports: dict[str, Report] = field(default_factory=dict)  # the newest of each vehicle
    autopilot_events: dict[str, list[AutopilotEvent]] = field(default_factory=dict)
    tick: int = 0
    _seen: Motion | None = None  # after the last slice
    _looked: int = 0  # tick of the last update of the world

    def __post_init__(self) -> None:
        self.members: Sequence[Member] = self.scenario.members
        self.near = near_of(self.scenario.world, ordered_world(self.scenario.world).digest)
        self.scene: Scene | None = None  # for sensors that see the world: there, the vehicles are boxes
        self._pool = ThreadPoolExecutor(self.workers) if self.workers > 1 else None
        try:
            self._group()
            self._step_s = self.groups[0].model.step_s
            self.until_tick = round(self.scenario.table.until_s / self._step_s)
            self._arrange()
            if self.scenario.table.wake:
                self._arrange_wakes()
            self._give_sight()
            self._begin()
        except BaseException:
            self.close()
            raise

    @property
    def time_s(self) -> float:
        """Simulation time in seconds."""
        return self.tick * self._step_s

    def number(self, name: str) -> int:
        """Number of a vehicle by its name."""
        return next(i for i, member in enumerate(self.members) if member.name == name)

    # ------------------------------------------------------------------ making

    def _group(self) -> None:
        kinds: dict[object, list[int]] = {}
        for number, member in enumerate(self.members):
            alone = number if is_outside(member.order.control) else -1
            kinds.setdefault((fit_key(member.order), alone), []).append(number)
        self.place = [(0, 0)] * len(self.members)
        for index, numbers in enumerate(kinds.values()):
            orders = [self.members[number].order for number in numbers]
            fitted = fit(orders[0], wake=self.scenario.table.wake)
            state = prepare(fitted.model, orders)
            around = Surroundings(self.near, fitted.model)
            self.groups.append(Group(numbers, orders, fitted, state, around, hull_of(fitted.vehicle.diagram)))
            for lane, number in enumerate(numbers):
                self.place[number] = index, lane

    def _arrange(self) -> None:
        """Prepare the data of each vehicle that every slice needs, in the order of the scenario."""
        hulls = [self.groups[group].hull for group, _ in self.place]
        self.reach_m = np.array([hull.reach_m for hull in hulls])
        self._balls = [hull.balls_m().T for hull in hulls]
        most = max(len(balls) for balls in self._balls)  # the first one again where a hull has fewer
        self._padded = np.stack([np.concatenate([b, np.repeat(b[:1], most - len(b), axis=0)]) for b in self._balls])
        self._radii = np.array([hull.radius_m for hull in hulls])
        self._order = np.argsort([number for group in self.groups for number in group.members], kind="stable")
        self._hit_until = np.zeros(len(hulls), np.int64)
        self._hit_speed = np.zeros(len(hulls))
        self._decks = [(i, m.table.deck) for i, m in enumerate(self.members) if m.table.deck is not None]
        every = max(1, round(self.scenario.table.adsb_s / self._step_s))
        names = [member.name for member in self.members]
        self._across = [
            Across(number, fault, Trigger(fault.when, names))
            for number, member in enumerate(self.members)
            for fault in member.across
        ]
        for entry in self._across:
            targets_in(self.groups[self.place[entry.number][0]].model, entry.fault)  # raises if it has no such part
        self._adsb = [(i, i % every, every) for i, m in enumerate(self.members) if m.table.adsb]

    def _arrange_wakes(self) -> None:
        """Prepare the wakes, and which rotors are those of each group."""
        rotors = [rotors_of(self.groups[group].fitted.vehicle.diagram) for group, _ in self.place]
        if not any(rotors):
            raise ScenarioError("wake = true, but no vehicle has a rotor of known diameter; leave it out")
        self._wakes = Wakes(rotors)
        self._blowing = [  # rows of the rotors of each group, (lanes, rotors)
            np.array([np.flatnonzero(self._wakes.of == number) for number in group.members]) for group in self.groups
        ]

    def _blow(self, motion: Motion) -> None:
        """Give each vehicle the mean wake of the others over its own rotors."""
        count = len(self._wakes.of)
        thrust, density, flow = np.zeros(count), np.ones(count), np.zeros((count, 3))
        for group, rows in zip(self.groups, self._blowing, strict=True):
            rotors = rows.shape[1]
            if rotors:
                thrust[rows] = np.hstack([group.held(at.THRUSTS(f"held_{n}")) for n in range(1, rotors + 1)])
                density[rows] = group.held(at.THRUSTS("air"))
                flow[rows] = group.held(at.THRUSTS("flow_B"))[:, None]
        thrust *= self.running()[self._wakes.of]
        wind = self._wakes.wind(motion.position, motion.attitude, thrust, density, flow)
        for group in self.groups:
            if at.WASH("told_N") in group.model.flat.u.start:
                group.put(at.WASH("told_N"), wind[group.members])

    def _give_sight(self) -> None:
        """Add the hulls of the other vehicles to the scene of world sensors."""
        if not any(member.order.sight for member in self.members):
            return
        hulls = [self.groups[group].hull for group, _ in self.place]
        boxes = [
            Box(member.name, hull.centre_m, label="vehicle", size_m=(2 * x, 2 * y, 2 * z))
            for member, hull in zip(self.members, hulls, strict=True)
            for x, y, z in [hull.half_m]
        ]
        self.scene = Scene(self.near.world, boxes)
        for group in self.groups:
            if group.orders[0].sight:
                tables = [order.sight for order in group.orders]
                faults = [self.members[number].faults for number in group.members]
                seeds = [order.seed for order in group.orders]
                carriers = group.members
                group.state.beside = Sights(
                    self.scene, group.model, tables, seeds, faults, carriers=carriers, keep=self.keep
                )

    def sights(self, number: int) -> tuple[Sights, int]:
        """The world sensors of a vehicle's group, and its lane among them."""
        group, lane = self.place[number]
        beside = self.groups[group].state.beside
        assert isinstance(beside, Sights)
        return beside, lane

    def _place_bodies(self, motion: Motion) -> None:
        if self.scene is not None:
            turns = from_matrices(motion.attitude)
            for number in range(len(self.members)):
                self.scene.place(number, motion.position[number], turns[number])

    def _begin(self) -> None:
        until_s, log_s = self.scenario.table.until_s, self.scenario.table.log_s
        for group in self.groups:
            who = " or ".join(self.members[number].name for number in group.members[:3])
            group.around.begin(group.state, f"{who} ({group.orders[0].vehicle})")
            if isinstance(group.state.beside, Sights):
                group.state.beside.begin(group.state)
            if is_outside(group.orders[0].control):
                watch = [watched_by(order, group.model) for order in self._as_flown(group)]
                group.rig = attach(
                    group.fitted.vehicle, group.state, until_s=until_s, log=None, log_s=log_s, watch=watch
                )
                beside = group.state.beside
                group.rig.sight = beside.feeds[0] if isinstance(beside, Sights) else None
                order = group.orders[0]
                if has_link_faults(order):
                    group.rig.disturb_links(order.faults, order.seed)
                group.seat = take_seat(order, group.fitted)
                group.seat.system.start(group.rig)
                group.next_exchange = group.seat.system.step_ticks
                if self.members[group.members[0]].faults:
                    group.twins = Twins(group.state, group.orders, apart=True)
                    group.watch()
            else:
                paths, watch = self._logged(group), [watched_by(order, group.model) for order in self._as_flown(group)]
                group.stepper = LaneStepper(
                    group.state, until_s=until_s, log=paths, log_s=log_s, watch=watch, parts=max(1, self.workers)
                )

    def _as_flown(self, group: Group) -> list[Order]:
        """The orders of a group with the faults of the scenario."""
        return [replace(self.members[number].order, faults=self.members[number].faults) for number in group.members]

    def _logged(self, group: Group) -> list[str]:
        paths = [path for order in self._as_flown(group) for path in log_paths(order, group.model)]
        more = [path for path in (*FEW_LOGGED, at.WASH("wind_N"), *self.also) if path in group.model.signals()]
        return paths_to_log([*paths, *more], group.model)

    # ------------------------------------------------------------------ seeing

    def motion(self) -> Motion:
        """Motion of all vehicles, in the order of the scenario."""
        parts = [group.motion() for group in self.groups]
        columns = [np.concatenate([part[i] for part in parts])[self._order] for i in range(4)]
        attitude = columns[2].reshape(-1, 3, 3).transpose(0, 2, 1)
        return Motion(columns[0], columns[1], attitude, columns[3])

    def running(self) -> np.ndarray:
        """Which vehicles have not stopped, as flags."""
        return np.concatenate([group.running() for group in self.groups])[self._order]

    def _spread(self, name: str, values: np.ndarray) -> None:
        """Write an input of one number for every vehicle."""
        for group in self.groups:
            group.put(name, values[group.members][:, None])

    def _deck_shapes(self, motion: Motion) -> Shapes | None:
        """Decks of vehicles, as moving shapes on which others can land."""
        if not self._decks:
            return None
        table = np.zeros((sh.SLOT_ROWS, len(self._decks)))
        for column, (number, deck) in enumerate(self._decks):
            R = motion.attitude[number]
            arm = R @ np.asarray(deck.centre_m)
            table[sh.KIND, column] = sh.BOX
            table[sh.CENTRE : sh.CENTRE + 3, column] = motion.position[number] + arm
            spin = np.cross(R @ motion.rates[number], arm)
            table[sh.VELOCITY : sh.VELOCITY + 3, column] = motion.velocity[number] + spin
            table[sh.AXES : sh.AXES + 9, column] = R.flatten(order="F")
            table[sh.HALF : sh.HALF + 3, column] = np.asarray(deck.size_m) / 2
            table[sh.FRICTION, column], table[sh.RESTITUTION, column], table[sh.LANDING, column] = 0.8, 0.1, 1.0
        return Shapes(table, np.linalg.norm(table[sh.HALF : sh.HALF + 3], axis=0))

    def deck(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Centre of a deck's upper side and its velocity, in N: of a vehicle's deck, or of a mover."""
        for number, deck in self._decks:
            if self.members[number].name == name:
                motion = self.motion()
                R = motion.attitude[number]
                arm = R @ (np.asarray(deck.centre_m) - [0.0, 0.0, deck.size_m[2] / 2])
                velocity = motion.velocity[number] + np.cross(R @ motion.rates[number], arm)
                return motion.position[number] + arm, velocity
        moving = self.near.moving(self.time_s)
        names = [mover.name for mover in self.near.world.movers]
        if name not in names:
            known = [self.members[number].name for number, _ in self._decks] + names
            raise ScenarioError(f"there is no deck '{name}' to land on; there is {', '.join(known) or 'none'}")
        column = moving.columns[:, names.index(name)]
        up = -column[sh.AXES + 6 : sh.AXES + 9] * column[sh.HALF + 2]
        return column[sh.CENTRE : sh.CENTRE + 3] + up, column[sh.VELOCITY : sh.VELOCITY + 3].copy()

    def heard(self, number: int) -> dict[str, Report]:
        """The newest ADS-B report of every other vehicle that a vehicle receives."""
        own = self.reports.get(self.members[number].name)
        reach = self.scenario.table.adsb_range_m
        return {
            name: report
            for name, report in self.reports.items()
            if name != self.members[number].name
            and (own is None or float(np.linalg.norm(report.position - own.position)) <= reach)
        }

    def _broadcast(self, motion: Motion, before: int) -> None:
        """Send the ADS-B reports that were due since a tick: values of the vehicle's own receiver, with faults."""
        for number, phase, every in self._adsb:
            if (self.tick - phase) // every == (before - phase) // every and self.tick:
                continue
            group, lane = self.groups[self.place[number][0]], self.place[number][1]
            position, velocity = motion.position[number], motion.velocity[number]
            held = group.model.flat.held
            receiver = at.gnss(1)
            if receiver.position.value in held.start and self.tick:
                position = lanes_of(group.state, group.state.held, held.rows(receiver.position.value))[lane]
                velocity = lanes_of(group.state, group.state.held, held.rows(receiver.velocity.value))[lane]
            name = self.members[number].name
            grounded = self._is_on_ground(motion, number)
            self.reports[name] = Report(self.time_s, position.copy(), velocity.copy(), grounded)
            for listener in self.groups:  # external autopilots are commanded by their ground stations
                if listener.rig is not None and name in self.heard(listener.members[0]):
                    report = TrafficReport(number, name, self.time_s, position.copy(), velocity.copy())
                    listener.rig.traffic.append(report)

    def _is_on_ground(self, motion: Motion, number: int) -> bool:
        """Whether a vehicle's hull is within `GROUND_M` of the world's ground, slower than `GROUND_MPS`.

        From the true motion, as a switch at the landing gear would show it. A vehicle on a deck or a roof is not on
        the ground.
        """
        balls = motion.position[number] + self._balls[number] @ motion.attitude[number].T
        height = float(self.near.ground(motion.position[number][None])[0][0] - balls[:, 2].max() - self._radii[number])
        return height < GROUND_M and float(np.linalg.norm(motion.velocity[number])) < GROUND_MPS

    # ------------------------------------------------------------------ hitting

    def _closest(self, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
        """Gap between the bounding balls of every two vehicles, (n, n), and their closing speed."""
        p, v = motion.position.T, motion.velocity.T
        away = [one[:, None] - one[None] for one in p]
        distance = np.sqrt(sum(one * one for one in away)) + 1e-12
        closing = -sum((v[i][:, None] - v[i][None]) * away[i] for i in range(3)) / distance
        gap = distance - self.reach_m[:, None] - self.reach_m[None]
        np.fill_diagonal(gap, np.inf)
        return gap, closing

    def gap(self, motion: Motion, i: int, j: int) -> tuple[float, np.ndarray, np.ndarray]:
        """Gap between two hulls (m), its position, and the direction from the second to the first."""
        a = motion.position[i] + self._balls[i] @ motion.attitude[i].T
        b = motion.position[j] + self._balls[j] @ motion.attitude[j].T
        away = a[:, None] - b[None]
        distance = np.sqrt((away * away).sum(axis=2))
        first, second = np.unravel_index(int(distance.argmin()), distance.shape)
        length = float(distance[first, second])
        n = away[first, second] / length if length > 1e-9 else np.array([0.0, 0.0, -1.0])
        touch = b[second] + n * self._radii[j]
        return length - self._radii[i] - self._radii[j], touch, n

    def _gaps(self, motion: Motion, others: np.ndarray) -> np.ndarray:
        """The gap between each vehicle's hull and that of another one, given by number."""
        places = motion.position[:, None] + np.einsum("nbj,nij->nbi", self._padded, motion.attitude)
        away = places[:, :, None] - places[others][:, None]
        nearest = np.sqrt((away * away).sum(axis=3).min(axis=(1, 2)))
        return np.asarray(nearest - self._radii - self._radii[others])

    def _meet(self, motion: Motion) -> int:
        """Write distances to other vehicles, let touching vehicles collide, and return the ticks of the next slice."""
        count = len(self.members)
        distances, slice_ticks = np.full(count, sh.FAR_M), SLICE_TICKS
        if count > 1:
            gap, closing = self._closest(motion)
            distances = np.minimum(self._gaps(motion, gap.argmin(axis=1)), sh.FAR_M)
            about = gap < CLOSE_M + 2 * SLICE_TICKS * self._step_s * np.maximum(closing, 0.0)
            pairs = [(int(i), int(j)) for i, j in np.argwhere(about) if i < j]
            live = self.running()
            for i, j in pairs:
                if not (live[i] or live[j]):
                    continue
                between, where, n = self.gap(motion, i, j)
                if between < CLOSE_M / 2 + 2 * SLICE_TICKS * self._step_s * max(float(closing[i, j]), 0.0):
                    slice_ticks = 1
                if between <= 0:
                    self._touch(i, j, where, n)
        self._spread(at.CLEARANCE("others_distance"), distances)
        speeds = np.where(self._hit_until > self.tick, self._hit_speed, 0.0)
        self._spread(at.CLEARANCE("others_hit"), speeds)
        return slice_ticks

    def _touch(self, i: int, j: int, where: np.ndarray, n: np.ndarray) -> None:
        decks = {number for number, _ in self._decks}
        if i in decks or j in decks:  # contact with a deck is the kernel's
            return
        bodies = [self._body(number) for number in (i, j)]
        speed = collide(bodies[0], bodies[1], where, n)
        if speed <= 0:
            return
        if self._hit_until[i] <= self.tick or self._hit_until[j] <= self.tick:
            self.hits.append(Hit(self.time_s, self.members[i].name, self.members[j].name, speed))
        for number in (i, j):
            self._hit_until[number], self._hit_speed[number] = self.tick + HIT_TICKS, speed

    def _body(self, number: int) -> Body:
        group, lane = self.groups[self.place[number][0]], self.place[number][1]
        return Body.of(group.state, lane)

    # ------------------------------------------------------------------ going on

    def advance(self, most_ticks: int) -> int:
        """Exchange data between the vehicles and advance by one slice; returns its ticks."""
        motion = self._seen if self._seen is not None else self.motion()
        slice_ticks = min(self._meet(motion) if self.tick else 1, most_ticks, self.until_tick - self.tick)
        slice_ticks = min(slice_ticks, DECK_TICKS) if self._decks else slice_ticks
        if self.scenario.table.wake and self.tick:
            self._blow(motion)
        if self.tick - self._looked >= (DECK_TICKS if self._decks else LOOK_TICKS):
            self._looked = self.tick
            decks = self._deck_shapes(motion)
            self._place_bodies(motion)
            for group in self.groups:
                group.around.look(group.state, self._others_decks(group, decks))
        jobs = [job for group in self.groups if group.stepper for job in group.stepper.jobs(slice_ticks)]
        if self._pool is not None and len(jobs) > 1:
            list(self._pool.map(lambda job: job(), jobs))
        else:
            for job in jobs:
                job()
        for group in self.groups:
            if group.stepper is not None:
                group.stepper.done(slice_ticks)
            else:
                self._exchange(group, slice_ticks)
        before, self.tick = self.tick, self.tick + slice_ticks
        self._seen = self.motion()
        self._broadcast(self._seen, before)
        self._trigger(self._seen)
        return slice_ticks

    def _trigger(self, motion: Motion) -> None:
        """Start faults whose triggers name several vehicles when the trigger is true for the first time."""
        for entry in self._across:
            if not math.isinf(entry.fired_s) or not entry.trigger.holds(motion, self.gap):
                continue
            entry.fired_s = self.time_s
            later = _begun(entry)
            group, lane = self.groups[self.place[entry.number][0]], self.place[entry.number][1]
            stepper = group.stepper if group.stepper is not None else group.rig.stepper if group.rig else None
            assert stepper is not None
            stepper.note_fired()
            inject(group.state, later, lane)
            if group.twins is not None:
                entry.came = len(group.came)
                group.came.append(later)
                group.twins.add(group.came, group.state)
                group.watch()

    def fired_s(self, number: int) -> list[float]:
        """Times at which the triggers across vehicles of a vehicle have fired; infinite if not."""
        return [entry.fired_s for entry in self._across if entry.number == number]

    def _others_decks(self, group: Group, decks: Shapes | None) -> Shapes | None:
        """Decks that the vehicles of a group may touch, without their own."""
        if decks is None:
            return None
        others = [k for k, (number, _) in enumerate(self._decks) if number not in group.members]
        return Shapes(decks.columns[:, others], decks.bounds_m[others]) if others else None

    def _exchange(self, group: Group, ticks: int) -> None:
        """Step a vehicle with an external control system, and exchange with it whenever that is due."""
        assert group.seat is not None and group.rig is not None
        system = group.seat.system
        end = self.tick + ticks
        while group.state.tick < end:
            part = min(end, group.next_exchange) - group.state.tick
            if group.twins is not None:
                if group.state.tick + part > group.next_watch:
                    group.watch()
                if group.recording:
                    group.steps.append((group.state.tick, part, group.rig.stepper.inputs.copy()))
            going = group.rig.step(part)
            if not going:
                group.state.tick = end  # the vehicle has stopped; the clock goes on
                return
            if group.state.tick == group.next_exchange:
                group.next_exchange += system.step_ticks
                try:
                    system.exchange(group.rig)
                except LinkError as error:
                    group.failure = str(error)
                    raise
                if group.seat.pilot is not None:
                    group.seat.pilot.poll(group.rig)

    def finish(self) -> list[Log]:
        """End the runs and return the log of every group."""
        logs = []
        for group in self.groups:
            if group.stepper is not None:
                logs.append(group.stepper.finish())
            else:
                assert group.rig is not None and group.seat is not None
                logs.append(group.rig.finish()[0])
                events = [
                    *group.seat.system.autopilot_events,
                    *(group.seat.pilot.autopilot_events if group.seat.pilot else []),
                ]
                self.autopilot_events[self.members[group.members[0]].name] = sorted(events, key=lambda h: h.time_s)
                self._witness(group, logs[-1])
        return logs

    def _witness(self, group: Group, log: Log) -> None:
        """Evidence of the faults of a vehicle with an external control system; not compared after a collision."""
        if group.twins is None:
            return
        assert group.rig is not None and group.seat is not None
        name = self.members[group.members[0]].name
        hit_s = min((hit.time_s for hit in self.hits if name in (hit.first, hit.second)), default=math.inf)
        stop = group.state.stop_of(0)
        ended_s = stop.time_s if stop is not None else self.time_s
        until_s = max(min(self.time_s, hit_s), self._step_s)
        observed = group.twins.observe(group.state, log, until_s, in_turn(group.replay))[0]
        system, links = group.seat.system, group.rig.links
        witnesses = [own_witness(system, links, witness, ended_s) or witness for witness in observed]
        group.witnesses = witnesses[: len(group.orders[0].faults)]
        own = [entry for entry in self._across if entry.number == group.members[0]]
        for entry in own:  # in the order of the file, not of their triggers
            never = Witness(entry.fault, entry.fault.witness, "", math.nan, 0.0, 0.0, math.nan)
            number = len(group.orders[0].faults) + entry.came
            group.witnesses.append(witnesses[number] if entry.came >= 0 else never)

    def close(self) -> None:
        """End threads and external control systems."""
        for group in self.groups:
            if group.seat is not None:
                group.seat.close()
                group.seat = None
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
