"""The program IR: a closed union of nodes; the numbered rules are in ``docs/program-rules.md``.

Load, pack, multiply-add and store are all :class:`Apply`: one scalar assignment for each
point of a box.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal as OneOf

from formwright.base.source import Span
from formwright.ir.expr import ONE, Expr

Home = OneOf["global", "shared", "scratch", "register"]
DType = OneOf["f32", "f64", "bf16", "f16", "i32", "i8"]
ApplyOp = OneOf["=", "+=", "max="]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Storage of ``shape``; with ``ring`` the slot of generation ``g`` is ``g mod ring``.

    ``dist = n``: the first ``n`` indices of an access decide which agent of a team owns
    the point. Global buffers are the tensors of the workload and are not allocated.
    """

    name: str
    shape: tuple[Expr, ...]
    home: Home
    dtype: DType = "f32"
    ring: Expr | None = None
    dist: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """One cell of a buffer. ``clip``: outside reads give 0, outside writes are skipped."""

    buffer: str
    index: tuple[Expr, ...]
    generation: Expr | None = None
    clip: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    value: Fraction
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Read:
    access: Access
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Index:
    """An index expression used as a value."""

    expr: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Op:
    """``+ - * /`` (two arguments), ``neg exp sqrt rsqrt`` (one), ``max min`` (two)."""

    name: str
    args: tuple["Value", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Select:
    """``if c then a else b`` on values; the condition is an index expression."""

    cond: Expr
    then: "Value"
    other: "Value"
    span: Span | None = field(default=None, compare=False, repr=False)


Value = Literal | Read | Index | Op | Select


@dataclass(frozen=True, slots=True)
class Alloc:
    """Fresh, undefined storage for the agent that meets it; visible to the end of its block."""

    buffers: tuple[Buffer, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class For:
    """``for var in lo .. hi``: in order, ``lo <= var < hi``."""

    var: str
    lo: Expr
    hi: Expr
    body: tuple["Stmt", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Par:
    """Forks one agent for each point of ``extents`` and joins them.

    Agents of a ``grid`` share no barrier; agents of a ``team`` do, and the points of an
    ``Apply`` inside a team are spread over its agents.
    """

    kind: OneOf["grid", "team"]
    vars: tuple[str, ...]
    extents: tuple[Expr, ...]
    body: tuple["Stmt", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    cond: Expr
    body: tuple["Stmt", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BoxVar:
    """``0 <= name < extent``."""

    name: str
    extent: Expr


@dataclass(frozen=True, slots=True)
class Apply:
    """``destination op value`` for each point of ``box`` (resolved: never implicit here)."""

    box: tuple[BoxVar, ...]
    destination: Access
    op: ApplyOp
    value: Value
    asynchronous: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Barrier:
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Commit:
    """Closes the agent's current group of asynchronous applies."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Wait:
    """Blocks until at most ``pending`` of the agent's newest committed groups are unfinished."""

    pending: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Arrive:
    """Adds one to a counter of the team, or to one cell of an array of counters."""

    counter: str
    index: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Await:
    """Blocks until the counter has reached ``count``.

    With ``phase`` it sees only whether the number of full phases of that many arrivals is even
    or odd, and passes when that is as it will be at ``count``.
    """

    counter: str
    count: Expr
    index: Expr | None = None
    phase: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Hint:
    """No meaning: ``unroll`` names the next loop's factor, ``prefetch`` an access.

    ``stream`` names what the next apply stores: it is not read again soon.
    """

    kind: OneOf["unroll", "prefetch", "stream"]
    factor: Expr = ONE
    access: Access | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


Stmt = Alloc | For | Par | If | Apply | Barrier | Commit | Wait | Arrive | Await | Hint
