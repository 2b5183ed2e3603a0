"""Budgets are enforced before they are spent, and say so."""

import pytest

from formwright.agent.budget import Budget, Ledger, Prices
from formwright.agent.protocol import Spent
from formwright.base.diagnostics import InputError


def test_every_limit_ends_the_run_in_words() -> None:
    budget = Budget(2, 100, 0.5, 3.0, 4.0, 5.0)
    for charge, word in (
        (lambda led: led.charge(Spent(calls=2)), "2 of 2 calls"),
        (lambda led: led.charge(Spent(tokens_in=60, tokens_out=40)), "100 of 100 tokens"),
        (lambda led: led.charge(Spent(money=0.6)), "0.6 of 0.5 US dollars"),
        (lambda led: led.charge(Spent(seconds=3)), "3 of 3 seconds of the agent"),
        (lambda led: led.charge_building(4.5), "4.5 of 4 seconds of building"),
        (lambda led: led.charge_device(5), "5 of 5 seconds of the device"),
    ):
        ledger = Ledger(budget, Prices(1, 2))
        assert ledger.exhausted() == ""
        charge(ledger)
        assert ledger.exhausted() == f"the budget is spent: {word}"
        assert word in ledger.lines()


def test_an_answer_may_only_cost_what_is_left() -> None:
    ledger = Ledger(Budget(tokens=1000, money=0.001), Prices(1.0, 2.0))
    assert ledger.answer_tokens(200, 8000) == 400  # 0.0008 dollars at 2 a million
    assert ledger.answer_tokens(200, 50) == 50
    assert ledger.answer_tokens(1000, 8000) == 0
    assert Ledger(Budget()).answer_tokens(10**6, 8000) == 8000


def test_faults_of_a_budget_are_told_together() -> None:
    with pytest.raises(InputError) as caught:
        Ledger(Budget(calls=0, money=1.0, seconds=float("nan")))
    assert len(caught.value.diagnostics) == 3
    assert "prices" in str(caught.value)


def test_a_ledger_goes_on_from_its_data() -> None:
    first = Ledger(Budget(calls=5))
    first.charge(first.priced(3, 10, 20, 1.5))
    second = Ledger(Budget(calls=5))
    second.restore({k: v["spent"] or 0.0 for k, v in first.data().items()})
    assert second.data() == first.data()
    assert second.left("calls") == 2
