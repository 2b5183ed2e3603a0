"""What the menus divide is known without a constraint that says so."""

import pytest

from formwright.base.source import Source
from formwright.ir.expr import Arith, Compare, Var, num
from formwright.ir.inline import inlined
from formwright.ir.template import Template
from formwright.lang import load_source
from formwright.lang.parser import parse
from formwright.smt import prove
from formwright.smt.atoms import Atoms
from formwright.smt.divides import divisibilities
from formwright.smt.encode import truth
from formwright.smt.premises import premises, schedule_conditions

PACKED = load_source("packed_gemm").text


def edited(*changes: tuple[str, str]) -> Template:
    text = PACKED
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return inlined(parse(Source("edited", text)))


def constraint(name: str) -> tuple[str, str]:
    """The row of a constraint, to be left out."""
    (row,) = [r for r in PACKED.splitlines(keepends=True) if r.strip().startswith(f"{name} ")]
    return row, ""


def menu(name: str, values: str) -> tuple[str, str]:
    (row,) = [r for r in PACKED.splitlines(keepends=True) if r.startswith(f"  {name} in ")]
    return row, f"  {name} in {values}\n"


def divides(a: str, b: str) -> Compare:
    return Compare("=", Arith("mod", Var(a), Var(b)), num(0))


@pytest.mark.parametrize(
    ("rows", "columns", "known"),
    [
        ("{1, 2, 4, 8}", "{48, 96}", True),
        ("{1, 2, 4, 5}", "{48, 96}", False),
        ("{1, 2, 4, 8}", "{48, 100}", False),
    ],
)
def test_every_pair_of_the_menus_counts(rows: str, columns: str, known: bool) -> None:
    template = edited(menu("Mr", rows), menu("Mc", columns))
    menus = {d.name: d.menu for d in template.decisions}
    assert (divides("Mc", "Mr") in divisibilities(template, menus)) is known
    wider = {**menus, "Mr": (*menus["Mr"], 5)}
    assert divides("Mc", "Mr") not in divisibilities(template, wider)


def test_what_is_divided_nowhere_is_left_alone() -> None:
    template = edited(menu("Mr", "{1, 2}"), menu("Kc", "{64, 128}"))
    menus = {d.name: d.menu for d in template.decisions}
    assert divides("Kc", "Mr") not in divisibilities(template, menus)


def test_it_is_the_very_premise_that_a_constraint_would_be() -> None:
    """So a proof that used the constraint stands when the text leaves it out."""
    changes = (menu("Mr", "{1, 2, 4, 8}"), menu("Mc", "{48, 96}"))
    atoms = Atoms()
    stated, silent = edited(*changes), edited(*changes, constraint("R1"))
    both = [set(premises(t, schedule_conditions(t), atoms).conditions) for t in (stated, silent)]
    assert truth(divides("Mc", "Mr"), {}, atoms) in both[0]
    assert both[0] == both[1]


@pytest.mark.slow
def test_panels_that_the_menus_divide_need_no_constraint() -> None:
    silent = edited(menu("Mr", "{1, 2, 4, 8}"), menu("Mc", "{48, 96}"), constraint("R1"))
    proof = prove(silent, only=lambda word: word == "single")
    assert proof.verdict == "proved"
