"""What each line of a workload says that its cells are, and the buffers that keep stages."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import cast

from formwright.ir.expr import Scalar
from formwright.ir.rewrite import accesses
from formwright.ir.template import Realised, Template, Workload
from formwright.replay.code import AccessCode, ValueCode, compile_value
from formwright.replay.compiled import Env, compile_int
from formwright.replay.terms import Polynomial, Terms, Token

Index = tuple[int, ...]


class Lines:
    """Reads inputs and stages as tokens; each cell of a line is computed once.

    What a buffer holds that keeps a stage is compared with the stage where it is read, and is
    the stage's token from there on: every line is judged for itself.
    """

    def __init__(self, template: Template, values: Mapping[str, Scalar], terms: Terms) -> None:
        self._values = values
        self._terms = terms
        lines = template.scope.lines
        self._lines: dict[str, tuple[Workload, ValueCode]] = {
            line.output.name: (line, compile_value(line.value, values)) for line in lines
        }
        self._known: dict[tuple[str, Index], int] = {}
        self._output = template.scope.workload.output.name
        self.realised: tuple[Realised, ...] = tuple(
            r for name in _ordered(lines) for r in template.realised if r.stage == name
        )
        """Stages that others read come before those that read them."""
        self._kept = {r.buffer: r for r in self.realised}

    def cell(self, name: str, index: Index) -> int:
        """The value of one cell of a line: the number of its node."""
        key = (name, index)
        if key not in self._known:
            self._known[key] = self._computed(name, index)
        return self._known[key]

    def cells(self, name: str) -> Iterator[Index]:
        """Every index of a line."""
        yield from product(*(range(e) for e in self.shape(name)))

    def shape(self, name: str) -> Index:
        return tuple(int(self._values[e]) for e in self._lines[name][0].output.extents)

    def made(self, token: Token) -> Polynomial | None:
        """What a cell of a stage is; of other tokens nothing."""
        name, index = token
        if name not in self._lines or name == self._output:
            return None
        return self._terms.polynomial(self.cell(name, cast(Index, index)))

    def keeping(self, buffer: str) -> Realised | None:
        """The line of ``realise`` about a buffer."""
        return self._kept.get(buffer)

    def places(self, kept: Realised, env: Mapping[str, int], index: Index) -> Index | None:
        """The cell of the stage that a cell of its buffer stands for, if there is one."""
        inner: Env = {**env, **dict(zip(kept.names, index, strict=True))}
        found = tuple(compile_int(i, self._values)(inner) for i in kept.index)
        shape = self.shape(kept.stage)
        inside = all(0 <= i < e for i, e in zip(found, shape, strict=True))
        return found if inside else None

    def _computed(self, name: str, index: Index) -> int:
        line, value = self._lines[name]
        env: Env = dict(zip(line.indices, index, strict=True))
        total: int | None = None
        for point in product(*(range(int(self._values[e])) for _, e in line.reductions)):
            env.update(zip((n for n, _ in line.reductions), point, strict=True))
            found = value(self, env)
            if total is None:
                total = found
            else:
                total = self._terms.op("+" if line.combine == "sum" else "max", (total, found))
        return self._terms.zero if total is None else total

    # --- the Reader of values: the lines' own indices are in range by construction ----

    def read(self, access: AccessCode, env: Env) -> int:
        return self._terms.token(access.buffer, tuple(i(env) for i in access.index))

    def number(self, value: Scalar) -> int:
        return self._terms.literal(Fraction(value))

    def apply(self, name: str, args: tuple[int, ...]) -> int:
        return self._terms.op(name, args)


def _ordered(lines: tuple[Workload, ...]) -> list[str]:
    """Names of lines, each behind those that it reads."""
    reads = {w.output.name: {a.buffer for a in accesses(w.value)} for w in lines}
    found: list[str] = []
    while len(found) < len(reads):
        found += [
            n
            for n, names in reads.items()
            if n not in found and not names & (reads.keys() - set(found))
        ]
    return found
