"""The whole file: head, answer, sections, entries that figures lead to, and what words mean."""

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from formwright.report.html.blocks import blocks_html, facts_html
from formwright.report.html.cells import EVIDENCE, STANDING
from formwright.report.html.entries import entries_html
from formwright.report.html.escaped import escaped
from formwright.report.html.marks import shapes_html
from formwright.report.html.place import Place
from formwright.report.html.words import prose
from formwright.report.page import Page, Section


def html_of(page: Page) -> str:
    """One self-contained HTML document, as text to be written in UTF-8."""
    place = Place("b", 3, page.entries, page.folder)
    links = [(section_id(s), s.title) for s in page.sections]
    links += [("entries", "Entries")] if page.entries else []
    links.append(("words", "Words"))
    parts = [
        f'<header><p class="kind">{escaped(page.kind)}</p><h1>{escaped(page.title)}</h1>',
        _answer(page.answer),
        facts_html(page.facts, place),
        "</header>",
        *(section_html(s, place) for s in page.sections),
        entries_html(page.entries, page.folder),
        _words(),
    ]
    body = "\n".join(p for p in parts if p)
    return (
        f'{head_html(page.title)}<body>\n<a class="skip" href="#main">Skip to the report</a>\n'
        f"{shapes_html()}\n{_contents(links)}\n"
        f'<main id="main" tabindex="-1">\n{body}\n</main>\n'
        f"<footer><p>{escaped(page.made)}</p></footer>\n<script>{script()}</script>\n"
        "</body></html>\n"
    )


def style() -> str:
    """The style of every page, as it is put into the file."""
    return _resource("page.css")


def script() -> str:
    """The script of every page, as it is put into the file."""
    return _resource("page.js")


def head_html(title: str) -> str:
    """Doctype and head. The policy lets the page's own style and script run and nothing else:
    what slipped through the escaping would still not be executed, and nothing is ever fetched."""
    policy = (
        f"default-src 'none'; style-src '{_digest(style())}'; script-src '{_digest(script())}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">\n'
        f"<title>{escaped(title)} · Formwright</title>\n<style>{style()}</style></head>\n"
    )


def section_html(section: Section, place: Place) -> str:
    """A section by itself; ``place`` is that of the page, and its ids begin with the key."""
    key = section_id(section)
    return (
        f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">'
        f"{escaped(section.title)}</h2>\n"
        f"{blocks_html(section.blocks, place.inner(key))}</section>"
    )


def section_id(section: Section) -> str:
    """The key as an id: no space, nothing that ends an attribute."""
    return re.sub(r"[^\w.-]+", "-", section.key)


def _resource(name: str) -> str:
    return files("formwright.report.html").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _answer(answer: tuple[str, ...]) -> str:
    return f'<div class="answer">{"".join(f"<p>{prose(text)}</p>" for text in answer)}</div>'


def _contents(links: list[tuple[str, str]]) -> str:
    items = "".join(
        f'<li><a href="#{escaped(key)}">{escaped(title)}</a></li>' for key, title in links
    )
    return f'<nav aria-label="Contents"><ol>{items}</ol></nav>'


def _words() -> str:
    """What the signs and words of the page say."""
    rows = [
        f'<div><dt><span class="ev {w}"><i aria-hidden="true">{sign}</i>{w}</span></dt>'
        f"<dd>{escaped(says)}</dd></div>"
        for w, (sign, says) in EVIDENCE.items()
    ]
    rows += [
        f'<div><dt><span class="st {w}"><i aria-hidden="true">{sign}</i>{w}</span></dt>'
        f"<dd>{escaped(says)}</dd></div>"
        for w, (sign, says) in STANDING.items()
    ]
    return (
        '<section id="words" aria-labelledby="words-h"><h2 id="words-h">Words</h2>'
        f'<dl class="block facts">{"".join(rows)}</dl></section>'
    )
