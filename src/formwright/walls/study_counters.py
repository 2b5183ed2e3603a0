"""What a study says of the cost model: its coefficients, and the walls that it may lack."""

from fractions import Fraction

from formwright.base.diagnostics import nearest
from formwright.base.toml import Place
from formwright.chip.library import Library
from formwright.contract.fields import Fields
from formwright.ir.expr import Expr
from formwright.walls.counters import Counter
from formwright.walls.problem import Coefficients
from formwright.walls.study_points import read_quantity
from formwright.walls.study_workloads import Texts, read_expression


def read_coefficients(fields: Fields, texts: Texts) -> Coefficients:
    """``[coefficients.TEMPLATE]``: numbers in place of those that the template states."""
    table = fields.get(("coefficients",))
    if table is None:
        return {}
    if not isinstance(table, dict):
        fields.fault("coefficients is not a table", ("coefficients",), "write [coefficients.NAME]")
        return {}
    templates = {t.name: t for t in texts.templates.values()}
    found: dict[str, dict[str, Fraction]] = {}
    for name, entry in table.items():
        place: Place = ("coefficients", name)
        template = templates.get(name)
        if template is None or not isinstance(entry, dict):
            hint = nearest(name, templates) or f"templates: {', '.join(templates)}"
            fields.fault(f'the study has no template "{name}"', place, hint)
            continue
        known = [] if template.cost is None else [c.name for c in template.cost.coefficients]
        fields.faults.extend(fields.document.unknown(place, entry, known))
        values = {n: read_quantity(fields, (*place, n), "ratio", none=True) for n in entry}
        found[name] = {n: v for n, v in values.items() if v is not None}
    return found


def read_counters(fields: Fields, texts: Texts, library: Library) -> tuple[Counter, ...]:
    """``[counters.NAME]``: the field it belongs to, a source, and by template what it counts."""
    table = fields.get(("counters",))
    if table is None:
        return ()
    if not isinstance(table, dict):
        fields.fault("counters is not a table", ("counters",), "write [counters.NAME]")
        return ()
    found: list[Counter] = []
    for name, entry in table.items():
        place: Place = ("counters", name)
        if not isinstance(entry, dict):
            fields.fault(f"counter {name} is not a table", place, f"write [counters.{name}]")
            continue
        fields.faults.extend(fields.document.unknown(place, entry, ("field", "source", "counts")))
        field = fields.choice((*place, "field"), [f.name for f in library.fields], "")
        source = fields.text((*place, "source"), "")
        if "field" not in entry:
            fields.fault(f"counter {name} names no field", place, "add field = …")
        counts = _counts(fields, (*place, "counts"), texts, library, entry.get("counts", {}))
        if field and source is not None:
            found.append(Counter(name, field, counts, source))
    return tuple(found)


def _counts(
    fields: Fields, place: Place, texts: Texts, library: Library, table: object
) -> dict[str, Expr]:
    if not isinstance(table, dict):
        fields.fault("counts is not a table", place, 'as in counts = { TEMPLATE = "…" }')
        return {}
    chip = {f"chip.{f.name}" for f in library.fields} | {f"chip.{d.name}" for d in library.derived}
    templates = {t.name: t for t in texts.templates.values()}
    found: dict[str, Expr] = {}
    for name, value in table.items():
        at: Place = (*place, name)
        template = templates.get(name)
        if template is None:
            hint = nearest(name, templates) or f"templates: {', '.join(templates)}"
            fields.fault(f'the study has no template "{name}"', at, hint)
            continue
        names = {p.name for p in template.scope.parameters} | {d.name for d in template.decisions}
        expr = read_expression(fields, at, value, names | chip)
        if expr is not None:
            found[name] = expr
    return found
