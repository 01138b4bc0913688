"""Diagram: the editable description of a system: blocks, nested diagrams, connections.

    quad = Diagram("quad")
    motor = quad.add("motor", Motor(), slope=640.0, idle_speed=160.0, time_constant=0.02)
    rotor = quad.add("rotor", Rotor(), thrust_coefficient=1.1e-5)
    quad.connect(motor.speed, rotor.speed)

Units, shapes and frames are checked when two ports are connected; everything else by `validate()`, which
collects all problems before it raises.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ironbird.errors import (
    ConnectError,
    IronbirdError,
    ModelError,
    ReplaceError,
    UnknownNameError,
    ValidationError,
)
from ironbird.model.block import Block
from ironbird.model.signal import In, Number, Out, Param, Signal
from ironbird.model.validate import problems

# allowed characters of a name: those that paths of signals and parameters can contain
NAME = re.compile(r"\w+(/\w+)*", re.ASCII)


@dataclass(frozen=True)
class Port:
    """An input or output of one block, by its path inside the diagram that it was taken from."""

    owner: str  # path of the diagram that handed it out
    block: str  # path of the block below that diagram
    name: str
    signal: In | Out

    @property
    def path(self) -> str:
        """Path of the port: `block/path.port`."""
        return f"{self.block}.{self.name}"

    def __str__(self) -> str:
        return f"{self.owner}/{self.path} {self.signal.describe()}"


class Handle:
    """What `Diagram.add` returns: ports by attribute (`motor.speed`) or by key (`motor["speed"]`)."""

    def __init__(self, path: str, ports: Mapping[str, Port]) -> None:
        self._path = path
        self._ports = dict(ports)

    def __getattr__(self, name: str) -> Port:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._ports[name]
        except KeyError:
            raise ModelError(str(UnknownNameError("port", name, self._ports, self._path))) from None

    def __getitem__(self, name: str) -> Port:
        return self.__getattr__(name)

    def __contains__(self, name: str) -> bool:
        return name in self._ports

    def ports(self) -> dict[str, Port]:
        """All ports of the added part, by name."""
        return dict(self._ports)


@dataclass
class Diagram:
    """A set of named blocks and nested diagrams with their connections.

    `diagram.add(name, block, **params)` adds a block and returns its ports, `connect(a, b)` connects them,
    `export(port)` makes one an input or output of the diagram, `replace(path, block)` exchanges a block, `validate()`
    lists all problems.

    Parameters
    ----------
    name : str
        Name in messages.
    blocks : dict of str to Block, default {}
        Blocks by path, nested ones included.
    values : dict of str to array, default {}
        Values of parameters by path.
    links : dict of str to list of str, default {}
        Output paths by input path.
    exports : dict of str to Port, default {}
        Ports that an outer diagram may use.
    stops : dict of str to str, default {}
        Output path by reason: a value above 0.5 stops the lane.
    resets : dict of str to str, default {}
        Output path by sampled block: a value below 0.5 holds the block at its start.

    Examples
    --------
    >>> ib.Diagram("bench").name
    'bench'
    """

    name: str
    blocks: dict[str, Block] = field(default_factory=dict)  # by path, with those of nested diagrams
    values: dict[str, np.ndarray] = field(default_factory=dict)  # parameter path -> value
    links: dict[str, list[str]] = field(default_factory=dict)  # input path -> output paths
    exports: dict[str, Port] = field(default_factory=dict)  # ports that an outer diagram may use
    stops: dict[str, str] = field(default_factory=dict)  # reason -> output path; above 0.5 stops the lane
    # sampled block -> output path; the block is held at its initial state while the output is below 0.5
    resets: dict[str, str] = field(default_factory=dict)

    # ------------------------------------------------------------------ building

    def copied(self) -> Diagram:
        """A copy of the diagram to which parts may be added; the blocks are shared."""
        return Diagram(
            self.name,
            dict(self.blocks),
            {path: value.copy() for path, value in self.values.items()},
            {target: list(sources) for target, sources in self.links.items()},
            dict(self.exports),
            dict(self.stops),
            dict(self.resets),
        )

    def add(self, name: str, part: Block | Diagram, **params: Number) -> Handle:
        """Put a block (with its parameter values) or a whole diagram into this one under `name`."""
        if not NAME.fullmatch(name):
            raise ModelError(f"'{name}' is no name for a part of '{self.name}': letters, digits, _ and / only")
        if any(path == name or path.startswith(name + "/") for path in self.blocks):
            raise ModelError(f"diagram '{self.name}' already has a part named '{name}'")
        if isinstance(part, Diagram):
            if params:
                raise ModelError(f"'{self.name}/{name}' is a diagram: give parameters to its blocks instead")
            return self._add_diagram(name, part)
        self.blocks[name] = part
        for key, value in params.items():
            self.set(f"{name}.{key}", value)
        ports = {
            key: Port(self.name, name, key, signal)
            for key, signal in part.signals.items()
            if isinstance(signal, In | Out)
        }
        return Handle(f"{self.name}/{name}", ports)

    def _add_diagram(self, name: str, inner: Diagram) -> Handle:
        for path, block in inner.blocks.items():
            self.blocks[f"{name}/{path}"] = block
        for path, value in inner.values.items():
            self.values[f"{name}/{path}"] = value.copy()
        for target, sources in inner.links.items():
            self.links[f"{name}/{target}"] = [f"{name}/{source}" for source in sources]
        for reason, source in inner.stops.items():
            self.stops[f"{name}/{reason}"] = f"{name}/{source}"
        for path, source in inner.resets.items():
            self.resets[f"{name}/{path}"] = f"{name}/{source}"
        ports = {
            key: Port(self.name, f"{name}/{port.block}", port.name, port.signal) for key, port in inner.exports.items()
        }
        return Handle(f"{self.name}/{name}", ports)

    def export(self, port: Port, name: str | None = None) -> None:
        """Make a port of an inner part usable from outside under `name` (its own name by default).

        An exported input of the outermost diagram is an input of the compiled model.
        """
        key = name or port.name
        if key in self.exports:
            raise ModelError(f"diagram '{self.name}' already exports '{key}'")
        self.exports[key] = port

    def connect(self, source: Port, *targets: Port) -> None:
        """Wire an output port to one or more input ports, after checking unit, shape and frame."""
        for target in targets:
            reason = self._misfit(source, target)
            if reason:
                raise ConnectError(str(source), str(target), reason)
            self.links.setdefault(target.path, []).append(source.path)

    def _misfit(self, source: Port, target: Port) -> str:
        a, b = source.signal, target.signal
        if source.owner != self.name or target.owner != self.name:
            stray = source if source.owner != self.name else target
            return f"port {stray.path} belongs to diagram '{stray.owner}', not to '{self.name}'"
        if not isinstance(a, Out):
            return "the first is not an output"
        if not isinstance(b, In):
            return "the second is not an input"
        if reason := unlike(a, b):
            return reason
        if not b.gather and self.links.get(target.path):
            return f"it is already connected to {self.links[target.path][0]}"
        return ""

    def set(self, path: str, value: Number) -> None:
        """Set the value of a parameter; the path is `block/path.parameter` or `block/path.parameter[i]`."""
        name, index = _split_index(path)
        signal = self.param(name)
        if index is not None:
            if not 0 <= index < signal.size:
                raise ModelError(f"{path}: index {index} is outside 0..{signal.size - 1}")
            array = self.values.get(name, default_value(signal))
            if array is None:
                raise ModelError(f"{path}: set the whole of {name} first; it has no value yet")
            array = array.copy()
            array[index] = float(np.asarray(value, dtype=float))
        else:
            array = as_column(value, signal, name)
        low, high = array.min(), array.max()
        if not (low >= signal.low and high <= signal.high):
            worst = low if low < signal.low else high
            raise ModelError(f"{path} = {worst:g} {signal.unit} is outside its range {signal.low:g} .. {signal.high:g}")
        self.values[name] = array

    def stop(self, reason: str, port: Port) -> None:
        """End a lane's run when this scalar output rises above 0.5; `reason` is reported."""
        if not isinstance(port.signal, Out) or port.signal.size != 1:
            raise ModelError(f"stop '{reason}': {port} is not a scalar output")
        self.stops[reason] = port.path

    def reset(self, port: Port, blocks: Iterable[str]) -> None:
        """Keep the states of sampled blocks at their initial values while this scalar output is below 0.5.

        This models a computer without power: when the output rises again, its blocks restart as at the start of the
        run, also with initial values from parameters. Blocks without states only follow their inputs.
        """
        if not isinstance(port.signal, Out) or port.signal.size != 1:
            raise ModelError(f"reset: {port} is not a scalar output")
        for path in blocks:
            if not self.block(path).is_sampled:
                raise ModelError(f"reset by {port}: block {path} is continuous; only sampled blocks restart")
            if path in self.resets:
                raise ModelError(f"reset by {port}: block {path} is already reset by {self.resets[path]}")
            self.resets[path] = port.path

    def replace(
        self,
        path: str,
        part: Block | Diagram,
        *,
        ports: Mapping[str, str] | None = None,
        connect: Mapping[str, str] | None = None,
        **params: Number,
    ) -> Handle:
        """Exchange the block at `path`, or all blocks below it, for a block (with its parameter values) or a diagram.

        Connections, exports, stops and resets are transferred by port name, or by `ports` (old name -> new name, ""
        where it may be missing; a port of a part of several blocks is also `block.port`). `connect` (input ->
        `block/path.output`) replaces the old part's connection of that input. Parameters with the same name and unit
        keep their values unless new ones are given. Anything that does not fit raises `ReplaceError` with all problems
        and leaves the diagram unchanged; unconnected inputs are reported by `validate`.
        """
        new, handle = _Exchange(self, path, part, ports or {}, connect or {}).done(params)
        vars(self).update(vars(new))
        return handle

    def subset(self, kept: Iterable[str]) -> Diagram:
        """A diagram of some blocks, in the given order, with their values and connections; the blocks are shared."""
        blocks = {path: self.block(path) for path in kept}

        def stays(path: str) -> bool:
            return block_of(path) in blocks

        links = {target: list(filter(stays, sources)) for target, sources in self.links.items() if stays(target)}
        return Diagram(
            self.name,
            blocks=blocks,
            values={path: value.copy() for path, value in self.values.items() if stays(path)},
            links={target: sources for target, sources in links.items() if sources},
            exports={name: port for name, port in self.exports.items() if port.block in blocks},
            stops={reason: source for reason, source in self.stops.items() if stays(source)},
            resets={path: source for path, source in self.resets.items() if path in blocks and stays(source)},
        )

    # ------------------------------------------------------------------ reading

    def block(self, path: str) -> Block:
        """The block at a path; raises if there is none."""
        if path not in self.blocks:
            raise UnknownNameError("block", path, self.blocks, f"diagram '{self.name}'")
        return self.blocks[path]

    def param(self, path: str) -> Param:
        """Declaration of the parameter at a path."""
        signal = self._declared(path)
        if not isinstance(signal, Param):
            raise UnknownNameError("parameter", path, self.param_paths(), f"diagram '{self.name}'")
        return signal

    def param_paths(self) -> list[str]:
        """Paths of all parameters of the diagram."""
        return [f"{path}.{name}" for path, block in self.blocks.items() for name in block.params]

    def port(self, path: str) -> Port:
        """The port at a path, as the handle from `add` returns it."""
        signal = self._declared(path)
        if not isinstance(signal, In | Out):
            known = [
                f"{owner}.{key}"
                for owner, part in self.blocks.items()
                for key, declared in part.signals.items()
                if isinstance(declared, In | Out)
            ]
            raise UnknownNameError("port", path, known, f"diagram '{self.name}'")
        block, _, name = path.rpartition(".")
        return Port(self.name, block, name, signal)

    def _declared(self, path: str) -> Signal | None:
        """What a block declares under a path; None if nothing is declared there."""
        block, _, name = path.rpartition(".")
        return self.blocks[block].signals.get(name) if block in self.blocks else None

    def value(self, path: str) -> np.ndarray:
        """Value of a parameter as a column; its default if none was set."""
        signal = self.param(path)
        array = self.values.get(path, default_value(signal))
        if array is None:
            raise ModelError(f"parameter {path} [{signal.unit}] has no value and no default")
        return array

    def initial(self, path: str, name: str) -> np.ndarray:
        """Initial value of a state as a column; read from a parameter if the declaration names one."""
        signal = self.blocks[path].states[name]
        if isinstance(signal.init, str):
            return self.value(f"{path}.{signal.init}")
        return as_column(signal.init, signal, f"{path}.{name}")

    def external_inputs(self) -> dict[str, Port]:
        """Exported input ports that nothing feeds: the inputs of the compiled model, by exported name."""
        return {
            name: port
            for name, port in self.exports.items()
            if isinstance(port.signal, In) and not self.links.get(port.path)
        }

    # ------------------------------------------------------------------ checking

    def validate(self, *, fail_fast: bool = False) -> None:
        """Raise `ValidationError` with all problems (or the first one only)."""
        external = {port.path for port in self.external_inputs().values()}
        messages = list(
            itertools.islice(problems(self.blocks, self.links, self.values, external), 1 if fail_fast else None)
        )
        if messages:
            raise ValidationError(self.name, messages)


def unlike(a: Signal, b: Signal) -> str:
    """Why two signals cannot replace one another (unit, shape or frame); empty if they can."""
    if a.unit != b.unit:
        return "units differ"
    if (a.rows, a.columns) != (b.rows, b.columns):
        return "shapes differ"
    if a.frame is not None and b.frame is not None and a.frame != b.frame:
        return "frames differ"
    return ""


def block_of(path: str) -> str:
    """Path of the block in the path of a port, state or parameter."""
    return path.rpartition(".")[0]


def as_column(value: Number | np.ndarray, signal: Signal, what: str) -> np.ndarray:
    """A value as a flat column of the declared size (matrices column by column); scalars fill vectors."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{what} needs {signal.describe()}, got {str(value)[:80]}") from error
    if array.ndim == 0:
        array = np.full(signal.size, float(array))
    elif array.ndim == 2:
        if array.shape != (signal.rows, signal.columns):
            raise ModelError(f"{what} needs {signal.rows}x{signal.columns} values, got {array.shape}")
        array = array.flatten(order="F")
    if array.shape != (signal.size,):
        raise ModelError(f"{what} needs {signal.size} value(s), got {array.size}")
    if np.isnan(array).any():
        raise ModelError(f"{what} is not a number")
    return array.astype(float)


def default_value(signal: Param) -> np.ndarray | None:
    """The declared default as a column, or None."""
    return None if signal.default is None else as_column(signal.default, signal, "default")


def _split_index(path: str) -> tuple[str, int | None]:
    if path.endswith("]") and "[" in path:
        name, _, rest = path.rpartition("[")
        try:
            return name, int(rest[:-1])
        except ValueError:
            raise ModelError(f"'{path}': '{rest[:-1]}' is not an index") from None
    return path, None


# ---------------------------------------------------------------------- replacing a part


def parts_of(diagram: Diagram) -> list[str]:
    """Paths of everything that can be replaced: every block, and every path with blocks below it."""
    paths: dict[str, None] = {}
    for path in diagram.blocks:
        steps = path.split("/")
        paths |= dict.fromkeys("/".join(steps[:count]) for count in range(1, len(steps) + 1))
    return list(paths)


class _Exchange:
    """One replacement: the old diagram, the new part by itself, and the new diagram under construction."""

    def __init__(
        self,
        diagram: Diagram,
        path: str,
        part: Block | Diagram,
        ports: Mapping[str, str],
        connect: Mapping[str, str],
    ) -> None:
        self.before, self.path, self.ports, self.feeds = diagram, path, ports, connect
        self.what = part.name if isinstance(part, Diagram) else type(part).__name__
        below = [name for name in diagram.blocks if name.startswith(path + "/")]
        self.gone = {path: None} if path in diagram.blocks else dict.fromkeys(below)
        if not self.gone:
            raise UnknownNameError("part", path, parts_of(diagram), f"diagram '{diagram.name}'")
        self.alone = Diagram(diagram.name)
        self.handle = self.alone.add(path, part)
        self.new_ports = {port.path[len(path) + 1 :]: port for port in _ports(self.alone)} | self.handle.ports()
        self.misfits: list[str] = []
        self.after = self._blocks()

    def done(self, params: Mapping[str, Number]) -> tuple[Diagram, Handle]:
        """The new diagram and the handle of the new part; raises `ReplaceError` with everything that does not fit."""
        self._names()
        self._values(params)
        self._links()
        self._exports()
        self._stops_and_resets()
        if self.misfits:
            raise ReplaceError(f"{self.before.name}/{self.path}", self.what, self.misfits)
        return self.after, self.handle

    def _blocks(self) -> Diagram:
        """A diagram of all blocks in their order, with the new ones at the position of the first old one."""
        old, order = self.before.blocks, list(self.before.blocks)
        first = order.index(next(iter(self.gone)))
        ahead = {name: old[name] for name in order[:first]}
        behind = {name: old[name] for name in order[first:] if name not in self.gone}
        return Diagram(self.before.name, ahead | self.alone.blocks | behind)

    def _try(self, step: Callable[..., object], *arguments: object) -> None:
        try:
            step(*arguments)
        except IronbirdError as error:
            self.misfits.append(str(error))

    def _old(self, path: str) -> Port:
        block, _, name = path.rpartition(".")
        signal = self.before.blocks[block].signals[name]
        assert isinstance(signal, In | Out)
        return Port(self.before.name, block, name, signal)

    def _inner(self, port: Port) -> str:
        """A port by its path inside the part: `motor.speed`, or `speed` where the part is a block."""
        return port.path[len(self.path) + 1 :]

    def _names(self) -> None:
        """Check that the ports named in `ports` and `connect` exist."""
        where = f"{self.before.name}/{self.path}"
        old = [port for port in _ports(self.before) if port.block in self.gone]
        names = {name for port in old for name in (self._inner(port), port.name)}
        wrong = [
            UnknownNameError("port", name, sorted(names), f"{where} as it was")
            for name in sorted(self.ports.keys() - names)
        ]
        unknown = {*self.ports.values(), *self.feeds} - {"", *self.new_ports}
        wrong += [UnknownNameError("port", name, self.new_ports, f"{where} as {self.what}") for name in sorted(unknown)]
        self.misfits += [str(error) for error in wrong]

    def _new(self, old: Port) -> Port | None:
        """The port of the new part that replaces an old port; None if there is none."""
        inner = self._inner(old)
        name = self.ports.get(inner, self.ports.get(old.name, inner if inner in self.new_ports else old.name))
        return self.new_ports.get(name)

    def _values(self, params: Mapping[str, Number]) -> None:
        """Set the parameter values: those of other parts, of the new part, and those kept from the old part."""
        after, old = self.after, self.before.values
        after.values = {path: value.copy() for path, value in old.items() if block_of(path) not in self.gone}
        after.values |= self.alone.values
        own = {path: value for path, value in old.items() if block_of(path) in self.gone}
        count = Counter(path.rpartition(".")[2] for path in own)
        by_name = {path.rpartition(".")[2]: path for path in own if count[path.rpartition(".")[2]] == 1}
        for name, value in params.items():
            self._try(after.set, f"{self.path}.{name}", value)
        for path in self.alone.param_paths():
            name = path.rpartition(".")[2]
            source = path if path in own else by_name.get(name, "")
            if path in after.values or name in params or not source:
                continue
            if not unlike(self.before.param(source), after.param(path)):
                self._try(after.set, path, own[source])

    def _links(self) -> None:
        after = self.after
        after.links = {target: list(sources) for target, sources in self.alone.links.items()}
        for target, sources in self.before.links.items():
            for source in sources:
                into, outof = block_of(target) in self.gone, block_of(source) in self.gone
                if not into and not outof:
                    after.links.setdefault(target, []).append(source)
                elif into != outof:
                    self._carry(self._old(source), self._old(target), outof)
        for name in (name for name in self.feeds if name in self.new_ports):
            self._try(self._feed, name)

    def _feed(self, name: str) -> None:
        self.after.connect(self.after.port(self.feeds[name]), self.new_ports[name])

    def _carry(self, source: Port, target: Port, outof: bool) -> None:
        """Transfer one connection between the old part and another part."""
        old = source if outof else target
        if "" in (self.ports.get(self._inner(old)), self.ports.get(old.name)):
            return
        new = self._new(old)
        if outof and not isinstance(new and new.signal, Out):
            self.misfits.append(self._missing(source, f"feeds {target}"))
        elif new is None or (not outof and any(self.new_ports.get(name) == new for name in self.feeds)):
            return  # an input that is no longer needed, or is fed by `connect`
        else:
            source, target = (new, target) if outof else (source, new)
            if source.path not in self.after.links.get(target.path, ()):  # several old ports may map to one new port
                self._try(self.after.connect, source, target)

    def _missing(self, old: Port, use: str) -> str:
        kind = "output" if isinstance(old.signal, Out) else "input"
        near = UnknownNameError(kind, self.ports.get(old.name, old.name), [*self._of_kind(type(old.signal))], self.what)
        return f"{old} {use}: {near}; name it by ports = {{{old.name} = '…'}}; '' gives it up"

    def _of_kind(self, kind: type) -> Iterator[str]:
        return (name for name, port in self.new_ports.items() if isinstance(port.signal, kind))

    def _in_place_of(self, path: str, use: str) -> Port | None:
        """The new port that replaces an old one and must be of the same kind; `use` names its use in error messages."""
        old = self._old(path)
        if old.block not in self.gone:
            return old
        new = self._new(old)
        if new is None or type(new.signal) is not type(old.signal):
            self.misfits.append(self._missing(old, use))
            return None
        if reason := unlike(old.signal, new.signal):
            self.misfits.append(f"{old} {use}, and {new} cannot take its place: {reason}")
            return None
        return new

    def _exports(self) -> None:
        for name, port in self.before.exports.items():
            if new := self._in_place_of(port.path, f"is exported as '{name}'"):
                self.after.exports[name] = new

    def _stops_and_resets(self) -> None:
        after = self.after
        for reason, source in self.before.stops.items():
            if port := self._in_place_of(source, f"stops by '{reason}'"):
                after.stops[reason] = port.path
        after.stops |= self.alone.stops
        sampled = [name for name, block in self.alone.blocks.items() if block.is_sampled]
        for path, source in self.before.resets.items():
            if port := self._in_place_of(source, f"resets {path}"):
                own = path in self.gone
                if own and not sampled:
                    self.misfits.append(f"reset by {port}: {self.path} is continuous now; only sampled blocks restart")
                after.resets |= dict.fromkeys(sampled if own else [path], port.path)
        after.resets |= self.alone.resets


def _ports(diagram: Diagram) -> Iterator[Port]:
    for path, block in diagram.blocks.items():
        for name, signal in block.signals.items():
            if isinstance(signal, In | Out):
                yield Port(diagram.name, path, name, signal)
