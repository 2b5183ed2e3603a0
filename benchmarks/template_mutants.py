"""Mutants of template texts, made from the text alone: no code is shared with the repair.

Each kind is one slip in one line: a barrier moved or lost, an index that means another cell, a
precondition or a wall that says too little, a guard that is gone; and, held out while the repair
was written, ranges, operators, first values, the order of lines, slots and storage.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

KINDS_SHOWN = ("barrier", "index", "precondition", "wall", "guard")
KINDS_HELD_OUT = ("range", "operator", "first", "order", "slot", "rounding")

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Mutant:
    """``kind`` and the line that was changed, before and after."""

    template: str
    kind: str
    was: str
    now: str
    text: str


def mutants(name: str, text: str, kind: str) -> list[Mutant]:
    """Every mutant of one kind; they need not parse, nor be wrong."""
    rows = text.splitlines()
    found: dict[str, Mutant] = {}
    for was, now, changed in MAKERS[kind](rows):
        body = "\n".join(changed) + "\n"
        if body != text:
            found.setdefault(body, Mutant(name, kind, was.strip(), now.strip(), body))
    return list(found.values())


def drawn(name: str, text: str, kind: str, seed: int, count: int) -> list[Mutant]:
    """``count`` of them, drawn by ``seed``."""
    every = mutants(name, text, kind)
    Random(f"{seed} {name} {kind}").shuffle(every)
    return every[:count]


def _section(rows: Lines, word: str) -> range:
    """The lines of a section."""
    first = next((n for n, row in enumerate(rows) if row.split(" ")[0] == word), len(rows))
    last = first + 1
    while last < len(rows) and (not rows[last] or rows[last].startswith(" ")):
        last += 1
    return range(first + 1, last)


def _depth(row: str) -> int:
    return len(row) - len(row.lstrip())


Made = Iterator[tuple[str, str, Lines]]


def _barriers(rows: Lines) -> Made:
    """Each barrier (with its guard) lost, and put elsewhere in the program, at the depth of the
    line that it is put before."""
    program = _section(rows, "program")
    for at in program:
        if rows[at].strip() != "barrier":
            continue
        first = at - 1 if rows[at - 1].strip().startswith("if ") else at
        block = [row[_depth(rows[first]) :] for row in rows[first : at + 1]]
        rest = rows[:first] + rows[at + 1 :]
        yield rows[at], "(lost)", rest
        for to in range(program.start, len(rest)):
            near = abs(to - first) <= 3 and to != first
            if near and rest[to].strip() and rest[to].startswith("      "):
                indent = " " * _depth(rest[to])
                moved = [indent + row for row in block]
                yield rows[at], f"before {rest[to].strip()}", rest[:to] + moved + rest[to:]


def _in_lines(
    rows: Lines, numbers: range, change: Callable[[str], Iterator[str]], only: str = ""
) -> Made:
    for at in numbers:
        if re.search(only, rows[at]):
            for new in change(rows[at]):
                if new != rows[at]:
                    yield rows[at], new, [*rows[:at], new, *rows[at + 1 :]]


def _indices(rows: Lines) -> Made:
    """Inside brackets of applies: a name for another, a shift, a term or a factor lost, two
    indices swapped; generations too."""
    program = _section(rows, "program")
    bound = re.findall(r"\bfor (\w+) in|par \w+ \(?([\w, ]+)\)? in", "\n".join(rows))
    loops = sorted({n for pair in bound for part in pair for n in part.split(", ") if n})
    yield from _in_lines(rows, program, lambda row: _index(row, loops), r" (=|\+=|max=) ")
    yield from _in_lines(rows, _section(rows, "realise"), lambda row: _index(row, loops))


def _index(row: str, loops: list[str]) -> Iterator[str]:
    for place in re.finditer(r"\[([^\[\]]*)\]|<([^<>]*)>(?=\[)", row):
        inside = place.group(1) if place.group(1) is not None else place.group(2)
        start, end = place.start() + 1, place.end() - 1
        parts = _split(inside)
        for n, part in enumerate(parts):
            for new in _part(part, loops):
                put = ", ".join([*parts[:n], new, *parts[n + 1 :]])
                yield row[:start] + put + row[end:]
        for n in range(len(parts) - 1):
            put = ", ".join([*parts[:n], parts[n + 1], parts[n], *parts[n + 2 :]])
            yield row[:start] + put + row[end:]


def _split(inside: str) -> list[str]:
    parts, level = [""], 0
    for sign in inside:
        level += (sign == "(") - (sign == ")")
        if sign == "," and level == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [p.strip() for p in parts]


def _part(part: str, loops: list[str]) -> Iterator[str]:
    for name in re.finditer(r"\b[A-Za-z_]\w*\b", part):
        if name.group() in loops:
            for other in loops:
                if other != name.group():
                    yield part[: name.start()] + other + part[name.end() :]
    yield f"{part}+1"
    yield f"{part}-1"
    for found in re.finditer(r"\*\w+|\w+\*|[+-]\w+(?![\w*(])|\w+\+(?!\()", part):
        rest = part[: found.start()] + part[found.end() :]
        if rest and rest.count("(") == rest.count(")"):
            yield rest


def _weaker(row: str) -> Iterator[str]:
    """Of ``NAME : condition``: one more allowed, a sign the other way, a term lost."""
    head, sign, condition = row.partition(":")
    for found in re.finditer(r"<=|>=|<|>|(?<![<>=!])=", condition):
        for other in {"<=": ("<", ">="), ">=": (">", "<="), "=": ("<=", ">=")}.get(
            found.group(), ("<=", ">=")
        ):
            yield head + sign + condition[: found.start()] + other + condition[found.end() :]
    match = re.search(r"(<=|>=|=)", condition)
    if match:
        more = " + 1" if match.group() == "<=" else " - 1"
        yield head + sign + condition + more
        yield head + sign + condition + more.replace("1", "2")
    for found in re.finditer(r" [+-] \w+(?![\w*(])", condition):
        yield head + sign + condition[: found.start()] + condition[found.end() :]


def _preconditions(rows: Lines) -> Made:
    """A requirement or a constraint that is no wall, weakened; alone, and where it is stated."""
    several = [*_section(rows, "constraints"), *_section(rows, "requires")]
    mine = [n for n in several if rows[n].strip() and " wall " not in rows[n]]
    for at in mine:
        yield rows[at], "(lost)", rows[:at] + rows[at + 1 :]
        condition = rows[at].partition(":")[2].strip()
        for new in _weaker(rows[at]):
            yield rows[at], new, [*rows[:at], new, *rows[at + 1 :]]
            twins = [n for n in mine if rows[n].partition(":")[2].strip() == condition]
            if len(twins) > 1:
                changed = list(rows)
                for twin in twins:
                    put = new.partition(":")[2]
                    changed[twin] = rows[twin].partition(":")[0] + ":" + put
                yield rows[at], f"{new.strip()} (everywhere)", changed


def _walls(rows: Lines) -> Made:
    """A wall lost, with a factor or a term less, or with more room than the chip has."""
    for at in _section(rows, "constraints"):
        if " wall " not in rows[at]:
            continue
        yield rows[at], "(lost)", rows[:at] + rows[at + 1 :]
        for found in re.finditer(r"\b\w+\*(?=[\w(])|\*\w+(?![\w.(])", rows[at]):
            new = rows[at][: found.start()] + rows[at][found.end() :]
            yield rows[at], new, [*rows[:at], new, *rows[at + 1 :]]
        for found in re.finditer(r" \+ [\w*]+(?![\w*(])|[\w*]+ \+ (?=\w)", rows[at]):
            new = rows[at][: found.start()] + rows[at][found.end() :]
            yield rows[at], new, [*rows[:at], new, *rows[at + 1 :]]
        new = re.sub(r"<= (chip\.\w+)", r"<= 2*\1", rows[at])
        yield rows[at], new, [*rows[:at], new, *rows[at + 1 :]]


def _guards(rows: Lines) -> Made:
    """A guard, a clip, a bound by a minimum, a box's end, a side of a condition or a mask lost."""
    program = _section(rows, "program")
    for at in program:
        if rows[at].strip().startswith("if ") and rows[at].endswith(":"):
            depth, last = _depth(rows[at]), at + 1
            while last < len(rows) and rows[last].strip() and _depth(rows[last]) > depth:
                last += 1
            inner = [row[2:] for row in rows[at + 1 : last]]
            yield rows[at], "(lost)", rows[:at] + inner + rows[last:]
    yield from _in_lines(rows, program, _unguarded)


def _unguarded(row: str) -> Iterator[str]:
    if row.endswith(" clip"):
        yield row.removesuffix(" clip")
    for found in re.finditer(r"\b(min|max)\(", row):
        inside = _argument(row, found.end())
        for part in _split(inside):
            yield row[: found.start()] + part + row[found.end() + len(inside) + 1 :]
    if " over (" in row:
        yield re.sub(r" over \(.*\)(?= clip$|$)", "", row)
    if re.match(r" *if ", row):
        yield re.sub(r" < ([^:]*):", r" <= \1:", row)
        yield re.sub(r" > ", " >= ", row)
        yield re.sub(r" = ", " <= ", row)
    for found in re.finditer(r"\bselect\(", row):
        inside = _argument(row, found.end())
        parts = _split_all(inside)
        if len(parts) == 3:
            yield row[: found.start()] + parts[1] + row[found.end() + len(inside) + 1 :]


def _argument(row: str, start: int) -> str:
    level, end = 1, start
    while end < len(row) and level:
        level += (row[end] in "([") - (row[end] in ")]")
        end += 1
    return row[start : end - 1]


def _split_all(inside: str) -> list[str]:
    parts, level = [""], 0
    for sign in inside:
        level += (sign in "([") - (sign in ")]")
        if sign == "," and level == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [p.strip() for p in parts]


def _ranges(rows: Lines) -> Made:
    """Loops and grids that begin or end elsewhere, and definitions that are one off."""
    program = _section(rows, "program")

    def change(row: str) -> Iterator[str]:
        yield re.sub(r" in 0 \.\. ", " in 1 .. ", row)
        yield re.sub(r" \.\. (.*):$", r" .. \1 - 1:", row)
        yield re.sub(r" \.\. (.*):$", r" .. \1 + 1:", row)
        if " par " in f" {row.strip()}":
            yield re.sub(r":$", " - 1:", row)
        yield re.sub(r"(\w+) - (\w+\*\w+)", r"\1", row)

    yield from _in_lines(rows, program, change, r"^ *(for|par) ")
    yield from _in_lines(
        rows, _section(rows, "where"), lambda row: iter([f"{row} - 1", f"{row} + 1"])
    )


def _operators(rows: Lines) -> Made:
    def change(row: str) -> Iterator[str]:
        yield row.replace(" += ", " = ", 1)
        yield row.replace(" max= ", " = ", 1)
        yield row.replace(" max= ", " += ", 1)
        yield re.sub(r"(?<=\]) = ", " += ", row, count=1)
        yield re.sub(r"(?<=\]) \* (?=\w+[\[<])", " + ", row, count=1)
        yield re.sub(r"(?<=\]) - (?=\w+\[)", " + ", row, count=1)

    yield from _in_lines(rows, _section(rows, "program"), change, r"\] (=|\+=|max=) ")


def _first_values(rows: Lines) -> Made:
    """A line that gives a first value lost, or the value another."""
    for at in _section(rows, "program"):
        if re.search(r"\] = (0|\w+\[[^\]]*0\])$", rows[at]):
            yield rows[at], "(lost)", rows[:at] + rows[at + 1 :]
            if rows[at].endswith(" = 0"):
                new = rows[at][:-1] + "1"
                yield rows[at], new, [*rows[:at], new, *rows[at + 1 :]]


def _orders(rows: Lines) -> Made:
    """Two neighbouring lines swapped; a line that ends a block, after the block."""
    for at in _section(rows, "program"):
        if at + 1 >= len(rows) or not rows[at + 1].strip() or not rows[at].strip():
            continue
        here, there = _depth(rows[at]), _depth(rows[at + 1])
        plain = not rows[at].endswith(":") and not rows[at + 1].endswith(":")
        if here == there and plain and "alloc" not in rows[at]:
            yield (
                rows[at],
                f"after {rows[at + 1].strip()}",
                [*rows[:at], rows[at + 1], rows[at], *rows[at + 2 :]],
            )
        if there < here and rows[at - 1].strip() and _depth(rows[at - 1]) == here:
            new = " " * there + rows[at].strip()
            yield rows[at], "after its block", [*rows[:at], new, *rows[at + 1 :]]


def _slots(rows: Lines) -> Made:
    """Rings one shorter, extents of storage one less, owners that are not said."""

    def change(row: str) -> Iterator[str]:
        yield re.sub(r"ring (\w+)", r"ring 1", row)
        yield re.sub(r"ring (\w+)", r"ring (\1 + 1)", row)
        yield re.sub(r" dist \d", "", row)
        for found in re.finditer(r"\[([^\[\]]*)\]", row):
            parts = _split(found.group(1))
            for n, part in enumerate(parts):
                put = ", ".join([*parts[:n], f"{part} - 1", *parts[n + 1 :]])
                yield row[: found.start() + 1] + put + row[found.end() - 1 :]

    yield from _in_lines(rows, _section(rows, "program"), change, r"^ *alloc ")


def _roundings(rows: Lines) -> Made:
    def change(row: str) -> Iterator[str]:
        for found in re.finditer(r"\bceil\(", row):
            yield row[: found.start()] + "floor(" + row[found.end() :]
        for found in re.finditer(r"//", row):
            yield row[: found.start()] + "mod" + row[found.end() :]

    yield from _in_lines(rows, _section(rows, "program"), change)
    yield from _in_lines(rows, _section(rows, "where"), change)


MAKERS: dict[str, Callable[[Lines], Made]] = {
    "barrier": _barriers,
    "index": _indices,
    "precondition": _preconditions,
    "wall": _walls,
    "guard": _guards,
    "range": _ranges,
    "operator": _operators,
    "first": _first_values,
    "order": _orders,
    "slot": _slots,
    "rounding": _roundings,
}
