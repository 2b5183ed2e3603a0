"""The template language: text to template.

The way back is in :mod:`formwright.lang.format` (canonical text) and
:mod:`formwright.lang.comments` (the same with the comments of a file).
"""

from formwright.lang.load import load, load_source, shipped
from formwright.lang.parser import parse, parse_expression

__all__ = ["load", "load_source", "parse", "parse_expression", "shipped"]
