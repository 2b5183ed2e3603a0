"""A template at a glance, and its formatted text."""

from math import prod
from pathlib import Path
from typing import Any

from formwright.base.diagnostics import fail
from formwright.base.digest import digest
from formwright.base.files import write_text
from formwright.base.source import Source
from formwright.ir.inline import inlined
from formwright.ir.show import show_expr
from formwright.ir.structures import title_of
from formwright.ir.system import Refinement, System
from formwright.ir.template import Template
from formwright.lang import load, load_source
from formwright.lang.chain_sources import load_chain_source
from formwright.lang.chains import load_chain
from formwright.lang.comments import format_source
from formwright.lang.format import workload_text
from formwright.lang.structures import structure_text


def summary(reference: str) -> dict[str, Any]:
    """Scope, decisions, conditions and size of a template, as plain data."""
    return summary_of(*load(reference))


def summary_of(source: Source, template: Template) -> dict[str, Any]:
    """As :func:`summary`, of a text that was read."""
    scope = template.scope
    named = scope.parameters
    return {
        "schema": 1,
        "name": template.name,
        "file": source.name,
        "digest": digest(inlined(template)),
        "levels": [template.coarse, template.fine],
        "object": {"name": template.object_name, "text": template.object_text},
        "scope": {p.name: "" if p.condition is None else show_expr(p.condition) for p in named},
        "decisions": {d.name: list(d.menu) for d in template.decisions},
        "points": prod(len(d.menu) for d in template.decisions),
        "constraints": {
            c.name: {"condition": show_expr(c.condition), "wall": c.wall}
            for c in template.constraints
        },
        "requires": {r.name: show_expr(r.condition) for r in template.requires},
        "cost": None if template.cost is None else template.cost.unit,
        "structures": [
            {"text": structure_text(s), "structure": title_of(s)} for s in template.structures
        ],
        "step": None if template.refinement is None else _step(template.refinement),
        "text": source.text,
    }


def _step(step: Refinement) -> dict[str, Any]:
    return {
        "coarse": _system(step.coarse),
        "fine": _system(step.fine),
        "relation": [i.name for i in step.relation] + [f"total {t.name}" for t in step.totals],
        "matches": len(step.matches),
        "picks": len(step.picks),
        "rank": len(step.rank),
    }


def _system(system: System) -> dict[str, Any]:
    return {
        "name": system.name,
        "tokens": [t.name for t in system.tokens],
        "state": [v.name for v in system.state],
        "actions": [a.name for a in system.actions if not a.environment],
        "environment": [a.name for a in system.actions if a.environment],
        "assumes": {a.name: a.text for a in system.assumptions},
    }


def chain_summary(reference: str) -> dict[str, Any]:
    """Contract, steps and assumptions of a chain, as plain data."""
    chain = load_chain(reference)
    return {
        "schema": 1,
        "name": chain.name,
        "workload": workload_text(chain.workload),
        "steps": [
            {
                "name": s.name,
                "levels": [s.coarse, s.fine],
                "object": {"name": s.object_name, "text": s.object_text},
                "given": [p.name for p in s.scope.given],
                "decisions": {d.name: list(d.menu) for d in s.decisions},
                "requires": {r.name: show_expr(r.condition) for r in s.requires},
                "file": source.name,
            }
            for s, source in zip(chain.steps, load_chain_source(reference).steps, strict=True)
        ],
        "assumptions": dict(chain.assumptions),
    }


def formatted(file: Path, *, write: bool) -> tuple[str, bool]:
    """The formatted text and whether it differs from the file's; ``write`` rewrites the file.

    Raises ``InputError``, also where a template that ships would have to be rewritten.
    """
    source = load_source(str(file))
    if write and not file.exists():
        told = f"{file} ships with the package and is not rewritten"
        raise fail(told, hint=f"copy it: formwright fmt {file} > {file}.fw")
    text = format_source(source)
    changed = text != source.text
    if write and changed:
        write_text(file, text)
    return text, changed
