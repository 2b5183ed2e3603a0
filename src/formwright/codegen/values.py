"""C text of values: the same tree for scalars and for vectors, over a reader of its leaves."""

from fractions import Fraction
from typing import Protocol, assert_never

from formwright.base.diagnostics import fail
from formwright.ir.expr import Expr
from formwright.ir.program import Access, Index, Literal, Op, Read, Select, Value

_SCALAR = {
    "exp": "fw_exp",
    "sqrt": "sqrtf",
    "rsqrt": "fw_rsqrtf",
    "max": "fw_larger",
    "min": "fw_smaller",
}
_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_VECTOR = {
    "exp": "fw_vec_exp",
    "sqrt": "fw_vec_sqrt",
    "rsqrt": "fw_vec_rsqrt",
    "max": "fw_vec_max",
    "min": "fw_vec_min",
}


class Leaves(Protocol):
    """How accesses and index expressions are read at one point (or one vector) of a box."""

    @property
    def vector(self) -> bool: ...

    @property
    def calls(self) -> bool:
        """Sums, products and numbers are calls: not of floats, see :mod:`codegen.field`."""

    @property
    def multiply_add(self) -> str:
        """The helper for ``a * b + c`` of these leaves."""

    def constant(self, value: Value) -> str | None:
        """The text of a value that all lanes share, where that is computed once; else None."""

    def read(self, access: Access) -> str: ...

    def index(self, expr: Expr) -> str: ...

    def choice(self, cond: Expr, then: Value, other: Value) -> str: ...


def float_text(value: Fraction) -> str:
    """The C literal of the nearest f32."""
    text = repr(float(value))
    return f"{text}f" if "e" in text or "." in text else f"{text}.0f"


def number_text(value: Fraction, calls: bool) -> str:
    """A scalar constant: the nearest f32, or a call with the exact fraction."""
    if not calls:
        return float_text(value)
    if max(abs(value.numerator), value.denominator) >= 2**63:
        raise fail(f"{value} does not fit 64 bits")
    return f"fw_fraction(INT64_C({value.numerator}), INT64_C({value.denominator}))"


def joined(op: str, a: str, b: str, vector: bool, calls: bool) -> str:
    """C text of ``a op b``, to be used anywhere."""
    if not calls:
        return f"({a} {op} {b})"
    return f"fw_{'vec_' if vector else ''}{_OPERATORS[op]}({a}, {b})"


def value_text(value: Value, leaves: Leaves) -> str:
    """C text of ``value``: a ``float``, or a ``fw_vec`` where the leaves are vectors."""
    shared = leaves.constant(value)
    if shared is not None:
        return shared
    match value:
        case Literal(number):
            if not leaves.vector:
                return number_text(number, leaves.calls)
            text = number_text(number, leaves.calls)
            return "(fw_vec){0}" if number == 0 else f"fw_all({text})"
        case Read(access):
            return leaves.read(access)
        case Index(expr):
            return leaves.index(expr)
        case Select(cond, then, other):
            return leaves.choice(cond, then, other)
        case Op("neg", (arg,)):
            text = value_text(arg, leaves)
            called = "fw_vec_neg" if leaves.vector else "fw_neg"
            return f"{called}({text})" if leaves.calls else f"(-{text})"
        case Op("+" | "-" | "*" | "/" as op, (left, right)):
            sides = value_text(left, leaves), value_text(right, leaves)
            return joined(op, *sides, leaves.vector, leaves.calls)
        case Op(name, args):
            known = _VECTOR if leaves.vector else _SCALAR
            if name not in known:
                raise fail(f'C is not emitted for "{name}"', value.span)
            return f"{known[name]}({', '.join(value_text(a, leaves) for a in args)})"
        case _:
            assert_never(value)


def updated(op: str, old: str, value: Value, leaves: Leaves) -> str:
    """C text of what ``destination op value`` stores; ``old`` reads the destination."""
    match op, value:
        case "=", _:
            return value_text(value, leaves)
        case "+=", Op("*", (left, right)):
            factors = f"{value_text(left, leaves)}, {value_text(right, leaves)}"
            return f"{leaves.multiply_add}({factors}, {old})"
        case "+=", _:
            text = value_text(value, leaves)
            whole = joined("+", old, text, leaves.vector, leaves.calls)
            return whole if leaves.calls else f"{old} + {text}"
        case _:
            larger = _VECTOR["max"] if leaves.vector else _SCALAR["max"]
            return f"{larger}({value_text(value, leaves)}, {old})"
