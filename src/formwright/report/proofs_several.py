"""Several proofs on a terminal: a row for each, and where to look at what is open."""

from rich.console import Console

from formwright.flow.proving_several import Several
from formwright.proof.verdict import Proof
from formwright.report.tables import print_table, print_title

_HEADINGS = ("template", "verdict", "obligations", "open", "seconds", "machine")
_NUMBERS = frozenset((_HEADINGS.index("obligations"), _HEADINGS.index("seconds")))


def print_proofs(console: Console, found: Several) -> None:
    """A row for each template, in the order in which they were named."""
    rows = [_row(name, p, found.machines[name].name) for name, p in found.proofs.items()]
    print_table(console, _HEADINGS, rows, _NUMBERS)
    proved = sum(p.verdict == "proved" for p in found.proofs.values())
    lost = f", {found.lost} attempt(s) lost" if found.lost else ""
    print_title(console, f"{proved} of {len(rows)} proved", f" in {found.seconds:.1f} s{lost}")


def _row(name: str, proof: Proof, machine: str) -> tuple[str, ...]:
    open_ = [o for o in proof.obligations if o.verdict != "proved"]
    told = f"{len(open_)}: formwright prove {name}" if open_ else ""
    total = str(len(proof.obligations))
    return name, proof.verdict, total, told, f"{proof.seconds:.2f}", machine
