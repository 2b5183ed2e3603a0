"""In the child: what a text says, and whether it holds."""

from typing import Any

from formwright.agent.brief import LANGUAGE
from formwright.chip.load import LOCAL, shipped_chips
from formwright.contract.contract import contract_data
from formwright.contract.matching import matches
from formwright.contract.problem import Problem
from formwright.flow.chips import open_chip
from formwright.flow.proving import prove_source
from formwright.flow.showing import summary_of
from formwright.lang import parse, shipped
from formwright.lang.format import format_template
from formwright.mcp.asked import Asked
from formwright.mcp.binding import Say, chip_of
from formwright.mcp.limits import LIMITS, SHOWN
from formwright.mcp.sources import find_source
from formwright.mcp.telling import counterexamples_data, fault_of, proof_data, refuting
from formwright.proof.verdict import Limits


def tell_problem(asked: Asked, say: Say) -> dict[str, Any]:
    """What the session is about: the problem's contract, chip and workloads, and the language."""
    problems = [] if asked.problem is None else [_problem(asked, asked.problem.problem, say)]
    return {
        "problems": problems,
        "chips": [LOCAL, *shipped_chips()],
        "templates": list(shipped()),
        "language": LANGUAGE,
    }


def _problem(asked: Asked, problem: Problem, say: Say) -> dict[str, Any]:
    say("reading the chip")
    chip = open_chip(chip_of(asked))
    values = chip.parameters()
    return {
        "name": problem.name,
        "operator": problem.contract.operator,
        "formula": list(problem.contract.formula),
        "contract": contract_data(problem.contract),
        "workloads": [{"name": w.name, "extents": dict(w.extents)} for w in problem.workloads],
        "threads": problem.threads or int(values.get("chip.cores", 1)),
        "objective": problem.objective.goal,
        "baselines": list(problem.baselines),
        "chip": chip.name,
        "chip_values": {name: str(value) for name, value in values.items()},
    }


def parse_text(asked: Asked, say: Say) -> dict[str, Any]:
    """The template at a glance, in canonical text; and how it differs from the contract."""
    source = find_source(asked.template, asked.population)
    template = parse(source)
    shown = summary_of(source, template)
    found = {k: shown[k] for k in ("name", "digest", "levels", "scope", "decisions", "points")}
    found |= {k: shown[k] for k in ("constraints", "requires", "cost")}
    found |= {"kind": "parse", "text": format_template(template)}
    if asked.problem is None:
        return found
    contract = asked.problem.problem.contract
    differences = matches(template, contract)
    return found | {
        "problem": asked.problem.problem.name,
        "matches": not differences,
        "differences": [fault_of(d, source, asked.folder) for d in differences[:SHOWN]],
    }


def prove_text(asked: Asked, say: Say) -> dict[str, Any]:
    """K1, K2 and K3 for every design; a proof that is kept answers at once."""
    source = find_source(asked.template, asked.population)
    whole = LIMITS["prove"].seconds / 2
    proof = prove_source(source, progress=say, limits=Limits(seconds=asked.seconds, whole=whole))
    return proof_data(proof) | {"counterexamples": counterexamples_data(refuting(proof))}
