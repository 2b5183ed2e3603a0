"""Is an output what the contract asks for? If not: which clause, where, what it looks like."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from formwright.contract.contract import Contract
from formwright.contract.expected import Expected
from formwright.contract.numbers import Array, Mask, to_double
from formwright.contract.operators import operator
from formwright.contract.reference import expected


@dataclass(frozen=True, slots=True)
class Finding:
    """One wrong output: ``clause`` is the responsible check, the rest the worst cell.

    ``got`` and ``wanted`` are the values there, ``bound`` the error that was allowed.
    """

    clause: str
    detail: str
    cell: tuple[int, ...]
    got: float
    wanted: float
    bound: float


def judge(
    contract: Contract,
    kind: str,
    arrays: tuple[Array, ...],
    output: Array,
    *,
    poison: np.unsignedinteger[Any] | None = None,
    wanted: Expected | None = None,
) -> Finding | None:
    """``None`` when ``output`` is right for ``arrays``, the inputs in the order of the call.

    ``poison`` is the bit pattern (of the size of an element) that filled the output before
    the call: a cell that still holds it was not written. ``wanted`` saves computing the
    reference again.
    """
    if wanted is None:
        wanted = expected(contract, kind, arrays)
    got = to_double(output)
    wrong = _wrong(got, wanted)
    if not wrong.any():
        return _norm(contract, got, wanted)
    unwritten = np.zeros(output.shape, bool)
    if poison is not None:
        unwritten = wrong & (np.ascontiguousarray(output).view(poison.dtype) == poison)
    clause, detail = _clause(contract, kind, arrays, got, wanted, wrong, unwritten)
    cell = _worst(got, wanted, wrong)
    return Finding(
        clause,
        detail,
        cell,
        float(got[cell]),
        float(wanted.value[cell]),
        float(wanted.bound[cell]),
    )


def _wrong(got: Array, want: Expected) -> Mask:
    # Everything is asked the positive way: a NaN makes a comparison false, so `not right`
    # refuses it, where `error > bound` would let it pass.
    with np.errstate(invalid="ignore"):
        right = np.abs(got - want.value) <= want.bound
    right |= np.isnan(want.value) & np.isnan(got)
    right |= np.isinf(want.value) & (got == want.value)
    return np.asarray(~(right | want.free))


def _norm(contract: Contract, got: Array, want: Expected) -> Finding | None:
    """The limit on the whole output, where the contract has one beside the components'."""
    limit = contract.relation.norm
    if limit is None:
        return None
    sure = np.isfinite(want.value) & ~want.free
    size = float(np.linalg.norm(want.value[sure]))
    off = float(np.linalg.norm(got[sure] - want.value[sure]))
    if off <= float(limit) * size:
        return None
    detail = f"the whole output is {off:.3g} away in norm; {float(limit) * size:.3g} is allowed"
    cell = _worst(got, want, sure)
    return Finding(
        "norm", detail, cell, float(got[cell]), float(want.value[cell]), float(want.bound[cell])
    )


def _clause(
    contract: Contract,
    kind: str,
    arrays: tuple[Array, ...],
    got: Array,
    want: Expected,
    wrong: Mask,
    unwritten: Mask,
) -> tuple[str, str]:
    family = operator(contract.operator)
    exact, clause = family.exact(kind), family.clause_of(kind)
    if "empty_sum" in family.clauses and any(a.size == 0 for a in arrays):
        if not want.value.any():
            return "empty_sum", f"K = 0 must give zeros; {_share(wrong)} cells are not zero"
        return "empty_sum", f"K = 0 is a sum of zero; {_share(wrong)} cells are not what it gives"
    if unwritten.any():
        return "written", f"{_share(unwritten)} cells were never written{_where(unwritten)}"
    stray = wrong & ~np.isfinite(got) & np.isfinite(want.value)
    if stray.any() and clause == "masked":
        return "masked", f"{_share(stray)} cells see what the mask leaves out{_where(stray)}"
    if np.isnan(got).all() and not np.isnan(want.value).all():
        return "finite", "every cell is NaN"
    first = got.flat[0]
    flat = got.size > 1 and bool((got == first).all()) and np.unique(want.value).size > 1
    if flat and clause == "denormals":
        return "denormals", f"every cell is {first:g} for denormal inputs"
    if flat:
        return "constant", f"every cell is {first:g} (constant fill)"
    if stray.any() and not exact:
        return "finite", f"{_share(stray)} cells are NaN or infinite{_where(stray)}"
    if clause == "nonfinite" and not (wrong & ~np.isfinite(want.value)).any():
        clause = "tolerance"
    looks = _looks(contract, arrays, got, want)
    return clause, f"{_share(wrong)} cells are wrong{_where(wrong)}{looks}"


def _share(mask: Mask) -> str:
    return f"{int(mask.sum())} of {mask.size}"


def _where(mask: Mask) -> str:
    """Whole slices of an axis, the last ones above all: the shape of an error is its name."""
    if mask.all():
        return ""
    names = _AXES.get(mask.ndim, ())
    for axis, size in enumerate(mask.shape):
        others = tuple(a for a in range(mask.ndim) if a != axis)
        found = np.flatnonzero(mask.any(axis=others))
        if len(found) < size and np.take(mask, found, axis=axis).mean() > 0.5:
            what = names[axis] if names else f"axis {axis},"
            return f" ({what} {_span(found)} of {size})"
    first = np.unravel_index(int(np.argmax(mask)), mask.shape)
    return f" (first at [{','.join(str(int(i)) for i in first)}])"


_AXES = {1: ("cells",), 2: ("rows", "columns")}


def _span(indices: np.ndarray) -> str:
    first, last = int(indices[0]), int(indices[-1])
    if first == last:
        return str(first)
    return f"{first}..{last}" if len(indices) == last - first + 1 else f"{first}, … {last}"


def _looks(contract: Contract, arrays: tuple[Array, ...], got: Array, want: Expected) -> str:
    """What the wrong output does equal, if it is one of the usual things."""
    suspects = operator(contract.operator).suspects
    if suspects is None or not all(np.isfinite(t).all() for t in (*arrays, got, want.value)):
        return ""
    away = np.abs(got - want.value).max()
    for name, value in suspects(arrays, got):
        if np.abs(got - value).max() <= 0.05 * away:
            return f"; it equals {name}"
    return ""


def _worst(got: Array, want: Expected, wrong: Mask) -> tuple[int, ...]:
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = np.abs(got - want.value) / np.maximum(want.bound, 1e-300)
    ratio = np.where(wrong, np.nan_to_num(ratio, nan=np.inf, posinf=np.inf), -1.0)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), got.shape))
