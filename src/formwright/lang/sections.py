"""The sections of a file, one function each (rules L4, L9 to L15)."""

from collections.abc import Callable

from formwright.base.quantities import ENERGIES
from formwright.base.source import Source, Span
from formwright.ir.template import Coefficient, Constraint, CostBound, Definition, Requirement
from formwright.lang import parts
from formwright.lang.cursor import Cursor
from formwright.lang.draft import (
    Draft,
    RawConstraint,
    RawCost,
    RawDecision,
    RawRealised,
)
from formwright.lang.expressions import ExpressionReader
from formwright.lang.faults import Faults, LineError
from formwright.lang.layout import Row
from formwright.lang.lexer import Token
from formwright.lang.limits import MENU
from formwright.lang.scopes import read_scope
from formwright.lang.statements import ProgramReader
from formwright.lang.steps import (
    is_text,
    read_match,
    read_progress,
    read_relation,
    read_step_rank,
)
from formwright.lang.structures import read_structures
from formwright.lang.systems import read_system
from formwright.lang.values import ValueReader

TEMPLATE_LINE = "write template NAME : coarse -> fine"


def read_sections(source: Source, rows: list[Row], faults: Faults) -> Draft:
    """Everything that can be read of the file; each fault is told and its line skipped."""
    draft = Draft()
    seen: dict[str, Span] = {}
    for row in rows:
        first = row.line.tokens[0]
        reader = READERS.get(first.text) if first.kind == "name" else None
        if reader is None:
            hint = faults.nearest(first.text, READERS) or f"sections: {', '.join(READERS)}"
            faults.add(f'"{first.text}" begins no section', first.span, hint)
            draft.torn = True
            parts.tolerate(row, faults)
        elif first.text in seen:
            hint = f"the first is at line {seen[first.text].line}"
            faults.add(f'section "{first.text}" stands twice', first.span, hint)
            parts.tolerate(row, faults)
        else:
            if not seen and first.text != "template":
                faults.add('the first line is not "template"', first.span, TEMPLATE_LINE)
            seen[first.text] = first.span
            reader(row, draft, faults)
    _missing(source, rows, seen, faults)
    draft.torn |= "scope" not in seen
    return draft


def _missing(source: Source, rows: list[Row], seen: dict[str, Span], faults: Faults) -> None:
    at = rows[0].line.tokens[0].span if rows else Span(source.name, 1, 1, 1)
    step = "coarse" in seen or "fine" in seen
    if step and "program" in seen:
        faults.add(
            "a template has a program or a step",
            seen["program"],
            "leave out the program, or the sections coarse and fine",
        )
    if "formulation" in seen and (step or "program" in seen):
        faults.add(
            "a formulation has no program and no step",
            seen["formulation"],
            "leave out the section formulation, or the program",
        )
    body = ("formulation",) if "formulation" in seen else ("program",)
    for section in ("template", "scope", *(("coarse", "fine") if step else body)):
        if section not in seen and rows and (section != "template" or not seen):
            faults.add(f'section "{section}" is missing', at)
    if not rows and not faults.items:
        faults.add("the file is empty", at, TEMPLATE_LINE)


def _template(row: Row, draft: Draft, faults: Faults) -> None:
    with faults.recovering():
        cursor = parts.head(row)
        name = cursor.name("the template's name")
        draft.name, draft.span = name.text, name.span
        cursor.expect(":", "behind the template's name", TEMPLATE_LINE)
        draft.coarse = cursor.name("the coarse level").text
        cursor.expect("->", "behind the coarse level", TEMPLATE_LINE)
        draft.fine = cursor.name("the fine level").text
        cursor.finish("the template's levels")
    if row.children:
        faults.add(
            "nothing can stand below this line",
            row.children[0].line.tokens[0].span,
            "sections start at the margin",
        )
        parts.tolerate(row, faults)


def _object(row: Row, draft: Draft, faults: Faults) -> None:
    with faults.recovering():
        cursor = parts.head(row)
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


def _decisions(row: Row, draft: Draft, faults: Faults) -> None:
    parts.bare(row, faults)
    for cursor in parts.cursors(row, faults):
        with faults.recovering(parts.words(cursor)):
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
    parts.bare(row, faults)
    for cursor in parts.cursors(row, faults):
        with faults.recovering(parts.words(cursor)):
            draft.definitions.append(_definition(cursor))


def _constraints(row: Row, draft: Draft, faults: Faults) -> None:
    parts.bare(row, faults)
    for cursor in parts.cursors(row, faults):
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
    parts.bare(row, faults)
    for cursor in parts.cursors(row, faults):
        with faults.recovering():
            name = cursor.name("the requirement's name")
            cursor.expect(":", "behind the requirement's name", "write NAME : condition")
            condition = ExpressionReader(cursor).expression()
            cursor.finish("the requirement")
            draft.requires.append(Requirement(name.text, condition, name.span))


def _program(row: Row, draft: Draft, faults: Faults) -> None:
    parts.bare(row, faults)
    if not row.children:
        faults.add("the program is empty", row.line.tokens[0].span)
    draft.program = ProgramReader(faults).blocks(row.children)


def _formulation(row: Row, draft: Draft, faults: Faults) -> None:
    with faults.recovering():
        draft.formulation = _text_of(parts.head(row), row, "the reason for having no program")
        if not draft.formulation.strip():
            hint = 'write formulation "why there is no program"'
            faults.add("a formulation says why it has no program", row.line.tokens[0].span, hint)


def _realise(row: Row, draft: Draft, faults: Faults) -> None:
    parts.bare(row, faults)
    for cursor in parts.cursors(row, faults):
        with faults.recovering():
            start = cursor.token
            stage = ValueReader(cursor).access()
            cursor.expect("=", "behind the stage", "write stage[…] = buffer[…]")
            buffer = ValueReader(cursor).access()
            cursor.finish("the buffer")
            draft.realised.append(RawRealised(stage, buffer, cursor.since(start)))


def _outline_text(row: Row, draft: Draft, faults: Faults) -> None:
    word = row.line.tokens[0].text
    with faults.recovering():
        setattr(draft, word, _text_of(parts.head(row), row, f'the text of "{word}"'))


def _relation(row: Row, draft: Draft, faults: Faults) -> None:
    (_outline_text if is_text(row) else read_relation)(row, draft, faults)


def _rank(row: Row, draft: Draft, faults: Faults) -> None:
    (_outline_text if is_text(row) else read_step_rank)(row, draft, faults)


def _prove(row: Row, draft: Draft, faults: Faults) -> None:
    with faults.recovering():
        cursor = parts.head(row)
        while not draft.prove or cursor.take(","):
            name = cursor.name("a condition's name")
            draft.prove.append((name.text, name.span))
        cursor.finish("the conditions")
    if row.children:
        faults.add("nothing can stand below this line", row.children[0].line.tokens[0].span)


def _cost(row: Row, draft: Draft, faults: Faults) -> None:
    with faults.recovering(parts.names(row)):
        cursor = parts.head(row)
        name = cursor.name("the cost's name")
        unit = cursor.name("the cost's unit")
        cursor.finish("the cost's unit")
        draft.cost = RawCost(name.text, unit.text, name.span)
    cost = draft.cost or RawCost("", "", row.line.tokens[0].span)
    before = len(faults.items)
    for part in parts.cursors(row, faults):
        with faults.recovering(parts.words(part)):
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
    elif cursor.sees("energy") and cursor.ahead().kind == "name":
        _energy(cursor, cost)
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


def _energy(cursor: Cursor, cost: RawCost) -> None:
    start = cursor.next()
    unit = cursor.name("the unit of the energy")
    if unit.text not in ENERGIES:
        raise LineError(f'"{unit.text}" is no unit of energy', unit.span, ", ".join(ENERGIES))
    cursor.expect("=", "behind the unit", "write energy picojoules = expression")
    value = ExpressionReader(cursor).expression()
    cursor.finish("the energy")
    if cost.energy is not None:
        raise LineError("the energy stands twice", start.span)
    cost.energy, cost.energy_unit = value, unit.text


READERS: dict[str, Callable[[Row, Draft, Faults], None]] = {
    "template": _template,
    "object": _object,
    "scope": read_scope,
    "decisions": _decisions,
    "where": _where,
    "constraints": _constraints,
    "requires": _requires,
    "program": _program,
    "formulation": _formulation,
    "realise": _realise,
    "backward": _outline_text,
    "coarse": read_system,
    "fine": read_system,
    "relation": _relation,
    "match": read_match,
    "progress": read_progress,
    "rank": _rank,
    "prove": _prove,
    "cost": _cost,
    "structures": read_structures,
}
"""The sections by their words (rule L4)."""
