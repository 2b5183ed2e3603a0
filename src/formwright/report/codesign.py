"""The tables at the end of a co-design study, for a terminal of 80 columns or more."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import median
from textwrap import fill
from typing import Any, Final, get_args

from rich.console import Console

from formwright.base.quantities import Dimension, Quantity, show_quantity
from formwright.flow.codesign_results import (
    CeilingResult,
    ChipRow,
    DesignRow,
    PurchaseRow,
    StudyResult,
)
from formwright.report.pages.study_words import rounded_down
from formwright.report.tables import print_table

_DIMENSIONS: dict[str, Dimension] = {d: d for d in get_args(Dimension)}

MOST_REASONS: Final = 4
"""Sentences of one purchase's mechanism that are shown, those that save most."""

_NOTHING: Final = 1e-6
"""Gaps below it are what rounding bounds down leaves."""

MOST_ROWS: Final = 24
MOST_DESIGNS: Final = 8


def print_study(console: Console, result: StudyResult) -> None:
    """The chip, what was bought and why, what each scenario gets, how the methods compare."""
    said = Said(result.units, result.choices)
    _line(console, "")
    _line(console, f"{result.study}: {result.description}" if result.description else result.study)
    if len(result.ceilings) > 1:
        _print_sweep(console, result.ceilings)
    last = result.ceilings[-1]
    _print_chip(console, result, last, said)
    _print_purchases(console, last, said)
    _print_scenarios(console, last)
    _print_methods(console, last)
    _print_rows(console, "Front of objective and area", result.front, said)
    if result.front:
        _line(console, f"  {_weighed(result)}")
    _print_rows(console, "Chips", result.chips, said)
    _print_generated(console, result.generated)
    _print_grounds(console, result)


class Said:
    """Values of fields with their units."""

    def __init__(self, units: Mapping[str, str], choices: Sequence[str]) -> None:
        self._units = units
        self._choices = choices

    def value(self, name: str, value: int | float) -> str:
        dimension = _DIMENSIONS.get(self._units.get(name, ""), "count")
        return show_quantity(Quantity(Fraction(value), dimension), 6)

    def chip(self, values: Mapping[str, int | float]) -> str:
        """The fields that a study chooses."""
        return ", ".join(f"{name} {self.value(name, values[name])}" for name in self._choices)


def number(value: float | None, digits: int = 5) -> str:
    """``-`` where there is none."""
    return "-" if value is None else f"{value:.{digits}g}"


def _print_sweep(console: Console, ceilings: tuple[CeilingResult, ...]) -> None:
    """Objectives by method (rows) and ceiling (columns), as many columns as fit."""
    each = max(1, (console.width - 19) // 10)
    for start in range(0, len(ceilings), each):
        part = ceilings[start : start + each]
        rows = [
            ("area", *(number(c.area) for c in part)),
            ("best objective", *(number(c.objective) for c in part)),
            ("gap", *(_percent(c.gap) for c in part)),
            *((name, *(number(_objective(c, name)) for c in part)) for name in _methods(part)),
        ]
        console.print()
        _print_table(console, ("budget, mm2", *(number(c.budget) for c in part)), rows)


def _methods(ceilings: tuple[CeilingResult, ...]) -> list[str]:
    return list(dict.fromkeys(m.method for c in ceilings for m in c.methods))


def _objective(ceiling: CeilingResult, method: str) -> float | None:
    return next((m.objective for m in ceiling.methods if m.method == method), None)


def _print_chip(console: Console, result: StudyResult, found: CeilingResult, said: Said) -> None:
    under = "without a ceiling" if found.budget is None else f"within {number(found.budget)} mm2"
    _line(console, "")
    if found.chip is None or found.objective is None:
        _line(console, f"No chip {under} has a program for every scenario.", style="bold")
        return
    _line(console, f"Chip {under}, found by {found.found_by}", style="bold")
    bound = ""
    if found.bound is not None:
        near = found.gap is not None and found.gap < _NOTHING
        least = number(found.bound if near else rounded_down(found.bound, 7), 7)
        bound = f"; no chip is below {least} (gap {_percent(found.gap)})"
    _line(
        console,
        f"  {number(found.area)} mm2, objective {number(found.objective, 7)} (modelled){bound}",
    )
    rows = [
        (f"  {n}", said.value(n, result.start[n]), said.value(n, found.chip[n]))
        for n in result.choices
    ]
    _print_table(console, ("field", "start", "chosen"), rows)


def _print_purchases(console: Console, found: CeilingResult, said: Said) -> None:
    if not found.purchases_of:
        return
    _line(console, "")
    _line(console, f"Purchases of {found.purchases_of}, in order", style="bold")
    if not found.purchases:
        _line(console, "  none: no step that was priced helps")
    for bought in found.purchases:
        steps = _steps(bought.fields, said)
        checked = ""
        if bought.evaluated is not None:
            checked = f", evaluated {number(bought.evaluated)}"
        _line(console, f"  {bought.round}. {steps}")
        _line(
            console,
            f"     {_paid(bought)}; drop {number(bought.predicted)}{checked};"
            f" objective {number(bought.objective)}"
            + (f"; {bought.verdict}" if bought.verdict else ""),
        )
        for reason in bought.mechanism[:MOST_REASONS]:
            _line(console, f"     {reason}")
        if len(bought.mechanism) > MOST_REASONS:
            _line(console, f"     and {len(bought.mechanism) - MOST_REASONS} more, in the files")
        if bought.reclaimed:
            _line(console, f"     given back: {_steps(bought.reclaimed, said)}")
    if found.certificate is not None:
        back = found.certificate.get("reclaimed")
        if back:
            _line(console, f"  given back at the end: {_steps(back, said)}")
        _line(console, f"  then {_ended(found.certificate)}")


def _paid(bought: PurchaseRow) -> str:
    """What a step takes of the chip, or gives back."""
    if bought.area is not None and bought.area < 0:
        return f"saves {number(-bought.area, 4)} mm2"
    return f"+{number(bought.area, 4)} mm2, price {number(bought.price)} per mm2"


def _ended(certificate: Mapping[str, Any]) -> str:
    """Why the relaxation stopped, and what no relaxation of the rest could give."""
    rest = certificate.get("all_removed")
    told = str(certificate.get("done", ""))
    if rest is not None:
        least = number(float(Fraction(rest)))
        told += f"; with every capacity removed, other fields as they are, it would be {least}"
    return told


def _steps(fields: Mapping[str, tuple[int | float, int | float]], said: Said) -> str:
    return ", ".join(
        f"{name} {said.value(name, before)} -> {said.value(name, after)}"
        for name, (before, after) in fields.items()
    )


def _print_scenarios(console: Console, found: CeilingResult) -> None:
    if not found.scenarios:
        return
    evaluated = any(d.evaluated is not None for s in found.scenarios for d in s.designs)
    alone = any(s.alone is not None for s in found.scenarios)
    headings = ["scenario", "time", "energy", "ratio"]
    headings += ["alone", "loses"] if alone else []
    headings += ["evaluated"] if evaluated else []
    rows = []
    for s in found.scenarios:
        row = [f"  {s.name}", number(s.time), number(s.energy), number(s.ratio)]
        row += [number(s.alone), _percent(s.loses)] if alone else []
        row += [number(_evaluated(s.designs))] if evaluated else []
        rows.append(tuple(row))
    console.print()
    _print_table(console, tuple(headings), rows)
    for each in found.scenarios:
        if each.alone_note:
            _line(
                console, f"  the chip for {each.name} alone may not be the best: {each.alone_note}"
            )
    designs = [(s.name, d) for s in found.scenarios for d in s.designs]
    for name, d in designs[:MOST_DESIGNS]:
        picked = " ".join(f"{n}={v}" for n, v in d.assignment.items())
        times = "" if d.count == 1 else f"{d.count} x "
        _line(console, f"  {name}: {times}{d.work} by {d.template} {picked}".rstrip())
    if len(designs) > MOST_DESIGNS:
        _line(console, f"  and {len(designs) - MOST_DESIGNS} designs more, in scenarios.csv")


def _evaluated(designs: tuple[DesignRow, ...]) -> float | None:
    """The evaluator's time of a scenario, ``None`` where a design of it was not evaluated."""
    times = [d.evaluated * d.count for d in designs if d.evaluated is not None]
    return sum(times) if len(times) == len(designs) else None


def _print_methods(console: Console, found: CeilingResult) -> None:
    rows = [
        (
            f"  {m.method}",
            number(m.objective, 6),
            number(m.area, 4),
            f"{m.reached}/{len(m.objectives)}",
            _spread(m.solves),
            _spread(m.solves_to_best) if m.reached else "never",
            number(median(m.seconds), 2) if m.seconds else "-",
        )
        for m in found.methods
    ]
    headings = ("method", "objective", "area", "in 1 %", "solves", "to 1 %", "seconds")
    console.print()
    _print_table(console, headings, rows)
    _line(
        console,
        "  in 1 %: runs that came within 1 % of the best of all methods; to 1 %: inner solves"
        " until then, a run that never did counts as its whole budget; several seeds: median"
        " [least, most].",
    )
    for m in found.methods:
        if any(m.relaxations):
            _line(console, f"  {m.method}: also {_spread(m.relaxations)} bounds of boxes of chips")
    notes = dict.fromkeys(m.note for m in found.methods if m.note)
    for note in notes:
        _line(console, f"  {', '.join(m.method for m in found.methods if m.note == note)}: {note}")
    for note in found.notes:
        _line(console, f"  {note}")


def _spread(values: tuple[int, ...]) -> str:
    if not values:
        return "-"
    if len(values) == 1:
        return str(values[0])
    if min(values) == max(values):
        return str(values[0])
    return f"{median(values):g} [{min(values)}, {max(values)}]"


def _print_rows(console: Console, title: str, rows: tuple[ChipRow, ...], said: Said) -> None:
    if not rows:
        return
    _line(console, "")
    shown = rows if len(rows) <= MOST_ROWS else rows[:: -(-len(rows) // MOST_ROWS)]
    part = "" if len(shown) == len(rows) else f" ({len(shown)} of {len(rows)} points; all in files)"
    _line(console, f"{title}{part}", style="bold")
    for row in shown:
        behind = {True: "dominated", False: "not dominated", None: "not known if dominated"}
        stands = f"; {behind[row.dominated]}" if row.source else ""
        name = f"{row.name}: " if row.name else ""
        _line(
            console,
            f"  {name}{number(row.area)} mm2, {number(row.objective, 7)}{stands};"
            f" {said.chip(row.chip)}",
        )


def _weighed(result: StudyResult) -> str:
    """How far the front can be relied on."""
    within = f"within {_percent(result.front_tolerance)}"
    if result.front_complete_to is None:
        return f"every chip is {within} of a point of no more area"
    to = number(result.front_complete_to, 4)
    return f"{within} for chips below {to} mm2; the time was spent, larger ones are not weighed"


def _print_generated(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Of all seeds of one size: how often each variant ended at the best chip, and its solves."""
    if not rows:
        return
    variants = [key.removesuffix("_found") for key in rows[0] if key.endswith("_found")]
    shown = []
    for hidden in dict.fromkeys(row["hidden"] for row in rows):
        same = [row for row in rows if row["hidden"] == hidden]
        for variant in variants:
            cells = (
                f"  {hidden} of {same[0]['walls']}",
                variant,
                f"{sum(row[f'{variant}_found'] for row in same)}/{len(same)}",
                _spread(tuple(row[f"{variant}_solves"] for row in same)),
                str(same[0]["sets_of_that_size"]),
            )
            shown.append(cells)
    console.print()
    _print_table(
        console, ("hidden walls", "variant", "found", "solves", "sets of that size"), shown
    )
    _line(console, "  Generated problems; found: the run ended at the best chip of the ceiling.")


def _print_grounds(console: Console, result: StudyResult) -> None:
    _line(console, "")
    for name, verdict in result.proofs.items():
        _line(console, f"  {name}: {verdict}")
    for repair in result.repairs:
        _line(console, f"  model repaired at entry {repair['entry']}: {_repaired(repair)}")
    if result.agreement is not None and result.evaluator is not None:
        rank = result.agreement.get("rank")
        _line(
            console,
            f"  model against {result.evaluator['name']} ({result.evaluator['evidence']}):"
            f" rank correlation {number(rank, 3)} on {result.agreement.get('samples')} designs",
        )
    errors = [f"{t['name']}: {t['error']}" for t in result.area_model if t["error"]]
    for error in errors:
        _line(console, f"  area of {error}")
    for name, reason in result.unmodelled.items():
        _line(console, f"  area of {name}: not modelled ({reason})")
    _line(console, f"  {result.seconds:.1f} s; journal {result.journal}")


def _repaired(repair: Mapping[str, Any]) -> str:
    """What a missed purchase changed in the cost model."""
    parts: list[str] = []
    for each in repair["repairs"]:
        put = [f"{n} = {number(float(Fraction(v)))}" for n, v in each["coefficients"].items()]
        term = each["term"]
        if term is not None:
            put.append(
                f"a term of {number(float(Fraction(term['weight'])))} for each"
                f" {term['counter']} (wall {term['field']})"
            )
        parts.append(f"{', '.join(put)} in {each['template']}")
    ranks = [repair.get("rank_before"), repair.get("rank_after")]
    told = "; ".join(parts)
    if None not in ranks:
        told += f"; rank correlation {number(ranks[0], 3)} -> {number(ranks[1], 3)}"
    return told


def _percent(value: float | None) -> str:
    if value is None:
        return "-"
    return "0 %" if abs(value) < _NOTHING else f"{value * 100:.2g} %"


def _print_table(
    console: Console, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> None:
    """The first column has names, the others numbers."""
    print_table(console, headings, rows, frozenset(range(1, len(headings))))


def _line(console: Console, text: str, style: str | None = None) -> None:
    """One paragraph, folded at the width of the terminal under its own indentation."""
    indent = " " * (len(text) - len(text.lstrip()))
    folded = fill(
        text,
        max(40, console.width),
        subsequent_indent=f"{indent}  " if indent else "",
        break_long_words=False,
        break_on_hyphens=False,
    )
    console.print(folded, style=style, markup=False, soft_wrap=True)
