"""Templates without a program: what asks for one is answered by name."""

from formwright.base.diagnostics import fail
from formwright.ir.template import Template


def require_program(template: Template, what: str) -> None:
    """Raises :class:`InputError` if ``template`` is a formulation: ``what`` needs a program."""
    if template.formulation:
        raise fail(
            f"{template.name} is a formulation without a program: there is nothing to {what}",
            template.span,
            "what it says is modelled, never proved; `formwright solve` takes it",
        )
