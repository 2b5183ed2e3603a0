"""The template language: text to template and back."""

from formwright.lang.comments import format_source
from formwright.lang.format import format_template
from formwright.lang.load import load, load_source, shipped
from formwright.lang.parser import parse, parse_expression

__all__ = [
    "format_source",
    "format_template",
    "load",
    "load_source",
    "parse",
    "parse_expression",
    "shipped",
]
