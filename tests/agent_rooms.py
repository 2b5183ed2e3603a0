"""Runs with an agent in small: a scripted proposer, a population in memory, no machine."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from formwright.agent.protocol import Finding, Proposal, Reply, Request, Spent
from formwright.contract.agent import Agent
from formwright.contract.contract import Contract
from formwright.contract.operators import operator
from formwright.contract.problem import Budget, Problem, Workload
from formwright.flow.agent_room import Room
from formwright.flow.executor_here import HereExecutor
from formwright.flow.journal import Journal
from formwright.flow.setting import Setting
from formwright.population import ChipKey, Population, open_population
from listeners import Silent

GEMV: Contract = operator("gemv").contract()
SHAPE = Workload("small", {"N": 37, "K": 29})

CHIP: dict[str, int | Fraction] = {
    "chip.cores": 2,
    "chip.clock": 3 * 10**9,
    "chip.vector_lanes": 8,
    "chip.vector_registers": 16,
    "chip.dram_bandwidth": 20 * 10**9,
    "chip.core_dram_bandwidth": 12 * 10**9,
    "chip.l1_bytes": 1 << 15,
    "chip.l2_bytes": 1 << 19,
    "chip.l3_bytes": 1 << 25,
    "chip.l2_bandwidth": 80 * 10**9,
    "chip.l3_bandwidth": 50 * 10**9,
}
"""A small CPU."""


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
    """A room on a made-up CPU; the journal is that of ``out``."""
    agent = agent or Agent()
    problem = Problem(
        name="scripted",
        contract=contract,
        templates=(),
        chip="local",
        threads=1,
        workloads=workloads,
        baselines=("numpy",),
        budget=Budget(candidates=1, rounds=1, seconds=60.0),
        agent=agent,
    )
    with Journal(out / "journal.jsonl") as journal:
        setting = Setting(
            problem=problem,
            chip_name="made up",
            chip=dict(CHIP),
            threads=1,
            out=out,
            journal=journal,
            listener=Silent(),
            seed=7,
            executor=HereExecutor(),
        )
        yield Room(
            setting=setting,
            agent=agent,
            proposer=proposer,
            population=population or open_population(":memory:"),
            chip=ChipKey("made up", "0" * 64),
            machine="a machine",
            run="scripted",
        )


def told(findings: Sequence[Finding]) -> str:
    """All that findings say, in one text."""
    return "\n".join(f"{f.stage} {f.condition} {f.message} {f.counterexample}" for f in findings)
