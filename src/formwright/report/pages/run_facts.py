"""What a run's journal says, as data: texts, designs, verdicts, times. No drawing, no running."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.report.page import Standing
from formwright.report.pages.entries import Book, at, items, mapping, number, read_json, words
from formwright.report.pages.record_blocks import in_order

REFUSED: Final = ("parse", "match", "claim", "effort", "text", "cost", "source", "answer", "again")
"""Verdicts of a text that never reached the verifier (``docs/loop.md``)."""

LONGEST_NUMBER: Final = 9
"""Digits of a number in a key."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a text is not proved, or a stage that it was refused at."""

    stage: str
    condition: str
    message: str


@dataclass(frozen=True, slots=True)
class TextMade:
    """A text of the run: named by the problem, drawn from the population or proposed.

    ``key`` is what the run calls it (empty for what is no template); ``parents`` are digests, or
    names where the journal has no digest for them. ``step`` is the entry of its verdict.
    """

    key: str
    digest: str
    verdict: str
    step: str
    generation: int | None
    rule: str
    why: str
    proposer: str
    language: str
    parents: tuple[str, ...]
    findings: tuple[Finding, ...]
    proof: Mapping[str, Any]

    @property
    def screened(self) -> bool:
        """Whether it went on to the verifier, or as kernel source to the compiler."""
        return self.verdict not in REFUSED


@dataclass(slots=True)
class Design:
    """A design of one workload, from the solver to its time. Seconds are medians of a call.

    ``key`` is what its build is called, empty where the journal does not say. ``predicted`` is
    what the model said when it was chosen first, ``group`` the round or the generation of that.
    ``timings`` has the entries of its times.
    """

    workload: str
    key: str
    template: str
    assignment: Mapping[str, Any]
    predicted: float | None
    step: str
    group: str
    built: bool | None = None
    build_error: str = ""
    validated: str = ""
    validation: str = ""
    timings: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    failure: str = ""

    @property
    def seconds(self) -> float | None:
        """The last median that the search measured."""
        timed = [number(t, "seconds", "median") for _, t in self.timings]
        return next((t for t in reversed(timed) if t is not None), None)


@dataclass(frozen=True, slots=True)
class Workload:
    """``record``: that of its artifact, empty where nothing is qualified or it cannot be read."""

    name: str
    extents: Mapping[str, Any]
    designs: tuple[Design, ...]
    confirm: Mapping[str, Any]
    qualify: Mapping[str, Any]
    winner: Design | None
    record: Mapping[str, Any]

    @property
    def artifact(self) -> str:
        return words(self.qualify, "artifact")

    @property
    def standing(self) -> Standing:
        """Of the qualification: refuted by a check alone; what came to no artifact for another
        reason (nothing was measured, a check is open) is unresolved."""
        if self.artifact:
            return "held"
        verdicts = mapping(self.qualify.get("checks")).values()
        return "refuted" if any(v == "refuted" for v in verdicts) else "unresolved"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """All of a run, whole or not. ``ended`` is false where a workload is without a verdict."""

    name: str
    folder: Path
    book: Book
    about: Mapping[str, Any]
    texts: tuple[TextMade, ...]
    workloads: tuple[Workload, ...]
    agent: Mapping[str, Any]

    @property
    def ended(self) -> bool:
        return bool(self.workloads) and all(w.qualify for w in self.workloads)


def run_facts(folder: Path, book: Book) -> RunFacts:
    """Reads what stands in ``folder`` and its journal; nothing is run."""
    about = mapping(book.data("about"))
    texts = _texts(book)
    names = list(mapping(about.get("workloads"))) or _seen(book)
    known = {t.key: t.digest for t in texts if t.key}
    known |= {n: str(d) for n, d in mapping(at(book.data("problem"), "templates")).items()}
    agent = mapping(book.data("agent"))
    ran = words(agent, "run").rpartition(" ")[0]
    return RunFacts(
        name=words(about, "problem") or ran or folder.resolve().name,
        folder=folder,
        book=book,
        about=about,
        texts=texts,
        workloads=tuple(_workload(folder, book, name, known, about) for name in names),
        agent=agent,
    )


def _seen(book: Book) -> list[str]:
    """Workloads of a journal that does not list them, in the order of their first step."""
    found = [k.split("/")[1] for k in book.keys("solve/") if k.count("/") == 2]
    found += [k.partition("/")[2] for k in book.keys("qualify/")]
    return list(dict.fromkeys(found))


def _texts(book: Book) -> tuple[TextMade, ...]:
    """In the order of the journal: named ones, then those drawn and proposed by generation."""
    found: list[TextMade] = []
    drawn: dict[str, Mapping[str, Any]] = {}
    generation: int | None = None
    for entry in book.entries:
        kind, _, rest = entry.key.partition("/")
        if kind in ("go", "draw") and (turn := place_of(rest)) is not None:
            generation = turn
        if kind == "draw":
            for data in map(mapping, items(entry.data)):
                drawn[f"prove/{words(data, 'digest')[:12]}"] = data
        elif kind == "prove":
            found.append(_proved(entry.key, mapping(entry.data), drawn.get(entry.key), generation))
        elif kind == "judge":
            found.append(_judged(book, rest, mapping(entry.data), generation, found))
    return tuple(found)


def _proved(
    step: str, data: Mapping[str, Any], drawn: Mapping[str, Any] | None, generation: int | None
) -> TextMade:
    return TextMade(
        key=step.partition("/")[2] if drawn is None else words(drawn, "name"),
        digest=words(data, "digest"),
        verdict=words(data, "verdict"),
        step=step,
        generation=None if drawn is None else generation,
        rule="named" if drawn is None else "drawn",
        why="named by the problem" if drawn is None else "drawn from the population",
        proposer="problem" if drawn is None else "population",
        language="fw",
        parents=() if drawn is None else tuple(map(str, items(drawn.get("parents")))),
        findings=tuple(_open(mapping(data.get("full")))),
        proof=mapping(data.get("full")),
    )


def _open(proof: Mapping[str, Any]) -> list[Finding]:
    return [
        Finding("prove", words(o, "condition"), f"{words(o, 'name')}: {words(o, 'detail')}")
        for o in map(mapping, items(proof.get("obligations")))
        if o.get("verdict") != "proved"
    ]


def _judged(
    book: Book,
    place: str,
    data: Mapping[str, Any],
    generation: int | None,
    before: list[TextMade],
) -> TextMade:
    asked, _, at_number = place.partition("/")
    request = mapping(book.data(f"ask/{asked}"))
    proposals = items(request.get("proposals"))
    turn = place_of(at_number)
    mine = mapping(proposals[turn] if turn is not None and turn < len(proposals) else None)
    source = mapping(book.data(f"source/{asked}-{at_number}"))
    name, text_digest = words(data, "name"), words(data, "digest")
    taken = any(t.key == name for t in before)
    key = (f"{name}-{text_digest[:8]}" if taken else name) if text_digest else ""
    by_name = {t.key: t.digest for t in before if t.key}
    parents = tuple(by_name.get(str(p), str(p)) for p in items(mine.get("parents")))
    if request.get("kind") == "repair" and before:
        # Asked for right after the text that failed, whatever the answer says of its parents.
        failed = before[-1]
        parents = (failed.digest,) if failed.digest else failed.parents
    return TextMade(
        key=key,
        digest=text_digest,
        verdict=words(source, "verdict") or words(data, "verdict"),
        step=f"judge/{place}",
        generation=generation,
        rule=words(mine, "rule"),
        why=words(mine, "why"),
        proposer=words(request, "proposer"),
        language=words(mine, "language") or "fw",
        parents=parents,
        findings=tuple(
            Finding(words(f, "stage"), words(f, "condition"), words(f, "message"))
            for f in map(mapping, items(data.get("findings")))
        ),
        proof=mapping(at(data, "proof", "full")),
    )


def place_of(text: str) -> int | None:
    """The number that a part of a key is; ``None`` for what no run writes there."""
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else None


def _workload(
    folder: Path, book: Book, name: str, known: Mapping[str, str], about: Mapping[str, Any]
) -> Workload:
    qualify = mapping(book.data(f"qualify/{name}"))
    record = _record(folder, words(qualify, "artifact"))
    designs = _designs(book, name, known)
    return Workload(
        name=name,
        extents=in_order(
            mapping(at(about, "workloads", name)) or mapping(at(record, "workload", "extents")),
            items(about.get("formula")) or items(at(record, "contract", "formula")),
        ),
        designs=designs,
        confirm=mapping(book.data(f"confirm/{name}")),
        qualify=qualify,
        winner=_winner(book, name, qualify, record, designs),
        record=record,
    )


def _record(folder: Path, artifact: str) -> Mapping[str, Any]:
    """The record of an artifact below ``folder``; what a journal names elsewhere is not read."""
    path = (folder / artifact / "record.json").resolve()
    if not artifact or not path.is_relative_to(folder.resolve()):
        return {}
    try:
        return read_json(path)
    except InputError:
        return {}


def _designs(book: Book, workload: str, known: Mapping[str, str]) -> tuple[Design, ...]:
    """Every design that the solver chose, once, with what became of it."""
    found: dict[str, Design] = {}
    began = [book.place(key) for key in book.keys("go/")]
    for step in book.keys(f"solve/{workload}/"):
        group, fresh = _group(sum(n < book.place(step) for n in began), step), []
        for data in map(mapping, items(at(book.data(step), "designs"))):
            name, assignment = words(data, "template"), mapping(data.get("assignment"))
            key = words(data, "key") or _key(book, known.get(name, ""), assignment)
            place = key or f"{name} {sorted(assignment.items())}"
            if place not in found:
                fresh.append(place)
                found[place] = Design(
                    workload=workload,
                    key=key,
                    template=name,
                    assignment=assignment,
                    predicted=number(data, "predicted"),
                    step=step,
                    group=group,
                )
        _by_order(book, workload, step, [found[place] for place in fresh])
    for design in found.values():
        if design.key:
            _follow(book, design)
    _timed(book, workload, {d.key: d for d in found.values()})
    return tuple(found.values())


def _group(began: int, step: str) -> str:
    """The generation in which a round was: how many had begun; without any the round."""
    if began:
        return f"generation {began}"
    last = step.rpartition("/")[2]
    turn = place_of(last)
    return last if turn is None else f"round {turn + 1}"


def _key(book: Book, template: str, assignment: Mapping[str, Any]) -> str:
    """What a build is called, for journals that do not say it beside the design."""
    if not template:
        return ""
    key = digest([template, dict(assignment)])[:16]
    return key if book.has(f"build/{key}") else ""


def _by_order(book: Book, workload: str, step: str, designs: Sequence[Design]) -> None:
    """Names the builds of a journal that says them nowhere: new designs of a round are validated
    in the order in which they were chosen. Where the numbers differ nothing is guessed."""
    if not designs or any(d.key for d in designs):
        return
    after = [e.key for e in book.entries[book.place(step) + 1 :]]
    ends = (f"solve/{workload}/", f"measure/{workload}/")
    last = next((n for n, key in enumerate(after) if key.startswith(ends)), len(after))
    start = f"validate/{workload}/"
    keys = [key.removeprefix(start) for key in after[:last] if key.startswith(start)]
    failed = any(words(book.data(k), "error") for k in after[:last] if k.startswith("build/"))
    if len(keys) == len(designs) and not failed:
        for design, key in zip(designs, keys, strict=True):
            design.key = key


def _follow(book: Book, design: Design) -> None:
    build = book.data(f"build/{design.key}")
    if build is None:
        return
    design.build_error = words(build, "error")
    design.built = not design.build_error
    verdict = mapping(book.data(f"validate/{design.workload}/{design.key}"))
    design.validated = words(verdict, "verdict")
    design.validation = words(verdict, "message")


def _timed(book: Book, workload: str, designs: Mapping[str, Design]) -> None:
    """Times of the search and of the last comparison; the confirmation is told apart."""
    steps = [*book.keys(f"measure/{workload}/"), *book.keys(f"final/{workload}")]
    for step in steps:
        for key, timed in mapping(at(book.data(step), "programs")).items():
            design = designs.get(key)
            if design is None:
                continue
            if "failure" in mapping(timed):
                design.failure = words(timed, "failure")
            else:
                design.timings.append((step, mapping(timed)))


def _winner(
    book: Book,
    workload: str,
    qualify: Mapping[str, Any],
    record: Mapping[str, Any],
    designs: tuple[Design, ...],
) -> Design | None:
    """The design that was confirmed; of older journals, the one that the record names."""
    key = words(qualify, "candidate")
    for design in designs:
        if key and design.key == key:
            return design
    name, assignment = words(record, "template", "name"), mapping(record.get("assignment"))
    for design in designs:
        same = dict(design.assignment) == dict(assignment)
        if record and same and design.template.split("-")[0] == name:
            return design
    return None
