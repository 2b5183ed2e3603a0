"""A running maximum where its values are made, in one loop in the place of two.

``for j: s[j] = …``, ``m = s[0]``, ``for j: m max= s[j]`` becomes one loop that stores ``s[j]`` and
compares it. The first value goes into the loop as it stands; at which iteration it may be taken is
not said here: the verifier finds that it is not at every one.
"""

from collections.abc import Iterator
from dataclasses import replace

from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import allocated, at, block_of, splice
from formwright.agent.rules.values import renamed
from formwright.ir.expr import Expr, Var
from formwright.ir.program import Access, Alloc, Apply, For, Stmt
from formwright.ir.rewrite import accesses
from formwright.ir.template import Template
from formwright.ir.values import map_accesses
from formwright.ir.walk import Block, Path, statements, walk, with_body


def _meetings(template: Template) -> Iterator[Change]:
    for path, one in walk(template.program):
        if not isinstance(one, For):
            continue
        block = block_of(template.program, path)
        place = path[-1]
        second = next((n for n in range(place + 1, len(block)) if _is_loop(block[n])), None)
        if second is None:
            continue
        other = block[second]
        between = block[place + 1 : second]
        assert isinstance(other, For)
        if (one.lo, one.hi) != (other.lo, other.hi) or not _only_maxima(other):
            continue
        firsts = [s for s in between if isinstance(s, Apply)]
        made = _made(one)
        if len(firsts) + _allocs(between) != len(between) or not firsts:
            continue
        if not all(_reads(f) & made for f in firsts):
            continue
        into = tuple(_at(f, one, made) for f in firsts)
        body = (*one.body, *into, *(renamed(s, {other.var: Var(one.var)}) for s in other.body))
        storage = tuple(s for s in between if isinstance(s, Alloc))
        parts = (*block[:place], *storage, replace(one, body=body), *block[second + 1 :])
        yield Change(
            _with_block(template, path, parts),
            f"the maximum over {other.var} is taken where its values are made",
        )


def _is_loop(stmt: Stmt) -> bool:
    return isinstance(stmt, For)


def _allocs(block: Block) -> int:
    return sum(isinstance(s, Alloc) for s in block)


def _only_maxima(loop: For) -> bool:
    return bool(loop.body) and all(isinstance(s, Apply) and s.op == "max=" for s in loop.body)


def _made(loop: For) -> frozenset[str]:
    """What the loop stores for later, one cell in each iteration."""
    local = allocated(loop.body)
    return frozenset(
        s.destination.buffer
        for s in statements(loop.body)
        if isinstance(s, Apply)
        and s.destination.buffer not in local
        and any(isinstance(i, Var) and i.name == loop.var for i in s.destination.index)
    )


def _reads(apply: Apply) -> frozenset[str]:
    return frozenset(a.buffer for a in accesses(apply.value))


def _at(first: Apply, loop: For, made: frozenset[str]) -> Apply:
    """The first value, of the iteration in the place of the first one."""

    def change(access: Access) -> Access:
        if access.buffer not in made:
            return access
        index: tuple[Expr, ...] = tuple(Var(loop.var) if i == loop.lo else i for i in access.index)
        return replace(access, index=index)

    return replace(first, value=map_accesses(first.value, change))


def _with_block(template: Template, path: Path, block: Block) -> Template:
    if len(path) == 1:
        return replace(template, program=block)
    owner = with_body(at(template.program, path[:-1]), block)
    return replace(template, program=splice(template.program, path[:-1], (owner,)))


MEET = Rule(
    "meet",
    "mapping",
    "A running maximum is taken in the loop that makes its values.",
    _meetings,
)
