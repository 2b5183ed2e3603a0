"""The queries that the proof of a template rests on, as data, obligation by obligation.

The template is proved once more with solvers that note each answer that a proof uses: a query
without a solution (also one that only cuts a way), a point that shows premises to hold
together. What is noted is taken from premises, facts and definitions, not from the solver.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from formwright.ir.template import Template
from formwright.proof.assertions import Recorded
from formwright.proof.certificate import Point, Theorem
from formwright.proof.verdict import Obligation
from formwright.smt.atoms import Atoms
from formwright.smt.cases import Answer
from formwright.smt.certify.laws import bound_laws, laws, menu_laws
from formwright.smt.clock import Clock
from formwright.smt.encode import truth
from formwright.smt.encoding import Encoding
from formwright.smt.goals import Query
from formwright.smt.menus import Cover
from formwright.smt.premises import Premises, scope_premises
from formwright.smt.prover import Prover
from formwright.smt.record import Tagged, record
from formwright.smt.solve import Solver
from formwright.smt.terms import Formula, Number, Poly, conj, constant, negated, polys, symbol


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with the theorems that its proof may use, or a query with its solution.

    ``laws`` relate products; ``more`` say what products with a decision, or with something
    bounded, are.
    """

    query: Recorded
    laws: tuple[Theorem, ...] = ()
    more: tuple[Theorem, ...] = ()
    point: Point | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """An obligation with the answers that it rests on, those of ways cut while it was derived.

    ``designs`` are those that cover the scope, for the obligation that some do.
    """

    obligation: Obligation
    asked: tuple[Asked, ...]
    designs: tuple[dict[str, int], ...] = ()


Listener = Callable[[Asked], None]


class NotingSolver(Solver):
    """Answers as :class:`Solver` does, and tells ``listener`` what a proof may rest on."""

    def __init__(
        self, atoms: Atoms, rules: Premises, clock: Clock, linear: Encoding, listener: Listener
    ) -> None:
        super().__init__(atoms, rules, clock, linear)
        self._symbols, self._listener = atoms, listener

    def answer(self, query: Query, small: bool = True, short: bool = True) -> Answer:
        found = super().answer(query, small, short)
        if found.status == "unsat":
            self._listener(noted(query, self.premises, self._symbols))
        return found

    def consistent(self, formulas: Sequence[Formula]) -> Answer:
        found = super().consistent(formulas)
        if found.status == "sat":
            self._listener(noted_point(formulas, found, self.premises, self._symbols))
        return found


class NotingProver(Prover):
    """Derives and settles the obligations of one inlined template, answers noted."""

    def __init__(self, template: Template, clock: Clock) -> None:
        self._noted: list[Asked] = []
        self._designs: tuple[dict[str, int], ...] = ()
        super().__init__(template, None, clock)

    def _solver(self, rules: Premises) -> Solver:
        return NotingSolver(self._atoms, rules, self._clock, self._linear, self._noted.append)

    def _covered(self, found: Cover) -> None:
        if found.status == "proved":
            self._designs = found.designs
            self._noted.append(noted_cover(self._template, found.designs, self._atoms))

    def collect(self, condition: str, progress: Callable[[str], None]) -> Iterator[Collected]:
        """The obligations (of one ``condition``, if it is not empty), as a proof lists them."""
        tasks = [t for t in self.tasks() if condition in ("", t.condition)]
        derived = tuple(self._noted)
        for number, task in enumerate(tasks):
            progress(f"{number + 1}/{len(tasks)} {task.name}")
            self._noted.clear()
            self._designs = ()
            obligation = task.settle(float("inf"))
            yield Collected(obligation, (*derived, *self._noted), self._designs)
            derived = ()


def noted(query: Query, rules: Premises, atoms: Atoms) -> Asked:
    """The query with all of its premises."""
    goal: list[Tagged] = [("goal", query.goal), *(("fact", f) for f in query.facts)]
    whole, names = _whole(goal, query.hints, rules, atoms)
    formulas = [f for _, f in whole]
    related = laws([conj(f for _, f in goal)], query.hints, names, rules.positive, atoms)
    used = {n: menu for n, menu in rules.menus.items() if n in names}
    return Asked(record(whole, atoms), related, menu_laws(formulas, used))


def noted_point(
    formulas: Sequence[Formula], answer: Answer, rules: Premises, atoms: Atoms
) -> Asked:
    """What a point meets, and the point; what is defined has the value of its definition."""
    query = point_query(formulas, rules, atoms)
    return Asked(query, point=_point(query, answer.values, atoms))


def point_query(formulas: Sequence[Formula], rules: Premises, atoms: Atoms) -> Recorded:
    """``formulas`` and every premise, menus too."""
    whole, _ = _whole([("fact", f) for f in formulas], (), rules, atoms)
    return record(whole, atoms)


def _point(query: Recorded, values: Mapping[str, Number], atoms: Atoms) -> Point:
    """Symbols that the answer leaves out have no say; they are 0, or what they are defined as."""
    known = {n: values.get(n, 0) for n, _ in query.sorts if n not in atoms.by_name}
    return Point(tuple((n, Fraction(atoms.value(symbol(n), known))) for n, _ in query.sorts))


def _whole(
    goal: Sequence[Tagged], hints: Sequence[Poly], rules: Premises, atoms: Atoms
) -> tuple[list[Tagged], tuple[str, ...]]:
    """``goal`` with premises, menus and definitions, and the names of all of them."""
    assumed = (*rules.scope, *rules.conditions)
    direct = {n for f in (*(f for _, f in goal), *assumed) for p in polys(f) for n in p.symbols()}
    names = atoms.closure(direct | {n for p in hints for n in p.symbols()})
    whole = [*goal, *(("premise", f) for f in assumed)]
    whole += [("bound", f) for f in rules.bounds()]
    whole += [("menu", f) for f in rules.members()]
    whole += [("definition", atoms.definition(n)) for n in names if n in atoms.by_name]
    return whole, names


def noted_cover(template: Template, designs: Sequence[Mapping[str, int]], atoms: Atoms) -> Asked:
    """K3: the scope where none of the designs fits."""
    conditions = [c.condition for c in template.constraints]
    whole: list[Tagged] = [("premise", f) for f in scope_premises(template, atoms)]
    for design in designs:
        env = {n: constant(v) for n, v in design.items()}
        whole.append(("goal", negated(conj(truth(c, env, atoms) for c in conditions))))
    names = atoms.closure({n for _, f in whole for p in polys(f) for n in p.symbols()})
    whole += [("definition", atoms.definition(n)) for n in names if n in atoms.by_name]
    formulas = [f for _, f in whole]
    related = laws(formulas, (), names, frozenset(), atoms)
    return Asked(record(whole, atoms), related, bound_laws(formulas))
