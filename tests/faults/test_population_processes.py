"""Many processes write to one population at once: nothing is lost, doubled or locked.

On a server also while it restarts in the middle.
"""

import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "unit"))
from population_samples import BY, fact, parsed, proof_of, rows_text, split_text

import postgres
from formwright.population import Met, Origin, open_population

PROCESSES = 4
TURNS = 8
"""Of each process at least, on a machine that is busy with other things."""


def writer(place: str, number: int, seconds: float, told: Connection) -> None:
    """Writes what the others write too, and what only it writes; tells what it wrote."""
    try:
        told.send(written(place, number, seconds))
    except Exception as error:
        told.send(f"process {number}: {type(error).__name__}: {error}")


def written(place: str, number: int, seconds: float) -> dict[str, list[Any]]:
    population = open_population(place)  # all at once, on a file that is not there yet
    draw = random.Random(number)
    texts = [rows_text(), split_text()]
    found: dict[str, list[Any]] = {"kernels": [], "facts": [], "met": [], "steps": []}
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end or turn < TURNS:
        text = draw.choice(texts)
        entry = population.add_template(text, origin=BY)
        if draw.random() < 0.3:
            population.admit(entry.digest, proof_of(parsed(text)))
        # The same kernel comes from every process, at about the same time.
        source = f"void f(void) {{ /* {turn} */ }}\n"
        origin = Origin("all", "wrote", (entry.digest,))
        kernel = population.add_template(source, language="c", name="f", origin=origin)
        found["kernels"].append(kernel.digest)
        found["steps"].append((kernel.digest, entry.digest))
        own = fact(entry.digest, 1.0 + turn, source=f"process {number}: {turn}")
        shared = fact(entry.digest, 1.0, source=f"all: {turn}")
        population.record(own, shared)
        found["facts"] += [(entry.digest, own.source), (entry.digest, shared.source)]
        met = Met(kernel.digest, "agreement", f"input {turn}", {}, True, f"process {number}")
        population.record(met)
        found["met"].append((kernel.digest, met.text))
        # Reads see whole transactions: who has its own fact has the shared one too.
        if draw.random() < 0.2:
            seen = {f.fact.source for f in population.facts(entry.digest)}
            assert {own.source, shared.source} <= seen
        turn += 1
    return found


def together(place: str, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> list[Any]:
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in range(PROCESSES)]
    workers = [
        context.Process(target=writer, args=(place, number, seconds, pipe[1]))
        for number, pipe in enumerate(pipes)
    ]
    for worker in workers:
        worker.start()
    meanwhile()
    found = [pipe[0].recv() for pipe in pipes]
    for worker in workers:
        worker.join()
    return found


def held_against(place: str, found: list[Any]) -> None:
    """What the store has is what the processes say they wrote, each thing once."""
    assert [f for f in found if isinstance(f, str)] == []
    wrote = {kind: {k for f in found for k in f[kind]} for kind in found[0]}
    population = open_population(place)
    kernels = [e.digest for e in population.entries() if e.language == "c"]
    assert sorted(kernels) == sorted(wrote["kernels"])
    facts = [(k.fact.template, k.fact.source) for k in population.facts()]
    assert sorted(facts) == sorted(wrote["facts"])
    met = [(m.template, m.text) for m in population.counterexamples()]
    assert sorted(met) == sorted(wrote["met"])
    steps = {(s.child, s.parent) for d in kernels for s in population.lineage(d) if s.parent}
    assert steps == wrote["steps"]
    if "://" not in place:
        with sqlite3.connect(place) as raw:
            assert raw.execute("pragma integrity_check").fetchone() == ("ok",)
            assert raw.execute("pragma journal_mode").fetchone() == ("wal",)


def test_four_processes_write_at_once(new_place: Callable[[], str]) -> None:
    place = new_place()
    held_against(place, together(place, 0.5))


@pytest.mark.slow
def test_four_processes_write_for_two_minutes(new_place: Callable[[], str]) -> None:
    place = new_place()
    held_against(place, together(place, 120.0))


@pytest.fixture
def own_server() -> Iterator[postgres.Server]:
    """Its commits survive what PostgreSQL's survive: nothing is switched off."""
    lack = postgres.lacking()
    if lack:
        pytest.skip(lack)
    with postgres.server() as made:
        yield made


def restarted(server: postgres.Server, seconds: float, down: float, how: signal.Signals) -> None:
    place = server.new_url()
    open_population(place)
    met: list[int] = []

    def restart() -> None:
        time.sleep(seconds / 2)
        while (before := server.rows(place)) < 2:
            time.sleep(0.02)
        met.append(before)
        server.stop(how)
        time.sleep(down)
        server.start()

    held_against(place, together(place, seconds, restart))
    # It was in the middle of the work, and the work went on.
    assert met[0] < server.rows(place)


def test_four_processes_write_while_their_server_restarts(postgresql: postgres.Server) -> None:
    restarted(postgresql, 0.2, 0.2, signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restart", "crash"])
def test_for_two_minutes_too(own_server: postgres.Server, how: signal.Signals) -> None:
    restarted(own_server, 120.0, 3.0, how)


def endless(place: str, number: int) -> None:
    written(place, number, 3600.0)


def test_a_killed_writer_leaves_a_whole_store(new_place: Callable[[], str]) -> None:
    place = new_place()
    context = multiprocessing.get_context("fork")
    draw = random.Random(7)
    for round_ in range(2):
        workers = [context.Process(target=endless, args=(place, n)) for n in range(2)]
        for worker in workers:
            worker.start()
        time.sleep(draw.uniform(0.2, 0.6))
        for worker in workers:
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            worker.join()
        population = open_population(place)
        digest = population.add_template(rows_text()).digest
        population.record(fact(digest, 1.0, source=f"after kill {round_}"))
        for entry in population.entries():
            # A fact of a process comes with the shared one of its turn, or not at all.
            sources = {f.fact.source for f in population.facts(entry.digest)}
            own = {s.rpartition(" ")[2] for s in sources if s.startswith("process")}
            assert own <= {s.rpartition(" ")[2] for s in sources if s.startswith("all")}
    if "://" not in place:
        with sqlite3.connect(place) as raw:
            assert raw.execute("pragma integrity_check").fetchone() == ("ok",)
    assert len([f for f in open_population(place).facts() if "kill" in f.fact.source]) == 2
