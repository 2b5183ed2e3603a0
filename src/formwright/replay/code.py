"""Programs with their expressions compiled: what the machine steps through."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import Protocol, assert_never

from formwright.ir.expr import Expr, Scalar
from formwright.ir.inline import inlined
from formwright.ir.program import (
    Access,
    Alloc,
    Apply,
    ApplyOp,
    Arrive,
    Await,
    Barrier,
    Commit,
    For,
    Hint,
    If,
    Index,
    Literal,
    Op,
    Par,
    Read,
    Select,
    Stmt,
    Value,
    Wait,
)
from formwright.ir.rewrite import accesses, free_names
from formwright.ir.show import show_access
from formwright.ir.template import Template
from formwright.replay.compiled import (
    BoolCode,
    Env,
    IntCode,
    compile_bool,
    compile_expr,
    compile_int,
)


class Reader(Protocol):
    """What a value needs of the machine."""

    def read(self, access: "AccessCode", env: Env) -> int: ...
    def number(self, value: Scalar) -> int: ...
    def apply(self, name: str, args: tuple[int, ...]) -> int: ...


ValueCode = Callable[[Reader, Env], int]


@dataclass(frozen=True, slots=True)
class AccessCode:
    buffer: str
    index: tuple[IntCode, ...]
    generation: IntCode | None
    clip: bool


@dataclass(frozen=True, slots=True)
class BufferCode:
    name: str
    shape: tuple[IntCode, ...]
    ring: IntCode | None
    dist: int


@dataclass(frozen=True, slots=True, eq=False)
class ForCode:
    number: int
    var: str
    lo: IntCode
    hi: IntCode
    body: tuple["Code", ...]


@dataclass(frozen=True, slots=True, eq=False)
class ParCode:
    number: int
    kind: OneOf["grid", "team"]
    vars: tuple[str, ...]
    extents: tuple[IntCode, ...]
    body: tuple["Code", ...]


@dataclass(frozen=True, slots=True, eq=False)
class IfCode:
    cond: BoolCode
    body: tuple["Code", ...]


@dataclass(frozen=True, slots=True, eq=False)
class AllocCode:
    number: int
    buffers: tuple[BufferCode, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ApplyCode:
    """``owner``: the access to a ``dist`` buffer that decides who runs a point, and how many
    of its indices do. ``torn_owner``: why there is no such owner though rule P4 asks for one."""

    number: int
    names: tuple[str, ...]
    extents: tuple[IntCode, ...]
    destination: AccessCode
    op: ApplyOp
    value: ValueCode
    asynchronous: bool
    owner: tuple[AccessCode, int] | None
    torn_owner: str
    reads: frozenset[str]
    role: tuple[BoolCode, ...]
    """Guards around it that name the agent of its team (rule P14)."""
    stmt: Apply = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class SyncCode:
    """``barrier``, ``commit``, ``wait``, ``arrive`` and ``await``."""

    number: int
    kind: OneOf["barrier", "commit", "wait", "arrive", "await"]
    stmt: Barrier | Commit | Wait | Arrive | Await = field(repr=False)
    count: IntCode | None = None
    counter: str = ""
    index: IntCode | None = None
    phase: IntCode | None = None


Code = ForCode | ParCode | IfCode | AllocCode | ApplyCode | SyncCode


@dataclass(frozen=True, slots=True)
class ProgramCode:
    """``globals`` maps each tensor to its shape for these values."""

    template: Template
    constants: Mapping[str, Scalar]
    body: tuple[Code, ...]
    globals: Mapping[str, tuple[int, ...]]
    inputs: frozenset[str]
    output: str


def compile_program(template: Template, values: Mapping[str, Scalar]) -> ProgramCode:
    """The program for given extents, agents, decisions and chip fields.

    Raises ``EvaluationError`` when the shape of a tensor has no value.
    """
    closed = inlined(template) if template.definitions else template
    compiler = _Compiler(values, _dists(closed))
    workload = closed.scope.workload
    shapes = {
        t.name: tuple(int(values[e]) for e in t.extents)
        for t in (*workload.inputs, workload.output)
    }
    for buffer in closed.globals:
        shapes.setdefault(buffer.name, tuple(compile_int(s, values)({}) for s in buffer.shape))
    inputs = frozenset(t.name for t in workload.inputs)
    body = compiler.block(closed.program)
    return ProgramCode(closed, values, body, shapes, inputs, workload.output.name)


def _dists(template: Template) -> dict[str, int]:
    found: dict[str, int] = {}

    def walk(body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            if isinstance(stmt, Alloc):
                found.update((b.name, b.dist) for b in stmt.buffers)
            elif isinstance(stmt, For | Par | If):
                walk(stmt.body)

    walk(template.program)
    return found


class _Compiler:
    def __init__(self, constants: Mapping[str, Scalar], dists: Mapping[str, int]) -> None:
        self._constants = constants
        self._dists = dists
        self._count = 0
        self._team: frozenset[str] = frozenset()
        self._role: tuple[Expr, ...] = ()
        self._roles: dict[str, tuple[Expr, ...]] = {}

    def block(self, body: tuple[Stmt, ...]) -> tuple[Code, ...]:
        return tuple(self.stmt(s) for s in body if not isinstance(s, Hint))

    def stmt(self, stmt: Stmt) -> Code:
        self._count += 1
        number = self._count
        match stmt:
            case Alloc(buffers):
                return AllocCode(
                    number,
                    tuple(
                        BufferCode(
                            b.name,
                            tuple(self._int(s) for s in b.shape),
                            None if b.ring is None else self._int(b.ring),
                            b.dist,
                        )
                        for b in buffers
                    ),
                )
            case For(var, lo, hi, body):
                return ForCode(number, var, self._int(lo), self._int(hi), self.block(body))
            case Par(kind, names, extents, body):
                codes = tuple(self._int(e) for e in extents)
                outer = (self._team, self._role)
                self._team, self._role = frozenset(names if kind == "team" else ()), ()
                inside = self.block(body)
                self._team, self._role = outer
                return ParCode(number, kind, names, codes, inside)
            case If(cond, body):
                role = self._role
                if free_names(cond) & self._team:
                    self._role = (*role, cond)
                inside = self.block(body)
                self._role = role
                return IfCode(compile_bool(cond, self._constants), inside)
            case Apply():
                return self._apply(stmt, number)
            case Barrier():
                return SyncCode(number, "barrier", stmt)
            case Commit():
                return SyncCode(number, "commit", stmt)
            case Wait(pending):
                return SyncCode(number, "wait", stmt, self._int(pending))
            case Arrive(counter, place):
                return SyncCode(number, "arrive", stmt, None, counter, self._maybe(place))
            case Await(counter, count, place, phase):
                many = self._int(count)
                where, seen = self._maybe(place), self._maybe(phase)
                return SyncCode(number, "await", stmt, many, counter, where, seen)
            case Hint():
                raise AssertionError("hints are left out of compiled blocks")
            case _:
                assert_never(stmt)

    def _maybe(self, expr: Expr | None) -> IntCode | None:
        return None if expr is None else self._int(expr)

    def _int(self, expr: Expr) -> IntCode:
        return compile_int(expr, self._constants)

    def _access(self, access: Access) -> AccessCode:
        generation = None if access.generation is None else self._int(access.generation)
        index = tuple(self._int(i) for i in access.index)
        return AccessCode(access.buffer, index, generation, access.clip)

    def _apply(self, stmt: Apply, number: int) -> ApplyCode:
        used = (stmt.destination, *accesses(stmt.value))
        deciding = [a for a in used if self._dists.get(a.buffer)]
        owner = deciding[0] if deciding else None
        return ApplyCode(
            number,
            tuple(b.name for b in stmt.box),
            tuple(self._int(b.extent) for b in stmt.box),
            self._access(stmt.destination),
            stmt.op,
            self._value(stmt.value),
            stmt.asynchronous,
            None if owner is None else (self._access(owner), self._dists[owner.buffer]),
            self._torn_owner(deciding),
            frozenset(a.buffer for a in accesses(stmt.value)),
            tuple(compile_bool(c, self._constants) for c in self._role),
            stmt,
        )

    def _torn_owner(self, deciding: list[Access]) -> str:
        for access in deciding:
            if self._roles.setdefault(access.buffer, self._role) != self._role:
                return f"{access.buffer} has dist and is used in two roles (rule P14)"
        if len({a.index[: self._dists[a.buffer]] for a in deciding}) < 2:
            return ""
        names = " and ".join(dict.fromkeys(show_access(a) for a in deciding))
        return f"the owner of a point is torn: {names} decide differently (rule P4)"

    def _value(self, value: Value) -> ValueCode:
        match value:
            case Literal(number):
                return lambda reader, env: reader.number(number)
            case Read(access):
                code = self._access(access)
                return lambda reader, env: reader.read(code, env)
            case Index(expr):
                index = compile_expr(expr, self._constants)
                return lambda reader, env: reader.number(index(env))
            case Op(name, args):
                return _operation(name, tuple(self._value(a) for a in args))
            case Select(cond, then, other):
                c = compile_bool(cond, self._constants)
                yes, no = self._value(then), self._value(other)
                return lambda reader, env: yes(reader, env) if c(env) else no(reader, env)
            case _:
                assert_never(value)


def _operation(name: str, args: tuple[ValueCode, ...]) -> ValueCode:
    if len(args) == 2:
        left, right = args
        return lambda reader, env: reader.apply(name, (left(reader, env), right(reader, env)))
    return lambda reader, env: reader.apply(name, tuple(a(reader, env) for a in args))


def compile_value(value: Value, constants: Mapping[str, Scalar]) -> ValueCode:
    """A value by itself, as the workload's term is."""
    return _Compiler(constants, {})._value(value)
