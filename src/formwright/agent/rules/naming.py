"""New names: a name means one thing at one place (rule L5), so a rule takes names that are free."""

from collections.abc import Collection, Iterable
from itertools import chain, count

from formwright.ir.expr import Var
from formwright.ir.program import Alloc, Apply, Arrive, Await, For, Par
from formwright.ir.template import Template
from formwright.ir.values import names_of_stmt
from formwright.ir.walk import statements
from formwright.lang.cursor import RESERVED


def free_name(taken: Collection[str], *wished: str) -> str:
    """The first of ``wished`` that is not taken, else the last one with a number from 2 on."""
    numbered = (f"{wished[-1]}{n}" for n in count(2))
    return next(name for name in chain(wished, numbered) if name not in taken)


class Fresh:
    """Names that stand nowhere in a template; each is given once."""

    def __init__(self, template: Template) -> None:
        self.taken = set(RESERVED) | set(_names(template))

    def name(self, *wished: str) -> str:
        """The first of ``wished`` that is free, else the last one with a number."""
        name = free_name(self.taken, *wished)
        self.taken.add(name)
        return name

    def var(self, *wished: str) -> Var:
        return Var(self.name(*wished))


def _names(template: Template) -> Iterable[str]:
    scope = template.scope
    yield from (p.name for p in scope.parameters)
    for line in scope.lines:
        yield line.output.name
        yield from line.indices
        yield from (t.name for t in line.inputs)
        yield from (name for name, _ in line.reductions)
    yield from (d.name for d in template.decisions)
    yield from (d.name for d in template.definitions)
    yield from (r.buffer for r in template.realised)
    for realised in template.realised:
        yield from realised.names
    if template.cost is not None:
        yield template.cost.name
        yield from (c.name for c in template.cost.coefficients)
        yield from (d.name for d in template.cost.definitions)
    for stmt in statements(template.program):
        yield from names_of_stmt(stmt)
        match stmt:
            case Alloc(buffers):
                yield from (b.name for b in buffers)
            case For(var, _, _, _):
                yield var
            case Par(_, names, _, _):
                yield from names
            case Apply(box, destination, _, _):
                yield from (b.name for b in box)
                yield destination.buffer
            case Arrive(counter) | Await(counter):
                yield counter
            case _:
                pass
