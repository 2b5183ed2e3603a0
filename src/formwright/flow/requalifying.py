"""``requalify`` for the command line."""

from dataclasses import replace
from pathlib import Path

from formwright.base.source import Source
from formwright.flow.proving import prove_source
from formwright.qualify.artifact import TEMPLATE
from formwright.qualify.renew import renew
from formwright.qualify.requalify import Change, Requalification, requalify


def requalify_folder(folder: Path) -> Requalification:
    """Run the checks again on the very binary, and renew what changed facts have voided.

    With another version of this package the template is proved again: its meaning may be
    another now. The record is written anew when everything holds.
    """
    result = requalify(folder)
    if not result.held:
        return result
    template = folder / TEMPLATE
    if not template.is_file() or "formwright" not in [c.fact for c in result.changes]:
        return renew(result)
    proof = prove_source(Source(str(template), template.read_text(encoding="utf-8")))
    if proof.verdict != "proved":
        voids = "what was proved of the template, in the meaning that this version gives it"
        lost = Change("proof", "proved", proof.verdict, voids, fatal=True)
        return replace(result, held=False, changes=(*result.changes, lost))
    return renew(result, proof=proof.as_json())
