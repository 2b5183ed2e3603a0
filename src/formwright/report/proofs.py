"""A proof on a terminal: the verdict, what is open or false, and what each group rests on."""

from collections import Counter

from rich.console import Console
from rich.table import Table

from formwright.proof.verdict import Obligation, Proof


def print_proof(console: Console, proof: Proof) -> None:
    """A row for each group and condition; every obligation that is not proved in full."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, side in (
        ("group", "left"),
        ("condition", "left"),
        ("obligations", "right"),
        ("verdict", "left"),
        ("evidence", "left"),
        ("seconds", "right"),
    ):
        table.add_column(heading, justify="right" if side == "right" else "left", no_wrap=True)
    groups: dict[tuple[str, str], list[Obligation]] = {}
    for o in proof.obligations:
        groups.setdefault((o.group, o.condition), []).append(o)
    for (group, condition), members in groups.items():
        seconds = sum(o.seconds for o in members)
        verdicts = Counter(o.verdict for o in members)
        shown = ", ".join(v if len(verdicts) == 1 else f"{n} {v}" for v, n in verdicts.items())
        evidence = ", ".join(sorted({o.evidence for o in members}))
        table.add_row(group, condition, str(len(members)), shown, evidence, f"{seconds:.3f}")
    console.print(table)
    for o in proof.obligations:
        if o.verdict != "proved":
            _print_open(console, o)
    total = len(proof.obligations)
    reused = sum(o.reused for o in proof.obligations)
    again = f", {reused} reused" if reused else ""
    console.print(
        f"\n[bold]{proof.template}: {proof.verdict}[/bold]"
        f" ({total} obligations{again}, {proof.seconds:.2f} s, {proof.solver})"
    )


def _print_open(console: Console, o: Obligation) -> None:
    console.print(f"\n[bold]{o.verdict}[/bold] {o.name} ({o.group}, {o.condition})")
    if o.detail:
        console.print(f"  {o.detail}", markup=False, soft_wrap=True)
    c = o.counterexample
    if c is None:
        return
    values = ", ".join(f"{k} = {v}" for k, v in c.values.items())
    console.print(f"  with {values}", markup=False, soft_wrap=True)
    console.print(
        f"  {'replayed' if c.replayed else 'not replayed'}: {c.text}", markup=False, soft_wrap=True
    )
    for line in c.trace:
        console.print(f"    {line}", markup=False, soft_wrap=True)
