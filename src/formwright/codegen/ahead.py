"""Which first statements of a program depend on one input alone: they can be done ahead."""

from collections.abc import Sequence

from formwright.codegen.tiles import applies
from formwright.ir.program import Alloc, Stmt
from formwright.ir.rewrite import accesses


def ahead_count(program: Sequence[Stmt], inputs: Sequence[str], output: str) -> int:
    """How many leading statements only pack one input into buffers allocated among them.

    0 when the program does not begin with such an alloc.
    """
    if not program or not isinstance(program[0], Alloc):
        return 0
    read, packed, count = set[str](), False, 0
    for stmt in program:
        if isinstance(stmt, Alloc):
            if packed:
                break
            count += 1
            continue
        found = {a.buffer for apply in applies([stmt]) for a in accesses(apply.value)}
        written = {apply.destination.buffer for apply in applies([stmt])}
        tensors = (found | read) & set(inputs)
        if len(tensors) != 1 or output in found | written:
            break
        read, packed, count = tensors, True, count + 1
    return count if packed else 0
