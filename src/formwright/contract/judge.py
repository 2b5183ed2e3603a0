"""Is an output what the contract asks for? If not: which clause, where, what it looks like."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.inputs import EXACT, Kind
from formwright.contract.reference import F32, F64, Expected, Mask, exactly, expected

CLAUSE_OF: Final[Mapping[Kind, str]] = {
    "integer": "exact_integers",
    "select": "selection",
    "sparse_rows": "sparse_terms",
    "sparse_columns": "sparse_terms",
    "denormal": "denormals",
    "nonfinite": "nonfinite",
}
"""The check that a kind of inputs is for; the others ask for the tolerance."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One wrong output: ``clause`` is the responsible check, the rest the worst cell.

    ``got`` and ``wanted`` are the values there, ``bound`` the error that was allowed.
    """

    clause: str
    detail: str
    row: int
    column: int
    got: float
    wanted: float
    bound: float


def judge(
    contract: Contract,
    kind: Kind,
    a: F32,
    b: F32,
    c: F32,
    *,
    poison: np.uint32 | None = None,
    wanted: Expected | None = None,
) -> Finding | None:
    """``None`` when ``c`` [M,N] is right for ``a`` [M,K] and ``b`` [K,N].

    ``poison`` is the bit pattern that filled ``c`` before the call: a cell that still
    holds it was not written. ``wanted`` saves computing the reference again.
    """
    if wanted is None:
        wanted = exactly(a, b) if kind in EXACT else expected(contract, a, b)
    wrong = _wrong(kind, c, wanted)
    if not wrong.any():
        return None
    unwritten = np.zeros(c.shape, bool) if poison is None else c.view(np.uint32) == poison
    clause, detail = _clause(kind, a, b, c, wanted, wrong, wrong & unwritten)
    row, column = _worst(c, wanted, wrong)
    return Finding(
        clause,
        detail,
        row,
        column,
        float(c[row, column]),
        float(wanted.value[row, column]),
        float(wanted.bound[row, column]),
    )


def _wrong(kind: Kind, c: F32, want: Expected) -> Mask:
    # Everything is asked the positive way: a NaN makes a comparison false, so `not right`
    # refuses it, where `error > bound` would let it pass.
    with np.errstate(invalid="ignore"):
        got = c.astype(np.float64)
        if kind in EXACT:
            return np.asarray(got != want.value)
        right = np.abs(got - want.value) <= want.bound
    right |= np.isnan(want.value) & np.isnan(got)
    right |= np.isinf(want.value) & (got == want.value)
    return np.asarray(~(right | want.free))


def _clause(
    kind: Kind, a: F32, b: F32, c: F32, want: Expected, wrong: Mask, unwritten: Mask
) -> tuple[str, str]:
    if a.shape[1] == 0:
        return "empty_sum", f"K = 0 must give zeros; {_share(wrong)} cells are not zero"
    if unwritten.any():
        return "written", f"{_share(unwritten)} cells were never written{_where(unwritten)}"
    if np.isnan(c).all() and not np.isnan(want.value).all():
        return "finite", "every cell is NaN"
    flat = c.size > 1 and (c == c[0, 0]).all() and np.unique(want.value).size > 1
    if flat and kind == "denormal":
        return "denormals", f"every cell is {c[0, 0]:g} for denormal inputs"
    if flat:
        return "constant", f"every cell is {c[0, 0]:g} (constant fill)"
    stray = wrong & ~np.isfinite(c) & np.isfinite(want.value)
    if stray.any() and kind not in EXACT:
        return "finite", f"{_share(stray)} cells are NaN or infinite{_where(stray)}"
    clause = CLAUSE_OF.get(kind, "tolerance")
    if clause == "nonfinite" and not (wrong & ~np.isfinite(want.value)).any():
        clause = "tolerance"
    return clause, f"{_share(wrong)} cells are wrong{_where(wrong)}{_looks(a, b, c, want)}"


def _share(mask: Mask) -> str:
    return f"{int(mask.sum())} of {mask.size}"


def _where(mask: Mask) -> str:
    """Whole rows or columns, the last ones above all: the shape of an error is its name."""
    m, n = mask.shape
    if mask.all():
        return ""
    rows = np.flatnonzero(mask.any(axis=1))
    columns = np.flatnonzero(mask.any(axis=0))
    if len(rows) < m and mask[rows].mean() > 0.5:
        return f" (rows {_span(rows)} of {m})"
    if len(columns) < n and mask[:, columns].mean() > 0.5:
        return f" (columns {_span(columns)} of {n})"
    return f" (first at [{rows[0]},{int(np.flatnonzero(mask[rows[0]])[0])}])"


def _span(indices: np.ndarray) -> str:
    first, last = int(indices[0]), int(indices[-1])
    if first == last:
        return str(first)
    return f"{first}..{last}" if len(indices) == last - first + 1 else f"{first}, … {last}"


def _looks(a: F32, b: F32, c: F32, want: Expected) -> str:
    """What the wrong output does equal, if it is one of the usual things."""
    if a.shape[1] > 1 and all(np.isfinite(t).all() for t in (a, b, c)):
        away = np.abs(c - want.value).max()
        for name, value in _suspects(a, b, c):
            if np.abs(c - value).max() <= 0.05 * away:
                return f"; it equals {name}"
    return ""


def _suspects(a: F32, b: F32, c: F32) -> list[tuple[str, F64]]:
    x, y = a.astype(np.float64), b.astype(np.float64)
    k = x.shape[1]
    suspects = [
        ("the product without its last term", x[:, :-1] @ y[:-1]),
        ("the product without its first term", x[:, 1:] @ y[1:]),
        ("the product of A cut to 16 bits", _halved(a) @ y),
        ("the product of B cut to 16 bits", x @ _halved(b)),
        ("the product of inputs cut to 16 bits", _halved(a) @ _halved(b)),
    ]
    if x.shape[0] == k == y.shape[1]:
        suspects += [("A^T B", x.T @ y), ("A B^T", x @ y.T), ("(A B)^T", (x @ y).T)]
    if k > 8:
        # One cell tells where the sum stopped; the whole output must then agree.
        partial = np.cumsum(x[0] * y[:, 0])
        stop = int(np.argmin(np.abs(partial - c[0, 0]))) + 1
        suspects.append((f"the sum over k < {stop} alone", x[:, :stop] @ y[:stop]))
    return suspects


def _halved(array: F32) -> F64:
    bits = array.view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


def _worst(c: F32, want: Expected, wrong: Mask) -> tuple[int, int]:
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = np.abs(c.astype(np.float64) - want.value) / np.maximum(want.bound, 1e-300)
    ratio = np.where(wrong, np.nan_to_num(ratio, nan=np.inf, posinf=np.inf), -1.0)
    row, column = np.unravel_index(int(np.argmax(ratio)), c.shape)
    return int(row), int(column)
