"""Results of the last few arguments, told apart by identity: for large frozen data."""

from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")

REMEMBERED = 8


def by_identity(function: Callable[[A], R]) -> Callable[[A], R]:
    """Remembers ``function`` of its last arguments.

    Comparing or hashing a whole template costs as much as most of what is asked of it. The
    argument must be frozen; it is held, so that its identity is not given to another object.
    """
    known: deque[tuple[A, R]] = deque(maxlen=REMEMBERED)

    @wraps(function)
    def remembered(argument: A) -> R:
        for held, result in known:
            if held is argument:
                return result
        result = function(argument)
        known.append((argument, result))
        return result

    return remembered
