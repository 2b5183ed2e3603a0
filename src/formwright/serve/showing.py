"""What an address of the live page shows now: all runs, one of them, or both where there is one."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from formwright.report.html.escaped import escaped
from formwright.report.page import Cell, Column, Origin, Section, Table, Text
from formwright.serve.drawing import report_address, section_html
from formwright.serve.sections import moment
from formwright.serve.standing import Standing
from formwright.serve.watching import View, Watch


@dataclass(frozen=True, slots=True)
class Shown:
    """``mark`` names this state; ``title`` is the page's, ``news`` what is read aloud, ``last``
    when the last entry was written."""

    mark: str
    title: str
    news: str
    last: str
    parts: Mapping[str, str]


def show_all(watch: Watch) -> Shown:
    """The runs of the folder as a table; with a single one, all that is to be seen of it."""
    views = {name: run.look() for name, run in watch.runs().items()}
    marks = "\n".join(f"{name}\0{view.mark}" for name, view in views.items())
    mark = sha256(marks.encode(errors="replace")).hexdigest()[:16]
    folder = watch.folder.name or str(watch.folder)
    if len(views) == 1:
        ((name, view),) = views.items()
        return _shown(mark, title_of(watch, name), name, view)
    parts = {"runs": section_html(Section("runs", "Runs", (_runs(views),)), "")}
    at_work = sum(view.standing.word == "at work" for view in views.values())
    news = f"{len(views)} runs, {at_work} at work"
    return Shown(mark, folder, news, max((v.tally.last for v in views.values()), default=""), parts)


def show_run(watch: Watch, name: str) -> Shown | None:
    """One run by its name; ``None`` where there is none of that name."""
    run = watch.run(name)
    if run is None:
        return None
    view = run.look()
    return _shown(view.mark, title_of(watch, name), name, view)


def title_of(watch: Watch, name: str) -> str:
    return name or watch.folder.name or str(watch.folder)


def _shown(mark: str, title: str, name: str, view: View) -> Shown:
    parts = {"report": _to_report(name, view), **view.parts}
    return Shown(mark, title, _news(view), view.tally.last, parts)


def _news(view: View) -> str:
    """Short, and the same as long as nothing of weight has changed: it is read aloud."""
    told: str = view.standing.word
    for name, work in view.tally.works.items():
        if work.qualified:
            told += f"; {name}: {work.qualified}"
    return told


def _to_report(name: str, view: View) -> str:
    if not view.tally.entries:
        return ""
    when = "of what there is so far" if _open(view.standing) else "of the finished run"
    address = escaped(report_address(name))
    return f'<p><a id="to-report" href="{address}">The report {when}</a></p>'


def _open(standing: Standing) -> bool:
    return standing.word != "finished"


def _runs(views: Mapping[str, View]) -> Table | Text:
    if not views:
        return Text("No journal yet: this page shows it as soon as a run or study begins one here.")
    columns = (Column("run"), Column("standing"), Column("entries", number=True),
               Column("last entry"), Column("qualified", number=True))  # fmt: skip
    rows = []
    for name, view in views.items():
        tally = view.tally
        kept = sum(bool(w.artifact) for w in tally.works.values())
        rows.append(
            (
                Cell(name or "this folder", name, Origin(name)),
                Cell(view.standing.word),
                Cell(f"{tally.entries:,}", tally.entries),
                Cell(_day(tally.last)),
                Cell(f"{kept} of {len(tally.works)}" if tally.works else "-"),
            )
        )
    return Table("Runs and studies in this folder", columns, tuple(rows))


def _day(time: str) -> str:
    try:
        return moment(time).isoformat(sep=" ", timespec="seconds") if time else "-"
    except ValueError:
        return "-"
