"""The template language: text to template.

The way back is in :mod:`formwright.lang.format` (canonical text) and
:mod:`formwright.lang.comments` (the same with the comments of a file).
"""

import importlib
from typing import TYPE_CHECKING, Any

from formwright.lang.sources import load_source, shipped

if TYPE_CHECKING:
    from formwright.lang.parser import load, parse, parse_expression

__all__ = ["load", "load_source", "parse", "parse_expression", "shipped"]


def __getattr__(name: str) -> Any:
    # A text whose proof is kept is not parsed, and the parser takes long to import. No module
    # of this package may have one of these names: it would stand in the function's place.
    if name in ("load", "parse", "parse_expression"):
        return getattr(importlib.import_module("formwright.lang.parser"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
