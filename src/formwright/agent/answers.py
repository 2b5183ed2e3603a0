"""The text of an answer to proposals, or why it is none.

An answer holds fenced blocks (three backquotes and ``fw`` or ``c``), each with one whole text; what
stands around them is taken as the reason. A template without a fence is taken too. Other fences,
an open fence or no text at all make the answer one that goes back, with what to do.
"""

import re
from collections.abc import Iterator

from formwright.agent.protocol import Finding, Proposal, Request

PROPOSALS = 8
"""Texts of one answer that are taken."""

ANSWER_BYTES = 512 * 1024
"""Two templates of the language's limit: longer answers are refused unread."""

WORDS = 4_000
"""Characters of an answer in words (diagnoses, mechanisms) and of a reason."""

_FENCE = re.compile(r"^ {0,3}(`{3,})[ \t]*([A-Za-z0-9_+.-]*)[^\n`]*$")
_TEMPLATE = re.compile(r"^template [A-Za-z_][A-Za-z0-9_]* *:", re.MULTILINE)
_SOURCE = {"fw": "fw", "formwright": "fw", "c": "c"}
_PROSE = frozenset({"", "text", "txt"})


def read_answer(text: str, request: Request) -> tuple[tuple[Proposal, ...], tuple[Finding, ...]]:
    """The proposals in ``text``, and what was wrong with it. One of the two may be empty.

    Rules and parents come from the request: nothing that the answer says about itself counts.
    """
    if len(text.encode(errors="surrogatepass")) > ANSWER_BYTES:
        return (), (_fault(f"the answer is longer than {ANSWER_BYTES} bytes", "one text, no more"),)
    text = _clean(text)
    if not text.strip():
        return (), (_fault("the answer is empty", _wanted(request)),)
    if request.kind in ("diagnose", "mechanism"):
        return (Proposal(text.strip()[:WORDS], "text", request.kind),), ()
    return _texts(text, request)


def _texts(text: str, request: Request) -> tuple[tuple[Proposal, ...], tuple[Finding, ...]]:
    found: list[Proposal] = []
    faults: list[Finding] = []
    prose: list[str] = []
    for language, block in _blocks(text):
        if language is None:
            prose.append(block)
        elif language == "open":
            faults.append(_fault("the answer ends inside a block", "close it; a shorter text fits"))
        elif language in _SOURCE or _TEMPLATE.search(block):
            kind = "c" if _SOURCE.get(language) == "c" else "fw"
            found.append(_proposal(block, kind, request))
        elif language not in _PROSE:
            told = f'a block in "{language}": templates are fw, kernel sources c'
            faults.append(_fault(told, _wanted(request)))
    why = " ".join("\n".join(prose).split())[:WORDS]
    if not found and not faults:
        start = _TEMPLATE.search(text)
        if start is not None and "```" not in text:
            return (_proposal(text[start.start() :].rstrip() + "\n", "fw", request),), ()
        faults.append(_fault("the answer holds no template", _wanted(request)))
    if len(found) > PROPOSALS:
        told = f"{len(found)} texts in one answer; {PROPOSALS} are taken"
        faults.append(_fault(told, "the best ones first"))
    kept = [Proposal(p.text, p.language, p.rule, p.parents, why) for p in found[:PROPOSALS]]
    return tuple(dict.fromkeys(kept)), tuple(faults)


def _blocks(text: str) -> Iterator[tuple[str | None, str]]:
    """``(language, block)`` for fenced blocks, ``(None, line)`` for others, ``("open", …)``."""
    fence, language = "", ""
    block: list[str] = []
    for line in text.splitlines():
        found = _FENCE.match(line)
        if not fence and found:
            fence, language, block = found[1], found[2].lower(), []
        elif fence and found and not found[2] and len(found[1]) >= len(fence):
            yield language, "\n".join(block) + "\n"
            fence = ""
        elif fence:
            block.append(line)
        else:
            yield None, line
    if fence:
        yield "open", "\n".join(block)


def _proposal(text: str, language: str, request: Request) -> Proposal:
    rule = f"model:{request.kind}"
    named = {"adapt": tuple(k.name for k in request.known)}.get(request.kind, ())
    return Proposal(text, "c" if language == "c" else "fw", rule, named)


def _clean(text: str) -> str:
    """Line ends of one kind; half characters (which no file can hold) made visible."""
    whole = text.encode("utf-8", "replace").decode()
    return whole.replace("\r\n", "\n").replace("\r", "\n")


def _wanted(request: Request) -> str:
    if request.kind in ("diagnose", "mechanism"):
        return "answer in a few plain sentences"
    return "answer with one block ```fw … ``` that holds one whole template"


def _fault(message: str, hint: str) -> Finding:
    return Finding("answer", f"{message}\n  hint: {hint}")
