"""Random templates that a file can hold: every name declared, kinds and shapes right.

``templates()`` gives whole templates; their programs need not be correct, only well formed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Literal as OneOf

from hypothesis import strategies as st

from formwright.base.quantities import ENERGIES
from formwright.ir.expr import (
    Arith,
    Compare,
    Cond,
    Expr,
    Logic,
    MinMax,
    Neg,
    Not,
    Num,
    Round,
    Sum,
    Truth,
    Var,
)
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    BoxVar,
    Buffer,
    Commit,
    For,
    Hint,
    If,
    Index,
    Literal,
    Op,
    Par,
    Read,
    Select,
    Stmt,
    Value,
    Wait,
)
from formwright.ir.template import (
    Coefficient,
    Constraint,
    Cost,
    CostBound,
    Decision,
    Definition,
    Outline,
    Parameter,
    Realised,
    Requirement,
    Scope,
    Template,
    Tensor,
    Workload,
)
from formwright.ir.types import sized

COMPARISONS = ("<", "<=", "=", "!=", ">=", ">")
DTYPES = ("f32", "f64", "bf16", "f16", "i32", "i8")
energies = st.sampled_from(ENERGIES)
decimals = st.builds(
    lambda n, e: Fraction(n) * Fraction(10) ** e, st.integers(0, 10**6), st.integers(-8, 30)
)
texts = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=12)


Names = Sequence[str]


def whole(names: Names, depth: int = 2) -> st.SearchStrategy[Expr]:
    """Integer expressions over integer names, as a parser makes them (no negative constant)."""
    return _whole(tuple(names), depth)


def numeric(names: Names, depth: int = 2) -> st.SearchStrategy[Expr]:
    """Numbers, fractions among them."""
    return _numeric(tuple(names), depth)


def truths(names: Names, depth: int = 2) -> st.SearchStrategy[Expr]:
    """Conditions."""
    return _truths(tuple(names), depth)


@cache
def _whole(names: tuple[str, ...], depth: int) -> st.SearchStrategy[Expr]:
    leaves: list[st.SearchStrategy[Expr]] = [st.integers(0, 99).map(lambda n: Num(Fraction(n)))]
    if names:
        leaves.append(st.sampled_from(names).map(Var))
    if depth == 0:
        return st.one_of(leaves)
    inner = _whole(names, depth - 1)
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    var = f"z{depth}"
    return st.one_of(
        *leaves,
        st.builds(Arith, st.sampled_from(("+", "-", "*", "//", "mod")), inner, inner),
        st.builds(Neg, inner),
        st.builds(MinMax, st.sampled_from(("min", "max")), some),
        st.builds(Round, st.sampled_from(("ceil", "floor")), _numeric(names, depth - 1)),
        st.builds(Cond, _truths(names, depth - 1), inner, inner),
        st.builds(Sum, st.just(var), inner, inner, _whole((*names, var), depth - 1)),
    )


@cache
def _numeric(names: tuple[str, ...], depth: int) -> st.SearchStrategy[Expr]:
    leaves: list[st.SearchStrategy[Expr]] = [decimals.map(Num)]
    if names:
        leaves.append(st.sampled_from(names).map(Var))
    if depth == 0:
        return st.one_of(leaves)
    inner = _numeric(names, depth - 1)
    return st.one_of(
        *leaves,
        st.builds(Arith, st.sampled_from(("+", "-", "*", "/")), inner, inner),
        st.builds(Neg, inner),
        st.builds(MinMax, st.sampled_from(("min", "max")), st.tuples(inner, inner)),
        st.builds(Round, st.sampled_from(("ceil", "floor")), inner),
        st.builds(Cond, _truths(names, depth - 1), inner, inner),
    )


@cache
def _truths(names: tuple[str, ...], depth: int) -> st.SearchStrategy[Expr]:
    number = _numeric(names, max(0, depth - 1))
    compare = st.builds(Compare, st.sampled_from(COMPARISONS), number, number)
    if depth == 0:
        return st.one_of(compare, st.booleans().map(Truth))
    inner = _truths(names, depth - 1)
    return st.one_of(
        compare,
        st.builds(Logic, st.sampled_from(("and", "or", "=>")), inner, inner),
        st.builds(Not, inner),
        st.builds(Cond, inner, inner, inner),
    )


@dataclass
class _Build:
    """The names and buffers that are visible while a program is drawn."""

    draw: st.DrawFn
    names: list[str]
    buffers: list[Buffer]
    output: str
    budget: int = 14
    made: int = 0
    pars: list[str] = field(default_factory=list)

    def fresh(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def whole(self, depth: int = 1) -> Expr:
        return self.draw(whole(self.names, depth))

    @contextmanager
    def bound(self, names: Sequence[str]) -> Iterator[None]:
        """New integer names; buffers allocated inside end with them."""
        old_names, old_buffers = list(self.names), list(self.buffers)
        self.names.extend(names)
        yield
        self.names, self.buffers = old_names, old_buffers


def _body(build: _Build, depth: int) -> tuple[Stmt, ...]:
    """One statement at least; all that can stand at this place."""
    found: list[Stmt] = []
    count = build.draw(st.integers(1, 3))
    while count and (build.budget or not found):
        count -= 1
        build.budget = max(0, build.budget - 1)
        found.append(_stmt(build, depth))
    return tuple(found)


def _stmt(build: _Build, depth: int) -> Stmt:
    kinds = ["apply", "apply", "alloc", "commit", "wait", "hint"]
    if depth:
        kinds += ["for", "grid", "team", "if"]
    if build.pars[-1:] == ["team"]:
        kinds += ["barrier", "counter"]
    kind = build.draw(st.sampled_from(kinds))
    match kind:
        case "apply":
            return _apply(build)
        case "alloc":
            return _alloc(build)
        case "for":
            var, lo, hi = build.fresh("v"), build.whole(), build.whole()
            with build.bound([var]):
                return For(var, lo, hi, _body(build, depth - 1))
        case "grid" | "team":
            return _par(build, kind, depth)
        case "if":
            cond = build.draw(truths(build.names, 1))
            with build.bound([]):
                return If(cond, _body(build, depth - 1))
        case "barrier":
            return Barrier()
        case "counter":
            # A counter is waited for where somebody arrives.
            name, placed = build.fresh("q"), build.draw(st.booleans())
            arrive = Arrive(name, build.whole() if placed else None)
            phase = build.whole() if build.draw(st.booleans()) else None
            wait = Await(name, build.whole(), build.whole() if placed else None, phase)
            return If(Truth(True), (arrive, wait)) if build.draw(st.booleans()) else arrive
        case "commit":
            return Commit()
        case "wait":
            return Wait(build.whole())
        case _:
            return _hint(build)


def _par(build: _Build, kind: str, depth: int) -> Par:
    names = tuple(build.fresh("w") for _ in range(build.draw(st.integers(1, 2))))
    extents = tuple(build.whole() for _ in names)
    build.pars.append(kind)
    with build.bound(names):
        body = _body(build, depth - 1)
    build.pars.pop()
    return Par("grid" if kind == "grid" else "team", names, extents, body)


def _alloc(build: _Build) -> Alloc:
    draw = build.draw
    found: list[Buffer] = []
    for _ in range(draw(st.integers(1, 3))):
        shape = tuple(build.whole() for _ in range(draw(st.integers(1, 3))))
        found.append(
            Buffer(
                build.fresh("b"),
                shape,
                draw(st.sampled_from(("shared", "scratch", "register"))),
                draw(st.sampled_from(DTYPES)),
                draw(st.one_of(st.none(), whole(build.names, 1))),
                draw(st.integers(0, len(shape))),
            )
        )
    build.buffers.extend(found)
    return Alloc(tuple(found))


def _hint(build: _Build) -> Hint:
    if build.draw(st.booleans()):
        return Hint("unroll", build.whole())
    buffer = build.draw(st.sampled_from(build.buffers))
    kind: OneOf["prefetch", "stream"] = build.draw(st.sampled_from(("prefetch", "stream")))
    return Hint(kind, access=_access(build, buffer, {}, ("computed",)))


def _apply(build: _Build) -> Apply:
    draw = build.draw
    targets = [b for b in build.buffers if b.home != "global" or b.name == build.output]
    box: dict[str, Expr] = {}
    destination = _access(build, draw(st.sampled_from(targets)), box)
    value = _value(build, box, draw(st.integers(0, 2)))
    if draw(st.booleans()):
        extra = build.fresh("x")
        box = dict(draw(st.permutations([*box.items(), (extra, build.whole())])))
    clip = draw(st.booleans())
    homes = {b.name: b.home for b in build.buffers}
    return Apply(
        tuple(BoxVar(n, e) for n, e in box.items()),
        _clipped(destination, homes, clip),
        draw(st.sampled_from(("=", "+=", "max="))),
        _clipped_value(value, homes, clip),
        draw(st.booleans()),
    )


PLACES = ("new", "old", "computed")


def _access(build: _Build, buffer: Buffer, box: dict[str, Expr], places: Names = PLACES) -> Access:
    """Indices are names of the box, new or old, or expressions over what is visible."""
    draw = build.draw
    index: list[Expr] = []
    for extent in buffer.shape:
        place = draw(st.sampled_from(places))
        if place == "old" and box:
            index.append(Var(draw(st.sampled_from(sorted(box)))))
        elif place == "new":
            name = build.fresh("r")
            box[name] = extent
            index.append(Var(name))
        else:
            index.append(draw(whole([*build.names, *box], 1)))
    if buffer.ring is None:
        return Access(buffer.name, tuple(index))
    generation = draw(whole([*build.names, *box], 1))
    while isinstance(generation, Arith) and generation.op == "mod":
        generation = generation.left
    return Access(buffer.name, tuple(index), generation)


def _value(build: _Build, box: dict[str, Expr], depth: int) -> Value:
    draw = build.draw
    kinds = ["literal", "read", "read", "index"]
    if depth:
        kinds += ["binary", "binary", "unary", "select"]
    match draw(st.sampled_from(kinds)):
        case "literal":
            return Literal(draw(decimals))
        case "read":
            return Read(_access(build, draw(st.sampled_from(build.buffers)), box))
        case "index":
            return Index(draw(numeric([*build.names, *box], 1)))
        case "binary":
            name = draw(st.sampled_from(("+", "-", "*", "/", "max", "min")))
            return Op(name, (_value(build, box, depth - 1), _value(build, box, depth - 1)))
        case "unary":
            name = draw(st.sampled_from(("neg", "exp", "sqrt", "rsqrt")))
            return Op(name, (_value(build, box, depth - 1),))
        case _:
            cond = draw(truths([*build.names, *box], 1))
            return Select(cond, _value(build, box, depth - 1), _value(build, box, depth - 1))


def _clipped(access: Access, homes: dict[str, str], clip: bool) -> Access:
    return replace(access, clip=clip and homes[access.buffer] == "global")


def _clipped_value(value: Value, homes: dict[str, str], clip: bool) -> Value:
    match value:
        case Read(access):
            return Read(_clipped(access, homes, clip))
        case Op(name, args):
            return Op(name, tuple(_clipped_value(a, homes, clip) for a in args))
        case Select(cond, then, other):
            return Select(
                cond, _clipped_value(then, homes, clip), _clipped_value(other, homes, clip)
            )
        case _:
            return value


WORKLOADS = (
    Workload(
        Tensor("C", ("M", "N")),
        (Tensor("A", ("M", "K")), Tensor("B", ("K", "N"), "bf16")),
        ("m", "n"),
        (("k", "K"),),
        Op(
            "*",
            (Read(Access("A", (Var("m"), Var("k")))), Read(Access("B", (Var("k"), Var("n"))))),
        ),
    ),
    Workload(
        Tensor("C", ("M",), "f64"),
        (Tensor("A", ("M", "K")), Tensor("B", ("K",))),
        ("m",),
        (("k", "K"), ("l", "N")),
        Select(
            Compare("<", Var("k"), Var("m")),
            Op("exp", (Read(Access("A", (Var("m"), Var("k")))),)),
            Op("-", (Read(Access("B", (Var("k"),))), Index(Var("l")))),
        ),
    ),
    Workload(
        Tensor("C", ("M", "N")),
        (Tensor("A", ("N", "M")), Tensor("B", ("M",))),
        ("m", "n"),
        (),
        Op("+", (Read(Access("A", (Var("n"), Var("m")))), Read(Access("B", (Var("m"),))))),
    ),
)


@st.composite
def scopes(draw: st.DrawFn) -> Scope:
    """One of three workloads over M, N, K; a team size W; two chip fields f1 and f2."""
    at_least = st.integers(0, 9).map(lambda n: Num(Fraction(n)))

    def bounded(name: str) -> Parameter:
        op = draw(st.sampled_from(COMPARISONS))
        condition: Expr = Compare(op, Var(name), draw(at_least))
        if draw(st.booleans()):
            condition = Logic("and", condition, draw(truths([name], 1)))
        return Parameter(name, condition)

    return Scope(
        draw(st.sampled_from(WORKLOADS)),
        tuple(bounded(n) for n in ("M", "N", "K")),
        (bounded("W"),) if draw(st.booleans()) else (),
        (bounded("chip.f1"), Parameter("chip.f2")),
        tuple(draw(st.lists(truths(["M", "N", "chip.f2"], 1), max_size=2))),
        draw(texts),
        draw(texts),
    )


@st.composite
def menus(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A menu and its extra points, both ascending."""
    values = draw(st.sets(st.integers(-4, 300), min_size=1, max_size=6))
    extra = draw(st.sets(st.integers(-4, 300), max_size=2)) - values
    return tuple(sorted(values)), tuple(sorted(extra))


@st.composite
def costs(draw: st.DrawFn, names: Sequence[str]) -> Cost:
    """A cost with coefficients, definitions, guarded bounds and tie-breaks."""
    coefficients = tuple(
        Coefficient(f"c{i}", draw(decimals) * draw(st.sampled_from((1, -1))))
        for i in range(draw(st.integers(0, 2)))
    )
    visible = [*names, *(c.name for c in coefficients)]
    definitions: list[Definition] = []
    for i in range(draw(st.integers(0, 2))):
        definitions.append(Definition(f"e{i}", draw(numeric(visible))))
        visible.append(f"e{i}")
    bound = st.builds(CostBound, numeric(visible), st.one_of(st.none(), truths(visible, 1)))
    return Cost(
        "T",
        "seconds",
        coefficients,
        tuple(definitions),
        tuple(draw(st.lists(bound, min_size=1, max_size=3))),
        tuple(draw(st.lists(numeric(visible, 1), max_size=2))),
        *draw(st.one_of(st.just((None, "")), st.tuples(numeric(visible, 1), energies))),
    )


@st.composite
def templates(draw: st.DrawFn) -> Template:
    """A well-formed template."""
    scope = draw(scopes())
    extents = [p.name for p in (*scope.extents, *scope.agents)]
    decisions = tuple(Decision(f"D{i}", *draw(menus())) for i in range(draw(st.integers(0, 3))))
    names = [*extents, *(d.name for d in decisions)]
    definitions: list[Definition] = []
    for i in range(draw(st.integers(0, 2))):
        definitions.append(Definition(f"d{i}", draw(whole(names))))
        names.append(f"d{i}")
    walls = [
        Constraint("C0", Compare("<=", draw(numeric(names)), Var("chip.f1")), "f1")
        for _ in range(draw(st.integers(0, 1)))
    ]
    plain = draw(st.lists(truths([*names, "chip.f2"]), max_size=2))
    requires = draw(st.lists(truths(names), max_size=2))
    globals_ = tuple(
        Buffer(t.name, tuple(Var(e) for e in t.extents), "global", t.dtype)
        for t in (*scope.workload.inputs, scope.workload.output)
    )
    build = _Build(draw, list(names), list(globals_), "C")
    name = draw(st.sampled_from(("", "slot")))
    return Template(
        "t",
        "operator",
        "mapping",
        name,
        draw(texts) if name else "",
        scope,
        decisions,
        tuple(definitions),
        (*walls, *(Constraint(f"P{i}", c) for i, c in enumerate(plain))),
        tuple(Requirement(f"R{i}", c) for i, c in enumerate(requires)),
        _body(build, 3),
        globals_,
        Outline(draw(texts), draw(texts), "", draw(st.sampled_from(((), ("coverage", "race"))))),
        draw(st.one_of(st.none(), costs([*names, "chip.f1"]))),
    )


STAGES = (
    Workload(
        Tensor("S", ("M", "M")),
        (Tensor("A", ("N", "M")),),
        ("m", "u"),
        (("k", "N"), ("l", "K")),
        Select(
            Compare("<=", Var("u"), Var("m")),
            Read(Access("A", (Var("k"), Var("u")))),
            Op("sqrt", (Op("neg", (Read(Access("R", (Var("m"),))),)),)),
        ),
        None,
        "max",
    ),
    Workload(Tensor("R", ("M",)), (), ("m",), (), Op("exp", (Index(Var("N")),))),
)


@st.composite
def staged(draw: st.DrawFn) -> Template:
    """A template with two stages, element types to choose from and the size of one."""
    template = draw(templates())
    also = draw(st.lists(st.sampled_from(("bf16", "f16", "i8")), max_size=2, unique=True))
    inner = Read(Access("S", (Var("m"), Var("m"))))
    a = Tensor("A", ("N", "M"), "f32", tuple(also))
    read = Op("*", (Read(Access("A", (Var("n"), Var("m")))), inner))
    workload = Workload(Tensor("C", ("M", "N")), (a,), ("m", "n"), (), read)
    first = replace(STAGES[0], inputs=(a,))
    scope = replace(template.scope, workload=workload, stages=(first, STAGES[1]))
    kept = (
        Buffer("kS", (Var("M"), Var("N")), "scratch"),
        Buffer("kR", (Num(Fraction(4)),), "register"),
    )
    index = draw(whole(["M", "N", "x0"]))
    realised = (
        Realised("S", (Var("x1"), index), "kS", ("x0", "x1")),
        Realised("R", (Var("x0"),), "kR", ("x0",)),
    )
    changed = replace(
        template,
        scope=scope,
        globals=tuple(
            Buffer(t.name, tuple(Var(e) for e in t.extents), "global") for t in (a, workload.output)
        ),
        program=(Alloc(kept), Apply((), Access("C", (Var("M"), Var("N"))), "=", _cell())),
        realised=realised,
        cost=None,
        constraints=(Constraint("B", Compare("<=", Var("bytes.A"), Var("M"))),),
    )
    return sized(changed)


def _cell() -> Value:
    """A cell of the first stage's buffer."""
    return Read(Access("kS", (Num(Fraction(0)), Num(Fraction(1)))))
