"""Sample rates: whole multiples of the step, and the order in which sampled blocks run."""

from __future__ import annotations

from dataclasses import dataclass

from ironbird.errors import ModelError
from ironbird.model.diagram import Diagram
from ironbird.model.equations import check_loops, depends, equations_of, feedthrough_edges


@dataclass(frozen=True)
class Rate:
    """Sample rate in ticks: due at ticks offset, offset + every, offset + 2 every, ..."""

    every: int
    offset: int


@dataclass
class Group:
    """Sampled blocks of one rate: those whose outputs are computed, then those whose states are updated, in order."""

    rate: Rate
    outputs: list[str]
    updates: list[str]


def rate_of(path: str, sample_s: float, offset_s: float, step_s: float) -> Rate:
    """A sample time and offset in s as a rate in ticks; both must be whole numbers of steps."""
    every, offset = round(sample_s / step_s), round(offset_s / step_s)
    if every < 1 or abs(every * step_s - sample_s) > 1e-9 * max(sample_s, step_s):
        raise ModelError(f"block {path}: sample time {sample_s} s is not a whole number of steps of {step_s} s")
    if not 0 <= offset < every or abs(offset * step_s - offset_s) > 1e-9 * max(sample_s, step_s):
        raise ModelError(f"block {path}: offset {offset_s} s must be a multiple of {step_s} s below {sample_s} s")
    return Rate(every, offset)


def schedule(diagram: Diagram, step_s: float) -> list[Group]:
    """Groups in an order in which every block reads the current outputs of the blocks it depends on.

    Each sampled block has two jobs: its outputs, and after them its next states. A job may run when all
    sampled outputs that it needs at this instant (directly or through continuous blocks) are done.
    """
    edges = feedthrough_edges(diagram.blocks, diagram.links)
    check_loops(edges)
    rates = {
        path: rate_of(path, block.sample_s, block.offset_s, step_s)
        for path, block in diagram.blocks.items()
        if block.sample_s is not None
    }

    def sampled_sources(outputs: list[str]) -> set[str]:
        """Sampled blocks behind these outputs, looking through continuous ones."""
        sources: set[str] = set()
        seen: set[str] = set()
        stack = list(outputs)
        while stack:
            output = stack.pop()
            if output in seen:
                continue
            seen.add(output)
            block = output.rpartition(".")[0]
            if block in rates:
                sources.add(block)
            else:
                stack.extend(edges[output])
        return sources

    jobs: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for path in rates:
        block = diagram.blocks[path]
        equations = equations_of(path, block)
        direct = {source for name in block.outputs for source in edges[f"{path}.{name}"]}
        jobs["output", path] = {("output", source) for source in sampled_sources(list(direct))}
        used = [
            source
            for name, u in equations.u.items()
            if any(depends(e, u) for e in equations.next.values())
            for source in diagram.links.get(f"{path}.{name}", ())
        ]
        used += [diagram.resets[path]] if path in diagram.resets else []
        jobs["update", path] = {("output", source) for source in sampled_sources(used)} | {("output", path)}

    groups: list[Group] = []
    done: set[tuple[str, str]] = set()
    waiting = dict(jobs)
    while waiting:
        ready = [job for job, needs in waiting.items() if needs <= done]
        if not ready:  # cannot happen once check_loops has passed, except through a partial-feedthrough block
            stuck = sorted({path for _, path in waiting})
            raise ModelError(f"sampled blocks need each other's outputs at the same instant: {', '.join(stuck)}")
        current = groups[-1].rate if groups else None
        pick = next((job for job in ready if rates[job[1]] == current), ready[0])
        rate = rates[pick[1]]
        if rate != current:
            groups.append(Group(rate, [], []))
        (groups[-1].outputs if pick[0] == "output" else groups[-1].updates).append(pick[1])
        done.add(pick)
        del waiting[pick]
    return groups
