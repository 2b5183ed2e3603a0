"""The traps of core reuse, each reproduced (docs/reuse.md, rules R1 to R6)."""

from collections.abc import Sequence

import pytest
import z3

from formwright.ir.expr import Arith, Compare, Var, num
from formwright.proof import assertions as data
from formwright.proof.assertions import Any, Assertion, Not, Recorded, Row, Sort, recorded, row
from formwright.proof.database import Database
from formwright.proof.embedding import Target, embedding, shape
from formwright.proof.theorems import is_theorem
from formwright.smt.atoms import Atoms, Floor
from formwright.smt.clock import Clock
from formwright.smt.encode import truth
from formwright.smt.goals import Query
from formwright.smt.ledger import Ledger
from formwright.smt.premises import Premises
from formwright.smt.solve import Solver
from formwright.smt.terms import ONE, ZERO, Formula, conj, constant, eq, le, lt, negated, symbol
from formwright.smt.tracked import Tracked

X, Y, Z = (symbol(n) for n in "xyz")
FREE = Premises((), (), {}, frozenset())


def core(*rows: tuple[data.Role, data.Statement], sorts: dict[str, Sort] | None = None) -> Recorded:
    kept = [Assertion(role, statement) for role, statement in rows]
    used = {s for a in kept for s in data.symbols(a.statement)}
    return recorded({s: (sorts or {}).get(s, "Int") for s in used}, kept)


def target(*statements: data.Statement, sorts: dict[str, Sort] | None = None) -> Target:
    used = {s for p in statements for s in data.symbols(p)}
    named: dict[str, Sort] = {s: (sorts or {}).get(s, "Int") for s in used}
    return Target(named, [(s, shape(s)) for s in statements])


def above(name: str, bound: int = 0) -> Row:
    return row("<", [(name, -1)], -bound)


def below(name: str, bound: int = 0) -> Row:
    return row("<", [(name, 1)], bound)


def solver(ledger: Ledger | None, rules: Premises = FREE, atoms: Atoms | None = None) -> Solver:
    known = atoms or (Atoms() if ledger is None else ledger.atoms)
    return Solver(known, rules, Clock(3000), None, ledger)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(Database(None, "test"), Atoms())


def test_one_renaming_carries_the_whole_core() -> None:
    kept = core(("goal", above("x")), ("fact", below("x")))
    assert embedding(kept, target(above("u"), below("u"), below("v"))) == {"x": "u"}


def test_renaming_each_assertion_by_itself_is_no_match() -> None:
    kept = core(("goal", above("x")), ("fact", below("x")))
    assert embedding(kept, target(above("x"), below("y"))) is None


def test_int_and_real_are_different(ledger: Ledger) -> None:
    between = core(
        ("goal", row("<", [("x", -2)], -1)),
        ("fact", row("<", [("x", 2)], 3)),
        ("fact", Not(row("=", [("x", 1)], 1))),
    )
    same = [a.statement for a in between.assertions]
    assert embedding(between, target(*same)) is not None
    assert embedding(between, target(*same, sorts={"x": "Real"})) is None
    # and the solver agrees that the difference is one
    facts: tuple[Formula, ...] = (lt(constant(1), X.scaled(2)), lt(X.scaled(2), constant(3)))
    query = Query(facts, negated(eq(X, ONE)))
    assert solver(ledger).answer(query).status == "unsat"
    other = Ledger(ledger.database, Atoms())
    other.atoms.real.add("x")
    assert solver(other).answer(query).status == "sat"


def test_definitions_are_part_of_the_core(ledger: Ledger) -> None:
    atoms = ledger.atoms
    half = atoms.make(Floor(X, constant(2)))
    query = Query((le(constant(2), X),), lt(half, ONE))
    ledger.begin()
    assert solver(ledger).answer(query).status == "unsat"
    (body,) = [row for _, row in ledger.database.every("core")]
    roles = {role for role, _ in body["query"]["assertions"]}
    assert "definition" in roles
    # the same shapes about a quotient that is defined otherwise are no match
    again = Ledger(ledger.database, Atoms())
    third = again.atoms.make(Floor(X, constant(3)))
    assert solver(again).answer(Query((le(constant(2), X),), lt(third, ONE))).status == "sat"


def test_a_definition_with_a_divisor_below_one_shows_nothing(ledger: Ledger) -> None:
    nothing = ledger.atoms.make(Floor(X, Y))
    query = Query((eq(Y, ZERO),), lt(nothing * Y, X))
    assert solver(ledger).answer(query).status != "unsat"


def test_contradictory_premises_leave_no_core(ledger: Ledger) -> None:
    rules = Premises((lt(X, ZERO), lt(ZERO, X)), (), {}, frozenset())
    assert solver(ledger, rules).answer(Query((), lt(Y, ZERO))).status == "unsat"
    assert not list(ledger.database.every("core"))
    assert not ledger.used


def test_the_core_without_the_goal_is_not_kept(ledger: Ledger) -> None:
    assert not ledger.keep([("premise", lt(X, ZERO)), ("premise", lt(ZERO, X))], "linear")


def test_a_core_is_solved_again_alone_before_it_is_kept(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("formwright.smt.solve.alone", lambda *_: None)
    assert solver(ledger).answer(Query((lt(X, ZERO),), lt(ZERO, X))).status == "unsat"
    assert not list(ledger.database.every("core"))


def test_division_floors_as_evaluate_does(ledger: Ledger) -> None:
    """-7 // 2 is -4 in both; SMT-LIB's div by a negative number is never used."""
    quotient = Compare("=", Arith("//", Var("x"), num(2)), num(-4))
    facts = (truth(quotient, {}, ledger.atoms), eq(X, constant(-7)))
    assert solver(ledger).answer(Query((), conj(facts))).status == "sat"
    wrong = truth(Compare("=", Arith("//", Var("x"), num(2)), num(-3)), {}, ledger.atoms)
    assert solver(ledger).answer(Query((eq(X, constant(-7)),), wrong)).status == "unsat"


def test_names_in_a_core_are_those_of_the_query(ledger: Ledger) -> None:
    """No name is the solver's own: lifting would invent some."""
    atoms = ledger.atoms
    least = atoms.make(Floor(X * Y, Z))
    query = Query((le(ONE, Z), le(ZERO, X * Y)), lt(least, ZERO))
    assert solver(ledger).answer(query).status == "unsat"
    (body,) = [row for _, row in ledger.database.every("core")]
    assert set(body["query"]["sorts"]) <= {"x", "y", "z", *atoms.by_name}


def test_a_renamed_query_is_answered_by_the_core_alone(ledger: Ledger) -> None:
    asked = solver(ledger)
    assert asked.answer(Query((lt(X, Y), lt(Y, Z)), lt(Z, X))).status == "unsat"
    again = Ledger(ledger.database, Atoms())
    u, v, w = (symbol(n) for n in ("u", "v", "w"))
    renamed = Query((lt(v, w), lt(u, v), lt(ZERO, u)), lt(w, u))
    clock = Clock(3000)
    assert Solver(again.atoms, FREE, clock, None, again).answer(renamed).status == "unsat"
    assert (clock.asked, again.recalled) == (0, 1)


def test_lemmas_are_theorems_whatever_the_premises_say(ledger: Ledger) -> None:
    """A core that uses s >= 1 has it as a premise: without it nothing is reused."""
    s, a, b = (symbol(n) for n in ("s", "a", "b"))
    rules = Premises((le(ONE, s),), (), {}, frozenset({"s"}))
    query = Query((lt(a, b),), lt(s * b, s * a))
    assert solver(ledger, rules).answer(query).status == "unsat"
    (body,) = [row for _, row in ledger.database.every("core")]
    assert any(role == "premise" for role, _ in body["query"]["assertions"])
    other = Ledger(ledger.database, Atoms())
    assert solver(other).answer(query).status == "sat"


@pytest.mark.parametrize(
    ("clause", "holds"),
    [
        (Any((below("s", 1), below("d", 1), row("<=", [("s", 1), ("d*s", -1)], 0))), True),
        (Any((below("d", 1), row("<=", [("s", 1), ("d*s", -1)], 0))), False),
        (Any((below("s", 1), below("d", 1), row("<=", [("s", 2), ("d*s", -1)], 0))), False),
        (Any((Not(row("=", [("d", 1)], 0)), row("=", [("d*s", 1)], 0))), True),
        (Any((Not(row("=", [("d", 1)], 1)), row("=", [("d*s", 1)], 0))), False),
        (Any((Not(row("=", [("s", 1)], 3)), row("=", [("s*x", 1), ("x", -3)], 0))), True),
        (Any((Not(row("=", [("s", 1)], 3)), row("=", [("s*x", 1), ("x", -2)], 0))), False),
        (Any((below("a", 1), below("b", 1), row("<=", [("a*b", -1)], -1))), True),
        (Any((below("a", 1), row("<=", [("a*b", -1)], -1))), False),
    ],
)
def test_theorems_are_recognised_by_computing_them(clause: Any, holds: bool) -> None:
    assert is_theorem(clause) is holds


def test_the_key_carries_rules_and_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    from formwright.proof import kept

    here = kept.context()
    monkeypatch.setattr(kept, "solver_version", lambda: "z3 0.0.0")
    other = kept.context()
    monkeypatch.setattr(kept, "semantics_digest", lambda: "another meaning")
    assert len({here, other, kept.context()}) == 3


def test_a_tighter_bound_or_menu_stands_for_the_wider_one() -> None:
    wide = core(("goal", above("x", 9)), ("bound", row("<=", [("x", 1)], 8)))
    assert embedding(wide, target(above("x", 9), row("<=", [("x", 1)], 5))) is not None
    assert embedding(wide, target(above("x", 9), row("<=", [("x", 1)], 10))) is None
    menu = Any(tuple(row("=", [("x", 1)], v) for v in (1, 2, 3)))
    chosen = core(("goal", above("x", 9)), ("menu", menu))
    fewer = Any(tuple(row("=", [("x", 1)], v) for v in (1, 3)))
    more = Any(tuple(row("=", [("x", 1)], v) for v in (1, 2, 3, 4)))
    assert embedding(chosen, target(above("x", 9), fewer)) is not None
    assert embedding(chosen, target(above("x", 9), more)) is None


def test_what_needs_the_menus_is_asked_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its core comes from the question itself; it is not asked again without literals."""
    rules = Premises((), (), {"s": (2, 4)}, frozenset({"s"}))
    query = Query((eq(symbol("s"), X),), eq(X, constant(3)))
    assert solver(None, rules).answer(query).status == "unsat"
    asked = solver(ledger, rules)
    monkeypatch.setattr(asked, "left", None)
    assert asked.answer(query).status == "unsat"
    (body,) = [row for _, row in ledger.database.every("core")]
    assert "menu" in {role for role, _ in body["query"]["assertions"]}
    # fewer values are a smaller menu: the core is part of the query; others are not
    clock = Clock(3000)
    fewer = Premises((), (), {"s": (4,)}, frozenset({"s"}))
    assert Solver(ledger.atoms, fewer, clock, None, ledger).answer(query).status == "unsat"
    odd = Premises((), (), {"s": (2, 3, 4)}, frozenset({"s"}))
    assert solver(ledger, odd).answer(query).status == "sat"


def test_a_hurried_question_is_asked_again_with_all_of_its_time() -> None:
    clock = Clock(3000)
    with clock.hurried(10):
        assert clock.call_ms == 10
        with clock.hurried(5000):
            assert clock.call_ms == 10
    assert clock.call_ms == 3000


def test_what_was_left_open_in_a_hurry_is_asked_again_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only a question that had a solution is not asked again: lemmas alone may decide at ease
    what takes too long with the menus."""
    rules = Premises((), (), {"s": (2, 4)}, frozenset({"s"}))
    query = Query((eq(symbol("s"), X),), eq(X, constant(3)))

    def asked(first: z3.CheckSatResult) -> int:
        """Questions of what is left, where the first with literals had that answer."""
        mine = solver(Ledger(Database(None, "test"), Atoms()), rules)
        answers, count = [first, z3.sat], 0
        check = Clock.check

        def noted(clock: Clock, told: object, more: Sequence[object] = ()) -> z3.CheckSatResult:
            nonlocal count
            count += 1
            return check(clock, told, more)

        with monkeypatch.context() as patch:
            patch.setattr(Tracked, "check", lambda _: answers.pop(0) if answers else z3.unknown)
            assert not mine.excluded(query)
            patch.setattr(Clock, "check", noted)
            assert mine.left(query).status == "unsat"
        return count

    assert asked(z3.unknown) == asked(z3.sat) + 2
