"""Which formulas multiply bf16 by bf16: what matrix units do where a core has them."""

from collections.abc import Iterator, Mapping, Sequence

from formwright.contract.contract import Contract
from formwright.contract.formulas import workload_of
from formwright.ir.program import Op, Value
from formwright.ir.rewrite import accesses
from formwright.ir.template import Template, Workload
from formwright.ir.values import names_of, parts

_NARROW = "bf16"


def multiplies_bf16(lines: Sequence[Workload], dtypes: Mapping[str, str]) -> bool:
    """Whether sums of the formula multiply two tensors, and all that they multiply is bf16.

    ``lines``: a workload and its stages; ``dtypes``: of each input by its name. A stage counts as
    bf16 where all that it is made of is: a contract may let it be rounded (``stages``), and units
    that only do the other products still exceed the peak of f32. Squares are no such product: a
    norm adds up a tensor times itself, element by element.
    """
    stages = {line.output.name: line for line in lines}
    multiplied = [found for line in lines for found in _multiplied(line)]
    inputs = _inputs(frozenset[str]().union(*multiplied), stages)
    return bool(multiplied) and all(dtypes.get(name) == _NARROW for name in inputs)


def template_multiplies_bf16(template: Template) -> bool:
    """The same of the operator that ``template`` is for, with the element types that it has."""
    scope = template.scope
    return multiplies_bf16(scope.lines, {t.name: t.dtype for t in scope.workload.inputs})


def contract_multiplies_bf16(contract: Contract) -> bool:
    """The same of a contract's formula and operands."""
    workload, stages = workload_of(contract)
    return multiplies_bf16((workload, *stages), {o.name: o.dtype for o in contract.operands})


def _multiplied(line: Workload) -> Iterator[frozenset[str]]:
    """For each product of different tensors that the line sums up, the names that it reads."""
    if line.combine != "sum":
        return
    indices = {index for index, _ in line.reductions}
    for part in parts(line.value):
        # What does not change from term to term is a factor of the sum.
        factors = [f for f in _factors(part) if names_of(f) & indices]
        read = {frozenset(a.buffer for a in accesses(f)) for f in factors} - {frozenset()}
        if len(read) > 1:
            yield frozenset[str]().union(*read)


def _factors(value: Value) -> Iterator[Value]:
    match value:
        case Op("*" | "/", args):
            for arg in args:
                yield from _factors(arg)
        case _:
            yield value


def _inputs(names: frozenset[str], stages: Mapping[str, Workload]) -> frozenset[str]:
    """The inputs that these tensors are made of; stages have no cycles."""
    found, open_names = set[str](), list(names)
    while open_names:
        name = open_names.pop()
        if name in found:
            continue
        found.add(name)
        if name in stages:
            open_names += [a.buffer for a in accesses(stages[name].value)]
    return frozenset(found - stages.keys())
