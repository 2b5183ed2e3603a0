"""Results are remembered by identity, never by equality, and only a few."""

from dataclasses import dataclass

from formwright.base.memo import REMEMBERED, by_identity


@dataclass(frozen=True, slots=True)
class Large:
    value: int


def test_the_same_object_is_asked_once_and_an_equal_one_anew() -> None:
    asked: list[Large] = []

    @by_identity
    def doubled(large: Large) -> int:
        asked.append(large)
        return 2 * large.value

    first, equal = Large(3), Large(3)
    assert [doubled(first), doubled(first), doubled(equal)] == [6, 6, 6]
    assert len(asked) == 2


def test_what_was_long_ago_is_forgotten_and_computed_again() -> None:
    asked: list[int] = []

    @by_identity
    def value(large: Large) -> int:
        asked.append(large.value)
        return large.value

    first = Large(0)
    assert value(first) == 0
    others = [Large(n) for n in range(1, REMEMBERED + 1)]
    assert [value(o) for o in others] == [o.value for o in others]
    assert value(first) == 0
    assert asked.count(0) == 2
