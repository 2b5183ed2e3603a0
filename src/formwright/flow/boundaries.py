"""Sizes at which a kernel's blocks end, read from its program: where tests look closest."""

from collections.abc import Iterator, Mapping

from formwright.ir.evaluate import integer
from formwright.ir.expr import Arith, Expr
from formwright.ir.inline import inlined
from formwright.ir.rewrite import children, free_names, map_body
from formwright.ir.template import Template


def boundaries(template: Template, assignment: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """For each extent, the values of what the program divides it by (``ceil(N/Nb)`` gives Nb).

    Only divisors over decisions count; the extent may stand inside the dividend, as in
    ``ceil(min(Nb, N - jb*Nb)/Nr)``.
    """
    found: dict[str, set[int]] = {e.name: set() for e in template.scope.extents}

    def read(expr: Expr) -> Expr:
        for part in _parts(expr):
            if not isinstance(part, Arith) or part.op not in ("/", "//", "mod"):
                continue
            names = free_names(part.right)
            if names and names <= assignment.keys():
                for extent in free_names(part.left) & found.keys():
                    found[extent].add(integer(part.right, assignment))
        return expr

    map_body(inlined(template).program, read)
    return {extent: tuple(sorted(sizes)) for extent, sizes in found.items()}


def _parts(expr: Expr) -> Iterator[Expr]:
    yield expr
    for one in children(expr):
        yield from _parts(one)
