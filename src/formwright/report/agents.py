"""An agent's part in a run: lineage, generations, what was spent."""

from typing import Any, Final

from rich.console import Console

from formwright.flow.agent_results import AgentResult
from formwright.report.tables import print_table

_HEADINGS: Final = ("", "in", "from", "by", "verdict", "best time", "template")
_RIGHT: Final = frozenset(map(_HEADINGS.index, ("", "in", "best time")))


def print_agent(console: Console, result: AgentResult) -> None:
    """A row for each text of the run (in which generation, from which rows, by which rule), and a
    line for each generation."""
    console.print(f"\ntemplates, proposed by {result.proposer}", markup=False, style="bold")
    if result.before:
        console.print(f"  {result.before}", markup=False, soft_wrap=True)
    numbers = {m["digest"]: str(n) for n, m in reversed([*enumerate(result.lineage, 1)])}
    rows = [(str(number), *_row(made, numbers)) for number, made in enumerate(result.lineage, 1)]
    print_table(console, _HEADINGS, rows, _RIGHT)
    for number, generation in enumerate(result.generations, 1):
        console.print(f"  generation {number}: {_told(generation)}", markup=False, soft_wrap=True)
    console.print(
        f"  ended: {result.ended}; {result.requests} request(s)", markup=False, soft_wrap=True
    )
    if result.spent_lines:
        console.print(f"  spent: {', '.join(result.spent_lines)}", markup=False, soft_wrap=True)
    if result.device:
        told = f"  times are those of {result.device}: nothing was measured now"
        console.print(told, markup=False, soft_wrap=True)


def _row(made: dict[str, Any], numbers: dict[str, str]) -> tuple[str, ...]:
    """Parents by their row, those of before the run by their digest."""
    verdict = made["verdict"]
    if made["repairs"]:
        verdict += f" (repair {made['repairs']})"
    conditions = dict.fromkeys(f["condition"] for f in made["findings"] if f["condition"])
    if conditions:
        verdict += f": {', '.join(conditions)}"
    times = [f"{s * 1e3:.3f} ms" for s in made["seconds"].values()]
    return (
        str(made["generation"] + 1),
        ", ".join(numbers.get(p, p[:8]) for p in made["parents"]) or "-",
        made["rule"] or "-",
        verdict,
        " ".join(times) or "-",
        made["key"] or "-",
    )


def _told(generation: dict[str, Any]) -> str:
    gained = generation["gained"]
    said = f"gained at {', '.join(gained)}" if gained else "nothing gained"
    cause = generation["diagnosis"]
    if cause is not None:
        said += f"; {cause['kind']} ({cause['loss']:.0%}, {cause['evidence']}): {cause['says']}"
    return said


def print_names(console: Console, named: dict[str, Any]) -> None:
    """What the proposer calls the mechanism of each purchase of a study."""
    console.print(f"\nmechanisms, named by {named['proposer']}", markup=False, style="bold")
    for found in named["mechanisms"]:
        steps = ", ".join(f"{n} {a} -> {b}" for n, (a, b) in found["fields"].items())
        said = found["name"] or f"no name: {' '.join(found['problem'].split())}"
        console.print(f"  {found['round']}. {steps}: {said}", markup=False, soft_wrap=True)
