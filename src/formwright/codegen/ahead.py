"""Which first statements of a program only pack inputs: they can be done ahead of the call."""

from collections.abc import Sequence

from formwright.codegen.tiles import applies
from formwright.ir.program import Alloc, Stmt
from formwright.ir.rewrite import accesses


def ahead_count(program: Sequence[Stmt], inputs: Sequence[str], output: str) -> int:
    """How many leading statements only pack inputs into buffers allocated before all packing.

    0 when the program does not begin with such an alloc, or when an input that is packed is
    read again behind them.
    """
    if not program or not isinstance(program[0], Alloc):
        return 0
    count = 0
    packed = False
    for stmt in program:
        if isinstance(stmt, Alloc) and packed:
            break
        if not isinstance(stmt, Alloc):
            if output in _touched([stmt]) or not _read([stmt], inputs):
                break
            packed = True
        count += 1
    again = _read(program[:count], inputs) & _read(program[count:], inputs)
    return count if packed and not again else 0


def packed_inputs(program: Sequence[Stmt], inputs: Sequence[str]) -> tuple[str, ...]:
    """The inputs that these statements read, in the order of the call."""
    read = _read(program, inputs)
    return tuple(name for name in inputs if name in read)


def _read(block: Sequence[Stmt], inputs: Sequence[str]) -> set[str]:
    found = {a.buffer for apply in applies(block) for a in accesses(apply.value)}
    return found & set(inputs)


def _touched(block: Sequence[Stmt]) -> set[str]:
    written = {apply.destination.buffer for apply in applies(block)}
    return written | {a.buffer for apply in applies(block) for a in accesses(apply.value)}
