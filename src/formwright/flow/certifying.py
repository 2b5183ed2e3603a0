"""Certificates for a template or a chain: made one by one, kept at once, gone on with later."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formwright.flow.subjects import SHIPPED, everything, grounds_folder, walk
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.proof.assertions import query_digest
from formwright.proof.certificate import Contradiction, Point
from formwright.proof.checker import RejectedError, check
from formwright.proof.grounds import (
    Agreement,
    Alone,
    Ground,
    Grounds,
    Resting,
    Subject,
    grounds_path,
    read_grounds,
    write_grounds,
)
from formwright.proof.kept import solver_version
from formwright.proof.store import template_digest
from formwright.proof.verdict import Obligation
from formwright.smt.certify.collect import Asked, Collected, NotingProver
from formwright.smt.certify.produce import certificate
from formwright.smt.certify.second import Opinion, Second, opinion, second_solvers
from formwright.smt.certify.tree import Limits
from formwright.smt.clock import Clock

Progress = Callable[[str], None]

CALL_MILLISECONDS = 10_000
"""The most that one call of the first solver takes here: certifying is nobody's inner loop."""


@dataclass(frozen=True, slots=True)
class Part:
    """One template of what was certified. ``open`` names obligations with why they are not.

    ``certificates`` and ``points`` are checked certificates, ``agreements`` second opinions;
    ``kept`` of them were there before. ``bytes`` is the size of the file.
    """

    template: str
    condition: str
    path: str
    obligations: int
    certificates: int
    points: int
    agreements: int
    kept: int
    bytes: int
    seconds: float
    open: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        shown = {name: getattr(self, name) for name in self.__slots__ if name != "open"}
        return {**shown, "open": [{"name": n, "reason": r} for n, r in self.open]}


@dataclass(frozen=True, slots=True)
class Certified:
    parts: tuple[Part, ...]

    @property
    def held(self) -> bool:
        """Every obligation is proved and has a certificate or a second opinion."""
        return not any(part.open for part in self.parts)

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``formwright certify --json``."""
        return {"schema": 1, "held": self.held, "parts": [p.as_json() for p in self.parts]}


@dataclass(slots=True)
class _Work:
    """The file of one template while it grows."""

    subject: Subject
    path: Path
    known: dict[str, Ground]
    limits: Limits
    solvers: Sequence[Second]
    again: bool
    grounds: dict[str, Ground] = field(default_factory=dict)
    obligations: list[Resting] = field(default_factory=list)
    open: list[tuple[str, str]] = field(default_factory=list)
    kept: int = 0

    def add(self, found: Collected, say: Progress) -> bool:
        """Grounds for one obligation; whether there is anything new in the file."""
        o, new = found.obligation, False
        if o.verdict != "proved":
            self.open.append((o.name, f"{o.verdict}: {o.detail}"))
            return False
        queries: list[str] = []
        for number, asked in enumerate(found.asked):
            key = query_digest(asked.query)
            queries.append(key)
            if key in self.grounds:
                continue
            known = self.known.get(key)
            if known is not None and _holds(asked, known, self.again):
                self.grounds[key] = known
                self.kept += 1
                continue
            say(f"{o.name}, query {number + 1} of {len(found.asked)}")
            self.grounds[key] = ground(asked, self.limits, self.solvers)
            new = True
        designs = tuple(tuple(sorted(d.items())) for d in found.designs)
        unique = tuple(dict.fromkeys(queries))
        self.obligations.append(Resting(o.name, o.group, o.condition, unique, designs))
        alone = [g.reason for q in unique if isinstance(g := self.grounds[q], Alone)]
        self.open += [(o.name, f"unresolved: {reason}") for reason in alone[:1]]
        return new

    def write(self) -> None:
        """What is done so far, with what an earlier run did further on."""
        grounds = {**self.known, **self.grounds}
        write_grounds(self.path, Grounds(self.subject, tuple(self.obligations), grounds))

    def finish(self) -> None:
        """Exactly what the obligations rest on."""
        write_grounds(self.path, Grounds(self.subject, tuple(self.obligations), self.grounds))


def _holds(asked: Asked, known: Ground, again: bool) -> bool:
    if isinstance(known, Agreement | Alone):
        return isinstance(known, Agreement) and not again
    try:
        check(asked.query, known)
    except RejectedError:
        return False
    return True


def ground(asked: Asked, limits: Limits, solvers: Sequence[Second]) -> Ground:
    """A certificate; else a second solver's agreement; else why there is neither."""
    found = certificate(asked, limits)
    if not isinstance(found, str):
        return found
    if asked.point is not None:
        return Alone(found)
    second = opinion(asked.query, (*asked.laws, *asked.more), limits.seconds, solvers)
    if second is None:
        return Alone(f"no second solver ({found})")
    return judged(second, found)


def judged(second: Opinion, why: str) -> Ground:
    """What a second solver's answer is worth where the first said ``unsat``."""
    match second.answer:
        case "unsat":
            return Agreement(second.solver, second.reading)
        case "sat":
            return Alone(f"the solvers disagree: {solver_version()} unsat, {second.solver} sat")
        case "unknown":
            return Alone(f"{second.solver} does not say: {second.detail} ({why})")


def certify(
    references: Sequence[str] = (),
    *,
    folder: Path | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    solvers: Sequence[Second] | None = None,
    again: bool = False,
) -> Certified:
    """Grounds for every obligation of templates and chains, by default of all that ship.

    Kept in ``folder``, or else in the user's cache; certificates that ship are taken over.
    Interrupted, the same call goes on. ``again``: second opinions are not enough, a certificate
    is looked for once more. Raises :class:`InputError` for a text that does not parse.
    """
    say = progress or (lambda _: None)
    out = folder or grounds_folder()
    asked = second_solvers() if solvers is None else solvers
    parts: list[Part] = []

    def settle(template: Template, condition: str) -> tuple[Obligation, ...]:
        part, obligations = _part(template, condition, out, limits or Limits(), asked, again, say)
        parts.append(part)
        return obligations

    for reference in references or everything():
        open_ = [(o.name, f"{o.verdict}: {o.detail}") for o in walk(reference, settle) if _fails(o)]
        if open_:
            parts.append(Part(reference, "", "", len(open_), 0, 0, 0, 0, 0, 0.0, tuple(open_)))
    return Certified(tuple(parts))


def _fails(o: Obligation) -> bool:
    return o.verdict != "proved"


def _part(
    template: Template,
    condition: str,
    out: Path,
    limits: Limits,
    solvers: Sequence[Second],
    again: bool,
    say: Progress,
) -> tuple[Part, tuple[Obligation, ...]]:
    start = time.perf_counter()
    subject = Subject(template.name, template_digest(template), condition, solver_version())
    path = grounds_path(out, subject.digest, condition)
    work = _Work(subject, path, known_grounds(out, subject), limits, solvers, again)
    obligations: list[Obligation] = []
    prover = NotingProver(inlined(template), Clock(CALL_MILLISECONDS, 120.0))
    for collected in prover.collect(condition, lambda t: say(f"{template.name}: {t}")):
        obligations.append(collected.obligation)
        if work.add(collected, lambda t: say(f"{template.name}: {t}")):
            work.write()
    work.finish()
    kinds = list(work.grounds.values())
    part = Part(
        template=template.name,
        condition=condition,
        path=str(path),
        obligations=len(obligations),
        certificates=sum(isinstance(g, Contradiction) for g in kinds),
        points=sum(isinstance(g, Point) for g in kinds),
        agreements=sum(isinstance(g, Agreement) for g in kinds),
        kept=work.kept,
        bytes=path.stat().st_size,
        seconds=time.perf_counter() - start,
        open=tuple(work.open),
    )
    return part, tuple(obligations)


def known_grounds(out: Path, subject: Subject) -> dict[str, Ground]:
    """What is kept of templates of that name, as far as it is whole: most edits spare queries."""
    found: dict[str, Ground] = {}
    for folder in (SHIPPED, out):
        for path in sorted(folder.glob("*.json")):
            if _names(path, subject.template):
                kept = read_grounds(path).grounds
                found.update({} if kept is None else kept.grounds)
    return found


def _names(path: Path, template: str) -> bool:
    """Whether the first line is of a file about that template, damaged or not."""
    with path.open("rb") as stream:
        return f'"template":{json.dumps(template)}'.encode() in stream.readline()
