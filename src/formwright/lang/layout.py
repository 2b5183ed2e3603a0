"""Lines to a tree of rows by indentation (rule L2)."""

from dataclasses import dataclass, field

from formwright.lang.faults import Faults
from formwright.lang.lexer import Line
from formwright.lang.limits import NESTING


@dataclass(slots=True)
class Row:
    """A line and the lines that are indented below it."""

    line: Line
    children: list["Row"] = field(default_factory=list)


def rows(found: list[Line], faults: Faults) -> list[Row]:
    """The rows at the margin, each with its children.

    Children of one row share one indentation. A line that falls between two
    indentations is told and taken as a child of the nearest row to the left of it.
    """
    top: list[Row] = []
    stack: list[tuple[int, list[Row]]] = [(0, top)]
    for line in found:
        while len(stack) > 1 and line.indent < stack[-1][0]:
            stack.pop()
        indent, level = stack[-1]
        if line.indent > indent:
            if level and len(stack) <= NESTING and not level[-1].children:
                level = level[-1].children
                stack.append((line.indent, level))
            else:
                _misplaced(line, len(stack) > NESTING, faults)
        level.append(Row(line))
    return top


def _misplaced(line: Line, deep: bool, faults: Faults) -> None:
    span = line.tokens[0].span
    if span.line in faults.unclear_lines:
        return
    if deep:
        faults.add(f"blocks are nested more than {NESTING} deep", span)
    else:
        faults.add(
            "this indentation matches no line above", span, "align it with the lines of its block"
        )
