"""A proposer names what each purchase of a study made possible; the study itself does not change.

The sentences that are read off the two solutions (``walls.mechanism``) stay as they are. The name
is a word of the proposer beside them, and nothing is decided by it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from formwright.agent.protocol import Request
from formwright.contract.agent import Agent
from formwright.flow.agent_proposers import ledger_of, proposer_of
from formwright.flow.codesign_results import PurchaseRow, StudyResult
from formwright.flow.setting import Listener

NAME = 400
"""Characters of a name."""


def name_purchases(
    result: StudyResult, agent: Agent, out: Path, listener: Listener
) -> dict[str, Any]:
    """``mechanisms``: of each purchase its ceiling, round, sentences and the proposer's ``name``.

    Answers are in ``out/transcript.jsonl``, so the same call asks nothing twice. Raises
    ``InputError`` for a proposer that cannot be opened.
    """
    ledger = ledger_of(agent)
    proposer = proposer_of(agent, None, out, ledger)
    found: list[dict[str, Any]] = []
    for number, (budget, bought) in enumerate(_purchases(result), 1):
        listener.stage(f"{proposer.name}: naming purchase {number}")
        reply = proposer.propose(_request(result, number, bought))
        said = [p.text for p in reply.proposals if p.language == "text"]
        words = " ".join(said[0].split())[:NAME] if said else ""
        found.append(
            {
                "budget": budget,
                "round": bought.round,
                "fields": {name: list(step) for name, step in bought.fields.items()},
                "mechanism": list(bought.mechanism),
                "name": "".join(c for c in words if c.isprintable()),
                "problem": reply.problem,
                "entry": bought.entry,
            }
        )
    return {"proposer": proposer.name, "mechanisms": found, "spent": ledger.data()}


def _purchases(result: StudyResult) -> Iterator[tuple[float | None, PurchaseRow]]:
    for ceiling in result.ceilings:
        for bought in ceiling.purchases:
            yield ceiling.budget, bought


def _request(result: StudyResult, number: int, bought: PurchaseRow) -> Request:
    return Request(
        kind="mechanism",
        number=number,
        seed=0,
        contract=f'study = "{result.study}"\nlibrary = "{result.library}"\n',
        formula=(),
        chip={name: str(value) for name, value in result.start.items()},
        journal=bought.mechanism,
        data={"purchase": _steps(bought.fields), "sentences": list(bought.mechanism)},
    )


def _steps(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: [str(before), str(after)] for name, (before, after) in fields.items()}
