"""The section ``structures``: read, resolved and written (rules L16 and L16a)."""

from collections.abc import Iterator
from dataclasses import replace

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.ir.rewrite import free_names
from formwright.ir.show import show_expr
from formwright.ir.structures import (
    Bounded,
    Coarse,
    Drop,
    Knee,
    Menu,
    Ordered,
    Rank,
    Scenarios,
    Split,
    Structure,
    decisions_of,
    expressions_of,
)
from formwright.lang import kinds, parts
from formwright.lang.cursor import Cursor
from formwright.lang.draft import Draft
from formwright.lang.expressions import ExpressionReader
from formwright.lang.faults import Faults, LineError
from formwright.lang.format_lines import TextLine, line
from formwright.lang.layout import Row
from formwright.lang.limits import STRUCTURE_PARTS, STRUCTURES
from formwright.lang.names import Names

FORMS = {
    "rank": "rank by EXPRESSION",
    "knee": "knee of DECISION",
    "bound": "bound over DECISION, …",
    "split": "split DECISION, … at DECISION, …",
    "scenarios": "scenarios EXTENT, … share DECISION, …",
    "coarse": "coarse DECISION, …",
    "order": "order DECISION <= DECISION",
    "menu": "menu DECISION by EXPRESSION, …",
    "drop": "drop by EXPRESSION, …",
}
"""How each line is written; ``when CONDITION`` may stand behind it."""


def read_structures(row: Row, draft: Draft, faults: Faults) -> None:
    """The lines of the section."""
    parts.bare(row, faults)
    for cursor in parts.cursors(row, faults):
        with faults.recovering():
            start = cursor.token
            found = _read(cursor)
            when = ExpressionReader(cursor).expression() if cursor.take("when") else None
            cursor.finish("the structure")
            draft.structures.append(replace(found, when=when, span=cursor.since(start)))


def _read(cursor: Cursor) -> Structure:
    word = cursor.next()
    match word.text if word.kind == "name" else "":
        case "rank":
            cursor.expect("by", 'behind "rank"', f"write {FORMS['rank']}")
            return Rank(ExpressionReader(cursor).expression())
        case "knee":
            cursor.expect("of", 'behind "knee"', f"write {FORMS['knee']}")
            return Knee(cursor.name("a decision").text)
        case "bound":
            cursor.expect("over", 'behind "bound"', f"write {FORMS['bound']}")
            return Bounded(_names(cursor, "a decision"))
        case "split":
            names = _names(cursor, "a decision")
            return Split(names, _names(cursor, "a decision") if cursor.take("at") else ())
        case "scenarios":
            names = _names(cursor, "an extent")
            return Scenarios(names, _names(cursor, "a decision") if cursor.take("share") else ())
        case "coarse":
            return Coarse(_names(cursor, "a decision"))
        case "order":
            low = cursor.name("a decision").text
            cursor.expect("<=", "between the decisions", f"write {FORMS['order']}")
            return Ordered(low, cursor.name("a decision").text)
        case "menu":
            name = cursor.name("a decision").text
            return Menu(name, _expressions(cursor) if cursor.take("by") else ())
        case "drop":
            cursor.expect("by", 'behind "drop"', f"write {FORMS['drop']}")
            return Drop(_expressions(cursor))
        case other:
            told = f'"{other or word.text}" begins no structure'
            raise LineError(told, word.span, f"structures: {'; '.join(FORMS.values())}")


def _names(cursor: Cursor, what: str) -> tuple[str, ...]:
    found = [cursor.name(what).text]
    while cursor.take(","):
        found.append(cursor.name(what).text)
    return tuple(found)


def _expressions(cursor: Cursor) -> tuple[Expr, ...]:
    found = [ExpressionReader(cursor).expression()]
    while cursor.take(","):
        found.append(ExpressionReader(cursor).expression())
    return tuple(found)


def resolve_structures(draft: Draft, names: Names) -> tuple[Structure, ...]:
    """The structures with every name looked up. Definitions of the cost are in sight."""
    if len(draft.structures) > STRUCTURES:
        told = f"there are at most {STRUCTURES} structures"
        names.faults.add(told, draft.structures[STRUCTURES].span)
    decisions = {d.name for d in draft.decisions}
    extents = {e.name for e in draft.extents}
    decided = _decided(draft, decisions)
    for structure in draft.structures:
        _known(structure, decisions, extents, names)
        for expr in expressions_of(structure):
            info = kinds.check(expr, names)
            if isinstance(structure, Menu):
                continue
            if info.kind == "condition":
                names.faults.add("a number is needed here, not a condition", expr.span)
        when = structure.when
        if when is None:
            continue
        kinds.condition(when, names)
        if free := free_names(when) & decided:
            told = f"the condition of a structure reads {', '.join(sorted(free))}"
            names.faults.add(told, when.span, "it is over the scope: extents and the chip")
    return tuple(draft.structures)


def _known(structure: Structure, decisions: set[str], extents: set[str], names: Names) -> None:
    faults, span = names.faults, structure.span
    listed = decisions_of(structure)
    if len(listed) + len(expressions_of(structure)) > STRUCTURE_PARTS:
        faults.add(f"a structure names at most {STRUCTURE_PARTS} things", span, "split it")
    for name in listed:
        if name not in decisions:
            faults.unknown("the decision", name, span, decisions)
    if isinstance(structure, Scenarios):
        for name in structure.extents:
            if name not in extents:
                faults.unknown("the extent", name, span, extents)
        listed = (*listed, *structure.extents)
    twice = {n for n in listed if listed.count(n) > 1}
    for name in sorted(twice):
        faults.add(f'"{name}" stands twice in the structure', span, "name it once")


def _decided(draft: Draft, decisions: set[str]) -> set[str]:
    """Decisions, and definitions that read some."""
    found = set(decisions)
    cost = [] if draft.cost is None else draft.cost.definitions
    for definition in (*draft.definitions, *cost):
        if free_names(definition.value) & found:
            found.add(definition.name)
    return found


def structure_text(structure: Structure) -> str:
    """One line of the section."""
    when = "" if structure.when is None else f" when {show_expr(structure.when)}"
    return _text(structure) + when


def _text(structure: Structure) -> str:
    match structure:
        case Rank(by):
            return f"rank by {show_expr(by)}"
        case Knee(name):
            return f"knee of {name}"
        case Bounded(names):
            return f"bound over {', '.join(names)}"
        case Split(names, at):
            return f"split {', '.join(names)}" + (f" at {', '.join(at)}" if at else "")
        case Scenarios(names, shared):
            tail = f" share {', '.join(shared)}" if shared else ""
            return f"scenarios {', '.join(names)}{tail}"
        case Coarse(names):
            return f"coarse {', '.join(names)}"
        case Ordered(low, high):
            return f"order {low} <= {high}"
        case Menu(name, by):
            return f"menu {name}" + (f" by {', '.join(map(show_expr, by))}" if by else "")
        case Drop(by):
            return f"drop by {', '.join(map(show_expr, by))}"


def structure_lines(structures: tuple[Structure, ...]) -> Iterator[TextLine]:
    """The section as canonical text."""
    yield TextLine("structures")
    for structure in structures:
        span: Span | None = structure.span
        yield line(f"  {structure_text(structure)}", span)
