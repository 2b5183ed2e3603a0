"""Templates up to the names that they choose: a template renamed throughout is proved already.

Names are numbered in the order in which they first stand in the inlined template. Only fields
that hold names are renamed; a text elsewhere that is also a name leaves the template without a
digest, since nobody can tell then what it means.
"""

from dataclasses import is_dataclass
from functools import cache
from typing import Any

from formwright.base.digest import canonical, compared, plain_digest
from formwright.ir.template import Template

NAMES = {
    ("Access", "buffer"),
    ("Arrive", "counter"),
    ("Await", "counter"),
    ("BoxVar", "name"),
    ("Buffer", "name"),
    ("Cell", "name"),
    ("Coefficient", "name"),
    ("Decision", "name"),
    ("For", "var"),
    ("Par", "vars"),
    ("Parameter", "name"),
    ("Realised", "buffer"),
    ("Realised", "names"),
    ("Realised", "stage"),
    ("Sum", "var"),
    ("Tensor", "extents"),
    ("Tensor", "name"),
    ("Var", "name"),
    ("Workload", "indices"),
    ("Workload", "reductions"),
}
"""Fields that hold names, by the node that they stand in."""

LABELS = {
    ("Constraint", "name"),
    ("Cost", "name"),
    ("Cost", "unit"),
    ("Requirement", "name"),
    ("Scope", "semantics"),
    ("Scope", "structure"),
    ("Template", "coarse"),
    ("Template", "fine"),
    ("Template", "name"),
    ("Template", "object_name"),
    ("Template", "object_text"),
    ("Template", "outline"),
    ("Template", "structures"),
}
"""Fields that a proof does not read."""


def alpha_digest(template: Template) -> tuple[str, tuple[str, ...]] | None:
    """Equal for inlined templates that differ in names and labels alone; with the names in the
    order of their numbers."""
    if template.refinement is not None:
        return None
    numbers: dict[str, str] = {}
    plain: set[str] = set()
    tree = _numbered(template, numbers, plain)
    return None if plain & set(numbers) else (plain_digest(tree), tuple(numbers))


def _numbered(value: object, numbers: dict[str, str], plain: set[str]) -> Any:
    if isinstance(value, str):
        plain.add(value)
        return value
    if isinstance(value, (tuple, list)):
        return [_numbered(v, numbers, plain) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        found: dict[str, Any] = {"node": kind.__name__}
        for name, named in _read_fields(kind):
            inner = getattr(value, name)
            found[name] = _named(inner, numbers) if named else _numbered(inner, numbers, plain)
        return found
    return canonical(value)


@cache
def _read_fields(kind: type) -> tuple[tuple[str, bool], ...]:
    """The fields of a node that a proof reads, each with whether it holds names."""
    word = kind.__name__
    read = [f.name for f in compared(kind) if (word, f.name) not in LABELS]
    return tuple((name, (word, name) in NAMES) for name in read)


def _named(value: object, numbers: dict[str, str]) -> Any:
    """Names by their numbers; the fields of the chip have names of their own."""
    if isinstance(value, str):
        return value if value.startswith("chip.") else numbers.setdefault(value, f"#{len(numbers)}")
    if isinstance(value, (tuple, list)):
        return [_named(v, numbers) for v in value]
    return canonical(value)
