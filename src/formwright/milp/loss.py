"""What a stronger or weaker precondition costs, in the objective."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from formwright.ir.expr import Expr, Scalar
from formwright.ir.template import Constraint, Template
from formwright.milp.solve import Solution, solve


@dataclass(frozen=True, slots=True)
class Loss:
    """``relative``: how much more the template's best design costs than the ``allowed`` one.

    0.0134 is 1.34 % more; ``None`` if either side has no optimum. Negative where the
    template allows designs that ``allowed`` does not.
    """

    template: Solution
    allowed: Solution
    relative: Fraction | None


def loss(
    template: Template,
    parameters: Mapping[str, Scalar],
    allowed: Expr,
    instead_of: frozenset[str],
    coefficients: Mapping[str, Fraction] | None = None,
    extra_constraints: tuple[Constraint, ...] = (),
) -> Loss:
    """The best design as the template stands against the best with another precondition.

    ``allowed`` takes the place of the constraints named in ``instead_of``;
    ``extra_constraints`` further narrow the template's own side ("always keep the
    trailing barrier" is ``beta = 1``).
    """
    own = solve(
        template, parameters, coefficients=coefficients, extra_constraints=extra_constraints
    )
    other = solve(
        template,
        parameters,
        coefficients=coefficients,
        extra_constraints=(Constraint("allowed", allowed),),
        without=instead_of,
    )
    if own.objective is None or other.objective is None:
        return Loss(own, other, None)
    return Loss(own, other, own.objective / other.objective - 1)
