"""The inferred precondition on a terminal and as JSON."""

from typing import Any

from rich.console import Console

from formwright.flow.inferring import Inferred
from formwright.ir.show import show_expr


def inferred_as_json(found: Inferred) -> dict[str, Any]:
    """Stable keys: ``condition``, ``weakest``, ``safe``, ``unsafe``, ``wider``, ``rounds``."""
    return {
        "schema": 1,
        "decisions": list(found.decisions),
        "condition": None if found.condition is None else show_expr(found.condition),
        "evidence": "none" if found.condition is None else "proved",
        "weakest": found.weakest,
        "safe": found.safe,
        "unsafe": found.unsafe,
        "wider": None if found.wider is None else show_expr(found.wider),
        "wider_exact": found.wider_exact,
        "reason": found.reason,
        "rounds": [
            {"condition": show_expr(r.condition), "outcome": r.outcome, "point": r.point}
            for r in found.rounds
        ],
    }


def print_inferred(console: Console, found: Inferred) -> None:
    """Each proposal with what came of it, then the condition and what it is worth."""
    for number, r in enumerate(found.rounds, 1):
        at = ", ".join(f"{n} = {v}" for n, v in r.point.items())
        word = {"refuted": "refuted at", "too strong": "proved, but shuts out the safe point"}
        console.print(
            f"{number:>3}  {show_expr(r.condition)}: {word.get(r.outcome, r.outcome)} {at}".rstrip()
        )
    if found.condition is None:
        console.print(f"[bold]unresolved[/bold]: {found.reason}")
        return
    console.print(
        f"[bold]{show_expr(found.condition)}[/bold]: proved for every extent and team, for"
        f" {found.safe} points of ({', '.join(found.decisions)})"
    )
    if found.weakest:
        console.print(f"the weakest: all {found.unsafe} points that it shuts out are refuted")
    else:
        console.print(f"not shown to be the weakest: {found.reason}")
    if found.wider is not None:
        exact = "; one iteration more is refuted at each point" if found.wider_exact else ""
        console.print(
            f"knowing the extent, proved too: [bold]{show_expr(found.wider)}[/bold]{exact}"
        )
