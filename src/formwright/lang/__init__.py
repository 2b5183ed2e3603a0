"""The template language: text to template and back."""

from formwright.lang.load import load, load_source, shipped
from formwright.lang.parser import parse, parse_expression

__all__ = ["load", "load_source", "parse", "parse_expression", "shipped"]
