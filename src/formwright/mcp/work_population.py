"""In the child: the population searched, shown, and added to; admission is the verifier's word."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from formwright.agent.brief import without_comments
from formwright.agent.protocol import Proposal
from formwright.agent.screening import screen
from formwright.base.diagnostics import Diagnostic, InputError
from formwright.contract.contract import Contract
from formwright.flow.proving import prove
from formwright.lang import parse
from formwright.mcp.asked import Asked
from formwright.mcp.binding import Say
from formwright.mcp.limits import LIMITS, SHOWN
from formwright.mcp.sources import find_source
from formwright.mcp.telling import counterexamples_data, proof_data, refuting
from formwright.population import Entry, Origin, Population, open_population
from formwright.population.settling import settle
from formwright.population.telling import fact_lines, met_line, standing_line
from formwright.proof.verdict import Limits

PROPOSER = "mcp"


def search_population(asked: Asked, say: Say) -> dict[str, Any]:
    """What covers the problem's contract, else what is like a template, else words in names."""
    population = open_population(asked.population)
    if asked.template:
        template = parse(find_source(asked.template, asked.population))
        alike = population.alike(template, limit=SHOWN, shelf=asked.shelf)
        return _hits(population, ((a.entry, f"likeness {float(a.likeness):.2f}") for a in alike))
    if asked.problem is not None:
        contract = asked.problem.problem.contract
        return _hits(population, _of_contract(population, contract, asked.shelf))
    entries = population.entries(shelf=None if asked.shelf else False)
    words = asked.words.lower().split()
    kept = [e for e in entries if all(w in _searched(e) for w in words)]
    return _hits(population, ((e, "") for e in kept[:SHOWN]))


def _of_contract(
    population: Population, contract: Contract, shelf: bool
) -> Iterable[tuple[Entry, str]]:
    covered = population.covering(contract, shelf=shelf)
    yield from ((c.entry, "covers the contract") for c in covered[:SHOWN])
    seen = {c.entry.digest for c in covered}
    for alike in population.alike(contract, limit=SHOWN, shelf=shelf):
        if alike.entry.digest not in seen:
            yield alike.entry, f"likeness {float(alike.likeness):.2f}"


def _searched(entry: Entry) -> str:
    parts = () if entry.signature is None else entry.signature.parts()
    return " ".join([entry.name, *(w for _, words in parts for w in words)]).lower()


def _hits(population: Population, found: Iterable[tuple[Entry, str]]) -> dict[str, Any]:
    hits = []
    for entry, why in list(found)[:SHOWN]:
        facts = fact_lines(population.facts(entry.digest))
        hits.append(_entry(entry) | {"why": why, "facts": list(facts[:SHOWN])})
    return {"hits": hits}


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "digest": entry.digest,
        "name": entry.name,
        "place": entry.place,
        "evidence": entry.evidence,
        "standing": standing_line(entry),
    }


def show_entry(asked: Asked, say: Say) -> dict[str, Any]:
    """All that is known of one entry; its text without comments, since they are others' words."""
    population = open_population(asked.population)
    entry = population.entry(asked.words)
    met = population.counterexamples(entry.digest)
    parts = () if entry.signature is None else entry.signature.parts()
    text = without_comments(entry.name, entry.text) if entry.language == "fw" else entry.text
    return _entry(entry) | {
        "signature": {part: list(words) for part, words in parts},
        "facts": list(fact_lines(population.facts(entry.digest))[:SHOWN]),
        "counterexamples": [met_line(m) for m in met[:SHOWN]],
        "lineage": [
            f"{s.child[:12]} {f'from {s.parent[:12]} ' if s.parent else ''}by {s.rule}"
            f" ({s.proposer}){f': {s.why}' if s.why else ''}"
            for s in population.lineage(entry.digest)[:SHOWN]
        ],
        "text": text,
    }


def submit_text(asked: Asked, say: Say) -> dict[str, Any]:
    """A template into the population: screened, on the shelf, proved, and then admitted or not.

    Raises ``InputError`` where the text itself cheats or claims less than the problem's contract.
    """
    source = find_source(asked.template, asked.population)
    parse(source)
    if asked.problem is not None:
        proposal = Proposal(source.text, "fw", "submitted")
        findings = screen(proposal, asked.problem.problem.contract)
        if findings:
            raise InputError([_finding(f.stage, f.message) for f in findings])
    population = open_population(asked.population)
    parents = tuple(population.entry(p).digest for p in asked.parents)
    origin = Origin(PROPOSER, "submitted", parents, asked.words)
    entry = population.add_template(source.text, origin=origin)
    say(f"proving {entry.name}")
    limits = Limits(whole=LIMITS["submit"].seconds / 2)
    run = f"{PROPOSER}:{asked.folder.name}"
    settled = settle(population, entry.digest, partial(prove, progress=say, limits=limits), run)
    proof: Mapping[str, Any] = {} if settled.proof is None else _proof(settled.proof)
    return {
        "kind": "submit",
        **{k: v for k, v in _entry(settled.entry).items() if k != "standing"},
        "reasons": list(settled.reasons[:SHOWN]),
        **proof,
    }


def _proof(proof: Any) -> dict[str, Any]:
    return {
        "proof": proof_data(proof),
        "counterexamples": counterexamples_data(refuting(proof)),
    }


def _finding(stage: str, message: str) -> Diagnostic:
    first, *rest = message.splitlines() or [""]
    told = "\n".join(rest)
    return Diagnostic(f"{stage}: {first}", None, told.strip() or None)
