"""Python's collector of cycles, slowed down where much is made and little of it is cyclic."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = (100_000, 20, 100)
"""Objects between two looks at the young, and looks before those at the older ones.

A proof makes some hundred thousand objects, and a whole collection looks at everything that the
process holds: in a process that proves one template after another that was a tenth of the time.
Memory stays bounded, as it would not with the collector off.
"""


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """As it was before comes back at the end, unless somebody else changed it meanwhile.

    The setting is the process's: where threads prove at the same time, the last to end decides,
    and what it leaves is what one of them found.
    """
    before = gc.get_threshold()
    if before[0] in (0, SELDOM[0]):  # off, or inside of itself: nothing to slow down
        yield
        return
    gc.set_threshold(*SELDOM)
    ours = gc.get_threshold()  # a version of Python without a third number does not keep it
    try:
        yield
    finally:
        if gc.get_threshold() == ours:
            gc.set_threshold(*before)
