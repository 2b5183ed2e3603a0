"""The columns that a text has by itself: computed from it, whoever brings it."""

from typing import Any

from formwright.base.diagnostics import fail
from formwright.base.digest import digest
from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang.limits import TEXT_BYTES
from formwright.lang.parser import parse
from formwright.population import rows
from formwright.population.entries import LANGUAGES
from formwright.population.retrieval import interface_of, niche_of, problem_of
from formwright.population.signature import signature_of
from formwright.proof.store import template_digest

NAME = 64
"""Characters of a name."""


def described(text: str, language: str, name: str, interface: str) -> dict[str, Any]:
    """Digest, name, interface, problem, niche and signature of a text.

    Raises ``InputError`` for a text that is no template, too large, or of no known language.
    """
    if language not in LANGUAGES:
        raise fail(f"no language {language}", hint=f"languages: {', '.join(LANGUAGES)}")
    if not rows.is_storable(text):
        raise fail("the text has a NUL or half a character in it", hint="save the file as UTF-8")
    if len(text.encode()) > TEXT_BYTES:
        raise fail(f"the text is larger than {TEXT_BYTES} bytes")
    found = {"language": language, "text": text, "sha256": rows.text_digest(text)}
    if language != "fw":
        if not name.isidentifier() or len(name) > NAME:
            raise fail(f'"{name}" cannot name a kernel', hint="letters, digits and underscores")
        nothing = {"problem": "", "niche": "", "signature": "", "interface": interface}
        return found | nothing | {"name": name, "digest": digest([language, text])}
    template = parsed(name, text)
    signature = signature_of(template)
    problem = problem_of(template.scope.lines)
    return found | {
        "name": template.name,
        "digest": template_digest(template),
        "interface": interface_of(template),
        "problem": problem,
        "niche": niche_of(problem, signature),
        "signature": rows.signature_text(signature),
    }


def parsed(name: str, text: str) -> Template:
    """The template in ``text``. Raises ``InputError``."""
    return parse(Source(f"{name or 'template'}.fw", text))
