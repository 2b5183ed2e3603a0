"""Builds over prime fields: right programs hold, wrong ones are refuted, the rest says why."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from effort import thinned
from formwright.base.source import Source
from formwright.codegen import target_named
from formwright.codegen.build import FLAGS, LINK, find_compiler
from formwright.codegen.field import MERSENNE, FieldError, G, P, Q, kinds_of
from formwright.contract.operators import operator
from formwright.ir.template import Template
from formwright.lang import load, parse
from formwright.qualify.exact import NotExactError
from formwright.qualify.exact_builds import exact_build, exact_evidence
from formwright.qualify.field_exact import Field, Halves, ZeroDivisorError, field_output
from formwright.qualify.fields import field_numbers
from formwright.qualify.numbers import run_numbers
from formwright.qualify.sanitized import Outcome

Values = Mapping[str, int]

CASES: dict[str, tuple[str, Values, Values]] = {
    # Operator, design, extents with tails.
    "softmax_rows": ("softmax", {"Rr": 2, "L": 8}, {"R": 3, "C": 21}),
    "rmsnorm_rows": ("rmsnorm", {"Rr": 2, "L": 8}, {"T": 3, "H": 21}),
    "gemv_rows": ("gemv", {"Rr": 2, "L": 8}, {"N": 5, "K": 21}),
    "decode_attention_heads": (
        "decode_attention",
        {"Gr": 2, "L": 8, "Lv": 8, "Ls": 8},
        {"H": 2, "G": 3, "S": 11, "D": 10},
    ),
}
MUTANTS = {
    # A template and what stands in its text in the place of what. The first of each is tried
    # by default.
    "softmax: no division": ("softmax_rows", "e[r, q*L+l] * inv[r]", "e[r, q*L+l]"),
    "rmsnorm: no eps": ("rmsnorm_rows", "index(H) + 1 / 1000000)", "index(H))"),
    "gemv: last block dropped": (
        "gemv_rows",
        "for q in 0 .. ceil(K/L)",
        "for q in 0 .. ceil(K/L) - 1",
    ),
    "decode: a key dropped": (
        "decode_attention_heads",
        "for j in 0 .. S:\n        out",
        "for j in 1 .. S:\n        out",
    ),
    "softmax: another row's sum": ("softmax_rows", "* inv[r]", "* inv[0]"),
    "softmax: a lane dropped": (
        "softmax_rows",
        "acc[r,l] += e[r, q*L+l] over (r < Rr, l < min(L, C - q*L))",
        "acc[r,l] += e[r, q*L+l] over (r < Rr, l < min(L, C - q*L - 1))",
    ),
    "rmsnorm: no weight": ("rmsnorm_rows", "inv[r] * g[q*L+l]", "inv[r]"),
    "rmsnorm: no root": ("rmsnorm_rows", "rsqrt(tot", "1 / (tot"),
    "rmsnorm: another mean": ("rmsnorm_rows", "tot[r] / index(H)", "tot[r] / index(H + 1)"),
    "gemv: a neighbour's column": ("gemv_rows", "* x[q*L+l]", "* x[q*L+l+1]"),
    "decode: no scale": ("decode_attention_heads", "d] * rsqrt(index(D))", "d]"),
    "decode: another head's queries": (
        "decode_attention_heads",
        "qs[g,d] = q[h, b",
        "qs[g,d] = q[0, b",
    ),
    "decode: a sum one key short": (
        "decode_attention_heads",
        "sum_[g,l] += w[g, p*Ls+l] over (g < Gr, l < min(Ls, S - p*Ls))",
        "sum_[g,l] += w[g, p*Ls+l] over (g < Gr, l < min(Ls, S - p*Ls - 1))",
    ),
    "decode: no quotient": ("decode_attention_heads", "out[g,l] * inv[g]", "out[g,l]"),
}
EARLY = list(MUTANTS)[:4]


def _mutant(name: str, old: str, new: str) -> Template:
    text = load(name)[0].text
    assert old in text, (name, old)
    return parse(Source(name, text.replace(old, new)))


def _run(name: str, template: Template, folder: Path) -> Outcome:
    family, design, shape = CASES[name]
    return _run_at(family, template, design, shape, folder)


def _run_at(
    family: str, template: Template, design: Values, shape: Values, folder: Path
) -> Outcome:
    whole = {d.name: design.get(d.name, d.menu[0]) for d in template.decisions}
    made = exact_build(template, whole, target_named("plain"), 5)
    command = (*find_compiler(), *FLAGS, "-o", "kernel.so", "kernel.c", *LINK)
    contract = operator(family).contract()
    return run_numbers(made.numbers, made.source, command, contract, (shape,), 3, 2, folder)


@pytest.mark.parametrize(
    "name", thinned(["decode_attention_heads", "softmax_rows", "rmsnorm_rows"])
)
def test_a_right_program_holds(name: str, tmp_path: Path) -> None:
    found = _run(name, load(name)[1], tmp_path)
    assert (found.verdict, found.detail) == ("held", "")


@pytest.mark.parametrize("what", EARLY)
def test_a_wrong_program_is_refuted(what: str, tmp_path: Path) -> None:
    name, old, new = MUTANTS[what]
    found = _run(name, _mutant(name, old, new), tmp_path)
    assert found.verdict == "refuted"
    assert "cells are not the exact value, the first at [" in found.detail


@pytest.mark.slow
@pytest.mark.parametrize("what", list(MUTANTS)[4:])
def test_more_wrong_programs_are_refuted(what: str, tmp_path: Path) -> None:
    name, old, new = MUTANTS[what]
    assert _run(name, _mutant(name, old, new), tmp_path).verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "family", "shape"),
    [
        ("layernorm_rows", "layernorm", {"T": 3, "H": 21}),
        ("gated_mlp_direct", "gated_mlp", {"T": 2, "D": 11, "F": 9}),
        ("gated_mlp_panels_ahead", "gated_mlp", {"T": 9, "D": 70, "F": 13}),
        ("gated_mlp_matrix_ahead", "gated_mlp", {"T": 9, "D": 70, "F": 41}),
        ("gemm_silu_panels_ahead", "gemm_silu", {"M": 9, "N": 21, "K": 70}),
        ("prefill_attention_blocks", "prefill_attention", {"H": 2, "G": 2, "T": 19, "D": 10}),
        ("prefill_attention_matrix", "prefill_attention", {"H": 2, "G": 1, "T": 37, "D": 10}),
    ],
)
def test_other_templates_hold(name: str, family: str, shape: Values, tmp_path: Path) -> None:
    found = _run_at(family, load(name)[1], {}, shape, tmp_path)
    assert (found.verdict, found.detail) == ("held", "")


def test_the_entry_says_what_it_cannot_see() -> None:
    """Without a build, so at no cost: the maximum of relu has no field."""
    template = load("gemm_relu_panels_ahead")[1]
    whole = {d.name: d.menu[0] for d in template.decisions}
    made = exact_build(template, whole, target_named("plain"), 5)
    entry = exact_evidence(made, ("cc",), operator("gemm_relu").contract(), 5, {}, 2)
    assert (entry["what"], entry["verdict"], entry["evidence"], entry["runs"]) == (
        "prime field",
        "unresolved",
        "tested",
        0,
    )
    assert entry["modulus"] == f"2^61 - 1 = {MERSENNE}"
    assert entry["unseen"].startswith("rounding")
    assert entry["detail"].startswith("no field has the program's max (line")


def test_each_program_has_the_numbers_that_it_asks_for() -> None:
    def what(name: str) -> str:
        template = load(name)[1]
        whole = {d.name: d.menu[0] for d in template.decisions}
        made = exact_build(template, whole, target_named("plain"), 5)
        assert isinstance(made.source, str)
        return made.what

    assert what("gemv_rows") == what("gemv_int8_rows") == "integers mod 2^64"
    assert what("rmsnorm_rows") == "prime field"
    assert what("softmax_rows") == "pair of prime fields"


@pytest.mark.slow
def test_a_maximum_is_not_seen(tmp_path: Path) -> None:
    """Of one element only: the quotients are right, exponents above 0 are for other checks."""
    text = "big[r,l] max= X[i*Rr+r, q*L+l]"
    wrong = _mutant("softmax_rows", text, "big[r,l] max= X[i*Rr+r, 0]")
    assert _run("softmax_rows", wrong, tmp_path).verdict == "held"


ONLINE = """\
template online : operator -> mapping

scope
  workload  Y[R,C] = exp(X[R,C] - m[R]) / z[R]
  stage     m[R] = max(c < C) X[R,c]
  stage     z[R] = sum(c < C) exp(X[R,c] - m[R])
  extents   R >= 1, C >= 1

decisions
  Rr in {2}

program
  par grid i in ceil(R/Rr):
    alloc top[Rr, C + 1], tot[Rr, C + 1] scratch
    top[r,0] = X[i*Rr+r, 0] clip
    tot[r,0] = 0
    for c in 0 .. C:
      top[r,c+1] = max(top[r,c], X[i*Rr+r, c]) over (r < min(Rr, R - i*Rr))
      tot[r,c+1] = tot[r,c] * exp(top[r,c] - top[r,c+1]) over (r < min(Rr, R - i*Rr))
      tot[r,c+1] += exp(X[i*Rr+r, c] - top[r,c+1]) over (r < min(Rr, R - i*Rr))
    for c in 0 .. C:
      Y[i*Rr+r, c] = exp(X[i*Rr+r, c] - top[r,C]) / tot[r,C] over (r < min(Rr, R - i*Rr))

realise
  m[i*Rr+r] = top[r,n]
  z[i*Rr+r] = tot[r,n]
"""


@pytest.mark.slow
def test_a_dropped_rescaling_is_refuted(tmp_path: Path) -> None:
    """Softmax with a running maximum: right whatever element that is, and only then."""
    for text, verdict in (("* exp(top[r,c] - top[r,c+1])", "refuted"), ("", "held")):
        template = parse(Source("online", ONLINE.replace(text, "") if text else ONLINE))
        found = _run_at("softmax", template, {}, {"R": 3, "C": 21}, tmp_path / verdict)
        assert found.verdict == verdict, found.detail


def _kinds(name: str, old: str = "", new: str = "") -> str:
    template = _mutant(name, old, new)
    try:
        found = kinds_of(template.scope, template.program)
    except FieldError as error:
        return str(error)
    return ("pair: " if found.pair else "field: ") + " ".join(sorted(found.values))


@pytest.mark.parametrize(
    ("said", "change"),
    [
        ("pair: O inv out sum_ tot w", ("decode_attention_heads",)),
        ("pair: Y acc hp ya", ("gated_mlp_panels_ahead",)),
        ("field: ", ("rmsnorm_rows",)),
        ("no field has the program's max (line", ("gemm_relu_panels_ahead",)),
        (
            "exp of what depends on a result of exp: no number has both kinds (line",
            ("softmax_rows", "inv[r] = 1 / tot[r]", "inv[r] = exp(tot[r])"),
        ),
        (
            "tot is a maximum of what depends on a result of exp: its elements have no order (line",
            ("softmax_rows", "tot[r] += acc", "tot[r] max= acc"),
        ),
        (
            "no field has the program's exp (line",
            ("rmsnorm_rows", "inv[r] = rsqrt(", "inv[r] = exp("),
        ),
        (
            "no field has the program's maximum (line",
            ("rmsnorm_rows", "tot[r] += acc", "tot[r] max= acc"),
        ),
    ],
)
def test_kinds_are_inferred(said: str, change: tuple[str, ...]) -> None:
    assert _kinds(*change).startswith(said)


def test_what_has_no_kind_is_unresolved(tmp_path: Path) -> None:
    wrong = _mutant("softmax_rows", "inv[r] = 1 / tot[r]", "inv[r] = exp(tot[r])")
    found = _run("softmax_rows", wrong, tmp_path)
    assert (found.verdict, found.runs) == ("unresolved", 0)
    assert found.detail.startswith("exp of what depends on a result of exp")


def _is_prime(n: int) -> bool:
    """Miller and Rabin; these bases decide every number below 3.3 * 10^24."""
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    return all(
        pow(b, odd, n) == 1 or any(pow(b, odd << k, n) == n - 1 for k in range(twos)) for b in bases
    )


def test_the_moduli_are_prime_and_g_has_the_order_q() -> None:
    assert _is_prime(MERSENNE)
    assert _is_prime(Q)
    assert _is_prime(P)
    assert P == 2 * Q + 1 < 2**32
    assert not any(_is_prime(q) and _is_prime(2 * q + 1) for q in range(Q + 1, 2**31))
    assert [pow(G, n, P) == 1 for n in (1, Q)] == [False, True]


SMALL = Field(p=23, root=3, q=11, base=4)


def _halves(q: list[list[int]], p: list[list[int]]) -> Halves:
    return Halves(np.array(q, object), np.array(p, object))


def test_the_reference_of_softmax_by_hand() -> None:
    """exp of 0, 2, 5 is 1, 16, 12 mod 23: their sum is 6, whose inverse is 4."""
    contract = operator("softmax").contract()
    x = _halves([[0, 2, 5]], [[9, 9, 9]])
    for largest in (True, False):
        field = Field(23, 3, 11, 4, largest)
        found = field_output(contract, {"R": 1, "C": 3}, {"X": x}, field)
        assert found.q is None
        assert found.p.tolist() == [[4, 16 * 4 % 23, 12 * 4 % 23]]


def test_the_reference_of_rmsnorm_by_hand() -> None:
    """Of 2, 3 over 23: the mean of squares is 13 / 2, a root is a third power."""
    contract = operator("rmsnorm").contract()
    inputs = {
        "X": Halves(None, np.array([[2, 3]], object)),
        "g": Halves(None, np.array([5, 7], object)),
    }
    found = field_output(contract, {"T": 1, "H": 2}, inputs, Field(23, 3))
    inside = (13 * pow(2, -1, 23) + pow(1000000, -1, 23)) % 23
    scale = pow(pow(inside, 3, 23), -1, 23)
    assert found.p.tolist() == [[2 * scale * 5 % 23, 3 * scale * 7 % 23]]


def test_what_no_field_has_and_what_divides_by_0() -> None:
    one = Halves(None, np.ones((1, 1), object))
    sizes, inputs = {"M": 1, "N": 1, "K": 1}, {"A": one, "B": one}
    for name, said in (("gemm_silu", "exp"), ("gemm_relu", "maximum")):
        with pytest.raises(NotExactError, match=said):
            field_output(operator(name).contract(), sizes, inputs, Field(23, 3))
    # exp(x) + exp(y) is never 0 for two elements of an odd order; three can be.
    zero = _halves([[0, 1, 3]], [[1, 1, 1]])
    total = sum(pow(4, s, 23) for s in (0, 1, 3)) % 23
    assert total == 0
    with pytest.raises(ZeroDivisorError):
        field_output(operator("softmax").contract(), {"R": 1, "C": 3}, {"X": zero}, SMALL)


def test_an_output_that_depends_on_a_maximum_is_refused() -> None:
    """The row's maximum itself is some element here: no build can be judged by it."""
    contract = operator("gemm_relu").contract()
    with pytest.raises(NotExactError, match="depends on a maximum"):
        field_numbers(True, 1).wanted(contract, {"M": 2, "N": 2, "K": 2}, 1)


def test_causal_masks_and_computed_indices_have_a_reference() -> None:
    prefill = operator("prefill_attention").contract()
    sizes = {"H": 1, "G": 1, "T": 3, "D": 2}
    wanted = field_numbers(True, 1).wanted(prefill, sizes, 1)
    # The first token sees itself only.
    assert ((wanted.output ^ wanted.inputs[2])[0, 0, 0] % 2**32 == 0).all()
    rope = operator("rope").contract()
    x, c, s = (a.astype(object) for a in field_numbers(False, 1).wanted(rope, ROPE, 1).inputs)
    got = field_numbers(False, 1).wanted(rope, ROPE, 1).output
    turned = np.roll(x, -2, axis=2)
    assert (got == (x * c[:, None] + turned * s[:, None]) % MERSENNE).all()


ROPE = {"T": 2, "N": 1, "H": 4}
