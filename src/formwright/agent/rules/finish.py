"""What every rule's result goes through: no dead parts, walls, a name, and the parser."""

import re
from dataclasses import replace

from formwright.agent.rules.dead import without_dead
from formwright.agent.rules.menus import used_decisions, with_walls
from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang.format import format_template
from formwright.lang.parser import parse

_MADE = re.compile(r"_[0-9a-f]{8}$")
_NAME = 48


def finished(template: Template, parent: str, *, costed: bool) -> Template | None:
    """``template`` ready to be proposed, or None where no text of the language says it.

    Cost and structures go unless ``costed``: they spoke of another program. The name is the
    parent's with the first figures of the content's digest, so equal results have equal names.
    """
    kept = {r.buffer for r in template.realised}
    live = replace(template, program=without_dead(template.program, kept))
    walled = with_walls(used_decisions(live))
    if walled is None:
        return None
    if not costed:
        walled = replace(walled, cost=None, structures=())
    stem = _MADE.sub("", parent)[:_NAME]
    plain = replace(walled, name=stem)
    named = replace(plain, name=f"{stem}_{digest(plain)[:8]}")
    try:
        return parse(Source(f"{named.name}.fw", format_template(named)))
    except InputError:
        return None
