"""Stages of a workload in the text: rules L6a to L6c, L7a, L13a, with every fault's place."""

from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.digest import canonical, digest
from formwright.base.source import Source
from formwright.ir.template import Tensor
from formwright.ir.types import ElementTypeError, size_values, with_dtypes
from formwright.lang.format import format_template
from formwright.lang.formulas import read_formula
from formwright.lang.parser import parse

TEXT = (Path(__file__).parents[1] / "stages" / "softmax.fw").read_text()

FAULTS: dict[str, tuple[tuple[tuple[str, str], ...], str, str]] = {
    "circle": (
        (
            (" exp(X[R,c] - m[R])\n", " exp(X[R,c] - m[R])\n  stage q[R] = z[R]\n"),
            ("X[R,c]\n", "q[R]\n"),
        ),
        "stages go round in a circle: m -> q -> z -> m",
        "before it",
    ),
    "not read": (
        (("sum(c < C) exp(X[R,c] - m[R])", "sum(c < C) X[R,c]"), ("exp(X[R,C] - m[R])", "X[R,C]")),
        'the stage "m" is read by no line',
        "leave it out",
    ),
    "indices of a read": ((("m[R]) / z", "m[R,C]) / z"),), '"m" has 1 index, not 2', ""),
    "extents of a read": ((("m[R]) / z", "m[C]) / z"),), '"m" has the extents [R] before', ""),
    "twice": (
        (("stage     z[R]", "stage     m[R]"),),
        '"m" stands on the left-hand side twice',
        "",
    ),
    "itself": ((("max(c < C) X[R,c]", "max(c < C) m[R]"),), "the stage stands on the right", ""),
    "reads the output": ((("C) X[R,c]", "C) Y[R,c]"),), "a stage does not read the output", ""),
    "not kept": ((("  z[i*Rr+r] = tot[r]\n", ""),), 'no buffer keeps the stage "z"', "realise"),
    "kept twice": (
        (("z[i*Rr+r] = tot[r]", "m[i*Rr+r] = tot[r]"),),
        'the stage "m" is kept twice',
        "copy it",
    ),
    "no such stage": ((("m[i*Rr+r] =", "mm[i*Rr+r] ="),), 'the stage "mm" is unknown', "m"),
    "no such buffer": (
        (("= tot[r]\n\n", "= totl[r]\n\n"),),
        '"totl" is allocated nowhere',
        "alloc",
    ),
    "an input keeps it": ((("= top[r]\n", "= X[r]\n"),), '"X" is a tensor, not a buffer', "alloc"),
    "two stages in one buffer": ((("= tot[r]\n\n", "= top[r]\n\n"),), '"top" keeps a stage', ""),
    "indices of the stage": ((("m[i*Rr+r] =", "m[i*Rr+r, 0] ="),), '"m" has 1 index, not 2', ""),
    "indices of the buffer": ((("= top[r]\n", "= top[r,s]\n"),), '"top" has 1 index, not 2', ""),
    "no name": ((("= top[r]\n", "= top[0]\n"),), "an index of the buffer is a new name", "new"),
    "taken": ((("m[i*Rr+r] = top[r]", "m[i*Rr+L] = top[L]"),), '"L" is already a decision', ""),
    "not in sight": ((("m[i*Rr+r] =", "m[q*Rr+r] ="),), 'the name "q" is unknown', ""),
    "a ring": (
        (("top[Rr] register", "top[Rr] ring 2 register"), ("top[r]", "top<0>[r]")),
        '"top" is a ring: it keeps no stage',
        "allocate it",
    ),
    "element type": (
        (("X f32 | bf16", "X f32 | float"),),
        'an element type is missing behind "|"',
        "",
    ),
    "type twice": ((("X f32 | bf16", "X f32 | f32"),), '"f32" stands twice', ""),
    "size of nothing": ((("bytes.X", "bytes.Q"),), 'the name "bytes.Q" is unknown', "bytes."),
    "size in the program": (
        (("ceil(C/L):", "ceil(C/bytes.X):"),),
        "the size of an element",
        "decision",
    ),
    "reads a stage": (
        (("exp(X[i*Rr+r, q*L+l] - top[r]) over", "m[r] over"),),
        '"m" is a stage',
        "realise",
    ),
    "a stage as an index": (
        (("Y[i*Rr+r, q*L+l] = exp(X[i*Rr+r, q*L+l]", "Y[i*Rr+r, q*L+m] = exp(X[i*Rr+r, q*L+m]"),),
        '"m" is a stage: a number is needed here',
        "",
    ),
    "extent not given": (
        (("max(c < C) X[R,c]", "max(c < C) Q[R, c+0]"),),
        'index 2 of "Q" is not given',
        "read",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_points_and_says_what_to_do(name: str) -> None:
    edits, message, hint = FAULTS[name]
    text = TEXT
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    with pytest.raises(InputError) as caught:
        parse(Source("t.fw", text))
    found = [d for d in caught.value.diagnostics if message in d.message]
    assert found, str(caught.value)
    assert found[0].span is not None
    assert hint in (found[0].hint or "")


def test_stages_are_read_back_as_they_are_written() -> None:
    template = parse(Source("t.fw", TEXT))
    assert [s.combine for s in template.scope.stages] == ["max", "sum"]
    text = format_template(template)
    assert parse(Source("t.fw", text)) == template
    assert format_template(parse(Source("t.fw", text))) == text
    assert text == TEXT


def test_inputs_stand_in_the_order_in_which_lines_need_them() -> None:
    text = TEXT.replace("Y[R,C] = exp(X[R,C] - m[R])", "Y[R,C] = g[C] * exp(X[R,C] - m[R])")
    assert [t.name for t in parse(Source("t", text)).scope.workload.inputs] == ["g", "X"]
    text = TEXT.replace("exp(X[R,C] - m[R]) / z[R]", "exp(X[R,C] - m[R]) / z[R] * g[C]")
    text = text.replace("stage     m[R] = max(c < C) X[R,c]", "stage m[R] = max(c < C) b[c]")
    assert [t.name for t in parse(Source("t", text)).scope.workload.inputs] == ["X", "b", "g"]


def test_an_index_of_a_stage_may_have_a_name_of_its_own() -> None:
    text = TEXT.replace(
        "stage     z[R] = sum(c < C) exp(X[R,c] - m[R])",
        "stage     z[R] = sum(c < R) p[R,c]\n  stage     p[R, u < R] = X[R,R] * X[u,R]",
    ).replace("extents   R >= 1, C >= 1", "extents   R >= 1, C >= 1")
    text = text.replace("X[R,R] * X[u,R]", "select(u <= r, exp(m[R]) * m[u], 0)")
    text = text.replace("realise\n", "realise\n  p[i*Rr+r, u] = inv[r]\n")
    with pytest.raises(InputError) as caught:
        parse(Source("t", text))
    assert "u" in str(caught.value)  # no such name at the alloc of inv: the rest is understood
    assert len(caught.value.diagnostics) == 1


def test_element_types_are_picked_and_give_sizes() -> None:
    template = parse(Source("t.fw", TEXT))
    assert size_values(template) == {"bytes.X": 4}
    chosen = with_dtypes(template, {"X": "bf16"})
    assert size_values(chosen) == {"bytes.X": 2}
    assert {b.name: b.dtype for b in chosen.globals} == {"X": "bf16", "Y": "f32"}
    assert chosen.scope.workload.inputs[0].also == ("f32",)
    for name, dtype in (("X", "i8"), ("Q", "f32")):
        with pytest.raises(ElementTypeError):
            with_dtypes(template, {name: dtype})


def test_what_does_without_a_later_field_keeps_its_digest() -> None:
    plain, also = Tensor("A", ("M",)), Tensor("A", ("M",), "f32", ("bf16",))
    assert canonical(plain) == {"node": "Tensor", "name": "A", "extents": ["M"], "dtype": "f32"}
    assert digest(plain) != digest(also)


def test_a_formula_is_read_by_itself() -> None:
    lines = (
        "Y[R,C] = exp(X[R,C] - m[R]) / z[R]",
        "m[R] = max(c < C) X[R,c]",
        "z[R] = sum(c < C) exp(X[R,c] - m[R])",
    )
    template = parse(Source("t.fw", TEXT.replace("  dtypes    X f32 | bf16, Y f32 | bf16\n", "")))
    assert read_formula(lines) == (template.scope.workload, template.scope.stages)
    with pytest.raises(InputError):
        read_formula((*lines, "q[R] = X[R,R]"))
