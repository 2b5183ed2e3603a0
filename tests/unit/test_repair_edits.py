"""What the edits of a template are, and the runs that screen them."""

import pytest

from formwright.agent.protocol import Finding
from formwright.agent.repair.conditions import linear_conditions, with_condition
from formwright.agent.repair.designs import Designs
from formwright.agent.repair.donors import without
from formwright.agent.repair.edits import told
from formwright.agent.repair.expressions import Words, neighbours, plus
from formwright.agent.repair.ranking import Hints, edits, hints_of, ranked
from formwright.agent.repair.screen import Screen
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.evaluate import evaluate
from formwright.ir.show import show_expr
from formwright.ir.template import Template
from formwright.lang import load, parse, parse_expression
from formwright.lang.format import format_template

TILING = load("shared_memory_tiling")[0].text
SOFTMAX = load("softmax_rows")[0].text


def altered(text: str, old: str, new: str) -> Template:
    assert old in text
    return parse(Source("altered.fw", text.replace(old, new)))


def reaches(template: Template, wanted: str) -> bool:
    """Whether one edit gives the text ``wanted``."""
    goal = parse(Source("wanted.fw", wanted))

    def key(t: Template) -> tuple[object, ...]:
        return t.program, t.constraints, t.requires, t.definitions, t.realised

    return any(key(edit.template) == key(goal) for edit in edits(template))


SLIPS = [
    (SOFTMAX, "inv[r] = 1 / tot[r]", "inv[q] = 1 / tot[r]"),
    (SOFTMAX, "m[i*Rr+r] = top[r]", "m[i*L+r] = top[r]"),
    (TILING, "        barrier\n        acc", "        acc"),
    (TILING, "A[i*Tm+r, u*Tk+k]", "A[i*Tm+k, u*Tk+k]"),
    (TILING, "sA<p+P>[r,k] = A", "sA<p>[r,k] = A"),
    (TILING, "for p in 0 .. KT", "for p in 1 .. KT"),
    (TILING, "C[i*Tm+r, j*Tn+s] = acc[r,s] clip", "C[i*Tm+r, j*Tn+s] = acc[r,s]"),
    (SOFTMAX, "tot[r] = 0\n", "tot[r] = 1\n"),
    (SOFTMAX, "big[r,l] max= X", "big[r,l] += X"),
]


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [pytest.param(*s, marks=pytest.mark.slow) if n > 2 else s for n, s in enumerate(SLIPS)],
)
def test_one_edit_undoes_a_slip(text: str, old: str, new: str) -> None:
    assert reaches(altered(text, old, new), text)


def test_edits_leave_the_scope_and_the_cost_alone() -> None:
    template = altered(SOFTMAX, "q*L+l", "q*L")
    for edit in edits(template):
        assert edit.template.scope is template.scope
        assert edit.template.cost is template.cost


def test_most_edits_are_texts_of_the_language() -> None:
    template = load("gemv_rows")[1]
    several = list(edits(template))
    assert len(several) > 500
    seen = several[::97]
    assert 2 * sum(is_text(edit.template) for edit in seen) > len(seen)


def is_text(template: Template) -> bool:
    """Whether its text is one of the language, and its own."""
    try:
        return parse(Source("edited.fw", format_template(template))) == template
    except InputError:
        return False


def test_edits_at_lines_that_were_named_come_first() -> None:
    finding = Finding("prove", "coverage Y at line 53: a term", "coverage", "X at line 7")
    hints = hints_of([finding])
    assert hints == Hints(frozenset({"coverage"}), frozenset({7, 53}))
    template = load("softmax_rows")[1]
    *_, line = (e.lines for e in edits(template) if e.family == "index" and e.lines)
    firsts = []
    for lines in ((), line):
        several = ranked(template, Hints(frozenset({"coverage"}), frozenset(lines)))
        firsts.append(next(e.lines for e in several if e.lines))
    assert firsts[0] != line
    assert firsts[1] == line


@pytest.mark.slow
def test_what_is_refuted_says_which_edits_come_first() -> None:
    template = load("shared_memory_tiling")[1]
    assert ranked(template, Hints(frozenset({"lifetime"}), frozenset()))[0].family == "order"
    assert ranked(template, Hints(frozenset({"implied"}), frozenset()))[0].family == "conditions"


def test_neighbours_of_an_expression() -> None:
    words = Words((("i", "j"), ("r",), ("T", "U")), ("T", "U"))
    shown = {show_expr(e) for e, _ in neighbours(parse_expression("i*T + r"), words)}
    assert {"j*T + r", "i*U + r", "r", "i*T", "i*T - r", "i*T + r + 1", "i*T + r - 1"} <= shown
    assert show_expr(plus(parse_expression("x + 1"), -1)) == "x"
    rest = without(parse_expression("b*B + i*T + r"), "r")
    assert rest is not None
    assert show_expr(rest) == "b*B + i*T"


def test_linear_conditions_are_different_and_the_weakest_come_first() -> None:
    menus = {"P": (0, 1, 2), "S": (1, 2, 3), "beta": (0, 1)}
    found = [c for c, _ in linear_conditions(menus)]
    assert "P + 2 <= S + beta" in {show_expr(c) for c in found}
    points = [
        {"P": p, "S": s, "beta": b} for p in menus["P"] for s in menus["S"] for b in menus["beta"]
    ]
    rates = [sum(evaluate(c, v) is True for v in points) for c in found]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.slow
def test_the_screen_refutes_what_is_wrong_and_passes_what_is_right() -> None:
    wrong = altered(SOFTMAX, "top[r] max= big[r,l]\n", "\n")
    screen = Screen(wrong, 4.0)
    assert screen.failing
    assert screen.judge(wrong) > 0
    right = load("softmax_rows")[1]
    assert screen.judge(right) == 0
    assert not screen.doubt(right)


@pytest.mark.slow
def test_a_lost_barrier_shows_under_some_schedule() -> None:
    wrong = altered(TILING, "        barrier\n        acc", "        acc")
    screen = Screen(wrong, 4.0)
    right = load("shared_memory_tiling")[1]
    assert screen.failing
    assert screen.judge(wrong) > 0
    assert screen.judge(right) == 0
    assert not screen.doubt(right)


def test_a_candidate_that_no_trial_may_run_is_not_passed() -> None:
    right = load("shared_memory_tiling")[1]
    screen = Screen(right, 2.0)
    never = with_condition(right, parse_expression("P >= 100"))
    assert screen.judge(right) == 0
    assert screen.judge(never) > 0


def test_designs_speak_against_conditions() -> None:
    right = load("shared_memory_tiling")[1]
    assert not Designs(right).doubts(right)
    weak = altered(TILING, "C3                   : P <= S - 2 + beta", "C3 : P <= S")
    assert Designs(weak).doubts(weak)  # a design that lacks the requirement
    assert not Designs(weak).doubts(right)
    empty = altered(TILING, "Tm*Tn >= 256", "Tm*Tn < 16")
    assert Designs(empty).doubts(empty)  # no design at all


def test_changes_are_told_by_lines() -> None:
    assert told("a\nb\nc\n", "a\nx\nc\n") == "line 2: b -> x"
    assert told("a\nb\n", "a\n") == "line 2: without b"
    assert told("a\n", "b\na\n") == "before line 1: b"
