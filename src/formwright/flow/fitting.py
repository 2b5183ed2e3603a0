"""Whether a template can do what a contract says of the time before a call."""

from formwright.base.diagnostics import fail
from formwright.codegen.ahead import ahead_count, packed_inputs
from formwright.contract.contract import Contract
from formwright.ir.inline import inlined
from formwright.ir.template import Template


def require_packing(template: Template, contract: Contract) -> None:
    """Raises ``InputError`` where inputs are known ahead and the template cannot be called so.

    It has to pack some of them, and no other: what it packs is given once, before the calls.
    """
    if not contract.ahead:
        return
    workload = template.scope.workload
    inputs = [t.name for t in workload.inputs]
    program = inlined(template).program
    count = ahead_count(program, inputs, workload.output.name)
    packed = packed_inputs(program[:count], inputs)
    if packed and set(packed) <= set(contract.ahead):
        return
    told = ", ".join(packed) or "nothing"
    raise fail(
        f"the contract has ahead = [{', '.join(contract.ahead)}], and {template.name} packs {told} "
        "before a call",
        hint="name templates that pack such inputs (*_ahead), or change the clause",
    )
