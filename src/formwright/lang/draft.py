"""What stands in a file before its names are resolved."""

from dataclasses import dataclass, field
from typing import Literal

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.ir.program import Access, ApplyOp, BoxVar, DType, Stmt, Value
from formwright.ir.structures import Structure
from formwright.ir.system import (
    Action,
    Assumption,
    Index,
    Invariant,
    Let,
    Match,
    Pick,
    RankTerm,
    StateVar,
    Total,
)
from formwright.ir.template import Coefficient, Constraint, CostBound, Definition, Requirement


@dataclass(frozen=True, slots=True)
class RawApply:
    """``box`` is None where the text leaves it to the buffers' shapes (rule P12)."""

    destination: Access
    op: ApplyOp
    value: Value
    box: tuple[tuple[BoxVar, Span], ...] | None
    clip: Span | None
    asynchronous: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Block:
    """A statement with the block below it; ``head`` is None where it could not be read."""

    head: Stmt | RawApply | None
    body: tuple["Block", ...] = ()
    spans: tuple[Span, ...] = ()
    """Places of the names that the head binds."""


@dataclass(frozen=True, slots=True)
class RawWorkload:
    output: Access
    reductions: tuple[tuple[str, str, Span], ...]
    value: Value
    span: Span
    combine: Literal["sum", "max"] = "sum"


@dataclass(frozen=True, slots=True)
class RawRealised:
    """``stage[…] = buffer[…]`` before its names are looked up."""

    stage: Access
    buffer: Access
    span: Span


@dataclass(frozen=True, slots=True)
class RawParameter:
    name: str
    condition: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class RawDecision:
    name: str
    menu: tuple[tuple[int, Span], ...]
    extra: tuple[tuple[int, Span], ...]
    span: Span
    menu_span: Span


@dataclass(frozen=True, slots=True)
class RawConstraint:
    constraint: Constraint
    wall_span: Span | None


@dataclass(slots=True)
class RawCost:
    name: str
    unit: str
    span: Span
    coefficients: list[Coefficient] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    bounds: list[CostBound] = field(default_factory=list)
    prefer: list[Expr] = field(default_factory=list)
    energy: Expr | None = None
    energy_unit: str = ""
    read: bool = True
    """All its lines were read."""


@dataclass(slots=True)
class RawSystem:
    """``final`` and ``result`` are None where no line gives them."""

    name: str
    span: Span
    tokens: list[Index] = field(default_factory=list)
    state: list[StateVar] = field(default_factory=list)
    lets: list[Let] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    final: Expr | None = None
    result: tuple[Expr, ...] | None = None
    rank: list[RankTerm] = field(default_factory=list)
    read: bool = True
    """All its lines were read."""


@dataclass(frozen=True, slots=True)
class RawMatch:
    match: Match
    params: tuple[tuple[str, Span], ...]


@dataclass(slots=True)
class RawStep:
    """``sections``: words and places of the sections that a step alone has."""

    coarse: RawSystem | None = None
    fine: RawSystem | None = None
    sections: list[tuple[str, Span]] = field(default_factory=list)
    relation: list[Invariant] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)
    matches: list[RawMatch] = field(default_factory=list)
    picks: list[Pick] = field(default_factory=list)
    rank: list[RankTerm] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """Filled section by section; what a fault hid stays empty.

    ``torn``: a whole section was not read, so a name that is unknown may well be its own.
    """

    torn: bool = False
    name: str = ""
    coarse: str = ""
    fine: str = ""
    span: Span | None = None
    object_name: str = ""
    object_text: str = ""
    workload: RawWorkload | None = None
    stages: list[RawWorkload] = field(default_factory=list)
    extents: list[RawParameter] = field(default_factory=list)
    agents: list[RawParameter] = field(default_factory=list)
    given: list[RawParameter] = field(default_factory=list)
    chip: list[RawParameter] = field(default_factory=list)
    relations: list[Expr] = field(default_factory=list)
    dtypes: list[tuple[str, tuple[DType, ...], Span]] = field(default_factory=list)
    semantics: str = ""
    structure: str = ""
    decisions: list[RawDecision] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    constraints: list[RawConstraint] = field(default_factory=list)
    requires: list[Requirement] = field(default_factory=list)
    program: tuple[Block, ...] = ()
    formulation: str = ""
    realised: list[RawRealised] = field(default_factory=list)
    backward: str = ""
    relation: str = ""
    rank: str = ""
    prove: list[tuple[str, Span]] = field(default_factory=list)
    cost: RawCost | None = None
    structures: list[Structure] = field(default_factory=list)
    step: RawStep = field(default_factory=RawStep)
