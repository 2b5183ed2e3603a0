"""The theorem of a chain in words: for whom, for which designs, what is computed, given what."""

from collections.abc import Iterable
from math import prod

from formwright.ir.chain import Chain
from formwright.ir.rewrite import free_names
from formwright.ir.show import show_expr
from formwright.ir.stacked import stacked
from formwright.ir.template import Parameter
from formwright.lang.format import workload_text
from formwright.proof.chain_links import listed, systems
from formwright.proof.chains import Assumed


def theorem(chain: Chain) -> str:
    """One sentence. It is true only if every obligation of the chain is proved."""
    whole = stacked(chain.steps)
    scope = whole.scope
    about_chip = [any(n.startswith("chip.") for n in free_names(r)) for r in scope.relations]
    related = list(zip(scope.relations, about_chip, strict=True))
    plain = [show_expr(r) for r, is_chip in related if not is_chip]
    sizes = listed([*_conditions((*scope.extents, *scope.agents)), *plain])
    machine = [*_conditions(scope.chip), *(show_expr(r) for r, is_chip in related if is_chip)]
    chip = f", every chip with {listed(machine)}" if machine else ""
    count = len(chain.steps)
    steps = "the step" if count == 1 else f"all {count} steps"
    points = prod(len(d.menu) for d in whole.decisions)
    names = listed(d.name for d in whole.decisions) if whole.decisions else "none"
    bottom = systems(chain.steps[-1])[1]
    return (
        f"For every {sizes}{chip}, and every design that the constraints of {steps} allow"
        f" (of {points:,} in the menus of {names}): every run of {bottom.name} ends, and has then"
        f" computed {workload_text(chain.workload)}, each product exactly once."
    )


def _conditions(parameters: Iterable[Parameter]) -> list[str]:
    return [p.name if p.condition is None else show_expr(p.condition) for p in parameters]


def assumptions(chain: Chain, carried: tuple[Assumed, ...]) -> tuple[Assumed, ...]:
    """What the chain's file states, what is assumed of the surroundings, what words mean."""
    stated = tuple(Assumed(n, t, chain.name) for n, t in chain.assumptions)
    models = tuple(
        Assumed("semantics", s.scope.semantics, s.name) for s in chain.steps if s.scope.semantics
    )
    return (*stated, *carried, *models)
