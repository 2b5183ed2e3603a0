"""The lines of a transition system: sections ``coarse`` and ``fine`` (rules S3 to S9)."""

from typing import Literal

from formwright.ir.expr import ZERO, Expr
from formwright.ir.system import (
    Action,
    Assumption,
    Clause,
    Index,
    Let,
    RankTerm,
    StateVar,
    Update,
)
from formwright.lang import parts
from formwright.lang.cursor import Cursor
from formwright.lang.draft import Draft, RawSystem
from formwright.lang.expressions import ExpressionReader
from formwright.lang.faults import Faults, LineError
from formwright.lang.layout import Row
from formwright.lang.lexer import Token

SYSTEM_ROWS = (
    "token",
    "var",
    "let",
    "assume",
    "action",
    "environment",
    "final",
    "result",
    "rank",
)
"""Words that begin the lines of a system."""

SYSTEM_WORDS = frozenset(
    ("all", "any", "coarse", "emits", "forall", "least", "match", "none", "positive", "when")
)
"""Words of systems: no name of a template with a step may be one of them."""

_RANGE = "write w in W, w in lo .. hi or w any"


def read_system(row: Row, draft: Draft, faults: Faults) -> None:
    """The section ``coarse`` or ``fine``."""
    word = row.line.tokens[0]
    system = RawSystem("", word.span)
    with faults.recovering():
        cursor = parts.head(row)
        name = cursor.name(f"the name of the {word.text} system")
        system.name, system.span = name.text, name.span
        cursor.finish("the system's name")
    before = len(faults.items)
    for child in row.children:
        _system_row(child, system, faults)
    system.read = len(faults.items) == before
    if word.text == "coarse":
        draft.step.coarse = system
    else:
        draft.step.fine = system


def _system_row(row: Row, system: RawSystem, faults: Faults) -> None:
    cursor = Cursor(row.line.tokens, row.line.end)
    word = cursor.next()
    before = len(faults.items)
    with faults.recovering(parts.names(row)):
        if word.kind != "name" or word.text not in SYSTEM_ROWS:
            hint = faults.nearest(word.text, SYSTEM_ROWS)
            raise LineError(
                f'"{word.text}" begins no line of a system',
                word.span,
                hint or f"lines of a system: {', '.join(SYSTEM_ROWS)}",
            )
        if word.text in ("action", "environment"):
            _action(cursor, row, word.text == "environment", system, faults)
        else:
            _line(word, cursor, system)
            cursor.finish(f'"{word.text}"')
    if word.text not in ("action", "environment"):
        parts.no_children(row, faults)
    elif len(faults.items) > before:
        parts.tolerate(row, faults)


def _line(word: Token, cursor: Cursor, system: RawSystem) -> None:
    match word.text:
        case "token":
            system.tokens.extend(read_indices(cursor))
        case "var":
            system.state.append(_state(cursor))
        case "let":
            system.lets.append(_let(cursor))
        case "assume":
            name = cursor.name("the assumption's name")
            text = cursor.text("the assumption")
            system.assumptions.append(Assumption(name.text, text, name.span))
        case "final":
            _once(word, system.final is not None)
            system.final = expression(cursor)
        case "result":
            _once(word, system.result is not None)
            system.result = expressions(cursor)
        case _:
            system.rank.extend(read_rank(cursor))


def _once(word: Token, stood: bool) -> None:
    if stood:
        raise LineError(f'"{word.text}" stands twice in this system', word.span)


def expression(cursor: Cursor) -> Expr:
    """An expression that may read cells."""
    return ExpressionReader(cursor, cells=True).expression()


def expressions(cursor: Cursor) -> tuple[Expr, ...]:
    """``e, …``, one at least."""
    found = [expression(cursor)]
    while cursor.take(","):
        found.append(expression(cursor))
    return tuple(found)


def arithmetic(cursor: Cursor) -> Expr:
    """As :func:`expression`, without a comparison at its top."""
    return ExpressionReader(cursor, cells=True).arithmetic()


def read_index(cursor: Cursor, what: str = "an index") -> Index:
    """``w in W``, ``w in lo .. hi`` or ``w any`` (rule S4)."""
    name = cursor.name(what)
    if cursor.take("any"):
        return Index(name.text, None, None, name.span)
    cursor.expect("in", f'behind "{name.text}"', _RANGE)
    first = arithmetic(cursor)
    if cursor.take(".."):
        return Index(name.text, first, arithmetic(cursor), name.span)
    return Index(name.text, ZERO, first, name.span)


def read_indices(cursor: Cursor, what: str = "an index") -> list[Index]:
    """Indices with commas between them."""
    found = [read_index(cursor, what)]
    while cursor.take(","):
        found.append(read_index(cursor, what))
    return found


def read_clauses(cursor: Cursor, where: str) -> list[Clause]:
    """``condition``, ``forall i in R: condition`` or the one, ``and``, the other (rule S8)."""
    found: list[Clause] = []
    if not cursor.sees("forall"):
        start = cursor.token
        plain = _before_forall(cursor)
        found.append(Clause((), plain, cursor.since(start)))
        if not cursor.take("and"):
            return found
    found.append(read_forall(cursor, where))
    return found


def _before_forall(cursor: Cursor) -> Expr:
    """The condition that stands before ``and forall``, or the whole one."""
    at = _forall(cursor)
    if at is None:
        return expression(cursor)
    joint = cursor.tokens[at - 1]
    inner = parts.before(cursor, at - 1)
    if joint.text != "and":
        raise LineError(
            'only "and" may stand before "forall"', joint.span, "join guards with and, or by lines"
        )
    found = ExpressionReader(inner, cells=True).conjunct()
    if inner.sees("or", "=>"):
        raise LineError(
            f'"{inner.token.text}" stands beside "and forall" without brackets',
            inner.token.span,
            "put the condition before it in brackets",
        )
    inner.finish("the condition")
    cursor.at = inner.at
    return found


def _forall(cursor: Cursor) -> int | None:
    """The place of a ``forall`` outside brackets."""
    depth = 0
    for at in range(cursor.at, len(cursor.tokens)):
        token = cursor.tokens[at]
        if token.kind == "sign":
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        elif token.kind == "name" and token.text == "forall" and depth == 0 and at > cursor.at:
            return at
    return None


def read_forall(cursor: Cursor, where: str) -> Clause:
    """``forall i in R, j in Q: condition``, or a condition alone."""
    start = cursor.token
    if not cursor.take("forall"):
        return Clause((), expression(cursor), cursor.since(start))
    over = read_indices(cursor, 'an index of "forall"')
    cursor.expect(":", f'behind "forall" {where}', "write forall i in R: condition")
    condition = expression(cursor)
    return Clause(tuple(over), condition, cursor.since(start))


def _state(cursor: Cursor) -> StateVar:
    """``NAME[i in R] : sort = initial`` (rule S6)."""
    name = cursor.name("a state variable")
    index: Index | None = None
    if cursor.take("["):
        index = read_index(cursor, "the variable's index")
        cursor.expect("]", "to close the index", "a state variable has at most one index")
    cursor.expect(":", "behind the variable", "write var x : 0 .. N = 0")
    word = cursor.token
    if word.text in ("int", "bool") and cursor.ahead().text == "=":
        cursor.next()
        initial = _initial(cursor)
        sort: Literal["int", "bool"] = "bool" if word.text == "bool" else "int"
        return StateVar(name.text, index, sort, None, None, initial, name.span)
    lo = arithmetic(cursor)
    cursor.expect("..", "in the variable's range", "write lo .. hi, int or bool")
    hi = arithmetic(cursor)
    return StateVar(name.text, index, "int", lo, hi, _initial(cursor), name.span)


def _initial(cursor: Cursor) -> Expr:
    cursor.expect("=", "before the initial value", "write var x : 0 .. N = 0")
    return expression(cursor)


def _let(cursor: Cursor) -> Let:
    """``NAME = e`` or ``NAME[i] = e`` (rule S7)."""
    name = cursor.name("a name")
    indices: list[str] = []
    if cursor.take("["):
        indices.append(cursor.name("an index").text)
        while cursor.take(","):
            indices.append(cursor.name("an index").text)
        cursor.expect("]", "to close the indices")
    cursor.expect("=", "behind the name", "write let NAME = expression")
    return Let(name.text, tuple(indices), expression(cursor), name.span)


def read_rank(cursor: Cursor) -> list[RankTerm]:
    """Terms up to the end of the line; ``+ sum`` outside brackets begins a new one (rule S12)."""
    found: list[RankTerm] = []
    ends = [*_sums(cursor), len(cursor.tokens)]
    for end in ends:
        part = parts.before(cursor, end)
        found.append(_term(part))
        part.finish("the term")
        cursor.at = end + 1 if end < len(cursor.tokens) else end
    return found


def _sums(cursor: Cursor) -> list[int]:
    """Places of the ``+`` before a ``sum``, outside brackets."""
    depth = 0
    found: list[int] = []
    for at in range(cursor.at, len(cursor.tokens)):
        token = cursor.tokens[at]
        if token.kind != "sign":
            continue
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        after = cursor.tokens[at + 1] if at + 1 < len(cursor.tokens) else cursor.end
        if token.text == "+" and depth == 0 and after.kind == "name" and after.text == "sum":
            found.append(at)
    return found


def _term(cursor: Cursor) -> RankTerm:
    start = cursor.token
    over: tuple[Index, ...] = ()
    if cursor.sees("sum"):
        over = read_sum(cursor)
    value = arithmetic(cursor)
    return RankTerm(over, value, cursor.since(start))


def read_sum(cursor: Cursor) -> tuple[Index, ...]:
    """``sum(i in R, …)`` up to its closing bracket."""
    cursor.expect("sum", "before the range", "write sum(i in R) e")
    cursor.expect("(", 'behind "sum"', "write sum(i in R) e")
    over = tuple(read_indices(cursor, "the name that the sum runs over"))
    cursor.expect(")", "to close the range")
    return over


def _action(cursor: Cursor, row: Row, environment: bool, system: RawSystem, faults: Faults) -> None:
    """The head of an action and the lines below it (rule S8)."""
    name = cursor.name("the action's name")
    params: list[Index] = []
    if cursor.take("("):
        params = read_indices(cursor, "a parameter")
        cursor.expect(")", "to close the parameters")
    guards = read_clauses(cursor, "in a guard") if cursor.take("when") else []
    emits = expressions(cursor) if cursor.take("emits") else ()
    colon = cursor.take(":")
    cursor.finish("the action" if colon is None else "the action; updates stand on lines below")
    updates: list[Update] = []
    for child in row.children:
        inner = Cursor(child.line.tokens, child.line.end)
        with faults.recovering():
            if inner.sees("when") and inner.ahead().text not in (":=", "["):
                inner.next()
                guards.extend(read_clauses(inner, "in a guard"))
            else:
                updates.append(_update(inner))
            inner.finish("the line")
        parts.no_children(child, faults)
    if row.children and colon is None:
        raise LineError('":" is missing at the end of the line', row.line.end.span)
    if colon is not None and not row.children:
        raise LineError("nothing stands below this action", colon.span, 'leave out ":"')
    system.actions.append(
        Action(
            name.text, tuple(params), tuple(guards), tuple(updates), emits, environment, name.span
        )
    )


def _update(cursor: Cursor) -> Update:
    """``x := e``, ``x[i] := e`` or ``x[v for all] := e``."""
    name = cursor.name("a state variable")
    index: Expr | None = None
    each: str | None = None
    if cursor.take("["):
        if cursor.ahead().text == "for":
            each = cursor.name("an index").text
            cursor.next()
            cursor.expect("all", 'behind "for"', "write x[v for all] := e")
        else:
            index = expression(cursor)
        cursor.expect("]", "to close the index")
    cursor.expect(":=", "behind the variable", "write x := e")
    return Update(name.text, index, expression(cursor), each, name.span)
