"""What the numbers rest on: predicted against evaluated, and how each kind of figure was got."""

from collections.abc import Mapping
from typing import Any

from formwright.report.page import (
    Axis,
    Bar,
    Bars,
    Block,
    Cell,
    Chart,
    Column,
    Evidence,
    Facts,
    Line,
    Part,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from formwright.report.pages.codesign_told import Told, chosen_entry, exact, under
from formwright.report.pages.conditions import evidence_of
from formwright.report.pages.study_words import figure, listed, no_higher, percent
from formwright.report.pages.units import counted


def chip_section(told: Told) -> Section:
    """The chosen chip field by field, and where its area goes."""
    found = told.ceiling
    if found["chip"] is None:
        return Section("chip", "The chip", (Text(f"No chip {under(found)} has a program."),))
    about = {f["name"]: f for f in told.result.get("fields") or ()}
    origin = told.kept.entry(chosen_entry(told))
    rows = tuple(
        (
            Cell(name),
            Cell(told.fields.value(name, told.result["start"][name]), told.result["start"][name]),
            Cell(told.fields.value(name, found["chip"][name]), found["chip"][name], origin),
        )
        for name in told.fields.choices
    )
    columns = (Column("field"), Column("start", number=True), Column("chosen", number=True))
    blocks: list[Block] = [Table("The chip that was chosen", columns, rows)]
    meaning = tuple((n, Cell(_meaning(told, about[n]))) for n in told.fields.choices if n in about)
    if meaning:
        blocks.append(Facts(meaning))
    if found.get("area_parts"):
        blocks.append(_areas(told))
    return Section("chip", "The chip and its area", tuple(blocks))


def _meaning(told: Told, field: Mapping[str, Any]) -> str:
    low, high = (told.fields.value(field["name"], field[n]) for n in ("least", "most"))
    menu = f"{low} to {high}, {counted(field['values'], 'value')}"
    return f"{field['meaning']}; {menu}" if field["meaning"] else menu


def _areas(told: Told) -> Bars:
    parts = told.ceiling["area_parts"]
    origin = told.kept.at("area_parts") if "area_parts" in told.result else None
    bars = tuple(
        Bar(name, (Part(name, now, origin),), f"{figure(was, 3)} mm² at the start")
        for name, (was, now) in parts.items()
    )
    total = sum(now for _, now in parts.values())
    top = max(parts, key=lambda name: parts[name][1])
    says = f"{figure(total, 4)} mm² in all, of which {top} takes {percent(parts[top][1] / total)}."
    return Bars("What the chip costs: area by part (modelled)", says, Axis("area", "mm²"), bars)


def evaluated_section(told: Told) -> Section | None:
    """Predicted against evaluated, purchase by purchase and design by design."""
    evaluator = told.result["evaluator"]
    if evaluator is None:
        return None
    blocks = [Text(_evaluator_words(told, evaluator))]
    evidence = evidence_of(evaluator["evidence"])
    bought = [
        b
        for b in told.ceiling["purchases"]
        if b["evaluated"] is not None and b["evaluated"] > 0 and (b["predicted"] or 0) > 0
    ]
    charts: list[Block] = []
    if bought:
        points = tuple(
            Point(
                b["predicted"],
                b["evaluated"],
                f"step {b['round']}: {told.fields.steps(b['fields'])}",
                origin=told.kept.entry(b["entry"]),
            )
            for b in bought
        )
        charts.append(
            _against(
                "What each purchase was to gain, and did", points, evidence, "drop", told.goal.unit
            )
        )
    designs = {
        (d["work"], d["time"], d["evaluated"]): (s, d)
        for s in told.ceiling["scenarios"]
        for d in s["designs"]
        if d["evaluated"]
    }
    if designs:
        points = tuple(
            Point(
                d["time"],
                d["evaluated"],
                f"{d['work']} by {d['template']}",
                origin=told.kept.entry(s["entry"]),
            )
            for s, d in designs.values()
        )
        charts.append(
            _against("Times of the designs on the chosen chip", points, evidence, "time", told.time)
        )
    agreement = told.result["agreement"]
    ranks: list[Block] = [] if agreement is None else [_ranks(told, agreement)]
    return Section(
        "evaluated", "Predicted against evaluated", (*blocks, *charts, *ranks, *_repairs(told))
    )


def _evaluator_words(told: Told, evaluator: Mapping[str, Any]) -> str:
    text = (
        f"The cost model decides; the evaluator `{evaluator['name']}`, which shares no formula with"
        f" it, judges. Its figures are {evaluator['evidence']}; differences up to"
        f" {percent(evaluator['noise'])} count as noise."
    )
    agreement = told.result["agreement"]
    if agreement is not None:
        sampled = counted(agreement["samples"], "sampled design")
        text += (
            f" Before anything was bought both ranked {sampled}: the rank"
            f" correlation is {figure(agreement['rank'], 4)} (1 is the same order)."
        )
    return text


def _against(
    title: str, points: tuple[Point, ...], evidence: Evidence | None, name: str, unit: str
) -> Chart:
    worst = max(points, key=lambda p: abs(p.y / p.x - 1))
    told_unit = f", {unit}" if unit else ""
    off = abs(worst.y / worst.x - 1)
    says = f"{counted(len(points), 'point')}; "
    says += (
        "all as predicted." if off < 1e-6 else f"the worst is off by {percent(off)}: {worst.label}."
    )
    return Chart(
        f"{title} (on the diagonal: as predicted)",
        says,
        Axis(f"{name}, predicted{told_unit}", "", "log"),
        Axis(f"{name}, evaluated{told_unit}", "", "log"),
        (Series("evaluated", points, "points", evidence),),
        (Line("as predicted", "diagonal"),),
    )


def _ranks(told: Told, agreement: Mapping[str, Any]) -> Table:
    entry = agreement.get("entry")
    rows = tuple(
        (Cell(name), told.cell(row["samples"], entry), told.cell(row["rank"], entry, digits=4))
        for name, row in agreement["by_template"].items()
    )
    worst = agreement.get("worst") or {}
    says = ""
    if worst:
        says = f"Worst kernel: {worst['kernel']}, {figure(worst['rank'], 4)}."
    columns = (
        Column("template"),
        Column("designs", number=True),
        Column("rank correlation", number=True),
    )
    return Table("How model and evaluator rank sampled designs", columns, rows, says)


def _repairs(told: Told) -> list[Block]:
    """What missed purchases changed in the cost model."""
    rows = []
    for repair in told.result["repairs"]:
        for each in repair["repairs"]:
            put = [f"{n} = {figure(exact(v))}" for n, v in each["coefficients"].items()]
            term = each["term"]
            if term is not None:
                put.append(
                    f"{figure(exact(term['weight']))} for each {term['counter']}"
                    f" (wall {term['field']})"
                )
            rows.append(
                (
                    Cell(each["template"], origin=told.kept.entry(repair["entry"])),
                    Cell(", ".join(put)),
                    told.cell(repair.get("rank_before"), repair["entry"], digits=4),
                    told.cell(repair.get("rank_after"), repair["entry"], digits=4),
                )
            )
    if not rows:
        return []
    columns = (
        Column("template"),
        Column("put in its cost"),
        Column("rank before", number=True),
        Column("rank after", number=True),
    )
    says = (
        "A purchase that missed its prediction repaired the model, and every price was found anew."
    )
    return [Table("Repairs of the cost model", columns, tuple(rows), says)]


def grounds_section(told: Told) -> Section:
    """How the numbers were obtained, kind by kind, and what they do not say."""
    result = told.result
    items: list[tuple[str, Cell]] = []
    for name, verdict in result["proofs"].items():
        items.append((f"Programs of {name}", _proof(told, name, verdict)))
    items.append(("Times and energies", Cell(_cost_words(told), evidence="modelled")))
    items.append(("Software of a chip", Cell(_inner_words(told))))
    items.append(("Areas", Cell(_area_words(told), evidence="modelled")))
    bound = told.ceiling["entries"].get("bound")
    items.append(("Bound from below", Cell(_bound_words(told), origin=told.kept.entry(bound))))
    where = f"{result['seconds']:.1f} s for the command that wrote this result"
    items.append(("Time taken", Cell(where, result["seconds"], told.kept.at("seconds"))))
    again = f"formwright codesign {result['study']} --out DIR"
    items.append(("To get it again", Cell(again)))
    blocks: tuple[Block, ...] = (Facts(tuple(items)), *_area_table(told), Text(_limits(told)))
    return Section("grounds", "How the numbers were obtained", blocks)


def _proof(told: Told, name: str, verdict: str) -> Cell:
    entry = told.kept.entry(told.kept.keyed(f"prove/{name}"))
    if verdict == "proved":
        text = (
            "every design that the template allows computes the right sums, at every size, in real"
            " arithmetic"
        )
        return Cell(text, origin=entry, evidence="proved")
    if verdict == "modelled":
        return Cell("there is no program: a cost formula alone", origin=entry, evidence="modelled")
    return Cell(verdict, origin=entry, standing="unresolved")


def _cost_words(told: Told) -> str:
    if not told.result["proofs"]:
        return "the costs of the programs as the study lists them"
    units = listed([u for u in (told.time, told.energy) if u]) or "the templates' units"
    return f"by the cost formulas of the templates, in {units}; nothing here was timed on a chip"


def _inner_words(told: Told) -> str:
    return (
        "for each chip every design of every template is weighed and the best one taken, in exact"
        " arithmetic"
    )


def _area_words(told: Told) -> str:
    errors = [t["error"] for t in told.result["area_model"] if t["error"]]
    text = "a sum of terms, each by the source that the table below names"
    return f"{text}; {errors[0]}" if errors else text


def _bound_words(told: Told) -> str:
    bound = told.ceiling["bound"]
    if bound is None:
        return "none was computed"
    number = told.ceiling["entries"].get("bound")
    known = number is not None and number < len(told.kept.entries)
    by = told.kept.entries[number].key.rpartition("/")[2] if known else "joint"
    by = "joint" if by == "joint" else "from the best chip that was known"
    return (
        f"{no_higher(bound, 10)} {told.goal.unit}".rstrip()
        + f", by branch and bound over boxes of chips ({by}); ends are rounded down, so it is"
        " never too high"
    )


def _area_table(told: Told) -> list[Block]:
    terms = told.result["area_model"]
    rows = [(Cell(t["name"]), Cell(t["source"]), Cell(t["error"] or "-")) for t in terms]
    rows += [
        (Cell(name), Cell("not modelled"), Cell(reason))
        for name, reason in told.result["unmodelled"].items()
    ]
    if not rows:
        return []
    columns = (Column("part"), Column("source of its area"), Column("how far off"))
    return [Table("Where the areas come from", columns, tuple(rows))]


def _limits(told: Told) -> str:
    evaluator = told.result["evaluator"]
    text = (
        "What this does not say: no chip was built and nothing was timed on one. The best is the"
        " best of this library, of these templates and of this cost model."
    )
    if evaluator is None:
        text += " No evaluator was held against the model."
    elif evaluator["evidence"] == "modelled":
        text += " The evaluator is another formula, not a device: both may be off in the same way."
    if any(t["error"] for t in told.result["area_model"]):
        text += (
            " Areas of two chips that are nearer than the error of the fit may be in either order."
        )
    return text
