"""Conditions about numbers alone: no program need run to see that they fail."""

from collections.abc import Mapping
from itertools import product

from formwright.ir.evaluate import EvaluationError
from formwright.ir.expr import Scalar
from formwright.ir.program import Alloc, Buffer, For, Home, If, Par, Stmt
from formwright.ir.template import Template
from formwright.ir.types import BYTES
from formwright.replay.compiled import compile_bool, compile_int
from formwright.replay.sizes import holds

MENU_LIMIT = 500_000
"""Assignments that are tried to see that none is admitted."""


def broken_requirement(template: Template, values: Mapping[str, Scalar]) -> str | None:
    """``implied``: a requirement that fails where scope and constraints hold."""
    if not in_scope(template, values):
        return None
    if not all(holds(c.condition, values) for c in template.constraints):
        return None
    for requirement in template.requires:
        if not holds(requirement.condition, values):
            return f"every constraint holds and the requirement {requirement.name} does not"
    return None


def empty_menu(template: Template, values: Mapping[str, Scalar]) -> str | None:
    """``menu``: parameters in scope for which no assignment meets the constraints."""
    if not in_scope(template, values):
        return None
    total = 1
    for decision in template.decisions:
        total *= len(decision.menu)
    if total > MENU_LIMIT:
        return None
    names = [d.name for d in template.decisions]
    fixed = {n: v for n, v in values.items() if n not in names}
    conditions = [compile_bool(c.condition, fixed) for c in template.constraints]
    for point in product(*(d.menu for d in template.decisions)):
        env = dict(zip(names, point, strict=True))
        try:
            if all(c(env) for c in conditions):
                return None
        except EvaluationError:
            return None
    return f"none of the {total} assignments of the menus meets the constraints"


def overflow(template: Template, values: Mapping[str, Scalar]) -> str | None:
    """``fits``: allocations that are larger than the chip's field for their home.

    Shared storage is counted in bytes against ``chip.shared_bytes``, registers in elements
    against ``chip.accumulators``. Buffers whose shape needs a loop's variable are left out,
    so that the sum is never too large.
    """
    for home, name, bytewise in (
        ("shared", "chip.shared_bytes", True),
        ("register", "chip.accumulators", False),
    ):
        limit = values.get(name)
        if limit is None:
            continue
        used = sum(_footprint(b, values, bytewise) for b in _buffers(template.program, home))
        if used > limit:
            unit = "bytes" if bytewise else "elements"
            return f"the {home} buffers take {used} {unit} and {name} is {limit}"
    return None


def in_scope(template: Template, values: Mapping[str, Scalar]) -> bool:
    """Every condition of the scope holds for the values that are given."""
    scope = template.scope
    parameters = (*scope.extents, *scope.agents, *scope.chip)
    own = all(p.condition is None or holds(p.condition, values) for p in parameters)
    return own and all(holds(r, values) for r in scope.relations)


def _buffers(body: tuple[Stmt, ...], home: Home | str) -> list[Buffer]:
    found: list[Buffer] = []
    for stmt in body:
        if isinstance(stmt, Alloc):
            found += [b for b in stmt.buffers if b.home == home]
        elif isinstance(stmt, For | Par | If):
            found += _buffers(stmt.body, home)
    return found


def _footprint(buffer: Buffer, values: Mapping[str, Scalar], bytewise: bool) -> int:
    size = BYTES[buffer.dtype] if bytewise else 1
    try:
        for extent in buffer.shape:
            size *= compile_int(extent, values)({})
        return size if buffer.ring is None else size * compile_int(buffer.ring, values)({})
    except EvaluationError:
        return 0
