"""Formwright: from a workload to a qualified kernel."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formwright.qualify.dispatch import Dispatch, load_dispatch
    from formwright.qualify.kernel import FallbackWarning, Kernel, load

__version__ = "0.1.0"

__all__ = ["Dispatch", "FallbackWarning", "Kernel", "__version__", "load", "load_dispatch"]

_HOMES = {
    "Dispatch": "dispatch",
    "FallbackWarning": "kernel",
    "Kernel": "kernel",
    "load": "kernel",
    "load_dispatch": "dispatch",
}


def __getattr__(name: str) -> Any:
    # NumPy takes longer to import than the command line may take to print its help.
    if name in _HOMES:
        return getattr(importlib.import_module(f"formwright.qualify.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
