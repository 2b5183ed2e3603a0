"""The section ``structures``: nine forms, their faults, and that no digest has them."""

from dataclasses import replace

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.structures import TITLES, title_of
from formwright.ir.template import Template
from formwright.lang import load, parse
from formwright.lang.comments import format_source
from formwright.lang.format import format_template
from formwright.lang.limits import STRUCTURE_PARTS, STRUCTURES
from formwright.lang.structures import FORMS, structure_text
from formwright.proof.store import template_digest

SOURCE, TILING = load("shared_memory_tiling")
BARE = SOURCE.text.split("\nstructures\n")[0].rstrip() + "\n\nstructures\n"
LINES = (
    "rank by max(T_comp, T_mem) when M*N >= 4",
    "knee of P",
    "bound over S, P, beta",
    "split S, P at Tk",
    "split beta",
    "scenarios M share Tm, Tn",
    "scenarios M, N",
    "coarse S",
    "order Tm <= Tn when M = N",
    "menu P by P = 0, KT",
    "menu S",
    "drop by T_comp, if P = 0 then T_mem else 0",
)


def declaring(*lines: str) -> Template:
    return parse(Source("t.fw", BARE + "".join(f"  {line}\n" for line in lines)))


def test_every_form_is_read_and_written_as_it_stands() -> None:
    made = declaring(*LINES)
    assert [structure_text(s) for s in made.structures] == list(LINES)
    assert parse(Source("t.fw", format_template(made))) == made
    assert {title_of(s) for s in made.structures} == set(TITLES.values())
    assert len(FORMS) == len(TITLES)


def test_two_stand_on_one_line_and_comments_stay() -> None:
    text = BARE + "  # why\n  knee of P; menu S  # both\n"
    found = format_source(Source("t.fw", text))
    assert found.endswith("structures\n  # why\n  knee of P\n  menu S  # both\n")


def test_digests_do_without_structures() -> None:
    made, bare = declaring(*LINES), replace(TILING, structures=())
    assert template_digest(made) == template_digest(bare) == template_digest(TILING)
    assert made != bare


@pytest.mark.parametrize(
    ("line", "told", "hint"),
    [
        ("rank T_mem", '"by" is missing behind "rank"', "write rank by EXPRESSION"),
        ("rank by Q", 'the name "Q" is unknown', ""),
        ("rank by T_mem when Tm = 1", "the condition of a structure reads Tm", "over the scope"),
        ("rank by T_mem when gm = 1", "the condition of a structure reads gm", "over the scope"),
        ("rank by T_mem if M = 1", '"if" is left over', ""),
        ("rank by P = 0", "a number is needed here, not a condition", ""),
        ("knee P", '"of" is missing', "write knee of DECISION"),
        ("knee of M", 'the decision "M" is unknown', ""),
        ("knee of Tmm", 'the decision "Tmm" is unknown', "Tm"),
        ("bound over", "a decision is missing", ""),
        ("order Tm < Tn", '"<=" is missing', "write order DECISION <= DECISION"),
        ("order Tm <= Tm", '"Tm" stands twice', "name it once"),
        ("scenarios Tm", 'the extent "Tm" is unknown', ""),
        ("scenarios M share N", 'the decision "N" is unknown', ""),
        ("menu P by", "an expression is missing", ""),
        ("drop by sA[0,0]", "", ""),
        ("start at P", '"start" begins no structure', "rank by EXPRESSION"),
    ],
)
def test_a_fault_points_and_says_what_to_write(line: str, told: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        declaring("knee of P", line)
    first = caught.value.diagnostics[0]
    assert told in first.message
    assert hint in (first.hint or "")
    assert first.span is not None
    assert first.span.line == BARE.count("\n") + 2


def test_structures_are_few_and_short() -> None:
    with pytest.raises(InputError, match=f"at most {STRUCTURES} structures"):
        declaring(*["knee of P"] * (STRUCTURES + 1))
    with pytest.raises(InputError, match=f"at most {STRUCTURE_PARTS} things"):
        declaring("drop by " + ", ".join(["T_mem"] * (STRUCTURE_PARTS + 1)))
