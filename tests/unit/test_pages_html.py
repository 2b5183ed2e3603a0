"""What every page is, whatever stands in it: whole, linked, escaped, and nothing from outside."""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest

import page_samples as samples
from formwright.report.html import html_of
from formwright.report.html.escaped import escaped
from formwright.report.html.place import entry_id, file_address
from formwright.report.page import Cell, Facts, Origin, Page, Source, Text

VOID = {"meta", "link", "img", "input", "br"}


class Reader(HTMLParser):
    """Tags with their attributes in order, and whether every tag was closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        if self.open and self.open[-1] == "style":
            self.styles.append(data)

    def values(self, *names: str) -> Iterator[str]:
        for _, attributes in self.tags:
            yield from (v for n in names if (v := attributes.get(n)) is not None)


@pytest.fixture(scope="module")
def read() -> Reader:
    return Reader(html_of(samples.page()))


def test_ids_are_one_element_each_and_whatever_names_one_finds_it(read: Reader) -> None:
    ids = Counter(read.values("id"))
    assert {i for i, n in ids.items() if n > 1} == set()
    named = {w for v in read.values("aria-labelledby", "aria-describedby") for w in v.split()}
    assert named <= set(ids)
    assert {v[1:] for v in read.values("href") if v.startswith("#")} <= set(ids)


def test_nothing_comes_from_outside_and_only_the_page_s_own_script_may_run(read: Reader) -> None:
    for value in read.values("src", "href"):
        assert value.startswith(("#", "./", "data:")), value
    assert [t for t, _ in read.tags].count("script") == 1
    names = {name for _, attributes in read.tags for name in attributes}
    assert not {n for n in names if n.startswith("on") or n == "style"}
    policy = next(a["content"] for t, a in read.tags if "http-equiv" in a)
    assert policy is not None
    for kind, text in (("script", "".join(read.scripts)), ("style", "".join(read.styles))):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def _shape(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    return [(t, tuple(a)) for t, a in Reader(html_of(page)).tags]


@pytest.mark.parametrize("text", samples.HOSTILE)
def test_no_text_of_anybody_becomes_a_part_of_the_page(text: str) -> None:
    # The same number of characters twice: where lines break must not differ.
    assert _shape(samples.written((text,))) == _shape(samples.written(("x" * len(text),)))


def test_a_hostile_text_is_shown_as_it_reads() -> None:
    text = html_of(samples.written(samples.HOSTILE))
    assert "&lt;script&gt;document.title" in text
    assert "⟨U+202E⟩" in text
    assert "\u202e" not in text
    assert "\x00" not in text
    text.encode("utf-8")


def test_lone_surrogates_can_be_written() -> None:
    assert escaped("a\ud800b") == "a\ufffdb"


def test_a_figure_leads_to_its_entry_or_else_to_its_file() -> None:
    held, file = Origin("journal.jsonl", "a/b"), Origin("sub folder/record.json", "/x")
    facts = Facts((("one", Cell("1", origin=held)), ("two", Cell("2", origin=file))))
    text = html_of(replace(samples.page((facts,)), entries={held: "{}"}, folder="../out/"))
    assert f'<a href="#{entry_id(held)}">1</a>' in text
    assert f'<details class="entry" id="{entry_id(held)}">' in text
    assert 'href="../out/sub%20folder/record.json"' in text
    assert file_address("", "javascript:alert(1)") == "./javascript%3Aalert%281%29"
    assert file_address("", "/etc/passwd") is None
    assert file_address("", "") is None


def test_entries_keep_their_id() -> None:
    # Links from elsewhere into a report outlast the next version of it.
    assert entry_id(Origin("journal.jsonl", "measure/k1")) == "e-49cbff21fe6e"


def test_a_page_is_small_beside_its_data() -> None:
    empty = html_of(samples.page(()))
    assert len(empty.encode()) < 60_000


def test_backquotes_are_code_in_prose_and_nothing_else_is() -> None:
    text = html_of(samples.page((Text("run `a < b` *now*"), Source("s", "`c`"))))
    assert '<p class="prose">run <code>a &lt; b</code> *now*</p>' in text
    assert "<code>`c`</code>" in text
