"""Counterexamples drawn into a folder: a text and an SVG for each run."""

import re
from pathlib import Path

from formwright.base.files import write_text
from formwright.proof.interleaving import Interleaving
from formwright.proof.verdict import Proof
from formwright.report.lanes import lane_lines
from formwright.report.lanes_svg import lanes_svg


def write_lanes(proof: Proof, folder: Path) -> tuple[Path, ...]:
    """Writes ``CONDITION-N.txt`` and ``.svg`` for each run, one for runs that are the same."""
    runs: dict[Interleaving, str] = {}
    for o in proof.obligations:
        shown = None if o.counterexample is None else o.counterexample.interleaving
        if shown is not None and shown not in runs:
            word = re.sub(r"[^a-z_]", "", o.condition)
            same = sum(name.startswith(word + "-") for name in runs.values())
            runs[shown] = f"{word}-{same + 1}"
    written: list[Path] = []
    for shown, name in runs.items():
        for suffix, text in (
            (".txt", "\n".join(lane_lines(shown)) + "\n"),
            (".svg", lanes_svg(shown)),
        ):
            path = folder / f"{proof.template}-{name}{suffix}"
            write_text(path, text)
            written.append(path)
    return tuple(written)
