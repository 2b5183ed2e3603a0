"""The whole file: head, answer, sections, and the entries that figures lead to."""

from formwright.report.html.blocks import blocks_html, facts_html
from formwright.report.html.escaped import escaped
from formwright.report.html.place import Place, entry_id
from formwright.report.page import Page


def html_of(page: Page) -> str:
    """One self-contained HTML document, as text to be written in UTF-8."""
    place = Place("b", 3, page.entries, page.folder)
    sections = "\n".join(
        f'<section id="{escaped(s.key)}"><h2>{escaped(s.title)}</h2>'
        f"{blocks_html(s.blocks, place.inner(s.key))}</section>"
        for s in page.sections
    )
    entries = "\n".join(
        f'<details id="{entry_id(o)}"><summary>{escaped(o.file)} {escaped(o.entry)}</summary>'
        f"<pre>{escaped(text)}</pre></details>"
        for o, text in page.entries.items()
    )
    answer = "".join(f"<p>{escaped(text)}</p>" for text in page.answer)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escaped(page.title)}</title></head><body><main><h1>{escaped(page.title)}</h1>"
        f"{answer}{facts_html(page.facts.items, place)}{sections}"
        f'<section id="entries"><h2>Entries</h2>{entries}</section></main>'
        f"<footer>{escaped(page.made)}</footer></body></html>\n"
    )
