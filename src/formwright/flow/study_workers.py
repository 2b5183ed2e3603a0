"""The searches of a study on a few threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from formwright.flow.blackbox_kernel_tuner import STRATEGIES
from formwright.flow.blackbox_quiet import Quiet, StoppedError

Job = tuple[str, Callable[[], object]]
"""The searcher's name, and the search."""


def run_jobs(jobs: Sequence[Job], workers: int, quiet: Quiet) -> None:
    """Do all of ``jobs``, ``workers`` at a time; a fault of one ends the others and is raised.

    Kernel Tuner draws from the process's global generators, so one of its searches runs at a time.
    """
    waiting = _Waiting(jobs)
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        running = [pool.submit(_worker, waiting, quiet) for _ in range(max(1, workers))]
        try:
            for one in running:
                one.result()
        except BaseException:
            quiet.stop()
            raise


def _worker(waiting: "_Waiting", quiet: Quiet) -> None:
    while (job := waiting.take()) is not None:
        searcher, search = job
        try:
            with quiet.work():
                search()
        except StoppedError:
            return
        except BaseException:
            quiet.stop()
            raise
        finally:
            waiting.done(searcher)


class _Waiting:
    """Jobs in order, those of Kernel Tuner one at a time."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._lock = Lock()
        self._tuner = [job for job in jobs if job[0] in STRATEGIES]
        self._others = [job for job in jobs if job[0] not in STRATEGIES]
        self._tuning = False

    def take(self) -> Job | None:
        with self._lock:
            if self._tuner and not self._tuning:
                self._tuning = True
                return self._tuner.pop(0)
            return self._others.pop(0) if self._others else None

    def done(self, searcher: str) -> None:
        with self._lock:
            if searcher in STRATEGIES:
                self._tuning = False
