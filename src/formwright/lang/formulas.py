"""Workload and stage lines by themselves, as a contract states them (rules L6 to L6c)."""

from collections.abc import Sequence
from itertools import chain

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.expr import Compare, Expr, Var
from formwright.ir.rewrite import accesses
from formwright.ir.template import Workload
from formwright.lang.draft import Draft, RawWorkload
from formwright.lang.faults import Faults
from formwright.lang.layout import rows
from formwright.lang.lexer import lines
from formwright.lang.names import Names, Symbol
from formwright.lang.scopes import read_scope
from formwright.lang.stages import resolve_lines

Formula = tuple[Workload, tuple[Workload, ...]]


def read_formula(
    text: Sequence[str], extents: Sequence[str] = (), name: str = "formula"
) -> Formula:
    """The workload, which is the first line of ``text``, and the stages, which are the others.

    ``"Y[R,C] = exp(X[R,C] - m[R]) / z[R]"``: lines stand without the words ``workload`` and
    ``stage``. Extents are those of ``extents`` and those that stand in index position or behind
    a reduction. Raises :class:`InputError` with every fault.
    """
    words = ["workload", *("stage" for _ in text[1:])]
    whole = "scope\n" + "".join(f"  {w} {t}\n" for w, t in zip(words, text, strict=True))
    source, faults = Source(name, whole), Faults()
    draft = Draft()
    tree = rows(lines(source, faults), faults)
    if tree:
        read_scope(tree[0], draft, faults)
    found: Formula | None = None
    if draft.workload is not None and not faults.items:
        names = Names(faults)
        for extent in dict.fromkeys((*extents, *_extents(draft))):
            names.declare(extent, Symbol("an extent", "integer", None))
        found = resolve_lines(draft.workload, draft.stages, {}, names)
    if faults.items or found is None:
        raise InputError(faults.items, source)
    return found


def _extents(draft: Draft) -> list[str]:
    """Names in index position that are no reduction or named index of their line."""
    assert draft.workload is not None
    return list(chain.from_iterable(_line_extents(raw) for raw in (draft.workload, *draft.stages)))


def _line_extents(raw: RawWorkload) -> list[str]:
    named = {n for n, _, _ in raw.reductions}
    places: list[Expr] = []
    for index in raw.output.index:
        match index:
            case Compare("<", Var(name), Var() as extent):
                named.add(name)
                places.append(extent)
            case _:
                places.append(index)
    places += [i for a in accesses(raw.value) for i in a.index]
    free = [i.name for i in places if isinstance(i, Var) and i.name not in named]
    return [*free, *(e for _, e, _ in raw.reductions)]
