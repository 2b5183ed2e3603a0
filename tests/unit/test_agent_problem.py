"""The table ``[agent]``, what a command says in its place, and contracts written as text."""

from fractions import Fraction
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.digest import canonical
from formwright.base.source import Source
from formwright.base.toml import read_toml
from formwright.contract.agent import Agent
from formwright.contract.contract import Contract
from formwright.contract.fields import Fields
from formwright.contract.files import load_contract, read_contract
from formwright.contract.operators import OPERATORS, operator
from formwright.contract.problem import AGENT_SECONDS, Budget, load_problem
from formwright.contract.relation import Relation
from formwright.contract.workloads import Workload
from formwright.contract.writing import contract_text
from formwright.flow.agent_proposers import ledger_of
from formwright.flow.options import Options, with_options

SHAPE = "[workloads.a]\nM = 3\nN = 4\nK = 0\n"
NAMED = 'templates = ["packed_gemm"]\n' + SHAPE


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(text)
    return path


def faults(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_problem(written(tmp_path, text))
    assert all(d.span is not None and d.hint for d in caught.value.diagnostics)
    return [f"{d.span.line}: {d.message}" for d in caught.value.diagnostics if d.span]


def test_a_problem_without_templates_has_them_made(tmp_path: Path) -> None:
    problem = load_problem(written(tmp_path, SHAPE))
    assert problem.templates == ()
    assert problem.agent == Agent()
    assert problem.budget.seconds == AGENT_SECONDS


def test_a_problem_with_templates_keeps_its_digest(tmp_path: Path) -> None:
    """Journals and records of before this table name problems by digest."""
    problem = load_problem(written(tmp_path, NAMED))
    assert problem.agent is None
    assert problem.budget.seconds == Budget().seconds
    assert "agent" not in canonical(problem)


def test_the_table_and_its_budget_are_read(tmp_path: Path) -> None:
    text = NAMED + (
        '[agent]\nproposer = "openai"\nmodel = "m"\naddress = "http://localhost:1/v1"\n'
        "generations = 3\ndiagnose = false\n"
        "[agent.budget]\ncalls = 4\nmoney = 0.5\n[agent.prices]\ntokens_in = 0\ntokens_out = 2.5\n"
    )
    agent = load_problem(written(tmp_path, text)).agent
    assert agent is not None
    assert (agent.proposer, agent.model, agent.generations, agent.diagnose) == (
        *("openai", "m", 3),
        False,
    )
    ledger = ledger_of(agent)
    assert ledger.budget.calls == 4
    assert ledger.prices is not None
    assert ledger.prices.tokens_out == 2.5


def test_paths_of_the_table_are_relative_to_the_file(tmp_path: Path) -> None:
    text = SHAPE + '[agent]\nproposer = "replay"\ntranscript = "t.jsonl"\n'
    agent = load_problem(written(tmp_path, text)).agent
    assert agent is not None
    assert agent.transcript == str(tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('[agent]\nproposer = "libary"\n', '6: unknown proposer "libary"'),
        ('[agent]\nproposer = "openai"\n', "6: openai needs a model"),
        ('[agent]\nproposer = "replay"\n', "6: replay needs a transcript"),
        ('[agent]\nmodel = "m"\n', "6: model is of openai and anthropic, not of library"),
        ("[agent]\ngenerations = 0\n", "6: generations = 0 is out of range"),
        ("[agent]\ndiagnose = 1\n", "6: diagnose is not true or false"),
        ("[agent]\nrepair = 1\n", '6: unknown key "repair"'),
        ("[agent.budget]\ncalls = 0\n", "6: calls is not a whole number above 0"),
        ("[agent.budget]\ntokens = 2.5\n", "6: tokens is not a whole number above 0"),
        ("[agent.budget]\nmoney = nan\n", "6: money is not a number above 0"),
        ("[agent.budget]\nmoney = 1\n", "5: a budget of money needs the prices of the model"),
        ("[agent.prices]\ntokens_in = -1\n", "6: tokens_in is not a number from 0"),
        ("[[agent]]\n", "5: agent is not a table"),
    ],
)
def test_each_fault_has_its_place(tmp_path: Path, table: str, told: str) -> None:
    assert told in faults(tmp_path, SHAPE + table)


def test_all_faults_of_the_table_come_at_once(tmp_path: Path) -> None:
    text = SHAPE + '[agent]\nproposer = "x"\nrepairs = -1\n[agent.budget]\ntoken = 1\ncalls = "a"\n'
    assert len(faults(tmp_path, text)) == 4


def test_a_command_comes_before_the_file(tmp_path: Path) -> None:
    problem = load_problem(written(tmp_path, NAMED))
    found = with_options(
        problem,
        Options(agent="manual", answers="here", generations=2, budget="calls=3,seconds=60"),
    )
    assert found.agent == Agent(
        proposer="manual",
        answers="here",
        generations=2,
        budget=(("calls", 3.0), ("seconds", 60.0)),
    )
    assert found.budget.seconds == AGENT_SECONDS
    assert with_options(problem, Options()) is problem


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (Options(agent="nobody"), 'no proposer "nobody"'),
        (Options(agent="anthropic"), "anthropic needs a model"),
        (Options(agent="library", model="m"), "model is of openai"),
        (Options(budget="calls"), '"calls" is not NAME=NUMBER'),
        (Options(budget="call=1"), 'did you mean "calls"'),
        (Options(budget="calls=none"), "calls is not a whole number above 0"),
        (Options(budget="calls=2.5"), "calls is not a whole number above 0"),
        (Options(budget="money=0"), "money is not a number above 0"),
        (Options(budget="tokens_in=-1"), "tokens_in is not a number from 0"),
        (Options(budget="money=1"), "needs the prices"),
    ],
)
def test_a_command_that_does_not_fit_is_told(tmp_path: Path, options: Options, told: str) -> None:
    with pytest.raises(InputError, match=told):
        with_options(load_problem(written(tmp_path, SHAPE)), options)


def test_another_proposer_does_not_inherit_what_was_said_of_the_first(tmp_path: Path) -> None:
    text = SHAPE + '[agent]\nproposer = "openai"\nmodel = "m"\n'
    found = with_options(load_problem(written(tmp_path, text)), Options(agent="library"))
    assert found.agent == Agent()


def contracts() -> list[Contract]:
    found = []
    for family in OPERATORS.values():
        found.append(family.contract())
        for dtype in sorted({d for allowed in family.dtypes.values() for d in allowed}):
            found.append(family.contract(dtypes=dtype))
        if family.narrow_stages:
            found.append(family.contract(stages="bf16"))
    gemm = operator("gemm")
    found.append(gemm.contract(ahead=("B",), extents={"K": (1, 512)}, caches="cold"))
    found.append(gemm.contract(relation=Relation("bitwise", reassociate=False)))
    found.append(gemm.contract(relation=Relation("ulp", ulps=3, norm=Fraction(1, 8))))
    return found


@pytest.mark.parametrize("contract", contracts(), ids=lambda c: c.operator)
def test_a_contract_is_read_back_from_its_text(contract: Contract) -> None:
    fields = Fields(read_toml(Source("c.toml", contract_text(contract))))
    assert read_contract(fields) == contract
    assert fields.faults == []


def test_shapes_are_read_back_too(tmp_path: Path) -> None:
    shapes = (Workload("a", {"M": 1, "N": 2, "K": 3}), Workload("b.c", {"M": 4, "N": 5, "K": 6}))
    path = tmp_path / "c.toml"
    path.write_text(contract_text(operator("gemm").contract(), shapes))
    assert load_contract(path).workloads == shapes


def test_a_problem_with_an_agent_is_read_where_a_contract_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, 'operator = "gemm"\nthreads = 2\nchip = "local"\n[agent]\n' + SHAPE)
    assert load_contract(path).contract == operator("gemm").contract()
