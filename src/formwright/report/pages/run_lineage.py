"""Which text came of which in a run with an agent, and what each generation was told and gained."""

from typing import Final

from formwright.report.page import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Fold,
    Graph,
    Line,
    Node,
    Point,
    Series,
    Table,
    Text,
)
from formwright.report.pages.conditions import evidence_of, standing_of
from formwright.report.pages.entries import at, items, mapping, number, words
from formwright.report.pages.run_facts import RunFacts, TextMade
from formwright.report.pages.units import seconds_cell, seconds_text

MOST_NODES: Final = 80
"""Texts that are drawn; the table has all of them."""
MOST_WHY: Final = 200


def lineage_blocks(facts: RunFacts) -> tuple[Block, ...]:
    """Nothing for a run whose templates are all named by the problem."""
    if not facts.agent and all(t.rule == "named" for t in facts.texts):
        return ()
    times = _best_times(facts)
    table = Fold("Every text as a table, with why it was proposed", (_table(facts, times),))
    blocks: list[Block] = [_graph(facts, times), table]
    generations = facts.book.keys("generation/")
    if generations:
        blocks += [*_progress(facts, generations), _generations(facts, generations)]
    asked = _requests(facts)
    if asked is not None:
        blocks.append(asked)
    return tuple(blocks)


def _best_times(facts: RunFacts) -> dict[str, dict[str, float]]:
    """Least seconds by template and workload."""
    found: dict[str, dict[str, float]] = {}
    for w in facts.workloads:
        for d in w.designs:
            if d.seconds is not None:
                mine = found.setdefault(d.template, {})
                mine[w.name] = min(d.seconds, mine.get(w.name, d.seconds))
    return found


def _graph(facts: RunFacts, times: dict[str, dict[str, float]]) -> Graph:
    drawn = _drawn(facts, times)
    keys = {t.digest: t.step for t in drawn if t.digest}
    nodes = []
    for t in drawn:
        parents = tuple(
            dict.fromkeys(keys[p] for p in t.parents if p in keys and keys[p] != t.step)
        )
        cells = [Cell(t.verdict, origin=facts.book.origin(t.step))]
        if t.rule:
            cells.append(Cell(f"by {t.rule}"))
        mine = times.get(t.key, {})
        cells += [Cell(f"{seconds_text(s)} {w}", s, evidence="measured") for w, s in mine.items()]
        label = t.key or f"a text that is no template ({t.step})"
        nodes.append(Node(t.step, label, parents, tuple(cells), standing_of(t.verdict)))
    left = len(facts.texts) - len(drawn)
    said = f"{len(facts.texts)} texts, {sum(t.verdict == 'proved' for t in facts.texts)} proved."
    if left:
        said += f" {left} of them are in the table only: the fastest and their parents are drawn."
    return Graph("Lineage of the templates", said, tuple(nodes))


def _drawn(facts: RunFacts, times: dict[str, dict[str, float]]) -> list[TextMade]:
    """All texts, or of many the fastest with those that they came of, parents first."""
    if len(facts.texts) <= MOST_NODES:
        return list(facts.texts)
    by_digest = {t.digest: t for t in facts.texts if t.digest}
    ranked = sorted(
        (t for t in facts.texts if t.key in times), key=lambda t: min(times[t.key].values())
    )
    kept: set[str] = set()
    for made in ranked:
        line = [made]
        while line and len(kept) < MOST_NODES:
            one = line.pop()
            if one.step not in kept:
                kept.add(one.step)
                line += [by_digest[p] for p in one.parents if p in by_digest]
    return [t for t in facts.texts if t.step in kept]


def _table(facts: RunFacts, times: dict[str, dict[str, float]]) -> Table:
    names = {t.digest: t.key for t in facts.texts if t.digest}
    rows = []
    for t in facts.texts:
        best = min(times.get(t.key, {}).values(), default=None)
        conditions = ", ".join(dict.fromkeys(f.condition for f in t.findings if f.condition))
        verdict = t.verdict + (f": {conditions}" if conditions else "")
        rows.append(
            (
                Cell(t.key or "–", origin=facts.book.origin(t.step)),
                _generation(t),
                Cell(", ".join(names.get(p, p[:12]) for p in t.parents) or "–"),
                Cell(t.rule or "–"),
                Cell(verdict, standing=standing_of(t.verdict)),
                seconds_cell(best, evidence=None if best is None else "measured"),
                Cell(t.why[:MOST_WHY] or "–"),
            )
        )
    return Table(
        title="Every text of the run",
        columns=(
            Column("template"),
            Column("generation", number=True),
            Column("made from"),
            Column("by"),
            Column("verdict"),
            Column("best time", number=True),
            Column("why it was proposed"),
        ),
        rows=tuple(rows),
        says="Why: the proposer's own words; nothing that it says of itself counts.",
        shown=20,
    )


def _generation(t: TextMade) -> Cell:
    return Cell("–") if t.generation is None else Cell(str(t.generation + 1), t.generation + 1)


def _progress(facts: RunFacts, generations: list[str]) -> list[Block]:
    """The best time after each generation, with the baselines as they were timed beside it."""
    blocks: list[Block] = []
    for w in facts.workloads:
        points = []
        for place, key in enumerate(generations, 1):
            best = mapping(at(facts.book.data(key), "best", w.name))
            seconds = number(best, "seconds")
            if seconds is not None and seconds > 0:
                label = words(best, "template")
                points.append(Point(place, seconds, label, origin=facts.book.origin(key)))
        if len(points) < 2:
            continue
        ratio = points[0].y / points[-1].y
        blocks.append(
            Chart(
                title=f"The best design after each generation, {w.name}",
                says=f"From {seconds_text(points[0].y)} to {seconds_text(points[-1].y)}: "
                f"{ratio:.3g} times as fast after {len(points)} generations. Times of different "
                "rounds are made comparable by designs that were measured in both.",
                x=Axis("generation", low=1, high=len(generations)),
                y=Axis("measured time of a call", "s", "log"),
                series=(Series("best of the run", tuple(points), "steps", "measured", lead=True),),
                lines=_baselines(facts, w.name),
            )
        )
    return blocks


def _baselines(facts: RunFacts, workload: str) -> tuple[Line, ...]:
    programs = mapping(at(facts.book.data(f"baselines/{workload}"), "programs"))
    found = []
    for name, timed in programs.items():
        seconds = number(timed, "seconds", "median")
        if name != "kernel" and seconds is not None and seconds > 0:
            found.append(Line(name, "y", seconds))
    return tuple(found)


def _generations(facts: RunFacts, generations: list[str]) -> Table:
    rows = []
    for place, key in enumerate(generations, 1):
        data = mapping(facts.book.data(key))
        cause = mapping(data.get("diagnosis"))
        loss = number(cause, "loss")
        gained = ", ".join(map(str, items(data.get("gained"))))
        drawn = len(items(data.get("drawn")))
        rows.append(
            (
                Cell(str(place), place, facts.book.origin(key)),
                Cell(words(data, "level") or "–"),
                Cell(f"{len(items(data.get('proved')))}" + (f", {drawn} drawn" if drawn else "")),
                Cell(f"gained at {gained}" if gained else "nothing gained"),
                Cell(words(cause, "kind") or "–", evidence=evidence_of(words(cause, "evidence"))),
                Cell("–") if loss is None else Cell(f"{loss:.0%}", loss),
                Cell(words(cause, "says") or "–"),
                Cell(words(cause, "repair") or "–"),
            )
        )
    return Table(
        title="Generations and what each was diagnosed with",
        columns=(
            Column("generation", number=True),
            Column("level"),
            Column("templates"),
            Column("came to"),
            Column("diagnosis"),
            Column("what is lost", number=True),
            Column("finding"),
            Column("what was asked for next"),
        ),
        rows=tuple(rows),
        says="Of each the cause that loses most, with what it rests on.",
    )


def _requests(facts: RunFacts) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for key in facts.book.keys("ask/"):
        data = mapping(facts.book.data(key))
        answers = [mapping(p) for p in items(data.get("proposals"))]
        problem = words(data, "problem")
        rows.append(
            (
                Cell(key.partition("/")[2], float(len(rows)), facts.book.origin(key)),
                Cell(words(data, "proposer")),
                Cell(words(data, "kind")),
                Cell(words(data, "level")),
                Cell(str(len(answers)), len(answers)),
                Cell(problem or "–", standing="unresolved" if problem else None),
            )
        )
    if not rows:
        return None
    return Table(
        title="Requests to the proposer",
        columns=(
            Column("request", number=True),
            Column("proposer"),
            Column("asked for"),
            Column("level"),
            Column("answers", number=True),
            Column("problem"),
        ),
        rows=tuple(rows),
        shown=10,
    )


def ended_text(facts: RunFacts) -> Text | None:
    """Why the generations ended, if the journal says so."""
    stops = [words(facts.book.data(k), "stop") for k in facts.book.keys("go/")]
    told = next((s for s in reversed(stops) if s), "")
    return Text(f"The generations ended: {told}.") if told else None
