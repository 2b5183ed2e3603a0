"""The sections of a file, one function each (rules L4 to L19)."""

from collections.abc import Callable, Iterator

from formwright.base.diagnostics import nearest
from formwright.base.source import Source, Span
from formwright.ir.expr import Expr
from formwright.ir.template import Coefficient, Constraint, CostBound, Definition, Requirement
from formwright.lang.cursor import Cursor
from formwright.lang.draft import (
    Draft,
    RawConstraint,
    RawCost,
    RawDecision,
    RawParameter,
    RawWorkload,
)
from formwright.lang.expressions import ExpressionReader
from formwright.lang.faults import Faults, LineError
from formwright.lang.layout import Row
from formwright.lang.lexer import Token
from formwright.lang.limits import MENU
from formwright.lang.statements import DTYPES, ProgramReader
from formwright.lang.values import ValueReader

SCOPE_ROWS = (
    "workload",
    "extents",
    "agents",
    "chip",
    "where",
    "dtypes",
    "semantics",
    "structure",
)


def read_sections(source: Source, rows: list[Row], faults: Faults) -> Draft:
    """Everything that can be read of the file; each fault is told and its line skipped."""
    draft = Draft()
    readers: dict[str, Callable[[Row, Draft, Faults], None]] = {
        "template": _template,
        "object": _object,
        "scope": _scope,
        "decisions": _decisions,
        "where": _where,
        "constraints": _constraints,
        "requires": _requires,
        "program": _program,
        "backward": _outline_text,
        "relation": _outline_text,
        "rank": _outline_text,
        "prove": _prove,
        "cost": _cost,
    }
    seen: dict[str, Span] = {}
    for row in rows:
        first = row.line.tokens[0]
        reader = readers.get(first.text) if first.kind == "name" else None
        if reader is None:
            known = ", ".join(readers)
            hint = faults.nearest(first.text, readers) or f"sections: {known}"
            faults.add(f'"{first.text}" begins no section', first.span, hint)
            _tolerate(row, faults)
        elif first.text in seen:
            faults.add(
                f'section "{first.text}" stands twice',
                first.span,
                f"the first is at line {seen[first.text].line}",
            )
            _tolerate(row, faults)
        else:
            if not seen and first.text != "template":
                faults.add(
                    'the first line is not "template"',
                    first.span,
                    "write template NAME : coarse -> fine",
                )
            seen[first.text] = first.span
            reader(row, draft, faults)
    at = rows[0].line.tokens[0].span if rows else Span(source.name, 1, 1, 1)
    for section in ("template", "scope", "program"):
        if section not in seen and rows and (section != "template" or not seen):
            faults.add(f'section "{section}" is missing', at)
    if not rows and not faults.items:
        faults.add("the file is empty", at, "write template NAME : coarse -> fine")
    return draft


def _tolerate(row: Row, faults: Faults) -> None:
    """Names of a block that was not read may be declared in it."""
    todo = [row]
    while todo:
        one = todo.pop()
        faults.tolerated.update(t.text for t in one.line.tokens if t.kind == "name")
        todo.extend(one.children)


def _head(row: Row) -> Cursor:
    cursor = Cursor(row.line.tokens, row.line.end)
    cursor.next()
    return cursor


def _names(row: Row) -> list[str]:
    return [t.text for t in row.line.tokens if t.kind == "name"]


def _bare(row: Row, faults: Faults) -> None:
    """The head of a section that has nothing but its word."""
    with faults.recovering(_names(row)):
        _head(row).finish(f'"{row.line.tokens[0].text}"')


def _parts(row: Row, faults: Faults) -> Iterator[Cursor]:
    """The lines of a section, cut at semicolons."""
    for child in row.children:
        if child.children:
            faults.add(
                "this line is indented too far",
                child.children[0].line.tokens[0].span,
                "lines of a section stand below one another",
            )
            _tolerate(child, faults)
        part: list[Token] = []
        for token in (*child.line.tokens, child.line.end):
            if token.kind != "end" and not (token.kind == "sign" and token.text == ";"):
                part.append(token)
            elif part:
                yield Cursor(tuple(part), token if token.kind == "end" else _ended(token))
                part = []


def _ended(token: Token) -> Token:
    return Token("end", "", token.span)


def _words(cursor: Cursor) -> list[str]:
    return [t.text for t in cursor.tokens if t.kind == "name"]


def _template(row: Row, draft: Draft, faults: Faults) -> None:
    with faults.recovering():
        cursor = _head(row)
        name = cursor.name("the template's name")
        draft.name, draft.span = name.text, name.span
        cursor.expect(":", "behind the template's name", "write template NAME : coarse -> fine")
        draft.coarse = cursor.name("the coarse level").text
        cursor.expect("->", "behind the coarse level", "write template NAME : coarse -> fine")
        draft.fine = cursor.name("the fine level").text
        cursor.finish("the template's levels")
    if row.children:
        faults.add(
            "nothing can stand below this line",
            row.children[0].line.tokens[0].span,
            "sections start at the margin",
        )
        _tolerate(row, faults)


def _object(row: Row, draft: Draft, faults: Faults) -> None:
    with faults.recovering():
        cursor = _head(row)
        draft.object_name = cursor.name("the object's name").text
        draft.object_text = _text_of(cursor, row, "the object's description")


def _text_of(cursor: Cursor, row: Row, what: str) -> str:
    """A text behind the head or on the one line below it."""
    if cursor.done and len(row.children) == 1 and not row.children[0].children:
        cursor = Cursor(row.children[0].line.tokens, row.children[0].line.end)
    elif row.children:
        raise LineError(f"{what} is one text", row.children[0].line.tokens[0].span)
    text = cursor.text(what)
    cursor.finish("the text")
    return text


def _scope(row: Row, draft: Draft, faults: Faults) -> None:
    _bare(row, faults)
    seen: set[str] = set()
    for cursor in _parts(row, faults):
        words = _words(cursor)
        with faults.recovering([*words, *(f"chip.{w}" for w in words)]):
            word = cursor.next()
            if word.text not in SCOPE_ROWS or word.kind != "name":
                hint = nearest(word.text, SCOPE_ROWS) or f"lines of scope: {', '.join(SCOPE_ROWS)}"
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
        case "extents":
            draft.extents.extend(_parameters(cursor, "an extent"))
        case "agents":
            draft.agents.extend(_parameters(cursor, "an agent count"))
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
    """``C[M,N] = sum(k < K) value`` or without the sum (rule L6)."""
    start = cursor.token
    values = ValueReader(cursor)
    output = values.access()
    cursor.expect("=", "behind the output", "write C[M,N] = sum(k < K) value")
    reductions: list[tuple[str, str, Span]] = []
    if cursor.take("sum"):
        cursor.expect("(", 'behind "sum"', "write sum(k < K) value")
        while not reductions or cursor.take(","):
            name = cursor.name("a reduction index")
            cursor.expect("<", "behind the reduction index", "write sum(k < K) value")
            reductions.append((name.text, cursor.name("an extent").text, cursor.since(name)))
        cursor.expect(")", "to close the sum")
    value = values.value()
    return RawWorkload(output, tuple(reductions), value, cursor.since(start))


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
    dtype = next((d for d in DTYPES if d == token.text), None)
    if dtype is None:
        raise LineError(
            f'an element type is missing behind "{tensor.text}"',
            token.span,
            f"element types: {', '.join(DTYPES)}",
        )
    draft.dtypes.append((tensor.text, dtype, tensor.span))


def _decisions(row: Row, draft: Draft, faults: Faults) -> None:
    _bare(row, faults)
    for cursor in _parts(row, faults):
        with faults.recovering(_words(cursor)):
            while not cursor.done:
                names = [cursor.name("a decision")]
                while cursor.take(","):
                    names.append(cursor.name("a decision"))
                cursor.expect("in", "behind the decision", "write NAME in {1, 2, 4}")
                start = cursor.token
                menu = _menu(cursor)
                span = cursor.since(start)
                extra = _menu(cursor) if cursor.take("also") else ()
                draft.decisions.extend(
                    RawDecision(n.text, menu, extra, n.span, span) for n in names
                )


def _menu(cursor: Cursor) -> tuple[tuple[int, Span], ...]:
    start = cursor.expect("{", "before the menu", "write NAME in {1, 2, 4}")
    found: list[tuple[int, Span]] = []
    while not cursor.sees("}") and (not found or cursor.take(",")):
        value, token = cursor.integer("a value of the menu")
        found.append((value, token.span))
    cursor.expect("}", "to close the menu", 'values are separated by ","')
    if len(found) > MENU:
        raise LineError(f"a menu has at most {MENU} values, not {len(found)}", start.span)
    return tuple(found)


def _definition(cursor: Cursor) -> Definition:
    name = cursor.name("a name")
    cursor.expect("=", "behind the name", "write NAME = expression")
    value = ExpressionReader(cursor).expression()
    cursor.finish("the definition")
    return Definition(name.text, value, name.span)


def _where(row: Row, draft: Draft, faults: Faults) -> None:
    _bare(row, faults)
    for cursor in _parts(row, faults):
        with faults.recovering(_words(cursor)):
            draft.definitions.append(_definition(cursor))


def _constraints(row: Row, draft: Draft, faults: Faults) -> None:
    _bare(row, faults)
    for cursor in _parts(row, faults):
        with faults.recovering():
            name = cursor.name("the constraint's name")
            wall: Token | None = None
            if cursor.take("wall"):
                wall = cursor.name("a field of the chip")
            cursor.expect(
                ":", "behind the constraint's name", "write NAME [wall field] : condition"
            )
            condition = ExpressionReader(cursor).expression()
            cursor.finish("the constraint")
            constraint = Constraint(
                name.text, condition, None if wall is None else wall.text, name.span
            )
            draft.constraints.append(RawConstraint(constraint, None if wall is None else wall.span))


def _requires(row: Row, draft: Draft, faults: Faults) -> None:
    _bare(row, faults)
    for cursor in _parts(row, faults):
        with faults.recovering():
            name = cursor.name("the requirement's name")
            cursor.expect(":", "behind the requirement's name", "write NAME : condition")
            condition = ExpressionReader(cursor).expression()
            cursor.finish("the requirement")
            draft.requires.append(Requirement(name.text, condition, name.span))


def _program(row: Row, draft: Draft, faults: Faults) -> None:
    _bare(row, faults)
    if not row.children:
        faults.add("the program is empty", row.line.tokens[0].span)
    draft.program = ProgramReader(faults).blocks(row.children)


def _outline_text(row: Row, draft: Draft, faults: Faults) -> None:
    word = row.line.tokens[0].text
    with faults.recovering():
        setattr(draft, word, _text_of(_head(row), row, f'the text of "{word}"'))


def _prove(row: Row, draft: Draft, faults: Faults) -> None:
    with faults.recovering():
        cursor = _head(row)
        while not draft.prove or cursor.take(","):
            name = cursor.name("a condition's name")
            draft.prove.append((name.text, name.span))
        cursor.finish("the conditions")
    if row.children:
        faults.add("nothing can stand below this line", row.children[0].line.tokens[0].span)


def _cost(row: Row, draft: Draft, faults: Faults) -> None:
    with faults.recovering(_names(row)):
        cursor = _head(row)
        name = cursor.name("the cost's name")
        unit = cursor.name("the cost's unit")
        cursor.finish("the cost's unit")
        draft.cost = RawCost(name.text, unit.text, name.span)
    cost = draft.cost or RawCost("", "", row.line.tokens[0].span)
    before = len(faults.items)
    for part in _parts(row, faults):
        with faults.recovering(_words(part)):
            _cost_row(part, cost)
    cost.read = len(faults.items) == before


def _cost_row(cursor: Cursor, cost: RawCost) -> None:
    start = cursor.token
    if cursor.take("coefficient"):
        name = cursor.name("the coefficient's name")
        cursor.expect("=", "behind the name", "write coefficient NAME = 1.5")
        minus = cursor.take("-")
        if cursor.token.kind != "number":
            raise LineError(f"a number is missing{cursor.before()}", cursor.token.span)
        value, _ = cursor.number()
        cursor.finish("the coefficient")
        cost.coefficients.append(Coefficient(name.text, -value if minus else value, name.span))
    elif cursor.take("prefer"):
        cost.prefer.append(ExpressionReader(cursor).expression())
        cursor.finish('"prefer"')
    elif cursor.ahead().text == ">=":
        target = cursor.name("the cost's name")
        if cost.name and target.text != cost.name:
            raise LineError(f'a bound is on "{cost.name}", not on "{target.text}"', target.span)
        cursor.next()
        value_ = ExpressionReader(cursor).expression()
        guard = ExpressionReader(cursor).expression() if cursor.take("if") else None
        cursor.finish("the bound")
        cost.bounds.append(CostBound(value_, guard, cursor.since(start)))
    else:
        cost.definitions.append(_definition(cursor))
