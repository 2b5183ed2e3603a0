"""What the conditions of one step have in common: invariants, what is related, cases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from formwright.base.source import Span
from formwright.ir.expr import Cell, Compare, Expr, Logic, Var
from formwright.ir.system import Action, Index, Refinement, StateVar, System
from formwright.ir.template import Template
from formwright.smt.atoms import Atoms
from formwright.smt.step.firing import Firing, Step, acting, steps
from formwright.smt.step.known import Case, Universal
from formwright.smt.step.state import (
    COARSE,
    Before,
    Cells,
    Names,
    View,
    inside,
    key_of,
    variables_of,
)
from formwright.smt.step.totals import total_facts
from formwright.smt.terms import Poly, symbol


@dataclass(frozen=True, slots=True)
class Kept:
    """What holds at the start and after every step: a clause of the relation, or a range."""

    name: str
    condition: str
    forall: tuple[Index, ...]
    holds: Expr
    prefix: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Acting:
    """An arbitrary related state in which an action acts, and its steps."""

    case: Case
    firing: Firing
    steps: tuple[Step, ...]


class Setting:
    """One step of an inlined template; symbols are shared by all of its conditions."""

    def __init__(
        self,
        template: Template,
        refinement: Refinement,
        atoms: Atoms,
        positive: frozenset[str] = frozenset(),
    ) -> None:
        scope = template.scope
        parameters = (*scope.extents, *scope.agents, *scope.given, *scope.chip)
        rigid = {p.name for p in parameters} | {d.name for d in template.decisions}
        variables = variables_of(refinement.coarse, refinement.fine)
        self.refinement = refinement
        self.atoms = atoms
        tokens = {t.name: symbol(f"{t.name}@@") for t in self.all_tokens()}
        self.cells = Cells(atoms, frozenset(rigid), variables, tokens, positive)
        self._acting: dict[str, Acting] = {}

    @property
    def systems(self) -> tuple[tuple[System, str], tuple[System, str]]:
        """Both systems, each with what stands before the names of its variables."""
        return ((self.refinement.fine, ""), (self.refinement.coarse, COARSE))

    def all_tokens(self) -> Iterator[Index]:
        """Those of the fine system, then those that only the coarse one has."""
        fine = self.refinement.fine.tokens
        yield from fine
        known = {t.name for t in fine}
        yield from (t for t in self.refinement.coarse.tokens if t.name not in known)

    def names(self, view: View | None = None, prefix: str = "") -> Names:
        bound = self.cells.tokens_of(prefix)
        return Names(view or Before(self.cells), self.cells, bound, prefix)

    def tokens(self, known: Sequence[Universal] = ()) -> Case:
        """Arbitrary tokens in their ranges, and what is ``known`` of the state."""
        case = Case(self.cells, [*known])
        names = self.names()
        for token in self.all_tokens():
            value: Poly = self.cells.tokens[token.name]
            case.rigid.append(inside(token, value, names))
            case.tokens.append((key_of(token), value))
            case.named[token.name] = value
        return case

    def case(self) -> Case:
        """An arbitrary related state."""
        return self.tokens(self.related)

    def acting(self, action: Action) -> Acting:
        found = self._acting.get(action.name)
        if found is None:
            case = self.case()
            firing = acting(action, case)
            found = Acting(case, firing, tuple(steps(self.refinement, firing)))
            self._acting[action.name] = found
        return found

    def stepping(self, action: Action) -> Iterator[tuple[Step, Case]]:
        """Each step of ``action`` with a case of its own."""
        acting = self.acting(action)
        for step in acting.steps:
            case = acting.case.copy()
            case.facts += step.facts
            yield step, case

    @cached_property
    def related(self) -> list[Universal]:
        """Clauses and totals; ranges of variables are facts of every case."""
        found = [*self.clauses]
        for total in self.refinement.totals:
            found += total_facts(total, self.names())
        return found

    @cached_property
    def clauses(self) -> list[Universal]:
        """What is related without the totals."""
        names = self.names()
        return [
            Universal(i.clause.forall, i.clause.condition, names) for i in self.refinement.relation
        ]

    @cached_property
    def kept(self) -> list[Kept]:
        relation = [
            Kept(i.name, "relation", i.clause.forall, i.clause.condition, "", i.span)
            for i in self.refinement.relation
        ]
        ranges = [_range(v, prefix) for system, prefix in self.systems for v in system.state]
        return [*relation, *(r for r in ranges if r is not None)]


def _range(variable: StateVar, prefix: str) -> Kept | None:
    """That an integer stays between the bounds that its line states."""
    index = () if variable.index is None else (variable.index,)
    value: Expr = Var(variable.name)
    if variable.index is not None:
        value = Cell(variable.name, (Var(variable.index.name),))
    parts: list[Expr] = []
    if variable.lo is not None:
        parts.append(Compare("<=", variable.lo, value))
    if variable.hi is not None:
        parts.append(Compare("<", value, variable.hi))
    if not parts or variable.sort == "bool":
        return None
    holds = parts[0] if len(parts) == 1 else Logic("and", parts[0], parts[1])
    return Kept(prefix + variable.name, "range", index, holds, prefix, variable.span)
