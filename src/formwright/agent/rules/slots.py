"""More slots for what a team stages: loads of later steps overlap the work on this one.

``loads; barrier; work; barrier`` in a loop over ``p``, with one slot, becomes a ring of S slots
into which the loads of step ``p+P`` go while step ``p`` is worked on; the last barrier is a
decision. Which S, P and barrier are safe together is not said here: the verifier finds out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from formwright.agent.rules.naming import Fresh, free_name
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import around, buffers_at, splice
from formwright.agent.rules.values import is_number, least, plus, renamed, times
from formwright.ir.expr import ZERO, Arith, Compare, Expr, Var, num
from formwright.ir.program import Access, Alloc, Apply, Barrier, Buffer, For, If, Par, Stmt
from formwright.ir.rewrite import accesses
from formwright.ir.template import Constraint, Decision, Template
from formwright.ir.types import BYTES
from formwright.ir.values import map_accesses
from formwright.ir.walk import Path, body_of, walk, with_body

SLOTS, AHEAD, BARRIER = (1, 2, 3), (0, 1, 2), (0, 1)


@dataclass(frozen=True, slots=True)
class _Staged:
    """``loads`` of ``buffers``, then what works on them, in the loop at ``path``."""

    path: Path
    loop: For
    loads: tuple[Apply, ...]
    work: tuple[Stmt, ...]
    buffers: dict[str, Buffer]


def _slots(template: Template) -> Iterator[Change]:
    tensors = frozenset(g.name for g in template.globals)
    for path, loop in walk(template.program):
        if not isinstance(loop, For) or loop.lo != ZERO:
            continue
        if any(isinstance(s, Par) and s.kind == "team" for s in around(template.program, path)):
            staged = _staged(template, path, loop, tensors)
            if staged is not None:
                yield Change(
                    _with_ring(template, staged),
                    f"{' and '.join(sorted(staged.buffers))} get slots: loads run ahead of the "
                    f"work over {loop.var}",
                )


def _staged(template: Template, path: Path, loop: For, tensors: frozenset[str]) -> _Staged | None:
    shared = {
        n: b
        for n, b in buffers_at(template.program, path).items()
        if b.home == "shared" and b.ring is not None and is_number(b.ring, 1)
    }
    loads = list[Apply]()
    rest = list(loop.body)
    while rest and isinstance(first := rest[0], Apply):
        if first.destination.buffer not in shared or first.op != "=":
            break
        if any(a.buffer not in tensors for a in accesses(first.value)):
            break
        loads.append(first)
        rest.pop(0)
    barriers = [n for n, s in enumerate(rest) if isinstance(s, Barrier)]
    if not loads or barriers not in ([0], [0, len(rest) - 1]):
        return None
    names = dict.fromkeys(a.destination.buffer for a in loads)
    work = tuple(s for s in rest if not isinstance(s, Barrier))
    return _Staged(path, loop, tuple(loads), work, {n: shared[n] for n in names})


def _with_ring(template: Template, staged: _Staged) -> Template:
    fresh = Fresh(template)
    slots, ahead, last = fresh.var("S", "Slots"), fresh.var("P", "Ahead"), fresh.var("beta")
    step, first = Var(staged.loop.var), fresh.var("u", f"{staged.loop.var}_first")
    later = plus(step, ahead)
    loads = tuple(_generation(s, staged, step) for s in staged.loads)
    body: tuple[Stmt, ...] = (
        If(
            Compare("<", later, staged.loop.hi),
            tuple(renamed(s, {staged.loop.var: later}) for s in loads),
        ),
        Barrier(),
        *(_generation(s, staged, step) for s in staged.work),
        If(Compare("=", last, num(1)), (Barrier(),)),
    )
    prologue = For(
        first.name,
        ZERO,
        least(ahead, staged.loop.hi),
        tuple(renamed(s, {staged.loop.var: first}) for s in loads),
    )
    program = splice(template.program, staged.path, (prologue, replace(staged.loop, body=body)))
    decisions = (
        *template.decisions,
        Decision(slots.name, SLOTS),
        Decision(ahead.name, AHEAD),
        Decision(last.name, BARRIER),
    )
    wall = _wall(template, staged, slots)
    return replace(
        template,
        program=tuple(_ringed(s, staged, slots) for s in program),
        decisions=decisions,
        constraints=(*template.constraints, *wall),
    )


def _generation(stmt: Stmt, staged: _Staged, step: Expr) -> Stmt:
    """Accesses of the staged buffers are of generation ``step``."""
    if not isinstance(stmt, Apply):
        body = tuple(_generation(s, staged, step) for s in body_of(stmt))
        return with_body(stmt, body) if body else stmt

    def change(access: Access) -> Access:
        return replace(access, generation=step) if access.buffer in staged.buffers else access

    value = map_accesses(stmt.value, change)
    return replace(stmt, destination=change(stmt.destination), value=value)


def _ringed(stmt: Stmt, staged: _Staged, slots: Var) -> Stmt:
    """The allocation of the staged buffers, with a slot for each of ``slots`` generations."""
    if isinstance(stmt, Alloc):
        rings = (
            replace(b, ring=slots) if b == staged.buffers.get(b.name) else b for b in stmt.buffers
        )
        return replace(stmt, buffers=tuple(rings))
    body = tuple(_ringed(s, staged, slots) for s in body_of(stmt))
    return with_body(stmt, body) if body else stmt


def _wall(template: Template, staged: _Staged, slots: Var) -> tuple[Constraint, ...]:
    """What the slots take of shared storage, if the chip's field is in the scope."""
    if "chip.shared_bytes" not in {p.name for p in template.scope.chip}:
        return ()
    total: Expr = ZERO
    for buffer in staged.buffers.values():
        size: Expr = num(BYTES[buffer.dtype])
        for extent in buffer.shape:
            size = times(size, extent)
        total = plus(total, size)
    condition = Compare("<=", Arith("*", slots, total), Var("chip.shared_bytes"))
    name = free_name({c.name for c in template.constraints}, "Slots")
    return (Constraint(name, condition, "shared_bytes"),)


ADD_SLOTS = Rule(
    "add-slots",
    "schedule",
    "What a team stages gets several slots, and loads run ahead of the work.",
    _slots,
)
