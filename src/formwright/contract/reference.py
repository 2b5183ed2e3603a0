"""The reference of any contract in float64, and the error that a kernel may make against it."""

from formwright.contract.contract import Contract
from formwright.contract.expected import Expected
from formwright.contract.numbers import Array
from formwright.contract.operators import operator


def expected(contract: Contract, kind: str, arrays: tuple[Array, ...]) -> Expected:
    """Value and allowed error of each cell of the output for ``arrays`` in call order."""
    return operator(contract.operator).expected(contract, kind, arrays)
