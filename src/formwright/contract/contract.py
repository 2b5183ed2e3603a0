"""What a kernel promises its caller, as data that no template and no candidate can reach.

The sentences behind each clause stand in ``docs/contract.md``; the names here are what
records and messages use. :mod:`formwright.contract.operators` makes the contracts.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from formwright.base.digest import digest
from formwright.contract.numbers import DType
from formwright.contract.relation import ORDINARY, Relation, relation_data

SCHEMA = 2

MAX_EXTENT = (1 << 31) - 1
"""Extents that no sum runs over; row strides too."""

MAX_TERMS = 1 << 22
"""Extents that a sum runs over: ``gamma_K`` stays below 1/3, counts are exact in f32."""

Role = Literal["input", "output"]


@dataclass(frozen=True, slots=True)
class Extent:
    """An extent with the values it may take, both ends included."""

    name: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor: ``extents`` names its dimensions, the last of which is contiguous."""

    name: str
    extents: tuple[str, ...]
    role: Role
    dtype: DType = "f32"


Layout = Literal["allowed", "refused"]


@dataclass(frozen=True, slots=True)
class Strides:
    """Which layouts of an operand the domain has; what is refused goes to the reference.

    ``padded``: the last dimension is contiguous and rows (all leading dimensions flat) are
    one stride apart, at least the row's length; ``x[::2]`` of a matrix is one of these.
    """

    padded: Layout = "allowed"
    transposed: Layout = "refused"
    sliced: Layout = "refused"
    negative: Layout = "refused"
    broadcast: Layout = "refused"


Exceptional = Literal["propagated", "ignored", "excluded"]


@dataclass(frozen=True, slots=True)
class Special:
    """What exceptional values give.

    ``propagated``: as the formula does in IEEE arithmetic, whatever the order of its sums.
    ``free``: the contract says nothing about that component. ``empty`` is a sum over
    nothing; ``masked_row`` a row whose every score is masked or minus infinity; ``masked``
    says whether what a mask leaves out may be seen in the result.
    """

    nan: Exceptional = "propagated"
    infinities: Exceptional = "propagated"
    denormals: Literal["kept"] = "kept"
    zero_sign: Literal["free"] = "free"
    overflow: Literal["free"] = "free"
    empty: Literal["zeros", "excluded"] = "excluded"
    masked_row: Literal["nan", "zeros", "excluded", "none"] = "none"
    masked: Literal["ignored", "none"] = "none"


Stages = Literal["f32", "bf16"]


@dataclass(frozen=True, slots=True)
class Contract:
    """The behaviour a caller may rely on.

    ``formula`` is the workload line and the stage lines in the template language.
    ``alignment``: an operand starts at a multiple of the size of its element. ``ahead``
    names the inputs that may be prepared before the call, because they stay the same from
    call to call. ``caches`` is what a timing finds: ``warm`` as the call before left them.
    ``stages``: what a value between two sums of the formula may be rounded to, once.
    """

    operator: str
    formula: tuple[str, ...]
    extents: tuple[Extent, ...]
    operands: tuple[Operand, ...]
    relation: Relation = ORDINARY
    strides: Strides = Strides()
    special: Special = Special()
    alignment: Literal["one element"] = "one element"
    aliasing: Literal["output apart from inputs"] = "output apart from inputs"
    mutation: Literal["only the output's cells"] = "only the output's cells"
    previous_output: Literal["ignored"] = "ignored"
    threads: Literal["as many as the call says"] = "as many as the call says"
    repeatable: bool = True
    caches: Literal["warm", "cold"] = "warm"
    ahead: tuple[str, ...] = ()
    stages: Stages = field(default="f32", metadata={"added": True})

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """In the order of the call."""
        return tuple(o for o in self.operands if o.role == "input")

    @property
    def output(self) -> Operand:
        return next(o for o in self.operands if o.role == "output")

    @property
    def names(self) -> tuple[str, ...]:
        """The extents' names in the order of the call."""
        return tuple(e.name for e in self.extents)

    def shape(self, operand: Operand, values: Mapping[str, int]) -> tuple[int, ...]:
        """The dimensions of ``operand`` for these extents."""
        return tuple(values[name] for name in operand.extents)

    def dtype_of(self, name: str) -> DType:
        """The element type of the operand called ``name``."""
        return next(o.dtype for o in self.operands if o.name == name)

    def with_dtypes(self, dtypes: Mapping[str, DType]) -> "Contract":
        """The same contract for other element types; the operator's domain is not asked."""
        changed = (replace(o, dtype=dtypes.get(o.name, o.dtype)) for o in self.operands)
        return replace(self, operands=tuple(changed))


def outside(contract: Contract, values: Mapping[str, int]) -> str | None:
    """Why these extents are not in the contract's domain, or ``None`` when they are."""
    for extent in contract.extents:
        if extent.name not in values:
            return f"extent {extent.name} has no value"
        if not extent.low <= values[extent.name] <= extent.high:
            return f"{extent.name} = {values[extent.name]} is outside {extent.low} .. {extent.high}"
    return None


def contract_digest(contract: Contract) -> str:
    """Hex SHA-256 of the canonical form; part of every record."""
    return digest({"schema": SCHEMA, "contract": contract})


def contract_data(contract: Contract) -> dict[str, Any]:
    """Plain JSON data with ``schema``; :func:`formwright.contract.stored.contract_from` reads it.

    ``stages`` is left out where it is f32: data that was kept before it has no such key.
    """
    data = {
        "schema": SCHEMA,
        "digest": contract_digest(contract),
        "operator": contract.operator,
        "formula": list(contract.formula),
        "extents": {e.name: [e.low, e.high] for e in contract.extents},
        "operands": [
            {"name": o.name, "extents": list(o.extents), "role": o.role, "dtype": o.dtype}
            for o in contract.operands
        ],
        "relation": relation_data(contract.relation),
        "strides": asdict(contract.strides),
        "special": asdict(contract.special),
        "alignment": contract.alignment,
        "aliasing": contract.aliasing,
        "mutation": contract.mutation,
        "previous_output": contract.previous_output,
        "threads": contract.threads,
        "repeatable": contract.repeatable,
        "caches": contract.caches,
        "ahead": list(contract.ahead),
    }
    return data if contract.stages == "f32" else data | {"stages": contract.stages}
