"""The run that wrote what a run reads, solved from indices, generations and guards."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from formwright.ir.program import Access, ApplyOp, For, If, Par
from formwright.smt.atoms import Atoms
from formwright.smt.encode import number, truth
from formwright.smt.instances import (
    Cell,
    Instance,
    cell,
    fresh,
    guards,
    same_generation,
    same_index,
    team_names,
)
from formwright.smt.sites import Site, common
from formwright.smt.terms import (
    ONE,
    ZERO,
    All,
    Eq,
    Formula,
    Le,
    Lt,
    Poly,
    conj,
    disj,
    implies,
    le,
    lt,
    symbol,
)
from formwright.smt.witness import eliminate, mixed_radix

Mode = Literal["equations", "identity", "radix"]


@dataclass(frozen=True, slots=True)
class Written:
    """A run that writes a given cell if ``valid``; ``owner`` are facts on who runs it.

    The facts hold of every value of the other names: an empty team has no owner.
    """

    instance: Instance
    valid: Formula
    owner: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A run of ``site`` whose names below ``depth`` are open, as ``name@tag``."""

    site: Site
    tag: str
    depth: int
    env: Mapping[str, Poly]
    reader: Instance
    target: Cell

    def open_names(self) -> list[str]:
        """The names to solve for: who owns the point is not ours to choose."""
        owners = team_names(self.site)
        return [n for f in self.site.frames[self.depth :] for n in f.binds() if n not in owners]

    def symbols(self) -> list[str]:
        return [f"{n}@{self.tag}" for n in self.open_names()]

    def instance(self, values: Mapping[str, Poly]) -> Instance:
        return Instance(self.site, {n: p.substituted(values) for n, p in self.env.items()})


def writers(
    sites: Sequence[Site], reader: Site, access: Access, ops: Collection[ApplyOp]
) -> list[Site]:
    """Sites that write the storage of ``access`` with one of ``ops``."""
    home = reader.home(access)
    return [
        s
        for s in sites
        if s.apply.op in ops
        and s.apply.destination.buffer == access.buffer
        and s.home(s.apply.destination) == home
    ]


def arbitrary(site: Site, reader: Instance, access: Access, tag: str, atoms: Atoms) -> Written:
    """Any run of ``site`` that writes that cell: what the equations fix is put in its place."""
    draft = _draft(site, reader, access, tag, atoms)
    equations = _equations(draft, draft.instance({}), atoms)
    solution, _ = eliminate(equations, draft.symbols(), atoms)
    return _written(draft, draft.instance(solution), atoms)


def candidates(
    site: Site, reader: Instance, access: Access, tag: str, atoms: Atoms
) -> list[Written]:
    """Runs of ``site`` that may be the one that wrote the cell, with nothing left open."""
    found: dict[tuple[Poly, ...], Written] = {}
    modes: tuple[Mode, ...] = ("equations", "identity", "radix")
    for mode in modes:
        draft = _draft(site, reader, access, f"{tag}.{mode}", atoms)
        run = _closed(draft, mode, atoms)
        values = tuple(run.env[n] for n in draft.open_names())
        if values not in found:
            found[values] = _written(draft, run, atoms)
    return list(found.values())


def _draft(site: Site, reader: Instance, access: Access, tag: str, atoms: Atoms) -> Draft:
    depth = reader.site.home(access).depth
    start = fresh(site, tag, reader.env, depth)
    return Draft(site, tag, depth, start.env, reader, cell(reader, access, atoms))


def _closed(draft: Draft, mode: Mode, atoms: Atoms) -> Instance:
    """One way to fix every name: guards, then indices, common loops, first iterations."""
    alike = _identity(draft)
    known, _ = eliminate(_guard_equations(draft, atoms), draft.symbols(), atoms)
    if mode == "identity":
        known = {**alike, **known}
    partly = draft.instance(known)
    left = [s for s in draft.symbols() if s not in known]
    if mode == "radix":
        made = cell(partly, draft.site.apply.destination, atoms)
        for have, want in zip(made.index, draft.target.index, strict=True):
            digits = mixed_radix(want, have, left, atoms)
            known.update(digits)
            left = [s for s in left if s not in digits]
    else:
        solved, _ = eliminate(_equations(draft, partly, atoms), left, atoms)
        known.update(solved)
    return _grounded(draft, known, {s: p for s, p in alike.items() if s not in known}, atoms)


def _grounded(
    draft: Draft, known: Mapping[str, Poly], alike: Mapping[str, Poly], atoms: Atoms
) -> Instance:
    run = draft.instance(known)
    run = Instance(run.site, {n: p.substituted(alike) for n, p in run.env.items()})
    for frame in draft.site.frames[draft.depth :]:
        for name in frame.binds():
            free = f"{name}@{draft.tag}"
            if name in team_names(draft.site) or not _occurs(free, run):
                continue
            node = frame.node
            block = _block_of(draft, free, run, atoms)
            if block is not None:
                run = Instance(run.site, {n: p.substituted(block) for n, p in run.env.items()})
                continue
            low = number(node.lo, run.env, atoms) if isinstance(node, For) else ZERO
            run = Instance(run.site, {n: p.substituted({free: low}) for n, p in run.env.items()})
    return run


def _block_of(draft: Draft, free: str, run: Instance, atoms: Atoms) -> dict[str, Poly] | None:
    """Which block an iteration is in, where an inner loop begins at one: ``q in p*T ..``."""
    for frame in draft.site.frames[draft.depth :]:
        node = frame.node
        if isinstance(node, For) and free not in run.env[node.var].symbols():
            first = number(node.lo, run.env, atoms)
            if free in first.symbols():
                return mixed_radix(run.env[node.var], first, [free], atoms) or None
    return None


def _occurs(free: str, run: Instance) -> bool:
    return any(free in p.symbols() for p in run.env.values())


def _equations(draft: Draft, writer: Instance, atoms: Atoms) -> list[Poly]:
    made = cell(writer, draft.site.apply.destination, atoms)
    found = [a - b for a, b in zip(made.index, draft.target.index, strict=True)]
    if made.generation is not None and draft.target.generation is not None:
        found.insert(0, made.generation - draft.target.generation)
    return found


def _guard_equations(draft: Draft, atoms: Atoms) -> list[Poly]:
    """Guards such as ``pc = 0`` say which run it must be."""
    found: list[Poly] = []
    for frame in draft.site.frames[draft.depth :]:
        if isinstance(frame.node, If):
            cond = truth(frame.node.cond, draft.env, atoms)
            parts = cond.parts if isinstance(cond, All) else (cond,)
            found += [part.poly for part in parts if isinstance(part, Eq)]
    return found


def _identity(draft: Draft) -> dict[str, Poly]:
    """The names of common loops and forks, equal to the reader's."""
    shared = common(draft.site, draft.reader.site)
    names = {n for f in draft.site.frames[draft.depth : shared] for n in f.binds()}
    return {f"{n}@{draft.tag}": draft.reader.env[n] for n in draft.open_names() if n in names}


def _written(draft: Draft, run: Instance, atoms: Atoms) -> Written:
    destination = run.site.apply.destination
    made = cell(run, destination, atoms)
    team = run.site.team
    start = draft.depth
    owner: list[Formula] = []
    conditions = [same_generation(made, draft.target), same_index(made, draft.target)]
    if team is None or team < start:
        conditions += guards(run, atoms, start)
    else:
        owner = owner_range(run, atoms)
        conditions += guards(run, atoms, start, team)
        conditions += guards(run, atoms, team + 1, roles=False)
        conditions += manned(run, atoms)
    if destination.clip:
        conditions.append(made.inside)
    return Written(run, conj(conditions), tuple(owner))


def owner_range(run: Instance, atoms: Atoms) -> list[Formula]:
    """Where the team (or the role) has an agent, the owner is one of its agents."""
    team = run.site.team
    if team is None:
        return []
    there = conj(manned(run, atoms))
    mine = [truth(c, run.env, atoms) for c in run.site.role]
    return [implies(there, conj((*guards(run, atoms, team, team + 1), *mine)))]


def manned(run: Instance, atoms: Atoms) -> list[Formula]:
    """The team that runs it has an agent, so that each point has an owner.

    A role has one if one of a few agents is in it: the first two, the last, one it names.
    """
    team = run.site.team
    node = None if team is None else run.site.frames[team].node
    if not isinstance(node, Par):
        return []
    sizes = [number(e, run.env, atoms) for e in node.extents]
    if not run.site.role:
        return [le(ONE, size) for size in sizes]
    found: list[Formula] = []
    menus = [_members(name, size, run, atoms) for name, size in zip(node.vars, sizes, strict=True)]
    for agent in product(*menus):
        env = {**run.env, **dict(zip(node.vars, agent, strict=True))}
        there = [
            bound
            for name, size in zip(node.vars, sizes, strict=True)
            for bound in (le(ZERO, env[name]), lt(env[name], size))
        ]
        found.append(conj((*there, *(truth(c, env, atoms) for c in run.site.role))))
    return [disj(found)]


def _members(name: str, size: Poly, run: Instance, atoms: Atoms) -> list[Poly]:
    """Agents that may be in the role of a run, by the value of one name."""
    found = [ZERO, ONE, size - ONE]
    env = {**run.env, name: symbol(name)}
    for cond in run.site.role:
        known = truth(cond, env, atoms)
        for part in known.parts if isinstance(known, All) else (known,):
            slope = part.poly.coefficient(name) if isinstance(part, Eq | Le | Lt) else None
            if isinstance(part, Eq | Le) and slope in (1, -1):
                found.append((part.poly - symbol(name).scaled(slope)).scaled(-slope))
    return list(dict.fromkeys(p for p in found if name not in atoms.closure(p.symbols())))
