"""What figures lead to: entries of journals and files, as text, each with its address."""

from collections.abc import Mapping

from formwright.report.html.escaped import content, escaped
from formwright.report.html.place import entry_id, file_address
from formwright.report.page import Origin


def entries_html(entries: Mapping[Origin, str], folder: str) -> str:
    """A fold for each; a link to one opens it. Nothing where a page has none."""
    if not entries:
        return ""
    items = "\n".join(_entry(origin, text, folder) for origin, text in entries.items())
    count = f"{len(entries):,} {'entry' if len(entries) == 1 else 'entries'}"
    return (
        '<section id="entries" aria-labelledby="entries-h"><h2 id="entries-h">Entries</h2>'
        '<p class="prose">Every figure that is a link leads here: to the entry that it was read'
        " from, as it stands in the file.</p>"
        f'<details class="fold all"><summary><span class="title">{count}</span></summary>'
        f"{items}</details></section>"
    )


def _entry(origin: Origin, text: str, folder: str) -> str:
    name = f"{origin.file} · {origin.entry}" if origin.entry else origin.file
    to = file_address(folder, origin.file)
    link = ""
    if to is not None:
        link = f'<p>In the file <a href="{escaped(to)}">{escaped(origin.file)}</a></p>'
    return (
        f'<details class="entry" id="{entry_id(origin)}"><summary>{escaped(name)}</summary>{link}'
        f"<pre>{content(text)}</pre></details>"
    )
