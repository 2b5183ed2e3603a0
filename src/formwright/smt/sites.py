"""Where each statement of a program stands: the text that conditions are derived from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    Arrive,
    Await,
    Barrier,
    Buffer,
    Commit,
    For,
    Hint,
    If,
    Par,
    Stmt,
    Wait,
)
from formwright.ir.rewrite import accesses, free_names, map_stmt
from formwright.smt.encode import UnderivableError


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a path: ``node`` stands at ``position`` of ``block``."""

    block: tuple[Stmt, ...]
    position: int
    node: Stmt

    def binds(self) -> tuple[str, ...]:
        """The names that this step gives a value to."""
        match self.node:
            case For(var):
                return (var,)
            case Par(_, names):
                return names
            case Apply(box):
                return tuple(b.name for b in box)
            case _:
                return ()


@dataclass(frozen=True, slots=True)
class Home:
    """A buffer of one ``alloc`` (by its ``path``): runs that share ``depth`` frames share it."""

    buffer: Buffer
    depth: int
    path: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One statement that does something, with its way from the root (itself the last step)."""

    number: int
    frames: tuple[Frame, ...]
    homes: Mapping[str, Home]
    span: Span | None = field(default=None)

    @property
    def node(self) -> Stmt:
        return self.frames[-1].node

    @property
    def apply(self) -> Apply:
        node = self.node
        assert isinstance(node, Apply)
        return node

    @property
    def path(self) -> tuple[int, ...]:
        return tuple(f.position for f in self.frames)

    @property
    def team(self) -> int | None:
        """The index of the frame of the team that runs this statement."""
        for index, frame in enumerate(self.frames):
            if isinstance(frame.node, Par) and frame.node.kind == "team":
                return index
        return None

    @property
    def roles(self) -> tuple[int, ...]:
        """The frames of guards that name the agent of the team: its role (rule P14)."""
        team = self.team
        if team is None:
            return ()
        names = set(self.frames[team].binds())
        below = range(team + 1, len(self.frames))
        return tuple(
            n
            for n in below
            if isinstance(self.frames[n].node, If) and names & names_in(self.frames[n].node)
        )

    @property
    def role(self) -> tuple[Expr, ...]:
        """The conditions of its role."""
        nodes = [self.frames[n].node for n in self.roles]
        return tuple(node.cond for node in nodes if isinstance(node, If))

    @property
    def agent(self) -> int:
        """How many frames enclose the text of the agent that runs this statement."""
        forks = [i + 1 for i, f in enumerate(self.frames) if isinstance(f.node, Par)]
        return forks[-1] if forks else 0

    def home(self, access: Access) -> Home:
        return self.homes[access.buffer]


@dataclass(frozen=True, slots=True)
class Sites:
    """Every statement of a program by kind."""

    applies: tuple[Site, ...]
    barriers: tuple[Site, ...]
    commits: tuple[Site, ...]
    waits: tuple[Site, ...]
    counters: tuple[Site, ...]
    allocs: tuple[Site, ...]

    @property
    def synchronising(self) -> tuple[Site, ...]:
        return (*self.barriers, *self.commits, *self.waits)


def sites_of(program: tuple[Stmt, ...], tensors: tuple[Buffer, ...]) -> Sites:
    """The statements of ``program``; raises :class:`UnderivableError` on a fork inside a team."""
    homes = {b.name: Home(b, 0) for b in tensors}
    found = list(_walk(program, (), homes, False))
    numbered = [Site(n, s.frames, s.homes, s.span) for n, s in enumerate(found)]
    _refuse_two_roles([s for s in numbered if isinstance(s.node, Apply)])

    def pick(*kinds: type) -> tuple[Site, ...]:
        return tuple(s for s in numbered if isinstance(s.node, kinds))

    return Sites(
        applies=pick(Apply),
        barriers=pick(Barrier),
        commits=pick(Commit),
        waits=pick(Wait),
        counters=pick(Arrive, Await),
        allocs=pick(Alloc),
    )


def _walk(
    block: tuple[Stmt, ...], above: tuple[Frame, ...], outer: Mapping[str, Home], in_team: bool
) -> Iterator[Site]:
    homes = dict(outer)
    bound = {name for frame in above for name in frame.binds()}
    for position, node in enumerate(block):
        frame = Frame(block, position, node)
        clash = bound & set(frame.binds())
        if clash:
            raise UnderivableError(f'"{min(clash)}" is bound twice on one path', node.span)
        frames = (*above, frame)
        match node:
            case Alloc(buffers):
                if in_team:
                    raise UnderivableError(
                        "storage of one agent inside a team is not derived yet", node.span
                    )
                again = [b.name for b in buffers if b.name in homes]
                if again:
                    raise UnderivableError(f"a second storage {again[0]} in sight", node.span)
                path = tuple(f.position for f in frames)
                homes.update({b.name: Home(b, len(above), path) for b in buffers})
                yield Site(0, frames, dict(homes), node.span)
            case For(_, _, _, body) | If(_, body):
                yield from _walk(body, frames, homes, in_team)
            case Par(kind, _, _, body):
                if in_team:
                    raise UnderivableError("a fork inside a team is not derived yet", node.span)
                yield from _walk(body, frames, homes, kind == "team")
            case Apply():
                _refuse_named_agent(frames)
                if in_team:
                    _refuse_two_owners(node, homes)
                for access in (node.destination, *accesses(node.value)):
                    if access.buffer not in homes:
                        raise UnderivableError(f"no storage {access.buffer} in sight", node.span)
                yield Site(0, frames, dict(homes), node.span)
            case Barrier() | Commit() | Wait() | Arrive() | Await():
                yield Site(0, frames, dict(homes), node.span)
            case Hint():
                pass
            case _:
                assert_never(node)


def _refuse_named_agent(frames: tuple[Frame, ...]) -> None:
    """An agent does not choose its points (rule P4), so it can't be named on the way to one.

    A guard may name it: it says which agents share the points (rule P14).
    """
    owners: set[str] = set()
    for frame in frames:
        named = owners & names_in(frame.node)
        if named and not isinstance(frame.node, If):
            raise UnderivableError(
                f'an apply that depends on the agent "{min(named)}"', frame.node.span
            )
        if isinstance(frame.node, Par) and frame.node.kind == "team":
            owners |= set(frame.node.vars)


def _refuse_two_roles(applies: list[Site]) -> None:
    """The owner of a cell of a ``dist`` buffer is one agent, so one role uses it (rule P14)."""
    known: dict[Home, tuple[Expr, ...]] = {}
    for site in applies:
        for access in (site.apply.destination, *accesses(site.apply.value)):
            home = site.home(access)
            if not home.buffer.dist:
                continue
            if known.setdefault(home, site.role) != site.role:
                raise UnderivableError(
                    f"{access.buffer} has dist and is used in two roles", site.span
                )
            loops = {f.node.var for f in site.frames if isinstance(f.node, For)}
            if any(free_names(c) & loops for c in site.role):
                raise UnderivableError(
                    f"{access.buffer} has dist and its role changes with the iteration", site.span
                )


def _refuse_two_owners(apply: Apply, homes: Mapping[str, Home]) -> None:
    """All accesses of an apply that have ``dist`` decide by the same indices (rule P4)."""
    deciding = {
        a.index[: homes[a.buffer].buffer.dist]
        for a in (apply.destination, *accesses(apply.value))
        if a.buffer in homes and homes[a.buffer].buffer.dist
    }
    if len(deciding) > 1:
        raise UnderivableError("two owners for one point", apply.span)


def names_in(node: Stmt) -> frozenset[str]:
    """The names that a statement itself reads, without its body."""
    found: set[str] = set()

    def note(expr: Expr) -> Expr:
        found.update(free_names(expr))
        return expr

    shallow = replace(node, body=()) if isinstance(node, For | Par | If) else node
    map_stmt(shallow, note)
    return frozenset(found)


def common(left: Site, right: Site) -> int:
    """How many frames the two paths share."""
    count = 0
    for a, b in zip(left.frames, right.frames, strict=False):
        if a.node is not b.node or a.position != b.position:
            break
        count += 1
    return count
