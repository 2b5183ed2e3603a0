"""A page made of values that came as JSON is one: what is drawn later has the kinds it is said to
have, so that a file that somebody changed is told by its maker."""

from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from formwright.report.page import Page


def sound(page: Page) -> Page:
    """``page``. Raises ``TypeError`` or ``OverflowError`` for a value of another kind than the
    classes of ``page`` name."""
    _check(page, Page)
    return page


@cache
def _hints(kind: type) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((f.name, hints[f.name]) for f in fields(kind))


def _check(value: Any, kind: Any) -> None:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        wanted = next((k for k in parts if _may_be(value, k)), None)
        if wanted is None:
            raise TypeError(f"{value!r:.80} where {kind} stands")
        _check(value, wanted)
    elif origin is tuple:
        whole = isinstance(value, tuple)
        each = (parts[0],) * len(value) if whole and parts[-1] is Ellipsis else parts
        if not whole or len(each) != len(value):
            raise TypeError(f"{value!r:.80} is no {kind}")
        for one, wanted in zip(value, each, strict=True):
            _check(one, wanted)
    elif not _may_be(value, kind):
        raise TypeError(f"{value!r:.80} is no {getattr(kind, '__name__', kind)}")
    elif kind is float:
        float(value)  # An integer may be larger than any.
    elif is_dataclass(kind):
        made: type = value.__class__
        for name, wanted in _hints(made):
            _check(getattr(value, name), wanted)


def _may_be(value: Any, kind: Any) -> bool:
    """Whether the outermost part of ``value`` is of the kind; mappings are taken as they are."""
    origin = get_origin(kind)
    if kind in (None, NoneType):
        return value is None
    if kind is float:
        return isinstance(value, int | float)
    if origin is Literal:
        return value in get_args(kind)
    return isinstance(value, origin or kind)
