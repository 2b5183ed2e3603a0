"""What all tests share: threads of BLAS, and examples that are the same in every run."""

import os

import pytest
from hypothesis import settings

# Two workers share two cores: a pool of spinning BLAS threads in each would only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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
