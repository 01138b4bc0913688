"""The C source of a flat model; the run loop around it is `c/ib_loop.h`."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

from ironbird.compiler.emit import Draw, Emitter, Store
from ironbird.compiler.flatten import ARRAYS, Flat, noise_rows
from ironbird.compiler.ir import TICK, Graph

METHODS = {"euler": 1, "rk2": 2, "rk4": 4}  # number of stages of a step
CHEAP, DEAR = 16, 100  # operations of a loggable number up to which it is cheap, of a signal beyond which it is dear
TRIGGER_S = 0.01  # s between two evaluations of the triggers
NOISE_S = 1e-3  # s, period of the counters of noise streams, so that the noise does not depend on the step

_RATES = "static void ib_model_rates(ib_s t, const ib_f *x, const ib_f *tk, const ib_f *pre, const ib_f *p, ib_f *k)"
_READ = (
    "ib_s t, const ib_f *x, const ib_f *xd, const ib_f *held, const ib_f *u, const ib_f *p, "
    "const ib_f *pre, const ib_f *tk, const ib_f *noise, "
)


@dataclass
class Source:
    """C text of a model, its number of operations in one call of each function, and how much longer its step could be.

    `slack` is the longest stable step over the model's; 1 where it is not known.
    """

    text: str
    operations: dict[str, int]
    slack: float = 1.0


@dataclass
class Translation:
    """A model as C functions for one or many lanes, without the loop that calls them."""

    functions: list[str]
    sizes: dict[str, int]  # IB_NX and so on, as listed in ib_loop.h
    operations: dict[str, int]

    def head(self, step_s: float) -> list[str]:
        """C definitions that the functions and the loop need."""
        return [
            *(f"#define {name} {value}" for name, value in self.sizes.items()),
            f"#define IB_STEP_S {float(step_s).hex()} /* {step_s} s */",
            f"#define IB_TRIGGER_EVERY {trigger_every(step_s)}",
        ]


@dataclass(frozen=True)
class Reader:
    """Options for exported code, written for human readers and for compilers with strict warnings."""

    out_type: str  # C type of the structure of loggable signals
    out_places: list[str]  # destination of each signal, as C text


def trigger_every(step_s: float) -> int:
    """Ticks between two evaluations of the triggers."""
    return max(1, round(TRIGGER_S / step_s))


def noise_count(step_s: float, every: int) -> str:
    """C expression for the counter of a noise stream drawn every so many ticks: in ms where that is a whole number.

    A model that is integrated with longer or shorter steps then has the same noise.
    """
    longer, shorter = step_s / NOISE_S, NOISE_S / step_s
    if longer > 1 and abs(longer - round(longer)) < 1e-9:
        return f"(uint64_t)tick * {round(longer)}"
    if shorter > 1 and abs(shorter - round(shorter)) < 1e-9 and every % round(shorter) == 0:
        return f"(uint64_t)tick / {round(shorter)}"
    return "(uint64_t)tick"


def stream_id(path: str) -> int:
    """Number of a noise stream, derived from its path alone, so that it does not depend on the rest of the model."""
    return int.from_bytes(hashlib.sha256(path.encode()).digest()[:8], "little")


def generate(flat: Flat, method: str) -> Source:
    """C source of a model with the kernel's run loop."""
    made = translate(flat, method)
    head = [
        "/* Written by Ironbird from block equations: do not edit. */",
        *made.head(flat.step_s),
        '#include "ib_math.h"',
        '#include "ib_noise.h"',
        "#define IB_C(v) ib_splat(v)",
        "#ifndef IB_API",
        '#define IB_API __attribute__((visibility("default")))',
        "#endif",
    ]
    text = "\n".join(head) + "\n\n" + "\n".join(made.functions) + '\n#include "ib_loop.h"\n'
    return Source(text, made.operations)


def translate(flat: Flat, method: str, reader: Reader | None = None) -> Translation:
    """C functions of a model without the loop; with a `reader`, in the readable form for export."""
    graph = Graph()
    rates = graph.import_function(flat.rates, ARRAYS)
    project = graph.import_function(flat.project, ARRAYS)
    outputs = graph.import_function(flat.outputs, ARRAYS)
    stops = graph.import_function(flat.stops, ARRAYS)
    samples = [graph.import_function(g.function, ARRAYS) for g in flat.groups]
    names = {
        "x": flat.x.labels(), "xd": flat.xd.labels(), "held": flat.held.labels(), "u": flat.u.labels(),
        "p": flat.p.labels(), "noise": flat.noise.labels(),
    }  # fmt: skip
    emitter = Emitter(graph, names, readable=reader is not None)
    emitter.hoist(rates, tick=True)
    for roots in (project, outputs, stops, *samples):
        emitter.hoist(roots, tick=False)

    x_names, log_names = flat.x.labels(), flat.log.labels()
    pre_stores = [Store("pre", row, node, "") for node, row in emitter.pre_rows.items()]
    tick_stores = [Store("tk", row, node, "") for node, row in emitter.tick_rows.items()]
    places = reader.out_places if reader else [""] * len(outputs)
    functions = [
        _prelude(emitter, pre_stores),
        emitter.function(
            "static void ib_model_tick(const ib_f *held, const ib_f *u, const ib_f *p, const ib_f *pre, "
            "const ib_f *noise, ib_f *tk)",
            tick_stores, use_pre=True, use_tick=False,
        ),
        emitter.function(
            _RATES, [Store("k", i, n, f"d/dt {x_names[i]}") for i, n in enumerate(rates)], use_pre=True, use_tick=True
        ),
        emitter.function(
            "static inline void ib_model_project(ib_f *x, const ib_f *pre, const ib_f *p)",
            [Store("x", i, n, x_names[i]) for i, n in enumerate(project) if n != graph.leaf("x", i)],
            use_pre=True, use_tick=False,
        ),
        _noise(flat),
        _samples(flat, emitter, samples),
        _log(emitter, [Store("out", i, n, log_names[i], places[i]) for i, n in enumerate(outputs)], reader),
        emitter.function(
            f"static inline void ib_model_stop({_READ}ib_f *out)",
            [Store("out", i, n, flat.stop_names[i]) for i, n in enumerate(stops)], use_pre=True, use_tick=True,
        ),
    ]  # fmt: skip
    tick_uses_noise = any(
        graph.nodes[n].op == "leaf" and graph.nodes[n].array == "noise"
        for n in graph.needed(list(emitter.tick_rows))
        if graph.level[n] == TICK
    )
    sizes = {
        "IB_NX": flat.x.size, "IB_NXD": flat.xd.size, "IB_NHELD": flat.held.size, "IB_NU": flat.u.size,
        "IB_NP": flat.p.size, "IB_NPRE": len(emitter.pre_rows), "IB_NTICK": len(emitter.tick_rows),
        "IB_NNOISE": flat.noise.size, "IB_NLOG": flat.log.size, "IB_NSTOP": len(flat.stop_names),
        "IB_METHOD": METHODS[method], "IB_TICK_ALWAYS": int(tick_uses_noise),
    }  # fmt: skip
    kept, kept_tick = set(emitter.pre_rows), set(emitter.pre_rows) | set(emitter.tick_rows)

    def count(roots: list[int], known: set[int]) -> int:
        return sum(graph.nodes[n].op not in ("const", "leaf") for n in graph.needed(roots, known) if n not in known)

    operations = {
        "rates": count(rates, kept_tick), "tick": count(list(emitter.tick_rows), kept),
        "prelude": count(list(emitter.pre_rows), set()), "project": count(project, kept),
        "log": count(outputs, kept_tick), "stop": count(stops, kept_tick),
    }  # fmt: skip
    for group, roots in zip(flat.groups, samples, strict=True):
        key = f"samples every {group.group.rate.every} ticks"
        operations[key] = operations.get(key, 0) + count(roots, kept)
    if reader:  # compilers warn about functions that are not called
        unused = [] if rates else ["ib_model_rates(", "ib_model_project("]
        unused += [] if stops else ["ib_model_stop("]
        functions = [text for text in functions if not any(name in text.partition("{")[0] for name in unused)]
    return Translation(functions, sizes, operations)


def _prelude(emitter: Emitter, stores: list[Store]) -> str:
    return emitter.function(
        "static void ib_model_prelude(const ib_f *p, ib_f *pre)", stores, use_pre=False, use_tick=False
    )


def _log_parts(emitter: Emitter, stores: list[Store]) -> list[list[Store]]:
    """Loggable numbers that are computed together: cheap ones singly, dear signals singly, the dearest by their block.

    Some are watched at every tick: the height of the body is a state, its Euler angles take functions, the forces on it
    the whole model.
    """
    kept = set(emitter.kept(use_pre=True, use_tick=True))
    parts: dict[str, list[Store]] = {}
    for path, signal in itertools.groupby(stores, key=lambda store: store.name.partition("[")[0]):
        own = list(signal)
        work = len(emitter.graph.needed([store.node for store in own], kept))
        together = path if work <= DEAR else f"dear {path.rpartition('.')[0]}"
        for store in own:
            cheap = len(emitter.graph.needed([store.node], kept)) <= CHEAP
            parts.setdefault(store.name if cheap else together, []).append(store)
    return list(parts.values())


def _log(emitter: Emitter, stores: list[Store], reader: Reader | None) -> str:
    """C functions of the loggable signals: one in readable code, parts that can be called singly for the run loop."""
    if reader:
        head = f"static void ib_model_log({_READ}{reader.out_type} *out)"
        return emitter.function(head, stores, use_pre=True, use_tick=True)
    parts = _log_parts(emitter, stores)
    size = max(1, len(parts))
    texts = [
        emitter.function(f"static void ib_model_log_{n}({_READ}ib_f *out)", part, use_pre=True, use_tick=True)
        for n, part in enumerate(parts)
    ]
    part_of = {store.row: n for n, part in enumerate(parts) for store in part}
    numbers = ", ".join(str(part_of[store.row]) for store in stores) or "0"
    arguments = ", ".join(name.split()[-1].lstrip("*") for name in f"{_READ}ib_f *out".split(","))
    calls = "".join(f"    case {n}: ib_model_log_{n}({arguments}); break;\n" for n in range(len(parts)))
    return (
        "".join(texts) + f"static const uint16_t ib_log_part[] = {{{numbers}}};\n"
        f"typedef struct {{ int count; uint16_t number[{size}]; uint8_t wanted[{size}]; }} ib_parts;\n"
        f"static void ib_model_log({_READ}const ib_parts *parts, ib_f *out) {{\n"
        f"  for (int i = 0; i < parts->count; ++i) switch (parts->number[i]) {{\n{calls}  }}\n}}\n"
    )


def _draws(flat: Flat, path: str, indent: str) -> str:
    signal, row = noise_rows(flat, path)
    count = noise_count(flat.step_s, 1)
    lines = []
    for pair in range((signal.size + 1) // 2):
        second = f"&noise[{row + 2 * pair + 1}]" if 2 * pair + 1 < signal.size else "&spare"
        lines.append(
            f"{indent}ib_{signal.kind}2(seed, UINT64_C(0x{stream_id(path):016x}), {count}, {pair}, "
            f"&noise[{row + 2 * pair}], {second}); /* {path} */\n"
        )
    return "".join(lines)


def _draws_of(flat: Flat, paths: list[str], every: int) -> dict[int, Draw]:
    """How each row of these noise streams is drawn, for blocks that run every so many ticks."""
    draws: dict[int, Draw] = {}
    count = noise_count(flat.step_s, every)
    for path in paths:
        signal, row = noise_rows(flat, path)
        for i in range(signal.size):
            call = f"ib_{signal.kind}2(seed, UINT64_C(0x{stream_id(path):016x}), {count}, {i // 2}"
            draws[row + i] = Draw(call, row + i - i % 2, i % 2, path)
    return draws


def _noise(flat: Flat) -> str:
    body = "".join(_draws(flat, path, "  ") for path in flat.tick_noises)
    return (
        "static inline void ib_model_noise(ib_u seed, int64_t tick, ib_f *noise) {\n"
        f"  ib_f spare; (void)spare; (void)seed; (void)tick; (void)noise;\n{body}}}\n"
    )


def _samples(flat: Flat, emitter: Emitter, roots: list[list[int]]) -> str:
    parts = [_swept_rows(flat, emitter, roots)]
    for number, (group, nodes) in enumerate(zip(flat.groups, roots, strict=True)):
        stores = [Store(array, row, node, name) for (array, row, name), node in zip(group.targets, nodes, strict=True)]
        head = (
            f"static void ib_model_samples_{number}(ib_s t, int64_t tick, ib_u seed, const ib_f *x, ib_f *xd, "
            "ib_f *held, const ib_f *u, const ib_f *p, const ib_f *pre)"
        )
        body = emitter.body(
            stores, use_pre=True, use_tick=False, draws=_draws_of(flat, group.noises, group.group.rate.every)
        )
        parts.append(f"{emitter.opened(head)}{body}}}\n\n")
    parts.append(
        emitter.opened(
            "static int ib_model_samples(ib_s t, int64_t tick, ib_u seed, const ib_f *x, ib_f *xd, ib_f *held, "
            "const ib_f *u, const ib_f *p, const ib_f *pre, ib_f *noise)"
        )
        + "  int ran = 0;\n"
    )
    for number, group in enumerate(flat.groups):
        rate = group.group.rate
        blocks = ", ".join(dict.fromkeys([*group.group.outputs, *group.group.updates]))
        parts.append(
            f"  if (tick % {rate.every} == {rate.offset}) {{ /* {blocks} */\n"
            f"    ib_model_samples_{number}(t, tick, seed, x, xd, held, u, p, pre);\n"
            "    ran = 1;\n  }\n"
        )
    parts.append("  return ran;\n}\n")
    return "".join(parts)


def _swept_rows(flat: Flat, emitter: Emitter, roots: list[list[int]]) -> str:
    """C code that checks the computed sampled states; a state that is only copied was checked at its source."""
    rows = [
        row
        for group, nodes in zip(flat.groups, roots, strict=True)
        for (array, row, _), node in zip(group.targets, nodes, strict=True)
        if array == "xd" and emitter.graph.nodes[node].op not in ("leaf", "const")
    ]
    return (
        f"#define IB_NSWEPT {len(rows)}\nstatic const int ib_swept_rows[] = {{{', '.join(map(str, [*rows, 0]))}}};\n\n"
    )
