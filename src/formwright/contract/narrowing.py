"""Buffers of a program that are less exact than f32, and which of them a contract allows.

Copies of inputs may be narrow always. With ``stages = "bf16"`` a value between two sums may be
rounded as well, once: it is stored with ``=`` into a buffer of bf16, comes from a sum, reads
nothing that was rounded, and is read as one factor of a term that is summed, or copied. Whether
the sums are those of the formula is what validation finds: its bounds have no other rounding.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final, assert_never

from formwright.base.diagnostics import Diagnostic
from formwright.base.source import Span
from formwright.contract.contract import Contract
from formwright.contract.operators import OPERATORS
from formwright.ir.program import Alloc, Apply, Buffer, Index, Literal, Op, Read, Select, Value
from formwright.ir.rewrite import accesses
from formwright.ir.template import Template
from formwright.ir.walk import statements

WIDE_ENOUGH: Final = frozenset({"f32", "f64"})
"""Element types whose arithmetic is at least as exact as the bounds of all contracts ask."""


def narrow_buffers(template: Template, contract: Contract) -> Iterator[Diagnostic]:
    """Each buffer that is rounded to less than f32 in a way that the contract does not allow."""
    types = {b.name: b.dtype for b in template.globals}
    narrow: dict[str, Buffer] = {}
    applies: list[Apply] = []
    for stmt in statements(template.program):
        match stmt:
            case Alloc(buffers):
                types |= {b.name: b.dtype for b in buffers}
                narrow |= {b.name: b for b in buffers if b.dtype not in WIDE_ENOUGH}
            case Apply():
                applies.append(stmt)
            case _:
                continue
    rounding = [a for a in applies if a.destination.buffer in narrow and not _copies(a, types)]
    if contract.stages == "f32":
        hint = "the bound comes from the contract, not from the program; copies may be narrow"
        known = OPERATORS.get(contract.operator)
        if known is not None and known.narrow_stages:
            hint += '; with stages = "bf16" in the contract a value between two sums may be'
        for name in dict.fromkeys(a.destination.buffer for a in rounding):
            yield _fault(narrow[name], None, hint)
        return
    rounded = _carried({a.destination.buffer for a in rounding}, applies, types)
    summed = _summed(applies)
    told: set[str] = set()
    for name, span, hint in (
        *_stores(rounding, narrow, rounded, summed),
        *_reads(applies, types, narrow, rounded),
    ):
        if name in narrow and name not in told:
            told.add(name)
            yield _fault(narrow[name], span, hint)


def _fault(buffer: Buffer, span: Span | None, hint: str) -> Diagnostic:
    return Diagnostic(
        f"buffer {buffer.name} holds {buffer.dtype}: less exact than the f32 of the contract's "
        "bound",
        span or buffer.span,
        hint,
    )


def _copies(apply: Apply, types: Mapping[str, str]) -> bool:
    """A cell of the same element type, or zero: nothing is rounded."""
    match apply.value:
        case Read(access) if apply.op == "=":
            return types.get(access.buffer) == types.get(apply.destination.buffer)
        case Literal(number) if apply.op == "=":
            return number == 0
        case _:
            return False


def _carried(rounded: Set[str], applies: Sequence[Apply], types: Mapping[str, str]) -> set[str]:
    """Buffers that hold what was rounded: those of copies too."""
    found = set(rounded)
    copies = [(a.value, a.destination.buffer) for a in applies if _copies(a, types)]
    while True:
        more = {
            to for value, to in copies if isinstance(value, Read) and value.access.buffer in found
        }
        if more <= found:
            return found
        found |= more


def _summed(applies: Sequence[Apply]) -> set[str]:
    """Buffers that hold a sum, or what was made of one."""
    found = {a.destination.buffer for a in applies if a.op == "+="}
    while True:
        more = {
            a.destination.buffer
            for a in applies
            if any(access.buffer in found for access in accesses(a.value))
        }
        if more <= found:
            return found
        found |= more


Said = tuple[str, Span | None, str]
"""A buffer, the statement that is too much for it, and what would be right."""


def _stores(
    rounding: Sequence[Apply], narrow: Mapping[str, Buffer], rounded: Set[str], summed: Set[str]
) -> Iterator[Said]:
    for apply in rounding:
        name, span = apply.destination.buffer, apply.span
        read = [a.buffer for a in accesses(apply.value)]
        again = [b for b in read if b in rounded]
        if narrow[name].dtype != "bf16":
            yield name, None, 'stages = "bf16" lets values be rounded to bf16, to nothing else'
        elif apply.op != "=":
            yield name, span, "add up in f32, and store the value with ="
        elif again:
            yield name, span, f"a value is rounded once: {again[0]} was rounded already"
        elif not any(b in summed for b in read):
            yield (
                name,
                span,
                "no sum stands before it: only a value between two sums may be rounded",
            )


def _reads(
    applies: Sequence[Apply],
    types: Mapping[str, str],
    narrow: Mapping[str, Buffer],
    rounded: Set[str],
) -> Iterator[Said]:
    for apply in applies:
        read = [a.buffer for a in accesses(apply.value) if a.buffer in rounded]
        if not read or (_copies(apply, types) and apply.destination.buffer in narrow):
            continue
        factors = _factors(apply.value, rounded)
        if apply.op != "+=" or factors is None:
            told = "is read as a factor of a term that is summed, or copied"
            yield read[0], apply.span, f"a value that was rounded {told}"
        elif factors > 1:
            yield read[0], apply.span, "one factor of a term was rounded; two are two roundings"


def _factors(value: Value, rounded: Set[str]) -> int | None:
    """How many factors of a term were rounded, at most; ``None``: one is read in another way."""
    match value:
        case Literal() | Index():
            return 0
        case Read(access):
            return int(access.buffer in rounded)
        case Op("neg", (inner,)):
            return _factors(inner, rounded)
        case Op("+" | "-", args):
            return _most(args, rounded)
        case Select(_, then, other):
            return _most((then, other), rounded)
        case Op("*", (left, right)):
            first, second = _factors(left, rounded), _factors(right, rounded)
            return None if first is None or second is None else first + second
        case Op("/", (over, under)) if _most((under,), rounded) == 0:
            return _factors(over, rounded)
        case Op(_, args):
            return 0 if _most(args, rounded) == 0 else None
        case _:
            assert_never(value)


def _most(values: Sequence[Value], rounded: Set[str]) -> int | None:
    found = [_factors(value, rounded) for value in values]
    counts = [count for count in found if count is not None]
    return None if len(counts) < len(found) else max(counts, default=0)
