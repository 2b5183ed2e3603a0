"""Another layout: a tensor that is read in blocks of an index is copied into panels first.

``B[l, jp*N+s]`` in a loop over ``l``  ->  ``Bp[jp, l, s]``, filled by a grid of its own in front of
the program: what an agent reads lies in one piece.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from formwright.agent.rules.naming import Fresh
from formwright.agent.rules.rule import Change, Rule
from formwright.agent.rules.tree import at, binders, splice
from formwright.agent.rules.values import ceil_div, plus, times
from formwright.ir.expr import ZERO, Arith, Expr, MinMax, Var
from formwright.ir.program import Access, Alloc, Apply, BoxVar, Buffer, Par, Read
from formwright.ir.rewrite import accesses, free_names, substitute
from formwright.ir.template import Template
from formwright.ir.values import row_names, swapped
from formwright.ir.walk import Path, walk


@dataclass(frozen=True, slots=True)
class _Panel:
    """A read of ``access`` whose index number ``place`` is ``block*width + cell``."""

    access: Access
    place: int
    block: Expr
    cell: str
    width: Expr
    extents: tuple[Expr, ...]


def _packs(template: Template) -> Iterator[Change]:
    """Reads that step from row to row first: what they step over, panels do not have."""
    found = sorted(_reads(template), key=lambda r: not r[2])
    for path, panel, _ in found:
        yield Change(
            _with_panels(template, path, panel),
            f"{panel.access.buffer} is copied into panels, each in one piece, in front of all",
        )


def packed_by(template: Template, cell: str) -> tuple[Template, tuple[str, ...]]:
    """Panels for all inputs that step from row to row by ``cell``; the names of those."""
    done = list[str]()
    while True:
        found = (
            (path, panel)
            for path, panel, _ in _reads(template)
            if panel.cell == cell and panel.place < len(panel.access.index) - 1
        )
        path, panel = next(found, (None, None))
        if path is None or panel is None:
            return template, tuple(done)
        template = _with_panels(template, path, panel)
        done.append(panel.access.buffer)


def _with_panels(template: Template, path: Path, panel: _Panel) -> Template:
    stmt = at(template.program, path)
    assert isinstance(stmt, Apply)
    alloc, fill, read = _packed(template, panel)
    reading = replace(stmt, value=swapped(stmt.value, Read(panel.access), Read(read)))
    program = splice(template.program, path, (reading,))
    return replace(template, program=(alloc, fill, *program))


def _reads(template: Template) -> Iterator[tuple[Path, _Panel, bool]]:
    """Reads of inputs in blocks of an index; whether the innermost loop steps over rows."""
    inputs = {t.name: t.extents for t in template.scope.workload.inputs}
    decided = {d.name for d in template.decisions}
    for path, stmt in walk(template.program):
        if not isinstance(stmt, Apply):
            continue
        loops = [n for n, b in binders(template.program, path).items() if b.lo is not None]
        for access in dict.fromkeys(accesses(stmt.value)):
            if access.buffer in inputs and _in_loop(access, loops):
                panel = _panel(access, stmt, inputs[access.buffer], decided)
                if panel is not None:
                    rows = row_names(access)
                    yield path, panel, loops[-1] in rows


def steps_over_rows(template: Template) -> bool:
    """Whether some innermost loop reads a block from one row after another."""
    return any(strided for _, _, strided in _reads(template))


def _in_loop(access: Access, loops: list[str]) -> bool:
    return any(name in free_names(i) for i in access.index for name in loops)


def _panel(
    access: Access, apply: Apply, extents: tuple[str, ...], decided: set[str]
) -> _Panel | None:
    """The last index of the access that a box name of a decided width blocks."""
    for place in reversed(range(len(access.index))):
        index = access.index[place]
        for var in apply.box:
            width = _width(var.extent, decided)
            if width is None or var.name not in free_names(index):
                continue
            block = _quotient(substitute(index, {var.name: ZERO}), width)
            if block is not None:
                shape = tuple(Var(e) for e in extents)
                return _Panel(access, place, block, var.name, width, shape)
    return None


def _width(extent: Expr, decided: set[str]) -> Var | None:
    """The decision that an extent is, or is at most."""
    sizes = extent.args if isinstance(extent, MinMax) and extent.op == "min" else (extent,)
    return next((s for s in sizes if isinstance(s, Var) and s.name in decided), None)


def _quotient(start: Expr, width: Expr) -> Expr | None:
    """``b`` of ``b*width``, as a product of the text has it."""
    folded = plus(start, ZERO)
    if folded == ZERO:
        return ZERO
    if isinstance(folded, Arith) and folded.op == "*" and folded.right == width:
        return folded.left
    return None


def _packed(template: Template, panel: _Panel) -> tuple[Alloc, Par, Access]:
    fresh = Fresh(template)
    access, place = panel.access, panel.place
    name = fresh.name(f"{access.buffer}p", f"{access.buffer}_panels")
    count = ceil_div(panel.extents[place], panel.width)
    others = [e for n, e in enumerate(panel.extents) if n != place]
    buffer = Buffer(name, (count, *others, panel.width), "scratch")
    block, cell = fresh.var("jp", "panel"), fresh.var("s", f"{name}_cell")
    cells = [fresh.var("i", f"i{n}") for n in range(len(others))]
    source = list[Expr](cells)
    source.insert(place, plus(times(block, panel.width), cell))
    box = (
        *(BoxVar(c.name, e) for c, e in zip(cells, others, strict=True)),
        BoxVar(cell.name, panel.width),
    )
    fill = Apply(
        box,
        Access(name, (block, *cells, cell)),
        "=",
        Read(Access(access.buffer, tuple(source), clip=True)),
    )
    inner = [i for n, i in enumerate(access.index) if n != place]
    read = Access(name, (panel.block, *inner, Var(panel.cell)))
    return Alloc((buffer,)), Par("grid", (block.name,), (count,), (fill,)), read


PACK = Rule(
    "pack",
    "mapping",
    "A tensor is copied into panels in front of the program: another layout.",
    _packs,
)
