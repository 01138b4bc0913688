"""Diagrams for reading: a drawing (SVG) with blocks and signals, and a text tree with ports and units.

The drawing is layered from left to right. First the loops are opened at as few blocks as possible: the outputs of such
a block (usually the body) are one line that runs back below or above the drawing. The rest has no loops; a block's
layer is its longest path to an end. The order within a layer is by barycentre, improved by exchanges. All lines that
leave one block share a trunk, so that a line can be followed to its source.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from ironbird.files.whole import write_text
from ironbird.model.block import Block
from ironbird.model.diagram import Diagram
from ironbird.model.signal import In, Signal

# All lengths are in pixels.
MARGIN = 28.0
HEAD = 64.0  # title and legend
BOX_GAP = 16.0  # between boxes of a layer
BOX_HEIGHT = 50.0
FRAME = 9.0  # around the boxes of a group
FRAME_HEAD = 17.0  # its name
LANE = 9.0  # between parallel lines
BUS_GAP = 20.0  # between lines that run back
CORNER = 5.0
LABEL_SIZE = 10.0
LABEL_LINE = 12.0
SLOT_ABOVE = 14.0  # room for a label above its arrow
LABEL_CHARACTERS = 30  # longest line of a signal label
LABEL_NAMES = 4  # names in a label; the rest is in the tooltip
EXCHANGES = 600  # trials of the order within layers

INKS = (
    "#2b5f94", "#b4531f", "#6b4a9c", "#2f7d4c", "#a8437a", "#8a6d12", "#2a8586", "#a83232", "#4f5fc4", "#5f6b2d",
    "#8c5a3c", "#566270", "#b0479f", "#1f7fa8", "#7d3f58", "#3d8a2e", "#9a7b4f", "#3c4a8f",
)  # fmt: skip
STYLE = """
text { font-family: 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif; fill: #1d2530; }
.title { font-size: 20px; font-weight: 600; }
.note { font-size: 12px; fill: #5a6470; }
.name { font-size: 13px; font-weight: 600; }
.class { font-size: 11px; fill: #3c4653; }
.rate { font-size: 10px; fill: #5a6470; }
.stops { font-size: 10px; fill: #a02020; }
.frame { fill: #f6f7f9; stroke: #c3cad3; stroke-dasharray: 4 3; }
.frame-name { font-size: 11px; font-weight: 600; fill: #5a6470; }
.continuous { fill: #e4eefa; stroke: #33658a; }
.sampled { fill: #fdf0d9; stroke: #b27a1c; }
.outside { fill: #ffffff; stroke: #5a6470; }
.wire { fill: none; stroke-width: 1.4; }
.catch { fill: none; stroke: transparent; stroke-width: 9; pointer-events: stroke; }
.label { font-size: 10px; paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; }
.link:hover .wire { stroke-width: 3.2; }
.link:hover .label { font-weight: 700; }
"""


def write_diagram_svg(diagram: Diagram, path: Path) -> None:
    """Draw a diagram as an SVG file: one box per block, one arrow per pair of connected blocks."""
    write_text(Path(path), _Drawing(diagram).svg())


# ---------------------------------------------------------------------- nodes and links


@dataclass(eq=False)
class _Node:
    """A box, or a point at which a long line passes a layer (`is_point`)."""

    path: str
    block: Block | None = None
    is_point: bool = False
    is_outside: bool = False  # an input or output of the whole diagram
    tooltip: str = ""
    stops: list[str] = field(default_factory=list)
    layer: int = 0
    x: float = 0.0
    y: float = 0.0  # upper edge
    width: float = 0.0
    height: float = 0.0

    @property
    def group(self) -> str:
        """Path of the group that the block belongs to."""
        return "" if self.is_point or self.is_outside else self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Last part of the block's path."""
        return self.path.rpartition("/")[2]

    @property
    def middle(self) -> float:
        """Vertical position of the node's centre line, pixels."""
        return self.y + self.height / 2

    def lines(self) -> list[tuple[str, str]]:
        """Style and text of each line in the box."""
        if self.block is None:
            return [("name", self.name)]
        lines = [("name", self.name), ("class", type(self.block).__name__), ("rate", rate_text(self.block))]
        return [*lines, ("stops", "can end the run")] if self.stops else lines


@dataclass(eq=False)
class _Link:
    """All connections from one block to another, drawn as one arrow."""

    source: _Node
    target: _Node
    pairs: list[tuple[str, str, Signal]] = field(default_factory=list)  # output path, input path, declaration
    is_back: bool = False
    slot: float = 0.0  # height at which it enters the target
    way: list[_Node] = field(default_factory=list)  # points through which it passes the layers between

    @property
    def chain(self) -> list[_Node]:
        """The nodes along the link: source, points of the layers between, target."""
        return [self.source, *self.way, self.target]

    @property
    def last(self) -> _Node:
        """The node at which the last piece of the link begins."""
        return self.chain[-2]

    def names(self) -> list[str]:
        """Names of the signals that the link carries."""
        return list(dict.fromkeys(output.rpartition(".")[2] for output, _, _ in self.pairs))

    def label(self) -> list[str]:
        """Label of the link: at most two lines of signal names."""
        names = self.names()
        for count in range(min(LABEL_NAMES, len(names)), 1, -1):
            rest = len(names) - count
            shown = names[:count] + ([f"+{rest} more"] if rest else [])
            lines = textwrap.wrap(", ".join(shown), LABEL_CHARACTERS, break_long_words=False)
            if len(lines) <= 2:
                return lines
        return [names[0], f"+{len(names) - 1} more"] if len(names) > 1 else names

    def tooltip(self) -> str:
        """Text of each connection with its unit."""
        return "\n".join(f"{output} → {target} {signal.describe()}" for output, target, signal in self.pairs)


@dataclass(eq=False)
class _Unit:
    """Nodes that stay together vertically: a group, one node, or one point of a long line."""

    group: str
    nodes: list[_Node]
    y: float = 0.0
    height: float = 0.0

    @property
    def layers(self) -> range:
        """Range of the layers that the unit covers."""
        layers = [node.layer for node in self.nodes]
        return range(min(layers), max(layers) + 1)

    def stack(self) -> None:
        """Set the height of the unit, and stack its nodes in each layer."""
        head, foot = (FRAME_HEAD, FRAME) if self.group else (0.0, 0.0)
        columns = {layer: [n for n in self.nodes if n.layer == layer] for layer in self.layers}
        inner = {
            layer: sum(n.height for n in nodes) + BOX_GAP * (len(nodes) - 1)
            for layer, nodes in columns.items()
            if nodes
        }
        tallest = max(inner.values())
        self.height = head + tallest + foot
        for layer, nodes in columns.items():
            y = self.y + head + (tallest - inner.get(layer, 0.0)) / 2
            for node in nodes:
                node.y = y
                y += node.height + BOX_GAP


@dataclass(eq=False)
class _Column:
    """A vertical line between two layers, with the heights at which lines join it from the left and from the right."""

    left: list[float]
    right: list[float]
    x: float = 0.0

    @property
    def low(self) -> float:
        """Vertical position of the upper end, pixels."""
        return min(self.left + self.right)

    @property
    def high(self) -> float:
        """Vertical position of the lower end, pixels."""
        return max(self.left + self.right)

    @property
    def is_straight(self) -> bool:
        """Whether the column has no length, so that the line is straight."""
        return self.high - self.low < 0.5

    def crossings_before(self, other: _Column) -> int:
        """Number of crossings if this column is to the left of the other."""
        mine = sum(self.low < y < self.high for y in other.left)
        return mine + sum(other.low < y < other.high for y in self.right)


def rate_text(block: Block) -> str:
    """How often a block runs, as text."""
    if block.sample_s is None:
        return "continuous"
    return f"every {1e3 * block.sample_s:g} ms ({1 / block.sample_s:g} Hz)"


def _text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Estimated width of a text in a sans-serif font, pixels; rather too wide than too narrow."""
    narrow = sum(c in "iljtf.,:;|!'()[]/ " for c in text)
    wide = sum(c.isupper() or c in "mw" or ord(c) > 0x2E80 for c in text)
    return size * (1.06 if bold else 1.0) * (0.57 * (len(text) - narrow - wide) + 0.33 * narrow + 0.78 * wide)


# ---------------------------------------------------------------------- graph


def _components(nodes: Iterable[_Node], after: Callable[[_Node], list[_Node]]) -> list[list[_Node]]:
    """Strongly connected components (Tarjan's algorithm, without recursion)."""
    number: dict[_Node, int] = {}
    lowest: dict[_Node, int] = {}
    on_stack: set[_Node] = set()
    stack: list[_Node] = []
    components: list[list[_Node]] = []
    for root in nodes:
        work = [(root, iter(after(root)))] if root not in number else []
        if work:
            number[root] = lowest[root] = len(number)
            stack.append(root)
            on_stack.add(root)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    part = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    on_stack -= set(part)
                    components.append(part)
            elif following not in number:
                number[following] = lowest[following] = len(number)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(after(following))))
            elif following in on_stack:
                lowest[node] = min(lowest[node], number[following])
    return components


def _open_loops(nodes: list[_Node], links: list[_Link]) -> None:
    """Mark links that run back: in each loop, all links that leave one block, and as few blocks as possible."""
    order = {node: i for i, node in enumerate(nodes)}
    for link in links:
        link.is_back = link.source is link.target

    def after(members: set[_Node], without: _Node | None) -> Callable[[_Node], list[_Node]]:
        out: dict[_Node, list[_Node]] = {node: [] for node in members}
        for link in links:
            if not link.is_back and link.source in members and link.target in members and link.source is not without:
                out[link.source].append(link.target)
        return lambda node: out[node]

    while True:
        knots = [part for part in _components(nodes, after(set(nodes), None)) if len(part) > 1]
        if not knots:
            return
        for knot in knots:
            members = set(knot)

            def price(node: _Node, members: set[_Node] = members) -> tuple[int, int, int]:
                rest = _components(sorted(members, key=order.__getitem__), after(members, node))
                lines = sum(k.source is node and k.target in members for k in links)
                return sum(len(part) - 1 for part in rest), lines, order[node]

            chosen = min(members, key=price)
            for link in links:
                link.is_back |= link.source is chosen and link.target in members


def _assign_layers(nodes: list[_Node], links: list[_Link]) -> int:
    """Set each node's layer by its longest path to an end, next to the blocks it feeds; returns their number."""
    out: dict[_Node, list[_Node]] = {node: [] for node in nodes}
    for link in links:
        if not link.is_back:
            out[link.source].append(link.target)
    depth: dict[_Node, int] = {}

    def way(node: _Node) -> int:  # loops are open: the path is finite
        if node not in depth:
            depth[node] = max((1 + way(n) for n in out[node]), default=0)
        return depth[node]

    last = max(way(node) for node in nodes)
    for node in nodes:
        node.layer = last - depth[node]
    for node in nodes:  # an end is next to the block that feeds it
        before = [link.source.layer for link in links if link.target is node and not link.is_back]
        if not out[node] and before:
            node.layer = max(before) + 1
    return last + 1


# ---------------------------------------------------------------------- drawing


class _Drawing:
    """Positions of all boxes and lines of one diagram."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.nodes: list[_Node] = []
        self.links: list[_Link] = []
        self._collect()
        self.layers = 0
        self.width, self.height = 480.0, HEAD + 2 * MARGIN
        self.wires: list[tuple[_Link, list[tuple[float, float]]]] = []
        self.units: list[_Unit] = []
        self.bus: dict[_Node, float] = {}
        if self.nodes:
            self._lay_out()

    # -------------------------------------------------------------- reading the diagram

    def _collect(self) -> None:
        known: dict[str, _Node] = {}
        for path, block in self.diagram.blocks.items():
            known[path] = _Node(path, block, tooltip=_block_tooltip(path, block))
        for reason, output in self.diagram.stops.items():
            node = known.get(output.rpartition(".")[0])
            if node is not None:
                node.stops.append(reason)
                node.tooltip += f"\nends the run: {reason} ({output.rpartition('.')[2]})"
        links: dict[tuple[_Node, _Node], _Link] = {}

        def link(source: _Node, target: _Node, output: str, target_path: str, signal: Signal) -> None:
            links.setdefault((source, target), _Link(source, target)).pairs.append((output, target_path, signal))

        for target_path, outputs in self.diagram.links.items():
            target, _, port = target_path.rpartition(".")
            for output in outputs:
                source = output.rpartition(".")[0]
                if source in known and target in known:
                    signal = known[target].block.signals[port]  # type: ignore[union-attr]
                    link(known[source], known[target], output, target_path, signal)
        outside: list[_Node] = []
        for name, port_ in self.diagram.exports.items():
            inner = known.get(port_.block)
            is_input = isinstance(port_.signal, In)
            if inner is None or (is_input and self.diagram.links.get(port_.path)):
                continue
            node = _Node(name, is_outside=True, tooltip=f"{'input' if is_input else 'output'} {name}: {port_}")
            outside.append(node)
            if is_input:
                link(node, inner, name, port_.path, port_.signal)
            else:
                link(inner, node, port_.path, name, port_.signal)
        self.nodes = [*known.values(), *outside]
        self.links = list(links.values())

    # -------------------------------------------------------------- layout

    def _lay_out(self) -> None:
        _open_loops(self.nodes, self.links)
        self.layers = _assign_layers(self.nodes, self.links)
        self._measure()
        pieces = self._pieces()
        self._order(pieces)
        self._enter()
        self._route()

    def _measure(self) -> None:
        for node in self.nodes:
            lines = node.lines()
            sizes = {"name": 13.0, "class": 11.0, "rate": 10.0, "stops": 10.0}
            node.width = max(_text_width(text, sizes[kind], bold=kind == "name") for kind, text in lines) + 22
            entering = sum(self._slot_height(link) for link in self.links if link.target is node)
            least = 26.0 if node.is_outside else BOX_HEIGHT + (12 if node.stops else 0)
            node.height = max(least, entering + 6)

    @staticmethod
    def _slot_height(link: _Link) -> float:
        return SLOT_ABOVE + (9 if len(link.label()) == 1 else LABEL_LINE + 5)

    def _pieces(self) -> list[tuple[_Node, _Node]]:
        """Forward links cut into pieces from one layer to the next; long ones pass through points."""
        pieces: list[tuple[_Node, _Node]] = []
        points: dict[tuple[_Node, int], _Node] = {}
        for link in self.links:
            if link.is_back:
                continue
            here = link.source
            for layer in range(link.source.layer + 1, link.target.layer):
                key = (link.source, layer)
                if key not in points:
                    points[key] = _Node(f"{link.source.path} at {layer}", is_point=True, layer=layer, height=2.0)
                    pieces.append((here, points[key]))
                here = points[key]
                link.way.append(here)
            pieces.append((here, link.target))
        groups: dict[str, _Unit] = {}
        for node in self.nodes:
            if node.group:
                groups.setdefault(node.group, _Unit(node.group, [])).nodes.append(node)
        single = [_Unit("", [node]) for node in [*self.nodes, *points.values()] if not node.group]
        self.units = [*groups.values(), *single]
        return pieces

    # -------------------------------------------------------------- order and heights

    def _order(self, pieces: list[tuple[_Node, _Node]]) -> None:
        """Find an order of the units with few crossings and short lines, and set all heights."""
        near: dict[_Node, list[_Node]] = {}
        for a, b in pieces:
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
        gaps: dict[int, list[tuple[_Node, _Node]]] = {}
        for a, b in pieces:
            gaps.setdefault(a.layer, []).append((a, b))

        family: dict[str, list[_Unit]] = {}  # rotor/1, rotor/2, … stay together and in their order
        for unit in self.units:
            if "/" in unit.group:
                family.setdefault(unit.group.rpartition("/")[0], []).append(unit)
        siblings = [pair for units in family.values() for pair in itertools.pairwise(units)]

        def price() -> float:
            length = sum(abs(a.middle - b.middle) for a, b in pieces)
            crossings = sum(
                (a.middle - c.middle) * (b.middle - d.middle) < 0
                for lines in gaps.values()
                for i, (a, b) in enumerate(lines)
                for c, d in lines[:i]
            )
            apart = sum(abs(b.y - a.y) + (400.0 if b.y < a.y else 0.0) for a, b in siblings)
            return length + 60.0 * crossings + 0.5 * apart

        def wish(node: _Node) -> float | None:
            others = near.get(node)
            return sum(n.middle for n in others) / len(others) if others else None

        def place(order: list[_Unit], sweeps: int) -> None:
            edge = dict.fromkeys(range(self.layers), 0.0)
            for unit in order:
                unit.stack()
                unit.y = max(edge[layer] for layer in unit.layers)
                unit.stack()
                for layer in unit.layers:
                    edge[layer] = unit.y + unit.height + self._below(unit)
            self._settle(order, wish, sweeps)

        def trial(order: list[_Unit], sweeps: int = 4) -> float:
            place(order, sweeps)
            return price()

        def key(unit: _Unit) -> float:
            wishes = [w for w in map(wish, unit.nodes) if w is not None]
            return sum(wishes) / len(wishes) if wishes else unit.y + unit.height / 2

        order = list(self.units)
        best, best_price = list(order), trial(order)
        for _ in range(16):  # barycentre
            for unit in order:
                unit.nodes.sort(key=lambda n: w if (w := wish(n)) is not None else n.middle)
            order = sorted(order, key=key)
            cost = trial(order)
            if cost < best_price:
                best, best_price = list(order), cost
        best = self._exchange(best, best_price, trial)
        place(best, 40)
        self.units = best

    @staticmethod
    def _exchange(best: list[_Unit], best_price: float, trial: Callable[[list[_Unit]], float]) -> list[_Unit]:
        """Move single units to other positions in the order as long as that lowers the price."""
        left = EXCHANGES
        improved = True
        while improved and left > 0:
            improved = False
            for unit in list(best):
                here = best.index(unit)
                for there in sorted(range(len(best)), key=lambda i, here=here: abs(i - here)):  # type: ignore[misc]
                    if there == here or left <= 0:
                        continue
                    left -= 1
                    order = [u for u in best if u is not unit]
                    order.insert(there, unit)
                    cost = trial(order)
                    if cost < best_price - 1e-6:
                        best, best_price, improved = order, cost, True
                        break
        return best

    @staticmethod
    def _below(unit: _Unit) -> float:
        return BOX_GAP * (0.6 if unit.nodes[0].is_point else 1.0)

    def _settle(self, order: list[_Unit], wish: Callable[[_Node], float | None], sweeps: int) -> None:
        """Move each unit towards its neighbours as far as the units above and below allow."""
        rows: dict[int, list[_Unit]] = {layer: [u for u in order if layer in u.layers] for layer in range(self.layers)}
        above: dict[_Unit, list[_Unit]] = {u: [] for u in order}
        below: dict[_Unit, list[_Unit]] = {u: [] for u in order}
        for row in rows.values():
            for upper, lower in itertools.pairwise(row):
                above[lower].append(upper)
                below[upper].append(lower)
        for sweep in range(sweeps):
            for unit in order if sweep % 2 else reversed(order):
                shifts = [w - n.middle for n in unit.nodes if (w := wish(n)) is not None]
                if not shifts:
                    continue
                y = unit.y + sum(shifts) / len(shifts)
                low = max((u.y + u.height + self._below(u) for u in above[unit]), default=-1e9)
                high = min((u.y for u in below[unit]), default=1e9) - unit.height - self._below(unit)
                unit.y = max(low, min(y, high)) if low <= high else unit.y
                unit.stack()

    def _enter(self) -> None:
        """Shift to the margins, choose the side of the lines that run back, and the heights at which lines enter."""
        top = min(unit.y for unit in self.units)
        for unit in self.units:
            unit.y -= top
            unit.stack()
        bottom = max(unit.y + unit.height for unit in self.units)
        back: dict[_Node, list[_Link]] = {}
        for link in self.links:
            if link.is_back:
                back.setdefault(link.source, []).append(link)
        over: list[_Node] = []
        under: list[_Node] = []
        for source, links in back.items():
            ends = [source.middle, *(link.target.middle for link in links)]
            (over if sum(ends) / len(ends) < 0.4 * bottom else under).append(source)

        def span(source: _Node) -> int:
            return source.layer - min(link.target.layer for link in back[source])

        for number, source in enumerate(sorted(under, key=span), start=1):
            self.bus[source] = bottom + number * BUS_GAP
        for number, source in enumerate(sorted(over, key=span), start=1):
            self.bus[source] = -number * BUS_GAP
        shift = HEAD + MARGIN + BUS_GAP * len(over)
        for unit in self.units:
            unit.y += shift
            unit.stack()
        self.bus = {source: y + shift for source, y in self.bus.items()}
        self.height = shift + bottom + BUS_GAP * len(under) + MARGIN
        for node in self.nodes:
            entering = [link for link in self.links if link.target is node]
            entering.sort(key=lambda k: self.bus[k.source] if k.is_back else k.last.middle)
            y = node.middle - sum(map(self._slot_height, entering)) / 2
            for link in entering:
                link.slot = y + SLOT_ABOVE
                y += self._slot_height(link)

    # -------------------------------------------------------------- lines

    def _leave(self, node: _Node, *, back: bool) -> float:
        """Height at which lines leave a node: straight where possible, separate from those that run back."""
        if node.is_point:
            return node.middle
        low, high = node.y + 9, node.y + node.height - 9
        has_back = node in self.bus
        ahead = [link for link in self.links if link.source is node and not link.is_back]
        goals = [link.way[0].middle if link.way else link.slot for link in ahead]
        if has_back and goals:  # each kind has its part of the box
            cut = node.y + node.height * (0.62 if self.bus[node] > node.middle else 0.38)
            if (self.bus[node] > node.middle) == back:
                low = cut + 3
            else:
                high = cut - 3
        if back:
            return (low + high) / 2
        middle = (low + high) / 2
        fitting = [y for y in goals if low <= y <= high]
        if fitting:
            return min(fitting, key=lambda y: abs(y - middle))
        others = [k.slot for k in self.links if k.target.layer == node.layer + 1 and k.source is not node]
        places = [middle + shift for shift in (0.0, 6.0, -6.0, 12.0, -12.0) if low <= middle + shift <= high]
        return next((y for y in places if all(abs(y - other) > 5 for other in others)), middle)

    def _route(self) -> None:
        """Place the columns between the layers, then the boxes from left to right, then draw the lines."""
        ahead: dict[_Node, _Column] = {}
        down: dict[_Node, _Column] = {}
        up: dict[tuple[_Node, int], _Column] = {}
        gap: dict[int, list[_Column]] = {layer: [] for layer in range(-1, self.layers)}  # right of each layer
        for link in self.links:
            source, target = link.source, link.target
            if link.is_back:
                if source not in down:
                    down[source] = _Column([self._leave(source, back=True)], [self.bus[source]])
                    gap[source.layer].append(down[source])
                key = (source, target.layer)
                if key not in up:
                    up[key] = _Column([], [self.bus[source]])
                    gap[target.layer - 1].append(up[key])
                up[key].right.append(link.slot)
                continue
            for here, there in itertools.pairwise(link.chain):
                if here not in ahead:
                    ahead[here] = _Column([self._leave(here, back=False)], [])
                    gap[here.layer].append(ahead[here])
                ahead[here].right.append(link.slot if there is target else there.middle)
        x = MARGIN
        for layer in range(-1, self.layers):
            if layer >= 0:
                row = [n for u in self.units for n in u.nodes if n.layer == layer]
                width = max((n.width for n in row), default=0.0)
                for node in row:
                    node.x, node.width = x, width
                x += width
            x = self._place_columns(gap[layer], layer, x)
        self.width = max(self.width, x + MARGIN)
        for link in self.links:
            self.wires.append((link, self._points(link, ahead, down, up)))

    def _place_columns(self, columns: list[_Column], layer: int, x: float) -> float:
        """Order the columns of a gap with few crossings; returns the left edge of the next layer."""
        bent = [c for c in columns if not c.is_straight]
        bent.sort(key=lambda c: c.low)
        for _ in bent:  # exchange neighbours while that helps
            for i in range(len(bent) - 1):
                a, b = bent[i], bent[i + 1]
                if b.crossings_before(a) < a.crossings_before(b):
                    bent[i], bent[i + 1] = b, a
        framed = any(u.group and layer == u.layers[-1] for u in self.units)
        x += FRAME + 12 if framed else 12
        track: list[_Column] = []
        for column in bent:
            if any(column.low < c.high + 6 and c.low < column.high + 6 for c in track):
                x += LANE
                track = []
            track.append(column)
            column.x = x
        for column in columns:
            if column.is_straight:
                column.x = x
        if layer + 1 >= self.layers:
            return x
        labels = [line for k in self.links if k.target.layer == layer + 1 for line in k.label()]
        framed = any(u.group and layer + 1 == u.layers[0] for u in self.units)
        return x + max((_text_width(t, LABEL_SIZE) for t in labels), default=0.0) + 20 + (FRAME if framed else 0)

    def _points(
        self, link: _Link, ahead: dict[_Node, _Column], down: dict[_Node, _Column], up: dict[tuple[_Node, int], _Column]
    ) -> list[tuple[float, float]]:
        source, target = link.source, link.target
        if link.is_back:
            y, bus = self._leave(source, back=True), self.bus[source]
            first, second = down[source].x, up[source, target.layer].x
            along = [(first, y), (first, bus), (second, bus), (second, link.slot)]
            return [(source.x + source.width, y), *along, (target.x, link.slot)]
        y = self._leave(source, back=False)
        points = [(source.x + source.width, y)]
        for here, there in itertools.pairwise(link.chain):
            following = link.slot if there is target else there.middle
            points += [(ahead[here].x, y), (ahead[here].x, following)]
            y = following
        return [*points, (target.x, y)]

    # -------------------------------------------------------------- text

    def svg(self) -> str:
        """The whole drawing as SVG text."""
        width, height = round(self.width), round(self.height)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(self.diagram.name)}</title>",
            f"<style>{STYLE}</style>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            self._heading(),
        ]
        parts += [self._frame(unit) for unit in self.units if unit.group]
        inks = self._inks()
        parts += [self._wire(link, points, inks[link.source]) for link, points in self.wires]
        parts += [self._bus_label(source, inks[source]) for source in self.bus]
        parts += [self._box(node) for node in self.nodes]
        return "\n".join([*parts, "</svg>", ""])

    def _inks(self) -> dict[_Node, str]:
        """A colour for each source: the same for equal parts of equal groups (all motors)."""
        kinds: dict[tuple[str, str], str] = {}
        inks: dict[_Node, str] = {}
        for source in dict.fromkeys([*self.bus, *(link.source for link in self.links)]):
            kind = (type(source.block).__name__, source.name)
            inks[source] = kinds.setdefault(kind, INKS[len(kinds) % len(INKS)])
        return inks

    def _heading(self) -> str:
        connections = sum(len(link.pairs) for link in self.links)
        blocks = len(self.diagram.blocks)
        note = f"{blocks} block{'s' * (blocks != 1)}, {connections} connection{'s' * (connections != 1)}"
        y = MARGIN + 34
        parts = [
            f'<text class="title" x="{MARGIN:g}" y="{MARGIN + 10:g}">{escape(self.diagram.name)}</text>',
        ]
        x = MARGIN
        for kind, text in (("continuous", "continuous"), ("sampled", "sampled, held between samples")):
            parts.append(f'<rect class="{kind}" x="{x:g}" y="{y - 10:g}" width="16" height="12" rx="3"/>')
            parts.append(f'<text class="note" x="{x + 22:g}" y="{y:g}">{text}</text>')
            x += 22 + _text_width(text, 12) + 18
        parts.append(f'<text class="note" x="{x:g}" y="{y:g}">{note}</text>')
        return "".join(parts)

    @staticmethod
    def _frame(unit: _Unit) -> str:
        left = min(n.x for n in unit.nodes) - FRAME
        right = max(n.x + n.width for n in unit.nodes) + FRAME
        return (
            f'<g><rect class="frame" x="{left:.1f}" y="{unit.y:.1f}" width="{right - left:.1f}" '
            f'height="{unit.height:.1f}" rx="8"/>'
            f'<text class="frame-name" x="{left + 9:.1f}" y="{unit.y + 12.5:.1f}">{escape(unit.group)}</text></g>'
        )

    @staticmethod
    def _wire(link: _Link, points: list[tuple[float, float]], ink: str) -> str:
        end_x, end_y = points[-1]
        line = _rounded([*points[:-1], (end_x - 5, end_y)])
        head = f"M{end_x:.1f},{end_y:.1f} l-8,-3.6 v7.2 z"
        parts = [f'<g class="link"><title>{escape(link.tooltip())}</title>', f'<path class="catch" d="{line}"/>']
        parts.append(f'<path class="wire" d="{line}" stroke="{ink}"/><path d="{head}" fill="{ink}"/>')
        for number, text in enumerate(link.label()):
            y = end_y - 4 if number == 0 else end_y + LABEL_LINE
            parts.append(
                f'<text class="label" x="{end_x - 11:.1f}" y="{y:.1f}" text-anchor="end">{escape(text)}</text>'
            )
        return "".join([*parts, "</g>"])

    def _bus_label(self, source: _Node, ink: str) -> str:
        """Text on a line that runs back: its source and signals."""
        x = next(points[1][0] for link, points in self.wires if link.source is source and link.is_back) - 14
        return (
            f'<text class="label" x="{x:.1f}" y="{self.bus[source] - 4:.1f}" text-anchor="end" '
            f'style="fill:{ink};font-weight:600">from {escape(source.path)}</text>'
        )

    @staticmethod
    def _box(node: _Node) -> str:
        kind = "outside" if node.block is None else "sampled" if node.block.is_sampled else "continuous"
        corner = node.height / 2 if node.is_outside else 6
        parts = [
            f"<g><title>{escape(node.tooltip)}</title>",
            f'<rect class="{kind}" x="{node.x:.1f}" y="{node.y:.1f}" width="{node.width:.1f}" '
            f'height="{node.height:.1f}" rx="{corner:g}" stroke-width="1.4"/>',
        ]
        lines = node.lines()
        y = node.middle - 7.0 * (len(lines) - 1) + 4
        for style, text in lines:
            parts.append(
                f'<text class="{style}" x="{node.x + node.width / 2:.1f}" y="{y:.1f}" text-anchor="middle">'
                f"{escape(text)}</text>"
            )
            y += 14
        return "".join([*parts, "</g>"])


def _rounded(points: list[tuple[float, float]]) -> str:
    """A line along horizontal and vertical pieces with round corners."""
    corners: list[tuple[float, float]] = []
    for point in points:
        if corners and abs(point[0] - corners[-1][0]) < 0.05 and abs(point[1] - corners[-1][1]) < 0.05:
            continue
        corners.append(point)
    text = f"M{corners[0][0]:.1f},{corners[0][1]:.1f}"
    for before, here, after in zip(corners, corners[1:], corners[2:], strict=False):
        a = max(abs(here[0] - before[0]), abs(here[1] - before[1]))
        b = max(abs(after[0] - here[0]), abs(after[1] - here[1]))
        r = min(CORNER, a / 2, b / 2)
        enter = (here[0] + (before[0] - here[0]) * r / a, here[1] + (before[1] - here[1]) * r / a)
        leave = (here[0] + (after[0] - here[0]) * r / b, here[1] + (after[1] - here[1]) * r / b)
        text += f" L{enter[0]:.1f},{enter[1]:.1f} Q{here[0]:.1f},{here[1]:.1f} {leave[0]:.1f},{leave[1]:.1f}"
    return f"{text} L{corners[-1][0]:.1f},{corners[-1][1]:.1f}"


def _block_tooltip(path: str, block: Block) -> str:
    doc = (type(block).__doc__ or "").strip().partition("\n")[0]
    return f"{path}: {type(block).__name__}, {rate_text(block)}" + (f"\n{doc}" if doc else "")


# ---------------------------------------------------------------------- text tree


def diagram_tree(diagram: Diagram) -> str:
    """A diagram as a text tree: nested blocks with class, rate, and their ports, states and parameters with units.

    Of sibling parts that are built alike only the first is printed.
    """
    tree: dict[str, dict] = {}
    for path in diagram.blocks:
        level = tree
        for part in path.split("/"):
            level = level.setdefault(part, {})
    connections = sum(map(len, diagram.links.values()))
    lines = [f"{diagram.name}: {len(diagram.blocks)} blocks, {connections} connections"]
    lines += _branches(diagram, tree, "", "")
    return "\n".join(lines) + "\n"


def _branches(diagram: Diagram, tree: dict[str, dict], path: str, indent: str) -> list[str]:
    lines: list[str] = []
    shown: dict[str, str] = {}  # printed text -> name of the first part with it
    for number, (name, inner) in enumerate(tree.items(), start=1):
        is_last = number == len(tree)
        here = f"{path}/{name}" if path else name
        deeper = indent + ("    " if is_last else "│   ")
        block = diagram.blocks.get(here)
        kind = "" if block is None else f": {type(block).__name__}, {rate_text(block)}"
        below = [] if block is None else _ports(block, deeper + ("│   " if inner else "    "))
        below += _branches(diagram, inner, here, deeper)
        first = shown.setdefault("\n".join([kind, *(line[len(deeper) :] for line in below)]), name)
        if first != name and len(below) > 1:  # four rotors are one
            kind, below = f": as {first}", []
        lines += [f"{indent}{'└── ' if is_last else '├── '}{name}{kind}", *below]
    return lines


def _ports(block: Block, indent: str) -> list[str]:
    kinds: list[tuple[str, dict]] = [("input", block.inputs), ("output", block.outputs), ("state", block.states)]
    kinds += [("parameter", block.params), ("noise stream", block.noises)]
    lines: list[str] = []
    for kind, signals in kinds:
        if signals:
            head = f"{len(signals)} {kind}{'s' if len(signals) > 1 else ''}: "
            text = ", ".join(
                f"{name}\u00a0{signal.describe()}".replace(" ", "\u00a0") for name, signal in signals.items()
            )
            wrapped = textwrap.wrap(text.replace(",\u00a0", ", "), max(40, 118 - len(indent) - len(head)))
            lines += [indent + (head if i == 0 else " " * len(head)) + line for i, line in enumerate(wrapped)]
    return [line.replace("\u00a0", " ") for line in lines]
