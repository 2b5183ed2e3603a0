"""The program of a specification, as text: a loop nest for each line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from formwright.agent.rules.naming import free_name
from formwright.agent.spec_lines import Line
from formwright.agent.spec_phases import Phase
from formwright.ir.expr import ZERO, Expr, Var
from formwright.ir.program import Access, Value
from formwright.ir.rewrite import map_access, map_value, substitute
from formwright.ir.show import show_access, show_expr, show_value
from formwright.ir.values import map_accesses


@dataclass(slots=True)
class Naming:
    """Names that mean nothing else; ``buffers`` says where lines are kept, by their names."""

    taken: set[str]
    buffers: dict[str, str] = field(default_factory=dict)

    def fresh(self, *wished: str) -> str:
        """The first that is free, else the last with a number."""
        name = free_name(self.taken, *wished)
        self.taken.add(name)
        return name

    def inner(self, wished: str, visible: Iterable[str]) -> str:
        """A name for a loop: ``wished`` unless it is taken or visible there."""
        return free_name(self.taken.union(visible), wished)


@dataclass(frozen=True, slots=True)
class Written:
    """``program`` and ``realise``: the lines of the two sections."""

    program: tuple[str, ...]
    realise: tuple[str, ...]


def program_of(phases: tuple[Phase, ...], taken: frozenset[str]) -> Written:
    """``taken``: names of the scope and words of the language, which no loop may have."""
    naming = Naming(set(taken))
    phases = tuple(_with_free_names(phase, naming) for phase in phases)
    crossing = _crossing(phases)
    program, realise = list[str](), list[str]()
    for phase in phases:
        for line in phase.lines:
            if line.kind != "output":
                naming.buffers[line.name] = naming.fresh(f"{line.name}_of")
        shared = [line for line in phase.lines if line.name in crossing]
        if shared:
            shapes = [
                f"{naming.buffers[s.name]}[{', '.join(e for _, e in s.free)}]" for s in shared
            ]
            program.append(f"alloc {', '.join(shapes)} scratch")
        program += _Agent(phase, naming, crossing).text()
        realise += [
            _kept(line, phase, naming, crossing) for line in phase.lines if line.kind == "stage"
        ]
    return Written(tuple(program), tuple(realise))


def _with_free_names(phase: Phase, naming: Naming) -> Phase:
    """``phase`` with other names for indices of its grid that mean something already."""
    names = dict[str, str]()
    for name, _ in phase.grid:
        names[name] = naming.inner(name, names.values())

    def renamed(tie: str | None) -> str | None:
        return tie if tie is None else names.get(tie, tie)

    return Phase(
        tuple((names[n], e) for n, e in phase.grid),
        phase.lines,
        {name: tuple(map(renamed, ties)) for name, ties in phase.ties.items()},
    )


def _crossing(phases: tuple[Phase, ...]) -> frozenset[str]:
    """Lines that a later phase reads."""
    found = set[str]()
    for number, phase in enumerate(phases):
        later = {name for p in phases[number + 1 :] for line in p.lines for name in line.reads}
        found |= {line.name for line in phase.lines} & later
    return frozenset(found)


def _kept(line: Line, phase: Phase, naming: Naming, crossing: frozenset[str]) -> str:
    """The line of ``realise`` for a stage."""
    ties = phase.ties[line.name]
    grid = {n for n, _ in phase.grid}
    whole = line.name in crossing
    names, index = list[str](), list[str]()
    for (name, _), tie in zip(line.free, ties, strict=True):
        if tie in grid and not whole:
            index.append(str(tie))
        else:
            index.append(naming.inner(name, names if whole else (*grid, *names)))
            names.append(index[-1])
    cells = names or [naming.inner("x", grid)]
    return f"{line.name}[{', '.join(index)}] = {naming.buffers[line.name]}[{', '.join(cells)}]"


@dataclass(frozen=True, slots=True)
class _Agent:
    """Writes what one agent of a phase does."""

    phase: Phase
    naming: Naming
    crossing: frozenset[str]

    def text(self) -> list[str]:
        grid = self.phase.grid
        names = ", ".join(n for n, _ in grid)
        names = f"({names})" if len(grid) > 1 else names
        head = f"par grid {names} in {', '.join(e for _, e in grid)}:"
        body = self._storage()
        for line in self.phase.lines:
            body += self._line(line)
        return [head, *_indented(body)]

    def _storage(self) -> list[str]:
        rows, cells = list[str](), list[str]()
        for line in self.phase.lines:
            if line.kind == "output" or line.name in self.crossing:
                continue
            inner = self._inner(line)
            buffer = self.naming.buffers[line.name]
            if inner:
                rows.append(f"{buffer}[{', '.join(e for _, e in inner)}]")
            else:
                cells.append(f"{buffer}[1]")
        found = [f"alloc {', '.join(rows)} scratch"] if rows else []
        return [*found, f"alloc {', '.join(cells)} register"] if cells else found

    def _inner(self, line: Line) -> list[tuple[str, str]]:
        """The free indices of ``line`` that are no index of the grid."""
        grid = {n for n, _ in self.phase.grid}
        ties = self.phase.ties[line.name]
        return [f for f, tie in zip(line.free, ties, strict=True) if tie not in grid]

    def _line(self, line: Line) -> list[str]:
        names = self._names(line)
        value = show_value(self._value(line.value, names))
        cell = show_access(self._cell(line, names))
        if not line.over:
            return _nest(self._loops(line, names), [f"{cell} = {value}"])
        begin = "0" if line.first is None else show_value(self._value(line.first, names))
        sign = "+=" if line.combine == "sum" else "max="
        inside = line.kind != "output" and not self._inner(line) and line.name not in self.crossing
        register = "" if inside else self.naming.fresh(f"acc_{line.name}")
        total = cell if inside else f"{register}[0]"
        reductions = [(names[o.index], _shown(o.bound, names)) for o in line.over]
        body = [f"{total} = {begin}", *_nest(reductions, [f"{total} {sign} {value}"])]
        if not inside:
            body = [f"alloc {register}[1] register", *body, f"{cell} = {total}"]
        return _nest(self._loops(line, names), body)

    def _names(self, line: Line) -> dict[str, str]:
        """What the indices of ``line`` are called in the program."""
        grid = {n for n, _ in self.phase.grid}
        found = dict[str, str]()
        for (name, _), tie in zip(line.free, self.phase.ties[line.name], strict=True):
            if tie is not None and tie in grid:
                found[name] = tie
        rest = [n for n, _ in line.free if n not in found] + [o.index for o in line.over]
        for name in rest:
            found[name] = self.naming.inner(name, (*grid, *found.values()))
        return found

    def _loops(self, line: Line, names: Mapping[str, str]) -> list[tuple[str, str]]:
        return [(names[n], e) for n, e in self._inner(line)]

    def _value(self, value: Value, names: Mapping[str, str]) -> Value:
        changed: dict[str, Expr] = {old: Var(new) for old, new in names.items()}
        moved = map_value(value, lambda e: substitute(e, changed))
        return map_accesses(moved, self._access)

    def _cell(self, line: Line, names: Mapping[str, str]) -> Access:
        plain = Access(line.name, tuple(Var(n) for n, _ in line.free))
        changed: dict[str, Expr] = {old: Var(new) for old, new in names.items()}
        return self._access(map_access(plain, lambda e: substitute(e, changed)))

    def _access(self, access: Access) -> Access:
        """Where a line is kept: an agent's own cells have no indices of the grid."""
        buffer = self.naming.buffers.get(access.buffer)
        if buffer is None:
            return access
        if access.buffer in self.crossing or access.buffer not in self.phase.ties:
            return Access(buffer, access.index)
        grid = {n for n, _ in self.phase.grid}
        ties = self.phase.ties[access.buffer]
        index = tuple(i for i, tie in zip(access.index, ties, strict=True) if tie not in grid)
        return Access(buffer, index or (ZERO,))


def _shown(bound: Expr, names: Mapping[str, str]) -> str:
    return show_expr(substitute(bound, {old: Var(new) for old, new in names.items()}))


def _nest(loops: list[tuple[str, str]], body: list[str]) -> list[str]:
    for name, bound in reversed(loops):
        body = [f"for {name} in 0 .. {bound}:", *_indented(body)]
    return body


def _indented(text: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in text]
