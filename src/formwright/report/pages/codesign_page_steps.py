"""The way to the chip: what was bought, in order, for how much, and why."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from formwright.report.page import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Facts,
    Fold,
    Point,
    Section,
    Series,
    Table,
    Text,
)
from formwright.report.pages.codesign_told import Told, under
from formwright.report.pages.study_words import figure, listed, percent
from formwright.report.pages.units import counted

REASONS: Final = 3
"""Sentences of a purchase's mechanism that stand in its paragraph: those that save most."""


def steps_section(told: Told) -> Section:
    """What was bought, each step with its price and its reason."""
    blocks: tuple[Block, ...] = (Text(_told_how(told)),)
    if told.ceiling["purchases"]:
        blocks += (steps_table(told), reasons(told), *_prices(told))
    return Section("steps", "From the start to the chip, step by step", blocks)


def _told_how(told: Told) -> str:
    found = told.ceiling
    method = found["purchases_of"]
    if not method:
        return (
            f"No step was bought: the methods of this study take a chip as a whole. The chosen one"
            f" was found by `{found['found_by']}`."
        )
    count = len(found["purchases"])
    how = (
        f"`{method}` begins at the start chip with its best software, asks what each field of the"
        f" chip (a wall) keeps out, and buys what lowers {told.goal.name} most for its area;"
        f" what a purchase leaves idle is given back. It bought {counted(count, 'step')}."
    )
    if method != found["found_by"] and found["found_by"]:
        row = next((m for m in found["methods"] if m["method"] == method), None)
        ended = None if row is None else row["objective"]
        if ended is not None and found["objective"] and ended > found["objective"] * 1.000001:
            how += (
                f" It ends at {told.objective(ended)}; the chosen chip is"
                f" {percent(1 - found['objective'] / ended)} lower and was found by"
                f" `{found['found_by']}`."
            )
        elif row is not None and row["chip"] == found["chip"]:
            how += f" It ends at the chip that `{found['found_by']}` found too."
        elif ended is None:
            how += f" It ends at no chip; the chosen one was found by `{found['found_by']}`."
        else:
            how += f" It ends as low, at another chip than `{found['found_by']}`, which is chosen."
    return how + _ending(told)


def _ending(told: Told) -> str:
    ended = told.ceiling.get("certificate") or {}
    if not ended:
        return ""
    text = f" It stopped because {_why(str(ended.get('done', '')))}."
    if ended.get("reclaimed"):
        text += f" Given back at the end: {told.fields.steps(ended['reclaimed'])}."
    return text


def _why(done: str) -> str:
    match done:
        case "no purchase helps":
            return "no further purchase lowers the objective"
        case "the rounds are spent":
            return "the rounds that the study allows were spent, not because nothing helps"
        case "the ceiling is reached":
            return "all that would help is over the ceiling on the area"
        case other:
            return other


def steps_table(told: Told) -> Table:
    """One row a purchase."""
    evaluated = any(b["evaluated"] is not None for b in told.ceiling["purchases"])
    columns = [
        Column("step", number=True),
        Column("bought"),
        Column("given back"),
        Column("area added", "mm²", number=True),
        Column("area then", "mm²", number=True),
        Column("drop, predicted", told.goal.unit, number=True),
    ]
    columns += [Column("drop, evaluated", told.goal.unit, number=True)] if evaluated else []
    columns += [
        Column("price: drop for each mm²", told.goal.unit, number=True),
        Column("objective then", told.goal.unit, number=True),
    ]
    rows = tuple(_row(told, bought, evaluated) for bought in told.ceiling["purchases"])
    size = "all of them" if len(rows) > 1 else "it"
    says = (
        f"A drop is what {told.goal.name} falls by; the price of a step is its drop for each mm²."
        " A negative area is one that the step frees: such a step has no price."
    )
    if evaluated:
        agree = sum(b["verdict"] == "agrees" for b in told.ceiling["purchases"])
        held = size if agree == len(rows) else f"{agree} of {len(rows)}"
        says += f" Each was held against the evaluator before it was accepted: {held} agreed."
    return Table(f"What was bought, {under(told.ceiling)}", tuple(columns), rows, says)


def _row(told: Told, bought: Mapping[str, Any], evaluated: bool) -> tuple[Cell, ...]:
    entry = bought["entry"]
    row = [
        told.cell(bought["round"], entry),
        Cell(told.fields.steps(bought["fields"])),
        Cell(told.fields.steps(bought["reclaimed"]) or "-"),
        told.cell(bought["area"], entry, digits=4),
        told.cell(bought["total_area"], entry, digits=4),
        told.cell(bought["predicted"], entry),
    ]
    row += [told.cell(bought["evaluated"], entry)] if evaluated else []
    price = told.cell(bought["price"], entry, digits=4)
    return (*row, price, told.cell(bought["objective"], entry, digits=6))


def reasons(told: Told) -> Facts:
    """Why each step was bought, in words."""
    return Facts(tuple(_reason(told, bought) for bought in told.ceiling["purchases"]))


def _reason(told: Told, bought: Mapping[str, Any]) -> tuple[str, Cell]:
    name = f"Why step {bought['round']}: {told.fields.steps(bought['fields'])}"
    mechanism = _plain(told, bought["mechanism"])
    effects, walls = _effects(told, bought), _walls(mechanism)
    parts = [*effects, *walls]
    if bought["area"] is not None and bought["area"] < 0:
        parts.insert(0, f"it frees {figure(-bought['area'], 4)} mm²")
    if not (effects and walls):
        parts += _designs(bought, mechanism)
    if not mechanism and not effects:
        parts.append(_unchanged(bought))
    text = "; ".join(parts)
    return name, Cell(f"{text[:1].upper()}{text[1:]}.")


def _designs(bought: Mapping[str, Any], mechanism: Sequence[str]) -> list[str]:
    """Designs that are others now, and in a word those that stay and cost something else."""
    changed = [m.partition("; before, ")[0] for m in mechanism if KEEPS not in m]
    found = changed[:REASONS]
    if len(changed) < len(mechanism):
        which = "the other designs stay" if changed else "the designs stay as they are"
        found.append(f"{which}, what they cost changes by {listed(list(bought['fields']))}")
    return found


KEEPS: Final = " keeps its design"
"""In sentences of designs that a purchase leaves as they are (``walls.mechanism``)."""


def _plain(told: Told, mechanism: Sequence[str]) -> list[str]:
    """Without the name of the scenario where there is one."""
    names = [s["name"] for s in told.ceiling["scenarios"]]
    if len(names) != 1:
        return list(mechanism)
    return [sentence.replace(f" of {names[0]}", "", 1) for sentence in mechanism]


_WALL: Final = re.compile(r"(\w+) was in the way \(it needs ([^,()]+), there was ([^,()]+)\)")


def _walls(mechanism: Sequence[str]) -> list[str]:
    """Each wall with all works whose new designs it kept out, and the most that one needs."""
    kept_out: dict[tuple[str, str], dict[str, str]] = {}
    for sentence in mechanism:
        work = sentence.split(":")[0].split(" runs ")[0].removesuffix(",")
        for wall, need, had in _WALL.findall(sentence):
            kept_out.setdefault((wall, had), {})[work] = need
    return [
        f"{wall} was in the way of {listed(list(needs))}: {had} was there,"
        f" {listed(list(dict.fromkeys(needs.values())))} {_is(needs)} needed"
        for (wall, had), needs in kept_out.items()
    ]


def _is(needs: Mapping[str, str]) -> str:
    return "is" if len(set(needs.values())) == 1 else "are"


def _effects(told: Told, bought: Mapping[str, Any]) -> list[str]:
    """What times and energies of the scenarios did, those that changed most first."""
    sentences: list[tuple[float, str]] = []
    for effect in bought.get("effects") or ():
        if effect["time_before"] is None:
            sentences.append((0.0, f"{effect['scenario']} has a program now"))
            continue
        figures = (
            ("time", effect["time_before"], effect["time"], told.time),
            ("energy", effect["energy_before"], effect["energy"], told.energy),
        )
        parts, most = [], 0.0
        for word, was, now, unit in figures:
            if was and now is not None and figure(was) != figure(now):
                change = now / was - 1
                most = max(most, abs(change))
                shown = f"{word} {figure(was)} → {figure(now)} {unit}".rstrip()
                parts.append(f"{shown} ({change * 100:+.2g} %)")
        if parts:
            whose = f"{effect['scenario']}: " if len(bought["effects"]) > 1 else ""
            sentences.append((most, f"{whose}{listed(parts)}"))
    sentences.sort(key=lambda pair: -pair[0])
    return [sentence for _, sentence in sentences[:REASONS]]


def _unchanged(bought: Mapping[str, Any]) -> str:
    """For journals whose mechanisms did not name energies yet."""
    if bought["area"] is not None and bought["area"] < 0:
        return "no design changes its decisions or its time: what the field costs to use falls"
    return "no design changes its decisions or its time"


def _prices(told: Told) -> tuple[Block, ...]:
    bought = told.ceiling["purchases"]
    priced = [b for b in bought if b["price"] is not None and b["price"] > 0]
    blocks: list[Block] = []
    if len(priced) > 1:
        points = tuple(
            Point(
                float(b["round"]),
                b["price"],
                origin=told.kept.entry(b["entry"]),
            )
            for b in priced
        )
        top = max(priced, key=lambda b: b["price"])
        says = (
            f"The most was gained per area by step {top['round']}"
            f" ({told.fields.steps(top['fields'])}): {figure(top['price'], 4)} per mm²."
        )
        if len(priced) < len(bought):
            says += f" {counted(len(bought) - len(priced), 'step')} freed area and has no price."
            says = says.replace("steps freed area and has", "steps freed area and have")
        blocks.append(
            Chart(
                "The price of each step",
                says,
                Axis("step", low=0.5, high=bought[-1]["round"] + 0.5),
                told.axis("drop for each mm²"),
                (Series("steps", points, "points", "modelled", lead=True),),
            )
        )
    if any(b["mechanism"] for b in bought):
        blocks.append(Fold("Every design that changed, step by step", (_mechanisms(told),)))
    return tuple(blocks)


def _mechanisms(told: Told) -> Table:
    rows = tuple(
        (
            told.cell(b["round"], b["entry"]),
            Cell(told.fields.steps(b["fields"])),
            Cell(sentence),
        )
        for b in told.ceiling["purchases"]
        for sentence in b["mechanism"]
    )
    columns = (Column("step", number=True), Column("bought"), Column("what became possible"))
    return Table("What each step made possible", columns, rows)
