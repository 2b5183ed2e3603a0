"""The proposer that a problem names, with its answers on the disk before they are used."""

from dataclasses import dataclass
from pathlib import Path

from formwright.agent.budget import Budget, Ledger, Prices
from formwright.agent.costing import with_cost
from formwright.agent.library import Library
from formwright.agent.manual import Manual
from formwright.agent.protocol import Finding, Proposal, Proposer, Reply, Request, Spent
from formwright.agent.replay import Recording, Replay
from formwright.agent.screening import screen
from formwright.agent.specification import plain_templates
from formwright.contract.agent import Agent
from formwright.contract.contract import Contract
from formwright.flow.mending import mend_text

TRANSCRIPT = "transcript.jsonl"
"""In the run's folder."""
REQUESTS = "requests"
"""In the run's folder: where ``manual`` asks, if the problem names no folder."""


def ledger_of(agent: Agent) -> Ledger:
    """What may be spent. Raises ``InputError`` for limits that are none."""
    limits, prices = dict(agent.budget), dict(agent.prices)
    whole = {n: int(limits.pop(n)) for n in ("calls", "tokens") if n in limits}
    stated = Prices(prices.get("tokens_in", 0.0), prices.get("tokens_out", 0.0))
    return Ledger(Budget(**whole, **limits), stated if prices else None)  # type: ignore[arg-type]


def proposer_of(agent: Agent, contract: Contract | None, out: Path, ledger: Ledger) -> Proposer:
    """Texts are held against ``contract``; without one only words are asked for.

    Raises ``InputError`` for a transcript that is none, a model without key or address."""
    if agent.proposer == "replay":
        return Replay(Path(agent.transcript), ledger)

    def screening(proposal: Proposal) -> tuple[Finding, ...]:
        return () if contract is None else screen(proposal, contract)

    asked: Proposer
    match agent.proposer:
        case "library":
            asked = Charged(Library(plain_templates, with_cost, mend_text), ledger)
        case "manual":
            folder = Path(agent.answers) if agent.answers else out / REQUESTS
            asked = Manual(folder, ledger, screening)
        case _:
            # Its HTTP client is an extra: nobody else needs it.
            from formwright.agent.models.served import served_model

            asked = served_model(
                agent.proposer,
                agent.model,
                ledger,
                address=agent.address or None,
                screening=screening,
            )
    return Recording(asked, out / TRANSCRIPT, ledger)


@dataclass(frozen=True, slots=True)
class Charged:
    """A proposer that does not know of budgets: its answers are charged here."""

    proposer: Proposer
    ledger: Ledger

    @property
    def name(self) -> str:
        return self.proposer.name

    def propose(self, request: Request) -> Reply:
        """Nothing is asked where the budget is spent."""
        stop = self.ledger.exhausted()
        if stop:
            return Reply((), Spent(), stop)
        reply = self.proposer.propose(request)
        self.ledger.charge(reply.spent)
        return reply
