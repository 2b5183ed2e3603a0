"""The page of a co-design study: which chip, what it costs, why, how near the best, from what."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formwright.report.page import Block, Cell, Facts, Fold, Origin, Page, Section
from formwright.report.pages.codesign_page_front import front_section
from formwright.report.pages.codesign_page_grounds import (
    chip_section,
    evaluated_section,
    grounds_section,
)
from formwright.report.pages.codesign_page_methods import (
    generated_section,
    methods_section,
    sweep_section,
)
from formwright.report.pages.codesign_page_scenarios import scenarios_section
from formwright.report.pages.codesign_page_steps import reasons, steps_section, steps_table
from formwright.report.pages.codesign_page_walls import walls_section
from formwright.report.pages.codesign_told import (
    Told,
    chosen_entry,
    gap_words,
    start_of,
    told_of,
    under,
)
from formwright.report.pages.study_reading import study_page
from formwright.report.pages.study_sources import Kept
from formwright.report.pages.study_words import (
    figure,
    listed,
    no_higher,
    no_less,
    percent,
)
from formwright.report.pages.units import counted


def codesign_page(folder: Path) -> Page:
    """Raises ``InputError`` where the study has no result yet, or one that it did not write."""
    return study_page(folder, _page)


def _page(kept: Kept) -> Page:
    told = told_of(kept)
    return Page(
        title=f"{kept.result['study']}: the chip and its software",
        kind="co-design study",
        answer=_answer(told),
        facts=_facts(told),
        sections=_sections(told),
        made=kept.made,
        entries=kept.book.texts(),
    )


def _sections(told: Told) -> tuple[Section, ...]:
    found = (
        chip_section(told),
        steps_section(told),
        sweep_section(told),
        front_section(told),
        walls_section(told),
        scenarios_section(told),
        methods_section(told),
        generated_section(told),
        evaluated_section(told),
        _others(told),
        grounds_section(told),
    )
    return tuple(section for section in found if section is not None)


def _answer(told: Told) -> tuple[str, ...]:
    found = told.ceiling
    if found["chip"] is None:
        return (f"No chip {under(found)} has a program for every scenario.",)
    sentences = [_chosen(told), _worth(told), gap_words(told), _bought(told), _from(told)]
    return tuple(s for s in sentences if s)


def _chosen(told: Told) -> str:
    found, start = told.ceiling, start_of(told)
    text = f"The chosen chip has {told.fields.chip(found['chip'])}."
    area = f" It takes {figure(found['area'], 4)} mm² (modelled)"
    if start.area is not None:
        area += f"; the chip that the study starts from takes {figure(start.area, 4)} mm²"
    if found["budget"] is not None:
        area += f", and the ceiling is {figure(found['budget'])} mm²"
    return f"{text}{area}."


def _worth(told: Told) -> str:
    found, start = told.ceiling, start_of(told)
    text = (
        f"With the best software for it, {told.goal.name} is"
        f" {told.objective(found['objective'], 7)} (modelled; lower is better)"
    )
    if start.objective is not None and found["objective"]:
        times = start.objective / found["objective"]
        text += (
            f": {figure(times, 3)} times better than the start with its best software"
            f" ({told.objective(start.objective, 7)})"
        )
    return f"{text}."


def _bought(told: Told) -> str:
    bought = told.ceiling["purchases"]
    if not bought:
        return (
            f"It was found as a whole by `{told.ceiling['found_by']}`: no steps were bought one by"
            " one."
        )
    gains = sorted((b for b in bought if b["predicted"] is not None), key=lambda b: -b["predicted"])
    total = sum(b["predicted"] for b in gains)
    steps = counted(len(bought), "step")
    method = told.ceiling["purchases_of"]
    if method == told.ceiling["found_by"] or _same_end(told):
        text = f"`{method}` gets there from the start in {steps}"
    else:
        text = f"`{method}` goes {steps} from the start, to another chip"
    if len(gains) > 1 and total > 0:
        most = [
            f"{told.fields.steps(b['fields'])} ({percent(b['predicted'] / total)} of the gain)"
            for b in gains[:2]
        ]
        text += f"; most was gained by {listed(most)}"
    return f"{text}. Why each step was bought stands below."


def _same_end(told: Told) -> bool:
    """Whether the purchases end at the chosen chip."""
    rows = (m for m in told.ceiling["methods"] if m["method"] == told.ceiling["purchases_of"])
    return any(m["chip"] == told.ceiling["chip"] for m in rows)


def _from(told: Told) -> str:
    result = told.result
    proved = [n for n, v in result["proofs"].items() if v == "proved"]
    text = "Nothing was timed on a chip: costs are modelled by formulas"
    if proved:
        all_ = len(proved) == len(result["proofs"])
        which = "whose programs are proved right" if all_ else f"{len(proved)} of them proved right"
        text += f" of {counted(len(result['proofs']), 'template')}, {which}"
    evaluator = result["evaluator"]
    if evaluator is not None:
        text += f", and held against the evaluator `{evaluator['name']}` ({evaluator['evidence']})"
    return f"{text}."


def _facts(told: Told) -> Facts:
    result, found = told.result, told.ceiling
    meaning = f"{told.goal.name}; {told.goal.meaning}" if told.goal.meaning else told.goal.name
    items = [
        ("Study", Cell(result["description"] or result["study"])),
        ("To be least", Cell(meaning)),
        (
            "Library of chips",
            Cell(f"{result['library']}: {result['chips_in_library']:,} combinations of its menus"),
        ),
        ("Ceiling on the area", Cell("none" if found["budget"] is None else under(found))),
        ("Chosen by", Cell(found["found_by"] or "-")),
        ("Area", told.cell(found["area"], chosen_entry(told), digits=4, evidence="modelled")),
        (
            _capital(told.goal.name),
            told.cell(
                found["objective"],
                chosen_entry(told),
                digits=7,
                evidence="modelled",
            ),
        ),
        ("No chip is below", Cell(no_higher(found["bound"], 10), found["bound"], _by_bound(told))),
        ("Gap", Cell(no_less(found["gap"]), found["gap"], _by_bound(told))),
    ]
    goal = _capital(told.goal.name)
    units = {"Area": "mm²", goal: told.goal.unit, "No chip is below": told.goal.unit}
    return Facts(tuple((f"{n}, {units[n]}" if units.get(n) else n, c) for n, c in items))


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _by_bound(told: Told) -> Origin | None:
    return told.kept.entry(told.ceiling["entries"].get("bound"))


def _others(told: Told) -> Section | None:
    """The purchases under the other ceilings."""
    ceilings = told.result.get("ceilings") or ()
    folds = tuple(_other(told.under(c)) for c in ceilings[:-1] if c["chip"] is not None)
    if not folds:
        return None
    return Section("others", "The other ceilings", folds)


def _other(told: Told) -> Fold:
    found: Mapping[str, Any] = told.ceiling
    title = (
        f"{under(found)[:1].upper()}{under(found)[1:]}: {told.fields.chip(found['chip'])},"
        f" {told.objective(found['objective'])}"
    )
    blocks: tuple[Block, ...] = ()
    if found["purchases"]:
        blocks = (steps_table(told), reasons(told))
    scenarios = scenarios_section(told)
    return Fold(title, blocks + (() if scenarios is None else scenarios.blocks))
