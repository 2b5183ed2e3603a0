"""Diagnostics and proofs as plain data for answers: cut to size, and without folders."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import Diagnostic, InputError, render
from formwright.base.source import Source
from formwright.mcp.limits import SHOWN
from formwright.proof.verdict import Obligation, Proof
from formwright.report.lanes import lane_lines

TEXT: int = 4_000
"""Characters of one message."""
COUNTEREXAMPLES: int = 20
"""Of one proof."""
TRACE: int = 200
"""Lines of one run."""
LINE: int = 200
"""Characters of one of them."""


def faults_of(error: InputError, folder: Path) -> list[dict[str, Any]]:
    """One for each diagnostic; paths of the job's own ``folder`` are left out."""
    return [fault_of(d, error.source, folder) for d in error.diagnostics[:SHOWN]]


def fault_of(diagnostic: Diagnostic, source: Source | None, folder: Path) -> dict[str, Any]:
    span = diagnostic.span
    return {
        "message": without(diagnostic.message, folder),
        "hint": without(diagnostic.hint or "", folder),
        "line": None if span is None else span.line,
        "column": None if span is None else span.column,
        "shown": without(render(diagnostic, source), folder),
    }


def without(text: str, folder: Path) -> str:
    """``text`` cut to size, and with paths relative to ``folder``."""
    return text.replace(f"{folder}/", "")[:TEXT]


def proof_data(proof: Proof) -> dict[str, Any]:
    """As :class:`formwright.mcp.shapes.Proved`; counterexamples are numbered from 1."""
    numbers = {o.name: n for n, o in enumerate(refuting(proof), 1)}
    left = [o for o in proof.obligations if o.verdict != "proved"]
    return {
        "kind": "prove",
        "name": proof.template,
        "digest": proof.digest,
        "verdict": proof.verdict,
        "evidence": "proved" if proof.verdict == "proved" else "none",
        "obligations": dict(Counter(o.verdict for o in proof.obligations)),
        "open": [_open(o, numbers) for o in left[:SHOWN]],
        "seconds": proof.seconds,
        "solver": proof.solver,
    }


def refuting(proof: Proof) -> list[Obligation]:
    """The obligations that have a counterexample, in order."""
    return [o for o in proof.obligations if o.counterexample is not None][:COUNTEREXAMPLES]


def _open(o: Obligation, numbers: dict[str, int]) -> dict[str, Any]:
    met = o.counterexample
    return {
        "name": o.name,
        "group": o.group,
        "condition": o.condition,
        "verdict": o.verdict,
        "detail": o.detail[:TEXT],
        "counterexample": numbers.get(o.name),
        "text": "" if met is None else met.text[:TEXT],
    }


def _cut(lines: Sequence[str]) -> list[str]:
    return [line[:LINE] for line in lines[:TRACE]]


def counterexamples_data(obligations: Iterable[Obligation]) -> list[dict[str, Any]]:
    """As :class:`formwright.mcp.shapes.Counterexample`, one for each."""
    found = []
    for number, o in enumerate(obligations, 1):
        met = o.counterexample
        assert met is not None
        drawn = [] if met.interleaving is None else lane_lines(met.interleaving)
        found.append(
            {
                "number": number,
                "obligation": o.name,
                "condition": o.condition,
                "text": met.text[:TEXT],
                "values": dict(met.values),
                "replayed": met.replayed,
                "trace": _cut(met.trace),
                "drawing": "\n".join(_cut(drawn)),
            }
        )
    return found
