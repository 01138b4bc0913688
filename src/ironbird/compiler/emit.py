"""C text of a model from its value graph: plain, commented with signal names, for any number of lanes."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field

from ironbird.compiler.ir import LEAF_LEVEL, MASKS, PARAM, STAGE, TICK, Graph

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_ON_MASKS = {"not", "and", "or"}
GUARD_OPERATIONS = 12  # a branch is worth it from this many operations on
ABSORB_SELECTIONS = 4  # moving selections into a branch is worth it from this many on


SHORT = 8  # longest decimal number, in characters, that is written instead of hexadecimal


def identifier(path: str) -> str:
    """A path as the name of a variable in C: `rotor/1/motor.speed[0]` is `rotor_1_motor_speed_0`."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", path).strip("_")
    return name if name[:1].isalpha() else f"s_{name}"


def remark(text: str) -> str:
    """A name as the content of a C comment; characters that could end the comment are replaced."""
    return text.replace("*/", "* /").replace("\\", "/").replace("\n", " ")


@dataclass
class Store:
    """Destination of one result: `array[row] = node`, with the signal's name as comment."""

    array: str
    row: int
    node: int
    name: str
    place: str = ""  # other destination, as C text

    @property
    def target(self) -> str:
        """Left side of the C assignment."""
        return self.place or f"{self.array}[{self.row}]"


@dataclass(frozen=True)
class Draw:
    """How a random number is drawn: in pairs, as a function of seed, stream and tick, so it can be done anywhere."""

    call: str  # C call without its two results
    pair: int  # first row of the pair
    place: int  # 0 or 1, position within the pair
    path: str


@dataclass
class Emitter:
    """Writes the C functions of a model from its value graph.

    Values that are needed often and change rarely are computed once and stored: in the array `pre` those that depend
    on parameters only, in `tk` those of a tick.
    """

    graph: Graph
    names: dict[str, list[str]]  # leaf array -> signal name of each row
    pre_rows: dict[int, int] = field(default_factory=dict)
    tick_rows: dict[int, int] = field(default_factory=dict)
    readable: bool = False  # variables are named after signals, short numbers are decimal: for human readers

    def hoist(self, roots: list[int], *, tick: bool) -> None:
        """Choose the stored values: slow values that faster ones (or results) use directly."""
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
        """Nodes that a function reads from `pre` or `tk` instead of computing, with their C text."""
        kept: dict[int, str] = {}
        if use_pre:
            kept.update({node: f"pre[{row}]" for node, row in self.pre_rows.items()})
        if use_tick:
            kept.update({node: f"tk[{row}]" for node, row in self.tick_rows.items()})
        return kept

    def function(self, head: str, stores: list[Store], *, use_pre: bool, use_tick: bool) -> str:
        """A C function that computes the stores' nodes and writes them at its end."""
        return f"{self.opened(head)}{self.body(stores, use_pre=use_pre, use_tick=use_tick)}}}\n"

    def opened(self, head: str) -> str:
        """First lines of a function; in readable code, arguments that may be unused are marked as such."""
        if not self.readable:
            return f"{head} {{\n"
        names = [argument.split()[-1].lstrip("*") for argument in head[head.index("(") + 1 : -1].split(",")]
        return f"{head} {{\n  " + " ".join(f"(void){name};" for name in names) + "\n"

    def body(self, stores: list[Store], *, use_pre: bool, use_tick: bool, draws: dict[int, Draw] | None = None) -> str:
        """Statements of a function; the noise rows in `draws` are drawn where they are used instead of read."""
        return _Body(self, stores, self.kept(use_pre=use_pre, use_tick=use_tick), draws or {}).text()


@dataclass
class _Guard:
    """A guarded part: statements computed only if a condition holds in some lane, and the parts nested in it."""

    condition: int
    nodes: set[int]  # nodes needed only where the condition holds, with those of nested parts
    inner: list[_Guard] = field(default_factory=list)
    absorbed: list[int] = field(default_factory=list)  # selections on the condition that were moved into this part


class _Body:
    """Builder of one function body: order of computation, guarded parts, statements."""

    def __init__(self, emitter: Emitter, stores: list[Store], kept: dict[int, str], draws: dict[int, Draw]) -> None:
        self.draws = draws
        self.drawn: dict[tuple[int, int], str] = {}  # pair and scope -> names of its two numbers
        self.graph = emitter.graph
        self.names = emitter.names
        self.readable = emitter.readable
        self.stores = stores
        self.results = {store.node for store in stores}
        self.kept = kept
        self.order = self.graph.needed([s.node for s in stores], set(kept))
        self.pairs = self._sine_pairs()
        self.users: dict[int, set[int]] = {node: set() for node in self.order}
        for user in self.order:
            if user not in kept:
                for arg in self.graph.nodes[user].args:
                    self.users[arg].add(user)
        self.staying = self._staying()
        self.place = self._places()
        self.guards = self._guards()
        self.scope_of: dict[int, int] = {}  # node -> condition of the part in which it is computed, or -1
        self.expr: dict[int, str] = {}
        self.unnamed: dict[int, str] = {}  # rows whose signal name has not yet been written as a comment
        self.lines: list[str] = []
        self.written: set[str] = set()  # results that are already written
        self.awaited: dict[int, list[int]] = {}  # node -> stores that wait for it
        self.missing: list[int] = []  # for each store, the number of nodes it waits for
        for number, store in enumerate(stores):
            row = self.graph.leaf(store.array, store.row) if store.array in LEAF_LEVEL else None
            needs = {store.node, *(self.users.get(row, ()) if row is not None else ())}
            needs |= {row} & self.results if row is not None else set()
            self.missing.append(len(needs))
            for node in needs:
                self.awaited.setdefault(node, []).append(number)
        self.later: list[tuple[str, list[int]]] = []  # condition, and results that are written only where it holds

    def text(self) -> str:
        self._scope(self.order, self.guards, None, "  ")
        placed = {node for _, nodes in self.later for node in nodes}
        for store in self.stores:
            if store.node not in placed and store.target not in self.written:
                self.lines.append(f"  {store.target} = {self._number(store.node)};{self._note(store)}")
        for mask, nodes in self.later:
            stores = [self.staying[node] for node in nodes]
            self.lines.append(f"  if (ib_any({mask})) {{")
            self.lines += [f"    {store.target} = {self._number(store.node)};{self._note(store)}" for store in stores]
            self.lines.append("  }")
        return "".join(line + "\n" for line in self.lines)

    def _places(self) -> dict[int, int]:
        """Preferred order of computation: values that one block needs come together, so that few are live at a time."""
        place: dict[int, int] = {}
        blocks = {store.name.rpartition(".")[0]: None for store in self.stores}
        rank = {block: n for n, block in enumerate(blocks)}
        for store in sorted(self.stores, key=lambda store: rank[store.name.rpartition(".")[0]]):
            stack = [(store.node, False)]
            while stack:
                node, done = stack.pop()
                if node in place:
                    continue
                if done or node in self.kept:
                    place[node] = len(place)
                    continue
                stack.append((node, True))
                stack.extend((arg, False) for arg in reversed(self.graph.nodes[node].args))
        return place

    def _staying(self) -> dict[int, Store]:
        """Results that keep their old value where a condition does not hold: selections between a new value and their
        own row.

        They are written only while the condition holds in some lane. Readable code writes all its results.
        """
        if self.readable:
            return {}
        counts: dict[int, int] = {}
        for store in self.stores:
            counts[store.node] = counts.get(store.node, 0) + 1
        staying: dict[int, Store] = {}
        for store in self.stores:
            node = self.graph.nodes[store.node]
            if node.op != "select" or store.place or counts[store.node] > 1 or self.users[store.node]:
                continue
            old = self.graph.nodes[node.args[2]]
            if (old.op, old.array, old.row) == ("leaf", store.array, store.row):
                staying[store.node] = store
        return staying

    def _note(self, store: Store) -> str:
        return f" /* {remark(store.name)} */" if store.name else ""

    # ------------------------------------------------------------------ guarded parts

    def _guards(self) -> list[_Guard]:
        """Parts that are needed only where a condition holds, largest first, with the parts nested in them.

        A value that is used only as the chosen side of selections on one condition need not be computed when the
        condition holds in no lane; the result is the same bit for bit. Contact with the ground is such a case, and the
        fusion of a measurement within the part of a filter that runs every fifth sample.
        """
        uses: dict[int, list[tuple[int, int]]] = {node: [] for node in self.order}  # node -> (user, condition or -1)
        arms: dict[int, set[int]] = {}
        for user in self.order:
            if user in self.kept:
                continue
            node = self.graph.nodes[user]
            for place, arg in enumerate(node.args):
                guarded = node.op in ("select", "if_else_zero") and place == 1
                uses[arg].append((user, node.args[0] if guarded else -1))
                if guarded:
                    arms.setdefault(node.args[0], set()).add(arg)

        def cone(condition: int, claimed: set[int]) -> set[int]:
            """Nodes that are needed only if `condition` is true, without those in `claimed` (of another part)."""
            found: set[int] = set()
            # From the chosen sides towards the leaves; a node's users come before it because their numbers are larger.
            waiting = [-arm for arm in arms[condition]]
            heapq.heapify(waiting)
            seen = set(waiting)
            while waiting:
                number = -heapq.heappop(waiting)
                if number in self.kept or number in self.results or number in claimed or self._is_free(number):
                    continue
                if all(user in found or under == condition for user, under in uses[number]):
                    found.add(number)
                    for arg in self.graph.nodes[number].args:
                        if -arg not in seen:
                            seen.add(-arg)
                            heapq.heappush(waiting, -arg)
            return found

        writes: dict[int, int] = {}  # results that are written only where a condition holds -> the condition
        for number in self.staying:
            condition = self.graph.nodes[number].args[0]
            writes[condition] = writes.get(condition, 0) + 1
        guards: list[_Guard] = []
        cones = [(cone(condition, set()), condition) for condition in sorted(arms)]
        for nodes, condition in sorted(cones, key=lambda found: -len(found[0])):
            if len(nodes) + writes.get(condition, 0) < GUARD_OPERATIONS:
                continue
            level = guards
            while nodes and (outer := next((guard for guard in level if nodes <= guard.nodes), None)) is not None:
                level = outer.inner
            if any(not nodes.isdisjoint(guard.nodes) for guard in level):
                if level is not guards:
                    continue
                nodes = cone(condition, set().union(*(guard.nodes for guard in level)))
                if len(nodes) + writes.get(condition, 0) < GUARD_OPERATIONS:
                    continue
            level.append(_Guard(condition, nodes))
        return guards

    def _is_free(self, number: int) -> bool:
        """Whether a node needs no computation: constants and values read from memory, but not random numbers."""
        node = self.graph.nodes[number]
        return node.op == "const" or (node.op == "leaf" and not (node.array == "noise" and node.row in self.draws))

    def _selections(self, guards: list[_Guard], scope: list[int]) -> list[tuple[_Guard, list[int]]]:
        """For each part, the selections on its condition whose chosen side is guarded; these move into the part too."""
        elsewhere = set().union(*(guard.nodes for guard in guards))
        on: dict[int, list[int]] = {guard.condition: [] for guard in guards}
        for number in scope:
            node = self.graph.nodes[number]
            if node.op in ("select", "if_else_zero") and node.args[0] in on:
                on[node.args[0]].append(number)
        result = []
        for guard in guards:
            selections: list[int] = []
            for number in on[guard.condition]:
                if number in self.kept or number in elsewhere:
                    continue
                op, args = self.graph.nodes[number].op, self.graph.nodes[number].args
                if number in self.staying or (
                    args[1] in guard.nodes
                    and (op == "if_else_zero" or (args[2] not in guard.nodes and args[2] not in selections))
                ):
                    selections.append(number)
            result.append((guard, selections))
        return result

    def _scope(self, nodes: list[int], guards: list[_Guard], owner: _Guard | None, indent: str) -> None:
        """Write the statements of one scope (function or part): its nodes and nested parts, each before its users."""
        for item in self._schedule(nodes, guards):
            if isinstance(item, _Guard):
                self._guarded(item, indent)
                if owner is None:
                    self._write(item.nodes.union(item.absorbed))
            elif owner is not None and item in owner.absorbed:
                args = self.graph.nodes[item].args
                mask, chosen = self._mask(owner.condition), self._number(args[1])
                old = self._number(args[2]) if item in self.staying else f"v{item}"
                self.lines.append(f"{indent}v{item} = ib_select({mask}, {chosen}, {old});")
                self.expr[item] = f"v{item}"
            else:
                self.scope_of[item] = owner.condition if owner is not None else -1
                self._statement(item, indent)
                if owner is None:
                    self._write({item})

    def _write(self, computed: set[int]) -> None:
        """Write results that are computed and whose rows are not read any more, so that they need not stay live."""
        for node in sorted(computed):
            for number in self.awaited.get(node, ()):
                self.missing[number] -= 1
                store = self.stores[number]
                if self.missing[number] == 0 and not self.readable and store.node not in self.staying:
                    self.lines.append(f"  {store.target} = {self._number(store.node)};{self._note(store)}")
                    self.written.add(store.target)

    def _schedule(self, nodes: list[int], guards: list[_Guard]) -> list[int | _Guard]:
        """Nodes and guarded parts of a scope in an order in which everything is computed before it is used.

        A guarded part that needs the result of its own selection is computed unguarded. Then selections move into
        their parts where an order still exists.
        """
        result, stuck = self._try_order(nodes, guards)
        while stuck:
            guards.remove(stuck[0])
            guards.extend(stuck[0].inner)
            result, stuck = self._try_order(nodes, guards)
        candidates = [pair for pair in self._selections(guards, nodes) if len(pair[1]) >= ABSORB_SELECTIONS]
        for guard, selections in candidates:
            guard.absorbed = selections
        attempt, stuck = self._try_order(nodes, guards) if candidates else (result, [])
        if not stuck:
            return attempt
        for guard, _ in candidates:
            guard.absorbed = []
        for guard, selections in sorted(
            candidates, key=lambda pair: -len(pair[0].nodes)
        ):  # one at a time, the largest first
            guard.absorbed = selections
            attempt, stuck = self._try_order(nodes, guards)
            if stuck:
                guard.absorbed = []
            else:
                result = attempt
        return result

    def _try_order(self, nodes: list[int], guards: list[_Guard]) -> tuple[list[int | _Guard], list[_Guard]]:
        """An order of computation, and the guarded parts that could not be placed in it."""
        items = {node: node for node in nodes}  # guarded parts have negative numbers
        for n, guard in enumerate(guards):
            items.update(dict.fromkeys((*guard.nodes, *guard.absorbed), -1 - n))
        inside = set(nodes)
        first_use = [len(self.place)] * len(guards)
        needs: dict[int, set[int]] = {items[node]: set() for node in nodes}
        users: dict[int, set[int]] = {me: set() for me in needs}
        for node in nodes:
            if node in self.kept:
                continue
            me = items[node]
            args = self.graph.nodes[node].args
            for arg in (*args, guards[-1 - me].condition) if me < 0 else args:
                if arg not in inside or (other := items[arg]) == me:
                    continue
                needs[me].add(other)
                users[other].add(me)
                if other < 0:
                    first_use[-1 - other] = min(first_use[-1 - other], self.place[node])
        place = {me: (first_use[-1 - me] if me < 0 else self.place[me]) for me in needs}
        missing = {me: len(n) for me, n in needs.items()}
        ready = [(place[me], me) for me, n in missing.items() if n == 0]
        heapq.heapify(ready)
        result: list[int | _Guard] = []
        while ready:
            _, me = heapq.heappop(ready)
            result.append(me if me >= 0 else guards[-1 - me])
            for user in users[me]:
                missing[user] -= 1
                if missing[user] == 0:
                    heapq.heappush(ready, (place[user], user))
        return result, [guards[-1 - me] for me, n in missing.items() if n > 0 and me < 0]

    def _guarded(self, guard: _Guard, indent: str) -> None:
        inside = guard.nodes.union(guard.absorbed)
        leaving = {n: f"g{n}_{guard.condition}" for n in sorted(guard.nodes) if not self.users[n] <= inside}
        for name in leaving.values():
            self.lines.append(f"{indent}ib_f {name} = IB_C(0.0);")
        staying = [node for node in guard.absorbed if node in self.staying]
        if staying:
            self.lines += [f"{indent}ib_f v{node};" for node in staying]
            self.later.append((self._mask(guard.condition), staying))
        for node in guard.absorbed:
            if node in self.staying:
                continue
            args = self.graph.nodes[node].args
            other = self._number(args[2]) if len(args) == 3 else "IB_C(0.0)"
            self.lines.append(f"{indent}ib_f v{node} = {other};")
        self.lines.append(f"{indent}if (ib_any({self._mask(guard.condition)})) {{")
        self._scope(sorted(inside), guard.inner, guard, indent + "  ")
        for node, name in leaving.items():
            self.lines.append(f"{indent}  {name} = {self._number(node)};")
            self.expr[node] = name
        self.lines.append(f"{indent}}}")

    # ------------------------------------------------------------------ statements

    def _sine_pairs(self) -> dict[int, tuple[int, int]]:
        """Sines and cosines of the same angle, computed together."""
        by_arg: dict[int, dict[str, int]] = {}
        for number in self.order:
            node = self.graph.nodes[number]
            if node.op in ("sin", "cos") and number not in self.kept:
                by_arg.setdefault(node.args[0], {})[node.op] = number
        return {
            number: (nodes["sin"], nodes["cos"])
            for nodes in by_arg.values()
            if len(nodes) == 2
            for number in nodes.values()
        }

    def _statement(self, number: int, indent: str) -> None:
        node = self.graph.nodes[number]
        if number in self.expr:
            return
        if number in self.kept:
            self.expr[number] = self.kept[number]
        elif node.op == "const":
            self.expr[number] = f"IB_C({self._literal(float(node.value))})"
        elif node.op == "leaf" and node.array == "t":
            self.expr[number] = "ib_splat(t)"
        elif node.op == "leaf" and node.array == "noise" and node.row in self.draws:
            self._draw(number, indent)
        elif node.op == "leaf":
            label = self.names.get(node.array, [])
            if self.readable and node.row < len(label):
                note, name = remark(label[node.row]), f"{node.array}_{identifier(label[node.row])}"
                self.lines.append(f"{indent}const ib_f {name} = {node.array}[{node.row}]; /* {note} */")
                self.expr[number] = name
            elif number in self.results:  # stored to another row: read before anything is written
                self.lines.append(f"{indent}const ib_f v{number} = {node.array}[{node.row}];")
                self.expr[number] = f"v{number}"
            else:  # read at its use: a copy would only occupy the stack
                self.expr[number] = f"{node.array}[{node.row}]"
                if node.row < len(label):
                    self.unnamed[number] = remark(label[node.row])
        elif number in self.pairs and self._same_part(*self.pairs[number]):
            sine, cosine = self.pairs[number]
            angle = self._number(node.args[0])
            self.lines.append(f"{indent}ib_f v{sine}, v{cosine}; ib_sincos({angle}, &v{sine}, &v{cosine});")
            self.expr[sine], self.expr[cosine] = f"v{sine}", f"v{cosine}"
        else:
            kind = "ib_i" if node.op in MASKS else "ib_f"
            self.lines.append(f"{indent}const {kind} v{number} = {self._operation(number)};")
            self.expr[number] = f"v{number}"

    def _literal(self, value: float) -> str:
        """A number as C text without loss: hexadecimal, or a short decimal in readable code."""
        text = repr(value)
        return text if self.readable and len(text) <= SHORT else value.hex()

    def _draw(self, number: int, indent: str) -> None:
        """Write the C call that draws a pair of random numbers, once per scope that uses it."""
        draw = self.draws[self.graph.nodes[number].row]
        scope = self.scope_of[number]
        if (draw.pair, scope) not in self.drawn:
            name = f"n{draw.pair}{f'_{scope}' if scope >= 0 else ''}"
            self.lines.append(f"{indent}ib_f {name}a, {name}b; {draw.call}, &{name}a, &{name}b); /* {draw.path} */")
            self.drawn[draw.pair, scope] = name
        self.expr[number] = self.drawn[draw.pair, scope] + "ab"[draw.place]

    def _same_part(self, a: int, b: int) -> bool:
        def together(guards: list[_Guard]) -> bool:
            return all((a in g.nodes) == (b in g.nodes) and together(g.inner) for g in guards)

        return together(self.guards)

    def _is_mask(self, number: int) -> bool:
        # Masks kept in `pre`, `tk` or after a guarded part are kept as numbers.
        return self.graph.nodes[number].op in MASKS and self.expr[number].startswith("v")

    def _number(self, number: int) -> str:
        if number in self.unnamed:  # its signal name as a comment, once
            return f"{self.expr[number]} /* {self.unnamed.pop(number)} */"
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
