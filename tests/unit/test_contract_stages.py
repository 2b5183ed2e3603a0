"""The clause ``stages``: one rounding to bf16 between two sums is right, and nothing beyond it."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import test_contract_families as families

from effort import thinned
from formwright.base.diagnostics import InputError
from formwright.contract.contract import contract_data, contract_digest
from formwright.contract.inputs import inputs, kinds
from formwright.contract.judge import judge
from formwright.contract.numbers import to_double, to_type
from formwright.contract.operators import OPERATORS, operator
from formwright.contract.operators.running import Value, narrowed
from formwright.contract.stored import contract_from

Arrays = tuple[np.ndarray, ...]
Cut = Callable[[np.ndarray], np.ndarray]
F = np.float32

SHAPES: dict[str, dict[str, int]] = {
    "gated_mlp": {"T": 3, "D": 131, "F": 517},
    "decode_attention": {"H": 2, "G": 3, "S": 133, "D": 40},
    "prefill_attention": {"H": 2, "G": 2, "T": 29, "D": 24},
}
TYPES = {
    "f32": "f32",
    "bf16": "bf16",
    "f16": "f16",
    "sums out": dict.fromkeys(("X", "Wg", "Wu", "Wd", "q", "k", "v", "kc", "vc"), "bf16"),
}


def nearest(array: np.ndarray) -> np.ndarray:
    return array.astype(ml_dtypes.bfloat16).astype(F)


def truncated(array: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(array, F).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(F)


def of_six_bits(array: np.ndarray) -> np.ndarray:
    part, exponent = np.frexp(array)
    return np.ldexp(np.round(part * 64) / 64, exponent).astype(F)


def whole(array: np.ndarray) -> np.ndarray:
    return array


def gated_mlp(
    arrays: Arrays, cut: Cut = nearest, gates: Cut = whole, sums: Cut = whole, step: int = 1 << 30
) -> np.ndarray:
    """``cut`` is the rounding of hidden cells, ``sums`` that of a sum after each ``step`` terms."""
    x, wg, wu, wd = (a.astype(F) for a in arrays)
    a = gates(x @ wg.T)
    hidden = cut(a / (F(1) + np.exp(-a)) * (x @ wu.T))
    out = np.zeros((len(x), len(wd)), F)
    for at in range(0, hidden.shape[1], step):
        out = sums(out + hidden[:, at : at + step] @ wd[:, at : at + step].T)
    return out


def gated_mlp_other(arrays: Arrays) -> np.ndarray:
    """The sigmoid first, sums from the end."""
    x, wg, wu, wd = (a.astype(F)[..., ::-1] for a in arrays)
    a = x @ wg.T
    hidden = nearest((x @ wu.T) * (F(1) / (F(1) + np.exp(-a))) * a)
    return hidden[:, ::-1] @ wd.T


def attention(
    arrays: Arrays,
    cut: Cut = nearest,
    *,
    block: int = 1 << 30,
    of_sum: Cut = whole,
    of_scores: Cut = whole,
    sums: Cut = whole,
    divided: bool = False,
) -> np.ndarray:
    """Both kinds, over blocks of keys; ``of_sum`` is the rounding of what ``z`` adds up."""
    q, k, v = (a.astype(F) for a in arrays)
    prefill = q.ndim == 4
    rows = q if prefill else q[:, :, None, :]
    out = np.zeros(rows.shape, F)
    for h, g, t in np.ndindex(rows.shape[:3]):
        top, z, total = F(-np.inf), F(0), np.zeros(q.shape[-1], F)
        end = t + 1 if prefill else k.shape[1]
        s = of_scores((k[h, :end] @ rows[h, g, t]) * F(1 / np.sqrt(q.shape[-1])))
        for at in range(0, end, block):
            part = s[at : at + block]
            now = np.maximum(top, part.max())
            if np.isneginf(now):
                continue
            old = F(0) if np.isneginf(top) else np.exp(top - now)
            e = np.exp(part - now)
            weights = cut(e / e.sum(dtype=F)) if divided else cut(e)
            total = sums(total * old + weights @ v[h, at : min(at + block, end)])
            z, top = z * old + of_sum(e).sum(dtype=F), now
        out[h, g, t] = total if divided else total / z
    return out.reshape(q.shape)


ATTENTION_RIGHT: tuple[Callable[[Arrays], np.ndarray], ...] = (
    attention,
    lambda a: attention(a, of_sum=nearest),
    lambda a: attention(a, block=8),
    lambda a: attention(a, block=31, of_sum=nearest),
    lambda a: attention(a, whole),
)
RIGHT: dict[str, tuple[Callable[[Arrays], np.ndarray], ...]] = {
    "gated_mlp": (gated_mlp, gated_mlp_other, lambda a: gated_mlp(a, whole)),
    "decode_attention": ATTENTION_RIGHT,
    "prefill_attention": ATTENTION_RIGHT,
}

ATTENTION_WRONG: dict[str, Callable[[Arrays], np.ndarray]] = {
    "truncated": lambda a: attention(a, truncated),
    "truncated, and in z": lambda a: attention(a, truncated, of_sum=truncated),
    "truncated in blocks": lambda a: attention(a, truncated, block=8),
    "six bits": lambda a: attention(a, of_six_bits),
    "six bits, and in z": lambda a: attention(a, of_six_bits, of_sum=of_six_bits),
    "summed in bf16": lambda a: attention(a, block=8, sums=nearest),
    "scores in bf16": lambda a: attention(a, of_scores=nearest),
    "rounded after the quotient": lambda a: attention(a, divided=True),
    "a dropped tail": lambda a: attention(a, lambda e: nearest(np.r_[e[:-1], F(0)])),
    "weights too heavy": lambda a: attention(a, lambda e: nearest(e) * F(1.01)),
}
WRONG: dict[str, dict[str, Callable[[Arrays], np.ndarray]]] = {
    "gated_mlp": {
        "truncated": lambda a: gated_mlp(a, truncated),
        "six bits": lambda a: gated_mlp(a, of_six_bits),
        "summed in bf16": lambda a: gated_mlp(a, sums=nearest, step=32),
        "gates in bf16": lambda a: gated_mlp(a, gates=nearest),
        "a dropped tail": lambda a: gated_mlp(a, lambda h: nearest(h) * (np.arange(517) < 516)),
        "a dropped lane": lambda a: gated_mlp(a, lambda h: nearest(h) * (np.arange(517) % 8 != 5)),
    },
    "decode_attention": ATTENTION_WRONG,
    "prefill_attention": ATTENTION_WRONG,
}


def contract_of(name: str, types: str, stages: str = "bf16") -> Any:
    family = operator(name)
    chosen = TYPES[types]
    if isinstance(chosen, dict):
        chosen = {n: t for n, t in chosen.items() if n in family.dtypes}
    return family.contract(dtypes=chosen, stages=stages)


def refused(
    contract: Any, kernel: Callable[[Arrays], np.ndarray], seed: int, small: bool = False
) -> list[str]:
    """The kinds that refuse it."""
    extents = SHAPES[contract.operator]
    if small:
        extents = {n: min(e, 5) for n, e in extents.items()}
    found = []
    for kind in kinds(contract):
        arrays = inputs(contract, kind, extents, seed)
        with np.errstate(all="ignore"):
            output = to_type(kernel(arrays), contract.output.dtype)
        if judge(contract, kind, arrays, output) is not None:
            found.append(kind)
    return found


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("name", SHAPES)
def test_one_rounding_passes_and_is_refused_without_the_clause(name, types):
    for right in RIGHT[name]:
        for seed, small in ((3, False), (4, True)):
            assert refused(contract_of(name, types), right, seed, small) == []
    assert refused(contract_of(name, types, "f32"), RIGHT[name][0], 3)


FAULTS = [(name, fault, types) for name in SHAPES for fault in WRONG[name] for types in TYPES]


@pytest.mark.parametrize(("name", "fault", "types"), thinned(FAULTS, 5))
def test_the_usual_faults_are_refused(name, fault, types):
    """With an output of 16 bits, whose own rounding hides some of it, one seed may not do."""
    contract = contract_of(name, types)
    assert any(refused(contract, WRONG[name][fault], seed) for seed in range(3, 7))


OTHERS = [
    (name, fault)
    for name in SHAPES
    for fault in families.WRONG[name]
    if not fault.startswith("16-bit") or fault.endswith(("scores", "gate weights"))
]


@pytest.mark.parametrize(("name", "fault"), thinned(OTHERS, 5))
def test_what_is_no_rounding_of_these_values_is_refused_as_ever(name, fault):
    contract = contract_of(name, "f32")
    wrong = families.WRONG[name][fault]
    found = []
    for kind in kinds(contract):
        arrays = inputs(contract, kind, families.SHAPES[name], 3)
        output = families.run(contract, wrong, arrays)
        found += [kind] if judge(contract, kind, arrays, output) is not None else []
    assert found


def test_truncation_is_refused_where_few_terms_count():
    assert "few" in refused(
        contract_of("gated_mlp", "bf16"), WRONG["gated_mlp"]["truncated"], seed=3
    )
    for name in ("decode_attention", "prefill_attention"):
        for fault in ("truncated", "truncated, and in z", "truncated in blocks"):
            contract = contract_of(name, "sums out")
            assert "between" in refused(contract, WRONG[name][fault], seed=3)
    assert "between" not in kinds(contract_of("decode_attention", "bf16", "f32"))


@pytest.mark.parametrize("types", TYPES)
def test_integers_of_hidden_cells_are_those_of_bf16(types):
    contract = contract_of("gated_mlp", types)
    for d, f in ((1029, 3), (300, 40), (7, 3)):
        x, wg, wu, _ = (
            to_double(a) for a in inputs(contract, "integer", {"T": 5, "D": d, "F": f}, 1)
        )
        hidden = (x @ wg.T) * (x @ wu.T)
        assert np.array_equal(to_double(to_type(hidden, "bf16")), hidden)
        assert np.abs(x @ wu.T).max() <= 256


@pytest.mark.parametrize("size", [1.0, 2.0**-130, 2.0**-134, 0.0, 3.0**80])
def test_what_a_rounding_changes_lies_within_its_bound(size):
    """Numbers with an error, f32 and rounded; and never more than the roundoff says."""
    rng = np.random.default_rng(1)
    exact = size * rng.uniform(-2, 2, 4000)
    error = np.abs(exact) * 1e-6 + 2.0**-149
    found = narrowed(Value(exact, error), "bf16")
    for share in rng.uniform(-1, 1, (9, 1)):
        near = (exact + share * error).astype(F)
        assert (np.abs(nearest(near) - exact) <= found.error + 2.0**-150).all()
    assert (found.error <= error + (np.abs(exact) + error) * 2.0**-8 + 2.0**-134).all()
    assert (found.error >= error).all()


def test_hidden_cells_that_bf16_cannot_hold_are_free():
    contract = contract_of("gated_mlp", "f32")
    x, wg, wu, wd = (np.full((1, 1), v, F) for v in (1.0, 1e19, 3.398e19, 1e-30))
    wanted = operator("gated_mlp").reference(contract, (x, wg, wu, wd))
    assert wanted.free.all()
    plain = contract_of("gated_mlp", "f32", "f32")
    assert not operator("gated_mlp").reference(plain, (x, wg, wu, wd)).free.any()


BEFORE = {
    "gemm": "5d515db1251043dae00cfa05f35af5911bdd9d1e5fbff22f0fc7020492ea1372",
    "gated_mlp": "90f238ec4e7f26c33252c9496adc2ad8ea105aa154772537f627fb5660e16c6c",
    "prefill_attention": "31074d3283340eb169da9194ab5109e2fd6480b36c25eab608c63e317c9cbd67",
}
"""Digests from before there was the clause: what was kept under them stays valid."""


@pytest.mark.parametrize("name", BEFORE)
def test_contracts_without_the_clause_keep_their_digest(name):
    contract = operator(name).contract()
    assert contract_digest(contract) == BEFORE[name]
    assert "stages" not in contract_data(contract)
    assert contract_data(contract)["digest"] == BEFORE[name]


@pytest.mark.parametrize("name", SHAPES)
def test_contracts_with_the_clause_read_back(name):
    contract = contract_of(name, "bf16")
    data = contract_data(contract)
    assert data["stages"] == "bf16"
    assert contract_from(data) == contract
    plain = operator(name).contract(dtypes="bf16")
    assert contract_digest(contract) != contract_digest(plain)
    without = {key: value for key, value in data.items() if key != "stages"}
    with pytest.raises(InputError, match='contract clause "digest"'):
        contract_from(without)
    with pytest.raises(InputError, match='unknown stages "f16"'):
        contract_from(data | {"stages": "f16"})


def test_only_operators_with_such_a_value_offer_it():
    assert {n for n, known in OPERATORS.items() if known.narrow_stages} == set(SHAPES)
    for name in OPERATORS.keys() - SHAPES.keys():
        assert operator(name).contract(stages="f32").stages == "f32"
        with pytest.raises(InputError, match=f"{name} has no value between two sums"):
            operator(name).contract(stages="bf16")
