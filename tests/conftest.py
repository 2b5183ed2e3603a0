"""What all tests share: threads of BLAS, and examples that are the same in every run."""

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    import postgres

# Two workers share two cores: a pool of spinning BLAS threads in each would only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Workers of a test run do not wait for each other's measurements: nobody relies on the times.
os.environ["FORMWRIGHT_TURNS"] = _turns = tempfile.mkdtemp(prefix="formwright-turns-")
atexit.register(shutil.rmtree, _turns, ignore_errors=True)

# The default run is repeatable; with FORMWRIGHT_FUZZ set each run draws examples of its own.
settings.register_profile("repeatable", derandomize=True)
if "FORMWRIGHT_FUZZ" not in os.environ:
    settings.load_profile("repeatable")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked slow run with FORMWRIGHT_SLOW, or when they are asked for by ``-m slow``."""
    if "FORMWRIGHT_SLOW" in os.environ or "slow" in config.getoption("-m"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="set FORMWRIGHT_SLOW"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was imported and collected stays: no collection of garbage looks through it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def postgresql() -> "Iterator[postgres.Server]":
    """A PostgreSQL server for all tests of this process, started by the first that asks."""
    import postgres

    lack = postgres.lacking()
    if lack:
        pytest.skip(lack)
    # It is thrown away: nothing of it has to survive a power failure.
    with postgres.server("fsync=off", "full_page_writes=off") as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Places for a population, each new and empty; every test that asks runs on both stores."""
    if request.param == "sqlite":
        names = (str(tmp_path / f"population{n}.sqlite") for n in count())
        return lambda: next(names)
    return request.getfixturevalue("postgresql").new_url  # type: ignore[no-any-return]
