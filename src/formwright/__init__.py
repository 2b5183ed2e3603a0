"""Formwright: from a workload to a qualified kernel."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formwright.qualify.kernel import FallbackWarning, Kernel, load

__version__ = "0.1.0"

__all__ = ["FallbackWarning", "Kernel", "__version__", "load"]


def __getattr__(name: str) -> Any:
    # NumPy takes longer to import than the command line may take to print its help.
    if name in ("FallbackWarning", "Kernel", "load"):
        return getattr(importlib.import_module("formwright.qualify.kernel"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
