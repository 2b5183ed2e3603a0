"""The problems that ship load, and their templates state the contract's formula."""

from pathlib import Path

import pytest

from formwright.contract.matching import matches, typed_for
from formwright.contract.problem import load_problem
from formwright.lang import load

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_templates_of_an_example_match_its_contract(path):
    problem = load_problem(path)
    for name in problem.templates:
        _, template = load(name)
        assert matches(template, problem.contract) == ()
        typed = typed_for(template, problem.contract).scope.workload
        types = {t.name: t.dtype for t in (*typed.inputs, typed.output)}
        assert types == {o.name: o.dtype for o in problem.contract.operands}
