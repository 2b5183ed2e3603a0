"""The sections ``relation``, ``match``, ``progress`` and ``rank`` of a step (S10 to S13)."""

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.ir.system import Call, Invariant, Match, Pick, Total
from formwright.lang import parts
from formwright.lang.cursor import Cursor
from formwright.lang.draft import Draft, RawMatch
from formwright.lang.faults import Faults, LineError
from formwright.lang.layout import Row
from formwright.lang.systems import (
    arithmetic,
    expression,
    expressions,
    read_forall,
    read_index,
    read_rank,
    read_sum,
)

_MATCH = "write ACTION(parameters) when condition: coarse(e, …); coarse(e, …)"


def is_text(row: Row) -> bool:
    """The section has a text (rule L14) and no lines of a step."""
    behind = row.line.tokens[1:]
    return bool(behind) or not row.children or row.children[0].line.tokens[0].kind == "string"


def read_relation(row: Row, draft: Draft, faults: Faults) -> None:
    for cursor in _lines(row, draft, faults):
        with faults.recovering():
            if cursor.sees("total") and cursor.ahead().kind == "name":
                draft.step.totals.append(_total(cursor))
            else:
                draft.step.relation.append(_invariant(cursor))
            cursor.finish("the clause")


def _invariant(cursor: Cursor) -> Invariant:
    name = cursor.name("the clause's name")
    cursor.expect(":", "behind the clause's name", "write NAME: condition")
    return Invariant(name.text, read_forall(cursor, "in the relation"), name.span)


def _total(cursor: Cursor) -> Total:
    cursor.next()
    name = cursor.name("a state variable")
    cursor.expect("=", "behind the variable", "write total N = sum(i in R) e")
    start = cursor.token
    over = read_sum(cursor)
    if len(over) != 1:
        raise LineError("a total is a sum over one index", start.span)
    return Total(name.text, over[0], arithmetic(cursor), name.span)


def read_match(row: Row, draft: Draft, faults: Faults) -> None:
    for cursor in _lines(row, draft, faults):
        with faults.recovering():
            draft.step.matches.append(_match(cursor))
            cursor.finish("the match")


def _match(cursor: Cursor) -> RawMatch:
    name = cursor.name("an action of the fine system")
    params: list[tuple[str, Span]] = []
    if cursor.take("("):
        while not params or cursor.take(","):
            param = cursor.name("a parameter")
            params.append((param.text, param.span))
        cursor.expect(")", "to close the parameters")
    when = expression(cursor) if cursor.take("when") else None
    cursor.expect(":", "behind the action", _MATCH)
    calls: list[Call] = []
    if not (cursor.sees("none") and cursor.take("none")):
        while not calls or cursor.take(";"):
            calls.append(_call(cursor))
    return RawMatch(Match(name.text, when, tuple(calls), name.span), tuple(params))


def _call(cursor: Cursor) -> Call:
    name = cursor.name("an action of the coarse system")
    args: tuple[Expr, ...] = ()
    if cursor.take("("):
        args = expressions(cursor)
        cursor.expect(")", "to close the arguments")
    return Call(name.text, args, cursor.since(name))


def read_progress(row: Row, draft: Draft, faults: Faults) -> None:
    for cursor in _lines(row, draft, faults):
        with faults.recovering():
            word = cursor.next()
            if word.text != "pick":
                raise LineError(
                    f'"{word.text}" begins no line of "progress"',
                    word.span,
                    "write pick w in W least e, or pick w in W positive e",
                )
            over = read_index(cursor, "the name of what is picked")
            kind = cursor.take("least", "positive")
            if kind is None:
                raise LineError(
                    f'"least" or "positive" is missing behind the range{cursor.before()}',
                    cursor.token.span,
                    "write pick w in W least e, or pick w in W positive e",
                )
            value = arithmetic(cursor)
            cursor.finish("the pick")
            draft.step.picks.append(
                Pick(
                    over.name,
                    "least" if kind.text == "least" else "positive",
                    over,
                    value,
                    over.span,
                )
            )


def read_step_rank(row: Row, draft: Draft, faults: Faults) -> None:
    for cursor in _lines(row, draft, faults):
        with faults.recovering():
            draft.step.rank.extend(read_rank(cursor))


def _lines(row: Row, draft: Draft, faults: Faults) -> list[Cursor]:
    """The lines of a section, which a semicolon does not cut."""
    word = row.line.tokens[0]
    draft.step.sections.append((word.text, word.span))
    parts.bare(row, faults)
    for child in row.children:
        parts.no_children(child, faults)
    return [Cursor(child.line.tokens, child.line.end) for child in row.children]
