"""Transition systems as data: what a refinement step relates.

A system stands for itself as seen by one *token*: rigid values, arbitrary in their ranges,
such as one reduction index or one agent. What holds for an arbitrary token holds for all, so
arrays and sums need no quantifier. A cell of an indexed state variable is
:class:`formwright.ir.expr.Cell`. The rules (S1 ...) stand in ``docs/refinement.md``.
"""

from dataclasses import dataclass, field
from typing import Literal

from formwright.base.source import Span
from formwright.ir.expr import Expr


@dataclass(frozen=True, slots=True)
class Index:
    """A name with its range ``lo <= name < hi``; both ends ``None``: any integer."""

    name: str
    lo: Expr | None
    hi: Expr | None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StateVar:
    """``var NAME[index] : sort = initial``; without ``index`` one value.

    ``lo`` and ``hi`` bound an integer (half open) and are an invariant to be shown; both are
    ``None`` for ``int`` and for ``bool``. ``initial`` may name the index, tokens and parameters.
    """

    name: str
    index: Index | None
    sort: Literal["int", "bool"]
    lo: Expr | None
    hi: Expr | None
    initial: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Clause:
    """``forall i in R, j in Q: condition``; without indices just the condition."""

    forall: tuple[Index, ...]
    condition: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Update:
    """``x := e``, ``x[i] := e`` or, with ``each``, ``x[v] := e for every v``.

    All updates of an action happen at once and read the state before. ``each`` names the
    bound index, which ``value`` may use; ``index`` is ``None`` then.
    """

    name: str
    index: Expr | None
    value: Expr
    each: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Action:
    """A guarded action. Parameters are chosen freely in their ranges, by whoever acts.

    ``emits`` are the values that the world sees, in order. ``environment``: the surroundings
    act (a transfer completes, an arbiter grants), not the design.
    """

    name: str
    params: tuple[Index, ...]
    guards: tuple[Clause, ...]
    updates: tuple[Update, ...]
    emits: tuple[Expr, ...]
    environment: bool
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Let:
    """``let NAME[index, ...] = value``: a name for an expression; readers take none (see
    :func:`formwright.ir.inline.inlined`)."""

    name: str
    indices: tuple[str, ...]
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assumption:
    """What the system takes from its surroundings; ``text`` is for the composed theorem."""

    name: str
    text: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RankTerm:
    """``sum(i in R) value``; without indices the value alone. A term is a natural number."""

    over: tuple[Index, ...]
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class System:
    """``final`` says when a run may end; ``result`` is what it then has computed.

    ``rank`` bounds the length of runs, where the system states it (the top of a chain must).
    """

    name: str
    tokens: tuple[Index, ...]
    state: tuple[StateVar, ...]
    actions: tuple[Action, ...]
    final: Expr
    result: tuple[Expr, ...]
    assumptions: tuple[Assumption, ...] = ()
    rank: tuple[RankTerm, ...] = ()
    lets: tuple[Let, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A coarse action with its arguments, over the fine state before and the fine parameters."""

    action: str
    args: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Match:
    """``match ACTION when condition: calls``: the coarse steps of one fine step, none or more.

    The matches of an action are tried in order; the first whose condition holds counts.
    An action without a match is internal work.
    """

    action: str
    when: Expr | None
    calls: tuple[Call, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Invariant:
    """A named clause of the relation; coarse variables are called ``coarse.NAME``."""

    name: str
    clause: Clause
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Total:
    """``total NAME = sum(i in R) value``: a state variable that keeps a sum, cell by cell.

    Each ``value`` is a natural number. ``name`` is a fine variable without index; that it
    equals the sum is an invariant, shown by the change at the one index an action touches.
    """

    name: str
    over: Index
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Pick:
    """A value that exists, to show progress with.

    ``least``: some ``name`` in a non-empty range has the least ``value``; ``positive``: some
    ``name`` has ``value >= 1``, which needs a total of those values of at least 1.
    """

    name: str
    kind: Literal["least", "positive"]
    over: Index
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refinement:
    """One step: every behaviour of ``fine`` is a behaviour of ``coarse``."""

    coarse: System
    fine: System
    relation: tuple[Invariant, ...]
    totals: tuple[Total, ...]
    matches: tuple[Match, ...]
    picks: tuple[Pick, ...]
    rank: tuple[RankTerm, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
