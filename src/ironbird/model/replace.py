"""A part of a diagram exchanged for another one: what was wired to the old part is wired to the new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ironbird.errors import IronbirdError, ReplaceError, UnknownNameError
from ironbird.model.block import Block
from ironbird.model.diagram import Diagram, Handle, Port, block_of, unlike
from ironbird.model.signal import In, Number, Out


def replaced(
    diagram: Diagram,
    path: str,
    part: Block | Diagram,
    ports: Mapping[str, str],
    connect: Mapping[str, str],
    params: Mapping[str, Number],
) -> tuple[Diagram, Handle]:
    """The diagram with another part at a path, and the new part's ports; see `Diagram.replace`."""
    return _Exchange(diagram, path, part, ports, connect).done(params)


def parts_of(diagram: Diagram) -> list[str]:
    """Everything that can be replaced: every block, and every path that has blocks below it."""
    found: dict[str, None] = {}
    for path in diagram.blocks:
        steps = path.split("/")
        found |= dict.fromkeys("/".join(steps[:count]) for count in range(1, len(steps) + 1))
    return list(found)


class _Exchange:
    """One exchange: the diagram as it was, the new part alone, and the new diagram while it is put together."""

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
        self.known = {port.path[len(path) + 1 :]: port for port in _ports(self.alone)} | self.handle.ports()
        self.misfits: list[str] = []
        self.after = self._blocks()

    def done(self, params: Mapping[str, Number]) -> tuple[Diagram, Handle]:
        """The new diagram, or all that does not fit."""
        self._names()
        self._values(params)
        self._links()
        self._exports()
        self._stops_and_resets()
        if self.misfits:
            raise ReplaceError(f"{self.before.name}/{self.path}", self.what, self.misfits)
        return self.after, self.handle

    def _blocks(self) -> Diagram:
        """All blocks in their order, the new ones where the first of the old ones was."""
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
        """Ports that the mappings name must exist."""
        where = f"{self.before.name}/{self.path}"
        old = [port for port in _ports(self.before) if port.block in self.gone]
        names = {name for port in old for name in (self._inner(port), port.name)}
        wrong = [
            UnknownNameError("port", name, sorted(names), f"{where} as it was")
            for name in sorted(self.ports.keys() - names)
        ]
        asked = {*self.ports.values(), *self.feeds} - {"", *self.known}
        wrong += [UnknownNameError("port", name, self.known, f"{where} as {self.what}") for name in sorted(asked)]
        self.misfits += [str(error) for error in wrong]

    def _new(self, old: Port) -> Port | None:
        """The new part's port in place of an old one."""
        inner = self._inner(old)
        name = self.ports.get(inner, self.ports.get(old.name, inner if inner in self.known else old.name))
        return self.known.get(name)

    def _values(self, params: Mapping[str, Number]) -> None:
        """Values of other parts, of the new part itself, and those of the old part that go over."""
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
        for target, sources in self.before.links.items():
            for source in sources:
                into, outof = block_of(target) in self.gone, block_of(source) in self.gone
                if not into and not outof:
                    after.links.setdefault(target, []).append(source)
                elif into != outof:
                    self._carry(self._old(source), self._old(target), outof)
        after.links |= self.alone.links
        for name in (name for name in self.feeds if name in self.known):
            self._try(self._feed, name)

    def _feed(self, name: str) -> None:
        self.after.connect(self.after.port(self.feeds[name]), self.known[name])

    def _carry(self, source: Port, target: Port, outof: bool) -> None:
        """One connection between the old part and another one."""
        old = source if outof else target
        if "" in (self.ports.get(self._inner(old)), self.ports.get(old.name)):
            return
        new = self._new(old)
        if outof and not isinstance(new and new.signal, Out):
            self.misfits.append(self._missing(source, f"feeds {target}"))
        elif new is None or (not outof and any(self.known.get(name) == new for name in self.feeds)):
            return  # an input that is needed no more, or is fed by `connect`
        else:
            source, target = (new, target) if outof else (source, new)
            if source.path not in self.after.links.get(target.path, ()):  # several of the old ports may be one now
                self._try(self.after.connect, source, target)

    def _missing(self, old: Port, use: str) -> str:
        kind = "output" if isinstance(old.signal, Out) else "input"
        near = UnknownNameError(kind, self.ports.get(old.name, old.name), [*self._of_kind(type(old.signal))], self.what)
        return f"{old} {use}: {near}; name it by ports = {{{old.name} = …}},  if it can be missing"

    def _of_kind(self, kind: type) -> Iterator[str]:
        return (name for name, port in self.known.items() if isinstance(port.signal, kind))

    def _in_place_of(self, path: str, use: str) -> Port | None:
        """The port that has taken the place of an old one, which others need to be of the same kind."""
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
