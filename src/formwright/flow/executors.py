"""The executor that a command names."""

from collections.abc import Iterator
from contextlib import contextmanager

from formwright.base.diagnostics import fail
from formwright.flow.executor import Executor
from formwright.flow.executor_here import HereExecutor


@contextmanager
def open_executor(text: str) -> Iterator[Executor]:
    """``here`` (or nothing), ``ray``, or ``ray=ADDRESS``; left at the end.

    Raises:
        InputError: no executor of this name, Ray is not installed, no cluster at the address.
    """
    kind, _, address = text.partition("=")
    if kind in ("", "here") and not address:
        yield HereExecutor()
        return
    if kind != "ray":
        raise fail(f'--executor: no executor "{text}"', hint="here, ray or ray=HOST:PORT")
    # Ray takes a second to load, and need not be installed.
    try:
        from formwright.flow.executor_ray import RayExecutor
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != "ray":
            raise
        raise fail(
            "--executor ray needs Ray, which is not installed",
            hint="pip install 'formwright[ray]'",
        ) from None
    executor = RayExecutor(address)
    try:
        yield executor
    finally:
        executor.close()
