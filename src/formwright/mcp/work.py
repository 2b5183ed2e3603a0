"""In the child: which function answers which call."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from formwright.mcp.asked import Asked
from formwright.mcp.limits import Kind

Work = Callable[[Asked, Callable[[str], None]], dict[str, Any]]

_HOMES: Final[Mapping[Kind, tuple[str, str]]] = {
    "problem": ("work_texts", "tell_problem"),
    "parse": ("work_texts", "parse_text"),
    "check": ("work_designs", "check_text"),
    "search": ("work_population", "search_population"),
    "show": ("work_population", "show_entry"),
    "prove": ("work_texts", "prove_text"),
    "solve": ("work_designs", "solve_text"),
    "build": ("work_kernels", "build_text"),
    "measure": ("work_kernels", "measure_text"),
    "qualify": ("work_kernels", "qualify_text"),
    "submit": ("work_population", "submit_text"),
}


def work_of(kind: Kind) -> Work:
    """The function for ``kind``; it answers with plain data of its shape.

    Only its own module is loaded: most calls need no kernel, and its libraries take long to load.
    """
    module, function = _HOMES[kind]
    return cast(Work, getattr(importlib.import_module(f"formwright.mcp.{module}"), function))
