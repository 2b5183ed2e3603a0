"""Two processes that check texts, one in full and one with reuse, neither with the other's memory.

A process remembers what it has read and derived (templates, digests, instances of lemmas). In one
process the check that goes first would do that work for the second; here each does its own, one
at a time, and both keep the memory of the versions before.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from formwright.base.source import Source
from formwright.flow.proving import prove, prove_source
from formwright.lang.parser import parse
from formwright.proof.verdict import Obligation, Proof


@dataclass(frozen=True, slots=True)
class Timed:
    """A proof with the seconds from the text to the verdict, and those of proving alone."""

    verdict: str
    obligations: tuple[Obligation, ...]
    queries: int
    proof_seconds: float
    seconds: float
    proving: float


@dataclass(frozen=True, slots=True)
class Checkers:
    """``full`` keeps nothing but in memory; ``kept`` has the store that it is told of."""

    full: Connection
    kept: Connection

    def in_full(self, text: str, name: str) -> Timed:
        """The proof of a text, with no store."""
        return _asked(self.full, text, name, None)

    def with_store(self, text: str, name: str, store: Path) -> Timed:
        """The proof of a text, with what ``store`` has of those before."""
        return _asked(self.kept, text, name, store)


@contextmanager
def checkers(cpu: bool, warm: str) -> Iterator[Checkers]:
    """Both processes, with ``warm`` proved once in each: what a process reads once is z3 above all.

    ``cpu``: seconds of the processor, for a busy machine.
    """
    context = multiprocessing.get_context("spawn")
    ends = [context.Pipe() for _ in range(2)]
    workers = [context.Process(target=_serve, args=(end, cpu), daemon=True) for _, end in ends]
    for worker in workers:
        worker.start()
    mine = Checkers(ends[0][0], ends[1][0])
    try:
        with tempfile.TemporaryDirectory() as folder:
            mine.in_full(warm, "warm")
            mine.with_store(warm, "warm", Path(folder))
        yield mine
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _asked(end: Connection, text: str, name: str, store: Path | None) -> Timed:
    end.send((text, name, store))
    found = end.recv()
    if isinstance(found, BaseException):
        raise found
    assert isinstance(found, Timed)
    return found


def _serve(end: Connection, cpu: bool) -> None:
    clock = time.process_time if cpu else time.perf_counter
    while True:
        text, name, store = end.recv()
        try:
            end.send(_checked(Source(name, text), store, clock))
        except Exception as error:  # told where it was asked
            end.send(error)


def _checked(source: Source, store: Path | None, clock: Callable[[], float]) -> Timed:
    started = clock()
    if store is not None:
        proof = prove_source(source, store=store)
        ended = clock()
        return _timed(proof, ended - started, ended - started)
    template = parse(source)
    parsed = clock()
    proof = prove(template, fresh=True, store=Path(tempfile.gettempdir()) / "formwright-none")
    ended = clock()
    return _timed(proof, ended - started, ended - parsed)


def _timed(proof: Proof, seconds: float, proving: float) -> Timed:
    shown = tuple(replace(o, counterexample=None) for o in proof.obligations)
    return Timed(proof.verdict, shown, proof.queries, proof.seconds, seconds, proving)
