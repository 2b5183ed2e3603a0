"""Runs with an agent in small: a scripted proposer, a population in memory, no machine."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from formwright.agent.protocol import Finding, Proposal, Reply, Request, Spent
from formwright.chip import load_chip
from formwright.contract.agent import Agent
from formwright.contract.contract import Contract
from formwright.contract.operators import operator
from formwright.contract.problem import Budget, Problem, Workload
from formwright.flow.agent_room import Room
from formwright.flow.journal import Journal
from formwright.flow.setting import Setting
from formwright.population import ChipKey, Population, open_population

GEMV: Contract = operator("gemv").contract()
SHAPE = Workload("small", {"N": 37, "K": 29})


class Quiet:
    """A listener that keeps what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def stage(self, text: str) -> None:
        pass

    def done(self, text: str) -> None:
        self.lines.append(text)


class Scripted:
    """Answers by number, from texts or from a function of the request."""

    name = "scripted"

    def __init__(self, answers: Sequence[Sequence[str] | Callable[[Request], Reply]]) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def propose(self, request: Request) -> Reply:
        self.asked.append(request)
        if not self.answers:
            return Reply((), Spent(), "nothing more in the script")
        answer = self.answers.pop(0)
        if callable(answer):
            return answer(request)
        texts = tuple(Proposal(text, "fw", f"scripted:{request.kind}") for text in answer)
        return Reply(texts, Spent(calls=1))


@contextmanager
def room_at(
    out: Path,
    proposer: Scripted,
    *,
    agent: Agent | None = None,
    contract: Contract = GEMV,
    workloads: tuple[Workload, ...] = (SHAPE,),
    population: Population | None = None,
) -> Iterator[Room]:
    """A room whose chip is the illustrative one; the journal is that of ``out``."""
    chip = load_chip("illustrative")
    agent = agent or Agent()
    problem = Problem(
        name="scripted",
        contract=contract,
        templates=(),
        chip="illustrative",
        threads=1,
        workloads=workloads,
        baselines=("numpy",),
        budget=Budget(candidates=1, rounds=1, seconds=60.0),
        agent=agent,
    )
    with Journal(out / "journal.jsonl") as journal:
        setting = Setting(
            problem=problem,
            chip_name=chip.name,
            chip=chip.parameters(),
            threads=1,
            out=out,
            journal=journal,
            listener=Quiet(),
            seed=7,
        )
        yield Room(
            setting=setting,
            agent=agent,
            proposer=proposer,
            population=population or open_population(":memory:"),
            chip=ChipKey(chip.name, "0" * 64),
            machine="a machine",
            run="scripted",
        )


def told(findings: Sequence[Finding]) -> str:
    """All that findings say, in one text."""
    return "\n".join(f"{f.stage} {f.condition} {f.message} {f.counterexample}" for f in findings)
