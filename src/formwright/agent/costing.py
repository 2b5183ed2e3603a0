"""The cost section of a template, written from its program.

Seconds are the sum of cycles (operations, loops, agents, divided among cores), bytes that have to
come once, bytes that are read again from the cache that holds them, and the start of each grid.
Each part has coefficients that measurements may refit. ``docs/specification.md`` has the formulas.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from formwright.agent.cost_cycles import FEWEST_REGISTERS, Cycles
from formwright.agent.cost_loops import Grid, times_reached, walked
from formwright.agent.cost_terms import (
    above,
    add,
    at_least_one,
    ceiling,
    chip,
    choice,
    least,
    minus,
    mul,
    quotient,
)
from formwright.agent.cost_traffic import Again, read_again
from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.values import is_number
from formwright.base.diagnostics import InputError, fail
from formwright.base.source import Source
from formwright.ir.expr import Compare, Expr, MinMax, Num, Var, num
from formwright.ir.fold import folded
from formwright.ir.inline import inlined
from formwright.ir.show import show_expr, show_number
from formwright.ir.template import Parameter, Scope, Template
from formwright.lang.format import format_template
from formwright.lang.parser import parse

DEFAULTS: Final = {
    "load_cycles": Fraction(4, 5),
    "issue_cycles": Fraction(13, 20),
    "store_cycles": Fraction(11, 10),
    "widen_cycles": Fraction(7, 10),
    "exp_cycles": Fraction(15),
    "divide_cycles": Fraction(4),
    "root_cycles": Fraction(11),
    "chain_cycles": Fraction(3),
    "spill_cycles": Fraction(1),
    "row_cycles": Fraction(13, 2),
    "loop_cycles": Fraction(1),
    "agent_cycles": Fraction(23),
    "stream": Fraction(6, 5),
    "reread": Fraction(3, 5),
    "fork_cycles": Fraction(4000),
}
"""What a vector, a sum along a row, an iteration, an agent and the start of a grid take, in cycles;
``stream`` and ``reread``: the part of the bytes' time that other work does not hide."""

SMALLEST_L1: Final = 16384

CHIP: Final = {
    "cores": (">=", 1),
    "vector_lanes": (">=", 4),
    "vector_registers": (">=", FEWEST_REGISTERS),
    "clock": (">", 0),
    "dram_bandwidth": (">", 0),
    "core_dram_bandwidth": (">", 0),
    "l3_bandwidth": (">", 0),
    "l2_bandwidth": (">", 0),
    "l1_bytes": (">=", SMALLEST_L1),
    "l2_bytes": (">=", 131072),
    "l3_bytes": (">=", 524288),
}
"""The fields of a CPU that the model reads, with what a scope has to say of them."""


def with_cost(template: Template) -> Template:
    """``template`` with a cost for CPUs in the place of any that it had, and with its chip fields.

    Structures go, since they may name terms of the old cost. Raises ``InputError`` for a template
    without a program.
    """
    if not template.program:
        raise fail(f"{template.name} has no program to count the work of", None)
    bare = replace(template, cost=None, structures=(), scope=_scope(template))
    try:
        return _costed(bare, is_whole=True)
    except InputError:
        # Past the limits of the language (L3): without what is read again it is half as long.
        return _costed(bare, is_whole=False)


def _costed(bare: Template, *, is_whole: bool) -> Template:
    section = "\n".join(_Writer(bare, is_whole).text())
    return parse(Source(f"{bare.name}.fw", f"{format_template(bare)}\n{section}\n"))


def _scope(template: Template) -> Scope:
    scope = template.scope
    known = {p.name for p in scope.chip}
    more = []
    for name, (sign, value) in CHIP.items():
        full = f"chip.{name}"
        if full not in known:
            condition = Compare(">=" if sign == ">=" else ">", Var(full), num(value))
            more.append(Parameter(full, condition))
    return replace(scope, chip=(*scope.chip, *more))


@dataclass(slots=True)
class _Writer:
    template: Template
    is_whole: bool
    names: Fresh = field(init=False)
    coefficients: dict[str, str] = field(default_factory=dict)
    definitions: list[tuple[str, Expr]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = Fresh(self.template)

    def text(self) -> list[str]:
        """The lines of the section."""
        total = self._total()
        width = max(len(name) for name, _ in self.definitions)
        by_name = {shown: DEFAULTS[name] for name, shown in self.coefficients.items()}
        cost = self.names.name("T", "Time", "seconds_of_all")
        found = [
            f"cost {cost} seconds",
            *(f"  coefficient {n} = {show_number(v)}" for n, v in by_name.items()),
            *(f"  {n.ljust(width)} = {show_expr(v)}" for n, v in self.definitions),
            f"  {cost} >= {show_expr(total)}",
        ]
        chosen = [Var(d.name) for d in self.template.decisions]
        return [*found, f"  prefer {show_expr(add(chosen))}"] if chosen else found

    def coefficient(self, name: str) -> Expr:
        if name not in self.coefficients:
            self.coefficients[name] = self.names.name(name)
        return Var(self.coefficients[name])

    def define(self, value: Expr, *wished: str) -> Expr:
        name = self.names.name(*wished)
        self.definitions.append((name, value))
        return Var(name)

    def _total(self) -> Expr:
        template = inlined(self.template)
        walk = walked(template.program, template.globals)
        tensors = frozenset(g.name for g in template.globals)
        cycles = Cycles(walk.buffers, tensors, self.coefficient)
        agents = [mul([loop.count for loop in g.loops]) for g in walk.grids if g.loops]
        busy = self.define(least(chip("cores"), _most(agents)), "busy", "busy_cores")
        memory = self.define(_memory(busy), "memory", "memory_rate")
        seen = set[str]()
        issued, again, forks = list[Expr](), list[Expr](), 0
        for grid in walk.grids:
            number = len(issued) + 1
            share = self._share(grid, number)
            work = self._work(grid, cycles, number)
            issued.append(mul([share, work]))
            found = list(read_again(walk, grid, tensors, seen)) if self.is_whole else []
            again += [self._served(a, share, memory) for a in found if self._is_large(a)]
            forks += bool(grid.loops)
        time = [
            quotient(add(issued), chip("clock")),
            mul([self.coefficient("stream"), self._once(memory, busy)]),
        ]
        if again:
            time.append(mul([self.coefficient("reread"), add(again)]))
        alone = minus(num(1), quotient(num(1), chip("cores")))
        fork = mul([num(forks), self.coefficient("fork_cycles"), alone])
        return add([*time, quotient(fork, chip("clock"))])

    def _share(self, grid: Grid, number: int) -> Expr:
        """What the busiest core does of a phase."""
        if not grid.loops:
            return num(1)
        counted = mul([loop.count for loop in grid.loops])
        agents = self.define(at_least_one(counted), f"agents{number}", f"agents_of{number}")
        busiest = ceiling(agents, chip("cores"))
        return self.define(quotient(busiest, agents), f"share{number}", f"share_of{number}")

    def _work(self, grid: Grid, cycles: Cycles, number: int) -> Expr:
        """Cycles of all agents of a phase, as if one core did them."""
        terms = list[Expr]()
        for leaf in grid.leaves:
            once = cycles.of(leaf)
            terms.append(mul([times_reached(leaf), once]))
        if grid.overhead:
            terms.append(mul([self.coefficient("loop_cycles"), add(grid.overhead)]))
        if grid.loops:
            agents = mul([loop.count for loop in grid.loops])
            terms.append(mul([self.coefficient("agent_cycles"), agents]))
        shown = [t for t in terms if not is_number(t, 0)]
        parts = [self.define(t, f"cycles{number}_{n}") for n, t in enumerate(shown, 1)]
        return self.define(add(parts), f"work{number}", f"work_of{number}")

    def _is_large(self, again: Again) -> bool:
        """Can what lies between leave the first cache? Not where menus bound it below."""
        menus = {d.name: max(d.menu) for d in self.template.decisions}
        most = folded(again.held, menus)
        return not isinstance(most, Num) or most.value > SMALLEST_L1

    def _served(self, again: Again, share: Expr, memory: Expr) -> Expr:
        """Seconds for bytes that the smallest cache that holds what lies between gives."""
        held = self.define(again.held, f"held_{again.buffer}")
        near = quotient(share, chip("l2_bandwidth"))
        mid = quotient(share, chip("l3_bandwidth"))
        slow = choice(
            above(held, chip("l3_bytes")),
            quotient(num(1), memory),
            choice(above(held, chip("l2_bytes")), mid, near),
        )
        seconds = mul([again.moved, choice(above(held, chip("l1_bytes")), slow, num(0))])
        return self.define(seconds, f"again_{again.buffer}")

    def _once(self, memory: Expr, busy: Expr) -> Expr:
        """Seconds for each tensor of the workload, once, from where all of them fit."""
        moved = self.define(add(list(_tensor_bytes(self.template))), "moved", "moved_bytes")
        rate = choice(
            above(mul([num(2), moved]), chip("l3_bytes")),
            memory,
            choice(
                above(moved, mul([busy, chip("l2_bytes")])),
                mul([busy, chip("l3_bandwidth")]),
                mul([busy, chip("l2_bandwidth")]),
            ),
        )
        far = self.define(rate, "far", "far_rate")
        return quotient(moved, far)


def _memory(busy: Expr) -> Expr:
    return least(chip("dram_bandwidth"), mul([busy, chip("core_dram_bandwidth")]))


def _most(agents: list[Expr]) -> Expr:
    """The agents of the largest grid, at least one."""
    return MinMax("max", (num(1), *dict.fromkeys(agents)))


def _tensor_bytes(template: Template) -> Iterator[Expr]:
    for buffer in template.globals:
        yield mul([Var(f"bytes.{buffer.name}"), *buffer.shape])
