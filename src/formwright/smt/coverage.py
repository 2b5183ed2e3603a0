"""Coverage and definedness: the run that must exist, by mixed-radix division of the nest."""

from collections.abc import Sequence

from formwright.ir.program import For, If
from formwright.smt.atoms import Atoms
from formwright.smt.chains import (
    Chain,
    Step,
    insides,
    leaf_places,
    step_conditions,
    target,
)
from formwright.smt.encode import number, truth
from formwright.smt.forms import skeleton
from formwright.smt.goals import Query
from formwright.smt.instances import fresh
from formwright.smt.sites import Frame
from formwright.smt.targets import Somewhere, Stages, Target
from formwright.smt.terms import ZERO, All, Eq, Formula, Poly, conj, eq, negated
from formwright.smt.tokens import Tokens
from formwright.smt.walks import Chains
from formwright.smt.witness import eliminate, mixed_radix


class Coverage:
    """States the two goals for the statements that compute one line."""

    def __init__(
        self, target: Target, chains: Chains, stages: Stages, tokens: Tokens, atoms: Atoms
    ) -> None:
        self._target = target
        self._chains = chains
        self._stages = stages
        self._tokens = tokens
        self._atoms = atoms

    def coverage(self) -> Sequence[Query]:
        """For each product of the line and each cell that has to be right, one query."""
        return [
            self._covered(product, there)
            for there in self._target.wanted()
            for product in range(len(self._tokens.products))
        ]

    def _covered(self, product: int, there: Somewhere) -> Query:
        ranges, reduction = self._tokens.arbitrary_reduction()
        facts = [*there.facts, *ranges, *self._tokens.masks(product, there.place, reduction)]
        if self._target.line.combine == "max":
            ways = self._values(product, there, reduction)
        else:
            ways = self._terms(product, there, reduction)
        wrong: list[Formula] = []
        hints: list[Poly] = []
        for done, agree in ways:
            parts = [step_conditions(done, n, self._atoms) for n in range(len(done.steps))]
            facts += [f for _, owner in parts for f in owner]
            valid = [v for v, _ in parts] + insides(done, self._atoms)
            wrong.append(negated(conj((*valid, *agree))))
            hints += self._hints(done)
        named = zip(self._tokens.names()[len(there.place) :], reduction, strict=True)
        return Query(tuple(facts), conj(wrong), tuple(hints), (), (*there.given, *named))

    def _terms(
        self, product: int, there: Somewhere, reduction: Sequence[Poly]
    ) -> list[tuple[Chain, list[Formula]]]:
        """Chains to the term of a sum, with what makes them chains to it."""
        goals = (*there.cell, *reduction)
        found: list[tuple[Chain, list[Formula]]] = []
        for site in self._target.writers:
            among = self._chains.of_sum(site, f"w{site.number}")
            for chain in among:
                token = self._tokens.of(chain, among)
                if token is None or token.product != product:
                    continue
                forms = (*token.cell, *token.reduction)
                values = self._witness(chain, forms, goals, _equations(token.agrees))
                done = chain.substituted(values)
                reached = self._tokens.of(done, [c.substituted(values) for c in among])
                assert reached is not None
                pairs = zip((*reached.cell, *reached.reduction), goals, strict=True)
                found.append((done, [reached.agrees, *(eq(a, b) for a, b in pairs)]))
        return found

    def _values(
        self, product: int, there: Somewhere, reduction: Sequence[Poly]
    ) -> list[tuple[Chain, list[Formula]]]:
        """Chains to the value of a maximum: to the same cells, whatever the indices."""
        env = dict(zip(self._tokens.names(), (*there.place, *reduction), strict=True))
        wanted = [p for leaf in self._tokens.leaf_values(product, env) for p in leaf]
        goals = (*there.cell, *wanted)
        mine = skeleton(self._tokens.products[product].form)
        found: list[tuple[Chain, list[Formula]]] = []
        for site in self._target.writers:
            for chain in self._chains.of_maximum(site, f"w{site.number}"):
                if skeleton(chain.form) != mine:
                    continue
                values = self._witness(chain, self._reached(chain), goals)
                done = chain.substituted(values)
                pairs = zip(self._reached(done), goals, strict=True)
                found.append((done, [eq(a, b) for a, b in pairs]))
        return found

    def _reached(self, chain: Chain) -> tuple[Poly, ...]:
        """The cell of the storage that a chain ends in, and the cells of its leaves."""
        cells = leaf_places(chain, self._stages, self._atoms)
        cell = self._target.cell(chain.steps[0].instance)
        return (*cell, *(p for found in cells for p in found))

    def _hints(self, chain: Chain) -> tuple[Poly, ...]:
        inputs = [p for found in leaf_places(chain, self._stages, self._atoms) for p in found]
        return (*target(chain, self._atoms).index, *inputs)

    def _witness(
        self,
        chain: Chain,
        forms: Sequence[Poly],
        goals: Sequence[Poly],
        alike: Sequence[Poly] = (),
    ) -> dict[str, Poly]:
        """Mixed-radix digits of each index; what no index fixes, guards or first values do."""
        open_names = chain.open_symbols()
        values: dict[str, Poly] = {}
        for form, goal in zip(forms, goals, strict=True):
            left = [n for n in open_names if n not in values]
            values.update(mixed_radix(goal, form.substituted(values), left, self._atoms))
        left = [n for n in open_names if n not in values]
        equations = [*(p.substituted(values) for p in alike), *_guard_equations(chain, self._atoms)]
        more, _ = eliminate(equations, left, self._atoms)
        values.update(more)
        values.update(self._blocks(chain, open_names, values))
        values.update(self._quotients(chain, open_names, values))
        for step in chain.steps:
            for frame in step.instance.site.frames:
                for name in frame.binds():
                    own = step.instance.env[name].symbols()
                    for free in sorted(n for n in own if n in open_names and n not in values):
                        values[free] = self._plausible(chain, step, frame, name).substituted(values)
        return values

    def _quotients(
        self, chain: Chain, open_names: Sequence[str], values: dict[str, Poly]
    ) -> dict[str, Poly]:
        """Which tile an index falls in, where what is left over is known: ``r = f - i*T``."""
        found: dict[str, Poly] = {}
        for step in chain.steps:
            for frame in step.instance.site.frames:
                for name in frame.binds():
                    rest = step.instance.env[name].substituted({**values, **found})
                    known = {**values, **found}
                    left = [n for n in open_names if n in rest.symbols() and n not in known]
                    whole = rest.substituted(dict.fromkeys(left, ZERO))
                    tiles = (rest - whole).scaled(-1)
                    if left and all(c > 0 for _, c in tiles.terms) and tiles != rest:
                        first = self._first(frame, step).substituted(known)
                        found.update(mixed_radix(whole - first, tiles, left, self._atoms))
        return found

    def _first(self, frame: Frame, step: Step) -> Poly:
        node = frame.node
        return number(node.lo, step.instance.env, self._atoms) if isinstance(node, For) else ZERO

    def _plausible(self, chain: Chain, step: Step, frame: Frame, name: str) -> Poly:
        """The iteration of the reader where both run in one loop; else the first."""
        if step.reader is not None:
            reader = chain.steps[step.reader].instance
            if any(f.node is frame.node for f in reader.site.frames[:-1]):
                return reader.env[name]
        return self._first(frame, step)

    def _blocks(
        self, chain: Chain, open_names: Sequence[str], values: dict[str, Poly]
    ) -> dict[str, Poly]:
        """Which block a known iteration is in, where a loop begins at one: ``q in p*T ..``."""
        found: dict[str, Poly] = {}
        for step in chain.steps:
            env = step.instance.env
            for frame in step.instance.site.frames:
                if not isinstance(frame.node, For):
                    continue
                known = {**values, **found}
                first = number(frame.node.lo, env, self._atoms).substituted(known)
                left = [n for n in open_names if n in first.symbols()]
                at = env[frame.node.var].substituted(known)
                if left and not at.symbols() & set(left):
                    found.update(mixed_radix(at, first, left, self._atoms))
        return found

    def defined(self) -> Sequence[Query]:
        """Of the output: a cell of a stage that is read has its assignment by ``readiness``."""
        return [self._assigned(there) for there in self._target.wanted()]

    def _assigned(self, there: Somewhere) -> Query:
        facts = list(there.facts)
        wrong: list[Formula] = []
        hints: list[Poly] = []
        for site in self._target.writers:
            if site.apply.op != "=":
                continue
            run = fresh(site, f"w{site.number}", {}, 0)
            chain = Chain((Step(run),))
            guard, _ = eliminate(
                _guard_equations(chain, self._atoms), chain.open_symbols(), self._atoms
            )
            first = chain.substituted(guard)
            forms = self._target.cell(first.steps[0].instance)
            done = first.substituted(self._witness(first, forms, there.cell))
            valid, owner = step_conditions(done, 0, self._atoms)
            made = self._target.cell(done.steps[0].instance)
            same = conj(eq(a, b) for a, b in zip(made, there.cell, strict=True))
            facts += owner
            wrong.append(negated(conj((valid, same))))
            hints += target(done, self._atoms).index
        return Query(tuple(facts), conj(wrong), tuple(hints), (), there.given)


def _guard_equations(chain: Chain, atoms: Atoms) -> list[Poly]:
    """Guards such as ``pc = 0`` of all runs of the chain."""
    found: list[Poly] = []
    for step in chain.steps:
        for frame in step.instance.site.frames:
            if isinstance(frame.node, If):
                cond = truth(frame.node.cond, step.instance.env, atoms)
                found += _equations(cond)
    return found


def _equations(formula: Formula) -> list[Poly]:
    """Polynomials that a conjunction says are 0."""
    parts = formula.parts if isinstance(formula, All) else (formula,)
    return [part.poly for part in parts if isinstance(part, Eq)]
