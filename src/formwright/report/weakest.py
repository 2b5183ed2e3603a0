"""The weakest precondition on a terminal and as JSON."""

from typing import Any

from rich.console import Console

from formwright.flow.weakest import Bounded, Loss, Weakest, rule_of
from formwright.ir.show import show_expr
from formwright.report.tables import print_title


def weakest_as_json(result: Weakest) -> dict[str, Any]:
    """Stable keys: ``exact``, ``checked``, ``missing``, ``excess``, ``loss`` by workload,
    ``also_safe``."""
    return {
        "schema": 1,
        "exact": result.exact,
        "judgement": result.judgement,
        "decisions": list(result.decisions),
        "checked": result.checked,
        "safe": list(result.safe),
        "missing": list(result.missing),
        "excess": [_excess(e) for e in result.excess],
        "unresolved": list(result.unresolved),
        "loss": {name: _loss(loss) for name, loss in result.loss.items()},
        "reads_scope": list(result.reads_scope),
        "also_safe": [
            {"point": b.point, "iterations": show_expr(b.iterations), "most": b.most}
            | {"exact": b.exact}
            for b in result.also_safe
        ],
    }


def _excess(excess: Any) -> dict[str, Any]:
    c = excess.counterexample
    shown = None
    if c is not None:
        shown = {"text": c.text, "replayed": c.replayed, "trace": list(c.trace)}
    return {"point": excess.point, "counterexample": shown}


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "required": None if loss.required is None else float(loss.required),
        "safe": None if loss.safe is None else float(loss.safe),
        "relative": None if loss.relative is None else float(loss.relative),
        "assignment": loss.assignment,
        "assignment_safe": loss.assignment_safe,
    }


def print_weakest(console: Console, result: Weakest) -> None:
    """The judgement, the points on which both sides differ, the loss for each workload."""
    names = ", ".join(result.decisions)
    print_title(
        console,
        result.judgement,
        f": the requirement and the safe set, compared on {result.checked} points of ({names});"
        f" safe for every extent and team: {len(result.safe)}",
    )
    for title, points in (
        ("safe, but not allowed", result.missing),
        ("unresolved", result.unresolved),
    ):
        for point in points:
            console.print(f"  {title}: {_point(point)}", markup=False, soft_wrap=True)
    for excess in result.excess:
        console.print(
            f"  allowed, but not safe: {_point(excess.point)}", markup=False, soft_wrap=True
        )
    shown = next((e.counterexample for e in result.excess if e.counterexample), None)
    if shown is not None:
        console.print(f"  replayed: {shown.text}", markup=False, soft_wrap=True)
        for line in shown.trace:
            console.print(f"    {line}", markup=False, soft_wrap=True)
    _print_bounds(console, result.also_safe)
    for name, loss in result.loss.items():
        console.print(f"  {name}: {_loss_text(loss)}", markup=False, soft_wrap=True)
    for name in result.reads_scope:
        console.print(
            f"  not compared, since it reads the scope: {name}", markup=False, soft_wrap=True
        )


def _print_bounds(console: Console, bounded: tuple[Bounded, ...]) -> None:
    """What an extent allows beyond the safe set; one line where one decision is the bound."""
    rule = rule_of(bounded)
    if rule is not None:
        iterations, decision = rule
        console.print(
            f"  proved as well, for the {len(bounded)} points that are not safe for every extent:"
            f" safe when {show_expr(iterations)} <= {decision}, and no further",
            markup=False,
            soft_wrap=True,
        )
        return
    for b in bounded:
        end = "" if b.exact else " (more was not settled)"
        console.print(
            f"  {_point(b.point)}: also safe when {show_expr(b.iterations)} <= {b.most}{end}",
            markup=False,
            soft_wrap=True,
        )


def _loss_text(loss: Loss) -> str:
    if loss.relative is None:
        return "one side has no design"
    unsafe = "" if loss.assignment_safe else "; the solver's pick is NOT safe"
    picked = ", ".join(f"{n} = {v}" for n, v in loss.assignment.items())
    return f"loss {float(loss.relative) * 100:.2f} % (modelled), with {picked}{unsafe}"


def _point(point: dict[str, int]) -> str:
    return ", ".join(f"{n} = {v}" for n, v in point.items())
