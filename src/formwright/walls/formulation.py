"""A template at the extents of a kernel, read against a library: what depends on the chip, and how.

All expressions are over decisions and fields of the library: definitions, extents, coefficients,
derived quantities and fields of one value are put in their places.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.chip.library import Library
from formwright.ir.expr import Compare, Expr, Scalar, Truth, Var
from formwright.ir.fold import folded
from formwright.ir.inline import inlined
from formwright.ir.interval import Interval, bounds
from formwright.ir.rewrite import free_names
from formwright.ir.template import Constraint, Template
from formwright.milp.problem import objective_expression, scope_conditions
from formwright.walls.problem import Kernel
from formwright.walls.split import NotSplitError, Splitter


@dataclass(frozen=True, slots=True)
class Need:
    """A constraint that reads the chip: ``remainder`` is over atoms and fields.

    ``wall`` is the name of the chip that the text bounds by, ``need`` what a design needs of it
    (the left-hand side) and ``room`` what the chip has. ``fields`` are the fields behind the wall:
    removing any of them drops the constraint.
    """

    constraint: Constraint
    remainder: Expr
    wall: str | None = None
    fields: frozenset[str] = frozenset()
    need: Expr | None = None
    room: Expr | None = None
    left: Expr | None = None
    """``need`` over atoms and fields."""
    strict: bool = False
    """The need must be below the room, not at it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of each design: ``whole`` over decisions and fields, ``remainder`` over the atoms
    and fields that ``names`` has."""

    whole: Expr
    remainder: Expr
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Formulation:
    """``own`` are the constraints that read no chip; ``scope`` what a chip must be at all."""

    template: Template
    kernel: str
    names: tuple[str, ...]
    menus: tuple[tuple[int, ...], ...]
    own: tuple[Constraint, ...]
    needs: tuple[Need, ...]
    scope: tuple[Expr, ...]
    time: Figure
    energy: Figure | None
    prefer: tuple[Figure, ...]
    atoms: Mapping[str, Expr]
    fields: tuple[str, ...]
    """Fields that anything here reads, in the library's order."""
    cost_fields: tuple[str, ...]
    """Fields that the costs or the left side of a wall read."""

    @property
    def ranges(self) -> dict[str, Interval]:
        """The decisions' menus, from end to end."""
        menus = zip(self.names, self.menus, strict=True)
        return {n: Interval(min(m), max(m)) for n, m in menus}


def formulate(
    template: Template,
    kernel: Kernel,
    library: Library,
    coefficients: Mapping[str, Fraction],
) -> Formulation | str:
    """The formulation, or why the template takes no part: its scope excludes the extents.

    Raises :class:`InputError` with every fault: no cost, a name without a value, a field that the
    library does not have, an unknown coefficient, a sum over the chip that cannot be written out.
    """
    small = inlined(replace(template, program=(), globals=(), refinement=None))
    if small.cost is None:
        told = f"{template.name} has no cost: nothing says which of its designs is best"
        raise InputError([Diagnostic(told, template.span, "add a section cost")])
    put = _Places(template, kernel, library, _constants(small, kernel, coefficients))
    scope: list[Expr] = []
    for name, condition in scope_conditions(template):
        if not put.knows(condition):
            continue
        told_ = put(condition)
        if isinstance(told_, Truth):
            if not told_.value:
                return f"{template.name}: {name} excludes {kernel.name}"
            continue
        if bounds(told_, put.ranges).lo < 1:  # Else it holds on every chip of the library.
            scope.append(told_)
    constraints = [(c, put(c.condition)) for c in small.constraints]
    time = put(objective_expression(small.cost.bounds))
    energy = None if small.cost.energy is None else put(small.cost.energy)
    prefer = tuple(put(p) for p in small.cost.prefer)
    put.finish()
    own = tuple(replace(c, condition=e) for c, e in constraints if not put.reads(e))
    splitter = Splitter(put.fields, put.ranges)

    def figure(expr: Expr) -> Figure:
        rest = splitter.remainder(expr)
        return Figure(expr, rest, free_names(rest))

    try:
        found = Formulation(
            template=template,
            kernel=kernel.name,
            names=tuple(d.name for d in template.decisions),
            menus=tuple(d.menu for d in template.decisions),
            own=own,
            needs=tuple(_need(c, e, put, splitter) for c, e in constraints if put.reads(e)),
            scope=tuple(scope),
            time=figure(time),
            energy=None if energy is None else figure(energy),
            prefer=tuple(figure(p) for p in prefer),
            atoms={},
            fields=(),
            cost_fields=(),
        )
    except NotSplitError as error:
        told = f"{template.name}: {error}"
        hint = "give the sum ends that are constants at the extents, or a closed form"
        raise InputError([Diagnostic(told, error.expr.span, hint)]) from None
    costs = [time, *([] if energy is None else [energy]), *prefer]
    lefts = [n.constraint.condition if n.need is None else n.need for n in found.needs]
    every = [*costs, *lefts, *found.scope, *(n.constraint.condition for n in found.needs)]
    return replace(
        found,
        atoms={name: expr for expr, name in splitter.atoms.items()},
        fields=put.read_by(every),
        cost_fields=put.read_by([*costs, *lefts]),
    )


def _constants(
    template: Template, kernel: Kernel, coefficients: Mapping[str, Fraction]
) -> dict[str, Scalar]:
    cost = template.cost
    known = {} if cost is None else {c.name: c.default for c in cost.coefficients}
    wrong = [name for name in coefficients if name not in known]
    if wrong:
        raise InputError(
            [
                Diagnostic(f'{template.name} has no coefficient "{n}"', None, nearest(n, known))
                for n in wrong
            ]
        )
    return {**known, **coefficients, **kernel.extents}


class _Places:
    """Puts constants and derived quantities in their places, and collects what has no value."""

    def __init__(
        self,
        template: Template,
        kernel: Kernel,
        library: Library,
        constants: Mapping[str, Scalar],
    ) -> None:
        self.template = template
        self.kernel = kernel
        self.library = library
        fixed = {f"chip.{f.name}": f.menu[0] for f in library.fields if len(f.menu) == 1}
        self.numbers: dict[str, Scalar] = {**constants, **fixed}
        self.fields = frozenset(f"chip.{f.name}" for f in library.fields if len(f.menu) > 1)
        self.decisions = frozenset(d.name for d in template.decisions)
        self.faults: dict[str, Diagnostic] = {}
        chips = {f"chip.{f.name}": f.menu for f in library.fields}
        self.ranges = {n: Interval(min(m), max(m)) for n, m in chips.items() if n in self.fields}
        self.ranges |= {d.name: Interval(min(d.menu), max(d.menu)) for d in template.decisions}

    def knows(self, expr: Expr) -> bool:
        """Every name of ``expr`` has a value or a menu."""
        return not self._unknown(self.library.opened(expr))

    def __call__(self, expr: Expr) -> Expr:
        opened = self.library.opened(expr)
        for name in sorted(self._unknown(opened)):
            self.faults.setdefault(name, self._fault(name, expr))
        return folded(opened, self.numbers)

    def _unknown(self, opened: Expr) -> frozenset[str]:
        return free_names(opened) - self.numbers.keys() - self.fields - self.decisions

    def _fault(self, name: str, expr: Expr) -> Diagnostic:
        title = self.template.name
        if name.startswith("chip."):
            own = [*(f.name for f in self.library.fields), *(d.name for d in self.library.derived)]
            plain = name.removeprefix("chip.")
            told = f'{title} reads {name}, and library "{self.library.name}" has no "{plain}"'
            return Diagnostic(told, expr.span, nearest(plain, own))
        told = f'kernel {self.kernel.name}: no value for "{name}", which {title} needs'
        return Diagnostic(told, expr.span, "give it among the kernel's extents")

    def finish(self) -> None:
        if self.faults:
            raise InputError(list(self.faults.values()))

    def reads(self, expr: Expr) -> bool:
        return bool(free_names(expr) & self.fields)

    def read_by(self, exprs: list[Expr]) -> tuple[str, ...]:
        named = frozenset[str]().union(*(free_names(e) for e in exprs)) if exprs else frozenset()
        return tuple(f.name for f in self.library.fields if f"chip.{f.name}" in named & self.fields)


def _need(constraint: Constraint, closed: Expr, put: _Places, splitter: Splitter) -> Need:
    condition = replace(constraint, condition=closed)
    remainder = splitter.remainder(closed)
    if constraint.wall is None:
        return Need(condition, remainder)
    room = put(Var(f"chip.{constraint.wall}"))
    behind = frozenset(n.removeprefix("chip.") for n in free_names(room) & put.fields)
    told = constraint.condition
    if not isinstance(told, Compare):
        raise AssertionError("a wall is a comparison (rule L11)")
    need = put(told.left)
    left = splitter.remainder(need)
    strict = told.op == "<"
    return Need(condition, remainder, constraint.wall, behind, need, room, left, strict)
