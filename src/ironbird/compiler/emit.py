"""C text of a model from its value graph: plain, commented with signal names, for any number of lanes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from ironbird.compiler.ir import MASKS, PARAM, STAGE, TICK, Graph

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_ON_MASKS = {"not", "and", "or"}
GUARD_OPERATIONS = 12  # a branch pays from this many operations on
ABSORB_SELECTIONS = 4  # and moving selections into it from this many on


def remark(text: str) -> str:
    """A name as the inside of a C comment, whatever it holds."""
    return text.replace("*/", "* /").replace("\\", "/").replace("\n", " ")


@dataclass
class Store:
    """Where one result goes: `array[row] = node`, with the signal's name for the reader."""

    array: str
    row: int
    node: int
    name: str


@dataclass(frozen=True)
class Draw:
    """How a random number is drawn: in pairs, as a function of seed, stream and tick, so where it is done is free."""

    call: str  # C call without its two results
    pair: int  # first row of the pair
    place: int  # 0 or 1 within it
    path: str


@dataclass
class Emitter:
    """Writes functions; values that change slowly are kept in the arrays `pre` and `tk`."""

    graph: Graph
    names: dict[str, list[str]]  # leaf array -> signal name of each row
    pre_rows: dict[int, int] = field(default_factory=dict)
    tick_rows: dict[int, int] = field(default_factory=dict)

    def hoist(self, roots: list[int], *, tick: bool) -> None:
        """Choose what is kept: slow values that faster ones (or results) use directly."""
        for node in self.graph.needed(roots):
            for arg in self.graph.nodes[node].args:
                self._keep(arg, self.graph.level[node], tick=tick)
        for root in roots:
            self._keep(root, STAGE, tick=tick)

    def _keep(self, node: int, level: int, *, tick: bool) -> None:
        own = self.graph.level[node]
        if self.graph.nodes[node].op == "const":
            return
        if own == TICK and level == STAGE and tick:
            self.tick_rows.setdefault(node, len(self.tick_rows))
        elif own == PARAM and level > PARAM and self.graph.nodes[node].op != "leaf":
            self.pre_rows.setdefault(node, len(self.pre_rows))

    def kept(self, *, use_pre: bool, use_tick: bool) -> dict[int, str]:
        """Nodes that a function reads instead of computing."""
        kept: dict[int, str] = {}
        if use_pre:
            kept.update({node: f"pre[{row}]" for node, row in self.pre_rows.items()})
        if use_tick:
            kept.update({node: f"tk[{row}]" for node, row in self.tick_rows.items()})
        return kept

    def function(self, head: str, stores: list[Store], *, use_pre: bool, use_tick: bool) -> str:
        """A C function that computes the stores' nodes and writes them at its end."""
        return f"{head} {{\n{self.body(stores, use_pre=use_pre, use_tick=use_tick)}}}\n"

    def body(self, stores: list[Store], *, use_pre: bool, use_tick: bool, draws: dict[int, Draw] | None = None) -> str:
        """The statements of a function; noise in `draws` is drawn where it is used, not read."""
        return _Body(self, stores, self.kept(use_pre=use_pre, use_tick=use_tick), draws or {}).text()


class _Body:
    """One function body: order of computation, guarded parts, statements."""

    def __init__(self, emitter: Emitter, stores: list[Store], kept: dict[int, str], draws: dict[int, Draw]) -> None:
        self.draws = draws
        self.drawn: dict[tuple[int, str], str] = {}  # pair and scope -> names of its two numbers
        self.graph = emitter.graph
        self.names = emitter.names
        self.stores = stores
        self.kept = kept
        self.order = self.graph.needed([s.node for s in stores], set(kept))
        self.pairs = self._sine_pairs()
        self.guards = self._guards()
        self.absorbed: dict[int, list[int]] = {condition: [] for condition in self.guards}
        self.expr: dict[int, str] = {}
        self.lines: list[str] = []

    def text(self) -> str:
        for item in self._schedule():
            if isinstance(item, int):
                self._statement(item, "  ")
            else:
                self._guarded(*item)
        for store in self.stores:
            note = f" /* {remark(store.name)} */" if store.name else ""
            self.lines.append(f"  {store.array}[{store.row}] = {self._number(store.node)};{note}")
        return "".join(line + "\n" for line in self.lines)

    # ------------------------------------------------------------------ guarded parts

    def _guards(self) -> dict[int, list[int]]:
        """Condition -> nodes that matter only where it holds.

        A value that is used only as the chosen side of selections on one condition need not be computed when the
        condition holds in no lane; the result is the same bit for bit. Contact with the ground is such a case.
        """
        uses: dict[int, list[tuple[int, int]]] = {node: [] for node in self.order}  # node -> (user, condition or -1)
        self.users: dict[int, set[int]] = {node: set() for node in self.order}
        arms: dict[int, set[int]] = {}
        for user in self.order:
            if user in self.kept:
                continue
            node = self.graph.nodes[user]
            for place, arg in enumerate(node.args):
                guarded = node.op in ("select", "if_else_zero") and place == 1
                self.users[arg].add(user)
                uses[arg].append((user, node.args[0] if guarded else -1))
                if guarded:
                    arms.setdefault(node.args[0], set()).add(arg)
        stored = {store.node for store in self.stores}
        claimed: set[int] = set()
        guards: dict[int, list[int]] = {}
        for condition in sorted(arms):
            cone: set[int] = set()
            # From the chosen sides towards the leaves; a node's users come before it because their numbers are larger.
            waiting = [-arm for arm in arms[condition]]
            heapq.heapify(waiting)
            seen = set(waiting)
            while waiting:
                number = -heapq.heappop(waiting)
                if number in self.kept or number in stored or number in claimed or self._is_free(number):
                    continue
                if all(user in cone or under == condition for user, under in uses[number]):
                    cone.add(number)
                    for arg in self.graph.nodes[number].args:
                        if -arg not in seen:
                            seen.add(-arg)
                            heapq.heappush(waiting, -arg)
            if len(cone) >= GUARD_OPERATIONS:
                guards[condition] = sorted(cone)
                claimed |= cone
        return guards

    def _is_free(self, number: int) -> bool:
        """Whether a node costs nothing: constants and what is read from memory, but not random numbers."""
        node = self.graph.nodes[number]
        return node.op == "const" or (node.op == "leaf" and not (node.array == "noise" and node.index in self.draws))

    def _selections(self, condition: int) -> list[int]:
        """Selections on a condition whose chosen side is guarded: they move into the guarded part, too."""
        cone = set(self.guards[condition])
        others = {node for other, nodes in self.guards.items() if other != condition for node in nodes}
        found: list[int] = []
        for node in self.order:
            op, args = self.graph.nodes[node].op, self.graph.nodes[node].args
            if node in self.kept or node in others or op not in ("select", "if_else_zero") or args[0] != condition:
                continue
            if args[1] in cone and (op == "if_else_zero" or (args[2] not in cone and args[2] not in found)):
                found.append(node)
        return found

    def _schedule(self) -> list[int | tuple[int, list[int]]]:
        """Nodes and guarded parts in an order in which everything is computed before it is used.

        A guarded part that needs the result of its own selection is computed unguarded. Then selections move into
        their parts where an order still exists.
        """
        result, stuck = self._try_order()
        while stuck:
            del self.guards[stuck[0]]
            result, stuck = self._try_order()
        for condition in sorted(self.guards, key=lambda c: -len(self.guards[c])):
            selections = self._selections(condition)
            if len(selections) < ABSORB_SELECTIONS:
                continue
            self.absorbed[condition] = selections
            attempt, stuck = self._try_order()
            if stuck:
                self.absorbed[condition] = []
            else:
                result = attempt
        return result

    def _try_order(self) -> tuple[list[int | tuple[int, list[int]]], list[int]]:
        """An order, and the conditions of guarded parts that could not be placed."""
        parts = {c: sorted([*nodes, *self.absorbed[c]]) for c, nodes in self.guards.items()}
        part_of = {node: condition for condition, nodes in parts.items() for node in nodes}
        first_use = {condition: len(self.graph.nodes) for condition in self.guards}
        needs: dict[int, set[int]] = {}
        users: dict[int, set[int]] = {}

        def item(node: int) -> int:  # guarded parts are numbered below zero
            return -1 - part_of[node] if node in part_of else node

        for node in self.order:
            me = item(node)
            needs.setdefault(me, set())
            if node in self.kept:
                continue
            args = [item(a) for a in self.graph.nodes[node].args]
            if node in part_of:
                args.append(item(part_of[node]))
            for arg in args:
                if arg != me:
                    needs[me].add(arg)
                    users.setdefault(arg, set()).add(me)
                if arg < 0 and arg != me:
                    first_use[-1 - arg] = min(first_use[-1 - arg], node)
        place = {me: (first_use[-1 - me] if me < 0 else me) for me in needs}
        missing = {me: len(n) for me, n in needs.items()}
        ready = [(place[me], me) for me, n in missing.items() if n == 0]
        heapq.heapify(ready)
        result: list[int | tuple[int, list[int]]] = []
        while ready:
            _, me = heapq.heappop(ready)
            result.append(me if me >= 0 else (-1 - me, parts[-1 - me]))
            for user in users.get(me, ()):
                missing[user] -= 1
                if missing[user] == 0:
                    heapq.heappush(ready, (place[user], user))
        return result, [-1 - me for me, n in missing.items() if n > 0 and me < 0]

    def _guarded(self, condition: int, nodes: list[int]) -> None:
        inside, absorbed = set(nodes), set(self.absorbed[condition])
        leaving = [node for node in nodes if node not in absorbed and not self.users[node] <= inside]
        for node in leaving:
            self.lines.append(f"  ib_f g{node} = IB_C(0.0);")
        for node in absorbed:
            args = self.graph.nodes[node].args
            other = self._number(args[2]) if len(args) == 3 else "IB_C(0.0)"
            self.lines.append(f"  ib_f v{node} = {other};")
        mask = self._mask(condition)
        self.lines.append(f"  if (ib_any({mask})) {{")
        for node in nodes:
            if node in absorbed:
                chosen = self._number(self.graph.nodes[node].args[1])
                self.lines.append(f"    v{node} = ib_select({mask}, {chosen}, v{node});")
                self.expr[node] = f"v{node}"
            else:
                self._statement(node, "    ")
        for node in leaving:
            self.lines.append(f"    g{node} = {self._number(node)};")
            self.expr[node] = f"g{node}"
        self.lines.append("  }")

    # ------------------------------------------------------------------ statements

    def _sine_pairs(self) -> dict[int, tuple[int, int]]:
        """Sines and cosines of the same angle, computed together."""
        by_arg: dict[int, dict[str, int]] = {}
        for number in self.order:
            node = self.graph.nodes[number]
            if node.op in ("sin", "cos") and number not in self.kept:
                by_arg.setdefault(node.args[0], {})[node.op] = number
        return {
            number: (found["sin"], found["cos"])
            for found in by_arg.values()
            if len(found) == 2
            for number in found.values()
        }

    def _statement(self, number: int, indent: str) -> None:
        node = self.graph.nodes[number]
        if number in self.expr:
            return
        if number in self.kept:
            self.expr[number] = self.kept[number]
        elif node.op == "const":
            self.expr[number] = f"IB_C({float(node.value).hex()})"
        elif node.op == "leaf" and node.array == "t":
            self.expr[number] = "ib_splat(t)"
        elif node.op == "leaf" and node.array == "noise" and node.index in self.draws:
            self._draw(number, indent)
        elif node.op == "leaf":
            label = self.names.get(node.array, [])
            note = f" /* {remark(label[node.index])} */" if node.index < len(label) else ""
            self.lines.append(f"{indent}const ib_f v{number} = {node.array}[{node.index}];{note}")
            self.expr[number] = f"v{number}"
        elif number in self.pairs and self._same_part(*self.pairs[number]):
            sine, cosine = self.pairs[number]
            angle = self._number(node.args[0])
            self.lines.append(f"{indent}ib_f v{sine}, v{cosine}; ib_sincos({angle}, &v{sine}, &v{cosine});")
            self.expr[sine], self.expr[cosine] = f"v{sine}", f"v{cosine}"
        else:
            kind = "ib_i" if node.op in MASKS else "ib_f"
            self.lines.append(f"{indent}const {kind} v{number} = {self._operation(number)};")
            self.expr[number] = f"v{number}"

    def _draw(self, number: int, indent: str) -> None:
        """Draw a pair of random numbers once in each scope that uses it."""
        draw = self.draws[self.graph.nodes[number].index]
        scope = next((str(c) for c, nodes in self.guards.items() if number in nodes), "")
        if (draw.pair, scope) not in self.drawn:
            name = f"n{draw.pair}{'_' + scope if scope else ''}"
            self.lines.append(f"{indent}ib_f {name}a, {name}b; {draw.call}, &{name}a, &{name}b); /* {draw.path} */")
            self.drawn[draw.pair, scope] = name
        self.expr[number] = self.drawn[draw.pair, scope] + "ab"[draw.place]

    def _same_part(self, a: int, b: int) -> bool:
        return all((a in nodes) == (b in nodes) for nodes in self.guards.values())

    def _is_mask(self, number: int) -> bool:
        # Masks kept in `pre`, `tk` or after a guarded part are kept as numbers.
        return self.graph.nodes[number].op in MASKS and self.expr[number].startswith("v")

    def _number(self, number: int) -> str:
        return f"ib_num({self.expr[number]})" if self._is_mask(number) else self.expr[number]

    def _mask(self, number: int) -> str:
        return self.expr[number] if self._is_mask(number) else f"ib_truth({self.expr[number]})"

    def _operation(self, number: int) -> str:
        node = self.graph.nodes[number]
        if node.op in _ON_MASKS:
            return f"ib_{node.op}({', '.join(self._mask(a) for a in node.args)})"
        if node.op == "if_else_zero":
            condition, value = node.args
            return f"ib_select({self._mask(condition)}, {self._number(value)}, IB_C(0.0))"
        if node.op == "select":
            condition, yes, no = node.args
            return f"ib_select({self._mask(condition)}, {self._number(yes)}, {self._number(no)})"
        args = [self._number(a) for a in node.args]
        if node.op in _INFIX:
            return f"{args[0]} {_INFIX[node.op]} {args[1]}"
        if node.op == "neg":
            return f"-{args[0]}"
        return f"ib_{node.op}({', '.join(args)})"
