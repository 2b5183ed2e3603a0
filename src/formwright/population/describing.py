"""The words of a signature, read off the workload, the program and the chip's names."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from formwright.base.digest import digest
from formwright.ir.expr import Expr, Num
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
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
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.template import Template, Workload
from formwright.ir.values import names_of_access


@dataclass(slots=True)
class Found:
    """Words met so far, by part."""

    algorithm: set[str] = field(default_factory=set)
    reuse: set[str] = field(default_factory=set)
    placement: set[str] = field(default_factory=set)
    resources: set[str] = field(default_factory=set)


def line_words(lines: Iterable[Workload]) -> set[str]:
    """What is computed: each line's join, ranks and operations."""
    words: set[str] = set()
    for line in lines:
        joined = f"{line.combine} over {len(line.reductions)}" if line.reductions else "map"
        words.add(f"line of rank {len(line.indices)}: {joined}")
        words.update(f"computes {name}" for name in _operations(line.value))
    return words


def step_words(template: Template) -> set[str]:
    """Which step down it is; how a template without a program stands for one."""
    words = {f"step {template.coarse} -> {template.fine}"}
    if template.refinement is not None:
        step = template.refinement
        words.add(f"systems of {len(step.coarse.actions)} and {len(step.fine.actions)} actions")
    if template.formulation:
        # A formulation is its cost: it has no program that would tell it from another.
        words.add("formulation without a program")
        words.add(f"cost {digest(template.cost)[:12]}")
    return words


def chip_words(template: Template) -> set[str]:
    """Walls, and the figures of the chip that anything else reads."""
    cost = template.cost
    expressions: list[Expr] = [c.condition for c in template.constraints]
    expressions += [r.condition for r in template.requires]
    if cost is not None:
        expressions += [b.value for b in cost.bounds]
        expressions += [] if cost.energy is None else [cost.energy]
    names = frozenset[str]().union(*(free_names(e) for e in expressions))
    words = {f"relies on {n}" for n in names if n.startswith("chip.")}
    return words | {f"wall {c.wall}" for c in template.constraints if c.wall}


@dataclass(frozen=True, slots=True)
class _Place:
    """What stands around a statement. ``loops`` names what runs over values here."""

    loops: tuple[str, ...] = ()
    teams: int = 0
    grids: int = 0


@dataclass(frozen=True, slots=True)
class _Setting:
    """Names of the template by what they are, and its buffers."""

    reduced: frozenset[str]
    free: frozenset[str]
    decided: frozenset[str]
    buffers: dict[str, Buffer]
    found: Found


def program_words(template: Template) -> Found:
    """The words of the program; none where there is no program."""
    found = Found()
    scope = template.scope
    reduced = frozenset(extent for line in scope.lines for _, extent in line.reductions)
    setting = _Setting(
        reduced=reduced,
        free=frozenset(p.name for p in scope.extents) - reduced,
        decided=frozenset(d.name for d in template.decisions),
        buffers={b.name: b for b in template.globals},
        found=found,
    )
    for stmt in template.program:
        _walk(setting, stmt, _Place())
    for stage in template.realised:
        buffer = setting.buffers.get(stage.buffer)
        if buffer is not None:
            found.algorithm.add(f"a stage is kept in {buffer.home} of rank {len(buffer.shape)}")
    passes = sum(isinstance(s, Par) for s in template.program)
    if template.program:
        found.algorithm.add(f"passes: {passes}")
        found.placement.update([] if found.placement else ["nothing is kept"])
    return found


def _walk(setting: _Setting, stmt: Stmt, place: _Place) -> None:
    found = setting.found
    match stmt:
        case Alloc(buffers):
            for buffer in buffers:
                setting.buffers[buffer.name] = buffer
                found.placement.add(_placed(setting, buffer, place))
        case For(var, _, hi, body):
            found.algorithm.add(f"loop over {_over(setting, hi)}")
            _all(setting, body, replace(place, loops=(*place.loops, var)))
        case Par(kind, names, extents, body):
            over = ", ".join(sorted(_over(setting, e) for e in extents))
            found.algorithm.add(f"{kind} over {over}")
            found.resources.add(kind)
            inner = replace(
                place,
                loops=(*place.loops, *names),
                teams=place.teams + (kind == "team"),
                grids=place.grids + (kind == "grid"),
            )
            _all(setting, body, inner)
        case If(_, body):
            _all(setting, body, place)
        case Apply():
            _applied(setting, stmt, place)
        case Barrier():
            found.resources.add("barrier")
        case Commit() | Wait():
            found.resources.add("asynchronous copies")
        case Arrive() | Await():
            found.resources.add("counters")
        case Hint("unroll"):
            return  # a variant of the code, not of the design
        case Hint(kind):
            found.resources.add(f"hint {kind}")
        case _:
            assert_never(stmt)


def _all(setting: _Setting, body: Sequence[Stmt], place: _Place) -> None:
    for stmt in body:
        _walk(setting, stmt, place)


def _over(setting: _Setting, extent: Expr) -> str:
    """An extent by what it is made of: ``free``, ``reduced``, ``tile``; ``one`` for a number."""
    if isinstance(extent, Num):
        return "number"
    names = free_names(extent)
    words = [
        word
        for word, known in (
            ("reduced", setting.reduced),
            ("free", setting.free),
            ("tile", setting.decided),
        )
        if names & known
    ]
    return " by ".join(words) or "agents"


def _placed(setting: _Setting, buffer: Buffer, place: _Place) -> str:
    sides = ", ".join(_over(setting, e) for e in buffer.shape)
    ring = " ring" if buffer.ring is not None else ""
    dist = f" dist {buffer.dist}" if buffer.dist else ""
    narrow = "" if buffer.dtype in ("f32", "f64") else f" {buffer.dtype}"
    where = "team" if place.teams else "agent" if place.grids else "all"
    return f"{buffer.home}[{sides}]{ring}{dist}{narrow} of {where}"


def _applied(setting: _Setting, stmt: Apply, place: _Place) -> None:
    found = setting.found
    read = list(accesses(stmt.value))
    to = _home(setting, stmt.destination)
    axes = tuple(v.name for v in stmt.box)
    if stmt.asynchronous:
        found.resources.add("asynchronous copies")
    if stmt.op == "=" and isinstance(stmt.value, Read):
        depth = _depth(read[0], place)
        found.reuse.add(f"copies {_home(setting, read[0])} to {to}, kept over {depth} loops")
        return
    whole = any(_over(setting, v.extent) == "reduced" for v in stmt.box)
    if stmt.op != "=":
        joined = "sums" if stmt.op == "+=" else "maxima"
        found.algorithm.add(f"{joined} in {to} over {_depth(stmt.destination, place)} loops")
    for access in read:
        along = len(set(axes) - names_of_access(access))
        around = _depth(access, place)
        found.reuse.add(
            f"{_home(setting, access)} of rank {len(access.index)} used along {along} axes, "
            f"kept over {around} loops"
        )
    if whole and stmt.op != "=":
        found.algorithm.add("sums over a whole extent at once")


def _home(setting: _Setting, access: Access) -> str:
    buffer = setting.buffers.get(access.buffer)
    return "global" if buffer is None else buffer.home


def _depth(access: Access, place: _Place) -> int:
    """Loops around a use that its cell does not depend on."""
    return len(set(place.loops) - names_of_access(access))


def _operations(value: Value) -> Iterator[str]:
    match value:
        case Literal() | Index() | Read():
            return
        case Op(name, args):
            yield name
            for arg in args:
                yield from _operations(arg)
        case Select(_, then, other):
            yield "select"
            yield from _operations(then)
            yield from _operations(other)
        case _:
            assert_never(value)
