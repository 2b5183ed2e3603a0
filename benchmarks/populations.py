"""What a population costs: in a file, on a server with connections kept, with one for each.

    python benchmarks/populations.py                # needs Debian's postgresql; about a minute

A PostgreSQL server of its own is started, with its usual settings: a commit waits for the disk. One
of SQLite here does not (``synchronous=normal``). A fact told is one transaction, an entry read is
one; the stores take turns. Then an entry is looked up by name among many.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

sys.path += [
    str(Path(__file__).parent.parent / "tests"),
    str(Path(__file__).parent.parent / "tests/unit"),
]
from population_samples import fact, rows_text

import postgres
from formwright.population import Clock, Population, open_population


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--transactions", type=int, default=100, help="in one round")
    parser.add_argument("--entries", type=int, default=2000, help="for the look-up by name")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, postgres.server() as server:
        kept = open_population(server.new_url())
        stores = {
            "SQLite": open_population(Path(folder) / "population.sqlite"),
            "PostgreSQL": kept,
            "PostgreSQL, a connection for each": one_for_each(server.new_url()),
        }
        digests = {name: p.add_template(rows_text()).digest for name, p in stores.items()}
        times: dict[str, list[float]] = {}
        for turn in range(asked.rounds):
            for name, population in stores.items():
                for kind, work in works(population, digests[name], turn).items():
                    times.setdefault(f"{name}: {kind}", []).append(taken(work, asked.transactions))
        for name, found in times.items():
            shown(name, found)
        for name in ("SQLite", "PostgreSQL"):
            fill(stores[name], asked.entries)
            found = [
                taken(lambda _, p=stores[name]: p.entry("name_7"), 20) for _ in range(asked.rounds)
            ]
            shown(f"{name}: an entry of {asked.entries} by name", found)
    return 0


def one_for_each(url: str) -> Population:
    usual = open_population(url)._database
    place = usual.place
    engine = create_engine(place.url, isolation_level="READ COMMITTED", poolclass=NullPool)
    return Population(replace(usual, engine=engine), Clock())


def works(population: Population, digest: str, turn: int) -> dict[str, Callable[[int], object]]:
    return {
        "a fact told": lambda n: population.record(fact(digest, 1.0, source=f"{turn} {n}")),
        "an entry read": lambda n: population.entry(digest),
    }


def taken(work: Callable[[int], object], times: int) -> float:
    """Seconds of one."""
    began = time.perf_counter()
    for number in range(times):
        work(number)
    return (time.perf_counter() - began) / times


def fill(population: Population, count: int) -> None:
    for number in range(count):
        source = f"void name_{number}(void) {{}}\n" + f"/* {'x' * 3000} */"
        population.add_template(source, language="c", name=f"name_{number}")


def shown(name: str, found: list[float]) -> None:
    low, high = min(found) * 1e3, max(found) * 1e3
    print(f"{name}: {statistics.median(found) * 1e3:.2f} ms ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    sys.exit(main())
