"""Refinement steps in template files (``docs/refinement.md``, S1 to S13)."""

from dataclasses import replace
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.cli.main import run
from formwright.ir.evaluate import EvaluationError, cell_key, evaluate
from formwright.ir.expr import ONE, TRUE, ZERO, Cell, Compare, Logic, Not, Sum, Var, num
from formwright.ir.inline import inlined
from formwright.ir.rewrite import free_names, substitute
from formwright.ir.show import show_expr
from formwright.ir.system import Call, Index, RankTerm, Refinement
from formwright.ir.template import Template
from formwright.lang import limits, parse
from formwright.lang.comments import format_source
from formwright.lang.format import format_template
from formwright.proof.store import system_digest, template_digest

LANGUAGE = Path(__file__).parent.parent / "language"
FORMS = (LANGUAGE / "ok_step_forms.fw").read_text()
HANDSHAKE = (LANGUAGE / "ok_step_handshake.fw").read_text()


def read(text: str, *edits: tuple[str, str]) -> Template:
    for old, new in edits:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return parse(Source("t.fw", text))


def step(template: Template) -> Refinement:
    assert template.refinement is not None
    return template.refinement


def faults(text: str, *edits: tuple[str, str]) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(text, *edits)
    return [d.message for d in caught.value.diagnostics]


def test_a_step_has_no_program() -> None:
    template = read(HANDSHAKE)
    assert template.program == ()
    assert template.globals == ()
    assert (step(template).coarse.name, step(template).fine.name) == ("atomic", "issued")


def test_ranges_and_kinds_of_state() -> None:
    fine = step(read(FORMS)).fine
    assert fine.tokens[0] == Index("o", ZERO, Var("W"))
    assert fine.tokens[1] == Index("y", None, None)
    state = {v.name: v for v in fine.state}
    assert state["p"].index == Index("w", ZERO, Var("W"))
    assert (state["flight"].lo, state["flight"].hi) == (ZERO, num(2))
    assert (state["held"].sort, state["held"].lo) == ("int", None)
    assert state["done"].sort == "bool"


def test_guards_are_split_at_forall() -> None:
    actions = {a.name: a for a in step(read(FORMS)).fine.actions}
    plain, every, below = actions["pass"].guards
    assert plain.forall == ()
    assert every.forall == below.forall == (Index("u", ZERO, Var("W")),)
    assert actions["pass"].params[1] == Index("v", ONE, Var("W"))
    assert actions["complete"].environment
    assert actions["complete"].emits == (Var("y"),)
    assert actions["stop"].updates == ()


def test_updates() -> None:
    issue = step(read(FORMS)).fine.actions[0]
    assert [(u.name, u.index, u.each) for u in issue.updates] == [
        ("flight", None, None),
        ("p", Var("o"), None),
        ("n", None, "v"),
    ]


def test_matches_and_what_is_internal() -> None:
    matches = step(read(FORMS)).matches
    assert matches[0].calls == (Call("store", ()),)
    assert (matches[1].action, matches[1].calls) == ("pass", ())
    assert matches[1].when is not None


def test_terms_of_the_rank() -> None:
    rank = step(read(FORMS)).rank
    assert [len(t.over) for t in rank] == [0, 1, 2]
    one = step(read(FORMS, ("  2 - flight + sum(", "  2 - flight\n  sum("))).rank
    assert one == rank
    nested = step(read(HANDSHAKE, ("  if flight or", "  (sum(x in 0 .. 3) x) + if flight or"))).rank
    assert nested[0].over == ()
    assert "sum(x in 0 .. 3) x" in show_expr(nested[0].value)


def test_a_sum_over_an_expression_stays_one() -> None:
    template = read(HANDSHAKE, ("  if flight", "  sum(x in 3) (sum(z in 0 .. x) z)\n  if flight"))
    term = step(template).rank[0]
    assert isinstance(term.value, Sum)
    assert term == RankTerm((Index("x", ZERO, num(3)),), term.value)
    assert parse(Source("t.fw", format_template(template))) == template


def test_comments_stay_with_their_lines() -> None:
    text = HANDSHAKE.replace("# expect: ok\n", "").replace(
        "  action issue", "  # the design acts\n  action issue"
    )
    text = text.replace(
        "    done := true\n", "    when done = done  # no news\n    done := true  # seen\n"
    )
    formatted = format_source(Source("t.fw", text))
    assert "  # the design acts\n  action issue when" in formatted
    assert "    when done = done  # no news\n" in formatted
    assert "    done := true  # seen\n" in formatted
    assert format_source(Source("t.fw", formatted)) == formatted


def test_a_comparison_of_conditions_is_written_with_logic_for_readers() -> None:
    same = step(read(HANDSHAKE)).relation[0].clause.condition
    assert isinstance(same, Compare)
    closed = step(inlined(read(HANDSHAKE))).relation[0].clause.condition
    forth = Logic("=>", Var("done"), Var("coarse.written"))
    assert closed == Logic("and", forth, Logic("=>", Var("coarse.written"), Var("done")))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("flight = true", Var("flight")),
        ("flight = false", Not(Var("flight"))),
        ("true != flight", Not(Var("flight"))),
        ("flight != false", Var("flight")),
    ],
)
def test_a_comparison_with_a_truth(text: str, wanted: object) -> None:
    template = read(HANDSHAKE, ("complete when flight", f"complete when {text}"))
    assert parse(Source("t.fw", format_template(template))) == template
    assert step(inlined(template)).fine.actions[1].guards[0].condition == wanted


LETS = HANDSHAKE.replace(
    "  var done   : bool = false\n",
    "  var done   : bool = false\n"
    "  var p[w in M] : int = 0\n"
    "  let far[i] = sum(x in 0 .. 2) i + p[x]\n"
    "  let both[i, j] = far[i] + far[j]\n"
    "  let idle = not flight\n",
)


def test_definitions_are_put_in_their_places() -> None:
    template = read(LETS, ("issue when not flight", "issue when idle"))
    assert "let far[i]" in format_template(template)
    closed = step(inlined(template))
    assert closed.fine.lets == ()
    guard = closed.fine.actions[0].guards[0].condition
    assert guard == Logic("and", Not(Var("flight")), Not(Var("done")))


def test_names_of_sums_in_definitions_give_way() -> None:
    """``far[x]`` under ``forall x``: the sum of the definition must not catch ``x``."""
    clause = "once: forall x in M: both[x, x + 1] >= 0"
    closed = step(inlined(read(LETS, ("once: not (flight and done)", clause))))
    condition = closed.relation[1].clause.condition
    assert {"x", "p"} <= free_names(condition)
    values = {"x": 5, cell_key("p", [0]): 10, cell_key("p", [1]): 100}
    assert evaluate(condition.left, values) == 2 * 5 + 110 + 2 * 6 + 110  # type: ignore[union-attr]


def test_definitions_of_the_coarse_system_in_the_relation() -> None:
    text = HANDSHAKE.replace(
        "  var written : bool = false\n",
        "  var written : bool = false\n  var at[w in M] : int = 0\n  let here[i] = at[i] + y\n",
    )
    closed = step(inlined(read(text, ("once: not (flight and done)", "once: coarse.here[0] = y"))))
    assert show_expr(closed.relation[1].clause.condition) == "coarse.at[0] + y = y"


def test_definitions_of_the_template_are_put_in_their_places() -> None:
    text = HANDSHAKE.replace("\ncoarse", "\nwhere\n  KT = ceil(K/2)\n\ncoarse", 1)
    template = read(text, ("token y any\n  var flight", "token y any, q in KT\n  var flight"))
    assert show_expr(step(template).fine.tokens[1].hi or TRUE) == "KT"
    assert show_expr(step(inlined(template)).fine.tokens[1].hi or TRUE) == "ceil(K/2)"


def test_system_digest_is_that_of_the_content() -> None:
    """A chain joins steps where the fine system of one is the coarse system of the next."""
    system = step(inlined(read(HANDSHAKE))).coarse
    assert system_digest(replace(system, name="other", rank=())) == system_digest(system)
    swapped = HANDSHAKE.replace("issued", "second").replace("not written", "written = false")
    assert system_digest(step(inlined(read(swapped))).coarse) == system_digest(system)
    changed = read(HANDSHAKE, ("written := true", "written := written"))
    assert system_digest(step(inlined(changed)).coarse) != system_digest(system)
    renamed = HANDSHAKE.replace("store", "write")
    assert system_digest(step(inlined(read(renamed))).coarse) != system_digest(system)


def test_template_digest_covers_the_step() -> None:
    digests = {
        template_digest(read(HANDSHAKE, edit))
        for edit in (
            ("same:", "same:"),
            ("flight := true", "flight := not done"),
            ("complete: store", "complete when true: store"),
            ("not (flight and done)", "not flight or not done"),
            ("if flight or done", "if done or flight"),
        )
    }
    assert len(digests) == 5


def test_texts_of_the_outline_stay() -> None:
    text = HANDSHAKE.split("\nrelation\n")[0] + '\nrelation "in words"\nrank "fewer"\n'
    template = read(text)
    assert (template.outline.relation, template.outline.rank) == ("in words", "fewer")
    assert step(template).relation == ()


def test_cells_stand_in_systems_only() -> None:
    assert faults(HANDSHAKE, ("K >= 1\n", "K >= 1\n  where M[0] >= 1\n")) == [
        '"M" is not a function of expressions'
    ]
    assert faults(HANDSHAKE, ("M >= 1, N", "M >= coarse.x, N")) == [
        "an expression has no dot",
    ]


def test_a_cell_has_its_value_from_the_environment() -> None:
    cell = Cell("p", (Var("w"),))
    assert evaluate(cell, {"w": 2, "p[2]": 7}) == 7
    assert evaluate(substitute(cell, {"w": num(3)}), {"p[3]": True}) is True
    with pytest.raises(EvaluationError, match=r"no value for p\[2\]"):
        evaluate(cell, {"w": 2})


def test_a_step_that_is_too_long_is_refused() -> None:
    lines = "".join(f"  var x{i} : int = 0\n" for i in range(limits.STATEMENTS + 1))
    found = faults(HANDSHAKE, ("  var written", lines + "  var written"))
    assert found[0].startswith(f"a step has at most {limits.STATEMENTS} lines")


def test_definitions_that_grow_are_refused() -> None:
    lets = "".join(f"  let d{i}[x] = d{i - 1}[x + d{i - 1}[x]]\n" for i in range(1, 40))
    found = faults(HANDSHAKE, ("  final done\n", f"  let d0[x] = x + x\n{lets}  final done\n"))
    assert all("too large" in f or "nodes in all" in f for f in found)


def test_given_names_are_set_like_extents(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "step.fw"
    file.write_text(FORMS)
    shape = "M=4,N=4,K=4"
    base = ["solve", str(file), "--chip", "illustrative", "--set"]
    assert run([*base, shape]) == 2
    assert "no value for Tk, given to a step of handshake" in capsys.readouterr().err
    assert run([*base, f"{shape},Tk=0,share=0"]) == 2
    assert "the scope says Tk >= 1" in capsys.readouterr().err


def test_show_says_what_a_step_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "step.fw"
    file.write_text(HANDSHAKE)
    assert run(["show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "coarse system atomic: 1 state variables, 1 actions and 0 of the surroundings" in shown
    assert "fine system issued: 2 state variables, 1 actions and 1 of the surroundings" in shown
    assert run(["weakest", str(file)]) == 2
