"""What a study lists of programs: what each needs and costs, in place of templates."""

from fractions import Fraction
from typing import Any

from formwright.base.diagnostics import nearest
from formwright.base.toml import Place
from formwright.chip.library import Library
from formwright.chip.library_checks import LARGEST, divisors
from formwright.chip.library_rules import ranges
from formwright.contract.fields import Fields
from formwright.ir.expr import Expr
from formwright.ir.interval import bounds
from formwright.ir.truths import is_condition
from formwright.walls.finite import FiniteScenario, Program
from formwright.walls.study_points import name_fault, read_quantity
from formwright.walls.study_workloads import read_expression


def read_programs(fields: Fields, library: Library) -> tuple[FiniteScenario, ...]:
    """``[programs.SCENARIO.NAME]``: ``needs`` by field, ``cost`` a number or an expression."""
    table = fields.get(("programs",))
    if not isinstance(table, dict) or not table:
        fields.fault("programs is not a table", ("programs",), "write [programs.SCENARIO.NAME]")
        return ()
    found: list[FiniteScenario] = []
    for scenario, entries in table.items():
        place: Place = ("programs", scenario)
        name_fault(fields, place, "scenario")
        if not isinstance(entries, dict) or not entries:
            fields.fault(
                f"scenario {scenario} has no programs", place, f"write [programs.{scenario}.NAME]"
            )
            continue
        programs = [
            _program(fields, (*place, name), library, name, e) for name, e in entries.items()
        ]
        listed = tuple(p for p in programs if p is not None)
        if listed:
            found.append(FiniteScenario(scenario, listed))
    return tuple(found)


def _program(
    fields: Fields, place: Place, library: Library, name: str, entry: Any
) -> Program | None:
    if not isinstance(entry, dict):
        fields.fault(f"program {name} is not a table", place, "write needs = {…} and cost = …")
        return None
    before = len(fields.faults)
    name_fault(fields, place, "program")
    fields.faults.extend(fields.document.unknown(place, entry, ("needs", "cost")))
    needs: dict[str, int | Fraction] = {}
    table = entry.get("needs", {})
    if not isinstance(table, dict):
        fields.fault("needs is not a table", (*place, "needs"), "as in needs = { FIELD = … }")
        table = {}
    known = {f.name: f for f in library.fields}
    for field in table:
        at: Place = (*place, "needs", field)
        if field not in known:
            hint = nearest(field, known) or f"fields are {', '.join(known)}"
            fields.fault(f'library {library.name} has no field "{field}"', at, hint)
            continue
        need = read_quantity(fields, at, known[field].dimension)
        if need is not None:
            needs[field] = need
    chip = {f"chip.{n}" for n in (*known, *(d.name for d in library.derived))}
    cost = read_expression(fields, (*place, "cost"), entry.get("cost"), chip)
    if cost is None or len(fields.faults) > before:
        return None
    return Program(name, needs, cost) if _priced(fields, (*place, "cost"), cost, library) else None


def _priced(fields: Fields, place: Place, cost: Expr, library: Library) -> bool:
    """Whether the cost is a positive number on every chip: ratios are taken of it."""
    spans = ranges(library, library.whole)
    opened = library.opened(cost)
    if is_condition(opened, ()):
        fields.fault("cost is a condition, not a number", place, 'as in cost = "60 / chip.lanes"')
        return False
    if any(bounds(d, spans).lo <= 0 for d in divisors(opened)):
        fields.fault("a divisor of cost may be 0 or less", place, "bound it by max")
        return False
    span = bounds(opened, spans)
    if span.lo <= 0:
        fields.fault("cost may be 0 or less on some chip", place, "bound it by max")
    elif span.hi > LARGEST:
        fields.fault("cost may be out of range", place, "keep it below 1e60")
    return span.lo > 0 and span.hi <= LARGEST
