"""What a solver did with each step of a chain, on a terminal and as JSON."""

from typing import Any

from rich.console import Console

from formwright.flow.chain_solving import SolvedChain
from formwright.milp.progressive import StepSolution
from formwright.milp.solve import Solution
from formwright.report.solutions import seconds_text, solution_as_json
from formwright.report.tables import print_title


def solved_as_json(solved: SolvedChain) -> dict[str, Any]:
    """Stable keys of ``formwright solve --json`` for a chain: those of its last step's answer,
    with ``steps`` and, where it was asked for, ``monolithic`` and ``agrees``."""
    chain = solved.chain
    shown = solution_as_json(chain.last) | {
        "chain": solved.name,
        "seconds": chain.seconds,
        "steps": [_step(s) for s in chain.steps],
    }
    if solved.monolithic is not None:
        shown["monolithic"] = solution_as_json(solved.monolithic)
        shown["agrees"] = solved.held
    return shown


def _step(step: StepSolution) -> dict[str, Any]:
    return {
        "name": step.name,
        "added": list(step.added),
        "fixed": {n: {"value": v, "why": step.why_fixed(n)} for n, v in step.fixed.items()},
        "carried": {n: list(w) for n, w in step.carried.items()},
        "reopened": [{"group": list(r.group), "why": r.why} for r in step.reopened],
        "solves": step.solves,
        "seconds": step.seconds,
        "solution": solution_as_json(step.solution),
    }


def print_solved(console: Console, solved: SolvedChain) -> None:
    """Each step with its decisions, then the design of the whole chain."""

    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    for step in solved.chain.steps:
        print_title(console, step.name, f": {_cost(step.solution)}")
        say(f"  added     {', '.join(step.added) or 'nothing'}")
        if step.carried:
            say(f"  carried   {', '.join(step.carried)}")
            for what, names in _by_reason(step).items():
                say(f"              {what}: {', '.join(names)}")
        for reopened in step.reopened:
            say(f"  reopened  {', '.join(reopened.group)}: {reopened.why}")
        if step.fixed:
            values = ", ".join(f"{n} = {v}" for n, v in step.fixed.items())
            say(f"  fixed     {values}: nothing in {step.name} depends on them")
        say(f"            {step.solves} solves, {step.seconds:.2f} s")
    last = solved.chain.last
    if last.status != "optimal":
        conflict = f": these cannot hold together: {', '.join(last.conflict)}"
        say(f"{last.status}{conflict if last.conflict else ''} {last.note}".rstrip())
        return
    picked = ", ".join(f"{n} = {v}" for n, v in last.assignment.items())
    print_title(console, solved.name, f": {picked}")
    say(f"  objective {_cost(last)} (modelled); {solved.chain.seconds:.2f} s")
    if solved.monolithic is not None:
        same = "the same" if solved.held else "another"
        whole = solved.monolithic
        say(f"  all decisions at once: {_cost(whole)}, {same}; {whole.seconds:.2f} s")


def _by_reason(step: StepSolution) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for name, whats in step.carried.items():
        for what in whats:
            reasons.setdefault(what, []).append(name)
    return reasons


def _cost(solution: Solution) -> str:
    if solution.objective is None:
        return solution.status
    return seconds_text(float(solution.objective))
