"""Functions that a program evaluates where the sum beside them may be empty.

``0 * (1 / z)`` is 0 as long as ``z`` is not. A chain stands for each term of a product, so where
one side has no terms (nothing to sum, a mask that leaves nothing out) no chain says that the
other side was computed, and it may have no value although the workload has one there. Such a
product owes that some term of the line has the same quotients and roots.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from formwright.ir.expr import Expr, Num
from formwright.ir.program import Access, Index, Literal, Op, Read, Select, Value
from formwright.ir.template import Workload
from formwright.smt.forms import Factor, Form, Leaf, factor_form, factor_leaves, functions
from formwright.smt.sites import Site

Sources = Callable[[Site, Access], list[Site]]
"""The statements that write what a read finds; none where a way ends (an input, a stage)."""

PARTIAL = ("reciprocal", "sqrt")
"""Functions without a value for some numbers; ``exp``, ``max`` and ``min`` have one for all."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A product of a chain whose other side may be empty.

    ``steps``: what runs all the same, with the sides of ``selects`` that are taken there.
    ``stages``: names of those that may have no value.
    """

    steps: tuple[int, ...]
    selects: tuple[tuple[int, Expr, bool], ...]
    stages: frozenset[str] = frozenset()

    def owes(self, form: Form) -> bool:
        """Whether anything that is computed all the same is a quotient or a root."""
        factors = [f for term in form for f in term.factors if self._partial(f)]
        return any(all(leaf.step in self.steps for leaf in factor_leaves(f)) for f in factors)

    def leaves(self, form: Form) -> Iterator[tuple[int, Leaf]]:
        """Leaves of quotients and roots that are computed all the same, with their places."""
        place = 0
        for term in form:
            for factor in term.factors:
                own = list(factor_leaves(factor))
                if self._partial(factor) and all(leaf.step in self.steps for leaf in own):
                    yield from ((place + n, leaf) for n, leaf in enumerate(own))
                place += len(own)

    def _partial(self, factor: Factor) -> bool:
        """Whether a quotient or a root stands in it, or a stage with one."""
        if any(leaf.name in self.stages for leaf in factor_leaves(factor)):
            return True
        return any(f.name in PARTIAL for f in functions(factor_form(factor)))


def partial_stages(stages: Sequence[Workload]) -> frozenset[str]:
    """Stages with a quotient or a root, in their lines or in those that they read."""
    found: set[str] = set()
    for _ in stages:
        found |= {s.output.name for s in stages if _partial(s.value, found)}
    return frozenset(found)


def _partial(value: Value, known: set[str]) -> bool:
    match value:
        case Read(access):
            return access.buffer in known
        case Select(_, then, other):
            return _partial(then, known) or _partial(other, known)
        case Op("/", (a, Literal(number))) if number:
            return _partial(a, known)
        case Op("/" | "sqrt" | "rsqrt"):
            return True
        case Op(_, args):
            return any(_partial(a, known) for a in args)
        case _:
            return False


class Possible:
    """What may happen to values of the program, looked up once for each statement.

    ``partial`` says of a buffer that it keeps a stage which may have no value.
    """

    def __init__(self, sources: Sources, partial: Callable[[str], bool]) -> None:
        self._sources = sources
        self._partial = partial
        self._empty: dict[int, bool] = {}
        self._undefined: dict[int, bool] = {}

    def empty(self, value: Value, site: Site) -> bool:
        """Whether a value of ``site`` may be a sum without terms."""
        match value:
            case Literal(number):
                return not number
            case Index(expr):
                return not (isinstance(expr, Num) and expr.value)
            case Read(access):
                written = [s for s in self._sources(site, access) if s.apply.op == "="]
                return any(map(self._written_empty, written))
            case Select(_, then, other):
                return self.empty(then, site) or self.empty(other, site)
            case Op("+" | "-", (a, b)):
                return self.empty(a, site) and self.empty(b, site)
            case Op("*", (a, b)):
                return self.empty(a, site) or self.empty(b, site)
            case Op("neg" | "/", (a, *_)):
                return self.empty(a, site)
            case _:
                return False

    def _written_empty(self, site: Site) -> bool:
        """A way that comes back to its own statement may be empty: what is not known is yes."""
        if site.number not in self._empty:
            self._empty[site.number] = True
            self._empty[site.number] = self.empty(site.apply.value, site)
        return self._empty[site.number]

    def undefined(self, value: Value, site: Site) -> bool:
        """Whether quotients or roots are behind a value, in whatever buffers."""
        match value:
            case Read(access):
                if self._partial(access.buffer):
                    return True
                return any(map(self._written_undefined, self._sources(site, access)))
            case Select(_, then, other):
                return self.undefined(then, site) or self.undefined(other, site)
            case Op("/", (a, Literal(number))) if number:
                return self.undefined(a, site)
            case Op("/" | "sqrt" | "rsqrt"):
                return True
            case Op(_, args):
                return any(self.undefined(a, site) for a in args)
            case _:
                return False

    def _written_undefined(self, site: Site) -> bool:
        """A way that comes back to its own statement brings nothing new."""
        if site.number not in self._undefined:
            self._undefined[site.number] = False
            self._undefined[site.number] = self.undefined(site.apply.value, site)
        return self._undefined[site.number]
