"""A chain's texts to a chain: the workload, the steps, and that they stand in order."""

from dataclasses import replace
from itertools import pairwise

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.base.source import Source, Span
from formwright.ir.chain import Chain
from formwright.ir.expr import Var
from formwright.ir.rewrite import accesses
from formwright.ir.template import Template, Workload
from formwright.lang.chain_sources import ChainSource, load_chain_source
from formwright.lang.draft import Draft, RawWorkload
from formwright.lang.faults import Faults
from formwright.lang.layout import rows
from formwright.lang.lexer import lines
from formwright.lang.names import Names, Symbol
from formwright.lang.parser import parse
from formwright.lang.scopes import read_scope
from formwright.lang.stages import resolve_lines

_LEAD = "  workload "


def load_chain(reference: str) -> Chain:
    """As :func:`load_chain_source`, then :func:`parse_chain`."""
    return parse_chain(load_chain_source(reference))


def parse_chain(chain: ChainSource) -> Chain:
    """The chain with its steps parsed.

    Raises :class:`InputError`: the faults of the first step that does not parse, else those of
    the chain's file (a workload that is none, a step out of order, a template without a step).
    """
    steps = tuple(parse(source) for source in chain.steps)
    faults = _Collected(chain)
    workload = faults.workload()
    faults.order(steps)
    if faults.items or workload is None:
        raise InputError(faults.items, chain.source)
    return Chain(chain.name, workload, steps, chain.assumptions)


class _Collected:
    """The faults of a chain's file, each at its place there."""

    def __init__(self, chain: ChainSource) -> None:
        self._chain = chain
        self.items: list[Diagnostic] = []

    def order(self, steps: tuple[Template, ...]) -> None:
        """Each step begins at the level where the one above it ends."""
        for step, place in zip(steps, self._chain.places, strict=True):
            if step.refinement is None:
                hint = "a step has the sections coarse and fine"
                self.items.append(Diagnostic(f"{step.name} has a program, no step", place, hint))
        names = [s.name for s in steps]
        for number, (above, step) in enumerate(pairwise(steps), start=1):
            place = self._chain.places[number]
            if step.name in names[:number]:
                self.items.append(Diagnostic(f"two steps are called {step.name}", place))
            if above.fine != step.coarse:
                right = [s.name for s in steps if s.coarse == above.fine]
                told = f"{step.name} refines {step.coarse}, but {above.name} ends at {above.fine}"
                hint = f"{right[0]} begins there" if right else f"no step refines {above.fine}"
                self.items.append(Diagnostic(told, place, hint))

    def workload(self) -> Workload | None:
        """The contract. Its extents are those that its text names."""
        faults = Faults()
        found = self._raw(faults)
        workload = None
        if found is not None and not faults.items:
            names = Names(faults)
            for extent in _extents(found):
                names.declare(extent, Symbol("an extent", "integer", None))
            lines_ = resolve_lines(found, (), {}, names)
            workload = None if lines_ is None else lines_[0]
        self.items += [Diagnostic(f.message, self._placed(f.span), f.hint) for f in faults.items]
        return None if faults.items else workload

    def _raw(self, faults: Faults) -> RawWorkload | None:
        draft = Draft()
        source = Source(self._chain.source.name, f"scope\n{_LEAD}{self._chain.workload}\n")
        tree = rows(lines(source, faults), faults)
        if ";" in self._chain.workload:
            faults.add("a workload is one line", None, "leave out what stands behind ;")
        if tree:
            read_scope(tree[0], draft, faults)
        if draft.workload is None and not faults.items:
            faults.add("this is no workload", None, "write C[M,N] = sum(k < K) A[M,k] * B[k,N]")
        return draft.workload

    def _placed(self, span: Span | None) -> Span | None:
        """A place of the workload's text as a place of the file, where it stands there plainly."""
        place = self._chain.workload_place
        if span is None or place is None:
            return place
        if place.end_column - place.column != len(self._chain.workload) + 2:
            return place
        shift = place.column + 1 - len(_LEAD) - 1
        return replace(place, column=span.column + shift, end_column=span.end_column + shift)


def _extents(raw: RawWorkload) -> list[str]:
    reduced = {name for name, _, _ in raw.reductions}
    read = [i for a in (raw.output, *accesses(raw.value)) for i in a.index]
    free = [i.name for i in read if isinstance(i, Var) and i.name not in reduced]
    return list(dict.fromkeys((*free, *(extent for _, extent, _ in raw.reductions))))
