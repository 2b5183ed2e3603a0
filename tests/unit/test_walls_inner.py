"""The inner problem over templates: faults by name, limits, what is remembered, slices."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.chip.library import Derived, Library, MenuField, Point, Role
from formwright.ir.expr import Arith, Var
from formwright.ir.template import Template
from formwright.lang import load, parse
from formwright.walls.inner import Store, TemplateInner, build_inner
from formwright.walls.problem import CodesignProblem, Kernel, Limits, Objective, ScenarioSpec

TEXT = """\
template tile : operator -> mapping

scope
  workload C[M] = A[M]
  extents  M >= 1
  chip     room >= 1, lanes >= 1, group >= 1

decisions
  T in {1, 2, 4, 8, 16}
  U in {1, 2, 4}

constraints
  C1 wall room  : T*U <= chip.room
  C2 wall group : U <= chip.group
  C3            : T*U <= 32

formulation "a test"

cost time cycles
  coefficient pace = 1
  time >= pace*ceil(M/T)*ceil(8/(U*chip.lanes))
  time >= M/4
  energy picojoules = M*U + T*chip.room
  prefer T*U
"""


def library() -> Library:
    def field(name: str, role: Role, menu: tuple[int, ...]) -> MenuField:
        return MenuField(name, "count", menu, role, 0, "of this test")

    return Library(
        name="toy",
        description="",
        fields=(
            field("lanes", "throughput", (1, 2, 4)),
            field("room", "both", (1, 2, 4, 8, 16, 32)),
            field("agents", "capacity", (1, 2)),
            field("each", "capacity", (1, 2)),
            field("spare", "capacity", (1, 2, 3)),
        ),
        derived=(Derived("group", Arith("*", Var("chip.agents"), Var("chip.each")), "a test"),),
        rules=(),
        area_terms=(),
        unmodelled={},
    )


def made(text: str = TEXT) -> Template:
    return parse(Source("tile.fw", text))


def kernel(name: str = "k", extent: int = 32, text: str = TEXT) -> Kernel:
    return Kernel(name, (made(text),), {"M": extent})


def problem(
    *scenarios: ScenarioSpec, objective: Objective = "worst", reference: Point = (0, 0, 0, 0, 0)
) -> CodesignProblem:
    found = scenarios or (ScenarioSpec("only", ((kernel(), 1),)),)
    return CodesignProblem(library(), found, objective, reference, None)


def faults(asked: CodesignProblem) -> str:
    with pytest.raises(InputError) as caught:
        build_inner(asked)
    return " | ".join(f"{d.message} ({d.hint})" for d in caught.value.diagnostics)


def with_text(old: str, new: str) -> CodesignProblem:
    assert old in TEXT
    return problem(ScenarioSpec("only", ((kernel(text=TEXT.replace(old, new)), 1),)))


def test_what_is_missing_is_said_by_name() -> None:
    assert 'library "toy" has no "roam"' in faults(
        problem(ScenarioSpec("only", ((kernel(text=TEXT.replace("room", "roam")), 1),)))
    )
    nothing = Kernel("k", (), {"M": 8})
    assert "no template takes kernel k: none is given" in faults(
        problem(ScenarioSpec("only", ((nothing, 1),)))
    )
    outside = faults(with_text("M >= 1", "M >= 64"))
    assert "no template takes kernel k: tile" in outside
    assert "tile: scope M excludes k" in outside
    assert "constraint C3 leaves no design" in faults(with_text("T*U <= 32", "T*U <= 0"))
    assert 'no value for "M"' in faults(
        problem(ScenarioSpec("only", ((Kernel("k", (made(),), {}), 1),)))
    )
    costless = TEXT[: TEXT.index("cost time")]
    assert "tile has no cost" in faults(
        problem(ScenarioSpec("only", ((kernel(text=costless), 1),)))
    )


def test_units_energies_and_tokens_are_asked_for() -> None:
    other = TEXT.replace("cycles", "seconds").replace("tile", "two", 1)
    mixed = Kernel("k", (made(), made(other)), {"M": 8})
    assert "different units: cycles, seconds" in faults(
        problem(ScenarioSpec("only", ((mixed, 1),)))
    )
    bare = TEXT.replace("  energy picojoules = M*U + T*chip.room\n", "")
    plain = ScenarioSpec("only", ((kernel(text=bare), 1),))
    assert "tile has no energy" in faults(problem(plain, objective="energy-delay"))
    limited = replace(plain, limits=Limits(power=Fraction(1)))
    assert "tile has no energy" in faults(problem(limited))
    joules = TEXT.replace("picojoules", "joules").replace("tile", "two", 1)
    both = Kernel("k", (made(), made(joules)), {"M": 8})
    assert "energies have different units: joules, picojoules" in faults(
        problem(ScenarioSpec("only", ((both, 1),)), objective="energy-delay")
    )
    rated = ScenarioSpec("only", ((kernel(), 1),), limits=Limits(rate=Fraction(1)))
    assert "a token rate and no number of tokens" in faults(problem(rated))


def test_a_name_means_one_kernel() -> None:
    twice = ScenarioSpec("a", ((kernel(), 1), (kernel(), 2)))
    assert 'scenario a has kernel "k" twice' in faults(problem(twice))
    one = ScenarioSpec("a", ((kernel(), 1),))
    other = ScenarioSpec("b", ((kernel(extent=8), 1),))
    assert 'kernel "k" of scenario b is another one elsewhere' in faults(problem(one, other))


def test_a_reference_without_a_program_is_said() -> None:
    text = TEXT.replace("C3            : T*U <= 32", "C3            : T >= 8")
    inner = build_inner(problem(ScenarioSpec("only", ((kernel(text=text), 1),))))
    with pytest.raises(InputError, match="the reference chip: scenario only: no program of k"):
        inner.solve((0, 5, 0, 0, 0))


def test_a_sum_over_the_chip_is_written_out_or_refused() -> None:
    short = with_text("time >= M/4", "time >= sum(i in 0 .. 3) i*chip.lanes")
    assert build_inner(short).solve((2, 0, 0, 0, 0)).scenarios[0].time == 64
    long = with_text("time >= M/4", "time >= sum(i in 0 .. ceil(chip.lanes)) i*T")
    assert "a sum that reads the chip has no constant, short range" in faults(long)


def test_a_wall_over_a_product_goes_with_each_of_its_fields() -> None:
    inner = build_inner(problem())
    assert inner.walls == ("room", "agents", "each")
    small = (0, 5, 0, 0, 0)
    held = inner.solve(small).scenarios[0].chosen[0]
    assert held.assignment["U"] == 1
    for wall in ("agents", "each"):
        free = inner.solve(small, frozenset({wall})).scenarios[0].chosen[0]
        assert free.assignment["U"] == 4
        assert free.slack["group"] == free.slack[wall] == -3
    assert held.slack == {"room": 16, "group": 0, "agents": 0, "each": 0}


def test_a_chip_that_leaves_a_kernel_where_it_was_costs_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inner = build_inner(problem())
    first = inner.solve((1, 3, 1, 0, 0))
    monkeypatch.setattr(type(inner.works["k"]), "best", None)
    assert inner.solve((1, 3, 1, 0, 2)) == first  # No template reads "spare".
    assert inner.solve((1, 3, 1, 0, 0), frozenset({"spare"})) == first
    with pytest.raises(TypeError):
        inner.solve((1, 4, 1, 0, 0))


def test_other_coefficients_keep_the_tables_of_other_templates() -> None:
    store = Store()
    inner = build_inner(problem(), store)
    again = inner.refitted({"tile": {"pace": Fraction(2)}})
    assert len(store.tables) == 2
    assert inner.refitted({}).works["k"].tables[0] is inner.works["k"].tables[0]
    point = (0, 2, 1, 1, 0)
    slow, quick = again.solve(point).scenarios[0], inner.solve(point).scenarios[0]
    assert slow.time == 2 * quick.time
    assert slow.ratio == quick.ratio
    with pytest.raises(InputError, match='tile has no coefficient "paces"'):
        inner.refitted({"tile": {"paces": Fraction(2)}})


def every_answer(inner: TemplateInner) -> list[object]:
    points = product(*(range(len(f.menu)) for f in inner.library.fields))
    removed = (frozenset[str](), frozenset({"agents"}), frozenset({"room", "each"}))
    return [inner.solve(p, r) for p in points for r in removed]


def test_slices_give_what_the_rows_give() -> None:
    text = TEXT.replace("T*chip.room", "T").replace("group", "each")
    asked = problem(ScenarioSpec("only", ((kernel(text=text), 1),)))
    sliced, plain = build_inner(asked), build_inner(asked)
    assert sliced.works["k"].slices[0] is not None
    plain.works["k"].slices = ()
    assert every_answer(sliced) == every_answer(plain)
    box = ((0, 1), (0, 2), (0, 1), (0, 1), (0, 2))
    points = product(*(range(lo, hi + 1) for lo, hi in box))
    best = min(o for o in (sliced.solve(p).objective for p in points) if o is not None)
    assert Fraction(sliced.lower(box)) <= best
    assert best * (1 - Fraction(1, 10**12)) <= Fraction(sliced.lower(box))
    assert Fraction(plain.lower(box)) <= best


def combinations(chip: Point, *extents: int) -> list[tuple[Fraction, Fraction, tuple[int, ...]]]:
    """Time, energy and tiles of all designs of works with these extents, one each."""
    fields = dict(zip((f.name for f in library().fields),
                      (f.menu[i] for f, i in zip(library().fields, chip, strict=True)),
                      strict=True))  # fmt: skip
    one = []
    for extent in extents:
        found = []
        for t, u in product((1, 2, 4, 8, 16), (1, 2, 4)):
            if t * u > min(32, fields["room"]) or u > fields["agents"] * fields["each"]:
                continue
            turns = -(-extent // t) * -(-8 // (u * int(fields["lanes"])))
            time = max(Fraction(turns), Fraction(extent, 4))
            found.append((time, Fraction(extent * u + t * fields["room"]), t))
        one.append(found)
    return [
        (sum((d[0] for d in c), Fraction(0)), sum((d[1] for d in c), Fraction(0)),
         tuple(d[2] for d in c))
        for c in product(*one)
    ]  # fmt: skip


CHIP = (2, 4, 1, 1, 0)


@pytest.mark.parametrize("objective", ["worst", "energy-delay"])
@pytest.mark.parametrize("power", [2, 4, 6, 9])
def test_a_power_limit_is_kept_at_the_least_objective(objective: Objective, power: int) -> None:
    works = ((kernel("a", 24), 1), (kernel("b", 40), 1))
    spec = ScenarioSpec("only", works, limits=Limits(power=Fraction(power)))
    inner = build_inner(problem(spec, objective=objective))
    inner.measured_by({"only": Fraction(1)})
    answer = inner.solve(CHIP)
    kept = [(t, e) for t, e, _ in combinations(CHIP, 24, 40) if e <= power * t]
    values = [t if objective == "worst" else t * e for t, e in kept]
    assert answer.objective == min(values, default=None)
    if answer.objective is None:
        assert answer.reason == "scenario only: no programs keep its limits"
    else:
        assert Fraction(inner.lower(tuple((i, i) for i in CHIP))) <= answer.objective


@pytest.mark.parametrize("rate", [1, 2, 8])
def test_a_token_rate_is_kept_or_its_scenario_has_no_program(rate: int) -> None:
    spec = ScenarioSpec(
        "only", ((kernel("a", 24), 1),), tokens=16, limits=Limits(rate=Fraction(rate))
    )
    for objective in ("worst", "energy-delay"):
        inner = build_inner(problem(spec, objective=objective))
        inner.measured_by({"only": Fraction(1)})
        answer = inner.solve(CHIP)
        kept = [(t, e) for t, e, _ in combinations(CHIP, 24) if rate * t <= 16]
        values = [t if objective == "worst" else t * e for t, e in kept]
        assert answer.objective == min(values, default=None)
        assert bool(answer.reason) == (not values)


def test_the_tiling_template_on_the_shipped_library_has_its_walls() -> None:
    from formwright.chip.library_files import load_library

    tiling = load("shared_memory_tiling")[1]
    work = Kernel("k", (tiling,), {"M": 512, "N": 512, "K": 512})
    tiled = load_library("tiled-gpu")
    asked = CodesignProblem(
        tiled, (ScenarioSpec("only", ((work, 1),)),), "worst", tiled.start, None
    )
    inner = build_inner(asked)
    assert inner.walls == ("threads", "accumulators_per_thread", "shared_bytes")
    assert inner.solve(tiled.start).objective == 1
