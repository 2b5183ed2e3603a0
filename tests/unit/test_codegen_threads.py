"""Where the threads of a kernel run: never where their caller is."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from codegen_library import SQUARE_TILES, Library, built, check, template_of

CORES = sorted(os.sched_getaffinity(0))

pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="one processor is all there is")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    allowed = os.sched_getaffinity(0)
    yield built(template_of(SQUARE_TILES), {"T": 16}, tmp_path)
    os.sched_setaffinity(0, allowed)


def tasks() -> set[int]:
    return {int(p.name) for p in Path("/proc/self/task").iterdir()}


def call(library: Library) -> None:
    check(library, 100, 90, 80, threads=2)


def test_a_worker_leaves_the_processor_that_its_caller_moves_to(library: Library) -> None:
    first, second = CORES[:2]
    before = tasks()
    os.sched_setaffinity(0, {first})
    os.sched_setaffinity(0, {first, second})
    call(library)
    (worker,) = tasks() - before
    for _ in range(2):
        (place,) = os.sched_getaffinity(worker)
        os.sched_setaffinity(0, {place})  # as a scheduler does that finds the other one busy
        call(library)
        (moved,) = os.sched_getaffinity(worker)
        assert moved != place
        assert moved in (first, second)


def test_callers_on_several_processors_each_get_right_results(library: Library) -> None:
    """Each time another caller has the pool, from another processor."""
    failed: list[BaseException] = []

    def calls(core: int) -> None:
        try:
            os.sched_setaffinity(0, {core})
            for _ in range(20):
                call(library)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=calls, args=(CORES[n % 2],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
