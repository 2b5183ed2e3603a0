"""The sections of a live page, from what a journal came to so far."""

from datetime import UTC, datetime
from typing import Final

from formwright.report.page import Cell, Column, Facts, Origin, Section, Table
from formwright.report.page import Standing as Verdict
from formwright.report.pages.conditions import evidence_of
from formwright.serve.standing import Standing
from formwright.serve.tally import Ratio, Search, Tally, Work
from formwright.serve.values import shown_seconds

SHOWN_TEMPLATES: Final = 30
SHOWN_SEARCHES: Final = 200

_STANDINGS: Final[dict[str, Verdict]] = {"refuted": "refuted", "unresolved": "unresolved"}


def sections_of(tally: Tally, standing: Standing, file: str) -> tuple[Section, ...]:
    """What is shown, in order; a section without rows is left out. ``file``: the journal's name."""
    found = [Section("now", "Now", (_now(tally, standing),))]
    if tally.built or tally.not_built or tally.proposals:
        found.append(Section("candidates", "Candidates", (_funnel(tally),)))
    if tally.works:
        found.append(Section("workloads", "Workloads", (_works(tally, file),)))
    if tally.searches:
        found.append(Section("methods", "Methods", (_searches(tally, file),)))
    if tally.stages:
        found.append(Section("latest", "Latest entries", (_latest(tally, file),)))
    if tally.templates:
        found.append(Section("templates", "Templates", (_templates(tally, file),)))
    if tally.stages:
        found.append(Section("steps", "Steps", (_steps(tally),)))
    return tuple(found)


def _now(tally: Tally, standing: Standing) -> Facts:
    items = [("standing", Cell(f"{standing.word}: {standing.says}"))]
    if tally.began:
        items.append(("began", Cell(tally.began)))
        items.append(("last entry", Cell(tally.last)))
        items.append(("between them", Cell(_span(tally.began, tally.last))))
    items.append(("entries", Cell(f"{tally.entries:,}", tally.entries)))
    if tally.lost:
        items.append(("attempts lost", Cell(str(tally.lost), tally.lost)))
    if tally.stopped:
        items.append(("the agent ended", Cell(tally.stopped)))
    return Facts(tuple(items))


def _span(began: str, last: str) -> str:
    try:
        seconds = (moment(last) - moment(began)).total_seconds()
    except ValueError:
        return "-"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def moment(time: str) -> datetime:
    """Raises ``ValueError`` for what is no time of a journal."""
    found = datetime.fromisoformat(time)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _funnel(tally: Tally) -> Table:
    proved = tally.verdicts["proved"]
    judged = sum(tally.verdicts.values())
    qualified = sum(bool(work.artifact) for work in tally.works.values())
    decided = sum(bool(work.qualified) for work in tally.works.values())
    tried = len(tally.measured | tally.untimed)
    rows = [
        ("templates judged", judged, proved, "proved"),
        ("designs built", len(tally.built | tally.not_built), len(tally.built), "built"),
        ("designs validated", len(tally.held | tally.refuted), len(tally.held), "held"),
        ("designs measured", tried, len(tally.measured), "timed"),
        ("winners of workloads", decided, qualified, "qualified"),
    ]
    return Table(
        "Templates and designs so far",
        (Column("step"), Column("looked at", number=True), Column("went on", number=True),
         Column("as")),
        tuple(
            (Cell(name), Cell(str(seen), seen), Cell(str(kept), kept), Cell(word))
            for name, seen, kept, word in rows
            if seen
        ),
    )  # fmt: skip


def _works(tally: Tally, file: str) -> Table:
    baselines = sorted({name for work in tally.works.values() for name in work.ratios})
    columns = (
        Column("workload"),
        Column("rounds", number=True),
        Column("fastest candidate"),
        Column("its median", number=True),
        Column("confirmed", number=True),
        *(Column(f"over {name}", number=True) for name in baselines),
        Column("qualified"),
    )
    rows = tuple(_work_row(name, work, baselines, file) for name, work in tally.works.items())
    return Table("Workloads so far: times of a call", columns, rows)


def _work_row(name: str, work: Work, baselines: list[str], file: str) -> tuple[Cell, ...]:
    confirmed = _from(file, work.confirmed_by)
    return (
        Cell(name),
        Cell(str(work.rounds), work.rounds),
        Cell(work.candidate or "-"),
        _time(work.seconds, _from(file, work.measured_by)),
        _time(work.confirmed, confirmed),
        *(_ratio(work.ratios.get(each), confirmed) for each in baselines),
        Cell(work.qualified or "-", origin=_from(file, work.qualified_by)),
    )


def _time(seconds: float | None, origin: Origin | None) -> Cell:
    if seconds is None:
        return Cell("-")
    return Cell(shown_seconds(seconds), seconds, origin, "measured")


def _ratio(found: Ratio | None, origin: Origin | None) -> Cell:
    """With its interval; one that holds 1 is told as no difference."""
    if found is None:
        return Cell("-")
    told = f"{found.median:.2f}x"
    if found.low is not None and found.high is not None:
        told += f" [{found.low:.2f}, {found.high:.2f}]"
    told += "" if found.counts else ", no difference that counts"
    return Cell(told, found.median, origin, "measured")


def _from(file: str, entry: int) -> Origin | None:
    return None if entry < 0 else Origin(file, str(entry))


def _searches(tally: Tally, file: str) -> Table:
    times = tally.name == "white-black"
    columns = (
        Column("task" if times else "ceiling"),
        Column("method"),
        Column("entries", number=True),
        Column("fastest, measured" if times else "best objective, modelled", number=True),
        *(() if times else (Column("area", "mm2", number=True),)),
    )
    rows = tuple(
        _search_row(each, times, file) for each in list(tally.searches.values())[:SHOWN_SEARCHES]
    )
    return Table("Methods so far", columns, rows)


def _search_row(search: Search, times: bool, file: str) -> tuple[Cell, ...]:
    origin = _from(file, search.entry)
    best = "-" if search.best is None else f"{search.best:.6g}"
    if times:
        best = shown_seconds(search.best)
    area = "-" if search.area is None else f"{search.area:.4g}"
    return (
        Cell(search.group),
        Cell(search.method),
        Cell(str(search.runs), search.runs),
        Cell(best, search.best, origin),
        *(() if times else (Cell(area, search.area),)),
    )


def _templates(tally: Tally, file: str) -> Table:
    latest = list(tally.templates.values())[-SHOWN_TEMPLATES:]
    title = "Templates judged so far"
    if len(latest) < len(tally.templates):
        title = f"The last {len(latest)} of {len(tally.templates)} templates judged"
    rows = tuple(
        (
            Cell(each.name),
            Cell(
                each.verdict,
                evidence=evidence_of(each.evidence or each.verdict)
                if each.verdict == "proved"
                else None,
                standing=_STANDINGS.get(each.verdict),
            ),
            Cell(str(each.entry), each.entry, _from(file, each.entry)),
        )
        for each in reversed(latest)
    )
    return Table(title, (Column("template"), Column("verdict"), Column("entry", number=True)), rows)


def _steps(tally: Tally) -> Table:
    columns = (
        Column("step"),
        Column("entries", number=True),
        Column("the last"),
        Column("at", number=True),
    )
    rows = tuple(
        (Cell(name), Cell(str(s.count), s.count), Cell(s.last[:80]), Cell(s.time[11:19]))
        for name, s in tally.stages.items()
    )
    return Table("Entries of each kind", columns, rows)


def _latest(tally: Tally, file: str) -> Table:
    columns = (
        Column("entry", number=True),
        Column("at", number=True),
        Column("step"),
        Column("says"),
    )
    rows = tuple(
        (
            Cell(str(line.number), line.number, Origin(file, str(line.number))),
            Cell(line.time[11:19]),
            Cell(line.key),
            Cell(line.says),
        )
        for line in reversed(tally.latest)
    )
    return Table(f"The last {len(rows)} of {tally.entries:,} entries, times in UTC", columns, rows)
