"""What every obligation rests on, looked at again: certificates checked, a sample re-proved.

Conditions are derived again and answered from the kept grounds alone, so that all certificates
are checked each time and z3 has no say. A seeded sample (or everything) is then proved again
by z3, and second opinions in it are asked for again.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, assert_never

from formwright.flow.kept_faults import Fault, kept_faults, text_faults
from formwright.flow.subjects import SHIPPED, everything, grounds_folder, walk
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.proof.certificate import Contradiction, Point, certificate_json
from formwright.proof.grounds import (
    Agreement,
    Alone,
    Found,
    Grounds,
    Subject,
    grounds_path,
    read_grounds,
)
from formwright.proof.kept import solver_version
from formwright.proof.store import template_digest
from formwright.proof.verdict import Obligation
from formwright.smt.certify.grounded import Checked, GroundedProver, Looked
from formwright.smt.certify.second import Second, opinion, second_solvers
from formwright.smt.clock import Clock
from formwright.smt.prover import Prover

Progress = Callable[[str], None]
Rests = Literal["certificate", "second solver", "z3 alone", "content", "nothing"]
"""``content``: compared or derived, without a query."""

SAMPLE = 0.05
"""The part of the obligations of a template that is proved again, at least one."""

SECONDS = 20.0
"""The most that a second solver takes over one query."""


@dataclass(frozen=True, slots=True)
class Row:
    """One obligation. ``bytes`` of its certificates, ``seconds`` that checking them took.

    ``fault``: why it does not hold; empty where it does. ``reproved``: z3 was asked again.
    """

    template: str
    name: str
    condition: str
    rests: Rests
    by: str
    queries: int
    bytes: int
    seconds: float
    reproved: bool
    fault: str

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Audited:
    """``faults`` are entries of files (by file and name) that are damaged or out of place."""

    rows: tuple[Row, ...]
    faults: tuple[Fault, ...]
    seed: int
    seconds: float

    @property
    def held(self) -> bool:
        """Every obligation has a certificate or a second opinion, and nothing is damaged."""
        return bool(self.rows) and not self.faults and not any(r.fault for r in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Stable keys of ``formwright audit --json``."""
        return {
            "schema": 1,
            "held": self.held,
            "seed": self.seed,
            "seconds": self.seconds,
            "obligations": [r.as_json() for r in self.rows],
            "faults": [{"file": f.file, "entry": f.entry, "reason": f.reason} for f in self.faults],
        }


def audit(
    references: Sequence[str] = (),
    *,
    everything_again: bool = False,
    seed: int | None = None,
    folders: Sequence[Path] | None = None,
    store: Path | None = None,
    progress: Progress | None = None,
    solvers: Sequence[Second] | None = None,
) -> Audited:
    """Looks at all obligations of ``references``, by default of all that ships.

    ``folders`` have grounds, the user's and those of the package by default; ``store`` is the
    folder of kept proofs. Raises :class:`InputError` for a text that does not parse.
    """
    start = time.perf_counter()
    known = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    work = _Audit(
        folders=(grounds_folder(), SHIPPED) if folders is None else folders,
        solvers=second_solvers() if solvers is None else solvers,
        choose=random.Random(known),
        everything=everything_again,
        say=progress or (lambda _: None),
    )
    for reference in references or everything():
        for o in walk(reference, work.settle):
            fault = "" if o.verdict == "proved" else f"{o.verdict}: {o.detail}"
            work.rows.append(
                Row(reference, o.name, o.condition, "content", "", 0, 0, 0, False, fault)
            )
        work.faults += text_faults(reference, store)
    faults = [*work.faults, *kept_faults(store, everything_again, work.choose, work.proved)]
    return Audited(tuple(work.rows), tuple(faults), known, time.perf_counter() - start)


class _Audit:
    """One audit while it goes on; ``proved`` has the obligations of each template digest."""

    def __init__(
        self,
        folders: Sequence[Path],
        solvers: Sequence[Second],
        choose: random.Random,
        everything: bool,
        say: Progress,
    ) -> None:
        self._folders = folders
        self._solvers = solvers
        self.choose = choose
        self._everything = everything
        self._say = say
        self.rows: list[Row] = []
        self.faults: list[Fault] = []
        self.proved: dict[str, frozenset[str]] = {}

    def settle(self, template: Template, condition: str) -> tuple[Obligation, ...]:
        """The rows of one template; its obligations with the verdicts that their grounds show."""
        digest, plain = template_digest(template), inlined(template)
        grounds = self._grounds(Subject(template.name, digest, condition, ""))
        prover = GroundedProver(plain, grounds)
        checked = list(prover.checked(condition, lambda t: self._say(f"{template.name}: {t}")))
        again = self._again(plain, condition, self._sample(checked))
        derived = {(c.obligation.condition, _queries(c)) for c in checked}
        for kept in grounds.obligations:
            if (kept.condition, frozenset(kept.queries)) not in derived:
                reason = "grounds for an obligation that the template does not have"
                self.faults.append(Fault(template.name, kept.name, reason))
        rows = [self._row(template.name, c, again.get(c.obligation.name)) for c in checked]
        self.rows += rows
        good = {r.name for r in rows if not r.fault}
        if not condition:
            z3 = {r.name for r in rows if r.rests == "z3 alone"}
            self.proved[digest] = frozenset(good | z3)
        return tuple(
            replace(c.obligation, verdict="proved" if c.obligation.name in good else "unresolved")
            for c in checked
        )

    def _grounds(self, subject: Subject) -> Grounds:
        """The first file of the folders; what is damaged in it is a fault, and not used."""
        for folder in self._folders:
            path = grounds_path(folder, subject.digest, subject.condition)
            found: Found = read_grounds(path)
            self.faults += [Fault(path.name, entry, reason) for entry, reason in found.faults]
            if found.grounds is None:
                continue
            kept = found.grounds.subject
            if (kept.digest, kept.condition) != (subject.digest, subject.condition):
                self.faults.append(Fault(path.name, "subject", "it is of another template"))
                continue
            return found.grounds
        return Grounds(subject, (), {})

    def _sample(self, checked: Sequence[Checked]) -> frozenset[str]:
        """Obligations for z3: those whose grounds do not show them, and some of the others."""
        names = [c.obligation.name for c in checked]
        if self._everything:
            return frozenset(names)
        count = min(len(names), max(1, round(SAMPLE * len(names))))
        picked = self.choose.sample(names, count)
        return frozenset([*picked, *(c.obligation.name for c in checked if _open(c))])

    def _again(
        self, plain: Template, condition: str, names: frozenset[str]
    ) -> dict[str, Obligation]:
        prover = Prover(plain, None, Clock(5000, 60.0))
        found: dict[str, Obligation] = {}
        for task in prover.tasks():
            if task.name in names and condition in ("", task.condition):
                self._say(f"{plain.name}: z3 on {task.name}")
                found[task.name] = task.settle(60.0)
        return found

    def _row(self, template: str, checked: Checked, again: Obligation | None) -> Row:
        """The weakest of its queries is what an obligation rests on."""
        o = checked.obligation
        used = [look for look in checked.looked if look.ground is not None]
        rests, by = _weakest(used)
        rejected = [f"{look.digest[:12]}: {look.fault}" for look in used if look.fault]
        fault = "; ".join(rejected)
        shown = again is not None and again.verdict == "proved"
        if o.verdict != "proved":
            rests, by = ("z3 alone", "") if shown and not rejected else ("nothing", "")
            fault = fault or f"unresolved: {o.detail}"
        if again is not None and not shown:
            fault = fault or f"z3 does not prove it again: {again.verdict}: {again.detail}"
        if rests == "z3 alone":
            fault = fault or f"unresolved: {by}"
        fault = fault or self._second(used, again is not None)
        return Row(
            template=template,
            name=o.name,
            condition=o.condition,
            rests=rests,
            by=by,
            queries=len(used),
            bytes=sum(_size(look) for look in used),
            seconds=sum(look.seconds for look in used),
            reproved=again is not None,
            fault=fault,
        )

    def _second(self, used: Sequence[Looked], again: bool) -> str:
        """Second opinions of what is looked at again, asked for anew; why one does not stand."""
        for look in used:
            if not again or not isinstance(look.ground, Agreement):
                continue
            if not self._solvers:
                return "unresolved: no second solver"
            query, laws = look.asked.query, (*look.asked.laws, *look.asked.more)
            said = opinion(query, laws, SECONDS, self._solvers)
            if said is not None and said.answer == "sat":
                return f"the solvers disagree: {solver_version()} unsat, {said.solver} sat"
            if said is not None and said.answer == "unknown":
                return f"unresolved: {said.solver} does not say: {said.detail}"
        return ""


def _queries(checked: Checked) -> frozenset[str]:
    """What was found for an obligation. Names have lines in them, which may move."""
    return frozenset(look.digest for look in checked.looked if look.ground is not None)


def _open(checked: Checked) -> bool:
    return checked.obligation.verdict != "proved" or any(
        isinstance(look.ground, Alone) for look in checked.looked
    )


def _weakest(used: Sequence[Looked]) -> tuple[Rests, str]:
    rests: Rests = "certificate" if used else "content"
    by = ""
    for look in used:
        match look.ground:
            case Contradiction() | Point() | None:
                pass
            case Agreement(second, reading):
                if rests == "certificate":
                    rests, by = "second solver", f"{second}, {reading}"
            case Alone(reason):
                return "z3 alone", reason
            case _:
                assert_never(look.ground)
    return rests, by


def _size(look: Looked) -> int:
    if isinstance(look.ground, Contradiction | Point):
        return len(str(certificate_json(look.ground)).replace(" ", ""))
    return 0
