"""A request as runs make them."""

from dataclasses import replace
from typing import Any

from formwright.agent.protocol import Request
from formwright.contract.contract import Contract
from formwright.contract.operators import operator
from formwright.lang import load

CONTRACT: Contract = operator("gemv").contract()
TEMPLATE = load("gemv_rows")[0].text


def request(**changes: Any) -> Request:
    plain = Request(
        "new", 1, 0, 'operator = "gemv"\n', CONTRACT.formula, {"cores": "2", "clock": "3e9"}
    )
    return replace(plain, **changes)
