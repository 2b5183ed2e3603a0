"""Values that a loop computes again in every iteration are computed once, in front of it.

``keep``   a function of what is read (``exp(s[j] - m)`` in a loop over d) goes into scratch; where
           an earlier loop has the same value, it is kept there.
``copy``   cells of a tensor that an outer loop reads again go into scratch, with the factors that
           stand beside them and do not change either.
"""

from collections.abc import Callable, Iterator

from formwright.agent.rules.again import (
    Again,
    Cells,
    earlier_loop,
    found_again,
    kept,
    reads_of,
    written_in,
)
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import at
from formwright.agent.rules.values import factors, product
from formwright.ir.expr import num
from formwright.ir.program import (
    Apply,
    For,
    Literal,
    Op,
    Read,
    Value,
)
from formwright.ir.show import show_value
from formwright.ir.template import Template
from formwright.ir.values import names_of, parts
from formwright.ir.walk import walk

_HEAVY = ("exp", "sqrt", "rsqrt", "/")


def _heavy(value: Value, outer: For) -> Iterator[tuple[Value, Value]]:
    """Functions of what is read, whole: the outermost part that the loop does not change."""
    taken = list[Value]()
    for part in parts(value):
        if any(part in tuple(parts(t)) for t in taken) or outer.var in names_of(part):
            continue
        if isinstance(part, Op) and part.name in _HEAVY and reads_of(part):
            taken.append(part)
            yield part, part
    for part in parts(value):
        if isinstance(part, Op) and part.name == "/" and outer.var in names_of(part):
            below = tuple(f for f, down in factors(part) if down and reads_of(f))
            still = tuple((f, True) for f in below if outer.var not in names_of(f))
            if still:
                yield part, product(((Literal(num(1).value), False), *still))


def _cells_of_tensors(
    tensors: frozenset[str],
) -> Callable[[Value, For], Iterator[tuple[Value, Value]]]:
    def wanted(value: Value, outer: For) -> Iterator[tuple[Value, Value]]:
        terms = factors(value)
        still = tuple(
            (f, down)
            for f, down in terms
            if outer.var not in names_of(f) and (isinstance(f, Read) or not reads_of(f))
        )
        if len(still) == len(terms) or not reads_of(product(still)) & tensors:
            return
        yield value, product(still)

    return wanted


def _twice(template: Template) -> Iterator[Change]:
    """Functions that two loops over the same range compute, one behind the other."""
    for path, later in walk(template.program):
        if not isinstance(later, For):
            continue
        for place, stmt in enumerate(later.body):
            if not isinstance(stmt, Apply) or stmt.box:
                continue
            for value in _of_loop(stmt.value, later):
                cells = (Cells(later.var, later.lo, later.hi, boxed=False),)
                again = Again((*path, place), path, value, value, (), cells)
                if earlier_loop(template, again) is not None:
                    yield Change(
                        kept(template, again, "w"),
                        f"{show_value(value)} is computed by two loops over {later.var}: kept by "
                        "the first",
                    )


def _of_loop(value: Value, loop: For) -> Iterator[Value]:
    """The outermost functions that depend on the loop's name, of what the loop does not write."""
    written = written_in(loop.body)
    for part in parts(value):
        named = loop.var in names_of(part)
        if isinstance(part, Op) and part.name in _HEAVY[:3] and named:
            if not reads_of(part) & written:
                yield part
            return


def _keeps(template: Template) -> Iterator[Change]:
    yield from _twice(template)
    for again in found_again(template, _heavy):
        loop = at(template.program, again.outer)
        assert isinstance(loop, For)
        yield Change(
            kept(template, again, "w"),
            f"{show_value(again.value)} is the same for every {loop.var}: computed once, kept",
        )


def _copies(template: Template) -> Iterator[Change]:
    tensors = frozenset(g.name for g in template.globals)
    for again in found_again(template, _cells_of_tensors(tensors)):
        loop = at(template.program, again.outer)
        assert isinstance(loop, For)
        if not again.cells:
            continue
        yield Change(
            kept(template, again, "t"),
            f"{show_value(again.value)} is read for every {loop.var}: copied once into scratch",
        )


KEEP = Rule(
    "keep",
    "mapping",
    "A value that a loop computes again in every iteration is computed once and kept in scratch.",
    _keeps,
)
COPY = Rule(
    "copy",
    "mapping",
    "Cells of a tensor that a loop reads again are copied once into scratch.",
    _copies,
)
