"""``weakest`` with the verifier, the interpreter and the solver wired in."""

from collections.abc import Callable

from formwright.base.diagnostics import fail
from formwright.flow.chips import open_chip
from formwright.flow.inferring import Inferred, Menus, infer
from formwright.flow.parameters import bind, parse_settings
from formwright.flow.weakest import Bounded, Weakest, weakest
from formwright.ir.expr import Expr, Scalar
from formwright.ir.inline import inlined
from formwright.ir.show import show_expr
from formwright.lang import load
from formwright.milp.solve import solve
from formwright.proof.refutation import Refutation
from formwright.proof.verdict import Counterexample, Verdict
from formwright.replay import replay
from formwright.smt import safe_bounds, safe_conditions, safe_under

LARGE = 4096
TEAM = 8
"""Extents and team sizes that a replay starts from; it shrinks them."""


def weakest_of(
    reference: str,
    chip: str,
    settings: tuple[str, ...],
    progress: Callable[[str], None] | None = None,
) -> Weakest:
    """The comparison for a template by name; each of ``settings`` is a workload for the loss."""
    _, template = load(reference)
    if template.refinement is not None:
        raise fail(f"{template.name} is a step: it has no program to weaken requirements of")
    closed = inlined(template)
    machine = open_chip(chip)
    workloads: dict[str, dict[str, Scalar]] = {}
    for text in settings:
        values = parse_settings(text)
        workloads[text] = bind(template, machine.parameters(), values, machine.name)
    sizes = dict.fromkeys((p.name for p in closed.scope.extents), LARGE)
    sizes |= dict.fromkeys((p.name for p in closed.scope.agents), TEAM)
    least = {d.name: d.menu[0] for d in closed.decisions}
    start = {**bind(template, machine.parameters(), sizes, machine.name), **least}

    def safe(point: dict[str, int]) -> Verdict:
        if progress is not None:
            progress("proving " + ", ".join(f"{n} = {v}" for n, v in point.items()))
        return safe_conditions(closed, point)

    def why(point: dict[str, int]) -> Counterexample | None:
        # The conditions a schedule can break; the replayer looks for a run that breaks one.
        for condition in ("lifetime", "readiness", "race", "order"):
            claim = Refutation(condition, "requirement", {**start, **point}, (), "")
            found = replay(closed, claim)
            if found is not None:
                return found
        return None

    def bounds(point: dict[str, int]) -> tuple[Bounded, ...]:
        if progress is not None:
            progress("counting iterations at " + ", ".join(f"{n} = {v}" for n, v in point.items()))
        found = safe_bounds(closed, point)
        return tuple(Bounded(point, b.iterations, b.most, b.exact) for b in found)

    return weakest(template, workloads, safe, solve, why, bounds)


def infer_of(
    reference: str,
    reads_extents: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Inferred:
    """The weakest linear precondition of a template by name, whatever it requires itself.

    ``reads_extents``: also the wider condition that knows the number of iterations.
    """
    _, template = load(reference)
    closed = inlined(template)

    def say(what: str, where: str) -> None:
        if progress is not None:
            progress(f"{what} {where}")

    def safe(point: dict[str, int]) -> Verdict:
        say("proving", ", ".join(f"{n} = {v}" for n, v in point.items()))
        return safe_conditions(closed, point)

    def under(condition: Expr, menus: Menus) -> tuple[Verdict, dict[str, int]]:
        say("proving for all points of", show_expr(condition))
        found = safe_under(closed, condition, menus)
        return found.verdict, found.point

    def bounds(point: dict[str, int]) -> tuple[Bounded, ...]:
        say("counting iterations at", ", ".join(f"{n} = {v}" for n, v in point.items()))
        found = safe_bounds(closed, point)
        return tuple(Bounded(point, b.iterations, b.most, b.exact) for b in found)

    return infer(closed, safe, under, bounds if reads_extents else None)
