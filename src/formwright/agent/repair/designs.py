"""A fast judge of conditions on values: designs drawn from the menus, and those that refuted."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random

from formwright.agent.repair.points import holds
from formwright.ir.evaluate import EvaluationError, evaluate
from formwright.ir.expr import Compare, Expr, Num, Scalar, Var
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.proof.verdict import Proof

Design = dict[str, Scalar]

DRAWS = 300
ROOMY = 10**12
"""What a chip has of everything where its room is not in question."""

ASSIGNMENTS = 500
"""Assignments that are looked through for parameters that had none."""


class Designs:
    """What candidates are asked before a proof is: none of it shows that a candidate is right.

    ``learn`` takes what refuted a candidate: a design that its constraints should have shut out,
    or parameters for which there was none.
    """

    def __init__(self, template: Template, seed: int = 0) -> None:
        self._random = Random(seed)
        self._template = inlined(template)
        self._drawn = [self._draw() for _ in range(DRAWS)]
        self._shut_out: list[tuple[str, Design]] = []
        self._without: list[Design] = []
        self._assignments = [self._assigned() for _ in range(ASSIGNMENTS)]

    def _assigned(self) -> Design:
        return {d.name: self._random.choice(d.menu) for d in self._template.decisions}

    def _draw(self) -> Design:
        scope = self._template.scope
        values: Design = self._assigned()
        for parameter in scope.integers:
            least = _least(parameter.condition)
            values[parameter.name] = least + self._random.choice((0, 1, 7, 60, 1000, 4096))
        for parameter in scope.chip:
            least = _least(parameter.condition)
            values[parameter.name] = self._random.choice((least, 16 * least, ROOMY))
        return values

    def doubts(self, candidate: Template) -> bool:
        """A draw, or what was learned, speaks against the candidate."""
        closed = inlined(candidate)
        constraints = [c.condition for c in closed.constraints]
        requires = [r.condition for r in closed.requires]
        met = [v for v in self._drawn if _all(constraints, v)]
        if not met:
            return True
        if any(not _all(requires, v) for v in met):
            return True
        for condition, values in self._shut_out:
            same = closed.program == self._template.program or condition == "implied"
            stated = requires if condition == "implied" else ()
            if same and _all(constraints, values) and not (stated and _all(stated, values)):
                return True
        return any(not self._has_design(constraints, values) for values in self._without)

    def _has_design(self, constraints: Sequence[Expr], values: Design) -> bool:
        """Some assignment of those drawn fits; what fits is tried first the next time."""
        for at, assignment in enumerate(self._assignments):
            if _all(constraints, {**values, **assignment}):
                self._assignments.insert(0, self._assignments.pop(at))
                return True
        return False

    def learn(self, proof: Proof) -> None:
        """Keeps the counterexamples about values."""
        for obligation in proof.obligations:
            found = obligation.counterexample
            if found is None:
                continue
            values: Design = {n: _number(v) for n, v in found.values.items()}
            if obligation.condition in ("implied", "fits", "divisor"):
                self._shut_out.append((obligation.condition, values))
            elif obligation.condition == "menu":
                names = {d.name for d in self._template.decisions}
                self._without.append({n: v for n, v in values.items() if n not in names})


def _all(conditions: Sequence[Expr], values: Mapping[str, Scalar]) -> bool:
    return all(holds(c, values) for c in conditions)


def _least(condition: Expr | None) -> int:
    """The least value that a parameter's condition names, 1 where it names none."""
    match condition:
        case Compare(">=", Var(), Num(value)):
            return max(0, int(value))
        case _:
            return 1


def _number(value: int | str) -> Scalar:
    return value if isinstance(value, int) else Fraction(value)


def share(condition: Expr, designs: Sequence[Mapping[str, Scalar]]) -> float:
    """The share of ``designs`` at which ``condition`` holds; 0 where it has no value."""
    kept = 0
    for values in designs:
        try:
            kept += evaluate(condition, values) is True
        except EvaluationError:
            return 0.0
    return kept / len(designs) if designs else 0.0
