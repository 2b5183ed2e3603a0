"""A proof on a terminal: the verdict, what is open or false, and what each group rests on."""

from collections import Counter
from typing import TextIO

from formwright.proof.verdict import Obligation, Proof
from formwright.report.plain import bold, print_rows

_HEADINGS = ("group", "condition", "obligations", "verdict", "evidence", "seconds")
_NUMBERS = frozenset((_HEADINGS.index("obligations"), _HEADINGS.index("seconds")))


def print_proof(proof: Proof, out: TextIO) -> None:
    """A row for each group and condition; every obligation that is not proved in full."""
    groups: dict[tuple[str, str], list[Obligation]] = {}
    for o in proof.obligations:
        groups.setdefault((o.group, o.condition), []).append(o)
    rows = [_row(group, condition, members) for (group, condition), members in groups.items()]
    print_rows(_HEADINGS, rows, _NUMBERS, out)
    for o in proof.obligations:
        if o.verdict != "proved":
            print_open(o, out)
    total = len(proof.obligations)
    reused = sum(o.reused for o in proof.obligations)
    again = f", {reused} reused" if reused else ""
    print(
        f"\n{bold(f'{proof.template}: {proof.verdict}', out)}"
        f" ({total} obligations{again}, {proof.seconds:.2f} s, {proof.solver})",
        file=out,
    )


def _row(group: str, condition: str, members: list[Obligation]) -> tuple[str, ...]:
    verdicts = Counter(o.verdict for o in members)
    shown = ", ".join(v if len(verdicts) == 1 else f"{n} {v}" for v, n in verdicts.items())
    evidence = ", ".join(sorted({o.evidence for o in members}))
    seconds = sum(o.seconds for o in members)
    return group, condition, str(len(members)), shown, evidence, f"{seconds:.3f}"


def print_open(o: Obligation, out: TextIO) -> None:
    print(f"\n{bold(o.verdict, out)} {o.name} ({o.group}, {o.condition})", file=out)
    if o.detail:
        print(f"  {o.detail}", file=out)
    c = o.counterexample
    if c is None:
        return
    values = ", ".join(f"{k} = {v}" for k, v in c.values.items())
    print(f"  with {values}", file=out)
    print(f"  {'replayed' if c.replayed else 'not replayed'}: {c.text}", file=out)
    for line in c.trace:
        print(f"    {line}", file=out)
