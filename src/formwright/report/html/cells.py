"""Figures and words with what they rest on: a sign and a word each, never colour alone."""

from formwright.report.html.escaped import escaped
from formwright.report.html.place import Place, address
from formwright.report.page import Cell, Evidence, Standing

EVIDENCE: dict[Evidence, tuple[str, str]] = {
    "proved": ("∎", "every assignment that the template allows, every parameter in its scope"),
    "bounded": ("⊓", "every behaviour of a bounded model; the bound is stated"),
    "tested": ("⁙", "the inputs that were run, by seed and kind"),
    "measured": ("↔", "a cost on a machine, with its distribution"),
    "simulated": ("↻", "a cost by following the events of a machine one by one"),
    "modelled": ("ƒ", "a cost by a formula"),
}
"""For each word its sign, and what it says."""

STANDING: dict[Standing, tuple[str, str]] = {
    "held": ("✓", "the condition was shown"),
    "refuted": ("✗", "a counterexample was found"),
    "unresolved": ("?", "neither was shown; it counts as no"),
}


def evidence_html(evidence: Evidence | None) -> str:
    if evidence is None:
        return ""
    sign, _ = EVIDENCE[evidence]
    return f' <span class="ev {evidence}"><i aria-hidden="true">{sign}</i>{evidence}</span>'


def standing_html(standing: Standing | None) -> str:
    if standing is None:
        return ""
    sign, _ = STANDING[standing]
    return f'<span class="st {standing}"><i aria-hidden="true">{sign}</i>{standing}</span> '


def _where(cell: Cell, to: str) -> str:
    """For a link to a file: where in it."""
    if to.startswith("#") or cell.origin is None or not cell.origin.entry:
        return ""
    return f' title="{escaped(f"{cell.origin.file} · {cell.origin.entry}")}"'


def cell_html(cell: Cell, place: Place) -> str:
    """The text, linked to where it stands, between how it came out and what it rests on.

    A cell whose text is the standing itself shows it once.
    """
    text = escaped(cell.text)
    said = cell.text.strip()
    before = "" if said == cell.standing else standing_html(cell.standing)
    after = "" if said == cell.evidence else evidence_html(cell.evidence)
    if said and said == cell.standing:
        text = standing_html(cell.standing).strip()
    elif said and said == cell.evidence:
        text = evidence_html(cell.evidence).strip()
    to = address(place, cell.origin)
    if to is not None and said:
        text = f'<a href="{escaped(to)}"{_where(cell, to)}>{text}</a>'
    return f"{before}{text}{after}"
