"""What docs/walls.md says holds of wall relaxation, on random problems against every chip."""

from fractions import Fraction
from itertools import combinations, product
from math import comb, inf

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from formwright.chip.library import AreaTerm, Library, MenuField, Point, Rule
from formwright.ir.expr import Arith, Compare, Expr, Var, num
from formwright.walls.core import NONE
from formwright.walls.finite import FiniteInner, FiniteScenario, Program
from formwright.walls.moves import Ground, height
from formwright.walls.relax import run
from formwright.walls.state import Options, State

relaxed = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)

NAMES = ("a", "b", "c", "d")


@st.composite
def problems(draw: st.DrawFn, throughput: bool = False, rules: bool = False) -> FiniteInner:
    """Three or four fields of two to four values, one or two scenarios of up to six programs."""
    names = NAMES[: draw(st.integers(3, 4))]
    sizes = {n: draw(st.integers(2, 4)) for n in names}
    speed = names[-1] if throughput else None
    fields = tuple(
        MenuField(
            n, "count", tuple(range(1, sizes[n] + 1)), "both" if n == speed else "capacity", 0, "-"
        )
        for n in names
    )
    terms = [
        AreaTerm(n, Arith("*", num(draw(st.integers(0, 5))), Var(f"chip.{n}")), "-") for n in names
    ]
    terms.append(AreaTerm("ab", Arith("*", Var("chip.a"), Var("chip.b")), "-"))
    broken: list[Rule] = []
    if rules:
        sign = draw(st.sampled_from(["<=", ">="]))
        limit = draw(st.integers(2, 4))
        less = Arith("-", Var("chip.b"), Var("chip.a"))
        joint: Expr = draw(st.sampled_from([Arith("+", Var("chip.a"), Var("chip.b")), less]))
        broken.append(Rule("joint", Compare("<=", joint, num(limit))))
        if sign == ">=":
            broken.append(Rule("other", Compare("<=", Var("chip.c"), Var("chip.a"))))
    library = Library("random", "", fields, (), tuple(broken), tuple(terms), {})
    scenarios = []
    for s in range(draw(st.integers(1, 2))):
        programs = [Program("base", {}, num(draw(st.integers(60, 100))))]
        for p in range(draw(st.integers(1, 5))):
            needs = {n: draw(st.integers(1, sizes[n])) for n in names if draw(st.booleans())}
            cost: Expr = num(draw(st.integers(1, 100)))
            if speed is not None and draw(st.booleans()):
                cost = Arith("/", cost, Var(f"chip.{speed}"))
            programs.append(Program(f"p{p}", needs, cost))
        weight = Fraction(draw(st.integers(1, 3)))
        scenarios.append(FiniteScenario(f"s{s}", tuple(programs), weight, Fraction(100)))
    joined = draw(st.sampled_from(["worst", "weighted"]))
    return FiniteInner(library, tuple(scenarios), joined)  # type: ignore[arg-type]


def chips(inner: FiniteInner) -> list[Point]:
    return list(product(*(range(len(f.menu)) for f in inner.library.fields)))


def best(inner: FiniteInner, budget: Fraction | None) -> Fraction | float:
    ground = Ground(inner.library, budget)
    return min(
        (height(inner.solve(p).objective) for p in chips(inner) if ground.affordable(p)),
        default=inf,
    )


def budgets(inner: FiniteInner) -> st.SearchStrategy[Fraction | None]:
    low = inner.library.area(inner.library.start)
    high = inner.library.area(tuple(len(f.menu) - 1 for f in inner.library.fields))
    return st.none() | st.integers(int(low), int(high)).map(Fraction)


@relaxed
@given(problems(), st.data())
def test_proposition_1(inner: FiniteInner, data: st.DataObject) -> None:
    """Steps of walls gain at least nothing and at most what removing them gains; sets as well."""
    point = data.draw(st.sampled_from(chips(inner)))
    now = height(inner.solve(point).objective)
    for size in (1, 2):
        for walls in combinations(inner.walls, size):
            most = height(inner.solve(point, frozenset(walls)).objective)
            for other in chips(inner):
                if all(
                    b >= a if f.name in walls else b == a
                    for f, a, b in zip(inner.library.fields, point, other, strict=True)
                ):
                    assert most <= height(inner.solve(other).objective) <= now


@relaxed
@given(problems(throughput=True), st.data())
def test_no_chip_of_a_box_is_under_its_bound(inner: FiniteInner, data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(chips(inner))) for _ in range(2))
    box = tuple((min(a, b), max(a, b)) for a, b in zip(one, other, strict=True))
    bound = inner.lower(box)
    inside = product(*(range(low, high + 1) for low, high in box))
    assert all(bound <= height(inner.solve(p).objective) for p in inside)


def walked(inner: FiniteInner, options: Options) -> State:
    """A run, with what holds of every run."""
    state = run(inner, options, inner.library.start)
    ground = Ground(inner.library, options.budget)
    assert all(ground.affordable(v.point) for v in state.visited)
    objectives = [height(v.objective) for v in state.visited]
    assert objectives == sorted(objectives, reverse=True)
    assert height(state.objective) == objectives[-1] >= best(inner, options.budget)
    for visit in state.visited:
        assert visit.objective == inner.solve(visit.point).objective
        assert visit.area == inner.library.area(visit.point)
    keys = [(q.point, q.removed) for q in state.queries]
    assert len(set(keys)) == len(keys) == state.spent.solves
    return state


@relaxed
@given(problems(rules=True), st.data(), st.integers(1, 3))
def test_algorithm_1_keeps_its_count_and_ends_where_no_priced_step_pays(
    inner: FiniteInner, data: st.DataObject, look_ahead: int
) -> None:
    if inner.library.broken(inner.library.start):
        return
    options = Options("paper", look_ahead, rounds=6, budget=data.draw(budgets(inner)))
    state = walked(inner, options)
    n = len(inner.walls)
    assert state.spent.solves <= 1 + state.round * (2 * n + n * look_ahead + comb(n, 2))
    if state.round == options.rounds:
        return
    ground = Ground(inner.library, options.budget)
    for wall in inner.walls:
        for steps in range(1, look_ahead + 1):
            point = inner.library.stepped(state.point, wall, steps)
            if point is not None and ground.affordable(point):
                assert height(inner.solve(point).objective) >= height(state.objective)


@relaxed
@given(problems(), st.data())
def test_sets_end_at_the_best_chip_where_walls_are_capacities(
    inner: FiniteInner, data: st.DataObject
) -> None:
    options = Options("sets", budget=data.draw(budgets(inner)), patience=10_000)
    state = walked(inner, options)
    assert height(state.objective) == best(inner, options.budget)
    certificate = state.certificate
    assert certificate is not None
    assert certificate["exchange"]["closed"]
    walls = frozenset(inner.walls)
    assert Fraction(certificate["all_removed"]) == inner.solve(state.point, walls).objective


@relaxed
@given(problems(throughput=True, rules=True), st.data())
def test_a_closed_certificate_is_true_with_rules_and_a_field_that_changes_costs(
    inner: FiniteInner, data: st.DataObject
) -> None:
    if inner.library.broken(inner.library.start):
        return
    options = Options("sets", budget=data.draw(budgets(inner)), patience=10_000)
    state = walked(inner, options)
    assert state.certificate is not None
    if state.certificate["exchange"]["closed"]:
        assert height(state.objective) == best(inner, options.budget)


@relaxed
@given(problems(), st.data())
def test_the_rooms_and_corners_of_a_certificate_hold_every_chip(
    inner: FiniteInner, data: st.DataObject
) -> None:
    """Recomputed from the plain data alone: no room has a better chip, no corner a cheap one."""
    options = Options("sets", budget=data.draw(budgets(inner)), patience=10_000)
    state = walked(inner, options)
    assert state.certificate is not None
    (searched,) = state.certificate["exchange"]["searched"]
    names = [f.name for f in inner.library.fields]
    ground = Ground(inner.library, options.budget)

    def within(point: Point, room: dict[str, list[int]]) -> bool:
        return all(low <= point[names.index(n)] <= high for n, (low, high) in room.items())

    for point in chips(inner):
        if not ground.affordable(point):
            continue
        assert any(within(point, room) for room in searched["rooms"]) or not inner.walls
        assert not any(
            all(point[names.index(n)] >= place for n, place in corner["places"].items())
            for corner in searched["excluded"]
        )
    for room in searched["rooms"]:
        top = tuple(room[n][1] if n in room else 0 for n in names)
        assert height(inner.solve(top, NONE).objective) >= height(state.objective)
