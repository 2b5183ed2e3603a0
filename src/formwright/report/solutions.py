"""A solver's answer and a check, on a terminal and as JSON."""

from typing import Any

from rich.console import Console

from formwright.milp.check import CheckResult
from formwright.milp.declared import used_as_json
from formwright.milp.solve import Solution
from formwright.milp.structures_scenarios import ScenarioSolution
from formwright.report.tables import print_title


def solution_as_json(s: Solution) -> dict[str, Any]:
    """Stable keys of ``formwright solve --json``; ``objective`` is also given exactly."""
    return {
        "schema": 1,
        "status": s.status,
        "assignment": s.assignment,
        "objective": None if s.objective is None else float(s.objective),
        "objective_exact": None if s.objective is None else str(s.objective),
        "evidence": "modelled",
        "bound": s.bound,
        "bound_kind": s.bound_kind,
        "gap": s.gap,
        "feasible": s.feasible,
        "variables": s.variables,
        "constraints": s.constraints,
        "solver": s.solver,
        "seconds": s.seconds,
        "ties": list(s.ties),
        "conflict": list(s.conflict),
        "evaluations": s.evaluations,
        "parts": s.parts,
        "structures": used_as_json(s.structures),
    }


def print_solution(console: Console, s: Solution) -> None:
    """The assignment with its objective, bound and gap; or why there is none."""
    if s.status == "infeasible":
        print_title(console, "infeasible", ": no design meets the constraints")
        console.print(
            f"  these cannot hold together: {', '.join(s.conflict)}", markup=False, soft_wrap=True
        )
        return
    if s.objective is not None:
        picked = ", ".join(f"{n} = {v}" for n, v in s.assignment.items())
        print_title(console, s.status, f": {picked}")
        console.print(
            f"  objective {seconds_text(float(s.objective))} (modelled)",
            markup=False,
            soft_wrap=True,
        )
    else:
        print_title(console, s.status, ": no design was found in the time")
    if s.bound is not None:
        gap = "" if s.gap is None else f", gap {s.gap * 100:.3g} %"
        console.print(
            f"  {s.bound_kind} {seconds_text(float(s.bound))}{gap}", markup=False, soft_wrap=True
        )
    size = [] if s.feasible is None else [f"{s.feasible:,} feasible designs"]
    if s.variables is not None:
        size.append(f"{s.variables} variables, {s.constraints} constraints")
    size.append(f"{s.solver}, {s.seconds * 1e3:.1f} ms")
    console.print("  " + "; ".join(size), markup=False, soft_wrap=True)
    _print_work(console, s)
    for tie in s.ties:
        console.print(
            "  ties: " + ", ".join(f"{n} = {v}" for n, v in tie.items()),
            markup=False,
            soft_wrap=True,
        )


def _print_work(console: Console, s: Solution) -> None:
    if s.evaluations is None:
        return
    text = f"{s.evaluations:,} designs costed"
    if s.parts:
        text += f", {s.parts:,} ranks, bounds and parts of costs"
    console.print(f"  {text}", markup=False, soft_wrap=True)
    for used in s.structures:
        console.print(
            f"    {used.text}: {used.verdict} ({used.title}): {used.why}",
            markup=False,
            soft_wrap=True,
        )


def scenarios_as_json(s: ScenarioSolution) -> dict[str, Any]:
    """Stable keys of ``formwright solve --scenario … --json``."""
    return {
        "schema": 1,
        "status": s.status,
        "objective": None if s.objective is None else float(s.objective),
        "objective_exact": None if s.objective is None else str(s.objective),
        "evidence": "modelled",
        "bound_kind": "exact",
        "shared": s.shared,
        "scenarios": {
            n: {"assignment": dict(a), "cost": float(s.costs[n])} for n, a in s.assignments.items()
        },
        "evaluations": s.evaluations,
        "structures": used_as_json(s.structures),
        "seconds": s.seconds,
        "note": s.note,
    }


def print_scenarios(console: Console, s: ScenarioSolution) -> None:
    """The designs of all scenarios, what they share, and what finding them took."""
    print_title(console, s.status, f": {len(s.assignments)} scenarios")
    lines = [f"{s.note}"] if s.note else []
    if s.objective is not None:
        lines.append(f"together {seconds_text(float(s.objective))} (modelled)")
    for name, assignment in s.assignments.items():
        picked = ", ".join(f"{n} = {v}" for n, v in assignment.items())
        lines.append(f"{name}: {seconds_text(float(s.costs[name]))}: {picked}")
    if s.shared:
        lines.append("shared: " + ", ".join(f"{n} = {v}" for n, v in s.shared.items()))
    lines.append(f"{s.evaluations:,} designs costed, {s.seconds * 1e3:.1f} ms")
    lines += [f"{u.text}: {u.verdict} ({u.title}): {u.why}" for u in s.structures]
    for text in lines:
        console.print(f"  {text}", markup=False, soft_wrap=True)


def check_as_json(result: CheckResult) -> dict[str, Any]:
    return {
        "schema": 1,
        "ok": result.ok,
        "held": list(result.held),
        "failed": list(result.failed),
        "errors": result.errors,
    }


def print_check(console: Console, result: CheckResult) -> None:
    verdict = "holds" if result.ok else "does not hold"
    print_title(console, verdict, f": {len(result.held)} of {_count(result)} conditions")
    for name in result.failed:
        reason = f": {result.errors[name]}" if name in result.errors else ""
        console.print(f"  fails: {name}{reason}", markup=False, soft_wrap=True)


def _count(result: CheckResult) -> int:
    return len(result.held) + len(result.failed)


def seconds_text(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.6g} {unit}"
    return f"{value / 1e-9:.6g} ns"
