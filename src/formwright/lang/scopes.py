"""The section ``scope`` (rules L6 to L8)."""

from typing import Literal

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.ir.program import DType
from formwright.lang import parts
from formwright.lang.cursor import Cursor
from formwright.lang.draft import Draft, RawParameter, RawWorkload
from formwright.lang.expressions import ExpressionReader
from formwright.lang.faults import Faults, LineError
from formwright.lang.layout import Row
from formwright.lang.lexer import Token
from formwright.lang.limits import STAGES
from formwright.lang.statements import DTYPES
from formwright.lang.values import ValueReader

SCOPE_ROWS = (
    "workload",
    "stage",
    "extents",
    "agents",
    "given",
    "chip",
    "where",
    "dtypes",
    "semantics",
    "structure",
)


def read_scope(row: Row, draft: Draft, faults: Faults) -> None:
    parts.bare(row, faults)
    seen: set[str] = set()
    for cursor in parts.cursors(row, faults):
        words = parts.words(cursor)
        with faults.recovering([*words, *(f"chip.{w}" for w in words)]):
            word = cursor.next()
            if word.text not in SCOPE_ROWS or word.kind != "name":
                known = ", ".join(SCOPE_ROWS)
                hint = faults.nearest(word.text, SCOPE_ROWS) or f"lines of scope: {known}"
                raise LineError(f'"{word.text}" begins no line of the scope', word.span, hint)
            if word.text in seen and word.text in ("workload", "semantics", "structure"):
                raise LineError(f'"{word.text}" stands twice', word.span)
            seen.add(word.text)
            _scope_row(word.text, cursor, draft)
            cursor.finish(f'"{word.text}"')


def _scope_row(word: str, cursor: Cursor, draft: Draft) -> None:
    match word:
        case "workload":
            draft.workload = _workload(cursor)
        case "stage":
            if len(draft.stages) == STAGES:
                raise LineError(f"there are at most {STAGES} stages", cursor.token.span)
            draft.stages.append(_workload(cursor))
        case "extents":
            draft.extents.extend(_parameters(cursor, "an extent"))
        case "agents":
            draft.agents.extend(_parameters(cursor, "an agent count"))
        case "given":
            draft.given.extend(_parameters(cursor, "a decision of a step above"))
        case "chip":
            draft.chip.extend(_parameters(cursor, "a field of the chip", "chip."))
        case "where":
            draft.relations.append(ExpressionReader(cursor).expression())
            while cursor.take(","):
                draft.relations.append(ExpressionReader(cursor).expression())
        case "dtypes":
            _dtype(cursor, draft)
            while cursor.take(","):
                _dtype(cursor, draft)
        case "semantics":
            draft.semantics = cursor.text("the semantics")
        case _:
            draft.structure = cursor.text("the structure")


def _workload(cursor: Cursor) -> RawWorkload:
    """``C[M,N] = sum(k < K) value``, with ``max`` or without a reduction (rule L6)."""
    start = cursor.token
    values = ValueReader(cursor)
    output = values.access()
    cursor.expect("=", "behind the output", "write C[M,N] = sum(k < K) value")
    reductions: list[tuple[str, str, Span]] = []
    combine: Literal["sum", "max"] = "max" if _reduces(cursor) else "sum"
    if cursor.take("sum") or (combine == "max" and cursor.take("max")):
        cursor.expect("(", 'behind "sum"', "write sum(k < K) value")
        while not reductions or cursor.take(","):
            name = cursor.name("a reduction index")
            cursor.expect("<", "behind the reduction index", "write sum(k < K) value")
            reductions.append((name.text, cursor.name("an extent").text, cursor.since(name)))
        cursor.expect(")", "to close the sum")
    value = values.value()
    return RawWorkload(output, tuple(reductions), value, cursor.since(start), combine)


def _reduces(cursor: Cursor) -> bool:
    """Whether ``max(`` begins a reduction ``max(c < C) value`` and no ``max(a, b)``."""
    if not cursor.sees("max") or cursor.ahead().text != "(":
        return False
    return cursor.ahead(2).kind == "name" and cursor.ahead(3).text == "<"


def _parameters(cursor: Cursor, what: str, prefix: str = "") -> list[RawParameter]:
    """``NAME condition, …``: each condition begins with the name that it is about (L7)."""
    found: list[RawParameter] = []
    while not found or cursor.take(","):
        token = cursor.token
        if prefix and token.kind == "name" and "." not in token.text:
            cursor.name(what)
            cursor.at -= 1
            named = Token("name", prefix + token.text, token.span)
            cursor.tokens = (*cursor.tokens[: cursor.at], named, *cursor.tokens[cursor.at + 1 :])
        elif prefix and token.text.startswith(prefix):
            named = token
        else:
            named = cursor.name(what)
            cursor.at -= 1
        condition: Expr | None = None
        if cursor.ahead().text == "," or cursor.ahead().kind == "end":
            cursor.next()
        else:
            condition = ExpressionReader(cursor).expression()
        found.append(RawParameter(named.text, condition, named.span))
    return found


def _dtype(cursor: Cursor, draft: Draft) -> None:
    tensor = cursor.name("a tensor")
    token = cursor.next()
    found = [_element_type(token, f'behind "{tensor.text}"')]
    while cursor.take("|"):
        token = cursor.next()
        other = _element_type(token, 'behind "|"')
        if other in found:
            raise LineError(f'"{other}" stands twice', token.span)
        found.append(other)
    draft.dtypes.append((tensor.text, tuple(found), tensor.span))


def _element_type(token: Token, where: str) -> DType:
    dtype = next((d for d in DTYPES if d == token.text), None)
    if dtype is None:
        raise LineError(
            f"an element type is missing {where}",
            token.span,
            f"element types: {', '.join(DTYPES)}",
        )
    return dtype
