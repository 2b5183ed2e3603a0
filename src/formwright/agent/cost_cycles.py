"""Cycles of one execution of an apply on a core with vectors, by what the emitter makes of it.

An apply is a vector along the name of its box that runs through rows, a sum along such a name, or
goes point by point (docs/codegen.md). Counted are loads, conversions, operations and stores, each
with a coefficient; a sum into one register cannot go faster than its chain of additions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from formwright.agent.cost_loops import Leaf, Loop
from formwright.agent.cost_terms import add, ceiling, chip, choice, largest, minus, mul
from formwright.ir.expr import ONE, ZERO, Compare, Expr, MinMax, Num, Var, num
from formwright.ir.program import Access, Apply, Buffer, Op, Select, Value
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.values import names_of, names_of_access

Coefficient = Callable[[str], Expr]
"""The coefficient of that name; asking for one declares it."""

FEWEST_REGISTERS = 16
"""Vector registers that every CPU in scope has."""

_SLOW = {"exp": "exp_cycles", "/": "divide_cycles", "sqrt": "root_cycles", "rsqrt": "root_cycles"}


@dataclass(frozen=True, slots=True)
class Shape:
    """``vector``: the name of the box that is a vector. ``summed``: it is summed away.

    Then partial sums are added when the row ends.
    """

    vector: str
    summed: bool


def shape_of(apply: Apply) -> Shape:
    """How the emitter goes over the box, by the accesses alone."""
    for var in reversed(apply.box):
        reads = [_along(a, var.name) for a in accesses(apply.value)]
        stored = _along(apply.destination, var.name)
        if "across" in (stored, *reads):
            continue
        if stored == "along":
            return Shape(var.name, False)
        if "along" in reads and apply.op != "=":
            return Shape(var.name, True)
    return Shape("", False)


def _along(access: Access, name: str) -> str:
    """Does ``access`` run along a row with ``name``, across rows, or stay where it is?"""
    if not access.index:
        return "still"
    *front, last = access.index
    if any(name in free_names(i) for i in front):
        return "across"
    return "along" if name in free_names(last) else "still"


@dataclass(frozen=True, slots=True)
class Cycles:
    """What is needed to count: where buffers live, and bytes of tensors (``bytes.X``)."""

    buffers: Mapping[str, Buffer]
    tensors: frozenset[str]
    coefficient: Coefficient

    def of(self, leaf: Leaf) -> Expr:
        """Cycles of one execution of ``leaf``, its whole box."""
        apply, shape = leaf.apply, shape_of(leaf.apply)
        size = {b.name: self._count(b, shape) for b in leaf.box}
        inner = leaf.loops[-1].name if leaf.loops and leaf.loops[-1].kind == "for" else ""
        terms = [self._loads(apply, shape, size, inner), self._stores(apply, shape, size)]
        terms += [self._operations(v, shape, size, inner) for v in _beside_the_sum(apply)]
        if apply.op != "=":
            cells = names_of(apply.value) | names_of_access(apply.destination)
            terms.append(mul([_product(size, cells), self.coefficient("issue_cycles")]))
        cycles = add(terms)
        if shape.summed:
            rows = _product(size, names_of_access(apply.destination) - {shape.vector})
            cycles = add([cycles, mul([rows, self.coefficient("row_cycles")])])
        elif self._is_chain(apply, inner):
            # A box that is summed away without vectors goes on with the same register.
            own = names_of_access(apply.destination)
            rest = [n for n in size if n not in own]
            steps = mul([*(size[n] for n in rest), self.coefficient("chain_cycles")])
            cycles = add([largest(cycles, steps), self._spilled(apply, shape, size)])
        return cycles

    def _spilled(self, apply: Apply, shape: Shape, size: Mapping[str, Expr]) -> Expr:
        """Registers beyond those that a core has: sums, one row of what is read, a factor."""
        if not shape.vector:
            return ZERO
        sums = _product(size, names_of_access(apply.destination))
        wanted = add([sums, size[shape.vector], ONE])
        if isinstance(wanted, Num) and wanted.value <= FEWEST_REGISTERS:
            return ZERO
        beyond = MinMax("max", (ZERO, minus(wanted, chip("vector_registers"))))
        return mul([beyond, self.coefficient("spill_cycles")])

    def _count(self, loop: Loop, shape: Shape) -> Expr:
        return (
            ceiling(loop.count, chip("vector_lanes")) if loop.name == shape.vector else loop.count
        )

    def _is_chain(self, apply: Apply, inner: str) -> bool:
        home = self.buffers.get(apply.destination.buffer)
        if apply.op == "=" or home is None or home.home != "register":
            return False
        own = names_of_access(apply.destination)
        return bool(inner and inner not in own) or any(b.name not in own for b in apply.box)

    def _loads(self, apply: Apply, shape: Shape, size: Mapping[str, Expr], inner: str) -> Expr:
        terms = list[Expr]()
        for access in dict.fromkeys(accesses(apply.value)):
            buffer = self.buffers.get(access.buffer)
            if buffer is not None and buffer.home == "register":
                continue
            names = names_of_access(access)
            if inner and inner not in names and not names & size.keys():
                continue  # the compiler keeps it in a register through the loop
            each = [self.coefficient("load_cycles")]
            if access.buffer in self.tensors:
                each.append(self._widened(access.buffer))
            terms.append(mul([_product(size, names), add(each)]))
        return add(terms)

    def _widened(self, tensor: str) -> Expr:
        narrow = Compare("<", Var(f"bytes.{tensor}"), num(4))
        return choice(narrow, self.coefficient("widen_cycles"), ZERO)

    def _stores(self, apply: Apply, shape: Shape, size: Mapping[str, Expr]) -> Expr:
        buffer = self.buffers.get(apply.destination.buffer)
        if buffer is not None and buffer.home == "register":
            return ZERO
        cells = _product(size, names_of_access(apply.destination))
        each = [self.coefficient("store_cycles")]
        if apply.op != "=":
            each.append(self.coefficient("load_cycles"))
        if apply.destination.buffer in self.tensors:
            each.append(self._widened(apply.destination.buffer))
        return mul([cells, add(each)])

    def _operations(self, value: Value, shape: Shape, size: Mapping[str, Expr], inner: str) -> Expr:
        """Each operation as often as its operands change."""
        match value:
            case Op(name, args):
                names = names_of(value)
                terms = [self._operations(a, shape, size, inner) for a in args]
                still = not names & size.keys() and (inner not in names if inner else False)
                if still and not self._reads_changing(value):
                    return ZERO
                kind = _SLOW.get(name, "issue_cycles")
                return add([*terms, mul([_product(size, names), self.coefficient(kind)])])
            case Select(_, then, other):
                sides = [self._operations(v, shape, size, inner) for v in (then, other)]
                mask = mul([_product(size, names_of(value)), self.coefficient("issue_cycles")])
                return add([*sides, mask])
            case _:
                return ZERO

    def _reads_changing(self, value: Value) -> bool:
        """Reads of registers may change from iteration to iteration; others are told by indices."""
        return any(
            (b := self.buffers.get(a.buffer)) is not None and b.home == "register"
            for a in accesses(value)
        )


def _beside_the_sum(apply: Apply) -> tuple[Value, ...]:
    """A sum's last product is one instruction with the addition."""
    match apply.value:
        case Op("*", args) if apply.op == "+=":
            return args
        case _:
            return (apply.value,)


def _product(size: Mapping[str, Expr], names: frozenset[str]) -> Expr:
    return mul([s for n, s in size.items() if n in names]) if size else ONE
