"""From a text to its place: proved and admitted, or on the shelf with what was found wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from formwright.base.diagnostics import InputError
from formwright.ir.template import Template
from formwright.population.admission import why_not
from formwright.population.entries import Entry, Met
from formwright.population.store import Population
from formwright.population.texts import parsed
from formwright.proof.verdict import Proof

Prove = Callable[[Template], Proof]


@dataclass(frozen=True, slots=True)
class Settled:
    """``proof`` is ``None`` where there was nothing to prove, or nothing to prove again.

    ``reasons`` say why the entry is not admitted.
    """

    entry: Entry
    proof: Proof | None
    reasons: tuple[str, ...] = ()


def settle(population: Population, key: str, prove: Prove, source: str = "") -> Settled:
    """Proves an entry and gives it its place; counterexamples that it meets are kept.

    What is proved under the rules of now stays as it is, and so does kernel source. ``source``
    names run and journal entry.
    """
    entry = population.entry(key)
    if entry.evidence == "proved" or entry.language != "fw":
        return Settled(entry, None)
    template = parsed(entry.name, entry.text)
    if template.formulation:
        reason = "a formulation without a program: what it says is modelled, never proved"
        return Settled(population.shelve(entry.digest, reason), None, (reason,))
    try:
        proof = prove(template)
    except InputError as error:
        reasons = tuple(d.message for d in error.diagnostics)
        shelved = population.shelve(entry.digest, "; ".join(reasons), unless_proved=True)
        return Settled(shelved, None, reasons)
    reasons = why_not(template, proof)
    if not reasons:
        return Settled(population.admit(entry.digest, proof), proof)
    population.record(*counterexamples(entry.digest, proof, source))
    # Another process may have come further with it, in the time that this one took.
    told = "; ".join(reasons)
    entry = population.shelve(entry.digest, told, verdict=proof.verdict, unless_proved=True)
    return Settled(entry, proof, reasons)


def counterexamples(digest: str, proof: Proof, source: str) -> Iterator[Met]:
    """Those of a proof, as the population keeps them."""
    for obligation in proof.obligations:
        met = obligation.counterexample
        if met is not None:
            yield Met(
                template=digest,
                condition=obligation.condition,
                text=met.text,
                values=met.values,
                replayed=met.replayed,
                source=source,
                trace=met.trace,
            )
