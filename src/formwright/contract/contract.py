"""What a kernel promises its caller, as data that no template and no candidate can reach.

The sentences behind each clause stand in ``docs/contract.md``; the names here are what
records and messages use.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from formwright.base.diagnostics import InputError, fail, nearest
from formwright.base.digest import digest

SCHEMA = 1

MAX_EXTENT = (1 << 31) - 1
"""M and N; row strides too."""

MAX_TERMS = 1 << 22
"""K: ``gamma_K`` stays below 1/3, and counts of terms are exact in f32."""

Role = Literal["input", "output"]


@dataclass(frozen=True, slots=True)
class Extent:
    """An extent with the values it may take, both ends included."""

    name: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor: ``extents`` names its dimensions, the last of which is contiguous."""

    name: str
    extents: tuple[str, str]
    role: Role


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Component-wise: ``gamma_n * (|A| |B|) + t * underflow`` with ``gamma_n = nu/(1-nu)``.

    ``t`` counts the terms of the component that are not zero and ``n = min(K, t+1)``;
    ``u`` is ``roundoff``. Higham, Accuracy and Stability of Numerical Algorithms, 3.5 and
    2.1 (underflow): it holds for every order of summation, with or without FMA.
    """

    model: Literal["gamma"]
    roundoff: Fraction
    underflow: Fraction


@dataclass(frozen=True, slots=True)
class Contract:
    """The behaviour a caller may rely on; :func:`gemm_contract` makes the one of GEMM.

    ``alignment`` is in bytes and holds for every operand. ``ahead`` names the inputs that
    may be prepared before the call, because they stay the same from call to call.
    """

    operator: Literal["gemm"]
    formula: str
    dtype: Literal["f32"]
    extents: tuple[Extent, ...]
    operands: tuple[Operand, ...]
    tolerance: Tolerance
    alignment: int = 4
    layout: Literal["rows"] = "rows"
    aliasing: Literal["output apart from inputs"] = "output apart from inputs"
    mutation: Literal["only the output's cells"] = "only the output's cells"
    previous_output: Literal["ignored"] = "ignored"
    empty_sum: Literal["zeros"] = "zeros"
    nonfinite: Literal["propagated"] = "propagated"
    denormals: Literal["kept"] = "kept"
    overflow: Literal["free"] = "free"
    zero_sign: Literal["free"] = "free"
    repeatable: bool = True
    ahead: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """In the order of the call."""
        return tuple(o for o in self.operands if o.role == "input")

    @property
    def output(self) -> Operand:
        return next(o for o in self.operands if o.role == "output")

    def shape(self, operand: Operand, values: Mapping[str, int]) -> tuple[int, int]:
        """Rows and columns of ``operand`` for these extents."""
        return values[operand.extents[0]], values[operand.extents[1]]


DTYPES = ("f32",)
"""Element types that have a tolerance from analysis."""


def gemm_contract(
    dtype: str = "f32",
    *,
    ahead: tuple[str, ...] = (),
    extents: Mapping[str, tuple[int, int]] | None = None,
) -> Contract:
    """``C = A @ B`` on row-major matrices whose rows may be padded.

    ``extents`` narrows the ranges of M, N, K. Raises ``InputError`` for an element type
    without a tolerance, an unknown operand in ``ahead`` or a range outside the widest one.
    """
    if dtype not in DTYPES:
        raise fail(
            f'no contract for element type "{dtype}"',
            hint=nearest(dtype, DTYPES) or f"known: {', '.join(DTYPES)}",
        )
    for name in ahead:
        if name not in ("A", "B"):
            raise fail(f'"{name}" is no input of gemm', hint="inputs are A and B")
    widest = {"M": (1, MAX_EXTENT), "N": (1, MAX_EXTENT), "K": (0, MAX_TERMS)}
    ranges = dict(widest) | dict(extents or {})
    for name, (low, high) in ranges.items():
        if name not in widest:
            raise fail(f'gemm has no extent "{name}"', hint="extents are M, N and K")
        if not widest[name][0] <= low <= high <= widest[name][1]:
            raise fail(
                f"extent {name} in {low} .. {high} is outside the contract of gemm",
                hint=f"use a range inside {widest[name][0]} .. {widest[name][1]}",
            )
    return Contract(
        operator="gemm",
        formula="C[M,N] = sum(k < K) A[M,k] * B[k,N]",
        dtype="f32",
        extents=tuple(Extent(n, *ranges[n]) for n in ("M", "N", "K")),
        operands=(
            Operand("A", ("M", "K"), "input"),
            Operand("B", ("K", "N"), "input"),
            Operand("C", ("M", "N"), "output"),
        ),
        tolerance=Tolerance("gamma", Fraction(1, 1 << 24), Fraction(1, 1 << 150)),
        ahead=ahead,
    )


def outside(contract: Contract, values: Mapping[str, int]) -> str | None:
    """Why these extents are not in the contract's domain, or ``None`` when they are."""
    for extent in contract.extents:
        if extent.name not in values:
            return f"extent {extent.name} has no value"
        if not extent.low <= values[extent.name] <= extent.high:
            return f"{extent.name} = {values[extent.name]} is outside {extent.low} .. {extent.high}"
    return None


def contract_digest(contract: Contract) -> str:
    """Hex SHA-256 of the canonical form; part of every record."""
    return digest({"schema": SCHEMA, "contract": contract})


def contract_data(contract: Contract) -> dict[str, Any]:
    """Plain JSON data with ``schema``; :func:`contract_from` reads it back."""
    return {
        "schema": SCHEMA,
        "digest": contract_digest(contract),
        "operator": contract.operator,
        "formula": contract.formula,
        "dtype": contract.dtype,
        "extents": {e.name: [e.low, e.high] for e in contract.extents},
        "operands": [
            {"name": o.name, "extents": list(o.extents), "role": o.role} for o in contract.operands
        ],
        "layout": contract.layout,
        "alignment": contract.alignment,
        "aliasing": contract.aliasing,
        "mutation": contract.mutation,
        "previous_output": contract.previous_output,
        "empty_sum": contract.empty_sum,
        "tolerance": {
            "model": contract.tolerance.model,
            "roundoff": str(contract.tolerance.roundoff),
            "underflow": str(contract.tolerance.underflow),
        },
        "nonfinite": contract.nonfinite,
        "denormals": contract.denormals,
        "overflow": contract.overflow,
        "zero_sign": contract.zero_sign,
        "repeatable": contract.repeatable,
        "ahead": list(contract.ahead),
    }


def contract_from(data: Mapping[str, Any]) -> Contract:
    """The contract that :func:`contract_data` wrote.

    Only contracts this version can make are read: every clause must be the one that
    :func:`gemm_contract` states, else the data asks for something that is not checked.
    Raises ``InputError``.
    """
    try:
        extents = {n: (int(low), int(high)) for n, (low, high) in data["extents"].items()}
        contract = gemm_contract(data["dtype"], ahead=tuple(data["ahead"]), extents=extents)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise fail(f"not a contract: {error!r}", hint="write it with contract_data") from None
    except InputError as error:
        raise fail(f"not a contract of this version: {error.diagnostics[0].message}") from None
    known = contract_data(contract)
    for key in sorted({*known, *data}):
        if key not in data or key not in known or data[key] != known[key]:
            raise fail(
                f'contract clause "{key}" is {data.get(key)!r}',
                hint=f"this version knows {known.get(key)!r}",
            )
    return contract
