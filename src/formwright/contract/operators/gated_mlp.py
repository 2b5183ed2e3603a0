"""Gated MLP: two products, SiLU of the one times the other, and a third product."""

from functools import partial
from typing import Final

import numpy as np

from formwright.contract.contract import (
    MAX_EXTENT,
    MAX_TERMS,
    Contract,
    Extent,
    Operand,
    Special,
    Stages,
)
from formwright.contract.expected import Expected
from formwright.contract.numbers import F64, FLT_MAX, U32, Array, Mask, format_of, to_double
from formwright.contract.operators import draws, running
from formwright.contract.operators.changes import FLOATS, doubled, first_half, zeros_behind
from formwright.contract.operators.family import (
    Arrays,
    Generator,
    Kind,
    Negate,
    Operator,
    Permute,
    Values,
)
from formwright.contract.operators.running import FLUSH, Value

Four = tuple[Array, Array, Array, Array]


def _sizes(values: Values) -> tuple[int, int, int]:
    return values["T"], values["D"], values["F"]


def _dense(gate: float, contract: Contract, rng: Generator, values: Values) -> Four:
    """Gates of about ``gate``, other cells of about 1."""
    t, d, f = _sizes(values)
    x = draws.normal(rng, (t, d))
    inner, outer = float(np.sqrt(d)), float(np.sqrt(f))
    wg, wu = (draws.normal(rng, (f, d)) for _ in range(2))
    wg *= gate / inner
    wu *= 1 / inner
    wd = draws.normal(rng, (d, f))
    wd *= 1 / outer
    return x, wg, wu, wd


def _make_dense(gate: float, contract: Contract, rng: Generator, values: Values) -> Arrays:
    return _dense(gate, contract, rng, values)


def _integer(contract: Contract, rng: Generator, values: Values) -> Arrays:
    """Every gate is 128 and open, everything else small integers: no rounding anywhere."""
    t, d, f = _sizes(values)
    few = max(1, min(d, (1 << 22) // f))
    if contract.stages != "f32":
        # Hidden cells are 128 times at most as many: so few bf16 holds without a rounding.
        few = min(few, 1 << draws.digits(contract.stages))
    x = draws.whole(rng, (t, d), 1)
    x[:, 0] = 1
    wg, wu = np.zeros((f, d)), np.zeros((f, d))
    wg[:, 0] = 128
    for place in rng.integers(0, d, (few if few < d else 0, f)):
        wu[np.arange(f), place] = draws.sign(rng, (f,))
    if few >= d:
        wu = draws.whole(rng, (f, d), 1)
    return x, wg, wu, draws.whole(rng, (d, f), 1)


def _few(contract: Contract, rng: Generator, values: Values) -> Arrays:
    """Two terms in every sum."""
    x, wg, wu, wd = _dense(2.0, contract, rng, values)
    return _two(rng, x), wg * np.sqrt(x.shape[1]), wu, _two(rng, wd)


def _two(rng: Generator, array: Array) -> Array:
    kept = np.zeros_like(array)
    rows, columns = array.shape
    for _ in range(2):
        place = np.asarray(rng.integers(0, columns, rows))
        place[0] = columns - 1
        kept[np.arange(rows), place] = array[np.arange(rows), place]
    return kept


def _cancelling(contract: Contract, rng: Generator, values: Values) -> Arrays:
    x, wg, wu, wd = _dense(1.0, contract, rng, values)
    half = wg.shape[0] // 2
    near = 1 + 64 * float(format_of(contract.inputs[3].dtype).roundoff)
    for weights in (wg, wu):
        weights[half : 2 * half] = weights[:half]
    wd[:, half : 2 * half] = -(wd[:, :half] * near)
    return x, wg, wu, wd


def _last(contract: Contract, rng: Generator, values: Values) -> Arrays:
    x, wg, wu, wd = _dense(1.0, contract, rng, values)
    x[:, -1] *= 32
    wd[:, -1] *= 32
    return x, wg, wu, wd


def _zeros(contract: Contract, rng: Generator, values: Values) -> Arrays:
    x, wg, wu, wd = _dense(1.0, contract, rng, values)
    for array in (x, wg, wu, wd):
        array[rng.random(array.shape) < 0.4] = -0.0
    x[x.shape[0] // 2] = 0
    return x, wg, wu, wd


def _denormal(contract: Contract, rng: Generator, values: Values) -> Arrays:
    x, wg, wu, wd = _dense(1.0, contract, rng, values)
    return x, wg, wu, draws.denormal(rng, wd.shape, contract.inputs[3].dtype)


def _nonfinite(contract: Contract, rng: Generator, values: Values) -> Arrays:
    x, wg, wu, wd = _dense(1.0, contract, rng, values)
    t, d, f = _sizes(values)
    x[int(rng.integers(0, t)), int(rng.integers(0, d))] = np.nan
    for value in (np.nan, np.inf):
        wd[int(rng.integers(0, d)), int(rng.integers(0, f))] = value
    return x, wg, wu, wd


KINDS: Final = (
    Kind("normal", "the tolerance on ordinary inputs", "tolerance", partial(_make_dense, 1.0)),
    Kind("wide", "gates where SiLU bends", "tolerance", partial(_make_dense, 8.0)),
    Kind("far", "gates that exp cannot hold", "saturated", partial(_make_dense, 400.0)),
    Kind("integer", "open gates and integers: equal", "exact_integers", _integer, exact=True),
    Kind("few", "two terms in every sum: full precision", "sparse_terms", _few),
    Kind("cancellation", "hidden cells that nearly cancel", "tolerance", _cancelling),
    Kind("last", "the last cells outweigh the others", "tolerance", _last),
    Kind("zeros", "zeros of both signs", "tolerance", _zeros),
    Kind("denormal", "denormal weights", "denormals", _denormal),
    Kind("nonfinite", "NaN and infinities", "nonfinite", _nonfinite),
)

CLAUSES: Final = {
    "tolerance": "each cell within the bound of its three products and SiLU, against float64",
    "saturated": "gates far from zero are open or shut, without NaN or infinity",
    "exact_integers": "open gates and small integers come out equal",
    "sparse_terms": "sums of two terms within their own bound: full precision",
    "denormals": "denormal weights are kept",
    "nonfinite": "NaN and infinities propagate as the formula does, and nowhere else",
}


def _reference(contract: Contract, arrays: Arrays) -> Expected:
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        x, (wg, wu, wd) = running.given(arrays[0]), arrays[1:]
        gate, up = running.by_rows(x, wg), running.by_rows(x, wu)
        act = running.silu(gate)
        # One rounding more, for another grouping of the factors.
        hidden = running.rounded(running.multiply(act, up))
        spilt = _spilt(hidden, contract.stages)
        if contract.stages != "f32":
            hidden = running.narrowed(hidden, contract.stages)
        whole = bool(np.isfinite(wd).all())
        kept = wd if whole else np.where(np.isfinite(wd), wd, wd.dtype.type(0))
        found = running.by_rows(_clean(hidden), kept)
        free = np.abs(found.exact) + found.error >= FLT_MAX
        over = (np.abs(gate.exact) >= FLT_MAX) | (np.abs(up.exact) >= FLT_MAX)
        over &= np.isfinite(gate.exact) & np.isfinite(up.exact)
        unsure = (np.abs(act.exact) <= 256 * FLUSH) & np.isinf(up.exact)
        free |= (over | unsure | spilt).any(axis=1, keepdims=True)
        exact = whole and bool(np.isfinite(hidden.exact).all())
        value = found.exact if exact else hidden.exact @ to_double(wd).T
    bound = found.error + U32 * np.abs(found.exact) * (found.error > 0)
    return Expected(value, np.nan_to_num(bound, posinf=np.inf), free & np.isfinite(found.exact))


def _spilt(hidden: Value, stages: Stages) -> Mask:
    """Cells that f32 holds and that are infinity after their rounding."""
    if stages == "f32":
        return np.zeros(hidden.exact.shape, bool)
    size = np.abs(hidden.exact)
    return np.asarray(np.isfinite(size) & (size + hidden.error > format_of(stages).largest))


def _clean(value: Value) -> Value:
    """Rows with NaN or infinities get no bound of use, and spoil no other row's."""
    good = np.isfinite(value.exact) & np.isfinite(value.error)
    return Value(np.where(good, value.exact, 0.0), np.where(good, value.error, 0.0))


def _suspects(arrays: Arrays, output: Array) -> list[tuple[str, F64]]:
    x, wg, wu, wd = (to_double(a) for a in arrays)
    with np.errstate(over="ignore"):
        gate, up = x @ wg.T, x @ wu.T
        share = 1 / (1 + np.exp(-gate))
    return [
        ("the MLP with gate and up exchanged", (up / (1 + np.exp(-up)) * gate) @ wd.T),
        ("the MLP with a sigmoid in place of SiLU", (share * up) @ wd.T),
        ("the MLP without its gate", up @ wd.T),
        ("the MLP without its last hidden cell", (gate * share * up)[:, :-1] @ wd[:, :-1].T),
    ]


def _counts(values: Values) -> tuple[int, int]:
    points = values["T"] * values["D"] * values["F"]
    return 6 * points + 5 * values["T"] * values["F"], 3 * points


GATED_MLP: Final = Operator(
    name="gated_mlp",
    title="gated MLP with SiLU",
    formula=(
        "Y[T,D] = sum(f < F) a[T,f] / (1 + exp(-a[T,f])) * u[T,f] * Wd[D,f]",
        "a[T,F] = sum(d < D) X[T,d] * Wg[F,d]",
        "u[T,F] = sum(d < D) X[T,d] * Wu[F,d]",
    ),
    extents=(Extent("T", 1, MAX_EXTENT), Extent("D", 1, MAX_TERMS), Extent("F", 1, MAX_TERMS)),
    operands=(
        Operand("X", ("T", "D"), "input"),
        Operand("Wg", ("F", "D"), "input"),
        Operand("Wu", ("F", "D"), "input"),
        Operand("Wd", ("D", "F"), "input"),
        Operand("Y", ("T", "D"), "output"),
    ),
    dtypes=dict.fromkeys(("X", "Wg", "Wu", "Wd", "Y"), FLOATS),
    special=Special(),
    clauses=CLAUSES,
    kind_list=KINDS,
    reference=_reference,
    symmetry_list=(
        Negate(((3, 0),), 1),
        Permute(((0, 0),), 0),
        Permute(((3, 0),), 1),
        Permute(((1, 0), (2, 0), (3, 1)), None),
        Permute(((0, 1), (1, 1), (2, 1)), None),
    ),
    counts=_counts,
    relation_list=(
        doubled(2),
        first_half("T", ((0, 0),), 0),
        zeros_behind("F", ((1, 0), (2, 0), (3, 1))),
    ),
    suspects=_suspects,
    narrow_stages=True,
)
