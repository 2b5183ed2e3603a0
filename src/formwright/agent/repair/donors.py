"""Expressions that the template uses elsewhere for the same thing: the material of most repairs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from formwright.agent.repair.expressions import Words
from formwright.agent.repair.places import Place, places, statements
from formwright.ir.expr import Arith, Expr, MinMax, Num, Round, Var
from formwright.ir.inline import inlined
from formwright.ir.program import Apply, For, If, Op, Par, Select, Value
from formwright.ir.rewrite import children, free_names, substitute
from formwright.ir.template import Template
from formwright.ir.values import all_accesses


@dataclass(frozen=True, slots=True)
class Donors:
    """``by_shape``: index expressions by the extent of the dimension that they stand in.

    ``generations`` by buffer, ``guards`` the conditions of the program, ``masks`` those of its
    selects.
    """

    by_shape: Mapping[Expr, tuple[Expr, ...]]
    generations: tuple[Expr, ...]
    guards: tuple[Expr, ...]
    masks: tuple[Expr, ...]
    parts: tuple[Expr, ...] = ()
    """Minima, maxima and roundings in ranges, boxes and definitions."""
    flat: Mapping[str, Expr] = field(default_factory=dict)
    """Definitions put in their places, so that equal extents are seen to be equal."""

    def of_extent(self, extent: Expr) -> tuple[Expr, ...]:
        return self.by_shape.get(substitute(extent, self.flat), ())


def donors(template: Template) -> Donors:
    """What the program of ``template`` has to offer."""
    flat: dict[str, Expr] = {}
    for definition in template.definitions:
        flat[definition.name] = substitute(definition.value, flat)
    shapes: dict[Expr, dict[Expr, None]] = {}
    generations: dict[Expr, None] = {}
    guards: dict[Expr, None] = {}
    masks: dict[Expr, None] = {}
    for place, _, stmt in statements(template):
        match stmt:
            case If(cond):
                guards[cond] = None
            case Apply():
                for access in all_accesses(stmt):
                    buffer = place.buffers.get(access.buffer)
                    if access.generation is not None:
                        generations[access.generation] = None
                    for extent, index in zip(
                        buffer.shape if buffer else (), access.index, strict=False
                    ):
                        shapes.setdefault(substitute(extent, flat), {})[index] = None
                masks.update(dict.fromkeys(conditions_of(stmt.value)))
            case _:
                pass
    parts = dict.fromkeys(p for e in _bounds(template) for p in _parts(e))
    for kept in template.realised:
        line = next(w for w in template.scope.stages if w.output.name == kept.stage)
        for name, index in zip(line.output.extents, kept.index, strict=True):
            shapes.setdefault(Var(name), {})[index] = None
    found = {extent: tuple(indices) for extent, indices in shapes.items()}
    return Donors(found, tuple(generations), tuple(guards), tuple(masks), tuple(parts), flat)


def _bounds(template: Template) -> Iterator[Expr]:
    for definition in template.definitions:
        yield definition.value
    for _, _, stmt in statements(template):
        match stmt:
            case For(_, _, hi):
                yield hi
            case Par(_, _, extents):
                yield from extents
            case Apply(box):
                yield from (b.extent for b in box)
            case _:
                pass


def _parts(expr: Expr) -> Iterator[Expr]:
    """The minima, maxima and roundings in an expression, and what is taken the least of."""
    if isinstance(expr, MinMax):
        yield expr
        yield from (a for a in expr.args if not isinstance(a, Var | Num))
    if isinstance(expr, Round):
        yield expr
    for child in children(expr):
        yield from _parts(child)


def conditions_of(value: Value) -> Iterator[Expr]:
    """The conditions of the selects of a value."""
    match value:
        case Select(cond, then, other):
            yield cond
            yield from conditions_of(then)
            yield from conditions_of(other)
        case Op(_, args):
            for arg in args:
                yield from conditions_of(arg)
        case _:
            pass


def words_at(place: Place, *apply: Apply) -> Words:
    """The names in sight, by kind: loops, box, decisions, extents, definitions."""
    template = place.template
    box = tuple(b.name for a in apply for b in a.box)
    decisions = tuple(d.name for d in template.decisions)
    scope = template.scope
    extents = tuple(p.name for p in (*scope.extents, *scope.agents))
    defined = tuple(d.name for d in template.definitions)
    return Words((tuple(place.loops), box, decisions, extents, defined), (*decisions, *defined))


def in_sight(expr: Expr, words: Words) -> bool:
    """Whether every name of ``expr`` is one of ``words``."""
    return all(any(n in kind for kind in words.kinds) for n in free_names(expr))


def all_words(template: Template) -> Words:
    """The names of all loops of the program beside those of the scope and the decisions."""
    loops = dict.fromkeys(n for place in places(template) for n in place.loops)
    first = next(iter(places(template)))
    return Words((tuple(loops), *words_at(first).kinds[1:]), words_at(first).factors)


def without(expr: Expr, name: str) -> Expr | None:
    """What is left of a sum when its term ``name`` is taken away; ``None`` if it has no such term
    or nothing is left."""
    match expr:
        case Arith("+", left, right):
            if right == Var(name):
                return left
            if left == Var(name):
                return right
            rest = without(left, name)
            if rest is not None:
                return Arith("+", rest, right)
            rest = without(right, name)
            return None if rest is None else Arith("+", left, rest)
        case Arith("-", left, right):
            rest = without(left, name)
            return None if rest is None else Arith("-", rest, right)
        case _:
            return None


def closed(template: Template) -> Template:
    """The form that readers take."""
    return inlined(template) if template.definitions else template
