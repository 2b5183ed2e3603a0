"""The inferred precondition on a terminal and as JSON."""

from typing import Any

from rich.console import Console

from formwright.flow.inferring import Inferred
from formwright.ir.show import show_expr
from formwright.report.tables import print_title


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
        print_title(console, "unresolved", f": {found.reason}")
        return
    print_title(
        console,
        show_expr(found.condition),
        f": proved for every extent and team, for {found.safe} points of"
        f" ({', '.join(found.decisions)})",
    )
    if found.weakest:
        console.print(f"the weakest: all {found.unsafe} points that it shuts out are refuted")
    else:
        console.print(f"not shown to be the weakest: {found.reason}")
    if found.wider is not None:
        exact = "; one iteration more is refuted at each point" if found.wider_exact else ""
        print_title(console, show_expr(found.wider), f": proved too, knowing the extent{exact}")
