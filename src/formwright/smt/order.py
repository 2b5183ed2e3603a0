"""Happens-before of two runs, by their paths from the root (rules P6, P7 and P9)."""

from itertools import product

from formwright.ir.program import Apply, Barrier, Commit, For, Par, Wait
from formwright.smt.atoms import Atoms
from formwright.smt.counters import Counters, textual
from formwright.smt.counts import of_kind, passed
from formwright.smt.encode import number, truth
from formwright.smt.instances import (
    Instance,
    cell,
    fresh,
    guards,
    team_names,
)
from formwright.smt.lazy import Reach, reaches
from formwright.smt.sites import Site, Sites, common
from formwright.smt.terms import (
    FALSE,
    ONE,
    TRUE,
    Formula,
    Poly,
    conj,
    disj,
    eq,
    implies,
    le,
    lt,
    negated,
)

BARRIERS, COMMITS = of_kind(Barrier), of_kind(Commit)


class Order:
    """Happens-before in one program; ``before(e, f)`` is a formula over both runs."""

    def __init__(self, sites: Sites, atoms: Atoms, counters: Counters | None = None) -> None:
        self._sites = sites
        self._atoms = atoms
        self._counters = counters if sites.counters else None

    def before(self, first: Instance, second: Instance, reads_first: bool = False) -> Formula:
        """``first`` is over before ``second`` begins.

        ``reads_first``: the first event is a read and the second a write; then a run comes
        before itself, since an instance reads before it writes.
        """
        node = first.site.node
        if not (isinstance(node, Apply) and node.asynchronous):
            return self._sequential(first, second, reads_first)
        waited = [
            conj((*guards(wait, self._atoms), done, self._sequential(wait, second, False)))
            for wait, done in self._completions(first, second)
        ]
        return disj((self._ended(first, second), *waited))

    def apart(self, first: Instance, second: Instance) -> Formula:
        """The two runs belong to different agents."""
        found: list[Formula] = []
        for frame in first.site.frames[: common(first.site, second.site)]:
            if isinstance(frame.node, Par):
                found.append(negated(_same(frame.binds(), first, second)))
        return disj(found)

    def _ended(self, event: Instance, second: Instance) -> Formula:
        """An agent completes its groups when it ends, and before storage they touch ends (P9).

        The event is over with the block of the innermost of both; ``second`` comes after.
        """
        site = event.site
        touched = [
            site.home(r.access).depth
            for r in reaches(site.apply)
            if not r.when and not r.access.clip
        ]
        block = max(site.agent, *touched) - 1  # the frame whose block that is
        shared = common(site, second.site)
        result: Formula = FALSE
        if shared <= block:
            result = self._at_parting(event, second, shared, False)
        for level in range(min(shared - 1, block), -1, -1):
            node = site.frames[level].node
            if isinstance(node, For):
                mine, other = event.env[node.var], second.env[node.var]
                result = disj((lt(mine, other), conj((eq(mine, other), result))))
            elif isinstance(node, Par):  # other agents do not wait for its end
                result = conj((_same(node.vars, event, second), result))
        return result

    def _sequential(self, first: Instance, second: Instance, reads_first: bool) -> Formula:
        shared = common(first.site, second.site)
        result = self._at_parting(first, second, shared, reads_first)
        for level in range(shared - 1, -1, -1):
            frame = first.site.frames[level]
            node = frame.node
            if isinstance(node, For):
                mine, other = first.env[node.var], second.env[node.var]
                result = disj((lt(mine, other), conj((eq(mine, other), result))))
            elif isinstance(node, Par) and node.kind == "grid":
                result = conj((_same(node.vars, first, second), result))
            elif isinstance(node, Par):
                same = _same(node.vars, first, second)
                earlier = self._earlier_epoch(first, second, level + 1)
                if self._counters is not None and earlier != TRUE:
                    earlier = disj((earlier, self._counters.before(first, second, textual)))
                result = disj((conj((same, result)), conj((negated(same), earlier))))
        return result

    def _at_parting(
        self, first: Instance, second: Instance, shared: int, reads_first: bool
    ) -> Formula:
        mine, other = first.site.frames, second.site.frames
        if shared < len(mine) and shared < len(other):
            return TRUE if mine[shared].position < other[shared].position else FALSE
        node = first.site.node
        if reads_first and isinstance(node, Apply) and not node.asynchronous:
            return _same(mine[-1].binds(), first, second)
        return FALSE

    def _earlier_epoch(self, first: Instance, second: Instance, start: int) -> Formula:
        mine = passed(first, start, BARRIERS, self._atoms)
        other = passed(second, start, BARRIERS, self._atoms)
        return lt(mine.minus(other).poly(self._atoms), Poly(()))

    def _completions(self, event: Instance, until: Instance) -> list[tuple[Instance, Formula]]:
        """Waits of the agent of ``event``, each with the condition that it completes it."""
        found: list[tuple[Instance, Formula]] = []
        start = event.site.agent
        group = passed(event, start, COMMITS, self._atoms)
        for site in self._sites.waits:
            node = site.node
            if common(site, event.site) < start or site.agent != start:
                continue
            assert isinstance(node, Wait)
            for wait in self._candidates(site, event, until):
                closed = passed(wait, start, COMMITS, self._atoms).minus(group)
                pending = number(node.pending, wait.env, self._atoms)
                since = closed.poly(self._atoms)  # groups closed from that of the event on
                found.append((wait, conj((le(ONE, since), le(pending + ONE, since)))))
        return found

    def _candidates(self, site: Site, event: Instance, until: Instance) -> list[Instance]:
        """Runs of a wait near the two events: the same iteration, the next, the last."""
        start = event.site.agent
        near = [(event, ONE), (until, ONE.scaled(-1))]
        loops = [(i, f.node) for i, f in enumerate(site.frames) if isinstance(f.node, For)]
        inner = [(i, node) for i, node in loops if i >= start]
        choices: list[list[Poly | None]] = []
        for level, node in inner:
            values: dict[Poly | None, None] = {None: None}
            for run, step in near:
                if common(site, run.site) > level:
                    values[run.env[node.var]] = None
                    values[run.env[node.var] + step] = None
            choices.append(list(values))
        runs: list[Instance] = []
        base = fresh(site, "wait", event.env, start)
        for picked in product(*choices):
            env = dict(base.env)
            for (_, node), value in zip(inner, picked, strict=True):
                last = number(node.hi, env, self._atoms) - ONE
                env[node.var] = last if value is None else value
            runs.append(Instance(site, env))
        return runs


def _same(names: tuple[str, ...], left: Instance, right: Instance) -> Formula:
    return conj(eq(left.env[n], right.env[n]) for n in names)


def owner_facts(left: Instance, right: Instance, atoms: Atoms) -> list[Formula]:
    """What rule P4 says of the owners of two runs of one team.

    One point has one owner; equal first indices of one ``dist`` buffer have one owner.
    Nothing else is known: owners are the adversary's.
    """
    shared = common(left.site, right.site)
    names = team_names(left.site)
    team = left.site.team
    if not names or team is None or shared <= team:
        return []
    one = conj(eq(left.env[n], right.env[n]) for n in sorted(names))
    facts: list[Formula] = []
    if left.site is right.site:
        rest = [n for f in left.site.frames for n in f.binds() if n not in names]
        facts.append(implies(conj(eq(left.env[n], right.env[n]) for n in rest), one))
    outer = [n for f in left.site.frames[:team] for n in f.binds()]
    one_run = [eq(left.env[n], right.env[n]) for n in outer]
    for mine in _distributed(left.site):
        for other in _distributed(right.site):
            home = left.site.home(mine.access)
            if mine.access.buffer != other.access.buffer or right.site.home(other.access) != home:
                continue
            a, b = cell(left, mine.access, atoms), cell(right, other.access, atoms)
            first = home.buffer.dist
            same = [eq(x, y) for x, y in zip(a.index[:first], b.index[:first], strict=True)]
            made = [truth(c, left.env, atoms) for c in mine.when]
            made += [truth(c, right.env, atoms) for c in other.when]
            facts.append(implies(conj((*one_run, *made, *same)), one))
    return [f for f in facts if f != TRUE]


def _distributed(site: Site) -> list[Reach]:
    return [r for r in reaches(site.apply) if site.home(r.access).buffer.dist > 0]
