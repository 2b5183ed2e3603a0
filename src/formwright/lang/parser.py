"""``parse``: a text to a template, or all its faults at once."""

from functools import lru_cache
from typing import Final

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.base.source import Source
from formwright.ir.expr import Expr
from formwright.ir.template import Template
from formwright.lang.cursor import Cursor
from formwright.lang.expressions import ExpressionReader
from formwright.lang.faults import FaultLimitError, Faults
from formwright.lang.layout import rows
from formwright.lang.lexer import lines
from formwright.lang.limits import FAULTS
from formwright.lang.resolve import resolve
from formwright.lang.sections import read_sections
from formwright.lang.sources import load_source

REMEMBERED: Final = 64
"""Templates: a run asks the same few texts of many steps, and reading one takes 20 to 80 ms."""


@lru_cache(maxsize=REMEMBERED)
def parse(source: Source) -> Template:
    """The template in ``source``, every name resolved, definitions in place.

    The last ones are remembered: equal sources give the same object.

    Raises :class:`InputError` with every fault of the file (at most ``FAULTS``), each
    with its place; any text ends in one or the other.
    """
    faults = Faults()
    template: Template | None = None
    try:
        tree = rows(lines(source, faults), faults)
        draft = read_sections(source, tree, faults)
        template = None if draft.torn else resolve(draft, faults)
    except FaultLimitError:
        faults.items.append(
            Diagnostic(f"reading stopped after {FAULTS} messages", faults.items[-1].span)
        )
    if faults.items or template is None:
        raise InputError(faults.items, source)
    return template


def load(path_or_name: str) -> tuple[Source, Template]:
    """The text and its template. Raises :class:`InputError` with all faults."""
    source = load_source(path_or_name)
    return source, parse(source)


def parse_expression(text: str, name: str = "expression") -> Expr:
    """One expression on one line; its names are not resolved."""
    source = Source(name, text)
    faults = Faults()
    expr: Expr | None = None
    found = lines(source, faults)
    with faults.recovering():
        if len(found) != 1:
            faults.add("one line with one expression is needed", None)
        else:
            cursor = Cursor(found[0].tokens, found[0].end)
            expr = ExpressionReader(cursor).expression()
            cursor.finish("the expression")
    if faults.items or expr is None:
        raise InputError(faults.items, source)
    return expr
