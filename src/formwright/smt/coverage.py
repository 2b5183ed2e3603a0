"""Coverage and definedness: the run that must exist, by mixed-radix division of the nest."""

from collections.abc import Sequence

from formwright.ir.program import For, If
from formwright.smt.atoms import Atoms
from formwright.smt.chains import (
    Chain,
    Chains,
    Step,
    factor_cells,
    read_conditions,
    step_conditions,
    target,
)
from formwright.smt.encode import number, truth
from formwright.smt.goals import Query
from formwright.smt.instances import fresh
from formwright.smt.sites import Frame, Site
from formwright.smt.terms import ZERO, All, Eq, Formula, Poly, conj, eq, negated
from formwright.smt.tokens import Tokens
from formwright.smt.witness import eliminate, mixed_radix


class Coverage:
    """States the two goals for the output statements of one program."""

    def __init__(
        self, outputs: Sequence[Site], chains: Chains, tokens: Tokens, atoms: Atoms
    ) -> None:
        self._outputs = outputs
        self._chains = chains
        self._tokens = tokens
        self._atoms = atoms

    def coverage(self) -> Sequence[Query]:
        """One query for each product of the workload."""
        return [self._covered(n) for n in range(len(self._tokens.products))]

    def _covered(self, product: int) -> Query:
        facts, output, reduction = self._tokens.arbitrary()
        facts += self._tokens.masks(product, output, reduction)
        wrong: list[Formula] = []
        hints: list[Poly] = []
        for site in self._outputs:
            for chain in self._chains.of_output(site, f"w{site.number}"):
                token = self._tokens.of(chain)
                if token is None or token.product != product:
                    continue
                forms = (*token.output, *token.reduction)
                alike = _equations(token.agrees)
                values = self._witness(chain, forms, (*output, *reduction), alike)
                done = chain.substituted(values)
                reached = self._tokens.of(done)
                assert reached is not None
                pairs = zip(
                    (*reached.output, *reached.reduction), (*output, *reduction), strict=True
                )
                parts = [step_conditions(done, n, self._atoms) for n in range(len(done.steps))]
                facts += [f for _, owner in parts for f in owner]
                valid = [v for v, _ in parts] + read_conditions(done, self._atoms)
                agree = (reached.agrees, *(eq(a, b) for a, b in pairs))
                wrong.append(negated(conj((*valid, *agree))))
                hints += _hints(done, self._atoms)
        return self._missing(facts, wrong, hints, (*output, *reduction))

    def _missing(
        self, facts: list[Formula], wrong: list[Formula], hints: list[Poly], where: Sequence[Poly]
    ) -> Query:
        given = tuple(zip(self._tokens.names(), where, strict=False))
        return Query(tuple(facts), conj(wrong), tuple(hints), (), given)

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
        for step in chain.steps:
            for frame in step.instance.site.frames:
                for name in frame.binds():
                    own = step.instance.env[name].symbols()
                    for free in sorted(n for n in own if n in open_names and n not in values):
                        values[free] = self._plausible(chain, step, frame, name).substituted(values)
        return values

    def _plausible(self, chain: Chain, step: Step, frame: Frame, name: str) -> Poly:
        """The iteration of the reader where both run in one loop; else the first."""
        if step.reader is not None:
            reader = chain.steps[step.reader].instance
            if any(f.node is frame.node for f in reader.site.frames[:-1]):
                return reader.env[name]
        node, env = frame.node, step.instance.env
        return number(node.lo, env, self._atoms) if isinstance(node, For) else ZERO

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
        facts, output, _ = self._tokens.arbitrary()
        facts = facts[: 2 * len(output)]
        wrong: list[Formula] = []
        hints: list[Poly] = []
        for site in self._outputs:
            if site.apply.op != "=":
                continue
            run = fresh(site, f"w{site.number}", {}, 0)
            chain = Chain((Step(run),))
            guard, _ = eliminate(
                _guard_equations(chain, self._atoms), chain.open_symbols(), self._atoms
            )
            first = chain.substituted(guard)
            forms = target(first, self._atoms).index
            done = first.substituted(self._witness(first, forms, output))
            valid, owner = step_conditions(done, 0, self._atoms)
            there = target(done, self._atoms).index
            same = conj(eq(a, b) for a, b in zip(there, output, strict=True))
            facts += owner
            wrong.append(negated(conj((valid, same))))
            hints += _hints(done, self._atoms)
        return [self._missing(facts, wrong, hints, output)]


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


def _hints(chain: Chain, atoms: Atoms) -> tuple[Poly, ...]:
    inputs = [p for _, c in factor_cells(chain, atoms) for p in c.index]
    return (*target(chain, atoms).index, *inputs)
