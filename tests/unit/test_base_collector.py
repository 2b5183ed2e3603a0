"""The collector of cycles is slowed down for a while, and never left so."""

import gc
from collections.abc import Iterator

import pytest

from formwright.base.collector import SELDOM, collecting_seldom
from formwright.flow.proving import prove_source
from formwright.lang import load_source


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_it_is_slowed_down_inside_and_as_before_behind() -> None:
    before = gc.get_threshold()
    with collecting_seldom():
        assert gc.get_threshold() == SELDOM
        with collecting_seldom():
            assert gc.get_threshold() == SELDOM
        assert gc.get_threshold() == SELDOM
    assert gc.get_threshold() == before


def test_a_fault_inside_leaves_it_as_before() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="inside"), collecting_seldom():
        raise ValueError("inside")
    assert gc.get_threshold() == before


def test_what_somebody_else_set_meanwhile_stays() -> None:
    with collecting_seldom():
        gc.set_threshold(77, 7, 7)
    assert gc.get_threshold() == (77, 7, 7)


def test_a_collector_that_is_off_stays_off() -> None:
    gc.set_threshold(0, 10, 10)
    with collecting_seldom():
        assert gc.get_threshold()[0] == 0


def test_a_proof_slows_it_down_and_leaves_it_as_it_was() -> None:
    before, seen = gc.get_threshold(), set[int]()
    source = load_source("softmax_rows")
    proof = prove_source(source, fresh=True, progress=lambda _: seen.add(gc.get_threshold()[0]))
    assert proof.verdict == "proved"
    assert seen == {SELDOM[0]}
    assert gc.get_threshold() == before
