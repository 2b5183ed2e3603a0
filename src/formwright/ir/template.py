"""A template as data: what the solver, the verifier and the agent read.

The parser gives names for definitions (section ``where``) as they stand in the text;
:func:`formwright.ir.inline.inlined` substitutes them, and readers take the inlined form.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from formwright.base.source import Span
from formwright.ir.expr import Expr
from formwright.ir.program import Buffer, Stmt, Value
from formwright.ir.structures import Structure
from formwright.ir.system import Refinement

ADDED = {"added": True}
"""Of fields that came later: digests leave them out where they have their default."""

ASIDE = {"aside": True}
"""Of fields that say how to look, not what is meant: digests leave them out."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the workload: its extents by name (``A[M,K]`` has ``("M", "K")``).

    ``also``: other element types that the template is good for; ``with_dtypes`` picks one.
    """

    name: str
    extents: tuple[str, ...]
    dtype: str = "f32"
    also: tuple[str, ...] = field(default=(), metadata=ADDED)


@dataclass(frozen=True, slots=True)
class Workload:
    """``output[M,N] = sum(k < K) value``: ``reductions`` pairs an index with its extent.

    ``indices`` names the free index of each output dimension, as the value uses them.
    In the text ``C[M,N] = sum(k < K) A[M,k] * B[k,N]`` an extent in index position stands
    for its own free index; here the index has the extent's name in lower case.

    Of the scope's workload ``inputs`` are all inputs of the operator, in the order of the call:
    as the value reads them, those of a stage where it is read first. Of a stage they are the
    inputs that it reads itself. Reads of stages are reads of buffers with their names.
    """

    output: Tensor
    inputs: tuple[Tensor, ...]
    indices: tuple[str, ...]
    reductions: tuple[tuple[str, str], ...]
    value: Value
    span: Span | None = field(default=None, compare=False, repr=False)
    combine: Literal["sum", "max"] = field(default="sum", metadata=ADDED)
    """What joins the terms of all values of the reductions."""


@dataclass(frozen=True, slots=True)
class Realised:
    """Where the program keeps a stage: ``stage[index] = buffer[names]``.

    ``names`` are free; ``index`` is over them and the names in sight at the buffer's alloc.
    """

    stage: str
    index: tuple[Expr, ...]
    buffer: str
    names: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A name of the scope with its condition: an extent, a team size, or ``chip.x``."""

    name: str
    condition: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """``extents`` and ``agents`` are integers; ``chip`` fields are integers or rationals.

    ``relations`` are further conditions of the scope over those names.
    """

    workload: Workload
    extents: tuple[Parameter, ...]
    agents: tuple[Parameter, ...]
    chip: tuple[Parameter, ...]
    relations: tuple[Expr, ...] = ()
    semantics: str = ""
    structure: str = ""
    given: tuple[Parameter, ...] = ()
    """Decisions of steps above this one: integers, each with its condition (rule S2)."""
    stages: tuple[Workload, ...] = field(default=(), metadata=ADDED)
    """Values between the inputs and the output, each once, in any order, without cycles."""
    sizes: tuple[Parameter, ...] = field(default=(), metadata=ADDED)
    """``bytes.X`` of the tensors whose element size the template names (rule L7a)."""

    @property
    def integers(self) -> tuple[Parameter, ...]:
        """Extents, agents, what is given and element sizes."""
        return (*self.extents, *self.agents, *self.given, *self.sizes)

    @property
    def lines(self) -> tuple[Workload, ...]:
        """The workload and its stages."""
        return (self.workload, *self.stages)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All names of the scope."""
        return (*self.integers, *self.chip)


@dataclass(frozen=True, slots=True)
class Decision:
    """``menu``: the solver's values, ascending. ``extra``: further points for ``weakest``."""

    name: str
    menu: tuple[int, ...]
    extra: tuple[int, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constraint:
    """``wall`` names the chip field that is the right-hand side, if it is one."""

    name: str
    condition: Expr
    wall: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Requirement:
    """Part of the precondition: the verifier may use it, K1 must establish it."""

    name: str
    condition: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A number of the cost model that measurements may refit."""

    name: str
    default: Fraction
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CostBound:
    """``T >= value if guard``."""

    value: Expr
    guard: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cost:
    """The objective is the largest bound whose guard holds, in ``unit``."""

    name: str
    unit: str
    coefficients: tuple[Coefficient, ...]
    definitions: tuple[Definition, ...]
    bounds: tuple[CostBound, ...]
    prefer: tuple[Expr, ...] = ()
    """Tie-break: least first expression, then the next, then least decisions in order."""
    energy: Expr | None = field(default=None, metadata=ADDED)
    """A second figure of a design, in ``energy_unit``: the objective does not read it."""
    energy_unit: str = field(default="", metadata=ADDED)


@dataclass(frozen=True, slots=True)
class Outline:
    """The proof outline, for people and for the refinement checker."""

    backward: str = ""
    relation: str = ""
    rank: str = ""
    prove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    coarse: str
    fine: str
    object_name: str
    object_text: str
    scope: Scope
    decisions: tuple[Decision, ...]
    definitions: tuple[Definition, ...]
    constraints: tuple[Constraint, ...]
    requires: tuple[Requirement, ...]
    program: tuple[Stmt, ...]
    globals: tuple[Buffer, ...]
    outline: Outline
    cost: Cost | None
    span: Span | None = field(default=None, compare=False, repr=False)
    refinement: Refinement | None = None
    """A step in place of a program: ``program`` and ``globals`` are empty then."""
    realised: tuple[Realised, ...] = field(default=(), metadata=ADDED)
    """Where the program keeps each stage of the scope."""
    formulation: str = field(default="", metadata=ADDED)
    """Why there is no program: decisions, constraints and cost stand alone then, and nothing that
    is said of the template is proved."""
    structures: tuple[Structure, ...] = field(default=(), metadata=ASIDE)
    """What the solver may leave out, and when. A template with other structures has the same
    digest: its proofs, its designs and their costs are the same."""
