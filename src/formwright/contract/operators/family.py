"""What every operator family gives: its formula, kinds of inputs, reference and symmetries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from formwright.base.diagnostics import fail, nearest
from formwright.contract.contract import Contract, Extent, Operand, Special, Stages
from formwright.contract.expected import Expected, exactly, related, stored
from formwright.contract.numbers import F64, Array, DType, format_of, to_type
from formwright.contract.relation import ORDINARY, Relation

Arrays = tuple[Array, ...]
Generator = np.random.Generator
Values = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of inputs: the one question that it ``asks``, and the check it is for.

    ``make`` draws the inputs in the order of the call, as any arrays; they are then rounded
    to the operands' element types. ``exact``: f32 arithmetic makes no error in any order,
    so the output must be equal. ``when`` says which contracts the kind has a meaning for.
    """

    name: str
    asks: str
    clause: str
    make: Callable[[Contract, Generator, Values], Arrays]
    exact: bool = False
    when: Callable[[Contract], bool] = lambda _: True


Axis = tuple[int, int]
"""An input by its number in the call, and an axis of it."""


@dataclass(frozen=True, slots=True)
class Negate:
    """Negating slice i of these axes of the inputs negates slice i of the output's axis."""

    inputs: tuple[Axis, ...]
    output_axis: int


@dataclass(frozen=True, slots=True)
class Permute:
    """The same permutation of these axes permutes the output's axis.

    Without an ``output_axis`` the output stays as it is, within its bound.
    """

    inputs: tuple[Axis, ...]
    output_axis: int | None


Symmetry = Negate | Permute


@dataclass(frozen=True, slots=True)
class Work:
    """``points`` of the innermost loop; ``flops`` counts each operation of the formula once."""

    flops: int
    read_bytes: int
    written_bytes: int
    points: int


@dataclass(frozen=True, slots=True)
class Metamorphic:
    """A relation between two calls, which needs no reference.

    ``change`` gives other extents and inputs from those of the first call and a seed;
    ``pair`` picks what must agree of the two outputs, the second scaled or cut as the
    relation says. They agree when each lies within its own bound, so the allowance is the
    sum of both bounds; with ``exact`` the cells are equal in every bit that counts.
    """

    name: str
    says: str
    change: Callable[[Contract, Values, Arrays, int], tuple[dict[str, int], Arrays] | None]
    pair: Callable[[F64, F64], tuple[F64, F64]]
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Operator:
    """One formula with all that checks of it need. ``dtypes`` lists what each operand may be."""

    name: str
    title: str
    formula: tuple[str, ...]
    extents: tuple[Extent, ...]
    operands: tuple[Operand, ...]
    dtypes: Mapping[str, tuple[DType, ...]]
    special: Special
    clauses: Mapping[str, str]
    kind_list: tuple[Kind, ...]
    reference: Callable[[Contract, Arrays], Expected]
    symmetry_list: tuple[Symmetry, ...]
    counts: Callable[[Values], tuple[int, int]]
    """Floating-point operations and points for these extents."""
    relation_list: tuple[Metamorphic, ...] = ()
    suspects: Callable[[Arrays, Array], list[tuple[str, F64]]] | None = None
    """Names for the wrong outputs that programs usually give, with the values they have."""
    narrow_stages: bool = False
    """Whether there is a value between two sums that a contract may let be rounded to bf16."""

    def contract(
        self,
        *,
        dtypes: Mapping[str, str] | str | None = None,
        ahead: tuple[str, ...] = (),
        extents: Mapping[str, tuple[int, int]] | None = None,
        relation: Relation | None = None,
        caches: str = "warm",
        stages: str = "f32",
    ) -> Contract:
        """The contract of this operator.

        ``dtypes`` names element types by operand, or one for every operand that may have
        it; ``extents`` narrows ranges. Raises ``InputError`` for what the operator has not.
        """
        chosen = self._chosen(dtypes)
        inputs = [o.name for o in self.operands if o.role == "input"]
        for name in ahead:
            if name not in inputs:
                raise fail(
                    f'"{name}" is no input of {self.name}', hint=f"inputs are {', '.join(inputs)}"
                )
        return Contract(
            operator=self.name,
            formula=self.formula,
            extents=self._extents(extents or {}),
            operands=tuple(replace(o, dtype=chosen[o.name]) for o in self.operands),
            relation=relation or ORDINARY,
            special=self.special,
            caches=_caches(caches),
            stages=self._stages(stages),
            ahead=ahead,
        )

    def kinds(self, contract: Contract) -> tuple[str, ...]:
        """The kinds of inputs that have a meaning for this contract."""
        return tuple(k.name for k in self.kind_list if k.when(contract))

    def exact(self, kind: str) -> bool:
        """Is a wrong bit of this kind's output a fault, whatever the order of summation?"""
        return self.kind(kind).exact

    def clause_of(self, kind: str) -> str:
        """The check that a kind of inputs is for."""
        return self.kind(kind).clause

    def kind(self, name: str) -> Kind:
        """Raises ``KeyError`` for a kind that the operator does not have."""
        for kind in self.kind_list:
            if kind.name == name:
                return kind
        raise KeyError(f"{self.name} has no kind of inputs {name}")

    def inputs(self, contract: Contract, kind: str, values: Values, seed: int) -> Arrays:
        """Inputs in the order of the call, contiguous; equal arguments give equal arrays."""
        number = [k.name for k in self.kind_list].index(kind)
        rng = np.random.default_rng([seed, number, *(values[n] for n in contract.names)])
        made = self.kind_list[number].make(contract, rng, values)
        return tuple(to_type(a, o.dtype) for a, o in zip(made, contract.inputs, strict=True))

    def expected(self, contract: Contract, kind: str, arrays: Arrays) -> Expected:
        """The reference in float64 and the allowed error of each cell.

        The inputs never depend on the candidate, and neither does the bound.
        """
        computed = self.reference(contract, arrays)
        if self.exact(kind):
            return exactly(computed.value, contract)
        return related(stored(computed, contract), contract)

    def symmetries(self, contract: Contract) -> tuple[Symmetry, ...]:
        """Changes of the inputs whose effect on the output is known exactly."""
        return self.symmetry_list

    def relations(self, contract: Contract) -> tuple[Metamorphic, ...]:
        """Relations between two calls, for validation."""
        return self.relation_list

    def work(self, contract: Contract, values: Values) -> Work:
        """Operations, and bytes of the tensors read and written once."""
        sizes = {
            o.name: format_of(o.dtype).bytes * _product(contract.shape(o, values))
            for o in contract.operands
        }
        written = sizes[contract.output.name]
        flops, points = self.counts(values)
        return Work(flops, sum(sizes.values()) - written, written, points)

    def _chosen(self, dtypes: Mapping[str, str] | str | None) -> dict[str, DType]:
        chosen = {o.name: o.dtype for o in self.operands}
        if isinstance(dtypes, str):
            able = {n: dtypes for n, allowed in self.dtypes.items() if dtypes in allowed}
            if not able:
                known = {d for allowed in self.dtypes.values() for d in allowed}
                raise fail(
                    f'no contract of {self.name} for element type "{dtypes}"',
                    hint=nearest(dtypes, known) or f"known: {', '.join(sorted(known))}",
                )
            dtypes = able
        for name, wanted in (dtypes or {}).items():
            if name not in self.dtypes:
                raise fail(
                    f'{self.name} has no tensor "{name}"',
                    hint=nearest(name, self.dtypes) or f"tensors are {', '.join(self.dtypes)}",
                )
            allowed = self.dtypes[name]
            if wanted not in allowed:
                raise fail(
                    f'no contract of {self.name} for {name} of element type "{wanted}"',
                    hint=f"{name} may be {', '.join(allowed)}",
                )
            chosen[name] = next(d for d in allowed if d == wanted)
        return chosen

    def _stages(self, name: str) -> Stages:
        if name == "f32":
            return "f32"
        if name != "bf16":
            raise fail(f'unknown stages "{name}"', hint="write f32 or bf16")
        if not self.narrow_stages:
            raise fail(no_stage(self), hint="leave stages out")
        return "bf16"

    def _extents(self, ranges: Mapping[str, tuple[int, int]]) -> tuple[Extent, ...]:
        names = [e.name for e in self.extents]
        for name in ranges:
            if name not in names:
                raise fail(
                    f'{self.name} has no extent "{name}"', hint=f"extents are {', '.join(names)}"
                )
        found = []
        for widest in self.extents:
            low, high = ranges.get(widest.name, (widest.low, widest.high))
            if not widest.low <= low <= high <= widest.high:
                raise fail(
                    f"extent {widest.name} in {low} .. {high} is outside the contract of "
                    f"{self.name}",
                    hint=f"use a range inside {widest.low} .. {widest.high}",
                )
            found.append(Extent(widest.name, low, high))
        return tuple(found)


def no_stage(family: Operator) -> str:
    """What is wrong with ``stages = "bf16"`` for an operator that does not offer it."""
    return f"{family.name} has no value between two sums that may be rounded"


def _caches(name: str) -> Literal["warm", "cold"]:
    if name == "warm":
        return "warm"
    if name == "cold":
        return "cold"
    raise fail(f'unknown caches "{name}"', hint="write warm or cold")


def _product(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size
