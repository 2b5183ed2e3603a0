"""Loops and agents in another order: fused, split, interchanged, spread over agents.

``fuse``         two loops over the same range, one behind the other, become one
``split``        ``for k in lo .. hi`` in blocks of B iterations
``interchange``  two loops of which the outer one has nothing but the inner one
``order``        another index of a grid is the outermost one
``spread``       the last loop of an agent becomes an index of the grid; what stands in front of it
                 is done by each of the new agents
"""

from collections.abc import Iterator
from dataclasses import replace

from formwright.agent.rules.block import is_blocked
from formwright.agent.rules.menus import opened
from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import allocated, at, splice
from formwright.agent.rules.values import ceil_div, least, minus, plus, renamed, times
from formwright.ir.expr import ZERO, Var
from formwright.ir.program import Access, Alloc, Apply, For, Par, Stmt
from formwright.ir.rewrite import accesses, free_names, substitute
from formwright.ir.template import Template
from formwright.ir.walk import Block, Path, body_of, statements, walk, with_body

BLOCKS = (32, 64, 128, 256, 512)


def _fusions(template: Template) -> Iterator[Change]:
    for path, block in _blocks(template):
        for first, one in enumerate(block):
            if not isinstance(one, For):
                continue
            second = _next_loop(block, first)
            if second is None:
                continue
            other = block[second]
            assert isinstance(other, For)
            between = block[first + 1 : second]
            if (one.lo, one.hi) != (other.lo, other.hi) or _reads_of(between) & _stored(one.body):
                continue
            if _reduced(one) & _reads_of(other.body):
                continue  # the second loop needs the end of the first
            joined = replace(one, body=(*one.body, *_named(other, one.var)))
            new = (*block[:first], *between, joined, *block[second + 1 :])
            yield Change(
                _with_block(template, path, new),
                f"the loops over {one.var} and {other.var} become one: what the first makes is "
                "still near when the second reads it",
            )


def _blocks(template: Template) -> Iterator[tuple[Path | None, Block]]:
    """Every block with the path of the statement that it belongs to."""
    yield None, template.program
    for path, stmt in walk(template.program):
        if body_of(stmt):
            yield path, body_of(stmt)


def _with_block(template: Template, path: Path | None, block: Block) -> Template:
    if path is None:
        return replace(template, program=block)
    changed = with_body(at(template.program, path), block)
    return replace(template, program=splice(template.program, path, (changed,)))


def _next_loop(block: Block, first: int) -> int | None:
    """The next loop, if only storage and its first values stand between."""
    for place in range(first + 1, len(block)):
        match block[place]:
            case For():
                return place
            case Alloc():
                continue
            case Apply(_, _, "=", _):
                continue
            case _:
                return None
    return None


def _reads_of(block: Block) -> frozenset[str]:
    return frozenset(
        a.buffer for s in statements(block) if isinstance(s, Apply) for a in accesses(s.value)
    )


def _stored(block: Block) -> frozenset[str]:
    return frozenset(s.destination.buffer for s in statements(block) if isinstance(s, Apply))


def _reduced(loop: For) -> frozenset[str]:
    """What the loop leaves one value of, whatever its iteration."""
    local = allocated(loop.body)
    return frozenset(
        s.destination.buffer
        for s in statements(loop.body)
        if isinstance(s, Apply)
        and s.destination.buffer not in local
        and not any(loop.var in free_names(i) for i in s.destination.index)
    )


def _named(loop: For, name: str) -> tuple[Stmt, ...]:
    return tuple(renamed(s, {loop.var: Var(name)}) for s in loop.body)


def _splits(template: Template) -> Iterator[Change]:
    for path, loop in walk(template.program):
        if not isinstance(loop, For) or is_blocked(template, loop.hi):
            continue
        fresh = Fresh(template)
        size = fresh.var(f"B{loop.var}", f"Block_{loop.var}")
        block = fresh.var(f"{loop.var}b", f"{loop.var}_block")
        start = plus(loop.lo, times(block, size))
        inner = replace(loop, lo=start, hi=least(loop.hi, plus(start, size)))
        outer = For(block.name, ZERO, ceil_div(minus(loop.hi, loop.lo), size), (inner,))
        made = replace(template, program=splice(template.program, path, (outer,)))
        yield Change(
            opened(made, size.name, BLOCKS),
            f"the loop over {loop.var} in blocks: a place for what a block of it needs",
        )


def _interchanges(template: Template) -> Iterator[Change]:
    for path, outer in walk(template.program):
        if not isinstance(outer, For) or len(outer.body) != 1:
            continue
        inner = outer.body[0]
        if not isinstance(inner, For) or outer.var in free_names(inner.lo) | free_names(inner.hi):
            continue
        swapped = replace(inner, body=(replace(outer, body=inner.body),))
        yield Change(
            replace(template, program=splice(template.program, path, (swapped,))),
            f"{inner.var} runs outside {outer.var}: what does not depend on {inner.var} is read "
            "again less often",
        )


def _spreads(template: Template) -> Iterator[Change]:
    for path, fork in walk(template.program):
        if not isinstance(fork, Par) or fork.kind != "grid" or not fork.body:
            continue
        loop = fork.body[-1]
        if not isinstance(loop, For) or not _own_cells(fork, loop):
            continue
        name = Fresh(template).name(f"{loop.var}_agent")
        value = {loop.var: plus(loop.lo, Var(name))}
        body = tuple(renamed(s, value) for s in loop.body)
        local = allocated(loop.body)
        realised = tuple(
            replace(r, index=tuple(substitute(i, value) for i in r.index))
            if r.buffer in local
            else r
            for r in template.realised
        )
        wider = replace(
            fork,
            vars=(*fork.vars, name),
            extents=(*fork.extents, minus(loop.hi, loop.lo)),
            body=(*fork.body[:-1], *body),
        )
        again = any(isinstance(s, For) for s in fork.body[:-1])
        told = "each does what stands in front for itself" if again else "nothing is done twice"
        yield Change(
            replace(template, program=splice(template.program, path, (wider,)), realised=realised),
            f"an agent for each {loop.var}, more of them than before: {told}",
        )


def _own_cells(fork: Par, loop: For) -> bool:
    """Each iteration stores to cells of its own, and the range is the same for all agents."""
    if (free_names(loop.lo) | free_names(loop.hi)) & set(fork.vars):
        return False
    outside = allocated(fork.body[:-1])
    local = allocated(loop.body)
    stored: list[Access] = [
        s.destination
        for s in statements(loop.body)
        if isinstance(s, Apply) and s.destination.buffer not in local
    ]
    return bool(stored) and all(
        a.buffer not in outside and any(loop.var in free_names(i) for i in a.index) for a in stored
    )


def _orders(template: Template) -> Iterator[Change]:
    for path, fork in walk(template.program):
        if not isinstance(fork, Par) or fork.kind != "grid":
            continue
        for place in range(1, len(fork.vars)):
            turned = replace(
                fork,
                vars=(fork.vars[place], *fork.vars[:place], *fork.vars[place + 1 :]),
                extents=(fork.extents[place], *fork.extents[:place], *fork.extents[place + 1 :]),
            )
            yield Change(
                replace(template, program=splice(template.program, path, (turned,))),
                f"agents of one {fork.vars[place]} follow one another: they share what depends on "
                "it alone",
            )


FUSE = Rule(
    "fuse",
    "schedule",
    "Two loops over the same range, one behind the other, become one.",
    _fusions,
)
SPLIT = Rule("split", "mapping", "A loop is cut into blocks of iterations.", _splits)
INTERCHANGE = Rule(
    "interchange", "schedule", "Two loops inside one another change places.", _interchanges
)
ORDER = Rule("order", "schedule", "Another index of a grid is the outermost one.", _orders)
SPREAD = Rule(
    "spread",
    "mapping",
    "The last loop of an agent becomes an index of the grid: more agents.",
    _spreads,
)
