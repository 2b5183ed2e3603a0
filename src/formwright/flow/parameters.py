"""Values for the names of a template's scope: from a chip, from ``--set``, checked together."""

from collections.abc import Mapping
from fractions import Fraction

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.base.quantities import QuantityError, parse_quantity
from formwright.chip.fields import FIELDS, FieldKind
from formwright.ir.evaluate import EvaluationError, truth
from formwright.ir.expr import Scalar
from formwright.ir.show import show_expr
from formwright.ir.template import Parameter, Template
from formwright.ir.types import size_values

MAX_VALUE = 2**40
"""The largest extent or agent count that a command accepts."""


def parse_settings(text: str, what: str = "--set") -> dict[str, int]:
    """``"M=1000,N=64"`` as numbers; every fault is reported at once.

    Raises:
        InputError: a part is not ``NAME=INTEGER``, or a name is given twice.
    """
    values: dict[str, int] = {}
    faults: list[Diagnostic] = []
    for part in (p.strip() for p in text.split(",") if p.strip()):
        name, equals, number = (s.strip() for s in part.partition("="))
        digits = number.removeprefix("-")
        if not equals or not name.isidentifier() or not digits.isascii() or not digits.isdigit():
            faults.append(
                Diagnostic(
                    f'{what}: "{part}" is not NAME=INTEGER', hint=f"as in {what} M=1000,N=64"
                )
            )
        elif len(digits) > 15 or abs(int(number)) > MAX_VALUE:
            faults.append(Diagnostic(f"{what}: {name} is beyond {MAX_VALUE}"))
        elif name in values:
            faults.append(Diagnostic(f"{what}: {name} is given twice"))
        else:
            values[name] = int(number)
    if faults:
        raise InputError(faults)
    return values


def split_chip_settings(text: str) -> tuple[str, dict[str, int | Fraction]]:
    """The part of ``--set`` about extents, and fields that take the place of the chip's own.

    ``"M=64,chip.area=0.5 mm2"`` gives ``"M=64"`` and an exact number in the base unit.

    Raises:
        InputError: a field that no chip has, a value that is no quantity of it or is absurd.
    """
    values: dict[str, int | Fraction] = {}
    faults: list[Diagnostic] = []
    rest: list[str] = []
    for part in text.split(","):
        name, equals, number = (s.strip() for s in part.partition("="))
        if not name.startswith("chip.") or not equals:
            rest.append(part)
            continue
        field = name.removeprefix("chip.")
        kind = FIELDS.get(field)
        if kind is None:
            hint = nearest(field, FIELDS) or f"fields: {', '.join(sorted(FIELDS))}"
            faults.append(Diagnostic(f"--set: no chip has a field {field}", hint=hint))
        elif name in values:
            faults.append(Diagnostic(f"--set: {name} is given twice"))
        else:
            faults += _quantity(name, kind, number, values)
    if faults:
        raise InputError(faults)
    return ",".join(rest), values


def _quantity(
    name: str, kind: FieldKind, text: str, values: dict[str, int | Fraction]
) -> list[Diagnostic]:
    try:
        value = parse_quantity(text, kind.dimension).value
    except QuantityError as error:
        return [Diagnostic(f"--set: {name}: {error}", hint=error.hint)]
    if not kind.admits(value):
        told = f"--set: {name} ({kind.meaning}) of {text} is absurd"
        return [Diagnostic(told, hint=kind.told)]
    values[name] = value.numerator if value.denominator == 1 else value
    return []


def bind(
    template: Template,
    chip: Mapping[str, int | Fraction],
    settings: Mapping[str, int],
    chip_name: str,
) -> dict[str, Scalar]:
    """A value for every name of the scope: extents from ``settings``, fields from ``chip``.

    ``chip`` has keys ``chip.NAME`` in SI units. Agent counts default to 1, since neither
    constraints nor cost depend on them unless the template says so.

    Raises:
        InputError: a name without a value, a setting that the scope does not have, a value
            outside the scope.
    """
    scope = template.scope
    faults: list[Diagnostic] = []
    values: dict[str, Scalar] = {}
    sizes = [p.name for p in scope.integers if p not in scope.sizes]
    for name in settings:
        if name not in sizes:
            hint = nearest(name, sizes) or f"the scope has {', '.join(sizes)}"
            faults.append(Diagnostic(f"{template.name} has no extent {name}", hint=hint))
    for parameter in (*scope.extents, *scope.given):
        if parameter.name in settings:
            values[parameter.name] = settings[parameter.name]
        else:
            faults.append(
                Diagnostic(
                    f"no value for {_what(parameter, template)} of {template.name}",
                    hint=f"add --set {parameter.name}=…",
                )
            )
    values.update(size_values(template))
    for parameter in scope.agents:
        values[parameter.name] = settings.get(parameter.name, 1)
    for parameter in scope.chip:
        if parameter.name in chip:
            values[parameter.name] = chip[parameter.name]
        else:
            field = parameter.name.removeprefix("chip.")
            faults.append(
                Diagnostic(
                    f"chip {chip_name} has no field {field}, which {template.name} needs",
                    hint=nearest(parameter.name, chip) or f"add {field} to the chip file",
                )
            )
    if not faults:
        faults = _outside(template, values)
    if faults:
        raise InputError(faults)
    return values


def _what(parameter: Parameter, template: Template) -> str:
    given = parameter in template.scope.given
    return f"{parameter.name}, given to a step" if given else f"the extent {parameter.name}"


def _outside(template: Template, values: Mapping[str, Scalar]) -> list[Diagnostic]:
    scope = template.scope
    faults = [
        Diagnostic(
            f"{p.name} = {values[p.name]} is outside the scope of {template.name}",
            hint=f"the scope says {show_expr(p.condition)}",
        )
        for p in scope.parameters
        if p.condition is not None and not _holds(p, values)
    ]
    for relation in scope.relations:
        if not truth(relation, values):
            faults.append(Diagnostic(f"the scope of {template.name} needs {show_expr(relation)}"))
    return faults


def _holds(parameter: Parameter, values: Mapping[str, Scalar]) -> bool:
    try:
        return parameter.condition is None or truth(parameter.condition, values)
    except EvaluationError as error:
        raise InputError([Diagnostic(error.message, error.span)]) from error
