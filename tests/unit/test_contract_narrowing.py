"""Buffers of bf16 between two sums: what ``stages = "bf16"`` allows, and each way to go beyond."""

import pytest

from formwright.base.source import Source
from formwright.contract.matching import matches
from formwright.contract.operators import operator
from formwright.lang import load, parse

SOURCE, _ = load("gated_mlp_direct")
HEAD = SOURCE.text[: SOURCE.text.index("program\n")]
REALISE = """\
realise
  a[t,f] = ga[f]
  u[t,f] = ua[f]
"""

BODY = """\
program
  par grid (t) in T:
    alloc ga[F], ua[F] scratch
    alloc h[F] scratch bf16
    alloc o[D] scratch
    ga[f] = 0
    ga[f] += X[t,d] * Wg[f,d] over (f < F, d < D)
    ua[f] = 0
    ua[f] += X[t,d] * Wu[f,d] over (f < F, d < D)
    h[f] = ga[f] / (1 + exp(-ga[f])) * ua[f]
    o[d] = 0
    o[d] += h[f] * Wd[d,f]
    Y[t,d] = o[d]

"""


def found(body: str, stages: str = "bf16") -> list[tuple[int, str, str]]:
    """Line in the program, message and hint of each difference but those of ``realise``."""
    template = parse(Source("t.fw", HEAD + body + REALISE))
    contract = operator("gated_mlp").contract(dtypes="bf16", stages=stages)
    first = HEAD.count("\n")
    said = matches(template, contract)
    return [(d.span.line - first if d.span else 0, d.message, d.hint or "") for d in said]


def changed(*edits: tuple[str, str]) -> str:
    body = BODY
    for old, new in edits:
        assert body.count(old) == 1, old
        body = body.replace(old, new)
    return body


STORE = "    h[f] = ga[f] / (1 + exp(-ga[f])) * ua[f]\n"
USE = "    o[d] += h[f] * Wd[d,f]\n"
ALLOC = "    alloc h[F] scratch bf16\n"
ANOTHER = "    alloc h[F], g[F] scratch bf16\n"

RIGHT = {
    "as it is": (),
    "a copy into another buffer": ((ALLOC, ANOTHER), (STORE, STORE + "    g[f] = h[f]\n")),
    "the copy is read": (
        (ALLOC, ANOTHER),
        (STORE, STORE + "    g[f] = h[f]\n"),
        (USE, USE.replace("h[f]", "g[f]")),
    ),
    "behind a condition": ((USE, "    o[d] += select(f < F, h[f] * Wd[d,f], 0)\n"),),
    "negated, divided by a number": ((USE, "    o[d] += -(h[f] / 2) * Wd[d,f]\n"),),
    "in two terms": ((USE, "    o[d] += h[f] * Wd[d,f] + h[f] * Wd[d,f]\n"),),
    "zeros in it first": ((STORE, "    h[f] = 0\n" + STORE),),
    "summed as it is": ((USE, "    o[d] += h[f]\n" + USE),),
}


@pytest.mark.parametrize("name", RIGHT)
def test_one_rounding_between_two_sums_is_a_match(name):
    body = changed(*RIGHT[name])
    assert found(body) == []
    (said, *others) = found(body, "f32")
    assert said[1].startswith("buffer h holds bf16: less exact than the f32 of the contract")
    assert said[2].endswith('with stages = "bf16" in the contract a value between two sums may be')
    assert others == []


WRONG = {
    "another type": (
        ((ALLOC, "    alloc h[F] scratch f16\n"),),
        (4, "h holds f16", "to nothing else"),
    ),
    "a sum in it": (
        ((STORE, "    h[f] = 0\n    h[f] += X[t,d] * Wu[f,d] over (f < F, d < D)\n"),),
        (11, "h holds bf16", "add up in f32"),
    ),
    "a maximum in it": (
        ((STORE, "    h[f] = 0\n    h[f] max= ga[f]\n"),),
        (11, "h holds bf16", "store the value with ="),
    ),
    "rounded twice": (
        ((ALLOC, ANOTHER), (STORE, STORE + "    g[f] = h[f] * ua[f]\n")),
        (11, "g holds bf16", "rounded once: h was rounded already"),
    ),
    "rounded twice through a copy": (
        (
            (ALLOC, "    alloc h[F], g[F], e[F] scratch bf16\n"),
            (STORE, STORE + "    g[f] = h[f]\n    e[f] = g[f] * ua[f]\n"),
        ),
        (12, "e holds bf16", "rounded once: g was rounded already"),
    ),
    "no sum before it": (
        ((ALLOC, ANOTHER), (USE, "    g[f] = Wd[0,f] * 2\n" + USE)),
        (12, "g holds bf16", "no sum stands before it"),
    ),
    "read in a function": (
        ((ALLOC, ANOTHER), (USE, "    g[f] = ga[f]\n    o[d] += exp(g[f]) * Wd[d,f]\n")),
        (13, "g holds bf16", "factor of a term that is summed, or copied"),
    ),
    "read below a quotient": (
        ((USE, "    o[d] += Wd[d,f] / h[f]\n"),),
        (12, "h holds bf16", "factor of a term that is summed, or copied"),
    ),
    "read outside a sum": (
        ((USE, USE + "    o[d] = h[d] * ua[d] over (d < D)\n"),),
        (13, "h holds bf16", "factor of a term that is summed, or copied"),
    ),
    "copied to a buffer of f32": (
        ((USE, USE + "    o[d] = h[d] over (d < D)\n"),),
        (13, "h holds bf16", "factor of a term that is summed, or copied"),
    ),
    "two factors": (
        ((ALLOC, ANOTHER), (USE, "    g[f] = ua[f]\n    o[d] += h[f] * g[f] * Wd[d,f]\n")),
        (13, "h holds bf16", "two are two roundings"),
    ),
    "the output is a copy": (
        (("    Y[t,d] = o[d]\n", "    Y[t,d] = h[d]\n"),),
        (13, "h holds bf16", "factor of a term that is summed, or copied"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_goes_beyond_it_is_told_at_its_place(name):
    edits, (line, words, hint) = WRONG[name]
    said = found(changed(*edits))
    assert any(
        line == at and f"buffer {words}" in message and hint in told for at, message, told in said
    ), said


def test_an_operator_without_such_a_value_does_not_hint_at_the_clause():
    source, _ = load("gemv_rows")
    text = source.text.replace(
        "alloc acc[Rr,L], tot[Rr] register", "alloc acc[Rr,L], tot[Rr] register bf16"
    )
    assert text != source.text
    (said, *_) = matches(parse(Source("t.fw", text)), operator("gemv").contract(dtypes="bf16"))
    assert said.message.startswith("buffer acc holds bf16")
    assert said.hint is not None
    assert said.hint.endswith("copies may be narrow")
