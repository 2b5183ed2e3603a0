"""A chain on a terminal: its steps, what is open, the theorem with what it assumes."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from formwright.proof.chains import ChainProof, StepProof
from formwright.proof.verdict import Obligation
from formwright.report.plain import bold, print_rows, stream_width
from formwright.report.proofs import print_open

_HEADINGS = ("step", "obligations", "verdict", "evidence", "seconds")
_NUMBERS = frozenset((_HEADINGS.index("obligations"), _HEADINGS.index("seconds")))
_WIDTH = 100


def print_chain(proof: ChainProof, out: TextIO) -> None:
    """A row for each step and one for the composition; what is not proved in full; the theorem."""
    rows = [_row(s.name, _shown(s), s.proof.obligations if s.proof else ()) for s in proof.steps]
    composition = proof.composition
    rows.append(_row("composition", composition.verdict, composition.obligations))
    print_rows(_HEADINGS, rows, _NUMBERS, out)
    for o in _all(proof):
        if o.verdict != "proved" and o.condition != "inherited":
            print_open(o, out)
    title = "theorem" if proof.verdict == "proved" else "not proved"
    print(f"\n{bold(title, out)}", *_wrapped(composition.theorem, "", out), sep="\n", file=out)
    if proof.verdict == "proved":
        print(f"\n{bold('assuming', out)}", file=out)
        for a in composition.assumptions:
            print(*_wrapped(f"{a.name} ({a.of}): {a.text}", "  ", out), sep="\n", file=out)
    obligations = list(_all(proof))
    reused = sum(o.reused for o in obligations)
    again = f", {reused} reused" if reused else ""
    where = f" at {proof.broken}" if proof.broken else ""
    print(
        f"\n{bold(f'{proof.chain}: {proof.verdict}{where}', out)}"
        f" ({len(proof.steps)} steps, {len(obligations)} obligations{again},"
        f" {proof.seconds:.2f} s, {proof.solver})",
        file=out,
    )


def _shown(step: StepProof) -> str:
    return f"inherited from {step.inherited}" if step.inherited else step.verdict


def _row(name: str, verdict: str, obligations: Sequence[Obligation]) -> tuple[str, ...]:
    evidence = ", ".join(sorted({o.evidence for o in obligations})) or "none"
    seconds = sum(o.seconds for o in obligations)
    return name, str(len(obligations)), verdict, evidence, f"{seconds:.3f}"


def _all(proof: ChainProof) -> Iterator[Obligation]:
    for step in proof.steps:
        yield from step.proof.obligations if step.proof is not None else ()
    yield from proof.composition.obligations


def _wrapped(text: str, indent: str, out: TextIO) -> list[str]:
    width = min(_WIDTH, stream_width(out) or _WIDTH)
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )
