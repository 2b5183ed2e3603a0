"""What candidates are judged by is made once for all of them, and nobody can write to it."""

from threading import Thread

import numpy as np
import pytest

from formwright.contract.contract import Contract
from formwright.contract.numbers import Array
from formwright.contract.operators import operator
from formwright.qualify.drawn import Drawn, Kept
from formwright.qualify.plan import Trial


def contract(dtype: str = "f32") -> Contract:
    return operator("gemm").contract(dtypes=dtype)


def trial(seed: int = 3, **extents: int) -> Trial:
    return Trial("plain", {"M": 4, "N": 5, "K": 6} | extents, ("normal",), seed)


def test_two_candidates_meet_the_same_inputs_and_references() -> None:
    kept = Kept()
    first, second = Drawn(contract(), kept), Drawn(contract(), kept)
    assert first.inputs("normal", trial()) is second.inputs("normal", trial())
    assert first.expected("normal", trial()) is second.expected("normal", trial())


def test_another_contract_kind_shape_or_seed_has_its_own() -> None:
    kept = Kept()
    drawn = Drawn(contract(), kept)
    of = drawn.inputs("normal", trial())
    others = (
        Drawn(contract("bf16"), kept).inputs("normal", trial()),
        drawn.inputs("integer", trial()),
        drawn.inputs("normal", trial(M=5)),
        drawn.inputs("normal", trial(seed=4)),
    )
    for other in others:
        assert not all(
            a.shape == b.shape and np.array_equal(a, b) for a, b in zip(of, other, strict=True)
        )


def test_nobody_writes_to_them() -> None:
    drawn = Drawn(contract(), Kept())
    wanted = drawn.expected("normal", trial())
    for array in (*drawn.inputs("normal", trial()), wanted.value, wanted.bound, wanted.free):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_what_was_not_asked_for_longest_goes_and_is_made_again_alike() -> None:
    def made(number: int) -> tuple[Array, ...]:
        return (np.full(8, number, np.float32),)

    kept = Kept(most=100)
    asked: list[int] = []

    def get(number: int) -> tuple[Array, ...]:
        def make() -> tuple[Array, ...]:
            asked.append(number)
            return made(number)

        return kept.get(("c", "inputs", "normal", (), number), make, lambda found: found)

    for number in (1, 2, 3, 1, 4, 1, 2):
        assert np.array_equal(get(number)[0], made(number)[0])
    assert asked == [1, 2, 3, 4, 2]


def test_what_is_too_large_is_not_kept() -> None:
    kept = Kept(most=1000)
    drawn = Drawn(contract(), kept)
    assert drawn.inputs("normal", trial(M=40)) is not drawn.inputs("normal", trial(M=40))


def test_threads_get_equal_ones() -> None:
    kept = Kept()
    found: list[tuple[Array, ...]] = []

    def ask() -> None:
        for seed in range(20):
            found.append(Drawn(contract(), kept).inputs("normal", trial(seed)))

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert len({tuple(a.tobytes() for a in arrays) for arrays in found}) == 20
